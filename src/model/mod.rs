//! What a file means, whichever container it is: plain data, no bytes, no I/O.

pub mod component;
pub mod dtype;
mod element;
pub mod encoding;
pub mod find_duplicate;
mod join;
pub mod layout;
pub mod manifest;
mod name;
pub(crate) mod normal_form;
pub(crate) mod numbers;
pub(crate) mod sort;
pub(crate) mod structure;
pub mod text;
mod utf8;
pub mod value;
