//! Options of a load, and its events.

use crate::capi::advanced::hooks::zt_thread_hooks;
use crate::capi::arg;
use crate::capi::guard::{message, set_last_error};
use crate::capi::reading::options::{batch_fields, zt_direct};
use crate::capi::sized::sized_struct;
use crate::capi::status::zt_status;
use crate::error::Result;
use crate::reader::{BatchOptions, Direct, Event, LoadOptions, Next, Order};
use std::ffi::{c_char, c_void};

/// The order in which a load begins its requests.
pub type zt_load_order = i32;

/// The values of zt_load_order.
#[repr(C)]
pub enum zt_load_order_value {
    /// By file and offset, which suits disks.
    ZT_LOAD_ORDER_POSITION = 0,
    /// As given.
    ZT_LOAD_ORDER_GIVEN = 1,
    /// Largest first.
    ZT_LOAD_ORDER_LARGEST = 2,
}

/// What a zt_load_event reports.
pub type zt_load_kind = i32;

/// The values of zt_load_kind.
#[repr(C)]
pub enum zt_load_kind_value {
    /// The timeout passed.
    ZT_LOAD_KIND_NOTHING = 0,
    /// Bytes of a request, at data.
    ZT_LOAD_KIND_DATA = 1,
    /// A request failed: see status and message. No more events follow for it.
    ZT_LOAD_KIND_FAILED = 2,
    /// The load has ended; status is its result.
    ZT_LOAD_KIND_DONE = 3,
}

/// The slot of an event without one: the bytes are at the request's dst, or kind is not ZT_LOAD_KIND_DATA.
pub const ZT_NO_SLOT: u32 = u32::MAX;

/// How to load.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_load_options {
    /// sizeof(zt_load_options)
    pub struct_size: usize,
    /// Number of reading threads; 0: the library chooses, at most 16.
    pub threads: u32,
    /// Whether to bypass the page cache.
    pub direct: zt_direct,
    /// As in zt_read_options.
    pub chunk_size: u64,
    /// Largest temporary memory beside the ring in bytes; 0: 256 MiB. A request that needs more is
    /// ZT_ERROR_LIMIT.
    pub in_flight: u64,
    /// 1: check the digest of every component that is read whole and has one.
    pub verify: u32,
    /// As in zt_read_options.
    pub pinned: u32,
    /// Which requests begin first.
    pub order: zt_load_order,
    /// 1: report a request that fails and go on; zt_load_start still refuses what manifests show to be wrong.
    /// 0: the first failure is reported and ends the load.
    pub keep_going: u32,
    /// Your memory for slot_count slots of slot_size bytes, valid until zt_load_finish; NULL: the library's.
    pub ring: *mut c_void,
    /// Bytes of a slot: a multiple of 64, at least 65536. If ring is NULL, 0 means 16 MiB.
    pub slot_size: usize,
    /// Number of slots, at least 1. If ring is NULL, 0 means 4.
    pub slot_count: usize,
    /// Called on each reading thread; NULL: those of the first request's file.
    pub thread_hooks: *const zt_thread_hooks,
}

/// What zt_load_next reports.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_load_event {
    /// sizeof(zt_load_event)
    pub struct_size: usize,
    /// The kind of event.
    pub kind: zt_load_kind,
    /// ZT_OK, the request's failure, or the load's result.
    pub status: zt_status,
    /// This thread's zt_last_error if status is a failure, else "".
    pub message: *const c_char,
    /// The tag of the request.
    pub tag: u64,
    /// The bytes: at the request's dst, or in a slot until zt_load_release. If the ring begins at a multiple
    /// of 64, converted numbers are aligned for their dtype. Other bytes are aligned at least as in the file,
    /// up to 64.
    pub data: *const c_void,
    /// Bytes at data.
    pub size: usize,
    /// Where these bytes belong, counted from the first byte that the request delivers.
    pub offset: u64,
    /// 1 if no more events follow for the request.
    pub last: u32,
    /// The slot of data, or ZT_NO_SLOT.
    pub slot: u32,
    /// Used by zt_load_release; do not change it.
    pub piece: u32,
    /// 0.
    pub reserved: u32,
}

// SAFETY: repr(C); integers and pointers, which may be zero.
sized_struct! {
    zt_load_options:
        threads, direct, chunk_size, in_flight, verify, pinned, order, keep_going, ring, slot_size,
        slot_count, thread_hooks;
    zt_load_event: kind, status, message, tag, data, size, offset, last, slot, piece, reserved;
}

pub(in crate::capi) fn load_options(options: &zt_load_options) -> Result<LoadOptions> {
    // The library's own ring is on huge pages. For a ring of the caller, the caller says so.
    let batch = batch_fields!(options, "zt_load_options");
    let orders = [Order::Position, Order::Given, Order::Largest];
    Ok(LoadOptions { batch, order: arg::by_number("zt_load_order", options.order, &orders)? })
}

pub(in crate::capi) fn event_of(next: Next) -> zt_load_event {
    use zt_load_kind_value as kind;
    // The kind is ZT_LOAD_KIND_NOTHING, and the status ZT_OK.
    let nothing = zt_load_event { message: c"".as_ptr(), slot: ZT_NO_SLOT, ..arg::zeroed() };
    let with = |kind: kind, outcome: Result<()>| {
        let kind = kind as zt_load_kind;
        match outcome.map_err(|error| set_last_error(&error)) {
            Ok(()) => zt_load_event { kind, ..nothing },
            Err(status) => zt_load_event { kind, status, message: message(), ..nothing },
        }
    };
    match next {
        Next::TimedOut => nothing,
        Next::Done(outcome) => with(kind::ZT_LOAD_KIND_DONE, outcome),
        Next::Event(Event { tag, outcome, address, size, offset, last, slot, piece }) => {
            let is_data = outcome.is_ok();
            zt_load_event {
                tag,
                data: std::ptr::with_exposed_provenance(address),
                size,
                offset,
                last: u32::from(last),
                slot: slot.unwrap_or(ZT_NO_SLOT),
                piece,
                ..with(if is_data { kind::ZT_LOAD_KIND_DATA } else { kind::ZT_LOAD_KIND_FAILED }, outcome)
            }
        }
    }
}
