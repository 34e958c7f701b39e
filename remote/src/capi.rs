//! The functions of ztensor_remote.h. The header's words are the doc comments here; a test makes it anew and
//! compares.

use crate::address::Address;
use crate::connect::Client;
use crate::core::{
    status, zt_file, zt_open_model_from, zt_open_options, zt_set_last_error, zt_source, zt_status, zt_store,
};
use crate::failure::{without_secrets, Failure};
use crate::settings::{text, Settings};
use crate::store::{self, Files, SourceOut};
use std::cell::Cell;
use std::ffi::{c_char, CString};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::null;
use std::sync::Once;

/// How a service is asked. All zero but struct_size is the defaults. Strings are NUL-ended and copied; what
/// is NULL is looked up where the tools of the service do: environment, profile, web identity, the machine's
/// own metadata.
#[repr(C)]
pub struct zt_remote_options {
    /// sizeof (zt_remote_options)
    pub struct_size: usize,
    /// URL of the service where it is not the provider's own: MinIO, Ceph, an emulator.
    pub endpoint: *const c_char,
    /// S3: the region of the bucket.
    pub region: *const c_char,
    /// S3: the access key's id. Azure: the account.
    pub key_id: *const c_char,
    /// S3: the secret access key. Azure: the account's key. Google: the key of a service account, as JSON.
    pub secret: *const c_char,
    /// S3: the session's token. Google, Azure, HTTP: a bearer token.
    pub token: *const c_char,
    /// What servers are told is asking; NULL for libztensor_remote and its version.
    pub user_agent: *const c_char,
    /// Certificates of authorities, in PEM, that are trusted beside the system's: for servers of a network of
    /// one's own.
    pub root_certificates: *const c_char,
    /// Milliseconds without a byte after which an attempt has failed; ten times that for all of it. 0:
    /// 30,000.
    pub timeout_ms: u32,
    /// Later attempts of a request that got 429 or 5xx, timed out or was cut. 0: 4; ZT_REMOTE_NO_RETRIES:
    /// none.
    pub retries: u32,
    /// Requests under way at once, for all parts of a model; at most 256. 0: 16.
    pub concurrency: u32,
    /// Bytes of an object's end that opening asks for, where a manifest is there. 0: 1 MiB.
    pub tail: u32,
    /// 1: the endpoint may be http://. A URL that begins with http:// says so by itself. A redirect from
    /// https:// to http:// is refused in any case, and one to another host or port takes no credentials
    /// along.
    pub allow_http: u32,
    /// 1: nothing is signed, and no credentials are looked for.
    pub anonymous: u32,
}

/// For zt_remote_options.retries.
pub const ZT_REMOTE_NO_RETRIES: u32 = 0xffff_ffff;

const _: () = assert!(ZT_REMOTE_NO_RETRIES == crate::settings::NO_RETRIES);

impl Default for zt_remote_options {
    fn default() -> Self {
        zt_remote_options {
            struct_size: size_of::<Self>(),
            endpoint: null(),
            region: null(),
            key_id: null(),
            secret: null(),
            token: null(),
            user_agent: null(),
            root_certificates: null(),
            timeout_ms: 0,
            retries: 0,
            concurrency: 0,
            tail: 0,
            allow_http: 0,
            anonymous: 0,
        }
    }
}

thread_local! {
    /// How many guards this thread is inside of.
    static INSIDE: Cell<u32> = const { Cell::new(0) };
}

/// Runs `body`; a failure or a panic becomes a status, and its text what zt_last_error says.
pub(crate) fn guard(body: impl FnOnce() -> Result<(), Failure>) -> zt_status {
    quiet_hook();
    INSIDE.set(INSIDE.get() + 1);
    let outcome = catch_unwind(AssertUnwindSafe(body));
    INSIDE.set(INSIDE.get() - 1);
    let outcome = outcome.unwrap_or_else(|payload| {
        let message = payload.downcast_ref::<&str>().copied();
        let message =
            message.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("panic");
        let text = format!("a bug of libztensor_remote, please report it: {}", without_secrets(message));
        std::mem::forget(payload); // it may panic when it is dropped
        Err(Failure::new(status::INTERNAL, text))
    });
    match outcome {
        Ok(()) => status::OK,
        Err(failure) => {
            let text = CString::new(failure.text.replace('\0', " ")).unwrap_or_default();
            // SAFETY: NUL-ended.
            unsafe { zt_set_last_error(text.as_ptr()) };
            failure.status
        }
    }
}

/// A panic of this library prints nothing; those of others go where they went before.
fn quiet_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let is_worker = std::thread::current().name() == Some("zt-remote");
            if !is_worker && INSIDE.try_with(Cell::get).unwrap_or(0) == 0 {
                before(info);
            }
        }));
    });
}

/// # Safety
/// `url` is NULL or NUL-ended, `options` NULL or of the size that it says.
unsafe fn files(url: *const c_char, options: *const zt_remote_options) -> Result<Files, Failure> {
    // SAFETY: passed on.
    let (url, settings) = unsafe { (text(url, "url")?, Settings::new(options)?) };
    let url = url.ok_or_else(|| Failure::new(status::INVALID_ARGUMENT, "url is NULL"))?;
    let address = Address::parse(&url)?;
    let shown = address.show(&address.key);
    Ok(Files::new(Client::new(address, settings).map_err(|e| e.within(&shown))?))
}

