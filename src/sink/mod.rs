//! Where a written file goes: bytes front to back, never tensors.

pub mod append_sink;
mod buffered_file;
mod byte_sink;
pub mod direct_sink;
pub mod file_sink;
pub mod held_file;
#[allow(unsafe_code)] // sets the thread's signals
mod write_all;

pub use byte_sink::{ByteSink, WriteThreads};
