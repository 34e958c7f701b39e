//! Components whose elements are not simply all of their decoded bytes, one after the other: behind a header
//! that is compressed with them, or with strides.

use super::blob::{decoded_limit, Blob, LaidOut};
use super::decoded::too_long_is_corrupt;
use super::gather::Gather;
use super::perform::{take_part, Performer};
use super::request::{Part, Request};
use crate::codec::{Codec, Coding};
use crate::digest::Crc32;
use crate::error::{broken, fail, Error, Result};
use crate::memory::{in_memory, zeroed};
use crate::model::layout::Layout;
use crate::source::READ_CHUNK;
use std::ops::Range;

impl LaidOut<'_> {
    /// What gathers its elements; none where they are one after the other.
    fn gather(&self, blob: &Blob<'_>) -> Result<Option<Gather>> {
        let Some(strides) = self.strides else { return Ok(None) };
        let unit = usize::try_from(blob.element_size()).unwrap_or(usize::MAX);
        Gather::new(self.shape, strides, unit).map(Some)
    }

    /// The bytes of elements among the decoded ones.
    fn elements<'b>(&self, decoded: &'b [u8]) -> &'b [u8] {
        usize::try_from(self.layout.start).ok().and_then(|start| decoded.get(start..)).unwrap_or_default()
    }

    /// Refuses what `wanted` bytes of it may not take, before anything is asked for: a compressed one is
    /// decoded whole, and by strides few bytes may be many elements.
    pub fn check_size(&self, blob: &Blob<'_>, wanted: u64) -> Result<()> {
        let stored_size = blob.entry.stored_size;
        let decoded_size = if blob.entry.encoding.is_compressed() { self.layout.decoded_size } else { 0 };
        let most = decoded_size.max(wanted);
        let limit = decoded_limit(stored_size, blob.owner.max_decoded_size());
        match most > stored_size && most > limit {
            true => Err(fail!(Limit, "it decodes to {most} bytes, above the limit of {limit}")),
            false => Ok(()),
        }
    }

    /// Decodes all of `stored` and hands it to `sink` a little at a time, checked against its size and its
    /// CRC-32.
    fn decode(&self, codec: Codec, stored: &[u8], sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let size = self.layout.decoded_size;
        let mut sum = Crc32::new();
        let decoded = codec.decode_chunks(stored, size, &mut |piece| {
            sum.update(piece);
            sink(piece)
        });
        let decoded = decoded.map_err(|e| too_long_is_corrupt(e, codec, size))?;
        if decoded != size {
            return Err(broken!(codec.length_rule(), "it decodes to {decoded} bytes, {size} are declared"));
        }
        self.layout.checksum.map_or(Ok(()), |expected| sum.check(expected.crc32))
    }

    /// Fills `dst` with a range of its bytes, of whole elements where it has strides; in the order of the
    /// file. `stored` are the stored bytes that this takes, and `base` is where the first of them is in the
    /// component.
    fn fill(
        &self,
        blob: &Blob<'_>,
        gather: Option<Gather>,
        (stored, base): (&[u8], u64),
        wanted: Range<u64>,
        dst: &mut [u8],
    ) -> Result<()> {
        match (blob.coding, gather) {
            (Coding::Raw, None) => Err(fail!(Internal, "a plain component is laid out")),
            (Coding::Raw, Some(gather)) => gather.fill(stored, base, wanted.start, dst),
            (Coding::Compressed(codec), Some(gather)) => {
                let decoded = self.decoded(codec, stored)?;
                gather.fill(self.elements(&decoded), 0, wanted.start, dst)
            }
            (Coding::Compressed(codec), None) if wanted == (0..blob.size) => {
                let mut rest = dst;
                let mut skipped = self.layout.start;
                self.decode(codec, stored, &mut |piece| {
                    let piece = skip(piece, &mut skipped);
                    let count = piece.len().min(rest.len());
                    let (now, later) = std::mem::take(&mut rest).split_at_mut(count);
                    now.copy_from_slice(piece.get(..count).unwrap_or_default());
                    rest = later;
                    Ok(())
                })
            }
            (Coding::Compressed(codec), None) => {
                let Layout { decoded_size, start, .. } = *self.layout;
                let start = start.saturating_add(wanted.start);
                let seek = codec.index(stored)?.seek(start, dst.len() as u64);
                codec.decode_range(seek.part_of(stored), seek, decoded_size, start, dst)
            }
        }
    }

    /// All of `stored` decoded.
    fn decoded(&self, codec: Codec, stored: &[u8]) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        let size = in_memory(self.layout.decoded_size)?;
        all.try_reserve_exact(size).map_err(|_| Error::out_of_memory(size))?;
        self.decode(codec, stored, &mut |piece| {
            all.extend_from_slice(piece); // within what was reserved: no more than the size comes
            Ok(())
        })?;
        Ok(all)
    }
}

