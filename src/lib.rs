//! libztensor: opens, reads, verifies and writes zTensor `.zt` files of spec 0.1, 1.0, 1.1 and 1.2.
//!
//! The product is the C library (`include/ztensor.h`). The public items here are for the `zt` program, the
//! tests and Rust programs.
//!
//! `docs/architecture.md` says what each module does and which modules it uses.
//!
//! ```no_run
//! use ztensor::reader::{File, OpenOptions};
//!
//! let file = File::open("model.zt", &OpenOptions::default())?;
//! for object in file.objects() {
//!     println!("{} {:?}", object.name(), object.shape());
//! }
//! # Ok::<(), ztensor::error::Error>(())
//! ```

#![deny(unsafe_code)]
#![warn(missing_docs)]

/// cbindgen:ignore
#[forbid(unsafe_code)]
mod cache;
#[allow(unsafe_code)] // the C interface: see its own rules
mod capi;
#[forbid(unsafe_code)]
mod codec;
#[forbid(unsafe_code)]
pub mod container;
#[forbid(unsafe_code)]
mod convert;
#[forbid(unsafe_code)]
mod digest;
pub mod error;
#[allow(unsafe_code)] // asks the system for random bytes
mod hash;
pub mod io;
mod load;
#[forbid(unsafe_code)]
mod lock;
pub mod memory;
pub mod model;
#[forbid(unsafe_code)]
pub mod reader;
#[allow(unsafe_code)] // instructions that not every processor has
mod simd;
pub mod sink;
pub mod source;
mod threads;
#[forbid(unsafe_code)]
pub mod writer;
