//! Credentials from services of the machine: metadata servers, web identity, roles of containers. Each case
//! is a process with its own environment, and sends its requests to a server of this test.

mod common;

use common::ztensor::{scratch, tensor, zt_bytes};
use common::{Content, File, Options, Server};
use std::process::Command;

/// The servers of a case: one without TLS, for objects and requests that need no TLS, and one with TLS.
struct Machine {
    plain: Server,
    tls: Server,
}

/// JSON from the metadata servers of S3.
const KEYS: &str = r#"{"AccessKeyId":"given","SecretAccessKey":"hush","Token":"session","Expiration":"2100-01-01T00:00:00Z"}"#;
/// XML from STS.
const SESSION: &str = "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>\
    <SessionToken>session</SessionToken><SecretAccessKey>hush</SecretAccessKey><AccessKeyId>given</AccessKeyId>\
    <Expiration>2100-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>";

impl Machine {
    /// A case whose object requires this authorization.
    fn new(authorization: &str) -> Machine {
        let machine = Machine { plain: Server::start(), tls: Server::start_tls() };
        let content = Content {
            bytes: zt_bytes(20, 2000).into(),
            e_tag: Some("\"one\"".into()),
            modified: Some("Tue, 01 Jan 2030 00:00:00 GMT".into()), // Azure's client needs it
            authorization: Some(authorization.into()),
            ..Content::default()
        };
        machine.plain.set("/models/one%2Ezt", content.clone()); // in the form of Google's client
        machine.plain.set("/models/one.zt", content);
        machine
    }

    fn of_s3() -> Machine {
        Machine::new("AWS4-HMAC-SHA256 Credential=given/")
    }

    /// The output of the process that opens `url`, with nothing else in its environment.
    fn open(&self, url: &str, environment: &[(&str, &str)]) -> String {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "child", "--nocapture"]).env_clear().env("HOME", "/nowhere");
        for name in ["LD_LIBRARY_PATH", "PATH", "TMPDIR"] {
            std::env::var_os(name).map(|value| command.env(name, value));
        }
        command.env("CHILD_OPENS", url).env("CHILD_ENDPOINT", self.plain.url(""));
        let done = command.envs(environment.iter().copied()).output().unwrap();
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        let said =
            said.lines().find_map(|line| line.strip_prefix("child: ")).unwrap_or_else(|| panic!("{done:?}"));
        assert!(!said.contains("hush"), "{said}");
        said.to_owned()
    }
}

fn answer(text: &str) -> Content {
    Content { bytes: text.as_bytes().to_vec().into(), ..Content::default() }
}

fn with_header(text: &str, name: &str, value: &str) -> Content {
    Content { header: Some((name.into(), value.into())), ..answer(text) }
}

/// A file with a token.
fn token() -> String {
    let path = scratch("token");
    std::fs::write(&path, "hush-token").unwrap();
    path.to_str().unwrap().to_owned()
}

/// Runs in the process of a case. In the test itself it does nothing.
#[test]
fn child() {
    let (Ok(url), Ok(endpoint)) = (std::env::var("CHILD_OPENS"), std::env::var("CHILD_ENDPOINT")) else {
        return;
    };
    let mut options = Options::quick();
    options.raw.endpoint = options.keep(&endpoint);
    options.raw.region = options.keep("us-east-1");
    options.raw.root_certificates = options.keep(include_str!("tls/authority.pem"));
    options.raw.allow_http = 1;
    match File::open(&url, &options) {
        Ok(file) => {
            assert_eq!(file.read(19).unwrap(), tensor(19, 2000));
            println!("\nchild: opened {}", file.count());
        }
        Err((status, text)) => println!("\nchild: {status} {text}"),
    }
}

#[test]
fn s3_keys_of_the_machine() {
    let machine = Machine::of_s3();
    let endpoint = machine.plain.url("");
    let open = || machine.open("s3://models/one.zt", &[("AWS_METADATA_ENDPOINT", &endpoint)]);
    let said = open();
    assert!(said.starts_with("2 ") && said.contains("models/one.zt"), "{said}"); // the object does not exist
    machine
        .plain
        .set("/latest/api/token", with_header("word", "x-aws-ec2-metadata-token-ttl-seconds", "600"));
    let of_role = "/latest/meta-data/iam/security-credentials/";
    machine.plain.set(of_role, with_header("reader", "x-aws-ec2-metadata-token", "word"));
    machine.plain.set(&format!("{of_role}reader"), with_header(KEYS, "x-aws-ec2-metadata-token", "word"));
    assert_eq!(open(), "opened 20");
}

