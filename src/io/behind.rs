//! Gathered bytes on their way to a file on another thread, while the caller's gathers more: in order, what was given
//! first is written first. Where there is no other thread, the caller's writes them itself.

pub(crate) use super::gather::GATHER;

use super::gather::write_all;
use crate::error::{Error, Result};
use crate::lock::Lock;
use std::collections::VecDeque;
use std::fs::File;
use std::sync::Condvar;

/// Buffers beside the one that is being filled: enough for the thread that fills to be woken before the other has nothing
/// left to write.
const BUFFERS: usize = 16;

/// How often the thread that fills lets others go first before it sleeps: for some hundred microseconds. To be woken took
/// it up to two milliseconds where its processor, a virtual one, slept, too.
const TURNS: u32 = 2000;

/// Buffers between the thread that fills and the one that writes.
pub struct Behind {
    /// Who holds it writes; it stands where the sink's own handle does.
    file: Lock<File>,
    queue: Lock<Queue>,
    /// There is one more to write, or will be no more.
    given: Condvar,
    /// Some can be filled again, or never will be.
    freed: Condvar,
}

struct Queue {
    full: VecDeque<Vec<u8>>,
    free: Vec<Vec<u8>>,
    /// A thread is in [`Behind::work`].
    helped: bool,
    ended: bool,
    failed: bool,
    error: Option<Error>,
}

impl Behind {
    /// Goes on where `file` stands; none for lack of memory or of handles, where nothing is lost without it.
    pub(super) fn over(file: &File) -> Option<Behind> {
        let (mut full, mut free) = (VecDeque::new(), Vec::new());
        full.try_reserve_exact(BUFFERS.saturating_add(1)).ok()?;
        free.try_reserve_exact(BUFFERS.saturating_add(1)).ok()?;
        for _ in 0..BUFFERS {
            let mut buffer = Vec::new();
            buffer.try_reserve_exact(GATHER).ok()?;
            free.push(buffer);
        }
        let queue = Queue { full, free, helped: false, ended: false, failed: false, error: None };
        Some(Behind {
            file: Lock::new(file.try_clone().ok()?),
            queue: Lock::new(queue),
            given: Condvar::new(),
            freed: Condvar::new(),
        })
    }

    /// Leaves a full buffer to be written, for one that can be filled.
    pub(super) fn exchange(&self, full: Vec<u8>) -> Result<Vec<u8>> {
        self.queue.hold().full.push_back(full); // reserved: there are never more buffers than that
        self.given.notify_one();
        let mut turns = 0_u32;
        let mut queue = self.queue.hold();
        loop {
            if let Some(error) = queue.error.take() {
                return Err(error);
            }
            if let Some(buffer) = queue.free.pop() {
                return Ok(buffer);
            }
            if queue.helped && turns < TURNS {
                turns = turns.saturating_add(1);
                drop(queue);
                std::thread::yield_now();
                queue = self.queue.hold();
            } else if queue.helped {
                queue = queue.wait(&self.freed);
            } else {
                drop(queue);
                self.write_next();
                queue = self.queue.hold();
            }
        }
    }

    /// Writes on this thread until what [`Behind::ending`] gave is dropped.
    pub fn work(&self) {
        let _leaving = self.enter();
        loop {
            let mut queue = self.queue.hold();
            while queue.full.is_empty() && !queue.ended && !queue.failed {
                queue = queue.wait(&self.given);
            }
            if queue.full.is_empty() || queue.failed {
                return;
            }
            drop(queue);
            self.write_next();
        }
    }

    fn enter(&self) -> Leaving<'_> {
        self.queue.hold().helped = true;
        Leaving(self)
    }

    /// Ends the writing when it is dropped: by a panic, too, or the thread in [`Behind::work`] would wait for ever.
    pub fn ending(&self) -> Ending<'_> {
        Ending(self)
    }

    /// Nothing more will be given. What waits is written before the thread in [`Behind::work`] leaves, or here.
    fn end(&self) {
        let mut queue = self.queue.hold();
        queue.ended = true;
        self.given.notify_all();
        while !queue.helped && !queue.full.is_empty() && !queue.failed {
            drop(queue);
            self.write_next();
            queue = self.queue.hold();
        }
    }

    /// After all have left: whether everything that was given is written.
    pub fn outcome(self) -> Result<()> {
        self.queue.into_inner().error.map_or(Ok(()), Err)
    }

    /// Writes the buffer that was given first.
    fn write_next(&self) {
        let file = self.file.hold(); // before a buffer is taken, so that none overtakes another
        let Some(mut buffer) = self.queue.hold().full.pop_front() else { return };
        let written = write_all(&file, &buffer);
        drop(file);
        buffer.clear();
        let mut queue = self.queue.hold();
        queue.free.push(buffer);
        if let Err(error) = written {
            queue.failed = true;
            queue.error = Some(error);
        }
        // Not for every one: being woken for it would take longer than filling it.
        let worth_waking = queue.failed || queue.free.len() >= BUFFERS / 2;
        drop(queue);
        if worth_waking {
            self.freed.notify_one();
        }
    }
}

