//! Random sequences of calls. After each step, the table has to agree with a model that consists of a few
//! lists.

use super::{key, Files, Numbered, Random};
use crate::cache::get::Step;
use crate::cache::shared::Next;
use crate::cache::table::Table;
use crate::cache::{Policy, Slice};
use crate::error::fail;
use crate::memory::{Slot, SlotMemory};
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::Arc;

const SLOTS: usize = 6;
/// The most slots with protected slices under SLRU.
const MOST_PROTECTED: usize = 4;
const SLICES: u64 = 13;

/// The expected state.
#[derive(Default)]
struct Model {
    is_segmented: bool,
    /// Queued slices that threads wait for, and queued slices that nobody waits for.
    waited: Vec<u64>,
    prefetches: Vec<u64>,
    /// How many threads wait for each slice that is queued or being read.
    waiters: HashMap<u64, u64>,
    /// How often each slice was got since it was read.
    uses: HashMap<u64, u64>,
    /// Unpinned slices, least recently used first.
    probation: Vec<u64>,
    protected: Vec<u64>,
    pinned: HashMap<u64, u64>,
    /// Pins of slices that were dropped.
    dropped_pins: u64,
    dropped_slots: usize,
    reading: Vec<u64>,
}

fn take(list: &mut Vec<u64>, slice: u64) -> bool {
    let before = list.len();
    list.retain(|of| *of != slice);
    list.len() < before
}

impl Model {
    fn used(&self) -> usize {
        self.unpinned() + self.pinned.len() + self.dropped_slots + self.reading.len()
    }

    fn unpinned(&self) -> usize {
        self.probation.len() + self.protected.len()
    }

    fn queued(&self) -> usize {
        self.waited.len() + self.prefetches.len()
    }

    fn is_queued(&self, slice: u64) -> bool {
        self.waited.contains(&slice) || self.prefetches.contains(&slice)
    }

    fn is_unpinned(&self, slice: u64) -> bool {
        self.probation.contains(&slice) || self.protected.contains(&slice)
    }

    fn take_unpinned(&mut self, slice: u64) -> bool {
        take(&mut self.probation, slice) || take(&mut self.protected, slice)
    }

    /// Takes a slot for a read. Returns whether there was one.
    fn claim(&mut self) -> bool {
        if self.used() < SLOTS {
            return true;
        }
        let list = if self.probation.is_empty() { &mut self.protected } else { &mut self.probation };
        let is_there = !list.is_empty();
        if is_there {
            self.uses.remove(&list.remove(0));
        }
        is_there
    }

    fn push_unpinned(&mut self, slice: u64) {
        if !self.is_segmented || self.uses.get(&slice).is_none_or(|uses| *uses < 2) {
            return self.probation.push(slice);
        }
        self.protected.push(slice);
        if self.protected.len() > MOST_PROTECTED {
            let oldest = self.protected.remove(0);
            self.probation.push(oldest);
        }
    }

    fn prefetch(&mut self, slice: u64) {
        if self.take_unpinned(slice) {
            self.push_unpinned(slice);
        } else if self.is_queued(slice) || self.pinned.contains_key(&slice) || self.reading.contains(&slice) {
        } else if self.queued() < SLOTS {
            self.prefetches.push(slice);
        }
    }

    fn add_pins(&mut self, slice: u64, pins: u64) {
        *self.uses.entry(slice).or_default() += pins;
        *self.pinned.entry(slice).or_default() += pins;
    }
}

struct Test {
    files: Arc<Files>,
    table: Table<Numbered>,
    memory: SlotMemory,
    model: Model,
    /// Reads that were started: the entry, the slot and the slice.
    begun: Vec<(u32, Slot, Numbered, u64)>,
    /// Waiting threads: the slice that each waits for, and its entry.
    waits: Vec<(u64, u32)>,
    pins: Vec<(u64, u64, bool)>,
}

impl Test {
    fn new(policy: Policy) -> Test {
        let (memory, slots) = SlotMemory::allocate(64, SLOTS).unwrap();
        let table = Table::new(slots, policy).unwrap();
        let model = Model { is_segmented: policy == Policy::SLRU, ..Model::default() };
        let files = Arc::new(Files::default());
        Test { files, table, memory, model, begun: vec![], waits: vec![], pins: vec![] }
    }

