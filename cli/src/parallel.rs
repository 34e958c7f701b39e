//! Runs work on many items with several threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// The result of `work` for each item, in order. 0 threads means one per processor. If a thread cannot be
/// started, the others do its work.
pub fn map<T: Sync, R: Send>(items: &[T], threads: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let wanted = match threads {
        0 => thread::available_parallelism().map_or(1, |n| n.get()),
        given => given,
    };
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    let some = || loop {
        let at = next.fetch_add(1, Ordering::Relaxed);
        let Some(item) = items.get(at) else { return };
        let result = work(item);
        done.lock().unwrap_or_else(PoisonError::into_inner).push((at, result));
    };
    thread::scope(|scope| {
        for _ in 1..wanted.min(items.len()) {
            if thread::Builder::new().spawn_scoped(scope, some).is_err() {
                break;
            }
        }
        some();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::map;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<u32> = (0..1000).collect();
        let squares: Vec<u32> = items.iter().map(|n| n * n).collect();
        for threads in [0, 1, 3, 64] {
            assert_eq!(map(&items, threads, |n| n * n), squares);
        }
        assert!(map(&[0u32; 0], 4, |n| *n).is_empty());
    }
}
