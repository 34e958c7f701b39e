//! Writes an object in one call.

use crate::capi::arg;
use crate::capi::status::zt_status;
use crate::capi::types::enumerations::{self as types, zt_dtype, zt_type};
use crate::capi::writing::options::{self, zt_component_desc, zt_object_desc};
use crate::capi::writing::writer::{with_writer, zt_writer};
use crate::error::fail;
use crate::memory::with_capacity;
use crate::writer::{ComponentSpec, DenseSpec};
use std::ffi::{c_char, c_void};

/// Writes a dense object, without attributes (zt_write_object has them). Nothing is kept after the call.
///
/// name, name_length: UTF-8. dtype: not ZT_DTYPE_OTHER. type: ZT_TYPE_NONE, or a known type that belongs to
/// dtype. shape: rank dimensions, outermost first; NULL only if rank is 0. data, size: the elements,
/// row-major, in the host's byte order. A block type makes an object of blocks (ZT_FORMAT_BLOCKS).
/// Returns ZT_ERROR_BUFFER_SIZE if size is not what shape, dtype and type need, ZT_ERROR_EXISTS if the name
/// is taken, ZT_ERROR_LIMIT if the name exceeds 64 KiB, ZT_ERROR_UNSUPPORTED if the version cannot represent
/// the object, ZT_ERROR_STATE if an object is open or the writer has failed, ZT_ERROR_IO. ZT_ERROR_CORRUPT if
/// the data breaks a rule that zt_verify checks: a bool other than 0 and 1 (allowed in 0.1) or, in zTensor 2,
/// nonzero bits behind the last element of a packed type. Spec 1.2 section 3.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_dense(
    writer: Option<&mut zt_writer>,
    name: *const c_char,
    name_length: usize,
    dtype: zt_dtype,
    r#type: zt_type,
    shape: *const u64,
    rank: usize,
    data: *const c_void,
    size: usize,
) -> zt_status {
    with_writer(writer, |writer| {
        // SAFETY: name, shape and data are as documented.
        let (name, shape, data) = unsafe {
            (
                arg::sized_text(name, name_length, "name")?,
                arg::slice(shape, rank, "shape")?,
                arg::slice(data.cast::<u8>(), size, "data")?,
            )
        };
        let logical = types::logical(r#type)?;
        writer.write_dense(&DenseSpec { logical, ..DenseSpec::new(name, types::dtype(dtype)?, shape, data) })
    })
}

/// Writes a sparse_csr object. Its structure is checked as in zt_csr_view; in zTensor 2 the columns of a row
/// must increase. Nothing is kept after the call.
///
/// shape: rows and columns. values, values_size: nnz elements of dtype. indices: nnz columns. indptr: rows +
/// 1 numbers. The rest as for zt_write_dense.
/// Returns ZT_ERROR_CORRUPT if the structure is broken, else as zt_write_dense.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_csr(
    writer: Option<&mut zt_writer>,
    name: *const c_char,
    name_length: usize,
    dtype: zt_dtype,
    r#type: zt_type,
    shape: *const u64,
    nnz: usize,
    values: *const c_void,
    values_size: usize,
    indices: *const u64,
    indptr: *const u64,
) -> zt_status {
    with_writer(writer, |writer| {
        // SAFETY: the pointers are as documented.
        unsafe {
            let name = arg::sized_text(name, name_length, "name")?;
            let shape: &[u64] = arg::slice(shape, 2, "shape")?;
            let rows = arg::to_usize(shape.first().copied().unwrap_or(0), "indptr")?;
            let pointers =
                rows.checked_add(1).ok_or_else(|| fail!(InvalidArgument, "{rows} rows are too many"))?;
            let values = arg::slice(values.cast::<u8>(), values_size, "values")?;
            let indices = arg::slice(indices, nnz, "indices")?;
            let indptr = arg::slice(indptr, pointers, "indptr")?;
            let logical = types::logical(r#type)?;
            writer.write_csr(name, types::dtype(dtype)?, logical, shape, values, indices, indptr)
        }
    })
}

/// Writes a sparse_coo object. Its structure is checked as in zt_coo_view; in zTensor 2 no two entries may
/// have the same coordinates.
/// coords: rank runs of nnz numbers, the first dimension first. The rest and statuses as for zt_write_csr.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_coo(
    writer: Option<&mut zt_writer>,
    name: *const c_char,
    name_length: usize,
    dtype: zt_dtype,
    r#type: zt_type,
    shape: *const u64,
    rank: usize,
    nnz: usize,
    values: *const c_void,
    values_size: usize,
    coords: *const u64,
) -> zt_status {
    with_writer(writer, |writer| {
        let total = rank.checked_mul(nnz);
        let total =
            total.ok_or_else(|| fail!(InvalidArgument, "{rank} runs of {nnz} coordinates are too many"))?;
        // SAFETY: the pointers are as documented.
        unsafe {
            let name = arg::sized_text(name, name_length, "name")?;
            let shape = arg::slice(shape, rank, "shape")?;
            let values = arg::slice(values.cast::<u8>(), values_size, "values")?;
            let coords = arg::slice(coords, total, "coords")?;
            let logical = types::logical(r#type)?;
            writer.write_coo(name, types::dtype(dtype)?, logical, shape, nnz as u64, values, coords)
        }
    })
}

/// Writes an object of any format with its components. Nothing is kept after the call.
/// Returns ZT_ERROR_EXISTS if the name or a role is taken, ZT_ERROR_INVALID_ARGUMENT if a component that the
/// format needs is missing, else as zt_write_dense. Sparse and quantized objects are checked as zt_verify
/// checks them. Spec 1.2 sections 1 to 3.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_object(
    writer: Option<&mut zt_writer>,
    desc: *const zt_object_desc,
) -> zt_status {
    with_writer(writer, |writer| {
        // SAFETY: the structs are as documented.
        unsafe {
            let desc: zt_object_desc = arg::required_struct(desc)?;
            let object = options::object_spec(&desc)?;
            let count = desc.component_count;
            let mut components: Vec<(ComponentSpec<'_>, &[u8])> = with_capacity(count)?;
            let add = |part: &zt_component_desc| {
                let (spec, data) = options::component_spec(part)?;
                if data.is_none() && part.size != 0 {
                    return Err(fail!(InvalidArgument, "data is NULL, but its size is {}", part.size));
                }
                components.push((spec, data.unwrap_or_default()));
                Ok(())
            };
            arg::for_each(desc.components, count, "component", add)?;
            writer.write_object(&object, options::attributes(&desc)?, &components)
        }
    })
}
