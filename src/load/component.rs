//! One component as the executor sees it: where its stored bytes are, and how they are decoded, at once or
//! front to back.

use super::slab::Taken;
use crate::codec::{self, Array, Chunks, Codec, Decoding, FrameIndex, KnownSize, Seek};
use crate::convert;
use crate::convert::into_blocks::IntoBlocks;
use crate::convert::swap_in_place;
use crate::digest::{self, Digest, DigestOf};
use crate::error::{broken, fail, Cause, Error, Result};
use crate::lock::Mutex;
use crate::memory::{append, in_memory, push, refill, take_front, whole_units, with_capacity};
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{Component, Object};
use crate::model::structure::check_bools;
use crate::source::{
    change_since_open, for_each_chunk, for_each_chunk_of, with_range, ByteSource, Change, READ_CHUNK,
};
use crate::threads::ThreadHooks;
use std::ops::Range;

/// The file of a component.
pub(crate) trait Owner: Sync {
    /// Adds the component's name to an error.
    fn named(&self, component: &StoredComponent<'_>, error: Error) -> Error;

    /// Adds to an error the name of the file that has this source.
    fn in_file(&self, source: &dyn ByteSource, error: Error) -> Error;

    /// Called if the size or the time of a source's file changed. Fails unless the file has only grown by an
    /// append.
    fn check_change(&self, source: &dyn ByteSource, change: Change) -> Result<()>;

    /// The hooks that each started thread calls.
    fn thread_hooks(&self) -> ThreadHooks;

    /// The digest of a component's stored bytes, as the file gives it.
    fn digest(&self, component: &StoredComponent<'_>) -> Option<&str>;

    /// The cache of where frames begin.
    fn frame_indexes(&self) -> &FrameIndexCache;

    /// The limit for the decoded size of a compressed component, if one was set.
    fn max_decoded_size(&self) -> Option<u64>;

    /// The stored bytes of all components of this component's object, and the memory that decoding the
    /// object's numbers takes.
    fn cost_of_numbers(&self, component: &StoredComponent<'_>) -> (u64, u64);

    /// Whether a component of this component's object has a digest that can be checked.
    fn object_has_digest(&self, component: &StoredComponent<'_>) -> Result<bool>;

    /// Checks the digests of all components of this component's object.
    fn check_digests_of_object(&self, component: &StoredComponent<'_>) -> Result<()>;

    /// Fills `dst` with numbers of the object, converted to `to`. Returns how many numbers the conversion
    /// loses.
    fn read_numbers(
        &self,
        component: &StoredComponent<'_>,
        to: Dtype,
        taken: &Taken<'_>,
        dst: &mut [u8],
    ) -> Result<u64>;

    /// How many of the object's numbers in a range the conversion to `to` loses. The range counts the bytes
    /// of the numbers.
    fn count_lost_numbers(
        &self,
        component: &StoredComponent<'_>,
        to: Dtype,
        range: Range<u64>,
    ) -> Result<u64>;

    /// The component's array, if its coding is [`Decoding::Array`].
    fn array<'f>(&'f self, component: &StoredComponent<'f>) -> Option<Array<'f>>;
}

/// Whether the failure may come from a file that was changed while it was read.
pub(crate) fn is_of_the_file(error: &Error) -> bool {
    matches!(error.cause(), Cause::Broken(_) | Cause::DigestMismatch | Cause::Io)
}

/// A component of an open file: everything that a read needs to know.
#[derive(Clone, Copy)]
pub(crate) struct StoredComponent<'f> {
    pub owner: &'f dyn Owner,
    pub source: &'f dyn ByteSource,
    pub object: &'f Object,
    pub entry: &'f Component,
    /// Its position among all components of the file.
    pub index: usize,
    pub decoding: Decoding,
    /// Decoded bytes.
    pub size: u64,
    /// Whether bools that are neither 0 nor 1 are refused.
    pub strict_bools: bool,
}

/// The headers of fewer stored bytes than this are walked each time, because that takes almost no time.
const MIN_INDEXED: u64 = 128 << 10;

/// The largest size that `stored_size` bytes may decode to.
pub fn decoded_limit(stored_size: u64, limit: Option<u64>) -> u64 {
    const DEFAULT: u64 = 1 << 30;
    const RATIO: u64 = 256;
    limit.unwrap_or_else(|| stored_size.saturating_mul(RATIO).max(DEFAULT))
}

impl<'f> StoredComponent<'f> {
    pub fn stored(&self) -> StoredBytes<'f> {
        StoredBytes { source: self.source, start: self.entry.offset, size: self.entry.stored_size }
    }

    /// Its array. Only for components whose coding is [`Decoding::Array`].
    pub fn array(&self) -> Result<Array<'f>> {
        self.owner.array(self).ok_or_else(|| fail!(Internal, "an array has no layout"))
    }

    /// Whether its decoded bytes are its stored bytes.
    pub fn is_raw(&self) -> bool {
        self.decoding == Decoding::Raw
    }

    /// The size of the units that must not be cut: an element, if elements are byte-swapped or gathered.
    pub fn unit(&self) -> u64 {
        let swapped = if self.swaps() { self.entry.width() as u64 } else { 1 };
        let gathered = match self.decoding {
            Decoding::Array => self.array().map_or(1, |array| array.unit()),
            Decoding::Numbers { to, .. } => to.size() as u64,
            Decoding::Raw | Decoding::Frames(_) => 1,
        };
        swapped.max(gathered)
    }

    /// Whether decoded elements have to be byte-swapped to the host's order.
    pub fn swaps(&self) -> bool {
        self.entry.swaps() && !matches!(self.decoding, Decoding::Numbers { .. })
    }

    /// The size of an element. An element of a complex dtype has both parts.
    pub fn element_size(&self) -> u64 {
        match self.decoding {
            Decoding::Numbers { to, .. } => to.size() as u64,
            _ => self.entry.block().map_or(1, |block| block.bytes),
        }
    }

    /// The stored bytes that a range of decoded bytes needs. Both ranges count from the component's first
    /// byte.
    pub fn needed(&self, wanted: &Range<u64>) -> Result<Range<u64>> {
        match self.decoding {
            Decoding::Raw => Ok(wanted.clone()),
            Decoding::Frames(_) | Decoding::Numbers { .. } => Ok(0..self.entry.stored_size),
            Decoding::Array => self.array()?.needed(wanted, self.entry.stored_size),
        }
    }

    /// Bytes of memory that decoding a range takes beside the stored bytes and the range.
    pub fn decoding_memory(&self) -> u64 {
        match self.decoding {
            Decoding::Raw | Decoding::Frames(_) => 0,
            Decoding::Numbers { .. } => self.owner.cost_of_numbers(self).1,
            Decoding::Array => self.array().map_or(0, |array| array.memory()),
        }
    }

    /// How many stored bytes need temporary memory before they can be examined.
    pub fn unborrowed_size(&self) -> u64 {
        match self.stored().borrow() {
            Some(_) => 0,
            None => self.entry.stored_size,
        }
    }

    pub fn named(&self, error: Error) -> Error {
        self.owner.named(self, error)
    }

    /// Returns the outcome of a read. If the file is read rather than mapped, and was changed since it was
    /// opened, returns that error instead.
    pub(super) fn unless_changed(&self, outcome: Result<()>) -> Result<()> {
        if outcome.as_ref().err().is_none_or(is_of_the_file) {
            if let Some(change) = change_since_open(self.source)? {
                self.owner.check_change(self.source, change)?;
            }
        }
        outcome
    }

    /// Called when whole elements are in their destination: swaps their bytes to the host's order and checks
    /// bools. `place` gives the position in the component of a byte of `piece`.
    pub fn finish(&self, piece: &mut [u8], place: impl FnOnce(u64) -> u64) -> Result<()> {
        if self.swaps() {
            swap_in_place(piece, self.entry.width());
        }
        self.check_bools(piece, place)
    }

    /// Refuses bools that are neither 0 nor 1, if the caller asked for this check.
    pub fn check_bools(&self, piece: &[u8], place: impl FnOnce(u64) -> u64) -> Result<()> {
        match self.strict_bools {
            true => check_bools(piece, place),
            false => Ok(()),
        }
    }

    /// Checks, before memory is allocated for the whole component, that the stored bytes can have that many
    /// decoded bytes and that the limit allows them.
    pub fn check_whole_size(&self) -> Result<()> {
        match self.decoding {
            Decoding::Frames(codec) => self.check_size(codec, codec.known_size(self.stored().reader()?)?),
            Decoding::Raw | Decoding::Array | Decoding::Numbers { .. } => self.check_array_size(self.size),
        }
    }

    /// Rejects a number of decoded bytes that an array cannot have. For frames, this is checked when the
    /// frames are found.
    pub(super) fn check_array_size(&self, wanted: u64) -> Result<()> {
        let Decoding::Array = self.decoding else { return Ok(()) };
        let stored_size = self.entry.stored_size;
        let limit = decoded_limit(stored_size, self.owner.max_decoded_size());
        self.array()?.check_size(wanted, stored_size, limit)
    }

    /// Checks a claimed decoded size before anything is allocated or decoded for it. `known` is the size, or
    /// the largest size, that the stored bytes can have. The size must be possible and within the limit.
    pub fn check_size(&self, codec: Codec, known: KnownSize) -> Result<()> {
        let (size, stored_size) = (self.size, self.entry.stored_size);
        let (KnownSize::Exact(most) | KnownSize::AtMost(most)) = known;
        if most < size {
            return Err(broken!(
                codec.length_rule(),
                "{size} bytes are declared, but its {stored_size} stored bytes hold at most {most}"
            ));
        }
        let limit = decoded_limit(stored_size, self.owner.max_decoded_size());
        if size > limit {
            return Err(fail!(Limit, "it decodes to {size} bytes, above the limit of {limit}"));
        }
        Ok(())
    }

    /// Where to begin among the stored bytes to get `length` decoded bytes from `offset` on. The component's
    /// headers have been walked, now or earlier, and its frames agree with its size.
    pub fn seek(&self, codec: Codec, offset: u64, length: u64) -> Result<Seek> {
        let cache = self.owner.frame_indexes();
        let start = match cache.seek(self.index, offset, length) {
            Some(start) => start,
            None => {
                let frames = codec.index(self.stored().reader()?)?;
                let start = frames.seek(offset, length);
                if self.entry.stored_size >= MIN_INDEXED {
                    cache.insert(self.index, frames);
                }
                start
            }
        };
        self.check_size(codec, start.size)?;
        Ok(start)
    }

    /// Whether every range of it reads all of its stored bytes, because they are so few.
    pub fn is_read_whole(&self) -> bool {
        self.entry.stored_size < MIN_INDEXED && self.stored().borrow().is_none()
    }

    /// Its digest, if it has one that can be checked.
    pub fn expected_digest(&self) -> Result<Option<Digest>> {
        let of = digest_of(self.entry);
        let digest = self.owner.digest(self).map(|text| digest::parse_of(text, of)).transpose()?;
        Ok(digest.filter(|expected| expected.algorithm().is_some()))
    }
}

impl StoredComponent<'_> {
    /// Calls `body` with the decoded bytes front to back: whole elements, in the host's byte order.
    pub fn for_each_decoded(&self, body: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let swap = self.entry.swaps();
        let mut swapped = Vec::new();
        let mut base = 0u64;
        let mut give = |chunk: &[u8]| -> Result<()> {
            self.check_bools(chunk, |at| base.saturating_add(at))?;
            base = base.saturating_add(chunk.len() as u64);
            if !swap {
                return body(chunk);
            }
            swapped.clear();
            append(&mut swapped, chunk)?;
            swap_in_place(&mut swapped, self.entry.width());
            body(&swapped)
        };
        self.for_each_decoded_byte(&mut give)
    }

    /// Calls `give` with the decoded bytes front to back: whole elements, in the file's byte order.
    pub fn for_each_decoded_byte(&self, give: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let unit = in_memory(self.element_size())?;
        match self.decoding {
            Decoding::Raw => for_each_chunk_of(self.source, self.stored().range(), unit, give),
            Decoding::Frames(codec) => self.stored().with_all(|stored| {
                self.check_size(codec, codec.known_size(stored)?)?;
                let step = whole_units(READ_CHUNK, unit);
                let size = usize::try_from(self.size).unwrap_or(step).min(step);
                // The decoder's pieces end anywhere, chunks end between elements.
                let mut chunks = Chunks::new(size)?;
                codec.decode_exactly(stored, self.size, &mut |piece| chunks.add(piece, give))?;
                chunks.end(give)
            }),
            Decoding::Array => {
                let array = self.array()?;
                self.check_array_size(self.size)?;
                self.stored().with_all(|stored| array.for_each_chunk(stored, READ_CHUNK, give))
            }
            Decoding::Numbers { .. } => Err(fail!(Internal, "numbers are decoded by their object")),
        }
    }

    /// Like [`StoredComponent::for_each_decoded`], but only for a range of whole elements if the component is
    /// raw.
    pub fn for_each_in(&self, range: &Range<u64>, body: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let size = range.end.saturating_sub(range.start);
        let mut entry = *self.entry;
        if size < self.size {
            entry.offset = entry.offset.saturating_add(range.start);
            entry.stored_size = size;
            entry.set_size(Some(size));
        }
        StoredComponent { entry: &entry, size, ..*self }.for_each_decoded(body)
    }

    /// Calls `body` with the decoded bytes of a range, the same elements converted to `to`, and how many
    /// numbers that loses.
    pub fn for_each_converted(&self, range: &Range<u64>, to: Dtype, body: &mut PairBody<'_>) -> Result<()> {
        /// Small, because decoded blocks take up to 64 times as many bytes.
        const PIECE: usize = 64 << 10;
        let from = self.entry.element_type()?;
        let step = whole_units(PIECE, in_memory(self.element_size())?);
        let mut converted = Vec::new();
        self.for_each_in(range, &mut |chunk| {
            chunk.chunks(step).try_for_each(|piece| {
                let size = convert::converted_size(piece.len() as u64, from, to)?;
                refill(&mut converted, in_memory(size)?)?;
                // `converted` is used next, so it has to stay in the processor's cache. The size of this
                // piece is passed as the whole size, so that the conversion does not bypass the cache.
                let lost = convert::convert(piece, from, to, &mut converted, size)?;
                body(piece, &converted, lost)
            })
        })
    }

    /// How many numbers are lost if a range is converted to `to`.
    pub fn count_lost(&self, range: &Range<u64>, to: Dtype) -> Result<u64> {
        let mut lost = 0u64;
        self.for_each_converted(range, to, &mut |_, _, more| {
            lost = lost.saturating_add(more);
            Ok(())
        })?;
        Ok(lost)
    }

    /// Calls `body` with its floats, converted to blocks. If `only_checks` is set, `body` is not called; this
    /// only fails if a number does not fit in such a block.
    pub fn for_each_quantized(
        &self,
        to: Logical,
        only_checks: bool,
        body: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let blocks = IntoBlocks::new(self.entry.element_type()?, to, only_checks)?;
        for_each_block(blocks, &|e| e, |floats| self.for_each_decoded(floats), body)
    }

    /// Fills `dst` with the elements in `range`, converted to `to`; `dst` has exactly the size for them. If
    /// the component is not raw, `range` has to be all of it. `all` is the size of the whole result; `dst`
    /// may be a part of it. Returns how many numbers the conversion loses.
    pub fn convert_into(&self, range: &Range<u64>, to: Dtype, dst: &mut [u8], all: u64) -> Result<u64> {
        let (from, mut rest, mut lost) = (self.entry.element_type()?, dst, 0u64);
        self.for_each_in(range, &mut |chunk| {
            let produced = convert::converted_size(chunk.len() as u64, from, to)?;
            let now = take_front(&mut rest, produced)?;
            lost = lost.saturating_add(convert::convert(chunk, from, to, now, all)?);
            Ok(())
        })?;
        Ok(lost)
    }
}

/// Calls `body` with the floats of `each` as blocks. Errors of the blocks go through `wrap`.
pub(crate) fn for_each_block(
    mut blocks: IntoBlocks,
    wrap: &dyn Fn(Error) -> Error,
    each: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
    body: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let mut out = Vec::new();
    let mut give = |out: &[u8]| if out.is_empty() { Ok(()) } else { body(out) };
    each(&mut |floats| {
        out.clear();
        blocks.add(floats, &mut out).map_err(wrap)?;
        give(&out)
    })?;
    out.clear();
    blocks.end(&mut out).map_err(wrap)?;
    give(&out)
}

/// Receives decoded bytes, the same elements converted to another dtype, and how many numbers that loses.
pub type PairBody<'b> = dyn FnMut(&[u8], &[u8], u64) -> Result<()> + 'b;

/// The data that the digest of a component covers.
pub fn digest_of(entry: &Component) -> DigestOf {
    match entry.has_digest_of_decoded() {
        true => DigestOf::Decoded,
        false => DigestOf::Stored,
    }
}

/// How many components have a cached index: those walked last. An index takes up to 4 KiB.
const MAX_CACHED: usize = 64;

/// Frame indexes of components, by the position of the component.
#[derive(Default)]
pub(crate) struct FrameIndexCache(Mutex<Vec<(usize, FrameIndex)>>);

impl FrameIndexCache {
    /// Where to begin for `length` bytes from `offset` on, if the component's index is cached.
    pub fn seek(&self, index: usize, offset: u64, length: u64) -> Option<Seek> {
        let entries = self.0.lock();
        let found = entries.iter().find(|(of, _)| *of == index);
        found.map(|(_, frames)| frames.seek(offset, length))
    }

