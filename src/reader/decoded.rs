//! Decoded bytes in order, a chunk at a time: what is larger than memory, and what is converted.

use super::stored::{for_each_chunk, READ_CHUNK};
use super::Component;
use crate::codec::Coding;
use crate::convert;
use crate::convert::byte_order::swap_in_place;
use crate::error::{broken, fail, Cause, Error, Result, Rule};
use crate::model::dtype::Dtype;
use crate::model::manifest::LogicalType;

impl Component<'_> {
    /// Gives `body` the decoded bytes front to back, whole elements at a time, in the host's order.
    pub fn for_each_decoded(&self, body: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.for_each_decoded_inner(body).map_err(|e| self.wrap(e))
    }

    pub(super) fn for_each_decoded_inner(&self, body: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let coding = self.coding()?;
        let swap = self.swaps();
        let width = self.width();
        let mut turned = Vec::new();
        let mut base = 0u64;
        let mut give = |chunk: &[u8]| -> Result<()> {
            self.check_bool_from(base, chunk)?;
            base = base.saturating_add(chunk.len() as u64);
            if !swap {
                return body(chunk);
            }
            turned.clear();
            turned.try_reserve(chunk.len())?;
            turned.extend_from_slice(chunk);
            swap_in_place(&mut turned, width);
            body(&turned)
        };
        let codec = match coding {
            Coding::Raw => return for_each_chunk(self.file.source(), self.stored_range(), &mut give),
            Coding::Compressed(codec) => codec,
        };
        let size = self.decoded_size()?;
        self.with_stored(|stored| {
            self.check_declared_size(codec, stored, size)?;
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
            let decoded = decoded.map_err(|e| too_long_is_corrupt(e, codec.length_rule(), size))?;
            give(&gathered)?;
            match decoded == size {
                true => Ok(()),
                false => {
                    Err(broken!(codec.length_rule(), "it decodes to {decoded} bytes, {size} are declared"))
                }
            }
        })
    }

    /// Fills the front of `dst` with the elements as `to`.
    pub fn read_as(&self, to: Dtype, dst: &mut [u8]) -> Result<()> {
        self.read_as_inner(to, dst).map_err(|e| self.wrap(e))
    }

    fn read_as_inner(&self, to: Dtype, dst: &mut [u8]) -> Result<()> {
        self.check_known()?;
        let from = match (self.entry.dtype, self.entry.logical) {
            (Some(dtype), LogicalType::Absent | LogicalType::SameAsDtype) => (dtype, None),
            (Some(dtype), LogicalType::Known(logical)) => (dtype, Some(logical)),
            _ => {
                let name = self.logical_name().unwrap_or_default();
                return Err(fail!(
                    Unsupported,
                    "its type {name:?} is unknown, so its elements cannot be converted"
                ));
            }
        };
        let size = self.decoded_size()?;
        let needed = convert::converted_size(size, from, to)?;
        let capacity = dst.len();
        let fitting = usize::try_from(needed).ok().and_then(|n| dst.get_mut(..n));
        let mut rest =
            fitting.ok_or_else(|| fail!(BufferSize, "it takes {needed} bytes, the memory has {capacity}"))?;
        self.for_each_decoded_inner(&mut |chunk| {
            let produced = convert::converted_size(chunk.len() as u64, from, to)?;
            let produced = usize::try_from(produced).unwrap_or(usize::MAX);
            let (now, later) = std::mem::take(&mut rest)
                .split_at_mut_checked(produced)
                .ok_or_else(|| fail!(Internal, "more elements than the size says"))?;
            rest = later;
            convert::convert(chunk, from, to, now, needed)
        })
    }
}

/// A decoder that was stopped at the declared size met more: that is the file's fault, not a limit.
fn too_long_is_corrupt(error: Error, rule: Rule, size: u64) -> Error {
    match error.cause() {
        Cause::Limit => {
            broken!(rule, "it decodes to more than the {size} bytes that are declared")
        }
        _ => error,
    }
}
