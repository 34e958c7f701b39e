//! Memory for bytes: zeroed, asked for fallibly; 64-byte aligned where they are decoded ones.

use super::host::{HostAllocator, HostMemory};
use super::huge_pages::Pages;
use crate::error::{fail, Error, Result};

/// One cache line; what the specs align to.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// The alignment of all such memory.
pub(super) const ALIGNMENT: usize = align_of::<Line>();

/// From this size on, memory comes straight from the system: fresh pages are zero already, and the
/// kernel may give huge ones.
const FROM_SYSTEM: usize = 1 << 20;

enum Backing {
    Heap(Vec<Line>),
    Host(HostMemory),
    System(Pages),
}

/// Zeroed memory at a multiple of 64 bytes.
pub struct AlignedBuffer {
    memory: Backing,
    size: usize,
}

impl AlignedBuffer {
    /// `size` zero bytes.
    pub fn zeroed(size: usize) -> Result<Self> {
        if size >= FROM_SYSTEM {
            return Ok(AlignedBuffer { memory: Backing::System(Pages::map(size)?), size });
        }
        let lines = size.div_ceil(size_of::<Line>());
        let mut heap: Vec<Line> = Vec::new();
        heap.try_reserve_exact(lines).map_err(|_| Error::out_of_memory(size))?;
        heap.resize(lines, Line([0; 64]));
        Ok(AlignedBuffer { memory: Backing::Heap(heap), size })
    }

    /// `size` bytes to be filled and handed out, of the host's allocator if there is one; then they are not
    /// zeroed.
    pub fn handed_out(size: usize, allocator: Option<HostAllocator>) -> Result<Self> {
        match allocator.filter(|_| size > 0) {
            None => AlignedBuffer::zeroed(size),
            Some(of) => Ok(AlignedBuffer { memory: Backing::Host(of.allocate(size, ALIGNMENT)?), size }),
        }
    }

    /// Keeps the first `size` bytes, and gives the others back to the system, where that takes no copying;
    /// whether it did.
    pub fn shrink(&mut self, size: usize) -> bool {
        let Backing::System(pages) = &mut self.memory else { return false };
        let done = pages.shrink(size);
        self.size = if done { size.min(self.size) } else { self.size };
        done
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        match &self.memory {
            Backing::System(pages) => pages.as_slice(),
            Backing::Host(memory) => memory.as_slice(),
            // SAFETY: `heap` owns `heap.len() * 64 >= size` initialised bytes, and any byte is a u8.
            Backing::Heap(heap) => unsafe { std::slice::from_raw_parts(heap.as_ptr().cast(), self.size) },
        }
    }

    /// The bytes, to be written.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        match &mut self.memory {
            Backing::System(pages) => pages.as_mut_slice(),
            Backing::Host(memory) => memory.as_mut_slice(),
            // SAFETY: as above, and `&mut self` is the only way to them meanwhile.
            Backing::Heap(heap) => unsafe {
                std::slice::from_raw_parts_mut(heap.as_mut_ptr().cast(), self.size)
            },
        }
    }
}

/// Zero bytes, asked for fallibly.
pub fn zeroed(size: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size).map_err(|_| Error::out_of_memory(size))?;
    bytes.resize(size, 0);
    Ok(bytes)
}

/// A size as `usize`; an error if it does not fit.
pub fn in_memory(size: u64) -> Result<usize> {
    usize::try_from(size)
        .map_err(|_| fail!(Unsupported, "{size} bytes do not fit this process's address space"))
}

/// The first `size` bytes of a slice, which loses them.
pub fn take_front<'m>(slice: &mut &'m mut [u8], size: u64) -> Result<&'m mut [u8]> {
    let length = slice.len();
    let split = usize::try_from(size).ok().and_then(|size| std::mem::take(slice).split_at_mut_checked(size));
    let (front, rest) = split.ok_or_else(|| fail!(Internal, "{size} bytes are taken off {length}"))?;
    *slice = rest;
    Ok(front)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::huge_pages::HUGE_PAGE;

    #[test]
    fn memory_is_aligned_zero_and_of_the_size_asked_for() {
        for size in [
            0,
            1,
            63,
            64,
            65,
            4096,
            FROM_SYSTEM - 1,
            FROM_SYSTEM,
            FROM_SYSTEM + 5,
            HUGE_PAGE,
            HUGE_PAGE + 7,
            3 * HUGE_PAGE - 1,
        ] {
            let mut b = AlignedBuffer::zeroed(size).unwrap();
            assert_eq!(b.as_slice().len(), size);
            assert_eq!(b.as_slice().as_ptr() as usize % 64, 0);
            assert!(b.as_slice().iter().all(|x| *x == 0));
            b.as_mut_slice().fill(7);
            assert!(b.as_slice().iter().all(|x| *x == 7));
        }
    }

    #[test]
    fn memory_that_is_not_there_is_an_error() {
        assert!(AlignedBuffer::zeroed(isize::MAX as usize + 1).is_err());
        assert!(AlignedBuffer::zeroed(usize::MAX).is_err());
    }
}
