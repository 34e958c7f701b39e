//! Writes tensors of other libraries.

use super::{
    arg, fail, types_of, with_writer, zt_status, zt_writer, Result, Tensor, Unversioned, Versioned, CPU,
    PINNED,
};
use crate::memory::{filled, with_capacity};
use crate::model::value::Attributes;
use crate::writer::{ComponentSpec, LogicalSpec, ObjectSpec, Writer};
use std::ffi::c_char;

/// No library has tensors with more dimensions, so a larger rank is refused before memory is allocated.
const MAX_DIMENSIONS: i32 = 4096;

/// The shape and the number of elements, which were checked, and the strides in elements, which were not.
struct Layout<'t> {
    shape: Vec<u64>,
    /// `None` if the elements are contiguous in row-major order.
    strides: Option<&'t [i64]>,
    elements: usize,
}

/// # Safety
/// The tensor's shape and strides are NULL or point to ndim numbers.
unsafe fn layout(tensor: &Tensor, width: usize) -> Result<Layout<'_>> {
    let ndim = tensor.ndim;
    let rank = usize::try_from(ndim).ok().filter(|_| ndim <= MAX_DIMENSIONS);
    let rank = rank.ok_or_else(|| fail!(InvalidArgument, "a tensor of {ndim} dimensions"))?;
    // SAFETY: as demanded above.
    let given: &[i64] = unsafe { arg::slice(tensor.shape, rank, "shape")? };
    let (mut shape, mut elements) = (with_capacity(rank)?, 1usize);
    for dimension in given {
        let size = usize::try_from(*dimension)
            .map_err(|_| fail!(InvalidArgument, "a tensor with a dimension of {dimension}"))?;
        shape.push(size as u64);
        elements = elements.saturating_mul(size);
    }
    if shape.contains(&0) {
        elements = 0;
    }
    if elements.checked_mul(width).is_none_or(|bytes| isize::try_from(bytes).is_err()) {
        return Err(fail!(
            InvalidArgument,
            "a tensor of {elements} elements of {width} bytes does not fit in memory"
        ));
    }
    let strides = match tensor.strides.is_null() {
        true => None,
        // SAFETY: as demanded above.
        false => Some(unsafe { arg::slice(tensor.strides, rank, "strides")? }),
    };
    // The stride of a dimension of 1 does not matter.
    let mut expected = 1i64;
    let is_gap = |(dimension, stride): (&i64, &i64)| {
        let found = *dimension != 1 && *stride != expected;
        expected = expected.saturating_mul(*dimension);
        found
    };
    let strides = strides.filter(|strides| given.iter().zip(*strides).rev().any(is_gap));
    Ok(Layout { shape, strides, elements })
}

impl Layout<'_> {
    /// Copies the elements into row-major order.
    ///
    /// # Safety
    /// Each element that shape and strides refer to has `width` readable bytes.
    unsafe fn pack(&self, strides: &[i64], first: *const u8, width: usize) -> Result<Vec<u8>> {
        let mut packed = with_capacity(self.elements.saturating_mul(width))?;
        let mut at: Vec<u64> = filled(0, self.shape.len())?; // within what was reserved
        let step = |stride: i64, times: i64| -> Result<isize> {
            let bytes = i64::try_from(width).ok().and_then(|w| stride.checked_mul(times)?.checked_mul(w));
            let offset = bytes.and_then(|b| isize::try_from(b).ok());
            offset.ok_or_else(|| {
                fail!(InvalidArgument, "a stride of {stride} elements leaves the address space")
            })
        };
        let mut place = first;
        for _ in 0..self.elements {
            // SAFETY: an element of the tensor; the vector has space for all elements.
            packed.extend_from_slice(unsafe { std::slice::from_raw_parts(place, width) });
            for ((index, dimension), stride) in at.iter_mut().zip(&self.shape).zip(strides).rev() {
                *index = index.saturating_add(1);
                if *index < *dimension {
                    place = place.wrapping_offset(step(*stride, 1)?);
                    break;
                }
                *index = 0;
                let back = i64::try_from(dimension.saturating_sub(1)).unwrap_or(i64::MAX);
                place = place.wrapping_offset(step(*stride, back.wrapping_neg())?);
            }
        }
        Ok(packed)
    }
}

/// # Safety
/// The tensor is as DLPack demands: ndim numbers at shape and strides, and readable elements at data.
unsafe fn write(writer: &mut Writer, name: &str, tensor: &Tensor) -> Result<()> {
    let device = tensor.device.kind;
    if device != CPU && !PINNED.contains(&device) {
        return Err(fail!(Unsupported, "a tensor on DLPack's device {device}, not in the host's memory"));
    }
    let (dtype, logical) = types_of(tensor.dtype).ok_or_else(|| {
        let t = tensor.dtype;
        fail!(Unsupported, "no dtype for DLPack's code {}, {} bits, {} lanes", t.code, t.bits, t.lanes)
    })?;
    let width = usize::from(tensor.dtype.bits) / 8;
    // SAFETY: as demanded above.
    let layout = unsafe { layout(tensor, width)? };
    if tensor.data.is_null() && layout.elements > 0 {
        return Err(fail!(InvalidArgument, "the tensor's data is NULL"));
    }
    let offset = arg::to_usize(tensor.byte_offset, "byte_offset")?;
    let first = tensor.data.cast::<u8>().cast_const().wrapping_add(offset);
    let packed;
    let bytes: &[u8] = match layout.strides.filter(|_| layout.elements > 0) {
        // SAFETY: the elements are contiguous; the product was checked.
        None => unsafe { arg::slice(first, layout.elements.saturating_mul(width), "data")? },
        Some(strides) => {
            // SAFETY: as demanded above.
            packed = unsafe { layout.pack(strides, first, width)? };
            &packed
        }
    };
    let component =
        ComponentSpec { logical: logical.map(LogicalSpec::Known), ..ComponentSpec::new("data", dtype) };
    writer.write_object(
        &ObjectSpec { name, format: "dense", shape: &layout.shape },
        Attributes::default(),
        &[(component, bytes)],
    )
}

/// See ztensor_dlpack.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_dlpack(
    writer: Option<&mut zt_writer>,
    name: *const c_char,
    name_length: usize,
    tensor: Option<&Versioned>,
) -> zt_status {
    with_writer(writer, |writer| {
        let tensor = arg::required(tensor, "tensor")?;
        let version = tensor.version;
        if version.major != 1 {
            return Err(fail!(Unsupported, "a tensor of DLPack {}.{}", version.major, version.minor));
        }
        // SAFETY: the name and the tensor are as the header demands.
        unsafe { write(writer, arg::sized_text(name, name_length, "name")?, &tensor.tensor) }
    })
}

/// See ztensor_dlpack.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_dlpack_unversioned(
    writer: Option<&mut zt_writer>,
    name: *const c_char,
    name_length: usize,
    tensor: Option<&Unversioned>,
) -> zt_status {
    with_writer(writer, |writer| {
        let tensor = arg::required(tensor, "tensor")?;
        // SAFETY: the name and the tensor are as the header demands.
        unsafe { write(writer, arg::sized_text(name, name_length, "name")?, &tensor.tensor) }
    })
}
