//! The ways to a component's bytes, cheapest first: lent, copied, decoded, converted.

use super::stored::{for_each_chunk, zeroed};
use super::{Component, Selection};
use crate::codec::{Codec, Coding, KnownSize, StoredPart};
use crate::convert::byte_order::{swap_in_place, to_host_needed};
use crate::digest;
use crate::error::{broken, fail, Cause, Error, Result, Rule};
use crate::model::dtype::Dtype;

/// What would work on a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Its bytes can be lent.
    pub map: bool,
    /// Its bytes can be had.
    pub read: bool,
    /// A range can be had without the rest.
    pub range: bool,
    /// Its stored bytes can go from the disk to their place as they are.
    pub direct: bool,
    /// It has a digest that can be checked.
    pub verify: bool,
    /// Its pages are its own.
    pub page_exclusive: bool,
}

impl<'f> Component<'f> {
    /// What would work.
    pub fn caps(&self) -> Caps {
        let entry = self.entry;
        let coding = self.coding();
        let readable = coding.is_ok();
        let stored_as_read = match coding {
            Ok(Coding::Raw) => true,
            Ok(Coding::Compressed(_)) | Err(_) => false,
        };
        let file_backed = self.file.source().page_cache().is_some();
        let expected = self.digest().and_then(|d| digest::parse(d).ok());
        Caps {
            map: self.borrow_inner().is_ok(),
            read: readable,
            range: readable,
            direct: stored_as_read && file_backed && self.is_direct_border(),
            verify: expected.is_some_and(|c| c.algorithm().is_some()),
            page_exclusive: entry.is_page_exclusive(),
        }
    }

    /// Decoded bytes. Where neither manifest nor shape gives them, the frame headers or, if they do not
    /// either, decoding once finds it out; the answer is kept, also where it is a
    /// failure that is the file's.
    pub fn size(&self) -> Result<u64> {
        self.decoded_size().map_err(|e| self.wrap(e))
    }

    /// Decoded bytes as far as that is known without a look at stored ones: declared, or found before.
    pub fn known_size(&self) -> Option<u64> {
        self.entry.size().or_else(|| self.file.lazy_sizes.kept(self.size_place()))
    }

    pub(super) fn decoded_size(&self) -> Result<u64> {
        if let Some(size) = self.entry.size() {
            return Ok(size);
        }
        let codec = match self.coding()? {
            Coding::Raw => return Ok(self.stored_size()),
            Coding::Compressed(codec) => codec,
        };
        self.file.lazy_sizes.get_or_find(self.size_place(), || {
            let limit = self.decoded_limit();
            match codec.known_size(self.stored_reader()?)? {
                KnownSize::Exact(size) => Ok(size),
                KnownSize::AtMost(_) => self.with_stored(|stored| codec.decode_counted(stored, limit)),
            }
        })
    }

    /// Where its size is kept: components of the same bytes have the same.
    fn size_place(&self) -> usize {
        let shared = self.file.aliases.range(self.index);
        shared.map_or(self.index, |range| self.file.manifest.components.len().saturating_add(range))
    }

    /// Refuses what this version does not know how to read.
    pub(super) fn check_known(&self) -> Result<()> {
        self.coding().map(drop)
    }

    /// What there is between its stored and its decoded bytes: the only way to these. Refuses what this version does
    /// not know how to read.
    pub(super) fn coding(&self) -> Result<Coding> {
        if self.entry.dtype.is_none() {
            return Err(fail!(Unsupported, "its dtype {:?} is unknown", self.dtype_name()));
        }
        let unknown = || fail!(Unsupported, "its encoding {:?} is unknown", self.encoding_name());
        Coding::of(self.entry.encoding).ok_or_else(unknown)
    }

    fn decoded_limit(&self) -> u64 {
        const DEFAULT: u64 = 1 << 30;
        const RATIO: u64 = 256;
        let by_ratio = self.entry.stored_size.saturating_mul(RATIO);
        self.file.max_decoded_size.unwrap_or_else(|| by_ratio.max(DEFAULT))
    }

    /// Before anything is allocated or decoded for a claim of `size` bytes: can the stored bytes
    /// hold that, and is it allowed?
    pub(super) fn check_declared_size(&self, codec: Codec, stored: &[u8], size: u64) -> Result<()> {
        self.check_size_bound(codec, codec.known_size(stored)?, size)
    }

