//! Models of several files: opening them, and asking for the files.

use super::arg;
use super::container::zt_container;
use super::guard::{deliver, guard};
use super::open::zt_file;
use super::open_options::{opened, zt_open_options};
use super::sized::sized_struct;
use super::status::zt_status;
use crate::reader::File;
use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::path::Path;
use std::ptr::null;

/// When shards of a zTensor 2 file are opened. Shard NAME of STEM.zt is STEM-NAME.zt beside it, or in
/// zt_open_options.shard_folder also NAME.zt or blobs/ALGORITHM/HEX. At most 65,536 shards.
#[repr(C)]
pub enum zt_shards_value {
    /// Models: ZT_SHARDS_ON_USE. Other files: ZT_SHARDS_NEVER.
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
/// path: any file of the model, its index, or its folder (docs/formats.md). An index (JSON with "weight_map")
/// opens the files that it names. A file that an index beside it names opens them, too. A numbered file
/// (x-00001-of-00005.gguf) opens the others. A zTensor 2 file opens its shards as options.shards says. If
/// path is a symbolic link, the other files are looked for beside the link, then beside its target.
/// options: as for zt_open; max_objects and max_memory limit all files together. file: as for zt_open.
/// Returns what zt_open returns. ZT_ERROR_NO_FILE if files are missing; the message names them.
/// ZT_ERROR_CORRUPT if two tensors have one name, the index names a wrong file or leads out of its folder, or
/// files disagree on their number. ZT_ERROR_INVALID_ARGUMENT if a folder holds several models; the message
/// lists them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_open_model(
    path: *const c_char,
    options: *const zt_open_options,
    file: Option<&mut MaybeUninit<*mut zt_file>>,
) -> zt_status {
    deliver(file, "file", || {
        // SAFETY: "path: NUL-ended"; options NULL or of the size it says.
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
        // SAFETY: "paths, count: at least one".
        let pointers = unsafe { arg::slice(paths, count, "paths")? };
        let mut paths: Vec<&Path> = Vec::new();
        paths.try_reserve_exact(pointers.len())?;
        for path in pointers {
            // SAFETY: each is NULL or NUL-ended, and used only here.
            paths.push(unsafe { arg::path(*path)? });
        }
        // SAFETY: options NULL or of the size it says.
        unsafe { opened(options, |wanted| File::open_parts(&paths, wanted)) }
    })
}

/// Number of files of a model; shards come last. 1 for a single file.
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
    /// The path that the part was opened by, or where a shard is looked for; NULL if it has none.
    pub path: *const c_char,
    /// Bytes of the part; 0 for a shard that is not open.
    pub size: u64,
    /// The part's container; ZT_CONTAINER_NONE for a shard that is not open.
    pub container: zt_container,
    /// 0.
    pub reserved: u32,
}

// SAFETY: repr(C); integers and pointers, which may be zero.
sized_struct!(zt_part_info: path, size, container, reserved);

/// Fills info for a part. Opens nothing.
/// part: below zt_part_count.
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
        // SAFETY: info NULL or of the size it says.
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

// SAFETY: repr(C); integers, which may be zero.
sized_struct!(zt_model_info: passed_over, unlisted);

/// Fills info for a model. For a file that was opened in another way all counts are 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_model_get_info(file: Option<&zt_file>, info: *mut zt_model_info) -> zt_status {
    guard(|| {
        let found = arg::required(file, "file")?.file().model_info();
        let passed_over = found.passed_over.len() as u64;
        let filled = || Ok(zt_model_info { struct_size: 0, passed_over, unlisted: found.unlisted });
        // SAFETY: info NULL or of the size it says.
        unsafe { arg::fill_required(info, filled) }
    })
}
