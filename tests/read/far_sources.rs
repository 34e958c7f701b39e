//! Slow sources: the library keeps as many reads in progress as the source's concurrency. Each has the size
//! of one request, and the next starts as soon as one ends.

use crate::common;

use common::{compressible, ReadOnly, Sample};
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use ztensor::error::Result;
use ztensor::model::dtype::Dtype;
use ztensor::reader::{BatchOptions, BatchStats, Direct, File, OpenOptions, Selection};
use ztensor::source::{ByteSource, Profile, ReadMany, ReadRange};
use ztensor::writer::{Algorithm, WriterOptions};

const LARGEST: u64 = 4 << 20;

/// The number of calls, the calls in progress and their maximum, and the size of the largest in bytes.
#[derive(Default)]
struct Calls {
    all: usize,
    now: usize,
    most: usize,
    largest: u64,
}

/// A source whose reads end once `at_once` of them are in progress, or were before.
struct Far {
    bytes: ReadOnly,
    at_once: usize,
    concurrency: usize,
    /// The gap up to which two ranges are read together.
    gap: u64,
    calls: Arc<(Mutex<Calls>, Condvar)>,
}

impl Far {
    fn called(&self, size: u64) {
        let (calls, more) = &*self.calls;
        let mut calls = calls.lock().unwrap();
        calls.all += 1;
        calls.now += 1;
        calls.most = calls.most.max(calls.now);
        calls.largest = calls.largest.max(size);
        more.notify_all();
        let waits = |calls: &mut Calls| calls.most < self.at_once;
        // If too few reads start, it ends after a timeout, and the test fails.
        let (mut calls, _) = more.wait_timeout_while(calls, Duration::from_secs(20), waits).unwrap();
        calls.now -= 1;
    }
}

impl ByteSource for Far {
    fn size(&self) -> u64 {
        self.bytes.size()
    }

    fn slice(&self, _: Range<u64>) -> Option<&[u8]> {
        None
    }

    fn read_at(&self, offset: u64, dst: &mut [u8]) -> Result<()> {
        self.read_many(&mut [ReadRange { offset, dst }])
    }

