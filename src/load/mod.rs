//! Reading: from a request for decoded bytes to the bytes in their place.
//!
//! ```text
//! split      a request is checked and cut into jobs                            jobs.rs, slab.rs
//! schedule   jobs that wait, and the threads' steps that take them             executor.rs
//! coalesce   short jobs that lie near each other are read as one               coalesce.rs
//! read       through the page cache or past it                                 strategy.rs
//!            a job by itself; what has to be whole first, in temporary memory  job_reader.rs
//! finish     hash, decode, take apart, swap to the host's order, check         finish.rs, component.rs
//! ```
//!
//! There are three ways to use it. [`run_one`] (blocking.rs) runs the jobs of one request as they are cut,
//! without a queue or memory. [`run`] (blocking.rs) runs many requests, from one file or several, and returns
//! when all are done. A [`Load`] (streaming.rs) delivers finished pieces while the rest is read:
//!
//! ```text
//! pieces     what is larger than a slot is cut; what is begun first            slots.rs
//! place      slots of memory that are filled again and again                   destination.rs
//! tell       what is begun, done, heard of and given back                      progress.rs
//! ```

mod blocking;
mod coalesce;
mod component;
#[allow(unsafe_code)] // memory with gaps, and memory that is filled again and again
mod destination;
mod executor;
mod finish;
mod job_reader;
mod jobs;
mod progress;
mod request;
mod slab;
mod slots;
mod strategy;
#[allow(unsafe_code)] // fills the memory of the ring
mod streaming;

pub(crate) use blocking::{run, run_one};
pub(crate) use component::{
    decoded_limit, digest_of, for_each_block, is_of_the_file, FrameIndexCache, Owner, PairBody, StoredBytes,
    StoredComponent,
};
pub use destination::Destination;
pub(crate) use destination::{Ring, RowsMut};
pub(crate) use executor::SourceStats;
pub(crate) use progress::Event;
pub(crate) use request::Part;
pub use request::{BatchOptions, BatchStats, Direct, OnDone, Progress, Request, Wanted};
pub(crate) use slab::{Slab, Taken};
pub(crate) use slots::Order;
pub(crate) use streaming::{Load, LoadOptions, Next};
