//! Failures of requests, and texts without secrets.

use crate::address::shown;
use crate::core::status;
use crate::failure::{invalid, Failure};
use object_store::client::HttpErrorKind;
use object_store::Error;
use std::sync::{Arc, Mutex, PoisonError};

impl Failure {
    /// The failure of a request, from its last attempt.
    pub fn of_request(error: &Error, seen: &Seen) -> Failure {
        let last = seen.last();
        let answer = last.answer();
        match error {
            Error::NotFound { .. } => Failure::lasting(status::NO_FILE, "there is no such object"),
            Error::Precondition { .. } | Error::NotModified { .. } => Failure::changed(),
            Error::Unauthenticated { .. } | Error::PermissionDenied { .. } => {
                // Credentials can be renewed and rights can be granted, so a later attempt may succeed.
                Failure::new(status::IO, format_args!("access was refused ({answer})"))
            }
            _ if last.code.is_some_and(|code| (200..300).contains(&code)) => {
                // The server's answer was invalid or ended early. This text has only numbers and header
                // names.
                Failure::new(status::IO, explain(innermost(error)))
            }
            _ if last.code.is_some() || last.kind.is_some() => Failure::new(status::IO, answer),
            _ => Failure::new(status::IO, without_secrets(&innermost(error))),
        }
    }
}

/// The failure to make the client of a service.
pub fn refused(error: &Error) -> Failure {
    invalid(&without_secrets(&error.to_string()))
}

/// The text of the first cause of an error.
pub fn innermost(error: &dyn std::error::Error) -> String {
    let mut at = error;
    while let Some(source) = at.source() {
        at = source;
    }
    at.to_string()
}

/// Replaces messages of libraries by ones that a user understands.
fn explain(text: String) -> String {
    let of = |part: &str| text.contains(part);
    if of("non-partial response") || of("Range request not supported") {
        return "the server ignores ranges: it answered 200, not 206".into();
    }
    if of("Content-Range header not present") || of("CONTENT_RANGE") {
        return "the server did not say which bytes it sent: its Content-Range is missing or cannot be parsed"
            .into();
    }
    if of("end of file before message length") || of("unexpected EOF") || of("connection closed") {
        return "the connection ended before all bytes were there".into();
    }
    if let Some(ranges) = text.strip_prefix("Requested ") {
        return format!("the server sent other bytes than requested: {ranges}");
    }
    without_secrets(&text)
}

/// The text without the secret parts of a URL in it: user, query and fragment, and the whole URL if it cannot
/// be parsed. In other words, everything after a question mark is cut. Line breaks are removed.
pub fn without_secrets(text: &str) -> String {
    let words = text.split_whitespace().map(|word| match word.contains("://") {
        true => shown(word),
        false => word.split_once('?').map_or(word, |(front, _)| front).to_owned(),
    });
    let text = words.collect::<Vec<_>>().join(" ");
    text.chars().filter(|c| !c.is_control()).take(300).collect()
}

/// The message about a redirect that is not followed.
pub const INSECURE_REDIRECT: &str = "the server redirects from https to http, which is refused";

/// What is known about the last attempt of a request.
#[derive(Clone, Debug, Default)]
pub struct Attempt {
    /// The status of the answer.
    pub code: Option<u16>,
    /// The service's name of the error, for example SlowDown.
    pub word: String,
    /// The kind of failure, if there was no answer.
    pub kind: Option<HttpErrorKind>,
    pub detail: String,
}

impl Attempt {
    fn answer(&self) -> String {
        if self.detail.contains(INSECURE_REDIRECT) {
            return INSECURE_REDIRECT.into();
        }
        if let Some(code) = self.code {
            let between = if self.word.is_empty() { "" } else { " " };
            return format!("the server answered {code}{between}{}", self.word);
        }
        match self.kind {
            Some(HttpErrorKind::Timeout) => "there was no answer in time".into(),
            Some(HttpErrorKind::Connect) => format!("could not connect: {}", self.detail),
            _ => format!("the connection was cut: {}", self.detail),
        }
    }
}

/// The last attempt of a request, shared by the code that makes it and the code that waits for it.
#[derive(Clone, Debug, Default)]
pub struct Seen(Arc<Mutex<Attempt>>);

impl Seen {
    pub fn last(&self) -> Attempt {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn set(&self, attempt: Attempt) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = attempt;
    }
}

#[cfg(test)]
mod tests {
    use super::without_secrets;

    #[test]
    fn texts_lose_users_and_queries_of_urls() {
        for (text, shown) in [
            ("no https://me:hush@host:81/a?hush at all", "no https://host:81/a at all"),
            ("host/a.zt?hush=1\nb", "host/a.zt b"),
            ("mail me@host", "mail me@host"),
            ("(s3://me:hush@host)", "(s3://..."),
            ("no https://me:hu/sh@host/a", "no https://..."),
            ("by socks5://me:hush@host:81", "by socks5://..."),
        ] {
            assert_eq!(without_secrets(text), shown);
        }
    }
}
