//! Codes of 1 to 8 bits, taken out of the bytes that tools pack them in. All numbers in there are
//! little-endian.

#![allow(clippy::cast_possible_truncation, reason = "codes have at most 8 bits")]

use super::loops::{index, length};
use std::ops::Range;

/// Where the codes of a matrix are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packed {
    pub form: Form,
    /// Bits of a code, 1 to 8.
    pub bits: u32,
    pub order: Order,
    /// The form holds the matrix with rows and columns swapped.
    pub is_transposed: bool,
    pub rows: u64,
    pub columns: u64,
}

/// What the bytes of a matrix are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Each row is a stream of bits of its own, in so many bytes.
    Rows { bytes: u64 },
    /// A matrix of words of 32 bits, as wide as there are rows. Each of its columns is the stream of a row.
    Words,
    /// So many rows at a time stand one above the other in the same units, the first in the highest bits.
    Parts { rows: u64, unit: u64 },
}

/// How the codes of a stream follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// From the lowest bit on, also across the borders of bytes and words.
    Low,
    /// Two in a byte, the first in the high half.
    HighHalf,
    /// Eight in a word: the numbers 0, 2, 4, 6, 1, 3, 5, 7 from the lowest bit on.
    Awq,
    /// From the lowest bit of each word of 32 bits on; bits that are too few for a code are left over.
    InWords,
}

/// A word has 32 bits, so that 32 codes of any width fill whole words.
const BLOCK: usize = 32;

impl Packed {
    /// Codes that are bytes, row after row.
    pub fn bytes(rows: u64, columns: u64) -> Packed {
        Packed::in_rows(rows, columns, 8, Order::Low)
    }

    /// Rows of as many bytes as their codes take.
    pub fn in_rows(rows: u64, columns: u64, bits: u32, order: Order) -> Packed {
        let bytes = bytes_of_row(columns, bits);
        Packed { form: Form::Rows { bytes }, bits, order, is_transposed: false, rows, columns }
    }

    /// Bytes of the whole matrix, if they fit in 64 bits.
    pub fn size(&self) -> Option<u64> {
        let (streams, codes) = self.streams();
        match self.form {
            Form::Rows { bytes } => streams.checked_mul(bytes),
            Form::Words => {
                let words = match self.order {
                    Order::InWords => codes.div_ceil(self.codes_in_word()),
                    _ => codes.checked_mul(u64::from(self.bits))?.div_ceil(32),
                };
                words.checked_mul(streams)?.checked_mul(4)
            }
            Form::Parts { rows, unit } => rows.checked_mul(self.columns)?.checked_mul(unit),
        }
    }

    /// Whether a range of rows needs a part of the bytes alone.
    pub fn is_by_rows(&self) -> bool {
        matches!(self.form, Form::Rows { .. }) && !self.is_transposed
    }

    /// The bytes that these codes need, from the first byte on.
    pub fn range(&self, rows: &Range<u64>, columns: &Range<u64>) -> Range<u64> {
        let Form::Rows { bytes } = self.form else { return 0..self.size().unwrap_or(u64::MAX) };
        if self.is_transposed {
            return 0..self.size().unwrap_or(u64::MAX);
        }
        let last = rows.end.saturating_sub(1).saturating_mul(bytes);
        let start = rows.start.saturating_mul(bytes).saturating_add(self.offset(columns.start));
        let end = match self.order {
            Order::InWords => columns.end.div_ceil(self.codes_in_word()).saturating_mul(4),
            _ => bytes_of_row(columns.end.checked_next_multiple_of(8).unwrap_or(u64::MAX), self.bits),
        };
        start..last.saturating_add(end.min(bytes)).max(start)
    }

