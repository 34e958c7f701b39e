//! Requests to the executor, their options, and the statistics it returns.

use super::component::StoredComponent;
use super::destination::Destination;
use super::slab::Slab;
use crate::codec::Decoding;
use crate::convert;
use crate::error::{fail, Result};
use crate::model::dtype::{Dtype, Logical};
use std::ffi::CStr;
use std::ops::Range;

/// Whether to bypass the page cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direct {
    /// The library decides.
    #[default]
    Auto,
    /// Read through the page cache.
    Never,
    /// Bypass the page cache.
    Always,
}

/// How to read a batch.
#[derive(Clone, Copy, Debug)]
pub struct BatchOptions {
    /// The number of threads; 0 for one per processor.
    pub threads: usize,
    /// Whether to bypass the page cache.
    pub direct: Direct,
    /// How many bytes a thread reads at a time.
    pub chunk_size: u64,
    /// The limit for temporary memory.
    pub in_flight: u64,
    /// Check the digests of components that are read whole.
    pub verify: bool,
    /// The destinations are pinned and contiguous, so direct reads into them need no bounce buffer.
    pub pinned: bool,
    /// If a request fails, report it and continue with the others.
    pub keep_going: bool,
}

impl BatchOptions {
    /// Options for reads on one thread. The request says whether its digest is checked.
    pub(super) const ONE_THREAD: BatchOptions = BatchOptions {
        threads: 1,
        direct: Direct::Auto,
        chunk_size: 4 << 20,
        in_flight: u64::MAX,
        verify: false,
        pinned: false,
        keep_going: false,
    };
}

impl Default for BatchOptions {
    fn default() -> Self {
        BatchOptions { threads: 0, in_flight: 256 << 20, ..BatchOptions::ONE_THREAD }
    }
}

/// Called with the bytes done and the total. If it returns false, the batch stops.
pub type Progress<'a> = dyn Fn(u64, u64) -> bool + Sync + 'a;
/// Called for each request that is done.
pub type OnDone<'a> = dyn Fn(u64, &Result<()>) + Sync + 'a;

/// What a batch did.
#[derive(Clone, Copy, Debug, Default)]
pub struct BatchStats {
    /// Bytes delivered.
    pub bytes: u64,
    /// Stored bytes read.
    pub stored_bytes: u64,
    /// Requests done.
    pub requests: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Digests that were checked and agree.
    pub digests_verified: u64,
    /// Elapsed time.
    pub nanoseconds: u64,
    /// Threads used.
    pub threads: u32,
    /// Whether reads bypassed the page cache.
    pub direct: bool,
    /// Why reads bypassed the page cache or not.
    pub reason: &'static CStr,
}

/// The part of a component that is read.
pub(crate) enum Part {
    /// All of it.
    Whole,
    /// A range of its decoded bytes.
    Range {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u64,
    },
    /// A hyperslab of its elements.
    Slab(Box<Slab>),
}

impl Part {
    /// How many decoded bytes the part has.
    fn size(&self, component: &StoredComponent<'_>) -> u64 {
        match self {
            Part::Whole => component.size,
            Part::Range { length, .. } => *length,
            Part::Slab(slab) => slab.size(),
        }
    }

    /// Offsets and sizes of the part that must be multiples of the element size, if elements must not be cut.
    fn units(&self) -> [u64; 3] {
        match self {
            Part::Whole => [0; 3],
            Part::Range { offset, length } => [*offset, *length, 0],
            Part::Slab(slab) => {
                slab.window(0).map_or([0; 3], |window| [window.source_offset, window.block, window.stride])
            }
        }
    }
}

/// The options of a request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    /// Converts the elements to this dtype.
    pub convert: Option<Dtype>,
    /// The conversion may lose numbers: finite numbers become infinite, integers become the nearest value of
    /// the type.
    pub lossy: bool,
    /// Checks the digest even if the batch options do not. Only for a whole component.
    pub verify: bool,
    /// The caller's name for it.
    pub tag: u64,
}

/// One read. Its progress is in a `Task`.
pub struct Request<'a> {
    pub(crate) component: StoredComponent<'a>,
    pub(crate) part: Part,
    size: u64,
    /// The memory that receives the bytes. Empty once the executor has taken it, and if the bytes go into a
    /// ring.
    pub dst: Destination<'a>,
    pub(crate) wanted: Wanted,
    /// Its bytes go into the ring of a load.
    pub in_ring: bool,
}

impl<'a> Request<'a> {
    /// Checks that the component has this part. Returns the part and the number of bytes it fills, after
    /// conversion if a dtype is given.
    #[inline]
    pub(crate) fn checked(
        component: &StoredComponent<'_>,
        part: Part,
        convert: Option<Dtype>,
    ) -> Result<(Part, u64)> {
        let part = match part {
            Part::Range { offset, length } => {
                if offset.checked_add(length).is_none_or(|end| end > component.size) {
                    return Err(fail!(
                        InvalidArgument,
                        "the range of {length} bytes at {offset} passes its {} decoded bytes",
                        component.size
                    ));
                }
                // A range that covers everything is the whole component: then its digest can be checked.
                if length == component.size {
                    Part::Whole
                } else {
                    Part::Range { offset, length }
                }
            }
            part => part,
        };
        let decoded = part.size(component);
        let Some(to) = convert else { return Ok((part, decoded)) };
        let from = component.entry.element_type()?;
        let width = component.element_size();
        if let Some(cut) = part.units().iter().find(|n| n.checked_rem(width) != Some(0)) {
            let what = if from.1.is_some_and(Logical::is_block_type) { "blocks" } else { "elements" };
            return Err(fail!(
                InvalidArgument,
                "{cut} bytes are not whole {what} of {width} bytes; only whole {what} can be converted"
            ));
        }
        Ok((part, convert::converted_size(decoded, from, to)?))
    }

