//! Stored bytes as slices, whole or in chunks, and what is checked of them at open.

use super::{Component, File};
use crate::codec::{self, Coding, KnownSize, StoredPart};
use crate::error::{broken, fail, Cause, Error, Result, Rule};
use crate::memory::AlignedBuffer;
use crate::source::ByteSource;
use std::ops::Range;

/// Bytes that are read at a time where not all are needed at once.
pub(crate) const READ_CHUNK: usize = 1 << 20;

/// Gives `body` the bytes of `range`: lent where that can be, else read into fresh memory. The range
/// was checked against the size of the source.
pub fn with_range<T>(
    source: &dyn ByteSource,
    range: Range<u64>,
    body: impl FnOnce(&[u8]) -> Result<T>,
) -> Result<T> {
    if let Some(bytes) = source.slice(range.clone()) {
        return body(bytes);
    }
    let size = range.end.saturating_sub(range.start);
    let size = usize::try_from(size)
        .map_err(|_| fail!(Unsupported, "{size} bytes do not fit this process's address space"))?;
    let mut bytes = AlignedBuffer::zeroed(size)?; // on huge pages if there are many
    source.read_at(range.start, bytes.as_mut_slice())?;
    body(bytes.as_slice())
}

/// Zero bytes, asked for fallibly.
pub fn zeroed(size: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size).map_err(|_| Error::out_of_memory(size))?;
    bytes.resize(size, 0);
    Ok(bytes)
}

/// The stored bytes of a component for those who look at a few here and there, front to back.
pub enum StoredReader<'s> {
    /// Where they are.
    Borrowed(&'s [u8]),
    /// Read as they are asked for.
    Read(ReadWindow<'s>),
}

/// Some of the bytes of a range, and how to get others.
pub struct ReadWindow<'s> {
    source: &'s dyn ByteSource,
    start: u64,
    size: usize,
    bytes: Vec<u8>,
    /// Where the first of them is within the range.
    from: usize,
}

/// Before the first read.
const UNREAD: usize = usize::MAX;

impl codec::Stored for StoredReader<'_> {
    fn size(&self) -> usize {
        match self {
            StoredReader::Borrowed(bytes) => bytes.len(),
            StoredReader::Read(window) => window.size,
        }
    }

    fn peek(&mut self, at: usize, count: usize) -> Result<Option<&[u8]>> {
        match self {
            StoredReader::Borrowed(bytes) => Ok(bytes.get(at..at.saturating_add(count))),
            StoredReader::Read(window) => window.peek(at, count),
        }
    }
}

impl ReadWindow<'_> {
    fn peek(&mut self, at: usize, count: usize) -> Result<Option<&[u8]>> {
        let left = self.size.saturating_sub(at);
        if count > left {
            return Ok(None);
        }
        let end = at.saturating_add(count);
        if at < self.from || end > self.from.saturating_add(self.bytes.len()) {
            self.from = UNREAD; // for the read may fail
            self.bytes.resize(self.bytes.capacity().min(left), 0); // within what was reserved
            self.source.read_at(self.start.saturating_add(at as u64), &mut self.bytes)?;
            self.from = at;
        }
        let at = at.saturating_sub(self.from);
        Ok(self.bytes.get(at..at.saturating_add(count)))
    }
}

/// Gives `body` the bytes of `range` front to back, at most [`READ_CHUNK`] at a time.
pub fn for_each_chunk(
    source: &dyn ByteSource,
    range: Range<u64>,
    body: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    if let Some(bytes) = source.slice(range.clone()) {
        return bytes.chunks(READ_CHUNK).try_for_each(body);
    }
    let whole = range.end.saturating_sub(range.start);
    let mut buffer = zeroed(usize::try_from(whole).unwrap_or(READ_CHUNK).min(READ_CHUNK))?;
    let mut at = range.start;
    while at < range.end {
        let left = usize::try_from(range.end.saturating_sub(at)).unwrap_or(READ_CHUNK);
        let chunk = buffer.get_mut(..left.min(READ_CHUNK)).unwrap_or_default();
        source.read_at(at, chunk)?;
        body(chunk)?;
        at = at.saturating_add(chunk.len() as u64);
    }
    Ok(())
}

