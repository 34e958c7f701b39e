//! Open files, and helpers of every call.

use crate::data::Spec;
use crate::sys::Shared;
use std::ffi::{c_char, c_void, CStr, CString};
use std::path::Path;
use std::ptr::{null, null_mut};

macro_rules! opaque {
    ($($t:ident)*) => { $(#[repr(C)] pub struct $t { _private: [u8; 0] })* };
}
opaque!(File Object Component Buffer Writer);

pub const MODE_READ: i32 = 1;
pub const POPULATE: u32 = 4;
pub const WILLNEED: u32 = 3;
pub const DONTNEED: u32 = 6;
pub const DIRECT_AUTO: i32 = 0;
pub const DIRECT_NEVER: i32 = 1;
pub const DIRECT_ALWAYS: i32 = 2;
pub const F32: i32 = 2;
pub const F16: i32 = 3;
pub const BF16: i32 = 4;
pub const I32: i32 = 6;
pub const U8: i32 = 12;
pub const TYPE_Q4_0: i32 = 32;
pub const TYPE_Q8_0: i32 = 36;
pub const ZSTD: i32 = 2;
pub const NO_DIGEST: i32 = 1;
pub const CRC32C: i32 = 2;
pub const SHA256: i32 = 3;
pub const XXH3: i32 = 4;
pub const SPEC_2: u32 = 20_000;

#[repr(C)]
pub struct OpenOptions {
    pub size: usize,
    pub mode: i32,
    pub verify: u32,
    pub strict: u32,
    pub advice: u32,
    limits: [u64; 3],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Request {
    pub size: usize,
    pub component: *const Component,
    pub offset: u64,
    pub length: u64,
    pub start: *const u64,
    pub count: *const u64,
    pub step: *const u64,
    pub dst: *mut c_void,
    pub dst_size: usize,
    pub tag: u64,
    pub rows: [u64; 4],
    pub verify: u32,
    pub convert: i32,
    pub lossy: u32,
    pub reserved: u32,
    pub object: *const Object,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ObjectInfo {
    pub size: usize,
    pub object: *const Object,
    pub name: *const c_char,
    pub name_length: usize,
    pub shape: *const u64,
    pub rank: usize,
    attributes: *const c_void,
    component_count: usize,
    pub component: *const Component,
    pub offset: u64,
    stored_size: u64,
    pub decoded_size: u64,
    format: i32,
    pub dtype: i32,
    type_: i32,
    encoding: i32,
    format_name: *const c_char,
}

#[repr(C)]
pub struct VerifyOptions {
    size: usize,
    checks: u32,
    threads: u32,
    context: *mut c_void,
    progress: usize,
    on_failure: usize,
    object: *const Object,
    component: *const Component,
}

#[repr(C)]
pub struct ReadOptions {
    pub size: usize,
    pub threads: u32,
    pub direct: i32,
    pub chunk_size: u64,
    pub in_flight: u64,
    pub verify: u32,
    pub reserved: u32,
    pub context: *mut c_void,
    pub on_done: *const c_void,
    pub progress: *const c_void,
}

#[repr(C)]
pub struct ReadStats {
    pub size: usize,
    pub bytes: u64,
    pub stored_bytes: u64,
    pub requests: u64,
    pub digests_verified: u64,
    pub nanoseconds: u64,
    pub threads: u32,
    pub direct: u32,
    pub reason: *const c_char,
}

extern "C" {
    pub fn zt_open(path: *const c_char, options: *const OpenOptions, file: *mut *mut File) -> i32;
    fn zt_open_model(path: *const c_char, options: *const OpenOptions, file: *mut *mut File) -> i32;
    pub fn zt_open_memory(data: *const c_void, n: usize, o: *const OpenOptions, file: *mut *mut File) -> i32;
    pub fn zt_close(file: *mut File);
    pub fn zt_last_error() -> *const c_char;
    pub fn zt_version() -> *const c_char;
    pub fn zt_object_count(file: *const File) -> usize;
    pub fn zt_object_at(file: *const File, i: usize) -> *const Object;
    pub fn zt_object_find(file: *const File, name: *const c_char) -> *const Object;
    pub fn zt_object_find_n(file: *const File, name: *const c_char, n: usize) -> *const Object;
    pub fn zt_object_list(
        file: *const File,
        first: usize,
        infos: *mut ObjectInfo,
        count: usize,
        filled: *mut usize,
    ) -> i32;
    pub fn zt_object_name(o: *const Object) -> *const c_char;
    pub fn zt_object_get_info(o: *const Object, info: *mut ObjectInfo) -> i32;
    pub fn zt_object_shape(o: *const Object) -> *const u64;
    pub fn zt_component_at(o: *const Object, i: usize) -> *const Component;
    pub fn zt_component_dtype(c: *const Component) -> i32;
    pub fn zt_component_size(c: *const Component) -> u64;
    pub fn zt_component_ptr(c: *const Component, p: *mut *const c_void, n: *mut usize) -> i32;
    pub fn zt_component_read(c: *const Component, dst: *mut c_void, n: usize) -> i32;
    pub fn zt_component_read_range(c: *const Component, at: u64, dst: *mut c_void, n: usize) -> i32;
    pub fn zt_object_read_as(
        o: *const Object,
        dtype: i32,
        dst: *mut c_void,
        n: usize,
        written: *mut usize,
    ) -> i32;
    pub fn zt_component_load(c: *const Component, options: *const c_void, b: *mut *mut Buffer) -> i32;
    pub fn zt_verify(file: *const File, options: *const VerifyOptions, report: *mut c_void) -> i32;
    pub fn zt_component_advise(c: *const Component, advice: u32) -> i32;
    pub fn zt_buffer_free(b: *mut Buffer);
    pub fn zt_read_batch(
        f: *const File,
        r: *const Request,
        n: usize,
        o: *const ReadOptions,
        s: *mut ReadStats,
    ) -> i32;
}

/// Ends the benchmark with the library's message.
pub fn ok(status: i32) {
    if status != 0 {
        panic!(
            "libztensor: status {status}: {}",
            unsafe { CStr::from_ptr(zt_last_error()) }.to_string_lossy()
        );
    }
}

pub fn version() -> String {
    unsafe { CStr::from_ptr(zt_version()) }.to_string_lossy().into_owned()
}

pub fn cpath(path: &Path) -> CString {
    CString::new(path.to_str().expect("path")).expect("path")
}

/// An open file, closed when dropped.
pub struct Zt(pub *mut File);

unsafe impl Sync for Zt {}

impl Zt {
    pub fn open(path: &Path) -> Zt {
        Zt::open_with(path, 0, 0)
    }

    pub fn open_with(path: &Path, mode: i32, advice: u32) -> Zt {
        let size = std::mem::size_of::<OpenOptions>();
        let o = OpenOptions { size, mode, verify: 0, strict: 0, advice, limits: [0; 3] };
        let mut f = null_mut();
        ok(unsafe { zt_open(cpath(path).as_ptr(), &o, &mut f) });
        Zt(f)
    }

    /// A file, or all files of an index.
    pub fn open_model(path: &Path) -> Zt {
        Zt::open_model_with(path, 0)
    }

    pub fn open_model_with(path: &Path, advice: u32) -> Zt {
        let size = std::mem::size_of::<OpenOptions>();
        let o = OpenOptions { size, mode: 0, verify: 0, strict: 0, advice, limits: [0; 3] };
        let mut f = null_mut();
        ok(unsafe { zt_open_model(cpath(path).as_ptr(), &o, &mut f) });
        Zt(f)
    }

    /// The bytes must outlive the result.
    pub fn memory(bytes: &[u8]) -> Zt {
        let mut f = null_mut();
        ok(unsafe { zt_open_memory(bytes.as_ptr().cast(), bytes.len(), null(), &mut f) });
        Zt(f)
    }

    pub fn component(&self, name: &CStr) -> *const Component {
        let c = unsafe { zt_component_at(zt_object_find(self.0, name.as_ptr()), 0) };
        assert!(!c.is_null(), "no component {name:?}");
        c
    }

    /// Checks the component's digest.
    pub fn verify(&self, name: &CStr) {
        let options = VerifyOptions {
            size: size_of::<VerifyOptions>(),
            checks: 16,
            threads: 1,
            context: null_mut(),
            progress: 0,
            on_failure: 0,
            object: null(),
            component: self.component(name),
        };
        ok(unsafe { zt_verify(self.0, &options, null_mut()) });
    }

    pub fn object(&self, name: &CStr) -> *const Object {
        unsafe { zt_object_find(self.0, name.as_ptr()) }
    }

    /// The position of the tensor's bytes in the file, if it exists.
    pub fn offset(&self, name: &CStr) -> Option<usize> {
        let o = unsafe { zt_object_find(self.0, name.as_ptr()) };
        (!o.is_null()).then(|| info(o).offset as usize)
    }

    /// The tensor's bytes, borrowed from the mapping.
    pub fn view(&self, name: &CStr) -> &[u8] {
        let (mut p, mut n) = (null(), 0);
        ok(unsafe { zt_component_ptr(self.component(name), &mut p, &mut n) });
        unsafe { std::slice::from_raw_parts(p.cast(), n) }
    }

    pub fn batch(&self, requests: &[Request], options: &ReadOptions) -> ReadStats {
        let mut s: ReadStats = unsafe { std::mem::zeroed() };
        s.size = std::mem::size_of::<ReadStats>();
        ok(unsafe { zt_read_batch(self.0, requests.as_ptr(), requests.len(), options, &mut s) });
        s
    }

    /// A request for each complete tensor, into a slot of a ring; its tag is the tensor's index.
    pub fn streamed(&self, names: &[CString]) -> Vec<Request> {
        let one = |(at, n): (usize, &CString)| {
            let to_ring = request(self.component(n), &mut []);
            Request { tag: at as u64, dst: null_mut(), ..to_ring }
        };
        names.iter().enumerate().map(one).collect()
    }

    /// A request for each complete tensor, to its position in `out`; its tag is the tensor's index.
    pub fn whole(&self, specs: &[Spec], names: &[CString], out: Shared) -> Vec<Request> {
        let one = |(at, (s, n)): (usize, (&Spec, &CString))| {
            let to_place = request(self.component(n), unsafe { out.range(s.at, s.len) });
            Request { tag: at as u64, ..to_place }
        };
        specs.iter().zip(names).enumerate().map(one).collect()
    }
}

impl Drop for Zt {
    fn drop(&mut self) {
        unsafe { zt_close(self.0) }
    }
}

impl ReadStats {
    pub fn why(&self) -> String {
        let reason = unsafe { CStr::from_ptr(self.reason) }.to_string_lossy();
        format!("direct {}, {} threads: {reason}", self.direct, self.threads)
    }
}

pub fn request(component: *const Component, dst: &mut [u8]) -> Request {
    Request {
        size: std::mem::size_of::<Request>(),
        component,
        offset: 0,
        length: u64::MAX, // ZT_WHOLE
        start: null(),
        count: null(),
        step: null(),
        dst: dst.as_mut_ptr().cast(),
        dst_size: dst.len(),
        tag: 0,
        rows: [0; 4],
        verify: 0,
        convert: 0,
        lossy: 0,
        reserved: 0,
        object: null(),
    }
}

/// Reads all numbers of an object as a dtype.
pub fn request_as(object: *const Object, dtype: i32, dst: &mut [u8]) -> Request {
    Request { object, convert: dtype, ..request(null(), dst) }
}

/// Structs for a listing.
pub fn info(object: *const Object) -> ObjectInfo {
    let [mut info] = object_infos::<1>();
    ok(unsafe { zt_object_get_info(object, &mut info) });
    info
}

pub fn object_infos<const N: usize>() -> [ObjectInfo; N] {
    let o: ObjectInfo = unsafe { std::mem::zeroed() };
    [ObjectInfo { size: std::mem::size_of::<ObjectInfo>(), ..o }; N]
}

pub fn read_options(threads: u32, direct: i32) -> ReadOptions {
    let o: ReadOptions = unsafe { std::mem::zeroed() };
    ReadOptions { size: std::mem::size_of::<ReadOptions>(), threads, direct, ..o }
}

pub fn cnames(specs: &[Spec]) -> Vec<CString> {
    specs.iter().map(|s| CString::new(s.name.as_str()).unwrap()).collect()
}
