//! Advice to the system about how bytes will be used. Also finds components that share no page with anything
//! else: the system can be told to release their pages without side effects.
//!
//! Fast path: several threads run ZT_ADVICE_POPULATE for a large file. With two threads, 2 GB take 14 % less
//! time than to map and touch them; with one thread 6 % more. It does not apply below 8 MiB, or to a file
//! that was opened with one thread. All other advice is one call.

use super::file::File;
use super::object::Component;
use super::parts::FilePart;
use crate::container::capabilities::SharedBytes;
use crate::error::{Cause, Result};
use crate::lock::Mutex;
use crate::memory::{bytes_of, collected, PageMap};
use crate::model::manifest::Component as Entry;
use crate::model::sort::sort;
use crate::source::direct::BLOCK;
use crate::source::profile::Pages;
use crate::source::{Advice, ByteSource};
use crate::threads::{self, ThreadHooks};
use std::ops::Range;

impl File {
    /// Advises the system how the whole file, without its shards, will be used. If the system refuses the
    /// hint, that is not a failure. Bytes in memory need no advice.
    pub fn advise_all(&self, advice: Advice) -> Result<()> {
        let mut own = self.parts().take(self.manifest_count());
        own.try_for_each(|part| {
            self.advise_whole(part.source(), part.size(), advice).map_err(|e| part.named(e))
        })
    }

    /// Like [`File::advise_all`], for one of its files. A shard gets its advice when it is opened.
    pub(super) fn advise_whole(&self, source: &dyn ByteSource, size: u64, advice: Advice) -> Result<()> {
        if matches!(advice, Advice::Normal) || source.page_cache().is_none() {
            return Ok(());
        }
        let end = match advice {
            Advice::Release | Advice::Evict => source.pages().border_after(size),
            _ => size,
        };
        match self.advise(source, 0..end, advice) {
            Err(e) if e.cause() == Cause::Unsupported => Ok(()),
            outcome => outcome,
        }
    }

    fn advise(&self, source: &dyn ByteSource, range: Range<u64>, advice: Advice) -> Result<()> {
        let threads = match advice {
            Advice::Populate if source.page_cache().is_some() => {
                self.threads_for(range.end.saturating_sub(range.start))
            }
            _ => 1,
        };
        advise(source, range, advice, threads, self.thread_hooks)
    }
}

impl Component<'_> {
    /// Advises the system how the stored bytes will be used.
    pub fn advise(&self, advice: Advice) -> Result<()> {
        let source = self.source().map_err(|e| self.wrap(e))?;
        let mut range = self.entry.offset..self.entry.end();
        if self.entry.is_page_exclusive() && matches!(advice, Advice::Release | Advice::Evict) {
            // The rest of the last page is padding or belongs to the manifest, which is not read again.
            range.end = source.pages().border_after(range.end);
        }
        self.file.advise(source, range, advice).map_err(|e| self.wrap(e))
    }

    /// Whether it begins at an offset in the real file where direct reads can begin.
    pub(super) fn is_direct_border(&self) -> bool {
        self.likely_source().pages().with_page(BLOCK).is_border(self.entry.offset)
    }
}

/// How many bytes a thread populates with one call: a few times what one page table of the processor covers.
const POPULATE_STEP: u64 = 16 << 20;

/// Advises the system how the bytes of `range` will be used. If there are several threads, they advise it
/// piece by piece.
pub(super) fn advise(
    source: &dyn ByteSource,
    range: Range<u64>,
    advice: Advice,
    threads: usize,
    hooks: ThreadHooks,
) -> Result<()> {
    if threads < 2 {
        return source.advise(range, advice);
    }
    let parts = range.end.saturating_sub(range.start).div_ceil(POPULATE_STEP);
    let threads = threads.min(usize::try_from(parts).unwrap_or(threads));
    let left = Mutex::new((range, Ok(())));
    threads::run(threads, hooks, &|| {
        while let Some(part) = next_part(&left) {
            if let Err(e) = source.advise(part, advice) {
                let mut left = left.lock();
                left.0.start = left.0.end;
                left.1 = Err(e);
            }
        }
    });
    left.into_inner().1
}

