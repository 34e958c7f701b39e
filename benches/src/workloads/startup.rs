//! W10: start-up: load the library, open a file of 300 tensors, get the first pointer, close.

use crate::data::{gauss_buf, small_specs, total};
use crate::harness::{run_group, secs, timed, Case, Group, Metric, Role, Unit};
use crate::peers::{gguf_file, safetensors};
use crate::{sys, zt, Cfg};
use serde_json::Value;
use std::ffi::{c_char, c_void, CString};
use std::path::Path;

const N: usize = 300;
const LIMIT: &str = "limit: open, fstat, mmap, touch, munmap, close";

fn symbol<T: Copy>(lib: *mut c_void, name: &std::ffi::CStr) -> T {
    let p = unsafe { libc::dlsym(lib, name.as_ptr()) };
    assert!(!p.is_null() && std::mem::size_of::<T>() == std::mem::size_of_val(&p));
    unsafe { std::mem::transmute_copy(&p) }
}

/// Copies the library for each call, because loading a library again only increments a counter.
fn load_and_open(lib: &Path, file: &CString, first: &CString) -> f64 {
    type Open = unsafe extern "C" fn(*const c_char, *const c_void, *mut *mut zt::File) -> i32;
    type Find = unsafe extern "C" fn(*const zt::File, *const c_char) -> *const zt::Object;
    type At = unsafe extern "C" fn(*const zt::Object, usize) -> *const zt::Component;
    type Ptr = unsafe extern "C" fn(*const zt::Component, *mut *const u8, *mut usize) -> i32;
    type Close = unsafe extern "C" fn(*mut zt::File);
    let path = CString::new(lib.to_str().unwrap()).unwrap();
    let (t, handle) = secs(|| unsafe {
        let l = libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        assert!(!l.is_null(), "dlopen");
        let (mut f, mut p, mut n) = (std::ptr::null_mut(), std::ptr::null(), 0);
        assert_eq!(symbol::<Open>(l, c"zt_open")(file.as_ptr(), std::ptr::null(), &mut f), 0);
        let c =
            symbol::<At>(l, c"zt_component_at")(symbol::<Find>(l, c"zt_object_find")(f, first.as_ptr()), 0);
        assert_eq!(symbol::<Ptr>(l, c"zt_component_ptr")(c, &mut p, &mut n), 0);
        std::hint::black_box(p.read_volatile());
        symbol::<Close>(l, c"zt_close")(f);
        l
    });
    unsafe { libc::dlclose(handle) };
    t
}

pub fn run(cfg: &Cfg) -> Vec<Value> {
    let specs = small_specs(N, 1024);
    let data = gauss_buf(total(&specs), 4);
    let data = &data.slice()[..total(&specs)];
    let names = zt::cnames(&specs);
    let path = |e: &str| cfg.dir.join(format!("w10.{e}"));
    let (zt_file, st, gguf) = (path("zt"), path("safetensors"), path("gguf"));
    zt::write(&zt_file, &specs, &names, data, zt::F32, &zt::writer_options());
    safetensors::write(&st, &specs, data, ::safetensors::Dtype::F32);
    gguf_file::write(&gguf, &specs, data, gguf_file::F32);
    let c_path = CString::new(zt_file.to_str().unwrap()).unwrap();
    let library = Path::new(env!("ZT_LIB_DIR")).join("libztensor.so.1");
    let mut copies = 0;
    let fresh = || {
        copies += 1;
        let copy = path(&format!("{copies}.so"));
        std::fs::copy(&library, &copy).expect("copying the library");
        sys::warm(&copy);
        let t = load_and_open(&copy, &c_path, &names[0]);
        let _ = std::fs::remove_file(&copy);
        t
    };
    let mut fresh = fresh;
    let k = 20;
    let mean = |f: &dyn Fn()| secs(|| (0..k).for_each(|_| f())).0 / f64::from(k);
    #[allow(unused_mut)]
    let mut cases: Vec<Case> = vec![
        timed(Role::Limit, LIMIT, || {
            mean(&|| {
                std::hint::black_box(safetensors::map(&zt_file)[64]);
            })
        }),
        timed(Role::Libztensor, "libztensor dlopen + zt_open + pointer + zt_close", &mut fresh),
        timed(Role::Libztensor, "libztensor zt_open + pointer + zt_close", || {
            mean(&|| {
                let f = zt::Zt::open(&zt_file);
                std::hint::black_box(f.view(&names[0])[0]);
            })
        }),
        timed(Role::Peer, "safetensors mmap + deserialize + tensor", || {
            mean(&|| {
                let m = safetensors::map(&st);
                let t = ::safetensors::SafeTensors::deserialize(&m).unwrap();
                std::hint::black_box(t.tensor(&specs[0].name).unwrap().data()[0]);
            })
        }),
    ];
    #[cfg(ggml)]
    cases.push(timed(Role::Peer, "ggml C gguf_init + mmap + pointer + free", || {
        mean(&|| {
            std::hint::black_box(crate::peers::ggml::touch_all(&gguf, &specs[..1], &names, false));
        })
    }));
    let g = Group {
        id: "W10".into(),
        title: format!("start-up on a file of {N} tensors, warm"),
        metrics: vec![Metric { name: "start-up", unit: Unit::Items(1.0), limit: LIMIT }],
        cases,
        notes: vec![],
    };
    vec![run_group(g, cfg.reps(9), 1)]
}
