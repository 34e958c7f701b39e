//! A new file that is written past the page cache: whole blocks, straight from the caller's memory where that
//! is aligned as the device wants it, and through windows of our own elsewhere.
//!
//! What is not a whole block yet waits in a window, so that no block is written twice and none in both ways; only
//! the file's last bytes go through the page cache. Where the system turns out not to take such writes, the same
//! bytes go to the same places through the page cache.

use super::signals::WithoutFileSizeSignal;
use crate::error::{fail, Error, Result};
use crate::io::blocks::{self, DirectHandle};
use crate::lock::Mutex;
use crate::memory::{AlignedBuffer, HUGE_PAGE};
use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of a window, whose memory is then one huge page where the kernel has them.
const WRITE_BUFFER_SIZE: usize = HUGE_PAGE;
/// Windows, and so threads that write at once: one is filled while the other is written.
pub(crate) const WRITE_BUFFERS: usize = 2;
/// Straight from the caller's memory so many bytes go at once. The system cuts them up and has all pieces under way.
const MAX_UNBUFFERED: usize = 8 << 20;

/// A file that is written front to back in whole blocks.
pub struct DirectSink {
    file: File,
    direct: DirectHandle,
    /// The system does not take writes past the page cache after all.
    refused: AtomicBool,
    /// The last of them is the one that waits for more.
    buffers: Vec<WriteBuffer>,
    /// Up to where there is room in the file; the maximum where making it failed once.
    allocated: u64,
}

/// Memory for bytes on their way to the file.
struct WriteBuffer {
    memory: AlignedBuffer,
    /// Where in the file its bytes belong: at a multiple of the block.
    at: u64,
    filled: usize,
}

impl WriteBuffer {
    fn new() -> Result<WriteBuffer> {
        // Memory of that size begins at a multiple of it.
        Ok(WriteBuffer { memory: AlignedBuffer::zeroed(WRITE_BUFFER_SIZE)?, at: 0, filled: 0 })
    }

    fn bytes(&self) -> &[u8] {
        self.memory.as_slice().get(..self.filled).unwrap_or_default()
    }

    /// Takes the front of `bytes`, as far as there is room; the rest comes back.
    fn take<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let (now, later) = bytes.split_at(bytes.len().min(WRITE_BUFFER_SIZE.saturating_sub(self.filled)));
        let end = self.filled.saturating_add(now.len());
        if let Some(place) = self.memory.as_mut_slice().get_mut(self.filled..end) {
            place.copy_from_slice(now);
            self.filled = end;
        }
        later
    }
}

impl DirectSink {
    /// Goes on with `file`, to which nothing was written yet; none where that cannot be, or for lack of memory.
    pub fn over(file: &File) -> Option<DirectSink> {
        let direct = blocks::open_direct(file)
            .filter(|u| u.block <= WRITE_BUFFER_SIZE && u.memory <= WRITE_BUFFER_SIZE)?;
        let file = file.try_clone().ok()?;
        let mut buffers = Vec::new();
        buffers.try_reserve_exact(WRITE_BUFFERS).ok()?;
        buffers.push(WriteBuffer::new().ok()?);
        Some(DirectSink { file, direct, refused: AtomicBool::new(false), buffers, allocated: 0 })
    }

