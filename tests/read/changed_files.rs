//! A file that changes while it is open in `Mode::Read`. Every access to its bytes fails, unless the file
//! only grew by an append. Its identity does not change.

use crate::common;

use common::content::{append, new_object, raw, zstd, ztensor_2};
use common::{compressible, verify, Folder, Sample};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;
use ztensor::error::{Cause, Error};
use ztensor::model::dtype::Dtype;
use ztensor::reader::{
    BatchOptions, BatchStats, Component, File, Hyperslab, Identity, Mode, OpenOptions, Selection,
};
use ztensor::writer::{Writer, WriterOptions};

const SIZE: usize = 100_000;

fn create(path: &Path, options: &WriterOptions) {
    let mut writer = Writer::create(path, options).unwrap();
    Sample::dense("a", Dtype::U8, &[100, 1000], compressible(SIZE)).write(&mut writer).unwrap();
    Sample::dense("b", Dtype::U8, &[SIZE as u64], compressible(SIZE)).write(&mut writer).unwrap();
    writer.finish().unwrap();
}

fn open(path: &Path) -> File {
    File::open(path, &OpenOptions { mode: Mode::Read, ..OpenOptions::default() }).unwrap()
}

fn batch(component: &Component<'_>) -> Result<(), Error> {
    let mut bytes = vec![0; SIZE];
    let mut requests = [component.request(&Selection::Whole, &mut bytes, 0)?];
    let stats = &mut BatchStats::default();
    File::read_batch(&mut requests, &BatchOptions::default(), &|_, _| {}, &|_, _| true, stats)
}

/// Every access to the bytes of the first object, by name.
fn cases(file: &File) -> Vec<(&'static str, Result<(), Error>)> {
    let object = file.object(0).unwrap();
    let data = object.component("data").unwrap();
    let mut bytes = vec![0; SIZE];
    let slab = Hyperslab { start: &[3, 5], count: &[50, 100], step: None };
    let mut other = Writer::create(std::env::temp_dir().join("ztensor-changed-copy.zt"), &raw()).unwrap();
    vec![
        ("read", data.read(&mut bytes)),
        ("range", data.read_range(100, &mut bytes[..500])),
        ("slice", object.read_slice(&slab, &mut bytes)),
        ("converted", object.read_as(Dtype::U8, &mut bytes).map(drop)),
        ("stored", data.read_stored(&mut bytes)),
        ("load", data.load().map(drop)),
        ("decoded", data.for_each_decoded(&mut |_| Ok(()))),
        ("digest", if data.digest().is_some() { data.verify_digest() } else { data.read(&mut bytes) }),
        ("batch", batch(&data)),
        ("verify", verify(file).map(drop)),
        ("copy", other.copy(object, "a")),
    ]
}

fn assert_changed(file: &File, what: &str) {
    for (case, outcome) in cases(file) {
        let error = outcome.expect_err(case);
        assert_eq!(error.cause(), Cause::Io, "{what}, {case}: {error}");
        assert!(error.message().contains("was changed since it was opened"), "{what}, {case}: {error}");
    }
}

fn assert_readable(file: &File, what: &str) {
    for (case, outcome) in cases(file) {
        outcome.unwrap_or_else(|e| panic!("{what}, {case}: {e}"));
    }
    let mut bytes = vec![0; SIZE];
    file.object(0).unwrap().component("data").unwrap().read(&mut bytes).unwrap();
    assert!(bytes == compressible(SIZE), "{what}");
}

/// Waits until the file system's clock changes.
fn wait() {
    std::thread::sleep(Duration::from_millis(30));
}

fn overwrite(path: &Path, at: u64, bytes: &[u8]) {
    wait();
    let mut file = std::fs::File::options().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(bytes).unwrap();
}

