//! The caller's options, checked and copied.

use reqwest::Certificate;
use std::time::Duration;

/// `zt_remote_options` with its defaults.
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
    /// The longest time without a byte.
    pub timeout: Duration,
    pub retries: usize,
    pub concurrency: usize,
    /// How many bytes of an object's end are read when it is opened.
    pub tail: u64,
    pub allow_http: bool,
    pub anonymous: bool,
}

impl std::fmt::Debug for Settings {
    /// Without the secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Settings")
    }
}
