//! Files of other containers: `tests/data/foreign` has them, and what is in them or wrong with them.
//!
//! A new container adds files there, and its name to [`CONTAINERS`].

#[allow(dead_code)]
#[path = "../../examples/dump.rs"]
mod dump;

use serde_json::Value;
use std::path::PathBuf;
use ztensor::error::Result;
use ztensor::reader::{File, Mode, OpenOptions, VerifyOptions, VerifyReport};

/// Those whose files are looked at, as `manifest.json` names them, and by what their names end.
const CONTAINERS: [(&str, &str); 1] = [("safetensors", ".safetensors")];

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/foreign").join(name)
}

fn list(path: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(folder(path)).unwrap();
    let list: Value = serde_json::from_str(&text).unwrap();
    list["files"].as_array().unwrap().clone()
}

/// In every way in which bytes are reached.
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

/// What a dump lacks or has otherwise than the manifest says.
fn differences(expected: &Value, found: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let (wanted, objects) = (expected["objects"].as_array().unwrap(), found["objects"].as_array().unwrap());
    if wanted.len() != objects.len() {
        wrong.push(format!("{} objects, not {}", objects.len(), wanted.len()));
    }
    for (wanted, found) in wanted.iter().zip(objects) {
        for key in ["name", "shape", "dtype", "offset", "stored_len", "sha256_stored", "sha256_le"] {
            let compared = !wanted[key].is_null();
            if compared && wanted[key] != found[key] {
                wrong.push(format!("{}: {key} is {}, not {}", wanted["name"], found[key], wanted[key]));
            }
        }
        if !found["error"].is_null() {
            wrong.push(format!("{}: {}", wanted["name"], found["error"]));
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
fn valid_files_give_what_their_manifest_says() {
    let mut looked_at = 0;
    for entry in list("valid/manifest.json") {
        let container = entry["container"].as_str().unwrap();
        if !CONTAINERS.iter().any(|(name, _)| *name == container) {
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
            let report = verify(&file).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(report.objects as usize, file.object_count(), "{name}");
            for object in file.objects() {
                assert_eq!(file.find(object.name()).unwrap().name(), object.name(), "{name}");
                if let Some(view) = object.tensor_view().ok().filter(|_| object.component("data").is_some()) {
                    let size = object.component("data").unwrap().size().unwrap();
                    assert_eq!(view.data.bytes().len() as u64, size, "{name} {:?}", object.name());
                }
            }
            looked_at += 1;
        }
    }
    assert!(looked_at >= 3 * 19, "{looked_at}");
}

#[test]
fn invalid_files_are_refused_where_they_have_to_be() {
    let (mut wrong, mut looked_at) = (Vec::new(), 0);
    for entry in list("invalid/index.json") {
        let name = entry["file"].as_str().unwrap();
        if !CONTAINERS.iter().any(|(_, end)| name.ends_with(end)) {
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
    assert!(looked_at > 100, "{looked_at}");
}
