//! Values of attributes.

pub(super) mod value;
