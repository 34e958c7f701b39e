//! PyTorch: the input is the pickle of an archive that has two storages, everything that can be asked of it but copies.
#![no_main]

use ztensor_fuzz::archive::checkpoint;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    ztensor_fuzz::read::everything_but_copies(&checkpoint(input));
});
