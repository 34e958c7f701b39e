//! Reading: every way to read a file or a model, and the descriptions of their contents.

#[path = "../common/mod.rs"]
mod common;
#[allow(dead_code)]
#[path = "../../examples/dump.rs"]
mod dump;
#[path = "../common/refusing.rs"]
mod refusing;

mod advice;
mod aliases;
mod archive_arrays;
mod changed_files;
mod coalescing;
mod direct_refused;
mod far_sources;
mod load;
mod model_layouts;
mod models;
mod modes;
mod read_strategy;
mod reading;
mod slices;
mod statuses;
mod verify;
mod vocabulary;
mod zstd_ranges;
