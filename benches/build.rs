//! Links libztensor as a C program would, from $ZT_LIB_DIR or from target/lib, the output of `make libs`.
//! Compiles ggml's C GGUF reader from the source in the llama-cpp-sys-2 crate: in $GGML_SRC, or in cargo's
//! registry after `cargo fetch`. Without that source the ggml peer is left out.

use std::path::{Path, PathBuf};
use std::{env, fs};

const CRATE: &str = "llama-cpp-sys-2-0.1.161";
const SHIM: &str = "src/peers/ggml_shim.c";

fn find_ggml() -> Option<PathBuf> {
    if let Ok(p) = env::var("GGML_SRC") {
        return Some(PathBuf::from(p)).filter(|p| p.join("src/gguf.cpp").exists());
    }
    let home = env::var("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|_| env::var("HOME").map(|h| Path::new(&h).join(".cargo")))
        .ok()?;
    fs::read_dir(home.join("registry/src"))
        .ok()?
        .flatten()
        .map(|d| d.path().join(CRATE).join("llama.cpp/ggml"))
        .find(|p| p.join("src/gguf.cpp").exists())
}

fn link_libztensor() {
    println!("cargo:rerun-if-env-changed=ZT_LIB_DIR");
    let usual = || Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap()).join("../target/lib");
    let dir = env::var("ZT_LIB_DIR").map_or_else(|_| usual(), PathBuf::from);
    println!("cargo:rerun-if-changed={}", dir.join("libztensor.so").display());
    if !dir.join("libztensor.so").exists() {
        eprintln!("{} has no libztensor.so: run `make libs`, or set ZT_LIB_DIR to its folder", dir.display());
        std::process::exit(1);
    }
    let dir = dir.canonicalize().unwrap().display().to_string();
    println!("cargo:rustc-link-search=native={dir}");
    println!("cargo:rustc-link-lib=dylib=ztensor");
    println!("cargo:rustc-link-arg=-Wl,-rpath,{dir}");
    println!("cargo:rustc-env=ZT_LIB_DIR={dir}");
}

fn main() {
    link_libztensor();
    println!("cargo:rustc-check-cfg=cfg(ggml)");
    println!("cargo:rerun-if-env-changed=GGML_SRC");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={SHIM}");
    let Some(ggml) = find_ggml() else {
        println!("cargo:warning=ggml source not found (run `cargo fetch`): the ggml peer is left out");
        return;
    };
    let out = PathBuf::from(env::var("OUT_DIR").unwrap());
    fs::write(out.join("ggml-version.h"), "#define GGML_VERSION \"bench\"\n#define GGML_COMMIT \"bench\"\n")
        .unwrap();
    let (include, src) = (ggml.join("include"), ggml.join("src"));
    let base = || {
        let mut b = cc::Build::new();
        b.include(&out)
            .include(&include)
            .include(&src)
            .define("_GNU_SOURCE", None)
            .warnings(false)
            .flag_if_supported("-march=native")
            .opt_level(3);
        b
    };
    base().std("gnu11").files([src.join("ggml.c"), src.join("ggml-quants.c"), SHIM.into()]).compile("ggml_c");
    base()
        .cpp(true)
        .std("gnu++17")
        .files([src.join("gguf.cpp"), src.join("ggml-threading.cpp")])
        .compile("ggml_cpp");
    println!("cargo:rustc-link-lib=static=ggml_c"); // again, after the library that uses it
    println!("cargo:rustc-link-lib=m");
    println!("cargo:rustc-cfg=ggml");
}
