//! A part of the decoded bytes, or all of them a little at a time.

use zstd_safe::DCtx;

use super::context::{context, frame_error};
use super::stream::{StreamDecoder, WINDOW_LOG};
use super::walk::Walk;
use crate::codec::frame_index::{FramePoint, Seek};
use crate::codec::frames::{with_data, Header, StoredPart};
use crate::error::{broken, fail, Result, Rule};
use crate::model::encoding::Codec;

/// Bytes decoded at once where they are only passed on.
const SCRATCH: usize = 128 << 10;
/// A frame up to this size is decoded whole where a part of it is wanted: quicker than streaming.
const SMALL_FRAME: u64 = 1 << 20;

/// Who takes decoded bytes, in order.
type Sink<'a> = dyn FnMut(&[u8]) -> Result<()> + 'a;

/// Decodes the bytes from `offset` on of the `decoded_size` that there are, as many as `dst` has.
///
/// `start` is what the index of these frames gives for it, and `stored` has what that needs. Frames that say their size
/// and are not touched are passed over. A frame of which a part is wanted is decoded up to there, a small one whole.
/// After an error `dst` has undefined contents.
pub(crate) fn decode_range(
    stored: StoredPart<'_>,
    start: Seek,
    decoded_size: u64,
    offset: u64,
    dst: &mut [u8],
) -> Result<()> {
    let wanted = dst.len();
    let end = offset.checked_add(wide(wanted));
    if end.is_none_or(|end| end > decoded_size) {
        return Err(fail!(InvalidArgument, "{wanted} bytes from {offset} pass the end at {decoded_size}"));
    }
    start.size.check(Codec::Zstd, decoded_size)?;
    if wanted == 0 {
        return Ok(());
    }
    let mut context = context()?;
    let FramePoint { stored: place, decoded: mut start } = start.point; // where the next frame's content begins
    let mut at = offset; // the next byte wanted
    let mut rest = dst;
    for header in with_data(Walk::from(stored, place)) {
        let header = header?;
        let skip = at.saturating_sub(start);
        if header.content.is_some_and(|content| content <= skip) {
            start = start.saturating_add(header.most);
            continue;
        }
        let (decoded, written) = match header.content {
            None => stream_part(stored.frame(&header.stored), &header, skip, rest)?,
            Some(content) => {
                let take =
                    usize::try_from(content.saturating_sub(skip)).unwrap_or(usize::MAX).min(rest.len());
                known_part(&mut context, stored.frame(&header.stored), &header, content, skip, take, rest)?;
                (content, take)
            }
        };
        rest = rest.get_mut(written..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(());
        }
        start = start.saturating_add(decoded);
        at = at.saturating_add(wide(written));
    }
    Err(broken!(Rule::ZstdLength, "the zstd frames hold {start} bytes, {decoded_size} are declared"))
}

/// Decodes the `take` bytes of a frame of known size that begin at `skip` to the front of `rest`.
fn known_part(
    context: &mut DCtx<'static>,
    frame: &[u8],
    header: &Header,
    content: u64,
    skip: u64,
    take: usize,
    rest: &mut [u8],
) -> Result<()> {
    let outside = || fail!(Internal, "a part of a zstd frame is not in it");
    if let Some(out) = usize::try_from(content).ok().and_then(|size| rest.get_mut(..size)) {
        // Its end is wanted, so all of it is decoded; what then stands behind the part the next frames overwrite.
        // Back-references are read from `out` itself: no window is allocated.
        let written = context.decompress(out, frame).map_err(|code| frame_error(code, header))?;
        let skip = usize::try_from(skip).map_err(|_| outside())?;
        match skip.checked_add(take).filter(|&end| end <= written) {
            Some(_) if skip == 0 => {}
            Some(end) => out.copy_within(skip..end, 0),
            None => return Err(outside()),
        }
        return Ok(());
    }
    let to = rest.get_mut(..take).unwrap_or_default();
    if content <= SMALL_FRAME || !streamable(header) {
        let whole = whole_frame(context, frame, header, content)?;
        let from = usize::try_from(skip).ok().and_then(|skip| whole.get(skip..)?.get(..take));
        to.copy_from_slice(from.ok_or_else(outside)?);
    } else {
        let (decoded, written) = stream_part(frame, header, skip, to)?;
        if written < take {
            return Err(broken!(
                Rule::ZstdCorrupt,
                "zstd frame at byte {} of the stored bytes: {decoded} bytes, its header promises {content}",
                header.stored.start
            ));
        }
    }
    Ok(())
}

/// Whether the window that a streaming decoder must keep is within its limit.
fn streamable(header: &Header) -> bool {
    header.window <= 1 << WINDOW_LOG
}

