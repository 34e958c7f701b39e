//! Sequences of calls of zt_cache on a small file, on one thread and those of the cache. Pinned slices must
//! have the bytes of their ranges, and the number of slots is limited.
#![no_main]

use arbitrary::{Result, Unstructured};
use std::ffi::c_void;
use std::ptr::{null, null_mut};
use ztensor_fuzz::{c, generate};

#[repr(C)]
struct Options {
    struct_size: usize,
    budget: u64,
    slot_size: u64,
    memory: *mut c_void,
    threads: u32,
    verify: u32,
    policy: i32,
    reserved: u32,
    thread_hooks: c::Pointer,
}

#[repr(C)]
struct Slice {
    struct_size: usize,
    data: *const u8,
    size: usize,
    pin: u64,
}

#[repr(C)]
struct Stats {
    struct_size: usize,
    slots: u64,
    used: u64,
    pinned: u64,
    rest: [u64; 11],
}

#[repr(C)]
struct Request {
    struct_size: usize,
    component: c::Pointer,
    offset: u64,
    length: u64,
    rest: [usize; 6],
}

extern "C" {
    fn zt_cache_create(options: *const Options, cache: *mut c::Pointer) -> c::Status;
    fn zt_cache_get(cache: c::Pointer, slice: *const Request, timeout_ns: i64, out: *mut Slice) -> c::Status;
    fn zt_cache_prefetch(cache: c::Pointer, slices: *const Request, count: usize) -> c::Status;
    fn zt_cache_unpin(cache: c::Pointer, slice: *mut Slice) -> c::Status;
    fn zt_cache_drop(cache: c::Pointer, slices: *const Request, count: usize) -> c::Status;
    fn zt_cache_cancel(cache: c::Pointer) -> c::Status;
    fn zt_cache_get_stats(cache: c::Pointer, stats: *mut Stats) -> c::Status;
    fn zt_cache_free(cache: c::Pointer);
}

/// The largest slice that fits.
const SLOT: u64 = 512;

fn run(input: &[u8]) -> Result<()> {
    let (calls, rest) = input.split_at(input.len() / 2);
    let made = generate::file(&mut Unstructured::new(rest))?;
    let u = &mut Unstructured::new(calls);
    let (mut file, mut cache) = (null(), null());
    if unsafe { c::zt_open_memory(made.bytes.as_ptr().cast(), made.bytes.len(), null(), &mut file) } != c::OK
    {
        return Ok(());
    }
    let options = Options {
        struct_size: size_of::<Options>(),
        budget: 1 << 14,
        slot_size: SLOT,
        memory: null_mut(),
        threads: u.int_in_range(1..=2)?,
        verify: u.int_in_range(0..=1)?,
        policy: u.int_in_range(0..=1)?,
        reserved: 0,
        thread_hooks: null(),
    };
    assert_eq!(unsafe { zt_cache_create(&options, &mut cache) }, c::OK);
    let outcome = calls_of(file, cache, u);
    unsafe {
        c::zt_close(file);
        zt_cache_free(cache);
    }
    outcome
}

fn calls_of(file: c::Pointer, cache: c::Pointer, u: &mut Unstructured<'_>) -> Result<()> {
    let objects = unsafe { c::zt_object_count(file) };
    let mut pins: Vec<Slice> = Vec::new();
    while objects > 0 && !u.is_empty() {
        let component = unsafe { c::zt_component_at(c::zt_object_at(file, u.choose_index(objects)?), 0) };
        let (offset, length) = (u.int_in_range(0..=40)?, u.int_in_range(0..=SLOT)?);
        let request = Request { struct_size: size_of::<Request>(), component, offset, length, rest: [0; 6] };
        match u.int_in_range(0..=9)? {
            0..=4 => {
                let mut slice = Slice { struct_size: size_of::<Slice>(), data: null(), size: 0, pin: 0 };
                // A wait without a limit would never end if this thread has all slots pinned.
                let timeout = if pins.len() < 4 { -1 } else { 0 };
                if unsafe { zt_cache_get(cache, &request, timeout, &mut slice) } == c::OK {
                    check(component, &request, &slice);
                    pins.push(slice);
                }
            }
            5 => _ = unsafe { zt_cache_prefetch(cache, &request, 1) },
            6 if !pins.is_empty() => {
                let mut slice = pins.swap_remove(u.choose_index(pins.len())?);
                assert_eq!(unsafe { zt_cache_unpin(cache, &mut slice) }, c::OK);
            }
            7 => _ = unsafe { zt_cache_drop(cache, &request, 1) },
            8 => _ = unsafe { zt_cache_drop(cache, null(), 0) },
            _ => _ = unsafe { zt_cache_cancel(cache) },
        }
        let mut now = Stats { struct_size: size_of::<Stats>(), slots: 0, used: 0, pinned: 0, rest: [0; 11] };
        assert_eq!(unsafe { zt_cache_get_stats(cache, &mut now) }, c::OK);
        assert!(now.used <= now.slots && now.pinned <= now.used);
    }
    Ok(())
}

/// Pinned bytes equal those of a read.
fn check(component: c::Pointer, request: &Request, slice: &Slice) {
    assert!(slice.size as u64 == request.length && slice.data.addr() % 64 == 0);
    let mut bytes = vec![0; slice.size];
    let dst = bytes.as_mut_ptr().cast();
    assert_eq!(unsafe { c::zt_component_read_range(component, request.offset, dst, bytes.len()) }, c::OK);
    assert_eq!(bytes, unsafe { std::slice::from_raw_parts(slice.data, slice.size) });
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let _ = run(input);
});
