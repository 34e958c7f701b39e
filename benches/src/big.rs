//! The Llama-shaped model in every container, used by W2, W3 and W4.

use crate::data::{gauss_buf, llama_specs, total, Spec};
use crate::harness::Role;
use crate::peers::{gguf_file, safetensors};
use crate::sys::{self, Buf, Shared};
use crate::{zt, Cfg};
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

pub struct Big {
    pub specs: Vec<Spec>,
    pub cnames: Vec<CString>,
    pub len: usize,
    pub zt: PathBuf,
    pub st: PathBuf,
    pub gguf: PathBuf,
    /// The index of the model in safetensors files of about equal size.
    pub index: PathBuf,
    pub shards: Vec<PathBuf>,
}

const SHARDS: usize = 8;

impl Big {
    pub fn new(cfg: &Cfg) -> Big {
        let specs = llama_specs(cfg.layers);
        let f = |ext: &str| cfg.dir.join(format!("big-{}.{ext}", cfg.layers));
        Big {
            cnames: specs.iter().map(|s| CString::new(s.name.as_str()).unwrap()).collect(),
            len: total(&specs),
            specs,
            zt: f("zt"),
            st: f("safetensors"),
            gguf: f("gguf"),
            index: cfg.dir.join("shards/model.safetensors.index.json"),
            shards: (1..=SHARDS)
                .map(|n| cfg.dir.join(format!("shards/model-{n:05}-of-{SHARDS:05}.safetensors")))
                .collect(),
        }
    }

    pub fn data(&self) -> Buf {
        gauss_buf(self.len, 42)
    }

    pub fn files(&self) -> Vec<&PathBuf> {
        [&self.zt, &self.st, &self.gguf].into_iter().chain(&self.shards).collect()
    }

    /// The shard of each tensor.
    fn shard_of(&self, spec: &Spec) -> usize {
        spec.at * SHARDS / self.len
    }

    fn write_shards(&self, data: &[u8]) {
        std::fs::create_dir_all(self.index.parent().unwrap()).unwrap();
        let mut map = serde_json::Map::new();
        for (n, path) in self.shards.iter().enumerate() {
            let of_it: Vec<&Spec> = self.specs.iter().filter(|s| self.shard_of(s) == n).collect();
            safetensors::write(path, &of_it, data, ::safetensors::Dtype::BF16);
            let name = path.file_name().unwrap().to_str().unwrap();
            map.extend(of_it.iter().map(|s| (s.name.clone(), name.into())));
        }
        let index = serde_json::json!({"metadata": {"total_size": self.len}, "weight_map": map});
        std::fs::write(&self.index, index.to_string()).unwrap();
    }

    pub fn remove(&self) {
        for f in self.files().into_iter().chain([&self.index]) {
            let _ = std::fs::remove_file(f);
        }
    }

    /// Writes the missing files.
    pub fn prepare(&self, data: &[u8]) {
        let (s, d) = (&self.specs, &data[..self.len]);
        crate::balloon::make_free(4 * self.len); // page cache of the files
        let missing = |p: &PathBuf| !p.exists();
        if missing(&self.zt) {
            zt::write(&self.zt, s, &self.cnames, d, zt::BF16, &zt::writer_options());
        }
        if missing(&self.st) {
            safetensors::write(&self.st, s, d, ::safetensors::Dtype::BF16);
        }
        if missing(&self.gguf) {
            gguf_file::write(&self.gguf, s, d, gguf_file::BF16);
        }
        if missing(&self.index) {
            self.write_shards(d);
        }
        for f in self.files() {
            sys::open_read(f, false).sync_all().unwrap();
        }
    }

    /// Writes the missing files for the loads: one file, and its shards.
    pub fn prepare_for_loads(&self, data: &[u8]) {
        crate::balloon::make_free(2 * self.len);
        if !self.zt.exists() {
            let (d, o) = (&data[..self.len], zt::writer_options());
            zt::write(&self.zt, &self.specs, &self.cnames, d, zt::BF16, &o);
        }
        if !self.index.exists() {
            self.write_shards(&data[..self.len]);
        }
        self.shards.iter().chain([&self.zt]).for_each(|f| sys::open_read(f, false).sync_all().unwrap());
    }

    pub fn note(&self) -> String {
        format!(
            "{} bf16 tensors, {} B ({:.2} GiB) of tensor bytes",
            self.specs.len(),
            self.len,
            self.len as f64 / (1u64 << 30) as f64
        )
    }
}

/// The destination of a loader.
#[derive(Clone, Copy, PartialEq)]
pub enum Dest {
    /// Directly into the caller's buffer, tensor by tensor.
    Caller,
    /// Into a block for the complete model, then into the caller's buffer.
    BlockThenCaller,
    /// Only into its own memory.
    Own,
}

/// A way to load the complete model, for each peer.
pub struct Loader<'a> {
    pub role: Role,
    pub name: &'static str,
    pub into: Dest,
    pub file: &'a PathBuf,
    pub load: Load<'a>,
}

impl Loader<'_> {
    /// Allocates memory for the complete model itself.
    pub fn owns(&self) -> bool {
        self.into != Dest::Caller
    }
}

