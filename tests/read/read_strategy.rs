//! Reads of a source: their number, how many run at once, and on which thread.

use crate::common;

use common::{compressible, Folder, Sample};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::ThreadId;
use std::time::Duration;
use ztensor::error::{Cause, Result};
use ztensor::model::dtype::Dtype;
use ztensor::model::value::Attributes;
use ztensor::reader::{
    BatchOptions, BatchStats, ComponentBytes, Direct, File, Hyperslab, Mode, OpenOptions, Request, Selection,
};
use ztensor::sink::ByteSink;
use ztensor::source::{direct::DirectFile, ByteSource, PageCache, Profile, ReadMany};
use ztensor::writer::{Algorithm, ComponentSpec, ObjectSpec, Writer, WriterOptions};

/// The thread and the range of each read.
type Reads = Vec<(ThreadId, Range<u64>)>;

/// The calls of a source.
#[derive(Default)]
struct Asked {
    reads: Mutex<Reads>,
    another: Condvar,
    resident: AtomicU64,
}

impl Asked {
    /// The reads since the last call of this function.
    fn reads(&self) -> Reads {
        std::mem::take(&mut *self.reads.lock().unwrap())
    }

    fn threads(reads: &[(ThreadId, Range<u64>)]) -> HashSet<ThreadId> {
        reads.iter().map(|(thread, _)| *thread).collect()
    }
}

type Fill = dyn Fn(u64, &mut [u8]) + Send + Sync;

/// A source that cannot map, and counts.
struct Counting {
    size: u64,
    fill: Box<Fill>,
    asked: Arc<Asked>,
    is_file: bool,
    /// A large read waits until this number of threads are reading, up to a timeout.
    company: (usize, Duration),
    /// Its bytes in a file, for direct reads.
    disk: Option<std::fs::File>,
}

impl Counting {
    fn new(bytes: Vec<u8>) -> Counting {
        let size = bytes.len() as u64;
        let fill = move |offset: u64, dst: &mut [u8]| {
            dst.copy_from_slice(&bytes[offset as usize..][..dst.len()]);
        };
        Counting {
            size,
            fill: Box::new(fill),
            asked: Arc::default(),
            is_file: true,
            company: (0, Duration::ZERO),
            disk: None,
        }
    }

    /// An open file, and the calls of its source since then.
    fn open(self, threads: usize) -> (File, Arc<Asked>) {
        let asked = Arc::clone(&self.asked);
        let options = OpenOptions { threads, ..OpenOptions::default() };
        let file = File::from_source(Box::new(self), &options, String::from("counted")).unwrap();
        asked.reads();
        (file, asked)
    }
}

impl ByteSource for Counting {
    fn size(&self) -> u64 {
        self.size
    }

    fn slice(&self, _range: Range<u64>) -> Option<&[u8]> {
        None
    }

    fn read_at(&self, offset: u64, dst: &mut [u8]) -> Result<()> {
        let mut reads = self.asked.reads.lock().unwrap();
        reads.push((std::thread::current().id(), offset..offset + dst.len() as u64));
        self.asked.another.notify_all();
        let (company, patience) = self.company;
        if dst.len() > 1 << 20 {
            let alone = |reads: &mut Reads| Asked::threads(reads).len() < company;
            drop(self.asked.another.wait_timeout_while(reads, patience, alone).unwrap());
        } else {
            drop(reads);
        }
        (self.fill)(offset, dst);
        Ok(())
    }

    fn profile(&self) -> Profile {
        match self.is_file {
            true => Profile { read_many: ReadMany::OneByOne, ..Profile::file() },
            false => Profile::calls(),
        }
    }

    fn page_cache(&self) -> Option<&dyn PageCache> {
        self.is_file.then_some(self)
    }
}

impl PageCache for Counting {
    /// Every second byte, so that each part of a batch must be processed.
    fn resident(&self, _offset: u64) -> Option<bool> {
        Some(self.asked.resident.fetch_add(1, Ordering::Relaxed) % 2 == 0)
    }

    fn direct(&self) -> Result<Option<DirectFile>> {
        self.disk.as_ref().map_or(Ok(None), |file| DirectFile::open(file, 0))
    }
}

