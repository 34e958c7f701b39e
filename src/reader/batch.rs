//! Reads as requests of the executor: one, or many at once.

use super::file::File;
use super::object::Component;
use crate::error::{fail, Error, Result};
use crate::load::{
    self, is_called, BatchOptions, BatchStats, Blob, FrameIndexCache, OnDone, Owner, Part, Progress, Request,
};
use crate::memory::HUGE_PAGE;
use crate::model::dtype::Dtype;
use crate::threads::ThreadHooks;

/// In each dimension `count` elements from `start`, `step` apart.
#[derive(Clone, Copy, Debug)]
pub struct Hyperslab<'a> {
    /// First position of each dimension.
    pub start: &'a [u64],
    /// How many of each dimension.
    pub count: &'a [u64],
    /// How far apart; none for 1.
    pub step: Option<&'a [u64]>,
}

/// What of a component is read.
#[derive(Clone, Copy, Debug)]
pub enum Selection<'a> {
    /// All of it.
    Whole,
    /// A range of its decoded bytes.
    Range {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u64,
    },
    /// A hyperslab of a dense object's data.
    Slab(Hyperslab<'a>),
}

/// One read.
pub struct BatchRequest<'a> {
    /// What to read.
    pub component: Component<'a>,
    /// Which part of it.
    pub part: Selection<'a>,
    /// Where it goes.
    pub dst: &'a mut [u8],
    /// The caller's name for it.
    pub tag: u64,
}

impl File {
    /// Reads all requests, of whichever open files; `stats` is filled also on failure. The first failure stops the rest.
    pub fn read_batch(
        requests: &mut [BatchRequest<'_>],
        options: &BatchOptions,
        on_done: &OnDone<'_>,
        progress: &Progress<'_>,
        stats: &mut BatchStats,
    ) -> Result<()> {
        let mut list = Vec::new();
        list.try_reserve_exact(requests.len())?;
        for BatchRequest { component, part, dst, tag } in requests {
            let blob = component.blob().and_then(|blob| Ok((blob, component.selected(part)?)));
            let (blob, part) = blob.map_err(|e| component.wrap(e))?;
            list.push(Request::new(blob, part, dst, *tag));
        }
        load::run(&mut list, options, on_done, progress, stats)
    }
}

impl Owner for File {
    fn named(&self, blob: &Blob<'_>, error: Error) -> Error {
        Component { file: self, object: blob.object, entry: blob.entry, index: blob.index }.wrap(error)
    }

    fn in_file(&self, error: Error) -> Error {
        self.in_file(error)
    }

    fn thread_hooks(&self) -> ThreadHooks {
        self.thread_hooks
    }

    fn digest(&self, blob: &Blob<'_>) -> Option<&str> {
        self.manifest.digest(blob.entry)
    }

    fn frame_indexes(&self) -> &FrameIndexCache {
        &self.frame_indexes
    }

    fn max_decoded_size(&self) -> Option<u64> {
        self.max_decoded_size
    }
}

impl Component<'_> {
    /// Decoded bytes that a part of it has, if it has that part.
    pub fn selection_size(&self, part: &Selection<'_>) -> Result<u64> {
        self.selected(part)?.size(self.decoded_size()?)
    }

    pub(super) fn selected(&self, part: &Selection<'_>) -> Result<Part> {
        Ok(match part {
            Selection::Whole => Part::Whole,
            Selection::Range { offset, length } => Part::Range { offset: *offset, length: *length },
            Selection::Slab(slab) => {
                if !self.object().format().is_array() || self.role() != "data" {
                    return Err(fail!(Unsupported, "only the data of a dense object can be sliced"));
                }
                Part::Slab(self.slab(slab)?)
            }
        })
    }

    /// Does a read of it: on the caller's thread, or on as many as the file was opened with.
    pub(super) fn run(
        &self,
        part: Part,
        convert: Option<Dtype>,
        dst: &mut [u8],
        threads: usize,
    ) -> Result<()> {
        // Windows of a slab that a source is called for may come with one call.
        let coalesces = matches!(part, Part::Slab(_)) && is_called(self.file.source());
        let blob = self.blob().map_err(|e| self.wrap(e))?;
        if threads < 2 && !coalesces {
            return load::run_one(&blob, part, convert, dst).map_err(|e| self.wrap(e));
        }
        let mut request = Request::new(blob, part, dst, 0).converted(convert);
        // Through the page cache, as every call does unless an option says otherwise. Small chunks, as one
        // component is all there is to share.
        let chunk_size = HUGE_PAGE as u64;
        let direct = load::Direct::Never;
        let options = BatchOptions { threads, direct, chunk_size, ..BatchOptions::default() };
        load::run(
            std::slice::from_mut(&mut request),
            &options,
            &|_, _| {},
            &|_, _| true,
            &mut BatchStats::default(),
        )
    }
}
