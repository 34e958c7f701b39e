//! Guarantees of the writer. The same calls give the same bytes, with any number of threads. Components have
//! the requested alignment. A rejected call changes nothing. A failed or dropped writer leaves no file.

use crate::common;

use common::{small_frames, tensors, Folder, MemorySink, Random, Sample, VERSIONS};
use ztensor::error::{Cause, Result};
use ztensor::model::dtype::Dtype;
use ztensor::model::manifest::{Encoding, Version};
use ztensor::writer::{Writer, WriterOptions};

fn cause<T>(result: Result<T>) -> Option<Cause> {
    result.err().map(|e| e.cause())
}

#[test]
fn the_bytes_depend_neither_on_the_threads_nor_on_the_run_nor_on_the_pieces() {
    for version in VERSIONS {
        let options = WriterOptions { version, ..small_frames() };
        let first = common::file_of(&options, &tensors());
        for threads in [0, 1, 2, 3, 16] {
            let options = WriterOptions { threads, ..options.clone() };
            assert!(common::file_of(&options, &tensors()) == first, "{threads} threads, {version:?}");
            for most in [1000, 4096, 70_000] {
                let stream = |w: &mut Writer| tensors().iter().for_each(|t| t.stream(w, most).unwrap());
                assert!(
                    common::written(&options, stream) == first,
                    "{threads} threads, pieces to {most}, {version:?}"
                );
            }
        }
        let file = common::open(first);
        for (tensor, object) in tensors().iter().zip(file.objects()) {
            assert_eq!(object.tensor_view().unwrap().data.bytes(), tensor.parts[0].bytes, "{}", tensor.name);
        }
        common::verify(&file).unwrap();
    }
}

#[test]
fn a_large_component_becomes_frames_that_each_say_their_size() {
    let bytes = common::file_of(&small_frames(), &tensors());
    let file = common::open(bytes.clone());
    let component = common::data(&file, "t100003");
    let start = component.offset() as usize;
    let mut stored = &bytes[start..start + component.stored_size() as usize];
    let mut sizes = Vec::new();
    while !stored.is_empty() {
        let size = zstd_safe::find_frame_compressed_size(stored).unwrap();
        let (frame, rest) = stored.split_at(size);
        sizes.push(zstd_safe::get_frame_content_size(frame).ok().flatten().unwrap());
        stored = rest;
    }
    assert_eq!(sizes.len(), 25);
    assert!(sizes[..24].iter().all(|size| *size == 4096));
    assert_eq!(sizes.iter().sum::<u64>(), 100_003);
}

#[test]
fn components_start_at_the_asked_alignment_with_zeros_between_them() {
    for (alignment, large_alignment) in [(64, 0), (128, 0), (4096, 0), (64, 4096), (256, 65536), (65536, 64)]
    {
        for (version, encoding) in
            [(Version::V0_1, Encoding::Raw), (Version::V1_1, Encoding::Zstd), (Version::V1_2, Encoding::Raw)]
        {
            let options = WriterOptions {
                version,
                encoding,
                alignment,
                large_alignment,
                large_size: 4096,
                ..small_frames()
            };
            let bytes = common::file_of(&options, &tensors());
            assert!(
                common::written(&options, |w| tensors().iter().for_each(|t| t.stream(w, 999).unwrap()))
                    == bytes,
                "streamed where the shape gives the size: {options:?}"
            );
            let file = common::open(bytes.clone());
            let mut end = 8;
            for (object, tensor) in file.objects().zip(tensors()) {
                let c = object.component("data").unwrap();
                let large = tensor.parts[0].bytes.len() >= 4096;
                let wanted = if large { alignment.max(large_alignment) } else { alignment };
                assert_eq!(c.offset() % wanted, 0, "{:?} with {options:?}", object.name());
                let offset = c.offset() as usize;
                assert!(
                    (offset as u64) < (end as u64).next_multiple_of(wanted) + 1,
                    "no more padding than needed"
                );
                assert!(bytes[end..offset].iter().all(|b| *b == 0), "padding before {:?}", object.name());
                end = offset + c.stored_size() as usize;
            }
            assert_eq!(
                end,
                bytes.len()
                    - common::manifest_bytes(&bytes).len()
                    - if version == Version::V0_1 { 8 } else { 16 }
            );
            assert_eq!(common::verify(&file).unwrap().padding_nonzero, 0);
        }
    }
}

