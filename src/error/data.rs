//! Where a failure lies: behind one pointer, so that a `Result` is small on its way through every caller.

use super::rule::{Cause, Rule};
use std::alloc::{alloc, Layout};
use std::ptr::NonNull;

/// What is known of a failure.
pub(super) struct ErrorData {
    pub(super) cause: Cause,
    /// The rule as the file's container calls it, where the cause does not say that.
    pub(super) called: Option<Rule>,
    /// The number of the operating system's error; 0 if it is not a system error.
    pub(super) os: i32,
    /// The text names the file and the object.
    pub(super) is_named: bool,
    pub(super) text: String,
}

impl ErrorData {
    const fn bare(cause: Cause) -> Self {
        ErrorData { cause, called: None, os: 0, is_named: false, text: String::new() }
    }
}

/// Preallocated errors for when allocating one fails. The first is for causes without their own entry.
static BARE: [ErrorData; 17] = [
    ErrorData::bare(Cause::OutOfMemory),
    ErrorData::bare(Cause::InvalidArgument),
    ErrorData::bare(Cause::Io),
    ErrorData::bare(Cause::NoFile),
    ErrorData::bare(Cause::NotFound),
    ErrorData::bare(Cause::NotZtensor),
    ErrorData::bare(Cause::DigestMismatch),
    ErrorData::bare(Cause::Unsupported),
    ErrorData::bare(Cause::Limit),
    ErrorData::bare(Cause::BufferSize),
    ErrorData::bare(Cause::NotMappable),
    ErrorData::bare(Cause::State),
    ErrorData::bare(Cause::Exists),
    ErrorData::bare(Cause::Cancelled),
    ErrorData::bare(Cause::Timeout),
    ErrorData::bare(Cause::Busy),
    ErrorData::bare(Cause::Internal),
];

/// A pointer to one, on the heap or in [`BARE`].
pub(super) struct ErrorPointer(NonNull<ErrorData>);

// SAFETY: it is owned like a box, or is a shared reference to constant data.
unsafe impl Send for ErrorPointer {}
// SAFETY: likewise.
unsafe impl Sync for ErrorPointer {}

impl ErrorPointer {
    pub(super) fn new(data: ErrorData) -> Self {
        // SAFETY: a layout of some bytes.
        let memory = unsafe { alloc(Layout::new::<ErrorData>()) }.cast::<ErrorData>();
        match NonNull::new(memory) {
            Some(place) => {
                // SAFETY: fresh memory of this layout.
                unsafe { place.write(data) };
                ErrorPointer(place)
            }
            None => {
                let [otherwise, ..] = &BARE;
                let same = BARE.iter().find(|bare| bare.cause == data.cause);
                ErrorPointer(NonNull::from(same.unwrap_or(otherwise)))
            }
        }
    }

    pub(super) fn get(&self) -> &ErrorData {
        // SAFETY: it lives as long as this, and only `get_mut` changes it.
        unsafe { self.0.as_ref() }
    }

    /// For changes; `None` for an error that could not be allocated.
    pub(super) fn get_mut(&mut self) -> Option<&mut ErrorData> {
        let is_bare = BARE.as_ptr_range().contains(&self.0.as_ptr().cast_const());
        match is_bare {
            true => None,
            // SAFETY: on the heap it is this place's alone.
            false => Some(unsafe { self.0.as_mut() }),
        }
    }
}

impl Drop for ErrorPointer {
    #[inline(never)] // it stands at the end of nearly every function
    fn drop(&mut self) {
        if let Some(data) = self.get_mut() {
            // SAFETY: it came from the global allocator with the layout of its type, which is what a box
            // frees.
            drop(unsafe { Box::from_raw(data) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_memory_it_is_one_that_nobody_changes() {
        for bare in &BARE {
            let mut place = ErrorPointer(NonNull::from(bare));
            assert!(place.get_mut().is_none());
            assert_eq!((place.get().cause, place.get().text.as_str()), (bare.cause, ""));
        }
        let mut place = ErrorPointer::new(ErrorData::bare(Cause::Caller(7)));
        place.get_mut().unwrap().os = 3;
        assert_eq!((place.get().cause, place.get().os), (Cause::Caller(7), 3));
    }
}
