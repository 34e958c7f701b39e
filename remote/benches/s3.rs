//! Reads from S3 on this machine, compared with parallel range requests by object_store alone and with
//! Run:ai's streamer:

#[allow(unused)]
#[path = "../tests/common/mod.rs"]
mod common;
#[allow(clippy::undocumented_unsafe_blocks)]
#[path = "../../benches/src/peers/runai.rs"]
mod runai;

use common::server::Head;
use common::ztensor::{tensor, zt_bytes};
use common::{File, Options};
use futures_util::StreamExt;
use object_store::aws::AmazonS3Builder;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStore, ObjectStoreExt};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Instant;

/// The size of each tensor: as large as a matrix of a small model.
const TENSOR: usize = 9 << 20;
const URL: &str = "s3://models/model.zt";
/// The least part of object_store's speed that has to be reached.
const REACH: f64 = 0.9;

fn variable(name: &str, otherwise: usize) -> usize {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.get(1..) {
        Some(["--serve", count]) => serve(count.parse().expect("a number")),
        Some(["--runai", size, places @ ..]) => by_runai(size.parse().expect("a number"), places),
        _ => measure(),
    }
}

/// Serves one object at every path.
fn serve(count: usize) {
    let object: &'static [u8] = zt_bytes(count, TENSOR).leak();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("{}", listener.local_addr().unwrap());
    for stream in listener.incoming().flatten() {
        std::thread::spawn(move || answer(stream, object));
    }
}

fn answer(stream: TcpStream, object: &[u8]) {
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut stream, size) = (stream, object.len());
    while let Some(head) = Head::read(&mut reader) {
        let about =
            "ETag: \"one\"\r\nLast-Modified: Tue, 01 Jan 2030 00:00:00 GMT\r\nAccept-Ranges: bytes\r\n";
        let range = head.get("range").and_then(|range| range.strip_prefix("bytes=")?.split_once('-'));
        let (status, start, end) = match range {
            None => ("200 OK", 0, size),
            Some(("", last)) => ("206 Partial Content", size.saturating_sub(last.parse().unwrap()), size),
            Some((start, end)) => {
                let end = end.parse::<usize>().map_or(size, |end| end + 1).min(size);
                ("206 Partial Content", start.parse().unwrap(), end)
            }
        };
        let place = format!("Content-Range: bytes {start}-{}/{size}\r\n", end - 1);
        let place = if range.is_some() { place.as_str() } else { "" };
        let text = format!("HTTP/1.1 {status}\r\n{about}{place}Content-Length: {}\r\n\r\n", end - start);
        let body = if head.first.starts_with("HEAD") { &[][..] } else { &object[start..end] };
        if stream.write_all(text.as_bytes()).is_err() || stream.write_all(body).is_err() {
            return;
        }
    }
}

/// A process that ends with the benchmark.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Memory whose pages exist.
fn memory(size: usize) -> Vec<u8> {
    vec![1; size]
}

/// object_store's own client, with a request size and a number of concurrent requests.
struct Alone {
    store: Arc<dyn ObjectStore>,
    size: u64,
    runtime: tokio::runtime::Runtime,
}

impl Alone {
    fn new(endpoint: &str, size: u64) -> Alone {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = AmazonS3Builder::new().with_bucket_name("models").with_region("us-east-1");
        let builder = builder.with_endpoint(endpoint).with_allow_http(true);
        let store = builder.with_access_key_id("key").with_secret_access_key("word").build().unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        Alone { store: Arc::new(store), size, runtime }
    }

