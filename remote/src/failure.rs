//! Failures: a status and one line of text, which never contains a secret.

use crate::core::{status, zt_status};
use std::fmt;

/// A failure.
#[derive(Clone, Debug)]
pub struct Failure {
    pub status: zt_status,
    pub text: String,
    /// Whether another attempt would fail, too, because the object was replaced or does not exist.
    pub lasts: bool,
}

impl Failure {
    pub fn new(status: zt_status, text: impl fmt::Display) -> Failure {
        Failure { status, text: text.to_string(), lasts: false }
    }

    pub fn lasting(status: zt_status, text: impl fmt::Display) -> Failure {
        Failure { lasts: true, ..Failure::new(status, text) }
    }

    /// The failure of an object that was replaced while it was open.
    pub fn changed() -> Failure {
        Failure::lasting(status::IO, "the object was changed since it was opened; open it again")
    }

    /// Adds context before the text.
    pub fn within(self, what: &str) -> Failure {
        Failure { text: format!("{what}: {}", self.text), ..self }
    }
}

pub fn invalid(why: &str) -> Failure {
    Failure::new(status::INVALID_ARGUMENT, why)
}