    /// Fills `out`, row after row, with these codes. `bytes` begin where [`Packed::range`] does; `scratch` is
    /// as large as `out`.
    pub fn read(
        &self,
        bytes: &[u8],
        rows: &Range<u64>,
        columns: &Range<u64>,
        out: &mut [u8],
        scratch: &mut [u8],
    ) {
        if !self.is_transposed {
            return self.streams_to(bytes, rows, columns, out);
        }
        self.streams_to(bytes, columns, rows, scratch);
        let (height, width) = (length(rows), length(columns));
        for (at, row) in out.chunks_exact_mut(width.max(1)).enumerate() {
            for (code, column) in
                row.iter_mut().zip(scratch.get(at..).unwrap_or_default().chunks(height.max(1)))
            {
                *code = column.first().copied().unwrap_or(0);
            }
        }
    }

    fn streams_to(&self, bytes: &[u8], streams: &Range<u64>, codes: &Range<u64>, out: &mut [u8]) {
        match self.bits {
            1 => self.read_each::<1>(bytes, streams, codes, out),
            2 => self.read_each::<2>(bytes, streams, codes, out),
            3 => self.read_each::<3>(bytes, streams, codes, out),
            4 => self.read_each::<4>(bytes, streams, codes, out),
            5 => self.read_each::<5>(bytes, streams, codes, out),
            6 => self.read_each::<6>(bytes, streams, codes, out),
            7 => self.read_each::<7>(bytes, streams, codes, out),
            _ => self.read_each::<8>(bytes, streams, codes, out),
        }
    }

    #[inline(always)]
    fn read_each<const BITS: usize>(
        &self,
        bytes: &[u8],
        streams: &Range<u64>,
        codes: &Range<u64>,
        out: &mut [u8],
    ) {
        match self.form {
            Form::Rows { bytes: row } => {
                // The bytes of a transposed matrix are all of them.
                let place = streams.start.saturating_mul(row).saturating_add(self.offset(codes.start));
                let first = if self.is_transposed { place } else { 0 };
                let rows = bytes.get(index(first)..).unwrap_or_default().chunks(index(row).max(1));
                for (bytes, out) in rows.zip(out.chunks_exact_mut(length(codes).max(1))) {
                    self.stream::<BITS>(bytes, codes.start, out);
                }
            }
            Form::Words => self.columns_of_words::<BITS>(bytes, streams, codes, out),
            Form::Parts { rows, unit } => {
                for (row, out) in streams.clone().zip(out.chunks_exact_mut(length(codes).max(1))) {
                    let (part, within) =
                        (row.checked_div(rows).unwrap_or(0), row.checked_rem(rows).unwrap_or(0));
                    let first = within.saturating_mul(self.columns).saturating_add(codes.start);
                    let units = bytes.get(index(first.saturating_mul(unit))..).unwrap_or_default();
                    // Words have 30 bits of codes.
                    let bits = if unit == 1 { 8 } else { 30 };
                    let shift = part.saturating_add(1).saturating_mul(BITS as u64);
                    let shift = u32::try_from(u64::saturating_sub(bits, shift)).unwrap_or(0);
                    for (code, unit) in out.iter_mut().zip(units.chunks_exact(index(unit).max(1))) {
                        *code = (word_of(unit).wrapping_shr(shift) & mask::<BITS>()) as u8;
                    }
                }
            }
        }
    }

    /// The codes of a stream from number `first` on. `bytes` begin with the byte or word that has it.
    #[inline(always)]
    fn stream<const BITS: usize>(&self, bytes: &[u8], first: u64, out: &mut [u8]) {
        const AWQ: [usize; 8] = [0, 2, 4, 6, 1, 3, 5, 7];
        match self.order {
            Order::Low if BITS == 4 => halves(bytes, first, out, 0),
            Order::Low => eights::<BITS>(bytes, first, out, |at| at),
            Order::HighHalf => halves(bytes, first, out, 4),
            Order::Awq => eights::<BITS>(bytes, first, out, |at| AWQ.get(at).copied().unwrap_or(0)),
            Order::InWords => {
                let per = self.codes_in_word();
                let skipped = first.checked_rem(per).unwrap_or(0);
                let words = bytes.chunks(4).flat_map(|word| {
                    let word = word_of(word);
                    (0..per).map(move |at| code_at::<BITS>(word, at))
                });
                out.iter_mut().zip(words.skip(index(skipped))).for_each(|(code, found)| *code = found);
            }
        }
    }

