//! Temporary memory of a batch or a load, counted.

use crate::lock::{Mutex, MutexGuard};
use std::sync::Condvar;

/// Temporary memory: one job may always have what it alone needs.
pub struct Budget {
    pub limit: u64,
    used: Mutex<Used>,
    freed: Condvar,
}

struct Used {
    by_jobs: u64,
    /// By what is handed out piece by piece, which no job may wait for.
    held: u64,
    /// Jobs that wait. While there are none nobody is notified: that is a call of the system, whoever waits.
    waiting: usize,
}

impl Budget {
    pub const fn new(limit: u64) -> Budget {
        let used = Used { by_jobs: 0, held: 0, waiting: 0 };
        Budget { limit, used: Mutex::new(used), freed: Condvar::new() }
    }

    /// Waits until so many bytes may be used; none are nothing to wait for.
    #[inline]
    pub(super) fn reserve(&self, bytes: u64) -> Option<Reservation<'_>> {
        (bytes > 0).then(|| self.wait_for(bytes))
    }

    fn wait_for(&self, bytes: u64) -> Reservation<'_> {
        let mut used = self.used.lock();
        while used.by_jobs > 0 && used.by_jobs.saturating_add(used.held).saturating_add(bytes) > self.limit {
            used.waiting = used.waiting.saturating_add(1);
            used = used.wait(&self.freed);
            used.waiting = used.waiting.saturating_sub(1);
        }
        used.by_jobs = used.by_jobs.saturating_add(bytes);
        Reservation { budget: self, bytes }
    }

    /// Counts memory that outlives a job.
    pub(super) fn add_held(&self, bytes: u64) {
        let mut used = self.used.lock();
        used.held = used.held.saturating_add(bytes);
    }

    /// Counts off memory that outlived a job.
    pub(super) fn release_held(&self, bytes: u64) {
        let mut used = self.used.lock();
        used.held = used.held.saturating_sub(bytes);
        self.notify(&used);
    }

    /// Has those that wait look again.
    fn notify(&self, used: &MutexGuard<'_, Used>) {
        if used.waiting > 0 {
            self.freed.notify_all();
        }
    }
}

/// Bytes that may be used until it is dropped.
pub(super) struct Reservation<'a> {
    budget: &'a Budget,
    bytes: u64,
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let mut used = self.budget.used.lock();
        used.by_jobs = used.by_jobs.saturating_sub(self.bytes);
        self.budget.notify(&used);
    }
}
