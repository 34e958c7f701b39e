//! What every codec reports about stored bytes: the frames, which can be decoded independently, the sizes
//! they give, and the entries of a seek table, if there is one.

use crate::error::{broken, Error, Result};
use crate::memory::push;
use crate::model::encoding::Codec;
use std::fmt::Display;
use std::ops::Range;

/// What the headers of a frame say.
#[derive(Debug, Default)]
pub(super) struct Header {
    /// The position of its bytes.
    pub(super) stored: Range<usize>,
    /// Its decoded size, if its header gives it; 0 for a skippable frame.
    pub(super) content: Option<u64>,
    /// The largest size it can decode to: `content`, or the capacity of its blocks.
    pub(super) max_size: u64,
    /// The longest distance of its back-references, which a stream decoder must keep.
    pub(super) window: u64,
    /// Whether it is skippable: it has no content to decode.
    pub(super) skippable: bool,
    /// Its entry in the seek table, if there is one.
    pub(super) entries: EntryRange,
}

/// Access to the stored bytes of a component, for a walk over frame headers.
pub(crate) trait Stored {
    /// How many stored bytes there are.
    fn size(&self) -> usize;

    /// `count` bytes from `at` on; `None` if there are fewer.
    fn peek(&mut self, at: usize, count: usize) -> Result<Option<&[u8]>>;
}

impl<B: AsRef<[u8]> + ?Sized> Stored for &B {
    fn size(&self) -> usize {
        self.as_ref().len()
    }

    #[inline]
    fn peek(&mut self, at: usize, count: usize) -> Result<Option<&[u8]>> {
        Ok((**self).as_ref().get(at..at.saturating_add(count)))
    }
}

/// Stored bytes from the start of a frame on, up to the end or as far as needed.
#[derive(Clone, Copy)]
pub(crate) struct StoredPart<'a> {
    pub(crate) bytes: &'a [u8],
    /// The offset of the first one in all stored bytes.
    pub(crate) from: usize,
    /// The frames' entries in the seek table, if there is one.
    pub(crate) entries: Entries<'a>,
}

impl<'a, B: AsRef<[u8]> + ?Sized> From<&'a B> for StoredPart<'a> {
    fn from(all: &'a B) -> Self {
        StoredPart { bytes: all.as_ref(), from: 0, entries: Entries::default() }
    }
}

impl<'a> StoredPart<'a> {
    /// The bytes of a frame at this position in all stored bytes.
    pub(super) fn frame(&self, place: &Range<usize>) -> &'a [u8] {
        let Range { start, end } = *place;
        let range = start.checked_sub(self.from).zip(end.checked_sub(self.from));
        range.and_then(|(start, end)| self.bytes.get(start..end)).unwrap_or_default()
    }
}

impl Stored for StoredPart<'_> {
    fn size(&self) -> usize {
        self.from.saturating_add(self.bytes.len())
    }

    #[inline]
    fn peek(&mut self, at: usize, count: usize) -> Result<Option<&[u8]>> {
        let at = at.checked_sub(self.from);
        Ok(at.and_then(|at| self.bytes.get(at..at.saturating_add(count))))
    }
}

/// The decoded size that frame headers give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KnownSize {
    /// Every frame gives its size. This is the sum.
    Exact(u64),
    /// Some frames do not. The blocks cannot have more content than this.
    AtMost(u64),
}

/// Neighbouring frames of a component, including skippable frames between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FrameRun {
    /// The position of their stored bytes.
    pub stored: Range<usize>,
    /// The position of their content in all decoded bytes.
    pub decoded: Range<u64>,
    /// Their entries in the seek table, if there is one.
    pub entries: EntryRange,
}

impl FrameRun {
    /// The stored bytes that decoding these frames needs.
    pub(crate) fn part_of<'s>(&self, stored: &'s [u8]) -> StoredPart<'s> {
        let bytes = stored.get(self.stored.clone()).unwrap_or_default();
        StoredPart { bytes, from: self.stored.start, entries: self.entries.read_in(stored) }
    }

    /// Their decoded size.
    pub(crate) fn size(&self) -> u64 {
        self.decoded.end.saturating_sub(self.decoded.start)
    }
}

impl KnownSize {
    /// The size of no frames.
    pub(super) const NONE: KnownSize = KnownSize::Exact(0);

    /// Adds the size of a frame.
    pub(super) fn with(self, codec: Codec, header: &Header) -> Result<KnownSize> {
        let (KnownSize::Exact(sum) | KnownSize::AtMost(sum)) = self;
        let sum = sum.checked_add(header.max_size).ok_or_else(|| {
            broken!(codec.corrupt_rule(), "the {} frames' sizes add up to more than 2^64", codec.name())
        })?;
        Ok(match (self, header.content) {
            (KnownSize::Exact(_), Some(_)) => KnownSize::Exact(sum),
            _ => KnownSize::AtMost(sum),
        })
    }

