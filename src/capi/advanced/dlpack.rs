//! DLPack, versions 0.8 and 1.1: objects and components as tensors for other libraries, and the reverse.
//! include/ztensor_dlpack.h is written by hand, because DLPack defines the layout.

use crate::capi::arg;
use crate::capi::finding::component::zt_component;
use crate::capi::finding::object::{zt_component_find, zt_object};
use crate::capi::guard::{deliver, guard_value};
use crate::capi::reading::buffer::{zt_buffer, zt_buffer_data, zt_buffer_free};
use crate::capi::status::zt_status;
use crate::capi::writing::writer::{with_writer, zt_writer};
use crate::error::{broken, fail, Quoted, Result, Rule};
use crate::memory::{try_box, with_capacity};
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{element_count, Format, LogicalType};
use crate::reader::Mode;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::null_mut;

mod import;

/// DLPackVersion.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DlpackVersion {
    major: u32,
    minor: u32,
}

/// DLDevice.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Device {
    kind: i32,
    id: i32,
}

/// DLDataType.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

/// DLTensor.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Tensor {
    data: *mut c_void,
    device: Device,
    ndim: i32,
    dtype: DataType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// DLManagedTensorVersioned.
#[repr(C)]
pub struct Versioned {
    version: DlpackVersion,
    manager: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    tensor: Tensor,
}

/// DLManagedTensor.
#[repr(C)]
pub struct Unversioned {
    tensor: Tensor,
    manager: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Unversioned)>,
}

const CPU: i32 = 1;
/// Devices for host memory that a device can access: pinned memory of CUDA and ROCm.
const PINNED: [i32; 2] = [3, 11];
const READ_ONLY: u64 = 1;
const IS_COPIED: u64 = 2;

/// DLPack's name for a type.
fn data_type(dtype: Dtype, logical: Option<Logical>) -> Option<DataType> {
    let (code, bits) = match logical {
        None => (dtype.class().dlpack_code(), u64::from(dtype.bits())),
        Some(logical) => (logical.dlpack_code()?, logical.bits()),
    };
    Some(DataType { code, bits: u8::try_from(bits).ok()?, lanes: 1 })
}

/// The dtype and type with that DLPack name, if a `.zt` file can have it. Other containers' types have no
/// size in DLPack, or less than a byte.
fn types_of(found: DataType) -> Option<(Dtype, Option<Logical>)> {
    let plain = Dtype::ALL.into_iter().map(|dtype| (dtype, None));
    let logical = Logical::ALL.into_iter().filter(|logical| logical.is_in_spec());
    let logical = logical.map(|logical| (logical.dtype(), Some(logical)));
    plain.chain(logical).find(|(dtype, logical)| data_type(*dtype, *logical) == Some(found))
}

/// A tensor that was exported, in either form, and the data it refers to.
struct Export<T> {
    managed: T,
    /// The shape, then the strides.
    numbers: Vec<i64>,
    buffer: *mut zt_buffer,
}

impl<T> Drop for Export<T> {
    fn drop(&mut self) {
        // SAFETY: the buffer belongs to this export, and nothing uses it any more.
        unsafe { zt_buffer_free(self.buffer) };
    }
}

/// Loads the component and describes it. The tensor points into the returned vector, whose address does not
/// change.
fn export(handle: &zt_component, shape: Option<&[u64]>) -> Result<(Tensor, u64, Vec<i64>, *mut zt_buffer)> {
    let component = handle.component()?;
    let no_type = || {
        let name = component.logical_name().unwrap_or(component.dtype_name());
        fail!(Unsupported, "DLPack has no type for {name:?}")
    };
    let logical = match component.logical() {
        LogicalType::Absent | LogicalType::SameAsDtype => None,
        _ => Some(component.known_logical().ok_or_else(no_type)?),
    };
    let plain = component.dtype();
    let plain =
        plain.ok_or_else(|| fail!(Unsupported, "its dtype {:?} is unknown", component.dtype_name()))?;
    let dtype = data_type(plain, logical).ok_or_else(no_type)?;
    let block = logical.map_or(plain.block(), Logical::block);
    let size = component.size()?;
    if size % block.bytes != 0 {
        return Err(broken!(
            Rule::ElementSize,
            "its {size} bytes are not a multiple of the element size of {} bytes",
            block.bytes
        ));
    }
    let flat = [(size / block.bytes).saturating_mul(block.elements)];
    let shape = shape.unwrap_or(&flat);
    if element_count(shape).and_then(|count| block.size(count)) != Some(size) {
        return Err(broken!(Rule::DenseSize, "it has {} elements, not those of its shape", flat[0]));
    }
    let mut numbers = shape_and_strides(shape)?;
    let ndim = i32::try_from(shape.len())
        .map_err(|_| fail!(Unsupported, "DLPack has no tensor of {} dimensions", shape.len()))?;
    let (buffer, borrowed) = handle.load()?;
    // SAFETY: load just made it; nothing else uses it yet.
    let data = zt_buffer_data(unsafe { buffer.as_ref() });
    let strides = numbers.as_mut_ptr().wrapping_add(shape.len());
    let tensor = Tensor {
        data: data.cast_mut(),
        device: Device { kind: CPU, id: 0 },
        ndim,
        dtype,
        shape: numbers.as_mut_ptr(),
        strides,
        byte_offset: 0,
    };
    let flags = match borrowed {
        true if handle.owner().file().mode() == Mode::Private => 0, // the caller may change the bytes
        true => READ_ONLY,
        false => IS_COPIED,
    };
    Ok((tensor, flags, numbers, buffer))
}

