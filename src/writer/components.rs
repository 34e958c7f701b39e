//! Writes one component at a time. It is aligned, encoded and hashed on its way to the sink, so it may be
//! larger than memory.

use super::description::{
    check_final_size, check_type, expected_size, known, ComponentSpec, LogicalSpec, NAME_LIMIT,
};
use super::frames::{compress, Inputs};
use super::shared_bytes::Content;
use super::state::{OpenComponent, Phase, Writer, MAX_UNREPORTED};
use crate::codec::{encode_seek_table, Codec, Coding};
use crate::convert::swap_whole;
use crate::digest::{self, Algorithm, Digest, DigestOf, Hasher};
use crate::error::{fail, Error, Result};
use crate::memory::{append, push};
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{Component, LogicalType, RareNames, TextId};
use crate::threads;

/// The error for an encoding that this version does not know and so has no codec for.
#[cold]
pub(super) fn unwritable_encoding() -> Error {
    fail!(InvalidArgument, "this encoding cannot be written")
}

/// The manifest entry of a component, without the fields that follow from its bytes.
pub fn component_entry(writer: &mut Writer, spec: &ComponentSpec<'_>) -> Result<(Component, RareNames)> {
    let to = writer.capabilities();
    let mut rare = RareNames::default();
    let logical = match spec.logical {
        None => LogicalType::Absent,
        Some(LogicalSpec::Known(logical)) => {
            if logical.dtype() != spec.dtype {
                return Err(fail!(
                    InvalidArgument,
                    "the type \"{}\" needs the dtype \"{}\", not \"{}\"",
                    logical.name(),
                    logical.dtype().name(),
                    spec.dtype.name()
                ));
            }
            match logical.is_block_type() {
                true => LogicalType::Absent, // the format gives the type
                false => {
                    to.check_logical(Some(logical), logical.name())?;
                    LogicalType::Known(logical)
                }
            }
        }
        Some(LogicalSpec::Other(name)) => {
            if Dtype::from_name(name).is_some() || Logical::from_name(name).is_some_and(|t| to.defines(t)) {
                return Err(fail!(InvalidArgument, "the type {name:?} is known; pass its number"));
            }
            to.check_logical(None, name)?;
            rare.logical = Some(writer.manifest.texts.add(name)?);
            LogicalType::Other
        }
    };
    to.check_role(spec.role)?;
    if spec.role.len() > NAME_LIMIT {
        return Err(fail!(Limit, "a role of {} bytes is longer than {}", spec.role.len(), NAME_LIMIT));
    }
    let encoding = spec.encoding.unwrap_or(writer.options.encoding);
    let encoding = to.encoding(encoding).ok_or_else(unwritable_encoding)?;
    writer.options.check_frames(encoding)?;
    let digest = spec.digest.unwrap_or(writer.options.digest);
    to.check_digest(digest)?;
    writer.canonical.check_component(encoding, digest)?;
    let role = writer.manifest.intern_role(spec.role)?;
    let mut entry = Component::new(role, Some(spec.dtype));
    (entry.logical, entry.encoding) = (logical, encoding);
    Ok((entry, rare))
}

impl Writer {
    /// Opens a component of the open object. [`Writer::data`] adds its bytes.
    pub fn component(&mut self, spec: &ComponentSpec<'_>) -> Result<()> {
        self.open_component(spec, None)
    }

    /// Writes a whole component of the open object.
    pub fn component_whole(&mut self, spec: &ComponentSpec<'_>, data: &[u8]) -> Result<()> {
        self.open_component(spec, Some(data))?;
        self.feed(data)?;
        self.end_component()
    }

    /// Opens a component whose bytes are `whole`, or come in calls of [`Writer::data`].
    fn open_component(&mut self, spec: &ComponentSpec<'_>, whole: Option<&[u8]>) -> Result<()> {
        // Check everything before the open component ends.
        let size = whole.map_or(spec.size, |data| Some(data.len() as u64));
        let expected = self.check_component(spec, size)?;
        let content = match whole {
            Some(data) => {
                self.check_whole(spec, data)
                    .map_err(|e| e.within(format_args!("component {:?}", spec.role)))?;
                self.canonical.content_of(data, spec.dtype)?
            }
            None => self.canonical.content_of_stream(),
        };
        if self.component.is_some() {
            self.try_entry(spec)?;
            self.end_component()?;
        }
        self.manifest.components.try_reserve(1)?;
        self.manifest.rare_names.try_reserve(1)?;
        let checkpoint = self.manifest.checkpoint();
        let (entry, rare) =
            component_entry(self, spec).inspect_err(|_| self.roll_back_manifest(&checkpoint))?;
        let algorithm = spec.digest.unwrap_or(self.options.digest);
        if whole.is_none() {
            self.begin_contents(spec.role, &entry);
        }
        self.start_component(entry, rare, algorithm, expected, whole.is_none(), content)
    }

