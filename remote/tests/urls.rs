//! URLs that programs parse differently, and redirects: which server gets a request, and what is sent.

mod common;

use common::ztensor::{tensor, zt_bytes};
use common::{Content, File, Options, Server};
use ztensor_remote::core::status;

fn served() -> Server {
    let server = Server::start();
    server.put("/m/a.zt", zt_bytes(40, 3000), "\"one\"");
    server
}

/// A server that redirects requests for a path.
fn redirecting(server: &Server, path: &str, to: String) {
    server.set(path, Content { redirect: Some(to), ..Content::default() });
}

/// The server belongs to an attacker, and a check of the URL would see another host.
#[test]
fn an_ambiguous_url_is_sent_to_no_server() {
    let server = served();
    let at = &server.address;
    for url in [
        format!("http://good.example\\@{at}/m/a.zt"),
        format!("http://good.example\\\\@{at}/m/a.zt"),
        format!("http://{at}\\@good.example/m/a.zt"),
        format!("http://{at}#@good.example/m/a.zt"),
        format!("http://{at}?@good.example/m/a.zt"),
        format!("http://good.example@good.example@{at}/m/a.zt"),
        format!("http:///{at}/m/a.zt"),
        format!("http://127.1{}/m/a.zt", &at["127.0.0.1".len()..]),
        format!("http://2130706433{}/m/a.zt", &at["127.0.0.1".len()..]),
        format!("http://{at}/m\\a.zt"),
        format!("http://{at}/m/a.zt\t"),
        format!(" http://{at}/m/a.zt"),
    ] {
        let (status, text) = File::open(&url, &Options::quick()).err().unwrap_or_else(|| panic!("{url}"));
        assert!([status::INVALID_ARGUMENT, status::UNSUPPORTED].contains(&status), "{url}: {text}");
        assert_eq!(server.count(), 0, "{url}");
    }
    assert_eq!(File::open(&server.url("/m/a.zt"), &Options::quick()).ok().unwrap().count(), 40);
}

#[test]
fn a_password_that_is_not_escaped_is_in_no_message() {
    let server = served();
    let at = &server.address;
    for user in
        ["me:hu/sh", "me:80/hush", "me:hush/", "me:/hush", "me:hu?sh", "me:hu#sh", "me:hush@", "me:12/h@hush"]
    {
        for url in [format!("http://{user}@{at}/m/a.zt"), format!("https://{user}@{at}/m/a.zt?hush")] {
            let (_, text) = File::open(&url, &Options::quick()).err().unwrap_or_else(|| panic!("{url}"));
            for secret in ["hush", "hu", "sh@", "me:"] {
                assert!(!text.contains(secret), "{url}: {text}");
            }
        }
    }
    assert_eq!(server.count(), 0);
    let content = server.contents.lock().unwrap()["/m/a.zt"].clone();
    let authorization = Some("Basic bWU6aHUvc2g=".to_owned()); // me:hu/sh
    server.set("/m/a.zt", Content { authorization, ..content });
    let url = format!("http://me:hu%2Fsh@{at}/m/a.zt");
    assert_eq!(File::open(&url, &Options::quick()).ok().unwrap().count(), 40);
}

#[test]
fn a_redirect_sends_credentials_only_to_the_same_host() {
    let (server, other) = (served(), served());
    let content = server.contents.lock().unwrap()["/m/a.zt"].clone();
    server.set("/kept.zt", Content { authorization: Some("Bearer hush".into()), ..content });
    redirecting(&server, "/same.zt", server.url("/kept.zt"));
    redirecting(&server, "/elsewhere.zt", other.url("/m/a.zt"));
    redirecting(&server, "/back.zt", other.url("/back.zt"));
    redirecting(&other, "/back.zt", server.url("/m/a.zt"));
    let mut with_token = Options::quick();
    with_token.raw.token = with_token.keep("hush");
    let open =
        |url: &str, options: &Options| File::open(url, options).unwrap_or_else(|(_, e)| panic!("{url}: {e}"));
    assert_eq!(open(&server.url("/same.zt"), &with_token).count(), 40);
    for path in ["/elsewhere.zt", "/back.zt"] {
        let file = open(&server.url(path), &with_token);
        assert_eq!(file.read(7).unwrap(), tensor(7, 3000));
        let url = format!("http://me:hush@{}{path}?X-Signature=hush", server.address);
        assert_eq!(open(&url, &Options::quick()).read(7).unwrap(), tensor(7, 3000));
    }
    assert!(server.credentials.lock().unwrap().iter().any(|sent| sent == "Bearer hush"));
    assert_eq!(*other.credentials.lock().unwrap(), Vec::<String>::new());
    assert!(other.count() > 0 && other.referers.lock().unwrap().is_empty());
}

#[test]
fn a_redirect_from_https_to_http_is_rejected() {
    let (plain, secure) = (served(), Server::start_tls());
    secure.put("/m/a.zt", zt_bytes(40, 3000), "\"one\"");
    redirecting(&secure, "/down.zt", plain.url("/m/a.zt"));
    redirecting(&secure, "/alike.zt", format!("https://{}/m/a.zt", secure.address));
    redirecting(&plain, "/up.zt", format!("https://{}/m/a.zt", secure.address));
    redirecting(&plain, "/up-and-down.zt", format!("https://{}/down.zt", secure.address));
    let mut options = Options::quick();
    options.raw.root_certificates = options.keep(include_str!("tls/authority.pem"));
    options.raw.allow_http = 1;
    for url in [format!("https://{}/down.zt", secure.address), plain.url("/up-and-down.zt")] {
        let (status, text) = File::open(&url, &options).err().unwrap_or_else(|| panic!("{url}"));
        assert!(status == status::IO && text.contains("redirects from https to http"), "{url}: {text}");
    }
    let asked = plain.asked.lock().unwrap().iter().filter(|asked| asked.starts_with("/m/")).count();
    assert_eq!(asked, 0, "a request was sent without TLS");
    for url in [format!("https://{}/alike.zt", secure.address), plain.url("/up.zt")] {
        assert_eq!(File::open(&url, &options).ok().unwrap().count(), 40, "{url}");
    }
    redirecting(&plain, "/circle.zt", plain.url("/circle.zt"));
    assert!(File::open(&plain.url("/circle.zt"), &options).is_err());
}
