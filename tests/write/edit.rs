//! Edits of a file: objects are removed, renamed and replaced, and their attributes are set and removed. A
//! second reader accepts every result.

use crate::common;
use crate::validator;

use common::content::{append, contents, new_object, raw, zstd};
use common::{compressible, Folder, Sample};
use std::path::PathBuf;
use ztensor::container::json;
use ztensor::error::{Cause, Error};
use ztensor::model::dtype::Dtype;
use ztensor::model::value::{Attributes, OwnedValue, Value, ValueKind};
use ztensor::reader::{File, OpenOptions};
use ztensor::writer::{ObjectSpec, Writer};

fn bytes_of(path: &PathBuf) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

/// The objects' names in this reader and in the second one.
fn names(path: &PathBuf) -> Vec<String> {
    let file = File::open(path, &OpenOptions::default()).unwrap();
    let names: Vec<String> = file.objects().map(|o| o.name().to_owned()).collect();
    let valid = validator::validate(&bytes_of(path)).unwrap_or_else(|e| panic!("not valid: {e}"));
    assert_eq!(valid.objects.iter().map(|o| o.name.clone()).collect::<Vec<_>>(), names);
    names.iter().for_each(|name| assert!(file.find(name).is_some(), "{name:?} is not found by its name"));
    names
}

/// An object's attributes as JSON, or None.
fn attributes(path: &PathBuf, name: &str) -> Option<String> {
    let file = File::open(path, &OpenOptions::default()).unwrap();
    file.required(name).unwrap().attributes().map(|value| json::write(value).unwrap())
}

fn sample(name: &str, attributes: &'static str) -> Sample {
    Sample { attributes, ..new_object(name) }
}

fn number(value: u64) -> OwnedValue {
    OwnedValue::scalar(ValueKind::Unsigned(value)).unwrap()
}

/// A file with these objects, and its path.
fn file(folder: &Folder, samples: &[Sample]) -> PathBuf {
    let path = folder.path("file.zt");
    std::fs::write(&path, common::file_of(&zstd(), samples)).unwrap();
    path
}

