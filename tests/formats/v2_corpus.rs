//! Tests every file of zTensor 2 in the corpus. Each case has its verdict and rule. Each real file has the
//! content in its manifest.

use crate::common::byte_order;

use serde_json::Value as Json;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use ztensor::error::{Cause, Error, Result};
use ztensor::model::dtype::Dtype;
use ztensor::model::manifest::{Container, Format};
use ztensor::reader::{Component, File, Mode, OpenOptions, Shards, VerifyOptions, VerifyReport};

fn data(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/v2").join(folder)
}

fn json(path: &Path) -> Json {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn every_mode() -> [OpenOptions; 2] {
    [OpenOptions::default(), OpenOptions { mode: Mode::Read, ..OpenOptions::default() }]
}

fn text<'j>(value: &'j Json, key: &str) -> Option<&'j str> {
    value[key].as_str()
}

/// The component that a case's operation names.
fn component<'f>(file: &'f File, op: &[&str]) -> Component<'f> {
    file.find(op[1]).unwrap().component(op[2]).unwrap()
}

/// The result of a case.
fn run(path: &Path, op: &[&str], options: &OpenOptions) -> Result<()> {
    let shards = if op[0] == "shards" { Shards::AtOpen } else { Shards::OfModels };
    let options = &OpenOptions { shards, ..options.clone() };
    let file = File::open_model(path, options)?;
    let only_digests = VerifyOptions { contents: false, ..VerifyOptions::default() };
    let all = |options: &VerifyOptions| file.verify(options, &|_, _| true, &mut VerifyReport::default());
    match op[0] {
        "open" => File::open(path, options).map(drop),
        "shards" | "canonical" => Ok(()),
        "verify-shards" => all(&VerifyOptions { shards: true, ..VerifyOptions::default() }),
        "read" => {
            let c = component(&file, op);
            let Ok(size) = usize::try_from(c.size()?) else {
                return all(&VerifyOptions::default()); // this machine does not have so much memory
            };
            let mut bytes = vec![0; size];
            c.read(&mut bytes)?;
            let mut range = vec![0; bytes.len() / 3];
            c.read_range(bytes.len() as u64 / 2, &mut range)?;
            assert_eq!(range, bytes[bytes.len() / 2..][..range.len()]);
            Ok(())
        }
        "view" => component(&file, op).borrow().map(drop),
        "verify" => {
            all(&only_digests)?;
            all(&VerifyOptions::default())
        }
        "csr" => {
            let viewed = file.find(op[1]).unwrap().csr_view().map(drop);
            let verified = all(&VerifyOptions::default());
            assert_eq!(viewed.is_ok(), verified.is_ok(), "{viewed:?} {verified:?}");
            viewed
        }
        "profile" => {
            let strict = OpenOptions { strict: true, ..options.clone() };
            let verified = all(&VerifyOptions::default());
            match File::open(path, &strict) {
                Err(e) if e.cause() == Cause::Unsupported || verified.is_ok() => Err(e),
                outcome => verified.and(outcome.map(drop)),
            }
        }
        other => panic!("{other}"),
    }
}

