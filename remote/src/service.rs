//! Makes every HTTP request: with reqwest, with a limit for answers that are read into memory, and with the
//! outcome of each attempt kept for messages.

use crate::attempt::{innermost, without_secrets, Attempt, Seen, INSECURE_REDIRECT};
use crate::settings::Settings;
use async_trait::async_trait;
use bytes::Bytes;
use http::header::RANGE;
use http::HeaderMap;
use http_body_util::{BodyExt, Limited};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};
use object_store::{BackoffConfig, ClientConfigKey, ClientOptions, RetryConfig};
use reqwest::redirect::{self, Policy};
use reqwest::{Certificate, NoProxy, Proxy};
use std::io;
use std::time::Duration;

/// The largest answer that is not a range of an object: a listing, credentials.
const MAX_OTHER_BODY: usize = 16 << 20;
/// How much of an error answer is read.
const MAX_ERROR_BODY: usize = 64 << 10;

/// The most redirects of a request.
const MAX_REDIRECTS: usize = 10;
/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(10);
/// The longest pause between two attempts.
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// The connect timeout that object_store sets for the machine's metadata service, which only some machines
/// have.
const METADATA: &str = "1s";

/// Makes the clients of a bucket and of services that issue credentials. Signed requests follow no redirects.
#[derive(Debug)]
pub struct Connector(pub Settings);

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let text = |key| options.get_config_value(&key);
        let is_set = |key| {
            text(key).is_some_and(|value| {
                ["true", "1", "yes", "y", "on"].contains(&value.to_ascii_lowercase().as_str())
            })
        };
        let mut builder = common(&self.0).redirect(Policy::none());
        if text(ClientConfigKey::ConnectTimeout).as_deref() == Some(METADATA) {
            builder = builder.connect_timeout(Duration::from_secs(1));
        }
        if let Some(proxy) = text(ClientConfigKey::ProxyUrl) {
            let excludes =
                text(ClientConfigKey::ProxyExcludes).and_then(|names| NoProxy::from_string(&names));
            builder = builder.proxy(Proxy::all(proxy).map_err(failed)?.no_proxy(excludes));
        }
        if let Some(certificate) = text(ClientConfigKey::ProxyCaCertificate) {
            let certificate = Certificate::from_pem(certificate.as_bytes()).map_err(failed)?;
            builder = builder.tls_certs_merge([certificate]);
        }
        made(builder.https_only(!is_set(ClientConfigKey::AllowHttp)))
    }
}

/// Gives all objects of a web server the same client.
#[derive(Debug)]
pub struct Same(pub HttpClient);

impl HttpConnector for Same {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(self.0.clone())
    }
}

/// The client of a web server, which follows redirects.
pub fn web(settings: &Settings, headers: HeaderMap, allow_http: bool) -> object_store::Result<HttpClient> {
    let redirects = Policy::custom(redirect);
    made(common(settings).default_headers(headers).https_only(!allow_http).redirect(redirects))
}

/// Follows a redirect, unless it leads from https to http. If it leads to another host or port, reqwest sends
/// no credentials.
fn redirect(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let from = attempt.previous().last().map_or("", |url| url.scheme());
    match attempt.url().scheme() {
        "https" if attempt.previous().len() <= MAX_REDIRECTS => attempt.follow(),
        "http" if from == "https" => attempt.error(INSECURE_REDIRECT),
        "http" if attempt.previous().len() <= MAX_REDIRECTS => attempt.follow(),
        _ => attempt.error("the server redirects too often, or not to a web server"),
    }
}

/// Options for all clients. No Referer is sent, because it would be a URL, whose query may be a signature.
fn common(settings: &Settings) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .user_agent(&settings.user_agent)
        .referer(false)
        .timeout(settings.timeout.saturating_mul(10))
        .read_timeout(settings.timeout)
        .connect_timeout(settings.timeout.min(CONNECT))
        .pool_max_idle_per_host(settings.concurrency)
        .tls_certs_merge(settings.root_certificates.iter().cloned())
}

/// When a failed attempt is repeated: until each attempt could have used all of its time.
pub fn retry(settings: &Settings) -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: MAX_PAUSE,
            base: 2.0,
        },
        max_retries: settings.retries,
        retry_timeout: settings.timeout.saturating_mul(10).saturating_mul(settings.retries as u32 + 1),
    }
}

fn made(builder: reqwest::ClientBuilder) -> object_store::Result<HttpClient> {
    Ok(HttpClient::new(Service(HttpClient::new(builder.build().map_err(failed)?))))
}

fn failed(error: reqwest::Error) -> object_store::Error {
    object_store::Error::Generic { store: "HTTP", source: Box::new(error) }
}

#[derive(Debug)]
struct Service(HttpClient);

#[async_trait]
impl HttpService for Service {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let seen = request.extensions().get::<Seen>().cloned().unwrap_or_default();
        let of_range = request.headers().contains_key(RANGE);
        let (parts, body) = match self.0.execute(request).await {
            Ok(answer) => answer.into_parts(),
            Err(e) => {
                let detail = without_secrets(&innermost(&e));
                seen.set(Attempt { kind: Some(e.kind()), detail, ..Attempt::default() });
                return Err(e);
            }
        };
        let code = Some(parts.status.as_u16());
        seen.set(Attempt { code, ..Attempt::default() });
        if parts.status.is_success() {
            let body = if of_range { body } else { limited(body, MAX_OTHER_BODY) };
            return Ok(HttpResponse::from_parts(parts, body));
        }
        // Only the service's error code is kept, because the rest of the answer may repeat secrets from the
        // request.
        let answer = limited(body, MAX_ERROR_BODY).bytes().await.unwrap_or_default();
        seen.set(Attempt { code, word: word_of(&answer), ..Attempt::default() });
        Ok(HttpResponse::from_parts(parts, HttpResponseBody::from(Bytes::new())))
    }
}

fn limited(body: HttpResponseBody, max: usize) -> HttpResponseBody {
    let failed = |e: Box<dyn std::error::Error + Send + Sync>| match e.downcast::<HttpError>() {
        Ok(e) => *e,
        Err(e) => HttpError::new(HttpErrorKind::Decode, io::Error::other(e.to_string())),
    };
    HttpResponseBody::new(Limited::new(body, max).map_err(failed))
}

/// The code `SlowDown` in `<Error><Code>SlowDown</Code>...`.
fn word_of(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let word = text.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>"));
    let word = word.map_or("", |(word, _)| word);
    word.chars().filter(char::is_ascii_alphanumeric).take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::word_of;

    #[test]
    fn the_word_of_a_service_is_a_word() {
        assert_eq!(word_of(b"<Error><Code>SlowDown</Code><Message>secret</Message>"), "SlowDown");
        assert_eq!(word_of(b"<Code>a b\n%&c</Code>"), "abc");
        assert_eq!(word_of(b"nothing of the kind"), "");
    }
}
