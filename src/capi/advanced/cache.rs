//! Slices of models that are larger than memory: pinned while they are used, read ahead, evicted for others.

use crate::cache::{Cache, Candidate, Choose, Key, Memory};
use crate::capi::advanced::cached_slice::{key_of, CachedSlice};
use crate::capi::advanced::hooks::{thread_hooks, zt_thread_hooks};
use crate::capi::arg::{self, ArrayNames};
use crate::capi::finding::component::zt_component;
use crate::capi::guard::{guard, guard_value};
use crate::capi::opening::progress::Context;
use crate::capi::reading::batch::zt_read_request;
use crate::capi::sized::sized_struct;
use crate::capi::status::zt_status;
use crate::error::{fail, Result};
use crate::memory::{try_box, SlotMemory};
use crate::threads;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut, NonNull};
use std::time::Duration;

/// Slices of open files in a fixed amount of memory (ztensor_advanced.h).
pub struct zt_cache {
    cache: Cache<CachedSlice>,
    verify: bool,
}

/// A slice that may be evicted.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_cache_candidate {
    /// zt_read_request.tag of the call that brought it.
    pub tag: u64,
    /// Bytes of it.
    pub size: u64,
    /// How often it was got since it was read.
    pub uses: u64,
}

/// Chooses which of count slices, at least one, is evicted: returns its index. They are in the order of their last
/// use, the longest ago first; any number that is none of them evicts that one. Called with the cache locked: it must
/// not call the cache, and every other call waits for it.
pub type zt_cache_choose_callback = Option<
    unsafe extern "C" fn(context: *mut c_void, candidates: *const zt_cache_candidate, count: usize) -> usize,
>;

/// How to make a cache. budget and slot_size are not 0; all else zero are the defaults.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_cache_options {
    /// sizeof(zt_cache_options)
    pub struct_size: usize,
    /// Most bytes of the slots and of the tables that keep track of them (zt_cache_stats.overhead); nothing else is
    /// kept. The temporary memory of a read, as for decoding, and the threads' stacks are not counted.
    pub budget: u64,
    /// Bytes of the largest slice, rounded up to a multiple of 64: each takes one slot, however small it is. Slices of
    /// very different sizes are best kept in a cache each.
    pub slot_size: u64,
    /// The caller's memory for the slots: budget bytes (pinned for a device, say), 64-byte aligned, until
    /// zt_cache_free. The tables are then in other memory, which is not counted. NULL: the library's own.
    pub memory: *mut c_void,
    /// Threads that read what is prefetched; 0 for a few.
    pub threads: u32,
    /// 1: check the digest of every component that is read whole and has one that can be checked.
    pub verify: u32,
    /// Passed to choose; may be NULL.
    pub context: *mut c_void,
    /// Chooses what is evicted; NULL: what was not used for the longest time.
    pub choose: zt_cache_choose_callback,
    /// Called on the threads of the cache; NULL: nothing is. Copied.
    pub thread_hooks: *const zt_thread_hooks,
}

/// A slice that is pinned: its bytes stay where they are, and as they are, until zt_cache_unpin.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_cache_pin {
    /// sizeof(zt_cache_pin)
    pub struct_size: usize,
    /// Its bytes, 64-byte aligned; not NULL.
    pub data: *const c_void,
    /// How many.
    pub size: usize,
    /// Which pin it is; 0: none.
    pub pin: u64,
}

/// What a cache has, and what it did.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zt_cache_stats {
    /// sizeof(zt_cache_stats)
    pub struct_size: usize,
    /// Slots that there are.
    pub slots: u64,
    /// Slots that have a slice, or are read into.
    pub used: u64,
    /// Slots of slices that are pinned or being read.
    pub pinned: u64,
    /// Slices that wait to be read.
    pub queued: u64,
    /// Bytes of the tables.
    pub overhead: u64,
    /// Slices that were there when they were asked for.
    pub hits: u64,
    /// Slices that others had asked for already, and that were not there yet.
    pub joined: u64,
    /// Slices that were read because they were asked for.
    pub misses: u64,
    /// Slices that were read ahead.
    pub prefetches: u64,
    /// Slices that were read ahead, and were asked for later.
    pub prefetches_used: u64,
    /// Slices that were to be read ahead and were not: cancelled, or no slot was to be had.
    pub prefetches_dropped: u64,
    /// Slices that went for others.
    pub evictions: u64,
    /// Reads that failed.
    pub failures: u64,
    /// Bytes that were read.
    pub bytes_read: u64,
}