    /// Fails if the frames cannot decode to exactly `wanted` bytes.
    pub(crate) fn check(self, codec: Codec, wanted: u64) -> Result<KnownSize> {
        match self {
            KnownSize::Exact(size) if size != wanted => Err(wrong_size(codec, size, wanted)),
            KnownSize::AtMost(max) if max < wanted => {
                Err(wrong_size(codec, format_args!("at most {max}"), wanted))
            }
            _ => Ok(self),
        }
    }
}

/// The error for frames that decode to `found` bytes instead of the declared size.
#[cold]
pub(super) fn wrong_size(codec: Codec, found: impl Display, declared: u64) -> Error {
    let name = codec.name();
    broken!(codec.length_rule(), "the {name} frames hold {found} bytes, {declared} are declared")
}

/// Adds up the decoded sizes of all frames.
pub(super) fn sum(codec: Codec, mut walk: impl Iterator<Item = Result<Header>>) -> Result<KnownSize> {
    walk.try_fold(KnownSize::NONE, |known, header| known.with(codec, &header?))
}

/// The known size, and runs of neighbouring frames. A run ends once it decodes to `min_size` bytes, so that
/// small frames need little memory, too. The runs are complete only if every frame gives its size and the sum
/// is `wanted`.
pub(super) fn runs(
    codec: Codec,
    walk: impl Iterator<Item = Result<Header>>,
    min_size: u64,
    wanted: u64,
) -> Result<(KnownSize, Vec<FrameRun>)> {
    let (mut known, mut runs) = (KnownSize::NONE, Vec::<FrameRun>::new());
    for header in walk {
        let header = header?;
        let before = known;
        known = known.with(codec, &header)?;
        let (KnownSize::Exact(start), KnownSize::Exact(end), false) = (before, known, header.skippable)
        else {
            continue;
        };
        match runs.last_mut() {
            _ if end > wanted => {} // only counted, for the error message
            Some(run) if run.size() < min_size => {
                (run.stored.end, run.decoded.end) = (header.stored.end, end);
                run.entries = run.entries.and(header.entries);
            }
            _ => {
                push(
                    &mut runs,
                    FrameRun { stored: header.stored, decoded: start..end, entries: header.entries },
                )?;
            }
        }
    }
    Ok((known, runs))
}

/// The headers of frames with content.
pub(super) fn with_data(walk: impl Iterator<Item = Result<Header>>) -> impl Iterator<Item = Result<Header>> {
    walk.filter(|header| !header.as_ref().is_ok_and(|header| header.skippable))
}

/// The position of the entries of neighbouring frames in the stored bytes; empty if there is no seek table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EntryRange {
    /// The offset of the first entry.
    start: usize,
    count: u32,
    /// The size of an entry.
    size: u32,
}

impl EntryRange {
    pub(super) fn new(start: usize, count: u32, size: u32) -> EntryRange {
        EntryRange { start, count, size }
    }

    pub(super) fn count(&self) -> usize {
        self.count as usize
    }

    /// The position of the entries in the stored bytes.
    pub(crate) fn bytes(&self) -> Range<usize> {
        self.start..self.start.saturating_add(self.offset_of(self.count))
    }

    /// The entries, from their bytes.
    pub(crate) fn read<'b>(&self, bytes: &'b [u8]) -> Entries<'b> {
        Entries { bytes, size: self.size as usize }
    }

    /// The entries, from all stored bytes.
    pub(super) fn read_in<'s>(&self, stored: &'s [u8]) -> Entries<'s> {
        self.read(stored.get(self.bytes()).unwrap_or_default())
    }

    /// Appends the entries that directly follow.
    pub(super) fn and(self, next: EntryRange) -> EntryRange {
        EntryRange { count: self.count.saturating_add(next.count), ..self }
    }

    /// The entries of a range of frames.
    pub(super) fn part(&self, frames: Range<usize>) -> EntryRange {
        let [first, end] =
            [frames.start, frames.end].map(|at| u32::try_from(at).unwrap_or(u32::MAX).min(self.count));
        let start = self.start.saturating_add(self.offset_of(first));
        EntryRange { start, count: end.saturating_sub(first), ..*self }
    }

    fn offset_of(&self, number: u32) -> usize {
        (number as usize).saturating_mul(self.size as usize)
    }
}

/// The entries of neighbouring frames.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entries<'a> {
    bytes: &'a [u8],
    /// The size of an entry.
    size: usize,
}

impl Entries<'_> {
    /// Whether there are no entries. This is also true without a seek table.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The stored and the decoded size of the next frame.
    pub(super) fn next(&mut self) -> Option<(u32, u32)> {
        let (entry, rest) = self.bytes.split_at_checked(self.size)?;
        self.bytes = rest;
        let number = |at: usize| Some(u32::from_le_bytes(*entry.get(at..)?.first_chunk()?));
        Some((number(0)?, number(4)?))
    }
}
