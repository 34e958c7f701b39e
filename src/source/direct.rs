//! Reads that bypass the page cache, if the file system supports it. They read whole blocks into aligned
//! memory.

use crate::error::{fail, Result};
use crate::io::blocks::{self, Alignment, DirectAccess, PAGE};
use crate::io::files::{read_exact_at, read_some_at, size_of};
use crate::io::path::Access;
use crate::memory::{AlignedBuffer, HUGE_PAGE};
use std::ffi::CStr;
use std::fs::File;
use std::ops::Range;
use std::sync::atomic::{AtomicI32, Ordering};

/// The largest block size. No device that Linux supports needs a larger one.
pub(crate) const BLOCK: u64 = PAGE as u64;

/// The size of a bounce buffer: a huge page. A larger one would not stay in the processor's cache, and reads
/// into small pages are slower.
pub(crate) const BOUNCE_SIZE: usize = HUGE_PAGE;

/// The smallest bounce buffer.
pub(crate) const MIN_BOUNCE_SIZE: usize = 64 << 10;

/// The smallest read for which an unbuffered read pays.
const MIN_UNBUFFERED: u64 = 64 << 10;

/// If less of a bounce buffer is needed, it is not allocated in full size.
const SMALL: usize = 256 << 10;

/// The bounce buffer of a thread, for reads that cannot go directly to their destination. It is allocated
/// when it is first needed.
pub struct Bounce {
    size: usize,
    memory: Option<AlignedBuffer>,
}

impl Bounce {
    /// A bounce buffer of about `size` bytes, at most `max` bytes or a huge page, whichever is larger.
    pub fn new(size: u64, max: u64) -> Bounce {
        let max = usize::try_from(max).unwrap_or(BOUNCE_SIZE).max(BOUNCE_SIZE);
        let size = usize::try_from(size).unwrap_or(max).clamp(MIN_BOUNCE_SIZE, max);
        Bounce { size: size - size % PAGE, memory: None }
    }

    /// The size of its memory, which is allocated when it is first used.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The largest range that fits with any alignment.
    pub fn capacity(&self) -> usize {
        self.size.saturating_sub(2 * PAGE)
    }

    /// Its memory: at least `size` bytes.
    fn memory(&mut self, size: usize) -> Result<&mut [u8]> {
        let memory = match self.memory.take() {
            Some(memory) if memory.as_slice().len() >= size => memory,
            _ => AlignedBuffer::zeroed(if size < SMALL { size } else { size.max(self.size) })?,
        };
        Ok(self.memory.insert(memory).as_mut_slice())
    }

    /// Its memory for direct reads. It consists of whole pages from the system even if it is small.
    fn pages(&mut self) -> Result<&mut [u8]> {
        let size = self.size;
        Ok(self.memory(size.max(1 << 20))?.get_mut(..size).unwrap_or_default())
    }

    /// Calls `fill` to write `size` bytes at its start.
    pub fn fill(&mut self, size: usize, fill: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<()> {
        let front = if size > self.size { None } else { self.memory(size)?.get_mut(..size) };
        fill(front.ok_or_else(|| fail!(Internal, "{size} bytes do not fit a bounce"))?)
    }

    /// A part of the bytes that were read into it. If nothing had to be read, it may have no memory.
    pub fn part(&self, part: Range<usize>) -> Result<&[u8]> {
        if part.is_empty() {
            return Ok(&[]);
        }
        let part = self.memory.as_ref().and_then(|m| m.as_slice().get(part));
        part.ok_or_else(|| fail!(Internal, "a bounce is not there"))
    }
}

/// A file opened for direct reads.
pub struct DirectFile {
    file: File,
    base: u64,
    size: u64,
    alignment: Alignment,
    reported: bool,
    /// The system's error number of the last refused read, or 0.
    refusal: AtomicI32,
}

impl DirectFile {
    /// A second handle on `file` for direct reads; `None` if the platform or file system does not support
    /// them.
    pub fn open(file: &File, base: u64) -> Result<Option<DirectFile>> {
        let access = blocks::direct_access(file);
        let readable = |a: &Alignment| a.offset <= BLOCK && a.memory <= PAGE;
        let Some(alignment) = access.alignment().filter(readable) else { return Ok(None) };
        let size = size_of(file)?;
        let reported = access != DirectAccess::Unknown;
        let opened = blocks::reopen(file, Access::Read)?;
        Ok(opened.map(|file| DirectFile {
            file,
            base,
            size,
            alignment,
            reported,
            refusal: AtomicI32::new(0),
        }))
    }

