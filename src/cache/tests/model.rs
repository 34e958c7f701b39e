//! Random sequences of calls, and after each step the table is what a model of a few lists says.

use super::{key, Files, Numbered, Random};
use crate::cache::entry::URGENT;
use crate::cache::queue::{Next, Step};
use crate::cache::table::Table;
use crate::cache::{Candidate, Choose, Slice};
use crate::error::fail;
use crate::memory::{Slot, SlotMemory};
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::Arc;

const SLOTS: usize = 5;
const SLICES: u64 = 12;

/// What there should be.
#[derive(Default)]
struct Model {
    /// The most urgent first.
    queue: Vec<(u64, u64)>,
    /// Unpinned ones with the priority of their prefetch; that first which was longest not used.
    unpinned: Vec<(u64, Option<u64>)>,
    pinned: HashMap<u64, usize>,
    /// Pins of slices that were dropped.
    dropped_pins: usize,
    dropped_slots: usize,
    reading: Vec<(u64, Option<u64>)>,
}

impl Model {
    fn used(&self) -> usize {
        self.unpinned.len() + self.pinned.len() + self.dropped_slots + self.reading.len()
    }

    /// Takes a slot for a read of that priority; whether there was one.
    fn claim(&mut self, priority: u64, chooses_last: bool) -> bool {
        if self.used() < SLOTS {
            return true;
        }
        let may_go = |(_, of): &(u64, Option<u64>)| of.is_none_or(|of| of <= priority);
        let found = match chooses_last {
            false => self.unpinned.iter().position(may_go),
            true => self.unpinned.iter().rposition(may_go),
        };
        found.map(|at| self.unpinned.remove(at)).is_some()
    }

    fn wants(&self, slice: u64) -> bool {
        self.queue.iter().any(|(of, _)| *of == slice)
    }

    fn enqueue(&mut self, slice: u64, priority: u64) {
        let at = self.queue.iter().rposition(|(_, of)| *of >= priority).map_or(0, |at| at + 1);
        self.queue.insert(at, (slice, priority));
    }

    fn prefetch(&mut self, slice: u64, priority: u64) {
        if let Some(at) = self.queue.iter().position(|(of, _)| *of == slice) {
            if self.queue[at].1 < priority {
                self.queue.remove(at);
                self.enqueue(slice, priority);
            }
        } else if let Some(at) = self.unpinned.iter().position(|(of, _)| *of == slice) {
            let (_, before) = self.unpinned.remove(at);
            self.unpinned.push((slice, before.max(Some(priority))));
        } else if self.pinned.contains_key(&slice) || self.reading.iter().any(|(of, _)| *of == slice) {
        } else if self.queue.len() < SLOTS {
            self.enqueue(slice, priority);
        } else if self.queue.last().is_some_and(|(_, last)| *last < priority) {
            self.queue.pop();
            self.enqueue(slice, priority);
        }
    }
}

struct Test {
    files: Arc<Files>,
    table: Table<Numbered>,
    memory: SlotMemory,
    model: Model,
    /// Reads that were begun: the entry, its slot and slice.
    begun: Vec<(u32, Slot, Numbered, u64)>,
    pins: Vec<(u64, u64, bool)>,
    chooses_last: bool,
}

impl Test {
    fn new(chooses_last: bool) -> Test {
        let (memory, slots) = SlotMemory::allocate(64, SLOTS).unwrap();
        let last = |candidates: &[Candidate]| candidates.len() - 1;
        let choose: Option<Box<Choose>> = chooses_last.then(|| Box::new(last) as Box<Choose>);
        let table = Table::new(slots, choose).unwrap();
        let (files, model) = (Arc::new(Files::default()), Model::default());
        Test { files, table, memory, model, begun: vec![], pins: vec![], chooses_last }
    }

    fn get(&mut self, slice: u64) {
        let mut made = None;
        let mut step = self.table.step(&key(slice), &mut made, true);
        if let Step::Make = step {
            made = Some(Numbered::new(&self.files, slice, 64));
            step = self.table.step(&key(slice), &mut made, true);
        }
        let model = &mut self.model;
        let unpinned = model.unpinned.iter().position(|(of, _)| *of == slice);
        match step {
            Step::Ready(at) => {
                match unpinned {
                    Some(place) => {
                        model.unpinned.remove(place);
                        model.pinned.insert(slice, 1);
                    }
                    None => *model.pinned.get_mut(&slice).expect("it is there") += 1,
                }
                self.pin(at, slice);
            }
            Step::Read(at, claim) => {
                let queued = model.queue.iter().position(|(of, _)| *of == slice);
                assert!(unpinned.is_none() && !model.pinned.contains_key(&slice));
                assert!(model.claim(URGENT, self.chooses_last));
                queued.map(|place| model.queue.remove(place));
                model.reading.push((slice, None));
                let (_, slice_of) = self.table.begin(at);
                self.begun.push((at, claim.slot, slice_of.unwrap(), 1));
            }
            Step::Join(_) => assert!(model.reading.iter().any(|(of, _)| *of == slice)),
            Step::Full => assert!(!model.claim(URGENT, self.chooses_last)),
            Step::Make => panic!("it was made"),
        }
    }

    fn pin(&mut self, at: u32, slice: u64) {
        let pinned = self.table.pinned(at, &self.memory).unwrap();
        self.pins.push((slice, pinned.number, false));
    }

