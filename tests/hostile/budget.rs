//! Memory that hostile files may use, counted by the allocator, in proportion to the file.

use crate::common;
use crate::counting;

use common::Folder;
use counting::peak;
use ztensor::container::{cbor::encode as cbor_encode, json};
use ztensor::error::{Cause, Result};
use ztensor::reader::{
    BatchOptions, BatchStats, File, Hyperslab, Mode, OpenOptions, Selection, VerifyOptions, VerifyReport,
};

/// A 1.2 file with these bytes from 64 on, and this manifest.
fn file(content: &[u8], manifest: &[u8]) -> Vec<u8> {
    let mut bytes = b"ZTEN1000".to_vec();
    bytes.resize(64, 0);
    bytes.extend_from_slice(content);
    bytes.extend_from_slice(manifest);
    bytes.extend_from_slice(&(manifest.len() as u64).to_le_bytes());
    bytes.extend_from_slice(b"ZTEN1000");
    bytes
}

/// A file with a tensor that declares `size` decoded bytes for these zstd frames.
fn compressed_bytes(frames: &[u8], size: u64) -> Vec<u8> {
    let length = frames.len();
    let text = format!(
        r#"{{"version":"1.2.0","objects":{{"a":{{"shape":[{size}],"format":"dense","components":{{"data":
            {{"dtype":"u8","offset":64,"length":{length},"uncompressed_length":{size},"encoding":"zstd"}}}}}}}}}}"#
    );
    let mut manifest = Vec::new();
    cbor_encode::value(&mut manifest, json::parse(&text).unwrap().get()).unwrap();
    file(frames, &manifest)
}

/// The file in memory.
fn compressed(frames: &[u8], size: u64) -> File {
    File::open_memory(compressed_bytes(frames, size), &OpenOptions::default()).unwrap()
}

/// The file in memory, whose bytes are borrowed, and on a disk, whose bytes are read.
fn borrowed_and_read(frames: &[u8], size: u64) -> [File; 2] {
    let folder = Folder::new();
    let path = folder.path("claim.zt");
    std::fs::write(&path, compressed_bytes(frames, size)).unwrap();
    let options = OpenOptions { mode: Mode::Read, ..OpenOptions::default() };
    [compressed(frames, size), File::open(&path, &options).unwrap()]
}

/// Blocks that repeat one byte: 4 stored bytes for 128 KiB, after a header that declares their number.
fn bomb(size: u64, window: u8) -> Vec<u8> {
    const RUN: u64 = 128 << 10;
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0xc0, window];
    frame.extend_from_slice(&size.to_le_bytes());
    let runs = size / RUN;
    for at in 1..=runs {
        let header = (RUN as u32) << 3 | 1 << 1 | u32::from(at == runs);
        frame.extend_from_slice(&header.to_le_bytes()[..3]);
        frame.push(7);
    }
    frame
}

/// Checks that every way to decode it fails. Returns the error and the peak of allocated bytes.
fn every_operation(file: &File) -> (Vec<Option<Cause>>, usize) {
    let component = common::data(file, "a");
    let cause = |result: Result<()>| result.err().map(|e| e.cause());
    let object = file.find("a").unwrap();
    let far_apart = [object.shape()[0] - 1];
    let slab = Hyperslab { start: &[0], count: &[2], step: Some(&far_apart) };
    peak(|| {
        vec![
            cause(component.load().map(drop)),
            cause(component.read_range(1 << 20, &mut [0; 1000])),
            cause(component.for_each_decoded(&mut |_| Ok(()))),
            cause(file.verify(&VerifyOptions::default(), &|_, _| true, &mut VerifyReport::default())),
            cause(object.tensor_view().map(drop)),
            cause(object.read_slice(&slab, &mut [0; 2])),
        ]
    })
}

#[test]
fn a_bomb_of_four_gibibytes_exceeds_the_limit_without_allocating() {
    let frames = bomb(4 << 30, 0x38);
    assert!(frames.len() < 200_000, "{} bytes", frames.len());
    for file in borrowed_and_read(&frames, 4 << 30) {
        let (causes, allocated) = every_operation(&file);
        // A small range of it can be read.
        for (operation, cause) in causes.iter().enumerate().filter(|(operation, _)| *operation != 1) {
            assert_eq!(*cause, Some(Cause::Limit), "way {operation}: {causes:?}");
        }
        assert!(matches!(causes[1], None | Some(Cause::Limit)), "{causes:?}");
        assert!(allocated < 4 << 20, "{allocated} bytes were held");
    }
}