    /// Whether the file system reports that it supports direct reads, and their alignment.
    pub fn is_reported(&self) -> bool {
        self.reported
    }

    /// Why reads go through the page cache after a direct read failed.
    pub fn refusal(&self) -> &'static CStr {
        reason(self.refusal.load(Ordering::Relaxed))
    }

    /// Fills `dst` with the bytes from `offset` on. Reads directly into `dst` if it is `pinned` and aligned,
    /// else through `bounce`: the small pages of other memory are scattered, each is a separate descriptor
    /// for the device, and this took up to 2x as long. Returns false if the read fails for any reason. Then
    /// `dst` is undefined, and the caller reads through the page cache, which reports an error if that fails,
    /// too.
    pub fn read_at(&self, offset: u64, dst: &mut [u8], pinned: bool, bounce: &mut Bounce) -> Result<bool> {
        let start = self.base.saturating_add(offset);
        let end = start.saturating_add(dst.len() as u64);
        let unit = self.alignment.offset;
        let low = start.checked_next_multiple_of(unit).unwrap_or(end).min(end);
        let high = (end - end % unit).max(low);
        let lead = usize::try_from(low.saturating_sub(start)).unwrap_or(0);
        let aligned = dst.as_ptr().addr().wrapping_add(lead).checked_rem(self.alignment.memory) == Some(0);
        if !aligned || high.saturating_sub(low) < MIN_UNBUFFERED || !pinned {
            return self.via_bounce(start, dst, bounce);
        }
        let middle_size = usize::try_from(high.saturating_sub(low)).unwrap_or(0);
        let (head, rest) = dst.split_at_mut(lead);
        let (middle, tail) = rest.split_at_mut(middle_size);
        Ok(self.fill(low, middle, middle_size)?
            && self.via_bounce(start, head, bounce)?
            && self.via_bounce(high, tail, bounce)?)
    }

    /// Reads whole blocks into the bounce buffer, window by window, and copies the wanted bytes.
    fn via_bounce(&self, mut at: u64, mut dst: &mut [u8], bounce: &mut Bounce) -> Result<bool> {
        while !dst.is_empty() {
            let capacity = bounce.size as u64;
            // Each window ends at a multiple of the capacity, so that no block is read twice.
            let edge = (at - at.checked_rem(capacity).unwrap_or(0)).saturating_add(capacity);
            let count = usize::try_from(edge.saturating_sub(at)).unwrap_or(usize::MAX).min(dst.len());
            let Some(part) = self.window(at, count, bounce)? else { return Ok(false) };
            let (now, later) = dst.split_at_mut(count);
            now.copy_from_slice(bounce.part(part)?);
            dst = later;
            at = at.saturating_add(count as u64);
        }
        Ok(true)
    }

    /// Reads the bytes from `offset` on into the bounce buffer, where they fit ([`Bounce::capacity`]).
    /// Returns their position in it; `None` if the file system refuses.
    pub fn fetch(&self, offset: u64, size: usize, bounce: &mut Bounce) -> Result<Option<Range<usize>>> {
        self.window(self.base.saturating_add(offset), size, bounce)
    }

    fn window(&self, at: u64, size: usize, bounce: &mut Bounce) -> Result<Option<Range<usize>>> {
        let unit = self.alignment.offset;
        let first = at - at.checked_rem(unit).unwrap_or(0);
        let skip = usize::try_from(at - first).unwrap_or(0);
        let wanted = skip.saturating_add(size);
        let whole = wanted.next_multiple_of(usize::try_from(unit).unwrap_or(PAGE));
        // The file's last block may be short. So request whole blocks, and accept fewer bytes.
        let available = usize::try_from(self.size.saturating_sub(first)).unwrap_or(usize::MAX);
        if available < wanted {
            // This is past the end: the buffered read reports it.
            bounce.fill(size, |memory| read_exact_at(&self.file, at, memory))?;
            return Ok(Some(0..size));
        }
        let memory = bounce.pages()?.get_mut(..whole);
        let memory = memory.ok_or_else(|| fail!(Internal, "{whole} bytes do not fit a bounce"))?;
        Ok(self.fill(first, memory, wanted)?.then_some(skip..wanted))
    }

