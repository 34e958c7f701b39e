//! GGUF: everything that can be asked of it but copies, which cannot represent all of it; what is lent and what is read through a window say the same.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let bytes = [b"GGUF", input.strip_prefix(b"GGUF").unwrap_or(input)].concat();
    ztensor_fuzz::read::everything_but_copies(&bytes);
});
