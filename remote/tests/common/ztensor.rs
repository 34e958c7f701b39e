//! The part of libztensor's C interface that the tests need, with owned handles and memory.
#![allow(clippy::undocumented_unsafe_blocks)]

use std::ffi::{c_char, c_void, CStr, CString};
use std::path::Path;
use std::ptr::{null, null_mut};
use ztensor_remote::capi::{zt_remote_open, zt_remote_options};
use ztensor_remote::core::{zt_file, zt_open_options, zt_source, zt_status};

#[repr(C)]
#[derive(Clone, Copy)]
struct ReadRequest {
    struct_size: usize,
    component: *const c_void,
    offset: u64,
    length: u64,
    places: [*const u64; 3],
    dst: *mut c_void,
    dst_size: usize,
    tag: u64,
}

#[repr(C)]
struct ObjectInfo {
    struct_size: usize,
    before: [usize; 8],
    offset: u64,
}

#[repr(C)]
#[derive(Default)]
struct Identity {
    struct_size: usize,
    size: u64,
    modified: i64,
    offset: u64,
    hash: u64,
    source: u64,
}

unsafe extern "C" {
    fn zt_write_create(path: *const c_char, options: *const c_void, writer: *mut *mut c_void) -> zt_status;
    fn zt_write_dense(
        writer: *mut c_void,
        name: *const c_char,
        name_length: usize,
        dtype: i32,
        logical: i32,
        shape: *const u64,
        rank: usize,
        data: *const c_void,
        size: usize,
    ) -> zt_status;
    fn zt_write_finish(writer: *mut c_void, summary: *mut c_void) -> zt_status;
    fn zt_dtype_from_name(name: *const c_char, dtype: *mut i32) -> zt_status;
    fn zt_object_count(file: *const zt_file) -> usize;
    fn zt_object_at(file: *const zt_file, index: usize) -> *const c_void;
    fn zt_object_name(object: *const c_void) -> *const c_char;
    fn zt_component_at(object: *const c_void, index: usize) -> *const c_void;
    fn zt_component_size(component: *const c_void) -> u64;
    fn zt_object_get_info(object: *const c_void, info: *mut ObjectInfo) -> zt_status;
    fn zt_component_read(component: *const c_void, dst: *mut c_void, size: usize) -> zt_status;
    fn zt_read_batch(
        file: *const zt_file,
        requests: *const ReadRequest,
        count: usize,
        options: *const c_void,
        stats: *mut c_void,
    ) -> zt_status;
    fn zt_part_count(file: *const zt_file) -> usize;
    fn zt_file_identity(file: *const zt_file, identity: *mut Identity) -> zt_status;
    fn zt_open_source(
        source: *const zt_source,
        options: *const zt_open_options,
        file: *mut *mut zt_file,
    ) -> zt_status;
    fn zt_close(file: *mut zt_file);
    fn zt_last_error() -> *const c_char;
}

/// The text of zt_last_error.
pub fn last_error() -> String {
    unsafe { CStr::from_ptr(zt_last_error()) }.to_str().unwrap().to_owned()
}

