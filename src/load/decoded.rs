//! Decoded bytes in order, a chunk at a time: what is larger than memory, and what is converted.

use super::blob::Blob;
use crate::codec::{Chunks, Decoding};
use crate::convert;
use crate::convert::byte_order::swap_in_place;
use crate::error::{fail, Result};
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::LogicalType;
use crate::source::READ_CHUNK;

impl Blob<'_> {
    /// Gives `body` the decoded bytes front to back, whole elements at a time, in the host's order.
    pub fn for_each_decoded(&self, body: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let swap = self.entry.swaps();
        let mut swapped = Vec::new();
        let mut base = 0u64;
        let mut give = |chunk: &[u8]| -> Result<()> {
            self.check_bools(chunk, |at| base.saturating_add(at))?;
            base = base.saturating_add(chunk.len() as u64);
            if !swap {
                return body(chunk);
            }
            swapped.clear();
            swapped.try_reserve(chunk.len())?;
            swapped.extend_from_slice(chunk);
            swap_in_place(&mut swapped, self.entry.width());
            body(&swapped)
        };
        self.for_each_decoded_byte(&mut give)
    }

    /// Gives `give` the decoded bytes front to back, whole elements at a time, in the order of the file.
    pub fn for_each_decoded_byte(&self, give: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        match self.decoding {
            Decoding::Raw => self.stored().for_each_chunk(give),
            Decoding::Frames(codec) => self.stored().with_all(|stored| {
                self.check_size(codec, codec.known_size(stored)?)?;
                let size = usize::try_from(self.size).unwrap_or(usize::MAX).min(READ_CHUNK);
                let mut chunks = Chunks::new(size)?; // the decoder's pieces end anywhere, chunks at elements
                codec.decode_exactly(stored, self.size, &mut |piece| chunks.add(piece, give))?;
                chunks.end(give)
            }),
            Decoding::Array => {
                let array = self.array()?;
                self.check_array_size(&array, self.size)?;
                self.stored().with_all(|stored| array.for_each_chunk(stored, READ_CHUNK, give))
            }
        }
    }

    /// What its elements are, for a conversion.
    pub(super) fn element_type(&self) -> Result<(Dtype, Option<Logical>)> {
        match (self.entry.dtype, self.entry.logical) {
            (Some(dtype), LogicalType::Absent | LogicalType::SameAsDtype) => Ok((dtype, None)),
            (Some(dtype), LogicalType::Known(logical)) => Ok((dtype, Some(logical))),
            _ => Err(fail!(Unsupported, "its type is unknown, so its elements cannot be converted")),
        }
    }

    /// Fills `dst`, which has the bytes for it, with its elements as `to`. Refuses what loses numbers, unless
    /// it is `lossy`.
    pub fn convert_into(&self, to: Dtype, lossy: bool, dst: &mut [u8]) -> Result<()> {
        let (from, all, mut rest) = (self.element_type()?, dst.len() as u64, dst);
        let mut lost = 0u64;
        self.for_each_decoded(&mut |chunk| {
            let produced = convert::converted_size(chunk.len() as u64, from, to)?;
            let produced = usize::try_from(produced).unwrap_or(usize::MAX);
            let (now, later) = std::mem::take(&mut rest)
                .split_at_mut_checked(produced)
                .ok_or_else(|| fail!(Internal, "more elements than the size says"))?;
            rest = later;
            lost = lost.saturating_add(convert::convert(chunk, from, to, now, all)?);
            Ok(())
        })?;
        convert::refuse_loss(lost, to, lossy)
    }
}
