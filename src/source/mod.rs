//! Where a file's bytes come from: positions to bytes, never tensors.

#[allow(unsafe_code)] // advises the kernel
pub mod advice;
mod byte_source;
pub mod direct;
mod elsewhere;
pub mod file;
#[allow(unsafe_code)] // maps files
pub mod map;
pub mod memory;
#[allow(unsafe_code)] // asks the kernel which file system it is
pub mod network;
pub mod pages;
mod profile;
#[allow(unsafe_code)] // asks the kernel what is in memory
pub mod residence;

pub use advice::Advice;
pub use byte_source::ByteSource;
pub(crate) use byte_source::{change_since_open, for_each_chunk, is_callback_source, with_range, READ_CHUNK};
pub(crate) use elsewhere::Elsewhere;
pub use profile::{Change, PageCache, Profile, ReadMany, ReadRange};