    /// Checks the bytes of a component that is given in one call, before any of it is written.
    fn check_whole(&mut self, spec: &ComponentSpec<'_>, data: &[u8]) -> Result<()> {
        let is_open = u32::from(self.component.is_some());
        let Phase::Object { entry: object, contents: Some(contents), .. } = &mut self.state else {
            return Ok(());
        };
        let at = object.component_count.saturating_add(is_open);
        let shape = self.manifest.shape(object);
        contents.check_whole((at, spec.role), spec.dtype, known(spec.logical), shape, data)
    }

    /// Prepares the check of bytes that are given in pieces.
    fn begin_contents(&mut self, role: &str, entry: &Component) {
        let Phase::Object { entry: object, contents: Some(contents), .. } = &mut self.state else { return };
        let shape = self.manifest.shape(object);
        contents.begin((object.component_count, role), entry.dtype, entry.known_logical(), shape);
    }

    /// The alignment of a component of this size; `None` if the size is unknown.
    pub(super) fn alignment_of(&self, expected: Option<u64>) -> u64 {
        let large = expected.is_none_or(|size| size >= self.options.large_size);
        let asked = self.options.alignment.max(if large { self.options.large_alignment } else { 0 });
        asked.max(self.capabilities().alignment)
    }

    /// Pads the file up to the start of a component, and opens the component.
    pub(super) fn start_component(
        &mut self,
        mut entry: Component,
        rare: RareNames,
        algorithm: Option<Algorithm>,
        expected: Option<u64>,
        streamed: bool,
        content: Content,
    ) -> Result<()> {
        let place = self.canonical.find_equal(&content, expected);
        entry.offset = match place {
            Some(place) => place,
            None => {
                self.align(self.alignment_of(expected))?;
                self.position
            }
        };
        self.component = Some(OpenComponent {
            entry,
            rare,
            hasher: algorithm.map(Hasher::new),
            hashes: self.capabilities().digest_of,
            bytes_in: 0,
            expected,
            pending: Vec::new(),
            has_frames: false,
            frame_sizes: Vec::new(),
            partial: Vec::new(),
            streamed,
            content,
            is_shared: place.is_some(),
        });
        Ok(())
    }

    /// Checks that the open object can have this component. Returns the component's size, if it is known.
    pub(super) fn check_component(&self, spec: &ComponentSpec<'_>, size: Option<u64>) -> Result<Option<u64>> {
        let object = self.open_object()?;
        let open = self.component.as_ref().map(|c| self.manifest.texts.get(c.entry.role));
        if open == Some(spec.role) || self.manifest.component(&object, spec.role).is_some() {
            return Err(fail!(Exists, "the object has a component {:?} already", spec.role));
        }
        let last = || self.manifest.components(&object).last().map(|c| self.manifest.texts.get(c.role));
        self.canonical.check_order("a component", spec.role, || open.or_else(last))?;
        let to = self.capabilities();
        let before = (object.component_count as usize).saturating_add(usize::from(open.is_some()));
        to.check_component_count(before.saturating_add(1))?;
        let in_component = |e: Error| e.within(format_args!("component {:?}", spec.role));
        check_type(object.format, spec, to).map_err(in_component)?;
        let by_shape = expected_size(object.format, self.manifest.shape(&object), spec)?;
        if let Some(declared) = size {
            check_final_size(spec.dtype, known(spec.logical), by_shape, declared).map_err(in_component)?;
        }
        Ok(by_shape.or(size))
    }

    /// Checks that a component's entry can be made, by making and dropping it.
    pub(super) fn try_entry(&mut self, spec: &ComponentSpec<'_>) -> Result<()> {
        let checkpoint = self.manifest.checkpoint();
        let made = component_entry(self, spec);
        self.roll_back_manifest(&checkpoint);
        made.map(drop)
    }

