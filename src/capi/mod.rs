//! The C interface: the only `extern "C"` functions. Each one checks its arguments, makes one call
//! inward and fills the out-parameters. The folders are the chapters of the headers.
//!
//! - Every function that can fail runs inside [`guard::guard`]: a panic or an error becomes a status
//!   and this thread's message. Nothing unwinds into C.
//! - Raw pointers are trusted in [`arg`] alone. What may be assumed of them is what the header says;
//!   a SAFETY comment quotes it.
//! - Enumerations arrive as integers and are checked in `types/`.
//! - Structs arrive as a pointer to a prefix whose length the caller states, and are copied.
//! - Metadata getters neither fail nor allocate nor lock: they give 0 or NULL for NULL.
//! - Docs here are the header's: C words, no links.

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
