//! The lock of this crate: what one thread's panic leaves in it the others go on with, as every value
//! that is kept in one is whole between any two steps.

use std::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A value that one thread has at a time.
#[derive(Default)]
pub struct Lock<T> {
    mutex: Mutex<T>,
    order: order::Order,
}

/// The value, until it is dropped.
pub struct Held<'l, T> {
    // First, so that it is dropped before the mutex is given back.
    _turn: order::Turn<'l>,
    value: MutexGuard<'l, T>,
    lock: &'l Lock<T>,
}

impl<T> Lock<T> {
    /// A value that can be held.
    pub const fn new(value: T) -> Self {
        Lock { mutex: Mutex::new(value), order: order::Order::new() }
    }

    /// Waits until no other thread has it.
    pub fn hold(&self) -> Held<'_, T> {
        let value = self.mutex.lock().unwrap_or_else(PoisonError::into_inner);
        Held { _turn: self.order.begin(), value, lock: self }
    }

    /// The value, which no other thread can have any more.
    pub fn into_inner(self) -> T {
        self.order.begin().end();
        self.mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'l, T> Held<'l, T> {
    /// Gives it back until `condition` is notified.
    pub fn wait(self, condition: &Condvar) -> Held<'l, T> {
        let Held { _turn: turn, value, lock } = self;
        turn.end();
        let value = condition.wait(value).unwrap_or_else(PoisonError::into_inner);
        Held { _turn: lock.order.begin(), value, lock }
    }
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Held<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

/// What the order of turns costs: nothing.
#[cfg(not(ztensor_tsan))]
mod order {
    use std::marker::PhantomData;

    #[derive(Default)]
    pub struct Order;
    pub struct Turn<'l>(PhantomData<&'l Order>);

    impl Order {
        pub const fn new() -> Self {
            Order
        }

        pub fn begin(&self) -> Turn<'_> {
            Turn(PhantomData)
        }
    }

    impl Turn<'_> {
        pub fn end(self) {}
    }
}

/// The order of turns, told to ThreadSanitizer: the standard library, where a thread waits for a mutex,
/// comes without its instrumentation, so that it would see no order there.
#[cfg(ztensor_tsan)]
mod order {
    use std::sync::atomic::{AtomicU32, Ordering};

    #[derive(Default)]
    pub struct Order(AtomicU32);
    pub struct Turn<'l>(&'l AtomicU32);

    impl Order {
        pub const fn new() -> Self {
            Order(AtomicU32::new(0))
        }

        pub fn begin(&self) -> Turn<'_> {
            self.0.load(Ordering::Acquire);
            Turn(&self.0)
        }
    }

    impl Turn<'_> {
        pub fn end(self) {}
    }

    impl Drop for Turn<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_one_holder_leaves_the_value_to_the_others() {
        let lock = Lock::new(1);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            *lock.hold() = 2;
            let _held = lock.hold();
            panic!("while it is held");
        }));
        assert!(outcome.is_err());
        assert_eq!(*lock.hold(), 2);
        assert_eq!(lock.into_inner(), 2);
    }

    #[test]
    fn who_waits_gets_it_back() {
        let (lock, condition) = (Lock::new(0), Condvar::new());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                *lock.hold() = 7;
                condition.notify_all();
            });
            let mut held = lock.hold();
            while *held == 0 {
                held = held.wait(&condition);
            }
            assert_eq!(*held, 7);
        });
    }
}
