//! A batch gives the same bytes as single reads, for every kind of source. Adjacent reads become one. A bad
//! bool is reported with its byte offset in the component by every read.

use crate::common;

use common::{compressible, Random, Sample};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use ztensor::error::Result;
use ztensor::model::dtype::Dtype;
use ztensor::model::manifest::Encoding;
use ztensor::reader::{BatchOptions, BatchStats, Component, File, Hyperslab, OpenOptions, Selection};
use ztensor::source::{ByteSource, Profile, ReadMany, ReadRange};
use ztensor::writer::{Algorithm, WriterOptions};

/// A source of callbacks, which are counted.
struct Called {
    bytes: Vec<u8>,
    profile: Profile,
    calls: Arc<AtomicUsize>,
}

impl ByteSource for Called {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn slice(&self, _range: Range<u64>) -> Option<&[u8]> {
        None
    }

    fn read_at(&self, offset: u64, dst: &mut [u8]) -> Result<()> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        dst.copy_from_slice(&self.bytes[offset as usize..][..dst.len()]);
        Ok(())
    }

    fn read_many(&self, ranges: &mut [ReadRange<'_>]) -> Result<()> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        for range in ranges {
            range.dst.copy_from_slice(&self.bytes[range.offset as usize..][..range.dst.len()]);
        }
        Ok(())
    }

    fn profile(&self) -> Profile {
        self.profile
    }
}

fn called(bytes: &[u8], profile: Profile, options: &OpenOptions) -> (File, Arc<AtomicUsize>) {
    let calls = Arc::default();
    let source = Called { bytes: bytes.to_vec(), profile, calls: Arc::clone(&calls) };
    (File::from_source(Box::new(source), options, String::from("called")).unwrap(), calls)
}

/// The profiles that a source may have.
fn profiles() -> [Profile; 5] {
    let many = |read_many| Profile { read_many, ..Profile::calls() };
    [
        Profile::memory(),
        Profile::calls(),
        Profile { read_many: ReadMany::OneByOne, ..Profile::file() },
        Profile { gap: 100, ..many(ReadMany::Adjacent) },
        many(ReadMany::Anywhere),
    ]
}

fn options(encoding: Encoding) -> WriterOptions {
    WriterOptions { encoding, digest: Some(Algorithm::Crc32c), frame_size: 4096, ..WriterOptions::default() }
}

fn batch(
    asks: &[(Component<'_>, Selection<'_>)],
    sizes: &[usize],
    options: &BatchOptions,
) -> (Vec<Vec<u8>>, BatchStats) {
    let mut memory: Vec<Vec<u8>> = sizes.iter().map(|size| vec![0xaa; *size]).collect();
    let requests = asks.iter().zip(&mut memory);
    let mut requests: Vec<_> =
        requests.map(|((component, part), dst)| component.request(part, dst, 0).unwrap()).collect();
    let mut stats = BatchStats::default();
    let outcome = File::read_batch(&mut requests, options, &|_, _| (), &|_, _| true, &mut stats);
    outcome.unwrap_or_else(|e| panic!("{}", e.message()));
    drop(requests);
    (memory, stats)
}

/// 60 matrices with three dimensions, some of them empty.
fn matrices() -> Vec<Sample> {
    let matrix = |at: usize| {
        let shape = [(at % 7) as u64, 5, 40 + at as u64];
        let size = shape.iter().product::<u64>() as usize;
        Sample::dense(&format!("m{at}"), Dtype::U8, &shape, compressible(size + at)[at..].to_vec())
    };
    (0..60).map(matrix).collect()
}

#[test]
fn a_batch_of_two_files_equals_single_reads_from_every_source() {
    let samples = matrices();
    let files = [Encoding::Raw, Encoding::Zstd].map(|encoding| common::file_of(&options(encoding), &samples));
    for profile in profiles() {
        let [(raw, calls), (compressed, _)] =
            [0, 1].map(|at| called(&files[at], profile, &OpenOptions::default()));
        let mut random = Random(profile.gap + 1);
        let drawn: Vec<_> = (0..400)
            .map(|_| {
                let at = random.below(60) as usize;
                let file = if random.below(2) == 0 { &raw } else { &compressed };
                let component = common::data(file, &format!("m{at}"));
                let extents = component.object().shape().to_vec();
                let [mut start, mut count] = [vec![0; 3], vec![0; 3]];
                for axis in 0..3 {
                    start[axis] = random.below(extents[axis] + 1);
                    count[axis] = random.below(extents[axis] - start[axis] + 1);
                }
                (component, random.below(3), start, count)
            })
            .collect();
        let (mut asks, mut wanted) = (Vec::new(), Vec::new());
        for (component, what, start, count) in &drawn {
            let size = component.size().unwrap();
            let mut bytes = vec![0; size as usize];
            let part = match what {
                0 => Selection::Whole,
                1 => {
                    let offset = start.iter().sum::<u64>().min(size);
                    bytes.truncate((size - offset) as usize / 2);
                    component.read_range(offset, &mut bytes).unwrap();
                    Selection::Range { offset, length: bytes.len() as u64 }
                }
                _ => {
                    let slab = Hyperslab { start, count, step: None };
                    bytes.truncate(count.iter().product::<u64>() as usize);
                    component.object().read_slice(&slab, &mut bytes).unwrap();
                    Selection::Slab(slab)
                }
            };
            if *what == 0 {
                component.read(&mut bytes).unwrap();
            }
            asks.push((*component, part));
            wanted.push(bytes);
        }
        let sizes: Vec<usize> = wanted.iter().map(Vec::len).collect();
        for (threads, verify) in [(1, true), (3, false)] {
            let before = calls.load(Ordering::Relaxed);
            let (found, stats) =
                batch(&asks, &sizes, &BatchOptions { threads, verify, ..BatchOptions::default() });
            assert!(found == wanted, "{profile:?}, {threads} threads");
            assert_eq!((stats.requests, stats.bytes), (400, sizes.iter().sum::<usize>() as u64));
            let calls = calls.load(Ordering::Relaxed) - before;
            assert!(profile.gap < 1000 || calls < 20, "{profile:?}: {calls} calls");
        }
    }
}

