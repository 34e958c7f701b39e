//! Copies between files, and conversions to other types.

#[path = "../common/mod.rs"]
mod common;

mod blocks;
mod checkpoint_copies;
mod checkpoints;
mod convert;
mod copy;
mod copy_foreign;
mod copy_refusals;
mod copy_shared;
mod copy_ztensor_2;
mod damaged_copies;
mod groups;
mod layouts;
mod numbers;
