//! Appending keeps the encoded bytes of old objects. If an append stops, the file is the old one, or a repair
//! restores it.

use crate::common;

use common::content::{append, contents, new_object, raw, zstd};
use common::tree::Tree;
use common::{compressible, Folder, Sample};
use std::ops::Range;
use std::path::Path;
use ztensor::container::json;
use ztensor::error::Cause;
use ztensor::model::dtype::{Dtype, Logical};
use ztensor::model::manifest::{Encoding, Format, Version};
use ztensor::model::value::{order, Attributes, ValueKind};
use ztensor::reader::{File, OpenOptions, VerifyOptions, VerifyReport};
use ztensor::writer::{ComponentSpec, LogicalSpec, ObjectSpec, Writer, WriterOptions};

/// The end of the CBOR item at `at`.
fn item_end(bytes: &[u8], at: usize) -> usize {
    let (major, info) = (bytes[at] >> 5, bytes[at] & 31);
    let argument_size = [1, 2, 4, 8].get(usize::from(info).wrapping_sub(24)).copied().unwrap_or(0);
    let argument = bytes[at + 1..][..argument_size].iter().fold(0usize, |v, b| v << 8 | usize::from(*b));
    let count = if info < 24 { usize::from(info) } else { argument };
    let mut end = at + 1 + argument_size;
    match (major, info) {
        (2..=5, 31) => {
            while bytes[end] != 0xff {
                end = item_end(bytes, end);
            }
            end + 1
        }
        (2 | 3, _) => end + count,
        (4..=6, _) => {
            let items = [count, count * 2, 1][usize::from(major) - 4];
            (0..items).for_each(|_| end = item_end(bytes, end));
            end
        }
        _ => end,
    }
}

/// The items of the array or map at `at`.
fn items(bytes: &[u8], at: usize) -> Vec<Range<usize>> {
    let end = item_end(bytes, at);
    let (mut start, end) = match bytes[at] & 31 {
        31 => (at + 1, end - 1),
        info @ 24..=27 => (at + 1 + (1 << (info - 24)), end),
        _ => (at + 1, end),
    };
    let mut all = Vec::new();
    while start < end {
        all.push(start..item_end(bytes, start));
        start = all[all.len() - 1].end;
    }
    all
}

/// The pairs of a manifest's root, except those that an append may change, and the entries of `objects`.
fn kept_parts(manifest: &[u8]) -> (Vec<&[u8]>, &[u8]) {
    let (mut pairs, mut entries) = (Vec::new(), &manifest[..0]);
    for pair in items(manifest, 0).chunks(2) {
        let key: String = ciborium::from_reader(&manifest[pair[0].clone()]).unwrap();
        match &*key {
            "objects" => {
                let inside = items(manifest, pair[1].start);
                if let (Some(first), Some(last)) = (inside.first(), inside.last()) {
                    entries = &manifest[first.start..last.end];
                }
            }
            "version" | "attributes" => {}
            _ => pairs.push(&manifest[pair[0].start..pair[1].end]),
        }
    }
    (pairs, entries)
}

fn contains(whole: &[u8], part: &[u8]) -> bool {
    part.is_empty() || whole.windows(part.len()).any(|w| w == part)
}

/// Whether every object of a file follows the rules that only 1.2 has.
fn keeps_1_2(file: &File) -> bool {
    file.objects().all(|object| {
        let sparse = matches!(object.format(), Format::SparseCsr | Format::SparseCoo);
        object.components().all(|c| {
            let index = sparse && ["indices", "indptr", "coords"].contains(&c.role());
            (c.encoding() != Encoding::Zstd || c.entry().is_size_declared())
                && (!index || c.dtype() == Some(Dtype::U64))
        })
    })
}

fn nonzero_padding(file: &File) -> u64 {
    let mut report = VerifyReport::default();
    file.verify(&VerifyOptions::default(), &|_, _| true, &mut report).unwrap_or_else(|e| panic!("{e}"));
    report.padding_nonzero
}

