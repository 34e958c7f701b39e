//! Files made to do harm: the cost of opening them, and the errors.

#![cfg(not(windows))] // most of them count allocations: tests/common/counting.rs

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/counting.rs"]
mod counting;

mod budget;
mod hostile;
mod in_flight;
mod noncanonical_cbor;
mod open_memory;
mod refusals;
mod v2_obligations;
mod v2_shard_limits;
mod value_tape;
