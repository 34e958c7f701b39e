//! The table compared with a simple model, and the cache with threads.

mod model;
mod threads;

use super::{Key, Slice};
use crate::error::{fail, Result};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// State that all slices of a test share.
#[derive(Default)]
struct Files {
    /// How often each slice was read.
    reads: Mutex<Vec<u64>>,
    /// Slices that are alive.
    slices: AtomicUsize,
    /// The numbers of slices whose reads fail.
    broken: Mutex<Vec<u64>>,
    /// If this is a number, reads of slices with that number or a higher one wait.
    closed_from: Mutex<Option<u64>>,
    opened: Condvar,
}

impl Files {
    fn close_from(&self, number: u64) {
        *self.closed_from.lock().unwrap() = Some(number);
    }

    fn open(&self) {
        *self.closed_from.lock().unwrap() = None;
        self.opened.notify_all();
    }

    fn reads_of(&self, number: u64) -> usize {
        self.reads.lock().unwrap().iter().filter(|n| **n == number).count()
    }
}

/// A slice whose bytes are its number.
struct Numbered {
    files: Arc<Files>,
    number: u64,
    size: usize,
    is_callers_thread: bool,
}

impl Numbered {
    fn new(files: &Arc<Files>, number: u64, size: usize) -> Numbered {
        files.slices.fetch_add(1, Ordering::SeqCst);
        Numbered { files: Arc::clone(files), number, size, is_callers_thread: false }
    }
}

impl Drop for Numbered {
    fn drop(&mut self) {
        self.files.slices.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Slice for Numbered {
    fn size(&self) -> usize {
        self.size
    }

    fn is_callers_thread(&self) -> bool {
        self.is_callers_thread
    }

    fn read(&self, key: &Key, dst: &mut [u8]) -> Result<()> {
        assert_eq!((key.words(), dst.len()), (&[self.number][..], self.size));
        self.files.reads.lock().unwrap().push(self.number);
        let mut closed = self.files.closed_from.lock().unwrap();
        while closed.is_some_and(|from| self.number >= from) {
            closed = self.files.opened.wait(closed).unwrap();
        }
        drop(closed);
        assert!(self.number != PANIC, "a bug");
        if self.files.broken.lock().unwrap().contains(&self.number) {
            return Err(fail!(DigestMismatch, "slice {} is broken", self.number));
        }
        dst.fill(self.number as u8);
        Ok(())
    }
}

/// A slice whose read panics.
const PANIC: u64 = 666;

fn key(number: u64) -> Key {
    let mut key = Key::new();
    key.extend(&[number]).unwrap();
    key
}

/// Random numbers, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

/// Waits until `done` returns true. Other threads make it true, and no test depends on how long they take.
fn wait_until(done: impl Fn() -> bool) {
    while !done() {
        std::thread::sleep(Duration::from_micros(50));
    }
}
