//! Reads many ranges of a source in as few calls as possible.

use super::ends::ReadEnds;
use crate::container::{OnRegion, Regions};
use crate::error::{fail, Result};
use crate::memory::{in_memory, AlignedBuffer, Budget};
use crate::source::{ByteSource, ReadMany, ReadRange};
use std::ops::Range;

/// Most bytes that are held of several ranges at once.
const MAX_HELD: u64 = 4 << 20;
/// Most ranges of one call that reads several.
const MAX_READS: usize = 1024;

/// The bytes that a source lends, or those that were read last.
pub struct SourceRegions<'s> {
    source: &'s dyn ByteSource,
    ends: &'s ReadEnds,
    budget: &'s Budget,
    buffer: AlignedBuffer,
}

/// Ranges that one read covers: how many, and its bytes.
struct Group {
    count: usize,
    range: Range<u64>,
}

impl<'s> SourceRegions<'s> {
    /// Reads from `source`, both ends of which were read; memory is charged to `budget`.
    pub fn new(source: &'s dyn ByteSource, ends: &'s ReadEnds, budget: &'s Budget) -> Result<Self> {
        Ok(SourceRegions { source, ends, budget, buffer: AlignedBuffer::zeroed(0)? })
    }

    /// The bytes of `range`, if they are in memory already.
    fn available(&self, range: &Range<u64>) -> Option<&'s [u8]> {
        self.source
            .slice(range.clone())
            .or_else(|| self.ends.in_tail(range).filter(|_| range.start >= self.ends.tail_start()))
    }

    /// Replaces the buffer by one of `size` bytes, and charges it to the budget.
    fn make_space(&mut self, size: u64) -> Result<()> {
        let held = self.buffer.as_slice().len() as u64;
        self.buffer = AlignedBuffer::zeroed(0)?;
        self.budget.give_back(held);
        self.budget.charge(size, "bytes of the manifest")?;
        match in_memory(size).and_then(AlignedBuffer::zeroed) {
            Ok(buffer) => {
                self.buffer = buffer;
                Ok(())
            }
            Err(e) => {
                self.budget.give_back(size);
                Err(e)
            }
        }
    }

    fn check(&self, range: &Range<u64>) -> Result<()> {
        match range.start <= range.end && range.end <= self.file_size() {
            true => Ok(()),
            false => Err(fail!(Internal, "bytes {range:?} of a file of {} are wanted", self.file_size())),
        }
    }

    /// The ranges at the front of `ranges` that are read as one.
    fn group(&self, ranges: &[Range<u64>]) -> Option<Group> {
        let profile = self.source.profile();
        let (first, rest) = ranges.split_first()?;
        let mut group = Group { count: 1, range: first.clone() };
        for next in rest {
            let gap = next.start.checked_sub(group.range.end);
            let overlaps = (group.range.start..group.range.end).contains(&next.start);
            let end = next.end.max(group.range.end);
            let is_near = overlaps || gap.is_some_and(|gap| gap <= profile.gap);
            if !is_near || end.saturating_sub(group.range.start) > MAX_HELD || self.available(next).is_some()
            {
                break;
            }
            group.range.end = end;
            group.count = group.count.saturating_add(1);
        }
        Some(group)
    }

    /// Groups at the front of `ranges` that one call reads; their bytes follow each other in the buffer.
    fn read_groups(&mut self, ranges: &[Range<u64>]) -> Result<Vec<Group>> {
        let at_once = match self.source.profile().read_many {
            ReadMany::Anywhere => MAX_READS,
            ReadMany::OneByOne | ReadMany::Adjacent => 1,
        };
        let mut groups: Vec<Group> = Vec::new();
        let (mut rest, mut size) = (ranges, 0u64);
        while groups.len() < at_once && rest.first().is_some_and(|next| self.available(next).is_none()) {
            let Some(group) = self.group(rest) else { break };
            let more = group.range.end.saturating_sub(group.range.start);
            if !groups.is_empty() && size.saturating_add(more) > MAX_HELD {
                break;
            }
            size = size.saturating_add(more);
            rest = rest.get(group.count..).unwrap_or_default();
            groups.try_reserve(1)?;
            groups.push(group);
        }
        self.make_space(size)?;
        let mut reads: Vec<ReadRange<'_>> = Vec::new();
        reads.try_reserve_exact(groups.len())?;
        let mut free = self.buffer.as_mut_slice();
        for group in &groups {
            let size = in_memory(group.range.end.saturating_sub(group.range.start))?;
            let (dst, later) = std::mem::take(&mut free).split_at_mut_checked(size).unwrap_or_default();
            free = later;
            reads.push(ReadRange { offset: group.range.start, dst });
        }
        match reads.as_mut_slice() {
            [only] => self.source.read_at(only.offset, only.dst)?,
            several => self.source.read_many(several)?,
        }
        Ok(groups)
    }
}

impl Regions for SourceRegions<'_> {
    fn file_size(&self) -> u64 {
        self.source.size()
    }

    fn bytes(&mut self, range: Range<u64>) -> Result<&[u8]> {
        self.check(&range)?;
        if let Some(bytes) = self.available(&range) {
            return Ok(bytes);
        }
        self.make_space(range.end.saturating_sub(range.start))?;
        self.source.read_at(range.start, self.buffer.as_mut_slice())?;
        Ok(self.buffer.as_slice())
    }

    fn for_each(&mut self, ranges: &[Range<u64>], body: &mut OnRegion<'_>) -> Result<()> {
        ranges.iter().try_for_each(|range| self.check(range))?;
        let mut at = 0usize;
        while let Some(range) = ranges.get(at) {
            if let Some(bytes) = self.available(range) {
                body(at, bytes)?;
                at = at.saturating_add(1);
                continue;
            }
            let groups = self.read_groups(ranges.get(at..).unwrap_or_default())?;
            let mut base = 0usize;
            for group in groups {
                let last = at.saturating_add(group.count);
                for (at, range) in ranges.iter().enumerate().take(last).skip(at) {
                    let place = |offset: u64| {
                        let within = usize::try_from(offset.saturating_sub(group.range.start));
                        base.saturating_add(within.unwrap_or(usize::MAX))
                    };
                    let bytes = self.buffer.as_slice().get(place(range.start)..place(range.end));
                    body(at, bytes.ok_or_else(|| fail!(Internal, "a region was not read"))?)?;
                }
                at = last;
                base = base.saturating_add(in_memory(group.range.end.saturating_sub(group.range.start))?);
            }
        }
        Ok(())
    }
}

impl Drop for SourceRegions<'_> {
    fn drop(&mut self) {
        self.budget.give_back(self.buffer.as_slice().len() as u64);
    }
}
