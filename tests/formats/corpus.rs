//! Tests every file of the corpus. Valid files have the content in their manifest. Invalid files fail at the
//! stage in the index, with the status that the rule implies, and with a useful message.

use crate::common::byte_order;

use byte_order::{element_size, is_as_here, little_endian};
use serde_json::Value as Json;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use ztensor::error::{Cause, Error, Rule};
use ztensor::model::manifest::Format;
use ztensor::reader::{Component, File, Mode, OpenOptions, VerifyOptions, VerifyReport};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

fn json(path: &Path) -> serde_json::Map<String, Json> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    // serde_json only keeps 64-bit integers, and the corpus has one of 65 bits. It is compared as text.
    let parsed: Json = serde_json::from_str(&text.replace("-18446744073709551616", "\"-2^64\"")).unwrap();
    parsed.as_object().unwrap().clone()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn every_mode() -> [OpenOptions; 2] {
    [OpenOptions::default(), OpenOptions { mode: Mode::Read, ..OpenOptions::default() }]
}

/// A value in our JSON, in the corpus's form.
fn attributes(value: Option<ztensor::model::value::Value<'_>>) -> Json {
    match value {
        None => Json::Object(Default::default()),
        Some(value) => {
            let text = ztensor::container::json::write(value).unwrap();
            serde_json::from_str(&text.replace("-18446744073709551616", "\"-2^64\"")).unwrap()
        }
    }
}

/// Compares numbers by value, in any encoding.
fn same(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(x), Json::Number(y)) => {
            x == y || x.as_f64() == y.as_f64() && (x.is_f64() || y.is_f64())
        }
        (Json::Array(x), Json::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y)),
        (Json::Object(x), Json::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(k, v)| y.get(k).is_some_and(|w| same(v, w)))
        }
        _ => a == b,
    }
}

fn check_component(component: &Component<'_>, expected: &Json, at: &str) {
    let text = |key: &str| expected[key].as_str();
    assert_eq!(Some(component.dtype_name()), text("dtype"), "{at} dtype");
    assert_eq!(component.logical_name(), text("type"), "{at} type");
    assert_eq!(Some(component.encoding_name()), text("encoding"), "{at} encoding");
    assert_eq!(component.digest(), text("digest"), "{at} digest");
    assert_eq!(Some(component.offset()), expected["offset"].as_u64(), "{at} offset");
    assert_eq!(Some(component.stored_size()), expected["length"].as_u64(), "{at} length");
    assert_eq!(component.size().ok(), expected["decoded_length"].as_u64(), "{at} size");
    if let Some(declared) = expected["uncompressed_length"].as_u64() {
        assert!(component.entry().is_size_declared(), "{at} uncompressed_length");
        assert_eq!(component.size().unwrap(), declared, "{at} uncompressed_length");
    }
    let mut bytes = vec![0xaa; usize::try_from(component.size().unwrap()).unwrap()];
    component.read(&mut bytes).unwrap_or_else(|e| panic!("{at}: {e}"));
    let sha = Some(hex(&Sha256::digest(little_endian(&bytes, element_size(component)))));
    assert_eq!(sha.as_deref(), text("sha256_of_decoded_little_endian_bytes"), "{at} bytes");
    assert_eq!(component.load().unwrap().as_slice(), bytes, "{at} load");
    let half = bytes.len() / 2;
    let mut range = vec![0; bytes.len() - half];
    component.read_range(half as u64, &mut range).unwrap();
    assert_eq!(range, bytes[half..], "{at} range");
    if let Ok(borrowed) = component.borrow() {
        assert!(is_as_here(component), "{at} borrowed");
        assert_eq!(borrowed, bytes, "{at} borrowed");
    }
    match text("digest_status") {
        Some(status) => {
            assert!(status.starts_with("ok"), "{at}: an unknown digest_status {status}");
            component.verify_digest().unwrap_or_else(|e| panic!("{at}: {e}"));
        }
        None => assert_eq!(component.verify_digest().map_err(|e| e.cause()), Err(Cause::Unsupported), "{at}"),
    }
}

