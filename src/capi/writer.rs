//! Writing: create or append, objects at once or piece by piece, finish or abort.

use super::arg;
use super::callback::{is_running, zt_sink, CallbackSink};
use super::guard::{guard, guard_value};
use super::object::zt_object;
use super::status::zt_status;
use super::writer_options::{
    self as description, zt_component_desc, zt_object_desc, zt_write_summary, zt_writer_options,
};
use crate::error::{fail, Result};
use crate::io::boxed;
use crate::lock::Lock;
use crate::writer::Writer;
use std::collections::VecDeque;
use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr::null_mut;

/// A file that is being written. It belongs to one thread at a time.
///
/// A call that fails leaves it as it was before the call, unless writing itself failed (ZT_ERROR_IO,
/// ZT_ERROR_CANCELLED or what a sink returned): then it has failed for good, every further call but
/// zt_writer_abort is ZT_ERROR_STATE, and the destination is as it was before the writer.
///
/// A writer that was finished or aborted is still told from a live one for a while: calls on it give
/// ZT_ERROR_STATE. Do not count on that; the memory goes to other writers in the end.
pub struct zt_writer {
    /// None once it is finished.
    writer: Vec<Writer>,
    /// The caller's sink that it writes to; 0 for a file.
    sink: u64,
}

/// The writer behind a handle that is not finished.
pub(super) fn open(handle: Option<&mut zt_writer>) -> Result<&mut Writer> {
    let handle = arg::required(handle, "writer")?;
    // SAFETY: a reference.
    unsafe { not_in_its_sink(handle)? };
    handle.writer.first_mut().ok_or_else(|| fail!(State, "the writer is finished"))
}

/// A sink's function that uses its own writer would change it under the call that it belongs to.
///
/// # Safety
/// The handle is one, live or finished.
unsafe fn not_in_its_sink(handle: *const zt_writer) -> Result<()> {
    // SAFETY: as above; the number never changes.
    let sink = unsafe { (*handle).sink };
    if sink != 0 && is_running(sink) {
        return Err(fail!(State, "the writer is used by a function of its own sink"));
    }
    Ok(())
}

fn deliver(
    out: Option<&mut MaybeUninit<*mut zt_writer>>,
    make: impl FnOnce() -> Result<(Writer, u64)>,
) -> zt_status {
    let Some(out) = out else {
        return guard(|| Err(fail!(InvalidArgument, "the place for the writer is NULL")));
    };
    out.write(null_mut());
    guard(|| {
        let (mut shell, mut writer) = (Vec::new(), Vec::new());
        shell.try_reserve_exact(1)?;
        writer.try_reserve_exact(1)?;
        let (made, sink) = make()?;
        writer.push(made);
        shell.push(zt_writer { writer, sink });
        out.write(Box::into_raw(shell.into_boxed_slice()).cast::<zt_writer>());
        Ok(())
    })
}

/// The handles that were finished last, kept so that a call on one of them finds it finished.
static FINISHED: Lock<VecDeque<Shell>> = Lock::new(VecDeque::new());

/// A finished handle: nothing is behind it any more.
struct Shell(*mut zt_writer);

// SAFETY: only moved about, and freed by whoever takes it out of the queue.
unsafe impl Send for Shell {}

/// Parks a finished handle, and frees the one that has been there longest.
fn retire(handle: *mut zt_writer) {
    const KEPT: usize = 256;
    let oldest = {
        let mut finished = FINISHED.hold();
        if finished.iter().any(|shell| std::ptr::eq(shell.0, handle)) {
            return; // finished twice
        }
        if finished.try_reserve(1).is_err() {
            Some(Shell(handle))
        } else {
            finished.push_back(Shell(handle));
            if finished.len() > KEPT {
                finished.pop_front()
            } else {
                None
            }
        }
    };
    if let Some(Shell(oldest)) = oldest {
        // SAFETY: `deliver` boxed a slice of one, and the queue held it once.
        drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(oldest, 1)) });
    }
}

/// Begins a new file. It grows beside path under another name and takes path's place, atomically, at
/// zt_writer_finish; until then whatever is at path stays as it is.
///
/// path: NUL-ended, used only during the call. Behind a symbolic link its target is replaced. A
/// replaced file's permissions are kept; a read-only one is ZT_ERROR_IO. options: NULL for the
/// defaults. writer: receives the handle, NULL on failure; end it with zt_writer_finish or
/// zt_writer_abort.
/// Returns ZT_ERROR_IO, ZT_ERROR_INVALID_ARGUMENT, ZT_ERROR_OUT_OF_MEMORY.
/// Threads: any. Since 1.0. Spec 1.2 section 4.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_writer_create(
    path: *const c_char,
    options: *const zt_writer_options,
    writer: Option<&mut MaybeUninit<*mut zt_writer>>,
) -> zt_status {
    deliver(writer, || {
        // SAFETY: "path: NUL-ended"; options NULL or of the size it says.
        let (path, options) = unsafe { (arg::path(path)?, arg::options(options)?) };
        Ok((Writer::create(path, &description::writer_options(&options)?)?, 0))
    })
}