    /// Caches the index. If two threads walked the same component, the index of one of them is enough.
    pub fn insert(&self, index: usize, frames: FrameIndex) {
        let mut entries = self.0.lock();
        if entries.iter().any(|(of, _)| *of == index) {
            return;
        }
        if entries.len() >= MAX_CACHED {
            entries.remove(0);
        }
        let _ = push(&mut entries, (index, frames)); // without memory, they are walked again next time
    }
}

/// How much to read at a time from the page cache, where a call costs almost nothing.
const SMALL_READ: usize = 4 << 10;

/// Where the stored bytes of a component are.
#[derive(Clone, Copy)]
pub struct StoredBytes<'s> {
    pub source: &'s dyn ByteSource,
    pub start: u64,
    pub size: u64,
}

impl<'s> StoredBytes<'s> {
    pub fn range(&self) -> Range<u64> {
        self.start..self.start.saturating_add(self.size)
    }

    /// All stored bytes, if they can be borrowed instead of read.
    pub fn borrow(&self) -> Option<&'s [u8]> {
        self.source.slice(self.range())
    }

    pub fn with_all<T>(&self, body: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
        with_range(self.source, self.range(), body)
    }

    pub fn for_each_chunk(&self, body: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        for_each_chunk(self.source, self.range(), body)
    }

    /// Whether the system reports that the stored bytes are in the page cache. Reading a few bytes here and
    /// there is cheap then.
    fn is_in_page_cache(&self) -> bool {
        /// The system reads ahead at least this much, so such a range is in memory as a whole or not at all.
        const READ_AT_ONCE: u64 = 64 << 10;
        let range = self.range();
        let here = |at| self.source.page_cache().and_then(|cache| cache.resident(at)) == Some(true);
        here(range.end.saturating_sub(1)) && (self.size <= READ_AT_ONCE || here(range.start))
    }

    /// A reader for the headers among the stored bytes. Cached bytes are read in small pieces. All others are
    /// read in long reads, which are faster on disks and networks.
    pub fn reader(&self) -> Result<StoredReader<'s>> {
        let borrowed = self.borrow();
        let is_cheap = || self.size <= SMALL_READ as u64 || self.is_in_page_cache();
        self.read_in_steps(borrowed, if borrowed.is_some() || is_cheap() { SMALL_READ } else { READ_CHUNK })
    }

    /// Like [`StoredBytes::reader`], but `None` if a read would have to wait for a disk.
    pub fn cached_reader(&self) -> Result<Option<StoredReader<'s>>> {
        let borrowed = self.borrow();
        let is_cached = borrowed.is_some() || self.is_in_page_cache();
        is_cached.then(|| self.read_in_steps(borrowed, SMALL_READ)).transpose()
    }

    fn read_in_steps(&self, borrowed: Option<&'s [u8]>, step: usize) -> Result<StoredReader<'s>> {
        let size = in_memory(self.size)?;
        let bytes = with_capacity(if borrowed.is_some() { 0 } else { step.min(size) })?;
        Ok(StoredReader { stored: *self, size, borrowed, bytes, start: UNREAD })
    }
}

