//! The cache with its own threads and several threads of callers.

use super::{key, wait_until, Files, Numbered, Random, PANIC};
use crate::cache::{Cache, Memory, Pinned, Policy, Stats};
use crate::error::{Cause, Result};
use crate::threads::ThreadHooks;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;

const SLOT: usize = 1000;

fn new(memory: Memory, threads: usize, policy: Policy) -> Result<Cache<Numbered>> {
    Cache::new(memory, SLOT, threads, ThreadHooks::default(), policy)
}

fn cache_of(slots: u64, threads: usize, policy: Policy) -> Cache<Numbered> {
    let one = new(Memory::Budget(1 << 20), 0, policy).unwrap();
    let each = 1024 + one.stats().overhead / one.stats().slots;
    let cache = new(Memory::Budget(4096 + slots * each), threads, policy).unwrap();
    assert_eq!(cache.stats().slots, slots);
    cache
}

struct Test {
    cache: Cache<Numbered>,
    files: Arc<Files>,
}

impl Test {
    fn new(slots: u64, threads: usize) -> Test {
        Test::with_policy(slots, threads, Policy::LRU)
    }

    fn with_policy(slots: u64, threads: usize, policy: Policy) -> Test {
        Test { cache: cache_of(slots, threads, policy), files: Arc::new(Files::default()) }
    }

    fn get_within(&self, number: u64, timeout: Option<Duration>) -> Result<Pinned> {
        let make = &mut || Ok(Numbered::new(&self.files, number, SLOT - number as usize % 7));
        let pinned = self.cache.get(&key(number), timeout, make)?;
        let size = SLOT - number as usize % 7;
        assert_eq!(pinned.size, size);
        Ok(pinned)
    }

    fn get(&self, number: u64) -> Result<Pinned> {
        self.get_within(number, None)
    }

    fn poll(&self, number: u64) -> Result<Pinned> {
        self.get_within(number, Some(Duration::ZERO))
    }

    fn prefetch(&self, number: u64) {
        let make = || Ok(Numbered::new(&self.files, number, SLOT - number as usize % 7));
        self.cache.prefetch(&key(number), make).unwrap();
    }

    fn touch(&self, number: u64) {
        let pinned = self.get(number).unwrap();
        self.cache.unpin(pinned.number).unwrap();
    }

    fn stats(&self) -> Stats {
        self.cache.stats()
    }
}

#[test]
fn what_is_there_is_not_read_again_and_the_least_recently_used_goes() {
    let test = Test::new(3, 1);
    for number in [1, 2, 3, 1, 4, 1, 2] {
        test.touch(number); // 4 evicts 2, and 2 evicts 3
    }
    assert_eq!([1, 2, 3, 4].map(|n| test.files.reads_of(n)), [1, 2, 1, 1]);
    let stats = test.stats();
    assert_eq!((stats.hits, stats.misses, stats.evictions, stats.used, stats.pinned), (2, 5, 2, 3, 0));
    assert_eq!(test.files.slices.load(Ordering::SeqCst), 3);
}

#[test]
fn a_scan_evicts_what_was_got_twice_only_where_the_least_recently_used_goes() {
    for (policy, reads) in [(Policy::SLRU, 1), (Policy::LRU, 2)] {
        let test = Test::with_policy(10, 0, policy);
        (0..8).chain(0..8).chain(100..200).for_each(|number| test.touch(number));
        (0..8).for_each(|number| test.touch(number));
        assert_eq!([0, 3, 7].map(|number| test.files.reads_of(number)), [reads; 3], "{policy:?}");
        // A slice that was got twice later replaces one that was got twice earlier.
        (200..208).flat_map(|number| [number; 2]).for_each(|number| test.touch(number));
        (300..400).chain(0..8).for_each(|number| test.touch(number));
        assert_eq!([0, 3, 7].map(|number| test.files.reads_of(number)), [reads + 1; 3], "{policy:?}");
    }
}

#[test]
fn threads_that_get_the_same_slice_read_it_once() {
    for threads in [0, 1] {
        let test = Test::new(2, threads);
        test.files.close_from(0);
        std::thread::scope(|scope| {
            for at in 0..5u64 {
                let (test, timeout) = (&test, (at % 2 == 1).then_some(Duration::from_secs(1000)));
                scope.spawn(move || {
                    let pinned = test.get_within(9, timeout).unwrap();
                    test.cache.unpin(pinned.number).unwrap();
                });
            }
            wait_until(|| test.stats().misses + test.stats().joined >= 5);
            test.files.open();
        });
        assert_eq!(test.files.reads_of(9), 1);
        assert_eq!(test.stats().pinned, 0);
    }
}

#[test]
fn each_get_of_what_is_queued_is_a_miss_or_joins_one() {
    let test = Test::new(4, 1);
    test.files.close_from(0);
    std::thread::scope(|scope| {
        let get = |number: u64, timeout: Option<Duration>| {
            let test = &test;
            scope.spawn(move || test.cache.unpin(test.get_within(number, timeout).unwrap().number).unwrap());
        };
        let asked = || test.stats().misses + test.stats().joined;
        let late = Some(Duration::from_secs(1000));
        get(1, late);
        wait_until(|| test.files.reads_of(1) == 1); // the cache's only thread is busy
        for (at, timeout) in [(2, late), (3, late), (4, None), (5, late)] {
            get(2, timeout);
            wait_until(|| asked() == at);
        }
        test.files.open();
    });
    assert_eq!((test.stats().misses, test.stats().joined, test.files.reads_of(2)), (2, 3, 1));
}

