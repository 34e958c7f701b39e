//! What a caller asks for, checked and copied.

use crate::capi::zt_remote_options;
use crate::core::status;
use crate::failure::Failure;
use reqwest::Certificate;
use std::ffi::{c_char, CStr};
use std::time::Duration;

const ROOTS: &str = "zt_remote_options.root_certificates";

/// No later attempts.
pub const NO_RETRIES: u32 = u32::MAX;

/// [`zt_remote_options`] with its defaults.
#[derive(Clone)]
#[cfg_attr(test, derive(Default))]
pub struct Settings {
    pub endpoint: Option<String>,
    pub region: Option<String>,
    pub key_id: Option<String>,
    pub secret: Option<String>,
    pub token: Option<String>,
    pub user_agent: String,
    pub root_certificates: Vec<Certificate>,
    /// Without a byte.
    pub timeout: Duration,
    pub retries: usize,
    pub concurrency: usize,
    /// Bytes of an object's end that opening reads.
    pub tail: u64,
    pub allow_http: bool,
    pub anonymous: bool,
}

impl std::fmt::Debug for Settings {
    /// Without what is secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Settings")
    }
}

fn invalid(what: &str) -> Failure {
    Failure::new(status::INVALID_ARGUMENT, what)
}

/// # Safety
/// `text` is NULL or NUL-ended.
pub unsafe fn text(text: *const c_char, what: &str) -> Result<Option<String>, Failure> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: as above.
    let text = unsafe { CStr::from_ptr(text) }.to_str();
    text.map(|text| Some(text.to_owned())).map_err(|_| invalid(&format!("{what} is not UTF-8")))
}

/// # Safety
/// `options` is NULL or of the size that it says.
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
    // SAFETY: of the size that it says; both are bytes.
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

impl Settings {
    /// # Safety
    /// `options` is NULL or of the size that it says, its texts NULL or NUL-ended.
    pub unsafe fn new(options: *const zt_remote_options) -> Result<Settings, Failure> {
        // SAFETY: passed on.
        let given = unsafe { copy(options)? };
        // SAFETY: passed on.
        let text = |pointer, what| unsafe { text(pointer, what) };
        let retries = if given.retries == NO_RETRIES { 0 } else { number(given.retries, 4, 100, "retries")? };
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
}
