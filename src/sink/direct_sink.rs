//! Writes a new file in whole blocks that bypass the page cache: from the caller's memory if its alignment
//! suits the device, else through buffers of the sink.
//!
//! An incomplete block waits in a buffer, so that each block is written once. Only the last bytes of the file
//! go through the page cache. If the system refuses direct writes, the same bytes are written through the
//! page cache.

use super::write_all::{could_not_write, WithoutFileSizeSignal};
use super::WriteThreads;
use crate::error::{fail, Error, Result};
use crate::io::blocks::{self, DirectHandle};
use crate::lock::Mutex;
use crate::memory::{with_capacity, AlignedBuffer, HUGE_PAGE};
use crate::threads;
use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};

/// The size of a buffer: a huge page, if the kernel has one.
const WRITE_BUFFER_SIZE: usize = HUGE_PAGE;
/// The number of buffers, and therefore of threads that write at once: one buffer is filled while the other
/// is written.
pub(crate) const WRITE_BUFFERS: usize = 2;
/// The most bytes that one call writes from the caller's memory. The system splits the call and writes the
/// pieces concurrently.
const MAX_UNBUFFERED: usize = 8 << 20;

/// A file that is written front to back in whole blocks.
pub struct DirectSink {
    file: File,
    direct: DirectHandle,
    /// Set when the system refuses a direct write.
    refused: AtomicBool,
    /// The last buffer has the incomplete block.
    buffers: Vec<WriteBuffer>,
    /// The end of the allocated space in the file; the largest number after allocating failed.
    allocated: u64,
}

/// Memory for bytes that will be written to the file.
struct WriteBuffer {
    memory: AlignedBuffer,
    /// The offset of its bytes in the file: a multiple of the block size.
    at: u64,
    filled: usize,
}

impl WriteBuffer {
    fn new() -> Result<WriteBuffer> {
        // Memory of this size begins at a multiple of it.
        Ok(WriteBuffer { memory: AlignedBuffer::zeroed(WRITE_BUFFER_SIZE)?, at: 0, filled: 0 })
    }

    fn bytes(&self) -> &[u8] {
        self.memory.as_slice().get(..self.filled).unwrap_or_default()
    }

    /// Copies as much of `bytes` as fits. Returns the rest.
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
    /// A sink for `file`, which is still empty. `None` if the file does not support direct writes, or there
    /// is no memory.
    pub fn with_file(file: &File) -> Option<DirectSink> {
        let direct = blocks::open_direct(file)
            .filter(|u| u.block <= WRITE_BUFFER_SIZE && u.memory <= WRITE_BUFFER_SIZE)?;
        let file = file.try_clone().ok()?;
        let mut buffers = with_capacity(WRITE_BUFFERS).ok()?;
        buffers.push(WriteBuffer::new().ok()?);
        Some(DirectSink { file, direct, refused: AtomicBool::new(false), buffers, allocated: 0 })
    }

    /// Appends all of `bytes`. Uses several threads if that helps; each of them does the other work first.
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

    /// Adds all of `bytes`. Returns the bytes to write now, including ones that waited.
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
                self.buffers.insert(0, buffer); // memory was reserved when the sink was made
            }
        }
        let buffers = std::mem::take(&mut self.buffers);
        Ok(PendingWrites { buffers, unbuffered, rest, at, tail, failure: None })
    }

    /// Writes pending pieces until none is left. Any number of threads may call it at once.
    fn write_pending(&self, all: &Mutex<PendingWrites<'_>>) {
        let mut pending = all.lock();
        let unbuffered = pending.unbuffered;
        // The buffer that waited is the last one and has only whole blocks; the others are empty.
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

    /// Ends a write after every thread has returned.
    fn take_back(&mut self, pending: PendingWrites<'_>) -> Result<()> {
        let PendingWrites { mut buffers, at, tail, failure, .. } = pending;
        if let Some(waiting) = buffers.last_mut() {
            waiting.at = at;
            waiting.take(tail);
            self.buffers = buffers;
        }
        failure.map_or(Ok(()), Err)
    }

    /// Allocates the file up to `end`. So it gets few extents, and writes do not wait for its size to change.
    fn preallocate(&mut self, end: u64) {
        let _quiet = WithoutFileSizeSignal::new();
        if end > self.allocated {
            let made = blocks::allocate(&self.file, &(self.allocated..end));
            self.allocated = if made { end } else { u64::MAX };
        }
    }

    /// Writes whole blocks at their offsets.
    fn write_blocks(&self, mut at: u64, mut bytes: &[u8]) -> Result<()> {
        let all = bytes.len();
        let _quiet = WithoutFileSizeSignal::new();
        while !bytes.is_empty() {
            let refused = self.refused.load(Ordering::Relaxed);
            let whole = bytes.len() % self.direct.block == 0;
            let file = if refused || !whole { &self.file } else { &self.direct.file };
            match blocks::write_at(file, bytes, at) {
                Ok(0) => return Err(could_not_write(all, &std::io::ErrorKind::WriteZero.into())),
                Ok(n) => {
                    bytes = bytes.get(n..).unwrap_or_default();
                    at = at.saturating_add(n as u64);
                }
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) if !refused && whole && blocks::is_refusal(&e) => {
                    self.refused.store(true, Ordering::Relaxed);
                }
                Err(e) => return Err(could_not_write(all, &e)),
            }
        }
        Ok(())
    }

    /// Writes the waiting bytes, and sets the length of the file.
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

/// The work of a call. Each piece has its own offset, so several threads may write at once. Without buffers
/// there is no work.
#[derive(Default)]
struct PendingWrites<'b> {
    buffers: Vec<WriteBuffer>,
    /// Whether the bytes are written directly from the caller's memory.
    unbuffered: bool,
    /// The bytes that no thread has taken yet, and their offset in the file.
    rest: &'b [u8],
    at: u64,
    /// The incomplete block after them, which waits.
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

    /// A file that is deleted at the end of the test.
    struct TempFile(PathBuf);

    impl TempFile {
        fn new(name: &str) -> TempFile {
            let name = format!("ztensor-direct-sink-{}-{name}", std::process::id());
            TempFile(std::env::temp_dir().join(name))
        }

        /// A sink for a new file; `None` if files on this system do not support direct writes.
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

    /// Writes a few large pieces, on one or several threads.
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
                // Wine accepts every alignment.
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
