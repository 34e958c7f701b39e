//! A [`Value`](crate::model::value::Value) as JSON text and back. What JSON lacks is an object with one `$`
//! key.

mod parse;
mod scan;
mod write;

pub use parse::parse;
pub use scan::PassedKeys;
pub use scan::Scan;
pub use write::write;
