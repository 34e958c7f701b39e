//! Access to a component's bytes: borrow, copy, decode or convert them.

use super::object::Component;
use super::requests::run_request;
use crate::codec::{Array, Codec, Coding, Decoding, KnownSize, Order};
use crate::convert;
use crate::digest::{self, Algorithm, Crc32, Digest, DigestOf};
use crate::error::{fail, Cause, Error, Result};
use crate::load::{self, decoded_limit, digest_of, PairBody, Part, Request, StoredBytes, StoredComponent};
use crate::model::component::Checksum;
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{Encoding, LogicalType};
use crate::model::structure::check_bools;
use crate::source::for_each_chunk;

/// What a component allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caps {
    /// Its bytes can be borrowed.
    pub map: bool,
    /// Its decoded bytes can be read.
    pub read: bool,
    /// A range of the decoded bytes can be read without reading the rest.
    pub range: bool,
    /// Its bytes can be read directly to their destination, without the page cache and without a copy.
    pub direct: bool,
    /// It has a digest that can be checked.
    pub verify: bool,
    /// Its pages have no bytes of other components.
    pub page_exclusive: bool,
}

impl<'f> Component<'f> {
    /// What the component allows.
    pub fn caps(&self) -> Caps {
        let entry = self.entry;
        let is_open = self.is_open();
        if !is_open && self.file.shards.store.is_none() {
            return Caps::default();
        }
        let decoding = self.decoding();
        let readable = decoding.is_ok();
        let stored_as_read = matches!(decoding, Ok(Decoding::Raw));
        let source = self.likely_source();
        let file_backed = source.page_cache().is_some();
        let expected = self.digest().and_then(|d| self.parse_digest(d).ok());
        Caps {
            map: match is_open {
                true => self.borrow_inner().is_ok(),
                false => self.check_lendable().is_ok() && source.borrow(0..0).is_some(),
            },
            read: readable,
            range: readable,
            direct: stored_as_read && file_backed && self.is_direct_border(),
            verify: expected.is_some_and(|c| c.algorithm().is_some()) || self.checksum().is_some(),
            page_exclusive: entry.is_page_exclusive(),
        }
    }

    /// The decoded size. If neither the manifest nor the shape gives it, it is found from the frame headers,
    /// else by decoding once. The result is kept; a failure is kept if the file causes it.
    pub fn size(&self) -> Result<u64> {
        self.decoded_size().map_err(|e| self.wrap(e))
    }

    /// The decoded size, if it is known without reading stored bytes: the manifest gives it, or it was found
    /// before.
    pub fn known_size(&self) -> Option<u64> {
        self.entry.size().or_else(|| self.file.lazy_sizes.as_ref()?.kept(self.index))
    }

    /// The decoded size. If only decoding can find it, `progress` is called with the number of stored bytes
    /// decoded so far and their total. If it returns false, decoding stops.
    pub fn measure(&self, progress: &dyn Fn(u64, u64) -> bool) -> Result<u64> {
        let total = self.stored_size();
        let mut step = |done| match progress(done, total) {
            true => Ok(()),
            false => Err(fail!(Cancelled, "stopped after {done} of {total} stored bytes")),
        };
        self.decoded_size_by(&mut step)
    }

    pub(super) fn decoded_size(&self) -> Result<u64> {
        self.decoded_size_by(&mut |_| Ok(()))
    }

    fn decoded_size_by(&self, step: &mut dyn FnMut(u64) -> Result<()>) -> Result<u64> {
        if let Some(size) = self.entry.size() {
            return Ok(size);
        }
        let codec = match self.decoding()? {
            Decoding::Raw => return Ok(self.stored_size()),
            Decoding::Array | Decoding::Numbers { .. } => {
                return Err(fail!(Internal, "an array has no size"))
            }
            Decoding::Frames(codec) => codec,
        };
        let mut decode = || {
            let limit = decoded_limit(self.stored_size(), self.file.max_decoded_size);
            match self.size_by_frames(codec)? {
                KnownSize::Exact(size) => Ok(size),
                KnownSize::AtMost(_) => {
                    self.stored()?.with_all(|stored| codec.decode_counted(stored, limit, step))
                }
            }
        };
        let mut find = || self.unless_changed(decode());
        match &self.file.lazy_sizes {
            Some(sizes) => sizes.get_or_find(self.index, find),
            None => find(),
        }
    }

    /// The decoded size, or a limit for it, from the headers of its frames.
    pub(super) fn size_by_frames(&self, codec: Codec) -> Result<KnownSize> {
        codec.known_size(self.stored()?.reader()?)
    }

