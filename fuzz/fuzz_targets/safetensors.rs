//! safetensors: headers with as much data as they declare, and unchanged files. Makes all calls, and checks
//! that the `safetensors` crate reads the same.
#![no_main]

use ztensor_fuzz::{read, safetensors};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let bytes = safetensors::file_of(input);
    safetensors::compare(&bytes, &read::open(&bytes, false));
    read::everything(&bytes);
});
