//! Memory that is asked for fallibly, in large pieces: on huge pages where the system has them.

mod budget;
#[allow(unsafe_code)] // views its own memory as bytes
mod buffer;
#[allow(unsafe_code)] // lends what it keeps for as long as it is there
mod decoded_cache;
#[allow(unsafe_code)] // calls functions of the host's, and views their memory as bytes
mod host;
#[allow(unsafe_code)] // gives a part of its own memory back
mod huge_pages;
#[allow(unsafe_code)] // views its own memory as entries
mod huge_vec;
mod page_map;
#[allow(unsafe_code)] // gives each slot's bytes to its owner
mod slots;
#[allow(unsafe_code)] // asks for a box fallibly
mod try_box;

pub(crate) use budget::bytes_of;
pub use budget::Budget;
pub use buffer::AlignedBuffer;
pub(crate) use buffer::{in_memory, take_front, zeroed};
pub(crate) use decoded_cache::DecodedCache;
pub use host::HostAllocator;
pub(crate) use huge_pages::HUGE_PAGE;
pub use huge_vec::HugeVec;
pub(crate) use page_map::PageMap;
pub(crate) use slots::{Slot, SlotMemory};
pub use try_box::{try_box, try_box_of_zeros};
