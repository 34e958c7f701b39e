//! A proxy that forwards requests to a server, counts them, and corrupts some answers.

use super::server::Head;
use std::io::{BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What happens to an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// Nothing.
    Pass,
    /// Another answer with this status, without asking the server.
    Status(u16),
    /// The connection ends after this many bytes of the body.
    Cut(usize),
    /// There is no answer, and the connection stays open.
    Hang,
    /// The answer is late.
    Wait(Duration),
    /// This many bytes are missing, and Content-Length agrees.
    Short(usize),
    /// There are additional bytes, and Content-Length agrees.
    Long(usize),
    /// Range is removed, so that all bytes come.
    Whole,
    /// The answer has other bytes than requested, and Content-Range says so.
    Shifted,
    /// A header of the answer is replaced; "" removes it.
    Header(&'static str, &'static str),
}

/// Runs until the process ends.
#[derive(Clone)]
pub struct Proxy {
    pub address: String,
    /// For the next requests, in order. After that, answers are forwarded unchanged.
    pub faults: Arc<Mutex<Vec<Fault>>>,
    /// For every request when `faults` is empty.
    pub always: Arc<Mutex<Option<Fault>>>,
    pub requests: Arc<AtomicUsize>,
    pub bytes: Arc<AtomicUsize>,
}

impl Proxy {
    pub fn start(server: &str) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = Proxy {
            address: listener.local_addr().unwrap().to_string(),
            faults: Arc::default(),
            always: Arc::default(),
            requests: Arc::default(),
            bytes: Arc::default(),
        };
        let (passing, server) = (proxy.clone(), server.to_owned());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (passing, server) = (passing.clone(), server.clone());
                std::thread::spawn(move || passing.pass(stream, &server));
            }
        });
        proxy
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Corrupts the next answers.
    pub fn next(&self, faults: &[Fault]) {
        *self.faults.lock().unwrap() = faults.to_vec();
    }

    /// Corrupts all answers from now on.
    pub fn all(&self, fault: Option<Fault>) {
        *self.always.lock().unwrap() = fault;
    }

    /// The number of requests since the last call.
    pub fn count(&self) -> usize {
        self.requests.swap(0, Ordering::Relaxed)
    }

    fn pass(&self, stream: TcpStream, server: &str) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        while let Some(head) = Head::read(&mut reader) {
            self.requests.fetch_add(1, Ordering::Relaxed);
            let size = head.get("content-length").and_then(|size| size.parse().ok()).unwrap_or(0);
            let mut sent = vec![0; size];
            if reader.read_exact(&mut sent).is_err() {
                return;
            }
            let fault = {
                let mut faults = self.faults.lock().unwrap();
                let always = || self.always.lock().unwrap().clone();
                if faults.is_empty() {
                    always().unwrap_or(Fault::Pass)
                } else {
                    faults.remove(0)
                }
            };
            if !self.answer(&stream, &head, &sent, server, fault) {
                let _ = stream.shutdown(std::net::Shutdown::Both);
                return;
            }
        }
    }

    /// Whether the connection stays open.
    fn answer(&self, mut stream: &TcpStream, head: &Head, sent: &[u8], server: &str, fault: Fault) -> bool {
        match fault {
            Fault::Status(status) => {
                let body = "<Code>SlowDown</Code><Secret>hush</Secret>";
                let size = body.len();
                let text = format!("HTTP/1.1 {status} Spoiled\r\nContent-Length: {size}\r\n\r\n{body}");
                return stream.write_all(text.as_bytes()).is_ok();
            }
            Fault::Hang => {
                std::thread::sleep(Duration::from_secs(600));
                return false;
            }
            Fault::Wait(time) => std::thread::sleep(time),
            _ => {}
        }
        let is_dropped = |name: &str| name == "connection" || (fault == Fault::Whole && name == "range");
        let mut asked = format!("{}\r\nconnection: close\r\n", head.first);
        for (name, value) in head.headers.iter().filter(|(name, _)| !is_dropped(name)) {
            asked += &match (name.as_str(), &fault) {
                ("range", Fault::Shifted) => format!("range: {}\r\n", shifted(value)),
                _ => format!("{name}: {value}\r\n"),
            };
        }
        let Ok(mut upstream) = TcpStream::connect(server) else { return false };
        if upstream.write_all(format!("{asked}\r\n").as_bytes()).is_err() || upstream.write_all(sent).is_err()
        {
            return false;
        }
        let mut upstream = BufReader::new(upstream);
        let Some(mut got) = Head::read(&mut upstream) else { return false };
        let mut body = Vec::new();
        let size = got.get("content-length").and_then(|size| size.parse::<u64>().ok());
        let _ = match size {
            _ if head.first.starts_with("HEAD") => Ok(0),
            Some(size) => (&mut upstream).take(size).read_to_end(&mut body),
            None => upstream.read_to_end(&mut body),
        };
        if got.get("transfer-encoding").is_some() {
            body = unchunked(&body);
            got.headers.remove("transfer-encoding");
        }
        let mut length = if head.first.starts_with("HEAD") { size.unwrap_or(0) as usize } else { body.len() };
        match fault {
            Fault::Short(less) => {
                body.truncate(length.saturating_sub(less));
                length = body.len();
            }
            Fault::Long(more) => {
                body.resize(length + more, 7);
                length = body.len();
            }
            Fault::Header(name, "") => drop(got.headers.remove(name)),
            Fault::Header(name, value) => drop(got.headers.insert(name.into(), value.into())),
            _ => {}
        }
        let mut text = format!("{}\r\n", got.first);
        for (name, value) in
            got.headers.iter().filter(|(name, _)| !["content-length", "connection"].contains(&name.as_str()))
        {
            text += &format!("{name}: {value}\r\n");
        }
        text += &format!("content-length: {length}\r\n\r\n");
        if let Fault::Cut(after) = fault {
            body.truncate(after);
        }
        self.bytes.fetch_add(body.len(), Ordering::Relaxed);
        stream.write_all(text.as_bytes()).is_ok()
            && stream.write_all(&body).is_ok()
            && !matches!(fault, Fault::Cut(_))
    }
}

/// bytes=5-9 becomes bytes=6-10; a suffix becomes one shorter.
fn shifted(range: &str) -> String {
    let range = range.strip_prefix("bytes=").unwrap();
    let number = |text: &str| text.parse::<u64>().unwrap();
    match range.split_once('-').unwrap() {
        ("", last) => format!("bytes=-{}", number(last) - 1),
        (start, end) => format!("bytes={}-{}", number(start) + 1, number(end) + 1),
    }
}

fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(at) = body.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&body[..at]).unwrap().split(';').next().unwrap();
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        if size == 0 {
            break;
        }
        all.extend_from_slice(&body[at + 2..at + 2 + size]);
        body = &body[at + 4 + size..];
    }
    all
}
