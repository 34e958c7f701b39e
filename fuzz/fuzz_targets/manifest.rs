//! A valid file, or one with an error. A valid file must open and verify.
#![no_main]

use ztensor_fuzz::{generate, read};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Ok(made) = generate::file(&mut arbitrary::Unstructured::new(input)) else { return };
    let opened = read::everything(&made.bytes);
    assert!(made.bent || opened.is_some(), "a valid file: {:?}", read::open(&made.bytes, false));
});
