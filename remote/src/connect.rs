//! The client of a service: object_store's, with the options and the credentials that are to be used.

use crate::address::{Address, Service};
use crate::core::status;
use crate::failure::{without_queries, Failure};
use crate::profile;
use crate::runtime;
use crate::service::Connector;
use crate::settings::Settings;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{
    BackoffConfig, ClientConfigKey, ClientOptions, HeaderMap, HeaderValue, ObjectStore, RetryConfig,
};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Attempts wait at most so long for the next.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// A host that is there answers in this time.
const CONNECT: Duration = Duration::from_secs(10);

/// A service, and how it is asked.
pub struct Client {
    /// The bucket; of HTTP each object has its own.
    bucket: Option<Arc<dyn ObjectStore>>,
    pub address: Address,
    pub settings: Settings,
    /// Requests under way.
    pub permits: Arc<Semaphore>,
}

fn refused(error: &object_store::Error) -> Failure {
    Failure::new(status::INVALID_ARGUMENT, without_queries(&error.to_string()))
}

impl Client {
    /// The client of the service that `address` is of.
    pub fn new(address: Address, settings: Settings) -> Result<Client, Failure> {
        runtime::pool()?; // has TLS ready, too
        let bucket = match address.service {
            Service::S3 => Some(s3(&address, &settings)?),
            Service::Google => Some(google(&address, &settings)?),
            Service::Azure => Some(azure(&address, &settings)?),
            Service::Http => None,
        };
        let permits = Arc::new(Semaphore::new(settings.concurrency));
        Ok(Client { bucket, address, settings, permits })
    }

    /// Where the object of that key is.
    pub fn place(&self, key: &str) -> Result<(Arc<dyn ObjectStore>, Path), Failure> {
        match &self.bucket {
            Some(bucket) => {
                let path = Path::parse(key)
                    .map_err(|e| Failure::new(status::INVALID_ARGUMENT, without_queries(&e.to_string())))?;
                Ok((bucket.clone(), path))
            }
            None => Ok((http(&self.address, key, &self.settings)?, Path::default())),
        }
    }

    /// The bucket, where it can be listed.
    pub fn bucket(&self) -> Option<Arc<dyn ObjectStore>> {
        self.bucket.clone()
    }

    /// Whether the last bytes of an object can be asked for without its size.
    pub fn has_suffixes(&self) -> bool {
        self.address.service != Service::Azure
    }
}

fn retry(settings: &Settings) -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: LONGEST_PAUSE,
            base: 2.0,
        },
        max_retries: settings.retries,
        retry_timeout: settings.timeout.saturating_mul(settings.retries as u32 + 1),
    }
}

/// What all services are told.
fn common(settings: &Settings) -> Vec<(ClientConfigKey, String)> {
    let milliseconds = |time: Duration| format!("{}ms", time.as_millis());
    let mut all = vec![
        (ClientConfigKey::Timeout, milliseconds(settings.timeout.saturating_mul(10))),
        (ClientConfigKey::ReadTimeout, milliseconds(settings.timeout)),
        (ClientConfigKey::ConnectTimeout, milliseconds(settings.timeout.min(CONNECT))),
        (ClientConfigKey::PoolMaxIdlePerHost, settings.concurrency.to_string()),
        (ClientConfigKey::UserAgent, settings.user_agent.clone()),
    ];
    if settings.allow_http {
        all.push((ClientConfigKey::AllowHttp, "true".into()));
    }
    all
}

