//! What a caller asks for, checked and copied.

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
