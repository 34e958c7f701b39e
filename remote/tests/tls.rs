//! Servers with a certificate that no system trusts. They are rejected unless the caller passes the
//! certificate of their authority.

mod common;

use common::ztensor::{tensor, zt_bytes};
use common::{File, Options, Server};
use ztensor_remote::core::status;

const AUTHORITY: &str = include_str!("tls/authority.pem");

fn trusting(certificates: &str) -> Options {
    let mut options = Options::quick();
    options.raw.root_certificates = options.keep(certificates);
    options
}

/// A server with `/m/a.zt`.
fn served() -> Server {
    let server = Server::start_tls();
    server.put("/m/a.zt", zt_bytes(30, 3000), "\"one\"");
    server
}

/// The server as the endpoint of a bucket.
fn as_bucket(server: &Server, mut options: Options) -> Options {
    options.raw.endpoint = options.keep(&format!("https://{}", server.address));
    options.raw.region = options.keep("us-east-1");
    options.raw.anonymous = 1;
    options
}

#[test]
fn a_server_with_an_unknown_authority_is_rejected() {
    let server = served();
    let url = format!("https://{}/m/a.zt", server.address);
    for (url, options) in
        [(url.as_str(), Options::quick()), ("s3://m/a.zt", as_bucket(&server, Options::quick()))]
    {
        let (status, said) = File::open(url, &options).map(|_| ()).unwrap_err();
        assert_eq!(status, status::IO, "{said}");
        assert!(said.contains("certificate"), "{said}");
    }
    assert_eq!(server.count(), 0, "a request reached it");
}

#[test]
fn its_authority_may_be_given() {
    let server = served();
    let url = format!("https://{}/m/a.zt", server.address);
    // Only the certificate, and the certificate as one of several.
    for certificates in
        [AUTHORITY.to_owned(), format!("{}# ours\n{AUTHORITY}", include_str!("tls/server.pem"))]
    {
        let options = || trusting(&certificates);
        for (url, options) in [(url.as_str(), options()), ("s3://m/a.zt", as_bucket(&server, options()))] {
            let file = File::open(url, &options).unwrap_or_else(|(status, e)| panic!("{status} {e}"));
            assert_eq!(file.read(29).unwrap(), tensor(29, 3000));
        }
    }
}

#[test]
fn an_invalid_certificate_is_rejected_before_any_request() {
    let server = served();
    let damaged = AUTHORITY.replace("MII", "MIJ");
    for certificates in ["", "certificate", damaged.as_str(), include_str!("tls/server.key")] {
        let url = format!("https://{}/m/a.zt", server.address);
        let (status, said) = File::open(&url, &trusting(certificates)).map(|_| ()).unwrap_err();
        assert_eq!(status, status::INVALID_ARGUMENT, "{certificates}: {said}");
    }
}