/// Reads a few of a component's stored bytes here and there, front to back.
pub struct StoredReader<'s> {
    stored: StoredBytes<'s>,
    size: usize,
    /// All stored bytes, if they are in memory.
    borrowed: Option<&'s [u8]>,
    /// The bytes that were read last. `start` is the position of the first one among all stored bytes.
    bytes: Vec<u8>,
    start: usize,
}

/// The value of `start` before the first read.
const UNREAD: usize = usize::MAX;

impl codec::Stored for StoredReader<'_> {
    fn size(&self) -> usize {
        self.size
    }

    fn peek(&mut self, at: usize, count: usize) -> Result<Option<&[u8]>> {
        let (end, left) = (at.saturating_add(count), self.size.saturating_sub(at));
        if let Some(bytes) = self.borrowed {
            return Ok(bytes.get(at..end));
        }
        if count > left {
            return Ok(None);
        }
        if at < self.start || end > self.start.saturating_add(self.bytes.len()) {
            self.start = UNREAD; // the read may fail
            self.bytes.resize(self.bytes.capacity().min(left), 0); // within what was reserved
            self.stored.source.read_at(self.stored.start.saturating_add(at as u64), &mut self.bytes)?;
            self.start = at;
        }
        let at = at.saturating_sub(self.start);
        Ok(self.bytes.get(at..at.saturating_add(count)))
    }
}
