//! Reads as requests of the executor: a whole component, a range, a hyperslab, or many at once.

use super::file::File;
use super::object::{Component, Object};
use crate::codec::{Array, Decoding};
use crate::error::{fail, Error, Result};
use crate::load::{
    self, BatchOptions, BatchStats, FrameIndexCache, OnDone, Owner, Part, Progress, Request, Slab,
    StoredComponent, Taken, Wanted,
};
use crate::memory::{copied, try_box, HUGE_PAGE};
use crate::model::dtype::{Block, Dtype};
use crate::model::manifest::Format;
use crate::source::{is_callback_source, ByteSource, Change};
use crate::threads::ThreadHooks;

/// From this many bytes on, several threads read a slab.
const MIN_THREADED: usize = 1 << 20;

/// A hyperslab: in each dimension, `count` elements from `start` on, `step` apart.
#[derive(Clone, Copy, Debug)]
pub struct Hyperslab<'a> {
    /// The first position in each dimension.
    pub start: &'a [u64],
    /// How many positions in each dimension.
    pub count: &'a [u64],
    /// The distance between positions in each dimension; `None` if it is 1.
    pub step: Option<&'a [u64]>,
}

/// The part of a component that is read.
#[derive(Clone, Copy, Debug)]
pub enum Selection<'a> {
    /// All of it.
    Whole,
    /// A range of its decoded bytes.
    Range {
        /// The first byte.
        offset: u64,
        /// How many bytes.
        length: u64,
    },
    /// Evenly spaced rows of its decoded bytes.
    Rows {
        /// The first byte of the first row.
        offset: u64,
        /// How many rows.
        rows: u64,
        /// The size of a row in bytes.
        row_length: u64,
        /// Distance in bytes between the starts of two neighbouring rows.
        row_stride: u64,
    },
    /// A hyperslab of a dense object's data.
    Slab(Hyperslab<'a>),
}

impl File {
    /// Reads all requests, which may be from different open files. The first failure stops the rest. `stats`
    /// is filled on failure, too.
    pub fn read_batch(
        requests: &mut [Request<'_>],
        options: &BatchOptions,
        on_done: &OnDone<'_>,
        progress: &Progress<'_>,
        stats: &mut BatchStats,
    ) -> Result<()> {
        load::run(requests, options, on_done, progress, stats)
    }
}

impl Owner for File {
    fn named(&self, stored: &StoredComponent<'_>, error: Error) -> Error {
        let component =
            Component { file: self, object: stored.object, entry: stored.entry, index: stored.index };
        match stored.decoding {
            Decoding::Numbers { .. } => component.object().wrap(error),
            _ => component.wrap(error),
        }
    }

    fn in_file(&self, source: &dyn ByteSource, error: Error) -> Error {
        self.parts.of_source(source).named(error)
    }

    fn check_change(&self, source: &dyn ByteSource, change: Change) -> Result<()> {
        self.check_change(self.parts.of_source(source), change)
    }

    fn thread_hooks(&self) -> ThreadHooks {
        self.thread_hooks
    }

    fn digest(&self, stored: &StoredComponent<'_>) -> Option<&str> {
        self.manifest.digest(stored.entry)
    }

    fn frame_indexes(&self) -> &FrameIndexCache {
        &self.frame_indexes
    }

    fn max_decoded_size(&self) -> Option<u64> {
        self.max_decoded_size
    }

    fn cost_of_numbers(&self, stored: &StoredComponent<'_>) -> (u64, u64) {
        Object { file: self, entry: stored.object }.cost_of_numbers()
    }

    fn object_has_digest(&self, stored: &StoredComponent<'_>) -> Result<bool> {
        let object = Object { file: self, entry: stored.object };
        object.components().try_fold(false, |has, component| Ok(has || component.has_known_digest()?))
    }

    fn check_digests_of_object(&self, stored: &StoredComponent<'_>) -> Result<()> {
        for component in (Object { file: self, entry: stored.object }).components() {
            if component.has_known_digest()? {
                component.verify_digest()?;
            }
        }
        Ok(())
    }

    fn read_numbers(
        &self,
        stored: &StoredComponent<'_>,
        to: Dtype,
        taken: &Taken<'_>,
        dst: &mut [u8],
    ) -> Result<u64> {
        Object { file: self, entry: stored.object }.read_numbers(to, taken, dst)
    }

