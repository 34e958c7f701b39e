//! The data of an error. It is behind a single pointer, so that a `Result` is small.

use super::rule::{Cause, Rule};
use std::alloc::{alloc, Layout};
use std::ptr::NonNull;

/// What is known of a failure.
pub(super) struct ErrorData {
    pub(super) cause: Cause,
    /// The container's own rule, if it differs from the rule in the cause.
    pub(super) called: Option<Rule>,
    /// The number of the operating system's error; 0 if it is not one.
    pub(super) os: i32,
    /// Whether the text names the file and the object.
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

/// A pointer to the data, on the heap or in [`BARE`].
pub(super) struct ErrorPointer(NonNull<ErrorData>);

// SAFETY: it owns its data like a box, or shares constant data.
unsafe impl Send for ErrorPointer {}
// SAFETY: as above.
unsafe impl Sync for ErrorPointer {}

impl ErrorPointer {
    pub(super) fn new(data: ErrorData) -> Self {
        // SAFETY: the layout is not empty.
        let memory = unsafe { alloc(Layout::new::<ErrorData>()) }.cast::<ErrorData>();
        match NonNull::new(memory) {
            Some(place) => {
                // SAFETY: the memory is new and has this layout.
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
        // SAFETY: it lives as long as this pointer, and only `get_mut` changes it.
        unsafe { self.0.as_ref() }
    }

    /// The data, for changes; `None` for an error that could not be allocated.
    pub(super) fn get_mut(&mut self) -> Option<&mut ErrorData> {
        let is_bare = BARE.as_ptr_range().contains(&self.0.as_ptr().cast_const());
        match is_bare {
            true => None,
            // SAFETY: on the heap, only this pointer refers to it.
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