#[test]
fn a_failure_is_given_to_each_that_waits_and_the_next_tries_again() {
    let test = Test::new(1, 1);
    test.files.broken.lock().unwrap().push(5);
    test.files.close_from(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let error = test.get(5).err().unwrap();
                assert_eq!(error.cause(), Cause::DigestMismatch);
                assert!(error.message().contains("slice 5 is broken"), "{error}");
            });
        }
        wait_until(|| test.stats().misses + test.stats().joined >= 4);
        test.files.open();
    });
    assert_eq!((test.files.reads_of(5), test.stats().used, test.stats().failures), (1, 0, 1));
    test.files.broken.lock().unwrap().clear();
    test.touch(5);
    assert_eq!(test.files.reads_of(5), 2);
}

#[test]
fn a_read_that_panics_is_a_failure_and_loses_no_slot() {
    let test = Test::new(1, 2);
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test.get(PANIC).map(drop)));
    assert!(outcome.is_err());
    let error = test.get_within(PANIC, Some(Duration::from_secs(1000))).err().unwrap();
    assert_eq!(error.cause(), Cause::Internal);
    test.touch(1);
    assert_eq!((test.stats().used, test.stats().failures), (1, 2));
}

#[test]
fn where_every_slot_is_pinned_a_get_waits_so_long_or_until_one_is_not() {
    for threads in [0, 1] {
        let test = Test::new(2, threads);
        let pins = [1, 2].map(|number| test.get(number).unwrap());
        for timeout in [Duration::ZERO, Duration::from_millis(2)] {
            let error = test.get_within(3, Some(timeout)).err().unwrap();
            assert_eq!(error.cause(), Cause::Timeout, "{error}");
        }
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| test.get(3).unwrap().number);
            wait_until(|| test.cache.shared().table.lock().starving > 0 || waits.is_finished());
            test.cache.unpin(pins[0].number).unwrap();
            test.cache.unpin(waits.join().unwrap()).unwrap();
        });
        test.cache.unpin(pins[1].number).unwrap();
    }
}

#[test]
fn a_get_that_does_not_wait_has_the_slice_read_for_a_later_one() {
    let test = Test::new(2, 1);
    assert_eq!(test.poll(4).err().unwrap().cause(), Cause::Timeout);
    wait_until(|| test.poll(4).is_ok());
    assert_eq!(test.files.reads_of(4), 1);
}

#[test]
fn prefetches_are_read_in_their_order_and_a_get_comes_first() {
    let test = Test::new(8, 1);
    test.files.close_from(50);
    test.prefetch(50); // keeps the only thread
    wait_until(|| test.files.reads_of(50) == 1);
    [1, 2, 3, 4, 2, 3].into_iter().for_each(|number| test.prefetch(number));
    assert_eq!(test.poll(6).err().unwrap().cause(), Cause::Timeout);
    test.touch(7); // this thread reads it
    test.touch(1); // no thread reads it twice
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| test.get_within(4, Some(Duration::from_secs(1000))).unwrap().number);
        wait_until(|| test.stats().misses == 4);
        assert_eq!(test.stats().queued, 4);
        test.files.open();
        test.cache.unpin(waits.join().unwrap()).unwrap();
    });
    wait_until(|| test.stats().queued == 0 && test.stats().pinned == 0);
    assert_eq!(*test.files.reads.lock().unwrap(), [50, 7, 1, 4, 6, 2, 3]);
    test.touch(2);
    let stats = test.stats();
    assert_eq!((stats.prefetches, stats.prefetches_used, stats.prefetches_dropped), (4, 1, 0));
    // No caller waited for 6.
    test.prefetch(2); // is there, and was not read for it
    test.touch(2);
    assert_eq!(test.stats().prefetches_used, 1);
}

#[test]
fn prefetches_evict_what_is_not_pinned_and_refresh_what_is_there() {
    let test = Test::new(3, 1);
    let idle = |pinned| wait_until(|| test.stats().queued == 0 && test.stats().pinned == pinned);
    let pinned = test.get(1).unwrap();
    for number in [2, 3, 2, 4] {
        test.prefetch(number); // 4 evicts 3
        idle(1);
    }
    assert_eq!((test.stats().evictions, test.stats().prefetches_dropped), (1, 0));
    test.touch(2);
    assert_eq!([2, 3, 4].map(|number| test.files.reads_of(number)), [1; 3]);
    let others = [2, 4].map(|number| test.get(number).unwrap());
    test.prefetch(5); // no slot for it
    idle(3);
    assert_eq!((test.files.reads_of(5), test.stats().prefetches_dropped), (0, 1));
    others.iter().chain([&pinned]).for_each(|pin| test.cache.unpin(pin.number).unwrap());
}

