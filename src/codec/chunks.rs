//! All decoded bytes, a little at a time.

use super::frames::with_data;
use super::interface::{in_frame, FrameDecoder, FrameFormat, StreamDecoder};
use super::range::{whole_frame, wide, SCRATCH};
use super::walk::Walk;
use crate::error::{broken, fail, Cause, Result};
use crate::memory::zeroed;
use crate::model::encoding::Codec;

/// Called with the number of stored bytes that were decoded so far; an error stops decoding.
pub(super) type Step<'a> = dyn FnMut(u64) -> Result<()> + 'a;

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
    step: &mut Step<'_>,
) -> Result<u64> {
    chunks::<F>(codec, stored, limit, None, step)
}

/// Decodes frame by frame; without a sink frames of known size are only counted.
fn chunks<F: FrameFormat>(
    codec: Codec,
    stored: &[u8],
    limit: u64,
    mut sink: Option<&mut Sink<'_>>,
    step: &mut Step<'_>,
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
