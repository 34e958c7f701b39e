//! Shards of zTensor 2: when they are opened, where they are searched, and what is rejected.

use crate::common;

use common::shards::{self, data_shard, entry, file, Entry, Sharded, Tensor, PAGE};
use common::{data, read, Folder};
use std::path::Path;
use std::sync::Barrier;
use ztensor::error::{Cause, Error, Result};
use ztensor::reader::{
    BatchOptions, BatchStats, File, Mode, OpenOptions, Selection, Shards, VerifyOptions, VerifyReport,
};
use ztensor::writer::{Writer, WriterOptions};

fn model() -> (Sharded, Folder) {
    let (model, folder) = (Sharded::new(), Folder::new());
    model.write(&folder.0);
    (model, folder)
}

fn with(shards: Shards) -> OpenOptions {
    OpenOptions { shards, ..OpenOptions::default() }
}

fn verify(file: &File, shards: bool) -> Result<VerifyReport> {
    let mut report = VerifyReport::default();
    let options = VerifyOptions { shards, ..VerifyOptions::default() };
    file.verify(&options, &|_, _| true, &mut report).map(|()| report)
}

fn read_all(file: &File, model: &Sharded) {
    for (name, bytes) in &model.tensors {
        assert_eq!(&read(&data(file, name)), bytes, "{name}");
    }
}

/// The error of reading a tensor.
fn failure(file: &File, name: &str) -> Error {
    let mut bytes = [0; 5000];
    let failure = data(file, name).read(&mut bytes).unwrap_err();
    let borrowed = data(file, name).borrow().unwrap_err();
    assert_eq!(borrowed.message(), failure.message());
    failure
}

fn assert_says(error: &Error, words: &[&str]) {
    for word in words {
        assert!(error.message().contains(word), "no {word:?} in: {error}");
    }
}

#[test]
fn all_of_a_model_is_read_in_every_mode() {
    let (model, folder) = model();
    for mode in [Mode::Map, Mode::Read, Mode::Auto, Mode::Private] {
        for shards in [Shards::OfModels, Shards::OnUse, Shards::AtOpen] {
            let file = File::open_model(folder.path("m.zt"), &OpenOptions { mode, ..with(shards) }).unwrap();
            read_all(&file, &model);
            let two = data(&file, "two");
            let mut range = [0; 100];
            two.read_range(70, &mut range).unwrap();
            assert_eq!(range, model.tensors[2].1[70..170]);
            assert_eq!(two.borrow().is_ok(), mode != Mode::Read && mode != Mode::Auto || two.caps().map);
            let report = verify(&file, true).unwrap();
            assert_eq!((report.components, report.digests_verified), (3, 3));
        }
    }
}

#[test]
fn a_component_names_its_part() {
    let (model, folder) = model();
    let file = File::open_model(folder.path("m.zt"), &OpenOptions::default()).unwrap();
    assert_eq!(file.part_count(), 3);
    let parts = ["own", "one", "two"].map(|name| data(&file, name).part_number());
    assert_eq!(parts, [0, 1, 2]);
    let sizes: Vec<_> = file.parts().map(|part| part.size()).collect();
    assert_eq!(sizes, [&model.root, &model.a, &model.b].map(|bytes| bytes.len() as u64));
    assert_eq!(file.size(), sizes.iter().sum::<u64>());
    let path = |at: usize| String::from_utf8(file.part(at).unwrap().path().unwrap().to_vec()).unwrap();
    assert!(path(0).ends_with("m.zt\0") && path(1).ends_with("m-a.zt\0") && path(2).ends_with("m-b.zt\0"));
    assert!(data(&file, "one").caps().map, "the flags are those of an open shard");
    assert!(!file.part(1).unwrap().is_open(), "asking for flags does not open the shard");
    file.open_part(1).unwrap();
    assert_eq!(file.part(1).unwrap().borrow().unwrap(), model.a);
    let bytes = data(&file, "one").borrow().unwrap();
    assert_eq!(bytes.as_ptr(), file.part(1).unwrap().borrow().unwrap()[PAGE..].as_ptr());
    assert_ne!(file.part(2).unwrap().is_open(), file.part(1).unwrap().is_open());
    let is_known = |part: usize| file.part(part).unwrap().is_resident(0).is_some();
    assert_eq!([is_known(1), is_known(2)], [is_known(0), false]);
}

