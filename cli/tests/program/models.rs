//! Models of several files: every command opens the same model, reports what it leaves out, and reads each
//! part once.

use crate::common;

use common::{folder, names, run, zt, Ran};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Stdio;

/// A safetensors file with tensors of one byte.
fn safetensors(tensors: &[(&str, u8)]) -> Vec<u8> {
    let entry = |(at, (name, _)): (usize, &(&str, u8))| {
        format!(r#""{name}":{{"dtype":"U8","shape":[1],"data_offsets":[{at},{}]}}"#, at + 1)
    };
    let header = format!("{{{}}}", tensors.iter().enumerate().map(entry).collect::<Vec<_>>().join(","));
    let data: Vec<u8> = tensors.iter().map(|(_, value)| *value).collect();
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat()
}

/// Three files of a model.
fn set(name: &str) -> (PathBuf, Vec<PathBuf>) {
    let folder = folder(name);
    let write = |(at, tensor): (usize, &str)| {
        let path = folder.join(format!("m-0000{}-of-00003.safetensors", at + 1));
        std::fs::write(&path, safetensors(&[(tensor, at as u8)])).unwrap();
        path
    };
    let paths = ["a", "b", "c"].into_iter().enumerate().map(write).collect();
    (folder, paths)
}

/// A model whose index omits a tensor, and the state of a training in the same folder.
fn with_index(name: &str) -> PathBuf {
    let folder = folder(name);
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).unwrap();
    write("m-00001-of-00002.safetensors", &safetensors(&[("a", 1), ("vision.w", 2)]));
    write("m-00002-of-00002.safetensors", &safetensors(&[("b", 3)]));
    write("optimizer.pt", b"state");
    let map = r#"{"weight_map": {"a": "m-00001-of-00002.safetensors", "b": "m-00002-of-00002.safetensors"}}"#;
    write("m.safetensors.index.json", map.as_bytes());
    folder
}

#[test]
fn paths_of_one_model_are_taken_once() {
    let (folder, paths) = set("models-once");
    let [a, b, c] = &paths[..] else { panic!() };
    let out = run(&[&"ls", a, b, c, &folder]).good();
    assert_eq!(out.matches("3 objects").count(), 1, "{out}");
    let out = run(&[&"verify", c, b, a]).sound();
    assert!(out.contains("1 file: 0 ok, 1 structure ok, 0 failed"), "{out}");
    let merged = folder.join("merged.zt");
    run(&[&"merge", a, b, c, &merged]).good();
    assert_eq!(names(&merged), ["a", "b", "c"]);
    let ids = run(&[&"id", a, b, c]);
    assert_eq!(ids.err.lines().count(), 1, "{ids:?}");
    assert!(ids.err.contains("only zTensor 2"), "{ids:?}");
    assert!(
        !ids.err.contains("--part"),
        "--part was suggested, but a part has no content digest either: {ids:?}"
    );
    let page = folder.join("page.html");
    let out = run(&[&"report", a, b, c, &"-o", &page]).good();
    assert!(out.contains("page.html: 1 file, "), "{out}");
    let out = run(&[&"report", a, b, &"--diff", &"--force", &"-o", &page]).good();
    assert!(out.contains("page.html: 2 files, "), "{out}");
    let out = run(&[&"--part", &"verify", a, b, c]).sound();
    assert!(out.contains("3 files: 0 ok, 3 structure ok"), "{out}");
    let out = run(&[&"ls", b, &"--part"]).good();
    assert!(out.contains("1 object:"), "{out}");
    std::fs::remove_file(c).unwrap();
    run(&[&"ls", b]).bad(&["m-00003-of-00003.safetensors", "--part"]);
    run(&[&"convert", b, &folder.join("half.zt")]).bad(&["m-00003-of-00003.safetensors"]);
}