fn next_part(left: &Mutex<(Range<u64>, Result<()>)>) -> Option<Range<u64>> {
    let mut left = left.lock();
    let start = left.0.start;
    let end = start.saturating_sub(start % POPULATE_STEP).saturating_add(POPULATE_STEP).min(left.0.end);
    left.0.start = end;
    (start < end).then_some(start..end)
}

impl FilePart {
    /// Marks the components that share no page. If components may be views of the same bytes, marks none.
    pub(super) fn mark_page_exclusive(&self, components: &mut [Entry]) -> Result<()> {
        match self.capabilities().shared_bytes {
            SharedBytes::Any => Ok(()),
            SharedBytes::None | SharedBytes::All => {
                mark_exclusive(components, &self.source().pages()).map_err(|e| self.named(e))
            }
        }
    }
}

/// Marks the components whose pages have no byte of another component or of the rest of the file.
fn mark_exclusive(components: &mut [Entry], pages: &Pages) -> Result<()> {
    let page_end = |c: &Entry| pages.border_after(c.end());
    let candidate = |c: &Entry| pages.is_border(c.offset) && has_bytes(c) && pages.is_own_up_to(c.end());
    if mark_in_order(components, candidate, page_end) {
        return Ok(());
    }
    if have_pages_of_their_own(components, pages) {
        for component in components.iter_mut().filter(|c| has_bytes(c)) {
            component.set_page_exclusive(candidate(component));
        }
        return Ok(());
    }
    let mut starts: Vec<u64> =
        collected(components.len(), components.iter().filter(|c| has_bytes(c)).map(|c| c.offset))?;
    sort(&mut starts);
    for component in components.iter_mut().filter(|c| candidate(c)) {
        let here = starts.partition_point(|s| *s < component.offset);
        let sharers = starts.get(here..).unwrap_or_default();
        // Finds the component itself, and components with an identical range, which share its pages.
        let within = sharers.iter().take_while(|s| **s < page_end(component)).take(2).count();
        component.set_page_exclusive(within == 1);
    }
    Ok(())
}

/// Whether it has bytes in this file. What else is in the pages of a shard is unknown.
fn has_bytes(component: &Entry) -> bool {
    component.stored_size > 0 && !component.is_in_shard()
}

/// Whether no two components share a page. Returns false without checking if one bit for each page takes more
/// memory than sorting.
fn have_pages_of_their_own(components: &[Entry], pages: &Pages) -> bool {
    let numbers = |c: &Entry| pages.numbers(c.offset..c.end());
    let with_bytes = || components.iter().filter(|c| has_bytes(c));
    let end = with_bytes().map(Entry::end).max().unwrap_or(0);
    let map = PageMap::new(pages.numbers(0..end).end, bytes_of::<u64>(components.len()));
    let Some(mut map) = map else { return false };
    with_bytes().map(numbers).all(|pages| map.take(pages.start, pages.end))
}

