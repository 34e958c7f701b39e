//! Memory that is asked for fallibly, in large pieces: on huge pages where the system has them.

mod budget;
#[allow(unsafe_code)] // views its own memory as bytes
mod buffer;
#[allow(unsafe_code)] // views its own memory as entries
mod huge_vec;

pub use budget::Budget;
pub(crate) use budget::{block, bytes_of};
pub use buffer::AlignedBuffer;
pub(crate) use buffer::HUGE_PAGE;
pub use huge_vec::HugeVec;
