//! Replaces ggml's reader if its source could not be downloaded. Its rows then print that.

use crate::harness::Sample;
use crate::outcome::not_measured;
use std::ffi::CString;
use std::path::Path;

pub fn index(_: &Path, _: &[CString], _: usize) -> Sample {
    not_measured("ggml's source could not be downloaded")
}

pub fn vocabulary(_: &Path) -> Sample {
    not_measured("ggml's source could not be downloaded")
}

pub fn to_f32(_: u32, _: &[u8], _: &mut [f32]) -> bool {
    not_measured("ggml's source could not be downloaded")
}

pub fn from_f16(_: u32, _: &[u16], _: &mut [u8]) {
    not_measured("ggml's source could not be downloaded")
}