#[test]
fn a_slab_and_short_compressed_tensors_of_a_source_take_few_calls() {
    let samples = matrices();
    let slab = Hyperslab { start: &[0, 1, 3], count: &[6, 2, 20], step: Some(&[1, 2, 1]) };
    for (encoding, most) in [(Encoding::Raw, 1), (Encoding::Zstd, 1)] {
        let (file, calls) =
            called(&common::file_of(&options(encoding), &samples), Profile::calls(), &OpenOptions::default());
        calls.store(0, Ordering::Relaxed);
        let mut bytes = [0; 6 * 2 * 20];
        file.find("m6").unwrap().read_slice(&slab, &mut bytes).unwrap();
        let read = calls.swap(0, Ordering::Relaxed);
        assert!(read <= most, "{encoding:?}: {read} calls for a slab of six windows");
        let asks: Vec<_> = file.objects().map(|o| (o.component("data").unwrap(), Selection::Whole)).collect();
        let sizes: Vec<usize> = samples.iter().map(|sample| sample.parts[0].bytes.len()).collect();
        let options = BatchOptions { threads: 1, verify: true, ..BatchOptions::default() };
        let (found, stats) = batch(&asks, &sizes, &options);
        assert!(found.iter().zip(&samples).all(|(found, sample)| *found == sample.parts[0].bytes));
        assert_eq!(stats.digests_verified, 60);
        let read = calls.load(Ordering::Relaxed);
        assert!(read <= 2, "{encoding:?}: {read} calls for 60 short tensors");
    }
}

#[test]
fn a_bad_bool_is_named_by_its_byte_within_the_component() {
    const BAD: u64 = 70_123;
    let sample = Sample::dense("b", Dtype::Bool, &[100, 1000], vec![1; 100_000]);
    let slab = Hyperslab { start: &[60, 100], count: &[20, 50], step: None };
    let parts = [Selection::Whole, Selection::Range { offset: 65_000, length: 9000 }, Selection::Slab(slab)];
    {
        // A writer rejects the byte, so it is changed in the file.
        let without_digest = WriterOptions { digest: None, usual_digest: false, ..options(Encoding::Raw) };
        let mut written = common::file_of(&without_digest, std::slice::from_ref(&sample));
        let start = common::data(&common::open(written.clone()), "b").offset();
        written[usize::try_from(start + BAD).unwrap()] = 7;
        let strict = OpenOptions { strict: true, ..OpenOptions::default() };
        let in_memory = File::open_memory(written.clone(), &strict).unwrap();
        let (by_calls, _) = called(&written, Profile::calls(), &strict);
        for file in [&in_memory, &by_calls] {
            let component = common::data(file, "b");
            for part in parts {
                let size = match part {
                    Selection::Whole => 100_000,
                    Selection::Range { .. } => 9000,
                    Selection::Slab(_) | Selection::Rows { .. } => 1000,
                };
                let mut dst = vec![0; size];
                let single = match part {
                    Selection::Whole => component.read(&mut dst),
                    Selection::Range { offset, .. } | Selection::Rows { offset, .. } => {
                        component.read_range(offset, &mut dst)
                    }
                    Selection::Slab(slab) => component.object().read_slice(&slab, &mut dst),
                };
                for verify in [false, true] {
                    let options =
                        BatchOptions { threads: 2, chunk_size: 4096, verify, ..BatchOptions::default() };
                    let mut requests = [component.request(&part, &mut dst, 0).unwrap()];
                    let stats = &mut BatchStats::default();
                    let outcome = File::read_batch(&mut requests, &options, &|_, _| (), &|_, _| true, stats);
                    for outcome in [&outcome, &single] {
                        let message = outcome.as_ref().unwrap_err().message();
                        assert!(message.contains(&format!("byte {BAD} is 7")), "{part:?}: {message}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_file_without_reads_does_not_change_the_reads_of_others() {
    let samples: Vec<Sample> = matrices();
    let bytes = common::file_of(&options(Encoding::Raw), &samples);
    let (first, second) = (common::open(bytes.clone()), common::open(bytes));
    let empty = first.objects().next().unwrap().components().next().unwrap();
    let wanted = second.objects().next().unwrap().components().next().unwrap();
    let mut dst = vec![0; common::read(&wanted).len()];
    let mut requests = [
        empty.request(&Selection::Range { offset: 0, length: 0 }, &mut [], 0).unwrap(),
        wanted.request(&Selection::Whole, &mut dst, 1).unwrap(),
    ];
    let mut stats = BatchStats::default();
    File::read_batch(&mut requests, &BatchOptions::default(), &|_, _| (), &|_, _| true, &mut stats).unwrap();
    assert_eq!(dst, common::read(&wanted));
}
