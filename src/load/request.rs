//! What is asked of the executor, what it says of it, and the jobs that a request is cut into.

use super::blob::Blob;
use super::rows::RowsMut;
use super::slab::{Slab, StridedBlocks};
use crate::codec::{Codec, EntryRange};
use crate::convert;
use crate::error::{fail, Result};
use crate::lock::Mutex;
use crate::memory::try_box;
use crate::model::dtype::Dtype;
use std::ffi::CStr;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize};

/// Whether to go past the page cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direct {
    /// The library decides.
    #[default]
    Auto,
    /// Through the page cache.
    Never,
    /// Past the page cache.
    Always,
}

/// How to read a batch.
#[derive(Clone, Copy, Debug)]
pub struct BatchOptions {
    /// Threads; 0 for as many as there are processors.
    pub threads: usize,
    /// Whether to go past the page cache.
    pub direct: Direct,
    /// Bytes that a thread reads at a time.
    pub chunk_size: u64,
    /// Most bytes of temporary memory at once.
    pub in_flight: u64,
    /// Check the digests of components that are read whole.
    pub verify: bool,
    /// The destinations are pinned and contiguous: no read past the page cache needs a bounce for their
    /// pages' sake.
    pub pinned: bool,
}

impl Default for BatchOptions {
    fn default() -> Self {
        BatchOptions {
            threads: 0,
            direct: Direct::Auto,
            chunk_size: 4 << 20,
            in_flight: 256 << 20,
            verify: false,
            pinned: false,
        }
    }
}

/// Called with the bytes done and in all; false stops the batch.
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
    /// Digests that agree.
    pub digests_verified: u64,
    /// Time.
    pub nanoseconds: u64,
    /// Threads used.
    pub threads: u32,
    /// Reads went past the page cache.
    pub direct: bool,
    /// Why reads went past the page cache or through it.
    pub reason: &'static CStr,
}

/// What of a component is read.
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
    /// Decoded bytes that it has.
    fn size(&self, blob: &Blob<'_>) -> u64 {
        match self {
            Part::Whole => blob.size,
            Part::Range { length, .. } => *length,
            Part::Slab(slab) => slab.size(),
        }
    }

    /// What has to be a multiple of an element's size, where elements are taken whole.
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

/// What a request wants beside its bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    /// Converts the elements to this dtype.
    pub convert: Option<Dtype>,
    /// The conversion may lose numbers: finite ones become infinite, integers the nearest one that the type
    /// has.
    pub lossy: bool,
    /// Checks the digest, whatever the options say; only of what is read whole.
    pub verify: bool,
    /// The caller's name for it.
    pub tag: u64,
}

/// One read.
pub struct Request<'a> {
    pub(crate) blob: Blob<'a>,
    pub(crate) part: Part,
    size: u64,
    /// Receives the bytes in its front.
    pub dst: &'a mut [u8],
    /// Receives the bytes instead of `dst`, until its jobs are made or done.
    pub(super) rows: Option<Box<Mutex<Option<RowsMut<'a>>>>>,
    pub(crate) wanted: Wanted,
    /// Its bytes go into the ring of a load, and `dst` is empty.
    pub in_ring: bool,
    /// It is a piece of the request of that number which is made whole first, from that byte on.
    pub(super) piece: Option<(u32, u64)>,
    /// Jobs that are not done yet.
    pub(super) left: AtomicUsize,
    pub(super) failed: AtomicBool,
    /// Its digest is checked.
    pub(super) has_digest: AtomicBool,
    /// Which of the sources of its batch it is of.
    pub(super) source: u32,
}

