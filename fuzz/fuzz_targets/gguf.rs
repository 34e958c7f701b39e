//! GGUF: all calls except copies, because .zt cannot represent all of it. Borrowed bytes and bytes read
//! through a window agree. Released readers agree on files that both accept.
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
