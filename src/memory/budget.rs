//! A limit for the memory that opening a file may take. Memory is charged before it is allocated.

use crate::error::{fail, Result};
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the bytes in use, and limits them. The threads that open the parts of a model share it.
#[derive(Debug)]
pub struct Budget {
    limit: AtomicU64,
    held: AtomicU64,
}

impl Budget {
    /// A budget of at most `limit` bytes. None are in use.
    pub fn new(limit: u64) -> Budget {
        Budget { limit: AtomicU64::new(limit), held: AtomicU64::new(0) }
    }

    /// Raises the limit to `limit` bytes, unless it is higher already.
    pub fn raise(&self, limit: u64) {
        self.limit.fetch_max(limit, Ordering::Relaxed);
    }

    /// How many bytes are in use.
    pub fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    fn limit(&self) -> u64 {
        self.limit.load(Ordering::Relaxed)
    }

    /// Whether `bytes` more are allowed.
    pub fn has(&self, bytes: u64) -> bool {
        self.sum(self.held(), bytes).is_some()
    }

    /// Charges `bytes` for `what`. If that would exceed the limit, fails and charges nothing.
    #[inline]
    pub fn charge(&self, bytes: u64, what: &str) -> Result<()> {
        let charged =
            self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |held| self.sum(held, bytes));
        charged.map(drop).map_err(|held| self.exceeded(held, bytes, what))
    }

    /// `held` plus `bytes`; `None` if that exceeds the limit.
    fn sum(&self, held: u64, bytes: u64) -> Option<u64> {
        held.checked_add(bytes).filter(|sum| *sum <= self.limit())
    }

    /// Returns `bytes` to the budget.
    #[inline]
    pub fn give_back(&self, bytes: u64) {
        let less = |held: u64| Some(held.saturating_sub(bytes));
        let _ = self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    #[cold]
    fn exceeded(&self, held: u64, bytes: u64, what: &str) -> crate::error::Error {
        let sum = held.saturating_add(bytes);
        fail!(
            Limit,
            "opening it takes {sum} bytes of memory, {bytes} of them for {what}, above the limit of {} \
             (max_memory)",
            self.limit()
        )
    }
}

/// The size of `count` entries in bytes.
pub fn bytes_of<T>(count: usize) -> u64 {
    (count as u64).saturating_mul(size_of::<T>() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Cause;

    #[test]
    fn what_was_charged_is_held_until_it_is_given_back() {
        let budget = Budget::new(100);
        budget.charge(60, "names").unwrap();
        let over = budget.charge(41, "objects").unwrap_err();
        assert_eq!(over.cause(), Cause::Limit);
        for part in ["101", "41", "objects", "100", "max_memory"] {
            assert!(over.to_string().contains(part), "{over}");
        }
        budget.charge(40, "objects").unwrap();
        assert!(!budget.has(1) && budget.has(0) && !budget.has(u64::MAX) && budget.held() == 100);
        budget.give_back(70);
        budget.charge(70, "values").unwrap();
        assert!(Budget::new(u64::MAX).has(u64::MAX));
    }
}
