//! The offsets of tensors in a GGUF file, and the padding between them.

use super::output::Sink;
use super::tensor::Tensor;
use crate::failure::Outcome;
use ztensor::container::GgufValueType;
use ztensor::model::value::{Array, Value, ValueKind};

/// Encodes numbers for a file.
pub struct Encoder {
    pub bytes: Vec<u8>,
    pub big_endian: bool,
    /// Whether lengths, counts and dimensions have 32 bits, as in version 1.
    pub narrow: bool,
}

impl Encoder {
    /// Adds the bytes of a number, given least significant byte first, in the file's order.
    pub fn number(&mut self, little_endian: &[u8]) {
        match self.big_endian {
            true => self.bytes.extend(little_endian.iter().rev()),
            false => self.bytes.extend_from_slice(little_endian),
        }
    }

    pub fn u32(&mut self, number: u32) {
        self.number(&number.to_le_bytes());
    }

    pub fn u64(&mut self, number: u64) {
        self.number(&number.to_le_bytes());
    }

    /// Adds a length, a count or a dimension.
    pub fn size(&mut self, number: u64) {
        match self.narrow {
            true => self.number(&number.to_le_bytes()[..4]),
            false => self.u64(number),
        }
    }

    /// Adds the kind of a value.
    pub fn kind(&mut self, kind: GgufValueType) {
        self.u32(kind.number().unwrap_or_default());
    }

    pub fn string(&mut self, bytes: &[u8]) {
        self.size(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }
}

/// The most bytes of padding that `ztensor.origin` may ask for besides alignment, after the last tensor or
/// between all of them. Between all of them, as much as the tensors have is allowed, too.
const MAX_PADDING: u64 = 1 << 24;

/// The start of each tensor, from the start of all data.
pub struct Layout {
    pub offsets: Vec<u64>,
    alignment: u64,
}

impl Layout {
    /// The layout of the original GGUF file, from `ztensor.origin`, if the tensors fit in it. Otherwise one
    /// tensor after the other.
    pub fn of(tensors: &[Tensor<'_>], alignment: u64, origin: Option<Value<'_>>) -> Layout {
        let noted =
            origin.and_then(|origin| array(origin.get("offsets")?)?.iter().map(Value::as_u64).collect());
        let fits = |offsets: &Vec<u64>| {
            let mut ranges: Vec<_> =
                offsets.iter().zip(tensors).map(|(at, tensor)| (*at, tensor.size)).collect();
            ranges.sort_unstable();
            let most = tensors.iter().map(|tensor| tensor.size).sum::<u64>().max(MAX_PADDING);
            let (mut end, mut between) = (0u64, 0u64);
            offsets.len() == tensors.len()
                && ranges.iter().all(|(at, size)| {
                    between = between.saturating_add(at.saturating_sub(end.next_multiple_of(alignment)));
                    let fits = *at >= end
                        && between <= most
                        && at % alignment == 0
                        && at.checked_add(*size).is_some_and(|e| e < 1 << 60);
                    end = at.saturating_add(*size);
                    fits
                })
        };
        let offsets = noted.filter(fits).unwrap_or_else(|| {
            let next = |end: &mut u64, t: &Tensor<'_>| {
                let start = *end;
                *end = (start + t.size).next_multiple_of(alignment);
                Some(start)
            };
            tensors.iter().scan(0, next).collect()
        });
        Layout { offsets, alignment }
    }

    /// The numbers of the tensors, in the order of their offsets in the file.
    pub fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.offsets.len()).collect();
        order.sort_by_key(|at| self.offsets[*at]);
        order
    }

    /// The padding between the tensors, for a file whose header has `header` bytes.
    pub fn padding(&self, header: u64, tensors: &[Tensor<'_>], origin: Option<Value<'_>>) -> Padding {
        let data_start = header.next_multiple_of(self.alignment);
        let ends = self.offsets.iter().zip(tensors).map(|(at, tensor)| data_start + at + tensor.size);
        let end = ends.max();
        let usual = end.map_or(data_start, |end| end.next_multiple_of(self.alignment));
        let mut padding = Padding { data_start, file_size: usual, pieces: Vec::new(), passed: 0 };
        // Offsets in `ztensor.origin` count from the start of the file, so they only fit if the data begins
        // at the same offset.
        let noted = |origin: &Value<'_>| origin.get("data_start").and_then(Value::as_u64) == Some(data_start);
        let Some(origin) = origin.filter(noted) else { return padding };
        let size = origin.get("size").and_then(Value::as_u64);
        let may_be = end.unwrap_or(header)..=usual.saturating_add(MAX_PADDING);
        padding.file_size = size.filter(|size| may_be.contains(size)).unwrap_or(usual);
        for piece in origin.get("padding").and_then(array).into_iter().flat_map(|pieces| pieces.iter()) {
            let pair = array(piece).and_then(|pair| Some((pair.get(0)?.as_u64()?, pair.get(1)?)));
            if let Some((at, ValueKind::Bytes(bytes))) = pair.map(|(at, bytes)| (at, bytes.kind())) {
                padding.pieces.push((at, bytes.to_vec()));
            }
        }
        padding.pieces.sort_by_key(|(at, _)| *at);
        padding
    }
}

/// The bytes of a file that belong to no key and no tensor.
pub struct Padding {
    pub data_start: u64,
    pub file_size: u64,
    /// Bytes that are not all zero, with their offsets, sorted by offset.
    pieces: Vec<(u64, Vec<u8>)>,
    /// How many pieces were written, or are replaced by tensors.
    passed: usize,
}

impl Padding {
    /// Writes the padding up to the offset `until`.
    pub fn fill(&mut self, sink: &mut Sink<'_>, until: u64) -> Outcome<()> {
        while let Some((at, bytes)) = self.pieces.get(self.passed).filter(|(at, _)| *at < until) {
            let end = at.saturating_add(bytes.len() as u64);
            if *at >= sink.position && end <= until {
                sink.zeros(at - sink.position)?;
                sink.write(bytes)?;
            }
            self.passed += 1;
        }
        sink.zeros(until.saturating_sub(sink.position))
    }
}

pub fn array(value: Value<'_>) -> Option<Array<'_>> {
    match value.kind() {
        ValueKind::Array(items) => Some(items),
        _ => None,
    }
}