/// Three lines of a processor's cache: a batch may have a great many.
const _: () = assert!(size_of::<Request<'_>>() <= 192);

impl<'a> Request<'a> {
    /// A part that the component has, and the bytes that it fills, converted where a dtype is given.
    #[inline]
    pub(crate) fn checked(blob: &Blob<'_>, part: Part, convert: Option<Dtype>) -> Result<(Part, u64)> {
        let part = match part {
            Part::Range { offset, length } => {
                if offset.checked_add(length).is_none_or(|end| end > blob.size) {
                    return Err(fail!(
                        InvalidArgument,
                        "the range of {length} bytes at {offset} passes its {} decoded bytes",
                        blob.size
                    ));
                }
                // A range of all is all of it, and has a digest that can be checked.
                if length == blob.size {
                    Part::Whole
                } else {
                    Part::Range { offset, length }
                }
            }
            part => part,
        };
        let decoded = part.size(blob);
        let Some(to) = convert else { return Ok((part, decoded)) };
        let from = blob.element_type()?;
        let width = blob.element_size();
        if part.units().iter().any(|n| n.checked_rem(width) != Some(0)) {
            return Err(fail!(
                InvalidArgument,
                "what is converted has to be whole elements of {width} bytes"
            ));
        }
        Ok((part, convert::converted_size(decoded, from, to)?))
    }

    /// A request for a part that the component has, converted where a dtype is given.
    pub(crate) fn new(
        blob: Blob<'a>,
        part: Part,
        convert: Option<Dtype>,
        dst: &'a mut [u8],
        tag: u64,
    ) -> Result<Request<'a>> {
        let (part, size) = Request::checked(&blob, part, convert)?;
        Ok(Request::of(blob, part, size, Wanted { convert, tag, ..Wanted::default() }, dst))
    }

    /// A request for a part that was [`checked`](Request::checked).
    #[inline(always)]
    pub(crate) fn of(
        blob: Blob<'a>,
        part: Part,
        size: u64,
        wanted: Wanted,
        dst: &'a mut [u8],
    ) -> Request<'a> {
        Request {
            blob,
            part,
            size,
            dst,
            rows: None,
            wanted,
            in_ring: false,
            piece: None,
            left: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
            has_digest: AtomicBool::new(false),
            source: 0,
        }
    }

    /// Gives it rows to fill instead of `dst`.
    pub fn fill_rows(&mut self, rows: RowsMut<'a>) -> Result<()> {
        self.rows = Some(try_box(Mutex::new(Some(rows)))?);
        Ok(())
    }

    /// A piece of a request in a ring, `size` bytes from `offset` on, of which that of number `of` is made
    /// first.
    pub(super) fn piece(whole: &Request<'a>, of: u32, offset: u64, size: u64) -> Request<'a> {
        let nothing = Part::Range { offset: 0, length: 0 };
        let wanted = Wanted { convert: None, ..whole.wanted };
        let piece = Request::of(whole.blob, nothing, size, wanted, &mut []);
        Request { piece: Some((of, offset)), in_ring: true, ..piece }
    }

    /// Whether it fills rows.
    pub fn has_rows(&self) -> bool {
        self.rows.is_some()
    }

    /// The memory that it fills, each as its address and size.
    pub fn places(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let packed = Some((self.dst.as_ptr().addr(), self.dst.len())).filter(|(_, size)| *size > 0);
        let rows = self.rows.as_ref().and_then(|rows| {
            rows.lock().as_ref().map(|rows| {
                let length = rows.length();
                rows.addresses().map(move |address| (address, length))
            })
        });
        packed.into_iter().chain(rows.into_iter().flatten())
    }

    /// Where its bytes begin.
    pub fn address(&self) -> usize {
        let first = self.rows.as_ref().and_then(|rows| rows.lock().as_ref()?.addresses().next());
        first.unwrap_or_else(|| self.dst.as_ptr().expose_provenance())
    }

    /// How many those are.
    pub fn place_count(&self) -> usize {
        let count = self.rows.as_ref().map(|rows| rows.lock().as_ref().map_or(0, RowsMut::row_count));
        count.unwrap_or(1)
    }

    /// Decoded bytes that it takes.
    pub(super) fn decoded_size(&self) -> u64 {
        self.part.size(&self.blob)
    }

    /// Bytes that it fills.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The decoded bytes that the part is in, from its first one to its last; whole elements where they have
    /// to be byte-swapped.
    pub(super) fn covering(&self) -> Range<u64> {
        match &self.part {
            Part::Whole => 0..self.blob.size,
            Part::Slab(slab) => slab.covering().unwrap_or_default(),
            Part::Range { offset, length } => {
                let (start, end) = (*offset, offset.saturating_add(*length));
                let width = self.blob.unit();
                if width == 1 {
                    return start..end;
                }
                let last = end.checked_next_multiple_of(width).unwrap_or(end);
                start - start % width..last.min(self.blob.size).max(end)
            }
        }
    }
}