#[test]
fn omitted_tensors_are_reported_last_and_can_be_included() {
    let folder = with_index("models-left-out");
    let unlisted = "passed over: 1 object: \"vision.w\"";
    for command in ["ls", "verify", "stats", "info", "bench"] {
        let ran = run(&[&command, &folder]);
        assert_eq!(ran.status, 0, "{ran:?}");
        assert!(ran.err.contains("passed over: 1 file: \"optimizer.pt\""), "{ran:?}");
        assert!(ran.err.lines().last().unwrap().contains(unlisted), "{ran:?}");
    }
    let to = folder.join("x.npz");
    let ran = run(&[&"convert", &folder, &to]);
    assert!(ran.status == 0 && ran.err.contains(unlisted), "{ran:?}");
    assert_eq!(names(&to), ["a", "b"]);
    let part = folder.join("m-00001-of-00002.safetensors");
    let ran = run(&[&"convert", &part, &to, &"--force", &"--include-unlisted"]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{ran:?}");
    assert_eq!(names(&to), ["a", "vision.w", "b"]);
    std::fs::remove_file(to).unwrap();
    let strict = run(&[&"verify", &"--strict", &folder]);
    assert!(strict.status == 1 && strict.err.contains("\"vision.w\""), "{strict:?}");
    let all = run(&[&"verify", &"--strict", &"--include-unlisted", &folder]);
    assert_eq!(all.status, 0, "{all:?}");
    for command in ["ls", "verify"] {
        let json: Value = serde_json::from_str(&run(&[&command, &"--json", &folder]).out).unwrap();
        let of_file = if command == "ls" { &json } else { &json[0] };
        let notes = of_file["left_out"].as_array().unwrap();
        assert_eq!(notes.len(), 2, "{json}");
        assert_eq!(
            (&notes[0]["names"][0], &notes[1]["names"][0]),
            (&"optimizer.pt".into(), &"vision.w".into())
        );
    }
    let json: Value = serde_json::from_str(&run(&[&"bench", &"--json", &"--rounds=1", &folder]).out).unwrap();
    assert_eq!(json["notes"][1]["names"][0], "vision.w", "{json}");
}

fn piped(arguments: &[&str], bytes: &[u8]) -> Ran {
    let mut command = zt();
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), bytes).unwrap();
    Ran::of(child.wait_with_output().unwrap())
}

#[test]
fn a_dash_is_standard_input() {
    let bytes = safetensors(&[("a", 1)]);
    for command in ["ls", "verify", "info", "stats"] {
        let ran = piped(&[command, "-"], &bytes);
        assert_eq!(ran.status, 0, "{ran:?}");
    }
    assert_eq!(piped(&["cat", "-", "a"], &bytes).out.as_bytes(), [1]);
    piped(&["ls", "-"], b"lmgg\x99\xca\0\0").bad(&["zt: standard input: ", "ggml before GGUF"]);
    let redirected = folder("models-input").join("a.safetensors");
    std::fs::write(&redirected, &bytes).unwrap();
    let out = zt().args(["ls", "-"]).stdin(std::fs::File::open(&redirected).unwrap()).output().unwrap();
    assert!(Ran::of(out).good().contains("1 object"));
}

#[test]
fn common_wrong_files_are_named() {
    let folder = folder("models-others");
    let mut torn = safetensors(&[("a", 1)]);
    torn.truncate(20);
    torn.resize(8192, 0);
    let mut torn_keys = b"GGUF\x03\0\0\0\x01\0\0\0\0\0\0\0\x05".to_vec();
    torn_keys.resize(440, 0);
    let cases: [(&str, &[u8], &[&str]); 16] = [
        (
            "lfs.safetensors",
            b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
            &["Git LFS", "git lfs pull"],
        ),
        ("page.gguf", b"\n<!DOCTYPE html><html><body>log in</body></html>", &["HTML"]),
        ("error.gguf", b"<?xml version=\"1.0\"?><Error/>", &["XML"]),
        ("answer.gguf", b"{\"error\": \"not found\"}", &["JSON"]),
        ("old.bin", b"tjgg\x03\0\0\0", &["GGUF"]),
        ("a.gz", b"\x1f\x8b\x08\0", &["gzip"]),
        ("a.xz", b"\xfd7zXZ\0", &["xz"]),
        ("a.zst", b"\x28\xb5\x2f\xfd\0\0", &["zstd"]),
        ("a.bz2", b"BZh91AY", &["bzip2"]),
        ("a.7z", b"7z\xbc\xaf\x27\x1c\0", &["7-Zip"]),
        ("a.h5", b"\x89HDF\r\n\x1a\n", &["HDF5"]),
        ("zeros.safetensors", &[0; 9000], &["zeros"]),
        ("torn.safetensors", &torn, &["zeros", "incomplete"]),
        ("short.safetensors", &torn[..60], &["zeros", "incomplete"]),
        ("short.gguf", &torn_keys, &["zeros", "incomplete"]),
        ("m.safetensors.incomplete", b"\x10\0\0\0\0\0\0\0{\"a\"", &["incomplete"]),
    ];
    for (name, bytes, parts) in cases {
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        run(&[&"ls", &path]).bad(&[&[name], parts].concat());
    }
}
