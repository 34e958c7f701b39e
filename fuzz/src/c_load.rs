//! Loads and caches through the C interface: their structs, files large enough to stream, requests from an
//! input, and the expected result of each request.

use crate::c::*;
use crate::generate;
use crate::memory::Sink;
use arbitrary::{Result, Unstructured};
use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;
use ztensor::model::dtype::Dtype;
use ztensor::model::manifest::Encoding;
use ztensor::writer::{Algorithm, DenseSpec, Writer, WriterOptions};

#[repr(C)]
#[derive(Clone)]
pub struct Request {
    pub struct_size: usize,
    pub component: Pointer,
    pub offset: u64,
    pub length: u64,
    pub start: *const u64,
    pub count: *const u64,
    pub step: *const u64,
    pub dst: *mut c_void,
    pub dst_size: usize,
    pub tag: u64,
    pub rows: u64,
    pub row_length: u64,
    pub row_stride: u64,
    pub dst_stride: u64,
    pub verify: u32,
    pub convert: i32,
}

#[repr(C)]
pub struct LoadOptions {
    pub struct_size: usize,
    pub threads: u32,
    pub direct: i32,
    pub chunk_size: u64,
    pub in_flight: u64,
    pub verify: u32,
    pub pinned: u32,
    pub order: i32,
    pub keep_going: u32,
    pub ring: *mut c_void,
    pub slot_size: usize,
    pub slot_count: usize,
    pub thread_hooks: Pointer,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Event {
    pub struct_size: usize,
    pub kind: i32,
    pub status: Status,
    pub message: *const c_char,
    pub tag: u64,
    pub data: *const u8,
    pub size: usize,
    pub offset: u64,
    pub last: u32,
    pub slot: u32,
    pub piece: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PartStats {
    pub struct_size: usize,
    pub file: Pointer,
    pub stored_bytes: u64,
    pub direct_bytes: u64,
    pub reason: *const c_char,
    pub part: u32,
}

#[repr(C)]
#[derive(Default)]
pub struct ReadStats {
    pub struct_size: usize,
    pub bytes: u64,
    pub stored_bytes: u64,
    pub requests: u64,
    pub rest: [u64; 4],
}

#[repr(C)]
pub struct CacheOptions {
    pub struct_size: usize,
    pub budget: u64,
    pub slot_size: u64,
    pub memory: *mut c_void,
    pub threads: u32,
    pub verify: u32,
    pub policy: i32,
    pub reserved: u32,
    pub thread_hooks: Pointer,
}

#[repr(C)]
pub struct Slice {
    pub struct_size: usize,
    pub data: *const u8,
    pub size: usize,
    pub pin: u64,
}

#[repr(C)]
pub struct CacheStats {
    pub struct_size: usize,
    pub slots: u64,
    pub used: u64,
    pub pinned: u64,
    pub rest: [u64; 11],
}

pub const NOTHING: i32 = 0;
pub const DATA: i32 = 1;
pub const FAILED: i32 = 2;
pub const DONE: i32 = 3;
pub const NO_SLOT: u32 = u32::MAX;

extern "C" {
    pub fn zt_load_start(
        requests: *const Request,
        n: usize,
        options: *const LoadOptions,
        load: *mut Pointer,
    ) -> Status;
    pub fn zt_load_next(load: Pointer, timeout_ns: i64, event: *mut Event) -> Status;
    pub fn zt_load_release(load: Pointer, event: *const Event);
    pub fn zt_load_cancel(load: Pointer) -> Status;
    pub fn zt_load_get_part_stats(
        load: Pointer,
        first: usize,
        stats: *mut PartStats,
        count: usize,
        filled: *mut usize,
    ) -> Status;
    pub fn zt_load_finish(load: Pointer, stats: *mut ReadStats) -> Status;
    pub fn zt_cache_create(options: *const CacheOptions, cache: *mut Pointer) -> Status;
    pub fn zt_cache_get(cache: Pointer, slice: *const Request, timeout_ns: i64, out: *mut Slice) -> Status;
    pub fn zt_cache_prefetch(cache: Pointer, slices: *const Request, count: usize) -> Status;
    pub fn zt_cache_unpin(cache: Pointer, slice: *mut Slice) -> Status;
    pub fn zt_cache_drop(cache: Pointer, slices: *const Request, count: usize) -> Status;
    pub fn zt_cache_cancel(cache: Pointer) -> Status;
    pub fn zt_cache_get_stats(cache: Pointer, stats: *mut CacheStats) -> Status;
    pub fn zt_cache_free(cache: Pointer);
}

impl Request {
    /// A complete component.
    pub fn whole(component: Pointer) -> Request {
        let mut request: Request = unsafe { std::mem::zeroed() };
        (request.struct_size, request.component, request.length) =
            (size_of::<Request>(), component, u64::MAX);
        request
    }
}

/// Tensors larger than a slot, empty ones, and sizes between; in all encodings, with digests.
fn large() -> Vec<u8> {
    let sink = Sink::new(4 << 20);
    let mut writer = Writer::to_sink(Box::new(sink.clone()), &WriterOptions::default()).unwrap();
    for (at, size) in [0u64, 1, 4096, 65536, 70_000, 150_008].into_iter().enumerate() {
        for (encoding, digest) in
            [(Encoding::Raw, None), (Encoding::Raw, Some(Algorithm::Crc32c)), (Encoding::Zstd, None)]
        {
            let data: Vec<u8> = (0..size).map(|i| (i * 7 + (i >> 8) * 13) as u8).collect();
            let dtype = if size % 8 == 0 { Dtype::F32 } else { Dtype::U8 };
            let shape = if size % 8 == 0 { vec![size / 8, 2] } else { vec![size] };
            let name = format!("{at} {encoding:?} {digest:?}");
            let spec = DenseSpec {
                encoding: Some(encoding),
                digest: Some(digest),
                ..DenseSpec::new(&name, dtype, &shape, &data)
            };
            writer.write_dense(&spec).unwrap();
        }
    }
    writer.finish().unwrap();
    sink.take()
}

/// Files that are always the same: of several containers, with strides, deflated, with the other byte order,
/// in blocks.
fn known() -> &'static [Vec<u8>] {
    static FILES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    FILES.get_or_init(|| {
        vec![
            large(),
            include_bytes!("../../tests/data/foreign/valid/amber-metadata-last.safetensors").to_vec(),
            include_bytes!("../../tests/data/foreign/valid/amber-all-dtypes-rust.safetensors").to_vec(),
            include_bytes!("../../tests/data/foreign/valid/amber-dims-1-to-4.gguf").to_vec(),
            include_bytes!("../../tests/data/foreign/valid/amber-big-endian-v2.gguf").to_vec(),
            include_bytes!("../../tests/data/foreign/valid/amber-q8-1-by-gguf-py.gguf").to_vec(),
            include_bytes!("../../tests/data/foreign/valid/amber-all-deflated.npz").to_vec(),
            include_bytes!("../../tests/data/foreign/valid/amber-fortran.npz").to_vec(),
            include_bytes!("../../tests/data/foreign/valid/amber-shared-views.pt").to_vec(),
        ]
    })
}

/// A source of the caller.
struct Source {
    bytes: &'static [u8],
    /// Reads of this byte fail.
    bad: u64,
}

extern "C" fn source_size(context: *mut c_void, size: *mut u64) -> Status {
    let source = unsafe { &*context.cast::<Source>() };
    unsafe { *size = source.bytes.len() as u64 };
    OK
}

extern "C" fn source_read(context: *mut c_void, offset: u64, dst: *mut c_void, size: usize) -> Status {
    let source = unsafe { &*context.cast::<Source>() };
    if (offset..offset + size as u64).contains(&source.bad) {
        return 2; // ZT_ERROR_IO
    }
    let start = usize::try_from(offset).expect("the offset is outside the file");
    let bytes = &source.bytes[start..start + size];
    unsafe { dst.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), size) };
    OK
}

