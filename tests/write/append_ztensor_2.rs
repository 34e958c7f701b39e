//! Appends to and edits of zTensor 2 files. Old bytes do not change. A file whose append stopped at any byte
//! is repaired to its last good end.

use crate::common;

use common::Folder;
use ztensor::error::Cause;
use ztensor::model::dtype::Dtype;
use ztensor::model::manifest::Version;
use ztensor::reader::{File, OpenOptions};
use ztensor::writer::{repair, Algorithm, DenseSpec, RepairOptions, Writer, WriterOptions};

fn options() -> WriterOptions {
    WriterOptions {
        version: Version::V2,
        digest: Some(Algorithm::Xxh3),
        threads: 1,
        ..WriterOptions::default()
    }
}

fn dense<'a>(name: &'a str, data: &'a [u8], shape: &'a [u64]) -> DenseSpec<'a> {
    DenseSpec::new(name, Dtype::U8, shape, data)
}

/// A file with two objects.
fn base() -> Vec<u8> {
    common::written(&options(), |w| {
        w.set_attributes(common::pairs(r#"{"kept":1,"gone":2}"#)).unwrap();
        w.write_dense(&dense("b", b"old", &[3])).unwrap();
        w.write_dense(&dense("aa", b"older", &[5])).unwrap();
    })
}

fn bytes_of(file: &File, name: &str) -> Vec<u8> {
    common::read(&common::data(file, name))
}

#[test]
fn an_append_does_not_change_old_bytes() {
    let folder = Folder::new();
    let (path, old) = (folder.path("file.zt"), base());
    std::fs::write(&path, &old).unwrap();
    // The requested version is ignored, and the default digest is the file's.
    let asked = WriterOptions { usual_digest: true, threads: 1, ..WriterOptions::default() };
    let mut writer = Writer::append(&path, &asked).unwrap();
    writer.write_dense(&dense("c", b"new", &[3])).unwrap();
    assert_eq!(writer.write_dense(&dense("aa", b"x", &[1])).unwrap_err().cause(), Cause::Exists);
    writer.finish().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert!(bytes.starts_with(&old));
    let file = File::open(&path, &OpenOptions::default()).unwrap();
    assert_eq!(
        [bytes_of(&file, "b"), bytes_of(&file, "aa"), bytes_of(&file, "c")],
        [&b"old"[..], b"older", b"new"]
    );
    assert!(common::data(&file, "c").digest().unwrap().starts_with("xxh3:"));
    assert!(file.canonical_violation().unwrap().is_some());
    common::verify(&file).unwrap();
    // Appends again, and edits.
    let mut writer = Writer::append(&path, &asked).unwrap();
    writer.remove_object("b").unwrap();
    writer.rename_object("aa", "renamed").unwrap();
    let error = writer.rename_object("c", &"x".repeat(1025)).unwrap_err();
    assert!(error.message().contains("1025 bytes; 1 to 1024"), "{error}");
    writer.remove_attribute("gone").unwrap();
    writer.set_attribute("new", common::pairs(r#"{"x":[1]}"#).get("x").unwrap()).unwrap();
    writer.write_dense(&dense("b", b"newest", &[6])).unwrap();
    writer.finish().unwrap();
    assert!(std::fs::read(&path).unwrap().starts_with(&bytes));
    let file = File::open(&path, &OpenOptions::default()).unwrap();
    let names: Vec<_> = file.objects().map(|o| o.name().to_owned()).collect();
    assert_eq!(names, ["b", "c", "renamed"]);
    assert_eq!([bytes_of(&file, "b"), bytes_of(&file, "renamed")], [&b"newest"[..], b"older"]);
    let keys: Vec<_> =
        file.attributes().unwrap().pairs().map(|(k, _)| k.as_text().unwrap().to_owned()).collect();
    assert_eq!(keys, ["new", "kept"]);
    common::verify(&file).unwrap();
}

#[test]
fn an_append_truncated_at_any_byte_is_repaired() {
    let folder = Folder::new();
    let (path, old) = (folder.path("file.zt"), base());
    std::fs::write(&path, &old).unwrap();
    let mut ends = vec![old.len()];
    for name in ["c", "d"] {
        let mut writer = Writer::append(&path, &options()).unwrap();
        writer.write_dense(&dense(name, b"new", &[3])).unwrap();
        writer.finish().unwrap();
        ends.push(std::fs::read(&path).unwrap().len());
    }
    let whole = std::fs::read(&path).unwrap();
    for size in (old.len()..=whole.len())
        .filter(|size| size % 61 == 0 || ends.iter().any(|end| end.abs_diff(*size) < 50))
    {
        std::fs::write(&path, &whole[..size]).unwrap();
        let last = *ends.iter().filter(|end| **end <= size).max().unwrap();
        match File::open(&path, &OpenOptions::default()) {
            Ok(file) => assert_eq!(file.size() as usize, last),
            Err(e) => {
                assert_ne!(last, size, "{e}");
                assert_eq!((e.rule_name(), e.cause() == Cause::Io), (c"FooterMagic", false), "{e}");
                let report = repair(&path, &RepairOptions::default()).unwrap();
                assert_eq!((report.old_size, report.new_size), (size as u64, last as u64));
            }
        }
        assert!(std::fs::read(&path).unwrap() == whole[..last], "{size}");
    }
}

#[test]
fn a_dropped_append_does_not_change_the_file() {
    let folder = Folder::new();
    let (path, old) = (folder.path("file.zt"), base());
    std::fs::write(&path, &old).unwrap();
    let mut writer = Writer::append(&path, &options()).unwrap();
    writer.write_dense(&dense("c", &vec![1; 3 << 20], &[3 << 20])).unwrap();
    drop(writer);
    assert!(std::fs::read(&path).unwrap() == old);
    let canonical = WriterOptions { canonical: true, ..options() };
    let error = Writer::append(&path, &canonical).map(drop).unwrap_err();
    assert!(error.message().contains("cannot keep the canonical form"), "{error}");
    assert!(std::fs::read(&path).unwrap() == old);
}
