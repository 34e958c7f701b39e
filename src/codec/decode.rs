//! Decodes the frames of any codec: all of them into the destination, a part of the decoded bytes, or
//! everything in small pieces.

use super::frame_format::{in_frame, Decoded, FrameDecoder, FrameFormat, StreamDecoder};
use super::frame_index::{FramePoint, Seek};
use super::frames::{sum, with_data, wrong_size, Header, StoredPart};
use super::walk::Walk;
use crate::error::{broken, fail, Cause, Error, Result};
use crate::memory::{with_capacity, zeroed};
use crate::model::encoding::Codec;

/// Decodes all of these frames directly into `dst`. They must decode to exactly its size.
///
/// After an error `dst` has undefined contents.
pub(super) fn decode_into<F: FrameFormat>(
    codec: Codec,
    stored: StoredPart<'_>,
    dst: &mut [u8],
) -> Result<()> {
    let (name, wanted) = (codec.name(), dst.len());
    let (mut once, mut again) = (stored, stored);
    let known = sum(codec, Walk::<F>::of_part(&mut once, stored.from))?;
    known.check(codec, wanted as u64)?;
    let mut decoder = F::FrameDecoder::new()?;
    let mut rest = dst;
    for header in with_data(Walk::<F>::of_part(&mut again, stored.from)) {
        let header = header?;
        let out = match header.content {
            Some(content) => usize::try_from(content).unwrap_or(usize::MAX),
            None => rest.len(),
        };
        let longer =
            || broken!(codec.length_rule(), "the {name} frames hold more than the {wanted} bytes declared");
        let out = rest.get_mut(..out).ok_or_else(longer)?;
        // Back-references read from `out` itself, so no window is allocated.
        let written = match decoder.decode(stored.frame(&header.stored), &header, out)? {
            Decoded::Size(written) => written,
            // If the header gave a size, `out` had space for it, so the header is wrong. Otherwise the
            // manifest is wrong.
            Decoded::TooLarge if header.content.is_none() => return Err(longer()),
            Decoded::TooLarge => return Err(broken_promise(codec, &header)),
        };
        rest = rest.get_mut(written..).unwrap_or_default();
    }
    match rest.len() {
        0 => Ok(()),
        short => Err(wrong_size(codec, wanted.saturating_sub(short), wanted as u64)),
    }
}

/// How many bytes are decoded at a time if they are only passed on.
const SCRATCH: usize = 128 << 10;
/// If a part of a frame up to this size is wanted, the whole frame is decoded, which is faster than
/// streaming.
const SMALL_FRAME: u64 = 1 << 20;

/// Decodes the bytes from `offset` on into `dst`. `decoded_size` is the size of all decoded bytes.
///
/// `start` is what the index of the frames returned for the range, and `stored` has the bytes that it needs.
/// Frames outside the range that give their size are skipped. If a part of a frame is wanted, it is decoded
/// up to the end of that part; a small frame is decoded as a whole. After an error `dst` has undefined
/// contents.
pub(super) fn decode_range<F: FrameFormat>(
    codec: Codec,
    stored: StoredPart<'_>,
    start: Seek,
    decoded_size: u64,
    offset: u64,
    dst: &mut [u8],
) -> Result<()> {
    let wanted = dst.len();
    let end = offset.checked_add(wanted as u64);
    if end.is_none_or(|end| end > decoded_size) {
        return Err(fail!(InvalidArgument, "{wanted} bytes from {offset} pass the end at {decoded_size}"));
    }
    start.size.check(codec, decoded_size)?;
    if wanted == 0 {
        return Ok(());
    }
    let mut decoder = F::FrameDecoder::new()?;
    let mut frames = stored;
    // Where the next frame's content begins.
    let FramePoint { stored: first_frame, decoded: mut start } = start.point;
    let mut at = offset; // the next byte that is wanted
    let mut rest = dst;
    for header in with_data(Walk::<F>::of_part(&mut frames, first_frame)) {
        let header = header?;
        let skip = at.saturating_sub(start);
        if header.content.is_some_and(|content| content <= skip) {
            start = start.saturating_add(header.max_size);
            continue;
        }
        let (decoded, written) = match header.content {
            None => stream_part::<F>(codec, stored.frame(&header.stored), &header, skip, rest)?,
            Some(content) => {
                let take =
                    usize::try_from(content.saturating_sub(skip)).unwrap_or(usize::MAX).min(rest.len());
                let frame = stored.frame(&header.stored);
                let part = FramePart { frame, header: &header, content, skip, take };
                known_part::<F>(codec, &mut decoder, &part, rest)?;
                (content, take)
            }
        };
        rest = rest.get_mut(written..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(());
        }
        start = start.saturating_add(decoded);
        at = at.saturating_add(written as u64);
    }
    Err(wrong_size(codec, start, decoded_size))
}

