//! Getting a slice: it is ready, or the caller reads it, or another thread reads it.

use super::entry::Phase;
use super::shared::Shared;
use super::slice::{Key, Pinned, Slice};
use super::table::{Claim, Table};
use crate::error::{fail, Error, Result};
use crate::lock::MutexGuard;
use std::time::{Duration, Instant};

/// What a thread that gets a slice does next.
pub enum Step<S> {
    /// Use the slice: it is ready, and pinned.
    Ready(u32),
    /// Read the slice into this slot.
    Read(u32, Claim<S>),
    /// Wait for another thread that reads the slice.
    Join(u32),
    /// Make the slice, and ask again.
    Make,
    /// Drop this prefetched slice, which was removed from the queue, and ask again.
    Drop(S),
    /// Wait for a slot.
    Full,
}

impl<S: Slice> Table<S> {
    /// Returns what the calling thread has to do to get a slice. `made` is the slice, if it was made.
    /// `caller_reads` means that the calling thread reads the slice if it is not ready.
    pub fn step(&mut self, key: &Key, made: &mut Option<S>, caller_reads: bool) -> Step<S> {
        if let Some(at) = self.pin_if_ready(key) {
            return Step::Ready(at);
        }
        if let Some(at) = self.entries.find(key) {
            let entry = self.entries.get(at);
            let is_queued = matches!(entry.phase, Phase::Queued);
            let is_miss = is_queued && entry.waiters == 0; // no other caller waits for it
            let step = if is_queued && caller_reads {
                let Some(claim) = self.claim() else { return Step::Full };
                Step::Read(at, claim)
            } else {
                self.start_waiting(at);
                Step::Join(at)
            };
            self.stats.misses += u64::from(is_miss);
            self.stats.joined += u64::from(!is_miss);
            return step;
        }
        if made.is_none() {
            return Step::Make;
        }
        let Some(at) = self.unused() else { return Step::Full };
        let step = if caller_reads {
            let Some(claim) = self.claim() else { return Step::Full };
            self.add(at, key, made.take());
            Step::Read(at, claim)
        } else if self.is_queue_full() {
            return self.cancel_one().map_or(Step::Full, Step::Drop);
        } else {
            self.enqueue(at, key, made.take());
            self.start_waiting(at);
            Step::Join(at)
        };
        self.stats.misses += 1;
        step
    }
}

/// How long a call may wait.
#[derive(Clone, Copy)]
struct Deadline {
    started: Instant,
    /// `None` to wait without a limit.
    timeout: Option<Duration>,
}

impl Deadline {
    /// The time that is left; `None` to wait without a limit.
    fn left(&self) -> Option<Duration> {
        self.timeout.map(|timeout| timeout.saturating_sub(self.started.elapsed()))
    }

    #[cold]
    fn exceeded(&self, what: std::fmt::Arguments<'_>) -> Error {
        fail!(Timeout, "{what}, after {:?}", self.timeout.unwrap_or_default())
    }
}

impl<S: Slice> Shared<S> {
    pub fn get(
        &self,
        key: &Key,
        timeout: Option<Duration>,
        has_threads: bool,
        make: &mut dyn FnMut() -> Result<S>,
    ) -> Result<Pinned> {
        {
            let mut table = self.table.lock();
            if let Some(at) = table.pin_if_ready(key) {
                return table.pinned(at, &self.memory);
            }
        }
        self.get_absent(key, Deadline { started: Instant::now(), timeout }, has_threads, make)
    }

    #[cold]
    #[inline(never)]
    fn get_absent(
        &self,
        key: &Key,
        deadline: Deadline,
        has_threads: bool,
        make: &mut dyn FnMut() -> Result<S>,
    ) -> Result<Pinned> {
        let mut made: Option<S> = None; // declared first, so that it is dropped after the lock is released
        let mut table = self.table.lock();
        loop {
            // The caller reads if there is no timeout, or if the threads of the cache cannot.
            let only_caller_may = made.as_ref().is_some_and(Slice::is_callers_thread);
            let caller_reads = deadline.timeout.is_none() || !has_threads || only_caller_may;
            match table.step(key, &mut made, caller_reads) {
                Step::Ready(at) => return table.pinned(at, &self.memory),
                Step::Read(at, claim) => {
                    let reading = self.begin(&mut table, at, claim);
                    self.unlock(table); // there may be space in the queue now
                    let pinned = reading.run(1)?;
                    return pinned.ok_or_else(|| fail!(Internal, "the slice that was read is missing"));
                }
                Step::Join(at) => return self.wait_until_read(table, at, &deadline),
                Step::Make => {
                    drop(table);
                    made = Some(self.check_fits(make()?)?);
                    table = self.table.lock();
                }
                Step::Drop(prefetch) => {
                    drop(table);
                    drop(prefetch);
                    table = self.table.lock();
                }
                Step::Full => table = self.wait_for_slot(table, &deadline)?,
            }
        }
    }

    /// Waits for an entry that is queued or being read, and returns a pin. The caller has called
    /// [`Table::start_waiting`].
    fn wait_until_read<'l>(
        &'l self,
        mut table: MutexGuard<'l, Table<S>>,
        at: u32,
        deadline: &Deadline,
    ) -> Result<Pinned> {
        self.work.notify_one();
        loop {
            match table.entries.get(at).phase {
                Phase::Ready => {
                    table.entries.get_mut(at).waiters -= 1;
                    return table.pinned(at, &self.memory);
                }
                Phase::Failed(_) => {
                    let error = table.take_failure(at);
                    self.unlock(table); // an entry may have become free
                    return Err(error);
                }
                _ => {}
            }
            let is_late;
            (table, is_late) = self.wait(table, deadline);
            if is_late && matches!(table.entries.get(at).phase, Phase::Queued | Phase::Reading) {
                table.stop_waiting(at);
                return Err(deadline.exceeded(format_args!("the slice is not read yet")));
            }
        }
    }

    /// Waits until there may be a slot.
    fn wait_for_slot<'l>(
        &'l self,
        mut table: MutexGuard<'l, Table<S>>,
        deadline: &Deadline,
    ) -> Result<MutexGuard<'l, Table<S>>> {
        table.starving += 1;
        let (mut table, is_late) = self.wait(table, deadline);
        table.starving -= 1;
        if table.starving == 0 && table.has_queued() {
            self.work.notify_all(); // prefetches can continue once no thread waits for a slot
        }
        match is_late {
            true => {
                let count = table.stats().slots;
                Err(deadline.exceeded(format_args!("all {count} slots are pinned or being read")))
            }
            false => Ok(table),
        }
    }

    /// Waits for a change or for the deadline. Returns true if the deadline has passed.
    fn wait<'l>(
        &'l self,
        mut table: MutexGuard<'l, Table<S>>,
        deadline: &Deadline,
    ) -> (MutexGuard<'l, Table<S>>, bool) {
        let left = deadline.left();
        if left == Some(Duration::ZERO) {
            return (table, true);
        }
        table.waiting += 1;
        let mut table = match left {
            None => table.wait(&self.changed),
            Some(left) => table.wait_for(&self.changed, left),
        };
        table.waiting -= 1;
        (table, false)
    }
}