    /// Appends all of `bytes`, on this thread.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let pieces = self.pieces(bytes, 1)?;
        pieces.write();
        pieces.done()
    }

    /// Takes in all of `bytes`, and says what of them, and of those that waited, is to be written now.
    pub fn pieces<'s>(&'s mut self, bytes: &'s [u8], threads: usize) -> Result<WritePieces<'s>> {
        let (block, memory) = (self.direct.block, self.direct.memory);
        let refused = self.refused.load(Ordering::Relaxed);
        let Some(waiting) = self.buffers.last_mut() else { return Err(fail!(State, "the file is closed")) };
        let head = waiting.filled.wrapping_neg() & block.wrapping_sub(1);
        let (front, rest) = bytes.split_at(head.min(bytes.len()));
        let is_aligned = refused || (rest.as_ptr() as usize) % memory == 0;
        let unbuffered = is_aligned && rest.len() >= WRITE_BUFFER_SIZE;
        let rest = if unbuffered {
            waiting.take(front);
            rest
        } else {
            waiting.take(bytes)
        };
        if !unbuffered && waiting.filled < WRITE_BUFFER_SIZE {
            let pending = PendingWrites { buffers: Vec::new(), rest: &[], at: 0, outcome: Ok(()) };
            return Ok(WritePieces { sink: self, pending: Mutex::new(pending), unbuffered, tail: &[] });
        }
        let grain = if unbuffered { block } else { WRITE_BUFFER_SIZE };
        let (rest, tail) = rest.split_at(rest.len() - rest.len() % grain);
        let at = waiting.at.saturating_add(waiting.filled as u64);
        self.preallocate(at.saturating_add(rest.len() as u64));
        if threads > 1 && self.buffers.len() < WRITE_BUFFERS && rest.len() > WRITE_BUFFER_SIZE {
            if let Ok(buffer) = WriteBuffer::new() {
                self.buffers.insert(0, buffer); // reserved when the sink was made
            }
        }
        let buffers = std::mem::take(&mut self.buffers);
        let pending = PendingWrites { buffers, rest, at, outcome: Ok(()) };
        Ok(WritePieces { sink: self, pending: Mutex::new(pending), unbuffered, tail })
    }

    /// Asks for room up to `end`: the file then has few extents, and writes do not wait for its size to change.
    fn preallocate(&mut self, end: u64) {
        let _quiet = WithoutFileSizeSignal::new();
        if end > self.allocated {
            let made = blocks::allocate(&self.file, &(self.allocated..end));
            self.allocated = if made { end } else { u64::MAX };
        }
    }

    /// Writes whole blocks at their place.
    fn write_blocks(&self, mut at: u64, mut bytes: &[u8]) -> Result<()> {
        let all = bytes.len();
        let _quiet = WithoutFileSizeSignal::new();
        while !bytes.is_empty() {
            let refused = self.refused.load(Ordering::Relaxed);
            let whole = bytes.len() % self.direct.block == 0;
            let file = if refused || !whole { &self.file } else { &self.direct.file };
            match blocks::write_at(file, bytes, at) {
                Ok(0) => return Err(could_not(all, &std::io::ErrorKind::WriteZero.into())),
                Ok(n) => {
                    bytes = bytes.get(n..).unwrap_or_default();
                    at = at.saturating_add(n as u64);
                }
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) if !refused && whole && blocks::is_refusal(&e) => {
                    self.refused.store(true, Ordering::Relaxed);
                }
                Err(e) => return Err(could_not(all, &e)),
            }
        }
        Ok(())
    }

    /// Writes what waits, and gives the file the length that it has.
    pub fn finish(&mut self) -> Result<()> {
        let Some(waiting) = self.buffers.last() else { return Err(fail!(State, "the file is closed")) };
        let bytes = waiting.bytes();
        let (whole, tail) = bytes.split_at(bytes.len() - bytes.len() % self.direct.block);
        self.write_blocks(waiting.at, whole)?;
        self.write_blocks(waiting.at.saturating_add(whole.len() as u64), tail)?;
        let length = waiting.at.saturating_add(bytes.len() as u64);
        let _quiet = WithoutFileSizeSignal::new();
        self.file.set_len(length).map_err(|e| Error::io("could not set its length", &e))
    }
}

fn could_not(all: usize, error: &std::io::Error) -> Error {
    Error::io("", error).within(format_args!("could not write {all} bytes"))
}

/// Writes of a sink, each at its own place, so that several threads may make them at once.
#[must_use]
pub struct WritePieces<'s> {
    sink: &'s mut DirectSink,
    pending: Mutex<PendingWrites<'s>>,
    /// Whether the bytes are written from where they are.
    unbuffered: bool,
    /// What then waits.
    tail: &'s [u8],
}

struct PendingWrites<'s> {
    buffers: Vec<WriteBuffer>,
    /// What nobody took yet, and its place in the file.
    rest: &'s [u8],
    at: u64,
    outcome: Result<()>,
}

impl<'s> PendingWrites<'s> {
    fn next(&mut self, limit: usize) -> Option<(u64, &'s [u8])> {
        let (now, later) = self.rest.split_at(self.rest.len().min(limit));
        let at = self.at;
        (self.rest, self.at) = (later, at.saturating_add(now.len() as u64));
        (!now.is_empty()).then_some((at, now))
    }
}

