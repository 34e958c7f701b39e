//! A mapped file: bytes are borrowed instead of copied.
//!
//! If another process truncates the file while it is mapped, touching a lost page raises SIGBUS; if it writes
//! to the file, the bytes change. So the caller has to choose mapping (`ZT_MODE_MAP`), and reads that copy
//! use the mapping only if that saves most of the work: for slices whose pages are in memory.

use super::advice::{advise_mapped, unsupported, Advice, EVICTS};
use super::byte_source::ByteSource;
use super::direct::DirectFile;
use super::file::FileSource;
use super::profile::{Change, PageCache, Pages, Profile, ReadRange};
use crate::error::{fail, is_refusal, Cause, Error, Result, SystemText};
use crate::memory::part;
use memmap2::{Mmap, MmapMut, MmapOptions};
use std::fs::File;
use std::ops::Range;

enum Memory {
    /// An empty file.
    Empty,
    /// Shared with all processes that have the file open.
    Shared(Mmap),
    /// Pages are copied when the caller writes to them. The library never does.
    Private(MmapMut),
}

fn map(file: &FileSource, private: bool) -> Result<Memory> {
    const INSTEAD: &str = "ZT_MODE_READ, or ZT_MODE_AUTO, opens it without a mapping";
    let (handle, base, size) = file.parts();
    let Some(length) = isize::try_from(size).ok().and_then(|size| usize::try_from(size).ok()) else {
        let max = isize::MAX;
        return Err(fail!(
            Unsupported,
            "a file of {size} bytes does not fit this process's address space, where a mapping has at most \
             {max}; {INSTEAD}"
        ));
    };
    if length == 0 {
        return Ok(Memory::Empty); // nothing to map
    }
    let mut options = MmapOptions::new();
    options.offset(base).len(length);
    // SAFETY: nothing else has the map, and our code never writes to it. The header demands for ZT_MODE_MAP
    // that the caller prevents truncation and writes. The caller may change bytes of a private map; therefore
    // the library reads the file instead (see `slice`).
    let mapped = unsafe {
        match private {
            false => options.map(handle).map(Memory::Shared),
            // Do not reserve swap for copies of all pages, because few will be written.
            true => options.no_reserve_swap().map_copy(handle).map(Memory::Private),
        }
    };
    mapped.map_err(|e| match is_refusal(&e) {
        true => fail!(Unsupported, "the system refused to map the file: {}; {INSTEAD}", SystemText(&e)),
        false => {
            let cause = Error::io("", &e).cause();
            Error::new(cause, format_args!("could not map the file: {}; {INSTEAD}", SystemText(&e)))
        }
    })
}

/// A mapped range of a file.
pub struct MapSource {
    file: FileSource,
    memory: Memory,
}

impl MapSource {
    /// Maps the range of `file`. If that fails, returns the file. `private` means that the caller may change
    /// borrowed bytes, which others do not see.
    pub fn new(file: FileSource, private: bool) -> std::result::Result<Self, (FileSource, Error)> {
        match map(&file, private) {
            Ok(memory) => Ok(MapSource { file, memory }),
            Err(e) => Err((file, e)),
        }
    }

    fn bytes(&self) -> &[u8] {
        match &self.memory {
            Memory::Empty => &[],
            Memory::Shared(map) => map,
            Memory::Private(map) => map,
        }
    }

    fn is_private(&self) -> bool {
        matches!(self.memory, Memory::Private(_))
    }

    /// Removes the whole pages in a range from this process.
    fn release(&self, range: &Range<u64>, advice: Advice) -> Result<()> {
        if self.is_private() {
            return Err(unsupported(advice, "in ZT_MODE_PRIVATE it would undo what was changed"));
        }
        let Some(pages) = self.file.pages().inside(range) else { return Ok(()) };
        advise_mapped(self.bytes(), &pages, advice)
    }
}

impl ByteSource for MapSource {
    fn size(&self) -> u64 {
        self.file.size()
    }

