//! Run:ai's model streamer, called through the C library of its Python package runai-model-streamer, which
//! `tools/fetch_runai.sh` downloads.

use std::ffi::{c_char, c_int, c_uint, c_void, CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;

/// Passed by value; 0 is the host.
#[repr(C)]
struct Device {
    kind: c_int,
    id: c_int,
}

type Start = unsafe extern "C" fn(*mut *mut c_void) -> c_int;
type End = unsafe extern "C" fn(*mut c_void);
type Submit = unsafe extern "C" fn(
    *mut c_void,
    *mut u64,
    u32,
    *const *const c_char,
    *const u32,
    *const usize,
    *const usize,
    *const *mut c_void,
    Device,
) -> c_int;
type Response = unsafe extern "C" fn(*mut c_void, *mut u64, *mut u32, *mut u32, *mut c_int, c_uint) -> c_int;

pub struct Library {
    start: Start,
    end: End,
    submit: Submit,
    response: Response,
}

/// A range of a file, and its destination.
pub struct Range {
    pub offset: usize,
    pub size: usize,
    pub dst: *mut u8,
}

/// The ranges of several files.
pub type Plan = Vec<(PathBuf, Vec<Range>)>;

/// The library, or the reason why its rows are left out.
pub fn library() -> Result<Library, String> {
    let path = Path::new(env!("ZT_LIB_DIR")).join("../runai/libstreamer.so");
    let name = CString::new(path.as_os_str().as_bytes()).expect("path");
    let symbol = |library: *mut c_void, name: &CStr| {
        let found = unsafe { libc::dlsym(library, name.as_ptr()) };
        if found.is_null() {
            Err(format!("{} has no {name:?}", path.display()))
        } else {
            Ok(found)
        }
    };
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if library.is_null() {
        return Err(format!("{} is missing (sh tools/fetch_runai.sh)", path.display()));
    }
    unsafe {
        Ok(Library {
            start: std::mem::transmute::<*mut c_void, Start>(symbol(library, c"runai_file_streamer_start")?),
            end: std::mem::transmute::<*mut c_void, End>(symbol(library, c"runai_file_streamer_end")?),
            submit: std::mem::transmute::<*mut c_void, Submit>(symbol(
                library,
                c"runai_file_streamer_request",
            )?),
            response: std::mem::transmute::<*mut c_void, Response>(symbol(
                library,
                c"runai_file_streamer_response",
            )?),
        })
    }
}

impl Library {
    /// Reads all ranges with this number of threads. Calls `consume` with the file and range of each that was
    /// read.
    pub fn load(&self, plan: &Plan, threads: u32, mut consume: impl FnMut(usize, usize)) {
        std::env::set_var("RUNAI_STREAMER_CONCURRENCY", threads.to_string());
        let names: Vec<CString> =
            plan.iter().map(|(p, _)| CString::new(p.as_os_str().as_bytes()).unwrap()).collect();
        let paths: Vec<*const c_char> = names.iter().map(|n| n.as_ptr()).collect();
        let counts: Vec<u32> = plan.iter().map(|(_, ranges)| ranges.len() as u32).collect();
        let ranges = || plan.iter().flat_map(|(_, ranges)| ranges);
        let offsets: Vec<usize> = ranges().map(|r| r.offset).collect();
        let sizes: Vec<usize> = ranges().map(|r| r.size).collect();
        let places: Vec<*mut c_void> = ranges().map(|r| r.dst.cast()).collect();
        let (mut streamer, mut id) = (null_mut(), 0);
        unsafe {
            let status = (self.start)(&mut streamer);
            assert_eq!(status, 0, "runai start: {status}");
            let status = (self.submit)(
                streamer,
                &mut id,
                paths.len() as u32,
                paths.as_ptr(),
                counts.as_ptr(),
                offsets.as_ptr(),
                sizes.as_ptr(),
                places.as_ptr(),
                Device { kind: 0, id: 0 },
            );
            assert_eq!(status, 0, "runai request: {status}");
            for _ in 0..sizes.len() {
                let (mut file, mut range, mut done) = (0, 0, 0);
                let status = (self.response)(streamer, &mut id, &mut file, &mut range, &mut done, 0);
                assert_eq!(status, 0, "runai response: {status}");
                consume(file as usize, range as usize);
            }
            (self.end)(streamer);
        }
    }
}
