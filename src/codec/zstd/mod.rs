//! zstd: sizes from headers, decoding in one shot, in ranges and piece by piece, and writing frames.
//!
//! Where the stored bytes are in memory as a whole, headers are walked first: nothing is decoded
//! that cannot give the wanted size, and no memory is sized by a header alone, because its blocks
//! must be able to hold what it promises.

mod context;
mod decode;
mod encode;
mod stream;
mod walk;
mod whole;

pub(super) use decode::{decode_chunks, decode_counted, decode_range};
pub(super) use encode::{frame_bound, FrameEncoder};
pub(super) use walk::Walk;
pub(super) use whole::decode_into;

#[cfg(test)]
mod tests;
