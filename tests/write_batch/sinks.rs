//! Which thread hands what to a sink, and what becomes of its failure.

use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use ztensor::sink::file_sink::FileSink;
use ztensor::sink::write_behind::WriteBehind;
use ztensor::sink::ByteSink;

/// A file's sink, and how many bytes were left to another thread.
struct Watched {
    file: FileSink,
    left: Arc<AtomicUsize>,
}

impl ByteSink for Watched {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write(bytes)
    }

    fn write_behind_queue(&mut self) -> Option<WriteBehind> {
        self.file.write_behind_queue()
    }

    fn write_behind(&mut self, bytes: &[u8], write_behind_queue: &WriteBehind) -> Result<()> {
        self.left.fetch_add(bytes.len(), Ordering::Relaxed);
        self.file.write_behind(bytes, write_behind_queue)
    }

    fn publish(&mut self) -> Result<()> {
        self.file.publish()
    }
}

#[test]
fn another_thread_writes_small_ones_where_there_are_enough_and_it_may() {
    let (data, folder) = (data(), Folder::new());
    let path = folder.path("file.zt");
    let (crc32c, sha256) = (Some(Algorithm::Crc32c), Some(Algorithm::Sha256));
    for (count, size, threads, durable, digest, is_left) in [
        (1200, 4096, 2, false, None, true),
        (1200, 4096, 8, false, crc32c, true),
        (1200, 4096, 1, false, None, false),    // the caller's thread alone
        (900, 4096, 2, false, None, false),     // too little
        (20, 300 << 10, 2, false, None, false), // each a write of its own
        (1200, 4096, 2, true, None, false),     // past the page cache
        (1200, 4096, 2, false, sha256, false),  // the other one hashes
    ] {
        let objects: Vec<One> = (0..count).map(|at| one(format!("{at}"), size)).collect();
        let left = Arc::default();
        let sink = Watched { file: FileSink::create(&path, durable).unwrap(), left: Arc::clone(&left) };
        let options = WriterOptions { threads, durable, digest, ..WriterOptions::default() };
        let mut writer = Writer::to_sink(Box::new(sink), &options).unwrap();
        writer.write_batch(&requests(&objects, &data)).unwrap();
        let summary = writer.finish().unwrap();
        assert_eq!(summary.data_bytes, (count * size) as u64);
        let left = left.load(Ordering::Relaxed);
        let what = format!("{count} of {size}, {threads} threads, durable {durable}, {digest:?}: {left}");
        assert!(if is_left { left >= count * size } else { left == 0 }, "{what}");
        common::verify(&common::open(std::fs::read(&path).unwrap())).unwrap();
    }
}

/// A sink that fails from some byte on, and notes who calls it.
struct Failing {
    left: usize,
    callers: Arc<Mutex<Vec<ThreadId>>>,
}

impl ByteSink for Failing {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.callers.lock().unwrap().push(std::thread::current().id());
        self.left = self
            .left
            .checked_sub(bytes.len())
            .ok_or_else(|| ztensor::error::Error::new(Cause::Io, format_args!("it is full")))?;
        Ok(())
    }

    fn publish(&mut self) -> Result<()> {
        Ok(())
    }
}

#[test]
fn a_sink_is_called_from_the_callers_thread_and_its_failure_is_for_good() {
    let data = data();
    let objects = [mix(4, 60, false), mix(5, 60, true)].concat_all();
    let requests = requests(&objects, &data);
    let size = requests.iter().fold(0, |sum, r| sum + r.data.len());
    for (threads, part) in [(1, 0), (2, 1), (8, 5), (8, 60), (2, 200)] {
        let callers = Arc::new(Mutex::new(Vec::new()));
        let sink = Failing { left: 8 + size * part / 100, callers: callers.clone() };
        let options = WriterOptions { threads, digest: Some(Algorithm::Sha256), ..WriterOptions::default() };
        let mut writer = Writer::to_sink(Box::new(sink), &options).unwrap();
        let outcome = writer.write_batch(&requests);
        let me = std::thread::current().id();
        assert!(callers.lock().unwrap().iter().all(|caller| *caller == me));
        if part > 100 {
            outcome.unwrap();
            writer.finish().unwrap();
            continue;
        }
        let error = outcome.unwrap_err();
        assert_eq!(error.cause(), Cause::Io);
        assert!(error.message().contains("it is full"), "{error}");
        assert_eq!(writer.write_batch(&requests[..1]).unwrap_err().cause(), Cause::State);
        assert_eq!(writer.finish().unwrap_err().cause(), Cause::State);
    }
}
