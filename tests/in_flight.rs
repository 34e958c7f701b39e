//! What reads take beside their destinations stays within `in_flight`, on however many threads: counted by the allocator.

mod common;

use common::{compressible, Folder};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use ztensor::model::dtype::Dtype;
use ztensor::model::manifest::Encoding;
use ztensor::reader::{BatchOptions, BatchStats, File, Hyperslab, Mode, OpenOptions, Selection, Wanted};
use ztensor::writer::{DenseSpec, Writer, WriterOptions};

/// Counts what all threads hold.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn book(more: usize) {
    PEAK.fetch_max(HELD.fetch_add(more, Ordering::SeqCst) + more, Ordering::SeqCst);
}

// SAFETY: everything is handed on to the system's allocator as it came; the counters allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        book(layout.size());
        // SAFETY: passed on as it came.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        book(layout.size());
        // SAFETY: passed on as it came.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::SeqCst);
        // SAFETY: passed on as it came.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ROWS: usize = 1 << 10;
const ROW: usize = 32 << 10;
const SIZE: usize = ROWS * ROW;
const COUNT: usize = 6;
const IN_FLIGHT: u64 = SIZE as u64;

/// One test at a time has all that is counted.
static TURN: Mutex<()> = Mutex::new(());

/// The most that is held beside `dst` while the first and the last row of each of some tensors are read, on four threads.
fn peak_of_reads(file: &File, convert: Option<Dtype>) -> usize {
    let (start, count, step) = ([0, 0], [2, ROW as u64 / 4], [ROWS as u64 - 1, 1]);
    let slab = Selection::Slab(Hyperslab { start: &start, count: &count, step: Some(&step) });
    let size = if convert.is_some() { ROW } else { 2 * ROW };
    let mut memory = vec![0; COUNT * size];
    let options = BatchOptions { threads: 4, in_flight: IN_FLIGHT, ..BatchOptions::default() };
    let before = HELD.load(Ordering::SeqCst);
    PEAK.store(before, Ordering::SeqCst);
    let mut requests = Vec::new();
    for (at, dst) in memory.chunks_mut(size).enumerate() {
        let component = common::data(file, &format!("t{at}"));
        let wanted = Wanted { convert, lossy: true, ..Wanted::default() };
        requests.push(component.request_as(&slab, wanted, dst).unwrap());
    }
    let stats = &mut BatchStats::default();
    File::read_batch(&mut requests, &options, &|_, _| {}, &|_, _| true, stats).unwrap();
    let peak = PEAK.load(Ordering::SeqCst) - before;
    drop(requests);
    let whole = common::data(file, "t3").load().unwrap();
    if convert.is_none() {
        let (first, last) = (&whole.as_slice()[..ROW], &whole.as_slice()[SIZE - ROW..]);
        assert!(memory[3 * size..4 * size] == [first, last].concat());
    }
    peak
}

#[test]
fn decoded_bytes_between_the_rows_of_a_slab_count() {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = Folder::new();
    let path = folder.path("a.zt");
    let options = WriterOptions { encoding: Encoding::Zstd, ..common::without_digests() };
    let mut writer = Writer::create(&path, &options).unwrap();
    let data = compressible(SIZE);
    for at in 0..COUNT {
        let shape = [ROWS as u64, ROW as u64 / 4];
        writer.write_dense(&DenseSpec::new(&format!("t{at}"), Dtype::F32, &shape, &data)).unwrap();
    }
    writer.finish().unwrap();
    drop(data);
    for mode in [Mode::Map, Mode::Read] {
        let file = File::open(&path, &OpenOptions { mode, ..OpenOptions::default() }).unwrap();
        for convert in [None, Some(Dtype::F16)] {
            let peak = peak_of_reads(&file, convert);
            // One may have what it alone needs: all rows, and its stored bytes.
            assert!((SIZE..SIZE * 3 / 2).contains(&peak), "{peak} bytes by {mode:?}, {convert:?}");
        }
    }
    drop(turn);
}
