//! The way of every HTTP request: through reqwest, with answers bounded that are read into memory, and what became of each
//! attempt kept for messages.

use crate::failure::{without_queries, Attempt, Seen};
use async_trait::async_trait;
use bytes::Bytes;
use http::header::RANGE;
use http_body_util::{BodyExt, Limited};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService, ReqwestConnector,
};
use object_store::ClientOptions;
use std::io;

/// Most bytes of an answer that is no range of an object: a listing, credentials.
const MOST_OF_OTHERS: usize = 16 << 20;
/// Most bytes of an answer that says what went wrong.
const MOST_OF_ERRORS: usize = 64 << 10;

/// Makes [`Service`]s.
#[derive(Debug, Default)]
pub struct Connector;

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(Service(ReqwestConnector::default().connect(options)?)))
    }
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
                let detail = without_queries(&innermost(&e));
                seen.set(Attempt { kind: Some(e.kind()), detail, ..Attempt::default() });
                return Err(e);
            }
        };
        let code = Some(parts.status.as_u16());
        seen.set(Attempt { code, ..Attempt::default() });
        if parts.status.is_success() {
            let body = if of_range { body } else { limited(body, MOST_OF_OTHERS) };
            return Ok(HttpResponse::from_parts(parts, body));
        }
        // Of what the service says only its word is kept: the rest may repeat what it was sent.
        let said = limited(body, MOST_OF_ERRORS).bytes().await.unwrap_or_default();
        seen.set(Attempt { code, word: word_of(&said), ..Attempt::default() });
        Ok(HttpResponse::from_parts(parts, HttpResponseBody::from(Bytes::new())))
    }
}

fn innermost(error: &dyn std::error::Error) -> String {
    let mut at = error;
    while let Some(source) = at.source() {
        at = source;
    }
    at.to_string()
}

fn limited(body: HttpResponseBody, most: usize) -> HttpResponseBody {
    let failed = |e: Box<dyn std::error::Error + Send + Sync>| match e.downcast::<HttpError>() {
        Ok(e) => *e,
        Err(e) => HttpError::new(HttpErrorKind::Decode, io::Error::other(e.to_string())),
    };
    HttpResponseBody::new(Limited::new(body, most).map_err(failed))
}

/// `SlowDown` of `<Error><Code>SlowDown</Code>...`.
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
