//! Views: all components of an object in one call. They are checked, so that indexing with them needs no more
//! checks.

use crate::capi::arg;
use crate::capi::finding::object::zt_object;
use crate::capi::guard::guard;
use crate::capi::opening::open::zt_file;
use crate::capi::sized::sized_struct;
use crate::capi::status::zt_status;
use crate::capi::types::enumerations::{dtype_number, logical_number, zt_dtype, zt_type};
use crate::error::Result;
use crate::reader::{File, Object, ViewPart};
use std::ffi::{c_char, c_void};
use std::ptr::null;

/// One component of a view.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_array {
    /// The decoded elements in the host's byte order, aligned as for zt_component_ptr; NULL if the component
    /// is absent.
    pub data: *const c_void,
    /// Bytes at data.
    pub size: usize,
    /// Elements of the dtype; a complex number is two.
    pub count: u64,
    /// The storage type.
    pub dtype: zt_dtype,
    /// The logical type.
    pub r#type: zt_type,
    /// 0.
    pub reserved: u64,
    /// 0.
    pub reserved2: u64,
}

impl zt_array {
    const ABSENT: zt_array =
        zt_array { data: null(), size: 0, count: 0, dtype: 0, r#type: 0, reserved: 0, reserved2: 0 };

    fn of(part: &ViewPart<'_>) -> zt_array {
        // The file keeps decoded parts until its last zt_close, so the caller may use their address until
        // then.
        let bytes = part.bytes();
        zt_array {
            data: bytes.as_ptr().cast(),
            size: bytes.len(),
            count: part.count,
            dtype: dtype_number(Some(part.dtype)),
            r#type: logical_number(part.logical),
            reserved: 0,
            reserved2: 0,
        }
    }
}

/// A dense tensor.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_tensor {
    /// sizeof(zt_tensor)
    pub struct_size: usize,
    /// The elements, row-major, in the host's byte order. Not NULL. Always aligned.
    pub data: *const c_void,
    /// Bytes at data.
    pub size: usize,
    /// The storage type.
    pub dtype: zt_dtype,
    /// The logical type.
    pub r#type: zt_type,
    /// The dimensions, outermost first.
    pub shape: *const u64,
    /// Number of dimensions.
    pub rank: usize,
}

/// A matrix of compressed sparse rows. Row r has the entries indptr[r] up to indptr[r + 1].
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_csr {
    /// sizeof(zt_csr)
    pub struct_size: usize,
    /// Number of rows.
    pub rows: u64,
    /// Number of columns.
    pub columns: u64,
    /// Number of stored entries.
    pub nnz: u64,
    /// The entries.
    pub values: zt_array,
    /// The column of each entry: below columns.
    pub indices: zt_array,
    /// rows + 1 numbers from 0 to nnz that never decrease.
    pub indptr: zt_array,
}

/// A coordinate list.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_coo {
    /// sizeof(zt_coo)
    pub struct_size: usize,
    /// Number of stored entries.
    pub nnz: u64,
    /// The dimensions, outermost first.
    pub shape: *const u64,
    /// Number of dimensions.
    pub rank: usize,
    /// The entries.
    pub values: zt_array,
    /// rank runs of nnz numbers, one run for each dimension, each below it.
    pub coords: zt_array,
}

/// A tensor of quantized groups: a quantized_group object or, in zTensor 2, zt.quant_group/1 or zt.mx/1,
/// whose "data" is packed_weight. A number is (weight - zero point) * scale.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_quantized {
    /// sizeof(zt_quantized)
    pub struct_size: usize,
    /// The dimensions, outermost first.
    pub shape: *const u64,
    /// Number of dimensions.
    pub rank: usize,
    /// Bits of a weight; 0 if the file does not state it.
    pub bits: u64,
    /// Weights of a group; 0 if the file does not state it. zt.quant_group/1: 0 for one scale for each index
    /// of axis, or each weight.
    pub group_size: u64,
    /// The attribute "packing" of a quantized_group; NULL if absent.
    pub packing: *const c_char,
    /// The packed weights.
    pub packed_weight: zt_array,
    /// The scale of each group. With ZT_TYPE_F8_E8M0 scales are powers of two.
    pub scales: zt_array,
    /// The zero point of each group; data is NULL if absent.
    pub zeros: zt_array,
    /// Weights in an element of packed_weight; 0 if the file does not state it.
    pub weights_per_element: u64,
    /// The dimension that groups lie along. This and the following fields are 0 for a quantized_group.
    pub axis: u64,
    /// The zero point of all weights if there are no zeros.
    pub zero_point: i64,
    /// 1: the first weight of an element is in its highest bits. 0: in its lowest.
    pub msb_first: u32,
    /// 1: zeros are packed like weights. 0: each has an element.
    pub zeros_packed: u32,
}

