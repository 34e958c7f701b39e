//! Files and models on a web server: requests are counted, answers corrupted, secrets kept.
#![allow(clippy::undocumented_unsafe_blocks)] // calls follow the header, and their arguments live here

mod common;

use common::ztensor::{last_error, tensor, zt_bytes};
use common::{Content, Fault, File, Options, Proxy, Server};
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use ztensor_remote::capi::{zt_remote_source, ZT_REMOTE_NO_RETRIES};
use ztensor_remote::core::{status, zt_source};

/// A server with `/m/a.zt`, and a proxy in front of it.
fn served(count: usize, size: usize) -> (Server, Proxy) {
    let server = Server::start();
    server.put("/m/a.zt", zt_bytes(count, size), "\"one\"");
    let proxy = Proxy::start(&server.address);
    (server, proxy)
}

fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/foreign/valid").join(name)
}

fn open(url: &str) -> File {
    File::open(url, &Options::quick()).unwrap_or_else(|(status, e)| panic!("{status} {e}"))
}

#[test]
fn two_requests_open_a_file_and_all_tensors_are_correct() {
    let (_server, proxy) = served(500, 3000);
    let file = open(&proxy.url("/m/a.zt"));
    assert_eq!(proxy.count(), 2);
    assert_eq!((file.count(), file.parts()), (500, 1));
    for at in [0, 1, 77, 499] {
        assert_eq!(file.read(at).unwrap(), tensor(at, 3000));
    }
    let backwards: Vec<usize> = (0..500).rev().step_by(3).collect();
    for (at, bytes) in backwards.iter().zip(file.read_batch(&backwards).unwrap()) {
        assert_eq!(bytes, tensor(*at, 3000));
    }
}

#[test]
fn files_with_the_manifest_at_the_start_open_with_two_requests_too() {
    let server = Server::start();
    let proxy = Proxy::start(&server.address);
    let small = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/data/minilm-small.safetensors");
    server.put("/a.safetensors", std::fs::read(small).unwrap(), "\"s\"");
    server.put("/a.gguf", std::fs::read(corpus("amber-all-types-hand.gguf")).unwrap(), "\"g\"");
    for name in ["/a.safetensors", "/a.gguf"] {
        proxy.count();
        let file = open(&proxy.url(name));
        let requests = proxy.count();
        assert!(file.count() > 3 && requests <= 2, "{name}: {} in {requests}", file.count());
        file.read(file.count() - 1).unwrap();
    }
}

#[test]
fn fifty_one_thousand_tensors_take_a_request_for_eight_mebibytes() {
    let (_server, proxy) = served(51_000, 4096);
    // With the default timeouts, because a busy machine is slow and a retry would be counted.
    let file = File::open(&proxy.url("/m/a.zt"), &Options::default()).ok().unwrap();
    let to_open = proxy.count();
    let all: Vec<usize> = (0..file.count()).collect();
    let read = file.read_batch(&all).unwrap();
    let (to_load, bytes) = (proxy.count(), 51_000 * 4096);
    assert!(read.iter().enumerate().all(|(at, bytes)| *bytes == tensor(at, 4096)));
    println!("{to_open} requests to open, {to_load} to load {bytes} bytes");
    assert!(
        to_open + to_load <= bytes / (8 << 20) + 4 + 2 && to_load <= bytes / (8 << 20) + 4,
        "{to_open} {to_load}"
    );
}

#[test]
fn later_requests_say_which_object_they_are_about() {
    let (server, _) = served(40, 30_000);
    let url = server.url("/m/a.zt");
    let (file, time) = (open(&url), "Tue, 01 Jan 2030 00:00:00 GMT");
    server.count();
    file.read(0).unwrap();
    assert!(server.asked.lock().unwrap().iter().all(|asked| asked.ends_with(" \"one\"")));
    let bytes = server.contents.lock().unwrap()["/m/a.zt"].bytes.clone();
    // A weak ETag cannot be required, but the time can.
    for e_tag in [None, Some("W/\"weak\"".to_owned())] {
        let modified = Some(time.to_owned());
        server.set("/m/a.zt", Content { bytes: bytes.clone(), e_tag, modified, ..Content::default() });
        let file = open(&url);
        server.count();
        assert_eq!(file.read(20).unwrap(), tensor(20, 30_000));
        let asked = server.asked.lock().unwrap().clone();
        assert!(!asked.is_empty() && asked.iter().all(|asked| asked.ends_with(time)), "{asked:?}");
    }
}

