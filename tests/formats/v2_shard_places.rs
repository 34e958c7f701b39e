//! Where shards of zTensor 2 are searched: beside their file, in a folder, and in a store of the caller.

use crate::common;

use common::shards::{self, entry, file, Sharded, Tensor, PAGE};
use common::{data, read, Folder};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Mutex;
use ztensor::error::{Cause, Error, Result};
use ztensor::reader::{File, OpenOptions, Opened, Shards, Store};
use ztensor::source::MemorySource;

fn read_all(file: &File, model: &Sharded) {
    for (name, bytes) in &model.tensors {
        assert_eq!(&read(&data(file, name)), bytes, "{name}");
    }
}

fn in_folder(folder: &Folder) -> OpenOptions {
    OpenOptions { shard_folder: Some(folder.0.clone()), ..OpenOptions::default() }
}

#[test]
fn a_folder_of_shards_has_them_by_several_names() {
    let model = Sharded::new();
    let digest = shards::xxh3(&model.b);
    let by_digest = format!("blobs/xxh3/{}", &digest[5..]);
    for names in [["m-a.zt", "m-b.zt"], ["a.zt", "b.zt"], ["a.zt", by_digest.as_str()]] {
        let (here, there) = (Folder::new(), Folder::new());
        std::fs::write(here.path("m.zt"), &model.root).unwrap();
        for (name, bytes) in names.iter().zip([&model.a, &model.b]) {
            std::fs::create_dir_all(there.path(name).parent().unwrap()).unwrap();
            std::fs::write(there.path(name), bytes).unwrap();
        }
        let file = File::open_model(here.path("m.zt"), &in_folder(&there)).unwrap();
        read_all(&file, &model);
        let label = file.part(2).unwrap().label();
        assert_eq!(Path::new(label), there.path(names[1]));
    }
}

#[test]
fn a_shard_that_is_in_no_folder_is_missing_by_its_first_name() {
    let (model, here, there) = (Sharded::new(), Folder::new(), Folder::new());
    model.write(&here.0);
    let file = File::open_model(here.path("m.zt"), &in_folder(&there)).unwrap();
    let error = data(&file, "one").borrow().unwrap_err();
    assert_eq!(error.cause(), Cause::NoFile);
    assert!(error.message().contains(there.path("m-a.zt").to_str().unwrap()), "{error}");
}

#[cfg(unix)]
#[test]
fn shards_of_a_link_are_next_to_it_or_next_to_its_target() {
    use std::os::unix::fs::symlink;
    let (model, folder) = (Sharded::new(), Folder::new());
    std::fs::create_dir_all(folder.path("d/e")).unwrap();
    model.write(&folder.path("d/e"));
    symlink("e/m.zt", folder.path("d/m.zt")).unwrap();
    for (link, target) in [("m.zt", "d/e/m.zt"), ("x.zt", "d/e/m.zt"), ("y.zt", "d/m.zt")] {
        symlink(target, folder.path(link)).unwrap();
        read_all(&File::open_model(folder.path(link), &OpenOptions::default()).unwrap(), &model);
        let at_open = OpenOptions { shards: Shards::AtOpen, ..OpenOptions::default() };
        read_all(&File::open(folder.path(link), &at_open).unwrap(), &model);
        read_all(&File::open_parts(&[folder.path(link)], &OpenOptions::default()).unwrap(), &model);
    }
    // The file beside the link is used. A shard that is beside neither is reported as missing beside the
    // link.
    std::fs::write(folder.path("x-b.zt"), &model.b).unwrap();
    let file = File::open_model(folder.path("x.zt"), &OpenOptions::default()).unwrap();
    read_all(&file, &model);
    let labels: Vec<_> = (1..3).map(|part| Path::new(file.part(part).unwrap().label())).collect();
    assert_eq!(labels, [folder.path("d/e/m-a.zt"), folder.path("x-b.zt")]);
    std::fs::remove_file(folder.path("d/e/m-a.zt")).unwrap();
    let file = File::open_model(folder.path("y.zt"), &OpenOptions::default()).unwrap();
    let error = data(&file, "one").borrow().unwrap_err();
    assert!(error.message().contains(folder.path("y-a.zt").to_str().unwrap()), "{error}");
    // With a shard folder, links are not followed.
    let error = File::open_model(folder.path("x.zt"), &in_folder(&folder));
    assert!(data(&error.unwrap(), "one").borrow().is_err());
}

