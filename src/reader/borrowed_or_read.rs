//! A component's bytes for longer use: borrowed if possible, else in newly allocated memory.

use super::object::Component;
use super::requests::Selection;
use crate::error::{fail, Result};
use crate::load::{self, BatchOptions, BatchStats, OnDone, Part, Progress};
use crate::memory::AlignedBuffer;
use crate::source::READ_CHUNK;

/// A component's decoded bytes: borrowed from the file, or in newly allocated memory.
pub enum ComponentBytes<'f> {
    /// They are in the file's mapping or memory.
    Borrowed(&'f [u8]),
    /// They were decoded.
    Owned(AlignedBuffer),
}

impl ComponentBytes<'_> {
    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        match self {
            ComponentBytes::Borrowed(bytes) => bytes,
            ComponentBytes::Owned(buffer) => buffer.as_slice(),
        }
    }
}

impl<'f> Component<'f> {
    /// The decoded bytes: borrowed if possible, else in newly allocated memory with 64-byte alignment.
    pub fn load(&self) -> Result<ComponentBytes<'f>> {
        match self.borrow_or_alloc().map_err(|e| self.wrap(e))? {
            ComponentBytes::Owned(mut buffer) => {
                self.read(buffer.as_mut_slice())?;
                Ok(ComponentBytes::Owned(buffer))
            }
            borrowed => Ok(borrowed),
        }
    }

    /// Like [`Component::load`], read as a batch of this one request, with tag 0. If the bytes can be
    /// borrowed, they are only read to check the digest, if the options ask for that.
    pub fn load_with(
        &self,
        options: &BatchOptions,
        on_done: &OnDone<'_>,
        progress: &Progress<'_>,
    ) -> Result<ComponentBytes<'f>> {
        let mut loaded = self.borrow_or_alloc().map_err(|e| self.wrap(e))?;
        match &mut loaded {
            ComponentBytes::Owned(buffer) => {
                let mut request = self.request(&Selection::Whole, buffer.as_mut_slice(), 0)?;
                let (one, stats) = (std::slice::from_mut(&mut request), &mut BatchStats::default());
                load::run(one, options, on_done, progress, stats)?;
            }
            ComponentBytes::Borrowed(bytes) => {
                let outcome = self.check_borrowed(bytes, options.verify, progress).map_err(|e| self.wrap(e));
                on_done(0, &outcome);
                outcome?;
            }
        }
        Ok(loaded)
    }

    /// Checks the digest of borrowed bytes, if the caller asks for it and the digest can be checked.
    fn check_borrowed(&self, bytes: &[u8], verify: bool, progress: &Progress<'_>) -> Result<()> {
        if !verify || !self.caps().verify {
            return Ok(());
        }
        let total = bytes.len() as u64;
        let mut done = 0u64;
        self.check_digest(&mut |hasher| {
            for chunk in bytes.chunks(READ_CHUNK) {
                hasher.update(chunk);
                done = done.saturating_add(chunk.len() as u64);
                if !progress(done, total) {
                    return Err(fail!(Cancelled, "the caller stopped it at byte {done} of {total}"));
                }
            }
            Ok(())
        })
    }

    /// The bytes if they can be borrowed, else memory for them.
    fn borrow_or_alloc(&self) -> Result<ComponentBytes<'f>> {
        if let Ok(bytes) = self.borrow_inner() {
            if bytes.as_ptr().addr() & 63 == 0 {
                return Ok(ComponentBytes::Borrowed(bytes));
            }
        }
        Ok(ComponentBytes::Owned(AlignedBuffer::handed_out(self.checked_size()?, self.file.allocator)?))
    }

    /// The decoded size. Fails if the stored bytes cannot decode to that many bytes.
    fn checked_size(&self) -> Result<usize> {
        let stored = self.stored_component()?;
        let size = stored.size;
        stored.check_whole_size()?;
        usize::try_from(size)
            .map_err(|_| fail!(Unsupported, "its {size} bytes do not fit this process's address space"))
    }

    /// The decoded bytes for one call, with any alignment. In a private mapping that the caller changed, they
    /// are still the bytes of the file.
    pub(super) fn load_for_call(&self) -> Result<ComponentBytes<'f>> {
        if let Some(bytes) = self.slice_for_call() {
            return Ok(ComponentBytes::Borrowed(bytes));
        }
        let size = self.checked_size().map_err(|e| self.wrap(e))?;
        let mut buffer = AlignedBuffer::zeroed(size).map_err(|e| self.wrap(e))?;
        // On this thread alone, because it may be a thread of a larger job.
        self.run(Part::Whole, None, buffer.as_mut_slice(), 1)?;
        Ok(ComponentBytes::Owned(buffer))
    }

    /// The bytes for [`Component::load_for_call`], if they can be borrowed.
    pub(super) fn slice_for_call(&self) -> Option<&'f [u8]> {
        let is_as_read = self.is_raw() && !self.entry.swaps() && !self.strict_bools();
        self.source().ok()?.slice(self.entry.offset..self.entry.end()).filter(|_| is_as_read)
    }
}
