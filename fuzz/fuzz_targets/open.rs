//! Arbitrary bytes as a file: everything that can be asked of it.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    ztensor_fuzz::read::everything(bytes);
});
