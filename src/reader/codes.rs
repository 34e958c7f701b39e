//! Reads the codes of an object with scales as numbers: all of them, a range, or a hyperslab.

use super::entries::WithReader;
use super::groups::GroupsDecoder;
use super::object::{Component, Object};
use super::view::ViewPart;
use crate::convert::scaled::{Elements, Made};
use crate::convert::{convert_floats, copy_converted, settle};
use crate::error::{fail, Result};
use crate::load::{Part, StoredComponent, Taken};
use crate::memory::{in_memory, part, take_front, with_capacity, zeroed};
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::LogicalType;
use crate::model::structure::Groups;
use std::ops::Range;

/// How many elements are decoded to f32 at a time.
pub(super) const DECODED: usize = 32 << 10;

/// A gap of at most this many elements between two pieces is decoded rather than skipped.
const MAX_DECODED_GAP: u64 = 4 << 10;

impl<'f> Object<'f> {
    /// Calls `body` with a reader of the object's numbers, which are codes with scales.
    pub(super) fn with_groups(
        &self,
        data: &Component<'f>,
        groups: Groups,
        to: Dtype,
        body: &mut WithReader<'_>,
    ) -> Result<()> {
        let scales = self.required("scales")?;
        let of_scales = scales.load_for_call()?;
        let zeros = self.component("zeros");
        let of_zeros = zeros.as_ref().map(Component::load_for_call).transpose()?;
        let scales = scales.elements_of(of_scales.as_slice())?;
        let zeros = match (&zeros, &of_zeros) {
            (Some(zeros), Some(bytes)) => Some(zeros.elements_of(bytes.as_slice())?),
            _ => None,
        };
        let mut decoder =
            GroupsDecoder::new(groups, self.shape(), scales, zeros).map_err(|e| self.wrap(e))?;
        body(&mut |taken, dst| data.read_codes(&mut decoder, groups, to, taken, dst))
    }
}

impl Component<'_> {
    /// Fills `dst` with the wanted numbers. Returns how many numbers the conversion loses.
    fn read_codes(
        &self,
        decoder: &mut GroupsDecoder<'_>,
        groups: Groups,
        to: Dtype,
        taken: &Taken<'_>,
        dst: &mut [u8],
    ) -> Result<u64> {
        let in_elements = |bytes: u64| bytes.checked_div(to.size() as u64).unwrap_or(0);
        let all = match taken {
            Taken::From(first) => *first..first.saturating_add(dst.len() as u64),
            Taken::Slab(slab) => slab.covering().unwrap_or_default(),
        };
        let codes = self.codes(groups, in_elements(all.start)..in_elements(all.end))?;
        fill(taken, to, dst, &mut |elements, _, body| {
            codes.decode(decoder, elements, &mut |numbers| body(Made::Floats(numbers)))
        })
    }
}

/// Gives the function the elements of a range, in order: as f32, or of the type that is named, if one is.
pub(super) type DecodeRange<'d> =
    dyn FnMut(Range<u64>, Option<Dtype>, &mut dyn FnMut(Made<'_>) -> Result<()>) -> Result<()> + 'd;

/// Fills `dst` with the numbers that are taken, of those that `decode` gives. Returns how many of them that
/// loses.
pub(super) fn fill(
    taken: &Taken<'_>,
    to: Dtype,
    dst: &mut [u8],
    decode: &mut DecodeRange<'_>,
) -> Result<u64> {
    let width = to.size() as u64;
    let in_elements = |bytes: u64| bytes.checked_div(width).unwrap_or(0);
    let (total, mut rest, mut lost) = (dst.len() as u64, dst, 0u64);
    let mut store = |made: Made<'_>, rest: &mut &mut [u8]| -> Result<()> {
        match made {
            Made::Floats(numbers) => {
                let now = take_front(rest, width.saturating_mul(numbers.len() as u64))?;
                lost = lost.saturating_add(convert_floats(numbers, to, now, total));
            }
            Made::Elements(elements) => {
                copy_converted(elements, take_front(rest, elements.len() as u64)?, total);
            }
        }
        Ok(())
    };
    match taken {
        Taken::From(first) => {
            let first = in_elements(*first);
            let all = first..first.saturating_add(in_elements(rest.len() as u64));
            decode(all, Some(to), &mut |made| store(made, &mut rest))?;
        }
        Taken::Slab(slab) => {
            let [most, gap] = [DECODED as u64, MAX_DECODED_GAP].map(|n| n.saturating_mul(width));
            let mut decoded = with_capacity(DECODED)?;
            for piece in slab.windows().flat_map(|window| window.split_for_reads(most, gap)) {
                let first = in_elements(piece.source_offset);
                let elements = first..first.saturating_add(in_elements(piece.source_size()));
                if piece.count == 1 {
                    decode(elements, Some(to), &mut |made| store(made, &mut rest))?;
                    continue;
                }
                decoded.clear();
                decode(elements, None, &mut |made| {
                    if let Made::Floats(numbers) = made {
                        decoded.extend_from_slice(numbers); // within what was reserved
                    }
                    Ok(())
                })?;
                let (stride, block) = (in_elements(piece.stride), in_elements(piece.block));
                let step = usize::try_from(stride).unwrap_or(usize::MAX);
                for numbers in decoded.chunks(step) {
                    let block = numbers.len().min(usize::try_from(block).unwrap_or(usize::MAX));
                    store(Made::Floats(numbers.get(..block).unwrap_or_default()), &mut rest)?;
                }
            }
        }
    }
    settle();
    Ok(lost)
}

impl<'f> ViewPart<'f> {
    /// Its elements, if their type is known.
    pub(super) fn elements(&self) -> Result<Elements<'f>> {
        let logical = match self.logical {
            LogicalType::Known(logical) => Some(logical),
            LogicalType::Absent | LogicalType::SameAsDtype => None,
            LogicalType::Other => return Err(fail!(Unsupported, "its type is unknown")),
        };
        Ok(Elements { bytes: self.bytes(), from: (self.dtype, logical) })
    }
}

