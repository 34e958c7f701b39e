//! The input of manifest decoders. It reads both ends of a source first, then the ranges that a container
//! requests, in as few reads as possible.

use crate::container::{self, Detected, Frame, Input, Limits, OnRange, END_BYTES, HEAD_BYTES};
use crate::error::{fail, Result};
use crate::memory::{in_memory, push, with_capacity, zeroed, AlignedBuffer, Budget};
use crate::source::{is_callback_source, ByteSource, ReadMany, ReadRange};
use std::ops::Range;

/// The most bytes of several ranges that are kept at once.
const MAX_HELD: u64 = 4 << 20;
/// The most ranges in one call that reads several.
const MAX_READS: usize = 1024;

/// How much of the tail to read at first if reads may be slow: most manifests fit.
const TAIL_GUESS: u64 = 64 << 10;

/// Both ends of a source, read to detect the container.
pub struct ReadEnds {
    head: [u8; HEAD_BYTES],
    head_size: usize,
    /// A longer head, if one was needed and the source cannot lend its bytes.
    front: AlignedBuffer,
    /// The size of the longer head; 0 if none was needed.
    front_size: u64,
    tail: Vec<u8>,
    /// The offset of the tail.
    tail_start: u64,
    size: u64,
}

impl ReadEnds {
    /// Reads both ends. It may read more of the tail than is certainly needed, but at most a quarter of the
    /// memory limit for opening the file.
    pub fn read(source: &dyn ByteSource, limits: &Limits) -> Result<ReadEnds> {
        let (size, most) = (source.size(), limits.memory.unwrap_or(u64::MAX) / 4);
        let guess = if is_callback_source(source) { TAIL_GUESS.min(most) } else { 0 };
        let start = size.saturating_sub(guess.max(END_BYTES as u64));
        let mut tail = zeroed(usize::try_from(size.saturating_sub(start)).unwrap_or(usize::MAX))?;
        let head_size = usize::try_from(size).unwrap_or(HEAD_BYTES).min(HEAD_BYTES);
        let mut buffer = [0; HEAD_BYTES];
        let head = buffer.get_mut(..head_size).unwrap_or_default();
        match source.profile().read_many {
            _ if start == 0 && tail.len() >= head.len() => {
                source.read_at(0, &mut tail)?;
                head.copy_from_slice(tail.get(..head_size).unwrap_or_default());
            }
            ReadMany::Anywhere => {
                let tail = ReadRange { offset: start, dst: &mut tail };
                source.read_many(&mut [ReadRange { offset: 0, dst: head }, tail])?;
            }
            ReadMany::OneByOne | ReadMany::Adjacent => {
                source.read_at(0, head)?;
                source.read_at(start, &mut tail)?;
            }
        }
        Ok(ReadEnds {
            head: buffer,
            head_size,
            front: AlignedBuffer::zeroed(0)?,
            front_size: 0,
            tail,
            tail_start: start,
            size,
        })
    }

    /// Detects the container. If that needs a longer head, reads it.
    pub fn detect(&mut self, source: &dyn ByteSource, limits: &Limits) -> Result<Frame> {
        loop {
            let seen = container::Ends { file_size: self.size, head: self.head(source), tail: self.tail() };
            let shown = seen.head.len() as u64;
            match container::detect(seen, limits)? {
                Detected::Frame(frame) => return Ok(frame),
                Detected::NeedsHead(size) if shown < size && size <= self.size => {
                    self.extend_head(source, size)?;
                }
                Detected::NeedsHead(_) | Detected::Other => {
                    return Err(fail!(Internal, "{shown} bytes were not enough to detect the container"))
                }
            }
        }
    }

    /// Makes [`ReadEnds::head`] return the first `size` bytes. The file has that many.
    fn extend_head(&mut self, source: &dyn ByteSource, size: u64) -> Result<()> {
        if source.slice(0..size).is_none() {
            let mut front = AlignedBuffer::zeroed(in_memory(size)?)?;
            source.read_at(0, front.as_mut_slice())?;
            self.front = front;
        }
        self.front_size = size;
        Ok(())
    }

    /// The first bytes of the file.
    pub fn head<'e>(&'e self, source: &'e dyn ByteSource) -> &'e [u8] {
        if self.front_size > 0 {
            return source.slice(0..self.front_size).unwrap_or(self.front.as_slice());
        }
        self.head.get(..self.head_size).unwrap_or_default()
    }

    /// The last bytes of the file, which identify the container.
    pub fn tail(&self) -> &[u8] {
        self.tail.last_chunk::<END_BYTES>().map_or(&self.tail, |last| last)
    }

