//! Limits: names, listings, access tokens, texts that are not URLs, forked children.
#![allow(clippy::undocumented_unsafe_blocks)] // calls follow the header, and their arguments live here

mod common;

use common::ztensor::{tensor, zt_bytes};
use common::{Content, Fault, File, Options, Proxy, Server};
use std::ffi::CString;
use std::sync::Arc;
use std::time::Duration;
use ztensor_remote::capi::zt_remote_source;
use ztensor_remote::core::{status, zt_source};

/// A server with `/m/a.zt`.
fn served() -> Server {
    let server = Server::start();
    server.put("/m/a.zt", zt_bytes(40, 30_000), "\"one\"");
    server
}

#[test]
fn an_index_cannot_name_files_outside_its_folder() {
    let server = Server::start();
    for name in ["%2e%2e/a.zt", "x/.%2E/../a.zt", ".\\t./a.zt"] {
        let index = format!("{{\"weight_map\": {{\"a\": \"{name}\"}}}}");
        server.put("/m/i/model.safetensors.index.json", index.into_bytes(), "\"i\"");
        server.count();
        let url = server.url("/m/i/model.safetensors.index.json");
        assert!(File::open(&url, &Options::quick()).is_err(), "{name}");
        assert!(!server.asked.lock().unwrap().iter().any(|asked| asked.contains("a.zt")), "{name}");
    }
}

/// A page of a bucket's listing. It says whether there is another page.
fn page(count: usize, has_more: bool) -> Content {
    let mut text = format!("<ListBucketResult><IsTruncated>{has_more}</IsTruncated>");
    if has_more {
        text += "<NextContinuationToken>more</NextContinuationToken>";
    }
    for at in 0..count {
        text += &format!("<Contents><Key>m/{at}.txt</Key><LastModified>2030-01-01T00:00:00.000Z</LastModified><Size>1</Size></Contents>");
    }
    let bytes = Arc::new(format!("{text}</ListBucketResult>").into_bytes());
    Content { bytes, ..Content::default() }
}

#[test]
fn an_endless_listing_is_an_error() {
    let server = Server::start();
    let mut options = Options::quick();
    options.raw.endpoint = options.keep(&server.url(""));
    (options.raw.allow_http, options.raw.anonymous, options.raw.timeout_ms) = (1, 1, 10_000);
    server.set("/b", page(40_000, true));
    let (status, text) = File::open("s3://b/m/", &options).err().unwrap();
    assert!(status == status::LIMIT && text.contains("more than 100000 names"), "{status} {text}");
    assert_eq!(server.count(), 3);
    server.set("/b", page(3, false));
    let (status, text) = File::open("s3://b/m/", &options).err().unwrap();
    assert!(status != status::LIMIT && server.count() == 1, "{status} {text}");
    // Signed requests for a bucket are not sent to another server.
    server.set("/b/a.zt", Content { redirect: Some(server.url("/other.zt")), ..Content::default() });
    let (_, text) = File::open("s3://b/a.zt", &options).err().unwrap();
    assert!(text.contains("answered 302"), "{text}");
    assert!(!server.asked.lock().unwrap().iter().any(|asked| asked.starts_with("/other.zt")));
}

#[test]
fn a_request_is_sent_again_after_access_was_denied() {
    let server = served();
    let proxy = Proxy::start(&server.address);
    let mut options = Options::quick();
    options.raw.timeout_ms = 50; // failures are remembered for this long
    let file = File::open(&proxy.url("/m/a.zt"), &options).ok().unwrap();
    proxy.next(&[Fault::Status(403)]);
    assert!(file.read(7).unwrap_err().1.contains("access was refused"));
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(file.read(7).unwrap(), tensor(7, 30_000));
}

#[test]
fn invalid_urls_are_not_repeated_in_messages() {
    for url in ["http://[::1/a.zt?hush", "http://me:hush@[::1/a.zt", "http://h h/a?hush hush"] {
        let (status, text) = File::open(url, &Options::quick()).err().unwrap();
        assert!(status == status::INVALID_ARGUMENT && !text.contains("hush"), "{text}");
    }
}

unsafe extern "C" {
    fn fork() -> i32;
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(status: i32) -> !;
}

#[test]
fn a_forked_child_is_refused_and_closes_without_waiting() {
    let server = served();
    let (url, options) = (CString::new(server.url("/m/a.zt")).unwrap(), Options::quick());
    let mut source = std::mem::MaybeUninit::<zt_source>::zeroed();
    unsafe {
        source.as_mut_ptr().cast::<usize>().write(size_of::<zt_source>());
        assert_eq!(zt_remote_source(url.as_ptr(), &options.raw, source.as_mut_ptr()), 0);
        let source = source.assume_init();
        let (mut bytes, mut outcome) = ([0u8; 4], -1);
        let child = fork();
        if child == 0 {
            // The start was read when the object was opened, so no request is needed, only locks.
            let status = source.read_at.unwrap()(source.context, 0, bytes.as_mut_ptr().cast(), 4);
            source.close.unwrap()(source.context);
            _exit(if status == status::UNSUPPORTED { 42 } else { status });
        }
        assert_eq!(waitpid(child, &mut outcome, 0), child);
        assert_eq!(outcome, 42 << 8);
        assert_eq!(source.read_at.unwrap()(source.context, 0, bytes.as_mut_ptr().cast(), 4), 0);
        source.close.unwrap()(source.context);
    }
}