#[test]
fn s3_keys_by_web_identity() {
    let machine = Machine::of_s3();
    let (endpoint, token) = (format!("https://{}", machine.tls.address), token());
    let open = |endpoint: &str| {
        let environment = [
            ("AWS_WEB_IDENTITY_TOKEN_FILE", token.as_str()),
            ("AWS_ROLE_ARN", "arn:aws:iam::1:role/reader"),
            ("AWS_ENDPOINT_URL_STS", endpoint),
        ];
        machine.open("s3://models/one.zt", &environment)
    };
    let said = open(&endpoint);
    assert!(said.starts_with("2 "), "{said}"); // the service does not exist
    let query = "Action=AssumeRoleWithWebIdentity&DurationSeconds=3600&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Freader\
                 &RoleSessionName=WebIdentitySession&Version=2011-06-15&WebIdentityToken=hush-token";
    let refused = Content { query: Some("another".into()), ..answer(SESSION) };
    machine.tls.set("/", refused);
    assert!(open(&endpoint).starts_with("2 "));
    machine.tls.set("/", Content { query: Some(query.into()), ..answer(SESSION) });
    assert_eq!(open(&endpoint), "opened 20");
    // A token is only sent with TLS.
    machine.plain.set("/", answer(SESSION));
    machine.plain.count();
    assert!(open(&machine.plain.url("")).starts_with("2 "));
    assert_eq!(machine.plain.count(), 0);
}

#[test]
fn s3_keys_of_a_container() {
    let (machine, token) = (Machine::of_s3(), token());
    let keys = Content { authorization: Some("hush-token".into()), ..answer(KEYS) };
    machine.plain.set("/role", keys);
    let environment = [
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", &*machine.plain.url("/role")),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", &token),
    ];
    assert_eq!(machine.open("s3://models/one.zt", &environment), "opened 20");
}

#[test]
fn s3_keys_of_the_environment_go_before_those_of_the_machine() {
    let machine = Machine::of_s3();
    let nobody = machine.tls.url("");
    let environment = [
        ("AWS_ACCESS_KEY_ID", "given"),
        ("AWS_SECRET_ACCESS_KEY", "hush"),
        ("AWS_METADATA_ENDPOINT", &nobody),
    ];
    assert_eq!(machine.open("s3://models/one.zt", &environment), "opened 20");
    assert_eq!(machine.tls.count(), 0);
}

#[test]
fn a_token_of_google_s_metadata_server() {
    let machine = Machine::new("Bearer hush");
    let path = "/computeMetadata/v1/instance/service-accounts/default/token";
    let open = || {
        let host = machine.plain.address.as_str();
        machine.open("gs://models/one.zt", &[("GCE_METADATA_HOST", host), ("GCE_METADATA_IP", host)])
    };
    assert!(open().starts_with("2 "));
    let token = r#"{"access_token":"hush","expires_in":3000,"token_type":"Bearer"}"#;
    machine.plain.set(path, with_header(token, "metadata-flavor", "Google"));
    assert_eq!(open(), "opened 20", "{:?}", machine.plain.asked.lock());
}

#[test]
fn a_token_of_azure_s_managed_identity() {
    let machine = Machine::new("Bearer hush");
    let token = r#"{"access_token":"hush","expires_on":"4000000000","resource":"r","token_type":"Bearer"}"#;
    machine.plain.set("/msi", with_header(token, "x-identity-header", "header"));
    let endpoint = machine.plain.url("/msi");
    let open = |header| {
        let environment = [
            ("IDENTITY_ENDPOINT", endpoint.as_str()),
            ("IDENTITY_HEADER", header),
            ("AZURE_STORAGE_ACCOUNT_NAME", "account"),
        ];
        machine.open("az://models/one.zt", &environment)
    };
    assert_eq!(open("header"), "opened 20");
    assert!(open("another").starts_with("2 "));
}

#[test]
fn a_token_of_azure_by_workload_identity() {
    let (machine, token) = (Machine::new("Bearer hush"), token());
    let body = Some("client_assertion=hush-token".to_owned());
    let given = r#"{"access_token":"hush","expires_in":3000,"token_type":"Bearer"}"#;
    machine.tls.set("/tenant/oauth2/v2.0/token", Content { body, ..answer(given) });
    let host = format!("https://{}", machine.tls.address);
    let environment = [
        ("AZURE_STORAGE_ACCOUNT_NAME", "account"),
        ("AZURE_CLIENT_ID", "client"),
        ("AZURE_TENANT_ID", "tenant"),
        ("AZURE_FEDERATED_TOKEN_FILE", token.as_str()),
        ("AZURE_AUTHORITY_HOST", &host),
    ];
    assert_eq!(machine.open("az://models/one.zt", &environment), "opened 20");
}