type Load<'a> = Box<dyn Fn(&mut [u8]) + 'a>;

pub fn loaders<'a>(b: &'a Big) -> Vec<Loader<'a>> {
    use crate::peers::*;
    use Dest::*;
    use Role::*;
    let s = &b.specs;
    let mut v = Vec::new();
    let mut add =
        |role, name, into, file: &'a PathBuf, load: Load<'a>| v.push(Loader { role, name, into, file, load });
    let f = &b.zt;
    for (name, threads, direct) in [
        ("libztensor batch, 1 thread", 1, zt::DIRECT_AUTO),
        ("libztensor batch, 2 threads", 2, zt::DIRECT_AUTO),
        ("libztensor batch, direct never, 2 threads", 2, zt::DIRECT_NEVER),
    ] {
        add(Libztensor, name, Caller, f, Box::new(move |d| batch(b, f, d, threads, direct)));
    }
    for (name, f) in [
        ("libztensor batch, safetensors, 2 threads", &b.st),
        ("libztensor batch, GGUF, 2 threads", &b.gguf),
        ("libztensor batch, 8 shards, 2 threads", &b.index),
    ] {
        add(Libztensor, name, Caller, f, Box::new(move |d| batch(b, f, d, 2, zt::DIRECT_AUTO)));
    }
    add(Libztensor, "libztensor zt_component_read", Caller, f, Box::new(move |d| read_each(b, d)));
    add(
        Libztensor,
        "libztensor zt_component_load, ZT_MODE_READ",
        Own,
        f,
        Box::new(move |_| load_each(b, zt::MODE_READ)),
    );
    add(
        Libztensor,
        "libztensor zt_component_load, mapped (no copy)",
        Own,
        f,
        Box::new(move |_| load_each(b, 0)),
    );
    add(Peer, "ztensor 1.2.3 mmap view() + memcpy", Caller, f, Box::new(move |d| zt1::copy_view(f, s, d)));
    add(
        Peer,
        "ztensor 1.2.3 open() + read() + memcpy",
        Caller,
        f,
        Box::new(move |d| zt1::copy_read(f, s, d, false)),
    );
    add(
        Peer,
        "ztensor 1.2.3 mmap + read() (own Vecs)",
        Own,
        f,
        Box::new(move |_| zt1::read_own(f, s, false)),
    );
    let (f, g) = (&b.st, &b.gguf);
    add(Peer, "safetensors mmap + memcpy", Caller, f, Box::new(move |d| safetensors::copy_mmap(f, s, d)));
    add(
        Peer,
        "safetensors fs::read + memcpy",
        BlockThenCaller,
        f,
        Box::new(move |d| safetensors::copy_whole(f, s, d)),
    );
    add(Peer, "candle gguf tensor() (own storage)", Own, g, Box::new(move |_| gguf_candle::load_all(g, s)));
    #[cfg(ggml)]
    {
        let n = &b.cnames;
        add(
            Peer,
            "ggml C + mmap(POPULATE) + memcpy",
            Caller,
            g,
            Box::new(move |d| ggml::copy_mmap(g, s, n, d)),
        );
        add(
            Peer,
            "ggml C gguf_init no_alloc=false (own block)",
            Own,
            g,
            Box::new(move |_| ggml::load_all(g)),
        );
    }
    v
}

/// Opens a file or an index, reads the complete model with one zt_read_batch, and closes it. Returns the way
/// of reading.
pub fn batch(b: &Big, file: &Path, dst: &mut [u8], threads: u32, direct: i32) {
    let f = zt::Zt::open_model(file);
    let r = f.whole(&b.specs, &b.cnames, Shared::new(dst));
    let s = f.batch(&r, &zt::read_options(threads, direct));
    assert_eq!(s.bytes, b.len as u64);
    *WHY.lock().unwrap() = s.why();
}

/// The last batch's way of reading.
pub static WHY: Mutex<String> = Mutex::new(String::new());

fn read_each(b: &Big, dst: &mut [u8]) {
    let f = zt::Zt::open(&b.zt);
    for (s, n) in b.specs.iter().zip(&b.cnames) {
        zt::ok(unsafe { zt::zt_component_read(f.component(n), dst[s.at..].as_mut_ptr().cast(), s.len) });
    }
}

/// Raw components of a mapped file are borrowed, so only ZT_MODE_READ fills memory of the library.
fn load_each(b: &Big, mode: i32) {
    let f = zt::Zt::open_with(&b.zt, mode, 0);
    let load = |n| {
        let mut p = std::ptr::null_mut();
        zt::ok(unsafe { zt::zt_component_load(f.component(n), std::ptr::null(), &mut p) });
        p
    };
    let all: Vec<*mut zt::Buffer> = b.cnames.iter().map(|n| load(n)).collect();
    for p in all {
        unsafe { zt::zt_buffer_free(p) };
    }
}

/// Runs every loader once, and checks the bytes in the caller's buffer.
pub fn check(b: &Big, data: &[u8], dst: &mut [u8]) {
    for l in loaders(b) {
        dst[..b.len].fill(0);
        (l.load)(dst);
        assert!(l.into == Dest::Own || dst[..b.len] == data[..b.len], "{} loaded wrong bytes", l.name);
    }
}
