//! Reads, decodes and checks the manifest of a source, and finds its objects by name. Both ends of a source
//! are read first, then the ranges that a container requests, in as few reads as possible. Also: numbers that
//! change when the manifest does, and the bytes that no component uses.

use crate::container::{
    self, AppendRecord, Detected, Frame, Input, Limits, OnRange, Validated, END_BYTES, HEADER_SIZE,
    HEAD_BYTES,
};
use crate::digest::xxh3;
use crate::error::{broken, fail, Cause, Error, Result, Rule};
use crate::memory::{
    bytes_of, collected, in_memory, part, push, with_capacity, zeroed, AlignedBuffer, Budget,
};
use crate::model::manifest::Component;
use crate::model::sort::sort;
use crate::source::{is_callback_source, with_range, ByteSource, ReadMany, ReadRange};
use foldhash::fast::SeedableRandomState;
use hashbrown::hash_table::{Entry, HashTable};
use std::cell::Cell;
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;

/// Detects the container, then reads, decodes and checks the manifest. Reads no component's bytes.
pub fn read_manifest(source: &dyn ByteSource, limits: &Limits) -> Result<(Frame, Validated)> {
    let ends = ReadEnds::read(source, limits)?;
    read_after_ends(source, ends, limits, &Budget::new(limits.memory_for(0)), &|e| e, None)
}

/// Like [`read_manifest`], for a file whose ends were read. Memory is charged to `budget`. A failure that the
/// file's last bytes may cause is passed to `explain`; a complete manifest that exceeds a limit is not. If an
/// append would clear the manifest, `kept_hash` receives its hash.
pub fn read_after_ends(
    source: &dyn ByteSource,
    mut ends: ReadEnds,
    limits: &Limits,
    budget: &Budget,
    explain: &dyn Fn(Error) -> Error,
    kept_hash: Option<&Cell<Option<u64>>>,
) -> Result<(Frame, Validated)> {
    let size = source.size();
    if let Some(record) = pending(ends.head(source), size) {
        return Err(unfinished(record.tail.end, size)); // the record decides, whatever the last bytes are
    }
    let frame = ends.detect(source, limits).map_err(explain)?;
    let found = decode(source, &ends, frame, limits, budget, kept_hash);
    found.map_err(|e| if e.cause() == Cause::Limit { e } else { explain(e) })
}

#[inline(never)] // its stack frame is gone before a failure is explained
fn decode(
    source: &dyn ByteSource,
    ends: &ReadEnds,
    frame: Frame,
    limits: &Limits,
    budget: &Budget,
    kept_hash: Option<&Cell<Option<u64>>>,
) -> Result<(Frame, Validated)> {
    budget.raise(limits.memory_for(frame.manifest_size()));
    let mut input = SourceInput::new(source, ends, budget)?;
    let capabilities = container::capabilities(frame.container);
    let is_cleared = capabilities.appends_as.is_some() && !capabilities.old_ends_stay;
    if let Some(kept_hash) = kept_hash.filter(|_| is_cleared) {
        kept_hash.set(Some(xxh3(input.read(frame.manifest.clone())?)));
    }
    container::decode(frame, &mut input, limits, budget)
}

/// The record in the file's first bytes, if the append has written behind the old end. Before that, the file
/// is still whole.
fn pending(head: &[u8], file_size: u64) -> Option<AppendRecord> {
    AppendRecord::find(head).filter(|record| record.tail.end != file_size)
}

/// The error for a file with an append that did not complete. The file ended at byte `end` before.
#[cold]
pub fn unfinished(end: u64, file_size: u64) -> Error {
    broken!(
        Rule::UnfinishedAppend,
        "the file ends in an unfinished append; last good end at byte {end} of {file_size}; zt_repair cuts \
         it back, if nobody is appending to it now"
    )
}

/// The gaps between the components of a file, in file order. Components that are not shown (`hidden`) leave
/// no gap.
pub(super) fn gaps<'m>(
    components: impl Iterator<Item = &'m Component> + Clone,
    hidden: &[Range<u64>],
    frame: &Frame,
) -> Result<Vec<Range<u64>>> {
    let mut taken: Vec<(u64, u64)> = collected(
        components.clone().count().saturating_add(hidden.len()).saturating_add(2),
        components.filter(|c| c.stored_size > 0).map(|c| (c.offset, c.end())),
    )?;
    taken.extend(hidden.iter().map(|range| (range.start, range.end)));
    let (manifest, end) = (&frame.manifest, frame.data.end);
    taken.push(if manifest.start < end { (manifest.start, manifest.end) } else { (end, end) });
    sort(&mut taken);
    taken.push((end, end));
    let mut gaps = Vec::new();
    let mut at = HEADER_SIZE;
    for (start, end) in taken {
        if start > at {
            push(&mut gaps, at..start)?;
        }
        at = at.max(end);
    }
    Ok(gaps)
}