// SAFETY: repr(C); integers, pointers and optional functions, all of which may be zero.
sized_struct!(zt_cache_options: budget, slot_size, memory, threads, verify, context, choose, thread_hooks);

// SAFETY: as above.
sized_struct!(zt_cache_pin: data, size, pin);

// SAFETY: as above.
sized_struct!(zt_cache_stats:
    slots, used, pinned, queued, overhead, hits, joined, misses, prefetches, prefetches_used, prefetches_dropped,
    evictions, failures, bytes_read
);

/// Makes a cache, with all of its tables. It keeps references to the files of its slices. Its threads stay until
/// zt_cache_free; those that the system does not give are no error, and without any only zt_cache_get reads. A child
/// of fork has none of them: nothing but zt_cache_free may be called there, which gives nothing back.
///
/// options: not NULL. cache: receives the handle, NULL on failure; end it with zt_cache_free.
/// Returns ZT_ERROR_LIMIT if the budget has no place for a slot, ZT_ERROR_INVALID_ARGUMENT, ZT_ERROR_OUT_OF_MEMORY.
/// Threads: any; it starts those of the cache.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_cache_create(
    options: *const zt_cache_options,
    cache: Option<&mut MaybeUninit<*mut zt_cache>>,
) -> zt_status {
    guard(|| {
        let cache = arg::required(cache, "cache")?;
        cache.write(null_mut());
        // SAFETY: options NULL or of the size it says.
        let options = unsafe { arg::required_struct(options)? };
        // SAFETY: memory and functions as the options say.
        cache.write(Box::into_raw(try_box(unsafe { new_cache(&options)? })?));
        Ok(())
    })
}

unsafe fn new_cache(options: &zt_cache_options) -> Result<zt_cache> {
    let verify = arg::flag(options.verify, "zt_cache_options.verify")?;
    if options.slot_size == 0 || options.budget == 0 {
        return Err(fail!(InvalidArgument, "zt_cache_options.budget or zt_cache_options.slot_size is 0"));
    }
    if options.slot_size > options.budget {
        let (slot, budget) = (options.slot_size, options.budget);
        return Err(fail!(Limit, "the budget of {budget} bytes has no place for a slot of {slot}"));
    }
    let slot_size = arg::to_usize(options.slot_size, "a slot")?;
    let memory = match NonNull::new(options.memory.cast::<u8>()) {
        None => Memory::Budget(options.budget),
        Some(first) => {
            let stride = SlotMemory::stride(slot_size)?;
            let size = arg::to_usize(options.budget, "the budget")?;
            let count = size.checked_div(stride).unwrap_or(0);
            // SAFETY: "budget bytes of the caller's, until zt_cache_free".
            let (memory, slots) = unsafe { SlotMemory::of_caller(first, stride, count)? };
            Memory::OfCaller(memory, slots)
        }
    };
    let (callback, context) = (options.choose, Context(options.context));
    let choose: Option<Box<Choose>> = match callback {
        None => None,
        Some(callback) => {
            let choose = move |candidates: &[Candidate]| {
                // SAFETY: the caller's function, called as its declaration says; both structs are the same.
                unsafe { callback(context.get(), candidates.as_ptr().cast(), candidates.len()) }
            };
            Some(try_box(choose)?)
        }
    };
    /// Where the caller left it to us: reads ahead compete with the host's own threads.
    const DEFAULT_THREADS: usize = 4;
    let threads = match options.threads as usize {
        0 => threads::count(0).min(DEFAULT_THREADS),
        wanted => threads::count(wanted),
    };
    // SAFETY: NULL or as they say.
    let hooks = unsafe { thread_hooks(options.thread_hooks)? };
    Ok(zt_cache { cache: Cache::new(memory, slot_size, threads, hooks, choose)?, verify })
}

