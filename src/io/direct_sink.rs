//! A new file that is written past the page cache: whole blocks, straight from the caller's memory where that
//! lies as the device wants it, and through windows of our own elsewhere.
//!
//! What is not a whole block yet waits in a window, so that no block is written twice and none in both ways; only
//! the file's last bytes go through the page cache. Where the system turns out not to take such writes, the same
//! bytes go to the same places through the page cache.

use super::blocks::{self, Uncached};
use super::signals::WithoutFileSizeSignal;
use crate::error::{fail, Error, Result};
use crate::lock::Lock;
use crate::memory::{AlignedBuffer, HUGE_PAGE};
use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of a window, whose memory is then one huge page where the kernel has them.
const WINDOW: usize = HUGE_PAGE;
/// Windows, and so threads that write at once: one is filled while the other is written.
pub(crate) const WINDOWS: usize = 2;
/// Straight from the caller's memory so many bytes go at once. The system cuts them up and has all pieces under way.
const STRAIGHT: usize = 8 << 20;

/// A file that is written front to back in whole blocks.
pub struct DirectSink {
    file: File,
    uncached: Uncached,
    /// The system does not take writes past the page cache after all.
    refused: AtomicBool,
    /// The last of them is the one that waits for more.
    windows: Vec<Window>,
    /// Up to where there is room in the file; the maximum where making it failed once.
    allocated: u64,
}

/// Memory for bytes on their way to the file.
struct Window {
    memory: AlignedBuffer,
    /// Where in the file its bytes belong: at a multiple of the block.
    at: u64,
    filled: usize,
}

impl Window {
    fn new() -> Result<Window> {
        // Memory of that size begins at a multiple of it.
        Ok(Window { memory: AlignedBuffer::zeroed(WINDOW)?, at: 0, filled: 0 })
    }

    fn bytes(&self) -> &[u8] {
        self.memory.as_slice().get(..self.filled).unwrap_or_default()
    }

    /// Takes the front of `bytes`, as far as there is room; the rest comes back.
    fn take<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let (now, later) = bytes.split_at(bytes.len().min(WINDOW.saturating_sub(self.filled)));
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
        let uncached = blocks::uncached(file).filter(|u| u.block <= WINDOW && u.memory <= WINDOW)?;
        let file = file.try_clone().ok()?;
        let mut windows = Vec::new();
        windows.try_reserve_exact(WINDOWS).ok()?;
        windows.push(Window::new().ok()?);
        Some(DirectSink { file, uncached, refused: AtomicBool::new(false), windows, allocated: 0 })
    }

    /// Appends all of `bytes`, on this thread.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let pieces = self.pieces(bytes, 1)?;
        pieces.write();
        pieces.done()
    }

    /// Takes in all of `bytes`, and says what of them, and of those that waited, is to be written now.
    pub fn pieces<'s>(&'s mut self, bytes: &'s [u8], threads: usize) -> Result<Pieces<'s>> {
        let (block, memory) = (self.uncached.block, self.uncached.memory);
        let refused = self.refused.load(Ordering::Relaxed);
        let Some(waiting) = self.windows.last_mut() else { return Err(fail!(State, "the file is closed")) };
        let head = waiting.filled.wrapping_neg() & block.wrapping_sub(1);
        let (front, rest) = bytes.split_at(head.min(bytes.len()));
        let lies_well = refused || (rest.as_ptr() as usize) % memory == 0;
        let straight = lies_well && rest.len() >= WINDOW;
        let rest = if straight {
            waiting.take(front);
            rest
        } else {
            waiting.take(bytes)
        };
        if !straight && waiting.filled < WINDOW {
            let work = Work { windows: Vec::new(), rest: &[], at: 0, outcome: Ok(()) };
            return Ok(Pieces { sink: self, work: Lock::new(work), straight, tail: &[] });
        }
        let grain = if straight { block } else { WINDOW };
        let (rest, tail) = rest.split_at(rest.len() - rest.len() % grain);
        let at = waiting.at.saturating_add(waiting.filled as u64);
        self.make_room(at.saturating_add(rest.len() as u64));
        if threads > 1 && self.windows.len() < WINDOWS && rest.len() > WINDOW {
            if let Ok(window) = Window::new() {
                self.windows.insert(0, window); // reserved when the sink was made
            }
        }
        let windows = std::mem::take(&mut self.windows);
        let work = Work { windows, rest, at, outcome: Ok(()) };
        Ok(Pieces { sink: self, work: Lock::new(work), straight, tail })
    }

    /// Asks for room up to `end`: the file then lies in few places, and writes do not wait for its size to change.
    fn make_room(&mut self, end: u64) {
        let _quiet = WithoutFileSizeSignal::new();
        if end > self.allocated {
            let made = blocks::allocate(&self.file, &(self.allocated..end));
            self.allocated = if made { end } else { u64::MAX };
        }
    }

    /// Writes whole blocks at their place.
    fn put(&self, mut at: u64, mut bytes: &[u8]) -> Result<()> {
        let all = bytes.len();
        let _quiet = WithoutFileSizeSignal::new();
        while !bytes.is_empty() {
            let refused = self.refused.load(Ordering::Relaxed);
            let whole = bytes.len() % self.uncached.block == 0;
            let file = if refused || !whole { &self.file } else { &self.uncached.file };
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
        let Some(waiting) = self.windows.last() else { return Err(fail!(State, "the file is closed")) };
        let bytes = waiting.bytes();
        let (whole, tail) = bytes.split_at(bytes.len() - bytes.len() % self.uncached.block);
        self.put(waiting.at, whole)?;
        self.put(waiting.at.saturating_add(whole.len() as u64), tail)?;
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
pub struct Pieces<'s> {
    sink: &'s mut DirectSink,
    work: Lock<Work<'s>>,
    /// Whether the bytes are written from where they are.
    straight: bool,
    /// What then waits.
    tail: &'s [u8],
}

struct Work<'s> {
    windows: Vec<Window>,
    /// What nobody took yet, and its place in the file.
    rest: &'s [u8],
    at: u64,
    outcome: Result<()>,
}

