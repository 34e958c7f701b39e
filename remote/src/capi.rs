//! The functions of ztensor_remote.h. The documentation comments here become the header; a test generates it
//! and compares.

use crate::address::Address;
use crate::connect::Client;
use crate::core::{status, zt_file, zt_open_model_from, zt_open_options, zt_source, zt_status, zt_store};
use crate::failure::{invalid, Failure};
use crate::guard::{guard, text};
use crate::settings::Settings;
use crate::store::{self, Files, SourceOut};
use reqwest::Certificate;
use std::ffi::c_char;
use std::ptr::null;
use std::time::Duration;

const ROOTS: &str = "zt_remote_options.root_certificates";

/// How requests are sent. Zero is the default of all fields but struct_size. Strings are NUL-terminated and
/// copied. If a string is NULL, its value is looked up like the service's own tools do: environment, profile,
/// web identity, the machine's metadata.
#[repr(C)]
pub struct zt_remote_options {
    /// sizeof (zt_remote_options)
    pub struct_size: usize,
    /// URL of the service, if it is not the provider's: MinIO, Ceph, an emulator.
    pub endpoint: *const c_char,
    /// S3: the region of the bucket.
    pub region: *const c_char,
    /// S3: the access key's id. Azure: the account.
    pub key_id: *const c_char,
    /// S3: the secret access key. Azure: the account's key. Google: the key of a service account, as JSON.
    pub secret: *const c_char,
    /// S3: the session's token. Google, Azure, HTTP: a bearer token.
    pub token: *const c_char,
    /// The user agent; NULL for libztensor_remote and its version.
    pub user_agent: *const c_char,
    /// Certificates of authorities, in PEM, that are trusted in addition to the system's: for servers of a
    /// private network.
    pub root_certificates: *const c_char,
    /// Milliseconds without a byte until an attempt fails; ten times that for the whole attempt. 0: 30,000.
    pub timeout_ms: u32,
    /// Retries of a request after 429 or 5xx, a timeout or a cut connection. 0: 4; ZT_REMOTE_NO_RETRIES:
    /// none.
    pub retries: u32,
    /// Concurrent requests, for all parts of a model; at most 256. 0: 16.
    pub concurrency: u32,
    /// Bytes that opening reads from an object's end, for formats with a manifest there. 0: 1 MiB.
    pub tail: u32,
    /// 1: the endpoint may be http://. A URL that begins with http:// needs no permission. A redirect from
    /// https:// to http:// is always rejected. A redirect to another host or port carries no credentials.
    pub allow_http: u32,
    /// 1: requests are not signed, and no credentials are looked up.
    pub anonymous: u32,
}

/// For zt_remote_options.retries.
pub const ZT_REMOTE_NO_RETRIES: u32 = 0xffff_ffff;

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

/// # Safety
/// `options` is NULL or has the size it gives.
unsafe fn copy(options: *const zt_remote_options) -> Result<zt_remote_options, Failure> {
    let mut copy = zt_remote_options::default();
    let known = size_of::<zt_remote_options>();
    if options.is_null() {
        return Ok(copy);
    }
    // SAFETY: it begins with its size.
    let size = unsafe { options.cast::<usize>().read_unaligned() };
    let first_number = std::mem::offset_of!(zt_remote_options, timeout_ms);
    let ends_within = size % if size < first_number { size_of::<usize>() } else { 4 } != 0;
    if size < size_of::<usize>() || (size < known && ends_within) || size > 1 << 16 {
        return Err(invalid(&format!(
            "zt_remote_options.struct_size is {size}, not sizeof (zt_remote_options)"
        )));
    }
    // SAFETY: it has the size it gives; both are bytes.
    unsafe {
        std::ptr::copy_nonoverlapping(options.cast::<u8>(), (&raw mut copy).cast::<u8>(), size.min(known))
    };
    for at in known..size {
        // SAFETY: as above.
        if unsafe { options.cast::<u8>().add(at).read() } != 0 {
            return Err(invalid("zt_remote_options has a field that this version does not know"));
        }
    }
    Ok(copy)
}