/// Appends to `path`, checks the file, and returns its version.
fn append_and_check(path: &Path, options: &WriterOptions, name: &str) -> String {
    let before = std::fs::read(path).unwrap();
    let old = common::open(before.clone());
    let attributes = old.attributes().map(|v| json::write(v).unwrap());
    append(path, options, |w| {
        let taken = old.objects().next().map(|o| new_object(o.name()).write(w).map_err(|e| e.cause()));
        assert!(taken.is_none_or(|refused| refused == Err(Cause::Exists)));
        new_object(name).write(w).unwrap();
    });
    let after = std::fs::read(path).unwrap();
    let new = common::open(after.clone());
    let at = format!("{} {:?}", path.display(), options.encoding);
    let (found, mut wanted) = (contents(&new), contents(&old));
    assert_eq!(found.len(), wanted.len() + 2, "{at}");
    wanted.extend_from_slice(&found[wanted.len()..]);
    assert!(found == wanted, "{at}: {found:#?}");
    assert_eq!(common::read(&common::data(&new, name)), compressible(1000));
    assert!(
        common::data(&new, name).offset() >= before.len() as u64,
        "{at}: new bytes are not after the old end"
    );
    assert_eq!(new.attributes().map(|v| json::write(v).unwrap()), attributes, "{at}");

    let (old_manifest, new_manifest) = (common::manifest_bytes(&before), common::manifest_bytes(&after));
    let start = before.len() - 16 - old_manifest.len();
    assert!(after[..start] == before[..start], "{at}: the old blobs changed");
    assert!(after[start..before.len()].iter().all(|b| *b == 0), "{at}: the old manifest is not cleared");
    let (pairs, entries) = kept_parts(old_manifest);
    pairs
        .iter()
        .for_each(|p| assert!(contains(new_manifest, p), "{at}: a field of the file is missing: {p:x?}"));
    assert!(contains(new_manifest, entries), "{at}: the old entries are encoded differently");
    assert_eq!(nonzero_padding(&new), nonzero_padding(&old), "{at}");
    let version = new.version().to_owned();
    let raised = old.version().starts_with("1.1") && options.encoding == Encoding::Zstd && keeps_1_2(&old);
    assert_eq!(version, if raised { "1.2.0" } else { old.version() }, "{at}");
    version
}

#[test]
fn every_file_of_1_1_and_later_is_appended_to_and_keeps_all_it_had() {
    let folder = Folder::new();
    let (mut appended, mut refused) = (0, 0);
    for source in common::VALID.into_iter().flat_map(common::corpus) {
        let original = std::fs::read(&source).unwrap();
        let file = common::open(original.clone());
        let path = folder.path(source.file_name().unwrap().to_str().unwrap());
        for options in [raw(), zstd()] {
            std::fs::write(&path, &original).unwrap();
            if matches!(file.manifest().container, Some(Version::V0_1 | Version::V1_0)) {
                let cause = Writer::append(&path, &options).map(drop).map_err(|e| e.cause());
                assert_eq!(cause, Err(Cause::Unsupported), "{}", path.display());
                assert!(std::fs::read(&path).unwrap() == original, "{}", path.display());
                refused += 1;
                continue;
            }
            append_and_check(&path, &options, "appended for the test");
            append_and_check(&path, &options, "and once more");
            appended += 1;
        }
        std::fs::remove_file(&path).unwrap();
    }
    assert!(appended >= 2 * 80 && refused >= 2 * 28, "{appended} appended to, {refused} refused");
}

#[test]
fn the_version_is_raised_if_1_2_is_needed_and_the_old_objects_allow_it() {
    let folder = Folder::new();
    let after = |name: &str, options: &WriterOptions| {
        let path = folder.path("file.zt");
        std::fs::copy(common::repository("tests/data").join(name), &path).unwrap();
        append_and_check(&path, options, "new")
    };
    assert_eq!(after("v1.1/py-1.1.1-all-dtypes.zt", &raw()), "1.1.0");
    assert_eq!(after("v1.1/py-1.1.1-all-dtypes.zt", &zstd()), "1.2.0");
    assert_eq!(after("v1.1/py-1.1.1-sparse.zt", &zstd()), "1.2.0", "its indices are u64");
    assert_eq!(after("v1.1/py-1.1.1-zstd.zt", &zstd()), "1.1.0", "zstd without uncompressed_length");
    assert_eq!(after("v1.1/oracle-index-dtypes.zt", &zstd()), "1.1.0", "indices that are not u64");
    assert_eq!(after("v1.1/oracle-version-string.zt", &raw()), "1.1.7");
    assert_eq!(after("v1.2/py-1.2.3-all-dtypes.zt", &zstd()), "1.2.0");
    assert_eq!(after("v1.2/oracle-next-minor.zt", &zstd()), "1.9.0");

    let path = folder.path("typed.zt");
    for logical in [LogicalSpec::Known(Logical::F8E5m2fnuz), LogicalSpec::Other("f4")] {
        std::fs::copy(common::repository("tests/data/v1.1/py-1.1.1-all-dtypes.zt"), &path).unwrap();
        append(&path, &raw(), |w| {
            let spec = ComponentSpec { logical: Some(logical), ..ComponentSpec::new("data", Dtype::U8) };
            let object = ObjectSpec { name: "typed", format: "dense", shape: &[2] };
            w.write_object(&object, Attributes::default(), &[(spec, &[1, 2])]).unwrap();
        });
        let file = File::open(&path, &OpenOptions { strict: false, ..OpenOptions::default() }).unwrap();
        assert_eq!(file.version(), "1.2.0", "a logical type needs 1.2");
        assert!(common::data(&file, "typed").logical_name().is_some());
    }
}

