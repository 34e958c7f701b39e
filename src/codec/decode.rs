//! Decoding of frames, of any codec: all of them straight into the destination, a part of the decoded bytes,
//! or everything a little at a time.

use super::frame_format::{in_frame, Decoded, FrameDecoder, FrameFormat, StreamDecoder};
use super::frame_index::{FramePoint, Seek};
use super::frames::{sum, with_data, Header, StoredPart};
use super::walk::Walk;
use crate::error::{broken, fail, Cause, Error, Result};
use crate::memory::zeroed;
use crate::model::encoding::Codec;

/// Decodes all of these frames straight into `dst`: exactly as many bytes as it has, or an error.
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
    known.check(codec, u64::try_from(wanted).unwrap_or(u64::MAX))?;
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
        // Back-references are read from `out` itself: no window is allocated.
        let written = match decoder.decode(stored.frame(&header.stored), &header, out)? {
            Decoded::Size(written) => written,
            // If the header declared a size, there was room for it, and the header is wrong; else the
            // manifest is.
            Decoded::TooLarge if header.content.is_none() => return Err(longer()),
            Decoded::TooLarge => return Err(broken_promise(codec, &header)),
        };
        rest = rest.get_mut(written..).unwrap_or_default();
    }
    match rest.len() {
        0 => Ok(()),
        short => {
            let decoded = wanted.saturating_sub(short);
            Err(broken!(codec.length_rule(), "the {name} frames hold {decoded} bytes, {wanted} are declared"))
        }
    }
}

/// How many bytes are decoded at a time where they are only handed on.
const SCRATCH: usize = 128 << 10;
/// If a part of a frame up to this size is wanted, all of it is decoded: quicker than streaming.
const SMALL_FRAME: u64 = 1 << 20;

/// Decodes bytes from `offset` on, as many as `dst` has, out of `decoded_size`.
///
/// `start` is what the index of these frames gives for it, and `stored` has what that needs. Frames that say
/// their size and are not touched are passed over. If a part of a frame is wanted, the frame is decoded up to
/// there, a small one whole. After an error `dst` has undefined contents.
pub(super) fn decode_range<F: FrameFormat>(
    codec: Codec,
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
    start.size.check(codec, decoded_size)?;
    if wanted == 0 {
        return Ok(());
    }
    let mut decoder = F::FrameDecoder::new()?;
    let mut frames = stored;
    let FramePoint { stored: first_frame, decoded: mut start } = start.point; // where the next frame's content begins
    let mut at = offset; // the next byte wanted
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
        at = at.saturating_add(wide(written));
    }
    Err(broken!(
        codec.length_rule(),
        "the {} frames hold {start} bytes, {decoded_size} are declared",
        codec.name()
    ))
}

/// A part of the decoded bytes of a frame of known size.
struct FramePart<'f> {
    frame: &'f [u8],
    header: &'f Header,
    /// Decoded bytes of the whole frame.
    content: u64,
    /// Decoded bytes before the part.
    skip: u64,
    /// Bytes of the part.
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
        // There is room for the whole frame, so all of it is decoded; the next frames overwrite what follows
        // the part. Back-references are read from `out` itself: no window is allocated.
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

/// Decodes a frame to the start of `out`, which has memory for the size in its header. Returns the number of
/// bytes.
fn decode_frame<F: FrameFormat>(
    codec: Codec,
    decoder: &mut F::FrameDecoder,
    frame: &[u8],
    header: &Header,
    out: &mut [u8],
) -> Result<usize> {
    match decoder.decode(frame, header, out)? {
        Decoded::Size(written) => match header.content {
            Some(content) if content != wide(written) => {
                let error =
                    broken!(codec.length_rule(), "it holds {written} bytes, its header promises {content}");
                Err(in_frame(codec, header, error))
            }
            _ => Ok(written),
        },
        Decoded::TooLarge => Err(broken_promise(codec, header)),
    }
}

/// The error of a frame that holds more than its header says.
#[cold]
fn broken_promise(codec: Codec, header: &Header) -> Error {
    in_frame(codec, header, broken!(codec.corrupt_rule(), "it holds more bytes than its header promises"))
}

