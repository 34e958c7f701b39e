//! Files of zTensor 2 with objects whose bytes are in shards, made by the writer.

use crate::common;

use common::{data, elements, read, Folder, Sample};
use std::path::Path;
use ztensor::error::Cause;
use ztensor::model::dtype::Dtype;
use ztensor::model::manifest::{Encoding, Version};
use ztensor::reader::{File, OpenOptions, Shards, VerifyOptions, VerifyReport};
use ztensor::writer::{Writer, WriterOptions};

fn options() -> WriterOptions {
    WriterOptions { version: Version::V2, ..WriterOptions::default() }
}

fn write(path: &Path, options: &WriterOptions, body: impl FnOnce(&mut Writer)) {
    let mut writer = Writer::create(path, options).unwrap();
    body(&mut writer);
    writer.finish().unwrap();
}

fn sample(name: &str, count: u64) -> Sample {
    Sample::dense(name, Dtype::F32, &[count], elements(Dtype::F32, count as usize))
}

fn open(path: &Path) -> File {
    File::open_model(path, &OpenOptions::default()).unwrap()
}

fn verify(file: &File) {
    let everything = VerifyOptions { shards: true, ..VerifyOptions::default() };
    file.verify(&everything, &|_, _| true, &mut VerifyReport::default()).unwrap();
}

#[test]
fn linked_objects_are_read_from_their_shards() {
    for encoding in [Encoding::Raw, Encoding::ZstdSeekable] {
        let folder = Folder::new();
        let (base, root) = (folder.path("m-base.zt"), folder.path("m.zt"));
        write(&base, &WriterOptions { encoding, ..options() }, |w| {
            sample("x", 3000).write(w).unwrap();
            sample("y", 50).write(w).unwrap();
        });
        let shard = open(&base);
        write(&root, &options(), |w| {
            sample("own", 7).write(w).unwrap();
            w.add_shard("base", &shard).unwrap();
            w.link(&shard.find("x").unwrap(), "x").unwrap();
            w.link(&shard.find("x").unwrap(), "again").unwrap();
        });
        let file = open(&root);
        verify(&file);
        assert_eq!(file.part_count(), 2);
        for (name, part, count) in [("own", 0, 7), ("x", 1, 3000), ("again", 1, 3000)] {
            let component = data(&file, name);
            assert_eq!(
                (component.part_number(), read(&component)),
                (part, elements(Dtype::F32, count)),
                "{name}"
            );
        }
        assert_eq!(data(&file, "x").digest(), data(&shard, "x").digest());
        assert!(
            std::fs::metadata(&root).unwrap().len() < 20_000,
            "the root contains the bytes of its shards"
        );
    }
}

#[test]
fn a_shard_that_changed_since_is_reported() {
    let folder = Folder::new();
    let (base, root) = (folder.path("m-base.zt"), folder.path("m.zt"));
    write(&base, &options(), |w| sample("x", 30).write(w).unwrap());
    let shard = open(&base);
    write(&root, &options(), |w| {
        w.add_shard("base", &shard).unwrap();
        w.link(&shard.find("x").unwrap(), "x").unwrap();
    });
    let mut bytes = std::fs::read(&base).unwrap();
    let padding = bytes.iter().rposition(|b| *b == 0).unwrap();
    assert!(padding > 4096);
    bytes[100] = 1; // in the padding
    std::fs::remove_file(&base).unwrap();
    std::fs::write(&base, &bytes).unwrap();
    let everything = VerifyOptions { shards: true, ..VerifyOptions::default() };
    let outcome = open(&root).verify(&everything, &|_, _| true, &mut VerifyReport::default());
    assert_eq!(outcome.unwrap_err().rule_name(), c"ShardIdentity");
    write(&base, &options(), |w| sample("x", 90_000).write(w).unwrap());
    let error = File::open_model(&root, &OpenOptions { shards: Shards::AtOpen, ..OpenOptions::default() });
    assert_eq!(error.unwrap_err().rule_name(), c"ShardIdentity");
}

