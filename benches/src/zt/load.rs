//! Loads: the caller uses what was read while the rest is read.

use super::file::{ok, ReadStats, Request};
use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

#[repr(C)]
struct LoadHandle {
    _private: [u8; 0],
}

#[repr(C)]
pub struct LoadOptions {
    size: usize,
    threads: u32,
    direct: i32,
    chunk_size: u64,
    in_flight: u64,
    verify: u32,
    pinned: u32,
    order: i32,
    keep_going: u32,
    ring: *mut c_void,
    slot_size: usize,
    slot_count: usize,
    thread_hooks: *const c_void,
}

#[repr(C)]
pub struct LoadEvent {
    struct_size: usize,
    kind: i32,
    status: i32,
    message: *const c_char,
    pub tag: u64,
    pub data: *const c_void,
    pub size: usize,
    pub offset: u64,
    last: u32,
    slot: u32,
    piece: u32,
}

const NOTHING: i32 = 0;
const DONE: i32 = 3;

extern "C" {
    fn zt_load_start(r: *const Request, n: usize, o: *const LoadOptions, load: *mut *mut LoadHandle) -> i32;
    fn zt_load_next(load: *const LoadHandle, timeout_ns: i64, event: *mut LoadEvent) -> i32;
    fn zt_load_release(load: *const LoadHandle, event: *const LoadEvent);
    fn zt_load_finish(load: *mut LoadHandle, stats: *mut ReadStats) -> i32;
}

/// A running load, freed when dropped.
pub struct Load(*mut LoadHandle);

impl LoadOptions {
    pub fn new(threads: u32) -> LoadOptions {
        let o: LoadOptions = unsafe { std::mem::zeroed() };
        LoadOptions { size: std::mem::size_of::<LoadOptions>(), threads, ..o }
    }

    /// Slots in the library's memory.
    pub fn with_slots(threads: u32, slot_size: usize, slot_count: usize) -> LoadOptions {
        LoadOptions { slot_size, slot_count, ..LoadOptions::new(threads) }
    }

    /// Slots of that size in `memory`, which may be declared contiguous.
    pub fn with_ring(threads: u32, memory: &mut [u8], slot_size: usize, pinned: bool) -> LoadOptions {
        let (ring, slot_count) = (memory.as_mut_ptr().cast(), memory.len() / slot_size);
        LoadOptions { ring, slot_size, slot_count, pinned: pinned.into(), ..LoadOptions::new(threads) }
    }
}

impl Load {
    pub fn start(requests: &[Request], options: &LoadOptions) -> Load {
        let mut load = null_mut();
        ok(unsafe { zt_load_start(requests.as_ptr(), requests.len(), options, &mut load) });
        Load(load)
    }

    /// The next bytes; None at the end. An error ends the benchmark.
    pub fn next(&self) -> Option<LoadEvent> {
        let mut event: LoadEvent = unsafe { std::mem::zeroed() };
        event.struct_size = std::mem::size_of::<LoadEvent>();
        ok(unsafe { zt_load_next(self.0, -1, &mut event) });
        ok(event.status);
        assert_ne!(event.kind, NOTHING);
        (event.kind != DONE).then_some(event)
    }

    pub fn release(&self, event: &LoadEvent) {
        unsafe { zt_load_release(self.0, event) };
    }

    /// Takes all events, calls `consume` for each and releases it.
    pub fn run(self, mut consume: impl FnMut(u64, u64, &[u8])) -> ReadStats {
        while let Some(event) = self.next() {
            consume(event.tag, event.offset, event.bytes());
            self.release(&event);
        }
        let mut stats: ReadStats = unsafe { std::mem::zeroed() };
        stats.size = std::mem::size_of::<ReadStats>();
        ok(unsafe { zt_load_finish(self.0, &mut stats) });
        std::mem::forget(self);
        stats
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        unsafe { zt_load_finish(self.0, null_mut()) };
    }
}

impl LoadEvent {
    pub fn bytes(&self) -> &[u8] {
        unsafe { std::slice::from_raw_parts(self.data.cast(), self.size) }
    }
}