/// Decodes a frame into new memory. Either the walk has checked that its blocks can hold `content` bytes, or
/// the table gives that size.
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

/// Streams a frame, drops the first `skip` bytes and stops when `to` is full or the frame ends.
///
/// Gives the bytes decoded, dropped ones too, and the bytes written.
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

/// A size in memory as a number of the format.
fn wide(size: usize) -> u64 {
    u64::try_from(size).unwrap_or(u64::MAX)
}

/// Called with the number of stored bytes that were decoded so far; an error stops decoding.
pub(super) type OnStored<'a> = dyn FnMut(u64) -> Result<()> + 'a;

/// Receives decoded bytes, in order.
pub(super) type Sink<'a> = dyn FnMut(&[u8]) -> Result<()> + 'a;

/// Decodes everything in order and hands it to `sink` a little at a time. Returns how many bytes it was.
///
/// More than `limit` bytes are an error, before the sink sees them.
pub(super) fn decode_chunks<F: FrameFormat>(
    codec: Codec,
    stored: &[u8],
    limit: u64,
    sink: &mut Sink<'_>,
) -> Result<u64> {
    chunks::<F>(codec, stored, limit, Some(sink), &mut |_| Ok(()))
}

/// Decodes everything in order and hands it to `sink` a little at a time. Fails if it is not exactly `size`
/// bytes.
pub(super) fn decode_exactly<F: FrameFormat>(
    codec: Codec,
    stored: &[u8],
    size: u64,
    sink: &mut Sink<'_>,
) -> Result<()> {
    let decoded = decode_chunks::<F>(codec, stored, size, sink).map_err(|error| match error.cause() {
        // The decoder was stopped at the declared size: that there is more is the file's fault, not a limit.
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

/// Decoded bytes of pieces that end anywhere, in chunks of one size; the last one may be shorter.
pub(crate) struct Chunks {
    chunk: Vec<u8>,
    size: usize,
}

impl Chunks {
    pub(crate) fn new(size: usize) -> Result<Chunks> {
        let mut chunk = Vec::new();
        chunk.try_reserve_exact(size)?;
        Ok(Chunks { chunk, size })
    }

    /// Adds a piece, and gives `body` each chunk that it fills.
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

    /// Gives `body` what is left.
    pub(crate) fn end(self, body: &mut Sink<'_>) -> Result<()> {
        match self.chunk.is_empty() {
            true => Ok(()),
            false => body(&self.chunk),
        }
    }
}

/// How many bytes the frames decode to. Only frames whose headers do not declare it are decoded; `step` is
/// called meanwhile with the number of stored bytes that were decoded.
///
/// More than `limit` bytes are an error, and no more than that are decoded.
pub(super) fn decode_counted<F: FrameFormat>(
    codec: Codec,
    stored: &[u8],
    limit: u64,
    step: &mut OnStored<'_>,
) -> Result<u64> {
    chunks::<F>(codec, stored, limit, None, step)
}

/// Decodes frame by frame; without a sink frames of known size are only counted.
fn chunks<F: FrameFormat>(
    codec: Codec,
    stored: &[u8],
    limit: u64,
    mut sink: Option<&mut Sink<'_>>,
    step: &mut OnStored<'_>,
) -> Result<u64> {
    let over = || fail!(Limit, "the {} frames hold more than the limit of {limit} bytes", codec.name());
    let mut scratch = Vec::new();
    let (mut decoder, mut frame_decoder) = (None, None); // for all frames: to make one takes longer than a small frame
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
            total = total.checked_add(wide(got)).filter(|&total| total <= limit).ok_or_else(over)?;
            if let (Some(sink), true) = (&mut sink, got > 0) {
                sink(scratch.get(..got).unwrap_or_default())?;
            }
            step(wide(header.stored.end.saturating_sub(frame.len())))?;
            if got < scratch.len() {
                break;
            }
        }
        decoder.check_end().map_err(within)?;
    }
    Ok(total)
}
