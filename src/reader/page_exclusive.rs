//! Finds components that share no page with anything else. The system can be told to release their pages
//! without side effects.

use super::parts::FilePart;
use crate::error::Result;
use crate::memory::{bytes_of, collected, PageMap};
use crate::model::manifest::Component;
use crate::model::sort::sort;
use crate::source::profile::Pages;

impl FilePart {
    /// Marks the components that share no page. If components may be views of the same bytes, marks none.
    pub(super) fn mark_page_exclusive(&self, components: &mut [Component]) -> Result<()> {
        match self.capabilities().has_views() {
            true => Ok(()),
            false => mark(components, &self.source().pages()).map_err(|e| self.named(e)),
        }
    }
}

/// Marks the components whose pages have no byte of another component or of the rest of the file.
fn mark(components: &mut [Component], pages: &Pages) -> Result<()> {
    let page_end = |c: &Component| pages.border_after(c.end());
    let candidate = |c: &Component| pages.is_border(c.offset) && has_bytes(c) && pages.is_own_up_to(c.end());
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
fn has_bytes(component: &Component) -> bool {
    component.stored_size > 0 && !component.is_in_shard()
}

/// Whether no two components share a page. Returns false without checking if one bit for each page takes more
/// memory than sorting.
fn have_pages_of_their_own(components: &[Component], pages: &Pages) -> bool {
    let numbers = |c: &Component| pages.numbers(c.offset..c.end());
    let with_bytes = || components.iter().filter(|c| has_bytes(c));
    let end = with_bytes().map(Component::end).max().unwrap_or(0);
    let map = PageMap::new(pages.numbers(0..end).end, bytes_of::<u64>(components.len()));
    let Some(mut map) = map else { return false };
    with_bytes().map(numbers).all(|pages| map.take(pages.start, pages.end))
}

/// Marks the components if each one begins after the one before, as writers place them; else returns false.
fn mark_in_order(
    components: &mut [Component],
    candidate: impl Fn(&Component) -> bool,
    page_end: impl Fn(&Component) -> u64,
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
    use crate::source::{file::FileSource, ByteSource};

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
            let mut component = Component::new(role, None);
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
                            mark(&mut components, &source.pages()).unwrap();
                            let marked: Vec<_> =
                                components.iter().map(Component::is_page_exclusive).collect();
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