/// The bytes of tensor number `at`, `size` bytes long.
pub fn tensor(at: usize, size: usize) -> Vec<u8> {
    let mut seed = (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let step = |seed: &mut u64| {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        *seed
    };
    (0..size.div_ceil(8)).flat_map(|_| step(&mut seed).to_le_bytes()).take(size).collect()
}

/// A .zt file with `count` tensors of `size` bytes, as bytes.
pub fn zt_bytes(count: usize, size: usize) -> Vec<u8> {
    let path = scratch("made.zt");
    let (mut writer, mut u8_type) = (null_mut(), 0);
    let c_path = CString::new(path.to_str().unwrap()).unwrap();
    unsafe {
        assert_eq!(zt_dtype_from_name(c"u8".as_ptr(), &mut u8_type), 0);
        assert_eq!(zt_write_create(c_path.as_ptr(), null(), &mut writer), 0, "{}", last_error());
        for at in 0..count {
            let name = CString::new(format!("layers.{at}.weight")).unwrap();
            let (data, shape, length) = (tensor(at, size), size as u64, name.as_bytes().len());
            let data = data.as_ptr().cast();
            assert_eq!(zt_write_dense(writer, name.as_ptr(), length, u8_type, 0, &shape, 1, data, size), 0);
        }
        assert_eq!(zt_write_finish(writer, null_mut()), 0, "{}", last_error());
    }
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    bytes
}

/// A path that no other process uses.
pub fn scratch(name: &str) -> std::path::PathBuf {
    static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let at = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{at}-{name}", std::process::id()))
}

/// zt_remote_options with the strings that it points to.
#[derive(Default)]
pub struct Options {
    pub raw: zt_remote_options,
    strings: Vec<CString>,
}

impl Options {
    /// Options with which requests fail fast.
    pub fn quick() -> Options {
        let mut options = Options::default();
        (options.raw.timeout_ms, options.raw.retries) = (1000, 2);
        options
    }

    pub fn keep(&mut self, text: &str) -> *const c_char {
        self.strings.push(CString::new(text).unwrap());
        self.strings.last().unwrap().as_ptr()
    }
}

/// An open file.
pub struct File(pub *mut zt_file);

impl Drop for File {
    fn drop(&mut self) {
        unsafe { zt_close(self.0) };
    }
}

impl File {
    pub fn open(url: &str, options: &Options) -> Result<File, (zt_status, String)> {
        let (url, mut file) = (CString::new(url).unwrap(), null_mut());
        match unsafe { zt_remote_open(url.as_ptr(), &options.raw, null(), &mut file) } {
            0 => Ok(File(file)),
            status => {
                assert!(file.is_null());
                Err((status, last_error()))
            }
        }
    }

    pub fn of_source(source: &zt_source) -> File {
        let mut file = null_mut();
        assert_eq!(unsafe { zt_open_source(source, null(), &mut file) }, 0, "{}", last_error());
        File(file)
    }

    pub fn count(&self) -> usize {
        unsafe { zt_object_count(self.0) }
    }

    pub fn parts(&self) -> usize {
        unsafe { zt_part_count(self.0) }
    }

    pub fn name(&self, at: usize) -> String {
        unsafe { CStr::from_ptr(zt_object_name(zt_object_at(self.0, at))) }.to_str().unwrap().to_owned()
    }

    pub fn offset(&self, at: usize) -> u64 {
        let mut info = ObjectInfo { struct_size: size_of::<ObjectInfo>(), before: [0; 8], offset: 0 };
        assert_eq!(unsafe { zt_object_get_info(zt_object_at(self.0, at), &mut info) }, 0, "{}", last_error());
        info.offset
    }

    pub fn identity(&self) -> u64 {
        let mut identity = Identity { struct_size: size_of::<Identity>(), ..Identity::default() };
        assert_eq!(unsafe { zt_file_identity(self.0, &mut identity) }, 0, "{}", last_error());
        identity.source
    }

    pub fn read(&self, at: usize) -> Result<Vec<u8>, (zt_status, String)> {
        unsafe {
            let component = zt_component_at(zt_object_at(self.0, at), 0);
            let mut bytes = vec![0; zt_component_size(component) as usize];
            match zt_component_read(component, bytes.as_mut_ptr().cast(), bytes.len()) {
                0 => Ok(bytes),
                status => Err((status, last_error())),
            }
        }
    }

    /// Reads the objects with these numbers in one batch.
    pub fn read_batch(&self, which: &[usize]) -> Result<Vec<Vec<u8>>, (zt_status, String)> {
        let component = |at: usize| unsafe { zt_component_at(zt_object_at(self.0, at), 0) };
        let mut all: Vec<Vec<u8>> =
            which.iter().map(|at| vec![0; unsafe { zt_component_size(component(*at)) } as usize]).collect();
        let mut places: Vec<&mut [u8]> = all.iter_mut().map(Vec::as_mut_slice).collect();
        self.read_into(which, &mut places).map(|()| all)
    }

    /// Like `read_batch`, into the caller's memory of the right sizes.
    pub fn read_into(&self, which: &[usize], places: &mut [&mut [u8]]) -> Result<(), (zt_status, String)> {
        let component = |at: usize| unsafe { zt_component_at(zt_object_at(self.0, at), 0) };
        let requests: Vec<ReadRequest> = which
            .iter()
            .zip(places)
            .map(|(at, bytes)| ReadRequest {
                struct_size: size_of::<ReadRequest>(),
                component: component(*at),
                offset: 0,
                length: u64::MAX,
                places: [null(); 3],
                dst: bytes.as_mut_ptr().cast(),
                dst_size: bytes.len(),
                tag: 0,
            })
            .collect();
        match unsafe { zt_read_batch(self.0, requests.as_ptr(), requests.len(), null(), null_mut()) } {
            0 => Ok(()),
            status => Err((status, last_error())),
        }
    }
}