    /// Checks a declared size against what the stored bytes can hold.
    pub(super) fn check_size_bound(&self, codec: Codec, known: KnownSize, size: u64) -> Result<()> {
        let (KnownSize::Exact(most) | KnownSize::AtMost(most)) = known;
        if most < size {
            return Err(broken!(
                codec.length_rule(),
                "{size} bytes are declared, but its {} stored bytes hold at most {most}",
                self.entry.stored_size
            ));
        }
        let limit = self.decoded_limit();
        if size > limit {
            return Err(fail!(Limit, "it decodes to {size} bytes, above the limit of {limit}"));
        }
        Ok(())
    }

    pub(super) fn width(&self) -> usize {
        self.entry.dtype.map_or(1, Dtype::size)
    }

    pub(super) fn swaps(&self) -> bool {
        to_host_needed(self.entry.is_big_endian(), self.width())
    }

    fn swap_to_host(&self, bytes: &mut [u8]) {
        if self.swaps() {
            swap_in_place(bytes, self.width());
        }
    }

    /// In strict mode refuses bools that are neither 0 nor 1; `base` is where the bytes begin in the component.
    pub(super) fn check_bool_from(&self, base: u64, bytes: &[u8]) -> Result<()> {
        if self.file.strict && self.entry.dtype == Some(Dtype::Bool) {
            return check_bool_bytes(bytes, base);
        }
        Ok(())
    }

    pub(super) fn check_bool(&self, bytes: &[u8]) -> Result<()> {
        self.check_bool_from(0, bytes)
    }

