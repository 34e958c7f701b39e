//! The numbers and names of types, formats, encodings and containers.

pub(super) mod enumerations;
pub(super) mod names;
