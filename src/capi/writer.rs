//! Writing: create or append, objects at once or piece by piece, finish or abort.

use super::arg;
use super::guard::{deliver, guard, guard_value};
use super::running_sink::is_running;
use super::status::zt_status;
use super::writer_options::{self, zt_component_desc, zt_object_desc, zt_write_options, zt_write_summary};
use crate::error::{fail, Result};
use crate::memory::try_box;
use crate::reader::Object;
use crate::writer::{ToAppend, Writer, WriterOptions};
use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;
use std::path::Path;

/// A file that is being written. It belongs to one thread at a time.
///
/// A call that fails leaves it as it was before the call, unless writing itself failed (ZT_ERROR_IO,
/// ZT_ERROR_CANCELLED, what a sink returned, or ZT_ERROR_OUT_OF_MEMORY while bytes were on their way): then it has
/// failed for good, every further call but zt_write_abort is ZT_ERROR_STATE, and the destination is as it was before
/// the writer. What a call has accepted zt_write_finish can write.
pub struct zt_writer {
    writer: Writer,
    /// The caller's sink that it writes to; 0 for a file.
    sink: u64,
}

/// The writer behind a handle.
pub(super) fn open(handle: Option<&mut zt_writer>) -> Result<&mut Writer> {
    let handle = arg::required(handle, "writer")?;
    check_not_in_sink(handle.sink)?;
    Ok(&mut handle.writer)
}

/// A sink's function that uses its own writer would change it under the call that it belongs to.
fn check_not_in_sink(sink: u64) -> Result<()> {
    match sink != 0 && is_running(sink) {
        true => Err(fail!(State, "the writer is used by a function of its own sink")),
        false => Ok(()),
    }
}

/// A handle that ends: dropping this frees it. Until then it stays where it is, as a function of its own sink may
/// still ask for it.
struct CloseGuard(*mut zt_writer);

impl CloseGuard {
    /// # Safety
    /// The handle came from [`deliver`] and did not end before; nobody else uses it.
    unsafe fn new(handle: *mut zt_writer) -> Result<CloseGuard> {
        // SAFETY: alive; the number never changes, so a function of the sink may look at it, too.
        check_not_in_sink(unsafe { (&raw const (*handle).sink).read() })?;
        Ok(CloseGuard(handle))
    }

    fn writer(&mut self) -> &mut Writer {
        // SAFETY: alive until this is dropped, and nobody else uses the writer.
        unsafe { &mut (*self.0).writer }
    }
}