    /// Fills at least `needed` bytes at the start of `window`; false if the file system refuses.
    fn fill(&self, offset: u64, window: &mut [u8], needed: usize) -> Result<bool> {
        let unit = usize::try_from(self.alignment.offset).unwrap_or(PAGE).max(self.alignment.memory);
        let mut have = 0;
        while have < needed {
            let rest = window.get_mut(have..).unwrap_or_default();
            match read_some_at(&self.file, rest, offset.saturating_add(have as u64)) {
                Ok(0) => return Err(fail!(Io, "the file ends {} bytes early", needed - have)),
                Ok(n) => {
                    have = have.saturating_add(n);
                    if have < needed {
                        // A short read may end inside a block, which is read again.
                        let cut = have.checked_rem(unit).unwrap_or(0);
                        if cut >= n {
                            return Ok(false);
                        }
                        have -= cut;
                    }
                }
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => {
                    self.refusal.store(e.raw_os_error().unwrap_or(0), Ordering::Relaxed);
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

/// Why a direct read failed, from the system's error number.
fn reason(error: i32) -> &'static CStr {
    match error {
        #[cfg(unix)]
        libc::EINVAL => c"page cache: the file system rejected a direct read (EINVAL)",
        #[cfg(unix)]
        libc::EFAULT => c"page cache: a direct read rejected the memory (EFAULT)",
        #[cfg(unix)]
        libc::EOPNOTSUPP => c"page cache: the file system rejected a direct read (EOPNOTSUPP)",
        #[cfg(unix)]
        libc::EIO => c"page cache: a direct read failed (EIO)",
        _ => c"page cache: the file system rejected a direct read",
    }
}

#[cfg(all(test, any(target_os = "linux", windows)))]
mod tests {
    use super::*;

    const SIZE: usize = (3 << 20) + 777;

    #[test]
    fn any_range_has_the_bytes_that_the_page_cache_has() {
        let bytes: Vec<u8> = (0..SIZE as u32).map(|n| (n.wrapping_mul(0x9e37_79b9) >> 13) as u8).collect();
        let path = std::env::temp_dir().join(format!("ztensor-direct-{}", std::process::id()));
        std::fs::write(&path, &bytes).unwrap();
        let file = File::open(&path).unwrap();
        std::fs::remove_file(&path).ok(); // on systems that allow it for an open file
        for base in [0, 777, 4096] {
            let Some(direct) = DirectFile::open(&file, base as u64).unwrap() else {
                println!("direct: skipped: no reads past the page cache here");
                break;
            };
            let end = SIZE - base;
            for (offset, size) in
                [(0, end), (1, 5), (511, 70_000), (4095, 2), (4096, 1 << 20), (end - 1, 1), (end - 778, 778)]
            {
                let want = &bytes[base + offset..][..size];
                let mut bounce = Bounce::new(MIN_BOUNCE_SIZE as u64, 1 << 20);
                for pinned in [false, true] {
                    let mut memory = AlignedBuffer::zeroed(size + (1 << 20)).unwrap();
                    let dst = &mut memory.as_mut_slice()[..size];
                    if !direct.read_at(offset as u64, dst, pinned, &mut bounce).unwrap() {
                        return println!("direct: skipped: {:?}", direct.refusal());
                    }
                    assert!(dst == want, "{base} {offset} {size} {pinned}");
                }
                if size <= bounce.capacity() {
                    let place = direct.fetch(offset as u64, size, &mut bounce).unwrap().unwrap();
                    assert!(bounce.part(place).unwrap() == want, "{base} {offset} {size}");
                }
            }
            let mut bounce = Bounce::new(0, 1 << 20);
            assert!(direct.read_at(end as u64 - 5, &mut [0; 6], false, &mut bounce).is_err(), "past the end");
        }
        drop(file);
        std::fs::remove_file(&path).ok();
    }
}
