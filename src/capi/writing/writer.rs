//! Writing: create or append, objects at once or in pieces, finish or abort.

use crate::capi::arg;
use crate::capi::guard::{deliver, guard, guard_value};
use crate::capi::opening::progress::progress;
use crate::capi::sized::of_fields;
use crate::capi::status::zt_status;
use crate::capi::writing::options::{
    self, zt_component_desc, zt_object_desc, zt_write_options, zt_write_summary,
};
use crate::capi::writing::running_sink::is_running;
use crate::error::{fail, Result};
use crate::memory::try_box;
use crate::reader::Object;
use crate::writer::{ToAppend, Writer, WriterOptions};
use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;
use std::path::Path;

/// A file that is being written.
///
/// A call with wrong arguments changes nothing. If writing fails (ZT_ERROR_IO, ZT_ERROR_CANCELLED, a failure
/// of a sink, ZT_ERROR_OUT_OF_MEMORY while bytes are written), the writer has failed: every later call
/// returns ZT_ERROR_STATE, and the destination is unchanged. End it with zt_write_abort or zt_write_finish,
/// never with both.
pub struct zt_writer {
    writer: Writer,
    /// The number of the caller's sink; 0 if the writer writes to a file.
    sink: u64,
}

/// Runs `body` with the writer of a handle, as [`guard`] does.
pub(in crate::capi) fn with_writer(
    handle: Option<&mut zt_writer>,
    body: impl FnOnce(&mut Writer) -> Result<()>,
) -> zt_status {
    guard(|| {
        let handle = arg::required(handle, "writer")?;
        check_not_in_sink(handle.sink)?;
        body(&mut handle.writer)
    })
}

/// Fails in a function of the writer's own sink. Using the writer there would change it during the call that
/// runs the function.
fn check_not_in_sink(sink: u64) -> Result<()> {
    match sink != 0 && is_running(sink) {
        true => Err(fail!(State, "the writer is used by a function of its own sink")),
        false => Ok(()),
    }
}

/// A handle that ends. Dropping this frees it; until then it stays valid, because a function of its sink may
/// still use it.
struct CloseGuard(*mut zt_writer);

impl CloseGuard {
    /// # Safety
    /// [`deliver`] made the handle; it has not ended before, and nothing else uses it.
    unsafe fn new(handle: *mut zt_writer) -> Result<CloseGuard> {
        // SAFETY: it is alive. The number never changes, so a function of the sink may read it, too.
        check_not_in_sink(unsafe { (&raw const (*handle).sink).read() })?;
        Ok(CloseGuard(handle))
    }

    fn writer(&mut self) -> &mut Writer {
        // SAFETY: it is alive until this is dropped, and nothing else uses the writer.
        unsafe { &mut (*self.0).writer }
    }
}

