//! Slices of models that are larger than memory: pinned while they are used, read ahead, evicted for others.

use crate::cache::{Cache, Key, Memory, Pinned, Policy};
use crate::capi::advanced::cached_slice::{key_of, CachedSlice};
use crate::capi::advanced::hooks::{thread_hooks, zt_thread_hooks};
use crate::capi::arg;
use crate::capi::guard::{deliver, guard, guard_value};
use crate::capi::reading::batch::{zt_read_request, Target};
use crate::capi::sized::{of_fields, sized_struct};
use crate::capi::status::zt_status;
use crate::error::{fail, Result};
use crate::memory::{try_box, SlotMemory};
use crate::threads;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::time::Duration;

/// Slices of open files in a fixed amount of memory (ztensor_advanced.h).
pub struct zt_cache {
    cache: Cache<CachedSlice>,
    verify: bool,
}

/// Which slice a cache removes when it needs a slot (ztensor_advanced.h).
pub type zt_cache_policy = i32;

/// The values of zt_cache_policy.
#[repr(C)]
pub enum zt_cache_policy_value {
    /// The slice that was not used for the longest time.
    ZT_CACHE_LRU = 0,
    /// Slices that were used only once go first: a scan does not evict what is used often.
    ZT_CACHE_SLRU = 1,
}

/// How to make a cache. budget and slot_size are required.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_cache_options {
    /// sizeof(zt_cache_options)
    pub struct_size: usize,
    /// Bytes of all slots and of the tables that track them. Temporary memory of reads is not counted.
    pub budget: u64,
    /// Bytes of the largest slice, rounded up to a multiple of 64. Every slice takes one slot, so keep slices
    /// of very different sizes in separate caches.
    pub slot_size: u64,
    /// Memory of budget bytes for the slots, 64-byte aligned, valid until zt_cache_free, such as pinned
    /// memory of a device. NULL: the library's.
    pub memory: *mut c_void,
    /// Threads that read ahead; 0 for a few.
    pub threads: u32,
    /// 1: check the digest of every component that is read whole and has one.
    pub verify: u32,
    /// Which slice is evicted; 0 is ZT_CACHE_LRU.
    pub policy: zt_cache_policy,
    /// Must be 0.
    pub reserved: u32,
    /// Called on the cache's threads; NULL: none. Copied.
    pub thread_hooks: *const zt_thread_hooks,
}

/// A pinned slice: its bytes stay valid until zt_cache_unpin.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_cache_pin {
    /// sizeof(zt_cache_pin)
    pub struct_size: usize,
    /// The bytes, 64-byte aligned, not NULL.
    pub data: *const c_void,
    /// Bytes at data.
    pub size: usize,
    /// Identifies the pin; 0: none.
    pub pin: u64,
}

/// What a cache holds, and what it did.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_cache_stats {
    /// sizeof(zt_cache_stats)
    pub struct_size: usize,
    /// Slots.
    pub slots: u64,
    /// Slots that hold a slice or are being filled.
    pub used: u64,
    /// Slots that are pinned or being filled.
    pub pinned: u64,
    /// Slices that wait to be read.
    pub queued: u64,
    /// Bytes of the tables.
    pub overhead: u64,
    /// Requested slices that were in the cache.
    pub hits: u64,
    /// Requested slices that were being read already.
    pub joined: u64,
    /// Requested slices that had to be read.
    pub misses: u64,
    /// Slices that were read ahead.
    pub prefetches: u64,
    /// Slices that were read ahead and requested later.
    pub prefetches_used: u64,
    /// Slices that were not read ahead: cancelled, or no slot was free.
    pub prefetches_dropped: u64,
    /// Slices that were evicted.
    pub evictions: u64,
    /// Reads that failed.
    pub failures: u64,
    /// Bytes that were read.
    pub bytes_read: u64,
}

// SAFETY: repr(C); integers and pointers, which may be zero.
sized_struct! {
    zt_cache_options: budget, slot_size, memory, threads, verify, policy, reserved, thread_hooks;
    zt_cache_pin: data, size, pin;
    zt_cache_stats:
        slots, used, pinned, queued, overhead, hits, joined, misses, prefetches, prefetches_used,
        prefetches_dropped, evictions, failures, bytes_read;
}

