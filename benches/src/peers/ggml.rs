//! ggml's C GGUF reader, used like in llama.cpp.

use super::gguf_file::{NUMBERS, STRINGS};
use super::Lap;
use crate::data::Spec;
use crate::harness::Sample;
use crate::sys;
use memmap2::{Mmap, MmapOptions};
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::hint::black_box;
use std::path::Path;
use std::ptr::null_mut;

extern "C" {
    fn shim_open(path: *const c_char, load: c_int, data: *mut *mut c_void) -> *mut c_void;
    fn shim_free_data(data: *mut c_void);
    fn shim_data(data: *mut c_void) -> *const c_void;
    fn shim_to_float(kind: c_int, blocks: *const c_void, out: *mut f32, count: i64) -> c_int;
    fn shim_from_f16(kind: c_int, x: *const u16, blocks: *mut c_void, n: i64, row: *mut f32, length: i64);
    fn gguf_free(g: *mut c_void);
    fn gguf_get_n_tensors(g: *const c_void) -> i64;
    fn gguf_find_tensor(g: *const c_void, name: *const c_char) -> i64;
    fn gguf_get_tensor_name(g: *const c_void, i: i64) -> *const c_char;
    fn gguf_get_tensor_type(g: *const c_void, i: i64) -> c_int;
    fn gguf_get_tensor_offset(g: *const c_void, i: i64) -> usize;
    fn gguf_get_tensor_size(g: *const c_void, i: i64) -> usize;
    fn gguf_get_tensor_ne(g: *const c_void, i: i64) -> *const i64;
    fn gguf_get_data_offset(g: *const c_void) -> usize;
    fn gguf_find_key(g: *const c_void, key: *const c_char) -> i64;
    fn gguf_get_arr_n(g: *const c_void, key: i64) -> usize;
    fn gguf_get_arr_str(g: *const c_void, key: i64, i: usize) -> *const c_char;
    fn gguf_get_arr_data(g: *const c_void, key: i64) -> *const c_void;
}

pub struct Gguf(*mut c_void);

pub fn open(path: &Path) -> Gguf {
    let path = CString::new(path.to_str().unwrap()).unwrap();
    let g = unsafe { shim_open(path.as_ptr(), 0, null_mut()) };
    assert!(!g.is_null());
    Gguf(g)
}

impl Drop for Gguf {
    fn drop(&mut self) {
        unsafe { gguf_free(self.0) }
    }
}

/// Makes `slow` lookups and scales their time up, because each scans all names.
pub fn index(path: &Path, names: &[CString], slow: usize) -> Sample {
    let mut t = Lap::start();
    let g = open(path);
    let opened = t.lap();
    for n in &names[..slow] {
        assert!(unsafe { gguf_find_tensor(g.0, n.as_ptr()) } >= 0);
    }
    let find = t.lap().map(|s| s * names.len() as f64 / slow as f64);
    let mut sum = 0;
    for i in 0..unsafe { gguf_get_n_tensors(g.0) } {
        unsafe {
            sum += CStr::from_ptr(gguf_get_tensor_name(g.0, i)).to_bytes().len()
                + *gguf_get_tensor_ne(g.0, i) as usize;
            sum += gguf_get_tensor_type(g.0, i) as usize
                + gguf_get_tensor_offset(g.0, i)
                + gguf_get_tensor_size(g.0, i);
        }
    }
    black_box(sum);
    let list = t.lap();
    drop(g);
    vec![opened, find, list, t.lap()]
}

fn each(path: &Path, specs: &[Spec], names: &[CString], populate: bool, mut f: impl FnMut(&Spec, &[u8])) {
    let g = open(path);
    let mut o = MmapOptions::new();
    if populate {
        o.populate();
    }
    let m: Mmap = unsafe { o.map(&sys::open_read(path, false)).unwrap() };
    let base = unsafe { gguf_get_data_offset(g.0) };
    for (s, n) in specs.iter().zip(names) {
        let at = unsafe { base + gguf_get_tensor_offset(g.0, gguf_find_tensor(g.0, n.as_ptr())) };
        f(s, &m[at..at + s.len]);
    }
}

pub fn touch_all(path: &Path, specs: &[Spec], names: &[CString], populate: bool) -> u64 {
    let mut sum = 0;
    each(path, specs, names, populate, |_, b| sum += sys::touch(b));
    sum
}

pub fn copy_mmap(path: &Path, specs: &[Spec], names: &[CString], dst: &mut [u8]) {
    each(path, specs, names, true, |s, b| dst[s.at..s.at + s.len].copy_from_slice(b));
}

/// Into memory that ggml allocates.
pub fn load_all(path: &Path) {
    let path = CString::new(path.to_str().unwrap()).unwrap();
    let mut data = null_mut();
    unsafe {
        let g = shim_open(path.as_ptr(), 1, &mut data);
        assert!(!g.is_null() && !data.is_null());
        black_box(shim_data(data));
        shim_free_data(data);
        gguf_free(g);
    }
}

/// Opens, reads every string, score and type of a vocabulary, and closes.
pub fn vocabulary(path: &Path) -> Sample {
    let mut t = Lap::start();
    let g = open(path);
    let opened = t.lap();
    let find = |key: &CStr| {
        let key = unsafe { gguf_find_key(g.0, key.as_ptr()) };
        assert!(key >= 0);
        key
    };
    let mut sum = 0usize;
    for key in STRINGS.map(find) {
        for i in 0..unsafe { gguf_get_arr_n(g.0, key) } {
            let text = unsafe { CStr::from_ptr(gguf_get_arr_str(g.0, key, i)) };
            sum = sum.wrapping_add(text.to_bytes().len());
        }
    }
    for key in NUMBERS.map(|(key, _)| find(key)) {
        let (p, n) = unsafe { (gguf_get_arr_data(g.0, key).cast::<u32>(), gguf_get_arr_n(g.0, key)) };
        let numbers = unsafe { std::slice::from_raw_parts(p, n) };
        sum = numbers.iter().fold(sum, |sum, n| sum.wrapping_add(*n as usize));
    }
    black_box(sum);
    let read = t.lap();
    drop(g);
    vec![opened, read, t.lap()]
}

/// Decodes blocks of a type to f32. Returns false if ggml has no function for the type.
pub fn to_f32(kind: u32, blocks: &[u8], out: &mut [f32]) -> bool {
    let count = out.len() as i64;
    unsafe { shim_to_float(kind as c_int, blocks.as_ptr().cast(), out.as_mut_ptr(), count) != 0 }
}

/// Encodes f16 as blocks of a type, by rows of 4096 elements.
pub fn from_f16(kind: u32, halves: &[u16], blocks: &mut [u8]) {
    let mut row = [0f32; 4096];
    let (n, length) = (halves.len() as i64, row.len() as i64);
    let out = blocks.as_mut_ptr().cast();
    unsafe { shim_from_f16(kind as c_int, halves.as_ptr(), out, n, row.as_mut_ptr(), length) };
}
