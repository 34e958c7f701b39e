//! Opens files, counts references, and returns properties of files.

use crate::capi::arg;
use crate::capi::attributes::value::{address, zt_value};
use crate::capi::guard::{deliver, guard, guard_value};
use crate::capi::handle_table::zt_object;
use crate::capi::opening::options::{opened, zt_open_options};
use crate::capi::sized::sized_struct;
use crate::capi::status::zt_status;
use crate::capi::types::names::zt_container;
use crate::error::{fail, Result};
use crate::memory::with_capacity;
use crate::reader::File;
use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::path::Path;
use std::ptr::null;

pub use crate::capi::handle_table::zt_file;

/// Opens one file. The content decides the container (docs/formats.md), not the name. For models use
/// zt_open_model.
///
/// path: used during the call only. options: NULL for the defaults. file: receives the handle, NULL on
/// failure. End it with zt_close.
/// Time and memory grow with the manifest, not with the tensors. Tensor bytes are read only if options.verify
/// is set. Returns ZT_ERROR_NO_FILE, ZT_ERROR_IO, ZT_ERROR_UNKNOWN_CONTAINER, ZT_ERROR_CORRUPT,
/// ZT_ERROR_LIMIT, ZT_ERROR_UNSUPPORTED (another major version; a file that cannot be mapped), ZT_ERROR_BUSY
/// (an append, an edit or a repair has not ended), and with options.verify ZT_ERROR_DIGEST_MISMATCH. If an
/// append was interrupted, ZT_ERROR_CORRUPT: zt_repair restores the file. Spec 1.2 section 5.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_open(
    path: *const c_char,
    options: *const zt_open_options,
    file: Option<&mut MaybeUninit<*mut zt_file>>,
) -> zt_status {
    deliver(file, "file", || {
        // SAFETY: path ends in a NUL; options is NULL or has the size it gives.
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
        // SAFETY: options is NULL or has the size it gives.
        unsafe { opened(options, |wanted| File::open_file(duplicate(fd)?, offset, length, wanted)) }
    })
}

#[cfg(unix)]
fn duplicate(fd: c_int) -> Result<std::fs::File> {
    use std::os::fd::BorrowedFd;
    if fd < 0 {
        return Err(fail!(InvalidArgument, "{fd} is not a file descriptor"));
    }
    // SAFETY: it is only borrowed to be duplicated; if it is not an open descriptor, that fails.
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
        // SAFETY: options is NULL or has the size it gives.
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
        return Err(fail!(InvalidArgument, "NULL and INVALID_HANDLE_VALUE are not handles"));
    }
    // SAFETY: it is only borrowed to be duplicated; if it is not an open handle, that fails.
    let duplicate = unsafe { BorrowedHandle::borrow_raw(handle) }.try_clone_to_owned();
    let owned = duplicate.map_err(|e| crate::error::Error::io("could not duplicate the handle", &e))?;
    // SAFETY: the handle is open.
    if unsafe { GetFileType(owned.as_raw_handle()) } != FILE_TYPE_DISK {
        return Err(fail!(Io, "the handle does not refer to a file on a disk"));
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

/// How the handle was opened; `None` if the system does not say. Only the native API has a call for this.
#[cfg(windows)]
fn file_mode(file: &std::fs::File) -> Option<u32> {
    use std::os::windows::io::AsRawHandle;
    use windows_sys::Wdk::Storage::FileSystem::{
        FileModeInformation, NtQueryInformationFile, FILE_MODE_INFORMATION,
    };
    use windows_sys::Win32::System::IO::IO_STATUS_BLOCK;
    let (mut outcome, mut info) = (IO_STATUS_BLOCK::default(), FILE_MODE_INFORMATION::default());
    let size = size_of::<FILE_MODE_INFORMATION>() as u32;
    // SAFETY: the handle is open, the structs are local, and the given size is right.
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

/// Opens a file that is in memory.
///
/// data, size: not copied; must stay valid and unchanged until the file is closed. Borrowed pointers point
/// into data. If it is not aligned for the elements, zt_component_ptr returns ZT_ERROR_NOT_MAPPABLE, and
/// zt_tensor_find copies.
/// options: mode and advice are ignored. file, statuses: as for zt_open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_open_memory(
    data: *const c_void,
    size: usize,
    options: *const zt_open_options,
    file: Option<&mut MaybeUninit<*mut zt_file>>,
) -> zt_status {
    deliver(file, "file", || {
        // SAFETY: data has size bytes, which do not change until the last zt_close.
        let bytes: &'static [u8] = unsafe { arg::slice(data.cast::<u8>(), size, "data")? };
        // SAFETY: options is NULL or has the size it gives.
        unsafe { opened(options, |wanted| File::open_memory(bytes, wanted)) }
    })
}

/// Adds a reference; call zt_close once more. Returns file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_retain(file: *mut zt_file) -> *mut zt_file {
    // SAFETY: it is NULL or an open file, and the caller owns a reference.
    if let Some(file) = unsafe { file.as_ref() } {
        file.retain();
    }
    file
}

