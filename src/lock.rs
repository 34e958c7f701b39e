//! The standard library's mutex with two differences. It ignores poisoning: every critical section leaves the
//! value valid, so other threads can continue after one has panicked. And it reports its order to
//! ThreadSanitizer, which cannot see it in the standard library's mutex.

use std::ops::{Deref, DerefMut};
use std::sync::{self, Condvar, PoisonError};
use std::time::Duration;

/// A value that one thread at a time can access.
#[derive(Default)]
pub struct Mutex<T> {
    inner: sync::Mutex<T>,
    order: order::Order,
}

/// Access to the value, until this is dropped.
pub struct MutexGuard<'l, T> {
    // The first field, so that it is dropped before the mutex is released.
    _order: order::OrderGuard<'l>,
    value: sync::MutexGuard<'l, T>,
    mutex: &'l Mutex<T>,
}

impl<T> Mutex<T> {
    /// A mutex with this value.
    pub const fn new(value: T) -> Self {
        Mutex { inner: sync::Mutex::new(value), order: order::Order::new() }
    }

    /// Waits until no other thread has it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let value = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        MutexGuard { _order: self.order.begin(), value, mutex: self }
    }

    /// The value. No other thread can access it any more.
    pub fn into_inner(self) -> T {
        drop(self.order.begin());
        self.inner.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'l, T> MutexGuard<'l, T> {
    /// Releases the mutex and waits until `condition` is notified.
    pub fn wait(self, condition: &Condvar) -> MutexGuard<'l, T> {
        let MutexGuard { _order: order, value, mutex } = self;
        drop(order);
        let value = condition.wait(value).unwrap_or_else(PoisonError::into_inner);
        MutexGuard { _order: mutex.order.begin(), value, mutex }
    }

    /// Releases the mutex and waits until `condition` is notified, at most for `most`.
    pub fn wait_for(self, condition: &Condvar, most: Duration) -> MutexGuard<'l, T> {
        let MutexGuard { _order: order, value, mutex } = self;
        drop(order);
        let (value, _) = condition.wait_timeout(value, most).unwrap_or_else(PoisonError::into_inner);
        MutexGuard { _order: mutex.order.begin(), value, mutex }
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

/// Reports the order of locks to ThreadSanitizer. It cannot see it, because the standard library, where
/// threads wait for the mutex, is not instrumented. Without ThreadSanitizer this does nothing.
mod order {
    #[cfg(ztensor_tsan)]
    use std::sync::atomic::{AtomicU32, Ordering};

    #[derive(Default)]
    pub struct Order {
        #[cfg(ztensor_tsan)]
        count: AtomicU32,
    }
    pub struct OrderGuard<'l>(&'l Order);

    impl Order {
        pub const fn new() -> Self {
            Order {
                #[cfg(ztensor_tsan)]
                count: AtomicU32::new(0),
            }
        }

        pub fn begin(&self) -> OrderGuard<'_> {
            #[cfg(ztensor_tsan)]
            self.count.load(Ordering::Acquire);
            OrderGuard(self)
        }
    }

    impl Drop for OrderGuard<'_> {
        fn drop(&mut self) {
            let OrderGuard(_order) = self;
            #[cfg(ztensor_tsan)]
            _order.count.fetch_add(1, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_one_holder_leaves_the_value_to_the_others() {
        let lock = Mutex::new(1);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            *lock.lock() = 2;
            let _guard = lock.lock();
            panic!("while it is held");
        }));
        assert!(outcome.is_err());
        assert_eq!(*lock.lock(), 2);
        assert_eq!(lock.into_inner(), 2);
    }

    #[test]
    fn who_waits_gets_it_back() {
        let (lock, condition) = (Mutex::new(0), Condvar::new());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                *lock.lock() = 7;
                condition.notify_all();
            });
            let mut guard = lock.lock();
            while *guard == 0 {
                guard = guard.wait(&condition);
            }
            assert_eq!(*guard, 7);
        });
    }
}
