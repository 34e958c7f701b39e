//! Options for opening a file.

use crate::capi::advanced::hooks::{self, zt_allocator, zt_thread_hooks};
use crate::capi::arg;
use crate::capi::handle_table::zt_file;
use crate::capi::opening::progress::{progress, zt_progress_callback};
use crate::capi::sized::sized_struct;
use crate::error::{fail, try_format, Result};
use crate::model::manifest::Container;
use crate::reader::{copy_path, File, Mode, OpenOptions, Shards, VerifyOptions, VerifyReport};
use crate::source::Advice;
use std::ffi::{c_char, c_void};

/// How to open a file.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_open_options {
    /// sizeof(zt_open_options)
    pub struct_size: usize,
    /// How bytes are reached; 0 is ZT_MODE_MAP.
    pub mode: zt_mode,
    /// 1: also check every digest, including those of whole shards. 0: check the structure.
    pub verify: u32,
    /// 1: opening rejects unknown dtypes, encodings and formats, malformed digests and versions, and 1.2
    /// sparse indices other than u64; reading rejects bool bytes other than 0 and 1, zt_verify nonzero
    /// padding. 0: opening and reading accept all of this.
    pub strict: u32,
    /// A hint for the whole file; the system may ignore it.
    pub advice: zt_advice,
    /// Largest manifest in bytes; 0: 1 GiB.
    pub max_manifest_size: u64,
    /// Largest decoded size of a compressed component in bytes; 0: the larger of 1 GiB and 256 times its
    /// stored size.
    pub max_decoded_size: u64,
    /// Largest number of objects; 0: 2^24.
    pub max_objects: u64,
    /// Threads for one large component in calls without an options argument, such as zt_component_read. 1:
    /// the caller's thread only. 0: the library chooses, at most 4.
    pub threads: u32,
    /// Containers that may be opened: a set of 1u << ZT_CONTAINER_...; 0: all. Others are
    /// ZT_ERROR_UNSUPPORTED.
    pub containers: u32,
    /// Largest memory in bytes for manifests, tables, names and attributes, checked before it is allocated.
    /// 0: the larger of 256 MiB and 16 times the model's largest manifest.
    pub max_memory: u64,
    /// Passed to progress.
    pub context: *mut c_void,
    /// With verify: reports the stored bytes that were checked.
    pub progress: zt_progress_callback,
    /// What messages call the file; NULL: its path. Copied.
    pub name: *const c_char,
    /// Allocates what zt_component_load and zt_tensor_find decode into; NULL: the library's. Copied.
    pub allocator: *const zt_allocator,
    /// Called on threads that the library starts for the file; NULL: none. Copied.
    pub thread_hooks: *const zt_thread_hooks,
    /// The folder of shards; NULL: the folder of the file. Copied.
    pub shard_folder: *const c_char,
    /// When shards are opened: a ZT_SHARDS_ value of ztensor_advanced.h.
    pub shards: u32,
    /// 1: zt_open_model opens only the file at path. 0: the whole model.
    pub part: u32,
    /// 1: include tensors that an index does not name; zt_model_get_info counts them.
    pub include_unlisted: u32,
    /// 1: accept bytes behind the content of a safetensors, npz or PyTorch file.
    pub allow_trailing: u32,
    /// 1: join the tensors of a quantized weight (GPTQ, AWQ, fp8, ...; docs/quantised.md) to one object with
    /// its name and shape; zt_object_read_as reads its numbers. Most schemes need config.json beside the
    /// model. 0: list packed integers and scales as separate tensors.
    pub combine_quantized: u32,
    /// Must be 0.
    pub reserved: u32,
}

// SAFETY: repr(C); integers, pointers and optional functions, which may be zero.
sized_struct!(zt_open_options:
    mode, verify, strict, advice, max_manifest_size, max_decoded_size, max_objects, threads, containers,
    max_memory, context, progress, name, allocator, thread_hooks, shard_folder, shards, part,
    include_unlisted, allow_trailing, combine_quantized, reserved
);

/// Checks the set of containers that may be opened; 0 means all.
fn containers(mask: u32) -> Result<u32> {
    let known = Container::ALL.into_iter().fold(0, |mask, container| mask | container.bit());
    match mask & !known {
        0 => Ok(mask),
        unknown => Err(fail!(InvalidArgument, "zt_open_options.containers has unknown bits {unknown:#x}")),
    }
}

/// By their numbers in zt_shards_value.
const SHARDS: [Shards; 4] = [Shards::OfModels, Shards::OnUse, Shards::AtOpen, Shards::Never];

