//! What a `.zt` file means, whichever version wrote it: plain data, no bytes, no I/O.

pub mod component;
pub mod dtype;
pub mod encoding;
pub mod find_duplicate;
pub mod manifest;
mod name;
pub(crate) mod numbers;
pub(crate) mod structure;
pub mod text;
pub mod value;
