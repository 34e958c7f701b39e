//! In place of ggml's reader where its source could not be fetched: its rows say so.

use crate::harness::Sample;
use crate::outcome::not_measured;
use std::ffi::CString;
use std::path::Path;

pub fn index(_: &Path, _: &[CString], _: usize) -> Sample {
    not_measured("ggml's source could not be fetched")
}

pub fn vocabulary(_: &Path) -> Sample {
    not_measured("ggml's source could not be fetched")
}

pub fn to_f32(_: u32, _: &[u8], _: &mut [f32]) -> bool {
    not_measured("ggml's source could not be fetched")
}

pub fn from_f16(_: u32, _: &[u16], _: &mut [u8]) {
    not_measured("ggml's source could not be fetched")
}
