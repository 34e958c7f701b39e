//! Models in S3, Google Cloud Storage, Azure and on HTTP servers, for libztensor. Uses only its public C
//! interface.
//!
//! [`capi`] has the functions of `ztensor_remote.h`. A `zt_source` reads an [`object::Object`], which keeps
//! both of its ends since it was opened. For other ranges, [`fetch`] makes requests, which run in
//! [`runtime`]. [`connect`] makes the client of a service from an [`address::Address`] and
//! [`settings::Settings`]; [`bucket`] makes the clients of buckets.

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
