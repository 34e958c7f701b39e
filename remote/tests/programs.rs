//! Programs that open URLs: examples/remote.c, `zt` and the Python binding, with the library that was built
//! for this test.

mod common;

use common::ztensor::{scratch, tensor, zt_bytes};
use common::{Content, Server};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A folder with both libraries, under the names that programs look for.
fn libraries() -> PathBuf {
    let folder = scratch("lib");
    std::fs::create_dir_all(&folder).unwrap();
    let core = std::env::var_os("ZT_LIB_DIR").map_or(root().join("target/lib"), PathBuf::from);
    let built = std::env::current_exe().unwrap();
    // Cargo built it together with this test.
    let remote = built.parent().unwrap().join("libztensor_remote.so");
    assert!(remote.exists(), "{remote:?}");
    for (from, name) in [(core.join("libztensor.so"), "libztensor.so"), (remote, "libztensor_remote.so")] {
        let from = from.canonicalize().unwrap();
        std::os::unix::fs::symlink(&from, folder.join(name)).unwrap();
        std::os::unix::fs::symlink(&from, folder.join(format!("{name}.1"))).unwrap();
    }
    folder
}

fn run(command: &mut Command, libraries: &Path) -> Output {
    let done = command.env("LD_LIBRARY_PATH", libraries).output();
    done.unwrap_or_else(|e| panic!("{command:?}: {e}"))
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn served() -> Server {
    let server = Server::start();
    server.put("/m/a.zt", zt_bytes(40, 3000), "\"one\"");
    server
}

#[test]
fn the_example_opens_a_model_by_its_url() {
    let (libraries, server, program) = (libraries(), served(), scratch("remote"));
    let mut compile = Command::new("cc");
    compile
        .args(["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"])
        .arg(root().join("examples/remote.c"));
    compile
        .arg("-I")
        .arg(root().join("include"))
        .arg("-I")
        .arg(root().join("remote/include"))
        .arg("-o")
        .arg(&program);
    compile.arg("-L").arg(&libraries).args(["-lztensor_remote", "-lztensor"]);
    let compiled = run(&mut compile, &libraries);
    assert!(compiled.status.success(), "{}", said(&compiled));
    let done = run(Command::new(&program).arg(server.url("/m/a.zt")), &libraries);
    assert!(done.status.success() && said(&done).contains("40 objects in 1 files"), "{}", said(&done));
    assert!(said(&done).contains("layers.0.weight: 3000 bytes read"), "{}", said(&done));
    let done = run(Command::new(&program).arg(server.url("/m/b.zt?hush")), &libraries);
    assert!(!done.status.success() && said(&done).contains("there is no such object"), "{}", said(&done));
    assert!(!said(&done).contains("hush"));
}

#[test]
fn zt_lists_verifies_and_converts_a_url() {
    let zt = std::env::var_os("ZT_PROGRAM").map_or(root().join("target/debug/zt"), PathBuf::from);
    if !zt.exists() {
        return println!("remote: skipped: {zt:?} is missing (cargo build --package ztensor-tools)");
    }
    let (libraries, server, converted) = (libraries(), served(), scratch("converted.safetensors"));
    let url = server.url("/m/a.zt");
    let done = run(Command::new(&zt).args(["ls", &url]), &libraries);
    assert!(done.status.success() && said(&done).contains("layers.39.weight"), "{}", said(&done));
    let done = run(Command::new(&zt).args(["verify", &url]), &libraries);
    assert!(done.status.success() && said(&done).contains("1 ok"), "{}", said(&done));
    let done = run(Command::new(&zt).args(["convert", &url]).arg(&converted), &libraries);
    assert!(done.status.success(), "{}", said(&done));
    let bytes = std::fs::read(&converted).unwrap();
    assert!(bytes.windows(3000).any(|part| part == tensor(17, 3000)));
    let done = run(Command::new(&zt).args(["ls", &server.url("/none.zt")]), &libraries);
    assert!(!done.status.success() && said(&done).contains("there is no such object"), "{}", said(&done));
    // The name of an index ends before the query. The query is sent with its parts, and nothing secret is
    // shown.
    let folder = root().join("tests/data/foreign/valid/amber-hf-sharded");
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let (bytes, query) = (std::fs::read(entry.path()).unwrap(), Some("X-Signature=hush".to_owned()));
        let content =
            Content { bytes: bytes.into(), query, e_tag: Some("\"a\"".into()), ..Content::default() };
        server.set(&format!("/s/{}", entry.file_name().to_str().unwrap()), content);
    }
    let place = format!("{}/s/model", server.address);
    for name in [".safetensors.index.json", "-00001-of-00003.safetensors"] {
        let url = format!("http://me:hush@{place}{name}?X-Signature=hush");
        let done = run(Command::new(&zt).args(["ls", &url]), &libraries);
        assert!(done.status.success() && !said(&done).contains("hush"), "{}", said(&done));
        let done = run(Command::new(&zt).args(["verify", &url]), &libraries);
        assert!(said(&done).contains(&format!("http://{place}{name}: ok")), "{}", said(&done));
        assert!(!said(&done).contains("hush"), "{}", said(&done));
    }
    let url = format!("http://me:hush@{place}.zt?X-Signature=hush");
    let done = run(Command::new(&zt).args(["ls", &url]), &libraries);
    assert!(!done.status.success() && said(&done).contains("no such object"), "{}", said(&done));
    assert!(!said(&done).contains("hush"), "{}", said(&done));
    // A repository of Hugging Face: one file, an index, a file by its name, and nothing.
    let (endpoint, at) = (format!("http://{}", server.address), "/o/n/resolve/main/model.safetensors");
    server.put(at, bytes, "\"one\"");
    let repository = root().join("tests/data/foreign/valid/amber-hf-sharded");
    for entry in std::fs::read_dir(repository).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        server.put(&format!("/o/s/resolve/v1/{name}"), std::fs::read(entry.path()).unwrap(), "\"a\"");
    }
    for (url, found) in [
        ("hf://o/n", "layers.39.weight"),
        ("hf://o/n/model.safetensors", "layers.39.weight"),
        ("hf://o/s@v1", "3 files of"),
        ("hf://o/none", "hf://o/none: it has none of the files model.safetensors.index.json, "),
        ("hf://o/n/b.gguf", "no such object"),
    ] {
        let done = run(Command::new(&zt).args(["ls", url]).env("HF_ENDPOINT", &endpoint), &libraries);
        assert!(said(&done).contains(found), "{url}: {}", said(&done));
    }
    // A server with a private authority.
    let server = Server::start_tls();
    server.put("/m/a.zt", zt_bytes(40, 3000), "\"one\"");
    let url = format!("https://{}/m/a.zt", server.address);
    let authority = root().join("remote/tests/tls/authority.pem");
    let done = run(Command::new(&zt).args(["ls", &url, "--root-certificates"]).arg(&authority), &libraries);
    assert!(done.status.success() && said(&done).contains("layers.39.weight"), "{}", said(&done));
    let done = run(Command::new(&zt).args(["ls", &url]), &libraries);
    assert!(!done.status.success() && said(&done).contains("certificate"), "{}", said(&done));
    let done = run(Command::new(&zt).args(["--root-certificates", "/nowhere", "ls", &url]), &libraries);
    assert!(!done.status.success() && said(&done).starts_with("zt: /nowhere: "), "{}", said(&done));
    let key = root().join("remote/tests/tls/server.key");
    let done = run(Command::new(&zt).arg("--root-certificates").arg(&key).args(["ls", &url]), &libraries);
    assert!(!done.status.success() && said(&done).contains("root_certificates"), "{}", said(&done));
    let url = format!("http://me:hush@{place}.zt?X-Signature=hush");
    // Without the library, it says what is missing.
    let done = Command::new(&zt).args(["ls", &url]).env_remove("LD_LIBRARY_PATH").output().unwrap();
    assert!(done.status.code() == Some(3) && said(&done).contains("libztensor_remote"), "{}", said(&done));
    assert!(!said(&done).contains("hush"), "{}", said(&done));
}