    /// Reads the whole object: each range into memory of its own, or into its place in `memory`.
    fn read(&self, part: u64, at_once: usize, memory: Option<&mut [u8]>) {
        let base = memory.map(|memory| memory.as_mut_ptr() as usize);
        let next = Arc::new(AtomicU64::new(0));
        let tasks: Vec<_> = (0..at_once)
            .map(|_| {
                let (store, next, size) = (self.store.clone(), next.clone(), self.size);
                self.runtime.spawn(async move {
                    let path = Path::from("model.zt");
                    loop {
                        let start = next.fetch_add(part, Ordering::Relaxed);
                        if start >= size {
                            return;
                        }
                        let end = size.min(start + part);
                        let Some(base) = base else {
                            let bytes = store.get_range(&path, start..end).await.unwrap();
                            assert_eq!(bytes.len() as u64, end - start);
                            continue;
                        };
                        let range = Some(GetRange::Bounded(start..end));
                        let options = GetOptions { range, ..GetOptions::default() };
                        let mut stream = store.get_opts(&path, options).await.unwrap().into_stream();
                        let mut at = start as usize;
                        while let Some(chunk) = stream.next().await {
                            let chunk = chunk.unwrap();
                            assert!(at + chunk.len() <= end as usize);
                            // SAFETY: it is in the memory, which exists until all tasks have ended, and no
                            // other task writes there.
                            unsafe {
                                std::ptr::copy_nonoverlapping(
                                    chunk.as_ptr(),
                                    (base + at) as *mut u8,
                                    chunk.len(),
                                );
                            }
                            at += chunk.len();
                        }
                        assert_eq!(at as u64, end);
                    }
                })
            })
            .collect();
        self.runtime.block_on(async {
            for task in tasks {
                task.await.unwrap();
            }
        });
    }
}

/// A process that reads with Run:ai's library, which gets its settings from the environment.
struct ByRunai {
    child: Running,
    said: BufReader<std::process::ChildStdout>,
}

impl ByRunai {
    /// `None` if the library is missing, or cannot read from this server.
    fn start(endpoint: &str, size: usize, places: &[u64], at_once: usize) -> Option<ByRunai> {
        // It is next to ours, to which this program is linked.
        let ours = PathBuf::from(env!("ZT_LIB_DIR"));
        let folders = std::env::join_paths([ours.join("../runai"), ours]).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--runai", &size.to_string()]).args(places.iter().map(u64::to_string));
        command.env("LD_LIBRARY_PATH", folders).env("AWS_ENDPOINT_URL", endpoint);
        command.env("AWS_ACCESS_KEY_ID", "key").env("AWS_SECRET_ACCESS_KEY", "word");
        command.env("AWS_REGION", "us-east-1").env("AWS_EC2_METADATA_DISABLED", "true");
        command.env("RUNAI_STREAMER_S3_USE_VIRTUAL_ADDRESSING", "0").env("AT_ONCE", at_once.to_string());
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut child = Running(child);
        let said = BufReader::new(child.0.stdout.take().unwrap());
        let mut peer = ByRunai { child, said };
        peer.read().map(|_| peer)
    }

    fn read(&mut self) -> Option<f64> {
        writeln!(self.child.0.stdin.as_mut()?, "read").ok()?;
        let mut line = String::new();
        self.said.read_line(&mut line).ok()?;
        line.trim().parse().ok()
    }
}