impl WritePieces<'_> {
    /// Writes pieces until none is left. Any number of threads may do so at once.
    pub fn write(&self) {
        // The one that waited is the last: it is full of whole blocks, the others are empty.
        let Some(mut buffer) = self.pending.lock().buffers.pop() else { return };
        let mut outcome = self.sink.write_blocks(buffer.at, buffer.bytes());
        buffer.filled = 0;
        let limit = if self.unbuffered { MAX_UNBUFFERED } else { WRITE_BUFFER_SIZE };
        while outcome.is_ok() {
            let Some((at, bytes)) = self.pending.lock().next(limit) else { break };
            outcome = if self.unbuffered {
                self.sink.write_blocks(at, bytes)
            } else {
                buffer.take(bytes);
                let done = self.sink.write_blocks(at, buffer.bytes());
                buffer.filled = 0;
                done
            };
        }
        let mut pending = self.pending.lock();
        pending.buffers.push(buffer); // to where it came from
        if outcome.is_err() {
            (pending.outcome, pending.rest) = (outcome, &[]);
        }
    }

    /// The end, when every thread is back.
    pub fn done(self) -> Result<()> {
        let WritePieces { sink, pending, tail, .. } = self;
        let PendingWrites { mut buffers, at, outcome, .. } = pending.into_inner();
        if let Some(waiting) = buffers.last_mut() {
            waiting.at = at;
            waiting.take(tail);
            sink.buffers = buffers;
        }
        outcome
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::path::PathBuf;

    const SIZE: usize = 3 * MAX_UNBUFFERED + 5 * WRITE_BUFFER_SIZE + 777;

    /// A file that goes when the test does.
    struct TempFile(PathBuf);

    impl TempFile {
        fn new(name: &str) -> TempFile {
            let name = format!("ztensor-direct-sink-{}-{name}", std::process::id());
            TempFile(std::env::temp_dir().join(name))
        }

        /// A sink over a new file; none where files here have no way past the page cache.
        fn sink(&self) -> Option<(File, DirectSink)> {
            let file = File::create(&self.0).unwrap();
            let sink = DirectSink::over(&file);
            if sink.is_none() {
                println!("direct_sink: skipped: no writes past the page cache here");
            }
            Some((file, sink?))
        }
    }

    impl Drop for TempFile {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    fn data() -> Vec<u8> {
        (0..SIZE as u32).map(|n| (n.wrapping_mul(0x9e37_79b9) >> 13) as u8).collect()
    }

    /// In a few large pieces, on one thread or several.
    fn write(sink: &mut DirectSink, data: &[u8], threads: usize) -> Result<()> {
        for part in data.chunks(SIZE / 2 + 5) {
            let pieces = sink.pieces(part, threads)?;
            std::thread::scope(|scope| {
                (1..threads).for_each(|_| drop(scope.spawn(|| pieces.write())));
                pieces.write();
            });
            pieces.done()?;
        }
        sink.finish()
    }

    #[test]
    fn what_a_device_does_not_take_goes_through_the_page_cache() {
        let place = TempFile::new("refused");
        let data = data();
        let wrong_alignments: [fn(&mut DirectHandle); 4] =
            [|_| {}, |u| u.memory = 1, |u| u.block = 1, |u| (u.memory, u.block) = (1, 8)];
        for (number, misalign) in wrong_alignments.into_iter().enumerate() {
            for threads in [1, 2, 3] {
                let Some((_, mut sink)) = place.sink() else { return };
                misalign(&mut sink.direct);
                write(&mut sink, &data, threads).unwrap();
                assert_eq!(*sink.refused.get_mut(), number > 0, "lie {number}");
                assert!(std::fs::read(&place.0).unwrap() == data, "lie {number}, {threads} threads");
            }
        }
    }

    #[test]
    fn without_preallocation_the_bytes_are_the_same() {
        let place = TempFile::new("no-room");
        let Some((_, mut sink)) = place.sink() else { return };
        sink.allocated = u64::MAX;
        write(&mut sink, &data(), 2).unwrap();
        assert!(std::fs::read(&place.0).unwrap() == data());
    }

    #[test]
    fn a_write_that_fails_on_any_thread_fails_the_sink() {
        let place = TempFile::new("fails");
        for threads in [1, 2] {
            let Some((_, mut sink)) = place.sink() else { return };
            sink.direct.file = File::open(&place.0).unwrap(); // not for writing
            let error = write(&mut sink, &data(), threads).unwrap_err();
            assert!(error.message().contains("could not write"), "{error}");
        }
    }
}