    /// Makes a request for a part that the component has. If a dtype is given, the elements are converted.
    pub(crate) fn new(
        component: StoredComponent<'a>,
        part: Part,
        convert: Option<Dtype>,
        dst: &'a mut [u8],
        tag: u64,
    ) -> Result<Request<'a>> {
        let (part, size) = Request::checked(&component, part, convert)?;
        Ok(Request::of(component, part, size, Wanted { convert, tag, ..Wanted::default() }, dst))
    }

    /// A request for a part that was [`checked`](Request::checked).
    #[inline(always)]
    pub(crate) fn of(
        component: StoredComponent<'a>,
        part: Part,
        size: u64,
        wanted: Wanted,
        dst: &'a mut [u8],
    ) -> Request<'a> {
        Request { component, part, size, dst: Destination::Bytes(dst), wanted, in_ring: false }
    }

    /// A piece of `size` bytes of an oversized request.
    pub(super) fn piece(whole: &Request<'a>, size: u64) -> Request<'a> {
        let wanted = Wanted { convert: None, ..whole.wanted };
        Request { in_ring: true, ..Request::of(whole.component, Part::Whole, size, wanted, &mut []) }
    }

    /// Takes the memory that the request fills: rows, or exactly as many bytes as it needs.
    pub(super) fn take_destination(&mut self) -> Result<Destination<'a>> {
        match std::mem::replace(&mut self.dst, Destination::Bytes(&mut [])) {
            Destination::Bytes(dst) => {
                let (size, capacity) = (self.size, dst.len());
                let front = usize::try_from(size).ok().and_then(|size| dst.get_mut(..size));
                front.map(Destination::Bytes).ok_or_else(|| {
                    fail!(BufferSize, "it takes {size} bytes, the memory for it has {capacity}")
                })
            }
            rows => Ok(rows),
        }
    }

    /// The address and size of each piece of memory that the request fills.
    pub fn places(&self) -> impl ExactSizeIterator<Item = (usize, usize)> + '_ {
        let (first, size, count, stride) = match &self.dst {
            Destination::Bytes(dst) => (dst.as_ptr().addr(), dst.len(), 1, 0),
            Destination::Rows(rows) => (rows.address(), rows.length(), rows.row_count(), rows.stride()),
        };
        let count = if size > 0 { count } else { 0 };
        (0..count).map(move |place| (first.saturating_add(place.saturating_mul(stride)), size))
    }

    /// The address of the first byte that the request fills.
    pub fn address(&self) -> usize {
        match &self.dst {
            Destination::Bytes(dst) => dst.as_ptr().expose_provenance(),
            Destination::Rows(rows) => rows.address(),
        }
    }

    /// How many decoded bytes the request needs.
    pub(super) fn decoded_size(&self) -> u64 {
        self.part.size(&self.component)
    }

    /// How many bytes the request fills.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether the request begins and ends between elements, if elements are byte-swapped or gathered.
    pub(super) fn has_whole_units(&self) -> bool {
        self.covering_size() == self.decoded_size()
    }

    /// The length of [`Request::covering`].
    pub(super) fn covering_size(&self) -> u64 {
        let Range { start, end } = self.covering();
        end.saturating_sub(start)
    }

    /// How much memory the request takes besides its destination, if all stored bytes are read.
    pub(super) fn whole_memory(&self) -> u64 {
        self.component.unborrowed_size().saturating_add(self.extra_memory())
    }

    /// How much memory is needed for decoded bytes that were not requested: between the rows of a slab, or a
    /// whole array if its elements are gathered.
    pub(super) fn extra_memory(&self) -> u64 {
        let (is_slab, covering) = (matches!(self.part, Part::Slab(_)), self.covering_size());
        match self.component.decoding {
            Decoding::Raw if is_slab => return 0, // gathered from a bounce buffer
            Decoding::Numbers { .. } => return self.component.decoding_memory(),
            Decoding::Raw | Decoding::Frames(_) | Decoding::Array => {}
        }
        let is_direct = !is_slab && self.decoded_size() == covering;
        self.component.decoding_memory().saturating_add(if is_direct { 0 } else { covering })
    }

    /// The range of decoded bytes from the first to the last byte of the part. It is extended to whole
    /// elements if these have to be byte-swapped.
    pub(super) fn covering(&self) -> Range<u64> {
        match &self.part {
            Part::Whole => 0..self.component.size,
            Part::Slab(slab) => slab.covering().unwrap_or_default(),
            Part::Range { offset, length } => {
                let (start, end) = (*offset, offset.saturating_add(*length));
                let width = self.component.unit();
                if width == 1 {
                    return start..end;
                }
                let last = end.checked_next_multiple_of(width).unwrap_or(end);
                start - start % width..last.min(self.component.size).max(end)
            }
        }
    }
}
