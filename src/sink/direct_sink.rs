//! A new file that is written past the page cache in whole blocks: from the caller's memory if it is aligned
//! as the device needs it, else through buffers of the sink.
//!
//! An incomplete block waits in a buffer, so that each block is written once; only the file's last bytes go
//! through the page cache. If the system turns out not to take such writes, the same bytes are written
//! through the page cache.

use super::write_all::WithoutFileSizeSignal;
use super::WriteThreads;
use crate::error::{fail, Error, Result};
use crate::io::blocks::{self, DirectHandle};
use crate::lock::Mutex;
use crate::memory::{AlignedBuffer, HUGE_PAGE};
use crate::threads;
use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of a buffer: one huge page, if the kernel has them.
const WRITE_BUFFER_SIZE: usize = HUGE_PAGE;
/// Buffers, and so threads that write at once: one is filled while the other is written.
pub(crate) const WRITE_BUFFERS: usize = 2;
/// The most bytes that one call writes from the caller's memory. The system splits them and has all pieces
/// under way.
const MAX_UNBUFFERED: usize = 8 << 20;

/// A file that is written front to back in whole blocks.
pub struct DirectSink {
    file: File,
    direct: DirectHandle,
    /// Set when the system refused a write past the page cache.
    refused: AtomicBool,
    /// The last of them has the incomplete block.
    buffers: Vec<WriteBuffer>,
    /// The end of what is allocated in the file; the maximum after allocating failed.
    allocated: u64,
}

/// Memory for bytes on their way to the file.
struct WriteBuffer {
    memory: AlignedBuffer,
    /// The offset of its bytes in the file: a multiple of the block.
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

    /// Copies the front of `bytes`, as far as there is room. Returns the rest.
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
    /// Writes to `file`, to which nothing was written yet; none if it has no direct writes, or for lack of
    /// memory.
    pub fn with_file(file: &File) -> Option<DirectSink> {
        let direct = blocks::open_direct(file)
            .filter(|u| u.block <= WRITE_BUFFER_SIZE && u.memory <= WRITE_BUFFER_SIZE)?;
        let file = file.try_clone().ok()?;
        let mut buffers = Vec::new();
        buffers.try_reserve_exact(WRITE_BUFFERS).ok()?;
        buffers.push(WriteBuffer::new().ok()?);
        Some(DirectSink { file, direct, refused: AtomicBool::new(false), buffers, allocated: 0 })
    }

    /// Appends all of `bytes`, on several threads if there is work for them; each does the other work first.
    pub fn write(&mut self, bytes: &[u8], threads: &WriteThreads<'_>) -> Result<()> {
        let WriteThreads { count, hooks, other_work } = *threads;
        let pending = self.take_in(bytes, count)?;
        if pending.buffers.is_empty() {
            other_work.iter().for_each(|work| work());
            return Ok(());
        }
        let max = WRITE_BUFFERS.saturating_add(usize::from(other_work.is_some())); // one for the other work
        let (this, pending) = (&*self, Mutex::new(pending));
        threads::run(count.min(max), hooks, &|| {
            other_work.iter().for_each(|work| work());
            this.write_pending(&pending);
        });
        self.take_back(pending.into_inner())
    }

    /// Adds all of `bytes`. Returns which of them, and of the waiting ones, to write now.
    fn take_in<'b>(&mut self, bytes: &'b [u8], threads: usize) -> Result<PendingWrites<'b>> {
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
            return Ok(PendingWrites::default());
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
        Ok(PendingWrites { buffers, unbuffered, rest, at, tail, failure: None })
    }

    /// Writes what is pending, piece by piece, until nothing is left. Any number of threads may do so at
    /// once.
    fn write_pending(&self, all: &Mutex<PendingWrites<'_>>) {
        let mut pending = all.lock();
        let unbuffered = pending.unbuffered;
        // The one that waited is the last: it is full of whole blocks, the others are empty.
        let Some(mut buffer) = pending.buffers.pop() else { return };
        drop(pending);
        let mut outcome = self.write_blocks(buffer.at, buffer.bytes());
        buffer.filled = 0;
        let limit = if unbuffered { MAX_UNBUFFERED } else { WRITE_BUFFER_SIZE };
        while outcome.is_ok() {
            let Some((at, bytes)) = all.lock().next(limit) else { break };
            outcome = if unbuffered {
                self.write_blocks(at, bytes)
            } else {
                buffer.take(bytes);
                let done = self.write_blocks(at, buffer.bytes());
                buffer.filled = 0;
                done
            };
        }
        let mut pending = all.lock();
        pending.buffers.push(buffer); // back to the free buffers
        if let Err(error) = outcome {
            (pending.failure, pending.rest) = (Some(error), &[]);
        }
    }

    /// Ends a write, when every thread has returned.
    fn take_back(&mut self, pending: PendingWrites<'_>) -> Result<()> {
        let PendingWrites { mut buffers, at, tail, failure, .. } = pending;
        if let Some(waiting) = buffers.last_mut() {
            waiting.at = at;
            waiting.take(tail);
            self.buffers = buffers;
        }
        failure.map_or(Ok(()), Err)
    }

    /// Allocates the file up to `end`: it then has few extents, and writes do not wait for its size to
    /// change.
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

/// What a call has to write. Each piece has its own offset, so that several threads may write at once.
/// Without a buffer there is nothing.
#[derive(Default)]
struct PendingWrites<'b> {
    buffers: Vec<WriteBuffer>,
    /// Whether the bytes are written from where they are.
    unbuffered: bool,
    /// The bytes that no thread took yet, and their offset in the file.
    rest: &'b [u8],
    at: u64,
    /// The incomplete block behind them, which waits.
    tail: &'b [u8],
    failure: Option<Error>,
}

impl<'b> PendingWrites<'b> {
    fn next(&mut self, limit: usize) -> Option<(u64, &'b [u8])> {
        let (now, later) = self.rest.split_at(self.rest.len().min(limit));
        let at = self.at;
        (self.rest, self.at) = (later, at.saturating_add(now.len() as u64));
        (!now.is_empty()).then_some((at, now))
    }
}

#[cfg(all(test, any(target_os = "linux", windows)))]
mod tests {
    use super::*;
    use crate::threads::ThreadHooks;
    use std::path::PathBuf;
    use std::sync::atomic::AtomicUsize;

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
            let sink = DirectSink::with_file(&file);
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
            let calls = AtomicUsize::new(0);
            let other_work = || {
                calls.fetch_add(1, Ordering::Relaxed);
            };
            let other_work: Option<&(dyn Fn() + Sync)> = Some(&other_work);
            sink.write(part, &WriteThreads { count: threads, hooks: ThreadHooks::default(), other_work })?;
            assert!((1..=threads).contains(&calls.into_inner()), "the other work is done");
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
                // wine takes anything.
                if cfg!(not(windows)) {
                    assert_eq!(*sink.refused.get_mut(), number > 0, "lie {number}");
                }
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