/// Opens a file or a model in a bucket or on a web server, as zt_open_model opens one on this system: a file,
/// an index (*.index.json) with the files that it names, one of several numbered files, a folder (its URL
/// ends in '/').
///
/// url: s3://bucket/key, gs://bucket/key, az://container/key, https://host/path, http://host/path; NUL-ended.
/// A query, as of a presigned URL, is sent and never shown. Folders of HTTP cannot be listed. A URL whose
/// host programs read differently is ZT_ERROR_INVALID_ARGUMENT: one with a backslash, a host that is not
/// ASCII, an address without all of its numbers, an '@', '/', '?' or '#' in a password that is not written as
/// %XX. options: NULL for the defaults. open_options, file: as zt_open_model.
/// Returns what zt_open_model returns: ZT_ERROR_NO_FILE where there is no such object, ZT_ERROR_IO where a
/// server fails or gives wrong bytes; zt_last_error says which. The file's reads ask that it is the object
/// that was opened: one that was replaced is ZT_ERROR_IO, never bytes of both.
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_remote_open(
    url: *const c_char,
    options: *const zt_remote_options,
    open_options: *const zt_open_options,
    file: *mut *mut zt_file,
) -> zt_status {
    if !file.is_null() {
        // SAFETY: not NULL.
        unsafe { file.write(std::ptr::null_mut()) };
    }
    let mut opened = status::OK;
    let made = guard(|| {
        // SAFETY: "NUL-ended"; options NULL or of the size it says.
        let files = unsafe { files(url, options)? };
        let name = files.name()?;
        let context = (&raw const files).cast_mut().cast();
        let functions = zt_store {
            struct_size: size_of::<zt_store>(),
            context,
            open: Some(store::open),
            list: Some(store::list),
        };
        // SAFETY: a store that is there during the call; the rest is the caller's.
        opened = unsafe { zt_open_model_from(&raw const functions, name.as_ptr(), open_options, file) };
        files.opened_all();
        Ok(())
    });
    if made == status::OK {
        opened // with the message of libztensor
    } else {
        made
    }
}

/// One object as a zt_source, for zt_open_source or functions of your own. Asks for both of its ends, which
/// it keeps until it is closed.
///
/// url, options: as zt_remote_open. source: set struct_size; filled. zt_open_source takes it over; else call
/// its close. Statuses: as zt_remote_open.
/// Threads: any; those of source, too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_remote_source(
    url: *const c_char,
    options: *const zt_remote_options,
    source: *mut zt_source,
) -> zt_status {
    guard(|| {
        // SAFETY: NULL, or of the size that it says.
        let place = unsafe { SourceOut::new(source)? };
        // SAFETY: "NUL-ended"; options NULL or of the size it says.
        let files = unsafe { files(url, options)? };
        place.fill(files.source_of_url()?);
        Ok(())
    })
}

/// Another object of the service that a URL is of, with the credentials and the query of that URL: a shard, a
/// part.
///
/// url, options, source: as zt_remote_source. name: the object's URL as zt_remote_url_text shows it;
/// NUL-ended. Statuses: as zt_remote_open; ZT_ERROR_INVALID_ARGUMENT if name is of another service.
/// Threads: any; those of source, too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_remote_source_beside(
    url: *const c_char,
    name: *const c_char,
    options: *const zt_remote_options,
    source: *mut zt_source,
) -> zt_status {
    guard(|| {
        // SAFETY: NULL, or of the size that it says.
        let place = unsafe { SourceOut::new(source)? };
        // SAFETY: "NUL-ended"; options NULL or of the size it says.
        let (files, name) = unsafe { (files(url, options)?, text(name, "name")?) };
        let name = name.ok_or_else(|| Failure::new(status::INVALID_ARGUMENT, "name is NULL"))?;
        place.fill(files.source_of_name(&name)?);
        Ok(())
    })
}

/// The URL as messages show it: without user, password, query and fragment.
///
/// url: NUL-ended. text, size: as zt_value_to_json: receives it, NUL-ended, if there is room. needed: may be
/// NULL; receives the bytes that it takes with its NUL.
/// Returns ZT_ERROR_INVALID_ARGUMENT for what zt_remote_open refuses as such, ZT_ERROR_UNSUPPORTED for
/// another scheme, ZT_ERROR_BUFFER_SIZE if there is no room.
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_remote_url_text(
    url: *const c_char,
    text: *mut c_char,
    size: usize,
    needed: *mut usize,
) -> zt_status {
    guard(|| {
        // SAFETY: "NUL-ended".
        let url = unsafe { crate::settings::text(url, "url")? };
        let url = url.ok_or_else(|| Failure::new(status::INVALID_ARGUMENT, "url is NULL"))?;
        let address = Address::parse(&url)?;
        let shown = address.show(&address.key);
        if !needed.is_null() {
            // SAFETY: not NULL.
            unsafe { needed.write(shown.len() + 1) };
        }
        if text.is_null() || size <= shown.len() {
            return Err(Failure::new(status::BUFFER_SIZE, "there is no room for the text"));
        }
        // SAFETY: room for size bytes.
        unsafe {
            text.cast::<u8>().copy_from_nonoverlapping(shown.as_ptr(), shown.len());
            text.add(shown.len()).write(0);
        }
        Ok(())
    })
}
