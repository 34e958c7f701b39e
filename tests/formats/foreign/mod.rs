//! Files of other containers. `tests/data/foreign` has the files, and their contents or errors.
//!
//! For a new container, add files there, and its name to [`CONTAINERS`].

use crate::common;
use crate::dump;
mod mutations;
mod torch;
mod types;

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;
use ztensor::container::capabilities;
use ztensor::error::{Cause, Result};
use ztensor::model::manifest::Container;
use ztensor::reader::{File, Mode, OpenOptions, VerifyOptions, VerifyReport};

/// Containers with files in the corpus: their names in `manifest.json`, and the ends of their file names.
const CONTAINERS: [(&str, &str); 9] = [
    ("safetensors", ".safetensors"),
    ("gguf", ".gguf"),
    ("npz", ".npz"),
    ("npy", ".npy"),
    ("torch-zip", ".pt"),
    ("torch-zip", ".pth"),
    ("torch-zip", ".bin"),
    ("torch-legacy", ".pt"),
    ("torch-legacy", ".pth"),
];

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/foreign").join(name)
}

/// The entries of all lists in a folder.
fn list(name: &str) -> Vec<Value> {
    let paths = std::fs::read_dir(folder(name)).unwrap().map(|entry| entry.unwrap().path());
    let lists = paths.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    let entries = lists.flat_map(|path| {
        let list: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        list["files"].as_array().unwrap().clone()
    });
    entries.collect()
}

/// Opens the file in every mode.
fn open_each(path: &PathBuf) -> [Result<File>; 3] {
    let options = |mode| OpenOptions { mode, ..OpenOptions::default() };
    let read = std::fs::read(path).unwrap();
    [
        File::open(path, &options(Mode::Map)),
        File::open(path, &options(Mode::Read)),
        File::open_memory(read, &options(Mode::Map)),
    ]
}

fn verify(file: &File) -> Result<VerifyReport> {
    let mut report = VerifyReport::default();
    file.verify(&VerifyOptions::default(), &|_, _| true, &mut report).map(|()| report)
}

/// Differences between a dump and the manifest.
fn differences(expected: &Value, found: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let (wanted, objects) = (expected["objects"].as_array().unwrap(), found["objects"].as_array().unwrap());
    let is_folder = |object: &&Value| object["name"].as_str().is_some_and(|name| name.ends_with('/'));
    let wanted: Vec<&Value> = wanted.iter().filter(|object| !is_folder(object)).collect();
    if wanted.len() != objects.len() {
        wrong.push(format!("{} objects, not {}", objects.len(), wanted.len()));
    }
    for (wanted, found) in wanted.iter().zip(objects) {
        let is_other = wanted["not_an_array"] == true;
        let is_listed = is_other || wanted.get("dtype").is_some_and(Value::is_null); // and not readable
        if is_listed && (found["error"].is_null() || wanted["name"] != found["name"]) {
            wrong.push(format!("{} is read", wanted["name"]));
        }
        if is_listed {
            continue;
        }
        for key in ["name", "shape", "dtype", "offset", "stored_len", "sha256_stored", "sha256_le"] {
            // Compressed members follow a header that is compressed with them.
            let of_stored = ["offset", "stored_len", "sha256_stored"].contains(&key);
            let is_other = of_stored && wanted["storage"] == "deflate";
            let compared = !wanted[key].is_null() && !is_other;
            if compared && wanted[key] != found[key] {
                wrong.push(format!("{}: {key} is {}, not {}", wanted["name"], found[key], wanted[key]));
            }
        }
        if !found["error"].is_null() {
            wrong.push(format!("{}: {}", wanted["name"], found["error"]));
        }
    }
    if let Some(kv) = expected["kv"].as_array() {
        let found = found["kv"].as_array().unwrap();
        if kv.len() != found.len() {
            wrong.push(format!("{} keys, not {}", found.len(), kv.len()));
        }
        for (wanted, found) in kv.iter().zip(found) {
            // Values that a decimal number cannot represent are compared by their bits.
            let fields = ["key", "type", "elem_type", "count", "sha256_le"];
            let value = if wanted["bits"].is_null() { "value" } else { "bits" };
            for key in fields.into_iter().chain([value]) {
                if !wanted[key].is_null() && wanted[key] != found[key] {
                    let name = &wanted["key"];
                    wrong.push(format!("key {name}: {key} is {}, not {}", found[key], wanted[key]));
                }
            }
        }
    }
    let none = serde_json::json!({});
    let metadata = if expected["metadata"].is_null() { &none } else { &expected["metadata"] };
    if expected["container"] == "safetensors" && *metadata != found["metadata"] {
        wrong.push(format!("metadata is {}", found["metadata"]));
    }
    wrong
}

