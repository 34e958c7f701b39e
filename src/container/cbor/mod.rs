//! CBOR (RFC 7049), as far as manifests need it: a bounded [`Cursor`] that reads heads, texts and whole
//! values from a slice, typed fields for the tables of a manifest, and an encoder ([`encode`]).
//!
//! Nothing here recurses, and nothing is allocated for a length that the input only claims. It knows no magic
//! and no version. (The tests compare with `ciborium`, which builds a tree of the whole input and recurses. A
//! manifest of 100,000 objects opens without either.)

mod cursor;
pub mod encode;
mod fast_path;
pub(super) mod fields;
pub(super) mod template;

pub use cursor::{each_pair, Cursor, Head};
pub use fast_path::{packed, packed_dtypes};
