//! Converts a [`Value`](crate::model::value::Value) to JSON text and back. What JSON lacks becomes an object
//! with a single key that begins with `$`.

mod parse;
mod scan;
mod write;

pub use parse::parse;
pub use scan::{PassedKeys, Scan};
pub use write::write;
