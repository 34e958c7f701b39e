//! Many objects in one call. The file has the same bytes as with single calls, for every sink, option and
//! number of threads. A rejected call changes nothing.

use crate::common;
mod sinks;

use common::{compressible, Folder, MemorySink, Random};
use std::path::Path;
use ztensor::error::{Cause, Result};
use ztensor::model::dtype::{Dtype, Logical};
use ztensor::model::manifest::{Encoding, Version};
use ztensor::model::value::Attributes;
use ztensor::writer::{Algorithm, ComponentSpec, DenseSpec, LogicalSpec, ObjectSpec, Writer, WriterOptions};

const SIZES: [usize; 9] = [0, 1, 63, 64, 65, 4 << 10, 5000, 300 << 10, 5 << 20];

/// An object of a batch, without borrowed memory.
struct One {
    name: String,
    shape: Vec<u64>,
    size: usize,
    encoding: Option<Encoding>,
    digest: Option<Option<Algorithm>>,
}

fn one(name: String, size: usize) -> One {
    One { name, shape: vec![size as u64], size, encoding: None, digest: None }
}

/// Sizes in some order. Each object has its own options or none.
fn mix(seed: u64, count: usize, asks: bool) -> Vec<One> {
    let mut random = Random(seed);
    let mut large = 0;
    let sizes = (0..count).map(|at| {
        let mut size = SIZES[if at < SIZES.len() { at } else { random.below(SIZES.len() as u64) as usize }];
        large += usize::from(size > 1 << 20);
        if large > 3 {
            size = size.min(4096);
        }
        One {
            encoding: [None, Some(Encoding::Raw), Some(Encoding::Zstd)]
                [if asks { random.below(3) as usize } else { 0 }],
            digest: [None, Some(None), Some(Some(Algorithm::Crc32c)), Some(Some(Algorithm::Sha256))]
                [if asks { random.below(4) as usize } else { 0 }],
            ..one(format!("object {at} of {seed}"), size)
        }
    });
    sizes.collect()
}

fn requests<'a>(objects: &'a [One], data: &'a [u8]) -> Vec<DenseSpec<'a>> {
    let request = |(at, o): (usize, &'a One)| DenseSpec {
        encoding: o.encoding,
        digest: o.digest,
        ..DenseSpec::new(&o.name, Dtype::U8, &o.shape, &data[at % 100..][..o.size])
    };
    objects.iter().enumerate().map(request).collect()
}

