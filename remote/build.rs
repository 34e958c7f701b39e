//! Links libztensor from $ZT_LIB_DIR, by default ../target/lib, where `make libs` puts it, and gives the
//! shared library its ABI name. Once loaded, the library stays loaded, because it has threads.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=ZT_LIB_DIR");
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/lib");
    let folder = env::var("ZT_LIB_DIR").map_or_else(|_| usual(), PathBuf::from);
    if let Ok(folder) = fs::canonicalize(&folder) {
        println!("cargo:rustc-link-search=native={}", folder.display());
    } else {
        println!("cargo:warning={} is not there: run `make libs`, or set ZT_LIB_DIR", folder.display());
    }
    let major = env!("CARGO_PKG_VERSION_MAJOR");
    match env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("windows") | Err(_) => {}
        Ok("macos" | "ios") => {
            println!("cargo:rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libztensor_remote.{major}.dylib");
        }
        Ok(_) => {
            println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libztensor_remote.so.{major}");
            println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
        }
    }
}