impl Drop for CloseGuard {
    fn drop(&mut self) {
        // SAFETY: `deliver` boxed it.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// Makes the handle of a writer. `sink` is the number of its sink, or 0.
pub(in crate::capi) fn handle(
    mut writer: Writer,
    sink: u64,
    options: &zt_write_options,
) -> Result<*mut zt_writer> {
    if options.progress.is_some() {
        let progress = progress(options.progress, options.context);
        writer.on_progress(move |written| progress(written, 0))?;
    }
    Ok(Box::into_raw(try_box(zt_writer { writer, sink })?))
}

/// Begins a new file. It is written under another name beside path and replaces path atomically in
/// zt_write_finish. Until then the file at path stays unchanged.
///
/// path: used during the call only. options: NULL for the defaults. writer: receives the handle, NULL on
/// failure. End it with zt_write_finish or zt_write_abort.
/// If path is a symbolic link, its target is replaced or created. Permissions of a replaced file are kept; a
/// read-only file is ZT_ERROR_IO. If the folder is renamed while you write, zt_write_finish returns
/// ZT_ERROR_NO_FILE. Processes that have the old file open keep reading the old contents (docs/platforms.md
/// for Windows).
/// Returns ZT_ERROR_NO_FILE if the folder does not exist, ZT_ERROR_IO, ZT_ERROR_UNSUPPORTED for options that
/// the version cannot represent. Spec 1.2 section 4.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_create(
    path: *const c_char,
    options: *const zt_write_options,
    writer: Option<&mut MaybeUninit<*mut zt_writer>>,
) -> zt_status {
    deliver(writer, "writer", || {
        // SAFETY: path ends in a NUL; options is NULL or has the size it gives.
        let (path, options) = unsafe { (arg::path(path)?, arg::options(options)?) };
        handle(Writer::create(path, &options::writer_options(&options)?)?, 0, &options)
    })
}

/// Begins to add objects to a 1.1, 1.2 or 2 file, in place. Existing objects can be changed, too
/// (zt_write_remove, zt_write_rename, zt_write_attribute).
///
/// The old content stays valid until zt_write_finish. After a crash, the file is either complete, or zt_open
/// reports an interrupted append and zt_repair restores the old file. In a 1.1 or 1.2 file new objects follow
/// the rules of 1.2. If a new object uses what 1.1 lacks, the version of a 1.1 file becomes 1.2.0. It stays
/// 1.1 if an old object would not be valid in 1.2; the new object is written anyway (docs/versions.md).
/// The writer locks the file until it ends: other writers get ZT_ERROR_BUSY, and zt_open may get it, too.
/// Files that are open stay readable. Forked children share the lock. On file systems without locks the
/// library compares the file's identity, size and time before it writes; there two appends that begin at the
/// same moment can damage the file. zt_write_finish is ZT_ERROR_IO if the file was removed or replaced.
/// path, options, writer: as for zt_write_create. Returns what zt_open returns, ZT_ERROR_UNSUPPORTED for a
/// 0.1 or 1.0 file, ZT_ERROR_BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_append(
    path: *const c_char,
    options: *const zt_write_options,
    writer: Option<&mut MaybeUninit<*mut zt_writer>>,
) -> zt_status {
    deliver(writer, "writer", || {
        // SAFETY: path ends in a NUL; options is NULL or has the size it gives.
        let (path, options): (_, zt_write_options) = unsafe { (arg::path(path)?, arg::options(options)?) };
        if options.spec != 0 {
            return Err(fail!(
                InvalidArgument,
                "spec must be 0, because an append keeps the version of the file"
            ));
        }
        let described = options::writer_options(&options)?;
        appending(Writer::open_to_append(path)?, path, &described, &options)
    })
}

#[inline(never)] // so that its stack is not there while the file is opened
fn appending(
    file: ToAppend,
    path: &Path,
    described: &WriterOptions,
    options: &zt_write_options,
) -> Result<*mut zt_writer> {
    handle(Writer::append_to(file, path, described)?, 0, options)
}

/// Opens an object that is written in pieces: call zt_write_component for each component, zt_write_data for
/// its bytes, then zt_write_end.
/// desc: without components; nothing is kept after the call.
/// Returns ZT_ERROR_STATE if an object is open, else as zt_write_object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_begin(
    writer: Option<&mut zt_writer>,
    desc: *const zt_object_desc,
) -> zt_status {
    with_writer(writer, |writer| {
        // SAFETY: the struct is as documented.
        unsafe {
            let desc: zt_object_desc = arg::required_struct(desc)?;
            if desc.component_count != 0 || !desc.components.is_null() {
                return Err(fail!(
                    InvalidArgument,
                    "zt_write_begin takes no components; write them one by one"
                ));
            }
            writer.begin(&options::object_spec(&desc)?, options::attributes(&desc)?)
        }
    })
}

/// Opens a component of the open object. That ends the previous component.
///
/// desc: nothing is kept after the call. With data the component is written whole. Without, give
/// zt_write_data exactly size bytes, or any number if size is 0.
/// Returns ZT_ERROR_STATE if no object is open, ZT_ERROR_EXISTS if the role is taken, ZT_ERROR_BUFFER_SIZE if
/// the previous component has another size than announced, else as zt_write_dense.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_component(
    writer: Option<&mut zt_writer>,
    desc: *const zt_component_desc,
) -> zt_status {
    with_writer(writer, |writer| {
        // SAFETY: the struct is as documented.
        let (spec, data) = unsafe { options::component_spec(&arg::required_struct(desc)?)? };
        match data {
            Some(data) => writer.component_whole(&spec, data),
            None => writer.component(&spec),
        }
    })
}