/// The dimensions, then the row-major strides in elements.
fn shape_and_strides(shape: &[u64]) -> Result<Vec<i64>> {
    let mut numbers = with_capacity(shape.len().saturating_mul(2))?;
    for dimension in shape {
        let signed = i64::try_from(*dimension);
        numbers.push(signed.map_err(|_| fail!(Unsupported, "DLPack has no dimension of {dimension}"))?);
    }
    numbers.resize(shape.len().saturating_mul(2), 1); // within what was reserved
    let (dimensions, strides) = numbers.split_at_mut(shape.len());
    let mut next = 1i64;
    for (dimension, stride) in dimensions.iter().zip(strides).rev() {
        *stride = next;
        // This exceeds the largest number only if another dimension is 0; then no stride is used.
        next = next.saturating_mul((*dimension).max(1));
    }
    Ok(numbers)
}

/// Boxes what `make` returns for a tensor and its flags.
fn export_boxed<T>(
    handle: &zt_component,
    shape: Option<&[u64]>,
    make: impl FnOnce(Tensor, u64) -> T,
) -> Result<*mut Export<T>> {
    let (tensor, flags, numbers, buffer) = export(handle, shape)?;
    Ok(Box::into_raw(try_box(Export { managed: make(tensor, flags), numbers, buffer })?))
}

/// Frees what `export_boxed` returned.
unsafe fn free_export<T>(export: *mut Export<T>) {
    // SAFETY: export_boxed made it, and a consumer calls the deleter once.
    guard_value((), || drop(unsafe { Box::from_raw(export) }));
}

unsafe extern "C" fn delete_versioned(tensor: *mut Versioned) {
    if !tensor.is_null() {
        // SAFETY: the tensor has our deleter, so export_boxed made it, and manager is its export.
        unsafe { free_export((*tensor).manager.cast::<Export<Versioned>>()) };
    }
}

unsafe extern "C" fn delete_unversioned(tensor: *mut Unversioned) {
    if !tensor.is_null() {
        // SAFETY: as above.
        unsafe { free_export((*tensor).manager.cast::<Export<Unversioned>>()) };
    }
}

fn versioned(handle: &zt_component, shape: Option<&[u64]>) -> Result<*mut Versioned> {
    let export = export_boxed(handle, shape, |tensor, flags| Versioned {
        version: DlpackVersion { major: 1, minor: 1 },
        manager: null_mut(),
        deleter: Some(delete_versioned),
        flags,
        tensor,
    })?;
    // SAFETY: it was boxed just now; both live until the deleter is called.
    unsafe {
        let managed = &raw mut (*export).managed;
        (*managed).manager = export.cast();
        Ok(managed)
    }
}

fn unversioned(handle: &zt_component, shape: Option<&[u64]>) -> Result<*mut Unversioned> {
    let deleter = Some(delete_unversioned as unsafe extern "C" fn(*mut Unversioned));
    let export =
        export_boxed(handle, shape, |tensor, _| Unversioned { tensor, manager: null_mut(), deleter })?;
    // SAFETY: as above.
    unsafe {
        let managed = &raw mut (*export).managed;
        (*managed).manager = export.cast();
        Ok(managed)
    }
}

/// The component of a dense object, and its shape.
fn dense(object: &zt_object) -> Result<(&zt_component, &[u64])> {
    let found = object.object()?;
    if found.format() != Format::Dense {
        return Err(fail!(
            Unsupported,
            "object {} is {}, not dense",
            Quoted(found.name_bytes()),
            found.format_name()
        ));
    }
    // SAFETY: the text ends in a NUL; the component lives as long as the object.
    let part = unsafe { zt_component_find(Some(object), c"data".as_ptr()).as_ref() };
    Ok((
        part.ok_or_else(|| {
            broken!(Rule::ComponentMissing, "object {} has no data", Quoted(found.name_bytes()))
        })?,
        found.shape(),
    ))
}

/// See ztensor_dlpack.h.
#[unsafe(no_mangle)]
pub extern "C" fn zt_object_to_dlpack(
    object: Option<&zt_object>,
    tensor: Option<&mut MaybeUninit<*mut Versioned>>,
) -> zt_status {
    deliver(tensor, "tensor", || {
        let (part, shape) = dense(arg::required(object, "object")?)?;
        versioned(part, Some(shape))
    })
}

/// See ztensor_dlpack.h.
#[unsafe(no_mangle)]
pub extern "C" fn zt_object_to_dlpack_unversioned(
    object: Option<&zt_object>,
    tensor: Option<&mut MaybeUninit<*mut Unversioned>>,
) -> zt_status {
    deliver(tensor, "tensor", || {
        let (part, shape) = dense(arg::required(object, "object")?)?;
        unversioned(part, Some(shape))
    })
}

/// See ztensor_dlpack.h.
#[unsafe(no_mangle)]
pub extern "C" fn zt_component_to_dlpack(
    component: Option<&zt_component>,
    tensor: Option<&mut MaybeUninit<*mut Versioned>>,
) -> zt_status {
    deliver(tensor, "tensor", || versioned(arg::required(component, "component")?, None))
}
