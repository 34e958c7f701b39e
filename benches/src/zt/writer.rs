//! Writing, like a C program.

use super::file::{cpath, ok, Object, Writer, F16, NO_DIGEST, SPEC_2, U8};
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

/// Writes to memory or, if `keep` is false, discards the bytes. Returns the size and the bytes.
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

#[repr(C)]
struct CopyOptions {
    size: usize,
    name: *const c_char,
    name_length: usize,
    encoding: i32,
    digest: i32,
    dtype: i32,
    type_: i32,
}

extern "C" {
    fn zt_write_copy(w: *mut Writer, object: *const Object, o: *const CopyOptions) -> i32;
}

/// Copies an object, quantized to a type, on one thread, and discards the bytes. Returns the size.
pub fn quantize(object: *const Object, type_: i32) -> u64 {
    let mut t = Taken { bytes: 0, kept: None };
    let context = std::ptr::from_mut(&mut t).cast();
    let size = std::mem::size_of::<Sink>();
    let sink = Sink { size, context, write: take, finish: null(), close: null() };
    let writer = WriterOptions { threads: 1, ..writer_options() };
    let size = std::mem::size_of::<CopyOptions>();
    let how =
        CopyOptions { size, name: null(), name_length: 0, encoding: 0, digest: NO_DIGEST, dtype: 0, type_ };
    let mut w = null_mut();
    ok(unsafe { zt_write_create_sink(&sink, &writer, &mut w) });
    ok(unsafe { zt_write_copy(w, object, &how) });
    ok(unsafe { zt_write_finish(w, null_mut()) });
    t.bytes
}

#[repr(C)]
pub struct QuantizedDesc {
    pub size: usize,
    pub bits: u64,
    pub group_size: u64,
    pub packing: *const c_char,
    pub packed_weight: *const c_void,
    pub packed_weight_size: u64,
    pub scales: *const c_void,
    pub scales_size: u64,
    pub zeros: *const c_void,
    pub zeros_size: u64,
    pub packed_weight_dtype: i32,
    pub scales_dtype: i32,
    pub zeros_dtype: i32,
    pub reserved: u32,
    pub scales_type: i32,
    pub has_axis: u32,
    pub axis: u64,
    pub zero_point: i64,
    pub msb_first: u32,
    pub zeros_packed: u32,
}

impl QuantizedDesc {
    pub fn new() -> QuantizedDesc {
        let d: QuantizedDesc = unsafe { std::mem::zeroed() };
        QuantizedDesc { size: std::mem::size_of::<QuantizedDesc>(), ..d }
    }
}

extern "C" {
    pub fn zt_write_quantized(
        w: *mut Writer,
        name: *const c_char,
        name_length: usize,
        shape: *const u64,
        rank: usize,
        desc: *const QuantizedDesc,
    ) -> i32;
}

/// A file of zTensor 2 in memory. "t" has codes of 4 or 8 bits in u8, in groups of 128 along an axis, with
/// scales of f16.
pub fn write_groups(shape: [u64; 2], bits: u64, axis: u64, codes: &[u8], scales: &[u16]) -> Vec<u8> {
    let mut t = Taken { bytes: 0, kept: Some(Vec::new()) };
    let context = std::ptr::from_mut(&mut t).cast();
    let size = std::mem::size_of::<Sink>();
    let sink = Sink { size, context, write: take, finish: null(), close: null() };
    let writer = WriterOptions { spec_version: SPEC_2, ..writer_options() };
    let groups = QuantizedDesc {
        bits,
        group_size: 128,
        packed_weight: codes.as_ptr().cast(),
        packed_weight_size: codes.len() as u64,
        scales: scales.as_ptr().cast(),
        scales_size: 2 * scales.len() as u64,
        packed_weight_dtype: U8,
        scales_dtype: F16,
        has_axis: 1,
        axis,
        zero_point: 8,
        ..QuantizedDesc::new()
    };
    let mut w = null_mut();
    ok(unsafe { zt_write_create_sink(&sink, &writer, &mut w) });
    ok(unsafe { zt_write_quantized(w, c"t".as_ptr(), 0, shape.as_ptr(), 2, &groups) });
    ok(unsafe { zt_write_finish(w, null_mut()) });
    t.kept.unwrap_or_default()
}