/// A part of the content of a frame whose size is known.
struct FramePart<'f> {
    frame: &'f [u8],
    header: &'f Header,
    /// The decoded size of the whole frame.
    content: u64,
    /// How many decoded bytes come before the part.
    skip: u64,
    /// How many bytes the part has.
    take: usize,
}

/// Decodes a part of a frame to the front of `rest`.
fn known_part<F: FrameFormat>(
    codec: Codec,
    decoder: &mut F::FrameDecoder,
    part: &FramePart<'_>,
    rest: &mut [u8],
) -> Result<()> {
    let FramePart { frame, header, content, skip, take } = *part;
    let outside = || fail!(Internal, "a part is outside of its {} frame", codec.name());
    if let Some(out) = usize::try_from(content).ok().and_then(|size| rest.get_mut(..size)) {
        // The whole frame fits, so it is decoded completely. The next frames overwrite what comes after the
        // part. Back-references read from `out` itself, so no window is allocated.
        let written = decode_frame::<F>(codec, decoder, frame, header, out)?;
        let skip = usize::try_from(skip).map_err(|_| outside())?;
        match skip.checked_add(take).filter(|&end| end <= written) {
            Some(_) if skip == 0 => {}
            Some(end) => out.copy_within(skip..end, 0),
            None => return Err(outside()),
        }
        return Ok(());
    }
    let to = rest.get_mut(..take).unwrap_or_default();
    if content <= SMALL_FRAME || header.window > F::MAX_WINDOW {
        let whole = whole_frame::<F>(codec, decoder, frame, header, content)?;
        let from = usize::try_from(skip).ok().and_then(|skip| whole.get(skip..)?.get(..take));
        to.copy_from_slice(from.ok_or_else(outside)?);
    } else {
        let (decoded, written) = stream_part::<F>(codec, frame, header, skip, to)?;
        if written < take {
            return Err(broken!(
                codec.corrupt_rule(),
                "{} frame at byte {} of the stored bytes: {decoded} bytes, its header promises {content}",
                codec.name(),
                header.stored.start
            ));
        }
    }
    Ok(())
}

/// Decodes a frame to the front of `out`, which has space for the size in the frame's header. Returns the
/// decoded size.
fn decode_frame<F: FrameFormat>(
    codec: Codec,
    decoder: &mut F::FrameDecoder,
    frame: &[u8],
    header: &Header,
    out: &mut [u8],
) -> Result<usize> {
    match decoder.decode(frame, header, out)? {
        Decoded::Size(written) => match header.content {
            Some(content) if content != written as u64 => {
                let error =
                    broken!(codec.length_rule(), "it holds {written} bytes, its header promises {content}");
                Err(in_frame(codec, header, error))
            }
            _ => Ok(written),
        },
        Decoded::TooLarge => Err(broken_promise(codec, header)),
    }
}

/// The error for a frame with more content than its header says.
#[cold]
fn broken_promise(codec: Codec, header: &Header) -> Error {
    in_frame(codec, header, broken!(codec.corrupt_rule(), "it holds more bytes than its header promises"))
}

/// Decodes a frame into new memory. Its size is safe to allocate: either the walk has checked that the blocks
/// can have `content` bytes, or the table gives the size.
fn whole_frame<F: FrameFormat>(
    codec: Codec,
    decoder: &mut F::FrameDecoder,
    frame: &[u8],
    header: &Header,
    content: u64,
) -> Result<Vec<u8>> {
    let Ok(size) = usize::try_from(content) else {
        return Err(fail!(
            Limit,
            "a {} frame of {content} bytes is larger than this machine's address space",
            codec.name()
        ));
    };
    let mut whole = zeroed(size)?;
    let written = decode_frame::<F>(codec, decoder, frame, header, &mut whole)?;
    whole.truncate(written);
    Ok(whole)
}

/// Streams a frame, drops the first `skip` bytes, and stops when `to` is full or the frame ends.
///
/// Returns how many bytes were decoded, including dropped ones, and how many were written.
fn stream_part<F: FrameFormat>(
    codec: Codec,
    mut frame: &[u8],
    header: &Header,
    skip: u64,
    to: &mut [u8],
) -> Result<(u64, usize)> {
    let mut decoder = F::StreamDecoder::new()?;
    let within = |error| in_frame(codec, header, error);
    let mut scratch = zeroed(usize::try_from(skip).unwrap_or(usize::MAX).min(SCRATCH))?;
    let mut left = skip;
    while left > 0 {
        let out = usize::try_from(left).unwrap_or(usize::MAX).min(scratch.len());
        let got = decoder.decode(&mut frame, scratch.get_mut(..out).unwrap_or_default()).map_err(within)?;
        left = left.saturating_sub(got as u64);
        if got < out {
            decoder.check_end().map_err(within)?;
            return Ok((skip.saturating_sub(left), 0));
        }
    }
    let written = decoder.decode(&mut frame, to).map_err(within)?;
    if written < to.len() {
        decoder.check_end().map_err(within)?;
    }
    Ok((skip.saturating_add(written as u64), written))
}

