//! Gives the shared library its ABI name (SONAME, install name), under which programs look for it.
//! What else hardening asks for (relro, immediate binding, no executable stack) is rustc's default,
//! and tests/consumers/host checks that it is so.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let major = env!("CARGO_PKG_VERSION_MAJOR");
    let name = match env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("windows" | "android") | Err(_) => return, // rustc names it libztensor.so for Android
        Ok("macos" | "ios") => format!("-Wl,-install_name,@rpath/libztensor.{major}.dylib"),
        Ok(_) => format!("-Wl,-soname,libztensor.so.{major}"),
    };
    println!("cargo:rustc-cdylib-link-arg={name}");
}
