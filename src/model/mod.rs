//! The meaning of a file, whatever its container: plain data, without tensor bytes and I/O.

pub mod component;
pub mod dtype;
pub mod encoding;
mod join;
pub mod manifest;
pub(crate) mod numbers;
pub(crate) mod sort;
pub(crate) mod structure;
pub mod text;
pub(crate) mod unicode;
pub mod value;
