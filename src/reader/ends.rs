//! Reads both ends of a file, in as few reads as possible where a read may be slow.

use crate::container::{self, Detected, Limits, END_BYTES, HEAD_BYTES};
use crate::error::{fail, Result};
use crate::memory::{in_memory, zeroed, AlignedBuffer};
use crate::source::{is_callback_source, with_range, ByteSource, ReadMany, ReadRange};
use std::ops::Range;

/// Bytes of the tail that are read at once where a read may be slow: most manifests are within them.
const TAIL_GUESS: u64 = 64 << 10;

/// Both ends, as they were read of a source to find out what it is.
pub struct ReadEnds {
    head: [u8; HEAD_BYTES],
    head_size: usize,
    /// A longer head, if one was needed and the source does not lend its bytes.
    front: AlignedBuffer,
    /// Bytes of the longer head; 0 if none was needed.
    front_size: u64,
    tail: Vec<u8>,
    /// Where the tail begins.
    tail_start: u64,
    size: u64,
}

impl ReadEnds {
    /// Reads both ends. Of the tail, no more bytes are read beyond those that are needed for sure than a
    /// quarter of the memory that opening the file may take.
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

    /// Detects the container. Reads a longer head if that takes one.
    pub fn detect(&mut self, source: &dyn ByteSource, limits: &Limits) -> Result<Detected> {
        loop {
            let seen = container::Ends { file_size: self.size, head: self.head(source), tail: self.tail() };
            let shown = seen.head.len() as u64;
            match container::detect(seen, limits)? {
                found @ (Detected::Frame(_) | Detected::Front(_) | Detected::Scattered(_)) => {
                    return Ok(found)
                }
                Detected::NeedsHead(size) if shown < size && size <= self.size => {
                    self.extend_head(source, size)?;
                }
                Detected::NeedsHead(_) | Detected::Other => {
                    return Err(fail!(Internal, "it takes more than {shown} bytes to tell what the file is"))
                }
            }
        }
    }

    /// Has [`ReadEnds::head`] give the first `size` bytes, which the file has.
    fn extend_head(&mut self, source: &dyn ByteSource, size: u64) -> Result<()> {
        if source.slice(0..size).is_none() {
            let mut front = AlignedBuffer::zeroed(in_memory(size)?)?;
            source.read_at(0, front.as_mut_slice())?;
            self.front = front;
        }
        self.front_size = size;
        Ok(())
    }

    /// The first bytes.
    pub fn head<'e>(&'e self, source: &'e dyn ByteSource) -> &'e [u8] {
        if self.front_size > 0 {
            return source.slice(0..self.front_size).unwrap_or(self.front.as_slice());
        }
        self.head.get(..self.head_size).unwrap_or_default()
    }

    /// The last bytes of the file, by which a container is detected.
    pub fn tail(&self) -> &[u8] {
        self.tail.last_chunk::<END_BYTES>().map_or(&self.tail, |last| last)
    }

    /// The position in the file where the tail begins that was read.
    pub(super) fn tail_start(&self) -> u64 {
        self.tail_start
    }

    /// The bytes of `range` that are in the tail, if more of it was read than a container is detected by.
    pub(super) fn in_tail(&self, range: &Range<u64>) -> Option<&[u8]> {
        let from = usize::try_from(range.start.max(self.tail_start).checked_sub(self.tail_start)?).ok()?;
        let to = usize::try_from(range.end.checked_sub(self.tail_start)?).ok()?;
        self.tail.get(from..to).filter(|_| self.tail.len() > END_BYTES && range.end <= self.size)
    }

    /// Bytes of memory that [`ReadEnds::with_range`] holds while `body` runs.
    pub fn memory_for(&self, source: &dyn ByteSource, range: &Range<u64>) -> u64 {
        let all = range.end.saturating_sub(range.start);
        match self.in_tail(range) {
            _ if source.slice(range.clone()).is_some() => 0,
            Some(_) if range.start >= self.tail_start => self.tail.len() as u64,
            Some(_) => all.saturating_add(self.tail.len() as u64),
            None => all,
        }
    }

    /// Gives `body` the bytes of `range`, which is in the file; reads what is missing of them.
    pub fn with_range<T>(
        &self,
        source: &dyn ByteSource,
        range: Range<u64>,
        body: impl FnOnce(&[u8]) -> Result<T>,
    ) -> Result<T> {
        let Some(known) = self.in_tail(&range).filter(|_| source.slice(range.clone()).is_none()) else {
            return with_range(source, range, body);
        };
        if range.start >= self.tail_start {
            return body(known);
        }
        let size = in_memory(range.end.saturating_sub(range.start))?;
        let mut bytes = AlignedBuffer::zeroed(size)?;
        let missing = size.saturating_sub(known.len());
        let (front, back) = bytes.as_mut_slice().split_at_mut(missing);
        source.read_at(range.start, front)?;
        back.copy_from_slice(known);
        body(bytes.as_slice())
    }
}
