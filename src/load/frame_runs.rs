//! Fast path: a whole compressed component is read and decoded by all threads, each of which takes some of
//! its frames. Two threads took 1.13 to 1.19 of the time of two threads of libzstd, and 1.69 where one read
//! all before. It is not for a component of one frame or of fewer bytes than a chunk, nor where its digest is
//! checked, where frames do not say their sizes, or where the headers are not in memory and no table says
//! where frames are: to find them would read everything twice.

use super::blob::Blob;
use super::job::{Finish, Push, Work};
use crate::codec::{Codec, FrameRun, KnownSize, Stored};
use crate::error::Result;

/// A job for each run of frames.
pub fn frame_jobs<'a>(
    blob: &Blob<'_>,
    codec: Codec,
    runs: &[FrameRun],
    borrowed: bool,
    mut dst: &'a mut [u8],
    push: &mut Push<'_, 'a>,
) -> Result<()> {
    for run in runs {
        let now = run.take_front(&mut dst)?;
        let offset = blob.entry.offset.saturating_add(run.stored.start as u64);
        let (stored, decoded_start) = (run.stored.len() as u64, run.decoded.start);
        let entries = run.entries;
        let frames = Finish::Frames { codec, stored, entries, decoded_start, borrowed };
        push(offset, now, Work::Range(frames))?;
    }
    Ok(())
}

/// The frames of a compressed component in runs of some decoded bytes, if there are several.
pub fn frame_runs(
    blob: &Blob<'_>,
    codec: Codec,
    stored: impl Stored,
    least: u64,
) -> Result<Option<Vec<FrameRun>>> {
    let size = blob.size;
    if size <= least {
        return Ok(None);
    }
    let (known, runs) = codec.runs(stored, least, size)?;
    blob.check_size(codec, known)?;
    let several = matches!(known.check(codec, size)?, KnownSize::Exact(_)) && runs.len() > 1;
    // Where elements have to be byte-swapped, a run must not cut one.
    let width = blob.entry.width() as u64;
    let splits_element =
        blob.entry.swaps() && runs.iter().any(|run| run.decoded.end.checked_rem(width) != Some(0));
    Ok(Some(runs).filter(|_| several && !splits_element))
}