impl Drop for CloseGuard {
    fn drop(&mut self) {
        // SAFETY: `deliver` boxed it.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// The handle of a writer, to the sink of that number or 0.
pub(super) fn handle(writer: Writer, sink: u64, options: &zt_write_options) -> Result<*mut zt_writer> {
    let writer = writer_options::reporting(writer, options)?;
    Ok(Box::into_raw(try_box(zt_writer { writer, sink })?))
}

/// Begins a new file. It grows beside path under another name and takes path's place, atomically, at
/// zt_write_finish; until then whatever is at path stays as it is.
///
/// path: NUL-ended, used only during the call. Behind a symbolic link its target is replaced, or created where there
/// is none, and the link stays. A replaced file's permissions are kept; a read-only one is ZT_ERROR_IO. The folder
/// has to keep its path until the writer ends: if it is renamed meanwhile, zt_write_finish is ZT_ERROR_NO_FILE and
/// the unfinished file stays in it. options: NULL for the defaults. writer: receives the handle, NULL on failure; end
/// it with zt_write_finish or zt_write_abort.
/// Who has the replaced file open reads what it was, to the end. Windows replaces a file that is open since Windows 10, on
/// file systems that can (NTFS), if whoever opened it shares it for deletion, as this library does; elsewhere, and where it
/// will not give up a file that is mapped, zt_write_finish is ZT_ERROR_IO and the file at path stays.
/// Returns ZT_ERROR_NO_FILE (no such folder), ZT_ERROR_IO, ZT_ERROR_UNSUPPORTED (options that the version cannot
/// represent), ZT_ERROR_INVALID_ARGUMENT, ZT_ERROR_OUT_OF_MEMORY.
/// Threads: any. Spec 1.2 section 4.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_create(
    path: *const c_char,
    options: *const zt_write_options,
    writer: Option<&mut MaybeUninit<*mut zt_writer>>,
) -> zt_status {
    deliver(writer, "writer", || {
        // SAFETY: "path: NUL-ended"; options NULL or of the size it says.
        let (path, options) = unsafe { (arg::path(path)?, arg::options(options)?) };
        handle(Writer::create(path, &writer_options::writer_options(&options)?)?, 0, &options)
    })
}

/// Begins to add objects to an existing 1.1, 1.2 or 2 file, in place.
///
/// What is there stays whole until the new manifest is safely behind it: a crash at any moment leaves either the new
/// file or the old bytes followed by an unfinished append, which zt_open names and zt_repair cuts off. What is
/// appended does not matter for that: from its first write to its end a record of the append stands in the file's
/// head, and until it is gone zt_open refuses the file. A file without any data has no room for that record; a new
/// one takes its place at zt_write_finish. The old manifest is carried over as it is, unknown fields included, and
/// its place becomes padding. The file's version is raised to 1.2.0 where 1.2 features are added, unless an object
/// that is there would break a rule of 1.2; then the version stays, as the released writers leave it. What is added
/// keeps the rules of 1.2 either way: sparse indices are u64. File attributes that are set replace those of the same
/// key. What the file has can be edited: zt_write_remove.
/// A file of zTensor 2 has no place for a record, and its old ends stay: zt_repair cuts it back to the last of them.
///
/// The writer holds a lock on the file until it ends (flock; LockFileEx on a byte past the end on Windows), as
/// zt_repair does: the second of two is ZT_ERROR_BUSY. Readers are not stopped. Children that the process forks share
/// the lock, which lasts until the writer has ended and they have exited or called exec. Where a file system has no
/// locks, the file's identity, size and time are compared before the first write, identity and size again before the
/// new end counts. That is weaker: two appends that pass these checks at the same moment damage each other.
/// zt_write_finish is ZT_ERROR_IO if the file was removed, or replaced by another one, since this call.
/// path, options, writer: as zt_write_create; spec must be ZT_SPEC_DEFAULT.
/// Returns what zt_open returns, ZT_ERROR_UNSUPPORTED for a 0.1 or 1.0 file, ZT_ERROR_BUSY.
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_append(
    path: *const c_char,
    options: *const zt_write_options,
    writer: Option<&mut MaybeUninit<*mut zt_writer>>,
) -> zt_status {
    deliver(writer, "writer", || {
        // SAFETY: "path: NUL-ended"; options NULL or of the size it says.
        let (path, options): (_, zt_write_options) = unsafe { (arg::path(path)?, arg::options(options)?) };
        if options.spec != 0 {
            return Err(fail!(InvalidArgument, "spec is given, but appending follows the file"));
        }
        let described = writer_options::writer_options(&options)?;
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

/// Opens an object that is written piece by piece: zt_write_component for each component, and zt_write_data
/// for its bytes, as often as you like, then zt_write_end.
/// desc: not NULL, without components; nothing is kept after the call.
/// Returns ZT_ERROR_STATE if an object is open already, else as zt_write_object.
/// Threads: one at a time.
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
            writer.begin(&writer_options::object_spec(&desc)?, writer_options::attributes(&desc)?)
        }
    })
}

/// Opens a component of the open object; the one before it ends.
///
/// desc: not NULL; nothing is kept after the call. With data the component is written whole, and no
/// zt_write_data follows. Without, its bytes are streamed; if size is not 0, that many have to come.
/// Returns ZT_ERROR_STATE if no object is open, ZT_ERROR_EXISTS if the role is taken, ZT_ERROR_BUFFER_SIZE if the
/// component before it got another size than it announced, else as zt_write_dense.
/// Threads: one at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_component(
    writer: Option<&mut zt_writer>,
    desc: *const zt_component_desc,
) -> zt_status {
    guard(|| {
        let writer = open(writer)?;
        // SAFETY: as the doc and the fields say.
        let (spec, data) = unsafe { writer_options::component_spec(&arg::required_struct(desc)?)? };
        match data {
            Some(data) => writer.component_whole(&spec, data),
            None => writer.component(&spec),
        }
    })
}

