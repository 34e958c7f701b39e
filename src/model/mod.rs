//! What a file means, whichever container it is: plain data, no bytes, no I/O.

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
