//! zstd: sizes from headers, decoding in one shot, in ranges and piece by piece, and writing frames.
//!
//! Where the stored bytes are in memory as a whole, headers are walked first: nothing is decoded
//! that cannot give the wanted size, and no memory is sized by a header alone, because its blocks
//! must be able to hold what it promises.

mod decode;
mod encode;
mod frame_index;
mod stream;
mod walk;

use std::ops::Range;

use zstd_safe::DCtx;

use crate::error::{broken, fail, Error, Result, Rule};
use walk::{Header, Walk};
pub(crate) use walk::{Stored, StoredPart};

pub(crate) use decode::{decode_chunks, decode_counted, decode_range};
pub(crate) use encode::{frame_bound, FrameEncoder};
pub(crate) use frame_index::{FrameIndex, Seek};
#[cfg(test)]
pub(crate) use stream::StreamDecoder;

/// `ZSTD_error_prefix_unknown`.
const CODE_PREFIX: usize = 10;
/// `ZSTD_error_frameParameter_windowTooLarge`.
const CODE_WINDOW: usize = 16;
/// `ZSTD_error_memory_allocation`.
const CODE_MEMORY: usize = 64;
/// `ZSTD_error_dstSize_tooSmall`.
const CODE_DST_TOO_SMALL: usize = 70;

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
}

impl FrameRun {
    /// Bytes that they give.
    pub(crate) fn size(&self) -> u64 {
        self.decoded.end.saturating_sub(self.decoded.start)
    }
}

impl KnownSize {
    /// Nothing seen yet.
    const NONE: KnownSize = KnownSize::Exact(0);

    /// With one more frame.
    fn with(self, header: &Header) -> Result<KnownSize> {
        let (KnownSize::Exact(sum) | KnownSize::AtMost(sum)) = self;
        let sum = sum
            .checked_add(header.most)
            .ok_or_else(|| broken!(Rule::ZstdCorrupt, "the zstd frames' sizes add up to more than 2^64"))?;
        Ok(match (self, header.content) {
            (KnownSize::Exact(_), Some(_)) => KnownSize::Exact(sum),
            _ => KnownSize::AtMost(sum),
        })
    }

    /// An error if it rules out that the frames give `wanted` bytes.
    pub(crate) fn check(self, wanted: u64) -> Result<KnownSize> {
        match self {
            KnownSize::Exact(size) if size != wanted => {
                Err(broken!(Rule::ZstdLength, "the zstd frames hold {size} bytes, {wanted} are declared"))
            }
            KnownSize::AtMost(most) if most < wanted => Err(broken!(
                Rule::ZstdLength,
                "the zstd frames hold at most {most} bytes, {wanted} are declared"
            )),
            _ => Ok(self),
        }
    }
}

/// Walks the frame and block headers and adds up the decoded sizes; decodes nothing.
pub(crate) fn known_size(stored: impl Stored) -> Result<KnownSize> {
    sum(Walk::new(stored))
}

fn sum(mut walk: impl Iterator<Item = Result<Header>>) -> Result<KnownSize> {
    walk.try_fold(KnownSize::NONE, |known, header| known.with(&header?))
}

/// Decodes all of these frames straight into `dst`: exactly as many bytes as it has, or an error.
///
/// After an error `dst` has undefined contents.
pub(crate) fn decode_into<'s>(stored: impl Into<StoredPart<'s>>, dst: &mut [u8]) -> Result<()> {
    let (stored, wanted) = (stored.into(), dst.len());
    let frames = || Walk::from(stored, stored.from);
    sum(frames())?.check(u64::try_from(wanted).unwrap_or(u64::MAX))?;
    let mut context = context()?;
    let mut rest = dst;
    for header in with_data(frames()) {
        let header = header?;
        let out = match header.content {
            Some(content) => usize::try_from(content).unwrap_or(usize::MAX),
            None => rest.len(),
        };
        let longer =
            || broken!(Rule::ZstdLength, "the zstd frames hold more than the {wanted} bytes declared");
        let out = rest.get_mut(..out).ok_or_else(longer)?;
        // Back-references are read from `out` itself: no window is allocated.
        let written = match context.decompress(out, stored.frame(&header.stored)) {
            // Room for what the header promised was there: then it lied, else the manifest did.
            Err(code) if code_number(code) == CODE_DST_TOO_SMALL && header.content.is_none() => {
                return Err(longer())
            }
            other => other.map_err(|code| frame_error(code, &header))?,
        };
        rest = rest.get_mut(written..).unwrap_or_default();
    }
    match rest.len() {
        0 => Ok(()),
        short => {
            let decoded = wanted.saturating_sub(short);
            Err(broken!(Rule::ZstdLength, "the zstd frames hold {decoded} bytes, {wanted} are declared"))
        }
    }
}

/// What is known of the size, and all frames in runs of neighbours: as few as give `least` bytes, so that however small
/// the frames of a file are, they take little memory. Of all frames only if each says its size and all give `wanted`.
pub(crate) fn runs(stored: impl Stored, least: u64, wanted: u64) -> Result<(KnownSize, Vec<FrameRun>)> {
    let (mut known, mut runs) = (KnownSize::NONE, Vec::<FrameRun>::new());
    for header in Walk::new(stored) {
        let header = header?;
        let before = known;
        known = known.with(&header)?;
        let (KnownSize::Exact(start), KnownSize::Exact(end), false) = (before, known, header.skippable)
        else {
            continue;
        };
        match runs.last_mut() {
            _ if end > wanted => {} // they are counted, for what is said of it
            Some(run) if run.size() < least => {
                (run.stored.end, run.decoded.end) = (header.stored.end, end);
            }
            _ => {
                runs.try_reserve(1)?;
                runs.push(FrameRun { stored: header.stored, decoded: start..end });
            }
        }
    }
    Ok((known, runs))
}

/// The frames that hold data.
fn data_frames(stored: &[u8]) -> impl Iterator<Item = Result<Header>> + '_ {
    with_data(Walk::new(stored))
}

fn with_data(walk: impl Iterator<Item = Result<Header>>) -> impl Iterator<Item = Result<Header>> {
    walk.filter(|header| !header.as_ref().is_ok_and(|header| header.skippable))
}

/// A decoder's state, which is of a fixed size.
fn context() -> Result<DCtx<'static>> {
    DCtx::try_create().ok_or_else(|| fail!(OutOfMemory, "could not allocate a zstd decoder"))
}

/// The number of an error in `zstd_errors.h`; libzstd returns it negated.
fn code_number(code: usize) -> usize {
    code.wrapping_neg()
}

/// What libzstd says of one frame.
#[cold]
fn frame_error(code: usize, header: &Header) -> Error {
    decoder_error(code, format_args!("zstd frame at byte {} of the stored bytes", header.stored.start))
}

/// What libzstd says, with what it was about.
#[cold]
fn decoder_error(code: usize, about: std::fmt::Arguments<'_>) -> Error {
    let name = zstd_safe::get_error_name(code);
    if code_number(code) == CODE_MEMORY {
        return fail!(OutOfMemory, "{about}: {name}");
    }
    broken!(Rule::ZstdCorrupt, "{about}: {name}")
}

/// libzstd refuses what it never should.
#[cold]
fn internal(code: usize) -> Error {
    fail!(Internal, "zstd: {}", zstd_safe::get_error_name(code))
}

#[cfg(test)]
mod tests;