fn is_set(names: &[&str]) -> bool {
    names.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

fn s3(address: &Address, settings: &Settings) -> Result<Arc<dyn ObjectStore>, Failure> {
    let mut builder = AmazonS3Builder::from_env().with_bucket_name(&address.root);
    let mut found = profile::Profile::default();
    let has_other_keys = is_set(&[
        "AWS_ACCESS_KEY_ID",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    ]);
    if settings.key_id.is_none() && !settings.anonymous && !has_other_keys {
        found = profile::read();
    }
    let region = settings.region.clone().or_else(|| match is_set(&["AWS_REGION", "AWS_DEFAULT_REGION"]) {
        true => None,
        false => found.region.take(),
    });
    let keys = [
        (settings.key_id.clone().or(found.key_id), AmazonS3ConfigKey::AccessKeyId),
        (settings.secret.clone().or(found.secret), AmazonS3ConfigKey::SecretAccessKey),
        (settings.token.clone().or(found.token), AmazonS3ConfigKey::Token),
        (region, AmazonS3ConfigKey::Region),
        (settings.endpoint.clone(), AmazonS3ConfigKey::Endpoint),
    ];
    for (value, key) in keys {
        if let Some(value) = value {
            builder = builder.with_config(key, value);
        }
    }
    for (key, value) in common(settings) {
        builder = builder.with_config(AmazonS3ConfigKey::Client(key), value);
    }
    if settings.anonymous {
        builder = builder.with_skip_signature(true);
    }
    let built = builder.with_retry(retry(settings)).with_http_connector(Connector).build();
    built.map(|store| Arc::new(store) as _).map_err(|e| refused(&e))
}

fn google(address: &Address, settings: &Settings) -> Result<Arc<dyn ObjectStore>, Failure> {
    let mut builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(&address.root);
    let keys = [
        (settings.secret.clone(), GoogleConfigKey::ServiceAccountKey),
        (settings.token.clone(), GoogleConfigKey::BearerToken),
        (settings.endpoint.clone(), GoogleConfigKey::BaseUrl),
    ];
    for (value, key) in keys {
        if let Some(value) = value {
            builder = builder.with_config(key, value);
        }
    }
    for (key, value) in common(settings) {
        builder = builder.with_config(GoogleConfigKey::Client(key), value);
    }
    if settings.anonymous {
        builder = builder.with_skip_signature(true);
    }
    let built = builder.with_retry(retry(settings)).with_http_connector(Connector).build();
    built.map(|store| Arc::new(store) as _).map_err(|e| refused(&e))
}

fn azure(address: &Address, settings: &Settings) -> Result<Arc<dyn ObjectStore>, Failure> {
    let mut builder = MicrosoftAzureBuilder::from_env().with_container_name(&address.root);
    let keys = [
        (settings.key_id.clone(), AzureConfigKey::AccountName),
        (settings.secret.clone(), AzureConfigKey::AccessKey),
        (settings.token.clone(), AzureConfigKey::Token),
        (settings.endpoint.clone(), AzureConfigKey::Endpoint),
    ];
    for (value, key) in keys {
        if let Some(value) = value {
            builder = builder.with_config(key, value);
        }
    }
    for (key, value) in common(settings) {
        builder = builder.with_config(AzureConfigKey::Client(key), value);
    }
    if settings.anonymous {
        builder = builder.with_skip_signature(true);
    }
    let built = builder.with_retry(retry(settings)).with_http_connector(Connector).build();
    built.map(|store| Arc::new(store) as _).map_err(|e| refused(&e))
}

fn http(address: &Address, path: &str, settings: &Settings) -> Result<Arc<dyn ObjectStore>, Failure> {
    let (scheme, host) = address.root.split_once("://").unwrap_or_default();
    let (user, host) = host.rsplit_once('@').map_or((None, host), |(user, host)| (Some(user), host));
    let mut options = ClientOptions::new();
    for (key, value) in common(settings) {
        options = options.with_config(key, value);
    }
    // Who writes http:// wants that.
    options = options.with_allow_http(settings.allow_http || scheme == "http");
    let authorization = match (&settings.token, user) {
        (Some(token), _) => Some(format!("Bearer {token}")),
        (None, Some(user)) => Some(format!("Basic {}", base64(&percent_decoded(user)))),
        (None, None) => None,
    };
    if let Some(text) = authorization {
        let value = HeaderValue::from_str(&text);
        let mut value = value
            .map_err(|_| Failure::new(status::INVALID_ARGUMENT, "the token cannot be sent in a header"))?;
        value.set_sensitive(true);
        let mut headers = HeaderMap::new();
        headers.insert(http::header::AUTHORIZATION, value);
        options = options.with_default_headers(headers);
    }
    let url = format!("{scheme}://{host}/{}{}", path.replace('?', "%3F").replace('#', "%23"), address.query);
    let built = HttpBuilder::new()
        .with_url(url)
        .with_client_options(options)
        .with_retry(retry(settings))
        .with_http_connector(Connector)
        .build();
    built.map(|store| Arc::new(store) as _).map_err(|e| refused(&e))
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

    #[test]
    fn basic_credentials_are_encoded_as_rfc_4648_has_it() {
        for (plain, encoded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(base64(plain.as_bytes()), encoded);
        }
        assert_eq!(percent_decoded("a%40b%zz%2"), b"a@b%zz%2");
    }
}
