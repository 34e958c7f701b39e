//! Reading: from a request for decoded bytes to the bytes in their place.
//!
//! ```text
//! split      a request is checked and cut into jobs                            split.rs, frame_runs.rs, slab.rs, rows.rs
//! schedule   jobs that wait, and the threads' steps that take them             executor.rs
//! coalesce   short jobs that lie near each other are read as one               coalesce.rs
//! read       through the page cache or past it                                 strategy.rs
//! finish     hash, decode, gather, swap to the host's order, check, convert    perform.rs
//!            what has to be whole before that is put in memory of its own      temporary.rs, perform.rs, budget.rs
//! ```
//!
//! Three ways lead through it. [`run_one`] (single.rs) does the jobs of one request as they are cut, without
//! a queue or memory of its own. [`run`] (batch.rs) does many requests, of one file or of several, and
//! returns when all are done. A [`Load`] (streaming.rs) delivers what is done while the rest is read:
//!
//! ```text
//! pieces     what is larger than a slot is cut; what is begun first            pieces.rs
//! place      slots of memory that are filled again and again                   ring.rs
//! tell       what is begun, done, heard of and given back                      progress.rs
//! ```

mod batch;
mod blob;
mod budget;
mod coalesce;
mod decoded;
mod executor;
mod frame_runs;
mod job;
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
pub(crate) use blob::{decoded_limit, digest_of, is_of_the_file, Blob, FrameIndexCache, Owner};

pub(crate) use executor::SourceStats;
pub(crate) use pieces::Order;
pub(crate) use progress::Event;
pub(crate) use request::Part;
pub use request::{BatchOptions, BatchStats, Destination, Direct, OnDone, Progress, Request, Wanted};
pub(crate) use ring::Ring;
pub(crate) use rows::RowsMut;
pub(crate) use single::run_one;
pub(crate) use slab::Slab;
pub(crate) use stored::StoredBytes;
pub(crate) use streaming::{Load, LoadOptions, Next};
