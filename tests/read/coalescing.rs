//! Short tensors that are near each other: few calls fill all of them, each in its memory. An error of one is
//! reported for that one.

use crate::common;

use common::{compressible, Folder, ReadOnly, Sample};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use ztensor::error::{Cause, Result};
use ztensor::model::dtype::Dtype;
use ztensor::reader::{BatchOptions, BatchStats, Direct, File, OpenOptions, Request, Selection};
use ztensor::source::{ByteSource, Profile, ReadMany, ReadRange};
use ztensor::writer::{Algorithm, WriterOptions};

/// Reads into one piece of memory, and reads into several.
#[derive(Default)]
struct Calls {
    plain: usize,
    scattered: usize,
}

/// A file that counts its reads. It fills several pieces at once only if it `scatters`.
struct Source {
    bytes: ReadOnly,
    scatters: bool,
    calls: Arc<Mutex<Calls>>,
}

impl ByteSource for Source {
    fn size(&self) -> u64 {
        self.bytes.size()
    }

    fn slice(&self, range: Range<u64>) -> Option<&[u8]> {
        self.bytes.slice(range)
    }

    fn read_at(&self, offset: u64, dst: &mut [u8]) -> Result<()> {
        self.calls.lock().unwrap().plain += 1;
        self.bytes.read_at(offset, dst)
    }

