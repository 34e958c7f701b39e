//! Copies objects of zTensor 2 to a file of 1.2: the values are the same, names that only 2 has are gone, and
//! digests are correct.

use crate::common;

use common::ztensor_2::{file, Object, Part};
use std::path::PathBuf;
use ztensor::error::Cause;
use ztensor::model::dtype::Dtype;
use ztensor::model::manifest::{Encoding, Version};
use ztensor::reader::{File, OpenOptions};
use ztensor::writer::{Recode, WriterOptions};

/// Whether a file verifies, ignoring what this version cannot read.
fn is_sound(file: &File) -> bool {
    common::verify(file).map_or_else(|error| error.cause() == Cause::Unsupported, |_| true)
}

/// All files of zTensor 2 that open and verify.
fn valid() -> Vec<(PathBuf, File)> {
    let folders = ["tests/data/v2/real", "tests/data/v2/cases"].map(common::repository);
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let paths = entries.map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "zt"));
    let opened = paths.filter_map(|p| File::open(&p, &OpenOptions::default()).ok().map(|file| (p, file)));
    opened.filter(|(_, file)| is_sound(file)).collect()
}

#[test]
fn every_object_has_the_same_values_in_a_file_of_1_2() {
    let (mut copied, mut refused, mut replaced) = (0, 0, 0);
    for (path, file) in valid() {
        let mut names = Vec::new();
        let bytes = common::written(&WriterOptions::default(), |w| {
            for object in file.objects() {
                match w.copy_as(object, object.name(), &Recode::default()) {
                    Ok(()) => names.push(object.name().to_owned()),
                    Err(e) => {
                        assert_eq!(e.cause(), Cause::Unsupported, "{path:?} {e}");
                        refused += 1;
                    }
                }
            }
        });
        let made = common::open(bytes);

        assert!(is_sound(&made), "{path:?}");
        for name in &names {
            let (old, new) = (file.find(name).unwrap(), made.find(name).unwrap());
            assert_eq!(
                (new.shape(), new.components().len()),
                (old.shape(), old.components().len()),
                "{path:?}"
            );
            for (from, to) in old.components().zip(new.components()) {
                copied += 1;
                assert_ne!(to.encoding(), Encoding::ZstdSeekable, "{path:?} {name}");
                let digest = to.digest().unwrap_or_default();
                assert!(!digest.starts_with("xxh3:"), "{path:?} {name} {digest}");
                if from.digest().is_some_and(|digest| digest.starts_with("xxh3:")) {
                    assert!(digest.starts_with("crc32c:"), "{path:?} {name} {digest}");
                    replaced += 1;
                }
                if ["indices", "indptr", "coords"].contains(&from.role()) {
                    assert_eq!(to.dtype(), Some(Dtype::U64), "{path:?} {name}"); // like in 1.2
                    continue;
                }
                assert_eq!(to.dtype(), from.dtype(), "{path:?} {name}");
                let mut bytes = vec![0; from.size().map_or(0, |size| size as usize)];
                match from.read(&mut bytes) {
                    Ok(()) => assert_eq!(common::read(&to), bytes, "{path:?} {name}"),
                    Err(e) => assert_eq!(e.cause(), Cause::Unsupported, "{path:?} {e}"), // its type or encoding is unknown
                }
            }
        }
    }
    assert!(copied > 300 && refused > 10 && replaced > 20, "{copied} {refused} {replaced}");
}

