//! The jobs that requests are cut into, and the progress of a request.

use super::rows::RowsMut;
use super::slab::StridedBlocks;
use crate::codec::{Codec, EntryRange};
use crate::error::Result;
use crate::model::dtype::Dtype;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The progress of a request.
pub struct Task {
    /// Which of the sources of its batch it is of.
    pub source: u32,
    /// Jobs that are not done yet.
    left: AtomicUsize,
    failed: AtomicBool,
    has_digest: AtomicBool,
}

/// What the end of a job is for its request.
pub struct JobEnd {
    /// It was the last job.
    pub is_last: bool,
    /// It is the first one that failed.
    pub is_first_failure: bool,
    /// It failed, or another one did.
    pub is_failed: bool,
    /// The digest of the request is checked.
    pub has_digest: bool,
}

impl Task {
    pub fn new(source: u32) -> Task {
        let (left, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        Task { source, left, failed, has_digest: AtomicBool::new(false) }
    }

    /// Sets what it is cut into: so many jobs, and whether they check its digest.
    pub fn set_jobs(&self, count: usize, has_digest: bool) {
        self.left.store(count, Ordering::Relaxed);
        self.has_digest.store(has_digest, Ordering::Relaxed);
    }

    /// Counts a job that ended.
    #[inline]
    pub fn job_ended(&self, outcome: &Result<()>) -> JobEnd {
        // The failure in front of the count: who does the last job has to see it.
        let is_first_failure = outcome.is_err() && !self.failed.swap(true, Ordering::Relaxed);
        let is_last = self.left.fetch_sub(1, Ordering::AcqRel) == 1;
        let is_failed = self.failed.load(Ordering::Relaxed);
        let has_digest = self.has_digest.load(Ordering::Relaxed);
        JobEnd { is_last, is_first_failure, is_failed, has_digest }
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
    pub work: Work<'a>,
}

pub enum Work<'a> {
    /// The executor reads a range of stored bytes, perhaps with those of other jobs, and finishes them.
    Range(Finish),
    /// The job reads for itself.
    Own(OwnWork<'a>),
}

/// What stored bytes that were read become.
pub enum Finish {
    /// Decoded bytes, as they are.
    Copy,
    /// A whole component, as it is, whose digest is checked.
    Hash,
    /// Evenly spaced blocks that are read together and taken apart.
    Strided(StridedBlocks),
    /// The decoded bytes of some frames of a compressed component: so many stored bytes, and what a table has
    /// of them.
    Frames { codec: Codec, stored: u64, entries: EntryRange, decoded_start: u64, borrowed: bool },
    /// The request's part, which is decoded out of so many stored bytes; whether their digest is checked.
    Decode { stored: u64, borrowed: bool, has_digest: bool },
}

pub enum OwnWork<'a> {
    /// The blocks of a slab, which are very many pieces.
    Blocks,
    /// A part of a compressed component, whose frames have to be looked for.
    Seek(Codec),
    /// A whole component, converted on the way.
    Convert(Dtype),
    /// Reads into temporary memory, then converts or copies to rows, or to `dst` if there are none.
    Temporary { rows: Option<RowsMut<'a>>, has_digest: bool },
    /// From that byte on, of the request of that number which is made whole in temporary memory first.
    Piece { of: u32, offset: u64 },
}

/// Receives jobs: where their stored bytes are, what they fill, and how.
pub type Push<'p, 'a> = dyn FnMut(u64, &'a mut [u8], Work<'a>) -> Result<()> + 'p;

impl Job<'_> {
    /// Bytes that it delivers.
    pub fn bytes(&self) -> u64 {
        match &self.work {
            Work::Own(OwnWork::Temporary { rows: Some(rows), .. }) => rows.size(),
            _ => self.dst.len() as u64,
        }
    }

    /// How many stored bytes the executor reads for it from its place on.
    pub fn stored_bytes(&self) -> u64 {
        match &self.work {
            Work::Range(Finish::Copy | Finish::Hash) => self.dst.len() as u64,
            Work::Range(Finish::Strided(blocks)) => blocks.source_size(),
            Work::Range(Finish::Frames { borrowed: true, .. } | Finish::Decode { borrowed: true, .. })
            | Work::Own(_) => 0,
            Work::Range(Finish::Frames { stored, .. } | Finish::Decode { stored, .. }) => *stored,
        }
    }

    /// Whether the stored bytes are what `dst` receives.
    pub fn is_in_place(&self) -> bool {
        matches!(self.work, Work::Range(Finish::Copy | Finish::Hash))
    }

    /// Its stored bytes, if they are at most `most` and may be read together with its neighbours.
    pub fn coalescable(&self, most: u64) -> Option<u64> {
        let alone = match &self.work {
            Work::Own(_) => true,
            Work::Range(Finish::Frames { borrowed, .. } | Finish::Decode { borrowed, .. }) => *borrowed,
            Work::Range(_) => false,
        };
        let stored = self.stored_bytes();
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
