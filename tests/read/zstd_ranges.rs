//! Compressed tensors, and parts of them, from a source that is read. The bytes are right, only the needed
//! ones are read, and only once.

use crate::common;

use common::{Folder, Random, ReadOnly, Sample};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use ztensor::error::{Cause, Result};
use ztensor::model::dtype::Dtype;
use ztensor::model::manifest::Encoding;
use ztensor::reader::{
    BatchOptions, BatchStats, Direct, File, Hyperslab, Mode, OpenOptions, Request, Selection,
};
use ztensor::source::{ByteSource, PageCache};
use ztensor::writer::{Algorithm, WriterOptions};

/// The decoded size of a frame, and the number of frames.
const FRAME: usize = 4 << 10;
const FRAMES: usize = 1000;
/// The decoded size of all frames.
const SIZE: usize = FRAME * FRAMES;

/// A source that does not map. It counts the bytes that are read, and may report that they are in memory.
struct Source {
    bytes: ReadOnly,
    read: Arc<AtomicUsize>,
    resident: bool,
}

impl ByteSource for Source {
    fn size(&self) -> u64 {
        self.bytes.size()
    }

    fn slice(&self, range: Range<u64>) -> Option<&[u8]> {
        self.bytes.slice(range)
    }

    fn read_at(&self, offset: u64, dst: &mut [u8]) -> Result<()> {
        self.read.fetch_add(dst.len(), Ordering::Relaxed);
        self.bytes.read_at(offset, dst)
    }

    fn page_cache(&self) -> Option<&dyn PageCache> {
        Some(self)
    }
}

impl PageCache for Source {
    fn resident(&self, _offset: u64) -> Option<bool> {
        Some(self.resident)
    }
}

/// A file with one matrix in such frames, its content, and its stored size.
fn matrix(frame_size: usize, digest: Option<Algorithm>) -> (Vec<u8>, Vec<u8>, usize) {
    let mut random = Random(7);
    let content: Vec<u8> = (0..SIZE).map(|_| random.below(16) as u8).collect();
    let sample = Sample::dense("matrix", Dtype::U8, &[FRAMES as u64, FRAME as u64], content.clone());
    let options = WriterOptions {
        encoding: Encoding::Zstd,
        frame_size: frame_size as u64,
        digest,
        ..common::without_digests()
    };
    let bytes = common::file_of(&options, &[sample]);
    let file = common::open(bytes.clone());
    let stored = common::data(&file, "matrix").stored_size();
    (bytes, content, usize::try_from(stored).unwrap())
}

fn open(bytes: &[u8], resident: bool) -> (File, Arc<AtomicUsize>) {
    let read = Arc::default();
    let source = Source { bytes: ReadOnly(bytes.to_vec()), read: Arc::clone(&read), resident };
    let file = File::from_source(Box::new(source), &OpenOptions::default(), String::from("counted")).unwrap();
    (file, read)
}

#[test]
fn a_range_reads_the_frames_around_it_and_no_others() {
    let (bytes, content, stored) = matrix(FRAME, None);
    // The number of frames between two kept positions.
    let most = (stored / FRAMES + 32) * 4;
    for resident in [false, true] {
        let (file, read) = open(&bytes, resident);
        let component = common::data(&file, "matrix");
        for (at, length) in [(5, 10), (0, 1), (FRAME * 500 - 1, 2), (FRAME * 999, FRAME), (FRAME * 7, 0)] {
            let before = read.load(Ordering::Relaxed);
            let mut dst = vec![0x5a; length];
            component.read_range(at as u64, &mut dst).unwrap();
            assert!(dst == content[at..at + length], "{length} bytes at {at}");
            let took = read.load(Ordering::Relaxed) - before;
            // The first range walks all headers; one read contains many of them.
            let walk = if before > 0 && at != 5 { 0 } else { stored };
            assert!(
                took <= walk + 2 * most,
                "{length} bytes at {at}: {took} read of {stored}, {walk} to walk"
            );
        }
        let before = read.load(Ordering::Relaxed);
        let mut dst = vec![0; 3 * 100];
        let slab = Hyperslab { start: &[300, 20], count: &[3, 100], step: None };
        component.object().read_slice(&slab, &mut dst).unwrap();
        let wanted: Vec<u8> =
            (300..303).flat_map(|row| &content[row * FRAME + 20..][..100]).copied().collect();
        assert!(dst == wanted);
        assert!(read.load(Ordering::Relaxed) - before <= 3 * most);
    }
}

#[test]
fn a_range_of_few_stored_bytes_reads_them_once() {
    let content = common::compressible(100 * FRAME);
    let sample = Sample::dense("matrix", Dtype::U8, &[100, FRAME as u64], content.clone());
    let frame_size = FRAME as u64;
    let options = WriterOptions { encoding: Encoding::Zstd, frame_size, ..WriterOptions::default() };
    let (file, read) = open(&common::file_of(&options, &[sample]), false);
    let component = common::data(&file, "matrix");
    let stored = component.stored_size() as usize;
    assert!(stored > 4 << 10 && stored < 128 << 10, "{stored}");
    for at in [0, 5000, 50 * FRAME] {
        let before = read.load(Ordering::Relaxed);
        let mut dst = [0; 100];
        component.read_range(at as u64, &mut dst).unwrap();
        assert!(dst == content[at..][..100]);
        assert_eq!(read.load(Ordering::Relaxed) - before, stored);
    }
}

