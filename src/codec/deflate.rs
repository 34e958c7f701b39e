//! Deflate (RFC 1951): a stream that gives no size, treated as a single frame.

use super::frame_format::{Decoded, FrameDecoder, FrameFormat, StreamDecoder};
use super::frames::{Header, Stored};
use crate::error::{broken, Error, Result, Rule};
use crate::memory::{filled, try_box_of_zeros};
use miniz_oxide::inflate::core::inflate_flags::{
    TINFL_FLAG_HAS_MORE_INPUT, TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF,
};
use miniz_oxide::inflate::core::{decompress, DecompressorOxide};
use miniz_oxide::inflate::TINFLStatus;

/// The highest ratio of decoded to stored bytes: two bits can decode to 258 bytes.
const MAX_RATIO: u64 = 1032;

/// A power of two that is not less than the longest distance in a stream.
const WINDOW: usize = 64 << 10;

pub(super) enum Deflate {}

impl FrameFormat for Deflate {
    type FrameDecoder = Inflater;
    type StreamDecoder = PiecewiseInflater;

    const MAX_WINDOW: u64 = WINDOW as u64;

    fn header(stored: &mut dyn Stored, at: usize) -> Result<Header> {
        let size = stored.size();
        if size <= at {
            return Err(corrupt("it has no stored bytes; even an empty deflate stream needs some", at));
        }
        let max_size = (size.saturating_sub(at) as u64).saturating_mul(MAX_RATIO);
        Ok(Header { stored: at..size, content: None, max_size, window: WINDOW as u64, ..Header::default() })
    }
}

#[cold]
fn corrupt(what: &str, at: usize) -> Error {
    broken!(Rule::DeflateCorrupt, "the deflate stream at byte {at} of the stored bytes: {what}")
}

/// The error for a stream that did not end correctly.
#[cold]
fn ended(status: TINFLStatus, at: usize) -> Error {
    match status {
        TINFLStatus::NeedsMoreInput | TINFLStatus::FailedCannotMakeProgress => {
            corrupt("the stored bytes end within it", at)
        }
        TINFLStatus::Done => corrupt("bytes follow its end", at),
        _ => corrupt("it cannot be decoded", at),
    }
}

/// Decodes a whole stream at once.
pub(super) struct Inflater(Box<DecompressorOxide>);

impl FrameDecoder for Inflater {
    fn new() -> Result<Self> {
        try_box_of_zeros().map(Inflater)
    }

    fn decode(&mut self, frame: &[u8], _: &Header, out: &mut [u8]) -> Result<Decoded> {
        self.0.init();
        let (status, read, written) =
            decompress(&mut self.0, frame, out, 0, TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF);
        match status {
            TINFLStatus::Done if read == frame.len() => Ok(Decoded::Size(written)),
            TINFLStatus::HasMoreOutput => Ok(Decoded::TooLarge),
            other => Err(ended(other, read)),
        }
    }
}

/// Decodes a stream piece by piece.
pub(super) struct PiecewiseInflater {
    state: Box<DecompressorOxide>,
    /// A ring with the bytes that were decoded last.
    window: Vec<u8>,
    /// Where the next byte goes in the window, and the first byte that was not returned yet.
    end: usize,
    start: usize,
    read: usize,
    is_done: bool,
}

impl StreamDecoder for PiecewiseInflater {
    fn new() -> Result<Self> {
        let window = filled(0, WINDOW)?;
        let state = try_box_of_zeros()?;
        Ok(PiecewiseInflater { state, window, end: 0, start: 0, read: 0, is_done: false })
    }

    fn decode(&mut self, input: &mut &[u8], mut out: &mut [u8]) -> Result<usize> {
        let size = out.len();
        loop {
            let waiting = self.window.get(self.start..self.end).unwrap_or_default();
            let count = waiting.len().min(out.len());
            let (now, later) = std::mem::take(&mut out).split_at_mut(count);
            now.copy_from_slice(waiting.get(..count).unwrap_or_default());
            (out, self.start) = (later, self.start.saturating_add(count));
            if out.is_empty() {
                return Ok(size);
            }
            // All decoded bytes were returned.
            if self.is_done && !input.is_empty() {
                return Err(ended(TINFLStatus::Done, self.read));
            }
            if self.is_done || (input.is_empty() && self.read == 0) {
                return Ok(size.saturating_sub(out.len()));
            }
            if self.end == WINDOW {
                (self.start, self.end) = (0, 0);
            }
            let flags = TINFL_FLAG_HAS_MORE_INPUT;
            let (status, read, written) =
                decompress(&mut self.state, input, &mut self.window, self.end, flags);
            *input = input.get(read..).unwrap_or_default();
            self.read = self.read.saturating_add(read);
            self.end = self.end.saturating_add(written);
            match status {
                TINFLStatus::Done => self.is_done = true,
                TINFLStatus::NeedsMoreInput if written == 0 => return Ok(size.saturating_sub(out.len())),
                TINFLStatus::NeedsMoreInput => {}
                TINFLStatus::HasMoreOutput if read > 0 || written > 0 => {}
                other => return Err(ended(other, self.read)),
            }
        }
    }

    fn check_end(&self) -> Result<()> {
        match self.is_done {
            true => Ok(()),
            false => Err(ended(TINFLStatus::NeedsMoreInput, self.read)),
        }
    }
}