/// Ends the handle. The file and everything borrowed from it end when no buffer, cache or load uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_close(file: *mut zt_file) {
    if !file.is_null() {
        // SAFETY: it is an open file, and the caller owns a reference.
        guard_value((), || unsafe { zt_file::release(file) });
    }
}

/// The version in the file: "0.1.0", "1.0", "1.1.0", "1.2.0", "2", of GGUF "3"; "" if the container has none.
/// Of a model, the version of part 0.
#[unsafe(no_mangle)]
pub extern "C" fn zt_file_version(file: Option<&zt_file>) -> *const c_char {
    let Some(file) = file else { return null() };
    let manifest = file.file().manifest();
    manifest.version_text.map_or(null(), |text| file.text(text))
}

/// The file's attributes, a map (of safetensors its "__metadata__"); NULL if absent. Of a model, those of
/// part 0.
#[unsafe(no_mangle)]
pub extern "C" fn zt_file_attributes(file: Option<&zt_file>) -> *const zt_value {
    address(file.and_then(|f| f.file().attributes()))
}

/// Number of objects.
#[unsafe(no_mangle)]
pub extern "C" fn zt_object_count(file: Option<&zt_file>) -> usize {
    file.map_or(0, |f| f.file().object_count())
}

/// The object at index, in file order, for a model one file after the other; NULL if index is not below
/// zt_object_count.
#[unsafe(no_mangle)]
pub extern "C" fn zt_object_at(file: Option<&zt_file>, index: usize) -> *const zt_object {
    file.map_or(null(), |f| f.object_handle(index))
}

/// The object of that name; NULL if absent. The first one if a 0.1 file has several.
/// name: the bytes of zt_object_name, NUL-ended. For names that contain a NUL, use zt_object_find_n.
/// A missing object is not a failure: zt_last_error stays unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_object_find(file: Option<&zt_file>, name: *const c_char) -> *const zt_object {
    // SAFETY: name ends in a NUL.
    file.zip(unsafe { arg::bytes(name) }).map_or(null(), |(file, name)| find(file, name))
}

/// As zt_object_find, for a name of length bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_object_find_n(
    file: Option<&zt_file>,
    name: *const c_char,
    length: usize,
) -> *const zt_object {
    let Some(file) = file else { return null() };
    // SAFETY: name has length bytes.
    unsafe { arg::slice(name.cast::<u8>(), length, "name") }.map_or(null(), |name| find(file, name))
}

/// A lookup only hashes and compares, which cannot panic. So it needs no guard, which would take as long
/// again.
fn find(file: &zt_file, name: &[u8]) -> *const zt_object {
    file.file().find_position(name).map_or(null(), |at| file.handles().address(at).cast())
}

const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<File>(); // any number of threads may use it at once
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

/// When shards of a zTensor 2 file are opened. Shard NAME of STEM.zt is the file STEM-NAME.zt beside it. In
/// zt_open_options.shard_folder the names NAME.zt and blobs/ALGORITHM/HEX are tried, too, HEX being the
/// digest. At most 65,536 shards.
#[repr(C)]
pub enum zt_shards_value {
    /// ZT_SHARDS_ON_USE if a model was opened (zt_open_model), else ZT_SHARDS_NEVER.
    ZT_SHARDS_OF_MODELS = 0,
    /// Each shard when it is first read.
    ZT_SHARDS_ON_USE = 1,
    /// All shards with the file; opening fails if one is missing or does not match.
    ZT_SHARDS_AT_OPEN = 2,
    /// Never: their objects are listed, but reading them is ZT_ERROR_UNSUPPORTED.
    ZT_SHARDS_NEVER = 3,
}