#[test]
fn a_full_queue_drops_the_new_prefetch_and_the_last_one_for_a_get() {
    let test = Test::new(3, 1);
    test.files.close_from(50);
    test.prefetch(50);
    wait_until(|| test.files.reads_of(50) == 1);
    (1..5).for_each(|number| test.prefetch(number));
    assert_eq!((test.stats().queued, test.stats().prefetches_dropped), (3, 1));
    assert_eq!(test.poll(6).err().unwrap().cause(), Cause::Timeout);
    assert_eq!((test.stats().queued, test.stats().prefetches_dropped), (3, 2));
    test.files.open();
    wait_until(|| test.stats().queued == 0 && test.stats().pinned == 0);
    assert_eq!(*test.files.reads.lock().unwrap(), [50, 6, 1, 2]);
}

#[test]
fn what_is_queued_is_cancelled_and_what_is_dropped_goes_with_its_last_pin() {
    let test = Test::new(4, 1);
    test.files.close_from(50);
    test.prefetch(50);
    wait_until(|| test.files.reads_of(50) == 1);
    (1..4).for_each(|number| test.prefetch(number));
    test.cache.cancel();
    assert_eq!((test.stats().queued, test.stats().prefetches_dropped), (0, 3));
    test.cache.forget(&key(50)); // while it is read
    test.prefetch(50);
    test.files.open();
    wait_until(|| test.stats().queued == 0 && test.stats().pinned == 0);
    assert_eq!((test.files.reads_of(50), test.stats().used), (2, 1));
    let pins = [test.get(8).unwrap(), test.get(8).unwrap()];
    test.cache.forget(&key(8));
    test.touch(8);
    assert_eq!((test.files.reads_of(8), test.stats().used), (2, 3));
    pins.iter().for_each(|pin| test.cache.unpin(pin.number).unwrap());
    assert_eq!(test.stats().used, 2);
    test.cache.forget_all();
    assert_eq!((test.stats().used, test.files.slices.load(Ordering::SeqCst)), (0, 0));
}

#[test]
fn slices_of_the_callers_threads_are_read_by_no_other() {
    let test = Test::new(2, 1);
    let make = || {
        let mut slice = Numbered::new(&test.files, 3, SLOT);
        slice.is_callers_thread = true;
        slice
    };
    test.cache.prefetch(&key(3), || Ok(make())).unwrap();
    assert_eq!((test.stats().queued, test.stats().prefetches_dropped), (0, 1));
    let pinned = test.cache.get(&key(3), Some(Duration::ZERO), &mut || Ok(make())).unwrap();
    test.cache.unpin(pinned.number).unwrap();
    assert_eq!(test.files.reads_of(3), 1);
}

#[test]
fn a_slice_or_a_slot_that_does_not_fit_is_over_the_limit() {
    let test = Test::new(1, 0);
    let large = |size| test.cache.get(&key(1), None, &mut || Ok(Numbered::new(&test.files, 1, size)));
    assert_eq!(large(SLOT + 1).err().unwrap().cause(), Cause::Limit);
    test.cache.unpin(large(SLOT).unwrap().number).unwrap();
    for budget in [1, 4096, 5000] {
        let made = new(Memory::Budget(budget), 0, Policy::LRU).map(drop);
        assert_eq!(made.err().unwrap().cause(), Cause::Limit);
    }
    let mut wide = key(1);
    assert_eq!(wide.extend(&[0; 44]).err().unwrap().cause(), Cause::Unsupported);
    assert_eq!(wide.words(), [1]);
}

#[test]
fn any_number_of_threads_use_it_at_once_and_leave_nothing() {
    let test = Test::new(6, 2);
    test.files.broken.lock().unwrap().push(13);
    std::thread::scope(|scope| {
        for seed in 1..7 {
            let test = &test;
            scope.spawn(move || {
                let mut random = Random(seed * 0x1234_5677);
                for _ in 0..400 {
                    let number = random.below(16);
                    match random.below(8) {
                        0..=2 => test.prefetch(number),
                        3 => test.cache.forget(&key(number)),
                        4 if random.below(6) == 0 => test.cache.forget_all(),
                        at => {
                            let timeout = (at == 5).then_some(Duration::from_micros(random.below(300)));
                            match test.get_within(number, timeout) {
                                Ok(pinned) => test.cache.unpin(pinned.number).unwrap(),
                                Err(error) if number == 13 && timeout.is_none() => {
                                    assert_eq!(error.cause(), Cause::DigestMismatch);
                                }
                                Err(error) => {
                                    let expected = [Cause::Timeout, Cause::DigestMismatch];
                                    assert!(expected.contains(&error.cause()), "{error}");
                                }
                            }
                        }
                    }
                    assert!(test.stats().used <= 6);
                }
            });
        }
    });
    // A thread that prefetches may still be reading a slice, which is then added after the others were
    // forgotten.
    wait_until(|| {
        test.cache.forget_all();
        (test.stats().used, test.files.slices.load(Ordering::SeqCst)) == (0, 0)
    });
    assert_eq!(test.stats().pinned, 0);
}