    fn get(&mut self, slice: u64, caller_reads: bool) {
        let mut made = None;
        let mut step = self.table.step(&key(slice), &mut made, caller_reads);
        if let Step::Make = step {
            made = Some(Numbered::new(&self.files, slice, 64));
            step = self.table.step(&key(slice), &mut made, caller_reads);
        }
        if let Step::Drop(left_out) = step {
            assert_eq!(
                (self.model.prefetches.pop(), self.model.queued()),
                (Some(left_out.number), SLOTS - 1)
            );
            step = self.table.step(&key(slice), &mut made, caller_reads);
        }
        let model = &mut self.model;
        match step {
            Step::Ready(at) => {
                assert!(model.take_unpinned(slice) || model.pinned.contains_key(&slice));
                model.add_pins(slice, 1);
                self.pin(at, slice);
            }
            Step::Read(at, claim) => {
                assert!(caller_reads && !model.is_unpinned(slice) && !model.pinned.contains_key(&slice));
                assert!(model.claim());
                let _ = take(&mut model.waited, slice) || take(&mut model.prefetches, slice);
                model.reading.push(slice);
                let (_, slice_of) = self.table.begin(at);
                self.begun.push((at, claim.slot, slice_of.unwrap(), 1));
            }
            Step::Join(at) => {
                assert!(model.reading.contains(&slice) || !caller_reads);
                if !model.reading.contains(&slice) && !model.waited.contains(&slice) {
                    take(&mut model.prefetches, slice);
                    model.waited.push(slice);
                }
                *model.waiters.entry(slice).or_default() += 1;
                self.waits.push((slice, at));
            }
            Step::Full if caller_reads => assert!(!model.claim()),
            Step::Full => assert_eq!(model.waited.len(), SLOTS),
            Step::Make | Step::Drop(_) => panic!("it was made, and a place in the queue is enough"),
        }
    }

    fn stop_waiting(&mut self, which: usize) {
        let (slice, at) = self.waits.swap_remove(which);
        self.table.stop_waiting(at);
        let waiters = self.model.waiters.get_mut(&slice).unwrap();
        *waiters -= 1;
        if *waiters == 0 && take(&mut self.model.waited, slice) {
            self.model.prefetches.insert(0, slice);
        }
    }

    fn pin(&mut self, at: u32, slice: u64) {
        let pinned = self.table.pinned(at, &self.memory).unwrap();
        self.pins.push((slice, pinned.number, false));
    }

    /// Ends a read that was started. The threads that wait for it continue.
    fn finish(&mut self, which: usize, is_good: bool) {
        let (at, mut slot, slice, pins) = self.begun.swap_remove(which);
        let number = slice.number;
        assert!(take(&mut self.model.reading, number));
        self.memory.bytes(&mut slot).fill(number as u8);
        let outcome = if is_good { Ok(()) } else { Err(fail!(Io, "broken")) };
        let dropped = self.table.finish(at, slot, slice, &outcome, pins);
        assert_eq!(dropped.is_some(), !is_good);
        let waiters = self.model.waiters.remove(&number).unwrap_or(0);
        self.waits.retain(|(of, _)| *of != number);
        for _ in 0..waiters {
            match is_good {
                true => self.table.entries.get_mut(at).waiters -= 1, // like a thread that has waited
                false => drop(self.table.take_failure(at)),
            }
        }
        match (is_good, pins + waiters) {
            (false, _) => {}
            (true, 0) => self.model.push_unpinned(number),
            (true, all) => {
                self.model.add_pins(number, all);
                (0..all).for_each(|_| self.pin(at, number));
            }
        }
    }

    /// Does what a thread of the cache does.
    fn next(&mut self) {
        let first = self.model.waited.iter().chain(&self.model.prefetches).next().copied();
        let is_waited = !self.model.waited.is_empty();
        match self.table.next() {
            Next::Wait => assert!(first.is_none() || is_waited && !self.model.claim()),
            Next::Dropped(slice) => {
                assert!(!is_waited && first == Some(slice.number) && !self.model.claim());
                take(&mut self.model.prefetches, slice.number);
            }
            Next::Read(at, claim) => {
                assert!(self.model.claim());
                let (_, slice) = self.table.begin(at);
                let slice = slice.unwrap();
                assert_eq!(Some(slice.number), first);
                let _ = take(&mut self.model.waited, slice.number)
                    || take(&mut self.model.prefetches, slice.number);
                self.model.reading.push(slice.number);
                self.begun.push((at, claim.slot, slice, 0));
            }
        }
    }

    fn unpin(&mut self, which: usize) {
        let (slice, number, is_dropped) = self.pins.swap_remove(which);
        let dropped = self.table.unpin(number).unwrap();
        if is_dropped {
            self.model.dropped_pins -= 1;
            let is_last = !self.pins.iter().any(|(_, other, _)| *other == number);
            self.model.dropped_slots -= usize::from(is_last);
            assert_eq!(dropped.is_some(), is_last);
            return;
        }
        let pins = self.model.pinned.get_mut(&slice).unwrap();
        *pins -= 1;
        if *pins == 0 {
            self.model.pinned.remove(&slice);
            self.model.push_unpinned(slice);
        }
        if !self.pins.iter().any(|(_, other, _)| *other == number) {
            assert!(self.table.unpin(number).is_err(), "it is pinned no more");
        }
    }