extern "C" fn source_close(context: *mut c_void) {
    drop(unsafe { Box::from_raw(context.cast::<Source>()) });
}

/// An open file, and what its requests may return.
pub struct Opened {
    pub file: Pointer,
    /// Some reads fail, depending on which are read together.
    pub fails: bool,
    /// The bytes, if they come from the input.
    _bytes: Vec<u8>,
}

impl Opened {
    /// One of the files, from memory or from a source; None if the input's is rejected.
    pub fn any(u: &mut Unstructured<'_>) -> Result<Option<Opened>> {
        let all = known();
        let which = u.int_in_range(0..=all.len())?;
        let mut opened = Opened { file: null(), fails: false, _bytes: Vec::new() };
        let Some(bytes) = all.get(which) else {
            let size = u.int_in_range(0..=300)?;
            let taken = u.bytes(u.len().min(size))?;
            opened._bytes = generate::file(&mut Unstructured::new(taken))?.bytes;
            let data = opened._bytes.as_ptr().cast();
            let status = unsafe { zt_open_memory(data, opened._bytes.len(), null(), &mut opened.file) };
            return Ok((check(status) == OK).then_some(opened));
        };
        let kind = u.int_in_range(0..=5)?;
        if kind < 3 {
            let status =
                unsafe { zt_open_memory(bytes.as_ptr().cast(), bytes.len(), null(), &mut opened.file) };
            assert_eq!(status, OK, "{}", last_error());
            return Ok(Some(opened));
        }
        opened.fails = kind == 5;
        let bad = if opened.fails { u.int_in_range(0..=bytes.len() as u64)? } else { u64::MAX };
        let mut source = Block::exact(96);
        source.set_pointer(8, Box::into_raw(Box::new(Source { bytes, bad })));
        source
            .set_pointer(16, source_size as extern "C" fn(*mut c_void, *mut u64) -> Status as *const c_void);
        source.set_pointer(
            24,
            source_read as extern "C" fn(*mut c_void, u64, *mut c_void, usize) -> Status as *const c_void,
        );
        source.set_pointer(32, source_close as extern "C" fn(*mut c_void) as *const c_void);
        source.set(56, &[0u64, 4096, 70_000][u.choose_index(3)?].to_ne_bytes()); // gap
        source.set(64, &[0u64, 1, 100_000][u.choose_index(3)?].to_ne_bytes()); // largest_request
        source.set(72, &u.int_in_range(0..=3u32)?.to_ne_bytes()); // concurrency
        source.set(76, &u32::from(u.ratio(1, 4)?).to_ne_bytes()); // callers_thread
        let status = check(unsafe { zt_open_source(source.pointer(), null(), &mut opened.file) });
        assert!(status == OK || opened.fails, "{}", last_error());
        Ok((status == OK).then_some(opened))
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        unsafe { zt_close(self.file) };
    }
}