#[test]
fn options_that_make_no_sense_are_invalid_arguments() {
    let good = WriterOptions::default;
    let bad = [
        WriterOptions { alignment: 0, ..good() },
        WriterOptions { alignment: 32, ..good() },
        WriterOptions { alignment: 96, ..good() },
        WriterOptions { alignment: 1 << 63, ..good() },
        WriterOptions { large_alignment: 1, ..good() },
        WriterOptions { large_alignment: 4097, ..good() },
        WriterOptions { frame_size: 0, ..good() },
        WriterOptions { frame_size: u64::MAX, ..good() },
        WriterOptions { zstd_level: 1000, ..good() },
        WriterOptions { zstd_level: i32::MIN, ..good() },
        WriterOptions { version: Version::V1_0, ..good() },
        WriterOptions { encoding: Encoding::Other, ..good() },
    ];
    let folder = Folder::new();
    std::fs::write(folder.path("old.zt"), common::file_of(&good(), &[])).unwrap();
    for options in bad {
        let sink = Box::new(MemorySink::default());
        assert_eq!(cause(Writer::to_sink(sink, &options)), Some(Cause::InvalidArgument), "{options:?}");
        assert_eq!(cause(Writer::create(folder.path("new.zt"), &options)), Some(Cause::InvalidArgument));
        let appends = cause(Writer::append(folder.path("old.zt"), &options));
        // An append keeps the file's version and ignores the option.
        let wanted = (options.version == good().version).then_some(Cause::InvalidArgument);
        assert_eq!(appends, wanted, "{options:?}");
    }
    assert_eq!(folder.names(), ["old.zt"]);
}

#[test]
fn names_that_are_odd_are_written_and_found() {
    let names =
        ["", "\0", "a\0b", "a", "é", "e\u{301}", "\u{10ffff}", "\u{feff}x", " ", "\n", &"n".repeat(64 << 10)];
    for version in VERSIONS {
        let options = WriterOptions { version, ..WriterOptions::default() };
        let samples: Vec<Sample> =
            (names.iter().zip(0..)).map(|(n, at)| Sample::dense(n, Dtype::U8, &[1], vec![at])).collect();
        let file = common::open(common::file_of(&options, &samples));
        for (name, at) in names.iter().zip(0..) {
            assert_eq!(common::read(&common::data(&file, name)), [at], "{name:?} {version:?}");
        }
        assert!(file.find("b").is_none());
    }
}

#[test]
fn a_thousand_random_tensors_come_back_from_one_file() {
    let mut random = Random(7);
    let samples: Vec<Sample> = (0..1000)
        .map(|at| {
            let dtype = Dtype::ALL[random.below(Dtype::ALL.len() as u64) as usize];
            let shape: Vec<u64> = (0..random.below(5)).map(|_| random.below(6)).collect();
            let bytes = common::elements(dtype, shape.iter().product::<u64>() as usize);
            Sample::dense(&format!("layer.{at}.w"), dtype, &shape, bytes)
        })
        .collect();
    let file = common::open(common::file_of(&small_frames(), &samples));
    assert_eq!(file.object_count(), 1000);
    for sample in &samples {
        let object = file.find(&sample.name).unwrap();
        assert_eq!(
            (object.shape(), object.tensor_view().unwrap().data.bytes()),
            (&*sample.shape, &*sample.parts[0].bytes)
        );
    }
    common::verify(&file).unwrap();
}