/// Opens a model of one or many files as one file.
///
/// path: a file of the model, its index, or its folder (docs/models.md). An index (JSON with "weight_map"),
/// or any of the files that it names, opens all of them. A numbered file (x-00001-of-00005.gguf) opens all
/// five. options.shards says when shards of zTensor 2 are opened. If path is a symbolic link, the other files
/// are looked for beside the link, then beside its target.
/// options: as for zt_open; max_objects and max_memory limit all files together. file: as for zt_open.
/// Returns what zt_open returns for each file. ZT_ERROR_NO_FILE if files are missing, which the message
/// names, or a folder has no model. ZT_ERROR_CORRUPT if two tensors share a name, or the files disagree on
/// their number; also if the index names a wrong file, or one outside of its folder.
/// ZT_ERROR_INVALID_ARGUMENT if a folder holds several models; the message lists them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_open_model(
    path: *const c_char,
    options: *const zt_open_options,
    file: Option<&mut MaybeUninit<*mut zt_file>>,
) -> zt_status {
    deliver(file, "file", || {
        // SAFETY: path ends in a NUL; options is NULL or has the size it gives.
        unsafe { opened(options, |wanted| File::open_model(arg::path(path)?, wanted)) }
    })
}

/// Opens several files as one model, in the given order. They may have different containers.
/// paths, count: at least one. options, file, statuses: as for zt_open_model.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_open_parts(
    paths: *const *const c_char,
    count: usize,
    options: *const zt_open_options,
    file: Option<&mut MaybeUninit<*mut zt_file>>,
) -> zt_status {
    deliver(file, "file", || {
        // SAFETY: paths has count pointers.
        let pointers = unsafe { arg::slice(paths, count, "paths")? };
        let mut paths: Vec<&Path> = with_capacity(pointers.len())?;
        for path in pointers {
            // SAFETY: each is NULL or ends in a NUL, and is only used during this call.
            paths.push(unsafe { arg::path(*path)? });
        }
        // SAFETY: options is NULL or has the size it gives.
        unsafe { opened(options, |wanted| File::open_parts(&paths, wanted)) }
    })
}

/// Number of files of a model. Shards that a zTensor 2 file lists come last. 1 for a single file.
#[unsafe(no_mangle)]
pub extern "C" fn zt_part_count(file: Option<&zt_file>) -> usize {
    file.map_or(0, |file| file.file().part_count())
}

/// One file of a model. A single file is its own part 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_part_info {
    /// sizeof(zt_part_info)
    pub struct_size: usize,
    /// The path of the part, or the path where a missing shard is expected; NULL if it has none.
    pub path: *const c_char,
    /// Bytes of the part; 0 for a shard that is not open.
    pub size: u64,
    /// The part's container; ZT_CONTAINER_NONE for a shard that is not open.
    pub container: zt_container,
    /// 0.
    pub reserved: u32,
}

/// Fills info for a part, which has to be below zt_part_count. Opens nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_part_get_info(
    file: Option<&zt_file>,
    part: usize,
    info: *mut zt_part_info,
) -> zt_status {
    guard(|| {
        let part = arg::part(arg::required(file, "file")?.file(), part)?;
        let filled = zt_part_info {
            struct_size: 0,
            path: part.path().map_or(null(), |path| path.as_ptr().cast()),
            size: part.size(),
            container: part.container().number(),
            reserved: 0,
        };
        // SAFETY: info is NULL or has the size it gives.
        unsafe { arg::fill_required(info, || Ok(filled)) }
    })
}

/// What zt_open_model left out of a model.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_model_info {
    /// sizeof(zt_model_info)
    pub struct_size: usize,
    /// If the model was opened by its folder: files there that belong to other models or to training states.
    pub passed_over: u64,
    /// Tensors that the index does not name; zt_open_options.include_unlisted includes them.
    pub unlisted: u64,
}

// SAFETY: repr(C); integers and pointers, which may be zero.
sized_struct! {
    zt_part_info: path, size, container, reserved;
    zt_model_info: passed_over, unlisted;
}

/// Fills info for a model. For a file that was opened in another way all counts are 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_model_get_info(file: Option<&zt_file>, info: *mut zt_model_info) -> zt_status {
    guard(|| {
        let found = arg::required(file, "file")?.file().model_info();
        let passed_over = found.passed_over.len() as u64;
        let filled = || Ok(zt_model_info { struct_size: 0, passed_over, unlisted: found.unlisted });
        // SAFETY: info is NULL or has the size it gives.
        unsafe { arg::fill_required(info, filled) }
    })
}
