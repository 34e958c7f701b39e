//! Buffers of decoded bytes: borrowed from the file, or in newly allocated memory.

use crate::capi::arg;
use crate::capi::finding::component::zt_component;
use crate::capi::guard::{deliver, guard_value};
use crate::capi::handle_table::FileReference;
use crate::capi::opening::progress::progress;
use crate::capi::reading::options::{batch_options, on_done, zt_read_options};
use crate::capi::status::zt_status;
use crate::error::Result;
use crate::memory::{try_box, AlignedBuffer};
use crate::reader::{Component, ComponentBytes};
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::null;

/// Decoded bytes of a component. A buffer keeps its file open.
pub struct zt_buffer {
    data: *const u8,
    size: usize,
    /// Owns the bytes, unless they are borrowed from the file.
    _memory: Option<AlignedBuffer>,
    /// Dropped last: it keeps the file of the bytes open.
    _owner: FileReference,
}

/// Gives the component's decoded bytes in a buffer, 64-byte aligned: borrowed if they are mapped and aligned,
/// else in new memory (zt_open_options.allocator).
///
/// options: NULL to read as zt_component_read; else as zt_read_batch with this one request. buffer: receives
/// the buffer, NULL on failure. End it with zt_buffer_free. It keeps the file open.
/// Returns as zt_component_read and zt_read_batch. Before it allocates, the library checks that the stored
/// bytes can give the declared size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_component_load(
    component: Option<&zt_component>,
    options: *const zt_read_options,
    buffer: Option<&mut MaybeUninit<*mut zt_buffer>>,
) -> zt_status {
    deliver(buffer, "buffer", || {
        let component = arg::required(component, "component")?;
        if options.is_null() {
            return Ok(component.load()?.0);
        }
        // SAFETY: options has the size it gives.
        let options = unsafe { arg::options(options)? };
        let (batch, on_done) = (batch_options(&options)?, on_done(&options));
        let progress = progress(options.progress, options.context);
        Ok(component.load_by(|c| c.load_with(&batch, &on_done, &progress))?.0)
    })
}

/// The bytes of a buffer, valid until zt_buffer_free; NULL only for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn zt_buffer_data(buffer: Option<&zt_buffer>) -> *const c_void {
    buffer.map_or(null(), |b| b.data.cast())
}

/// Number of bytes of a buffer.
#[unsafe(no_mangle)]
pub extern "C" fn zt_buffer_size(buffer: Option<&zt_buffer>) -> usize {
    buffer.map_or(0, |b| b.size)
}

/// Ends a buffer and releases its reference to the file. No other thread may use the buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_buffer_free(buffer: *mut zt_buffer) {
    if !buffer.is_null() {
        // SAFETY: zt_component_load made it, and the caller does not use it any more.
        guard_value((), || drop(unsafe { Box::from_raw(buffer) }));
    }
}

impl zt_component {
    /// Makes a buffer of its bytes, which the caller frees. Returns also whether the bytes are borrowed.
    pub(in crate::capi) fn load(&self) -> Result<(*mut zt_buffer, bool)> {
        self.load_by(|component| component.load())
    }

    /// Makes a buffer of the bytes that `load` returns.
    fn load_by<'f>(
        &'f self,
        load: impl FnOnce(&Component<'f>) -> Result<ComponentBytes<'f>>,
    ) -> Result<(*mut zt_buffer, bool)> {
        let found = load(&self.component()?)?;
        let (data, size) = (found.as_slice().as_ptr(), found.as_slice().len());
        let memory = match found {
            ComponentBytes::Borrowed(_) => None,
            ComponentBytes::Owned(memory) => Some(memory),
        };
        let is_borrowed = memory.is_none();
        // SAFETY: its file is open.
        let _owner = unsafe { FileReference::new(self.handle.file()) };
        Ok((Box::into_raw(try_box(zt_buffer { data, size, _memory: memory, _owner })?), is_borrowed))
    }
}
