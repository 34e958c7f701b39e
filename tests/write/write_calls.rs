//! How a new file gets to the system: large components in calls of 4 MiB that end at multiples of 4 MiB in
//! the file, so that the page cache keeps it in the largest pages that there are.
#![cfg(target_os = "linux")]

use crate::common;

use common::Folder;
use ztensor::model::dtype::Dtype;
use ztensor::model::value::Attributes;
use ztensor::writer::{Algorithm, ComponentSpec, DenseSpec, ObjectSpec, Writer, WriterOptions};

const CALL: u64 = 4 << 20;

/// Writes of this thread to the system so far; none where the system does not count them.
fn calls() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/io").ok()?;
    text.lines().find_map(|line| line.strip_prefix("syscw: "))?.parse().ok()
}

/// How many calls `body` made.
fn counted(body: impl FnOnce()) -> u64 {
    let before = calls().unwrap();
    body();
    calls().unwrap() - before
}

/// How many calls the end of a file takes.
fn finishing(writer: &mut Writer) -> u64 {
    counted(|| {
        writer.finish().unwrap();
    })
}

#[test]
fn large_components_are_written_in_calls_of_4_mib() {
    if calls().is_none() {
        println!("write_calls: skipped: the system does not count calls");
        return;
    }
    let folder = Folder::new();
    let path = folder.path("file.zt");
    let data = vec![7; 40 << 20];
    let shape = [data.len() as u64];
    // From byte 64 on: the first call ends at 4 MiB, and what is less than a page waits for the manifest.
    let (large, last) = (data.len() as u64 / CALL, 1);
    for digest in [None, Some(Algorithm::Crc32c), Some(Algorithm::Sha256)] {
        for threads in [1, 2] {
            let options = WriterOptions { digest, threads, ..WriterOptions::default() };
            let what = format!("{digest:?}, {threads} threads");
            let written = |write: &dyn Fn(&mut Writer)| {
                let mut writer = Writer::create(&path, &options).unwrap();
                (counted(|| write(&mut writer)), finishing(&mut writer))
            };
            let dense = DenseSpec::new("a", Dtype::U8, &shape, &data);
            assert_eq!(written(&|w| w.write_dense(&dense).unwrap()), (large, last), "{what}");
            let parts = |w: &mut Writer| {
                w.begin(&ObjectSpec { name: "a", format: "dense", shape: &shape }, Attributes::default())
                    .unwrap();
                w.component(&ComponentSpec::new("data", Dtype::U8)).unwrap();
                data.chunks(8 << 20).for_each(|part| w.data(part).unwrap());
                w.end().unwrap();
            };
            assert_eq!(written(&parts), (large, last), "streamed, {what}");
            let reporting = |w: &mut Writer| {
                w.on_progress(|_| true).unwrap();
                w.write_dense(&dense).unwrap();
            };
            assert_eq!(written(&reporting), (large, last), "with reports, {what}");
            // Of 10 MiB each: a call up to each multiple of 4 MiB, and one to each end that is none.
            let (size, names) = (10 << 20, ["a", "b", "c", "d"]);
            let shape = [size as u64];
            let batch = names.map(|name| DenseSpec::new(name, Dtype::U8, &shape, &data[..size]));
            let due = large + 2; // the ends of the first and the third; the second's is at a multiple but for 64 bytes
            assert_eq!(written(&|w| w.write_batch(&batch).unwrap()), (due, last), "a batch, {what}");
        }
    }
}

#[test]
fn small_components_are_gathered() {
    if calls().is_none() {
        return;
    }
    let folder = Folder::new();
    let path = folder.path("file.zt");
    let data = vec![7; 4096];
    let mut writer = Writer::create(&path, &WriterOptions::default()).unwrap();
    let names: Vec<String> = (0..1024).map(|at| at.to_string()).collect();
    let made = counted(|| {
        for name in &names {
            writer.write_dense(&DenseSpec::new(name, Dtype::U8, &[4096], &data)).unwrap();
        }
    });
    assert_eq!(made, 4, "4 MiB in calls of 1 MiB");
    assert_eq!(finishing(&mut writer), 1);
}