#[test]
fn every_case_has_its_verdict_and_its_rule() {
    let index = json(&data("cases/index.json"));
    let (mut wrong, mut count) = (Vec::new(), 0);
    for case in index["cases"].as_array().unwrap() {
        let op: Vec<&str> = case["op"].as_array().unwrap().iter().map(|op| op.as_str().unwrap()).collect();
        let file = text(case, "file").unwrap();
        for options in every_mode() {
            let outcome = run(&data("cases").join(file), &op, &options);
            let found = match &outcome {
                Ok(()) => "valid",
                Err(e) if e.cause() == Cause::Unsupported && e.rule_name().is_empty() => "unsupported",
                Err(_) => "reject",
            };
            let rule = outcome.as_ref().err().map_or("", |e: &Error| e.rule_name().to_str().unwrap());
            let expected = match text(case, "expect").unwrap() {
                "data-shard" | "canonical" => "valid",
                expected => expected,
            };
            let wanted = if expected == "reject" { text(case, "rule").unwrap() } else { "" };
            if found != expected && expected != "either" || rule != wanted {
                wrong.push(format!("{file}: {outcome:?} ({rule}), not {expected} {wanted}"));
            }
            count += 1;
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 300, "{count}");
}

#[test]
fn canonical_cases_have_their_rule() {
    let index = json(&data("cases/index.json"));
    let mut count = 0;
    for case in index["cases"].as_array().unwrap().iter().filter(|case| case["op"][0] == "canonical") {
        let name = text(case, "file").unwrap();
        let file = File::open(data("cases").join(name), &OpenOptions::default()).unwrap();
        let found = file.canonical_violation().unwrap();
        let rules = case["upstream"].as_array().unwrap();
        // Only zt id checks the normal form of names. An empty part does not occupy space, as in the
        // reference writer.
        if rules.iter().all(|rule| rule == "K5") || name == "k-empty-part-first.zt" {
            assert_eq!(found, None, "{name}");
        } else {
            let found = found.unwrap_or_else(|| panic!("{name} is not canonical"));
            let mut names = rules.iter().map(|rule| rule.as_str().unwrap());
            assert!(
                names.any(|rule| found.starts_with(&format!("{rule}: "))),
                "{name}: {found}, not {rules:?}"
            );
        }
        count += 1;
    }
    assert_eq!(count, 8);
}

#[test]
fn real_files_have_their_content_digest_and_form() {
    let manifest = json(&data("real/manifest.json"));
    for expected in manifest["files"].as_array().unwrap() {
        let name = text(expected, "file").unwrap();
        for options in every_mode() {
            let file = File::open(data("real").join(name), &options).unwrap();
            for algorithm in ["sha256", "xxh3"] {
                let found = file.content_digest(algorithm);
                match text(&expected["content_digest"], algorithm) {
                    Some(digest) => assert_eq!(found.unwrap(), digest, "{name}"),
                    None => assert_eq!(found.unwrap_err().cause(), Cause::Unsupported, "{name}"),
                }
            }
            let violations = expected["canonical_violations"].as_array().unwrap();
            let found = file.canonical_violation().unwrap();
            // the file has an empty part
            let is_canonical = violations.is_empty() || name == "py-numpy-save.zt";
            assert_eq!(found.is_none(), is_canonical, "{name}: {found:?}");
        }
    }
}

#[test]
fn a_data_shard_and_other_algorithms_have_no_content_digest() {
    let shard = File::open(data("cases/f5-data-shard-with-blobs.zt"), &OpenOptions::default()).unwrap();
    assert_eq!(shard.content_digest("sha256").unwrap_err().cause(), Cause::Unsupported);
    let canonical = File::open(data("cases/k-sound.zt"), &OpenOptions::default()).unwrap();
    assert_eq!(canonical.content_digest("crc32c").unwrap_err().cause(), Cause::InvalidArgument);
}

#[test]
fn a_later_version_is_unsupported_and_names_its_number() {
    let path = data("cases/upstream-version-unsupported.zt");
    let error = File::open(&path, &OpenOptions::default()).map(drop).unwrap_err();
    assert_eq!((error.cause(), error.rule_name()), (Cause::Unsupported, c"Version"));
    assert!(error.message().contains("version 3"), "{error}");
}

#[test]
fn a_data_shard_opens_without_objects() {
    let file = File::open(data("cases/f5-data-shard-with-blobs.zt"), &OpenOptions::default()).unwrap();
    assert_eq!((file.object_count(), file.container()), (0, Container::V2));
}

/// Converts values that the index spells differently to our JSON.
fn plain(value: &Json) -> Json {
    match value {
        Json::Object(map) if map.len() == 1 => match map.iter().next().unwrap() {
            (key, Json::String(number)) if key == "$float" => match number.parse::<f64>() {
                Ok(value) if value.is_finite() => serde_json::json!(value),
                _ => value.clone(),
            },
            (key, Json::String(number)) if key == "$int" => Json::String(number.clone()),
            (key, inner) => serde_json::json!({ key: plain(inner) }),
        },
        Json::Object(map) => map.iter().map(|(key, value)| (key.clone(), plain(value))).collect(),
        Json::Array(items) => items.iter().map(plain).collect(),
        other => other.clone(),
    }
}

fn same(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(x), Json::Number(y)) => x == y || x.as_f64() == y.as_f64(),
        (Json::Array(x), Json::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y)),
        (Json::Object(x), Json::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(k, v)| y.get(k).is_some_and(|w| same(v, w)))
        }
        _ => a == b,
    }
}

