//! zTensor 2: a manifest of random bytes, or a valid one with or without an error. The released library
//! accepts the same files and reads the same contents. Valid files open.
#![no_main]

use arbitrary::Unstructured;
use ztensor::reader::{VerifyOptions, VerifyReport};
use ztensor_fuzz::random::Random;
use ztensor_fuzz::{container_2, read, views};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((how, rest)) = input.split_first() else { return };
    let (bytes, bent) = match how % 2 {
        0 => (container_2::raw(rest), true),
        _ => {
            let Ok(made) = container_2::file(&mut Unstructured::new(rest), how & 2 > 0) else { return };
            (made.bytes, made.bent)
        }
    };
    let opened = read::open(&bytes, false);
    container_2::compare(&bytes, &opened);
    assert!(bent || opened.is_ok(), "a valid file: {opened:?}");
    // Most inputs only test the manifest, which allows fifty times as many.
    let closely = Random::of(&bytes).once_in(32);
    match opened {
        Ok(_) if closely => drop(read::everything(&bytes)),
        Ok(file) => {
            let verified = file.verify(&VerifyOptions::default(), &|_, _| true, &mut VerifyReport::default());
            views::every_object(&file, verified.is_ok());
            let _ = read::open(&bytes, true).inspect_err(|e| {
                read::check_error(e);
            });
        }
        Err(e) => {
            read::check_error(&e);
            assert!(!closely || read::open(&bytes, true).is_err() && read::open_unlent(&bytes).is_err());
        }
    }
});
