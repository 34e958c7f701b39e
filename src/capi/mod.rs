//! The C interface. Only this module has `extern "C"` functions. Each one checks its arguments, makes one
//! call to the rest of the library, and fills the out-parameters. The folders are the chapters of the
//! headers.
//!
//! - Every function that can fail runs inside [`guard::guard`]: a panic or an error becomes a status
//!   and this thread's message. Nothing unwinds into C.
//! - Only [`arg`] trusts raw pointers. The header says what callers ensure; SAFETY comments refer to it.
//! - Enumerations arrive as integers and are checked in `types/`.
//! - Structs come as a pointer to memory of a size that the caller gives, and are copied.
//! - Getters of metadata never fail, allocate or lock: for NULL they return 0 or NULL.
//! - The documentation comments become the header, so they are written for C and have no links.

#![allow(
    non_camel_case_types,
    clippy::missing_safety_doc,
    clippy::too_many_arguments,
    dead_code,
    reason = "names and shapes are those of C; values of enumerations are there for the header"
)]

mod arg;
mod guard;
mod handle_table;
mod library;
mod sized;

mod advanced;
mod attributes;
mod finding;
mod opening;
mod reading;
mod status;
mod streaming;
mod types;
mod verifying;
mod writing;