#[test]
fn an_object_that_was_replaced_is_an_error_and_never_bytes_of_both() {
    let (server, proxy) = served(40, 30_000);
    let url = proxy.url("/m/a.zt");
    let first = open(&url);
    let identity = first.identity();
    assert!(identity != 0 && identity == open(&url).identity());
    server.put("/m/a.zt", zt_bytes(40, 30_000), "\"two\"");
    proxy.count();
    let (status, text) = first.read(0).unwrap_err();
    assert!(status == status::IO && text.contains("changed since it was opened"), "{text}");
    assert!(text.contains(&url) && text.contains("layers.0.weight"), "{text}");
    // It stays failed, without another request.
    let asked = proxy.count();
    assert!(first.read_batch(&(0..40).collect::<Vec<_>>()).is_err() && (asked, proxy.count()) == (1, 0));
    let second = open(&url);
    assert_ne!(second.identity(), identity);
    // If a server ignores conditions, its answer shows the change.
    proxy.all(Some(Fault::Header("etag", "\"three\"")));
    let (_, text) = second.read(0).unwrap_err();
    assert!(text.contains("changed since it was opened"), "{text}");
    // A weak ETag may belong to other bytes, so the time counts, too.
    let (bytes, modified) = (zt_bytes(40, 30_000), |day| Some(format!("Tue, 0{day} Jan 2030 00:00:00 GMT")));
    let weak = |day| Content {
        bytes: Arc::new(bytes.clone()),
        e_tag: Some("W/\"weak\"".into()),
        modified: modified(day),
        ..Content::default()
    };
    proxy.all(None);
    server.set("/m/weak.zt", weak(1));
    let third = open(&proxy.url("/m/weak.zt"));
    proxy.all(Some(Fault::Header("last-modified", "Tue, 08 Jan 2030 00:00:00 GMT")));
    let (_, text) = third.read(0).unwrap_err();
    assert!(text.contains("changed since it was opened"), "{text}");
    // The object is replaced while it is being opened.
    proxy.all(None);
    proxy.next(&[Fault::Header("etag", "\"four\"")]);
    let (_, text) = File::open(&url, &Options::quick()).err().unwrap();
    assert!(text.contains("changed while it was opened"), "{text}");
}

#[test]
fn temporary_failures_are_retried() {
    let (_server, proxy) = served(40, 200_000);
    let url = proxy.url("/m/a.zt");
    let file = open(&url);
    for faults in [
        vec![Fault::Status(503), Fault::Status(429)],
        vec![Fault::Status(500), Fault::Cut(0)],
        vec![Fault::Cut(100_000), Fault::Cut(1)],
        vec![Fault::Wait(Duration::from_millis(50))],
    ] {
        proxy.count();
        proxy.next(&faults);
        assert_eq!(file.read(7).unwrap(), tensor(7, 200_000), "{faults:?}");
        let more = faults.len() - usize::from(matches!(faults[0], Fault::Wait(_)));
        assert_eq!(proxy.count(), 1 + more, "{faults:?}");
    }
    proxy.next(&[Fault::Status(503), Fault::Cut(10), Fault::Status(500)]);
    assert_eq!(open(&url).count(), 40);
}

#[test]
fn permanent_failures_name_the_object_without_secrets() {
    let (_server, proxy) = served(400, 30_000);
    let url = format!("http://me:hush@{}/m/a.zt?X-Signature=hush", proxy.address);
    let file = open(&url);
    proxy.count();
    proxy.all(Some(Fault::Status(503)));
    let (status, text) = file.read(7).unwrap_err();
    assert_eq!((status, proxy.count()), (status::IO, 3));
    assert!(text.contains(&proxy.url("/m/a.zt")) && text.contains("answered 503 SlowDown"), "{text}");
    assert!(!text.contains("hush"), "{text}");
    // A batch does not try each of its tensors.
    assert!(file.read_batch(&(0..400).collect::<Vec<_>>()).is_err());
    assert_eq!(proxy.count(), 0);
    for fault in
        [Fault::Status(404), Fault::Status(403), Fault::Status(401), Fault::Status(412), Fault::Cut(0)]
    {
        proxy.all(Some(fault.clone()));
        let (status, text) = File::open(&url, &Options::quick()).err().unwrap();
        assert!(text.contains(&proxy.url("/m/a.zt")) && !text.contains("hush"), "{text}");
        assert_eq!(status == status::NO_FILE, fault == Fault::Status(404), "{text}");
    }
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (_, text) = File::open(&format!("http://{gone}/a.zt?hush"), &Options::quick()).err().unwrap();
    assert!(text.contains("could not connect") && !text.contains("hush"), "{text}");
}