fn flag(value: u32, what: &str) -> Result<bool, Failure> {
    match value {
        0 | 1 => Ok(value == 1),
        _ => Err(invalid(&format!("zt_remote_options.{what} is {value}, which is neither 0 nor 1"))),
    }
}

fn number(value: u32, default: u32, max: u32, what: &str) -> Result<u32, Failure> {
    match value {
        0 => Ok(default),
        _ if value <= max => Ok(value),
        _ => Err(invalid(&format!("zt_remote_options.{what} is {value}, above {max}"))),
    }
}

fn certificates(pem: Option<String>) -> Result<Vec<Certificate>, Failure> {
    let Some(pem) = pem else { return Ok(Vec::new()) };
    match Certificate::from_pem_bundle(pem.as_bytes()) {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        _ => Err(invalid(&format!("{ROOTS} has no certificate in PEM, or one that is damaged"))),
    }
}

/// # Safety
/// `options` is NULL or has the size it gives. Its texts are NULL or end in a NUL.
unsafe fn settings(options: *const zt_remote_options) -> Result<Settings, Failure> {
    // SAFETY: the caller ensures this.
    let given = unsafe { copy(options)? };
    // SAFETY: the caller ensures this.
    let text = |pointer, what| unsafe { text(pointer, what) };
    let retries =
        if given.retries == ZT_REMOTE_NO_RETRIES { 0 } else { number(given.retries, 4, 100, "retries")? };
    Ok(Settings {
        endpoint: text(given.endpoint, "zt_remote_options.endpoint")?,
        region: text(given.region, "zt_remote_options.region")?,
        key_id: text(given.key_id, "zt_remote_options.key_id")?,
        secret: text(given.secret, "zt_remote_options.secret")?,
        token: text(given.token, "zt_remote_options.token")?,
        user_agent: text(given.user_agent, "zt_remote_options.user_agent")?
            .unwrap_or_else(|| concat!("libztensor_remote/", env!("CARGO_PKG_VERSION")).into()),
        root_certificates: certificates(text(given.root_certificates, ROOTS)?)?,
        timeout: Duration::from_millis(number(given.timeout_ms, 30_000, 3_600_000, "timeout_ms")?.into()),
        retries: retries as usize,
        concurrency: number(given.concurrency, 16, 256, "concurrency")? as usize,
        tail: number(given.tail, 1 << 20, 64 << 20, "tail")?.into(),
        allow_http: flag(given.allow_http, "allow_http")?,
        anonymous: flag(given.anonymous, "anonymous")?,
    })
}

/// # Safety
/// `url` is NULL or ends in a NUL; `options` is NULL or has the size it gives.
unsafe fn files(url: *const c_char, options: *const zt_remote_options) -> Result<Files, Failure> {
    // SAFETY: the caller ensures this.
    let (url, settings) = unsafe { (text(url, "url")?, settings(options)?) };
    let url = url.ok_or_else(|| invalid("url is NULL"))?;
    let address = Address::parse(&url)?;
    let shown = address.show(&address.key);
    Ok(Files::new(Client::new(address, settings).map_err(|e| e.within(&shown))?))
}