/// Begins to add objects to an existing 1.1 or 1.2 file, in place.
///
/// What is there stays whole until the new manifest is safely behind it: a crash at any moment leaves
/// either the new file or the old bytes followed by an unfinished append, which zt_open names and
/// zt_repair cuts off. The old manifest is carried over as it is, unknown fields included, and its
/// place becomes padding. The file's version is raised to 1.2.0 where 1.2 features are added, unless
/// an object that is there would break a rule of 1.2; then the version stays, as the released writers
/// leave it. File attributes that are set replace those of the same key.
/// path, options, writer: as zt_writer_create; spec_version must be ZT_SPEC_DEFAULT.
/// Returns what zt_open returns, ZT_ERROR_UNSUPPORTED for a 0.1 or 1.0 file.
/// Threads: any; nobody else may be writing the file. Since 1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_writer_append(
    path: *const c_char,
    options: *const zt_writer_options,
    writer: Option<&mut MaybeUninit<*mut zt_writer>>,
) -> zt_status {
    deliver(writer, || {
        // SAFETY: "path: NUL-ended"; options NULL or of the size it says.
        let (path, options): (_, zt_writer_options) = unsafe { (arg::path(path)?, arg::options(options)?) };
        if options.spec_version != 0 {
            return Err(fail!(InvalidArgument, "spec_version is given, but appending follows the file"));
        }
        Ok((Writer::append(path, &description::writer_options(&options)?)?, 0))
    })
}

/// Begins a file that goes to the caller's functions, front to back, never seeking.
///
/// sink: copied during the call; not NULL. Its close function is called once, also when this call
/// fails. A function of it that uses the writer gets ZT_ERROR_STATE. options: NULL for the defaults;
/// durable does not matter. writer: as zt_writer_create.
/// Threads: any; the functions are called from the thread that uses the writer. Since 1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_writer_create_sink(
    sink: *const zt_sink,
    options: *const zt_writer_options,
    writer: Option<&mut MaybeUninit<*mut zt_writer>>,
) -> zt_status {
    deliver(writer, || {
        // SAFETY: sink of the size it says.
        let sink = CallbackSink::new(unsafe { arg::required_struct(sink)? })?;
        // SAFETY: options NULL or of the size it says.
        let options = unsafe { arg::options(options)? };
        let id = sink.id();
        Ok((Writer::to_sink(boxed(sink)?, &description::writer_options(&options)?)?, id))
    })
}

/// Opens an object that is written piece by piece: zt_write_component for each component, and
/// zt_write_data for its bytes, as often as you like, then zt_write_end.
///
/// desc: not NULL, without components; nothing is kept after the call.
/// Returns ZT_ERROR_STATE if an object is open already, else as zt_write_object.
/// Threads: one at a time. Since 1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_begin(
    writer: Option<&mut zt_writer>,
    desc: *const zt_object_desc,
) -> zt_status {
    guard(|| {
        let writer = open(writer)?;
        // SAFETY: as the doc and the fields say.
        unsafe {
            let desc: zt_object_desc = arg::required_struct(desc)?;
            if desc.component_count != 0 || !desc.components.is_null() {
                return Err(fail!(
                    InvalidArgument,
                    "zt_write_begin takes no components; write them one by one"
                ));
            }
            writer.begin(&description::object_spec(&desc)?, description::attributes(&desc)?)
        }
    })
}

/// Opens a component of the open object; the one before it ends.
///
/// desc: not NULL; nothing is kept after the call. With data the component is written whole, and no
/// zt_write_data follows. Without, its bytes are streamed; if size is not 0, that many have to come.
/// Returns ZT_ERROR_STATE if no object is open, ZT_ERROR_EXISTS if the role is taken,
/// ZT_ERROR_BUFFER_SIZE if the component before it got another size than it announced, else as
/// zt_write_dense.
/// Threads: one at a time. Since 1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_component(
    writer: Option<&mut zt_writer>,
    desc: *const zt_component_desc,
) -> zt_status {
    guard(|| {
        let writer = open(writer)?;
        // SAFETY: as the doc and the fields say.
        let (spec, data) = unsafe { description::component_spec(&arg::required_struct(desc)?)? };
        match data {
            Some(data) => writer.component_whole(&spec, data),
            None => writer.component(&spec),
        }
    })
}

