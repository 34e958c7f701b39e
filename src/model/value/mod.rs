//! Attribute values. A value is a record in a buffer of bytes, which is called a tape. So values need no
//! memory of their own, items are found without a search, and C borrows the address of a record.

pub mod attributes;
pub mod builder;
mod check;
mod layout;
pub mod record;
pub mod tape;

pub use attributes::Attributes;
pub use builder::{OwnedValue, ValueBuilder};
pub(crate) use check::bytes_to_compare;
pub use check::{check_writable, keys_are_unique, order};
pub use layout::Element;
pub(crate) use layout::{bytes_of_size, record_size, MAX_DEPTH};
pub(crate) use record::read_wide;
pub use record::{Array, Map, Text, Value, ValueKind};
pub use tape::Tape;