#[test]
fn a_root_is_listed_without_its_shards_and_reads_them_when_they_are_there() {
    let (model, folder) = model();
    for name in ["m-a.zt", "m-b.zt"] {
        std::fs::remove_file(folder.path(name)).unwrap();
    }
    let file = File::open_model(folder.path("m.zt"), &OpenOptions::default()).unwrap();
    assert_eq!(file.objects().map(|object| object.shape()[0]).collect::<Vec<_>>(), [5000; 3]);
    file.identity().unwrap();
    let error = failure(&file, "one");
    assert_eq!(error.cause(), Cause::NoFile);
    assert_says(&error, &["m.zt: object \"one\": component \"data\": shard \"a\": ", "m-a.zt"]);
    assert_eq!(verify(&file, false).unwrap_err().cause(), Cause::NoFile);
    let error = File::open_model(folder.path("m.zt"), &with(Shards::AtOpen)).unwrap_err();
    assert_eq!(error.cause(), Cause::NoFile);
    assert_says(&error, &["m.zt: ", "shard \"a\"", "m-a.zt"]);
    for (name, bytes) in [("m-a.zt", &model.a), ("m-b.zt", &model.b)] {
        std::fs::write(folder.path(name), bytes).unwrap(); // not m.zt, which is mapped
    }
    read_all(&file, &model);
}

#[test]
fn shards_are_opened_only_if_an_option_allows_it() {
    let (model, folder) = model();
    let path = folder.path("m.zt");
    let never = [
        File::open(&path, &OpenOptions::default()),
        File::open(&path, &with(Shards::Never)),
        File::open_model(&path, &with(Shards::Never)),
        File::open_memory(model.root.clone(), &with(Shards::OnUse)),
    ];
    for file in never.map(Result::unwrap) {
        let error = failure(&file, "two");
        assert_eq!(error.cause(), Cause::Unsupported);
        assert_says(&error, &["shard \"b\""]);
        let caps = data(&file, "two").caps();
        assert!(!(caps.map || caps.read || caps.range || caps.direct || caps.verify), "{caps:?}");
        assert_eq!(&read(&data(&file, "own")), &model.tensors[0].1);
        assert_eq!((data(&file, "two").part_number(), file.part_count()), (2, 3));
        assert_eq!(verify(&file, true).unwrap_err().cause(), Cause::Unsupported);
    }
    for shards in [Shards::OnUse, Shards::AtOpen] {
        read_all(&File::open(&path, &with(shards)).unwrap(), &model);
    }
}

/// Puts a file in place of shard `b`, and checks the error.
fn replaced(by: &[u8], words: &[&str]) {
    let (_, folder) = model();
    std::fs::write(folder.path("m-b.zt"), by).unwrap();
    let file = File::open_model(folder.path("m.zt"), &OpenOptions::default()).unwrap();
    let at_open = File::open_model(folder.path("m.zt"), &with(Shards::AtOpen)).unwrap_err();
    for error in [failure(&file, "two"), at_open, file.open_part(2).unwrap_err()] {
        assert_eq!(error.rule_name(), c"ShardIdentity", "{error}");
        assert_says(&error, words);
        assert_says(&error, &["shard \"b\"", "m-b.zt"]);
    }
    read(&data(&file, "one"));
}

#[test]
fn files_that_are_not_shards_are_rejected_by_name() {
    let model = Sharded::new();
    let size = model.b.len();
    let sizes = [format!("has {} bytes", size - 1), format!("says {size}")];
    replaced(&model.b[..size - 1], &[&sizes[0], &sizes[1]]);
    replaced(&[], &["has 0 bytes"]);
    replaced(&vec![b'x'; size], &["not a complete file"]);
    let mut broken = model.b.clone();
    broken[size - 60] ^= 1;
    replaced(&broken, &["not a complete file", "hash"]);
    let mut later = model.b.clone();
    later[size - 16] = 3;
    replaced(&later, &["not a complete file", "version 3"]);
    let safetensors = |size: usize| {
        let mut bytes = ((size - 8) as u64).to_le_bytes().to_vec();
        bytes.extend(b"{}");
        bytes.resize(size, b' ');
        bytes
    };
    replaced(&safetensors(size), &["needs shards of the same container"]);
}