    fn read_many(&self, ranges: &mut [ReadRange<'_>]) -> Result<()> {
        self.calls.lock().unwrap().scattered += 1;
        assert!(self.scatters && ranges.len() <= 1024, "more than one call of Linux accepts");
        let mut at = ranges[0].offset;
        for range in ranges {
            assert_eq!(range.offset, at, "the ranges leave a gap");
            at += range.dst.len() as u64;
            self.bytes.read_at(range.offset, range.dst)?;
        }
        Ok(())
    }

    fn profile(&self) -> Profile {
        match self.scatters {
            true => Profile::file(),
            false => Profile { read_many: ReadMany::OneByOne, ..Profile::file() },
        }
    }
}

/// Tensors of all short sizes, including 0. Every hundredth has the largest short size.
fn samples() -> Vec<Sample> {
    let size = |at: usize| if at % 100 == 0 { 64 << 10 } else { at * 37 % 3000 };
    let of = |at: usize| {
        let bytes = compressible(size(at) + at)[at..].to_vec();
        Sample::dense(&format!("t{at}"), Dtype::U8, &[bytes.len() as u64], bytes)
    };
    (0..2000).map(of).collect()
}

/// The requested part of the tensor at an index.
type Ask = (usize, Range<usize>);

/// The result of each request, the result of the batch, and the requests reported as done, with success or
/// failure.
type Outcome = (Vec<Vec<u8>>, Result<BatchStats>, Vec<(u64, bool)>);

/// Reads these parts of tensors as one batch.
fn batch(file: &File, samples: &[Sample], asks: &[Ask], options: &BatchOptions) -> Outcome {
    let mut memory: Vec<Vec<u8>> = asks.iter().map(|(_, range)| vec![0xaa; range.len()]).collect();
    let part = |(at, range): &Ask| match samples[*at].parts[0].bytes.len() == range.len() {
        true => Selection::Whole,
        false => Selection::Range { offset: range.start as u64, length: range.len() as u64 },
    };
    let component = |at: usize| common::data(file, &samples[at].name);
    let mut requests: Vec<Request<'_>> = (asks.iter().zip(&mut memory).zip(0..))
        .map(|((ask, dst), tag)| component(ask.0).request(&part(ask), dst, tag).unwrap())
        .collect();
    let (reports, mut stats) = (Mutex::new(Vec::new()), BatchStats::default());
    let report = |tag: u64, outcome: &Result<()>| reports.lock().unwrap().push((tag, outcome.is_ok()));
    let parts = AtomicUsize::new(0);
    let progress = |_, _| parts.fetch_add(1, Ordering::Relaxed) < usize::MAX;
    let outcome = File::read_batch(&mut requests, options, &report, &progress, &mut stats);
    drop(requests);
    let short = asks.iter().all(|(_, range)| range.len() <= 64 << 10);
    if outcome.is_ok() && short && options.chunk_size >= 64 << 10 {
        assert_eq!(parts.into_inner(), asks.len(), "a short read was cut");
    }
    (memory, outcome.map(|()| stats), reports.into_inner().unwrap())
}

fn wanted(samples: &[Sample], asks: &[Ask]) -> Vec<Vec<u8>> {
    asks.iter().map(|(at, range)| samples[*at].parts[0].bytes[range.clone()].to_vec()).collect()
}

fn whole(samples: &[Sample]) -> Vec<Ask> {
    samples.iter().enumerate().map(|(at, s)| (at, 0..s.parts[0].bytes.len())).collect()
}

#[test]
fn short_tensors_are_filled_in_their_places_by_few_calls() {
    let samples = samples();
    let every_third: Vec<Ask> = whole(&samples).into_iter().step_by(3).rev().collect();
    let inner: Vec<Ask> = whole(&samples).into_iter().map(|(at, r)| (at, r.len() / 3..r.len() / 2)).collect();
    let cases = [("all", whole(&samples)), ("every third, backwards", every_third), ("ranges", inner)];
    for digest in [None, Some(Algorithm::Crc32c), Some(Algorithm::Sha256)] {
        let bytes = common::file_of(&WriterOptions { digest, ..WriterOptions::default() }, &samples);
        for (what, asks) in &cases {
            for (scatters, threads) in [(true, 1), (true, 3), (false, 1), (false, 3)] {
                let calls = Arc::default();
                let source = Source { bytes: ReadOnly(bytes.clone()), scatters, calls: Arc::clone(&calls) };
                let options = OpenOptions::default();
                let file = File::from_source(Box::new(source), &options, String::from("counted")).unwrap();
                *calls.lock().unwrap() = Calls::default();
                let options = BatchOptions { threads, verify: true, ..BatchOptions::default() };
                let (found, outcome, reports) = batch(&file, &samples, asks, &options);
                let case = format!("{what}, digest {digest:?}, scatters {scatters}, {threads} threads");
                let stats = outcome.unwrap_or_else(|e| panic!("{case}: {}", e.message()));
                assert!(found == wanted(&samples, asks), "{case}");
                assert_eq!((stats.requests, reports.len()), (asks.len() as u64, asks.len()), "{case}");
                let digests = if digest.is_some() && *what != "ranges" { asks.len() } else { 0 };
                assert!(stats.digests_verified >= digests as u64, "{case}: {}", stats.digests_verified);
                let calls = calls.lock().unwrap();
                let (used, unused) =
                    if scatters { (calls.scattered, calls.plain) } else { (calls.plain, calls.scattered) };
                assert!((1..=asks.len() / 40).contains(&used), "{case}: {used} calls");
                assert!(unused <= asks.len() / 60, "{case}: {unused} calls of the other kind");
            }
        }
    }
}

#[test]
fn bytes_that_several_requests_want_reach_all_of_them() {
    let samples = samples();
    let folder = Folder::new();
    let path = folder.0.join("wanted-twice.zt");
    std::fs::write(&path, common::file_of(&WriterOptions::default(), &samples)).unwrap();
    let file = File::open(&path, &OpenOptions::default()).unwrap();
    let mut asks = whole(&samples);
    asks.extend(whole(&samples).into_iter().skip(500).take(300));
    asks.extend(
        (900..1000).map(|at| (at, 1.min(samples[at].parts[0].bytes.len())..samples[at].parts[0].bytes.len())),
    );
    for direct in [Direct::Never, Direct::Auto] {
        let options = BatchOptions { direct, threads: 2, ..BatchOptions::default() };
        let (found, outcome, _) = batch(&file, &samples, &asks, &options);
        assert_eq!(outcome.unwrap_or_else(|e| panic!("{}", e.message())).requests, asks.len() as u64);
        assert!(found == wanted(&samples, &asks), "{direct:?}");
    }
}

#[test]
fn a_wrong_digest_and_missing_bytes_are_reported_of_their_own_tensor() {
    let samples = samples();
    let folder = Folder::new();
    let path = folder.0.join("broken.zt");
    let options = WriterOptions { digest: Some(Algorithm::Crc32c), ..WriterOptions::default() };
    let sound = common::file_of(&options, &samples);
    let asks = whole(&samples);
    let offset = |file: &File, at: usize| common::data(file, &samples[at].name).offset();
    for victim in [1, 777, 1999] {
        std::fs::write(&path, &sound).unwrap();
        let file = File::open(&path, &OpenOptions::default()).unwrap();
        let place = offset(&file, victim);
        let mut broken = sound.clone();
        broken[place as usize] ^= 1;
        std::fs::write(&path, &broken).unwrap(); // in place, so that the open file has the new bytes
        let options = BatchOptions { verify: true, threads: 1, ..BatchOptions::default() };
        let (_, outcome, reports) = batch(&file, &samples, &asks, &options);
        let error = outcome.unwrap_err();
        assert_eq!(error.cause(), Cause::DigestMismatch, "{}", error.message());
        assert!(error.message().contains(&format!("\"t{victim}\"")), "{}", error.message());
        assert_eq!(reports.iter().filter(|(_, sound)| !sound).count(), 1);
        assert!(reports.contains(&(victim as u64, false)));
    }
    std::fs::write(&path, &sound).unwrap();
    let file =
        File::open(&path, &OpenOptions { mode: ztensor::reader::Mode::Read, ..OpenOptions::default() })
            .unwrap();
    let victim = 1500;
    let end = offset(&file, victim);
    std::fs::File::options().write(true).open(&path).unwrap().set_len(end).unwrap();
    let (_, outcome, reports) =
        batch(&file, &samples, &asks, &BatchOptions { threads: 1, ..BatchOptions::default() });
    let error = outcome.unwrap_err();
    assert_eq!(error.cause(), Cause::Io, "{}", error.message());
    assert!(error.message().contains("changed since it was opened"), "{}", error.message());
    assert!(reports.iter().all(|(_, sound)| !sound), "a tensor of a changed file was reported as good");
}

#[test]
#[cfg(target_os = "linux")]
fn files_and_mappings_fill_many_pieces_in_one_call() {
    use ztensor::memory::try_box;
    use ztensor::source::{file::FileSource, map::MapSource};
    let folder = Folder::new();
    let path = folder.0.join("pieces");
    let bytes: Vec<u8> = (0..3000_u32).map(|i| (i % 251) as u8).collect();
    std::fs::write(&path, &bytes).unwrap();
    let file = || FileSource::open(&path).unwrap();
    let inner = FileSource::from_file(std::fs::File::open(&path).unwrap(), 100, 2000).unwrap();
    let sources: [(u64, Box<dyn ByteSource>); 3] = [
        (0, try_box(file()).unwrap()),
        (0, try_box(MapSource::new(file(), false).map_err(|(_, e)| e).unwrap()).unwrap()),
        (100, try_box(inner).unwrap()),
    ];
    for (base, source) in sources {
        let mut memory = [vec![0; 700], vec![0; 0], vec![0; 1], vec![0; 900]];
        let mut read = |offset| {
            let mut offset = offset;
            let mut ranges = Vec::new();
            for dst in &mut memory {
                ranges.push(ReadRange { offset, dst });
                offset += ranges.last().unwrap().dst.len() as u64;
            }
            source.read_many(&mut ranges)
        };
        read(50).unwrap();
        assert_eq!(source.profile().read_many, ReadMany::Adjacent, "adjacent reads use one call");
        let error = read(2900 - base).unwrap_err();
        assert_eq!(error.cause(), Cause::Io, "{}", error.message());
        read(50).unwrap();
        let start = base as usize + 50;
        assert_eq!(memory.concat(), bytes[start..start + 1601]);
    }
}

#[test]
fn neighbours_past_the_page_cache_reach_their_places() {
    let sizes = [100 << 10, 5, 1 << 20, (1 << 20) + 1, 700_001, 0, 3 << 20, 64 << 10, 300_000, 900_000, 1];
    let sample = |at: usize| {
        let bytes = compressible(sizes[at % sizes.len()] + at)[at..].to_vec();
        Sample::dense(&format!("t{at}"), Dtype::U8, &[bytes.len() as u64], bytes)
    };
    let samples: Vec<Sample> = (0..33).map(sample).collect();
    let folder = Folder::new();
    let path = folder.path("file.zt");
    let options = WriterOptions { digest: Some(Algorithm::Crc32c), ..WriterOptions::default() };
    std::fs::write(&path, common::file_of(&options, &samples)).unwrap();
    let file = File::open(&path, &OpenOptions::default()).unwrap();
    let some: Vec<Ask> = whole(&samples).into_iter().filter(|(at, _)| at % 3 != 1).rev().collect();
    for asks in [whole(&samples), some] {
        for (threads, in_flight, verify) in [(1, 256 << 20, true), (2, 256 << 20, false), (2, 1 << 20, true)]
        {
            let options = BatchOptions {
                threads,
                in_flight,
                verify,
                direct: Direct::Always,
                ..BatchOptions::default()
            };
            let (found, outcome, reports) = batch(&file, &samples, &asks, &options);
            match outcome {
                // not supported by every file system
                Err(e) => assert_eq!(e.cause(), Cause::Unsupported, "{e}"),
                Ok(_) => {
                    assert!(found == wanted(&samples, &asks), "{threads} threads, {in_flight} in flight");
                    assert_eq!(reports.len(), asks.len());
                }
            }
        }
    }
}