/// Marks the components if each one begins after the one before, as writers place them; else returns false.
fn mark_in_order(
    components: &mut [Entry],
    candidate: impl Fn(&Entry) -> bool,
    page_end: impl Fn(&Entry) -> u64,
) -> bool {
    let mut next = u64::MAX;
    for component in components.iter_mut().rev().filter(|c| has_bytes(c)) {
        if component.offset >= next {
            return false;
        }
        component.set_page_exclusive(candidate(component) && page_end(component) <= next);
        next = component.offset;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::text::TextArena;
    use crate::source::file::FileSource;
    use std::sync::Mutex;

    /// Records the advice. Refuses ranges that begin at `refused`.
    #[derive(Default)]
    struct Listener {
        advised: Mutex<Vec<Range<u64>>>,
        refused: Option<u64>,
    }

    impl ByteSource for Listener {
        fn size(&self) -> u64 {
            u64::MAX
        }

        fn slice(&self, _range: Range<u64>) -> Option<&[u8]> {
            None
        }

        fn read_at(&self, _offset: u64, _dst: &mut [u8]) -> Result<()> {
            Ok(())
        }

        fn advise(&self, range: Range<u64>, _advice: Advice) -> Result<()> {
            let refused = self.refused == Some(range.start);
            self.advised.lock().unwrap().push(range);
            if refused {
                return Err(crate::error::fail!(Io, "the kernel refused the advice"));
            }
            Ok(())
        }
    }

    #[test]
    fn several_threads_put_every_byte_into_the_map_once() {
        for (start, end) in [
            (0, 1),
            (5, POPULATE_STEP),
            (5, POPULATE_STEP + 5),
            (POPULATE_STEP - 1, 7 * POPULATE_STEP + 77),
            (3 * POPULATE_STEP, 9 * POPULATE_STEP),
        ] {
            for threads in [1, 2, 3, 8] {
                let listener = Listener::default();
                advise(&listener, start..end, Advice::Populate, threads, ThreadHooks::default()).unwrap();
                let mut advised = listener.advised.into_inner().unwrap();
                advised.sort_by_key(|range| range.start);
                let end_of_advice =
                    advised.iter().fold(start, |at, part| if at == part.start { part.end } else { 0 });
                assert_eq!(end_of_advice, end, "{advised:?}");
                assert!(
                    threads == 1
                        || advised
                            .iter()
                            .all(|part| part.start < part.end && part.end - part.start <= POPULATE_STEP)
                );
            }
        }
    }

    #[test]
    fn a_part_that_fails_fails_the_call() {
        for refused in [0, POPULATE_STEP, 2 * POPULATE_STEP].map(Some) {
            let listener = Listener { refused, ..Listener::default() };
            assert!(advise(&listener, 0..2 * POPULATE_STEP + 1, Advice::Populate, 2, ThreadHooks::default())
                .is_err());
        }
    }

    /// Which components have exclusive pages, computed byte by byte.
    fn alone(placed: &[(u64, u64)], base: u64, limit: u64, page: u64) -> Vec<bool> {
        let of = |(offset, size): (u64, u64)| (base + offset) / page..(base + offset + size).div_ceil(page);
        let is_alone = |n: usize| {
            let (offset, size) = placed[n];
            let own = of(placed[n]);
            size > 0
                && (base + offset) % page == 0
                && own.end * page <= base + limit
                && (0..placed.len()).all(|other| {
                    let reach = of(placed[other]);
                    other == n || placed[other].1 == 0 || reach.start >= own.end || reach.end <= own.start
                })
        };
        (0..placed.len()).map(is_alone).collect()
    }

    #[test]
    fn components_have_pages_of_any_size_for_themselves() {
        let path = std::env::temp_dir().join(format!("ztensor-pages-{}", std::process::id()));
        std::fs::write(&path, [0; 64]).unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_len(1 << 20).unwrap();
        let role = TextArena::default().add("data").unwrap();
        let component = |at: &(u64, u64)| {
            let mut component = Entry::new(role, None);
            (component.offset, component.stored_size) = *at;
            component
        };
        crate::io::pretend::each_size(|page| {
            for base in [0, 64, 4096, 65_536, 3 * page as u64 - 64] {
                for length in [1 << 19, (1 << 19) + 64] {
                    let file = std::fs::File::open(&path).unwrap();
                    let source = FileSource::from_file(file, base, length).unwrap();
                    for align in [64, 4096, 16_384, 65_536] {
                        let mut placed: Vec<(u64, u64)> = Vec::new();
                        for (n, size) in
                            [1, 4096, 0, 70_000, 65_536, 5, 16_384, 100_000].into_iter().enumerate()
                        {
                            let end = placed.last().map_or(0, |(offset, size)| offset + size);
                            placed.push((end.next_multiple_of(align) + 64 * u64::from(n == 5), size));
                        }
                        for backwards in [false, true] {
                            if backwards {
                                placed.reverse();
                            }
                            let mut components: Vec<_> = placed.iter().map(component).collect();
                            mark_exclusive(&mut components, &source.pages()).unwrap();
                            let marked: Vec<_> = components.iter().map(Entry::is_page_exclusive).collect();
                            let wanted = alone(&placed, base, length, page as u64);
                            assert_eq!(marked, wanted, "{page} {base} {length} {align} {placed:?}");
                        }
                    }
                }
            }
        });
        std::fs::remove_file(&path).unwrap();
    }
}
