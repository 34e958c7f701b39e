//! Arrays in archives whose elements are not just all decoded bytes in order: they are compressed together
//! with a header, or stored with strides. Decoding decompresses all stored bytes, skips the header, and
//! gathers the elements in row-major order.

use super::decode::Chunks;
use super::strides::Gather;
use crate::digest::Crc32;
use crate::error::{fail, Error, Result};
use crate::memory::{in_memory, take_front, whole_units};
use crate::model::component::Layout;
use crate::model::dtype::Dtype;
use crate::model::encoding::{Codec, Coding};
use std::ops::Range;

/// How stored bytes are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decoding {
    /// Stored and decoded bytes are the same.
    Raw,
    /// The stored bytes are frames of a codec.
    Frames(Codec),
    /// The stored bytes are an [`Array`].
    Array,
    /// The decoded bytes are the numbers of an object, which are made from several components, as elements of
    /// this dtype.
    Numbers {
        to: Dtype,
        /// Whether a range can be decoded without the numbers before it.
        in_ranges: bool,
    },
}

impl From<Coding> for Decoding {
    fn from(coding: Coding) -> Decoding {
        match coding {
            Coding::Raw => Decoding::Raw,
            Coding::Compressed(codec) => Decoding::Frames(codec),
        }
    }
}

/// An array, and how to decode it.
#[derive(Clone, Copy)]
pub(crate) struct Array<'f> {
    pub(crate) layout: &'f Layout,
    pub(crate) order: Order<'f>,
    /// The size of an element in bytes. An element of a complex dtype has both parts.
    pub(crate) element_size: u64,
    /// The size of all elements in bytes.
    pub(crate) size: u64,
}

/// The order of an array's elements.
#[derive(Clone, Copy)]
pub(crate) enum Order<'f> {
    /// Row-major, compressed together with the bytes before the elements.
    RowMajor(Codec),
    /// With strides, compressed or not.
    Strided { shape: &'f [u64], strides: &'f [u64], codec: Option<Codec> },
}

