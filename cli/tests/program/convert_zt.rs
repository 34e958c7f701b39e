//! `zt convert OLD.zt NEW.zt`: the new file has the contents of the old one, in spec 1.2.

use crate::common;

use common::{data, folder, listing, names_in, run, valid_files, VALID};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use ztensor::model::dtype::Dtype;
use ztensor::model::manifest::Encoding;
use ztensor::reader::{Component, File, OpenOptions};

/// The only valid file that cannot be converted: in 1.2 names of objects are unique.
const DUPLICATE: &str = "py-0.1.4-duplicate-name.zt";

/// What must not change: everything except offsets, stored sizes, encodings and digests.
fn essence(listing: &Value) -> Value {
    let mut essence = listing.clone();
    essence["version"] = "1.2.0".into();
    for component in essence["objects"].as_array_mut().unwrap().iter_mut().flat_map(components_mut) {
        for field in ["offset", "length", "uncompressed_length", "encoding", "digest"] {
            component.as_object_mut().unwrap().remove(field);
        }
        // An explicit type that repeats the dtype has no effect.
        if component["type"] == component["dtype"] {
            component["type"] = Value::Null;
        }
    }
    essence
}

fn components_mut(object: &mut Value) -> &mut Vec<Value> {
    object["components"].as_array_mut().unwrap()
}

/// The listing with the changes of a conversion: in 1.2 all indices are u64; in 0.1 every bool except zero is
/// true, later only 1.
fn adapted(path: &Path, mut listing: Value) -> Value {
    let old = listing["version"] == "0.1.0";
    let file = File::open(path, &OpenOptions::default()).unwrap();
    for (object, said) in file.objects().zip(listing["objects"].as_array_mut().unwrap()) {
        let sparse = ["sparse_csr", "sparse_coo"].contains(&object.format_name());
        for (component, said) in object.components().zip(components_mut(said)) {
            let bytes = if old && component.dtype() == Some(Dtype::Bool) {
                component.load().unwrap().as_slice().iter().map(|b| u8::from(*b != 0)).collect()
            } else if sparse && component.role() != "values" {
                as_u64(&component)
            } else {
                continue;
            };
            let hash: String = Sha256::digest(&bytes).iter().map(|b| format!("{b:02x}")).collect();
            said["dtype"] = if old { "bool" } else { "u64" }.into();
            said["decoded_length"] = bytes.len().into();
            said["sha256_of_decoded_little_endian_bytes"] = hash.into();
        }
    }
    listing
}

fn as_u64(component: &Component<'_>) -> Vec<u8> {
    let mut numbers = Vec::new();
    let keep = &mut |chunk: &[u8]| {
        numbers.extend_from_slice(chunk);
        Ok(())
    };
    component.for_each_converted(Dtype::U64, keep).unwrap();
    numbers.chunks(8).flat_map(|n| u64::from_ne_bytes(n.try_into().unwrap()).to_le_bytes()).collect()
}

/// Every valid file that can be converted, and its listing.
fn old_files() -> &'static [(PathBuf, Value)] {
    static OLD: OnceLock<Vec<(PathBuf, Value)>> = OnceLock::new();
    OLD.get_or_init(|| {
        let paths = valid_files().into_iter().map(|(path, _)| path).filter(|path| !path.ends_with(DUPLICATE));
        paths.map(|path| (path.clone(), listing(&path))).collect()
    })
}

fn convert_all(name: &str, options: &[&str], check: impl Fn(&Value, &Value)) {
    let folder = folder(name);
    assert_eq!(old_files().len(), 136);
    for (path, old) in old_files() {
        let new = folder.join(path.file_name().unwrap());
        let mut arguments: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"convert", &path, &new];
        arguments.extend(options.iter().map(|option| option as &dyn AsRef<std::ffi::OsStr>));
        let out = run(&arguments).good();
        assert!(out.starts_with(&format!("{}: ", new.display())), "{out}");
        let is = listing(&new);
        assert_eq!(is["version"], "1.2.0");
        assert_eq!(essence(&is), essence(&adapted(path, old.clone())), "{}", path.display());
        run(&[&"verify", &new]).sound();
        check(old, &is);
    }
}

fn components(listing: &Value) -> impl Iterator<Item = &Value> {
    listing["objects"].as_array().unwrap().iter().flat_map(|o| o["components"].as_array().unwrap())
}

#[test]
fn every_valid_file_is_converted_to_1_2_with_its_stored_bytes() {
    convert_all("convert-copy", &[], |old, new| {
        for (was, is) in components(old).zip(components(new)) {
            assert_eq!(was["encoding"], is["encoding"]);
            if was["dtype"] == is["dtype"] && was["encoding"] == "zstd" {
                assert_eq!(was["length"], is["length"]);
                match was["digest"].is_null() {
                    true => assert!(is["digest"].as_str().unwrap().starts_with("crc32c:0x")),
                    false => assert_eq!(was["digest"], is["digest"]),
                }
            }
            assert_eq!(is["offset"].as_u64().unwrap() % 64, 0);
        }
    });
}

#[test]
fn every_valid_file_is_compressed_and_digested_on_request() {
    convert_all("convert-zstd", &["--zstd=1", "--digest=sha256", "--alignment=4K"], |_, new| {
        for component in components(new) {
            assert_eq!(component["encoding"], "zstd");
            assert_eq!(component["uncompressed_length"], component["decoded_length"]);
            assert!(component["digest"].as_str().unwrap().starts_with("sha256:"));
            assert_eq!(component["offset"].as_u64().unwrap() % 4096, 0);
        }
    });
}