#[test]
fn a_folder_that_holds_a_file_and_its_shards_is_that_model() {
    let (model, folder) = (Sharded::new(), Folder::new());
    model.write(&folder.0);
    read_all(&File::open_model(&folder.0, &OpenOptions::default()).unwrap(), &model);
    // Another file, with a name that a shard could have.
    std::fs::write(folder.path("m-c.zt"), &model.b).unwrap();
    let error = File::open_model(&folder.0, &OpenOptions::default()).unwrap_err();
    assert_eq!(error.cause(), Cause::InvalidArgument);
    assert!(error.message().contains("\"m-c.zt\""), "{error}");
    std::fs::rename(folder.path("m-c.zt"), folder.path("c.zt")).unwrap();
    let error = File::open_model(&folder.0, &OpenOptions::default()).unwrap_err();
    assert_eq!(error.cause(), Cause::InvalidArgument);
}

#[test]
fn a_folder_of_more_shards_than_are_listed_is_still_one_model() {
    let folder = Folder::new();
    let bytes: Vec<[u8; 8]> = (0..20).map(|at| [at; 8]).collect();
    let names: Vec<String> = (0..20).map(|at| format!("shard{at}")).collect();
    let tensor =
        |at: usize| Tensor { name: &names[at], shard: Some(&names[at]), offset: PAGE, bytes: &bytes[at] };
    let shards: Vec<_> = bytes.iter().map(|bytes| shards::data_shard(&[(PAGE, bytes)])).collect();
    let entries: Vec<_> = names.iter().zip(&shards).map(|(name, shard)| entry(name, shard)).collect();
    let tensors: Vec<_> = (0..20).map(tensor).collect();
    std::fs::write(folder.path("m.zt"), file(&tensors, &entries)).unwrap();
    for (name, shard) in names.iter().zip(&shards) {
        std::fs::write(folder.path(&format!("m-{name}.zt")), shard).unwrap();
    }
    let file = File::open_model(&folder.0, &OpenOptions::default()).unwrap();
    for (name, bytes) in names.iter().zip(&bytes) {
        assert_eq!(read(&data(&file, name)), bytes);
    }
}

/// Files in memory by name. The store records the names that it is asked for.
struct Memory {
    files: BTreeMap<&'static str, Vec<u8>>,
    asked: Mutex<Vec<String>>,
}

