//! Names of the spec, for Rust and for C.

use std::ffi::CStr;

/// A name that lives as long as the library.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name {
    pub(super) text: &'static str,
    /// The text, with a NUL behind it.
    pub(super) c: &'static CStr,
}

impl Name {
    /// Made by the compiler, which refuses what is no UTF-8.
    pub(super) const fn new(c: &'static CStr) -> Name {
        match c.to_str() {
            Ok(text) => Name { text, c },
            Err(_) => panic!("a name of the spec is UTF-8"),
        }
    }
}