#[test]
fn every_valid_file_is_decompressed_on_request_and_keeps_its_kind_of_digest() {
    convert_all("convert-raw", &["--raw"], |old, new| {
        for (was, is) in components(old).zip(components(new)) {
            assert_eq!(is["encoding"], "raw");
            assert_eq!(is["length"], is["decoded_length"]);
            let algorithm = |digest: &Value| digest.as_str().map(|d| d.split(':').next().unwrap().to_owned());
            let expected = algorithm(&was["digest"]).or(Some(String::from("crc32c")));
            assert_eq!(expected, algorithm(&is["digest"]));
        }
    });
}

#[test]
fn an_encoding_is_chosen_by_its_name() {
    let (old, new) = (&old_files()[0].0, folder("convert-encoding").join("new.zt"));
    for encoding in Encoding::written().filter_map(Encoding::name) {
        run(&[&"convert", &"--force", &old, &new, &"--encoding", &encoding]).good();
        assert!(components(&listing(&new)).all(|component| component["encoding"] == encoding));
    }
    let ran = run(&[&"convert", &old, &new, &"--encoding=brotli"]);
    assert!(ran.status == 2 && ran.err.contains("not one of raw, zstd"), "{ran:?}");
    assert_eq!(run(&[&"convert", &old, &new, &"--encoding=raw", &"--zstd"]).status, 2);
}

#[test]
fn changing_the_digest_keeps_the_encodings() {
    convert_all("convert-digest", &["--digest", "crc32c", "--durable"], |old, new| {
        for (was, is) in components(old).zip(components(new)) {
            assert_eq!(was["encoding"], is["encoding"]);
            assert!(is["digest"].as_str().unwrap().starts_with("crc32c:0x"));
        }
    });
}

#[test]
fn unknown_components_keep_their_stored_bytes_and_are_reported() {
    let old = data().join("invalid/encoding-lz4.zt");
    let new = folder("convert-unknown").join("new.zt");
    let ran = run(&[&"convert", &old, &new, &"--zstd"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let expected = "zt: not converted: 1 object: \"a\": component \"data\" has an unknown dtype or encoding";
    assert!(ran.err.starts_with(expected) && ran.err.lines().count() == 1, "{}", ran.err);
    let json = |path: &Path| serde_json::from_str::<Value>(&run(&[&"ls", &"--json", &path]).good()).unwrap();
    let (was, is) = (json(&old), json(&new));
    for field in ["encoding", "length", "dtype"] {
        assert_eq!(components(&was).next().unwrap()[field], components(&is).next().unwrap()[field]);
    }
}

#[test]
fn duplicate_names_are_rejected_and_nothing_is_written() {
    let folder = folder("convert-duplicate");
    let old = data().join("v0.1").join(DUPLICATE);
    for option in ["--durable", "--zstd"] {
        let ran = run(&[&"convert", &old, &folder.join("new.zt"), &option]);
        ran.bad(&["two tensors would have the name \"same\""]);
        assert!(names_in(&folder).is_empty());
    }
}

#[test]
fn a_failure_leaves_the_old_file() {
    let folder = folder("convert-failure");
    let new = folder.join("new.zt");
    std::fs::write(&new, "precious").unwrap();
    for bad in ["zstd-corrupt-block.zt", "cbor-truncated-map.zt"] {
        run(&[&"convert", &data().join("invalid").join(bad), &new, &"--raw", &"--force"]).bad(&[bad]);
        assert_eq!(std::fs::read(&new).unwrap(), b"precious");
        assert_eq!(names_in(&folder), ["new.zt"]);
    }
    run(&[&"convert", &folder.join("missing.zt"), &new, &"--force"]).bad(&["missing.zt: "]);
    run(&[&"convert", &folder.join("."), &new, &"--force"]).bad(&["convert-failure"]);
    run(&[&"convert", &data().join("v0.1/manifest.json"), &new, &"--force"]).bad(&["manifest.json: "]);
    run(&[&"convert", &data().join("v1.2/py-1.2.3-zstd.zt"), &folder]).bad(&["folder"]);
    run(&[&"convert", &data().join("v1.2/py-1.2.3-zstd.zt"), &folder.join("no/new.zt")]).bad(&["new.zt: "]);
    assert_eq!(std::fs::read(&new).unwrap(), b"precious");
}

#[test]
fn a_file_can_be_converted_onto_itself() {
    let path = folder("convert-itself").join("model.zt");
    std::fs::copy(data().join("v0.1/py-0.1.4-1000.zt"), &path).unwrap();
    let before = listing(&path);
    run(&[&"convert", &path, &path, &"--zstd"]).bad(&["it exists; --force replaces it"]);
    run(&[&"convert", &path, &path, &"--zstd", &"--force"]).good();
    assert_eq!(essence(&listing(&path)), essence(&before));
    assert_eq!(names_in(path.parent().unwrap()), ["model.zt"]);
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let folder = folder("convert-same");
    for (number, version) in VALID.iter().enumerate().take(4) {
        let (path, _) =
            &valid_files().into_iter().find(|(p, _)| p.parent().unwrap().ends_with(version)).unwrap();
        let (a, b) = (folder.join(format!("{number}a.zt")), folder.join(format!("{number}b.zt")));
        run(&[&"convert", path, &a, &"--zstd", &"--digest=sha256"]).good();
        run(&[&"convert", path, &b, &"--zstd", &"--digest=sha256"]).good();
        assert_eq!(std::fs::read(a).unwrap(), std::fs::read(b).unwrap());
    }
}
