//! Memory of reads besides their destinations stays within `in_flight`, with any number of threads. The
//! allocator counts it.

use crate::common;

use crate::counting::peak_of_all;
use common::{compressible, Folder};
use ztensor::model::dtype::Dtype;
use ztensor::model::manifest::Encoding;
use ztensor::reader::{BatchOptions, BatchStats, File, Hyperslab, Mode, OpenOptions, Selection, Wanted};
use ztensor::writer::{DenseSpec, Writer, WriterOptions};

const ROWS: usize = 1 << 10;
const ROW: usize = 32 << 10;
const SIZE: usize = ROWS * ROW;
const COUNT: usize = 6;
const IN_FLIGHT: u64 = SIZE as u64;

/// The peak of memory besides `dst`, while four threads read the first and the last row of some tensors.
fn peak_of_reads(file: &File, convert: Option<Dtype>) -> usize {
    let (start, count, step) = ([0, 0], [2, ROW as u64 / 4], [ROWS as u64 - 1, 1]);
    let slab = Selection::Slab(Hyperslab { start: &start, count: &count, step: Some(&step) });
    let size = if convert.is_some() { ROW } else { 2 * ROW };
    let mut memory = vec![0; COUNT * size];
    let options = BatchOptions { threads: 4, in_flight: IN_FLIGHT, ..BatchOptions::default() };
    let ((), peak) = peak_of_all(|| {
        let mut requests = Vec::new();
        for (at, dst) in memory.chunks_mut(size).enumerate() {
            let component = common::data(file, &format!("t{at}"));
            let wanted = Wanted { convert, lossy: true, ..Wanted::default() };
            requests.push(component.request_as(&slab, wanted, dst).unwrap());
        }
        let stats = &mut BatchStats::default();
        File::read_batch(&mut requests, &options, &|_, _| {}, &|_, _| true, stats).unwrap();
    });
    let whole = common::data(file, "t3").load().unwrap();
    if convert.is_none() {
        let (first, last) = (&whole.as_slice()[..ROW], &whole.as_slice()[SIZE - ROW..]);
        assert!(memory[3 * size..4 * size] == [first, last].concat());
    }
    peak
}

#[cfg(target_os = "linux")]
#[test]
fn decoded_bytes_between_the_rows_of_a_slab_count() {
    if !common::is_alone() {
        common::run_alone("in_flight::decoded_bytes_between_the_rows_of_a_slab_count", "");
        return;
    }
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
            // A single request may use as much as it needs: all rows, and its stored bytes.
            assert!((SIZE..SIZE * 3 / 2).contains(&peak), "{peak} bytes by {mode:?}, {convert:?}");
        }
    }
}