    /// Adds bytes to the open component.
    pub fn data(&mut self, data: &[u8]) -> Result<()> {
        self.open_object()?;
        let Some(open) = self.component.as_ref().filter(|c| c.streamed) else {
            return Err(fail!(State, "no component is open for data"));
        };
        let bytes_in = open.bytes_in.saturating_add(data.len() as u64);
        if let Some(expected) = open.expected.filter(|expected| bytes_in > *expected) {
            let role = self.manifest.texts.get(open.entry.role);
            return Err(fail!(
                BufferSize,
                "component {role:?} needs {expected} bytes; with these it would have {bytes_in}"
            ));
        }
        let base = open.bytes_in;
        if let Phase::Object { contents: Some(contents), .. } = &mut self.state {
            contents.check(data, base).map_err(|e| {
                let role = self.component.as_ref().map(|open| self.manifest.texts.get(open.entry.role));
                e.within(format_args!("component {:?}", role.unwrap_or_default()))
            })?;
        }
        self.feed(data)
    }

    /// Adds bytes in the host's order, after the checks. A failure closes the writer, because the file then
    /// has half a component.
    pub(super) fn feed(&mut self, data: &[u8]) -> Result<()> {
        let Some(open) = self.component.as_mut() else { return Err(fail!(Internal, "no component")) };
        open.bytes_in = open.bytes_in.saturating_add(data.len() as u64);
        let outcome = match (open.entry.swaps(), open.entry.width()) {
            (false, _) => self.encode(data),
            (true, width) => swap_whole(&mut open.partial, data, width).and_then(|data| self.encode(&data)),
        };
        outcome.map_err(|e| self.abort(e))
    }

    /// Encodes and stores bytes in the file's order.
    fn encode(&mut self, mut data: &[u8]) -> Result<()> {
        let Some(open) = self.component.as_mut() else { return Err(fail!(Internal, "no component")) };
        let codec = match open.coding()? {
            Coding::Raw => return self.store(data),
            Coding::Compressed(codec) => codec,
        };
        if self.progress.is_some() && data.len() > MAX_UNREPORTED {
            return data.chunks(MAX_UNREPORTED).try_for_each(|part| {
                self.encode(part)?;
                self.report(part.len())
            });
        }
        open.hash_decoded(data);
        let frame = usize::try_from(self.options.frame_size).unwrap_or(usize::MAX);
        // Complete the frame that was started. Then compress whole frames from `data` directly, and keep the
        // rest.
        if !open.pending.is_empty() {
            let space = frame.saturating_sub(open.pending.len()).min(data.len());
            let (now, later) = data.split_at_checked(space).unwrap_or_default();
            append(&mut open.pending, now)?;
            data = later;
            if open.pending.len() < frame {
                return Ok(());
            }
            let pending = std::mem::take(&mut open.pending);
            self.store_frames(codec, &pending, frame)?;
        }
        let whole = data.len() - data.len() % frame;
        let (frames, rest) = data.split_at_checked(whole).unwrap_or_default();
        if !frames.is_empty() {
            self.store_frames(codec, frames, frame)?;
        }
        if let Some(open) = self.component.as_mut() {
            append(&mut open.pending, rest)?;
        }
        Ok(())
    }

    /// Ends the open component, if there is one.
    pub(super) fn end_component(&mut self) -> Result<()> {
        let Some(open) = self.component.as_ref() else { return Ok(()) };
        let dtype = open.entry.dtype.unwrap_or(Dtype::U8);
        check_final_size(dtype, open.entry.known_logical(), open.expected, open.bytes_in).map_err(|e| {
            let role = self.manifest.texts.get(open.entry.role);
            e.within(format_args!("component {role:?}"))
        })?;
        let role = open.entry.role;
        let outcome = self.close_component().map_err(|e| {
            let object = self.open_object().map_or("", |object| self.manifest.texts.get(object.name));
            let role = self.manifest.texts.get(role);
            e.within(format_args!("object {object:?}, component {role:?}"))
        });
        outcome.map_err(|e| self.abort(e))
    }

    /// Stores the last bytes of the open component, and adds it to the manifest.
    pub(super) fn close_component(&mut self) -> Result<()> {
        self.finish_frames()?;
        self.store_table()?;
        let Some(open) = self.component.take() else { return Ok(()) };
        let OpenComponent { mut entry, mut rare, hasher, bytes_in, content, .. } = open;
        entry.offset = self.canonical.record_content(content, entry.stored_size, entry.offset)?;
        rare.digest = hasher.map(|hasher| self.push_digest(&hasher.finish())).transpose()?;
        entry.set_size(Some(bytes_in));
        entry.set_size_declared(entry.encoding.has_declared_size());
        self.written.data_bytes = self.written.data_bytes.saturating_add(bytes_in);
        self.push_component(entry, rare)
    }

    /// Adds a digest to the texts of the manifest.
    pub(super) fn push_digest(&mut self, digest: &Digest) -> Result<TextId> {
        self.manifest.texts.add(&digest::to_text(digest)?)
    }

