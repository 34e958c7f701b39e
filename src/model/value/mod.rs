//! Attribute values. A value is a record in a buffer of bytes, a tape: no value takes memory of its own, an
//! item is found without a search, and C borrows the address of a record.

pub mod builder;
mod layout;
pub mod record;
pub mod tape;
mod tree;

pub use builder::ValueBuilder;
pub use layout::Element;
pub(crate) use layout::MAX_DEPTH;
pub use tape::Tape;
pub use tree::{check_writable, keys_are_unique, OwnedText, Value};
