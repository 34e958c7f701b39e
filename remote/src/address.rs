//! URLs: which service, which bucket, which object, and how messages show it.

use crate::core::status;
use crate::failure::Failure;

/// A kind of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    S3,
    Google,
    Azure,
    Http,
}

/// Where an object is, or a folder of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub service: Service,
    /// The bucket or container; of HTTP scheme, user and host: "https://name:word@host:81".
    pub root: String,
    /// The key of the object; of HTTP the path, as it is in the URL, without the first '/'.
    pub key: String,
    /// The query of an HTTP address, with its '?'.
    pub query: String,
    /// What stands before the key in messages: no user, no query.
    pub shown: String,
}

impl Address {
    pub fn parse(url: &str) -> Result<Address, Failure> {
        let invalid = |why: &str| Failure::new(status::INVALID_ARGUMENT, why);
        if url.chars().any(char::is_control) {
            return Err(invalid("a URL holds no control characters"));
        }
        let (scheme, rest) =
            url.split_once("://").ok_or_else(|| invalid("this is no URL: it has no \"://\""))?;
        let scheme = scheme.to_ascii_lowercase();
        let service = match scheme.as_str() {
            "s3" | "s3a" => Service::S3,
            "gs" => Service::Google,
            "az" | "azure" => Service::Azure,
            "http" | "https" => Service::Http,
            _ => {
                return Err(Failure::new(
                    status::UNSUPPORTED,
                    "such URLs are not known: there are s3://, gs://, az://, https:// and http://",
                ))
            }
        };
        let (rest, query) = match service {
            Service::Http => {
                let rest = rest.split_once('#').map_or(rest, |(front, _)| front);
                rest.find('?').map_or((rest, ""), |at| rest.split_at(at))
            }
            _ => (rest, ""), // a key may hold a '?'
        };
        let (root, key) = rest.split_once('/').unwrap_or((rest, ""));
        if root.is_empty() {
            return Err(invalid("the URL names no bucket or host"));
        }
        let (root, shown) = match service {
            Service::Http => {
                let host = root.rsplit_once('@').map_or(root, |(_, host)| host);
                (format!("{scheme}://{root}"), format!("{scheme}://{host}/"))
            }
            _ => (root.to_owned(), format!("{scheme}://{root}/")),
        };
        Ok(Address { service, root, key: key.to_owned(), query: query.to_owned(), shown })
    }

    /// How messages show an object of it.
    pub fn show(&self, key: &str) -> String {
        format!("{}{key}", self.shown)
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
}