/// The thread that gives.
#[must_use]
pub struct Ending<'b>(&'b Behind);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Tells, whatever ended it, that the thread writes no more.
struct Leaving<'b>(&'b Behind);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.queue.hold().helped = false;
        self.0.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek, SeekFrom, Write};

    /// An empty file that is gone when it is closed.
    fn nameless() -> File {
        let path = std::env::temp_dir().join(format!("ztensor-behind-{}", std::process::id()));
        let path = path.with_extension(format!("{:?}", std::thread::current().id()));
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        file
    }

    /// Gives buffers of one letter each, and says what was written.
    fn given(behind: &Behind, count: usize) -> Result<()> {
        let mut buffer = Vec::with_capacity(GATHER);
        for at in 0..count {
            buffer.resize(GATHER, b'a' + (at % 26) as u8);
            buffer = behind.exchange(buffer)?;
            assert!(buffer.is_empty() && buffer.capacity() >= GATHER);
        }
        behind.end();
        Ok(())
    }

    fn is_in_order(mut file: &File, front: &[u8], count: usize) {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0)).unwrap();
        file.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes.len(), front.len() + count * GATHER);
        assert!(bytes.starts_with(front));
        for (at, buffer) in bytes[front.len()..].chunks(GATHER).enumerate() {
            assert!(buffer.iter().all(|b| *b == b'a' + (at % 26) as u8), "buffer {at}");
        }
    }

    #[test]
    fn buffers_are_written_in_order_with_and_without_another_thread() {
        for (helpers, count) in [(0, 0), (0, 1), (0, 40), (1, 0), (1, 3), (1, 60), (3, 60)] {
            let mut file = nameless();
            file.write_all(b"what is there").unwrap();
            let behind = Behind::over(&file).unwrap();
            std::thread::scope(|scope| {
                (0..helpers).for_each(|_| drop(scope.spawn(|| behind.work())));
                given(&behind, count).unwrap();
            });
            behind.outcome().unwrap();
            is_in_order(&file, b"what is there", count);
        }
    }

    #[test]
    fn what_is_given_is_written_meanwhile() {
        let file = nameless();
        let behind = Behind::over(&file).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| behind.work());
            let _ending = behind.ending();
            let mut buffer = Vec::with_capacity(GATHER);
            for at in 1..=3 {
                buffer.resize(GATHER, b'x');
                buffer = behind.exchange(buffer).unwrap();
                let due = (at * GATHER) as u64;
                let since = std::time::Instant::now();
                while file.metadata().unwrap().len() < due {
                    assert!(since.elapsed().as_secs() < 60, "nobody writes buffer {at}");
                    std::thread::yield_now();
                }
            }
        });
        behind.outcome().unwrap();
    }

    #[test]
    fn a_thread_that_comes_late_or_leaves_early_is_not_waited_for() {
        let file = nameless();
        let behind = Behind::over(&file).unwrap();
        drop(behind.enter()); // came and left: a panic would leave it so
        given(&behind, 20).unwrap();
        behind.work(); // all is written: it returns
        behind.outcome().unwrap();
        is_in_order(&file, b"", 20);
    }

    #[test]
    fn a_panic_of_the_one_that_gives_ends_the_other() {
        let file = nameless();
        let behind = Behind::over(&file).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| behind.work());
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let _ending = behind.ending();
                drop(behind.exchange(vec![b'a'; GATHER]).unwrap());
                panic!("a bug");
            }));
            assert!(panicked.is_err());
        });
        behind.outcome().unwrap();
        is_in_order(&file, b"", 1);
    }

    #[test]
    fn a_failure_is_told_once_and_nothing_waits_for_ever() {
        for helpers in [0, 1, 3] {
            for count in [1, 60] {
                let file = File::open("/dev/null").unwrap(); // for reading
                let behind = Behind::over(&file).unwrap();
                let outcome = std::thread::scope(|scope| {
                    (0..helpers).for_each(|_| drop(scope.spawn(|| behind.work())));
                    let outcome = given(&behind, count);
                    behind.end();
                    outcome
                });
                let outcome = outcome.and_then(|()| behind.outcome());
                let error = outcome.expect_err("a file for reading was written");
                assert!(error.message().contains(&format!("could not write {GATHER} bytes")), "{error}");
            }
        }
    }
}
