//! Writes quantized weights: codes with scales, in the format that the container has for them.

use super::specs::{known, ComponentSpec, ObjectSpec};
use super::state::Writer;
use crate::container::{Quantized, QuantizedForm};
use crate::error::{Error, Result};
use crate::model::structure::{parse_packing, Grouping, QuantizedSizes};

/// Codes with scales to be written; parts have their own roles in each container.
#[derive(Clone, Copy, Debug)]
pub struct QuantizedSpec<'a> {
    /// The name.
    pub name: &'a str,
    /// The dimensions of what was quantized.
    pub shape: &'a [u64],
    /// Bits of a code; none to leave them out.
    pub bits: Option<u64>,
    /// Codes of a group; none to leave them out.
    pub group_size: Option<u64>,
    /// Such as "8_per_i32"; none to leave it out.
    pub packing: Option<&'a str>,
    /// The dimension of the groups, and how codes and zero points are packed; none to leave it out.
    pub grouping: Option<Grouping>,
    /// The codes.
    pub packed_weight: (ComponentSpec<'a>, &'a [u8]),
    /// A scale for each group.
    pub scales: (ComponentSpec<'a>, &'a [u8]),
    /// A zero point for each group; none if there are none.
    pub zeros: Option<(ComponentSpec<'a>, &'a [u8])>,
}

impl Writer {
    /// Writes codes with scales; their geometry is checked first.
    pub fn write_quantized(&mut self, spec: &QuantizedSpec<'_>) -> Result<()> {
        let in_object = |e: Error| e.within(format_args!("object {:?}", spec.name));
        let (codes, scales) = (&spec.packed_weight, &spec.scales);
        let count = |(c, data): &(ComponentSpec<'_>, &[u8])| (data.len() / c.dtype.size()) as u64;
        let sizes = QuantizedSizes {
            shape: spec.shape,
            bits: spec.bits,
            group_size: spec.group_size,
            packing: spec.packing.and_then(parse_packing),
            packed_dtype: Some(codes.0.dtype),
            packed_size: codes.1.len() as u64,
            packed_count: count(codes),
            scale_count: count(scales),
            zero_count: spec.zeros.as_ref().map(count),
        };
        sizes.check().map_err(in_object)?;
        let asked = Quantized {
            bits: spec.bits,
            group_size: spec.group_size,
            packing: spec.packing,
            grouping: spec.grouping,
            codes: codes.0.dtype,
            scales: (scales.0.dtype, known(scales.0.logical)),
            has_zeros: spec.zeros.is_some(),
        };
        let form = self.capabilities().quantized(&asked).map_err(in_object)?;
        let QuantizedForm { format, codes: role, attributes } = form;
        let object = ObjectSpec { name: spec.name, format, shape: spec.shape };
        let codes = (ComponentSpec { role, ..codes.0 }, codes.1);
        match spec.zeros {
            Some(zeros) => self.write_object(&object, attributes, &[codes, *scales, zeros]),
            None => self.write_object(&object, attributes, &[codes, *scales]),
        }
    }
}