    #[inline(always)]
    fn columns_of_words<const BITS: usize>(
        &self,
        bytes: &[u8],
        columns: &Range<u64>,
        codes: &Range<u64>,
        out: &mut [u8],
    ) {
        let width = length(codes).max(1);
        let (all, _) = self.streams();
        let word_at = |word: u64, column: u64| {
            let at = word.saturating_mul(all).saturating_add(column).saturating_mul(4);
            bytes.get(index(at)..).and_then(|bytes| bytes.first_chunk()).copied().unwrap_or([0; 4])
        };
        if self.order == Order::InWords {
            let per = self.codes_in_word();
            for (column, out) in columns.clone().zip(out.chunks_exact_mut(width)) {
                for (at, code) in codes.clone().zip(out) {
                    let word = u32::from_le_bytes(word_at(at.checked_div(per).unwrap_or(0), column));
                    *code = code_at::<BITS>(u64::from(word), at.checked_rem(per).unwrap_or(0));
                }
            }
            return;
        }
        let block = BLOCK as u64;
        let first_block = codes.start.checked_div(block).unwrap_or(0);
        for number in first_block..codes.end.div_ceil(block) {
            let start = number.saturating_mul(block);
            // Where the codes of this block go, and how many of its first ones are not wanted.
            let place = index(start.saturating_sub(codes.start));
            let skipped = index(codes.start.saturating_sub(start));
            for (column, out) in columns.clone().zip(out.chunks_exact_mut(width)) {
                let mut words = [0u8; BLOCK];
                for (at, word) in (0..BITS as u64).zip(words.chunks_exact_mut(4)) {
                    let word_number = number.saturating_mul(BITS as u64).saturating_add(at);
                    word.copy_from_slice(&word_at(word_number, column));
                }
                let out = out.get_mut(place..).unwrap_or_default();
                let wanted = out.len().min(BLOCK.saturating_sub(skipped));
                let out = out.get_mut(..wanted).unwrap_or_default();
                // Eight codes are in as many bytes as a code has bits.
                let before = (skipped / 8).saturating_mul(BITS);
                eights::<BITS>(words.get(before..).unwrap_or_default(), skipped as u64, out, |at| at);
            }
        }
    }

    /// How many streams there are, and the codes of each.
    fn streams(&self) -> (u64, u64) {
        if self.is_transposed {
            return (self.columns, self.rows);
        }
        (self.rows, self.columns)
    }

    fn codes_in_word(&self) -> u64 {
        u64::from(32u32.checked_div(self.bits).unwrap_or(1).max(1))
    }

    /// The byte of a stream from which the code number `first` can be read.
    fn offset(&self, first: u64) -> u64 {
        match self.order {
            Order::InWords => first.checked_div(self.codes_in_word()).unwrap_or(0).saturating_mul(4),
            _ => (first / 8).saturating_mul(u64::from(self.bits)),
        }
    }
}

/// Bytes of a stream of so many codes.
pub(crate) fn bytes_of_row(codes: u64, bits: u32) -> u64 {
    codes.checked_mul(u64::from(bits)).map_or(u64::MAX, |bits| bits.div_ceil(8))
}