/// Called with the number of stored bytes decoded so far. An error stops decoding.
pub(super) type OnStored<'a> = dyn FnMut(u64) -> Result<()> + 'a;

/// Receives decoded bytes, in order.
pub(super) type Sink<'a> = dyn FnMut(&[u8]) -> Result<()> + 'a;

/// Decodes everything in order, and calls `sink` with small pieces. Fails if the decoded size is not exactly
/// `size`.
pub(super) fn decode_exactly<F: FrameFormat>(
    codec: Codec,
    stored: &[u8],
    size: u64,
    sink: &mut Sink<'_>,
) -> Result<()> {
    let decoded = decode_chunks::<F>(codec, stored, size, Some(sink), &mut |_| Ok(()));
    let decoded = decoded.map_err(|error| match error.cause() {
        // Decoding stopped at the declared size. That there is more is an error in the file, not a limit.
        Cause::Limit => {
            broken!(codec.length_rule(), "it decodes to more than the {size} bytes that are declared")
        }
        _ => error,
    })?;
    match decoded == size {
        true => Ok(()),
        false => Err(broken!(codec.length_rule(), "it decodes to {decoded} bytes, {size} are declared")),
    }
}

/// Turns pieces of decoded bytes, which may end anywhere, into chunks of one size. The last chunk may be
/// shorter.
pub(crate) struct Chunks {
    chunk: Vec<u8>,
    size: usize,
}

impl Chunks {
    pub(crate) fn new(size: usize) -> Result<Chunks> {
        Ok(Chunks { chunk: with_capacity(size)?, size })
    }

    /// Adds a piece, and calls `body` with each chunk that is full.
    pub(crate) fn add(&mut self, mut piece: &[u8], body: &mut Sink<'_>) -> Result<()> {
        while !piece.is_empty() && self.size > 0 {
            let space = self.size.saturating_sub(self.chunk.len()).min(piece.len());
            let (now, later) = piece.split_at_checked(space).unwrap_or_default();
            self.chunk.extend_from_slice(now); // within what was reserved
            piece = later;
            if self.chunk.len() == self.size {
                body(&self.chunk)?;
                self.chunk.clear();
            }
        }
        Ok(())
    }

    /// Calls `body` with the remaining bytes.
    pub(crate) fn end(self, body: &mut Sink<'_>) -> Result<()> {
        match self.chunk.is_empty() {
            true => Ok(()),
            false => body(&self.chunk),
        }
    }
}

/// Decodes everything in order, and calls `sink` with small pieces. Returns the decoded size. Without a sink,
/// frames of known size are only counted. `step` is called with the number of stored bytes decoded.
///
/// If there are more than `limit` bytes, it fails before `sink` gets them.
pub(super) fn decode_chunks<F: FrameFormat>(
    codec: Codec,
    stored: &[u8],
    limit: u64,
    mut sink: Option<&mut Sink<'_>>,
    step: &mut OnStored<'_>,
) -> Result<u64> {
    let over = || fail!(Limit, "the {} frames hold more than the limit of {limit} bytes", codec.name());
    let mut scratch = Vec::new();
    // For all frames, because making a decoder takes longer than decoding a small frame.
    let (mut decoder, mut frame_decoder) = (None, None);
    let (mut total, mut frames) = (0u64, stored);
    for header in with_data(Walk::<F>::from(&mut frames, 0)) {
        let header = header?;
        let mut frame = stored.get(header.stored.clone()).unwrap_or_default();
        if let Some(content) = header.content {
            let after = total.checked_add(content).filter(|&after| after <= limit).ok_or_else(over)?;
            let Some(sink) = &mut sink else {
                total = after;
                continue;
            };
            if header.window > F::MAX_WINDOW {
                let decoder = match &mut frame_decoder {
                    Some(decoder) => decoder,
                    none => none.insert(F::FrameDecoder::new()?),
                };
                let whole = whole_frame::<F>(codec, decoder, frame, &header, content)?;
                whole.chunks(SCRATCH).try_for_each(&mut **sink)?;
                total = after;
                continue;
            }
        }
        let wanted = usize::try_from(header.max_size).unwrap_or(SCRATCH).clamp(1, SCRATCH);
        if scratch.len() < wanted {
            scratch = zeroed(wanted)?;
        }
        let decoder = match &mut decoder {
            Some(decoder) => decoder,
            none => none.insert(F::StreamDecoder::new()?),
        };
        let within = |error| in_frame(codec, &header, error);
        loop {
            let got = decoder.decode(&mut frame, &mut scratch).map_err(within)?;
            total = total.checked_add(got as u64).filter(|&total| total <= limit).ok_or_else(over)?;
            if let (Some(sink), true) = (&mut sink, got > 0) {
                sink(scratch.get(..got).unwrap_or_default())?;
            }
            step(header.stored.end.saturating_sub(frame.len()) as u64)?;
            if got < scratch.len() {
                break;
            }
        }
        decoder.check_end().map_err(within)?;
    }
    Ok(total)
}