#[test]
fn files_that_cannot_be_shards_are_rejected_and_the_writer_continues() {
    let folder = Folder::new();
    let base = folder.path("m-base.zt");
    write(&base, &options(), |w| sample("x", 30).write(w).unwrap());
    let old = folder.path("old.zt");
    write(&old, &WriterOptions::default(), |w| sample("x", 30).write(w).unwrap());
    let (shard, old) = (open(&base), open(&old));
    write(&folder.path("m.zt"), &options(), |w| {
        for name in ["", "../m", "a/b", ".hidden", &"x".repeat(65)] {
            let error = w.add_shard(name, &shard).unwrap_err();
            assert_eq!((error.cause(), error.rule_name()), (Cause::Unsupported, c"ShardName"), "{error}");
        }
        assert_eq!(w.add_shard("base", &old).unwrap_err().cause(), Cause::Unsupported);
        let x = shard.find("x").unwrap();
        assert_eq!(
            w.link(&x, "x").unwrap_err().cause(),
            Cause::InvalidArgument,
            "the file is not a shard yet"
        );
        w.add_shard("base", &shard).unwrap();
        assert_eq!(w.add_shard("base", &shard).unwrap_err().cause(), Cause::Exists);
        w.link(&x, "x").unwrap();
        let same = open(&base).find("x").map(|x| w.link(&x, "y").unwrap_err().cause());
        assert_eq!(same, Some(Cause::InvalidArgument), "a second open file of a shard");
        assert_eq!(w.link(&x, "x").unwrap_err().cause(), Cause::Exists);
        sample("own", 5).write(w).unwrap();
    });
    let root = open(&folder.path("m.zt"));
    verify(&root);
    assert_eq!(root.object_count(), 2);
    write(&folder.path("n.zt"), &options(), |w| {
        w.add_shard("m", &root).unwrap();
        let error = w.link(&root.find("x").unwrap(), "x").unwrap_err();
        assert_eq!(error.cause(), Cause::Unsupported, "shards of shards");
        w.link(&root.find("own").unwrap(), "own").unwrap();
    });
    let mut in_1_2 = Writer::create(folder.path("o.zt"), &WriterOptions::default()).unwrap();
    assert_eq!(in_1_2.add_shard("base", &shard).unwrap_err().cause(), Cause::Unsupported);
}

#[test]
fn progress_can_stop_the_hashing_of_a_shard() {
    let shard = common::open(common::file_of(&options(), &[sample("x", 5 << 20)]));
    let folder = Folder::new();
    let mut writer = Writer::create(folder.path("m.zt"), &options()).unwrap();
    writer.on_progress(|_| false).unwrap();
    assert_eq!(writer.add_shard("base", &shard).unwrap_err().cause(), Cause::Cancelled);
}

#[test]
fn as_many_shards_are_added_as_a_file_may_have() {
    const LIMIT: usize = 65_536;
    let folder = Folder::new();
    let root = folder.path("m.zt");
    let shard = common::open(common::file_of(&options(), &[sample("x", 30)]));
    write(&root, &options(), |w| {
        for number in 0..LIMIT {
            w.add_shard(&format!("{number}"), &shard).unwrap();
        }
        for number in [0, 1, LIMIT / 2, LIMIT - 1] {
            let twice = w.add_shard(&format!("{number}"), &shard).unwrap_err();
            assert_eq!(twice.cause(), Cause::Exists, "{number}: {twice}");
        }
        let more = w.add_shard("more", &shard).unwrap_err();
        assert_eq!(more.cause(), Cause::Limit);
        assert!(more.message().contains("65536"), "{more}");
    });
    assert_eq!(open(&root).part_count(), LIMIT + 1);
}

#[test]
fn a_file_with_shards_is_appended_to_and_edited() {
    let folder = Folder::new();
    let (base, root) = (folder.path("m-base.zt"), folder.path("m.zt"));
    write(&base, &options(), |w| sample("x", 3000).write(w).unwrap());
    let shard = open(&base);
    write(&root, &options(), |w| {
        w.add_shard("base", &shard).unwrap();
        w.link(&shard.find("x").unwrap(), "x").unwrap();
        w.link(&shard.find("x").unwrap(), "gone").unwrap();
    });
    let (old, shard_bytes) = (std::fs::read(&root).unwrap(), std::fs::read(&base).unwrap());
    let mut writer = Writer::append(&root, &options()).unwrap();
    sample("own", 5).write(&mut writer).unwrap();
    writer.rename_object("x", "renamed").unwrap();
    writer.remove_object("gone").unwrap();
    // The table does not change: objects of another file must not be searched under a name in it.
    for name in ["base", "other"] {
        assert_eq!(writer.add_shard(name, &shard).unwrap_err().cause(), Cause::Unsupported);
    }
    writer.finish().unwrap();
    assert!(std::fs::read(&root).unwrap().starts_with(&old));
    assert!(std::fs::read(&base).unwrap() == shard_bytes);
    let file = open(&root);
    verify(&file);
    assert_eq!(file.object_count(), 2);
    for (name, part, count) in [("own", 0, 5), ("renamed", 1, 3000)] {
        let component = data(&file, name);
        assert_eq!(
            (component.part_number(), read(&component)),
            (part, elements(Dtype::F32, count)),
            "{name}"
        );
    }
}
