//! System calls for a new file. Large components are written in calls of 4 MiB that end at multiples of 4 MiB
//! in the file, so that the page cache uses its largest pages.
#![cfg(target_os = "linux")]

use crate::common;

use common::Folder;
use ztensor::model::dtype::Dtype;
use ztensor::model::value::Attributes;
use ztensor::writer::{Algorithm, ComponentSpec, DenseSpec, ObjectSpec, Writer, WriterOptions};

const CALL: u64 = 4 << 20;

/// The thread's number of write calls so far, or None if the system does not count them.
fn calls() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/io").ok()?;
    text.lines().find_map(|line| line.strip_prefix("syscw: "))?.parse().ok()
}

/// The number of write calls in `body`.
fn counted(body: impl FnOnce()) -> u64 {
    let before = calls().unwrap();
    body();
    calls().unwrap() - before
}

/// The number of write calls for the end of a file.
fn finishing(writer: &mut Writer) -> u64 {
    counted(|| {
        writer.finish().unwrap();
    })
}

#[test]
fn large_components_are_written_in_calls_of_4_mib() {
    if calls().is_none() {
        println!("write_calls: skipped: the system does not count write calls");
        return;
    }
    let folder = Folder::new();
    let path = folder.path("file.zt");
    let data = vec![7; 40 << 20];
    let shape = [data.len() as u64];
    // From byte 64 on: the first call ends at 4 MiB. Less than a page at the end waits for the manifest.
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
            // Components of 10 MiB: a call up to each multiple of 4 MiB, and one to each other end.
            let (size, names) = (10 << 20, ["a", "b", "c", "d"]);
            let shape = [size as u64];
            let batch = names.map(|name| DenseSpec::new(name, Dtype::U8, &shape, &data[..size]));
            let due = large + 2; // the first and the third end; the second ends 64 bytes before a multiple
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
    assert_eq!(made, 4, "wrote 4 MiB in calls of another size than 1 MiB");
    assert_eq!(finishing(&mut writer), 1);
}
