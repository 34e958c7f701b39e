//! Errors: a [`Cause`] for the program, and a line of English text for the user.
//!
//! A broken rule of the format is a [`Rule`]; everything else is another [`Cause`]. The status numbers of the
//! C interface are not used here. Messages grow from the inside out: the code that finds a wrong number
//! writes the detail, and each caller adds its context before it (component, object, path). Building a
//! message never aborts: without memory the text is cut.

#[allow(unsafe_code)] // one pointer, to the heap or to a preallocated error
mod data;
mod os;
mod rule;
mod text;

pub use rule::{Cause, Rule};

use data::{ErrorData, ErrorPointer};
pub(crate) use os::{is_refusal, SystemText};
pub(crate) use text::{boundary, Quoted, MESSAGE_LIMIT};
use text::{bounded_text, push_bounded, DETAIL_LIMIT};

use std::fmt;

/// The result of everything that can fail in this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure: its cause and one line of text.
pub struct Error(ErrorPointer);

impl Error {
    /// An error with its detail: the rule and the numbers that disagree, without path and object.
    #[cold]
    #[inline(never)]
    pub fn new(cause: Cause, detail: fmt::Arguments<'_>) -> Self {
        let text = bounded_text(detail, DETAIL_LIMIT).unwrap_or_else(|cut| cut);
        Error(ErrorPointer::new(ErrorData { cause, called: None, os: 0, is_named: false, text }))
    }

    /// The error for a failed allocation of `bytes` bytes.
    #[cold]
    pub fn out_of_memory(bytes: usize) -> Self {
        Error::new(Cause::OutOfMemory, format_args!("could not allocate {bytes} bytes"))
    }

    /// The error for a failed call of the operating system. `doing` may be empty if [`Error::within`] adds
    /// it.
    #[cold]
    pub fn io(doing: &str, error: &std::io::Error) -> Self {
        let cause = match error.kind() {
            std::io::ErrorKind::OutOfMemory => Cause::OutOfMemory,
            std::io::ErrorKind::NotFound => Cause::NoFile,
            _ => Cause::Io,
        };
        let between = if doing.is_empty() { "" } else { ": " };
        let mut made = Error::new(cause, format_args!("{doing}{between}{}", SystemText(error)));
        if let Some(data) = made.0.get_mut() {
            data.os = error.raw_os_error().unwrap_or(0);
        }
        made
    }

    /// A copy of the error, for another caller.
    #[cold]
    pub(crate) fn again(&self) -> Self {
        let ErrorData { cause, called, os, is_named, text } = self.0.get();
        let mut copied = String::new();
        push_bounded(&mut copied, text, MESSAGE_LIMIT);
        let (cause, called, os, is_named) = (*cause, *called, *os, *is_named);
        Error(ErrorPointer::new(ErrorData { cause, called, os, is_named, text: copied }))
    }

    /// Marks that the text names the file and the object, so that they are not added again.
    #[cold]
    pub(crate) fn into_named(mut self) -> Self {
        if let Some(data) = self.0.get_mut() {
            data.is_named = true;
        }
        self
    }

    /// Whether the text names the file and the object.
    pub(crate) fn is_named(&self) -> bool {
        self.0.get().is_named
    }

    /// Adds context before the text: `context: text`. An empty context adds nothing. If both are too long,
    /// the context is cut; without memory it is left out.
    #[must_use]
    #[cold]
    pub fn within(mut self, context: fmt::Arguments<'_>) -> Self {
        const BETWEEN: &str = ": ";
        let Some(data) = self.0.get_mut() else { return self };
        let capacity = MESSAGE_LIMIT.saturating_sub(BETWEEN.len()).saturating_sub(data.text.len());
        if let Ok(mut text) = bounded_text(context, capacity) {
            let more = BETWEEN.len().saturating_add(data.text.len());
            if !text.is_empty() && text.try_reserve(more).is_ok() {
                text.push_str(BETWEEN);
                text.push_str(&data.text);
                data.text = text;
            }
        }
        self
    }

    /// The cause.
    pub fn cause(&self) -> Cause {
        self.0.get().cause
    }

    /// The number of the operating system's error, if it is one.
    pub fn os_error(&self) -> Option<i32> {
        Some(self.0.get().os).filter(|code| *code != 0)
    }

    /// The broken rule, if the cause is one.
    pub fn rule(&self) -> Option<Rule> {
        let ErrorData { cause, called, .. } = self.0.get();
        match *cause {
            Cause::Broken(rule) => Some(called.unwrap_or(rule)),
            _ => None,
        }
    }

    /// The same error with another rule, if there is one, because the container has its own name for it.
    #[must_use]
    #[cold]
    pub fn called(mut self, rule: impl Into<Option<Rule>>) -> Self {
        if let Some(data) = self.0.get_mut() {
            data.called = data.called.or(rule.into());
        }
        self
    }