fn check_valid(folder: &str) -> usize {
    let folder = data().join(folder);
    let manifest = json(&folder.join("manifest.json"));
    for (name, expected) in &manifest {
        for options in every_mode() {
            let path = folder.join(name);
            let file = File::open(&path, &options).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(Some(file.version()), expected["version"].as_str(), "{name} version");
            assert_eq!(file.size(), std::fs::metadata(&path).unwrap().len());
            let found = attributes(file.attributes());
            assert!(same(&found, &expected["attributes"]), "{name} attributes: {found}");
            let objects = expected["objects"].as_array().unwrap();
            assert_eq!(file.object_count(), objects.len(), "{name} objects");
            for (object, expected) in file.objects().zip(objects) {
                let at = format!("{name} {:?}", object.name());
                assert_eq!(Some(object.name()), expected["name"].as_str(), "{at}");
                let shape: Vec<u64> =
                    expected["shape"].as_array().unwrap().iter().map(|d| d.as_u64().unwrap()).collect();
                assert_eq!(object.shape(), shape, "{at} shape");
                assert_eq!(Some(object.format_name()), expected["format"].as_str(), "{at} format");
                let found = attributes(object.attributes());
                assert!(same(&found, &expected["attributes"]), "{at} attributes: {found}");
                let components = expected["components"].as_array().unwrap();
                assert_eq!(object.components().len(), components.len(), "{at} components");
                for expected in components {
                    let role = expected["role"].as_str().unwrap();
                    let component = object.component(role).unwrap_or_else(|| panic!("{at} has no {role:?}"));
                    check_component(&component, expected, &format!("{at} {role:?}"));
                }
                assert_eq!(file.find(object.name()).unwrap().name(), object.name());
            }
            let mut report = VerifyReport::default();
            let verified = file.verify(&VerifyOptions::default(), &|_, _| true, &mut report);
            verified.unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(report.objects, objects.len() as u64, "{name}");
        }
    }
    manifest.len()
}

#[test]
fn files_of_0_1_match_their_manifest() {
    assert_eq!(check_valid("v0.1"), 18);
}

#[test]
fn files_of_1_0_match_their_manifest() {
    assert_eq!(check_valid("v1.0"), 10);
}

#[test]
fn files_of_1_1_match_their_manifest() {
    assert_eq!(check_valid("v1.1"), 20);
}

#[test]
fn files_of_1_2_match_their_manifest() {
    assert_eq!(check_valid("v1.2"), 23);
}

#[test]
fn unusual_files_match_their_manifest() {
    assert_eq!(check_valid("valid-odd"), 66);
}

/// How far a file gets, and the error that stops it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Clone, Copy)]
enum Stage {
    Open,
    Read,
    Check,
    Nowhere,
}

/// Reads all components of an open file, with limits like a careful caller.
fn read_all(file: &File) -> Result<(), Error> {
    for object in file.objects() {
        for component in object.components() {
            component.load()?;
        }
    }
    Ok(())
}

fn verify_digests(file: &File) -> Result<(), Error> {
    for component in file.objects().flat_map(|o| o.components()) {
        match component.verify_digest() {
            Err(e) if e.cause() == Cause::Unsupported => {}
            other => other?,
        }
    }
    Ok(())
}

fn walk(path: &Path, options: &OpenOptions) -> (Stage, Option<Error>) {
    let file = match File::open(path, options) {
        Ok(file) => file,
        Err(e) => return (Stage::Open, Some(e)),
    };
    if let Err(e) = verify_digests(&file).and_then(|()| read_all(&file)) {
        return (Stage::Read, Some(e));
    }
    for object in file.objects() {
        let viewed = match object.format() {
            Format::SparseCsr => object.csr_view().map(drop),
            Format::SparseCoo => object.coo_view().map(drop),
            Format::QuantizedGroup => object.quantized_view().map(drop),
            _ => Ok(()),
        };
        let verified = file.verify(&VerifyOptions::default(), &|_, _| true, &mut VerifyReport::default());
        if let Err(viewed) = viewed {
            let verified = verified.expect_err("a view rejects a file that verifies");
            assert_eq!(verified.cause(), viewed.cause(), "{verified} / {viewed}");
        }
    }
    match file.verify(&VerifyOptions::default(), &|_, _| true, &mut VerifyReport::default()) {
        Err(e) => (Stage::Check, Some(e)),
        Ok(()) => (Stage::Nowhere, None),
    }
}