impl Performer<'_, '_> {
    /// Fills `dst`, as [`super::perform::finish`] does for other components.
    pub(super) fn perform_laid_out(
        &mut self,
        request: &Request<'_>,
        laid_out: &LaidOut<'_>,
        dst: &mut [u8],
    ) -> Result<()> {
        let blob = &request.blob;
        let wanted = request.covering();
        let length = wanted.end.saturating_sub(wanted.start);
        laid_out.check_size(blob, length)?;
        let gather = laid_out.gather(blob)?;
        let stored = match (blob.coding, &gather) {
            (Coding::Raw, Some(gather)) => gather.needed(&wanted),
            _ => 0..blob.entry.stored_size,
        };
        let base = stored.start;
        let is_direct = !matches!(request.part, Part::Slab(_)) && dst.len() as u64 == length;
        self.with_stored(blob, stored, request.extra_memory(), |stored| {
            let start = wanted.start;
            if is_direct {
                laid_out.fill(blob, gather, (stored, base), wanted, dst)?;
                return blob.finish(dst, |at| start.saturating_add(at));
            }
            let mut whole = zeroed(in_memory(length)?)?;
            laid_out.fill(blob, gather, (stored, base), wanted, &mut whole)?;
            take_part(request, start, &mut whole, dst)
        })
    }
}

/// What is left of a piece where so many bytes are passed over.
fn skip<'p>(piece: &'p [u8], skipped: &mut u64) -> &'p [u8] {
    let count = usize::try_from(*skipped).unwrap_or(usize::MAX).min(piece.len());
    *skipped = skipped.saturating_sub(count as u64);
    piece.get(count..).unwrap_or_default()
}

impl Blob<'_> {
    /// Bytes of an element, both parts of a complex one.
    pub(super) fn element_size(&self) -> u64 {
        self.entry.block().map_or(1, |block| block.bytes)
    }

    /// Gives `body` the row-major bytes front to back, whole elements at a time, in the order of the file.
    pub(super) fn for_each_laid_out(
        &self,
        laid_out: &LaidOut<'_>,
        body: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        laid_out.check_size(self, self.size)?;
        let size = in_memory(self.size)?;
        let unit = in_memory(self.element_size().max(1))?;
        let step = READ_CHUNK.saturating_sub(READ_CHUNK.checked_rem(unit).unwrap_or(0)).max(unit).min(size);
        let gather = laid_out.gather(self)?;
        self.stored().with_all(|stored| match (self.coding, gather) {
            (Coding::Raw, None) => stored.chunks(READ_CHUNK).try_for_each(body),
            (Coding::Raw, Some(gather)) => gathered(&gather, stored, size, step, body),
            (Coding::Compressed(codec), Some(gather)) => {
                let decoded = laid_out.decoded(codec, stored)?;
                gathered(&gather, laid_out.elements(&decoded), size, step, body)
            }
            (Coding::Compressed(codec), None) => {
                let mut chunk: Vec<u8> = Vec::new();
                chunk.try_reserve_exact(step)?;
                let (mut skipped, mut left) = (laid_out.layout.start, size);
                laid_out.decode(codec, stored, &mut |piece| {
                    let mut piece = skip(piece, &mut skipped);
                    while !piece.is_empty() && left > 0 {
                        let space = step.saturating_sub(chunk.len()).min(left).min(piece.len());
                        let (now, later) = piece.split_at_checked(space).unwrap_or_default();
                        chunk.extend_from_slice(now); // within what was reserved
                        (piece, left) = (later, left.saturating_sub(now.len()));
                        if chunk.len() == step {
                            body(&chunk)?;
                            chunk.clear();
                        }
                    }
                    Ok(())
                })?;
                if chunk.is_empty() {
                    Ok(())
                } else {
                    body(&chunk)
                }
            }
        })
    }
}

/// Gives `body` gathered elements, at most `step` bytes at a time.
fn gathered(
    gather: &Gather,
    elements: &[u8],
    size: usize,
    step: usize,
    body: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let mut chunk = zeroed(step)?;
    for start in (0..size).step_by(step.max(1)) {
        let count = size.saturating_sub(start).min(step);
        let now = chunk.get_mut(..count).unwrap_or_default();
        gather.fill(elements, 0, start as u64, now)?;
        body(now)?;
    }
    Ok(())
}