/// Prints how long each requested read takes.
fn by_runai(size: usize, places: &[&str]) {
    let library = runai::library().unwrap_or_else(|why| {
        eprintln!("bench-remote: Run:ai's streamer is left out: {why}");
        std::process::exit(0)
    });
    let mut memory = memory(size);
    let at_once = variable("AT_ONCE", 8) as u32;
    for _ in std::io::stdin().lines() {
        let ranges = places.iter().enumerate().map(|(at, place)| runai::Range {
            offset: place.parse().unwrap(),
            size: TENSOR,
            dst: memory[at * TENSOR..][..TENSOR].as_mut_ptr(),
        });
        let plan = vec![(PathBuf::from(URL), ranges.collect())];
        let started = Instant::now();
        library.load(&plan, at_once, |_, _| ());
        println!("{}", started.elapsed().as_secs_f64());
        assert!(memory[..TENSOR] == tensor(0, TENSOR), "Run:ai's streamer brought other bytes");
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn measure() {
    let (mib, rounds) = (variable("MIB", 2048), variable("ROUNDS", 5));
    let count = ((mib << 20) / TENSOR).max(1);
    let size = count * TENSOR;
    let mut command = Command::new(std::env::current_exe().unwrap());
    let mut server =
        Running(command.args(["--serve", &count.to_string()]).stdout(Stdio::piped()).spawn().unwrap());
    let mut address = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let endpoint = format!("http://{}", address.trim());
    let mut options = Options::default();
    options.raw.endpoint = options.keep(&endpoint);
    options.raw.region = options.keep("us-east-1");
    (options.raw.key_id, options.raw.secret) = (options.keep("key"), options.keep("word"));
    options.raw.allow_http = 1;

    let mut memory = memory(size + (1 << 20));
    let all: Vec<usize> = (0..count).collect();
    let ours = |memory: &mut [u8]| {
        let file = File::open(URL, &options).unwrap_or_else(|(status, e)| panic!("{status} {e}"));
        let mut places: Vec<&mut [u8]> = memory.chunks_exact_mut(TENSOR).take(count).collect();
        file.read_into(&all, &mut places).unwrap_or_else(|(status, e)| panic!("{status} {e}"));
    };
    ours(&mut memory);
    for (at, bytes) in memory.chunks_exact(TENSOR).take(count).enumerate().step_by(16) {
        assert!(bytes == tensor(at, TENSOR), "libztensor_remote brought other bytes");
    }
    let file = File::open(URL, &options).ok().unwrap();
    let places: Vec<u64> = all.iter().map(|at| file.offset(*at)).collect();
    let end = places[count - 1] + TENSOR as u64;
    let alone = Alone::new(&endpoint, end.min(memory.len() as u64));
    let mut runai: Vec<(usize, ByRunai)> = [8, 16]
        .into_iter()
        .filter_map(|at_once| Some((at_once, ByRunai::start(&endpoint, size, &places, at_once)?)))
        .collect();

    let memory = std::cell::RefCell::new(memory);
    let timed = |f: &dyn Fn(&mut [u8])| {
        let mut memory = memory.borrow_mut();
        let started = Instant::now();
        f(&mut memory);
        started.elapsed().as_secs_f64()
    };
    let mut cases: Vec<(String, Box<dyn FnMut() -> f64 + '_>)> = Vec::new();
    for (part, at_once) in [(8u64, 8), (8, 16), (16, 16), (8, 32)] {
        let name = format!("object_store alone, {at_once} requests of {part} MiB");
        let alone = &alone;
        cases.push((name.clone(), Box::new(move || timed(&|_| alone.read(part << 20, at_once, None)))));
        let name = format!("{name}, into one buffer");
        cases.push((name, Box::new(move || timed(&|memory| alone.read(part << 20, at_once, Some(memory))))));
    }
    let alone_cases = cases.len();
    cases.push(("libztensor_remote, opened and read".into(), Box::new(|| timed(&ours))));
    for (at_once, peer) in &mut runai {
        let name = format!("Run:ai's streamer, {at_once} at once");
        cases.push((name, Box::new(|| peer.read().unwrap_or(f64::NAN))));
    }

    let mut times = vec![Vec::new(); cases.len()];
    for round in 0..rounds {
        for at in 0..cases.len() {
            let case = (at + round) % cases.len();
            times[case].push(cases[case].1());
        }
    }
    println!("S3 from a server on this machine: {count} tensors, {} MiB, {rounds} rounds", size >> 20);
    println!("{:<64} {:>8} {:>8} {:>8} {:>8}", "", "median", "least", "most", "GB/s");
    // Compares each round with the best one of object_store.
    let best: Vec<f64> = (0..rounds)
        .map(|round| (0..alone_cases).map(|case| times[case][round]).fold(f64::MAX, f64::min))
        .collect();
    let mut ratio: Vec<f64> = (0..rounds).map(|round| best[round] / times[alone_cases][round]).collect();
    for ((name, _), times) in cases.iter().zip(&mut times) {
        let middle = median(times);
        let (least, most) = (times[0], times[times.len() - 1]);
        println!("{name:<64} {middle:>8.3} {least:>8.3} {most:>8.3} {:>8.2}", size as f64 / middle / 1e9);
    }
    let ratio = median(&mut ratio);
    let word = if ratio >= REACH { "meets" } else { "misses" };
    println!("S3 of the best of object_store alone in each round: {ratio:.2} (at least {REACH}): {word}");
}
