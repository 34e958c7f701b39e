//! Models whose files the caller opens: from a bucket, an archive.

use super::arg;
use super::guard::{deliver, guard};
use super::open::zt_file;
use super::open_options::{opened, zt_open_options};
use super::progress::{outcome, Context};
use super::sized::sized_struct;
use super::source::{label_of, zt_source, CallbackSource};
use super::status::{value, zt_status};
use crate::error::{fail, Error, Result};
use crate::memory::try_box;
use crate::reader::{File, Opened, Store};
use std::ffi::{c_char, c_void, OsStr};
use std::mem::MaybeUninit;
use std::path::Path;
use std::ptr::null;

/// Takes a name: NUL-ended UTF-8, copied. Returns ZT_OK, or what the function that calls it shall return at once.
pub type zt_name_callback =
    Option<unsafe extern "C" fn(names: *mut c_void, name: *const c_char) -> zt_status>;

/// Where the files of a model come from: the caller's functions. They are called only during zt_open_model_from, with
/// context, from several threads at once, and return what those of zt_source return.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_store {
    /// sizeof(zt_store)
    pub struct_size: usize,
    /// Passed to every function; may be NULL.
    pub context: *mut c_void,
    /// Fills source, all zero but for its struct_size, for the file of that name, and returns ZT_OK: its close is then
    /// called as zt_open_source does. ZT_ERROR_NO_FILE where there is none: only then is a shard asked for by its next
    /// name. Any other status is why the file, or what is in the shard, cannot be read. Not NULL.
    pub open: Option<
        unsafe extern "C" fn(context: *mut c_void, name: *const c_char, source: *mut zt_source) -> zt_status,
    >,
    /// Calls add (names, ...) with the name of each file in a folder; ZT_ERROR_NOT_FOUND if that is not a folder. It is also
    /// asked for the folder that a file is in, with and without '/' behind it. NULL: there are no folders.
    pub list: Option<
        unsafe extern "C" fn(
            context: *mut c_void,
            folder: *const c_char,
            add: zt_name_callback,
            names: *mut c_void,
        ) -> zt_status,
    >,
}

// SAFETY: repr(C); a pointer and optional functions, all of which may be zero.
sized_struct!(zt_store: context, open, list);

/// Threads that open files unless the options say how many: they wait for answers.
const THREADS: usize = 16;

/// [`zt_store`] as a [`Store`].
struct CallbackStore {
    context: Context,
    open: unsafe extern "C" fn(*mut c_void, *const c_char, *mut zt_source) -> zt_status,
    functions: zt_store,
}

// SAFETY: the functions are called "from several threads at once"; the struct is never changed.
unsafe impl Sync for CallbackStore {}

/// Who gets the names of a folder, and how that went.
struct Names<'b> {
    body: &'b mut dyn FnMut(&OsStr) -> Result<()>,
    failure: Option<Error>,
}

/// # Safety
/// `names` is a [`Names`] that nobody else uses, `name` is NULL or NUL-ended.
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

/// A name as the caller's functions take it: with '/' between folders.
fn c_name(path: &Path) -> Result<Vec<u8>> {
    let bytes = path.as_os_str().as_encoded_bytes();
    let mut name = Vec::new();
    name.try_reserve_exact(bytes.len().saturating_add(1))?;
    let separator = |byte: &u8| if cfg!(windows) && *byte == b'\\' { b'/' } else { *byte };
    name.extend(bytes.iter().map(separator).chain([0]));
    Ok(name)
}

impl Store for CallbackStore {
    fn for_each_name(&self, path: &Path, body: &mut dyn FnMut(&OsStr) -> Result<()>) -> Result<bool> {
        let Some(list) = self.functions.list else { return Ok(false) };
        let folder = c_name(path)?;
        let mut names = Names { body, failure: None };
        // SAFETY: the caller's function, with a NUL-ended name, and names for `add`.
        let status =
            unsafe { list(self.context.get(), folder.as_ptr().cast(), Some(add), (&raw mut names).cast()) };
        match names.failure {
            Some(failure) => Err(failure),
            None if status == value::ZT_ERROR_NOT_FOUND as zt_status => Ok(false),
            None => outcome(status, "zt_store.list").map(|()| true),
        }
    }

    fn open(&self, path: &Path) -> Result<Opened> {
        let name = c_name(path)?;
        let mut source = zt_source {
            struct_size: size_of::<zt_source>(),
            context: std::ptr::null_mut(),
            size: None,
            read_at: None,
            close: None,
            read_many: None,
            name: null(),
            gap: 0,
            largest_request: 0,
            concurrency: 0,
            callers_thread: 0,
            identity: 0,
        };
        // SAFETY: the caller's function, with a NUL-ended name and a source to fill.
        let status = unsafe { (self.open)(self.context.get(), name.as_ptr().cast(), &raw mut source) };
        outcome(status, "zt_store.open")?;
        // Whatever it left as the size: all of the struct is here, and its close has to be called.
        source.struct_size = size_of::<zt_source>();
        let label = label_of(&source);
        let source = try_box(CallbackSource::new(source)?)?;
        Ok(Opened { source, label: label?, path: Vec::new(), modified: 0 })
    }

    fn threads(&self, files: usize) -> usize {
        files.min(THREADS)
    }
}

/// Opens a model as zt_open_model does, whose files the caller's functions open: the file of that name, the parts that
/// an index or its name lead to, or the model in a folder.
///
/// store: copied, not NULL; used only during the call, so all shards, at most 65,536, are opened then and stay open
/// (ZT_SHARDS_NEVER: none): what is wrong with one is reported when it is read, or by this call with ZT_SHARDS_AT_OPEN.
/// name: NUL-ended, as its functions take it, with
/// '/' between folders. options: mode and advice do not matter; threads is how many files are opened at once (0: up to
/// 16). file, statuses: as zt_open_model, and whatever status a function gives.
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_open_model_from(
    store: *const zt_store,
    name: *const c_char,
    options: *const zt_open_options,
    file: Option<&mut MaybeUninit<*mut zt_file>>,
) -> zt_status {
    deliver(file, "file", || {
        // SAFETY: store of the size it says; "name: NUL-ended".
        let (functions, name) = unsafe { (arg::required_struct::<zt_store>(store)?, arg::path(name)?) };
        let Some(open) = functions.open else { return Err(fail!(InvalidArgument, "zt_store.open is NULL")) };
        let store = CallbackStore { context: Context(functions.context), open, functions };
        // SAFETY: options NULL or of the size it says.
        unsafe { opened(options, |wanted| File::open_model_from(&store, name, wanted)) }
    })
}
