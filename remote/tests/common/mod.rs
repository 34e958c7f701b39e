//! Common code of the tests: libztensor's functions, files to serve, a server for ranges, and a proxy that
//! corrupts answers.
#![allow(dead_code, missing_docs, unused_imports)]

pub mod proxy;
pub mod server;
pub mod ztensor;

pub use proxy::{Fault, Proxy};
pub use server::{Content, Server};
pub use ztensor::{File, Options};