#[test]
fn a_server_that_hangs_is_left_after_the_time_for_it() {
    let (_server, proxy) = served(40, 30_000);
    let mut options = Options::quick();
    (options.raw.timeout_ms, options.raw.retries) = (300, ZT_REMOTE_NO_RETRIES);
    let file = File::open(&proxy.url("/m/a.zt"), &options).ok().unwrap();
    proxy.count();
    proxy.all(Some(Fault::Hang));
    let (status, text) = file.read(7).unwrap_err();
    assert!(status == status::IO && text.contains("no answer in time"), "{text}");
    assert!(file.read(8).is_err() && proxy.count() == 1);
    assert!(File::open(&proxy.url("/m/a.zt"), &options).is_err());
    // Later it sends requests again.
    proxy.all(None);
    std::thread::sleep(Duration::from_millis(400));
    assert_eq!(file.read(7).unwrap(), tensor(7, 30_000));
}

#[test]
fn wrong_answers_are_errors() {
    let (_server, proxy) = served(40, 30_000);
    let url = proxy.url("/m/a.zt");
    let mut options = Options::quick();
    options.raw.timeout_ms = 50; // failures are remembered for this long
    for (fault, words) in [
        (Fault::Whole, "ignores ranges"),
        (Fault::Short(1), "bytes"),
        (Fault::Short(29_000), "bytes"),
        (Fault::Long(5), "bytes"),
        (Fault::Shifted, "other bytes than requested"),
        (Fault::Header("content-range", ""), "Content-Range"),
        (Fault::Header("content-range", "bytes 1-2/x"), "Content-Range"),
        (Fault::Header("content-range", "bytes 0-18446744073709551615/5"), "answer"),
        (Fault::Header("content-range", "bytes 9-3/5"), "bytes"),
    ] {
        let file = File::open(&url, &options).ok().unwrap();
        proxy.all(Some(fault.clone()));
        let (status, text) = file.read(7).unwrap_err();
        assert!(status == status::IO && text.contains(words) && text.contains(&url), "{fault:?}: {text}");
        assert!(File::open(&url, &options).is_err(), "{fault:?}");
        proxy.all(None);
        assert_eq!(File::open(&url, &options).ok().unwrap().read(7).unwrap(), tensor(7, 30_000));
    }
}

#[test]
fn presigned_urls_redirects_and_words_of_access_reach_the_server() {
    let (server, _) = served(40, 30_000);
    let content = server.contents.lock().unwrap()["/m/a.zt"].clone();
    let query = Some("X-Expires=7&X-Signature=a%2Fb".to_owned());
    server.set("/signed.zt", Content { query, ..content.clone() });
    assert_eq!(
        open(&server.url("/signed.zt?X-Expires=7&X-Signature=a%2Fb")).read(3).unwrap(),
        tensor(3, 30_000)
    );
    let (_, text) = File::open(&server.url("/signed.zt?X-Signature=hush"), &Options::quick()).err().unwrap();
    assert!(text.contains("access was refused") && text.contains("403") && !text.contains("hush"), "{text}");
    let other = Server::start();
    other.set("/moved.zt", Content { redirect: Some(server.url("/m/a.zt")), ..Content::default() });
    assert_eq!(open(&other.url("/moved.zt?X-Signature=hush")).read(3).unwrap(), tensor(3, 30_000));
    assert!(server.referers.lock().unwrap().is_empty());
    let basic = Some("Basic bWU6d29yZEA=".to_owned());
    server.set("/basic.zt", Content { authorization: basic, ..content.clone() });
    assert_eq!(open(&format!("http://me:word%40@{}/basic.zt", server.address)).count(), 40);
    server.set("/bearer.zt", Content { authorization: Some("Bearer hush".into()), ..content });
    let mut options = Options::quick();
    options.raw.token = options.keep("hush");
    assert_eq!(File::open(&server.url("/bearer.zt"), &options).ok().unwrap().count(), 40);
    assert!(File::open(&server.url("/bearer.zt"), &Options::quick()).is_err());
}

