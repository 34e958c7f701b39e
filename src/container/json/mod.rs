//! A [`Value`](crate::model::value::Value) as JSON text and back. What JSON lacks is an object with one `$` key.

mod parse;
mod write;

pub use parse::parse;
pub use write::write;