    /// Ends a read that was begun.
    fn finish(&mut self, which: usize, is_good: bool) {
        let (at, mut slot, slice, pins) = self.begun.swap_remove(which);
        let number = slice.number;
        let place = self.model.reading.iter().position(|(of, _)| *of == number).unwrap();
        let (_, priority) = self.model.reading.remove(place);
        self.memory.bytes(&mut slot).fill(number as u8);
        let outcome = if is_good { Ok(()) } else { Err(fail!(Io, "broken")) };
        let dropped = self.table.finish(at, slot, slice, &outcome, pins);
        assert_eq!(dropped.is_some(), !is_good);
        match (is_good, pins) {
            (false, _) => {}
            (true, 0) => self.model.unpinned.push((number, priority)),
            (true, _) => {
                self.model.pinned.insert(number, 1);
                self.pin(at, number);
            }
        }
    }

    /// What a thread of the cache does.
    fn next(&mut self) {
        let first = self.model.queue.first().copied();
        match self.table.next() {
            Next::Wait => assert!(first.is_none()),
            Next::Dropped(slice) => {
                let (number, priority) = self.model.queue.remove(0);
                assert!(number == slice.number && !self.model.claim(priority, self.chooses_last));
            }
            Next::Read(at, claim) => {
                let (number, priority) = self.model.queue.remove(0);
                assert!(self.model.claim(priority, self.chooses_last));
                let (_, slice) = self.table.begin(at);
                let slice = slice.unwrap();
                assert_eq!(slice.number, number);
                self.model.reading.push((number, Some(priority)));
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
            self.model.unpinned.push((slice, None));
        }
        if !self.pins.iter().any(|(_, other, _)| *other == number) {
            assert!(self.table.unpin(number).is_err(), "it is pinned no more");
        }
    }

    fn forget(&mut self, slice: u64) {
        if self.model.reading.iter().any(|(of, _)| *of == slice) {
            return; // the tests of threads do that
        }
        let dropped = self.table.entries.find(&key(slice)).and_then(|at| self.table.forget(at));
        let is_there = self.model.wants(slice) || self.model.unpinned.iter().any(|(of, _)| *of == slice);
        assert_eq!(dropped.is_some(), is_there);
        self.model.queue.retain(|(of, _)| *of != slice);
        self.model.unpinned.retain(|(of, _)| *of != slice);
        if let Some(pins) = self.model.pinned.remove(&slice) {
            self.model.dropped_pins += pins;
            self.model.dropped_slots += 1;
            self.pins.iter_mut().filter(|(of, ..)| *of == slice).for_each(|pin| pin.2 = true);
        }
    }

    fn forget_all(&mut self, only_queued: bool) {
        self.model.queue.clear();
        if only_queued {
            while self.table.cancel_one().is_some() {}
        } else {
            while self.table.forget_one().is_some() {}
            self.model.unpinned.clear();
        }
    }

    /// Nothing is more than it may be, and all is as it should be.
    fn check(&mut self) {
        let (now, model) = (self.table.stats(), &self.model);
        assert!(now.used <= SLOTS as u64);
        assert_eq!(now.used, model.used() as u64);
        assert_eq!(now.pinned, (model.used() - model.unpinned.len()) as u64);
        assert_eq!(now.queued, model.queue.len() as u64);
        let listed = model.queue.len() + model.unpinned.len() + model.pinned.len() + model.reading.len();
        assert_eq!((0..SLICES).filter(|n| self.table.entries.find(&key(*n)).is_some()).count(), listed);
        assert_eq!(self.files.slices.load(Ordering::SeqCst), listed + model.dropped_slots);
        for (slice, number, _) in &self.pins {
            let entry = self.table.entries.checked((number & 0xffff_ffff) - 1).unwrap();
            let (slot, of) = (entry.slot.as_ref().unwrap(), entry.slice.as_ref().unwrap());
            assert_eq!((of.tag(), of.size()), (*slice, 64));
            let first = self.memory.address(slot);
            assert!(self.begun.iter().all(|(_, other, ..)| self.memory.address(other) != first));
        }
    }
}

#[test]
fn any_sequence_of_calls_leaves_what_the_model_says() {
    for seed in 1..60 {
        let mut test = Test::new(seed % 3 == 0);
        let mut random = Random(seed * 0x9e37_79b9);
        for _ in 0..1500 {
            let slice = random.below(SLICES);
            match random.below(12) {
                0..=2 => test.get(slice),
                3 | 4 => {
                    let priority = random.below(3);
                    test.model.prefetch(slice, priority);
                    if !test.table.reprioritize(&key(slice), priority) {
                        drop(test.table.queue_slice(
                            &key(slice),
                            Numbered::new(&test.files, slice, 64),
                            priority,
                        ));
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
                _ => {}
            }
            test.check();
        }
        while !test.begun.is_empty() {
            test.finish(0, true);
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
    let mut test = Test::new(false);
    for number in [0, 1, u64::MAX, 1 << 32, 77] {
        assert!(test.table.unpin(number).is_err(), "{number}");
    }
    test.get(3);
    test.finish(0, true);
    let (_, number, _) = test.pins[0];
    assert!(test.table.unpin(number ^ 1 << 40).is_err());
    test.unpin(0);
    assert!(test.table.unpin(number).is_err());
}