#[test]
fn attributes_of_the_file_are_replaced_by_key_and_the_others_kept() {
    let folder = Folder::new();
    let path = folder.path("attributes.zt");
    std::fs::copy(common::repository("tests/data/v1.2/rs-1.2.3-file-attributes.zt"), &path).unwrap();
    let before = common::open(std::fs::read(&path).unwrap());
    let old: Vec<_> = before.attributes().unwrap().pairs().collect();
    assert!(old.len() > 2, "{old:?}");
    append(&path, &raw(), |w| {
        w.set_attribute("added", Tree::Bool(true).owned().get()).unwrap();
        w.set_attribute(old[0].0.as_text().unwrap(), Tree::Unsigned(42).owned().get()).unwrap();
    });
    let after = common::open(std::fs::read(&path).unwrap());
    let new: Vec<_> = after.attributes().unwrap().pairs().collect();
    assert_eq!(new.len(), old.len() + 1);
    for (at, (key, value)) in old.iter().enumerate() {
        assert!(order(new[at].0, *key).is_eq());
        assert!(at == 0 && new[0].1.as_u64() == Some(42) || at > 0 && order(new[at].1, *value).is_eq());
    }
    append(&path, &raw(), |w| w.set_attribute("added", Tree::Bool(false).owned().get()).unwrap());
    let again = common::open(std::fs::read(&path).unwrap());
    let added = again.attributes().unwrap().get("added").unwrap();
    assert!(matches!(added.kind(), ValueKind::Bool(false)));
    assert_eq!(again.attributes().unwrap().pairs().len(), new.len());
    assert_eq!(contents(&again), contents(&before));
}

#[test]
fn an_append_that_is_dropped_or_fails_leaves_every_byte() {
    let folder = Folder::new();
    let path = folder.path("file.zt");
    let before = common::file_of(&zstd(), &[new_object("a"), new_object("b")]);
    std::fs::write(&path, &before).unwrap();
    let unchanged = |what: &str| {
        assert!(std::fs::read(&path).unwrap() == before, "{what} changed the file");
        assert_eq!(folder.names(), ["file.zt"], "{what}");
    };
    drop(Writer::append(&path, &raw()).unwrap());
    unchanged("nothing");
    let mut writer = Writer::append(&path, &raw()).unwrap();
    // More than the writer's buffer.
    Sample::dense("large", Dtype::U8, &[5 << 20], vec![3; 5 << 20]).write(&mut writer).unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() > before.len() as u64, "the file did not grow in place");
    drop(writer);
    unchanged("an append of 5 MiB that is dropped");
    let mut writer = Writer::append(&path, &zstd()).unwrap();
    writer.begin(&ObjectSpec { name: "open", format: "odd", shape: &[] }, Attributes::default()).unwrap();
    assert_eq!(writer.finish().map_err(|e| e.cause()), Err(Cause::State));
    drop(writer);
    unchanged("an append with an open object");
    let mut writer = Writer::append(&path, &zstd()).unwrap();
    new_object("c").write(&mut writer).unwrap();
    let deep = (0..65).fold(Tree::Null, |inner, _| Tree::Array(vec![inner])).owned();
    let outcome = writer.set_attribute("deep", deep.get()).and_then(|()| writer.finish());
    assert!(outcome.is_err(), "an invalid manifest was published");
    drop(writer);
    unchanged("an append that would not open");
    for (name, cause) in [("no.zt", Cause::NoFile), ("text.zt", Cause::NotZtensor)] {
        if name == "text.zt" {
            std::fs::write(folder.path(name), "not a tensor in sight").unwrap();
        }
        assert_eq!(Writer::append(folder.path(name), &raw()).map(drop).map_err(|e| e.cause()), Err(cause));
    }
    assert_eq!(std::fs::read(folder.path("text.zt")).unwrap(), b"not a tensor in sight");
}
