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

/// When shards are opened: other files, which a file of zTensor 2 has bytes of its objects in. The shard NAME of STEM.zt is
/// STEM-NAME.zt next to it; if STEM.zt is a symbolic link, next to the link, else next to its target, by the name of
/// that. In zt_open_options.shard_folder it may also be NAME.zt or blobs/ALGORITHM/HEX, its digest.
/// More than 65,536 shards are ZT_ERROR_LIMIT, whenever they would be opened.
#[repr(C)]
pub enum zt_shards_value {
    /// By zt_open_model, zt_open_model_from and zt_open_parts as ZT_SHARDS_ON_USE, else as ZT_SHARDS_NEVER.
    ZT_SHARDS_OF_MODELS = 0,
    /// Each when it is first read; until then it need not be there.
    ZT_SHARDS_ON_USE = 1,
    /// All with the file, which fails where one is missing or no shard of it.
    ZT_SHARDS_AT_OPEN = 2,
    /// Never: what is in them is listed, and reading it is ZT_ERROR_UNSUPPORTED.
    ZT_SHARDS_NEVER = 3,
}

/// Opens a model, which may be of many files, as one file: the objects of all parts are found, listed, lent, read,
/// verified and copied as those of one. zt_component_info.part is the part of a component.
///
/// path: any file of the model, or its folder; all of them open the same model (docs/formats.md). A file of zTensor 2 is
/// opened with its shards (zt_open_options.shards). An index (JSON with a "weight_map", as Hugging Face writes it) is
/// opened with the files that it names, and so is a file that an index in its own folder names. One of several files
/// named x-00001-of-00005.gguf is opened with the others. If path is a symbolic link, the other files are looked for
/// beside the link, then beside its target. NUL-ended, in the platform's encoding.
/// options: NULL for the defaults. max_objects and max_memory are for all parts together, shards among them whenever they
/// are opened; max_manifest_size is for each and for the index; threads also open the parts. file: as zt_open.
/// Returns what zt_open returns: ZT_ERROR_NO_FILE if a part is missing (the message names the missing ones, and
/// zt_open_options.part opens a part alone), ZT_ERROR_CORRUPT if two tensors have the same name, a part lacks a tensor
/// that the index gives it, the index leads out of its folder, or parts disagree on how many they are;
/// ZT_ERROR_INVALID_ARGUMENT if a folder holds several models, which the message lists.
/// Threads: any.
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

/// Opens several files as one, in the order in which they are given; they may be of different containers.
/// paths, count: at least one; each a file, as zt_open takes it. options, file, statuses: as zt_open_model.
/// Threads: any.
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

/// How many files it is made of, of which its shards are the last; 0 for NULL. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn zt_part_count(file: Option<&zt_file>) -> usize {
    file.map_or(0, |file| file.file().part_count())
}

/// What is known of one of the files of a model. A file that zt_open opened is part 0 of itself.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_part_info {
    /// sizeof (zt_part_info), set by the caller.
    pub struct_size: usize,
    /// The path that the part was opened by, in the platform's encoding, NUL-ended; the path where the library looks for
    /// a shard that is not open. NULL if the part was not opened by a path. Lives until the last zt_close.
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

/// Fills a struct with what is known of a part. Opens nothing.
/// part: below zt_part_count, else ZT_ERROR_INVALID_ARGUMENT. info: set struct_size; not NULL; filled on success,
/// untouched on failure.
/// Threads: any.
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

/// What a model has beside what is shown of it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_model_info {
    /// sizeof (zt_model_info), set by the caller.
    pub struct_size: usize,
    /// If the model was opened by its folder: files of other models and of states of trainings in that folder.
    pub passed_over: u64,
    /// Tensors that its files hold and its index names nowhere. They are not objects of the model;
    /// zt_open_options.include_unlisted makes them objects. A tensor that the index takes from another file does not count.
    pub unlisted: u64,
}

// SAFETY: repr(C); integers, which may be zero.
sized_struct!(zt_model_info: passed_over, unlisted);

/// Counts what zt_open_model and zt_open_model_from left out of a model.
/// info: set struct_size; not NULL; filled on success, untouched on failure. After any other open all counts are 0.
/// Returns ZT_ERROR_INVALID_ARGUMENT.
/// Threads: any.
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