fn check_attributes(found: Option<ztensor::model::value::Value<'_>>, expected: &Json, at: &str) {
    let found = found.map(|value| {
        let text = ztensor::container::json::write(value).unwrap();
        let text = text.replace("-18446744073709551616", "\"-18446744073709551616\"");
        serde_json::from_str::<Json>(&text).unwrap()
    });
    match found {
        None => assert!(expected.is_null(), "{at}: {expected}"),
        Some(found) => assert!(same(&found, &plain(expected)), "{at}: {found}"),
    }
}

fn check_part(component: &Component<'_>, expected: &Json, at: &str) {
    // A bool is stored as u8 in 2, but is a dtype in the manifest.
    let (dtype, logical) = match (text(expected, "dtype"), text(expected, "type")) {
        (Some("u8"), Some("bool")) => (Some("bool"), None),
        names => names,
    };
    assert_eq!(Some(component.dtype_name()), dtype, "{at} dtype");
    let block = component.known_logical().is_some_and(|logical| logical.is_block_type());
    assert_eq!(component.logical_name().filter(|_| !block), logical, "{at} type");
    assert_eq!(component.encoding_name(), text(expected, "encoding").unwrap_or("raw"), "{at} encoding");
    assert_eq!(component.digest(), text(expected, "digest"), "{at} digest");
    assert_eq!(Some(component.offset()), expected["offset"].as_u64(), "{at} offset");
    assert_eq!(Some(component.stored_size()), expected["length"].as_u64(), "{at} length");
    assert_eq!(component.size().ok(), expected["size"].as_u64(), "{at} size");
    let mut bytes = vec![0xaa; component.size().unwrap() as usize];
    let shard = text(expected, "shard");
    assert_eq!(component.part_number() > 0, shard.is_some(), "{at} part");
    if logical == Some("acme.ternary/1") {
        assert_eq!(component.read(&mut bytes).map_err(|e| e.cause()), Err(Cause::Unsupported), "{at}");
        component.read_stored(&mut bytes).unwrap();
    } else {
        component.read(&mut bytes).unwrap_or_else(|e| panic!("{at}: {e}"));
    }
    let little = byte_order::little_endian(&bytes, byte_order::element_size(component));
    let sha: String = Sha256::digest(little).iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(Some(sha.as_str()), text(expected, "sha256"), "{at} bytes");
    match text(expected, "verify") {
        Some("Digest") => component.verify_digest().unwrap_or_else(|e| panic!("{at}: {e}")),
        _ => assert_eq!(component.verify_digest().map_err(|e| e.cause()), Err(Cause::Unsupported), "{at}"),
    }
    if component.dtype() == Some(Dtype::F32) && component.object().format() == Format::Dense {
        assert_eq!(component.object().tensor_view().unwrap().data.bytes(), bytes, "{at} view");
    }
}

#[test]
fn every_real_file_matches_its_manifest() {
    let manifest = json(&data("real/manifest.json"));
    let files = manifest["files"].as_array().unwrap();
    for expected in files {
        let name = text(expected, "file").unwrap();
        for options in every_mode() {
            let path = data("real").join(name);
            let file = match expected["shards"].as_object().unwrap().is_empty() {
                true => File::open(path, &options),
                false => File::open_model(path, &options), // reads bytes in shards
            };
            let file = file.unwrap_or_else(|e| panic!("{e}"));
            check_attributes(file.attributes(), &expected["attributes"], name);
            let objects = expected["objects"].as_array().unwrap();
            assert_eq!(file.object_count(), objects.len(), "{name}");
            for (object, expected) in file.objects().zip(objects) {
                let at = format!("{name} {:?}", object.name());
                assert_eq!(Some(object.name()), text(expected, "name"), "{at}");
                let shape: Vec<_> =
                    expected["shape"].as_array().unwrap().iter().map(|d| d.as_u64()).collect();
                assert_eq!(object.shape().iter().copied().map(Some).collect::<Vec<_>>(), shape, "{at}");
                let layout = match object.format() {
                    Format::SparseCsr => "zt.sparse_csr/1",
                    Format::SparseCoo => "zt.sparse_coo/1",
                    _ => object.format_name(),
                };
                assert_eq!(Some(layout), text(expected, "layout"), "{at}");
                check_attributes(object.attributes(), &expected["attributes"], &at);
                let parts = expected["parts"].as_object().unwrap();
                assert_eq!(object.components().len(), parts.len(), "{at}");
                for (role, expected) in parts {
                    let component = object.component(role).unwrap_or_else(|| panic!("{at} has no {role:?}"));
                    check_part(&component, expected, &format!("{at} {role:?}"));
                }
                assert_eq!(file.find(object.name()).unwrap().name(), object.name());
            }
            let everything = VerifyOptions { shards: true, ..VerifyOptions::default() };
            let outcome = file.verify(&everything, &|_, _| true, &mut VerifyReport::default());
            match outcome {
                Ok(()) => assert_ne!(name, "py-unknown-type.zt"),
                Err(e) => assert_eq!((e.cause(), name), (Cause::Unsupported, "py-unknown-type.zt"), "{e}"),
            }
        }
    }
    assert!(files.len() > 40);
}