    /// Lends the bytes where they are.
    pub fn borrow(&self) -> Result<&'f [u8]> {
        self.borrow_inner().map_err(|e| self.wrap(e))
    }

    pub(super) fn borrow_inner(&self) -> Result<&'f [u8]> {
        let not =
            |why: &str| Err(Error::new(Cause::NotMappable, format_args!("it cannot be borrowed: {why}")));
        match self.coding()? {
            Coding::Raw => {}
            Coding::Compressed(_) => return not("it is compressed"),
        }
        if self.swaps() {
            return not("its byte order is not this machine's");
        }
        let Some(bytes) = self.file.source.borrow(self.stored_range()) else {
            return not("the file is neither mapped nor in memory");
        };
        if bytes.is_empty() {
            return Ok(EMPTY.0.get(..0).unwrap_or_default());
        }
        let wanted = self.width();
        if bytes.as_ptr().addr() & wanted.saturating_sub(1) != 0 {
            return not("the memory that holds the file is not aligned");
        }
        self.check_bool(bytes)?;
        Ok(bytes)
    }

    /// Fills the front of `dst` with the decoded bytes.
    pub fn read(&self, dst: &mut [u8]) -> Result<()> {
        match self.threads() {
            1 => self.read_inner(dst).map_err(|e| self.wrap(e)),
            threads => self.read_on(threads, Selection::Whole, dst),
        }
    }

    /// Threads that reading it is worth.
    pub(super) fn threads(&self) -> usize {
        // A host's own source is called by its own thread, unless it or the call's options say otherwise.
        let worthwhile = self.file.source().profile().concurrency;
        self.file.threads_for(self.entry.size().unwrap_or(0)).min(worthwhile.max(1))
    }

    pub(super) fn read_inner(&self, dst: &mut [u8]) -> Result<()> {
        self.decode_whole(dst, false)
    }

    /// Decodes the whole component into `dst`; with `checked`, the digest of its stored bytes is checked first.
    pub(super) fn decode_whole(&self, dst: &mut [u8], checked: bool) -> Result<()> {
        let coding = self.coding()?;
        let size = self.decoded_size()?;
        let capacity = dst.len();
        let fitting = usize::try_from(size).ok().and_then(|size| dst.get_mut(..size));
        let dst =
            fitting.ok_or_else(|| fail!(BufferSize, "it has {size} bytes, the memory for it {capacity}"))?;
        let check = |stored: &[u8]| match checked {
            true => self.check_digest(&mut |hasher| {
                hasher.update(stored);
                Ok(())
            }),
            false => Ok(()),
        };
        match coding {
            Coding::Compressed(codec) => self.with_stored(|stored| {
                check(stored)?;
                self.check_declared_size(codec, stored, size)?;
                codec.decode_into(stored, dst)
            })?,
            Coding::Raw => {
                self.file.source().read_at(self.entry.offset, dst)?;
                check(dst)?;
            }
        }
        self.swap_to_host(dst);
        self.check_bool(dst)
    }

    /// Fills `dst` with the decoded bytes from `offset` on.
    pub fn read_range(&self, offset: u64, dst: &mut [u8]) -> Result<()> {
        self.read_range_inner(offset, dst).map(drop).map_err(|e| self.wrap(e))
    }

    /// Reads a range, and returns how many stored bytes were read for it.
    pub(super) fn read_range_inner(&self, offset: u64, dst: &mut [u8]) -> Result<u64> {
        self.check_known()?;
        let size = self.decoded_size()?;
        let length = dst.len() as u64;
        if offset.checked_add(length).is_none_or(|end| end > size) {
            return Err(fail!(
                InvalidArgument,
                "the range of {length} bytes at {offset} passes its {size} decoded bytes"
            ));
        }
        if self.swaps() {
            return self.read_range_swapped(offset, dst, size);
        }
        let read = self.read_stored_order(offset, dst, size)?;
        self.check_bool_from(offset, dst)?;
        Ok(read)
    }

    /// The range in the file's byte order.
    fn read_stored_order(&self, offset: u64, dst: &mut [u8], size: u64) -> Result<u64> {
        let length = dst.len() as u64;
        match self.coding()? {
            Coding::Compressed(codec) => {
                let decode =
                    |stored: StoredPart<'_>, start| codec.decode_range(stored, start, size, offset, dst);
                self.with_range_of(codec, size, offset, length, decode).map(|((), read)| read)
            }
            Coding::Raw => {
                self.file.source().read_at(self.entry.offset.saturating_add(offset), dst)?;
                Ok(dst.len() as u64)
            }
        }
    }

    /// A range may begin and end within an element: whole ones are read, turned, and cut.
    fn read_range_swapped(&self, offset: u64, dst: &mut [u8], size: u64) -> Result<u64> {
        let width = self.width();
        let end = offset.saturating_add(dst.len() as u64);
        let first = offset - offset % (width as u64).max(1);
        let last = end.checked_next_multiple_of(width as u64).unwrap_or(end).min(size);
        let mut whole = zeroed(usize::try_from(last.saturating_sub(first)).unwrap_or(usize::MAX))?;
        let read = self.read_stored_order(first, &mut whole, size)?;
        swap_in_place(&mut whole, width);
        let skip = usize::try_from(offset.saturating_sub(first)).unwrap_or(0);
        let wanted = whole.get(skip..).and_then(|w| w.get(..dst.len()));
        let wanted = wanted.ok_or_else(|| fail!(Internal, "a range of whole elements is too short"))?;
        dst.copy_from_slice(wanted);
        Ok(read)
    }

    /// Checks the digest against the stored bytes.
    pub fn verify_digest(&self) -> Result<()> {
        self.verify_digest_inner().map_err(|e| self.wrap(e))
    }

    fn verify_digest_inner(&self) -> Result<()> {
        self.check_digest(&mut |hasher| {
            for_each_chunk(self.file.source(), self.stored_range(), &mut |chunk| {
                hasher.update(chunk);
                Ok(())
            })
        })
    }

    /// Checks the digest against what `hash` gives.
    pub(super) fn check_digest(&self, hash: &mut dyn FnMut(&mut digest::Hasher) -> Result<()>) -> Result<()> {
        let Some(text) = self.digest() else { return Err(fail!(Unsupported, "it has no digest to check")) };
        let expected = digest::parse(text)?;
        let Ok(mut hasher) = expected.hasher() else {
            return Err(fail!(Unsupported, "the algorithm of its digest {text:?} is unknown"));
        };
        hash(&mut hasher)?;
        digest::check(&expected, &hasher.finish())
    }
}

/// Refuses bool bytes other than 0 and 1; `base` is where they begin.
pub(super) fn check_bool_bytes(bytes: &[u8], base: u64) -> Result<()> {
    match bytes.iter().position(|b| *b > 1) {
        None => Ok(()),
        Some(at) => {
            let value = bytes.get(at).copied().unwrap_or_default();
            let at = base.saturating_add(at as u64);
            Err(broken!(Rule::BoolByte, "its bool at byte {at} is {value}, neither 0 nor 1"))
        }
    }
}

/// What is lent for no bytes at all: aligned, and not NULL.
#[repr(align(64))]
struct Aligned([u8; 64]);
static EMPTY: Aligned = Aligned([0; 64]);
