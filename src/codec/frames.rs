//! What every codec tells of the stored bytes: frames that can be decoded one by one, and the sizes that they say.

use super::entries::{Entries, EntryRange};
use crate::error::{broken, fail, Result};
use crate::model::encoding::Codec;
use std::ops::Range;

/// What the headers of one frame say.
#[derive(Debug, Default)]
pub(super) struct Header {
    /// Its bytes.
    pub(super) stored: Range<usize>,
    /// The size it decodes to, where its header says it. A skippable frame: 0.
    pub(super) content: Option<u64>,
    /// It cannot decode to more: `content`, or what its blocks can hold.
    pub(super) most: u64,
    /// How far it refers back: what a streaming decoder must keep.
    pub(super) window: u64,
    /// Holds nothing to decode.
    pub(super) skippable: bool,
    /// Its entry in the table of all, where they have one.
    pub(super) entries: EntryRange,
}

/// All frames of a component, of which a walk looks at the headers.
pub(crate) trait Stored {
    /// How many bytes there are.
    fn size(&self) -> usize;

    /// A few of them; none where there are not as many.
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

/// The end of all frames, from where one begins on; or less, where no more is needed.
#[derive(Clone, Copy)]
pub(crate) struct StoredPart<'a> {
    pub(crate) bytes: &'a [u8],
    /// Where the first of them is among all.
    pub(crate) from: usize,
    /// What a table has of them.
    pub(crate) entries: Entries<'a>,
}

impl<'a, B: AsRef<[u8]> + ?Sized> From<&'a B> for StoredPart<'a> {
    fn from(all: &'a B) -> Self {
        StoredPart { bytes: all.as_ref(), from: 0, entries: Entries::default() }
    }
}

impl<'a> StoredPart<'a> {
    /// The bytes of a frame, by its place among all.
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

/// What frame headers declare of the decoded size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KnownSize {
    /// Every frame says its size; this is their sum.
    Exact(u64),
    /// Not every frame does; more than this the blocks cannot hold.
    AtMost(u64),
}

/// Neighbouring frames of a component, with what is to be passed over between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FrameRun {
    /// Their bytes among the stored bytes.
    pub stored: Range<usize>,
    /// What they give of the decoded bytes.
    pub decoded: Range<u64>,
    /// Their entries in the table of all, where they have one.
    pub entries: EntryRange,
}

impl FrameRun {
    /// Out of all stored bytes what decoding it takes.
    pub(crate) fn part_of<'s>(&self, stored: &'s [u8]) -> StoredPart<'s> {
        let bytes = stored.get(self.stored.clone()).unwrap_or_default();
        StoredPart { bytes, from: self.stored.start, entries: self.entries.read_in(stored) }
    }

    /// Bytes that they give.
    pub(crate) fn size(&self) -> u64 {
        self.decoded.end.saturating_sub(self.decoded.start)
    }

    /// The front of `dst`, which they fill and which it loses.
    pub(crate) fn take_front<'d>(&self, dst: &mut &'d mut [u8]) -> Result<&'d mut [u8]> {
        let size = usize::try_from(self.size()).unwrap_or(usize::MAX);
        let parts = std::mem::take(dst).split_at_mut_checked(size);
        let (now, later) = parts.ok_or_else(|| fail!(Internal, "the frames pass the declared size"))?;
        *dst = later;
        Ok(now)
    }
}

impl KnownSize {
    /// Nothing seen yet.
    pub(super) const NONE: KnownSize = KnownSize::Exact(0);

    /// With one more frame.
    pub(super) fn with(self, codec: Codec, header: &Header) -> Result<KnownSize> {
        let (KnownSize::Exact(sum) | KnownSize::AtMost(sum)) = self;
        let sum = sum.checked_add(header.most).ok_or_else(|| {
            broken!(codec.corrupt_rule(), "the {} frames' sizes add up to more than 2^64", codec.name())
        })?;
        Ok(match (self, header.content) {
            (KnownSize::Exact(_), Some(_)) => KnownSize::Exact(sum),
            _ => KnownSize::AtMost(sum),
        })
    }

    /// An error if it rules out that the frames give `wanted` bytes.
    pub(crate) fn check(self, codec: Codec, wanted: u64) -> Result<KnownSize> {
        match self {
            KnownSize::Exact(size) if size != wanted => Err(broken!(
                codec.length_rule(),
                "the {} frames hold {size} bytes, {wanted} are declared",
                codec.name()
            )),
            KnownSize::AtMost(most) if most < wanted => Err(broken!(
                codec.length_rule(),
                "the {} frames hold at most {most} bytes, {wanted} are declared",
                codec.name()
            )),
            _ => Ok(self),
        }
    }
}

/// The decoded sizes of all frames, added up.
pub(super) fn sum(codec: Codec, mut walk: impl Iterator<Item = Result<Header>>) -> Result<KnownSize> {
    walk.try_fold(KnownSize::NONE, |known, header| known.with(codec, &header?))
}

/// What is known of the size, and all frames in runs of neighbours: as few as give `least` bytes, so that however small
/// the frames of a file are, they take little memory. Of all frames only if each says its size and all give `wanted`.
pub(super) fn runs(
    codec: Codec,
    walk: impl Iterator<Item = Result<Header>>,
    least: u64,
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
            _ if end > wanted => {} // they are counted, for what is said of it
            Some(run) if run.size() < least => {
                (run.stored.end, run.decoded.end) = (header.stored.end, end);
                run.entries = run.entries.and(header.entries);
            }
            _ => {
                runs.try_reserve(1)?;
                runs.push(FrameRun { stored: header.stored, decoded: start..end, entries: header.entries });
            }
        }
    }
    Ok((known, runs))
}

/// The headers of frames that hold data.
pub(super) fn with_data(walk: impl Iterator<Item = Result<Header>>) -> impl Iterator<Item = Result<Header>> {
    walk.filter(|header| !header.as_ref().is_ok_and(|header| header.skippable))
}