/// The file has so few stored bytes that they are read completely before they are parsed.
#[test]
fn a_declared_tebibyte_is_checked_before_allocating() {
    for claim in [1 << 30, 1 << 40, 1 << 62] {
        for file in borrowed_and_read(&bomb(1 << 20, 0x38), claim) {
            let (causes, allocated) = every_operation(&file);
            assert!(causes.iter().all(|c| matches!(c, Some(Cause::Broken(_)))), "{causes:?}");
            assert!(allocated < 1 << 20, "{allocated} bytes were held");
        }
    }
}

#[test]
fn a_bomb_that_hides_its_size_fails_at_the_declared_one() {
    for file in borrowed_and_read(&bomb(4 << 30, 0x38), 1 << 20) {
        let (causes, allocated) = every_operation(&file);
        assert!(matches!(causes[0], Some(Cause::Broken(_))), "{causes:?}");
        assert!(allocated < 8 << 20, "{allocated} bytes were held");
    }
}

#[test]
fn a_window_of_two_tebibytes_is_corrupt() {
    for file in borrowed_and_read(&bomb(2 << 20, 31 << 3), 2 << 20) {
        let (causes, allocated) = every_operation(&file);
        assert!(causes.iter().all(|c| matches!(c, Some(Cause::Broken(_)))), "{causes:?}");
        assert!(allocated < 3 << 20, "{allocated} bytes were held");
    }
}

#[test]
fn a_million_empty_frames_use_no_more_memory_than_their_bytes() {
    let nothing = [0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0].repeat(1_000_000);
    let size = nothing.len();
    let file = compressed(&nothing, 100);
    let (causes, allocated) = every_operation(&file);
    assert!(causes.iter().all(Option::is_some), "{causes:?}");
    assert!(allocated < size, "{allocated} bytes were held");
}

#[test]
fn ten_million_objects_cost_a_few_times_their_manifest() {
    const COUNT: usize = 10_000_000;
    let mut manifest = b"\xa2gversione1.2.0gobjects\xba".to_vec();
    manifest.extend_from_slice(&(COUNT as u32).to_be_bytes());
    manifest.reserve_exact(COUNT * 38 + 100);
    for at in 0..COUNT {
        manifest.push(0x68);
        manifest.extend((0..8).map(|digit| b'a' + (at >> (4 * digit) & 15) as u8));
        manifest.extend_from_slice(b"\xa3eshape\x80fformataxjcomponents\xa0");
    }
    let bytes = file(&[], &manifest);
    drop(manifest);
    let size = bytes.len();
    let (opened, allocated) = peak(|| File::open_memory(bytes, &OpenOptions::default()));
    let opened = opened.unwrap();
    assert_eq!(opened.object_count(), COUNT);
    assert!(opened.find("aaaaaaaa").is_some() && opened.find("zzzzzzzz").is_none());
    assert!(allocated < 4 * size, "{allocated} bytes were held for a file of {size}");
    println!("{allocated} bytes for a file of {size}");
}

#[test]
fn more_objects_than_the_caller_wants_are_refused_before_they_cost() {
    let mut manifest = b"\xa2gversione1.2.0gobjects\xba".to_vec();
    manifest.extend_from_slice(&1000u32.to_be_bytes());
    for at in 0..1000 {
        manifest.push(0x64);
        manifest.extend_from_slice(format!("{at:04}").as_bytes());
        manifest.extend_from_slice(b"\xa3eshape\x80fformataxjcomponents\xa0");
    }
    let bytes = file(&[], &manifest);
    for (most, fine) in [(999, false), (1000, true)] {
        let options = OpenOptions { max_objects: most, ..OpenOptions::default() };
        let opened = File::open_memory(bytes.clone(), &options).map_err(|e| e.cause());
        assert_eq!(opened.map(|f| f.object_count()), if fine { Ok(1000) } else { Err(Cause::Limit) });
    }
}

#[test]
fn very_many_frames_of_one_byte_cost_no_memory_of_their_own() {
    const COUNT: usize = 200_000;
    let frame = [0x28, 0xb5, 0x2f, 0xfd, 0x20, 1, 1 << 3 | 1, 0, 0, 5];
    let file = compressed(&frame.repeat(COUNT), COUNT as u64);
    let component = common::data(&file, "a");
    let options = BatchOptions { threads: 1, chunk_size: 64 << 10, ..BatchOptions::default() };
    let (mut dst, mut stats) = (vec![0; COUNT], BatchStats::default());
    let ((), allocated) = peak(|| {
        let mut requests = [component.request(&Selection::Whole, &mut dst, 0).unwrap()];
        File::read_batch(&mut requests, &options, &|_, _| (), &|_, _| true, &mut stats).unwrap();
        component.read_range(177_777, &mut [0; 10]).unwrap();
    });
    assert!(dst.iter().all(|byte| *byte == 5));
    assert_eq!(stats.stored_bytes, 10 * COUNT as u64);
    assert!(allocated < 64 << 10, "{allocated} bytes for {COUNT} frames");
}
