//! Models whose files the caller opens, for example from a bucket or an archive.

use crate::capi::advanced::source::{label_of, zt_source, CallbackSource};
use crate::capi::arg;
use crate::capi::guard::{deliver, guard};
use crate::capi::opening::open::zt_file;
use crate::capi::opening::options::{opened, zt_open_options};
use crate::capi::opening::progress::outcome;
use crate::capi::sized::sized_struct;
use crate::capi::status::{value, zt_status};
use crate::error::{fail, Error, Result};
use crate::memory::{try_box, with_capacity};
use crate::reader::{File, Opened, Store};
use std::ffi::{c_char, c_void, OsStr};
use std::mem::MaybeUninit;
use std::path::Path;

/// Takes a file name of a folder; copied. Return what it returns if that is not ZT_OK.
pub type zt_name_callback =
    Option<unsafe extern "C" fn(names: *mut c_void, name: *const c_char) -> zt_status>;

/// Your functions that open the files of a model. Several threads may call them at once during
/// zt_open_model_from. Statuses as for zt_source.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_store {
    /// sizeof(zt_store)
    pub struct_size: usize,
    /// Passed to every function.
    pub context: *mut c_void,
    /// Fills source for the file of that name; all its fields but struct_size are 0 before. ZT_ERROR_NO_FILE
    /// if the file does not exist. Not NULL.
    pub open: Option<
        unsafe extern "C" fn(context: *mut c_void, name: *const c_char, source: *mut zt_source) -> zt_status,
    >,
    /// Calls add(names, ...) with the name of each file in a folder; ZT_ERROR_NOT_FOUND if it is not a
    /// folder. The folder may end in '/'. NULL: there are no folders.
    pub list: Option<
        unsafe extern "C" fn(
            context: *mut c_void,
            folder: *const c_char,
            add: zt_name_callback,
            names: *mut c_void,
        ) -> zt_status,
    >,
}

// SAFETY: repr(C); a pointer and optional functions, which may be zero.
sized_struct!(zt_store: context, open, list);

/// The number of threads that open files if the options do not set it. They mostly wait for answers.
const THREADS: usize = 16;

/// [`zt_store`] as a [`Store`].
struct CallbackStore {
    open: unsafe extern "C" fn(*mut c_void, *const c_char, *mut zt_source) -> zt_status,
    functions: zt_store,
}

// SAFETY: several threads may call the functions at once, and the struct is never changed.
unsafe impl Sync for CallbackStore {}

/// Receives the names of a folder, and keeps the first failure.
struct Names<'b> {
    body: &'b mut dyn FnMut(&OsStr) -> Result<()>,
    failure: Option<Error>,
}

/// # Safety
/// `names` is a [`Names`] that nothing else uses; `name` is NULL or ends in a NUL.
unsafe extern "C" fn add(names: *mut c_void, name: *const c_char) -> zt_status {
    guard(|| {
        // SAFETY: as above.
        let names = unsafe { names.cast::<Names<'_>>().as_mut() };
        let names = names.ok_or_else(|| fail!(InvalidArgument, "names is NULL"))?;
        // SAFETY: as above.
        let taken =
            unsafe { arg::text(name, "a name in a folder") }.and_then(|name| (names.body)(name.as_ref()));
        taken.map_err(|e| {
            let again = e.again();
            names.failure = Some(e);
            again
        })
    })
}

/// A name for the caller's functions: with '/' between folders.
fn c_name(path: &Path) -> Result<Vec<u8>> {
    let bytes = path.as_os_str().as_encoded_bytes();
    let mut name = with_capacity(bytes.len().saturating_add(1))?;
    let separator = |byte: &u8| if cfg!(windows) && *byte == b'\\' { b'/' } else { *byte };
    name.extend(bytes.iter().map(separator).chain([0]));
    Ok(name)
}

impl Store for CallbackStore {
    fn for_each_name(&self, path: &Path, body: &mut dyn FnMut(&OsStr) -> Result<()>) -> Result<bool> {
        let Some(list) = self.functions.list else { return Ok(false) };
        let folder = c_name(path)?;
        let mut names = Names { body, failure: None };
        let (context, to) = (self.functions.context, (&raw mut names).cast());
        // SAFETY: the caller's function; the name ends in a NUL, and the names are for `add`.
        let status = unsafe { list(context, folder.as_ptr().cast(), Some(add), to) };
        match names.failure {
            Some(failure) => Err(failure),
            None if status == value::ZT_ERROR_NOT_FOUND as zt_status => Ok(false),
            None => outcome(status, "zt_store.list").map(|()| true),
        }
    }

    fn open(&self, path: &Path) -> Result<Opened> {
        let name = c_name(path)?;
        let mut source = zt_source { struct_size: size_of::<zt_source>(), ..arg::zeroed() };
        // SAFETY: the caller's function; the name ends in a NUL, and the source is there to be filled.
        let status = unsafe { (self.open)(self.functions.context, name.as_ptr().cast(), &raw mut source) };
        outcome(status, "zt_store.open")?;
        // The function may have changed the size. Set it to the whole struct, because its close has to be
        // called.
        source.struct_size = size_of::<zt_source>();
        let label = label_of(&source);
        let source = try_box(CallbackSource::new(source)?)?;
        Ok(Opened { source, label: label?, path: Vec::new(), modified: 0 })
    }

    fn threads(&self, files: usize) -> usize {
        files.min(THREADS)
    }
}

/// Opens a model whose files your functions open.
///
/// store: used during the call only, so shards are opened now and stay open, unless ZT_SHARDS_NEVER is set.
/// name: a file or folder, with '/' between folders. options: mode and advice are ignored; threads is the
/// number of files that are opened at once. file, statuses: as for zt_open_model.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_open_model_from(
    store: *const zt_store,
    name: *const c_char,
    options: *const zt_open_options,
    file: Option<&mut MaybeUninit<*mut zt_file>>,
) -> zt_status {
    deliver(file, "file", || {
        // SAFETY: store has the size it gives; name ends in a NUL.
        let (functions, name) = unsafe { (arg::required_struct::<zt_store>(store)?, arg::path(name)?) };
        let Some(open) = functions.open else { return Err(fail!(InvalidArgument, "zt_store.open is NULL")) };
        let store = CallbackStore { open, functions };
        // SAFETY: options is NULL or has the size it gives.
        unsafe { opened(options, |wanted| File::open_model_from(&store, name, wanted)) }
    })
}
