//! Sources of a file's bytes. They know offsets and bytes, but no tensors.

#[allow(unsafe_code)] // advises the kernel
pub mod advice;
mod byte_source;
pub mod direct;
pub mod file;
#[allow(unsafe_code)] // maps files
pub mod map;
pub mod profile;
#[allow(unsafe_code)] // asks the kernel where a file's bytes are
pub mod residence;

pub use advice::Advice;
pub(crate) use byte_source::{
    change_since_open, for_each_chunk, for_each_chunk_of, is_callback_source, with_range, UnopenedShard,
    READ_CHUNK,
};
pub use byte_source::{ByteSource, MemorySource};
pub use profile::{Change, PageCache, Profile, ReadMany, ReadRange};