#[test]
fn a_file_that_was_written_to_in_place_is_not_read() {
    for options in [raw(), zstd(), ztensor_2()] {
        let folder = Folder::new();
        let (path, other) = (folder.path("file.zt"), folder.path("other.zt"));
        let of_larger = |folder: &Folder| {
            let path = folder.path("larger.zt");
            let mut writer = Writer::create(&path, &options).unwrap();
            for name in ["a", "b", "c"] {
                let bytes = vec![7; SIZE];
                Sample::dense(name, Dtype::U8, &[100, 1000], bytes).write(&mut writer).unwrap();
            }
            writer.finish().unwrap();
            std::fs::read(path).unwrap()
        };
        create(&other, &options);
        type Change<'a> = &'a dyn Fn(&Path);
        let larger = of_larger(&folder);
        let changes: [(&str, Change<'_>); 5] = [
            ("another byte", &|path| overwrite(path, 4000, b"other")),
            ("the same bytes", &|path| overwrite(path, 0, &std::fs::read(path).unwrap())),
            ("a larger file", &|path| overwrite(path, 0, &larger)),
            ("cut short", &|path| {
                wait();
                std::fs::File::options().write(true).open(path).unwrap().set_len(5000).unwrap();
            }),
            ("longer than the manifest's place", &|path| {
                let size = std::fs::metadata(path).unwrap().len();
                overwrite(path, size - 40, &[1; 400]);
            }),
        ];
        for (what, change) in changes {
            create(&path, &options);
            let file = open(&path);
            assert_readable(&file, what);
            change(&path);
            match what {
                // If the file ends too early, the read reports it.
                "cut short" => {
                    for (case, outcome) in cases(&file) {
                        assert_eq!(outcome.expect_err(case).cause(), Cause::Io, "{case}");
                    }
                }
                _ => assert_changed(&file, what),
            }
        }
    }
}

/// A mapping cannot detect changes.
#[test]
fn a_mapped_file_is_not_checked_for_changes() {
    let folder = Folder::new();
    let path = folder.path("file.zt");
    create(&path, &raw());
    let file = File::open(&path, &OpenOptions::default()).unwrap();
    overwrite(&path, 0, &std::fs::read(&path).unwrap());
    assert_readable(&file, "mapped");
}

#[test]
fn a_file_of_another_container_is_not_read_after_it_has_grown() {
    let folder = Folder::new();
    let path = folder.path("file.safetensors");
    let header = br#"{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}  "#;
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header);
    bytes.extend_from_slice(b"abcd");
    std::fs::write(&path, &bytes).unwrap();
    let file = open(&path);
    let data = file.object(0).unwrap().components().next().unwrap();
    data.read(&mut [0; 4]).unwrap();
    overwrite(&path, bytes.len() as u64, b"more");
    assert_eq!(data.read(&mut [0; 4]).unwrap_err().cause(), Cause::Io);
}

/// During an append, after it, after several, and after one that was undone.
#[test]
fn a_file_that_grew_by_appends_stays_readable() {
    for options in [raw(), zstd(), ztensor_2()] {
        let folder = Folder::new();
        let path = folder.path("file.zt");
        create(&path, &options);
        let (file, asked_later) = (open(&path), open(&path));
        let mapped = File::open(&path, &OpenOptions::default()).unwrap();
        let before = file.identity().unwrap();
        let assert_same = |what: &str| {
            assert_readable(&file, what);
            assert_eq!(file.identity().unwrap(), before, "{what}");
        };
        let large = || Sample::dense("large", Dtype::U8, &[3 << 20], vec![1; 3 << 20]);
        for (finishes, what) in [(false, "taken back"), (true, "appended"), (true, "edited")] {
            wait();
            let mut writer = Writer::append(&path, &WriterOptions::default()).unwrap();
            assert_same("begun");
            match what {
                "edited" => writer.remove_object("b").unwrap(),
                _ => large().write(&mut writer).unwrap(),
            }
            assert_same("written to");
            match finishes {
                true => assert!(writer.finish().is_ok()),
                false => drop(writer),
            }
            assert_same(what);
        }
        append(&path, &WriterOptions::default(), |writer| new_object("once more").write(writer).unwrap());
        assert_same("once more");
        let found: Vec<Identity> =
            [&asked_later, &mapped].iter().map(|file| file.identity().unwrap()).collect();
        assert_eq!(found, [before, before], "the identity after the appends");
        overwrite(&path, 4000, b"other");
        assert_changed(&file, "written to after the append");
        assert_eq!(open(&path).object_count(), 3, "the objects a, large and the last one");
    }
}

/// Elements with swapped bytes are read, because a mapping would end the process.
#[test]
fn a_mapped_big_endian_file_that_is_cut_short_is_an_error() {
    let folder = Folder::new();
    let path = folder.path("big-endian.zt");
    std::fs::copy(common::repository("tests/data/v0.1/rs-0.1.0-big-endian.zt"), &path).unwrap();
    let file = File::open(&path, &OpenOptions { mode: Mode::Map, ..OpenOptions::default() }).unwrap();
    let data = common::data(&file, "f64");
    let mut bytes = [[0; 16]; 2];
    data.read_range(0, &mut bytes[0]).unwrap();
    data.read_range(1, &mut bytes[1][..9]).unwrap();
    assert_eq!(bytes[0][1..10], bytes[1][..9]);
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(0).unwrap();
    for (offset, size) in [(0, 8), (1, 3), (7, 9)] {
        let error = data.read_range(offset, &mut bytes[0][..size]).unwrap_err();
        assert_eq!(error.cause(), Cause::Io, "{offset}, {size}: {error}");
    }
}
