//! A web server for ranges, from memory: ETags, If-Match, If-Unmodified-Since, suffixes, redirects.

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// The content at a path.
#[derive(Clone, Default)]
pub struct Content {
    pub bytes: Arc<Vec<u8>>,
    pub e_tag: Option<String>,
    /// In the form of the header: "Tue, 01 Jan 2030 00:00:00 GMT".
    pub modified: Option<String>,
    /// The target of a redirect.
    pub redirect: Option<String>,
    /// The query that a request must have.
    pub query: Option<String>,
    /// The required start of its Authorization.
    pub authorization: Option<String>,
    /// Another required header, by its name in lower case.
    pub header: Option<(String, String)>,
    /// Text that the body of the request must contain.
    pub body: Option<String>,
    /// Does not support bytes=-N.
    pub no_suffixes: bool,
}

/// The head of a message: its first line, and its headers in lower case.
pub struct Head {
    pub first: String,
    pub headers: HashMap<String, String>,
}

impl Head {
    /// `None` at the end of the connection.
    pub fn read(from: &mut impl BufRead) -> Option<Head> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if from.read_line(&mut line).ok()? == 0 {
                return None;
            }
            match line.trim_end() {
                "" => break,
                line => lines.push(line.to_owned()),
            }
        }
        let headers = lines.iter().skip(1).filter_map(|line| line.split_once(':'));
        let headers =
            headers.map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned())).collect();
        Some(Head { first: lines.first()?.clone(), headers })
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// Runs until the process ends.
#[derive(Clone)]
pub struct Server {
    pub address: String,
    pub contents: Arc<Mutex<HashMap<String, Content>>>,
    pub requests: Arc<AtomicUsize>,
    /// The requests, a line for each: path, range, condition.
    pub asked: Arc<Mutex<Vec<String>>>,
    /// The Referer headers of requests.
    pub referers: Arc<Mutex<Vec<String>>>,
    /// The credentials in headers and queries of requests.
    pub credentials: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub fn start() -> Server {
        Server::start_with(Some)
    }

    /// With a certificate for 127.0.0.1 from the authority in tests/tls, which no system trusts.
    pub fn start_tls() -> Server {
        let certificates = CertificateDer::pem_slice_iter(include_bytes!("../tls/server.pem"));
        let key = PrivateKeyDer::from_pem_slice(include_bytes!("../tls/server.key")).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config =
            ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = config.with_no_client_auth();
        let config =
            Arc::new(config.with_single_cert(certificates.map(Result::unwrap).collect(), key).unwrap());
        Server::start_with(move |stream| {
            let connection = ServerConnection::new(config.clone()).ok()?;
            Some(StreamOwned::new(connection, stream))
        })
    }