#[test]
fn a_verification_tries_once_to_open_a_shard() {
    let (model, folder) = model();
    let names = ["a", "b", "c"];
    let tensors =
        names.map(|name| Tensor { name, shard: Some("a"), offset: PAGE, bytes: &model.tensors[1].1 });
    std::fs::write(folder.path("m.zt"), file(&tensors, &[entry("a", &model.a)])).unwrap();
    std::fs::write(folder.path("m-a.zt"), vec![0; model.a.len()]).unwrap();
    let file = File::open_model(folder.path("m.zt"), &OpenOptions::default()).unwrap();
    let failed = std::sync::Mutex::new(Vec::new());
    let on_failure = |object: Option<usize>, _: Option<usize>, error: &Error| {
        assert_says(error, &["shard \"a\"", "not a complete file"]);
        failed.lock().unwrap().push(object);
        std::fs::write(folder.path("m-a.zt"), &model.a).unwrap(); // the failure is not retried
        true
    };
    let options = VerifyOptions { threads: 1, ..VerifyOptions::default() };
    let report = &mut VerifyReport::default();
    file.verify_all(&options, &|_, _| true, Some(&on_failure), report).unwrap_err();
    assert_eq!(*failed.lock().unwrap(), [Some(0), Some(1), Some(2)]);
    verify(&file, true).unwrap();
}

#[test]
fn only_the_digest_detects_a_different_file_of_the_same_size() {
    let (model, folder) = model();
    let mut other = model.b.clone();
    other[PAGE] ^= 1; // padding, which no digest of a part covers
    std::fs::write(folder.path("m-b.zt"), &other).unwrap();
    let file = File::open_model(folder.path("m.zt"), &OpenOptions::default()).unwrap();
    read_all(&file, &model);
    verify(&file, false).unwrap();
    let error = verify(&file, true).unwrap_err();
    assert_eq!(error.rule_name(), c"ShardIdentity");
    assert_says(&error, &["m.zt: ", "shard \"b\"", &shards::xxh3(&other)[5..], &shards::xxh3(&model.b)[5..]]);
}

#[test]
fn digests_of_unknown_algorithms_are_counted_and_malformed_ones_refused() {
    let (model, folder) = model();
    let root = |digest: &str| {
        let tensor = Tensor { name: "one", shard: Some("a"), offset: PAGE, bytes: &model.tensors[1].1 };
        file(&[tensor], &[Entry { digest: digest.into(), ..entry("a", &model.a) }])
    };
    std::fs::write(folder.path("m.zt"), root("blake3:00")).unwrap();
    let unknown = verify(&File::open_model(folder.path("m.zt"), &OpenOptions::default()).unwrap(), true);
    assert_eq!(unknown.unwrap_err().cause(), Cause::Unsupported);
    std::fs::write(folder.path("m.zt"), root("xxh3:00")).unwrap();
    let file = File::open_model(folder.path("m.zt"), &OpenOptions::default()).unwrap();
    verify(&file, false).unwrap();
    assert_says(&verify(&file, true).unwrap_err(), &["shard \"a\"", "xxh3:00"]);
}

#[test]
fn eight_threads_that_read_first_have_one_file() {
    let (model, folder) = model();
    for _ in 0..20 {
        let file = File::open_model(folder.path("m.zt"), &OpenOptions::default()).unwrap();
        let barrier = Barrier::new(8);
        let places = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        barrier.wait();
                        let bytes = data(&file, "one").borrow().unwrap();
                        assert_eq!(bytes, model.tensors[1].1);
                        bytes.as_ptr().addr()
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(places.iter().all(|place| *place == places[0]), "mapped once");
    }
}

#[test]
fn a_shard_that_is_cut_while_it_is_open_fails_with_its_name() {
    let (_, folder) = model();
    let read_only = OpenOptions { mode: Mode::Read, ..OpenOptions::default() };
    let file = File::open_model(folder.path("m.zt"), &read_only).unwrap();
    read(&data(&file, "two"));
    let shard = std::fs::File::options().write(true).open(folder.path("m-b.zt")).unwrap();
    shard.set_len(2 * PAGE as u64 + 10).unwrap();
    let error = data(&file, "two").read(&mut [0; 5000]).unwrap_err();
    assert_eq!(error.cause(), Cause::Io);
    assert_says(&error, &["object \"two\"", "shard \"b\""]);
}