#[test]
fn a_server_without_suffixes_gets_explicit_ranges() {
    let (server, _) = served(40, 30_000);
    let content = server.contents.lock().unwrap()["/m/a.zt"].clone();
    server.set("/m/a.zt", Content { no_suffixes: true, ..content });
    server.count();
    let file = open(&server.url("/m/a.zt"));
    assert_eq!(server.count(), 3);
    assert_eq!(file.read(39).unwrap(), tensor(39, 30_000));
}

#[test]
fn a_model_opens_by_its_index_and_by_one_of_its_files() {
    let server = Server::start();
    for entry in std::fs::read_dir(corpus("amber-hf-sharded")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        server.put(&format!("/models/amber/{name}"), std::fs::read(&path).unwrap(), &format!("\"{name}\""));
    }
    let by_index = open(&server.url("/models/amber/model.safetensors.index.json"));
    assert_eq!(by_index.parts(), 3);
    assert!(server.count() <= 1 + 3 * 2);
    let by_part = open(&server.url("/models/amber/model-00002-of-00003.safetensors"));
    assert_eq!((by_part.parts(), by_part.count()), (3, by_index.count()));
    for at in 0..by_index.count() {
        assert_eq!(by_index.name(at), by_part.name(at));
        assert_eq!(by_index.read(at).unwrap(), by_part.read(at).unwrap());
    }
    server.contents.lock().unwrap().remove("/models/amber/model-00003-of-00003.safetensors");
    let url = server.url("/models/amber/model.safetensors.index.json");
    let (status, text) = File::open(&url, &Options::quick()).err().unwrap();
    assert!(status == status::NO_FILE && text.contains("model-00003-of-00003.safetensors"), "{text}");
    let (status, text) = File::open(&server.url("/models/amber/"), &Options::quick()).err().unwrap();
    assert!(status == status::UNSUPPORTED && text.contains("folders cannot be listed over HTTP"), "{text}");
}

/// The names of parts come from the index. They are names, not pieces of a URL.
#[test]
fn a_part_may_have_a_question_mark_or_number_sign_in_its_name() {
    let server = Server::start();
    let put = |from: &str, path: &str| {
        let bytes = std::fs::read(corpus("amber-hf-sharded").join(from)).unwrap();
        server.put(&format!("/m/{path}"), bytes, &format!("\"{from}\""));
    };
    let [first, second, third] = [1, 2, 3].map(|number| format!("model-{number:05}-of-00003.safetensors"));
    put(&first, &first);
    put(&second, &second);
    put(&third, "a%3Fb%23c.safetensors");
    put(&third, &third);
    put("model.safetensors.index.json", "usual.index.json");
    let usual = open(&server.url("/m/usual.index.json"));
    let index = corpus("amber-hf-sharded").join("model.safetensors.index.json");
    let index = std::fs::read_to_string(index).unwrap().replace(&third, "a?b#c.safetensors");
    server.put("/m/odd.index.json", index.into_bytes(), "\"odd\"");
    let odd = open(&server.url("/m/odd.index.json"));
    let tensors = |model: &File| {
        let all = (0..model.count()).map(|at| (model.name(at), model.read(at).unwrap()));
        all.collect::<std::collections::BTreeMap<_, _>>()
    };
    assert_eq!((odd.parts(), odd.count()), (3, 12));
    assert_eq!(tensors(&odd), tensors(&usual));
}