impl Memory {
    fn new(files: &[(&'static str, &Vec<u8>)]) -> Memory {
        let files = files.iter().map(|(name, bytes)| (*name, bytes.to_vec())).collect();
        Memory { files, asked: Mutex::default() }
    }

    fn asked(&self) -> Vec<String> {
        let mut asked = std::mem::take(&mut *self.asked.lock().unwrap());
        asked.sort();
        asked
    }
}

impl Store for Memory {
    fn for_each_name(&self, _: &Path, _: &mut dyn FnMut(&OsStr) -> Result<()>) -> Result<bool> {
        Ok(false)
    }

    fn open(&self, path: &Path) -> Result<Opened> {
        let name = path.to_str().unwrap();
        self.asked.lock().unwrap().push(name.to_owned());
        let bytes = self.files.get(name).cloned();
        let bytes = bytes.ok_or_else(|| Error::new(Cause::NoFile, format_args!("no such object")))?;
        Ok(Opened { source: Box::new(MemorySource::new(bytes)), label: None, path: Vec::new(), modified: 0 })
    }

    fn threads(&self, files: usize) -> usize {
        files.min(4)
    }
}

#[test]
fn a_store_opens_shards_only_during_open() {
    let model = Sharded::new();
    let store = Memory::new(&[("s/m.zt", &model.root), ("s/m-a.zt", &model.a), ("s/m-b.zt", &model.b)]);
    let file = File::open_model_from(&store, Path::new("s/m.zt"), &OpenOptions::default()).unwrap();
    assert_eq!(store.asked(), ["s/m-a.zt", "s/m-b.zt", "s/m.zt"]);
    read_all(&file, &model);
    assert_eq!(store.asked(), [""; 0], "the store may be freed after open");
    let never = OpenOptions { shards: Shards::Never, ..OpenOptions::default() };
    let file = File::open_model_from(&store, Path::new("s/m.zt"), &never).unwrap();
    assert_eq!((store.asked().len(), file.object_count()), (1, 3));
    let folder = OpenOptions { shard_folder: Some("t".into()), ..OpenOptions::default() };
    File::open_model_from(&store, Path::new("s/m.zt"), &folder).unwrap();
    let hex = |bytes: &[u8]| format!("t/blobs/xxh3/{}", &shards::xxh3(bytes)[5..]);
    let mut expected = ["t/m-a.zt", "t/a.zt", "t/m-b.zt", "t/b.zt", "s/m.zt"].map(String::from).to_vec();
    expected.extend([hex(&model.a), hex(&model.b)]);
    expected.sort();
    assert_eq!(store.asked(), expected);
}

/// A store that fails for one name, as a network store may.
struct Failing(Memory, &'static str, Cause);

impl Store for Failing {
    fn for_each_name(&self, path: &Path, body: &mut dyn FnMut(&OsStr) -> Result<()>) -> Result<bool> {
        self.0.for_each_name(path, body)
    }

    fn open(&self, path: &Path) -> Result<Opened> {
        let opened = self.0.open(path);
        match path.to_str() == Some(self.1) {
            true => Err(Error::new(self.2, format_args!("no answer"))),
            false => opened,
        }
    }

    fn threads(&self, files: usize) -> usize {
        self.0.threads(files)
    }
}

#[test]
fn after_a_failure_of_a_store_no_other_name_is_tried() {
    let model = Sharded::new();
    let files = [("m.zt", &model.root), ("t/a.zt", &model.a), ("t/b.zt", &model.b)];
    let options = OpenOptions { shard_folder: Some("t".into()), ..OpenOptions::default() };
    let at_open = OpenOptions { shards: Shards::AtOpen, ..options.clone() };
    let causes =
        [Cause::Caller(5), Cause::NotFound, Cause::Io, Cause::Timeout, Cause::Unsupported, Cause::Limit];
    for cause in causes {
        for name in ["t/m-a.zt", "t/a.zt"] {
            let store = Failing(Memory::new(&files), name, cause);
            let file = File::open_model_from(&store, Path::new("m.zt"), &options).unwrap();
            let mut asked = ["m.zt", "t/b.zt", "t/m-a.zt", "t/m-b.zt"].to_vec();
            asked.extend((name == "t/a.zt").then_some(name));
            asked.sort();
            assert_eq!(store.0.asked(), asked);
            let later = data(&file, "one").read(&mut [0; 5000]).unwrap_err();
            let opened = File::open_model_from(&store, Path::new("m.zt"), &at_open).unwrap_err();
            for error in [later, opened] {
                assert_eq!(error.cause(), cause);
                assert!(error.message().ends_with(&format!("shard \"a\": {name}: no answer")), "{error}");
            }
            assert_eq!(read(&data(&file, "two")), model.tensors[2].1);
        }
    }
}

#[test]
fn a_store_without_a_shard_opens_the_rest_and_the_error_names_the_shard() {
    let model = Sharded::new();
    let store = Memory::new(&[("m.zt", &model.root), ("m-b.zt", &model.b)]);
    let file = File::open_model_from(&store, Path::new("m.zt"), &OpenOptions::default()).unwrap();
    drop(store);
    assert_eq!(read(&data(&file, "two")), model.tensors[2].1);
    for _ in 0..2 {
        let error = data(&file, "one").read(&mut [0; 5000]).unwrap_err();
        assert_eq!(error.cause(), Cause::NoFile);
        let words = "object \"one\": component \"data\": shard \"a\": m-a.zt: no such object";
        assert!(error.message().contains(words), "{error}");
    }
    let store = Memory::new(&[("m.zt", &model.root), ("m-b.zt", &model.b)]);
    let at_open = OpenOptions { shards: Shards::AtOpen, ..OpenOptions::default() };
    let error = File::open_model_from(&store, Path::new("m.zt"), &at_open).unwrap_err();
    assert_eq!(error.cause(), Cause::NoFile);
}