fn one_by_one(writer: &mut Writer, requests: &[DenseSpec<'_>]) -> Result<()> {
    requests.iter().try_for_each(|r| {
        let object = ObjectSpec { name: r.name, format: "dense", shape: r.shape };
        let component = ComponentSpec {
            logical: r.logical.map(LogicalSpec::Known),
            encoding: r.encoding,
            digest: r.digest,
            ..ComponentSpec::new("data", r.dtype)
        };
        writer.write_object(&object, Attributes::default(), &[(component, r.data)])
    })
}

fn data() -> Vec<u8> {
    compressible((9 << 20) + 100)
}

/// Options that change the written bytes, or how they are written.
fn all_options() -> Vec<WriterOptions> {
    let base = || WriterOptions { frame_size: 64 << 10, zstd_level: 1, ..WriterOptions::default() };
    let (crc32c, sha256) = (Some(Algorithm::Crc32c), Some(Algorithm::Sha256));
    vec![
        base(),
        WriterOptions { digest: crc32c, version: Version::V1_1, ..base() },
        WriterOptions { digest: sha256, alignment: 256, ..base() },
        WriterOptions { digest: sha256, version: Version::V0_1, ..base() },
        WriterOptions { large_alignment: 4096, large_size: 4096, ..base() },
        WriterOptions { digest: crc32c, alignment: 16384, ..base() },
        WriterOptions { digest: sha256, encoding: Encoding::Zstd, ..base() },
        WriterOptions { encoding: Encoding::Zstd, version: Version::V1_1, large_alignment: 65536, ..base() },
    ]
}

/// The file that `body` writes to a path.
fn file_at(path: &Path, writer: Result<Writer>, body: impl FnOnce(&mut Writer) -> Result<()>) -> Vec<u8> {
    let mut writer = writer.unwrap();
    body(&mut writer).unwrap();
    let summary = writer.finish().unwrap();
    let bytes = std::fs::read(path).unwrap();
    assert_eq!(summary.file_size, bytes.len() as u64);
    bytes
}

#[test]
fn a_batch_writes_the_bytes_of_single_calls() {
    let (data, folder) = (data(), Folder::new());
    let path = folder.path("file.zt");
    for (seed, options) in all_options().into_iter().enumerate() {
        let objects = [mix(seed as u64 + 1, 40, false), mix(seed as u64 + 100, 60, true)].concat_all();
        let requests = requests(&objects, &data);
        let options = WriterOptions { threads: 1, ..options };
        let expected = common::written(&options, |w| one_by_one(w, &requests).unwrap());
        common::verify(&common::open(expected.clone())).unwrap();
        for (threads, durable) in [(1, false), (2, false), (8, false), (1, true), (2, true), (8, true)] {
            let options = WriterOptions { threads, durable, ..options.clone() };
            let what = format!("{threads} threads, durable {durable}, {options:?}");
            assert!(common::written(&options, |w| w.write_batch(&requests).unwrap()) == expected, "{what}");
            let made = file_at(&path, Writer::create(&path, &options), |w| w.write_batch(&requests));
            assert!(made == expected, "a file, {what}");
            // In several calls, with single calls between them.
            let (front, rest) = requests.split_at(7);
            let (middle, back) = rest.split_at(21);
            let made = file_at(&path, Writer::create(&path, &options), |w| {
                w.write_batch(front).and_then(|()| one_by_one(w, middle)).and_then(|()| w.write_batch(back))
            });
            assert!(made == expected, "in parts, {what}");
        }
    }
}

/// `concat` for values that cannot be cloned.
trait ConcatAll {
    fn concat_all(self) -> Vec<One>;
}

impl<const N: usize> ConcatAll for [Vec<One>; N] {
    fn concat_all(self) -> Vec<One> {
        self.into_iter().flatten().collect()
    }
}

#[test]
fn many_small_ones_come_out_the_same() {
    let data = data();
    let folder = Folder::new();
    let path = folder.path("file.zt");
    for (size, count) in
        [(1, 9000), (64, 9000), (700, 3000), (4096, 2500), (4097, 2500), (100_000, 70), (9 << 20, 2)]
    {
        let objects: Vec<One> = (0..count).map(|at| one(format!("{at}"), size)).collect();
        let requests = requests(&objects, &data);
        for digest in [None, Some(Algorithm::Crc32c), Some(Algorithm::Sha256)] {
            let options = WriterOptions { digest, threads: 1, ..common::without_digests() };
            let expected = common::written(&options, |w| one_by_one(w, &requests).unwrap());
            for (threads, durable) in [(1, false), (2, false), (0, true)] {
                let options = WriterOptions { threads, durable, ..options.clone() };
                let made = file_at(&path, Writer::create(&path, &options), |w| w.write_batch(&requests));
                assert!(made == expected, "{count} of {size} bytes, {digest:?}, {threads} threads");
            }
        }
    }
}

#[test]
fn many_small_ones_come_out_the_same_around_others() {
    let (data, folder) = (data(), Folder::new());
    let path = folder.path("file.zt");
    let mut objects: Vec<One> = (0..6000).map(|at| one(format!("{at}"), 1000 + at % 700)).collect();
    objects[2999].size = 300 << 10; // larger than the buffer
    objects[2999].shape = vec![300 << 10];
    objects[10].encoding = Some(Encoding::Zstd);
    objects[11].digest = Some(Some(Algorithm::Sha256));
    let requests = requests(&objects, &data);
    let (front, rest) = requests.split_at(2900);
    let (middle, back) = rest.split_at(100);
    let twice: Vec<DenseSpec<'_>> = back.iter().chain(&back[..1]).copied().collect();
    for (version, digest) in
        [(Version::V0_1, None), (Version::V1_1, Some(Algorithm::Crc32c)), (Version::V1_2, None)]
    {
        let options = WriterOptions { version, digest, threads: 1, ..common::without_digests() };
        let expected = common::written(&options, |w| one_by_one(w, &requests).unwrap());
        for threads in [1, 2, 8] {
            let options = WriterOptions { threads, ..options.clone() };
            let made = file_at(&path, Writer::create(&path, &options), |w| {
                w.write_batch(front)?;
                one_by_one(w, middle)?;
                assert_eq!(w.write_batch(&twice).unwrap_err().cause(), Cause::Exists);
                w.write_batch(back)
            });
            assert!(made == expected, "{version:?}, {threads} threads");
        }
    }
}

#[test]
fn every_dtype_and_type_goes_in_a_batch() {
    let data = data();
    let types = common::every_type();
    let bools: Vec<u8> = (0..12).map(|at| at % 2).collect();
    let shape = [4, 3];
    let names: Vec<String> = types.iter().map(|t| format!("{t:?}")).collect();
    let requests: Vec<DenseSpec<'_>> = types
        .iter()
        .zip(&names)
        .map(|((dtype, logical), name)| {
            let size = 12 * dtype.size() * logical.map_or(1, Logical::ratio) as usize;
            let data = if *dtype == Dtype::Bool { &bools } else { &data };
            DenseSpec { logical: *logical, ..DenseSpec::new(name, *dtype, &shape, &data[..size]) }
        })
        .collect();
    let options = WriterOptions::default();
    let expected = common::written(&options, |w| one_by_one(w, &requests).unwrap());
    assert!(common::written(&options, |w| w.write_batch(&requests).unwrap()) == expected);
    let scalar = [DenseSpec::new("", Dtype::F32, &[], &data[..4])];
    let expected = common::written(&options, |w| one_by_one(w, &scalar).unwrap());
    assert!(common::written(&options, |w| w.write_batch(&scalar).unwrap()) == expected);
}

#[test]
fn a_batch_is_appended_as_its_objects_are_one_by_one() {
    let (data, folder) = (data(), Folder::new());
    let path = folder.path("file.zt");
    let (old, new) = (mix(1, 20, true), mix(2, 50, true));
    let (old, new) = (requests(&old, &data), requests(&new, &data));
    let base = common::written(&WriterOptions::default(), |w| one_by_one(w, &old).unwrap());
    for (threads, digest) in [(1, None), (2, Some(Algorithm::Sha256)), (8, Some(Algorithm::Crc32c))] {
        let options = WriterOptions { threads, digest, ..common::without_digests() };
        std::fs::write(&path, &base).unwrap();
        let expected = file_at(&path, Writer::append(&path, &options), |w| one_by_one(w, &new));
        std::fs::write(&path, &base).unwrap();
        let made = file_at(&path, Writer::append(&path, &options), |w| {
            let taken = w.write_batch(&[new[0], old[3]]).unwrap_err(); // a name of an object in the file
            assert_eq!(taken.cause(), Cause::Exists);
            w.write_batch(&new)
        });
        assert!(made == expected, "{options:?}");
    }
}

#[test]
fn a_rejected_batch_does_not_change_the_writer() {
    let data = data();
    let objects = mix(3, 30, true);
    let good = requests(&objects, &data);
    let (there, rest) = good.split_at(5);
    let long = "n".repeat((64 << 10) + 1);
    let bad: [(Cause, DenseSpec<'_>); 7] = [
        (Cause::Exists, there[2]),
        (Cause::Exists, rest[4]), // a name that the batch has twice
        (Cause::Limit, DenseSpec::new(&long, Dtype::U8, &[1], &data[..1])),
        (Cause::BufferSize, DenseSpec::new("x", Dtype::U8, &[2], &data[..1])),
        (Cause::BufferSize, DenseSpec::new("x", Dtype::F32, &[1], &data[..5])),
        (Cause::InvalidArgument, DenseSpec::new("x", Dtype::F32, &[u64::MAX, 3], &data[..4])),
        (
            Cause::InvalidArgument,
            DenseSpec {
                logical: Some(Logical::F8E4m3fn),
                ..DenseSpec::new("x", Dtype::F32, &[1], &data[..4])
            },
        ),
    ];
    for digest in [None, Some(Algorithm::Sha256)] {
        let options = WriterOptions { threads: 2, digest, ..common::without_digests() };
        let expected = common::written(&options, |w| one_by_one(w, &good).unwrap());
        for (cause, request) in bad {
            let sink = MemorySink::default();
            let mut writer = Writer::to_sink(Box::new(sink.clone()), &options).unwrap();
            writer.write_batch(there).unwrap();
            let before = sink.0.lock().unwrap().len();
            let mut batch = rest.to_vec();
            batch.insert(9, request);
            let error = writer.write_batch(&batch).unwrap_err();
            assert_eq!(error.cause(), cause, "{error}");
            let due = format!("request 9: object \"{}", &request.name[..request.name.len().min(20)]);
            assert!(error.message().starts_with(&due), "{error}");
            assert_eq!(sink.0.lock().unwrap().len(), before, "nothing was written: {error}");
            writer.write_batch(&[]).unwrap();
            writer.write_batch(rest).unwrap();
            writer.finish().unwrap();
            assert!(*sink.0.lock().unwrap() == expected, "{error}");
        }
    }
}

#[test]
fn the_names_of_a_refused_batch_are_forgotten() {
    let shape = [1];
    let names: Vec<String> = (0..5000).map(|at| format!("{at}")).collect();
    let request = |name| DenseSpec::new(name, Dtype::U8, &shape, b"x");
    let mut refused: Vec<DenseSpec<'_>> = names[..1000].iter().map(|name| request(name)).collect();
    refused.push(refused[0]);
    // A table that grows reads all names in it. A name that was freed would be the empty one.
    let mut good = vec![request("")];
    good.extend(names.iter().map(|name| request(name)));
    let mut writer = Writer::to_sink(Box::new(MemorySink::default()), &WriterOptions::default()).unwrap();
    assert_eq!(writer.write_batch(&refused).unwrap_err().cause(), Cause::Exists);
    writer.write_batch(&good).unwrap();
    assert_eq!(writer.finish().unwrap().objects, 5001);
}

#[test]
fn a_batch_is_refused_out_of_turn() {
    let data = data();
    let request = DenseSpec::new("a", Dtype::U8, &[1], &data[..1]);
    let mut writer = Writer::to_sink(Box::new(MemorySink::default()), &WriterOptions::default()).unwrap();
    writer.begin(&ObjectSpec { name: "open", format: "other", shape: &[] }, Attributes::default()).unwrap();
    assert_eq!(writer.write_batch(&[request]).unwrap_err().cause(), Cause::State);
    writer.end().unwrap();
    writer.write_batch(&[request]).unwrap();
    writer.finish().unwrap();
    assert_eq!(writer.write_batch(&[request]).unwrap_err().cause(), Cause::State);
}