    /// `None` for a private mapping: the caller may have changed its bytes, but reads return the file's
    /// bytes.
    fn slice(&self, range: Range<u64>) -> Option<&[u8]> {
        if self.is_private() {
            return None;
        }
        part(self.bytes(), &range)
    }

    fn borrow(&self, range: Range<u64>) -> Option<&[u8]> {
        part(self.bytes(), &range)
    }

    fn read_at(&self, offset: u64, dst: &mut [u8]) -> Result<()> {
        self.file.read_at(offset, dst)
    }

    fn read_many(&self, ranges: &mut [ReadRange<'_>]) -> Result<()> {
        self.file.read_many(ranges)
    }

    fn advise(&self, range: Range<u64>, advice: Advice) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        match advice {
            Advice::Release => self.release(&range, advice),
            Advice::Evict if !EVICTS => self.file.advise(range, advice), // fails before anything is released
            Advice::Evict => {
                // The page cache keeps pages that a process has mapped, so release them first.
                self.release(&range, advice)?;
                self.file.advise(range, advice)
            }
            Advice::Normal | Advice::Sequential => advise_mapped(self.bytes(), &range, advice),
            Advice::WillNeed | Advice::Populate => match advise_mapped(self.bytes(), &range, advice) {
                // If the advice is not available for the mapping, the page cache can still be told to read.
                Err(e) if e.cause() == Cause::Unsupported => self.file.advise(range, advice),
                outcome => outcome,
            },
        }
    }

    fn pages(&self) -> Pages {
        self.file.pages()
    }

    fn profile(&self) -> Profile {
        self.file.profile()
    }

    fn page_cache(&self) -> Option<&dyn PageCache> {
        Some(self)
    }
}

impl PageCache for MapSource {
    fn resident(&self, offset: u64) -> Option<bool> {
        let byte = offset.checked_add(1).and_then(|end| part(self.bytes(), &(offset..end)));
        // If a private page was changed, being resident says nothing about the file's page.
        self.file.resident_in(offset, byte.filter(|_| !self.is_private()))
    }

    fn direct(&self) -> Result<Option<DirectFile>> {
        self.file.direct()
    }

    fn change(&self) -> Result<Option<Change>> {
        self.file.change()
    }

    fn same_size(&self, change: Change) -> Option<bool> {
        self.file.same_size(change)
    }

    fn accept(&self, change: Change) {
        self.file.accept(change);
    }

    fn has_writer(&self) -> bool {
        self.file.has_writer()
    }

    fn is_still(&self, other: &File) -> Result<bool> {
        self.file.is_still(other)
    }
}

#[cfg(all(test, windows))]
mod tests {
    use super::*;

    #[test]
    fn advice_is_taken_or_refused_and_changes_no_byte() {
        let bytes: Vec<u8> = (0..1_000_000_u32).map(|n| (n % 251) as u8).collect();
        let path = std::env::temp_dir().join(format!("ztensor-advised-{}", std::process::id()));
        std::fs::write(&path, &bytes).unwrap();
        for private in [false, true] {
            let map = MapSource::new(FileSource::open(&path).unwrap(), private).map_err(|(_, e)| e).unwrap();
            let advise = |advice| map.advise(5000..900_000, advice).map_err(|e| e.cause());
            assert_eq!(advise(Advice::Normal), Ok(()));
            for advice in [Advice::Sequential, Advice::Evict] {
                assert_eq!(advise(advice), Err(Cause::Unsupported), "{advice:?}");
            }
            let ahead = advise(Advice::WillNeed);
            println!("ahead: {ahead:?}");
            assert!([Ok(()), Err(Cause::Unsupported)].contains(&ahead));
            assert_eq!(advise(Advice::Populate), ahead);
            let released = if private { Err(Cause::Unsupported) } else { Ok(()) };
            assert_eq!(advise(Advice::Release), released);
            assert!(map.bytes() == bytes);
        }
        std::fs::remove_file(&path).unwrap();
    }
}
