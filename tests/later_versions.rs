//! Files of containers that came after those that are read here: the message names their version.

use ztensor::error::Cause;
use ztensor::reader::{File, OpenOptions};

fn refused(bytes: Vec<u8>) -> String {
    let error = File::open_memory(bytes, &OpenOptions::default()).expect_err("a later container");
    assert_eq!(error.cause(), Cause::Unsupported, "{error}");
    error.to_string()
}

#[test]
fn the_version_is_the_one_in_the_footer() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/invalid/v2-container.zt");
    let bytes = std::fs::read(path).unwrap();
    let with_version = |version: u32| {
        let mut bytes = bytes.clone();
        let at = bytes.len() - 16;
        bytes[at..at + 4].copy_from_slice(&version.to_le_bytes());
        refused(bytes)
    };
    for version in [2, 3, 4_000_000_000] {
        let message = with_version(version);
        assert!(message.contains(&format!("zTensor version {version} container")), "{message}");
    }
}

#[test]
fn a_file_without_that_footer_has_no_version() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/invalid/v2-container.zt");
    let bytes = std::fs::read(path).unwrap();
    for length in [8, 15, 16, 23, bytes.len() - 1] {
        let message = refused(bytes[..length].to_vec());
        assert!(message.contains("does not end like one"), "{length} bytes: {message}");
    }
}