    fn count_lost_numbers(
        &self,
        stored: &StoredComponent<'_>,
        to: Dtype,
        range: std::ops::Range<u64>,
    ) -> Result<u64> {
        Object { file: self, entry: stored.object }.count_lost(to, range)
    }

    fn array<'f>(&'f self, stored: &StoredComponent<'f>) -> Option<Array<'f>> {
        let StoredComponent { object, entry, index, .. } = *stored;
        Component { file: self, object, entry, index }.array()
    }
}

impl Object<'_> {
    /// Fills the front of `dst` with the slab's elements, row-major and without gaps.
    pub fn read_slice(&self, slab: &Hyperslab<'_>, dst: &mut [u8]) -> Result<()> {
        if !self.format().is_array() {
            let format = self.format_name();
            return Err(self.wrap(fail!(
                Unsupported,
                "its format is {format:?}; without a conversion only dense objects can be sliced"
            )));
        }
        let data = self.required("data")?;
        data.read_slab(slab, dst)
    }

    /// The offset, length and stride in bytes of `rows` rows, from row `first` on, each `stride` rows behind
    /// the one before. A row is the last dimension; its elements may be in blocks.
    pub(super) fn rows(&self, block: Block, first: u64, rows: u64, stride: u64) -> Result<[u64; 3]> {
        let shape = self.shape();
        let (length, outer) = shape.split_last().map_or((1, shape), |(last, outer)| (*last, outer));
        let count = outer.iter().try_fold(1u64, |count, n| count.checked_mul(*n)).unwrap_or(u64::MAX);
        let last = rows.saturating_sub(1).checked_mul(stride).and_then(|last| last.checked_add(first));
        if last.is_none_or(|last| last >= count) {
            return Err(fail!(
                InvalidArgument,
                "{rows} rows from row {first} on, every {stride}, pass its {count} rows"
            ));
        }
        let Some(row_length) = block.size(length).filter(|_| block.divides(length)) else {
            return Err(fail!(
                Unsupported,
                "its rows of {length} elements end within a block of {}, so they cannot be separated",
                block.elements
            ));
        };
        let bytes = |rows: u64| {
            rows.checked_mul(row_length).ok_or_else(|| fail!(Limit, "row {rows} lies beyond 2^64 bytes"))
        };
        Ok([bytes(first)?, row_length, bytes(stride)?])
    }
}

impl<'f> Component<'f> {
    /// A request for a part of the component, which goes to the front of `dst`. `tag` is the caller's name
    /// for it.
    pub fn request<'a>(&self, part: &Selection<'_>, dst: &'a mut [u8], tag: u64) -> Result<Request<'a>>
    where
        'f: 'a,
    {
        self.request_as(part, Wanted { tag, ..Wanted::default() }, dst)
    }

    /// A request for a part of the component, with these options.
    #[inline(always)] // a request is large: build it in place instead of moving it
    pub fn request_as<'a>(
        &self,
        part: &Selection<'_>,
        wanted: Wanted,
        dst: &'a mut [u8],
    ) -> Result<Request<'a>>
    where
        'f: 'a,
    {
        let wrap = |e| self.wrap(e);
        let stored = self.stored_component().map_err(wrap)?;
        let part = self.selected(part).map_err(wrap)?;
        if wanted.convert.is_some() {
            self.check_last_block().map_err(wrap)?;
        }
        let (part, size) = Request::checked(&stored, part, wanted.convert).map_err(wrap)?;
        Ok(Request::of(stored, part, size, wanted, dst))
    }

    /// Refuses an array whose last block has more elements than the shape: reading a part of it would return
    /// them all.
    fn check_last_block(&self) -> Result<()> {
        let (object, block) = (self.object(), self.known_block()?);
        match object.element_count() {
            Some(count) if object.format() == Format::Dense && !block.divides(count) => Err(fail!(
                Unsupported,
                "its {count} elements end within a block of {}: only the whole object can be converted",
                block.elements
            )),
            _ => Ok(()),
        }
    }

    #[inline]
    fn selected(&self, part: &Selection<'_>) -> Result<Part> {
        Ok(match part {
            Selection::Whole => Part::Whole,
            Selection::Range { offset, length } => Part::Range { offset: *offset, length: *length },
            Selection::Rows { offset, rows, row_length, row_stride } => {
                self.rows(*offset, *rows, *row_length, *row_stride)?
            }
            Selection::Slab(slab) => {
                if !self.object().format().is_array() || self.role() != "data" {
                    return Err(fail!(Unsupported, "only the data of a dense object can be sliced"));
                }
                Part::Slab(try_box(self.slab(slab)?)?)
            }
        })
    }

    fn rows(&self, offset: u64, rows: u64, row_length: u64, row_stride: u64) -> Result<Part> {
        let stored = self.stored_component()?;
        let unit = stored.unit();
        if [offset, row_length, row_stride].iter().any(|n| n.checked_rem(unit) != Some(0)) {
            return Err(fail!(
                InvalidArgument,
                "rows of {row_length} bytes, every {row_stride} from {offset} on, cut its elements of \
                 {unit} bytes"
            ));
        }
        part_of_rows(offset, rows, row_length, row_stride, stored.size)
    }

    /// The slab in bytes of this component.
    fn slab(&self, slab: &Hyperslab<'_>) -> Result<Slab> {
        let block = self.known_block()?;
        self.check_shape_size()?;
        let shape = self.file.manifest.shape(self.object);
        match block.elements {
            1 => Slab::new(shape, slab.start, slab.count, slab.step, block.bytes),
            _ => slab_of_blocks(shape, slab, block),
        }
    }

    /// Fills the front of `dst` with the slab. Several threads read a large one.
    fn read_slab(&self, slab: &Hyperslab<'_>, dst: &mut [u8]) -> Result<()> {
        let part = self.selected(&Selection::Slab(*slab)).map_err(|e| self.wrap(e))?;
        let threads = if dst.len() < MIN_THREADED { 1 } else { self.threads() };
        match threads < 2 && is_callback_source(self.likely_source()) {
            // A callback source may read several windows of a slab with one call.
            true => self.run_on(part, None, dst, threads),
            false => self.run(part, None, dst, threads),
        }
    }
}

