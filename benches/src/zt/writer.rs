//! Writing, as a C program does it.

use super::file::{cpath, ok, Writer, NO_DIGEST};
use crate::data::Spec;
use std::ffi::{c_char, c_void, CString};
use std::path::Path;
use std::ptr::{null, null_mut};

#[repr(C)]
struct WriteRequest {
    size: usize,
    name: *const c_char,
    shape: *const u64,
    rank: usize,
    data: *const c_void,
    data_size: usize,
    dtype: i32,
    type_: i32,
    encoding: i32,
    digest: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct WriterOptions {
    pub size: usize,
    pub spec_version: u32,
    pub encoding: i32,
    pub alignment: u64,
    pub large_alignment: u64,
    pub large_size: u64,
    pub zstd_level: i32,
    pub digest: i32,
    pub threads: u32,
    pub durable: u32,
    pub frame_size: u64,
}

#[repr(C)]
struct Sink {
    pub size: usize,
    context: *mut c_void,
    write: extern "C" fn(*mut c_void, *const c_void, usize) -> i32,
    finish: *const c_void,
    close: *const c_void,
}

extern "C" {
    pub fn zt_write_create(path: *const c_char, o: *const WriterOptions, w: *mut *mut Writer) -> i32;
    pub fn zt_write_append(path: *const c_char, o: *const WriterOptions, w: *mut *mut Writer) -> i32;
    fn zt_write_create_sink(sink: *const Sink, o: *const WriterOptions, w: *mut *mut Writer) -> i32;
    pub fn zt_write_dense(
        w: *mut Writer,
        name: *const c_char,
        name_length: usize,
        dtype: i32,
        type_: i32,
        shape: *const u64,
        rank: usize,
        data: *const c_void,
        n: usize,
    ) -> i32;
    fn zt_write_batch(w: *mut Writer, r: *const WriteRequest, n: usize) -> i32;
    pub fn zt_write_finish(w: *mut Writer, summary: *mut c_void) -> i32;
}

pub fn writer_options() -> WriterOptions {
    let o: WriterOptions = unsafe { std::mem::zeroed() };
    WriterOptions { size: std::mem::size_of::<WriterOptions>(), digest: NO_DIGEST, ..o }
}

fn fill(w: *mut Writer, specs: &[Spec], names: &[CString], data: &[u8], dtype: i32) {
    for (s, n) in specs.iter().zip(names) {
        let bytes = &data[s.at..s.at + s.len];
        let (p, len) = (bytes.as_ptr().cast(), bytes.len());
        ok(unsafe { zt_write_dense(w, n.as_ptr(), 0, dtype, 0, s.shape.as_ptr(), s.shape.len(), p, len) });
    }
    ok(unsafe { zt_write_finish(w, null_mut()) });
}

pub fn write(path: &Path, specs: &[Spec], names: &[CString], data: &[u8], dtype: i32, o: &WriterOptions) {
    let mut w = null_mut();
    ok(unsafe { zt_write_create(cpath(path).as_ptr(), o, &mut w) });
    fill(w, specs, names, data, dtype);
}

/// Writes a file in one call.
pub fn write_batch(
    path: &Path,
    specs: &[Spec],
    names: &[CString],
    data: &[u8],
    dtype: i32,
    o: &WriterOptions,
) {
    let one = |(s, n): (&Spec, &CString)| WriteRequest {
        size: std::mem::size_of::<WriteRequest>(),
        name: n.as_ptr(),
        shape: s.shape.as_ptr(),
        rank: s.shape.len(),
        data: data[s.at..s.at + s.len].as_ptr().cast(),
        data_size: s.len,
        dtype,
        type_: 0,
        encoding: 0,
        digest: 0,
    };
    let requests: Vec<WriteRequest> = specs.iter().zip(names).map(one).collect();
    let mut w = null_mut();
    ok(unsafe { zt_write_create(cpath(path).as_ptr(), o, &mut w) });
    ok(unsafe { zt_write_batch(w, requests.as_ptr(), requests.len()) });
    ok(unsafe { zt_write_finish(w, null_mut()) });
}

pub fn append(path: &Path, specs: &[Spec], names: &[CString], data: &[u8], dtype: i32) {
    let mut w = null_mut();
    ok(unsafe { zt_write_append(cpath(path).as_ptr(), null(), &mut w) });
    fill(w, specs, names, data, dtype);
}

extern "C" fn take(context: *mut c_void, data: *const c_void, n: usize) -> i32 {
    let v = unsafe { &mut *context.cast::<Taken>() };
    v.bytes += n as u64;
    if let Some(keep) = &mut v.kept {
        keep.extend_from_slice(unsafe { std::slice::from_raw_parts(data.cast(), n) });
    }
    0
}

struct Taken {
    bytes: u64,
    kept: Option<Vec<u8>>,
}

/// Writes to memory, or (`keep` false) to nothing: the size and the bytes.
pub fn write_sink(
    specs: &[Spec],
    names: &[CString],
    data: &[u8],
    dtype: i32,
    o: &WriterOptions,
    keep: bool,
) -> (u64, Vec<u8>) {
    let mut t = Taken { bytes: 0, kept: keep.then(Vec::new) };
    let context = std::ptr::from_mut(&mut t).cast();
    let size = std::mem::size_of::<Sink>();
    let sink = Sink { size, context, write: take, finish: null(), close: null() };
    let mut w = null_mut();
    ok(unsafe { zt_write_create_sink(&sink, o, &mut w) });
    fill(w, specs, names, data, dtype);
    (t.bytes, t.kept.unwrap_or_default())
}