#[test]
fn finding_frames_of_a_cached_file_reads_little_more_than_their_headers() {
    let (bytes, content, stored) = matrix(128 << 10, None);
    for (resident, most) in [(true, stored / 4), (false, stored + stored / 16)] {
        let (file, read) = open(&bytes, resident);
        let before = read.load(Ordering::Relaxed);
        let mut dst = [0; 10];
        common::data(&file, "matrix").read_range(SIZE as u64 / 2, &mut dst).unwrap();
        assert!(dst == content[SIZE / 2..][..10]);
        let took = read.load(Ordering::Relaxed) - before;
        assert!(took > stored / 64 && took < most, "{took} of {stored}, resident {resident}");
    }
}

/// Reads the complete matrix in a batch.
fn whole(file: &File, options: &BatchOptions) -> Result<(Vec<u8>, BatchStats)> {
    let (mut dst, mut stats) = (vec![0; SIZE], BatchStats::default());
    let component = common::data(file, "matrix");
    let mut requests = [component.request(&Selection::Whole, &mut dst, 0)?];
    File::read_batch(&mut requests, options, &|_, _| (), &|_, _| true, &mut stats)?;
    Ok((dst, stats))
}

#[test]
fn a_complete_component_is_read_once_to_decode_and_verify_it() {
    for (digest, resident) in [(None, false), (None, true), (Some(Algorithm::Crc32c), true)] {
        let (bytes, content, stored) = matrix(128 << 10, digest);
        let at = common::data(&common::open(bytes.clone()), "matrix").offset() as usize;
        for (threads, in_flight, verify) in
            [(1, 1 << 20, false), (3, 256 << 20, false), (2, 1, true), (2, 1, false)]
        {
            let options =
                BatchOptions { threads, in_flight, verify, chunk_size: 64 << 10, ..BatchOptions::default() };
            let (file, read) = open(&bytes, resident);
            let before = read.load(Ordering::Relaxed);
            let (found, stats) = whole(&file, &options).unwrap();
            assert!(found == content, "{threads} threads, {in_flight} in flight");
            assert_eq!(stats.stored_bytes as usize, stored);
            let checked = verify && digest.is_some();
            assert_eq!(stats.digests_verified, u64::from(checked));
            // Headers are only walked first if that does not read everything twice.
            let took = read.load(Ordering::Relaxed) - before;
            let walk = if resident && !checked { stored / 8 } else { 0 };
            assert!((stored..=stored + walk).contains(&took), "{took} of {stored}, resident {resident}");
            let mut bad = bytes.clone();
            bad[at + stored / 2..][..128 << 10].fill(0x77); // more than the stored size of a frame
            let refused = whole(&open(&bad, resident).0, &options).map(drop).unwrap_err();
            let broken = matches!(refused.cause(), Cause::Broken(_));
            assert!(if checked { refused.cause() == Cause::DigestMismatch } else { broken }, "{refused}");
        }
    }
}

#[test]
fn frames_come_from_a_file_by_every_read_strategy() {
    let folder = Folder::new();
    let path = folder.path("matrix.zt");
    let (bytes, content, _) = matrix(128 << 10, None);
    std::fs::write(&path, &bytes).unwrap();
    for mode in [Mode::Map, Mode::Read] {
        let file = File::open(&path, &OpenOptions { mode, ..OpenOptions::default() }).unwrap();
        for direct in [Direct::Auto, Direct::Never, Direct::Always] {
            for in_flight in [1, 256 << 20] {
                let options = BatchOptions {
                    threads: 2,
                    direct,
                    in_flight,
                    chunk_size: 1 << 20,
                    ..BatchOptions::default()
                };
                match whole(&file, &options) {
                    Ok((found, _)) => assert!(found == content, "{mode:?}, {direct:?}"),
                    Err(e) => assert!(direct == Direct::Always && e.cause() == Cause::Unsupported, "{e}"),
                }
            }
        }
        assert!(common::read(&common::data(&file, "matrix")) == content);
    }
}

#[test]
fn a_batch_counts_what_its_ranges_needed() {
    let (bytes, content, stored) = matrix(FRAME, None);
    let (file, read) = open(&bytes, true);
    let before = read.load(Ordering::Relaxed);
    let component = common::data(&file, "matrix");
    let mut memory = vec![0; 200 * 500];
    let place = |at: usize| (at * 7919 * 13) % (content.len() - 500);
    let part = |at: usize| Selection::Range { offset: place(at) as u64, length: 500 };
    let mut requests: Vec<Request<'_>> = (memory.chunks_mut(500).enumerate())
        .map(|(at, dst)| component.request(&part(at), dst, 0).unwrap())
        .collect();
    let mut stats = BatchStats::default();
    let options = BatchOptions { in_flight: 1, threads: 2, ..BatchOptions::default() };
    File::read_batch(&mut requests, &options, &|_, _| (), &|_, _| true, &mut stats).unwrap();
    for (at, found) in memory.chunks(500).enumerate() {
        assert!(*found == content[place(at)..][..500], "{at}");
    }
    let (least, most) = (200 * 20, 200 * (stored / FRAMES + 32) * 8);
    let counted = stats.stored_bytes as usize;
    assert!((least..most).contains(&counted), "{counted} of {stored}");
    // Only headers in addition, which each thread may have walked.
    let took = read.load(Ordering::Relaxed) - before;
    assert!(
        (counted..=counted + 2 * (stored + stored / 16)).contains(&took),
        "{took} read, {counted} counted"
    );
}
