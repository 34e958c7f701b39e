//! Files: opening, counting references, what they say of themselves.

use super::arg;
use super::guard::{deliver, guard_value};
pub use super::handle_table::zt_file;
use super::handle_table::zt_object;
use super::open_options::{opened, zt_open_options};
use super::status::zt_status;
use super::value_record::{address, zt_value};
use crate::error::{fail, Result};
use crate::reader::File;
use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::null;

/// Opens the file at path. The content decides the container (docs/formats.md), not the name.
///
/// path: used during the call only. options: NULL for the defaults. file: receives the handle, NULL on
/// failure. End it with zt_close.
/// Time and memory are proportional to the manifest. Tensor bytes are read only if options.verify is set.
/// Returns ZT_ERROR_NO_FILE, ZT_ERROR_IO (also a folder or FIFO), ZT_ERROR_UNKNOWN_CONTAINER,
/// ZT_ERROR_CORRUPT, ZT_ERROR_LIMIT, ZT_ERROR_UNSUPPORTED (another major version; a file that cannot be
/// mapped), ZT_ERROR_BUSY (the file keeps changing, or an append is in progress). With options.verify also
/// ZT_ERROR_DIGEST_MISMATCH. If an append was interrupted, ZT_ERROR_CORRUPT: zt_repair restores the file.
/// Spec 1.2 section 5.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_open(
    path: *const c_char,
    options: *const zt_open_options,
    file: Option<&mut MaybeUninit<*mut zt_file>>,
) -> zt_status {
    deliver(file, "file", || {
        // SAFETY: "path: NUL-ended"; options NULL or of the size it says.
        unsafe { opened(options, |wanted| File::open(arg::path(path)?, wanted)) }
    })
}

/// Opens a file inside a larger one, such as an archive that stores it uncompressed.
///
/// fd: a descriptor of a regular file; the library duplicates it, so you may close it. offset, length: the
/// range; ZT_WHOLE as length goes to the end.
/// Pointers have the alignment of offset. If that is less than the element size, zt_component_ptr fails.
/// options, file, statuses: as for zt_open. ZT_ERROR_UNSUPPORTED on Windows: use zt_open_handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_open_fd(
    fd: c_int,
    offset: u64,
    length: u64,
    options: *const zt_open_options,
    file: Option<&mut MaybeUninit<*mut zt_file>>,
) -> zt_status {
    deliver(file, "file", || {
        // SAFETY: options NULL or of the size it says.
        unsafe { opened(options, |wanted| File::open_file(duplicate(fd)?, offset, length, wanted)) }
    })
}

#[cfg(unix)]
fn duplicate(fd: c_int) -> Result<std::fs::File> {
    use std::os::fd::BorrowedFd;
    if fd < 0 {
        return Err(fail!(InvalidArgument, "{fd} is no file descriptor"));
    }
    // SAFETY: only borrowed for the duplication; a descriptor that is not open makes that fail.
    let duplicate = unsafe { BorrowedFd::borrow_raw(fd) }.try_clone_to_owned();
    let owned = duplicate.map_err(|e| crate::error::Error::io("could not duplicate the descriptor", &e))?;
    Ok(std::fs::File::from(owned))
}

#[cfg(not(unix))]
fn duplicate(_fd: c_int) -> Result<std::fs::File> {
    Err(fail!(Unsupported, "zt_open_fd needs file descriptors; zt_open_handle takes a HANDLE"))
}

/// Opens a file inside a larger one on Windows.
///
/// handle: a readable HANDLE of a disk file; the library duplicates it, so you may close it. The duplicate
/// shares the file pointer. The library moves it but never relies on it. Handles with FILE_FLAG_OVERLAPPED or
/// FILE_FLAG_NO_BUFFERING are ZT_ERROR_INVALID_ARGUMENT. Direct reads open the file again and need
/// FILE_SHARE_READ.
/// offset, length: as for zt_open_fd. options, file, statuses: as for zt_open. ZT_ERROR_IO if handle is not a
/// file. ZT_ERROR_UNSUPPORTED on other systems: use zt_open_fd.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_open_handle(
    handle: *mut c_void,
    offset: u64,
    length: u64,
    options: *const zt_open_options,
    file: Option<&mut MaybeUninit<*mut zt_file>>,
) -> zt_status {
    deliver(file, "file", || {
        // SAFETY: options NULL or of the size it says.
        unsafe {
            opened(options, |wanted| File::open_file(duplicate_handle(handle)?, offset, length, wanted))
        }
    })
}