    /// The short name of the broken rule; "" if no rule was broken.
    pub fn rule_name(&self) -> &'static std::ffi::CStr {
        let ErrorData { cause, called, .. } = self.0.get();
        match (*called, *cause) {
            (Some(rule), _) | (None, Cause::Broken(rule)) => rule.name(),
            (None, Cause::DigestMismatch) => c"digest-mismatch",
            (None, _) => c"",
        }
    }

    /// The line of text.
    pub fn message(&self) -> &str {
        &self.0.get().text
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.cause(), self.message())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl std::error::Error for Error {}

impl From<std::collections::TryReserveError> for Error {
    #[cold]
    fn from(_: std::collections::TryReserveError) -> Self {
        Error::new(Cause::OutOfMemory, format_args!("could not allocate memory"))
    }
}

/// Text that grows without aborting if memory runs out.
#[derive(Default)]
pub(crate) struct FallibleText(pub String);

impl fmt::Write for FallibleText {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        self.0.try_reserve(s.len()).map_err(|_| fmt::Error)?;
        self.0.push_str(s);
        Ok(())
    }
}

/// Formats to memory whose allocation may fail without aborting. Returns the whole text or an error.
pub(crate) fn try_format(arguments: fmt::Arguments<'_>) -> Result<String> {
    let mut text = FallibleText::default();
    match fmt::Write::write_fmt(&mut text, arguments) {
        Ok(()) => Ok(text.0),
        Err(fmt::Error) => Err(fail!(OutOfMemory, "could not allocate memory for a label")),
    }
}

/// `Err(broken!(Rule::X, "offset {} ...", n))`: a broken rule of the format.
macro_rules! broken {
    ($rule:expr, $($detail:tt)*) => {
        $crate::error::Error::new($crate::error::Cause::Broken($rule), format_args!($($detail)*))
    };
}

/// `Err(fail!(Limit, "..."))`: any other cause.
macro_rules! fail {
    ($cause:ident, $($detail:tt)*) => {
        $crate::error::Error::new($crate::error::Cause::$cause, format_args!($($detail)*))
    };
}

pub(crate) use {broken, fail};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_call_keeps_its_number() {
        let error = Error::io("", &std::io::Error::from_raw_os_error(2));
        assert_eq!((error.os_error(), error.cause()), (Some(2), Cause::NoFile));
        let error = error.within(format_args!("could not read it"));
        assert_eq!((error.os_error(), error.again().os_error()), (Some(2), Some(2)));
        let denied = Error::io("", &std::io::Error::from_raw_os_error(13));
        assert_eq!((denied.os_error(), denied.cause()), (Some(13), Cause::Io));
        assert!(error.message().starts_with("could not read it: ") && !error.message().contains(": :"));
        assert_eq!(Error::io("x", &std::io::ErrorKind::WriteZero.into()).os_error(), None);
        assert_eq!(Error::out_of_memory(7).os_error(), None);
    }

    #[test]
    fn a_result_takes_one_pointer_more_than_what_it_gives() {
        assert_eq!(size_of::<Result<()>>(), size_of::<usize>());
        assert_eq!(size_of::<Result<usize>>(), 2 * size_of::<usize>());
    }

    #[test]
    fn of_long_names_the_middle_is_left_out_and_the_reason_stays() {
        let cases: [Vec<u8>; 4] = [
            "x".repeat(70_000),
            "\u{e9}".repeat(70_000),
            "\u{1}\u{10fffd}".repeat(70_000),
            "n".repeat(1 << 20),
        ]
        .map(String::into_bytes);
        for mut name in cases.into_iter().chain([vec![0xff; 70_000]]) {
            name.splice(..0, *b"first");
            name.extend_from_slice(b"last");
            let quoted = Quoted(&name).to_string();
            assert!(
                quoted.starts_with("\"first") && quoted.ends_with("last\"") && quoted.contains("..."),
                "{quoted}"
            );
            assert!(quoted.len() < 900, "{}", quoted.len());
            let path = format!("/{}/file.zt", "folder/".repeat(500));
            let two = broken!(Rule::NameDuplicate, "{} and {} are the same", Quoted(&name), Quoted(&name));
            let error = two.within(format_args!("object {}", Quoted(&name))).within(format_args!("{path}"));
            let text = error.message();
            assert!(text.ends_with("are the same") && text.len() <= MESSAGE_LIMIT, "{text}");
            let text = String::from_utf8(name).unwrap_or_default();
            let error = fail!(Exists, "object {text:?} is there twice").within(format_args!("{path}"));
            let is_plain = !text.contains('\u{1}'); // escaped texts may be cut anywhere
            assert!(error.message().starts_with("/folder/") && error.message().len() <= MESSAGE_LIMIT);
            assert_eq!(error.message().ends_with("is there twice"), is_plain, "{}", error.message());
            assert_eq!(error.again().message(), error.message());
        }
        let short = "y".repeat(300);
        assert_eq!(fail!(Io, "{short}").message(), short);
    }
}