// SAFETY: repr(C); integers, pointers and optional functions, which may be zero.
sized_struct! {
    zt_tensor: data, size, dtype, r#type, shape, rank;
    zt_csr:
        rows, columns, nnz, values { data, size, count, dtype, r#type, reserved, reserved2 },
        indices { data, size, count, dtype, r#type, reserved, reserved2 },
        indptr { data, size, count, dtype, r#type, reserved, reserved2 };
    zt_coo:
        nnz, shape, rank, values { data, size, count, dtype, r#type, reserved, reserved2 },
        coords { data, size, count, dtype, r#type, reserved, reserved2 };
    zt_quantized:
        shape, rank, bits, group_size, packing,
        packed_weight { data, size, count, dtype, r#type, reserved, reserved2 },
        scales { data, size, count, dtype, r#type, reserved, reserved2 },
        zeros { data, size, count, dtype, r#type, reserved, reserved2 }, weights_per_element, axis,
        zero_point, msb_first, zeros_packed;
}

/// Finds a dense tensor, or a tensor that consists of blocks, by name and gives its bytes: borrowed if
/// zt_component_ptr works, else decoded once into memory that the file keeps until it is closed.
///
/// name: NUL-ended, as for zt_object_find. view: filled on success.
/// Returns ZT_ERROR_NOT_FOUND, ZT_ERROR_UNSUPPORTED (another format, unknown dtype or encoding), or what
/// zt_component_read returns. Spec 1.2 section 3.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_tensor_find(
    file: Option<&zt_file>,
    name: *const c_char,
    view: *mut zt_tensor,
) -> zt_status {
    guard(|| {
        let file: &File = arg::required(file, "file")?.file();
        // SAFETY: name ends in a NUL; view has the size it gives.
        unsafe {
            let name = arg::name(name)?;
            arg::fill_required(view, || tensor_of(file.required(name)?))
        }
    })
}

/// As zt_tensor_find, for an object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_tensor_view(object: Option<&zt_object>, view: *mut zt_tensor) -> zt_status {
    guard(|| {
        let object = arg::required(object, "object")?.object()?;
        // SAFETY: view has the size it gives.
        unsafe { arg::fill_required(view, || tensor_of(object)) }
    })
}

fn tensor_of(object: Object<'_>) -> Result<zt_tensor> {
    let found = object.tensor_view()?;
    let data = zt_array::of(&found.data);
    Ok(zt_tensor {
        struct_size: 0,
        data: data.data,
        size: data.size,
        dtype: data.dtype,
        r#type: data.r#type,
        shape: found.shape.as_ptr(),
        rank: found.shape.len(),
    })
}

/// Gives the components of a sparse_csr object, after checking counts, the order of indptr and all columns.
/// Borrowed where zt_component_ptr works for every component, else decoded into memory that the file keeps.
///
/// view: filled on success.
/// Returns ZT_ERROR_UNSUPPORTED (another format, unknown dtype or encoding), ZT_ERROR_CORRUPT (the structure
/// is broken), ZT_ERROR_LIMIT, ZT_ERROR_IO. Indices of a 1.0 or 1.1 file may have any integer dtype.
/// Spec 1.2 section 3.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_csr_view(object: Option<&zt_object>, view: *mut zt_csr) -> zt_status {
    guard(|| {
        let object = arg::required(object, "object")?.object()?;
        let filled = || {
            let found = object.csr_view()?;
            Ok(zt_csr {
                struct_size: 0,
                rows: found.rows,
                columns: found.columns,
                nnz: found.nnz,
                values: zt_array::of(&found.values),
                indices: zt_array::of(&found.indices),
                indptr: zt_array::of(&found.indptr),
            })
        };
        // SAFETY: view has the size it gives.
        unsafe { arg::fill_required(view, filled) }
    })
}

/// Gives the components of a sparse_coo object, after checking counts and coordinates. As zt_csr_view
/// otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_coo_view(object: Option<&zt_object>, view: *mut zt_coo) -> zt_status {
    guard(|| {
        let object = arg::required(object, "object")?.object()?;
        let filled = || {
            let found = object.coo_view()?;
            Ok(zt_coo {
                struct_size: 0,
                nnz: found.nnz,
                shape: found.shape.as_ptr(),
                rank: found.shape.len(),
                values: zt_array::of(&found.values),
                coords: zt_array::of(&found.coords),
            })
        };
        // SAFETY: view has the size it gives.
        unsafe { arg::fill_required(view, filled) }
    })
}

/// Gives the components of a quantized object, after checking that they fit each other as far as the
/// attributes state it. As zt_csr_view otherwise. For blocks of GGUF use zt_tensor_view and zt_type_block.
/// Spec 1.2 section 3, spec 2 section 6.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_quantized_view(object: Option<&zt_object>, view: *mut zt_quantized) -> zt_status {
    guard(|| {
        let object = arg::required(object, "object")?.object()?;
        let filled = || {
            let found = object.quantized_view()?;
            Ok(zt_quantized {
                struct_size: 0,
                shape: found.shape.as_ptr(),
                rank: found.shape.len(),
                bits: found.bits.unwrap_or(0),
                group_size: found.group_size.unwrap_or(0),
                packing: found.packing.map_or(null(), |t| t.as_c_bytes().as_ptr().cast()),
                packed_weight: zt_array::of(&found.packed_weight),
                scales: zt_array::of(&found.scales),
                zeros: found.zeros.as_ref().map_or(zt_array::ABSENT, zt_array::of),
                weights_per_element: found.weights_per_element.unwrap_or(0),
                axis: found.groups.map_or(0, |groups| groups.axis),
                zero_point: found.groups.and_then(|groups| groups.zero_point).unwrap_or(0),
                msb_first: found.groups.map_or(0, |groups| groups.is_msb_first.into()),
                zeros_packed: found.groups.map_or(0, |groups| groups.zeros_packed.into()),
            })
        };
        // SAFETY: view has the size it gives.
        unsafe { arg::fill_required(view, filled) }
    })
}