    /// How its stored bytes are decoded. An error if this version cannot read it. Every read calls this.
    #[inline]
    pub(super) fn decoding(&self) -> Result<Decoding> {
        if self.entry.dtype.is_none() {
            return Err(fail!(Unsupported, "its dtype {:?} is unknown", self.dtype_name()));
        }
        if self.is_never_interpreted() {
            let name = self.logical_name().unwrap_or_default();
            return Err(fail!(
                Unsupported,
                "its type {name:?} is unknown; only its stored bytes can be read"
            ));
        }
        let unknown = || fail!(Unsupported, "its encoding {:?} is unknown", self.encoding_name());
        self.known_decoding().ok_or_else(unknown)
    }

    /// Like [`Component::decoding`], for elements of any type. `None` if its encoding is unknown.
    pub(super) fn known_decoding(&self) -> Option<Decoding> {
        let coding = Coding::of(self.entry.encoding)?;
        Some(self.array().map_or(coding.into(), |_| Decoding::Array))
    }

    /// Its array, if its elements have strides or are compressed together with a header.
    pub(super) fn array(&self) -> Option<Array<'f>> {
        // A part of a weight is a tensor of its own shape.
        let shape = self.stored_shape().unwrap_or(self.object().shape());
        let manifest = &self.file.manifest;
        let layout = manifest.layout(self.entry)?;
        let codec = match Coding::of(self.entry.encoding)? {
            Coding::Compressed(codec) => Some(codec),
            Coding::Raw => None,
        };
        let order = match manifest.strides(layout, shape.len()) {
            Some(strides) => Order::Strided { shape, strides, codec },
            None => Order::RowMajor(codec?),
        };
        let element_size = self.entry.block().map_or(1, |block| block.bytes);
        Some(Array { layout, order, element_size, size: self.entry.size()? })
    }

    /// The error that every read of it returns because its dtype, type or encoding is unknown. `None` if
    /// reads work.
    pub fn unreadable(&self) -> Option<Error> {
        self.decoding().err()
    }

    /// Whether its logical type is unknown, so that its elements must not be read as elements of its dtype.
    pub fn is_never_interpreted(&self) -> bool {
        self.entry.logical == LogicalType::Other && !self.file_part().capabilities().reads_unknown_types
    }

    /// The component as the executor needs it.
    #[inline]
    pub(super) fn stored_component(&self) -> Result<StoredComponent<'f>> {
        let (file, entry) = (self.file, self.entry);
        Ok(StoredComponent {
            owner: file,
            source: self.source()?,
            object: self.object,
            entry,
            index: self.index,
            decoding: self.decoding()?,
            size: entry.size().map_or_else(|| self.decoded_size(), Ok)?,
            strict_bools: self.strict_bools(),
        })
    }

    /// Whether bools that are neither 0 nor 1 are refused.
    pub(super) fn strict_bools(&self) -> bool {
        self.file.strict && self.entry.dtype == Some(Dtype::Bool)
    }

    pub(super) fn stored(&self) -> Result<StoredBytes<'f>> {
        Ok(StoredBytes { source: self.source()?, start: self.entry.offset, size: self.entry.stored_size })
    }

    /// Borrows the bytes in place.
    pub fn borrow(&self) -> Result<&'f [u8]> {
        self.borrow_inner().map_err(|e| self.wrap(e))
    }

    /// Rejects a component whose stored bytes are not the bytes it has in memory.
    fn check_lendable(&self) -> Result<()> {
        match self.decoding()? {
            Decoding::Raw => {}
            _ if self.entry.encoding.is_compressed() => return Err(not_borrowed("it is compressed")),
            _ => return Err(not_borrowed("its elements are stored with strides, not in row-major order")),
        }
        match self.entry.swaps() {
            true => Err(not_borrowed("its byte order is not this machine's")),
            false => Ok(()),
        }
    }

    pub(super) fn borrow_inner(&self) -> Result<&'f [u8]> {
        self.check_lendable()?;
        let Some(bytes) = self.source()?.borrow(self.entry.offset..self.entry.end()) else {
            return Err(not_borrowed("the file is neither mapped nor in memory"));
        };
        if bytes.is_empty() {
            return Ok(EMPTY.0.get(..0).unwrap_or_default());
        }
        let wanted = self.entry.width();
        if bytes.as_ptr().addr() & wanted.saturating_sub(1) != 0 {
            return Err(not_borrowed("the memory that holds the file is not aligned"));
        }
        if self.strict_bools() {
            check_bools(bytes, |at| at)?;
        }
        Ok(bytes)
    }

    /// Fills the front of `dst` with the decoded bytes.
    pub fn read(&self, dst: &mut [u8]) -> Result<()> {
        self.run(Part::Whole, None, dst, self.threads())
    }

    /// How many threads read it.
    pub(super) fn threads(&self) -> usize {
        match self.file.threads_for(self.entry.size().unwrap_or(0)) {
            1 => 1,
            threads => threads.min(self.threads_of_source()),
        }
    }

    /// The most threads that may read it. The calling thread alone reads a callback source, unless the
    /// source's profile allows more.
    pub(super) fn threads_of_source(&self) -> usize {
        self.likely_source().profile().concurrency.max(1)
    }

    /// Whether it has a digest whose algorithm is known.
    pub(super) fn has_known_digest(&self) -> Result<bool> {
        let Some(text) = self.digest() else { return Ok(false) };
        let digest = self.parse_digest(text).map_err(|e| self.wrap(e))?;
        Ok(digest.algorithm().is_some())
    }

    /// Reads a part of it, on the calling thread or on several threads.
    pub(super) fn run(
        &self,
        part: Part,
        convert: Option<Dtype>,
        dst: &mut [u8],
        threads: usize,
    ) -> Result<()> {
        if threads > 1 {
            return self.run_on(part, convert, dst, threads);
        }
        self.stored_component()
            .and_then(|component| load::run_one(&component, part, convert, dst))
            .map_err(|e| self.wrap(e))
    }

    /// Reads a part of it, as a batch of one request.
    pub(super) fn run_on(
        &self,
        part: Part,
        convert: Option<Dtype>,
        dst: &mut [u8],
        threads: usize,
    ) -> Result<()> {
        let request =
            self.stored_component().and_then(|component| Request::new(component, part, convert, dst, 0));
        run_request(request.map_err(|e| self.wrap(e))?, threads)
    }

    /// Fills `dst` with the decoded bytes from `offset` on.
    pub fn read_range(&self, offset: u64, dst: &mut [u8]) -> Result<()> {
        self.run(Part::Range { offset, length: dst.len() as u64 }, None, dst, 1)
    }

    /// Runs `body` with it as the executor needs it, as in [`Component::unless_changed`].
    fn with_stored(&self, body: impl FnOnce(StoredComponent<'f>) -> Result<()>) -> Result<()> {
        self.unless_changed(self.stored_component().and_then(body))
    }

    /// Calls `body` with the decoded bytes front to back: whole elements, in the host's byte order.
    pub fn for_each_decoded(&self, body: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.with_stored(|component| component.for_each_decoded(body))
    }

    /// Like [`Component::for_each_decoded`], with elements converted to `to`. Conversions that lose numbers
    /// are accepted.
    pub fn for_each_converted(&self, to: Dtype, body: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.for_each_pair(to, &mut |_, converted, _| body(converted))
    }

    /// Fails if a conversion of its elements to `to` loses numbers.
    pub(crate) fn check_conversion(&self, to: Dtype) -> Result<()> {
        let mut lost = 0u64;
        if convert::may_lose(self.entry.element_type().map_err(|e| self.wrap(e))?, to) {
            self.for_each_pair(to, &mut |_, _, more| {
                lost = lost.saturating_add(more);
                Ok(())
            })?;
        }
        convert::refuse_loss(lost, to, false).map_err(|e| self.wrap(e))
    }

    /// Calls `body` with its floats, converted to blocks of ggml's type `to`. The object's rows have to be
    /// whole blocks.
    pub fn for_each_quantized(&self, to: Logical, body: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.with_stored(|component| component.for_each_quantized(to, false, body))
    }

    /// Fails if one of its floats does not fit in a block of that type.
    pub(crate) fn check_quantization(&self, to: Logical) -> Result<()> {
        self.with_stored(|component| component.for_each_quantized(to, true, &mut |_| Ok(())))
    }

    /// Calls `body` with decoded bytes, the same elements converted to `to`, and how many numbers that loses.
    pub(super) fn for_each_pair(&self, to: Dtype, body: &mut PairBody<'_>) -> Result<()> {
        self.with_stored(|component| component.for_each_converted(&(0..component.size), to, body))
    }

    /// Copies its stored bytes unchanged. This works for unknown encodings, too.
    pub fn read_stored(&self, dst: &mut [u8]) -> Result<()> {
        let size = self.entry.stored_size;
        let capacity = dst.len();
        let fitting = usize::try_from(size).ok().and_then(|size| dst.get_mut(..size));
        let dst = fitting.ok_or_else(|| {
            self.wrap(fail!(BufferSize, "it has {size} stored bytes, the memory for it {capacity}"))
        });
        let (source, dst) = (self.source().map_err(|e| self.wrap(e))?, dst?);
        self.unless_changed(source.read_at(self.entry.offset, dst))
    }

    /// Checks the digest against the stored bytes.
    pub fn verify_digest(&self) -> Result<()> {
        self.unless_changed(self.verify_digest_inner())
    }

    /// Like [`File::unless_changed`](super::file::File::unless_changed). An error gets the component's name.
    pub(super) fn unless_changed<T>(&self, outcome: Result<T>) -> Result<T> {
        let outcome = outcome.and_then(|read| self.file.unless_changed(self.bytes_part(), Ok(read)));
        outcome.map_err(|e| self.wrap(e))
    }

    /// Like [`Component::verify_digest`], but the error does not name the component.
    pub(super) fn verify_digest_inner(&self) -> Result<()> {
        if let (None, Some(checksum)) = (self.digest(), self.checksum()) {
            return self.verify_checksum(checksum);
        }
        self.check_digest(&mut |hasher| {
            self.for_each_hashed(&mut |chunk| {
                hasher.update(chunk);
                Ok(())
            })
        })
    }

    /// Whether a copy of its stored bytes may keep its digest. `of` says whether the copy's container has
    /// digests of stored or of decoded bytes. True if the component has no digest.
    pub(crate) fn can_keep_digest(&self, of: DigestOf) -> Result<bool> {
        let own = digest_of(self.entry);
        let Some(text) = self.digest().filter(|_| own != of) else { return Ok(true) };
        let digest = self.parse_digest(text).map_err(|e| self.wrap(e))?;
        Ok(matches!(digest, Digest::Sha256(_)) && self.is_raw() && of.has_form(text))
    }

    /// The algorithm of its digest; `None` if it has no digest or the algorithm is unknown.
    pub(crate) fn digest_algorithm(&self) -> Option<Algorithm> {
        self.parse_digest(self.digest()?).ok()?.algorithm()
    }

    pub(crate) fn parse_digest(&self, text: &str) -> Result<Digest> {
        digest::parse_of(text, digest_of(self.entry))
    }

    /// Calls `body` with the bytes that its digest covers, front to back.
    pub(super) fn for_each_hashed(&self, body: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        match self.entry.has_digest_of_decoded() && self.entry.encoding != Encoding::Raw {
            true => self.stored_component()?.for_each_decoded_byte(body),
            false => self.stored()?.for_each_chunk(body),
        }
    }

    /// Whether it is in an archive whose writer left out its checksum on purpose.
    pub fn lacks_checksum(&self) -> bool {
        let part = self.file_part();
        // An archive has its directory behind the data.
        let is_in_archive = part.frame().manifest.start >= self.entry.end();
        let is_optional = part.capabilities().checksums_optional && is_in_archive;
        is_optional && self.stored_size() > 0 && self.checksum().is_none()
    }

    /// The CRC-32 of the archive's member that has its bytes, if there is one.
    pub fn member_crc32(&self) -> Option<u32> {
        self.checksum().map(|checksum| checksum.crc32)
    }

    pub(super) fn checksum(&self) -> Option<Checksum> {
        self.file.manifest.layout(self.entry)?.checksum
    }

    /// Checks the CRC-32 of an archive. Decodes a compressed component; otherwise reads the bytes that the
    /// CRC-32 covers.
    fn verify_checksum(&self, checksum: Checksum) -> Result<()> {
        if self.entry.encoding.is_compressed() {
            return self.stored_component()?.for_each_decoded(&mut |_| Ok(()));
        }
        let mut sum = Crc32::new();
        let end = checksum.start.saturating_add(checksum.size);
        for_each_chunk(self.source()?, checksum.start..end, &mut |chunk| {
            sum.update(chunk);
            Ok(())
        })?;
        sum.check(checksum.crc32)
    }

    /// Checks the digest against the bytes that `hash` adds to a hasher.
    pub(super) fn check_digest(&self, hash: &mut dyn FnMut(&mut digest::Hasher) -> Result<()>) -> Result<()> {
        let Some(text) = self.digest() else { return Err(fail!(Unsupported, "it has no digest to check")) };
        let expected = self.parse_digest(text)?;
        let Ok(mut hasher) = expected.hasher() else {
            return Err(fail!(Unsupported, "the algorithm of its digest {text:?} is unknown"));
        };
        hash(&mut hasher)?;
        digest::check(&expected, &hasher.finish())
    }
}

#[cold]
fn not_borrowed(why: &str) -> Error {
    Error::new(Cause::NotMappable, format_args!("it cannot be borrowed: {why}"))
}

/// The bytes for an empty component: their address is aligned and not NULL.
#[repr(align(64))]
struct Aligned([u8; 64]);
static EMPTY: Aligned = Aligned([0; 64]);