/// Two codes in each byte, the first of them behind so many bits. `bytes` begin with the one that has the
/// code number `first`, rounded down to a multiple of eight.
#[inline(always)]
fn halves(bytes: &[u8], first: u64, out: &mut [u8], shift: u32) {
    let skipped = index(first % 8);
    let (mut bytes, mut out) = (bytes.get(skipped / 2..).unwrap_or_default(), out);
    if skipped % 2 == 1 {
        let (code, behind) = out.split_at_mut(out.len().min(1));
        let (byte, rest) = bytes.split_at(bytes.len().min(1));
        let second = |byte: &u8| byte.wrapping_shr(4u32.saturating_sub(shift)) & 15;
        code.iter_mut().zip(byte).for_each(|(code, byte)| *code = second(byte));
        (bytes, out) = (rest, behind);
    }
    let (pairs, last) = out.split_at_mut(out.len() & !1);
    for (byte, pair) in bytes.iter().zip(pairs.chunks_exact_mut(2)) {
        if let [one, other] = pair {
            (*one, *other) =
                (byte.wrapping_shr(shift) & 15, byte.wrapping_shr(4u32.saturating_sub(shift)) & 15);
        }
    }
    if let ([code], Some(byte)) = (last, bytes.get(pairs.len() / 2)) {
        *code = byte.wrapping_shr(shift) & 15;
    }
}

/// Eight codes take as many bytes as a code has bits. `place` says which of eight a code is by its position.
#[inline(always)]
fn eights<const BITS: usize>(
    bytes: &[u8],
    first: u64,
    out: &mut [u8],
    place: impl Fn(usize) -> usize + Copy,
) {
    let eight = |unit: &[u8; BITS]| {
        let mut word = [0u8; 8];
        for (byte, from) in word.iter_mut().zip(unit) {
            *byte = *from;
        }
        let word = u64::from_le_bytes(word);
        let mut codes = [0u8; 8];
        for at in 0..8usize {
            if let Some(code) = codes.get_mut(place(at)) {
                *code = code_at::<BITS>(word, at as u64);
            }
        }
        codes
    };
    let padded = |unit: &[u8]| {
        let mut whole = [0u8; BITS];
        for (byte, from) in whole.iter_mut().zip(unit) {
            *byte = *from;
        }
        eight(&whole)
    };
    let skipped = index(first % 8);
    let (mut bytes, mut out) = (bytes, out);
    if skipped > 0 {
        let codes = padded(bytes.get(..BITS.min(bytes.len())).unwrap_or_default());
        let (front, behind) = out.split_at_mut(out.len().min(8usize.saturating_sub(skipped)));
        front.iter_mut().zip(codes.iter().skip(skipped)).for_each(|(code, found)| *code = *found);
        (bytes, out) = (bytes.get(BITS..).unwrap_or_default(), behind);
    }
    let whole = out.len() / 8;
    let (front, last) = out.split_at_mut(whole.saturating_mul(8));
    for (unit, out) in bytes.chunks(BITS).zip(front.chunks_exact_mut(8)) {
        match unit.try_into() {
            Ok(unit) => out.copy_from_slice(&eight(unit)),
            Err(_) => out.copy_from_slice(&padded(unit)),
        }
    }
    let unit = bytes.get(whole.saturating_mul(BITS)..).unwrap_or_default();
    let codes = padded(unit.get(..BITS.min(unit.len())).unwrap_or_default());
    last.iter_mut().zip(codes).for_each(|(code, found)| *code = found);
}

#[inline(always)]
fn code_at<const BITS: usize>(word: u64, at: u64) -> u8 {
    let shift = u32::try_from(at.wrapping_mul(BITS as u64)).unwrap_or(0);
    (word.wrapping_shr(shift) & mask::<BITS>()) as u8
}

const fn mask<const BITS: usize>() -> u64 {
    (1u64 << BITS).wrapping_sub(1)
}

/// A word of 1 to 4 bytes.
#[inline(always)]
fn word_of(bytes: &[u8]) -> u64 {
    let mut word = [0u8; 8];
    word.iter_mut().zip(bytes).take(4).for_each(|(byte, from)| *byte = *from);
    u64::from_le_bytes(word)
}