/// Some bytes of a request. Small, as a batch may have a great many.
pub struct Job<'a> {
    /// Which of the sources of the batch the stored bytes are in, and where: what jobs are sorted by.
    pub source: u32,
    /// Position of the request.
    pub request: u32,
    pub offset: u64,
    /// Receives the bytes.
    pub dst: &'a mut [u8],
    pub kind: JobKind,
}

pub enum JobKind {
    /// Stored bytes, as they are, to their place.
    Copy,
    /// A whole component, hashed while it is copied.
    Hash,
    /// Evenly spaced blocks that are read together and taken apart.
    Strided(StridedBlocks),
    /// Some frames of a compressed component, so many stored bytes, which decode to `dst`, and what a table
    /// has of them.
    Frames { codec: Codec, stored: u64, entries: EntryRange, decoded_start: u64, borrowed: bool },
    /// All of its stored bytes, out of which the request's part is decoded, and whether their digest is
    /// checked.
    Decode { codec: Codec, stored: u64, borrowed: bool, has_digest: bool },
    /// All else, by one thread: what has to be looked for, or is of very many pieces.
    Serial,
    /// A whole component, converted on the way.
    Convert(Dtype),
    /// So many bytes are read into temporary memory, then converted or copied to rows.
    Temporary(u64),
    /// From that byte on, of the request of that number which is made whole in temporary memory first.
    Piece { of: u32, offset: u64 },
}

/// Receives jobs: where their stored bytes are, what they fill, and how.
pub type Push<'p, 'a> = dyn FnMut(u64, &'a mut [u8], JobKind) -> Result<()> + 'p;

impl Job<'_> {
    /// Bytes that it delivers.
    pub fn bytes(&self) -> u64 {
        match self.kind {
            JobKind::Temporary(bytes) => bytes,
            _ => self.dst.len() as u64,
        }
    }

    /// How many stored bytes it reads from its place on, if it reads the file itself.
    pub fn stored_bytes(&self) -> u64 {
        match &self.kind {
            JobKind::Copy | JobKind::Hash => self.bytes(),
            JobKind::Strided(window) => window.source_size(),
            JobKind::Frames { stored, borrowed: false, .. }
            | JobKind::Decode { stored, borrowed: false, .. } => *stored,
            JobKind::Frames { .. } | JobKind::Decode { .. } => 0,
            JobKind::Serial | JobKind::Convert(_) | JobKind::Temporary(_) | JobKind::Piece { .. } => 0,
        }
    }

    /// Whether the stored bytes are what `dst` receives.
    pub fn is_in_place(&self) -> bool {
        matches!(self.kind, JobKind::Copy | JobKind::Hash)
    }

    /// Its stored bytes, if they are at most `most` and may be read together with its neighbours.
    pub fn coalescable(&self, most: u64) -> Option<u64> {
        let stored = self.stored_bytes();
        let alone = match self.kind {
            JobKind::Serial | JobKind::Convert(_) | JobKind::Temporary(_) | JobKind::Piece { .. } => true,
            JobKind::Frames { borrowed, .. } | JobKind::Decode { borrowed, .. } => borrowed,
            JobKind::Copy | JobKind::Hash | JobKind::Strided(_) => false,
        };
        (!alone && stored <= most).then_some(stored)
    }
}

/// Stored bytes that will be read.
pub trait StoredSpan {
    /// Which of the sources of the batch they are in.
    fn source(&self) -> u32;
    /// Where they begin in it.
    fn offset(&self) -> u64;
    /// How many they are.
    fn stored_bytes(&self) -> u64;
}

impl StoredSpan for Job<'_> {
    fn source(&self) -> u32 {
        self.source
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn stored_bytes(&self) -> u64 {
        Job::stored_bytes(self)
    }
}