/// Reads these parts as one batch. Returns the bytes of each, the number of jobs, and the statistics.
type Parts<'a> = [(&'a str, Selection<'a>)];
fn batch(file: &File, parts: &Parts<'_>, options: &BatchOptions) -> (Vec<Vec<u8>>, u64, BatchStats) {
    let component = |name: &str| common::data(file, name);
    let size = |(name, part): &(&str, Selection<'_>)| match part {
        Selection::Whole => component(name).size().unwrap(),
        Selection::Range { length, .. } => *length,
        Selection::Rows { rows, row_length, .. } => rows * row_length,
        Selection::Slab(slab) => slab.count.iter().product(),
    };
    let mut memory: Vec<Vec<u8>> = parts.iter().map(|p| vec![0xaa; size(p) as usize]).collect();
    let mut requests: Vec<Request<'_>> = (parts.iter().zip(&mut memory).zip(0..))
        .map(|(((name, part), dst), tag)| component(name).request(part, dst, tag).unwrap())
        .collect();
    let (jobs, mut stats) = (AtomicU64::new(0), BatchStats::default());
    let count = |_, _| {
        jobs.fetch_add(1, Ordering::Relaxed); // if nothing is verified, progress is reported after each job
        true
    };
    File::read_batch(&mut requests, options, &|_, _| (), &count, &mut stats).unwrap();
    drop(requests);
    (memory, jobs.into_inner(), stats)
}

/// The value of a byte that was never written.
fn made_up(offset: u64) -> u8 {
    (offset ^ (offset >> 7) ^ (offset >> 15)) as u8
}

/// A sink that keeps all bytes except those of the large tensor.
#[derive(Clone, Default)]
struct Around(Arc<Mutex<Kept>>);

/// The size of the written bytes, and the offsets of the kept ones.
type Kept = (u64, Vec<(u64, Vec<u8>)>);