    /// The memory of the tail, if more of it was read than is needed to detect the container.
    fn tail_memory(&self) -> u64 {
        if self.tail.len() > END_BYTES {
            self.tail.len() as u64
        } else {
            0
        }
    }

    /// The last bytes of `range`, as far as they are in the tail. `None` if no more of the tail was read than
    /// is needed to detect the container.
    fn in_tail(&self, range: &Range<u64>) -> Option<&[u8]> {
        let from = usize::try_from(range.start.max(self.tail_start).checked_sub(self.tail_start)?).ok()?;
        let to = usize::try_from(range.end.checked_sub(self.tail_start)?).ok()?;
        self.tail.get(from..to).filter(|_| self.tail.len() > END_BYTES && range.end <= self.size)
    }
}

fn in_process(range: &Range<u64>) -> Option<Range<usize>> {
    Some(usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?)
}

/// Bytes that are borrowed from a source, or that were read last.
pub struct SourceInput<'s> {
    source: &'s dyn ByteSource,
    ends: &'s ReadEnds,
    budget: &'s Budget,
    buffer: AlignedBuffer,
    /// The file offset of the buffer's first byte. The largest number if the buffer has several ranges: then
    /// it does not match any offset.
    start: u64,
}

/// Ranges that are read at once: how many there are, and the bytes to read.
struct Group {
    count: usize,
    range: Range<u64>,
}

impl<'s> SourceInput<'s> {
    /// Reads from `source`, whose ends were read before. Memory is charged to `budget`.
    pub fn new(source: &'s dyn ByteSource, ends: &'s ReadEnds, budget: &'s Budget) -> Result<Self> {
        budget.charge(ends.tail_memory(), "the manifest")?;
        Ok(SourceInput { source, ends, budget, buffer: AlignedBuffer::zeroed(0)?, start: 0 })
    }

    /// The bytes of `range`, if they can be borrowed or are in one of the ends.
    fn available(&self, range: &Range<u64>) -> Option<&'s [u8]> {
        let in_head = || self.ends.head.get(..self.ends.head_size)?.get(in_process(range)?);
        let in_tail = || self.ends.in_tail(range).filter(|_| range.start >= self.ends.tail_start);
        self.source.slice(range.clone()).or_else(in_head).or_else(in_tail)
    }

    /// Replaces the buffer by one of `size` bytes, which is charged to the budget.
    fn make_space(&mut self, size: u64) -> Result<()> {
        let held = self.buffer.as_slice().len() as u64;
        self.buffer = AlignedBuffer::zeroed(0)?;
        self.budget.give_back(held);
        self.budget.charge(size, "the manifest")?;
        match in_memory(size).and_then(AlignedBuffer::zeroed) {
            Ok(buffer) => {
                self.buffer = buffer; // a large buffer is on huge pages
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

    /// The first ranges of `ranges` that are read at once.
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

    /// Reads as many groups from the front of `ranges` as one call can. Their bytes follow each other in the
    /// buffer.
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
            push(&mut groups, group)?;
        }
        self.make_space(size)?;
        self.start = u64::MAX; // the buffer has several ranges
        let mut reads: Vec<ReadRange<'_>> = with_capacity(groups.len())?;
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

impl Input for SourceInput<'_> {
    fn file_size(&self) -> u64 {
        self.source.size()
    }

    fn read(&mut self, range: Range<u64>) -> Result<&[u8]> {
        self.check(&range)?;
        if let Some(bytes) = self.available(&range) {
            return Ok(bytes);
        }
        let size = range.end.saturating_sub(range.start);
        let held = self.start..self.start.saturating_add(self.buffer.as_slice().len() as u64);
        if held.is_empty() || range.start < held.start || held.end < range.end {
            self.make_space(size)?;
            self.start = u64::MAX; // nothing was read yet
                                   // The last bytes of the range may be in the tail.
            let known = self.ends.in_tail(&range).unwrap_or_default();
            let missing = self.buffer.as_slice().len().saturating_sub(known.len());
            let (front, back) = self.buffer.as_mut_slice().split_at_mut(missing);
            self.source.read_at(range.start, front)?;
            back.copy_from_slice(known);
            self.start = range.start;
        }
        let from = in_memory(range.start.saturating_sub(self.start))?;
        let bytes = self.buffer.as_slice().get(from..from.saturating_add(in_memory(size)?));
        bytes.ok_or_else(|| fail!(Internal, "bytes that were read are not there"))
    }

    fn read_each(&mut self, ranges: &[Range<u64>], body: &mut OnRange<'_>) -> Result<()> {
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

impl Drop for SourceInput<'_> {
    fn drop(&mut self) {
        let held = self.buffer.as_slice().len() as u64;
        self.budget.give_back(held.saturating_add(self.ends.tail_memory()));
    }
}
