//! CBOR (RFC 7049), as much of it as a manifest needs: a bounded [`Cursor`] that pulls heads, text and whole
//! values out of a slice, typed fields for the manifest's tables, and the way back ([`encode`]).
//!
//! Nothing here recurses, and nothing is allocated for a length that the input merely claims. It knows no
//! magic and no version. (`ciborium`, which the tests compare with, builds a tree of the whole input and
//! recurses; a manifest of 100,000 objects is opened without either.)

mod cursor;
pub mod encode;
mod fast_path;
pub(super) mod fields;
pub(super) mod tables;
pub(super) mod template;

pub use cursor::{Cursor, Head};
pub use fast_path::packed;