/// The stage at which this library rejects a file. It is the earliest that can detect the error. Exceptions
/// are in decisions.md: some errors are left to views and verification, so that one bad object does not spoil
/// the file.
fn expected_stage(index: &Json) -> Stage {
    let stage = index["stage"].as_str().unwrap();
    match (index["rule"].as_str().unwrap(), stage) {
        ("index-dtype", _) => Stage::Check,
        ("element-size", _) => Stage::Check,
        ("dtype-unknown" | "encoding-unknown", _) => Stage::Read,
        (_, "open") => Stage::Open,
        (_, "read" | "read, when verifying") => Stage::Read,
        (_, "check") => Stage::Check,
        other => panic!("an unknown stage {other:?}"),
    }
}

fn allowed(index: &Json, error: &Error) -> bool {
    let cause = error.cause();
    let broken = matches!(cause, Cause::Broken(_));
    match (index["category"].as_str().unwrap(), index["rule"].as_str().unwrap()) {
        ("magic", _) | ("truncated", _) => broken || cause == Cause::NotZtensor,
        (_, "manifest-limit") => cause == Cause::Limit,
        (_, "cbor-depth") => broken,
        (_, "zstd-limit") => broken || cause == Cause::Limit,
        ("digest", "digest-form") => error.rule() == Some(Rule::DigestForm),
        ("digest", "digest-type") => broken,
        ("digest", _) => cause == Cause::DigestMismatch,
        ("unsupported", "type-unknown") => broken,
        ("unsupported", _) => cause == Cause::Unsupported,
        _ => broken,
    }
}

#[test]
fn invalid_files_are_refused_at_their_stage_with_their_status() {
    let folder = data().join("invalid");
    let index = json(&folder.join("index.json"));
    assert_eq!(index.len(), 426);
    let mut wrong = Vec::new();
    for (name, entry) in &index {
        for options in every_mode() {
            let (stage, error) = walk(&folder.join(name), &options);
            let refuse = entry["recommend"] == "reject";
            let said = error.as_ref().map(ToString::to_string).unwrap_or_default();
            match (&error, refuse) {
                (Some(error), true) => {
                    if stage != expected_stage(entry) || !allowed(entry, error) {
                        wrong.push(format!("{name} ({}): {stage:?} {error:?}", entry["rule"]));
                    }
                    if !said.contains(name.as_str()) {
                        wrong.push(format!("{name}: the message does not name the path: {said}"));
                    }
                }
                (None, true) => wrong.push(format!("{name} ({}): accepted", entry["rule"])),
                (Some(error), false) if entry["rule"] == "bool-byte" => {
                    assert_eq!((stage, error.rule()), (Stage::Check, Some(Rule::BoolByte)), "{name}");
                }
                (Some(error), false) if name.starts_with("digest-") => {
                    // The algorithm is unknown: verification checked everything except the digest.
                    assert_eq!((stage, error.cause()), (Stage::Check, Cause::Unsupported), "{name}");
                }
                (Some(error), false) => wrong.push(format!("{name}: refused, {error:?}")),
                (None, false) => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}

/// An error at opening has the rule's name in the corpus. If a file breaks several rules at once, the pair of
/// names is listed, ours first.
#[test]
fn a_broken_rule_is_called_as_the_corpus_calls_it() {
    let folder = data().join("invalid");
    let several: [(&str, &str); 9] = [
        ("root-type", "cbor-depth"),
        ("root-type", "cbor-malformed"),
        ("root-type", "cbor-trailing"),
        ("key-type", "cbor-malformed"),
        ("name-duplicate", "cbor-duplicate-key"),
        ("range-manifest", "range-eof"),
        ("unfinished-append", "footer-magic"),
        ("type-dtype-mismatch", "type-unknown"),
        ("manifest-empty", "manifest-range"),
    ];
    let (mut same, mut others) = (0, Vec::new());
    for (name, entry) in &json(&folder.join("index.json")) {
        let Err(error) = File::open(folder.join(name), &OpenOptions::default()) else { continue };
        let (found, rule) = (error.rule_name().to_str().unwrap(), entry["rule"].as_str().unwrap_or_default());
        match found {
            "" => assert!(error.rule().is_none()),
            _ if found == rule => same += 1,
            _ if several.contains(&(found, rule)) => {}
            _ => others.push(format!("{name}: {found}, not {rule}")),
        }
    }
    assert!(
        others.is_empty() && same >= 251,
        "{same} are the same, {} are not:\n{}",
        others.len(),
        others.join("\n")
    );
}
