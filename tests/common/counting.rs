//! The allocator of a test program. It counts the bytes that each thread holds and the total, and fails the
//! allocations that the test selects.
#![allow(dead_code)] // each program uses a part of it

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

struct Counting;

thread_local! {
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
    /// How many allocations of `LARGE` bytes or more succeed before one fails. The maximum value: all.
    pub static GOOD: Cell<usize> = const { Cell::new(usize::MAX) };
}

static HELD_BY_ALL: AtomicUsize = AtomicUsize::new(0);
static PEAK_OF_ALL: AtomicUsize = AtomicUsize::new(0);

/// Sizes in files lead to allocations of this size or more. Smaller ones, such as for a label, are not
/// tested.
const LARGE: usize = 4096;

fn book(more: usize, less: usize) {
    let allocated = ALLOCATED.get().saturating_add(more).saturating_sub(less);
    ALLOCATED.set(allocated);
    PEAK.set(PEAK.get().max(allocated));
    let held = HELD_BY_ALL.fetch_add(more, Ordering::Relaxed).wrapping_add(more);
    PEAK_OF_ALL.fetch_max(held, Ordering::Relaxed);
    HELD_BY_ALL.fetch_sub(less, Ordering::Relaxed);
}

fn refuse(size: usize) -> bool {
    if size < LARGE || GOOD.get() == usize::MAX {
        return false;
    }
    let left = GOOD.get();
    GOOD.set(left.saturating_sub(1));
    left == 0
}

// SAFETY: each call is passed on to the system's allocator unchanged, or fails with NULL, which callers must
// expect. The counters do not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if refuse(layout.size()) {
            return std::ptr::null_mut();
        }
        book(layout.size(), 0);
        // SAFETY: passed on unchanged.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if refuse(layout.size()) {
            return std::ptr::null_mut();
        }
        book(layout.size(), 0);
        // SAFETY: passed on unchanged.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if refuse(size) {
            return std::ptr::null_mut();
        }
        book(size, layout.size());
        // SAFETY: passed on unchanged.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        book(0, layout.size());
        // SAFETY: passed on unchanged.
        unsafe { System.dealloc(memory, layout) }
    }
}

// On Windows, thread-local variables allocate, which would recurse into the counter.
#[cfg(not(windows))]
#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The peak of bytes that all threads held while `body` ran, beyond those before. No other test may run
/// meanwhile.
pub fn peak_of_all<T>(body: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD_BY_ALL.load(Ordering::Relaxed);
    PEAK_OF_ALL.store(before, Ordering::Relaxed);
    let result = body();
    (result, PEAK_OF_ALL.load(Ordering::Relaxed) - before)
}

/// The peak of bytes that this thread held while `body` ran, beyond those before.
pub fn peak<T>(body: impl FnOnce() -> T) -> (T, usize) {
    let before = ALLOCATED.get();
    PEAK.set(before);
    let result = body();
    (result, PEAK.get() - before)
}