/// Adds bytes to the open component, in the host's byte order. A call may end within an element.
/// data, size: (NULL, 0) adds nothing. Nothing is kept after the call.
/// Returns ZT_ERROR_STATE if no component is open for streaming, ZT_ERROR_BUFFER_SIZE if more comes than was
/// announced or than the shape of a dense object takes, ZT_ERROR_CORRUPT if the bytes break a rule that zt_verify
/// checks (as zt_write_dense; columns and row pointers of a sparse object that are out of range), ZT_ERROR_IO.
/// Bytes that are refused, but with ZT_ERROR_IO, count as not given. The row pointers of a sparse_csr object of
/// zTensor 2 and the coordinates of a sparse_coo object are kept in memory until the object ends.
/// Threads: one at a time.
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
/// Returns ZT_ERROR_STATE if none is open, ZT_ERROR_BUFFER_SIZE if a component has another size than announced or
/// than the shape of a dense object takes (more zt_write_data may follow), ZT_ERROR_INVALID_ARGUMENT if a
/// component that the format requires is missing, ZT_ERROR_UNSUPPORTED in canonical form if streamed bytes turn out to
/// be those of a component that is there, ZT_ERROR_CORRUPT if the parts of a sparse or quantized object do not belong
/// together or its positions break a rule, ZT_ERROR_IO. After the last two the writer has failed.
/// Threads: one at a time.
#[unsafe(no_mangle)]
pub extern "C" fn zt_write_end(writer: Option<&mut zt_writer>) -> zt_status {
    guard(|| open(writer)?.end())
}

/// The name of a copy.
///
/// # Safety
/// `new_name` is NULL, or a text as `arg::sized_text` has it.
pub(super) unsafe fn copied_name<'a>(
    object: &Object<'a>,
    new_name: *const c_char,
    new_name_length: usize,
) -> Result<&'a str> {
    match new_name.is_null() {
        true => object.text_name(),
        // SAFETY: passed on.
        false => unsafe { arg::sized_text(new_name, new_name_length, "new_name") },
    }
}

/// Writes manifest and footer, publishes the file, and ends the writer, whatever is returned.
///
/// writer: NULL is ZT_OK and does nothing. summary: may be NULL; set struct_size; untouched on failure.
/// Returns ZT_ERROR_STATE if an object is open or the writer has failed, ZT_ERROR_IO. On failure the destination is
/// as it was before the writer, but for what comes when the new one stands and whose messages say "in place": a folder
/// that could not be synced after the rename; after an append, an old manifest that could not be cleared or synced.
/// Threads: one at a time. Spec 1.2 section 4.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_finish(
    writer: *mut zt_writer,
    summary: *mut zt_write_summary,
) -> zt_status {
    if writer.is_null() {
        return super::status::value::ZT_OK as zt_status;
    }
    guard(|| {
        // SAFETY: from one of the create functions, and "ends the writer".
        let mut close_guard = unsafe { CloseGuard::new(writer)? };
        // SAFETY: summary NULL or of the size it says.
        unsafe { arg::struct_size(summary.cast_const())? };
        let writer = close_guard.writer();
        let did = writer.finish().map_err(|e| writer.abort(e))?;
        let filled = zt_write_summary {
            struct_size: 0,
            file_size: did.file_size,
            objects: did.objects,
            components: did.components,
            stored_bytes: did.stored_bytes,
            data_bytes: did.data_bytes,
            damaged: did.damaged,
        };
        // SAFETY: summary NULL or of the size it says.
        unsafe { arg::fill(summary, filled) }
    })
}

/// Ends the writer and leaves the destination as it was before. Where an append cannot be taken back (the disk
/// fails), zt_open says so, and zt_repair does it. Where the system refuses to make a file shorter (Windows, while it
/// is mapped), it is longer, and holds what it held. Nothing is returned, as by zt_close: the next zt_open
/// says what is left of the file.
/// writer: NULL is fine. Threads: one at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_write_abort(writer: *mut zt_writer) {
    if !writer.is_null() {
        // SAFETY: from one of the create functions, and "ends the writer".
        guard_value((), || drop(unsafe { CloseGuard::new(writer) }));
    }
}