#[cfg(windows)]
fn duplicate_handle(handle: *mut c_void) -> Result<std::fs::File> {
    use std::os::windows::io::{AsRawHandle, BorrowedHandle};
    use windows_sys::Wdk::Storage::FileSystem::{
        FILE_NO_INTERMEDIATE_BUFFERING, FILE_SYNCHRONOUS_IO_ALERT, FILE_SYNCHRONOUS_IO_NONALERT,
    };
    use windows_sys::Win32::Foundation::INVALID_HANDLE_VALUE;
    use windows_sys::Win32::Storage::FileSystem::{GetFileType, FILE_TYPE_DISK};
    if handle.is_null() || handle == INVALID_HANDLE_VALUE {
        return Err(fail!(InvalidArgument, "NULL and INVALID_HANDLE_VALUE are no handle"));
    }
    // SAFETY: only borrowed for the duplication; a handle that is not open makes that fail.
    let duplicate = unsafe { BorrowedHandle::borrow_raw(handle) }.try_clone_to_owned();
    let owned = duplicate.map_err(|e| crate::error::Error::io("could not duplicate the handle", &e))?;
    // SAFETY: a handle that is open.
    if unsafe { GetFileType(owned.as_raw_handle()) } != FILE_TYPE_DISK {
        return Err(fail!(Io, "the handle is of no file on a disk"));
    }
    let file = std::fs::File::from(owned);
    match file_mode(&file) {
        Some(mode) if mode & (FILE_SYNCHRONOUS_IO_ALERT | FILE_SYNCHRONOUS_IO_NONALERT) == 0 => {
            Err(fail!(InvalidArgument, "the handle was opened with FILE_FLAG_OVERLAPPED"))
        }
        Some(mode) if mode & FILE_NO_INTERMEDIATE_BUFFERING != 0 => {
            Err(fail!(InvalidArgument, "the handle was opened with FILE_FLAG_NO_BUFFERING"))
        }
        _ => Ok(file),
    }
}

/// How a file was opened; none where the system does not say. Only the native interface has a call for it.
#[cfg(windows)]
fn file_mode(file: &std::fs::File) -> Option<u32> {
    use std::os::windows::io::AsRawHandle;
    use windows_sys::Wdk::Storage::FileSystem::{
        FileModeInformation, NtQueryInformationFile, FILE_MODE_INFORMATION,
    };
    use windows_sys::Win32::System::IO::IO_STATUS_BLOCK;
    let (mut outcome, mut info) = (IO_STATUS_BLOCK::default(), FILE_MODE_INFORMATION::default());
    let size = size_of::<FILE_MODE_INFORMATION>() as u32;
    // SAFETY: a handle that is open, and structs that live here, one of the size that is said.
    let status = unsafe {
        NtQueryInformationFile(
            file.as_raw_handle(),
            &raw mut outcome,
            (&raw mut info).cast(),
            size,
            FileModeInformation,
        )
    };
    (status == 0).then_some(info.Mode)
}

#[cfg(not(windows))]
fn duplicate_handle(_handle: *mut c_void) -> Result<std::fs::File> {
    Err(fail!(Unsupported, "zt_open_handle needs handles of Windows; zt_open_fd takes a file descriptor"))
}

/// Memory of the caller's.
struct Borrowed(*const u8, usize);

// SAFETY: only read, and "the bytes stay as they are until the last zt_close".
unsafe impl Send for Borrowed {}
// SAFETY: as above.
unsafe impl Sync for Borrowed {}

impl AsRef<[u8]> for Borrowed {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: checked by `arg::slice` when this was made, and kept by the caller since.
        unsafe { std::slice::from_raw_parts(self.0, self.1) }
    }
}

/// Opens a file that is in memory.
///
/// data, size: not copied; must stay valid and unchanged until the last zt_close. Borrowed pointers have the
/// alignment of data. If that is less than the element size, zt_component_ptr fails.
/// options: mode and advice are ignored. file, statuses: as for zt_open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_open_memory(
    data: *const c_void,
    size: usize,
    options: *const zt_open_options,
    file: Option<&mut MaybeUninit<*mut zt_file>>,
) -> zt_status {
    deliver(file, "file", || {
        // SAFETY: "data, size: its bytes".
        let bytes = unsafe { arg::slice(data.cast::<u8>(), size, "data")? };
        let bytes = Borrowed(bytes.as_ptr(), bytes.len());
        // SAFETY: options NULL or of the size it says.
        unsafe { opened(options, |wanted| File::open_memory(bytes, wanted)) }
    })
}

/// Adds a reference; call zt_close once more. Returns file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_retain(file: *mut zt_file) -> *mut zt_file {
    // SAFETY: NULL or an open file, of which the caller owns a reference.
    if let Some(file) = unsafe { file.as_ref() } {
        file.retain();
    }
    file
}

/// Releases a reference. The last one closes the file and ends everything borrowed from it. Buffers of
/// zt_component_load hold their own reference.
/// No other thread may use the reference that is released.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_close(file: *mut zt_file) {
    if !file.is_null() {
        // SAFETY: an open file, of which the caller owns a reference.
        guard_value((), || unsafe { zt_file::release(file) });
    }
}