fn abc(folder: &Folder) -> PathBuf {
    file(folder, &["a", "b", "c"].map(|name| sample(name, r#"{"n":1,"unit":"m"}"#)))
}

fn cause(outcome: Result<(), Error>) -> Option<Cause> {
    outcome.err().map(|e| e.cause())
}

#[test]
fn an_object_is_removed_and_its_name_is_free() {
    let folder = Folder::new();
    let path = abc(&folder);
    let before = bytes_of(&path);
    let reader = File::open(&path, &OpenOptions::default()).unwrap();
    let old = contents(&reader);
    append(&path, &raw(), |w| {
        w.remove_object("b").unwrap();
        assert_eq!(cause(w.remove_object("b")), Some(Cause::NotFound));
        assert_eq!(cause(w.rename_object("b", "x")), Some(Cause::NotFound));
    });
    assert_eq!(names(&path), ["a", "c"]);
    let after = bytes_of(&path);
    let manifest = before.len() - 16 - common::manifest_bytes(&before).len();
    assert!(after[..manifest] == before[..manifest], "bytes of objects changed");
    assert_eq!(contents(&reader), old, "a reader that has the file open cannot read it");
    let new = contents(&File::open(&path, &OpenOptions::default()).unwrap());
    assert_eq!(new, [&old[..2], &old[4..]].concat());
    // Its bytes are now padding that is not zero. A copy does not have it.
    assert!(validator::validate(&after).unwrap().padding_nonzero > 0);
    let edited = common::open(after);
    let copied = common::written(&raw(), |w| edited.objects().for_each(|o| w.copy(o, o.name()).unwrap()));
    assert_eq!(validator::validate(&copied).unwrap().padding_nonzero, 0);
    assert!(copied.len() < before.len());

    append(&path, &raw(), |w| ["a", "c"].iter().for_each(|name| w.remove_object(name).unwrap()));
    assert!(names(&path).is_empty());
    append(&path, &raw(), |w| new_object("again").write(w).unwrap());
    assert_eq!(names(&path), ["again"]);
}

#[test]
fn an_object_is_replaced_by_another_of_its_name() {
    let folder = Folder::new();
    let path = abc(&folder);
    append(&path, &raw(), |w| {
        let new = || Sample::dense("b", Dtype::U8, &[3], vec![7, 8, 9]);
        assert_eq!(cause(new().write(w)), Some(Cause::Exists));
        w.remove_object("b").unwrap();
        new().write(w).unwrap();
        assert_eq!(cause(new().write(w)), Some(Cause::Exists));
        assert_eq!(cause(w.remove_object("b")), Some(Cause::State), "the object was written by this writer");
    });
    assert_eq!(names(&path), ["a", "c", "b"]);
    let file = File::open(&path, &OpenOptions::default()).unwrap();
    assert_eq!(common::read(&common::data(&file, "b")), [7, 8, 9]);
    assert_eq!(common::read(&common::data(&file, "c")), compressible(1000));
    assert_eq!(attributes(&path, "b"), None);
}

#[test]
fn names_change_in_chains_and_circles() {
    let folder = Folder::new();
    let path = abc(&folder);
    append(&path, &raw(), |w| {
        assert_eq!(cause(w.rename_object("a", "b")), Some(Cause::Exists));
        assert_eq!(cause(w.rename_object("a", "a")), Some(Cause::Exists));
        // a and b swap names.
        w.rename_object("a", "t").unwrap();
        w.rename_object("b", "a").unwrap();
        w.rename_object("t", "b").unwrap();
        assert_eq!(cause(w.rename_object("t", "u")), Some(Cause::NotFound));
        w.rename_object("c", "d").unwrap();
        assert_eq!(cause(w.rename_object("a", "d")), Some(Cause::Exists));
        w.rename_object("d", "c").unwrap();
        w.set_attribute_of("b", "was", OwnedValue::text("a").unwrap().get()).unwrap();
    });
    assert_eq!(names(&path), ["b", "a", "c"]);
    assert_eq!(attributes(&path, "b").unwrap(), r#"{"n":1,"unit":"m","was":"a"}"#);
    assert_eq!(attributes(&path, "a").unwrap(), r#"{"n":1,"unit":"m"}"#);

    append(&path, &raw(), |w| {
        w.rename_object("b", "free").unwrap();
        w.remove_object("free").unwrap();
        w.rename_object("a", "free").unwrap();
        new_object("a").write(w).unwrap();
        new_object("b").write(w).unwrap();
        assert_eq!(
            cause(w.rename_object("c", "b")),
            Some(Cause::Exists),
            "renaming to the name of a new object"
        );
        assert_eq!(cause(w.rename_object("b", "x")), Some(Cause::State));
        w.rename_object("c", "").unwrap();
        w.rename_object("", "nul\0 and \u{1f600}").unwrap();
        let long = "n".repeat(64 << 10);
        assert_eq!(cause(w.rename_object("free", &format!("{long}n"))), Some(Cause::Limit));
        w.rename_object("free", &long).unwrap();
    });
    assert_eq!(names(&path), ["n".repeat(64 << 10).as_str(), "nul\0 and \u{1f600}", "a", "b"]);
}

#[test]
fn attributes_of_an_object_are_set_in_place_and_removed() {
    let folder = Folder::new();
    let path = file(
        &folder,
        &[sample("a", r#"{"x":1,"y":[1.5,null],"z":"t"}"#), sample("bare", "{}"), sample("b", r#"{"k":1}"#)],
    );
    append(&path, &raw(), |w| {
        w.set_attribute_of("a", "y", OwnedValue::scalar(ValueKind::Bool(true)).unwrap().get()).unwrap();
        w.set_attribute_of("a", "y", OwnedValue::scalar(ValueKind::Bool(false)).unwrap().get()).unwrap();
        w.set_attribute_of("a", "new", number(5).get()).unwrap();
        w.remove_attribute_of("a", "x").unwrap();
        assert_eq!(cause(w.remove_attribute_of("a", "x")), Some(Cause::NotFound));
        w.set_attribute_of("bare", "first", Value::NULL).unwrap();
        w.remove_attribute_of("b", "k").unwrap();
        assert_eq!(cause(w.remove_attribute_of("b", "none")), Some(Cause::NotFound));
        assert_eq!(cause(w.set_attribute_of("nobody", "k", Value::NULL)), Some(Cause::NotFound));
        let deep = OwnedValue::build(|to| {
            (0..70).try_for_each(|_| to.begin_tag(1))?;
            to.null()
        });
        assert!(deep.and_then(|deep| w.set_attribute_of("a", "deep", deep.get())).is_err());
    });
    assert_eq!(names(&path), ["a", "bare", "b"]);
    assert_eq!(attributes(&path, "a").unwrap(), r#"{"y":false,"z":"t","new":5}"#);
    assert_eq!(attributes(&path, "bare").unwrap(), r#"{"first":null}"#);
    assert_eq!(attributes(&path, "b"), None, "the empty map was not removed");

    append(&path, &raw(), |w| {
        w.remove_attribute_of("a", "y").unwrap();
        w.set_attribute_of("a", "y", number(1).get()).unwrap(); // a new one comes last
        w.set_attribute_of("bare", "brief", Value::NULL).unwrap();
        w.remove_attribute_of("bare", "brief").unwrap();
        w.set_attribute("of the file", number(3).get()).unwrap();
    });
    assert_eq!(attributes(&path, "a").unwrap(), r#"{"z":"t","new":5,"y":1}"#);
    assert_eq!(attributes(&path, "bare").unwrap(), r#"{"first":null}"#);
    append(&path, &raw(), |w| w.remove_attribute("of the file").unwrap());
    assert!(File::open(&path, &OpenOptions::default()).unwrap().attributes().is_none());
}

#[test]
fn an_edited_entry_is_the_one_that_writing_it_so_makes() {
    let folder = Folder::new();
    let path = file(&folder, &[sample("a", "{}"), sample("b", r#"{"k":[1,{"z":2}]}"#)]);
    append(&path, &zstd(), |w| {
        w.rename_object("a", "other").unwrap();
        w.set_attribute_of("other", "n", number(1).get()).unwrap();
        w.set_attribute_of("b", "n", number(2).get()).unwrap();
        w.remove_attribute_of("b", "k").unwrap();
    });
    let so = common::file_of(&zstd(), &[sample("other", r#"{"n":1}"#), sample("b", r#"{"n":2}"#)]);
    assert_eq!(common::manifest_bytes(&bytes_of(&path)), common::manifest_bytes(&so));
}

#[test]
fn the_version_is_raised_after_the_objects_that_forbade_it_are_removed() {
    let folder = Folder::new();
    let path = folder.path("file.zt");
    std::fs::copy(common::repository("tests/data/v1.1/py-1.1.1-zstd.zt"), &path).unwrap();
    let version = || common::open(bytes_of(&path)).version().to_owned();
    let old = common::open(bytes_of(&path));
    append(&path, &zstd(), |w| w.set_attribute_of(old.object(0).unwrap().name(), "k", Value::NULL).unwrap());
    assert_eq!(version(), "1.1.0");
    append(&path, &zstd(), |w| {
        old.objects().for_each(|o| w.remove_object(o.name()).unwrap());
        new_object("new").write(w).unwrap();
    });
    assert_eq!((version().as_str(), names(&path)), ("1.2.0", vec!["new".to_owned()]));
}

#[test]
fn a_file_without_data_is_edited_too() {
    let folder = Folder::new();
    let path = file(&folder, &[Sample::dense("none", Dtype::U8, &[0], vec![])]);
    append(&path, &raw(), |w| {
        w.rename_object("none", "empty").unwrap();
        w.set_attribute_of("empty", "k", Value::NULL).unwrap();
    });
    assert_eq!(names(&path), ["empty"]);
    append(&path, &raw(), |w| w.remove_object("empty").unwrap());
    assert!(names(&path).is_empty());
}

#[test]
fn edits_that_are_not_finished_leave_every_byte() {
    let folder = Folder::new();
    let path = abc(&folder);
    let before = bytes_of(&path);
    let mut writer = Writer::append(&path, &raw()).unwrap();
    writer.remove_object("a").unwrap();
    writer.rename_object("b", "x").unwrap();
    writer.begin(&ObjectSpec { name: "open", format: "odd", shape: &[] }, Attributes::default()).unwrap();
    for refused in [
        writer.remove_object("c"),
        writer.rename_object("c", "y"),
        writer.set_attribute_of("c", "k", Value::NULL),
        writer.remove_attribute_of("c", "n"),
    ] {
        assert_eq!(cause(refused), Some(Cause::State), "an object is open");
    }
    writer.end().unwrap();
    drop(writer);
    assert!(bytes_of(&path) == before);

    let mut writer = Writer::append(&path, &raw()).unwrap();
    let many = OwnedValue::build(|to| to.bytes(&vec![0; 1 << 20])).unwrap();
    writer.set_attribute_of("a", "k", many.get()).unwrap();
    writer.finish().unwrap();
    assert_eq!(cause(writer.remove_object("a")), Some(Cause::State), "the writer is finished");
    assert_eq!(names(&path), ["a", "b", "c"]);

    let mut writer = Writer::create(folder.path("new.zt"), &raw()).unwrap();
    new_object("a").write(&mut writer).unwrap();
    assert_eq!(cause(writer.remove_object("a")), Some(Cause::State));
    assert_eq!(cause(writer.remove_object("b")), Some(Cause::NotFound));
}

/// Renames each of 100,000 objects, adds an attribute to half of them, and removes a tenth. A linear search
/// for each object would not finish in time.
#[test]
fn many_objects_are_edited_in_one_session() {
    const COUNT: usize = 100_000;
    let folder = Folder::new();
    let path = folder.path("file.zt");
    let bytes = common::written(&raw(), |w| {
        let names: Vec<String> = (0..COUNT).map(|at| format!("layer.{at}")).collect();
        let request = |name| ztensor::writer::DenseSpec::new(name, Dtype::U8, &[1], &[1]);
        w.write_batch(&names.iter().map(|name| request(name.as_str())).collect::<Vec<_>>()).unwrap();
    });
    std::fs::write(&path, bytes).unwrap();
    append(&path, &raw(), |w| {
        for at in 0..COUNT {
            let (from, to) = (format!("layer.{at}"), format!("layer.{}", COUNT + at));
            w.rename_object(&from, &to).unwrap();
            w.rename_object(&to, &from).unwrap();
            w.rename_object(&from, &to).unwrap();
            if at % 2 == 0 {
                w.set_attribute_of(&to, "at", number(at as u64).get()).unwrap();
            }
            if at % 10 == 0 {
                w.remove_object(&to).unwrap();
            }
        }
    });
    let file = File::open(&path, &OpenOptions::default()).unwrap();
    assert_eq!(file.object_count(), COUNT - COUNT / 10);
    for at in 0..COUNT {
        let object = file.find(format!("layer.{}", COUNT + at));
        assert_eq!(object.is_some(), at % 10 != 0, "{at}");
        let attribute = object.and_then(|o| o.attributes().and_then(|map| map.get("at")?.as_u64()));
        assert_eq!(attribute, (at % 10 != 0 && at % 2 == 0).then_some(at as u64), "{at}");
    }
}