/// Decodes the front of a stream into `dst`. Returns how many bytes were written.
pub(crate) fn inflate_front(front: &[u8], dst: &mut [u8]) -> Result<usize> {
    let mut state = try_box_of_zeros::<DecompressorOxide>()?;
    let flags = TINFL_FLAG_HAS_MORE_INPUT | TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
    let (status, read, written) = decompress(&mut state, front, dst, 0, flags);
    match status {
        TINFLStatus::Done | TINFLStatus::NeedsMoreInput | TINFLStatus::HasMoreOutput => Ok(written),
        other => Err(ended(other, read)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{Codec, Coding};
    use crate::error::Cause;
    use crate::model::encoding::Encoding;

    fn codec() -> Codec {
        match Coding::of(Encoding::Deflate) {
            Some(Coding::Compressed(codec)) => codec,
            _ => panic!("deflate has a codec"),
        }
    }

    /// A stream of uncompressed blocks.
    fn stored_blocks(bytes: &[u8], block: usize) -> Vec<u8> {
        let mut out = Vec::new();
        let mut blocks = bytes.chunks(block).peekable();
        while let Some(block) = blocks.next() {
            let size = (block.len() as u16).to_le_bytes();
            out.push(u8::from(blocks.peek().is_none()));
            out.extend(size);
            out.extend(size.map(|b| !b));
            out.extend(block);
        }
        out
    }

    /// A stream of 200,001 zeros as zlib makes it: one zero, and copies of it.
    fn zeros() -> Vec<u8> {
        let front =
            [0xed, 0xc1, 0x31, 0x01, 0x00, 0x00, 0x00, 0xc2, 0xa0, 0xf5, 0x4f, 0x6d, 0x06, 0x7f, 0xa0];
        [&front[..], &[0; 193], &[0x80, 0xdb, 0x00]].concat()
    }

    fn bytes(count: usize) -> Vec<u8> {
        (0..count).map(|i| (i * 31 + i / 777) as u8).collect()
    }

    fn chunks(stored: &[u8], limit: u64) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        codec().decode_chunks(stored, limit, &mut |piece| {
            all.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(all)
    }

    #[test]
    fn all_a_range_and_chunks_give_the_same() {
        for (count, block) in [(1, 1), (1000, 7), (300_000, 65_535), (131_072, 40_000)] {
            let (plain, codec) = (bytes(count), codec());
            let stored = stored_blocks(&plain, block);
            let mut whole = vec![0; count];
            codec.decode_into(&stored, &mut whole).unwrap();
            assert!(whole == plain && chunks(&stored, count as u64).unwrap() == plain);
            for (offset, size) in [(0, count), (count / 3, count / 2), (count - 1, 1), (count, 0)] {
                let mut part = vec![0; size];
                let seek = codec.index(&stored).unwrap().seek(offset as u64, size as u64);
                codec.decode_range((&stored).into(), seek, count as u64, offset as u64, &mut part).unwrap();
                assert_eq!(part, plain[offset..offset + size]);
            }
            assert_eq!(codec.decode_counted(&stored, u64::MAX, &mut |_| Ok(())).unwrap(), count as u64);
        }
        assert_eq!(chunks(&zeros(), 200_001).unwrap(), vec![0; 200_001]);
        let mut whole = vec![1; 200_001];
        codec().decode_into(&zeros(), &mut whole).unwrap();
        assert_eq!(whole, vec![0; 200_001]);
    }

    #[test]
    fn sizes_that_differ_are_refused() {
        let stored = stored_blocks(&bytes(1000), 300);
        for size in [0, 999, 1001] {
            let error = codec().decode_into(&stored, &mut vec![0; size]).unwrap_err();
            assert_eq!(error.rule(), Some(Rule::DeflateLength), "{size}: {error}");
        }
        assert_eq!(chunks(&stored, 999).unwrap_err().cause(), Cause::Limit);
        assert!(chunks(&stored, 1000).is_ok());
    }

    #[test]
    fn what_is_no_whole_stream_is_refused() {
        let stored = stored_blocks(&bytes(1000), 300);
        for size in 0..stored.len() {
            let cut = &stored[..size];
            assert!(
                codec().decode_into(cut, &mut [0; 1000]).is_err() && chunks(cut, 1000).is_err(),
                "{size}"
            );
        }
        let longer = [&stored[..], b"x"].concat();
        for error in
            [codec().decode_into(&longer, &mut [0; 1000]).unwrap_err(), chunks(&longer, 1000).unwrap_err()]
        {
            assert_eq!(error.rule(), Some(Rule::DeflateCorrupt), "{error}");
        }
        let mut broken = stored;
        broken[3] ^= 1;
        assert_eq!(chunks(&broken, 1000).unwrap_err().rule(), Some(Rule::DeflateCorrupt));
    }

    #[test]
    fn the_front_of_a_stream_gives_the_front_of_its_bytes() {
        let plain = bytes(1000);
        let stored = stored_blocks(&plain, 300);
        let mut front = [0; 100];
        for size in 0..stored.len() {
            let made = inflate_front(&stored[..size], &mut front).unwrap();
            assert!(front[..made] == plain[..made] && made <= size && (size < 200 || made == 100), "{size}");
        }
        assert!(inflate_front(&[7], &mut front).is_err());
        assert_eq!(inflate_front(&zeros(), &mut front).unwrap(), 100);
        assert!(front.iter().all(|b| *b == 0));
    }
}