fn open_options(options: &zt_open_options) -> Result<OpenOptions> {
    let default = OpenOptions::default();
    Ok(OpenOptions {
        mode: arg::by_number("zt_mode", options.mode, &MODES)?,
        strict: arg::flag(options.strict, "zt_open_options.strict")?,
        max_manifest_size: arg::or_default(options.max_manifest_size, default.max_manifest_size),
        max_decoded_size: Some(options.max_decoded_size).filter(|s| *s != 0),
        max_objects: arg::or_default(options.max_objects, default.max_objects),
        max_memory: Some(options.max_memory).filter(|limit| *limit != 0),
        advice: advice(options.advice)?,
        threads: options.threads as usize,
        containers: containers(options.containers)?,
        // SAFETY: each is NULL or as its declaration demands.
        thread_hooks: unsafe { hooks::thread_hooks(options.thread_hooks)? },
        // SAFETY: as above.
        allocator: unsafe { hooks::allocator(options.allocator)? },
        // SAFETY: name is NULL or ends in a NUL.
        name: unsafe { arg::optional_text(options.name, "name")? }
            .map(|name| try_format(format_args!("{name}")))
            .transpose()?,
        shards: arg::by_number("zt_shards_value", options.shards, &SHARDS)?,
        allow_trailing: arg::flag(options.allow_trailing, "zt_open_options.allow_trailing")?,
        part: arg::flag(options.part, "zt_open_options.part")?,
        include_unlisted: arg::flag(options.include_unlisted, "zt_open_options.include_unlisted")?,
        combine_quantized: arg::flag(options.combine_quantized, "zt_open_options.combine_quantized")?,
        shard_folder: match options.shard_folder.is_null() {
            true => None,
            // SAFETY: shard_folder ends in a NUL.
            false => Some(copy_path(unsafe { arg::path(options.shard_folder)? })?),
        },
    })
}

/// Opens a file with `open` and the caller's options, and returns its handle. If the options say so, checks
/// its digests.
///
/// # Safety
/// `options` is NULL or has the size it gives, and so do the structs that it points to.
pub(in crate::capi) unsafe fn opened(
    options: *const zt_open_options,
    open: impl FnOnce(&OpenOptions) -> Result<File>,
) -> Result<*mut zt_file> {
    // SAFETY: the caller ensures this.
    let options = unsafe { arg::options(options)? };
    let verify = arg::flag(options.verify, "zt_open_options.verify")?;
    let handle = zt_file::new(open(&open_options(&options)?)?)?;
    if !verify {
        return Ok(handle);
    }
    let wanted =
        VerifyOptions { contents: false, threads: options.threads as usize, ..VerifyOptions::default() };
    let progress = progress(options.progress, options.context);
    // SAFETY: it was made above, and nothing else uses it yet.
    let verified = unsafe { (*handle).file() }.verify(&wanted, &progress, &mut VerifyReport::default());
    verified.map(|()| handle).inspect_err(|_| {
        // SAFETY: as above; the caller does not get the handle.
        unsafe { zt_file::release(handle) }
    })
}

/// How the file's bytes are reached.
pub type zt_mode = i32;

/// The values of zt_mode.
#[repr(C)]
pub enum zt_mode_value {
    /// Map the file; bytes can be borrowed. If another program truncates the file, touching the lost part
    /// raises SIGBUS. If it writes to the file, the bytes change and no call detects it.
    ZT_MODE_MAP = 0,
    /// Read the file, never map it. After the file's size or modification time has changed, reads return
    /// ZT_ERROR_IO, unless a .zt file only grew by an append.
    ZT_MODE_READ = 1,
    /// ZT_MODE_READ on a network or user-space file system, if the system refuses to map the file, or if the
    /// address space is too small; else ZT_MODE_MAP. zt_file_mode returns the choice.
    ZT_MODE_AUTO = 2,
    /// ZT_MODE_MAP, but the caller may write to borrowed bytes after casting away const. Pages that are
    /// written become private copies of this handle; the file does not change. Borrowed pointers and buffers
    /// show the changes. Other reads, zt_verify and zt_write_copy use the file's bytes.
    ZT_MODE_PRIVATE = 3,
}

/// A hint about what will be done with bytes.
pub type zt_advice = u32;

/// The values of zt_advice.
#[repr(C)]
pub enum zt_advice_value {
    /// No hint.
    ZT_ADVICE_NONE = 0,
    /// Bytes will be read front to back.
    ZT_ADVICE_SEQUENTIAL = 1,
    /// Start reading the bytes and return at once.
    ZT_ADVICE_WILLNEED = 3,
    /// Read the bytes into memory before returning, where the system can.
    ZT_ADVICE_POPULATE = 4,
    /// No process needs the bytes soon: as ZT_ADVICE_RELEASE, and the page cache drops them, unless another
    /// process maps them or they are not written yet. Linux only.
    ZT_ADVICE_EVICT = 6,
    /// This process does not need the bytes soon: it gives back its mapped pages; the page cache keeps them.
    ZT_ADVICE_RELEASE = 7,
}

/// By their numbers in zt_mode.
const MODES: [Mode; 4] = [Mode::Map, Mode::Read, Mode::Auto, Mode::Private];

pub(in crate::capi) fn advice(value: zt_advice) -> Result<Advice> {
    match value {
        0 => Ok(Advice::Normal),
        1 => Ok(Advice::Sequential),
        3 => Ok(Advice::WillNeed),
        4 => Ok(Advice::Populate),
        6 => Ok(Advice::Evict),
        7 => Ok(Advice::Release),
        other => Err(arg::unknown("zt_advice", other)),
    }
}

pub(in crate::capi) fn mode_number(mode: Mode) -> zt_mode {
    MODES.iter().position(|known| *known == mode).map_or(0, |at| at as zt_mode)
}
