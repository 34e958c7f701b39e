//! Decoded bytes in order, a chunk at a time: what is larger than memory, and what is converted.

use super::blob::Blob;
use crate::codec::{Codec, Coding};
use crate::convert;
use crate::convert::byte_order::swap_in_place;
use crate::error::{broken, fail, Cause, Error, Result};
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
        match &self.laid_out() {
            Some(laid_out) => self.for_each_laid_out(laid_out, &mut give),
            None => self.for_each_decoded_byte(&mut give),
        }
    }

    /// Gives `give` what its stored bytes decode to front to back, as they are.
    pub fn for_each_decoded_byte(&self, give: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let codec = match self.coding {
            Coding::Raw => return self.stored().for_each_chunk(give),
            Coding::Compressed(codec) => codec,
        };
        let size = self.size;
        self.stored().with_all(|stored| {
            self.check_size(codec, codec.known_size(stored)?)?;
            // The decoder's pieces end anywhere: gather them to whole elements.
            let mut gathered: Vec<u8> = Vec::new();
            gathered.try_reserve_exact(usize::try_from(size).unwrap_or(READ_CHUNK).min(READ_CHUNK))?;
            let decoded = codec.decode_chunks(stored, size, &mut |mut piece| {
                while !piece.is_empty() {
                    let capacity = READ_CHUNK.saturating_sub(gathered.len()).min(piece.len());
                    let (now, later) = piece.split_at_checked(capacity).unwrap_or_default();
                    gathered.extend_from_slice(now);
                    piece = later;
                    if gathered.len() == READ_CHUNK {
                        give(&gathered)?;
                        gathered.clear();
                    }
                }
                Ok(())
            });
            let decoded = decoded.map_err(|e| too_long_is_corrupt(e, codec, size))?;
            give(&gathered)?;
            match decoded == size {
                true => Ok(()),
                false => {
                    Err(broken!(codec.length_rule(), "it decodes to {decoded} bytes, {size} are declared"))
                }
            }
        })
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

/// A decoder that was stopped at the declared size met more: that is the file's fault, not a limit.
pub(super) fn too_long_is_corrupt(error: Error, codec: Codec, size: u64) -> Error {
    match error.cause() {
        Cause::Limit => {
            broken!(codec.length_rule(), "it decodes to more than the {size} bytes that are declared")
        }
        _ => error,
    }
}
