//! The cache of slices.

use super::file::{ok, Request};
use std::ffi::c_void;
use std::ptr::{null, null_mut};

#[repr(C)]
struct CacheHandle {
    _private: [u8; 0],
}

#[repr(C)]
struct CacheOptions {
    struct_size: usize,
    budget: u64,
    slot_size: u64,
    memory: *mut c_void,
    threads: u32,
    verify: u32,
    policy: i32,
    reserved: u32,
    thread_hooks: *const c_void,
}

/// A pinned slice.
#[repr(C)]
pub struct Pinned {
    struct_size: usize,
    data: *const c_void,
    size: usize,
    pin: u64,
}

#[repr(C)]
pub struct CacheStats {
    struct_size: usize,
    pub slots: u64,
    used: u64,
    pinned: u64,
    queued: u64,
    overhead: u64,
    pub hits: u64,
    pub joined: u64,
    pub misses: u64,
    pub prefetches: u64,
    prefetches_used: u64,
    prefetches_dropped: u64,
    evictions: u64,
    failures: u64,
    bytes_read: u64,
}

extern "C" {
    fn zt_cache_create(options: *const CacheOptions, cache: *mut *mut CacheHandle) -> i32;
    fn zt_cache_get(c: *const CacheHandle, slice: *const Request, timeout_ns: i64, out: *mut Pinned) -> i32;
    fn zt_cache_prefetch(c: *const CacheHandle, slices: *const Request, n: usize) -> i32;
    fn zt_cache_unpin(c: *const CacheHandle, slice: *mut Pinned) -> i32;
    fn zt_cache_get_stats(c: *const CacheHandle, stats: *mut CacheStats) -> i32;
    fn zt_cache_free(c: *mut CacheHandle);
}

/// Freed when dropped.
pub struct Cache(*mut CacheHandle);

impl Cache {
    pub fn new(budget: u64, slot_size: u64, threads: u32) -> Cache {
        let options = CacheOptions {
            struct_size: std::mem::size_of::<CacheOptions>(),
            budget,
            slot_size,
            memory: null_mut(),
            threads,
            verify: 0,
            policy: 0,
            reserved: 0,
            thread_hooks: null(),
        };
        let mut cache = null_mut();
        ok(unsafe { zt_cache_create(&options, &mut cache) });
        Cache(cache)
    }

    /// Reads it on this thread if it is not cached.
    pub fn get(&self, slice: &Request) -> Pinned {
        let mut pinned = Pinned { struct_size: std::mem::size_of::<Pinned>(), data: null(), size: 0, pin: 0 };
        ok(unsafe { zt_cache_get(self.0, slice, -1, &mut pinned) });
        pinned
    }

    pub fn unpin(&self, mut pinned: Pinned) {
        ok(unsafe { zt_cache_unpin(self.0, &mut pinned) });
    }

    pub fn prefetch(&self, slices: &[Request]) {
        ok(unsafe { zt_cache_prefetch(self.0, slices.as_ptr(), slices.len()) });
    }

    pub fn stats(&self) -> CacheStats {
        let mut stats: CacheStats = unsafe { std::mem::zeroed() };
        stats.struct_size = std::mem::size_of::<CacheStats>();
        ok(unsafe { zt_cache_get_stats(self.0, &mut stats) });
        stats
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        unsafe { zt_cache_free(self.0) };
    }
}

impl Pinned {
    pub fn bytes(&self) -> &[u8] {
        unsafe { std::slice::from_raw_parts(self.data.cast(), self.size) }
    }
}