#[test]
fn an_encoding_that_2_does_not_know_does_not_become_one_that_1_2_knows() {
    let object = |encoding| {
        let part = Part::new("data", "u8", *b"anything").encoded(encoding, 8);
        file(&[Object::new("t", "dense", &[8], vec![part])])
    };
    for (encoding, refused) in [("raw", true), ("zstd", true), ("vendor/1", false)] {
        let made = common::open(object(encoding));
        for (version, refused) in [(Version::V1_2, refused), (Version::V2, false)] {
            let mut failure = None;
            common::written(&WriterOptions { version, ..WriterOptions::default() }, |w| {
                failure = w.copy(made.objects().next().unwrap(), "t").err();
            });
            let words = format!(
                "object \"t\": {encoding:?} is unknown in its file, but has a meaning in the output file"
            );
            let expected = refused.then_some((Cause::Unsupported, words));
            let found = failure.map(|e| (e.cause(), e.message().to_owned()));
            assert_eq!(found, expected, "{encoding} {version:?}");
        }
    }
}

#[test]
fn a_type_that_2_does_not_know_does_not_become_one_that_1_2_knows() {
    // Names that are not types of zTensor 2: names of dtypes, and types of other containers with one byte per
    // element.
    let known = ["u8", "i8", "f32", "bool", "f6_e2m3"].map(|name| (name, name != "bool"));
    for (name, refused) in known.into_iter().chain([("vendor", false), ("I8", false)]) {
        let part = Part::new("data", "u8", *b"\0\x01\x01\0\0\x01\0\x01").of_type(name);
        let made = common::open(file(&[Object::new("t", "dense", &[8], vec![part])]));
        // zTensor 2 does not have elements of an unknown type.
        let unknown =
            (name != "bool").then(|| format!("object \"t\": spec 2 cannot represent the type {name:?}"));
        for (version, refused) in [(Version::V1_2, refused), (Version::V2, unknown.is_some())] {
            let mut failure = None;
            let written = common::written(&WriterOptions { version, ..WriterOptions::default() }, |w| {
                failure = w.copy(made.objects().next().unwrap(), "t").err();
            });
            assert_eq!(common::open(written).object_count(), usize::from(!refused), "{name} {version:?}");
            let words = format!(
                "object \"t\": {name:?} is unknown in its file, but has a meaning in the output file"
            );
            let words = if version == Version::V2 { unknown.clone().unwrap_or_default() } else { words };
            let expected = refused.then_some((Cause::Unsupported, words));
            let found = failure.map(|e| (e.cause(), e.message().to_owned()));
            assert_eq!(found, expected, "{name} {version:?}");
        }
    }
}

/// Only the stored bytes of an unknown type can be copied, and 1.2 does not have this encoding.
#[test]
fn a_compressed_component_of_an_unknown_type_is_not_copied_to_1_2() {
    let part = Part::new("data", "u8", *b"anything").of_type("acme").seekable(8);
    let made = common::open(file(&[Object::new("t", "dense", &[8], vec![part])]));
    let mut failure = None;
    let written = common::written(&WriterOptions::default(), |w| {
        failure = w.copy(made.objects().next().unwrap(), "t").err();
    });
    let failure = failure.unwrap();
    assert_eq!(failure.cause(), Cause::Unsupported, "{failure}");
    let words = "component \"data\": spec 1.2.0 cannot represent the encoding \"zt.zstd-seekable/1\" of the \
                 unknown type \"acme\"";
    assert!(failure.message().contains(words), "{failure}");
    assert_eq!(common::open(written).object_count(), 0);
}

#[test]
fn an_object_that_lacks_a_component_of_its_format_is_not_copied() {
    let part = Part::new("values", "u8", *b"12");
    let made = common::open(file(&[Object::new("t", "zt.sparse_coo/1", &[8], vec![part])]));
    for version in [Version::V1_2, Version::V1_1, Version::V2] {
        let mut failure = None;
        let written = common::written(&WriterOptions { version, ..WriterOptions::default() }, |w| {
            failure = w.copy(made.objects().next().unwrap(), "t").err();
        });
        let failure = failure.unwrap();
        assert_eq!(failure.cause(), Cause::Unsupported, "{failure}");
        assert!(failure.message().contains("coords"), "{failure}");
        assert_eq!(common::open(written).object_count(), 0);
    }
}