extern "C" {
    fn zt_open_source(source: Pointer, options: Pointer, file: *mut Pointer) -> Status;
}

/// A request, the numbers that it points to, and its expected result.
pub struct Asked {
    pub request: Request,
    _numbers: Vec<Vec<u64>>,
    /// The expected bytes, including unchanged ones between rows, or the error.
    pub want: std::result::Result<Vec<u8>, Status>,
    /// The number of bytes that it delivers.
    pub size: u64,
    /// It may fail although the separate read did not, or the reverse.
    pub unsure: bool,
}

/// The initial value of memory.
pub const BEFORE: u8 = 0xa5;

const BUFFER_SIZE: Status = 9;

/// The maximum size of a request.
pub const MOST: usize = 200_000;

impl Asked {
    /// A request for one of the components. `spread`: rows may have gaps in memory.
    pub fn any(of: &Opened, spread: bool, u: &mut Unstructured<'_>) -> Result<Option<Asked>> {
        let objects = unsafe { zt_object_count(of.file) };
        if objects == 0 {
            return Ok(None);
        }
        let object = unsafe { zt_object_at(of.file, u.choose_index(objects)?) };
        let components = unsafe { zt_component_count(object) };
        let component = unsafe { zt_component_at(object, u.int_in_range(0..=components.saturating_sub(1))?) };
        let size = unsafe { zt_component_size(component) }.min(1 << 20);
        let (mut request, mut numbers) = (Request::whole(component), Vec::new());
        match u.int_in_range(0..=7u8)? {
            0..=2 => {}
            3 | 4 => {
                request.offset = u.int_in_range(0..=size)?;
                let beyond = u64::from(u.ratio(1, 20)?);
                request.length = u.int_in_range(0..=size - request.offset + beyond)?;
            }
            5 => {
                request.length = 0;
                request.offset = u.int_in_range(0..=size)?;
                request.rows = u.int_in_range(1..=20)?;
                request.row_stride = u.int_in_range(0..=((size - request.offset) / request.rows).max(1))?;
                request.row_length = u.int_in_range(0..=request.row_stride)?;
                if spread && u.arbitrary()? {
                    request.dst_stride = request.row_length + u.int_in_range(0..=9)?;
                }
            }
            _ => {
                request.length = 0;
                let rank = unsafe { zt_object_rank(object) };
                let shape = unsafe { std::slice::from_raw_parts(zt_object_shape(object), rank) };
                let start: Vec<u64> = shape.iter().map(|d| u.int_in_range(0..=*d)).collect::<Result<_>>()?;
                let left = shape.iter().zip(&start).map(|(d, s)| d - s);
                let count = left.map(|left| u.int_in_range(0..=left)).collect::<Result<_>>()?;
                numbers = vec![start, count, vec![1; rank]];
                request.start = numbers[0].as_ptr();
                request.count = numbers[1].as_ptr();
                request.step = if u.arbitrary()? { numbers[2].as_ptr() } else { null() };
            }
        }
        request.verify = u32::from(u.ratio(1, 4)?);
        request.convert = if u.ratio(1, 6)? { u.int_in_range(1..=13)? } else { 0 };
        let mut asked = Asked { request, _numbers: numbers, want: Err(0), size: 0, unsure: of.fails };
        asked.read(of.file);
        Ok((asked.want != Err(BUFFER_SIZE)).then_some(asked))
    }