/// Numbers that change when the content of a file changes, as far as the manifest shows that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Bytes of the file.
    pub size: u64,
    /// When the file was last changed, in nanoseconds since 1970; 0 if that is unknown.
    pub modified: i64,
    /// The offset of the manifest.
    pub manifest_offset: u64,
    /// The 64-bit XXH3 hash of the manifest.
    pub manifest_hash: u64,
    /// [`ByteSource::identity`] of the file; 0 if the source has none.
    pub source: u64,
}

/// The [`Identity::manifest_hash`] of a source. Reads the manifest, unless the file gives the hash.
pub(super) fn manifest_hash(source: &dyn ByteSource, frame: &Frame) -> Result<u64> {
    match frame.manifest_hash {
        Some(hash) => Ok(hash), // the file gives the hash, which was checked at open
        None => with_range(source, frame.manifest.clone(), |bytes| Ok(xxh3(bytes))),
    }
}

/// One number from [`ByteSource::identity`] of two parts; 0 if both are 0.
pub(super) fn combine(one: u64, other: u64) -> u64 {
    match u128::from(one) << 64 | u128::from(other) {
        0 => 0,
        both => xxh3(&both.to_be_bytes()),
    }
}

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
    /// A longer head, if one was needed and the bytes of the source cannot be borrowed.
    front: AlignedBuffer,
    /// The size of the longer head; 0 if none was needed.
    front_size: u64,
    tail: Vec<u8>,
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
        Some(self.tail.len()).filter(|size| *size > END_BYTES).unwrap_or(0) as u64
    }

    /// The last bytes of `range`, as far as they are in the tail. `None` if no more of the tail was read than
    /// is needed to detect the container.
    fn in_tail(&self, range: &Range<u64>) -> Option<&[u8]> {
        let from = range.start.saturating_sub(self.tail_start);
        let to = range.end.checked_sub(self.tail_start)?;
        part(&self.tail, &(from..to)).filter(|_| self.tail.len() > END_BYTES && range.end <= self.size)
    }
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
        let in_head = || part(self.ends.head.get(..self.ends.head_size)?, range);
        let in_tail = || self.ends.in_tail(range).filter(|_| range.start >= self.ends.tail_start);
        self.source.slice(range.clone()).or_else(in_head).or_else(in_tail)
    }

    /// Replaces the buffer by one of `size` bytes, which is charged to the budget.
    fn make_space(&mut self, size: u64) -> Result<()> {
        let held = self.buffer.as_slice().len() as u64;
        self.buffer = AlignedBuffer::zeroed(0)?;
        self.budget.give_back(held);
        self.budget.charge(size, "the manifest")?;
        let buffer = in_memory(size).and_then(AlignedBuffer::zeroed); // a large one is on huge pages
        self.buffer = buffer.inspect_err(|_| self.budget.give_back(size))?;
        Ok(())
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
            self.start = u64::MAX; // the buffer has nothing if the read fails
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

/// The positions of objects by name. The hash has a new seed for each file, so that nobody can make a file
/// whose names all collide.
pub struct NameIndex {
    table: HashTable<u32>,
    hasher: SeedableRandomState,
}

impl NameIndex {
    /// The memory for this many names. The table of positions has a power-of-two size and is at most 7/8
    /// full; each position takes one byte more.
    pub fn size(names: usize) -> u64 {
        let places =
            (names as u64).saturating_mul(8).div_ceil(7).checked_next_power_of_two().unwrap_or(u64::MAX);
        places.saturating_mul(bytes_of::<u32>(1).saturating_add(1)).saturating_add(64)
    }

    /// Adds all names. If two objects have the same name, calls `duplicate`, which returns an error, or Ok to
    /// keep the first object (0.1).
    pub fn build(manifest: &Validated, duplicate: impl Fn(usize, usize) -> Result<()>) -> Result<NameIndex> {
        let hasher = crate::hash::state();
        let hash_at = |at: &u32| hash_of(&hasher, manifest.name_at(*at as usize));
        let mut table = HashTable::new();
        let count = manifest.objects.len();
        table
            .try_reserve(count, hash_at)
            .map_err(|_| fail!(OutOfMemory, "could not allocate an index of {count} names"))?;
        for (at, object) in manifest.objects.iter().enumerate() {
            let at = u32::try_from(at).map_err(|_| fail!(Limit, "more than 2^32 objects"))?;
            let name = manifest.texts.get_bytes(object.name);
            let same = |other: &u32| name == manifest.name_at(*other as usize);
            match table.entry(hash_of(&hasher, name), same, hash_at) {
                Entry::Vacant(place) => drop(place.insert(at)),
                Entry::Occupied(other) => duplicate(*other.get() as usize, at as usize)?,
            }
        }
        Ok(NameIndex { table, hasher })
    }

    pub fn find(&self, manifest: &Validated, name: &[u8]) -> Option<usize> {
        let hash = hash_of(&self.hasher, name);
        let found = self.table.find(hash, |at| name == manifest.name_at(*at as usize));
        found.map(|at| *at as usize)
    }
}

/// Hashes the bytes alone. `hash_one` of a slice also hashes the length, which is not needed here.
#[inline(always)]
fn hash_of(hasher: &SeedableRandomState, name: &[u8]) -> u64 {
    let mut state = hasher.build_hasher();
    state.write(name);
    state.finish()
}
