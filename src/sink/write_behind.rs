//! Buffered bytes on their way to a file on another thread, while the caller's buffers more: in order, what was given
//! first is written first. Where there is no other thread, the caller's writes them itself.

pub(crate) use super::write_all::BUFFER_SIZE;

use super::write_all::write_all;
use crate::error::{Error, Result};
use crate::lock::Mutex;
use std::collections::VecDeque;
use std::fs::File;
use std::sync::Condvar;

/// Buffers beside the one that is being filled: enough for the thread that fills to be woken before the other has nothing
/// left to write.
const SPARE_BUFFERS: usize = 16;

/// How often the thread that fills lets others go first before it sleeps: for some hundred microseconds. To be woken took
/// it up to two milliseconds where its processor, a virtual one, slept, too.
const MAX_YIELDS: u32 = 2000;

/// Buffers between the thread that fills and the one that writes.
pub struct WriteBehind {
    /// Who holds it writes; it stands where the sink's own handle does.
    file: Mutex<File>,
    queue: Mutex<Queue>,
    /// There is one more to write, or will be no more.
    submitted: Condvar,
    /// Some can be filled again, or never will be.
    freed: Condvar,
}

struct Queue {
    full: VecDeque<Vec<u8>>,
    free: Vec<Vec<u8>>,
    /// A thread is in [`WriteBehind::work`].
    has_worker: bool,
    closed: bool,
    failed: bool,
    error: Option<Error>,
}

impl WriteBehind {
    /// Goes on where `file` stands; none for lack of memory or of handles, where nothing is lost without it.
    pub(super) fn over(file: &File) -> Option<WriteBehind> {
        let (mut full, mut free) = (VecDeque::new(), Vec::new());
        full.try_reserve_exact(SPARE_BUFFERS.saturating_add(1)).ok()?;
        free.try_reserve_exact(SPARE_BUFFERS.saturating_add(1)).ok()?;
        for _ in 0..SPARE_BUFFERS {
            let mut buffer = Vec::new();
            buffer.try_reserve_exact(BUFFER_SIZE).ok()?;
            free.push(buffer);
        }
        let queue = Queue { full, free, has_worker: false, closed: false, failed: false, error: None };
        Some(WriteBehind {
            file: Mutex::new(file.try_clone().ok()?),
            queue: Mutex::new(queue),
            submitted: Condvar::new(),
            freed: Condvar::new(),
        })
    }

    /// Leaves a full buffer to be written, for one that can be filled.
    pub(super) fn submit(&self, full: Vec<u8>) -> Result<Vec<u8>> {
        self.queue.lock().full.push_back(full); // reserved: there are never more buffers than that
        self.submitted.notify_one();
        let mut yields = 0_u32;
        let mut queue = self.queue.lock();
        loop {
            if let Some(error) = queue.error.take() {
                return Err(error);
            }
            if let Some(buffer) = queue.free.pop() {
                return Ok(buffer);
            }
            if queue.has_worker && yields < MAX_YIELDS {
                yields = yields.saturating_add(1);
                drop(queue);
                std::thread::yield_now();
                queue = self.queue.lock();
            } else if queue.has_worker {
                queue = queue.wait(&self.freed);
            } else {
                drop(queue);
                self.write_next();
                queue = self.queue.lock();
            }
        }
    }

    /// Writes on this thread until what [`WriteBehind::close_guard`] gave is dropped.
    pub fn work(&self) {
        let _guard = self.begin_work();
        loop {
            let mut queue = self.queue.lock();
            while queue.full.is_empty() && !queue.closed && !queue.failed {
                queue = queue.wait(&self.submitted);
            }
            if queue.full.is_empty() || queue.failed {
                return;
            }
            drop(queue);
            self.write_next();
        }
    }

    fn begin_work(&self) -> WorkerGuard<'_> {
        self.queue.lock().has_worker = true;
        WorkerGuard(self)
    }

    /// Ends the writing when it is dropped: by a panic, too, or the thread in [`WriteBehind::work`] would wait for ever.
    pub fn close_guard(&self) -> CloseGuard<'_> {
        CloseGuard(self)
    }

    /// Nothing more will be given. What waits is written before the thread in [`WriteBehind::work`] leaves, or here.
    fn close(&self) {
        let mut queue = self.queue.lock();
        queue.closed = true;
        self.submitted.notify_all();
        while !queue.has_worker && !queue.full.is_empty() && !queue.failed {
            drop(queue);
            self.write_next();
            queue = self.queue.lock();
        }
    }

    /// After all have left: whether everything that was given is written.
    pub fn outcome(self) -> Result<()> {
        self.queue.into_inner().error.map_or(Ok(()), Err)
    }

    /// Writes the buffer that was given first.
    fn write_next(&self) {
        let file = self.file.lock(); // before a buffer is taken, so that none overtakes another
        let Some(mut buffer) = self.queue.lock().full.pop_front() else { return };
        let written = write_all(&file, &buffer);
        drop(file);
        buffer.clear();
        let mut queue = self.queue.lock();
        queue.free.push(buffer);
        if let Err(error) = written {
            queue.failed = true;
            queue.error = Some(error);
        }
        // Not for every one: being woken for it would take longer than filling it.
        let worth_waking = queue.failed || queue.free.len() >= SPARE_BUFFERS / 2;
        drop(queue);
        if worth_waking {
            self.freed.notify_one();
        }
    }
}

