//! The numbers of a quantized weight.

use super::plan::{Nested, Plan, Table};
use crate::convert::scaled::{
    codebook_of, swapped_words, to_floats, CodeBytes, Codebook, Elements, Factor, ScaledDecoder, Scaling,
};
use crate::error::{fail, Result};
use crate::load::Part;
use crate::memory::{in_memory, part, refill, with_capacity};
use crate::model::dtype::Dtype;
use crate::model::structure::each_index;
use crate::reader::borrowed_or_read::ComponentBytes;
use crate::reader::codes::fill;
use crate::reader::entries::WithReader;
use crate::reader::object::{Component, Object};
use std::ops::Range;

/// The stored bytes of codes: all of them, or read when they are needed.
enum Stored<'f> {
    All(ComponentBytes<'f>),
    ByRows { component: Component<'f>, bytes: Vec<u8> },
}

impl CodeBytes for Stored<'_> {
    fn get(&mut self, range: Range<u64>) -> Result<&[u8]> {
        let short = || fail!(Internal, "codes {range:?} are not there");
        match self {
            Stored::All(loaded) => part(loaded.as_slice(), &range).ok_or_else(short),
            Stored::ByRows { component, bytes } => {
                // In whole words, so that their bytes can be swapped.
                let width = component.entry().width().max(1) as u64;
                let start = range.start.saturating_sub(range.start.checked_rem(width).unwrap_or(0));
                let end = range.end.checked_next_multiple_of(width).unwrap_or(u64::MAX);
                let length = end.saturating_sub(start);
                refill(bytes, in_memory(length)?)?;
                component.run(Part::Range { offset: start, length }, None, bytes, 1)?;
                swapped_words(bytes, component.entry().width());
                part(bytes, &(range.start.saturating_sub(start)..range.end.saturating_sub(start)))
                    .ok_or_else(short)
            }
        }
    }
}

impl<'f> Object<'f> {
    /// Gives `body` a reader of its numbers.
    pub(in crate::reader) fn with_weight(
        &self,
        codes: &Component<'f>,
        plan: &Plan,
        to: Dtype,
        body: &mut WithReader<'_>,
    ) -> Result<()> {
        let scales = self.required("scales")?;
        let of_scales = scales.load_for_call()?;
        let mut elements = scales.elements_of(of_scales.as_slice())?;
        if let Some(logical) = plan.scale_type {
            elements.from = (Dtype::U8, Some(logical));
        }
        let nested =
            plan.nested.map(|nested| self.nested_scales(of_scales.as_slice(), &nested)).transpose()?;
        if let Some(nested) = &nested {
            elements = Elements { bytes: crate::convert::as_bytes(nested), from: (Dtype::F32, None) };
        }
        let zeros = plan.zeros.map(|role| self.required(role)).transpose()?;
        let of_zeros = zeros.as_ref().map(|zeros| zeros.load_packed()).transpose()?;
        let zeros = match (&zeros, &of_zeros) {
            (Some(zeros), Some(bytes)) => Some(zeros.elements_of(bytes.as_slice())?),
            _ => None,
        };
        let factor = match plan.factor {
            None => Factor::One,
            Some((role, factor)) => factor(self.required(role)?.floats::<1>()?[0]),
        };
        let stored;
        let codebook = match plan.table {
            Table::None | Table::Fp4 => Codebook::Fp4,
            Table::Float8(logical) => codebook_of(logical)
                .ok_or_else(|| self.wrap(fail!(Internal, "{} is not a float of 8 bits", logical.name())))?,
            Table::Stored(role) => {
                stored = self.required(role)?.floats::<16>()?;
                Codebook::Map(&stored)
            }
        };
        let groups = match plan.has_groups {
            true => self.required("g_idx")?.groups_of_columns(plan)?,
            false => None,
        };
        let groups = groups.as_ref().map(ComponentBytes::as_slice);
        let scaling = Scaling { scales: elements, factor, zeros, groups, codebook };
        let mut decoder = ScaledDecoder::new(plan.layout, scaling);
        let mut bytes =
            match codes.slice_for_call().is_none() && codes.is_raw() && plan.layout.codes.is_by_rows() {
                true => Stored::ByRows { component: *codes, bytes: Vec::new() },
                false => Stored::All(codes.load_packed()?),
            };
        body(&mut |taken, dst| {
            fill(taken, to, dst, &mut |range, to, body| decoder.decode(range, to, &mut bytes, body))
        })
    }

    /// `map[code] * scale + offset` for each code.
    fn nested_scales(&self, codes: &[u8], nested: &Nested) -> Result<Vec<f32>> {
        let map = self.required("nested_map")?.floats::<256>()?;
        let scales = self.required("nested_scales")?;
        let of_scales = scales.load_for_call()?;
        let elements = scales.elements_of(of_scales.as_slice())?;
        let mut values = with_capacity(codes.len()).map_err(|e| self.wrap(e))?;
        let block = usize::try_from(nested.block_size).unwrap_or(usize::MAX).max(1);
        for (at, codes) in (0u64..).zip(codes.chunks(block)) {
            let mut scale = [0f32];
            to_floats(&elements, at, &mut scale)?;
            let value =
                |code: &u8| map.get(usize::from(*code)).copied().unwrap_or(0.0) * scale[0] + nested.offset;
            values.extend(codes.iter().map(value)); // within what was reserved
        }
        Ok(values)
    }
}

impl<'f> Component<'f> {
    /// The decoded bytes for one call; words as they are stored, with the lowest byte first.
    fn load_packed(&self) -> Result<ComponentBytes<'f>> {
        let mut loaded = self.load_for_call()?;
        let is_of_codes =
            self.known_logical().is_none() && matches!(self.dtype(), Some(Dtype::I32 | Dtype::U32));
        if let (ComponentBytes::Owned(buffer), true) = (&mut loaded, is_of_codes) {
            swapped_words(buffer.as_mut_slice(), 4);
        }
        Ok(loaded)
    }

    /// Its `N` elements as f32.
    fn floats<const N: usize>(&self) -> Result<[f32; N]> {
        let bytes = self.load_for_call()?;
        let mut floats = [0f32; N];
        to_floats(&self.elements_of(bytes.as_slice())?, 0, &mut floats)?;
        Ok(floats)
    }

    /// The group of each column; none where they follow each other.
    pub(super) fn groups_of_columns(&self, plan: &Plan) -> Result<Option<ComponentBytes<'f>>> {
        let bytes = self.load_for_call()?;
        let steps = plan.layout.scales;
        let size = steps.columns.max(1);
        let groups = plan.layout.codes.columns.div_ceil(size);
        if self.dtype() != Some(Dtype::I32) || self.known_logical().is_some() {
            return Err(self.wrap(geometry!("its type is {}, not i32", self.dtype_name())));
        }
        let mut is_in_order = true;
        let checked = each_index(Dtype::I32, bytes.as_slice(), 0, |group, column| {
            is_in_order &= column.checked_div(size) == Some(group);
            match group < groups {
                true => Ok(()),
                false => {
                    Err(geometry!("column {column} has the group {}, and there are {groups}", group as i64))
                }
            }
        });
        checked.map_err(|e| self.wrap(e))?;
        Ok(Some(bytes).filter(|_| !is_in_order))
    }
}
