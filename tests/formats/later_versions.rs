//! Files of later container versions, which this library does not read: the message names the version.

use ztensor::error::{Cause, Error};
use ztensor::reader::{File, OpenOptions};

fn container() -> Vec<u8> {
    std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/invalid/v3-container.zt")).unwrap()
}

fn refused(bytes: Vec<u8>) -> Error {
    File::open_memory(bytes, &OpenOptions::default()).expect_err("opened a file of a later version")
}

#[test]
fn the_version_is_the_one_in_the_footer() {
    for version in [0, 1, 3, 4_000_000_000u32] {
        let mut bytes = container();
        let at = bytes.len() - 16;
        bytes[at..at + 4].copy_from_slice(&version.to_le_bytes());
        let error = refused(bytes);
        assert_eq!(error.cause(), Cause::Unsupported, "{error}");
        assert!(error.message().contains(&format!("zTensor version {version} container")), "{error}");
    }
}

#[test]
fn a_file_without_that_footer_has_no_version() {
    let bytes = container();
    for length in [8, 15, 16, 23, 47, 48, bytes.len() - 1] {
        let error = refused(bytes[..length].to_vec());
        assert!(matches!(error.cause(), Cause::Broken(_)), "{length} bytes: {error}");
        let rule = if length < 48 { c"FileTooSmall" } else { c"FooterMagic" };
        assert_eq!(error.rule_name(), rule, "{length} bytes");
    }
}
