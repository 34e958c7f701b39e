//! Models in S3, Google Cloud Storage, Azure and on HTTP servers, for libztensor, over its public C interface
//! alone.
//!
//! [`capi`] has the functions of `ztensor_remote.h`. An [`object::Object`] is what a `zt_source` reads: it
//! keeps both ends from when it was opened, and has [`fetch`] make requests of the ranges that it is asked
//! for, which run in [`runtime`]. [`connect`] makes the client of a service, by an [`address::Address`] and
//! [`settings::Settings`]; [`bucket`] those of buckets.

#![allow(non_camel_case_types, reason = "names and shapes are those of C")]

mod address;
mod attempt;
mod bucket;
pub mod capi;
mod connect;
#[allow(missing_docs, reason = "ztensor.h says what they are")]
pub mod core;
mod failure;
mod fetch;
mod guard;
mod object;
mod profile;
mod runtime;
mod service;
mod settings;
mod store;
