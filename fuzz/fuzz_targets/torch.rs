//! PyTorch: the input is the pickle of an archive that has two storages, or a whole file from before 1.6. The
//! target asks everything of it but copies. What released readers take, too, reads the same.
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