#[test]
fn one_object_is_a_source() {
    let (server, _) = served(40, 30_000);
    let (url, options) = (CString::new(server.url("/m/a.zt")).unwrap(), Options::quick());
    for size in [40, 48, 80, size_of::<zt_source>(), size_of::<zt_source>() + 8] {
        let mut space = [0xa5a5_a5a5_a5a5_a5a5usize; 16];
        space[0] = size;
        let source = space.as_mut_ptr().cast::<zt_source>();
        assert_eq!(unsafe { zt_remote_source(url.as_ptr(), &options.raw, source) }, 0, "{}", last_error());
        assert!(space[size / 8..].iter().all(|word| *word == 0xa5a5_a5a5_a5a5_a5a5), "{size}");
        let file = File::of_source(unsafe { &*source });
        assert_eq!(file.read(11).unwrap(), tensor(11, 30_000));
        assert_eq!(file.identity() != 0, size >= size_of::<zt_source>());
    }
    let mut source = std::mem::MaybeUninit::<zt_source>::zeroed();
    for size in [0, 8, 32, 41, 1 << 20] {
        unsafe { source.as_mut_ptr().cast::<usize>().write(size) };
        let status = unsafe { zt_remote_source(url.as_ptr(), &options.raw, source.as_mut_ptr()) };
        assert_eq!(status, status::INVALID_ARGUMENT, "{size}");
    }
    // A source that is never opened is closed by its owner.
    unsafe { source.as_mut_ptr().cast::<usize>().write(size_of::<zt_source>()) };
    assert_eq!(unsafe { zt_remote_source(url.as_ptr(), &options.raw, source.as_mut_ptr()) }, 0);
    let source = unsafe { source.assume_init() };
    let (mut bytes, mut size) = ([0u8; 4], 0);
    unsafe {
        assert_eq!(source.size.unwrap()(source.context, &mut size), 0);
        assert_eq!(source.read_at.unwrap()(source.context, size - 4, bytes.as_mut_ptr().cast(), 4), 0);
        assert_eq!(
            source.read_at.unwrap()(source.context, size - 3, bytes.as_mut_ptr().cast(), 4),
            status::LIMIT
        );
        assert_eq!(
            source.read_at.unwrap()(source.context, u64::MAX, bytes.as_mut_ptr().cast(), 4),
            status::LIMIT
        );
        source.close.unwrap()(source.context);
    }
}

#[test]
fn invalid_arguments_are_rejected_before_any_request() {
    let (server, _) = served(1, 10);
    let url = server.url("/m/a.zt");
    server.count();
    let refused = |url: &str, set: &dyn Fn(&mut Options)| {
        let mut options = Options::quick();
        set(&mut options);
        let (status, text) = File::open(url, &options).err().unwrap();
        assert!(!text.is_empty());
        status
    };
    assert_eq!(refused(&url, &|o| o.raw.struct_size = 0), status::INVALID_ARGUMENT);
    assert_eq!(refused(&url, &|o| o.raw.struct_size = 58), status::INVALID_ARGUMENT);
    assert_eq!(refused(&url, &|o| o.raw.concurrency = 257), status::INVALID_ARGUMENT);
    assert_eq!(refused(&url, &|o| o.raw.retries = 101), status::INVALID_ARGUMENT);
    assert_eq!(refused(&url, &|o| o.raw.allow_http = 2), status::INVALID_ARGUMENT);
    assert_eq!(refused(&url, &|o| o.raw.tail = u32::MAX), status::INVALID_ARGUMENT);
    assert_eq!(refused("a.zt", &|_| ()), status::INVALID_ARGUMENT);
    assert_eq!(refused("ftp://a/b", &|_| ()), status::UNSUPPORTED);
    assert_eq!(refused("http://[::1/a.zt", &|_| ()), status::INVALID_ARGUMENT);
    assert_eq!(unsafe { zt_remote_source(std::ptr::null(), std::ptr::null(), std::ptr::null_mut()) }, 1);
    assert_eq!(server.count(), 0);
    // The options of an older header, which are shorter.
    let mut options = Options::quick();
    options.raw.struct_size = 64;
    assert_eq!(File::open(&url, &options).ok().unwrap().count(), 1);
}

#[test]
fn many_threads_read_one_file() {
    let (_server, proxy) = served(300, 20_000);
    let file = Arc::new(Shared(open(&proxy.url("/m/a.zt"))));
    let threads: Vec<_> = (0..8)
        .map(|thread| {
            let file = file.clone();
            std::thread::spawn(move || {
                for at in (thread..300).step_by(8) {
                    assert_eq!(file.0.read(at).unwrap(), tensor(at, 20_000));
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

struct Shared(File);
// SAFETY: any number of threads may use it.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}
