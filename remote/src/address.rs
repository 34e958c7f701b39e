//! Parses URLs: the service, the bucket, the object, and the form for messages.

use crate::core::status;
use crate::failure::{invalid, Failure};
use url::Url;

/// A kind of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    S3,
    Google,
    Azure,
    Http,
}

/// The location of an object or folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub service: Service,
    /// The bucket or container. For HTTP: scheme, user and host, "https://name:word@host:81".
    pub root: String,
    /// The key of the object; for HTTP the URL's path without the first '/'.
    pub key: String,
    /// The query of an HTTP URL, with its '?'.
    pub query: String,
    /// The part before the key in messages, without user and query.
    pub shown: String,
}

impl Address {
    /// Parses a URL. No error contains any part of it, because something that cannot be parsed may be a
    /// password.
    pub fn parse(url: &str) -> Result<Address, Failure> {
        if url.chars().any(char::is_control) {
            return Err(invalid("a URL holds no control characters"));
        }
        let (scheme, rest) =
            url.split_once("://").ok_or_else(|| invalid("this is not a URL: it has no \"://\""))?;
        let scheme = scheme.to_ascii_lowercase();
        match scheme.as_str() {
            "s3" | "s3a" => bucket(Service::S3, &scheme, rest),
            "gs" => bucket(Service::Google, &scheme, rest),
            "az" | "azure" => bucket(Service::Azure, &scheme, rest),
            "http" | "https" => web(&scheme, rest),
            _ => Err(Failure::new(
                status::UNSUPPORTED,
                "unknown kind of URL; use s3://, gs://, az://, https:// or http://",
            )),
        }
    }

    /// The form for messages of an object in this location.
    pub fn show(&self, key: &str) -> String {
        format!("{}{key}", self.shown)
    }
}

/// An object in a bucket. Everything after the first '/' is its key, which may contain a '?'.
fn bucket(service: Service, scheme: &str, rest: &str) -> Result<Address, Failure> {
    let (root, key) = rest.split_once('/').unwrap_or((rest, ""));
    if root.is_empty() {
        return Err(invalid("the URL names no bucket"));
    }
    let odd = |c: char| c.is_whitespace() || "@\\?#%".contains(c);
    if root.contains(odd) || (root.contains(':') && key.contains('@')) {
        return Err(invalid(
            "the name of the bucket has invalid characters; such a URL cannot have credentials",
        ));
    }
    let shown = format!("{scheme}://{root}/");
    Ok(Address { service, root: root.to_owned(), key: key.to_owned(), query: String::new(), shown })
}

/// An object on a web server. The crate `url` parses the URL, as for every request. If it finds another host
/// or port than the text has, other parsers may find yet others, so the URL is refused.
fn web(scheme: &str, rest: &str) -> Result<Address, Failure> {
    let (authority, behind) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    if authority.is_empty() {
        return Err(invalid("the URL names no host"));
    }
    if rest.contains(|c: char| c == '\\' || c.is_whitespace()) {
        return Err(invalid(
            "a URL of a web server cannot have a backslash or a space: write them as %5C and %20",
        ));
    }
    let (user, host) = authority.split_once('@').map_or(("", authority), |(user, host)| (user, host));
    let is_ambiguous = !behind.starts_with('/') || authority.contains([':', '@']);
    if behind.contains('@') && is_ambiguous {
        return Err(invalid(
            "the URL has an '@' behind its host: write '/', '?' and '#' of a password as %2F, %3F and %23, and an '@' that \
             belongs to a path or a query as %40",
        ));
    }
    let url = Url::parse(&format!("{scheme}://{rest}"));
    let url = url.map_err(|_| invalid("this is not a URL of a web server"))?;
    if !is_as_written(&url, host) || !user.bytes().all(is_of_user) {
        return Err(invalid(
            "the URL's host, port or user is not written as all programs read it: a host in ASCII, an address with all of its \
             numbers, other characters of a user or a password as %XX",
        ));
    }
    let (path, query) = {
        let behind = behind.split_once('#').map_or(behind, |(front, _)| front);
        behind.split_at(behind.find('?').unwrap_or(behind.len()))
    };
    Ok(Address {
        service: Service::Http,
        root: format!("{scheme}://{authority}"),
        key: path.strip_prefix('/').unwrap_or(path).to_owned(),
        query: query.to_owned(),
        shown: format!("{scheme}://{host}/"),
    })
}

/// Whether the parsed host and port are exactly the ones in the text.
fn is_as_written(url: &Url, host: &str) -> bool {
    let read = url.host_str().unwrap_or_default();
    let Some(name) = host.get(..read.len()) else { return false };
    let port = match &host[read.len()..] {
        "" => None,
        port => port.strip_prefix(':').map(str::to_owned),
    };
    let is_same_port = match (&port, host.len() == read.len()) {
        (None, at_end) => at_end,
        (Some(port), _) => url.port_or_known_default().is_some_and(|read| read.to_string() == *port),
    };
    !read.is_empty() && name.eq_ignore_ascii_case(read) && is_same_port
}

/// Whether RFC 3986 allows this byte in a user or password.
fn is_of_user(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:%".contains(&byte)
}

