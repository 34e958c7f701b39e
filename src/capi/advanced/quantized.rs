//! Writes objects of codes with scales in one call.

use crate::capi::arg;
use crate::capi::sized::sized_struct;
use crate::capi::status::zt_status;
use crate::capi::types::enumerations::{self as types, zt_dtype, zt_type};
use crate::capi::writing::writer::{with_writer, zt_writer};
use crate::error::{fail, Result};
use crate::writer::{ComponentSpec, Grouping, LogicalSpec, QuantizedSpec};
use std::ffi::{c_char, c_void};

/// The components of a quantized object to write. Fields have the meaning of those of zt_quantized.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_quantized_desc {
    /// sizeof(zt_quantized_desc)
    pub struct_size: usize,
    /// The attribute "bits"; 0 leaves it out.
    pub bits: u64,
    /// The attribute "group_size"; 0 leaves it out.
    pub group_size: u64,
    /// The attribute "packing", such as "8_per_i32"; NULL leaves it out.
    pub packing: *const c_char,
    /// The packed weights.
    pub packed_weight: *const c_void,
    /// Bytes at packed_weight.
    pub packed_weight_size: u64,
    /// The scale of each group.
    pub scales: *const c_void,
    /// Bytes at scales.
    pub scales_size: u64,
    /// The zero point of each group; NULL if absent.
    pub zeros: *const c_void,
    /// Bytes at zeros.
    pub zeros_size: u64,
    /// The storage type of packed_weight.
    pub packed_weight_dtype: zt_dtype,
    /// The storage type of scales.
    pub scales_dtype: zt_dtype,
    /// The storage type of zeros.
    pub zeros_dtype: zt_dtype,
    /// Must be 0.
    pub reserved: u32,
    /// ZT_TYPE_F8_E8M0 for powers of two, else ZT_TYPE_NONE.
    pub scales_type: zt_type,
    /// 1: axis and the fields behind it are stated, as zTensor 2 needs. 0: they must be 0, as in 1.x.
    pub has_axis: u32,
    /// The dimension that groups lie along.
    pub axis: u64,
    /// The zero point of all weights if zeros is NULL.
    pub zero_point: i64,
    /// 1: the first weight of an element is in its highest bits. 0: in its lowest.
    pub msb_first: u32,
    /// 1: zeros are packed like weights. 0: each has an element.
    pub zeros_packed: u32,
}

// SAFETY: repr(C); integers and raw pointers, which may be zero.
sized_struct!(zt_quantized_desc:
    bits, group_size, packing, packed_weight, packed_weight_size, scales, scales_size, zeros, zeros_size,
    packed_weight_dtype, scales_dtype, zeros_dtype, reserved, scales_type, has_axis, axis, zero_point,
    msb_first, zeros_packed
);

/// Writes a quantized_group object or, in zTensor 2, a zt.quant_group/1 object. Its structure is checked as
/// in zt_quantized_view. Nothing is kept after the call.
///
/// shape: rank dimensions of the tensor before quantization. name, name_length: as for zt_write_dense.
/// zt.quant_group/1 needs has_axis, bits of 2, 4 or 8, and a group_size that divides the axis. It needs
/// packed weights of an integer dtype without unused bits, scales of f32, bf16, f16 or ZT_TYPE_F8_E8M0, and
/// either zeros or a zero_point. Otherwise ZT_ERROR_UNSUPPORTED.
/// Returns as zt_write_csr. Spec 1.2 section 3, spec 2 section 6.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_quantized(
    writer: Option<&mut zt_writer>,
    name: *const c_char,
    name_length: usize,
    shape: *const u64,
    rank: usize,
    desc: *const zt_quantized_desc,
) -> zt_status {
    with_writer(writer, |writer| {
        // SAFETY: the pointers are as the documentation demands.
        unsafe {
            let name = arg::sized_text(name, name_length, "name")?;
            let shape = arg::slice(shape, rank, "shape")?;
            let desc: zt_quantized_desc = arg::required_struct(desc)?;
            writer.write_quantized(&QuantizedSpec {
                name,
                shape,
                bits: Some(desc.bits).filter(|bits| *bits != 0),
                group_size: Some(desc.group_size).filter(|size| *size != 0),
                packing: arg::optional_text(desc.packing, "packing")?,
                grouping: grouping(&desc)?,
                packed_weight: part(
                    "packed_weight",
                    desc.packed_weight_dtype,
                    desc.packed_weight,
                    desc.packed_weight_size,
                )?,
                scales: {
                    let (spec, data) = part("scales", desc.scales_dtype, desc.scales, desc.scales_size)?;
                    let logical = types::logical(desc.scales_type)?.map(LogicalSpec::Known);
                    (ComponentSpec { logical, ..spec }, data)
                },
                zeros: match desc.zeros.is_null() {
                    true => None,
                    false => Some(part("zeros", desc.zeros_dtype, desc.zeros, desc.zeros_size)?),
                },
            })
        }
    })
}

/// # Safety
/// `data` points to `size` bytes that are valid for `'a`.
unsafe fn part<'a>(
    role: &'static str,
    dtype: zt_dtype,
    data: *const c_void,
    size: u64,
) -> Result<(ComponentSpec<'static>, &'a [u8])> {
    let dtype = types::dtype(dtype).map_err(|e| e.within(format_args!("{role}")))?;
    // SAFETY: the caller ensures this.
    let data = unsafe { arg::slice(data.cast::<u8>(), arg::to_usize(size, role)?, role)? };
    Ok((ComponentSpec::new(role, dtype), data))
}

/// How the groups are arranged, if the caller states it.
fn grouping(desc: &zt_quantized_desc) -> Result<Option<Grouping>> {
    arg::zero(desc.reserved, "zt_quantized_desc.reserved")?;
    let grouping = Grouping {
        axis: desc.axis,
        zero_point: desc.zero_point,
        is_msb_first: arg::flag(desc.msb_first, "zt_quantized_desc.msb_first")?,
        zeros_packed: arg::flag(desc.zeros_packed, "zt_quantized_desc.zeros_packed")?,
    };
    match arg::flag(desc.has_axis, "zt_quantized_desc.has_axis")? {
        true => Ok(Some(grouping)),
        false if grouping == Grouping::default() => Ok(None),
        false => Err(fail!(
            InvalidArgument,
            "zt_quantized_desc describes its groups (axis, zero_point, msb_first or zeros_packed), but \
             has_axis is 0"
        )),
    }
}