    /// Adds a written component to the manifest.
    pub(super) fn push_component(&mut self, mut entry: Component, rare: RareNames) -> Result<()> {
        entry.rare = self.manifest.add_rare_names(rare)?;
        self.written.stored_bytes = self.written.stored_bytes.saturating_add(entry.stored_size);
        self.manifest.components.try_reserve(1)?;
        self.manifest.components.push(entry)?;
        if let Phase::Object { entry, .. } = &mut self.state {
            entry.component_count = entry.component_count.saturating_add(1);
        }
        Ok(())
    }
}

/// The frames of a compressed component, and the seek table behind them if its encoding has one.
impl Writer {
    /// Compresses frames in parallel, and stores them in order.
    fn store_frames(&mut self, codec: Codec, data: &[u8], frame: usize) -> Result<()> {
        let frames = data.chunks(frame);
        let input = |at| frames.clone().nth(at).unwrap_or_default();
        let inputs = Inputs { count: frames.len(), max_size: frame, input: &input };
        self.compress_all(codec, inputs, |writer, compressed| writer.store_frame(codec, compressed))
    }

    /// Compresses in parallel, and calls `put` with each frame in order.
    pub(super) fn compress_all(
        &mut self,
        codec: Codec,
        inputs: Inputs<'_, '_>,
        mut put: impl FnMut(&mut Writer, &[u8]) -> Result<()>,
    ) -> Result<()> {
        /// For fewer bytes, starting a thread costs more than it saves.
        const MIN_THREADED: usize = 128 << 10;
        let many = inputs.max_size.saturating_mul(inputs.count) >= MIN_THREADED;
        let threads = if many { threads::count(self.options.threads).min(inputs.count) } else { 1 };
        self.encoders.ensure_count(threads, codec, self.options.zstd_level)?;
        let mut encoders = std::mem::take(&mut self.encoders);
        let outcome =
            compress(inputs, threads, self.options.thread_hooks, &mut encoders, &mut |compressed| {
                put(self, compressed)
            });
        self.encoders = encoders;
        outcome
    }

    /// Compresses the pending bytes into the last frame. An empty component has one empty frame, unless a
    /// seek table follows.
    fn finish_frames(&mut self) -> Result<()> {
        let Some(open) = self.component.as_mut() else { return Ok(()) };
        let Coding::Compressed(codec) = open.coding()? else { return Ok(()) };
        if open.pending.is_empty() && (open.has_frames || codec.has_table()) {
            return Ok(());
        }
        let pending = std::mem::take(&mut open.pending);
        let mut frame = Vec::new();
        self.encoders.first(codec, self.options.zstd_level)?.encode(&pending, &mut frame)?;
        self.store_frame(codec, &frame)
    }

    /// Stores a frame. Keeps its size if a seek table will follow.
    pub(super) fn store_frame(&mut self, codec: Codec, frame: &[u8]) -> Result<()> {
        if let Some(open) = self.component.as_mut() {
            open.has_frames = true;
            if codec.has_table() {
                let size = u32::try_from(frame.len());
                push(&mut open.frame_sizes, size.map_err(|_| fail!(Limit, "a frame passes 2^32 bytes"))?)?;
            }
        }
        self.store(frame)
    }

    /// Stores the seek table, if the encoding has one.
    fn store_table(&mut self) -> Result<()> {
        let Some(open) = self.component.as_mut() else { return Ok(()) };
        if !matches!(open.coding()?, Coding::Compressed(codec) if codec.has_table()) {
            return Ok(());
        }
        let (sizes, mut table) = (std::mem::take(&mut open.frame_sizes), Vec::new());
        encode_seek_table(&sizes, self.options.frame_size, open.bytes_in, &mut table)?;
        self.store(&table)
    }
}

impl OpenComponent {
    /// Hashes bytes before compression, if the digest covers decoded bytes.
    pub(super) fn hash_decoded(&mut self, data: &[u8]) {
        if let (Some(hasher), DigestOf::Decoded) = (self.hasher.as_mut(), self.hashes) {
            hasher.update(data);
        }
    }

    /// Whether the digest covers stored bytes. Without compression, they are the same as the decoded ones.
    pub(super) fn hashes_stored(&self) -> bool {
        self.hashes == DigestOf::Stored || !self.entry.encoding.is_compressed()
    }

    pub(super) fn coding(&self) -> Result<Coding> {
        Coding::of(self.entry.encoding).ok_or_else(unwritable_encoding)
    }
}