/// Pins a slice: where it is there without a read, a copy or memory of the heap; else it is read, or waited for if
/// another thread reads it. A failure is given to each that waits; the next call tries again.
///
/// slice: as for zt_read_batch, of any file; dst and dst_size mean nothing here, dst_stride is 0. Two slices are the
/// same if all other fields but tag are equal. timeout_ns: below 0, or of a zt_source with callers_thread, the calling
/// thread reads, and waits as long as it takes. Else a thread of the cache reads, before all prefetches, and this call
/// waits no longer than that: the read goes on for a later call. out: set struct_size; filled on success, then end it with
/// zt_cache_unpin.
/// Returns ZT_ERROR_TIMEOUT if the slice is not there in that time, also where every slot is pinned; ZT_ERROR_LIMIT if
/// it is larger than a slot; else as zt_read_batch.
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_cache_get(
    cache: Option<&zt_cache>,
    slice: *const zt_read_request,
    timeout_ns: i64,
    out: *mut zt_cache_pin,
) -> zt_status {
    guard(|| {
        let cache = arg::required(cache, "cache")?;
        // SAFETY: both NULL or of the size they say.
        let (request, size) = unsafe { (arg::required_struct(slice)?, arg::struct_size(out.cast_const())?) };
        if size == 0 {
            return Err(fail!(InvalidArgument, "out is NULL"));
        }
        // SAFETY: a slice as for zt_read_batch.
        let (component, key) = unsafe { key_of(&request)? };
        let timeout = u64::try_from(timeout_ns).ok().map(Duration::from_nanos);
        // SAFETY: as above.
        let make = &mut || unsafe { CachedSlice::new(component, &request, cache.verify) };
        let pinned = cache.cache.get(&key, timeout, make)?;
        let (data, size) = (pinned.data.as_ptr().cast_const().cast(), pinned.size);
        // SAFETY: out is of the size it says.
        unsafe { arg::fill(out, zt_cache_pin { struct_size: 0, data, size, pin: pinned.number }) }
    })
}

/// Has slices read ahead by the threads of the cache, those of a higher priority first, and of equal ones those that
/// were asked for first. It never evicts what is pinned, nor what was prefetched with a higher priority and not got
/// since; where it finds no slot, or as many as there are slots wait already, the slice of the lowest priority is left
/// out: that is no failure (zt_cache_stats.prefetches_dropped). Of slices that are there it raises the priority.
///
/// slices, count: as for zt_cache_get; (NULL, 0) does nothing. Slices of a zt_source with callers_thread are left out.
/// Returns as zt_read_batch for arguments that no read could make right, and ZT_ERROR_LIMIT as zt_cache_get: the
/// slices in front of that one are prefetched. A read that fails is not reported: zt_cache_get tries again.
/// Threads: any; the call waits for no read, but it finds out sizes that are not declared.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_cache_prefetch(
    cache: Option<&zt_cache>,
    slices: *const zt_read_request,
    count: usize,
    priority: u32,
) -> zt_status {
    guard(|| {
        let cache = arg::required(cache, "cache")?;
        // SAFETY: "slices, count"; each as for zt_read_batch.
        unsafe {
            for_each_slice(slices, count, |request, component, key| {
                let make = || CachedSlice::new(component, request, cache.verify);
                cache.cache.prefetch(key, priority, make)
            })
        }
    })
}

