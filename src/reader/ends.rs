//! Both ends of a file, in as few reads as they take where a read may be a journey.

use crate::container::{self, Detected, Limits, END_BYTES, HEAD_BYTES};
use crate::error::{fail, Result};
use crate::memory::{in_memory, zeroed, AlignedBuffer};
use crate::source::{is_called, with_range, ByteSource, ReadMany, ReadRange};
use std::ops::Range;

/// Bytes of the tail that are read at once where a read may be slow: most manifests are in them.
const TAIL_GUESS: u64 = 64 << 10;

/// Both ends, as they were read of a source to find out what it is.
pub struct ReadEnds {
    head: [u8; HEAD_BYTES],
    head_size: usize,
    /// A longer front, where one was asked for and the source does not lend it.
    front: AlignedBuffer,
    /// How long it is.
    front_size: u64,
    tail: Vec<u8>,
    /// Where the tail begins.
    start: u64,
    size: u64,
}

impl ReadEnds {
    /// Reads them; of the tail bytes that are not looked at for sure, no more than a fraction of the memory that opening the
    /// file may take.
    pub fn read(source: &dyn ByteSource, limits: &Limits) -> Result<ReadEnds> {
        let (size, most) = (source.size(), limits.memory.unwrap_or(u64::MAX) / 4);
        let guess = if is_called(source) { TAIL_GUESS.min(most) } else { 0 };
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
            start,
            size,
        })
    }

    /// Which container it is, by as much of its front as that takes.
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

    /// The last bytes that show which file it is.
    pub fn tail(&self) -> &[u8] {
        self.tail.last_chunk::<END_BYTES>().map_or(&self.tail, |last| last)
    }

    /// Where the tail begins that was read.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// What of `range` is in the tail, where that is more than what shows which file it is.
    pub(super) fn part(&self, range: &Range<u64>) -> Option<&[u8]> {
        let from = usize::try_from(range.start.max(self.start).checked_sub(self.start)?).ok()?;
        let to = usize::try_from(range.end.checked_sub(self.start)?).ok()?;
        self.tail.get(from..to).filter(|_| self.tail.len() > END_BYTES && range.end <= self.size)
    }

    /// Bytes that are held while the bytes of `range` are looked at.
    pub fn held(&self, source: &dyn ByteSource, range: &Range<u64>) -> u64 {
        let all = range.end.saturating_sub(range.start);
        match self.part(range) {
            _ if source.slice(range.clone()).is_some() => 0,
            Some(_) if range.start >= self.start => self.tail.len() as u64,
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
        let Some(there) = self.part(&range).filter(|_| source.slice(range.clone()).is_none()) else {
            return with_range(source, range, body);
        };
        if range.start >= self.start {
            return body(there);
        }
        let size = in_memory(range.end.saturating_sub(range.start))?;
        let mut bytes = AlignedBuffer::zeroed(size)?;
        let missing = size.saturating_sub(there.len());
        let (front, back) = bytes.as_mut_slice().split_at_mut(missing);
        source.read_at(range.start, front)?;
        back.copy_from_slice(there);
        body(bytes.as_slice())
    }
}