impl ByteSink for Around {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let (size, kept) = &mut *self.0.lock().unwrap();
        if bytes.len() < 1 << 20 {
            kept.push((*size, bytes.to_vec()));
        }
        *size += bytes.len() as u64;
        Ok(())
    }

    fn publish(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A file with one tensor of computed bytes, which does not use memory for them.
fn endless(rows: u64, columns: u64) -> Counting {
    let sink = Around::default();
    let mut writer = Writer::to_sink(Box::new(sink.clone()), &WriterOptions::default()).unwrap();
    let shape = [rows, columns];
    writer
        .begin(&ObjectSpec { name: "endless", format: "dense", shape: &shape }, Attributes::default())
        .unwrap();
    writer.component(&ComponentSpec::new("data", Dtype::U8)).unwrap();
    let piece = vec![0; (columns * 1000) as usize];
    (0..rows / 1000).for_each(|_| writer.data(&piece).unwrap());
    writer.end().unwrap();
    writer.finish().unwrap();
    drop(writer);
    let (size, kept) = std::mem::take(&mut *sink.0.lock().unwrap());
    let fill = move |offset: u64, dst: &mut [u8]| {
        dst.iter_mut().zip(offset..).for_each(|(byte, at)| *byte = made_up(at));
        for (at, bytes) in &kept {
            let (from, to) = ((*at).max(offset), (at + bytes.len() as u64).min(offset + dst.len() as u64));
            if from < to {
                dst[(from - offset) as usize..(to - offset) as usize]
                    .copy_from_slice(&bytes[(from - at) as usize..(to - at) as usize]);
            }
        }
    };
    Counting { size, fill: Box::new(fill), ..Counting::new(Vec::new()) }
}

/// The maximum number of jobs for a slab.
const MOST: u64 = 1 << 14;

#[test]
fn a_slab_of_distant_rows_is_split_into_a_bounded_number_of_jobs() {
    const COLUMNS: u64 = 70_000; // so that rows of the slab are more than 64 KiB apart
    let (file, asked) = endless(20_000, COLUMNS).open(1);
    let start = common::data(&file, "endless").offset();
    for (rows, few) in [(10_000, false), (MOST, false), (MOST + 1, true), (20_000, true)] {
        let slab = Hyperslab { start: &[0, 5], count: &[rows, 3], step: None };
        let options = BatchOptions { threads: 2, ..BatchOptions::default() };
        let (found, jobs, stats) = batch(&file, &[("endless", Selection::Slab(slab))], &options);
        let wanted: Vec<u8> =
            (0..rows).flat_map(|row| (5..8).map(move |at| made_up(start + row * COLUMNS + at))).collect();
        assert!(found[0] == wanted, "{rows} rows");
        assert_eq!(jobs, if few { 1 } else { rows }, "one for each row, up to {MOST}");
        assert_eq!(stats.bytes, rows * 3);
        assert_eq!(asked.reads().len() as u64, rows, "bytes between the rows were read");
    }
}

#[test]
fn a_slab_of_many_short_windows_is_cut_into_a_bounded_number_of_jobs() {
    let bytes = compressible(20_000 * 15);
    let sample = Sample::dense("windows", Dtype::U8, &[20_000, 5, 3], bytes.clone());
    let (file, _) = Counting::new(common::file_of(&WriterOptions::default(), &[sample])).open(1);
    for (rows, few) in [(10_000, false), (20_000, true)] {
        let slab = Hyperslab { start: &[0, 1, 2], count: &[rows, 2, 1], step: Some(&[1, 3, 1]) };
        let (found, jobs, _) = batch(&file, &[("windows", Selection::Slab(slab))], &BatchOptions::default());
        let wanted: Vec<u8> =
            (0..rows as usize).flat_map(|row| [bytes[row * 15 + 5], bytes[row * 15 + 14]]).collect();
        assert!(found[0] == wanted, "{rows} rows");
        assert_eq!(jobs, if few { 1 } else { rows });
    }
}

#[test]
fn residence_is_queried_a_few_times_for_jobs_of_any_size() {
    const ROWS: u64 = 8192;
    const NAMES: [&str; 4] = ["a", "b", "c", "d"];
    let content = compressible((ROWS << 10) as usize);
    let samples = NAMES.map(|name| Sample::dense(name, Dtype::U8, &[ROWS, 1024], content.clone()));
    let writer = WriterOptions { digest: Some(Algorithm::Crc32c), ..WriterOptions::default() };
    let bytes = common::file_of(&writer, &samples);
    let folder = Folder::new();
    let path = folder.path("strategy.zt");
    std::fs::write(&path, &bytes).unwrap();
    let disk = || std::fs::File::open(&path).unwrap();
    if !DirectFile::open(&disk(), 0).unwrap().is_some_and(|file| file.is_reported()) {
        println!("strategy: skipped: the file system does not support direct reads");
        return;
    }
    let half = Selection::Slab(Hyperslab { start: &[0, 0], count: &[ROWS, 512], step: None });
    for (part, verify) in [(Selection::Whole, true), (half, false)] {
        let source = Counting { disk: Some(disk()), ..Counting::new(bytes.clone()) };
        let (file, asked) = source.open(1);
        let options = BatchOptions { threads: 1, verify, ..BatchOptions::default() };
        let (found, jobs, stats) = batch(&file, &NAMES.map(|name| (name, part)), &options);
        let wanted: Vec<u8> = match part {
            Selection::Whole => content.clone(),
            _ => content.chunks(1024).flat_map(|row| &row[..512]).copied().collect(),
        };
        assert!(found.iter().all(|f| *f == wanted));
        assert_eq!(stats.digests_verified, if verify { 4 } else { 0 });
        assert_eq!(stats.reason, c"direct and page cache: part of the bytes was in memory");
        // A verified component is one job, but reports more than once.
        let jobs = if verify { NAMES.len() as u64 } else { jobs };
        assert!(jobs <= 5 * 4, "{jobs} jobs");
        let times = asked.resident.load(Ordering::Relaxed);
        assert!(times > 3 * jobs && times <= 64 + 3 * jobs, "{times} times for {jobs} jobs");
    }
}

/// The reads of a call that reads the tensor, and of a call that loads it. Both must return the content.
fn single_calls(source: Counting, threads: usize, content: &[u8]) -> [Reads; 2] {
    let (file, asked) = source.open(threads);
    let component = common::data(&file, "t");
    assert!(common::read(&component) == content);
    let reads = asked.reads();
    let loaded = component.load().unwrap();
    assert!(loaded.as_slice() == content && matches!(loaded, ComponentBytes::Owned(_)));
    [reads, asked.reads()]
}

fn of_one_tensor(content: &[u8]) -> Counting {
    let sample = Sample::dense("t", Dtype::U8, &[content.len() as u64], content.to_vec());
    Counting::new(common::file_of(&WriterOptions::default(), &[sample]))
}

#[test]
fn a_large_component_of_a_file_is_read_by_as_many_threads_as_it_was_opened_with() {
    let content = compressible(20 << 20);
    let source = Counting { company: (3, Duration::from_secs(20)), ..of_one_tensor(&content) };
    for reads in single_calls(source, 3, &content) {
        assert_eq!(Asked::threads(&reads).len(), 3);
        assert!(
            Asked::threads(&reads).contains(&std::thread::current().id()),
            "the calling thread reads, too"
        );
        assert!(reads.len() >= 5 && reads.iter().all(|(_, range)| range.end - range.start <= 4 << 20));
    }
    for reads in single_calls(of_one_tensor(&content), 1, &content) {
        assert_eq!(reads.len(), 1, "one thread needs no pieces");
    }
    let least = &content[..8 << 20];
    for reads in single_calls(of_one_tensor(least), 2, least) {
        assert!(reads.len() > 1);
    }
    let short = &content[1..8 << 20];
    for reads in single_calls(of_one_tensor(short), 3, short) {
        assert_eq!(reads.len(), 1, "too small for a second thread");
    }
}

#[test]
fn only_the_calling_thread_reads_a_large_component_of_a_callback_source() {
    let content = compressible(20 << 20);
    for threads in [0, 3] {
        let company = (2, Duration::from_millis(200)); // other threads would have time to start
        let source = Counting { is_file: false, company, ..of_one_tensor(&content) };
        for reads in single_calls(source, threads, &content) {
            assert_eq!(Asked::threads(&reads), HashSet::from([std::thread::current().id()]));
        }
    }
}

/// One eighth of the columns, for one of eight ranks.
const COLUMNS: Hyperslab<'static> = Hyperslab { start: &[0, 512], count: &[4096, 512], step: None };

/// A file with one matrix of 4096 rows of 4 KiB, and those columns of it.
fn matrix(folder: &Folder) -> (std::path::PathBuf, Vec<u8>) {
    let content: Vec<u8> = (0..4096 << 12).map(made_up).collect();
    let wanted = content.chunks(4096).flat_map(|row| &row[512..1024]).copied().collect();
    let sample = Sample::dense("matrix", Dtype::U8, &[4096, 4096], content);
    let path = folder.path("matrix.zt");
    std::fs::write(&path, common::file_of(&WriterOptions::default(), &[sample])).unwrap();
    (path, wanted)
}

#[test]
#[cfg(target_os = "linux")] // other systems do not report residence
fn slices_of_a_mapping_are_copied_out_of_it_where_they_are_in_memory() {
    let folder = Folder::new();
    let (path, wanted) = matrix(&folder);
    for direct in [Direct::Auto, Direct::Never] {
        for (mode, times) in [(Mode::Map, 1), (Mode::Read, 4)] {
            let file = File::open(&path, &OpenOptions { mode, ..OpenOptions::default() }).unwrap();
            let options = BatchOptions { threads: 2, direct, ..BatchOptions::default() };
            let (found, _, stats) = batch(&file, &[("matrix", Selection::Slab(COLUMNS))], &options);
            assert!(found[0] == wanted);
            assert_eq!(stats.bytes, wanted.len() as u64);
            let least = times * stats.bytes;
            assert!(stats.stored_bytes >= least, "{mode:?}: {} bytes read", stats.stored_bytes);
            assert!(
                times > 1 || stats.stored_bytes == least,
                "bytes between the columns were read: {}",
                stats.stored_bytes
            );
        }
    }
}

#[test]
fn slices_of_a_mapping_that_was_cut_short_are_an_error_and_no_signal() {
    let folder = Folder::new();
    for (kept, mode) in [(0, Mode::Map), (9 << 20, Mode::Map), (15 << 20, Mode::Map), (15 << 20, Mode::Read)]
    {
        let (path, wanted) = matrix(&folder);
        let file = File::open(&path, &OpenOptions { mode, ..OpenOptions::default() }).unwrap();
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(kept).unwrap();
        for direct in [Direct::Auto, Direct::Never] {
            let mut dst = vec![0; wanted.len()];
            let component = common::data(&file, "matrix");
            let mut requests = [component.request(&Selection::Slab(COLUMNS), &mut dst, 0).unwrap()];
            let options = BatchOptions { threads: 2, direct, ..BatchOptions::default() };
            let outcome = File::read_batch(
                &mut requests,
                &options,
                &|_, _| (),
                &|_, _| true,
                &mut BatchStats::default(),
            );
            assert_eq!(outcome.unwrap_err().cause(), Cause::Io, "{mode:?}, {kept} bytes kept");
        }
    }
}
