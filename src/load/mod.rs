//! Reading: from a request for decoded bytes to the bytes in their place.
//!
//! ```text
//! split      a request is checked and cut into jobs                            split.rs, frame_runs.rs, slab.rs
//! schedule   jobs in the file's order, on some threads                         executor.rs
//! coalesce   short jobs that lie near each other are read as one               executor.rs
//! read       through the page cache or past it                                 strategy.rs
//! finish     hash, decode, gather, turn to the host's order, check, convert    perform.rs
//! ```
//!
//! A single read is one request: [`run_one`] does its jobs as they are cut, without a queue or memory of its own.
//! [`run`] does many, of one file or of several.

mod batch;
mod blob;
mod coalesce;
mod decoded;
mod executor;
mod frame_runs;
mod gather;
mod laid_out;
mod oversized;
mod perform;
mod pieces;
mod progress;
mod request;
#[allow(unsafe_code)] // lends memory that is filled again and again
mod ring;
#[allow(unsafe_code)] // memory with gaps
mod rows;
mod single;
mod slab;
mod split;
mod stored;
mod strategy;
#[allow(unsafe_code)] // fills the memory that the ring lends
mod streaming;
mod temporary;

pub(crate) use batch::run;
pub(crate) use blob::{check_bool_bytes, decoded_limit, Blob, FrameIndexCache, LaidOut, Owner};

pub(crate) use executor::SourceStats;
pub(crate) use pieces::Order;
pub(crate) use progress::Event;
pub(crate) use request::Part;
pub use request::{BatchOptions, BatchStats, Direct, OnDone, Progress, Request, Wanted};
pub(crate) use ring::Ring;
pub(crate) use rows::RowsMut;
pub(crate) use single::run_one;
pub(crate) use slab::Slab;
pub(crate) use stored::{for_each_chunk, in_memory, is_called, with_range, zeroed, StoredBytes, READ_CHUNK};
pub(crate) use streaming::{Load, LoadOptions, Next};
