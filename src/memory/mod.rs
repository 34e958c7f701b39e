//! Large allocations that can fail without aborting. They are on huge pages if the system has them.

mod budget;
#[allow(unsafe_code)] // views its own memory as bytes, which it borrows as long as it exists
mod buffer;
#[allow(unsafe_code)] // calls functions of the host's, and views their memory as bytes
mod host;
#[allow(unsafe_code)] // gives a part of its own memory back
mod huge_pages;
#[allow(unsafe_code)] // views its own memory as entries
mod huge_vec;
mod page_map;
#[allow(unsafe_code)] // gives each slot's bytes to its owner
mod slots;

pub(crate) use budget::bytes_of;
pub use budget::Budget;
pub(crate) use buffer::{
    append, collected, copied, filled, in_memory, joined, owned_text, part, push, refill, take_front,
    whole_units, with_capacity, zeroed, DecodedCache,
};
pub use buffer::{try_box, try_box_of_zeros, AlignedBuffer};
pub use host::HostAllocator;
pub(crate) use huge_pages::HUGE_PAGE;
pub use huge_vec::HugeVec;
pub(crate) use page_map::PageMap;
pub(crate) use slots::{Slot, SlotMemory};