    fn read_many(&self, ranges: &mut [ReadRange<'_>]) -> Result<()> {
        self.called(ranges.iter().map(|range| range.dst.len() as u64).sum());
        ranges.iter_mut().try_for_each(|range| self.bytes.read_at(range.offset, range.dst))
    }

    fn profile(&self) -> Profile {
        let read_many = ReadMany::Anywhere;
        let Far { concurrency, gap, .. } = *self;
        Profile { concurrency, gap, largest_request: LARGEST, read_many, ..Profile::calls() }
    }
}

/// Reads all of these tensors with this number of threads, and returns the calls.
fn read(samples: &[Sample], concurrency: usize, at_once: usize, options: BatchOptions) -> (Calls, u32) {
    let written = WriterOptions { digest: Some(Algorithm::Crc32c), ..WriterOptions::default() };
    let bytes = ReadOnly(common::file_of(&written, samples));
    let calls: Arc<(Mutex<Calls>, Condvar)> = Arc::default();
    let (open, options) = (OpenOptions::default(), BatchOptions { direct: Direct::Auto, ..options });
    let gap = Profile::calls().gap;
    let source = Far { bytes, at_once, concurrency, gap, calls: Arc::clone(&calls) };
    calls.0.lock().unwrap().most = at_once; // opening does not wait
    let file = File::from_source(Box::new(source), &open, String::from("far")).unwrap();
    *calls.0.lock().unwrap() = Calls::default();
    let mut memory: Vec<Vec<u8>> =
        samples.iter().map(|sample| vec![0; sample.parts[0].bytes.len()]).collect();
    let mut requests: Vec<_> = (samples.iter().zip(&mut memory).zip(0..))
        .map(|((s, dst), tag)| common::data(&file, &s.name).request(&Selection::Whole, dst, tag).unwrap())
        .collect();
    let mut stats = BatchStats::default();
    File::read_batch(&mut requests, &options, &|_, _| (), &|_, _| true, &mut stats).unwrap();
    drop(requests);
    assert!(samples.iter().zip(&memory).all(|(sample, read)| sample.parts[0].bytes == *read));
    let calls = std::mem::take(&mut *calls.0.lock().unwrap());
    (calls, stats.threads)
}

fn samples(count: usize, size: usize) -> Vec<Sample> {
    let of = |at: usize| {
        Sample::dense(&format!("t{at}"), Dtype::U8, &[size as u64], compressible(size + at)[at..].to_vec())
    };
    (0..count).map(of).collect()
}

#[test]
fn as_many_requests_go_on_at_once_as_the_source_is_worth() {
    let samples = samples(7, LARGEST as usize);
    let (calls, threads) = read(&samples, 6, 6, BatchOptions::default());
    assert_eq!((calls.most, threads), (6, 6));
    assert!((7..=9).contains(&calls.all), "{} calls", calls.all);
    assert!(calls.largest <= LARGEST, "{} bytes in a call", calls.largest);
    // At most 16 threads: each asks for more bytes instead.
    let (calls, threads) = read(&samples, 28, 2, BatchOptions::default());
    assert!(threads <= 16 && calls.largest > LARGEST && calls.largest <= 2 * LARGEST, "{}", calls.largest);
    // As many as the caller's options allow.
    let (calls, threads) = read(&samples, 6, 2, BatchOptions { threads: 2, ..BatchOptions::default() });
    assert_eq!((calls.most, threads), (2, 2));
    assert!(calls.largest > LARGEST && calls.largest <= 3 * LARGEST, "{} bytes in a call", calls.largest);
}

#[test]
fn hashed_bytes_are_read_with_requests_of_the_usual_size() {
    let samples = samples(2, 3 * LARGEST as usize);
    let options = BatchOptions { verify: true, ..BatchOptions::default() };
    let (calls, _) = read(&samples, 2, 2, options);
    assert!(calls.all <= 8, "{} calls", calls.all);
    assert_eq!(calls.largest, LARGEST);
}

#[test]
fn memory_of_all_threads_is_within_the_callers_limit() {
    let samples = samples(7, LARGEST as usize);
    for (in_flight, expected) in [(256 << 10, 2), (1 << 20, 6), (1, 1)] {
        let (_, threads) = read(&samples, 6, 1, BatchOptions { in_flight, ..BatchOptions::default() });
        assert_eq!(threads, expected, "{in_flight}");
    }
}

/// An npz with this number of arrays, each of this size.
fn npz(count: usize, size: usize) -> Vec<u8> {
    let text = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({size},), }}");
    let array = [b"\x93NUMPY\x01\0", &[text.len() as u8, 0][..], text.as_bytes(), &vec![7; size]].concat();
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for at in 0..count {
        let (name, start) = (format!("{at}.npy"), file.len() as u32);
        let sizes = [0, array.len() as u32, array.len() as u32].map(u32::to_le_bytes).concat();
        let fields = [&[0; 10][..], &sizes, &[name.len() as u8, 0, 0, 0]].concat();
        file.extend([&b"PK\x03\x04"[..], &fields, name.as_bytes(), &array].concat());
        let rest = [&[0; 10][..], &start.to_le_bytes()].concat();
        directory.extend([&b"PK\x01\x02\0\0"[..], &fields, &rest, name.as_bytes()].concat());
    }
    let numbers = [directory.len() as u32, file.len() as u32].map(u32::to_le_bytes).concat();
    let counts = [(count as u16).to_le_bytes(); 2].concat();
    [&file[..], &directory, b"PK\x05\x06\0\0\0\0", &counts, &numbers, &[0; 2]].concat()
}

#[test]
fn an_archive_of_ten_thousand_members_is_opened_in_a_few_calls() {
    const MEMBERS: usize = 10_000;
    // Both ends, the directory, and the headers of the members: adjacent ones in one piece of 4 MiB, others
    // up to 1,024 in a call.
    for (size, gap, expected) in [(100, Profile::calls().gap, 3), (2000, 0, 2 + MEMBERS.div_ceil(1024))] {
        let calls: Arc<(Mutex<Calls>, Condvar)> = Arc::default();
        calls.0.lock().unwrap().most = 1;
        let bytes = ReadOnly(npz(MEMBERS, size));
        let source = Far { bytes, at_once: 1, concurrency: 1, gap, calls: Arc::clone(&calls) };
        let file = File::from_source(Box::new(source), &OpenOptions::default(), String::from("far")).unwrap();
        assert_eq!((file.object_count(), calls.0.lock().unwrap().all), (MEMBERS, expected), "{size}");
    }
}
