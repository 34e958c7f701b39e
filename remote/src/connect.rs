//! The client of a service: a bucket or a web server, with the options of both.

use crate::address::{Address, Service};
use crate::attempt::{refused, without_secrets};
use crate::bucket::Bucket;
use crate::failure::{invalid, Failure};
use crate::runtime;
use crate::service::{retry, web, Same};
use crate::settings::Settings;
use object_store::client::HttpClient;
use object_store::http::HttpBuilder;
use object_store::list::PaginatedListStore;
use object_store::path::Path;
use object_store::{ClientOptions, HeaderMap, HeaderValue, ObjectStore};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// The kind of server.
enum Host {
    Bucket(Bucket),
    Web(HttpClient),
}

/// A service, and its client.
pub struct Client {
    host: Host,
    pub address: Address,
    pub settings: Settings,
    /// Limits concurrent requests.
    pub permits: Arc<Semaphore>,
}

impl Client {
    /// Makes the client for the service of `address`.
    pub fn new(address: Address, settings: Settings) -> Result<Client, Failure> {
        runtime::pool()?; // also sets up TLS
        let host = match Bucket::open(&address, &settings)? {
            Some(bucket) => Host::Bucket(bucket),
            None => Host::Web(web_client(&address, &settings)?),
        };
        let permits = Arc::new(Semaphore::new(settings.concurrency));
        Ok(Client { host, address, settings, permits })
    }

    /// The location of the object with this key.
    pub fn place(&self, key: &str) -> Result<(Arc<dyn ObjectStore>, Path), Failure> {
        match &self.host {
            Host::Bucket(bucket) => {
                let path = Path::parse(key).map_err(|e| invalid(&without_secrets(&e.to_string())))?;
                Ok((bucket.objects.clone(), path))
            }
            Host::Web(client) => Ok((self.web_object(client, key)?, Path::default())),
        }
    }

    /// The listing of a bucket.
    pub fn pages(&self) -> Option<Arc<dyn PaginatedListStore>> {
        match &self.host {
            Host::Bucket(bucket) => Some(bucket.pages.clone()),
            Host::Web(_) => None,
        }
    }

    /// Whether the last bytes of an object can be requested without knowing its size.
    pub fn has_suffixes(&self) -> bool {
        self.address.service != Service::Azure
    }

    fn web_object(&self, client: &HttpClient, path: &str) -> Result<Arc<dyn ObjectStore>, Failure> {
        check_path(path)?;
        let (scheme, host, _) = host_of(&self.address);
        let path = path.replace('?', "%3F").replace('#', "%23");
        let built = HttpBuilder::new()
            .with_url(format!("{scheme}://{host}/{path}{}", self.address.query))
            .with_client_options(ClientOptions::new().with_allow_http(true)) // our own client checks that
            .with_retry(retry(&self.settings))
            .with_http_connector(Same(client.clone()))
            .build();
        // Text that cannot be parsed as a URL is not repeated.
        built.map(|store| Arc::new(store) as _).map_err(|_| invalid("this is not a URL of a web server"))
    }
}

/// Refuses paths that a URL parser would change to another folder or shorten.
fn check_path(path: &str) -> Result<(), Failure> {
    if path.chars().any(char::is_control) {
        return Err(invalid("the name of an object has a control character"));
    }
    let decoded = percent_decoded(path);
    match decoded.split(|byte| matches!(byte, b'/' | b'\\')).any(|name| name == b"..") {
        true => Err(invalid("the name of an object leads out of its folder")),
        false => Ok(()),
    }
}

/// The scheme, host and user.
fn host_of(address: &Address) -> (&str, &str, Option<&str>) {
    let (scheme, host) = address.root.split_once("://").unwrap_or_default();
    host.rsplit_once('@').map_or((scheme, host, None), |(user, host)| (scheme, host, Some(user)))
}

fn web_client(address: &Address, settings: &Settings) -> Result<HttpClient, Failure> {
    let (scheme, _, user) = host_of(address);
    let authorization = match (&settings.token, user) {
        (Some(token), _) => Some(format!("Bearer {token}")),
        (None, Some(user)) => Some(format!("Basic {}", base64(&percent_decoded(user)))),
        (None, None) => None,
    };
    let mut headers = HeaderMap::new();
    if let Some(text) = authorization {
        let value = HeaderValue::from_str(&text);
        let mut value = value.map_err(|_| invalid("the token cannot be sent in a header"))?;
        value.set_sensitive(true);
        headers.insert(http::header::AUTHORIZATION, value);
    }
    // A URL that begins with http:// allows it by itself.
    web(settings, headers, settings.allow_http || scheme == "http").map_err(|e| refused(&e))
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let digit = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
    let (bytes, mut at, mut decoded) = (text.as_bytes(), 0, Vec::new());
    while let Some(byte) = bytes.get(at) {
        match (byte, digit(bytes.get(at + 1)), digit(bytes.get(at + 2))) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high * 16 + low) as u8);
                at += 3;
            }
            _ => {
                decoded.push(*byte);
                at += 1;
            }
        }
    }
    decoded
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = (0..3).fold(0u32, |bits, at| bits << 8 | u32::from(three.get(at).copied().unwrap_or(0)));
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= three.len() { digit.into() } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::status;

    #[test]
    fn basic_credentials_are_encoded_as_rfc_4648_has_it() {
        for (plain, encoded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(base64(plain.as_bytes()), encoded);
        }
        assert_eq!(percent_decoded("a%40b%zz%2"), b"a@b%zz%2");
    }

    #[test]
    fn names_that_a_url_leads_elsewhere_are_refused() {
        for path in ["..", "a/../b", "a/%2e%2E/b", "a/.%2e", "%2e%2e%2fb", "a/..\\b", "a/.\t./b", "a\n"] {
            assert_eq!(check_path(path).unwrap_err().status, status::INVALID_ARGUMENT, "{path:?}");
        }
        for path in ["", "a/b", "./a", "a/..b", "a%2e.zt/c", "a/...", "%zz/%252e%252e"] {
            assert!(check_path(path).is_ok(), "{path}");
        }
    }
}