/// The thread that gives.
#[must_use]
pub struct CloseGuard<'b>(&'b WriteBehind);

impl Drop for CloseGuard<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Records, whatever ended it, that the thread writes no more.
struct WorkerGuard<'b>(&'b WriteBehind);

impl Drop for WorkerGuard<'_> {
    fn drop(&mut self) {
        self.0.queue.lock().has_worker = false;
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
    fn submit_all(queue: &WriteBehind, count: usize) -> Result<()> {
        let mut buffer = Vec::with_capacity(BUFFER_SIZE);
        for at in 0..count {
            buffer.resize(BUFFER_SIZE, b'a' + (at % 26) as u8);
            buffer = queue.submit(buffer)?;
            assert!(buffer.is_empty() && buffer.capacity() >= BUFFER_SIZE);
        }
        queue.close();
        Ok(())
    }

    fn is_in_order(mut file: &File, front: &[u8], count: usize) {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0)).unwrap();
        file.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes.len(), front.len() + count * BUFFER_SIZE);
        assert!(bytes.starts_with(front));
        for (at, buffer) in bytes[front.len()..].chunks(BUFFER_SIZE).enumerate() {
            assert!(buffer.iter().all(|b| *b == b'a' + (at % 26) as u8), "buffer {at}");
        }
    }

    #[test]
    fn buffers_are_written_in_order_with_and_without_another_thread() {
        for (helpers, count) in [(0, 0), (0, 1), (0, 40), (1, 0), (1, 3), (1, 60), (3, 60)] {
            let mut file = nameless();
            file.write_all(b"what is there").unwrap();
            let queue = WriteBehind::over(&file).unwrap();
            std::thread::scope(|scope| {
                (0..helpers).for_each(|_| drop(scope.spawn(|| queue.work())));
                submit_all(&queue, count).unwrap();
            });
            queue.outcome().unwrap();
            is_in_order(&file, b"what is there", count);
        }
    }

    #[test]
    fn what_is_given_is_written_meanwhile() {
        let file = nameless();
        let queue = WriteBehind::over(&file).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| queue.work());
            let _close = queue.close_guard();
            let mut buffer = Vec::with_capacity(BUFFER_SIZE);
            for at in 1..=3 {
                buffer.resize(BUFFER_SIZE, b'x');
                buffer = queue.submit(buffer).unwrap();
                let due = (at * BUFFER_SIZE) as u64;
                let since = std::time::Instant::now();
                while file.metadata().unwrap().len() < due {
                    assert!(since.elapsed().as_secs() < 60, "nobody writes buffer {at}");
                    std::thread::yield_now();
                }
            }
        });
        queue.outcome().unwrap();
    }

    #[test]
    fn a_thread_that_comes_late_or_leaves_early_is_not_waited_for() {
        let file = nameless();
        let queue = WriteBehind::over(&file).unwrap();
        drop(queue.begin_work()); // came and left: a panic would leave it so
        submit_all(&queue, 20).unwrap();
        queue.work(); // all is written: it returns
        queue.outcome().unwrap();
        is_in_order(&file, b"", 20);
    }

    #[test]
    fn a_panic_of_the_one_that_gives_ends_the_other() {
        let file = nameless();
        let queue = WriteBehind::over(&file).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| queue.work());
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let _close = queue.close_guard();
                drop(queue.submit(vec![b'a'; BUFFER_SIZE]).unwrap());
                panic!("a bug");
            }));
            assert!(panicked.is_err());
        });
        queue.outcome().unwrap();
        is_in_order(&file, b"", 1);
    }

    #[test]
    fn a_failure_is_reported_once_and_nothing_waits_for_ever() {
        for helpers in [0, 1, 3] {
            for count in [1, 60] {
                let file = File::open("/dev/null").unwrap(); // for reading
                let queue = WriteBehind::over(&file).unwrap();
                let outcome = std::thread::scope(|scope| {
                    (0..helpers).for_each(|_| drop(scope.spawn(|| queue.work())));
                    let outcome = submit_all(&queue, count);
                    queue.close();
                    outcome
                });
                let outcome = outcome.and_then(|()| queue.outcome());
                let error = outcome.expect_err("a file for reading was written");
                assert!(error.message().contains(&format!("could not write {BUFFER_SIZE} bytes")), "{error}");
            }
        }
    }
}