#[test]
fn the_python_binding_opens_urls() {
    let (libraries, server) = (libraries(), served());
    let packages = root().join("target/python/packages");
    let path = std::env::join_paths([root().join("bindings/python"), packages]).unwrap();
    let python = |code: &str| {
        let mut command = Command::new("python3");
        command
            .args(["-c", code])
            .env("PYTHONPATH", &path)
            .env("LIBZTENSOR", libraries.join("libztensor.so.1"));
        command
            .env("LIBZTENSOR_REMOTE", libraries.join("libztensor_remote.so.1"))
            .env("PYTHONDONTWRITEBYTECODE", "1");
        run(&mut command, &libraries)
    };
    if !python("import numpy, ml_dtypes").status.success() {
        return println!("remote: skipped: python3 has no NumPy with ml_dtypes (make -C bindings python)");
    }
    let url = server.url("/m/a.zt");
    let code = format!(
        "import libztensor\nwith libztensor.File({url:?}) as f:\n    print(len(f), f.mode, bytes(f['layers.7.weight'].numpy()[:4]).hex())"
    );
    let done = python(&code);
    let wanted: String = tensor(7, 4).iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(said(&done).contains(&format!("40 read {wanted}")), "{}", said(&done));
    let done = python(&format!("import libztensor\nlibztensor.File({:?})", server.url("/none.zt")));
    assert!(said(&done).contains("NoFile"), "{}", said(&done));
    // Options: a private authority, and an invalid option.
    let secure = Server::start_tls();
    secure.put("/m/a.zt", zt_bytes(40, 3000), "\"one\"");
    let authority = root().join("remote/tests/tls/authority.pem");
    let open = |remote: &str| {
        python(&format!(
            "import libztensor\nprint(len(libztensor.File('https://{}/m/a.zt', remote={remote})))",
            secure.address
        ))
    };
    let done = open(&format!("{{'root_certificates': open({authority:?}).read(), 'retries': 1}}"));
    assert!(said(&done).contains("40"), "{}", said(&done));
    assert!(said(&open("None")).contains("certificate"));
    assert!(said(&open("{'roots': 'a'}")).contains("InvalidArgument"));
    let done = python("import libztensor\nlibztensor.File('a.zt', remote={'retries': 1})");
    assert!(said(&done).contains("and 'a.zt' is none"), "{}", said(&done));
}
