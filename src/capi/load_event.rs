//! What a load is asked for, and what it tells.

use super::arg;
use super::guard::{message, set_last_error};
use super::hooks::zt_thread_hooks;
use super::read_options::{direct, zt_direct};
use super::sized::sized_struct;
use super::status::{value, zt_status};
use super::types::unknown;
use crate::error::Result;
use crate::reader::{BatchOptions, Event, LoadOptions, Next, Order};
use std::ffi::{c_char, c_void};
use std::ptr::null;

/// In which order the requests of a load are begun: one of the ZT_LOAD_ORDER_ values.
pub type zt_load_order = i32;

/// The values of zt_load_order.
#[repr(C)]
pub enum zt_load_order_value {
    /// By file and offset in it, which suits disks.
    ZT_LOAD_ORDER_POSITION = 0,
    /// As they are given.
    ZT_LOAD_ORDER_GIVEN = 1,
    /// The requests of the most bytes first.
    ZT_LOAD_ORDER_LARGEST = 2,
}

/// What zt_load_next has: one of the ZT_LOAD_ values.
pub type zt_load_kind = i32;

/// The values of zt_load_kind.
#[repr(C)]
pub enum zt_load_kind_value {
    /// Nothing came within the time.
    ZT_LOAD_KIND_NOTHING = 0,
    /// Bytes of a request, at data.
    ZT_LOAD_KIND_DATA = 1,
    /// A request failed: status and message say why. Nothing more comes of it.
    ZT_LOAD_KIND_FAILED = 2,
    /// There will be nothing more; status is how the load ended.
    ZT_LOAD_KIND_DONE = 3,
}

/// The slot of bytes that are in memory of the request's own.
pub const ZT_NO_SLOT: u32 = u32::MAX;

/// How to load. All fields zero (but struct_size) are the defaults.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_load_options {
    /// sizeof (zt_load_options)
    pub struct_size: usize,
    /// Threads that read; 0 for as many as there are processors, within reason.
    pub threads: u32,
    /// Whether to go past the page cache.
    pub direct: zt_direct,
    /// Bytes that a thread reads at a time, at least 4096; 0 for the default.
    pub chunk_size: u64,
    /// Most bytes of temporary memory beside the ring; as in zt_read_options.
    pub in_flight: u64,
    /// 1: check the digest of every component that is read whole and has one that can be checked.
    pub verify: u32,
    /// 1: all memory that is given is pinned and contiguous; as in zt_read_options.
    pub pinned: u32,
    /// Which requests are begun first.
    pub order: zt_load_order,
    /// 1: a request that fails is reported, and the others go on. 0: the first failure ends the load.
    pub keep_going: u32,
    /// Memory for requests without dst, as slot_count slots of slot_size bytes, yours until zt_load_finish; NULL: the
    /// library's, on huge pages, if it is needed.
    pub ring: *mut c_void,
    /// Bytes of a slot, at least 65536; 0 for the default, if ring is NULL.
    pub slot_size: usize,
    /// Slots; 0 for the default, if ring is NULL.
    pub slot_count: usize,
    /// Called on each thread that reads; NULL for those that the first request's file was opened with.
    pub thread_hooks: *const zt_thread_hooks,
}

/// What zt_load_next has.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_load_event {
    /// sizeof (zt_load_event), set by the caller.
    pub struct_size: usize,
    /// Which of these it is.
    pub kind: zt_load_kind,
    /// ZT_OK, or why the request failed, or how the load ended.
    pub status: zt_status,
    /// For a failure this thread's zt_last_error, valid until its next failure; else "".
    pub message: *const c_char,
    /// The tag of the request.
    pub tag: u64,
    /// The bytes: at the request's dst, or in a slot until zt_load_release.
    pub data: *const c_void,
    /// Bytes at data.
    pub size: usize,
    /// The first of them, counted in what the request reads: what does not fit a slot comes in several events.
    pub offset: u64,
    /// 1 with the event after which nothing more comes of the request.
    pub last: u32,
    /// The slot that data is in, or ZT_NO_SLOT.
    pub slot: u32,
    /// For zt_load_release.
    pub piece: u32,
    /// 0.
    pub reserved: u32,
}

// SAFETY: repr(C); integers and pointers, all of which may be zero.
sized_struct!(zt_load_options:
    threads, direct, chunk_size, in_flight, verify, pinned, order, keep_going, ring, slot_size, slot_count, thread_hooks
);

// SAFETY: as above.
sized_struct!(zt_load_event: kind, status, message, tag, data, size, offset, last, slot, piece, reserved);

pub(super) fn load_options(options: &zt_load_options) -> Result<LoadOptions> {
    let default = BatchOptions::default();
    let batch = BatchOptions {
        threads: options.threads as usize,
        direct: direct(options.direct)?,
        chunk_size: arg::or_default(options.chunk_size, default.chunk_size),
        in_flight: arg::or_default(options.in_flight, default.in_flight),
        verify: arg::flag(options.verify, "zt_load_options.verify")?,
        // The library's memory is on huge pages; of memory of the caller's, the caller says whether it is.
        pinned: arg::flag(options.pinned, "zt_load_options.pinned")?,
    };
    let order = match options.order {
        0 => Order::Position,
        1 => Order::Given,
        2 => Order::Largest,
        other => return Err(unknown("zt_load_order", other)),
    };
    Ok(LoadOptions { batch, order, keep_going: arg::flag(options.keep_going, "zt_load_options.keep_going")? })
}

pub(super) fn event_of(next: Next) -> zt_load_event {
    let nothing = zt_load_event {
        struct_size: 0,
        kind: zt_load_kind_value::ZT_LOAD_KIND_NOTHING as zt_load_kind,
        status: value::ZT_OK as zt_status,
        message: c"".as_ptr(),
        tag: 0,
        data: null(),
        size: 0,
        offset: 0,
        last: 0,
        slot: ZT_NO_SLOT,
        piece: 0,
        reserved: 0,
    };
    let failure = |outcome: &Result<()>| match outcome {
        Ok(()) => (nothing.status, nothing.message),
        Err(error) => (set_last_error(error), message()),
    };
    match next {
        Next::TimedOut => nothing,
        Next::Done(outcome) => {
            let (status, message) = failure(&outcome);
            zt_load_event {
                kind: zt_load_kind_value::ZT_LOAD_KIND_DONE as zt_load_kind,
                status,
                message,
                ..nothing
            }
        }
        Next::Event(Event { tag, outcome, address, size, offset, last, slot, piece }) => {
            let (status, message) = failure(&outcome);
            let kind = match outcome {
                Ok(()) => zt_load_kind_value::ZT_LOAD_KIND_DATA,
                Err(_) => zt_load_kind_value::ZT_LOAD_KIND_FAILED,
            };
            zt_load_event {
                kind: kind as zt_load_kind,
                status,
                message,
                tag,
                data: std::ptr::with_exposed_provenance(address),
                size,
                offset,
                last: u32::from(last),
                slot: slot.unwrap_or(ZT_NO_SLOT),
                piece,
                ..nothing
            }
        }
    }
}
