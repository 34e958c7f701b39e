//! One value on the heap.

use crate::error::{Error, Result};
use std::alloc::{alloc, alloc_zeroed, Layout};

/// [`Box::new`] that fails where there is no memory. The box is one like any other, and so becomes a `Box<dyn
/// ...>`.
pub fn try_box<T>(value: T) -> Result<Box<T>> {
    let layout = Layout::new::<T>();
    if layout.size() == 0 {
        return Ok(Box::new(value)); // allocates nothing
    }
    // SAFETY: a layout of some bytes.
    let memory = unsafe { alloc(layout) }.cast::<T>();
    if memory.is_null() {
        return Err(Error::out_of_memory(layout.size()));
    }
    // SAFETY: fresh memory of the global allocator with the layout of a `T`, which is what a box frees.
    unsafe {
        memory.write(value);
        Ok(Box::from_raw(memory))
    }
}

/// A type of which bytes that are all 0 are a value.
///
/// # Safety
/// Zero bytes have to be a valid value of the type.
pub unsafe trait OfZeros {}

// SAFETY: it has integers, arrays of integers and an enum of one byte whose `Start` is 0. `new` sets them all
// to 0, too.
unsafe impl OfZeros for miniz_oxide::inflate::core::DecompressorOxide {}

/// A value made where it stays: it takes no stack, however large it is.
pub fn try_box_of_zeros<T: OfZeros>() -> Result<Box<T>> {
    const { assert!(size_of::<T>() > 0) };
    let layout = Layout::new::<T>();
    // SAFETY: a layout of some bytes.
    let memory = unsafe { alloc_zeroed(layout) }.cast::<T>();
    if memory.is_null() {
        return Err(Error::out_of_memory(layout.size()));
    }
    // SAFETY: fresh memory of the global allocator with the layout of a `T`, and its zeros are a `T`.
    Ok(unsafe { Box::from_raw(memory) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Debug;

    #[test]
    fn a_box_holds_its_value_and_drops_it_once() {
        let counted = std::sync::Arc::new(());
        let boxed = try_box((counted.clone(), [7_u64; 5])).unwrap();
        assert_eq!((boxed.1, std::sync::Arc::strong_count(&counted)), ([7; 5], 2));
        drop(boxed);
        assert_eq!(std::sync::Arc::strong_count(&counted), 1);
        let nothing: Box<dyn Debug> = try_box(()).unwrap();
        assert_eq!(format!("{nothing:?}"), "()");
    }
    #[test]
    fn a_box_of_zeros_may_be_larger_than_the_stack() {
        struct Large([u64; 512 << 10]);
        // SAFETY: integers.
        unsafe impl OfZeros for Large {}
        let make = || try_box_of_zeros::<Large>().unwrap().0.iter().all(|value| *value == 0);
        assert!(std::thread::Builder::new().stack_size(128 << 10).spawn(make).unwrap().join().unwrap());
    }
}
