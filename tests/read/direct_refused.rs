//! Direct reads that fail: the library uses the page cache instead, and the statistics give the reason. Each
//! test runs in a separate process, because descriptors are identified by number, and other tests open files.
#![cfg(target_os = "linux")]

use crate::common;
use crate::refusing;

use common::{compressible, is_alone, run_alone, Folder, Sample};
use refusing::{all_of, if_argument, refusing};
use std::os::fd::AsRawFd;
use ztensor::model::dtype::Dtype;
use ztensor::reader::{BatchOptions, BatchStats, Direct, File, Mode, OpenOptions, Selection};
use ztensor::writer::{Writer, WriterOptions};

const SIZE: usize = 20 << 20;

/// Opens a file with one tensor; None if its file system does not support direct reads.
fn opened(folder: &Folder) -> Option<(File, Vec<u8>)> {
    let sample = Sample::dense("t", Dtype::U8, &[SIZE as u64], compressible(SIZE));
    let path = folder.path("t.zt");
    let options = WriterOptions { large_alignment: 65536, ..WriterOptions::default() };
    let mut writer = Writer::create(&path, &options).unwrap();
    sample.write(&mut writer).unwrap();
    writer.finish().unwrap();
    let file = File::open(&path, &OpenOptions { mode: Mode::Read, ..OpenOptions::default() }).unwrap();
    let bytes = sample.parts.into_iter().next().unwrap().bytes;
    match read(&file, &mut vec![0; SIZE], false) {
        Ok(stats) if stats.direct => Some((file, bytes)),
        outcome => {
            println!("skipped: this file system does not support direct reads: {outcome:?}");
            None
        }
    }
}

fn read(file: &File, dst: &mut [u8], pinned: bool) -> ztensor::error::Result<BatchStats> {
    let component = file.find("t").unwrap().component("data").unwrap();
    let mut requests = [component.request(&Selection::Whole, dst, 0).unwrap()];
    let options = BatchOptions {
        direct: Direct::Always,
        threads: 2,
        chunk_size: 8 << 20,
        pinned,
        ..BatchOptions::default()
    };
    let mut stats = BatchStats::default();
    File::read_batch(&mut requests, &options, &|_, _| {}, &|_, _| true, &mut stats)?;
    Ok(stats)
}

/// The number of the next opened descriptor: the one of the second handle.
fn next_descriptor() -> u32 {
    std::fs::File::open("/dev/null").unwrap().as_raw_fd() as u32
}

#[test]
fn a_failed_direct_read_is_repeated_through_the_page_cache() {
    if !is_alone() {
        return run_alone("direct_refused::a_failed_direct_read_is_repeated_through_the_page_cache", "");
    }
    let folder = Folder::new();
    let Some((file, bytes)) = opened(&folder) else { return };
    let errors = [
        (libc::EINVAL, "EINVAL"),
        (libc::EFAULT, "EFAULT"),
        (libc::EOPNOTSUPP, "EOPNOTSUPP"),
        (libc::EIO, "EIO"),
        (libc::EPERM, "rejected"),
        (libc::ENOMEM, "rejected"),
    ];
    for (error, name) in errors {
        let mut dst = vec![0; SIZE];
        let rule = if_argument(libc::SYS_pread64, 0, u32::MAX, next_descriptor());
        let Some(stats) = refusing(&[rule], error, || read(&file, &mut dst, false)) else { return };
        let stats = stats.unwrap_or_else(|e| panic!("{name}: {e}"));
        let reason = stats.reason.to_str().unwrap();
        assert!(reason.starts_with("page cache: ") && reason.contains(name), "{name}: {reason}");
        assert!(!stats.direct && dst == bytes, "{name}");
    }
    // Reads from the page cache also fail: their error counts.
    let e = refusing(&[all_of(libc::SYS_pread64)], libc::EIO, || read(&file, &mut vec![0; SIZE], false));
    assert!(e.is_none_or(|outcome| outcome.unwrap_err().message().contains("could not read")));
}

#[test]
fn into_pinned_memory_reads_go_straight() {
    if !is_alone() {
        return run_alone("direct_refused::into_pinned_memory_reads_go_straight", "");
    }
    let folder = Folder::new();
    let Some((file, bytes)) = opened(&folder) else { return };
    // Reads of a whole chunk, which is larger than a bounce buffer, fail; also from the page cache.
    let rules = [if_argument(libc::SYS_pread64, 2, u32::MAX, 8 << 20), all_of(libc::SYS_ioctl)];
    let mut memory = ztensor::memory::AlignedBuffer::zeroed(SIZE).unwrap();
    let dst = memory.as_mut_slice();
    let Some(bounced) = refusing(&rules, libc::EINVAL, || read(&file, dst, false)) else { return };
    assert!(bounced.unwrap().direct && *dst == *bytes, "through a bounce");
    let straight = refusing(&rules, libc::EINVAL, || read(&file, dst, true)).unwrap();
    assert!(straight.unwrap_err().message().contains("could not read 8388608 bytes"), "in one read");
    dst.fill(0);
    let stats =
        refusing(&[all_of(libc::SYS_ioctl)], libc::EINVAL, || read(&file, dst, true)).unwrap().unwrap();
    assert!(stats.direct && *dst == *bytes);
    // For any address of the memory.
    let mut odd = vec![0; SIZE + 7];
    assert!(read(&file, &mut odd[7..], true).unwrap().direct && odd[7..] == bytes);
}
