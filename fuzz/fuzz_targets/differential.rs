//! Compares our decoder with the released reader's: if both accept a file, they read the same. Files are
//! generated from the input, valid or with one error, or are the input itself.
#![no_main]

use ztensor_fuzz::{differential, generate, read};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let bytes = if input.starts_with(b"ZTEN") {
        input.to_vec()
    } else {
        let Ok(made) = generate::file(&mut arbitrary::Unstructured::new(input)) else { return };
        made.bytes
    };
    if let Ok(own) = read::open(&bytes, false) {
        differential::compare(&bytes, &own);
    }
});