/// Adds bytes to the open component, in the host's byte order. A call may end within an element.
///
/// data, size: (NULL, 0) adds nothing. Nothing is kept after the call.
/// Returns ZT_ERROR_STATE if no component is open for streaming, ZT_ERROR_BUFFER_SIZE if more comes
/// than was announced or than the shape of a dense object takes, ZT_ERROR_IO.
/// Threads: one at a time. Since 1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_data(
    writer: Option<&mut zt_writer>,
    data: *const c_void,
    size: usize,
) -> zt_status {
    guard(|| {
        let writer = open(writer)?;
        // SAFETY: size bytes at data.
        writer.data(unsafe { arg::slice(data.cast::<u8>(), size, "data")? })
    })
}

/// Ends the open object.
///
/// Returns ZT_ERROR_STATE if none is open, ZT_ERROR_BUFFER_SIZE if a component has another size than
/// announced or than the shape of a dense object takes (more zt_write_data may follow),
/// ZT_ERROR_INVALID_ARGUMENT if a component that the format requires is missing.
/// Threads: one at a time. Since 1.0.
#[unsafe(no_mangle)]
pub extern "C" fn zt_write_end(writer: Option<&mut zt_writer>) -> zt_status {
    guard(|| open(writer)?.end())
}

/// Copies an object of an open file as it is stored: its bytes are not decoded, its digests and
/// attributes stay. Each copy has bytes of its own: components that are the same bytes of the file (tied
/// weights) are written once for each, so the sum of zt_component_stored_size says how much is written.
///
/// object: of any open file; not NULL. new_name: NUL-ended; NULL for the same name.
/// Returns ZT_ERROR_UNSUPPORTED if the version to be written cannot say it (an unknown encoding in
/// 0.1), else as zt_write_dense and zt_component_read.
/// Threads: one at a time for writer, any for object. Since 1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_copy(
    writer: Option<&mut zt_writer>,
    object: Option<&zt_object>,
    new_name: *const c_char,
) -> zt_status {
    guard(|| {
        let writer = open(writer)?;
        let object = arg::required(object, "object")?.object()?;
        let name = if new_name.is_null() {
            object.name()
        } else {
            // SAFETY: "new_name: NUL-ended".
            unsafe { arg::text(new_name, "new_name")? }
        };
        writer.copy(object, name)
    })
}

/// Writes manifest and footer, publishes the file, and ends the writer, whatever is returned.
///
/// writer: NULL is ZT_OK and does nothing. summary: may be NULL; set struct_size; filled on success,
/// untouched on failure.
/// Returns ZT_ERROR_STATE if an object is open, the writer has failed or is finished already,
/// ZT_ERROR_IO. On failure the destination is as it was before the writer, but for
/// what comes when the new one stands and whose messages say "in place": a folder that could not be
/// synced after the rename; after an append, an old manifest that could not be cleared, or that last sync.
/// Threads: one at a time. Since 1.0. Spec 1.2 section 4.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_writer_finish(
    writer: *mut zt_writer,
    summary: *mut zt_write_summary,
) -> zt_status {
    if writer.is_null() {
        return super::status::value::ZT_OK as zt_status;
    }
    // SAFETY: as below.
    if let Err(e) = unsafe { not_in_its_sink(writer) } {
        return guard(|| Err(e));
    }
    // SAFETY: from one of the create functions; finished ones are kept for a while.
    let taken = guard_value(None, || unsafe { (*writer).writer.pop() });
    let status = guard(|| {
        let mut open = taken.ok_or_else(|| fail!(State, "the writer is finished"))?;
        // SAFETY: summary NULL or of the size it says.
        unsafe { arg::struct_size(summary.cast_const())? };
        let did = open.finish()?;
        let filled = zt_write_summary {
            struct_size: 0,
            file_size: did.file_size,
            objects: did.objects,
            components: did.components,
            stored_bytes: did.stored_bytes,
            data_bytes: did.data_bytes,
        };
        // SAFETY: summary NULL or of the size it says.
        unsafe { arg::fill(summary, filled) }
    });
    guard_value((), || retire(writer));
    status
}

/// Ends the writer and leaves the destination as it was before.
///
/// writer: NULL is fine, and one that is finished. Threads: one at a time. Since 1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_writer_abort(writer: *mut zt_writer) {
    if writer.is_null() {
        return;
    }
    guard_value((), || {
        // SAFETY: as below.
        if unsafe { not_in_its_sink(writer) }.is_err() {
            return;
        }
        // SAFETY: from one of the create functions; finished ones are kept for a while.
        drop(unsafe { (*writer).writer.pop() });
        retire(writer);
    });
}