impl<'f> Component<'f> {
    pub(super) fn elements_of<'b>(&self, bytes: &'b [u8]) -> Result<Elements<'b>> {
        self.part_of(bytes)?.elements().map_err(|e| self.wrap(e))
    }

    /// The object's codes, to decode these elements only. The codes of a compressed component are
    /// decompressed now if they are few, else piece by piece later.
    fn codes(&self, groups: Groups, elements: Range<u64>) -> Result<Codes<'f>> {
        let wrap = |e| self.wrap(e);
        let stored = self.stored_component().map_err(wrap)?;
        let from = self.entry.element_type().map_err(wrap)?;
        let mut codes = Codes { component: *self, stored, from, groups, bytes: None };
        let Range { start, end } = codes.bytes_of(&elements);
        if !self.is_raw() && end.saturating_sub(start) < stored.size {
            stored.check_whole_size().map_err(wrap)?; // before memory is allocated
            let length = end.saturating_sub(start);
            let mut bytes = in_memory(length).and_then(zeroed).map_err(wrap)?;
            self.run(Part::Range { offset: start, length }, None, &mut bytes, 1)?;
            codes.bytes = Some((start, bytes));
        }
        Ok(codes)
    }
}

struct Codes<'f> {
    component: Component<'f>,
    stored: StoredComponent<'f>,
    from: (Dtype, Option<Logical>),
    groups: Groups,
    /// The decompressed bytes, and the position of the first one.
    bytes: Option<(u64, Vec<u8>)>,
}

impl Codes<'_> {
    fn bytes_of(&self, elements: &Range<u64>) -> Range<u64> {
        let (per, width) = (self.groups.codes_per_element.max(1), self.from.0.size() as u64);
        let start = elements.start.checked_div(per).unwrap_or(0).saturating_mul(width);
        start..elements.end.div_ceil(per).saturating_mul(width).min(self.stored.size)
    }

    fn decode(
        &self,
        decoder: &mut GroupsDecoder<'_>,
        elements: Range<u64>,
        body: &mut dyn FnMut(&[f32]) -> Result<()>,
    ) -> Result<()> {
        let per = self.groups.codes_per_element.max(1);
        // The first word may begin with elements before `start`, and the last one may end with unused codes.
        let before = elements.start.checked_rem(per).unwrap_or(0);
        let mut skipped = usize::try_from(before).unwrap_or(usize::MAX);
        let mut left = elements.end.saturating_sub(elements.start);
        decoder.go_to(elements.start.saturating_sub(before));
        let range = self.bytes_of(&elements);
        let mut decode = |chunk: &[u8]| {
            decoder.decode(chunk, self.from, &mut |numbers| {
                let numbers = numbers.get(skipped.min(numbers.len())..).unwrap_or_default();
                let now = numbers.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                (skipped, left) = (0, left.saturating_sub(now as u64));
                body(numbers.get(..now).unwrap_or_default())
            })
        };
        let Some((first, bytes)) = &self.bytes else {
            return self.component.unless_changed(self.stored.for_each_in(&range, &mut decode));
        };
        let range = range.start.saturating_sub(*first)..range.end.saturating_sub(*first);
        let bytes = part(bytes, &range).ok_or_else(|| fail!(Internal, "codes that were not decompressed"));
        bytes.and_then(decode).map_err(|e| self.component.wrap(e))
    }
}