    fn forget(&mut self, slice: u64) {
        if self.model.reading.contains(&slice) || self.model.waited.contains(&slice) {
            return; // the tests with threads do this
        }
        let dropped = self.table.entries.find(&key(slice)).and_then(|at| self.table.forget(at));
        let is_dropped = take(&mut self.model.prefetches, slice) || self.model.take_unpinned(slice);
        assert_eq!(dropped.is_some(), is_dropped);
        self.model.uses.remove(&slice);
        if let Some(pins) = self.model.pinned.remove(&slice) {
            self.model.dropped_pins += pins;
            self.model.dropped_slots += 1;
            self.pins.iter_mut().filter(|(of, ..)| *of == slice).for_each(|pin| pin.2 = true);
        }
    }

    fn forget_all(&mut self, only_queued: bool) {
        self.model.prefetches.clear();
        if only_queued {
            while self.table.cancel_one().is_some() {}
        } else {
            while self.table.forget_one().is_some() {}
            for slice in self.model.probation.drain(..).chain(self.model.protected.drain(..)) {
                self.model.uses.remove(&slice);
            }
        }
    }

    /// Checks that no limit is exceeded and that the table agrees with the model.
    fn check(&mut self) {
        let (now, model) = (self.table.stats(), &self.model);
        assert!(now.used <= SLOTS as u64);
        assert_eq!(now.used, model.used() as u64);
        assert_eq!(now.pinned, (model.used() - model.unpinned()) as u64);
        assert_eq!(now.queued, model.queued() as u64);
        let listed = model.queued() + model.unpinned() + model.pinned.len() + model.reading.len();
        assert_eq!((0..SLICES).filter(|n| self.table.entries.find(&key(*n)).is_some()).count(), listed);
        assert_eq!(self.files.slices.load(Ordering::SeqCst), listed + model.dropped_slots);
        for (slice, number, _) in &self.pins {
            let entry = self.table.entries.checked((number & 0xffff_ffff) - 1).unwrap();
            let (slot, of) = (entry.slot.as_ref().unwrap(), entry.slice.as_ref().unwrap());
            assert_eq!((of.number, of.size()), (*slice, 64));
            let first = self.memory.address(slot);
            assert!(self.begun.iter().all(|(_, other, ..)| self.memory.address(other) != first));
        }
    }
}

#[test]
fn any_sequence_of_calls_leaves_what_the_model_says() {
    for seed in 1..60 {
        let mut test = Test::new([Policy::LRU, Policy::SLRU][seed as usize % 2]);
        let mut random = Random(seed * 0x9e37_79b9);
        for _ in 0..1500 {
            let slice = random.below(SLICES);
            match random.below(13) {
                0..=2 => {
                    let caller_reads = random.below(3) > 0;
                    test.get(slice, caller_reads);
                }
                3 | 4 => {
                    test.model.prefetch(slice);
                    if !test.table.touch(&key(slice)) {
                        drop(test.table.prefetch(&key(slice), Numbered::new(&test.files, slice, 64)));
                    }
                }
                5 | 6 => test.next(),
                7 | 8 if !test.begun.is_empty() => {
                    let which = random.below(test.begun.len() as u64) as usize;
                    test.finish(which, random.below(5) > 0);
                }
                9 | 10 if !test.pins.is_empty() => {
                    let which = random.below(test.pins.len() as u64) as usize;
                    test.unpin(which);
                }
                11 if random.below(8) == 0 => {
                    let only_queued = random.below(2) == 0;
                    test.forget_all(only_queued);
                }
                11 => test.forget(slice),
                12 if !test.waits.is_empty() => {
                    let which = random.below(test.waits.len() as u64) as usize;
                    test.stop_waiting(which);
                }
                _ => {}
            }
            test.check();
        }
        while !test.begun.is_empty() {
            test.finish(0, true);
        }
        while !test.waits.is_empty() {
            test.stop_waiting(0);
        }
        while !test.pins.is_empty() {
            test.unpin(0);
        }
        test.forget_all(false);
        test.check();
        assert_eq!((test.table.stats().used, test.files.slices.load(Ordering::SeqCst)), (0, 0));
    }
}

#[test]
fn a_pin_of_another_cache_or_of_an_earlier_slice_is_refused() {
    let mut test = Test::new(Policy::LRU);
    for number in [0, 1, u64::MAX, 1 << 32, 77] {
        assert!(test.table.unpin(number).is_err(), "{number}");
    }
    test.get(3, true);
    test.finish(0, true);
    let (_, number, _) = test.pins[0];
    assert!(test.table.unpin(number ^ 1 << 40).is_err());
    test.unpin(0);
    assert!(test.table.unpin(number).is_err());
}