#[test]
fn batches_and_copies_read_shards() {
    let (model, folder) = model();
    for mode in [Mode::Map, Mode::Read] {
        let options = OpenOptions { mode, ..OpenOptions::default() };
        let file = File::open_model(folder.path("m.zt"), &options).unwrap();
        let mut memory = [vec![0; 5000], vec![0; 5000], vec![0; 5000]];
        let places = memory.iter_mut().zip(&model.tensors);
        let requests = places.map(|(dst, (name, _))| data(&file, name).request(&Selection::Whole, dst, 0));
        let mut requests: Vec<_> = requests.map(Result::unwrap).collect();
        let options = BatchOptions { verify: true, threads: 2, ..BatchOptions::default() };
        File::read_batch(&mut requests, &options, &|_, _| {}, &|_, _| true, &mut BatchStats::default())
            .unwrap();
        drop(requests);
        assert!(memory.iter().zip(&model.tensors).all(|(found, (_, bytes))| found == bytes));
        let copied = common::written(&WriterOptions::default(), |writer: &mut Writer| {
            file.objects().for_each(|object| writer.copy(object, object.name()).unwrap());
        });
        read_all(&common::open(copied), &model);
    }
}

#[test]
fn a_request_of_a_missing_shard_is_refused_before_anything_is_read() {
    let (_, folder) = model();
    std::fs::remove_file(folder.path("m-a.zt")).unwrap();
    let file = File::open_model(folder.path("m.zt"), &OpenOptions::default()).unwrap();
    let mut dst = [0; 5000];
    let error = data(&file, "one").request(&Selection::Whole, &mut dst, 0).map(drop).unwrap_err();
    assert_says(&error, &["object \"one\"", "shard \"a\""]);
    let advised = data(&file, "one").advise(ztensor::reader::Advice::WillNeed).unwrap_err();
    assert_says(&advised, &["object \"one\"", "shard \"a\""]);
}

#[test]
fn the_shards_of_a_shard_are_not_opened() {
    let folder = Folder::new();
    let bytes = [7; 100];
    // `loop` names `x` as its shard, the file loop-x.zt. The root is again a shard of that.
    let x = |root: &[u8]| {
        let tensor = Tensor { name: "t", shard: None, offset: PAGE, bytes: &bytes };
        file(&[tensor], &[Entry { size: root.len() as u64, ..entry("loop", root) }, entry("gone", &[0; 48])])
    };
    let first = x(&[0; 8192]);
    let tensor = Tensor { name: "t", shard: Some("x"), offset: PAGE, bytes: &bytes };
    let root = file(&[tensor], &[entry("x", &first)]);
    std::fs::write(folder.path("loop.zt"), &root).unwrap();
    std::fs::write(folder.path("loop-x.zt"), &first).unwrap();
    let opened = File::open_model(folder.path("loop.zt"), &with(Shards::AtOpen)).unwrap();
    assert_eq!((read(&data(&opened, "t")), opened.part_count()), (bytes.to_vec(), 2));
}

#[test]
fn an_open_model_of_several_roots_reads_the_shards_of_each() {
    let (model, folder) = model();
    let other = data_shard(&[(PAGE, b"other")]);
    let tensor = Tensor { name: "other", shard: Some("a"), offset: PAGE, bytes: b"other" };
    std::fs::write(folder.path("n.zt"), file(&[tensor], &[entry("a", &other)])).unwrap();
    std::fs::write(folder.path("n-a.zt"), &other).unwrap();
    let paths = [folder.path("n.zt"), folder.path("m.zt")];
    let file = File::open_parts(&paths, &OpenOptions::default()).unwrap();
    read_all(&file, &model);
    assert_eq!(read(&data(&file, "other")), b"other");
    let parts = ["other", "own", "one", "two"].map(|name| data(&file, name).part_number());
    assert_eq!((parts, file.part_count()), ([2, 1, 3, 4], 5));
    assert!(Path::new(file.part(2).unwrap().label()).ends_with("n-a.zt"));
}