#[test]
fn valid_files_match_their_manifest() {
    let (mut looked_at, mut found_of) = (0, BTreeSet::new());
    for entry in list("valid") {
        let container = entry["container"].as_str().unwrap();
        if !CONTAINERS.iter().any(|(name, _)| *name == container) {
            // a folder: tests/read/models.rs
            assert!(container.ends_with("-set"), "{container} is not in CONTAINERS");
            continue;
        }
        let name = entry["file"].as_str().unwrap();
        let required = entry["required"] != false;
        for file in open_each(&folder("valid").join(name)) {
            let file = match file {
                Err(e) if required => panic!("{name}: {e}"),
                Err(_) => continue,
                Ok(file) => file,
            };
            let found = dump::dump(&file);
            let wrong = differences(&entry, &found);
            assert!(wrong.is_empty(), "{name}: {wrong:#?}");
            let mut report = VerifyReport::default();
            match file.verify(&VerifyOptions::default(), &|_, _| true, &mut report) {
                Ok(()) => assert_eq!(report.objects as usize, file.object_count(), "{name}"),
                Err(e) => assert!(e.cause() == Cause::Unsupported && report.not_checked > 0, "{name}: {e}"),
            }
            for object in file.objects() {
                let found = file.find_position(object.name_bytes()).and_then(|at| file.object(at)).unwrap();
                assert_eq!(found.name_bytes(), object.name_bytes(), "{name}");
                if let Some(view) = object.tensor_view().ok().filter(|_| object.component("data").is_some()) {
                    let size = object.component("data").unwrap().size().unwrap();
                    assert_eq!(view.data.bytes().len() as u64, size, "{name} {:?}", object.name());
                }
            }
            found_of.insert(file.container().name());
            looked_at += 1;
        }
    }
    let others = Container::ALL.into_iter().filter(|container| capabilities(*container).name.is_empty());
    let of = others.map(Container::name).collect();
    assert_eq!(found_of, of, "containers with a file in tests/data/foreign, and those that are not zTensor");
    assert!(looked_at >= 3 * (19 + 30 + 19 + 23), "{looked_at}");
}

#[test]
fn invalid_files_are_rejected_at_the_right_stage() {
    let (mut wrong, mut looked_at) = (Vec::new(), 0);
    for entry in list("invalid") {
        let name = entry["file"].as_str().unwrap();
        if !CONTAINERS.iter().any(|(_, end)| name.ends_with(end)) {
            assert!(folder("invalid").join(name).is_dir(), "the end of {name} is not in CONTAINERS");
            continue;
        }
        looked_at += 1;
        let (expected, stage) = (entry["expected"].as_str().unwrap(), entry["stage"].as_str().unwrap());
        for outcome in open_each(&folder("invalid").join(name)) {
            let is_refused = match (&outcome, stage) {
                (Err(_), _) => true,
                (Ok(_), "open") => false,
                (Ok(file), "read") => {
                    let found = dump::dump(file);
                    found["objects"].as_array().unwrap().iter().any(|object| !object["error"].is_null())
                }
                (Ok(file), _) => verify(file).is_err(),
            };
            match (expected, is_refused) {
                ("reject", false) => wrong.push(format!("{name}: {} but it opens", entry["why"])),
                ("accept", true) => wrong.push(format!("{name}: {:?}", outcome.err())),
                _ => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(looked_at > 550, "{looked_at}");
}

#[test]
fn a_refusal_names_the_rule() {
    let rules = [
        ("offset-overlap-same", "range-overlap"),
        ("offset-overlap-partial", "range-overlap"),
        ("key-duplicate", "key-duplicate"),
        ("key-empty", "key-empty"),
        ("name-duplicate", "name-duplicate"),
        ("row-not-block-q4_k", "block-row"),
        ("alignment-3", "alignment-value"),
        ("array-depth-17", "value-depth"),
        ("value-type-13", "value-type"),
        ("offset-unaligned", "offset-align"),
        ("ndims-9", "shape-rank"),
        ("kv-count-2p60", "metadata-truncated"),
    ];
    let archives = [
        ("zip-cut-end", "zip-end-record"),
        ("zip-end-count-plus", "zip-end-record"),
        ("zip-zip64-locator-past", "zip-end-record"),
        ("zip-suffix-junk", "zip-end-record"),
        ("zip-zip64-extra-missing", "zip-directory"),
        ("zip-stored-sizes-unequal", "zip-directory"),
        ("zip-names-differ", "zip-local-header"),
        ("zip-flags-differ", "zip-local-header"),
        ("zip-name-duplicate", "name-duplicate"),
        ("zip-name-not-utf8", "zip-name"),
        ("zip-deflate-usize-2p32", "deflate-length"),
        ("header-dup-key", "npy-header"),
        ("header-call", "npy-header"),
        ("shape-overflow", "shape-overflow"),
        ("shape-2p63", "shape-overflow"),
        ("shape-rank-huge", "shape-rank"),
        ("payload-short", "dense-size"),
        ("payload-long", "dense-size"),
    ];
    let names = rules.map(|(name, rule)| (format!("amber-gguf-{name}.gguf"), rule));
    let archives = archives.map(|(name, rule)| (format!("amber-npz-{name}.npz"), rule));
    for (name, rule) in names.iter().chain(&archives) {
        for outcome in open_each(&folder("invalid").join(name)) {
            let error = outcome.expect_err(name);
            assert_eq!(error.rule_name().to_str(), Ok(*rule), "{name}: {error}");
        }
    }
}

#[test]
fn a_bool_of_gguf_that_is_neither_0_nor_1_is_true_unless_opened_strictly() {
    let array = "Array([Bool(false), Bool(true), Bool(true)])";
    for (name, shown) in [("2", "Bool(true)"), ("255", "Bool(true)"), ("array-2", array)] {
        let path = folder("invalid").join(format!("amber-gguf-bool-{name}.gguf"));
        for file in open_each(&path) {
            let file = file.unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(format!("{:?}", file.attributes().unwrap().get("b").unwrap()), shown, "{name}");
        }
        let strict = OpenOptions { strict: true, ..OpenOptions::default() };
        let error = File::open(&path, &strict).unwrap_err();
        assert_eq!(error.rule_name().to_str(), Ok("bool-byte"), "{error}");
        assert!(error.to_string().contains("attribute \"b\""), "{error}");
    }
}