/// Reads one request. It goes through the page cache, as in every call whose options do not say otherwise.
pub(super) fn run_request(mut request: Request<'_>, threads: usize) -> Result<()> {
    // Small chunks, so that the threads can share this one request.
    let (chunk_size, direct) = (HUGE_PAGE as u64, load::Direct::Never);
    let options = BatchOptions { threads, direct, chunk_size, ..BatchOptions::default() };
    let (one, stats) = (std::slice::from_mut(&mut request), &mut BatchStats::default());
    load::run(one, &options, &|_, _| {}, &|_, _| true, stats)
}

/// Rows of `size` bytes. If there are no gaps between them, they are a range.
pub(super) fn part_of_rows(
    offset: u64,
    rows: u64,
    row_length: u64,
    row_stride: u64,
    size: u64,
) -> Result<Part> {
    let slab = Slab::rows(offset, rows, row_length, row_stride, size)?;
    Ok(match rows == 1 || row_length == row_stride {
        true => Part::Range { offset, length: slab.size() },
        false => Part::Slab(try_box(slab)?),
    })
}

/// The slab in bytes. In the last dimension, it has to begin and end between blocks.
fn slab_of_blocks(shape: &[u64], slab: &Hyperslab<'_>, block: Block) -> Result<Slab> {
    let (rank, of) = (shape.len(), block.elements);
    if slab.start.len() != rank || slab.count.len() != rank || slab.step.is_some_and(|s| s.len() != rank) {
        return Slab::new(shape, slab.start, slab.count, slab.step, block.bytes);
        // returns the error
    }
    let step = slab.step.and_then(|step| step.last()).copied().unwrap_or(1);
    let last = [shape.last(), slab.start.last(), slab.count.last()].map(|n| n.copied().unwrap_or(0));
    let [dimension, start, count] = last;
    if rank == 0 || !block.divides(dimension) {
        return Err(fail!(
            Unsupported,
            "its rows of {dimension} elements are not a whole number of blocks of {of}, so they cannot be \
             separated"
        ));
    }
    // With at most one element, the step does not matter.
    if !block.divides(start) || !block.divides(count) || (step != 1 && count > 0) {
        return Err(fail!(
            InvalidArgument,
            "the last dimension's start {start}, count {count} and step {step} do not match blocks of {of} \
             elements"
        ));
    }
    let in_blocks = |numbers: &[u64]| -> Result<Vec<u64>> {
        let mut copy = copied(numbers)?;
        if let Some(last) = copy.last_mut() {
            *last = last.checked_div(of).unwrap_or(0);
        }
        Ok(copy)
    };
    Slab::new(&in_blocks(shape)?, &in_blocks(slab.start)?, &in_blocks(slab.count)?, slab.step, block.bytes)
}