/// Adds bytes to the open component, in the host's byte order. A call may end within an element. Nothing is
/// kept after the call.
/// Returns ZT_ERROR_STATE if no component is open, ZT_ERROR_BUFFER_SIZE if the bytes exceed the announced
/// size or the shape, ZT_ERROR_CORRUPT if they break a rule that zt_verify checks, ZT_ERROR_IO.
/// A refused call writes nothing, and you may call again, unless the writer has failed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_data(
    writer: Option<&mut zt_writer>,
    data: *const c_void,
    size: usize,
) -> zt_status {
    with_writer(writer, |writer| {
        // SAFETY: data has size bytes.
        writer.data(unsafe { arg::slice(data.cast::<u8>(), size, "data")? })
    })
}

/// Ends the open object.
/// Returns ZT_ERROR_STATE if none is open, ZT_ERROR_BUFFER_SIZE if a component has another size than
/// announced or than its shape needs (more zt_write_data may follow), ZT_ERROR_INVALID_ARGUMENT if a
/// component that the format needs is missing. After these failures the object stays open. After the
/// following ones the writer has failed: ZT_ERROR_IO; ZT_ERROR_CORRUPT if the components of a sparse or
/// quantized object do not fit each other; ZT_ERROR_UNSUPPORTED if, in canonical form, the streamed bytes
/// equal those of an earlier component.
#[unsafe(no_mangle)]
pub extern "C" fn zt_write_end(writer: Option<&mut zt_writer>) -> zt_status {
    with_writer(writer, |writer| writer.end())
}

/// The name of a copy.
///
/// # Safety
/// `new_name` is NULL, or a text as for `arg::sized_text`.
pub(in crate::capi) unsafe fn copied_name<'a>(
    object: &Object<'a>,
    new_name: *const c_char,
    new_name_length: usize,
) -> Result<&'a str> {
    match new_name.is_null() {
        true => object.text_name(),
        // SAFETY: the caller ensures this.
        false => unsafe { arg::sized_text(new_name, new_name_length, "new_name") },
    }
}

/// Writes the manifest, publishes the file and ends the writer, also on failure.
///
/// writer: NULL does nothing. summary: may be NULL.
/// Returns ZT_ERROR_STATE if an object is open or the writer has failed, ZT_ERROR_IO. On failure the
/// destination is unchanged, unless the message contains "in place": then the new file is there, but syncing
/// or cleaning up failed. Spec 1.2 section 4.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_finish(
    writer: *mut zt_writer,
    summary: *mut zt_write_summary,
) -> zt_status {
    if writer.is_null() {
        return crate::capi::status::value::ZT_OK as zt_status;
    }
    guard(|| {
        // SAFETY: one of the create functions made it, and this call ends it.
        let mut close_guard = unsafe { CloseGuard::new(writer)? };
        // SAFETY: summary is NULL or has the size it gives.
        unsafe { arg::struct_size(summary.cast_const())? };
        let writer = close_guard.writer();
        let did = writer.finish().map_err(|e| writer.abort(e))?;
        let filled = of_fields!(zt_write_summary {
            file_size, objects, components, stored_bytes, data_bytes, damaged
        } of did);
        // SAFETY: summary is NULL or has the size it gives.
        unsafe { arg::fill(summary, filled) }
    })
}

/// Ends the writer and leaves the destination as it was. If an append cannot be undone because the disk
/// fails, zt_open returns ZT_ERROR_CORRUPT, and zt_repair undoes it. If the system refuses to truncate the
/// file (Windows, while it is mapped), extra bytes stay at its end; its old content is intact.
/// writer: NULL does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_abort(writer: *mut zt_writer) {
    if !writer.is_null() {
        // SAFETY: one of the create functions made it, and this call ends it.
        guard_value((), || drop(unsafe { CloseGuard::new(writer) }));
    }
}