/// The version in the file: "0.1.0", "1.0", "1.1.0", "1.2.0"; "" if the container has none. Of a model, the
/// version of part 0.
#[unsafe(no_mangle)]
pub extern "C" fn zt_file_version(file: Option<&zt_file>) -> *const c_char {
    let Some(file) = file else { return null() };
    let manifest = file.file().manifest();
    manifest.version_text.map_or(null(), |t| manifest.texts.get_c_bytes(t).as_ptr().cast())
}

/// The file's attributes, a map; NULL if absent. Of a model, those of part 0.
#[unsafe(no_mangle)]
pub extern "C" fn zt_file_attributes(file: Option<&zt_file>) -> *const zt_value {
    address(file.and_then(|f| f.file().attributes()))
}

/// Number of objects.
#[unsafe(no_mangle)]
pub extern "C" fn zt_object_count(file: Option<&zt_file>) -> usize {
    file.map_or(0, |f| f.file().object_count())
}

/// The object at index, in file order, part by part; NULL if index is not below zt_object_count.
#[unsafe(no_mangle)]
pub extern "C" fn zt_object_at(file: Option<&zt_file>, index: usize) -> *const zt_object {
    file.map_or(null(), |f| f.object_handle(index))
}

/// The object of that name; NULL if absent. The first one if a 0.1 file has several.
/// name: the bytes of zt_object_name, NUL-ended. For names that contain a NUL, use zt_object_find_n.
/// A missing object is not a failure: zt_last_error stays unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_object_find(file: Option<&zt_file>, name: *const c_char) -> *const zt_object {
    let Some(file) = file else { return null() };
    if name.is_null() {
        return null();
    }
    // SAFETY: "name: NUL-ended".
    find(file, unsafe { std::ffi::CStr::from_ptr(name) }.to_bytes())
}

/// As zt_object_find, for a name of length bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_object_find_n(
    file: Option<&zt_file>,
    name: *const c_char,
    length: usize,
) -> *const zt_object {
    let Some(file) = file else { return null() };
    // SAFETY: "that many bytes".
    unsafe { arg::slice(name.cast::<u8>(), length, "name") }.map_or(null(), |name| find(file, name))
}

/// A lookup is a hash and a comparison, which cannot fail: no guard, which would cost as much again.
fn find(file: &zt_file, name: &[u8]) -> *const zt_object {
    file.file().find_position(name).map_or(null(), |at| file.handles().address(at).cast())
}

const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<File>(); // "any number of threads may use it at once"
};

#[cfg(all(test, windows))]
mod tests {
    use super::*;
    use crate::reader::OpenOptions;
    use std::os::windows::io::AsRawHandle;

    #[test]
    fn a_part_is_opened_by_handle_and_the_handle_stays_the_callers() {
        let bytes = std::fs::read("tests/data/v1.2/py-1.2.3-all-dtypes.zt").unwrap();
        let path = std::env::temp_dir().join(format!("ztensor-handle-{}", std::process::id()));
        for offset in [0, 777, 65536, 70001] {
            std::fs::write(&path, [vec![9; offset], bytes.clone(), vec![9; 100]].concat()).unwrap();
            let handle = std::fs::File::open(&path).unwrap();
            let duplicate = duplicate_handle(handle.as_raw_handle()).unwrap();
            assert_ne!(duplicate.as_raw_handle(), handle.as_raw_handle());
            let wanted = OpenOptions::default();
            let file = File::open_file(duplicate, offset as u64, bytes.len() as u64, &wanted).unwrap();
            assert_eq!(handle.metadata().unwrap().len(), (offset + bytes.len() + 100) as u64);
            drop(handle);
            assert_eq!((file.size(), file.object_count()), (bytes.len() as u64, 13));
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn how_a_file_was_opened_is_known() {
        use std::os::windows::fs::OpenOptionsExt;
        use windows_sys::Win32::Storage::FileSystem::{FILE_FLAG_NO_BUFFERING, FILE_FLAG_OVERLAPPED};
        let open = |flags| {
            let mut options = std::fs::OpenOptions::new();
            options.read(true).custom_flags(flags).open("tests/data/v1.2/py-1.2.3-all-dtypes.zt").unwrap()
        };
        for (flags, refused) in [(0, false), (FILE_FLAG_OVERLAPPED, true), (FILE_FLAG_NO_BUFFERING, true)] {
            let file = open(flags);
            println!("{flags:x}: {:?}", file_mode(&file));
            let duplicate = duplicate_handle(file.as_raw_handle());
            assert_eq!(
                duplicate.err().map(|e| e.cause()),
                refused.then_some(crate::error::Cause::InvalidArgument)
            );
        }
    }
}
