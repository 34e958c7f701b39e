//! What is known of bytes of an open file, so that they are checked once. `verified` fills it.

use super::aliases::Aliases;
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::lock::Mutex;
use crate::model::dtype::Dtype;
use crate::model::manifest::Encoding;
use foldhash::fast::SeedableRandomState;
use hashbrown::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::OnceLock;

/// How a component's bytes are decoded to numbers.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct NumberFormat {
    pub(super) encoding: Encoding,
    pub(super) size: u64,
    pub(super) dtype: Option<Dtype>,
    pub(super) swaps: bool,
}

/// How bytes are decoded, and to how many.
pub(super) type Decoding = (Encoding, Option<u64>);

/// What is known of bytes that several components share. Each list has what was checked and found to be
/// right.
#[derive(Default)]
pub(super) struct Facts {
    /// Their digests, and for digests of decoded bytes how they are decoded. Two different digests of one
    /// algorithm and one decoding cannot both be here, as one of them fails.
    pub(super) digests: Vec<(Digest, Option<Decoding>)>,
    /// The sizes that they decode to, and whether their bools were checked.
    pub(super) contents: Vec<(Encoding, u64, bool)>,
    /// As row pointers: to how many entries they point.
    pub(super) pointers: Vec<(NumberFormat, u64)>,
    /// The largest number in each of as many runs as the list is long.
    pub(super) largest: Vec<(NumberFormat, Vec<u64>)>,
    /// As column indices: the row pointers within whose rows they rise, by part, position and number format.
    pub(super) rows: Vec<(NumberFormat, PartAndStart, NumberFormat)>,
    /// As coordinates: the ranks of shapes in which no two are of the same element. Coordinates that are in
    /// range of two shapes of one rank are different in both or in neither.
    pub(super) cells: Vec<(NumberFormat, u32)>,
}

/// What the threads of one verification know of shared bytes.
#[derive(Default)]
pub(super) struct Verified {
    /// The number of the first component that is verified.
    pub(super) first: usize,
    pub(super) aliases: Aliases,
    pub(super) facts: Vec<Mutex<Facts>>,
    /// The outcome of each checksum of an archive, by its part and the start of its bytes.
    pub(super) checksums: Vec<(PartAndStart, Outcome)>,
    /// Bytes that were decoded to check the order within rows.
    pub(super) rows_decoded: AtomicU64,
    /// The outcome for each shard whose digest was checked, by part.
    pub(super) shards: Mutex<Vec<(usize, Result<()>)>>,
    /// The failures of shards that could not be opened, by part.
    pub(super) unopened: Mutex<Failures>,
}

pub(super) struct Failures(pub(super) HashMap<usize, Error, SeedableRandomState>);

impl Default for Failures {
    fn default() -> Failures {
        Failures(HashMap::with_hasher(crate::hash::state()))
    }
}

/// The start of some bytes: the number of their part, and a position in it.
pub(super) type PartAndStart = (usize, u64);

/// Whether a checksum agrees; none before it was checked.
pub(super) type Outcome = Mutex<Option<Result<()>>>;

/// What the copies of one open file know of its bytes; made by the first copy.
#[derive(Default)]
pub(super) struct SourceChecks(pub(super) OnceLock<Box<Verified>>);