impl Component<'_> {
    /// Where its stored bytes are.
    pub(super) fn stored_range(&self) -> Range<u64> {
        self.entry.offset..self.entry.end()
    }

    /// Whether its stored bytes are in memory, as far as the system reports it, so that a look here and there costs little.
    pub(super) fn is_cached(&self) -> bool {
        let source = self.file.source();
        let range = self.stored_range();
        let here = |at| source.page_cache().and_then(|cache| cache.resident(at)) == Some(true);
        source.slice(range.clone()).is_some() || (here(range.start) && here(range.end.saturating_sub(1)))
    }

    /// Its stored bytes for a look at the headers in them. What is cached is read a little here and there, all else in
    /// long reads, as disks and networks like it.
    pub(super) fn stored_reader(&self) -> Result<StoredReader<'_>> {
        const SMALL_READ: usize = 4 << 10;
        let (source, range) = (self.file.source(), self.stored_range());
        if let Some(bytes) = source.slice(range.clone()) {
            return Ok(StoredReader::Borrowed(bytes));
        }
        let size = self.stored_size();
        let size = usize::try_from(size)
            .map_err(|_| fail!(Unsupported, "{size} bytes do not fit this process's address space"))?;
        let step = if size <= SMALL_READ || self.is_cached() { SMALL_READ } else { READ_CHUNK };
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(step.min(size))?;
        Ok(StoredReader::Read(ReadWindow { source, start: range.start, size, bytes, from: UNREAD }))
    }

    /// Gives `body` those of its stored bytes that are within `part`, or all of them where that costs nothing.
    pub(super) fn with_part<T>(
        &self,
        part: Range<usize>,
        body: impl FnOnce(StoredPart<'_>) -> Result<T>,
    ) -> Result<T> {
        let Range { start, end } = self.stored_range();
        if let Some(bytes) = self.file.source().slice(start..end) {
            return body(StoredPart { bytes, from: 0 });
        }
        let from = start.saturating_add(part.start as u64)..start.saturating_add(part.end as u64).min(end);
        with_range(self.file.source(), from, |bytes| body(StoredPart { bytes, from: part.start }))
    }

    /// Gives `body` its stored bytes front to back.
    pub(crate) fn for_each_stored(&self, body: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        for_each_chunk(self.file.source(), self.stored_range(), body)
    }

    /// Whether its stored bytes give `size` as the decoded size by themselves, if anything does; an error if they give
    /// another.
    pub(crate) fn gives_its_size(&self, size: u64) -> Result<bool> {
        let codec = match Coding::of(self.entry.encoding) {
            Some(Coding::Compressed(codec)) => codec,
            Some(Coding::Raw) | None => return Ok(true),
        };
        let known = self.stored_reader().and_then(|r| codec.known_size(r)).map_err(|e| self.wrap(e))?;
        match known {
            KnownSize::Exact(exact) if exact == size => Ok(true),
            KnownSize::AtMost(most) if size <= most => Ok(false),
            KnownSize::Exact(other) | KnownSize::AtMost(other) => Err(self.wrap(broken!(
                codec.length_rule(),
                "its decoded size is {size} bytes, but its {} frames hold {other}",
                codec.name()
            ))),
        }
    }

    /// That it can be decoded, and that `check` takes what comes out, chunk by chunk, with the position of the
    /// first element of each.
    pub(crate) fn check_decodes(&self, check: &mut dyn FnMut(&[u8], u64) -> Result<()>) -> Result<()> {
        let width = self.width() as u64;
        let mut base = 0u64;
        self.for_each_decoded(&mut |chunk| {
            check(chunk, base)?;
            base = base.saturating_add((chunk.len() as u64).checked_div(width).unwrap_or(0));
            Ok(())
        })
    }

    /// Whether any byte but zero is true in its file.
    pub(crate) fn any_byte_is_true(&self) -> bool {
        self.file.capabilities().any_byte_is_true
    }

    /// Whether a bool of it is neither 0 nor 1.
    pub(crate) fn has_odd_bools(&self) -> Result<bool> {
        let mut odd = false;
        self.for_each_decoded(&mut |chunk| {
            odd |= chunk.iter().any(|b| *b > 1);
            Ok(())
        })?;
        Ok(odd)
    }

    /// Copies its stored bytes, as they are; of an unknown encoding, too.
    pub fn read_stored(&self, dst: &mut [u8]) -> Result<()> {
        let size = self.entry.stored_size;
        let capacity = dst.len();
        let fitting = usize::try_from(size).ok().and_then(|size| dst.get_mut(..size));
        let dst = fitting.ok_or_else(|| {
            self.wrap(fail!(BufferSize, "it has {size} stored bytes, the memory for it {capacity}"))
        });
        self.file.source().read_at(self.entry.offset, dst?).map_err(|e| self.wrap(e))
    }

    /// Gives `body` all of its stored bytes.
    pub(super) fn with_stored<T>(&self, body: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
        with_range(self.file.source(), self.stored_range(), body)
    }
}

/// Versions before 1.2 do not declare the decoded size of a compressed component; of a dense one the
/// shape does. If the component is small enough that a look costs next to nothing, and its frames
/// cannot fill the shape, that is an error at open.
pub fn check_short_frames(file: &File) -> Result<()> {
    const MAX_CHECKED_AT_OPEN: u64 = 4096;
    // Of bytes that several components have: what they hold, once that was looked at.
    let mut met: Vec<Option<Option<KnownSize>>> = Vec::new();
    met.try_reserve_exact(file.aliases.count())?;
    met.resize(file.aliases.count(), None);
    for object in file.objects() {
        for component in object.components() {
            let entry = component.entry();
            let codec = match Coding::of(entry.encoding) {
                Some(Coding::Compressed(codec)) => codec,
                Some(Coding::Raw) | None => continue,
            };
            let (Some(expected), true) =
                (entry.size(), !entry.is_size_declared() && entry.stored_size <= MAX_CHECKED_AT_OPEN)
            else {
                continue;
            };
            let mut place = file.aliases.range(component.index).and_then(|range| met.get_mut(range));
            let known = match place.as_deref().copied().flatten() {
                Some(known) => known,
                None => match component.stored_reader().and_then(|r| codec.known_size(r)) {
                    Ok(known) => Some(known),
                    Err(e) if matches!(e.cause(), Cause::Broken(_)) => None,
                    Err(e) => return Err(component.wrap(e)),
                },
            };
            if let Some(place) = &mut place {
                **place = Some(known);
            }
            let short = match known {
                Some(KnownSize::Exact(size)) if size < expected => Some(size),
                _ => None,
            };
            if let Some(size) = short {
                let error = broken!(
                    Rule::DenseSize,
                    "its {} frames hold {size} bytes, but the shape {:?} takes {expected}",
                    codec.name(),
                    object.shape()
                );
                return Err(component.wrap(error));
            }
        }
    }
    Ok(())
}