/// A valid file. A function replaces bytes of a component.
fn changed(file: &str, role: &str, change: impl Fn(&mut [u8])) -> File {
    let path = data("cases").join(file);
    let original = File::open(&path, &OpenOptions::default()).unwrap();
    let component = original.objects().next().unwrap().component(role).unwrap();
    let (start, size) = (component.offset() as usize, component.stored_size() as usize);
    let mut bytes = std::fs::read(&path).unwrap();
    change(&mut bytes[start..start + size]);
    let thread = std::thread::current();
    let name = format!("zt-v2-{}-{:?}-{role}-{file}", std::process::id(), thread.id());
    let changed = std::env::temp_dir().join(name);
    std::fs::write(&changed, bytes).unwrap();
    let opened = File::open(&changed, &OpenOptions { mode: Mode::Read, ..OpenOptions::default() });
    std::fs::remove_file(&changed).unwrap();
    opened.unwrap()
}

fn contents(file: &File) -> Result<()> {
    let options = VerifyOptions { digests: false, ..VerifyOptions::default() };
    file.verify(&options, &|_, _| true, &mut VerifyReport::default())
}

#[test]
fn coordinates_of_one_element_are_refused() {
    let coords = |file: &File| {
        let viewed = file.objects().next().unwrap().coo_view().map(drop);
        assert_eq!(viewed.is_ok(), contents(file).is_ok());
        viewed
    };
    coords(&changed("lc-u32-rank-3.zt", "coords", |_| {})).unwrap();
    let twice = changed("lc-u32-rank-3.zt", "coords", |bytes| {
        let run = bytes.len() / 3;
        for run in bytes.chunks_exact_mut(run) {
            run.copy_within(..4, 4);
        }
    });
    let error = coords(&twice).unwrap_err();
    assert_eq!(error.rule_name(), c"LayoutData", "{error}");
}

#[test]
fn positions_out_of_bounds_are_refused_before_they_are_handed_out() {
    for (file, role) in
        [("lr-u32-sound.zt", "indices"), ("lr-u32-sound.zt", "indptr"), ("lc-u32-rank-3.zt", "coords")]
    {
        let broken = changed(file, role, |bytes| {
            let start = bytes.len() - 4;
            bytes[start..].fill(0xff)
        });
        let object = broken.objects().next().unwrap();
        let viewed = match role {
            "coords" => object.coo_view().map(drop),
            _ => object.csr_view().map(drop),
        };
        for error in [viewed.unwrap_err(), contents(&broken).unwrap_err()] {
            assert_eq!(error.rule_name(), c"LayoutData", "{file} {role}: {error}");
        }
    }
}

#[test]
fn strict_opens_objects_that_follow_their_layout() {
    for file in ["real/rs-appended-4k-base.zt", "real/py-csr-canonical.zt", "real/py-gguf-layouts.zt"] {
        let strict = OpenOptions { strict: true, ..OpenOptions::default() };
        File::open(data(file), &strict).unwrap_or_else(|e| panic!("{e}"));
    }
    let error =
        File::open(data("real/py-as-pie-writes.zt"), &OpenOptions { strict: true, ..OpenOptions::default() });
    assert_eq!(error.map(drop).unwrap_err().rule_name(), c"LayoutRule");
}