/// Makes a cache. It keeps the files of its slices open.
///
/// cache: receives the handle, NULL on failure. End it with zt_cache_free.
/// Returns ZT_ERROR_LIMIT if the budget has no room for a slot.
/// Starts the cache's threads. If the system gives none, only zt_cache_get reads. In a forked child only
/// zt_cache_free may be called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_cache_create(
    options: *const zt_cache_options,
    cache: Option<&mut MaybeUninit<*mut zt_cache>>,
) -> zt_status {
    deliver(cache, "cache", || {
        // SAFETY: options is NULL or has the size it gives. Memory and functions are as it demands.
        let cache = unsafe { new_cache(&arg::required_struct(options)?)? };
        Ok(Box::into_raw(try_box(cache)?))
    })
}

unsafe fn new_cache(options: &zt_cache_options) -> Result<zt_cache> {
    let verify = arg::flag(options.verify, "zt_cache_options.verify")?;
    let policy = arg::by_number("zt_cache_policy", options.policy, &[Policy::LRU, Policy::SLRU])?;
    arg::zero(options.reserved, "zt_cache_options.reserved")?;
    if options.slot_size == 0 || options.budget == 0 {
        return Err(fail!(InvalidArgument, "zt_cache_options.budget or zt_cache_options.slot_size is 0"));
    }
    if options.slot_size > options.budget {
        let (slot, budget) = (options.slot_size, options.budget);
        return Err(fail!(Limit, "the budget of {budget} bytes is too small for a slot of {slot} bytes"));
    }
    let slot_size = arg::to_usize(options.slot_size, "a slot")?;
    let memory = match NonNull::new(options.memory.cast::<u8>()) {
        None => Memory::Budget(options.budget),
        Some(first) => {
            let stride = SlotMemory::stride(slot_size)?;
            let size = arg::to_usize(options.budget, "the budget")?;
            let count = size.checked_div(stride).unwrap_or(0);
            // SAFETY: memory has budget bytes and is valid until zt_cache_free.
            let (memory, slots) = unsafe { SlotMemory::of_caller(first, stride, count)? };
            Memory::OfCaller(memory, slots)
        }
    };
    /// The number of threads if the caller does not set it. Prefetches compete with the program's own
    /// threads.
    const DEFAULT_THREADS: usize = 4;
    let threads = match options.threads as usize {
        0 => threads::count(0).min(DEFAULT_THREADS),
        wanted => threads::count(wanted),
    };
    // SAFETY: thread_hooks is NULL or as zt_thread_hooks demands.
    let hooks = unsafe { thread_hooks(options.thread_hooks)? };
    Ok(zt_cache { cache: Cache::new(memory, slot_size, threads, hooks, policy)?, verify })
}

/// Pins a slice. A slice in the cache costs no read, no copy and no allocation; otherwise it is read, or
/// waited for if another thread reads it.
///
/// slice: as for zt_read_batch, of any file; dst and dst_size are ignored, dst_stride must be 0. Two slices
/// are equal if all fields but tag are equal. out: filled on success. End it with zt_cache_unpin.
/// timeout_ns: below 0, for a zt_source with callers_thread, and if the cache has no threads, the calling
/// thread reads and waits without limit. Otherwise a thread of the cache reads, and the call waits no longer
/// than that; the read continues for a later call.
/// Returns ZT_ERROR_TIMEOUT if the time passes, also because every slot is pinned; ZT_ERROR_LIMIT if the
/// slice is larger than a slot; else as zt_read_batch. A failed read is reported to every call that waits for
/// it; the next call reads again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_cache_get(
    cache: Option<&zt_cache>,
    slice: *const zt_read_request,
    timeout_ns: i64,
    out: *mut zt_cache_pin,
) -> zt_status {
    guard(|| {
        let cache = arg::required(cache, "cache")?;
        // SAFETY: it is NULL or has the size it gives.
        let request = unsafe { arg::required_struct(slice)? };
        let pin = || {
            // SAFETY: the slice is as for zt_read_batch.
            let (target, key) = unsafe { key_of(&request)? };
            let timeout = u64::try_from(timeout_ns).ok().map(Duration::from_nanos);
            // SAFETY: as above.
            let make = &mut || unsafe { CachedSlice::new(target, &request, cache.verify) };
            let Pinned { data, size, number: pin } = cache.cache.get(&key, timeout, make)?;
            Ok(zt_cache_pin { struct_size: 0, data: data.as_ptr().cast_const().cast(), size, pin })
        };
        // SAFETY: out is NULL or has the size it gives.
        unsafe { arg::fill_required(out, pin) }
    })
}