/// Decodes a frame into memory of its own. Its blocks can hold `content` bytes: the walk made sure.
fn whole_frame(context: &mut DCtx<'static>, frame: &[u8], header: &Header, content: u64) -> Result<Vec<u8>> {
    let Ok(size) = usize::try_from(content) else {
        return Err(fail!(Limit, "a zstd frame of {content} bytes is more than this machine addresses"));
    };
    let mut whole = zeroed(size)?;
    let written =
        context.decompress(whole.as_mut_slice(), frame).map_err(|code| frame_error(code, header))?;
    whole.truncate(written);
    Ok(whole)
}

/// Memory of its own, asked for fallibly.
fn zeroed(size: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size).map_err(|_| crate::error::Error::out_of_memory(size))?;
    bytes.resize(size, 0);
    Ok(bytes)
}

/// Streams a frame, drops the first `skip` bytes and stops when `to` is full or the frame ends.
///
/// Gives the bytes decoded, dropped ones too, and the bytes written.
fn stream_part(mut frame: &[u8], header: &Header, skip: u64, to: &mut [u8]) -> Result<(u64, usize)> {
    let mut decoder = StreamDecoder::new()?;
    let within = |error: crate::error::Error| {
        error.within(format_args!("zstd frame at byte {} of the stored bytes", header.stored.start))
    };
    let mut scratch = zeroed(usize::try_from(skip).unwrap_or(usize::MAX).min(SCRATCH))?;
    let mut left = skip;
    while left > 0 {
        let out = usize::try_from(left).unwrap_or(usize::MAX).min(scratch.len());
        let got = decoder.decode(&mut frame, scratch.get_mut(..out).unwrap_or_default()).map_err(within)?;
        left = left.saturating_sub(wide(got));
        if got < out {
            decoder.check_end().map_err(within)?;
            return Ok((skip.saturating_sub(left), 0));
        }
    }
    let written = decoder.decode(&mut frame, to).map_err(within)?;
    if written < to.len() {
        decoder.check_end().map_err(within)?;
    }
    Ok((skip.saturating_add(wide(written)), written))
}

/// Decodes everything in order and hands it to `sink` a little at a time; how many bytes it was.
///
/// More than `limit` bytes are an error, before the sink sees them.
pub(crate) fn decode_chunks(stored: &[u8], limit: u64, sink: &mut Sink<'_>) -> Result<u64> {
    chunks(stored, limit, Some(sink))
}

/// How many bytes the frames decode to; only frames whose headers do not say are decoded.
///
/// More than `limit` bytes are an error, and no more than that are decoded.
pub(crate) fn decode_counted(stored: &[u8], limit: u64) -> Result<u64> {
    chunks(stored, limit, None)
}

/// Decodes frame by frame; without a sink frames of known size are only counted.
fn chunks(stored: &[u8], limit: u64, mut sink: Option<&mut Sink<'_>>) -> Result<u64> {
    let over = || fail!(Limit, "the zstd frames hold more than the limit of {limit} bytes");
    let mut scratch = Vec::new();
    let mut decoder = None;
    let mut total = 0u64;
    for header in with_data(Walk::new(stored)) {
        let header = header?;
        let mut frame = stored.get(header.stored.clone()).unwrap_or_default();
        if let Some(content) = header.content {
            let after = total.checked_add(content).filter(|&after| after <= limit).ok_or_else(over)?;
            let Some(sink) = &mut sink else {
                total = after;
                continue;
            };
            if !streamable(&header) {
                let whole = whole_frame(&mut context()?, frame, &header, content)?;
                whole.chunks(SCRATCH).try_for_each(&mut **sink)?;
                total = after;
                continue;
            }
        }
        let wanted = usize::try_from(header.most).unwrap_or(SCRATCH).clamp(1, SCRATCH);
        if scratch.len() < wanted {
            scratch = zeroed(wanted)?;
        }
        let decoder = match &mut decoder {
            Some(decoder) => decoder,
            none => none.insert(StreamDecoder::new()?),
        };
        let within = |error: crate::error::Error| {
            error.within(format_args!("zstd frame at byte {} of the stored bytes", header.stored.start))
        };
        loop {
            let got = decoder.decode(&mut frame, &mut scratch).map_err(within)?;
            total = total.checked_add(wide(got)).filter(|&total| total <= limit).ok_or_else(over)?;
            if let (Some(sink), true) = (&mut sink, got > 0) {
                sink(scratch.get(..got).unwrap_or_default())?;
            }
            if got < scratch.len() {
                break;
            }
        }
        decoder.check_end().map_err(within)?;
    }
    Ok(total)
}

/// A size in memory as a number of the format.
fn wide(size: usize) -> u64 {
    u64::try_from(size).unwrap_or(u64::MAX)
}