impl Array<'_> {
    /// The size of the units that are decoded: an element, if elements are gathered.
    pub(crate) fn unit(&self) -> u64 {
        match self.order {
            Order::RowMajor(_) => 1,
            Order::Strided { .. } => self.element_size.max(1),
        }
    }

    /// Checks the limits for decoding `wanted` bytes, before memory is allocated. A compressed array is
    /// decoded as a whole, and with strides, few bytes can be many elements.
    pub(crate) fn check_size(&self, wanted: u64, stored_size: u64, limit: u64) -> Result<()> {
        let most = match self.order {
            Order::Strided { codec: None, .. } => wanted,
            _ => self.layout.decoded_size.max(wanted),
        };
        match most > stored_size && most > limit {
            true => Err(fail!(Limit, "it decodes to {most} bytes, above the limit of {limit}")),
            false => Ok(()),
        }
    }

    /// The stored bytes that a range of decoded bytes needs. `stored_size` is the size of all stored bytes.
    pub(crate) fn needed(&self, wanted: &Range<u64>, stored_size: u64) -> Result<Range<u64>> {
        match self.order {
            Order::Strided { shape, strides, codec: None } => Ok(self.gather(shape, strides)?.needed(wanted)),
            _ => Ok(0..stored_size),
        }
    }

    /// The memory that decoding a range takes besides the range itself.
    pub(crate) fn memory(&self) -> u64 {
        match self.order {
            Order::Strided { codec: Some(_), .. } => self.layout.decoded_size,
            _ => 0,
        }
    }

    /// Fills `dst` with decoded bytes from `offset` on, in whole units. `stored` are the bytes that
    /// [`Array::needed`] gives; `from` is the offset of the first one among all stored bytes.
    pub(crate) fn decode_range(&self, stored: &[u8], from: u64, offset: u64, dst: &mut [u8]) -> Result<()> {
        match self.order {
            Order::Strided { shape, strides, codec } => {
                let gather = self.gather(shape, strides)?;
                let Some(codec) = codec else { return gather.fill(stored, from, offset, dst) };
                let decompressed = self.decompressed(codec, stored)?;
                gather.fill(self.elements(&decompressed), 0, offset, dst)
            }
            Order::RowMajor(codec) if dst.len() as u64 == self.size => {
                let mut rest = dst;
                self.row_major(codec, stored, &mut |piece| {
                    take_front(&mut rest, piece.len() as u64)?.copy_from_slice(piece);
                    Ok(())
                })
            }
            Order::RowMajor(codec) => {
                let offset = self.layout.start.saturating_add(offset);
                let seek = codec.index(stored)?.seek(offset, dst.len() as u64);
                codec.decode_range(seek.part_of(stored), seek, self.layout.decoded_size, offset, dst)
            }
        }
    }

    /// Calls `body` with all decoded bytes front to back, about `step` at a time, in whole elements. `stored`
    /// are all stored bytes.
    pub(crate) fn for_each_chunk(
        &self,
        stored: &[u8],
        step: usize,
        body: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let (size, unit) = (in_memory(self.size)?, in_memory(self.element_size.max(1))?);
        let step = whole_units(step, unit).min(size);
        match self.order {
            Order::Strided { shape, strides, codec } => {
                let gather = self.gather(shape, strides)?;
                let Some(codec) = codec else { return gather.for_each_chunk(stored, size, step, body) };
                let decompressed = self.decompressed(codec, stored)?;
                gather.for_each_chunk(self.elements(&decompressed), size, step, body)
            }
            Order::RowMajor(codec) => {
                let mut chunks = Chunks::new(step)?;
                self.row_major(codec, stored, &mut |piece| chunks.add(piece, body))?;
                chunks.end(body)
            }
        }
    }

    fn gather(&self, shape: &[u64], strides: &[u64]) -> Result<Gather> {
        Gather::new(shape, strides, usize::try_from(self.element_size).unwrap_or(usize::MAX))
    }

    /// The part of the decompressed bytes that has the elements.
    fn elements<'b>(&self, decompressed: &'b [u8]) -> &'b [u8] {
        let start = usize::try_from(self.layout.start).ok();
        start.and_then(|start| decompressed.get(start..)).unwrap_or_default()
    }

    /// Decompresses all stored bytes, and calls `sink` with the elements, a few at a time.
    fn row_major(
        &self,
        codec: Codec,
        stored: &[u8],
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let cut = |left: u64, piece: &[u8]| usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
        let (mut skipped, mut left) = (self.layout.start, self.size);
        self.decompress(codec, stored, &mut |piece| {
            let piece = piece.split_at(cut(skipped, piece));
            skipped = skipped.saturating_sub(piece.0.len() as u64);
            let piece = piece.1.get(..cut(left, piece.1)).unwrap_or_default();
            left = left.saturating_sub(piece.len() as u64);
            sink(piece)
        })
    }

    /// Decompresses all stored bytes, and calls `sink` with them, a few at a time. Checks their size and
    /// CRC-32.
    fn decompress(
        &self,
        codec: Codec,
        stored: &[u8],
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut sum = Crc32::new();
        codec.decode_exactly(stored, self.layout.decoded_size, &mut |piece| {
            sum.update(piece);
            sink(piece)
        })?;
        self.layout.checksum.map_or(Ok(()), |expected| sum.check(expected.crc32))
    }

    fn decompressed(&self, codec: Codec, stored: &[u8]) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        let size = in_memory(self.layout.decoded_size)?;
        all.try_reserve_exact(size).map_err(|_| Error::out_of_memory(size))?;
        self.decompress(codec, stored, &mut |piece| {
            // Within what was reserved, because no more bytes come than the size.
            all.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Cause;
    use crate::model::component::Checksum;
    use crate::model::encoding::Encoding;

    const SHAPE: [u64; 3] = [100, 10, 20];
    /// In each plane, columns are contiguous.
    const STRIDES: [u64; 3] = [200, 1, 10];

    /// Elements of two bytes, in stored order. The value of each is its row-major index.
    fn stored() -> Vec<u8> {
        let mut stored = vec![0; 40_000];
        for at in 0..20_000_u16 {
            let (plane, row, column) =
                (usize::from(at) / 200, usize::from(at) / 20 % 10, usize::from(at) % 20);
            let place = 2 * (plane * 200 + row + column * 10);
            stored[place..place + 2].copy_from_slice(&at.to_le_bytes());
        }
        stored
    }

    fn row_major() -> Vec<u8> {
        (0..20_000_u16).flat_map(u16::to_le_bytes).collect()
    }

    /// A stream of one stored block.
    fn deflated(bytes: &[u8]) -> Vec<u8> {
        let size = (bytes.len() as u16).to_le_bytes();
        [&[1], &size[..], &size.map(|b| !b), bytes].concat()
    }

    fn crc32(bytes: &[u8]) -> u32 {
        let shift = |sum: u32| sum >> 1 ^ (0xedb8_8320 * (sum & 1));
        !bytes.iter().fold(!0, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), |sum, _| shift(sum)))
    }

    fn deflate() -> Codec {
        match Coding::of(Encoding::Deflate) {
            Some(Coding::Compressed(codec)) => codec,
            _ => panic!("deflate has a codec"),
        }
    }

    fn all(array: &Array<'_>, stored: &[u8], step: usize) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        array.for_each_chunk(stored, step, &mut |chunk| {
            assert!(!chunk.is_empty() && chunk.len() <= step && chunk.len() % 2 == 0);
            all.extend_from_slice(chunk);
            Ok(())
        })?;
        Ok(all)
    }

    #[test]
    fn a_range_of_strides_takes_the_stored_bytes_that_it_spans() {
        let (stored, expected) = (stored(), row_major());
        let layout = Layout { decoded_size: 40_000, ..Layout::default() };
        let order = Order::Strided { shape: &SHAPE, strides: &STRIDES, codec: None };
        let array = Array { layout: &layout, order, element_size: 2, size: 40_000 };
        assert_eq!((array.unit(), array.memory()), (2, 0));
        for wanted in [0..40_000_usize, 0..2, 398..402, 4_000..4_400, 12_346..20_000, 40_000..40_000] {
            let range = wanted.start as u64..wanted.end as u64;
            let needed = array.needed(&range, 40_000).unwrap();
            let planes = wanted.len().div_ceil(400) + 1;
            assert!(needed.end - needed.start <= 400 * planes as u64, "{wanted:?} takes {needed:?}");
            let part = &stored[needed.start as usize..needed.end as usize];
            let mut found = vec![0; wanted.len()];
            array.decode_range(part, needed.start, range.start, &mut found).unwrap();
            assert_eq!(found, expected[wanted]);
        }
        assert_eq!(all(&array, &stored, 1000).unwrap(), expected);
        assert!(array.check_size(40_000, 40_000, 0).is_ok());
        assert_eq!(array.check_size(40_001, 40_000, 40_000).unwrap_err().cause(), Cause::Limit);
    }

    #[test]
    fn a_header_is_passed_over_and_the_checksum_covers_all() {
        let header = b"a header of 23 bytes...";
        for is_strided in [false, true] {
            let elements = if is_strided { stored() } else { row_major() };
            let plain = [&header[..], &elements].concat();
            let crc32 = crc32(&plain);
            let checksum = Some(Checksum { crc32, start: 0, size: 0 });
            let (decoded_size, start) = (plain.len() as u64, header.len() as u64);
            let layout = Layout { decoded_size, start, strides: None, checksum };
            let codec = deflate();
            let order = match is_strided {
                true => Order::Strided { shape: &SHAPE, strides: &STRIDES, codec: Some(codec) },
                false => Order::RowMajor(codec),
            };
            let (stored, expected) = (deflated(&plain), row_major());
            let array = Array { layout: &layout, order, element_size: 2, size: 40_000 };
            assert_eq!(array.memory(), if is_strided { decoded_size } else { 0 });
            assert_eq!(array.needed(&(8..10), 999).unwrap(), 0..999);
            assert_eq!(all(&array, &stored, 1001).unwrap(), expected);
            for wanted in [0..40_000_usize, 0..2, 398..402, 39_998..40_000] {
                let mut found = vec![0; wanted.len()];
                array.decode_range(&stored, 0, wanted.start as u64, &mut found).unwrap();
                assert_eq!(found, expected[wanted]);
            }
            assert_eq!(array.check_size(1, 1000, 40_000).unwrap_err().cause(), Cause::Limit);
            let checksum = Some(Checksum { crc32: crc32 ^ 1, start: 0, size: 0 });
            let (wrong_sum, wrong_size) =
                (Layout { checksum, ..layout }, Layout { decoded_size: decoded_size + 1, ..layout });
            for layout in [&wrong_sum, &wrong_size] {
                let array = Array { layout, ..array };
                assert!(all(&array, &stored, 1001).is_err());
                assert!(array.decode_range(&stored, 0, 0, &mut vec![0; 40_000]).is_err());
            }
        }
    }
}
