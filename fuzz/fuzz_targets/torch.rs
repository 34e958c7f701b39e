//! PyTorch: the input is the pickle of an archive with two storages, or a complete file from before 1.6.
//! Makes all calls except copies. Released readers agree on files that both accept.
#![no_main]

use ztensor_fuzz::archive::checkpoint;
use ztensor_fuzz::{peers, read};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let bytes = checkpoint(input);
    if let Some((file, _)) = read::everything_but_copies(&bytes) {
        peers::compare_compat(&bytes, &file);
        #[cfg(feature = "candle")]
        peers::candle::compare_torch(&bytes, &file);
    }
});