    /// Reads it separately.
    fn read(&mut self, file: Pointer) {
        let mut memory = vec![BEFORE; MOST];
        let (dst, dst_size) = (memory.as_mut_ptr().cast(), memory.len());
        let request = Request { dst, dst_size, ..self.request.clone() };
        let mut stats = ReadStats { struct_size: size_of::<ReadStats>(), ..ReadStats::default() };
        let pointer: *const Request = &request;
        let status = unsafe { zt_read_batch(file, pointer.cast(), 1, null(), (&raw mut stats).cast()) };
        self.size = stats.bytes;
        self.want = match check(status) {
            OK => {
                let stride = request.dst_stride.max(request.row_length);
                let spread = request.rows.saturating_sub(1) * stride + request.row_length;
                memory.truncate(if request.dst_stride > 0 { spread } else { stats.bytes } as usize);
                Ok(memory)
            }
            status => Err(status),
        };
        if let (Ok(want), 0, true) = (&self.want, self.request.rows, self.request.count.is_null()) {
            self.compare_with_a_plain_read(want);
        }
    }

    /// A range equals the result of the function for ranges.
    fn compare_with_a_plain_read(&self, want: &[u8]) {
        let mut plain = vec![0u8; want.len()];
        let Request { component, offset, convert, .. } = self.request;
        if convert != 0 {
            return;
        }
        let dst = plain.as_mut_ptr().cast();
        let status = unsafe { zt_component_read_range(component, offset, dst, plain.len()) };
        assert!(status == OK || self.unsure, "{}", last_error());
        assert!(status != OK || plain == want, "a batch of one and a plain read differ");
    }
}

/// Null, for structs.
pub fn no_memory() -> *mut c_void {
    null_mut()
}
