//! Random bytes as a file: makes all calls on it.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    ztensor_fuzz::read::everything(bytes);
});