    fn start_with<S: Read + Write>(wrap: impl Fn(TcpStream) -> Option<S> + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Server {
            address: listener.local_addr().unwrap().to_string(),
            contents: Arc::default(),
            requests: Arc::default(),
            asked: Arc::default(),
            referers: Arc::default(),
            credentials: Arc::default(),
        };
        let (serving, wrap) = (server.clone(), Arc::new(wrap));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (serving, wrap) = (serving.clone(), wrap.clone());
                std::thread::spawn(move || wrap(stream).map(|stream| serving.serve(stream)));
            }
        });
        server
    }

    pub fn put(&self, path: &str, bytes: Vec<u8>, e_tag: &str) {
        let e_tag = Some(e_tag.to_owned()).filter(|tag| !tag.is_empty());
        self.set(path, Content { bytes: Arc::new(bytes), e_tag, ..Content::default() });
    }

    pub fn set(&self, path: &str, content: Content) {
        self.contents.lock().unwrap().insert(path.to_owned(), content);
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Requests since the last call.
    pub fn count(&self) -> usize {
        self.asked.lock().unwrap().clear();
        self.requests.swap(0, Ordering::Relaxed)
    }

    fn serve(&self, stream: impl Read + Write) {
        let mut reader = BufReader::new(stream);
        while let Some(head) = Head::read(&mut reader) {
            self.requests.fetch_add(1, Ordering::Relaxed);
            let mut sent = vec![0; head.get("content-length").map_or(0, |size| size.parse().unwrap())];
            if reader.read_exact(&mut sent).is_err() {
                return;
            }
            let (answer, body) = self.answer(&head, &String::from_utf8_lossy(&sent));
            let stream = reader.get_mut();
            let closes = head.get("connection") == Some("close");
            let answer = format!("{answer}Content-Length: {}\r\n\r\n", body.len());
            if stream.write_all(answer.as_bytes()).is_err() || stream.write_all(&body).is_err() || closes {
                return;
            }
        }
    }

    fn answer(&self, head: &Head, sent: &str) -> (String, Vec<u8>) {
        let error = |status: &str| (format!("HTTP/1.1 {status}\r\n"), b"<Code>Word</Code> secret".to_vec());
        let target = head.first.split(' ').nth(1).unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let condition = head.get("if-match").or(head.get("if-unmodified-since")).unwrap_or("-");
        let range = head.get("range").unwrap_or("-");
        let headers =
            ["authorization", "proxy-authorization", "cookie"].map(|name| head.get(name).unwrap_or(""));
        let sent_secrets = headers.into_iter().chain([query]).filter(|text| !text.is_empty());
        self.credentials.lock().unwrap().extend(sent_secrets.map(str::to_owned));
        self.referers.lock().unwrap().extend(head.get("referer").map(str::to_owned));
        self.asked.lock().unwrap().push(format!("{path} {range} {condition}"));
        let Some(content) = self.contents.lock().unwrap().get(path).cloned() else {
            return error("404 Not Found");
        };
        if let Some(to) = content.redirect {
            return (format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\n"), Vec::new());
        }
        let other_header =
            content.header.is_some_and(|(name, value)| head.get(&name) != Some(value.as_str()));
        let other_body = content.body.is_some_and(|wanted| !sent.contains(&wanted));
        if content.query.is_some_and(|wanted| wanted != query) || other_header || other_body {
            return error("403 Forbidden");
        }
        let authorization = head.get("authorization").unwrap_or_default();
        if content.authorization.is_some_and(|wanted| !authorization.starts_with(&wanted)) {
            return error("401 Unauthorized");
        }
        let other_tag = head.get("if-match").is_some_and(|tag| content.e_tag.as_deref() != Some(tag));
        let other_time =
            head.get("if-unmodified-since").is_some_and(|time| content.modified.as_deref() != Some(time));
        if other_tag || other_time {
            return error("412 Precondition Failed");
        }
        let mut answer = String::new();
        content.e_tag.iter().for_each(|tag| answer += &format!("ETag: {tag}\r\n"));
        content.modified.iter().for_each(|time| answer += &format!("Last-Modified: {time}\r\n"));
        let size = content.bytes.len();
        let Some(range) = head.get("range").and_then(|range| range.strip_prefix("bytes=")) else {
            return (format!("HTTP/1.1 200 OK\r\n{answer}"), content.bytes.to_vec());
        };
        let (start, end) = match range.split_once('-').unwrap() {
            ("", _) if content.no_suffixes => return error("400 Bad Request"),
            ("", last) => (size.saturating_sub(last.parse().unwrap()), size),
            (start, end) => {
                (start.parse().unwrap(), end.parse::<usize>().map_or(size, |end| end + 1).min(size))
            }
        };
        if start >= end {
            return error("416 Range Not Satisfiable");
        }
        let answer = format!(
            "HTTP/1.1 206 Partial Content\r\n{answer}Content-Range: bytes {start}-{}/{size}\r\n",
            end - 1
        );
        (answer, content.bytes[start..end].to_vec())
    }
}
