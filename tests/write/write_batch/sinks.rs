//! The thread that calls a sink, and the effect of its failure.

use super::*;
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use ztensor::sink::file_sink::FileSink;
use ztensor::sink::{ByteSink, WriteThreads};

/// A file's sink. It records the calls with threads: bytes, threads, and whether there was other work.
struct Watched {
    file: FileSink,
    calls: Arc<Mutex<Vec<(usize, usize, bool)>>>,
}

impl ByteSink for Watched {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write(bytes)
    }

    fn write_with_threads(&mut self, bytes: &[u8], threads: &WriteThreads<'_>) -> Result<()> {
        self.calls.lock().unwrap().push((bytes.len(), threads.count, threads.other_work.is_some()));
        self.file.write_with_threads(bytes, threads)
    }

    fn publish(&mut self) -> Result<()> {
        self.file.publish()
    }
}

#[test]
fn large_ones_are_written_with_threads_and_small_ones_are_not() {
    let (data, folder) = (data(), Folder::new());
    let path = folder.path("file.zt");
    let (crc32c, sha256) = (Some(Algorithm::Crc32c), Some(Algorithm::Sha256));
    let (large, medium) = (5 << 20, 2 << 20);
    for (size, count, threads, digest, expected) in [
        (large, 2, 2, None, vec![(large, 2, false); 2]),
        (large, 2, 4, crc32c, vec![(large, 4, true); 2]),
        (large, 1, 2, sha256, vec![(large, 2, true)]),
        (medium, 1, 2, sha256, vec![(medium, 2, true)]),
        (medium, 2, 2, crc32c, Vec::new()),
        (medium, 2, 2, None, Vec::new()),
        (large, 2, 1, sha256, Vec::new()), // only the caller's thread
        (large, 2, 2, sha256, Vec::new()), // the other thread hashes all of them
    ] {
        let objects: Vec<One> = (0..count).map(|at| one(format!("{at}"), size)).collect();
        for durable in [false, true] {
            let calls = Arc::default();
            let sink = Watched { file: FileSink::create(&path, durable).unwrap(), calls: Arc::clone(&calls) };
            let options = WriterOptions { threads, durable, digest, ..common::without_digests() };
            let mut writer = Writer::to_sink(Box::new(sink), &options).unwrap();
            writer.write_batch(&requests(&objects, &data)).unwrap();
            assert_eq!(writer.finish().unwrap().data_bytes, (count * size) as u64);
            let what = format!("{count} of {size}, {threads} threads, durable {durable}, {digest:?}");
            let calls = calls.lock().unwrap().clone();
            assert_eq!(calls, expected, "{what}");
            common::verify(&common::open(std::fs::read(&path).unwrap())).unwrap();
        }
    }
}

/// A sink that fails after some bytes, and records its callers.
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
            .ok_or_else(|| ztensor::error::Error::new(Cause::Io, format_args!("the sink is full")))?;
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
        assert!(error.message().contains("the sink is full"), "{error}");
        assert_eq!(writer.write_batch(&requests[..1]).unwrap_err().cause(), Cause::State);
        assert_eq!(writer.finish().unwrap_err().cause(), Cause::State);
    }
}
