//! The cache with its threads, and with several that use it.

use super::{key, wait_until, Files, Numbered, Random, PANIC};
use crate::cache::{Cache, Memory, Pinned, Stats};
use crate::error::{Cause, Result};
use crate::threads::ThreadHooks;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;

const SLOT: usize = 1000;

fn cache_of(slots: u64, threads: usize) -> Cache<Numbered> {
    let one = Cache::<Numbered>::new(Memory::Budget(1 << 20), SLOT, 0, ThreadHooks::default(), None).unwrap();
    let each = 1024 + one.stats().overhead / one.stats().slots;
    let budget = Memory::Budget(4096 + slots * each);
    let cache = Cache::new(budget, SLOT, threads, ThreadHooks::default(), None).unwrap();
    assert_eq!(cache.stats().slots, slots);
    cache
}

struct Test {
    cache: Cache<Numbered>,
    files: Arc<Files>,
}

impl Test {
    fn new(slots: u64, threads: usize) -> Test {
        Test { cache: cache_of(slots, threads), files: Arc::new(Files::default()) }
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

    fn prefetch(&self, number: u64, priority: u32) {
        let make = || Ok(Numbered::new(&self.files, number, SLOT - number as usize % 7));
        self.cache.prefetch(&key(number), priority, make).unwrap();
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
        test.touch(number); // 4 goes for 2, and 2 for 3
    }
    assert_eq!([1, 2, 3, 4].map(|n| test.files.reads_of(n)), [1, 2, 1, 1]);
    let stats = test.stats();
    assert_eq!((stats.hits, stats.misses, stats.evictions, stats.used, stats.pinned), (2, 5, 2, 3, 0));
    assert_eq!(test.files.slices.load(Ordering::SeqCst), 3);
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
        wait_until(|| test.files.reads_of(1) == 1); // the one thread of the cache is busy
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
fn prefetches_are_read_by_priority_and_a_get_comes_first() {
    let test = Test::new(8, 1);
    test.files.close_from(50);
    test.prefetch(50, 0); // keeps the only thread
    wait_until(|| test.files.reads_of(50) == 1);
    for (number, priority) in [(1, 0), (2, 5), (3, 1), (4, 5), (2, 2), (3, 9)] {
        test.prefetch(number, priority);
    }
    assert_eq!(test.poll(6).err().unwrap().cause(), Cause::Timeout);
    test.touch(7); // read here meanwhile
    test.touch(1); // so that nobody reads it twice
    assert_eq!(test.stats().queued, 4);
    test.files.open();
    wait_until(|| test.stats().queued == 0 && test.stats().pinned == 0);
    assert_eq!(*test.files.reads.lock().unwrap(), [50, 7, 1, 6, 3, 2, 4]);
    test.touch(2);
    let stats = test.stats();
    assert_eq!((stats.prefetches, stats.prefetches_used, stats.prefetches_dropped), (5, 1, 0));
    // of 6 nobody waited
    test.prefetch(2, 1); // is there, and was not read for it
    test.touch(2);
    assert_eq!(test.stats().prefetches_used, 1);
}

#[test]
fn prefetches_evict_neither_pinned_slices_nor_more_urgent_prefetches() {
    let test = Test::new(3, 1);
    let idle = || test.stats().queued == 0 && test.stats().pinned == 1;
    let pinned = test.get(1).unwrap();
    test.prefetch(2, 7);
    test.prefetch(3, 7);
    wait_until(idle);
    test.prefetch(4, 6); // no slot for it
    wait_until(idle);
    assert_eq!((test.files.reads_of(4), test.stats().prefetches_dropped), (0, 1));
    test.prefetch(5, 7);
    wait_until(idle);
    assert_eq!((test.files.reads_of(5), test.stats().evictions), (1, 1)); // of 2
    test.touch(3); // used: as any other from now on
    test.prefetch(6, 0);
    wait_until(idle);
    assert_eq!(test.files.reads_of(6), 1);
    test.cache.unpin(pinned.number).unwrap();
}

#[test]
fn what_is_queued_is_cancelled_and_what_is_dropped_goes_with_its_last_pin() {
    let test = Test::new(4, 1);
    test.files.close_from(50);
    test.prefetch(50, 0);
    wait_until(|| test.files.reads_of(50) == 1);
    (1..4).for_each(|number| test.prefetch(number, 1));
    test.cache.cancel();
    assert_eq!((test.stats().queued, test.stats().prefetches_dropped), (0, 3));
    test.cache.forget(&key(50)); // while it is read
    test.prefetch(50, 0);
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
    test.cache.prefetch(&key(3), 1, || Ok(make())).unwrap();
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
        let made =
            Cache::<Numbered>::new(Memory::Budget(budget), SLOT, 0, ThreadHooks::default(), None).map(drop);
        assert_eq!(made.err().unwrap().cause(), Cause::Limit);
    }
    let mut wide = key(1);
    assert_eq!(wide.extend(&[0; 40]).err().unwrap().cause(), Cause::Unsupported);
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
                        0..=2 => test.prefetch(number, random.below(4) as u32),
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
    // A thread that prefetches may be in the middle of a slice, which comes after what was there is
    // forgotten.
    wait_until(|| {
        test.cache.forget_all();
        (test.stats().used, test.files.slices.load(Ordering::SeqCst)) == (0, 0)
    });
    assert_eq!(test.stats().pinned, 0);
}