/// Gives a pin back, and zeroes what zt_cache_get filled. The slice stays until its slot is wanted.
/// slice: NULL, or of pin 0, does nothing.
/// Returns ZT_ERROR_STATE if it is not pinned, ZT_ERROR_INVALID_ARGUMENT.
/// Threads: any, also another one than that of zt_cache_get.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_cache_unpin(cache: Option<&zt_cache>, slice: *mut zt_cache_pin) -> zt_status {
    guard(|| {
        let cache = arg::required(cache, "cache")?;
        // SAFETY: NULL or of the size it says.
        let given = unsafe { arg::options(slice.cast_const())? };
        if given.pin != 0 {
            cache.cache.unpin(given.pin)?;
            let empty = zt_cache_pin { struct_size: 0, data: null(), size: 0, pin: 0 };
            // SAFETY: as above.
            unsafe { arg::fill(slice, empty)? };
        }
        Ok(())
    })
}

/// Drops slices: their slots are free, and what was queued is not read. One that is pinned or being read goes when its
/// last pin is given back, and a zt_cache_get meanwhile reads it anew.
///
/// slices, count: as for zt_cache_get; slices that are not there are passed over. (NULL, 0): all that are neither
/// pinned nor being read, and the references to their files with them.
/// Returns ZT_ERROR_INVALID_ARGUMENT, but not for a slice outside of its component: it is not there.
/// Threads: any.
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
        // SAFETY: "slices, count"; each as for zt_read_batch.
        unsafe {
            for_each_slice(slices, count, |_, _, key| {
                cache.cache.forget(key);
                Ok(())
            })
        }
    })
}

/// Drops all prefetches that no thread has begun to read. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn zt_cache_cancel(cache: Option<&zt_cache>) -> zt_status {
    guard(|| {
        arg::required(cache, "cache")?.cache.cancel();
        Ok(())
    })
}

/// What the cache has, and what it did since it was made.
/// stats: not NULL; set struct_size. Returns ZT_ERROR_INVALID_ARGUMENT.
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_cache_get_stats(
    cache: Option<&zt_cache>,
    stats: *mut zt_cache_stats,
) -> zt_status {
    guard(|| {
        let cache = arg::required(cache, "cache")?;
        if stats.is_null() {
            return Err(fail!(InvalidArgument, "stats is NULL"));
        }
        let now = cache.cache.stats();
        let filled = zt_cache_stats {
            struct_size: 0,
            slots: now.slots,
            used: now.used,
            pinned: now.pinned,
            queued: now.queued,
            overhead: now.overhead,
            hits: now.hits,
            joined: now.joined,
            misses: now.misses,
            prefetches: now.prefetches,
            prefetches_used: now.prefetches_used,
            prefetches_dropped: now.prefetches_dropped,
            evictions: now.evictions,
            failures: now.failures,
            bytes_read: now.bytes_read,
        };
        // SAFETY: of the size it says.
        unsafe { arg::fill(stats, filled) }
    })
}

/// Ends a cache, and every slice that is pinned with it; waits for the reads under way. What is queued is not read.
/// cache: NULL is fine. Threads: any; no other thread may be using the cache.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zt_cache_free(cache: *mut zt_cache) {
    if !cache.is_null() {
        // SAFETY: from zt_cache_create, and ended once.
        guard_value((), || drop(unsafe { Box::from_raw(cache) }));
    }
}

/// Calls `body` with each slice, its component and its key.
///
/// # Safety
/// `first` has `count` slices, each as for zt_read_batch.
unsafe fn for_each_slice(
    first: *const zt_read_request,
    count: usize,
    mut body: impl FnMut(&zt_read_request, &zt_component, &Key) -> Result<()>,
) -> Result<()> {
    let with_key = |request: &zt_read_request| {
        // SAFETY: passed on.
        let (component, key) = unsafe { key_of(request)? };
        body(request, component, &key)
    };
    // SAFETY: passed on.
    unsafe { arg::for_each(first, count, ArrayNames("slices", "slice"), with_key) }
}

// What zt_cache_choose_callback is given.
const _: () = assert!(
    size_of::<zt_cache_candidate>() == size_of::<Candidate>()
        && std::mem::offset_of!(zt_cache_candidate, size) == std::mem::offset_of!(Candidate, size)
        && std::mem::offset_of!(zt_cache_candidate, uses) == std::mem::offset_of!(Candidate, uses)
);
