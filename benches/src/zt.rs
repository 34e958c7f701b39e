//! libztensor, called as a C program calls it: declarations after include/ztensor.h, and thin helpers.

mod cache;
mod file;
mod load;
mod writer;

pub use cache::*;
pub use file::*;
pub use load::*;
pub use writer::*;
