//! Failures: a status and one line, which never holds a secret.

use crate::core::{status, zt_status};
use std::fmt;

/// What went wrong.
#[derive(Clone, Debug)]
pub struct Failure {
    pub status: zt_status,
    pub text: String,
    /// Whether another attempt would fail as well: the object is another one, or not there.
    pub lasts: bool,
}

impl Failure {
    pub fn new(status: zt_status, text: impl fmt::Display) -> Failure {
        Failure { status, text: text.to_string(), lasts: false }
    }

    pub fn lasting(status: zt_status, text: impl fmt::Display) -> Failure {
        Failure { lasts: true, ..Failure::new(status, text) }
    }

    /// The object was replaced while it was open.
    pub fn changed() -> Failure {
        Failure::lasting(status::IO, "the object was changed since it was opened; open it again")
    }

    /// Puts what the failure is about in front of its text.
    pub fn within(self, what: &str) -> Failure {
        Failure { text: format!("{what}: {}", self.text), ..self }
    }
}

pub fn invalid(why: &str) -> Failure {
    Failure::new(status::INVALID_ARGUMENT, why)
}