/// Opens a file or a model in a bucket or on a web server, like zt_open_model does on disk. The URL names a
/// file, an index (*.index.json), one of several numbered files, or a folder (it ends in '/').
///
/// url: s3://bucket/key, gs://bucket/key, az://container/key, https://host/path, http://host/path;
/// NUL-terminated. A query, as in a presigned URL, is sent and never shown. HTTP folders cannot be listed.
/// ZT_ERROR_INVALID_ARGUMENT for URLs that programs may read differently: with a backslash, a host that is
/// not ASCII, an address with missing numbers, an '@', '/', '?' or '#' in a password that is not written as
/// %XX. options: NULL for the defaults. open_options, file: as in zt_open_model. Returns the statuses of
/// zt_open_model. ZT_ERROR_NO_FILE if the object does not exist; ZT_ERROR_IO if a server fails or sends wrong
/// bytes; zt_last_error has the details. If the object was replaced after it was opened, reads return
/// ZT_ERROR_IO; they never mix old and new bytes. Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_remote_open(
    url: *const c_char,
    options: *const zt_remote_options,
    open_options: *const zt_open_options,
    file: *mut *mut zt_file,
) -> zt_status {
    if !file.is_null() {
        // SAFETY: it is not NULL.
        unsafe { file.write(std::ptr::null_mut()) };
    }
    let mut opened = status::OK;
    let made = guard(|| {
        // SAFETY: url ends in a NUL; options is NULL or has the size it gives.
        let files = unsafe { files(url, options)? };
        let name = files.name()?;
        let context = (&raw const files).cast_mut().cast();
        let functions = zt_store {
            struct_size: size_of::<zt_store>(),
            context,
            open: Some(store::open),
            list: Some(store::list),
        };
        // SAFETY: the store lives during the call; the caller ensures the rest.
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

/// Makes a zt_source of one object, for zt_open_source or your own functions. It reads both ends of the
/// object and keeps them until it is closed.
///
/// url, options: as in zt_remote_open. source: set struct_size; filled. zt_open_source takes ownership;
/// otherwise call its close. Statuses: as zt_remote_open. Threads: any; those of source, too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_remote_source(
    url: *const c_char,
    options: *const zt_remote_options,
    source: *mut zt_source,
) -> zt_status {
    guard(|| {
        // SAFETY: it is NULL or has the size it gives.
        let place = unsafe { SourceOut::new(source)? };
        // SAFETY: url ends in a NUL; options is NULL or has the size it gives.
        let files = unsafe { files(url, options)? };
        place.fill(files.source_of_url()?);
        Ok(())
    })
}

/// Like zt_remote_source, for another object of the same service, with the credentials and the query of url:
/// a shard, a part.
///
/// url, options, source: as in zt_remote_source. name: the object's URL as zt_remote_url_text shows it;
/// NUL-terminated. Statuses: as zt_remote_open; ZT_ERROR_INVALID_ARGUMENT if name belongs to another service.
/// Threads: any; those of source, too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_remote_source_beside(
    url: *const c_char,
    name: *const c_char,
    options: *const zt_remote_options,
    source: *mut zt_source,
) -> zt_status {
    guard(|| {
        // SAFETY: it is NULL or has the size it gives.
        let place = unsafe { SourceOut::new(source)? };
        // SAFETY: url ends in a NUL; options is NULL or has the size it gives.
        let (files, name) = unsafe { (files(url, options)?, text(name, "name")?) };
        let name = name.ok_or_else(|| invalid("name is NULL"))?;
        place.fill(files.source_of_name(&name)?);
        Ok(())
    })
}

/// The URL as messages show it: without user, password, query and fragment.
///
/// url: NUL-terminated. text, size: as in zt_value_to_json: receives the text with its NUL. needed: may be
/// NULL; receives the bytes of the text with its NUL. ZT_ERROR_INVALID_ARGUMENT as in zt_remote_open,
/// ZT_ERROR_UNSUPPORTED for another scheme, ZT_ERROR_BUFFER_SIZE if size is too small. Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_remote_url_text(
    url: *const c_char,
    text: *mut c_char,
    size: usize,
    needed: *mut usize,
) -> zt_status {
    guard(|| {
        // SAFETY: url ends in a NUL.
        let url = unsafe { crate::guard::text(url, "url")? };
        let url = url.ok_or_else(|| invalid("url is NULL"))?;
        let address = Address::parse(&url)?;
        let shown = address.show(&address.key);
        if !needed.is_null() {
            // SAFETY: it is not NULL.
            unsafe { needed.write(shown.len() + 1) };
        }
        if text.is_null() || size <= shown.len() {
            return Err(Failure::new(status::BUFFER_SIZE, "there is no room for the text"));
        }
        // SAFETY: text has size bytes.
        unsafe {
            text.cast::<u8>().copy_from_nonoverlapping(shown.as_ptr(), shown.len());
            text.add(shown.len()).write(0);
        }
        Ok(())
    })
}
