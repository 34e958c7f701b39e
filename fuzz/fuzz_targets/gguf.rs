//! GGUF: everything that can be asked of it but copies, which cannot represent all of it; what is lent and what is read
//! through a window say the same, and so do released readers of what both take.
#![no_main]

use ztensor_fuzz::{peers, read};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let bytes = [b"GGUF", input.strip_prefix(b"GGUF").unwrap_or(input)].concat();
    if let Some((file, _)) = read::everything_but_copies(&bytes) {
        peers::compare_compat(&bytes, &file);
        #[cfg(feature = "candle")]
        peers::candle::compare_gguf(&bytes, &file);
    }
});