impl<'s> Work<'s> {
    fn next(&mut self, most: usize) -> Option<(u64, &'s [u8])> {
        let (now, later) = self.rest.split_at(self.rest.len().min(most));
        let at = self.at;
        (self.rest, self.at) = (later, at.saturating_add(now.len() as u64));
        (!now.is_empty()).then_some((at, now))
    }
}

impl Pieces<'_> {
    /// Writes pieces until none is left. Any number of threads may do so at once.
    pub fn write(&self) {
        // The one that waited is the last: it is full of whole blocks, the others are empty.
        let Some(mut window) = self.work.hold().windows.pop() else { return };
        let mut outcome = self.sink.put(window.at, window.bytes());
        window.filled = 0;
        let most = if self.straight { STRAIGHT } else { WINDOW };
        while outcome.is_ok() {
            let Some((at, bytes)) = self.work.hold().next(most) else { break };
            outcome = if self.straight {
                self.sink.put(at, bytes)
            } else {
                window.take(bytes);
                let done = self.sink.put(at, window.bytes());
                window.filled = 0;
                done
            };
        }
        let mut work = self.work.hold();
        work.windows.push(window); // to where it came from
        if outcome.is_err() {
            (work.outcome, work.rest) = (outcome, &[]);
        }
    }

    /// The end, when every thread is back.
    pub fn done(self) -> Result<()> {
        let Pieces { sink, work, tail, .. } = self;
        let Work { mut windows, at, outcome, .. } = work.into_inner();
        if let Some(waiting) = windows.last_mut() {
            waiting.at = at;
            waiting.take(tail);
            sink.windows = windows;
        }
        outcome
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::path::PathBuf;

    const SIZE: usize = 3 * STRAIGHT + 5 * WINDOW + 777;

    /// A file that goes when the test does.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Place {
            let name = format!("ztensor-direct-sink-{}-{name}", std::process::id());
            Place(std::env::temp_dir().join(name))
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

    impl Drop for Place {
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
        let place = Place::new("refused");
        let data = data();
        let lies: [fn(&mut Uncached); 4] =
            [|_| {}, |u| u.memory = 1, |u| u.block = 1, |u| (u.memory, u.block) = (1, 8)];
        for (number, lie) in lies.into_iter().enumerate() {
            for threads in [1, 2, 3] {
                let Some((_, mut sink)) = place.sink() else { return };
                lie(&mut sink.uncached);
                write(&mut sink, &data, threads).unwrap();
                assert_eq!(*sink.refused.get_mut(), number > 0, "lie {number}");
                assert!(std::fs::read(&place.0).unwrap() == data, "lie {number}, {threads} threads");
            }
        }
    }

    #[test]
    fn without_room_made_ahead_the_bytes_are_the_same() {
        let place = Place::new("no-room");
        let Some((_, mut sink)) = place.sink() else { return };
        sink.allocated = u64::MAX;
        write(&mut sink, &data(), 2).unwrap();
        assert!(std::fs::read(&place.0).unwrap() == data());
    }

    #[test]
    fn a_write_that_fails_on_any_thread_fails_the_sink() {
        let place = Place::new("fails");
        for threads in [1, 2] {
            let Some((_, mut sink)) = place.sink() else { return };
            sink.uncached.file = File::open(&place.0).unwrap(); // not for writing
            let error = write(&mut sink, &data(), threads).unwrap_err();
            assert!(error.message().contains("could not write"), "{error}");
        }
    }
}
