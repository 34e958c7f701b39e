//! Calls libztensor like a C program: declarations from include/ztensor.h, and thin helpers.

mod cache;
mod file;
mod load;
mod writer;

pub use cache::*;
pub use file::*;
pub use load::*;
pub use writer::*;