/// Reads slices ahead on the cache's threads, in the given order, after slices that zt_cache_get waits for.
/// Pinned slices are never evicted for it.
///
/// slices, count: as for zt_cache_get. Slices of a zt_source with callers_thread are ignored. If no slot can
/// be freed or the queue is full, a slice is dropped (zt_cache_stats.prefetches_dropped).
/// Returns ZT_ERROR_LIMIT as zt_cache_get; the slices before that one are prefetched. Failed reads are not
/// reported: zt_cache_get reads again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_cache_prefetch(
    cache: Option<&zt_cache>,
    slices: *const zt_read_request,
    count: usize,
) -> zt_status {
    guard(|| {
        let cache = arg::required(cache, "cache")?;
        // SAFETY: slices has count structs; each is as for zt_read_batch.
        unsafe {
            for_each_slice(slices, count, |request, target, key| {
                cache.cache.prefetch(key, || CachedSlice::new(target, request, cache.verify))
            })
        }
    })
}

/// Releases a pin and sets it to zero. The slice stays until its slot is needed. NULL and a pin that is zero
/// are ignored. Any thread may call it.
/// Returns ZT_ERROR_STATE if the slice is not pinned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_cache_unpin(cache: Option<&zt_cache>, slice: *mut zt_cache_pin) -> zt_status {
    guard(|| {
        let cache = arg::required(cache, "cache")?;
        // SAFETY: it is NULL or has the size it gives.
        let given = unsafe { arg::options(slice.cast_const())? };
        if given.pin != 0 {
            cache.cache.unpin(given.pin)?;
            // SAFETY: as above.
            unsafe { arg::fill(slice, arg::zeroed())? };
        }
        Ok(())
    })
}

/// Drops slices from the cache and from the queue. A pinned slice goes when its last pin is released.
///
/// slices, count: as for zt_cache_get; slices that are not in the cache are ignored. (NULL, 0) drops
/// everything that is neither pinned nor being read, and closes its files.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_cache_drop(
    cache: Option<&zt_cache>,
    slices: *const zt_read_request,
    count: usize,
) -> zt_status {
    guard(|| {
        let cache = arg::required(cache, "cache")?;
        if slices.is_null() && count == 0 {
            cache.cache.forget_all();
            return Ok(());
        }
        // SAFETY: slices has count structs; each is as for zt_read_batch.
        unsafe {
            for_each_slice(slices, count, |_, _, key| {
                cache.cache.forget(key);
                Ok(())
            })
        }
    })
}

/// Drops all prefetches that no thread has begun to read.
#[unsafe(no_mangle)]
pub extern "C" fn zt_cache_cancel(cache: Option<&zt_cache>) -> zt_status {
    guard(|| {
        arg::required(cache, "cache")?.cache.cancel();
        Ok(())
    })
}

/// Fills stats: what the cache holds, and what it did since it was made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_cache_get_stats(
    cache: Option<&zt_cache>,
    stats: *mut zt_cache_stats,
) -> zt_status {
    guard(|| {
        let now = arg::required(cache, "cache")?.cache.stats();
        let filled = of_fields!(zt_cache_stats {
            slots, used, pinned, queued, overhead, hits, joined, misses, prefetches, prefetches_used,
            prefetches_dropped, evictions, failures, bytes_read
        } of now);
        // SAFETY: stats is NULL or has the size it gives.
        unsafe { arg::fill_required(stats, || Ok(filled)) }
    })
}

/// Ends a cache and every pin; waits for reads in progress. No other thread may use the cache.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_cache_free(cache: *mut zt_cache) {
    if !cache.is_null() {
        // SAFETY: zt_cache_create made it, and it is freed only here.
        guard_value((), || drop(unsafe { Box::from_raw(cache) }));
    }
}

/// Calls `body` with each slice, its component and its key.
///
/// # Safety
/// `first` points to `count` slices; each is as for zt_read_batch.
unsafe fn for_each_slice(
    first: *const zt_read_request,
    count: usize,
    mut body: impl FnMut(&zt_read_request, Target<'_>, &Key) -> Result<()>,
) -> Result<()> {
    let with_key = |request: &zt_read_request| {
        // SAFETY: the caller ensures this.
        let (target, key) = unsafe { key_of(request)? };
        body(request, target, &key)
    };
    // SAFETY: the caller ensures this.
    unsafe { arg::for_each(first, count, "slice", with_key) }
}
