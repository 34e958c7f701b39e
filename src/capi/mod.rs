//! The C interface: the only `extern "C"` functions. Each one checks its arguments, makes one call
//! inward and fills the out-parameters. The order of the `mod` lines is the order of the header.
//!
//! - Every function that can fail runs inside [`guard::guard`]: a panic or an error becomes a status
//!   and this thread's message. Nothing unwinds into C.
//! - Raw pointers are trusted in [`arg`] alone. What may be assumed of them is what the header says;
//!   a SAFETY comment quotes it.
//! - Enumerations arrive as integers and are checked in [`types`].
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
mod sized;
mod status;
mod types;

mod attribute;
mod batch;
mod buffer;
mod cache;
mod cached_slice;
mod component;
mod component_list;
mod container;
mod copy;
/// cbindgen:ignore
mod dlpack;
mod edit;
mod handle_table;
mod hooks;
mod identity;
mod library;
mod link;
mod list;
mod load;
mod load_event;
mod load_stats;
mod mapping;
mod mode;
mod model;
mod names;
mod object;
mod open;
mod open_options;
mod progress;
mod read_options;
mod running_sink;
mod sink;
mod source;
mod store;
mod value;
mod value_find;
mod value_record;
mod verify;
mod view;
mod write;
mod write_batch;
mod write_quantized;
mod writer;
mod writer_options;
