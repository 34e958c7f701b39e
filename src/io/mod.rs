//! The system's files: functions that reading and writing share. All code that is not portable Rust has a
//! portable fallback.

#[allow(unsafe_code)] // asks the system for what the standard library has no call for
pub(crate) mod blocks;
#[allow(unsafe_code)] // locks files
pub mod file_lock;
#[allow(unsafe_code)] // asks the kernel about files
pub mod files;
#[allow(unsafe_code)] // asks the system for what is in a folder
pub(crate) mod folder;
#[allow(unsafe_code)] // resolves paths in memory of its own
pub mod path;

pub use blocks::page_size;
#[cfg(test)]
pub use blocks::pretend;