/// The URL for messages: without user, query and fragment. For an invalid URL, only the scheme.
pub fn shown(url: &str) -> String {
    match (Address::parse(url), url.split_once("://")) {
        (Ok(address), _) => address.show(&address.key),
        (Err(_), Some((scheme, _))) => format!("{scheme}://..."),
        (Err(_), None) => "...".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart_and_shown_without_secrets() {
        let s3 = Address::parse("s3://models/a b/c?d.zt").unwrap();
        assert_eq!((s3.service, s3.root.as_str(), s3.key.as_str()), (Service::S3, "models", "a b/c?d.zt"));
        assert_eq!(s3.show(&s3.key), "s3://models/a b/c?d.zt");
        let http = Address::parse("https://me:word@host:81/a/b.zt?X-Signature=1234#part").unwrap();
        assert_eq!((http.root.as_str(), http.key.as_str()), ("https://me:word@host:81", "a/b.zt"));
        assert_eq!(http.query, "?X-Signature=1234");
        assert_eq!(http.show(&http.key), "https://host:81/a/b.zt");
        assert_eq!(Address::parse("gs://only").unwrap().key, "");
        let part = Address::parse("http://h/a#b?c").unwrap();
        assert_eq!((part.key.as_str(), part.query.as_str()), ("a", ""));
        for (url, status) in
            [("", 1), ("a/b", 1), ("s3://", 1), ("s3:///a", 1), ("ftp://h/a", 7), ("s3://b/a\n", 1)]
        {
            assert_eq!(Address::parse(url).unwrap_err().status, status, "{url}");
        }
    }

    /// No request is sent to any of them, and no message contains a part of them.
    #[test]
    fn urls_that_parsers_read_differently_are_refused() {
        for url in [
            "https://good.example\\@127.0.0.1/",
            "https://good.example\\\\@127.0.0.1/",
            "https://good.example/\\@127.0.0.1/",
            "https://good.example#@127.0.0.1/",
            "https://good.example?@127.0.0.1/",
            "https://good.example@good.example@127.0.0.1/",
            "https://me:hush/hush@127.0.0.1/a",
            "https://me:80/hush@127.0.0.1/a",
            "https://me:80/a?hush@127.0.0.1/a",
            "https://me:hu?sh@127.0.0.1/a",
            "https://me:hu#sh@127.0.0.1/a",
            "https://me:hu@sh/hush@127.0.0.1/a",
            "https://me:hu sh@127.0.0.1/a",
            "https://me:hu%sh^@127.0.0.1/a",
            "https:///good.example/a",
            "https:////good.example/a",
            "https://good.example:/a",
            "https://good.example:0443/a",
            "https://good.example:99999/a",
            "https://good.example:80:90/a",
            "https://127.1/a",
            "https://2130706433/a",
            "https://0x7f.0.0.1/a",
            "https://0177.0.0.1/a",
            "https://%31%32%37.0.0.1/a",
            "https://\u{ff11}27.0.0.1/a",
            "https://b\u{fc}cher.example/a",
            "https://good.example\u{3002}other/a",
            "https://go\u{ad}od.example/a",
            "https://[::0001]/a",
            "https://[::1/a",
            "https://good example/a",
            " https://good.example/a",
            "https://@/a",
            "https://:80/a",
            "s3://key:hush@bucket/a",
            "s3://key:hu/sh@bucket/a",
            "s3://bucket\\other/a",
        ] {
            let refused = Address::parse(url).expect_err(url);
            assert!([status::INVALID_ARGUMENT, status::UNSUPPORTED].contains(&refused.status), "{url}");
            for secret in ["hush", "127.0", "example", "me:"] {
                assert!(
                    !refused.text.contains(secret) && !shown(url).contains(secret),
                    "{url}: {}",
                    refused.text
                );
            }
        }
    }

    #[test]
    fn urls_that_all_parsers_read_alike_are_taken() {
        for (url, root, key, text) in [
            ("https://h.example", "https://h.example", "", "https://h.example/"),
            ("HTTPS://H.Example:443/a", "https://H.Example:443", "a", "https://H.Example:443/a"),
            ("http://127.0.0.1:8080/a%20b", "http://127.0.0.1:8080", "a%20b", "http://127.0.0.1:8080/a%20b"),
            ("http://[::1]:81/a", "http://[::1]:81", "a", "http://[::1]:81/a"),
            ("https://h/npm/x@1.0/a", "https://h", "npm/x@1.0/a", "https://h/npm/x@1.0/a"),
            ("https://me:w%2Fo%40rd@h/a?b", "https://me:w%2Fo%40rd@h", "a", "https://h/a"),
            ("https://token@h/a", "https://token@h", "a", "https://h/a"),
            (
                "https://xn--bcher-kva.example/a",
                "https://xn--bcher-kva.example",
                "a",
                "https://xn--bcher-kva.example/a",
            ),
            ("s3://bucket/a@b", "bucket", "a@b", "s3://bucket/a@b"),
        ] {
            let address = Address::parse(url).unwrap_or_else(|e| panic!("{url}: {}", e.text));
            assert_eq!((address.root.as_str(), address.key.as_str()), (root, key));
            assert_eq!(shown(url), text);
        }
    }
}
