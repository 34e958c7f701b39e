//! `zt` with tensors that cannot be read, names that are not UTF-8, and bytes after the content.

use crate::common;

use common::{folder, names, run};
use serde_json::Value;
use std::path::PathBuf;

/// A GGUF file with tensors of two floats: a name and a ggml type for each.
fn gguf(test: &str, tensors: &[(&[u8], u32)]) -> PathBuf {
    let mut file = b"GGUF\x03\0\0\0".to_vec();
    file.extend([tensors.len() as u64, 0].map(u64::to_le_bytes).concat());
    for (at, (name, kind)) in tensors.iter().enumerate() {
        file.extend((name.len() as u64).to_le_bytes());
        file.extend(*name);
        file.extend(1u32.to_le_bytes());
        file.extend(2u64.to_le_bytes());
        file.extend(kind.to_le_bytes());
        file.extend((at as u64 * 32).to_le_bytes());
    }
    for at in 0..tensors.len() {
        file.resize(file.len().next_multiple_of(32), 0);
        file.extend([at as u8; 8]);
    }
    let path = folder(test).join("in.gguf");
    std::fs::write(&path, file).unwrap();
    path
}

#[test]
fn a_tensor_that_cannot_be_read_is_named_or_left_out_and_listed() {
    let from = gguf("unread", &[(b"a", 0), (b"old", 31), (b"new", 200), (b"b", 0)]);
    for end in ["zt", "safetensors", "npz", "gguf"] {
        let to = from.with_file_name(format!("out.{end}"));
        run(&[&"convert", &from, &to]).bad(&["\"old\"", "ggml.31", "--skip-unreadable"]);
        assert!(!to.exists());
        let ran = run(&[&"convert", &"--skip-unreadable", &from, &to]);
        assert_eq!(ran.status, 0, "{ran:?}");
        for part in ["left out", "\"old\"", "ggml.31", "\"new\"", "ggml.200"] {
            assert!(ran.err.contains(part), "{part}: {ran:?}");
        }
        assert_eq!(names(&to), ["a", "b"]);
        let chosen: [&dyn AsRef<std::ffi::OsStr>; 4] = [&"--exclude", &"old", &"--exclude", &"new"];
        let others: [&dyn AsRef<std::ffi::OsStr>; 5] = [&"convert", &"--force", &"--verify", &from, &to];
        assert_eq!(
            run(&[&others[..], &chosen].concat()).status,
            0,
            "tensors that are not selected do not need to be readable"
        );
    }
    run(&[&"cat", &from, &"old"]).bad(&["old", "ggml.31"]);
    // The advice names only commands that work for it.
    let types = common::data().join("foreign/valid/amber-all-types-py.gguf");
    let mut advised = 0;
    let unread = ["a", "old", "new", "b"].map(|name| (&from, name.to_owned()));
    for (path, name) in unread.into_iter().chain(names(&types).into_iter().map(|name| (&types, name))) {
        let to = from.with_file_name("arrays");
        let arrays = run(&[&"extract", &"--exact", path, &name, &"--to", &to]);
        let cat =
            common::zt().args(["cat", "--exact", "--npy"]).arg(path).arg(&name).output().unwrap().stderr;
        let cat = String::from_utf8(cat).unwrap();
        let _ = std::fs::remove_dir_all(&to);
        let raw = run(&[&"extract", &"--exact", &"--raw", path, &name, &"--to", &to]);
        let _ = std::fs::remove_dir_all(&to);
        assert_eq!(arrays.err.contains("--raw"), arrays.status == 1 && raw.status == 0, "{arrays:?} {raw:?}");
        assert_eq!(cat.contains("without --npy"), arrays.err.contains("--raw"), "{cat}");
        advised += usize::from(arrays.err.contains("--raw"));
    }
    assert!(advised > 0);
    run(&[&"ls", &from]).good();
}

#[test]
fn names_that_are_not_utf8_are_shown_taken_and_renamed() {
    let from = gguf("not-utf8", &[(b"\xff", 0), (b"\xfe", 0), (b"\\\xff", 0), (b"\\xff", 0)]);
    let listed = run(&[&"ls", &from]).good();
    let shown: Vec<_> = listed.lines().skip(1).take(4).map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(shown, ["\\xff", "\\xfe", "\\\\\\xff", "\\\\xff"]);
    for (at, name) in shown.iter().enumerate() {
        let info = run(&[&"info", &from, name]).good();
        assert_eq!(info.lines().next(), Some(*name), "{at}");
    }
    // JSON has them in the same form, so that two different names never have the same text.
    let json = |words: &[&dyn AsRef<std::ffi::OsStr>]| -> Value {
        let ran = run(words);
        serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {ran:?}"))
    };
    let all = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|o| o["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(all(&json(&[&"ls", &"--json", &from])["objects"]), shown);
    assert_eq!(all(&json(&[&"stats", &"--json", &from])["tensors"]), shown);
    let (other, lossy) = (gguf("not-utf8-other", &[(b"a", 0)]), from.with_file_name("lossy.safetensors"));
    let differences = json(&[&"diff", &"--json", &from, &other]);
    assert_eq!(differences["only_in_first"].as_array().unwrap(), &shown);
    let notes = json(&[&"convert", &"--json", &"--lossy", &"--dtype=f16", &from, &lossy])["notes"].clone();
    let left_out = notes.as_array().unwrap().iter().find(|note| note["what"] == "left out").unwrap();
    assert_eq!(left_out["names"].as_array().unwrap(), &shown[..3]);
    assert_eq!(names(&lossy), shown[3..]);
    let to = from.with_file_name("out.zt");
    run(&[&"convert", &from, &to]).bad(&["not UTF-8", "--rename"]);
    let rename = |old: &str, new: &str| format!("--rename={old}={new}");
    let (a, b, c) = (rename("\\xfe", "a"), rename("\\\\\\xff", "b"), rename("\\xff", "c"));
    let ran = run(&[&"convert", &a, &b, &rename("\\\\xff", "d"), &c, &from, &to]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert_eq!(names(&to), ["c", "a", "b", "d"]);
    run(&[&"merge", &from, &from.with_file_name("merged.zt")]).bad(&["\\xff", "zt convert --rename"]);
    let swapped = from.with_file_name("swapped.gguf");
    run(&[&"convert", &rename("\\xff", "\\xfe"), &rename("\\xfe", "x=y"), &from, &swapped]).good();
    let back = from.with_file_name("back.gguf");
    run(&[&"convert", &rename("x=y", "\\xff"), &rename("\\xfe", "z"), &swapped, &back]).good();
    let listed = run(&[&"ls", &back]).good();
    let shown: Vec<_> = listed.lines().skip(1).take(4).map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(shown, ["z", "\\xff", "\\\\\\xff", "\\\\xff"]);
    let rest = from.with_file_name("rest.zt");
    run(&[&"convert", &a, &b, &rename("\\\\xff", "d"), &"--exclude", &"\\xff", &from, &rest]).good();
    assert_eq!(names(&rest), ["a", "b", "d"], "the argument matches exactly one object");
}

#[test]
fn bytes_after_the_content_are_ignored_with_an_option() {
    let folder = folder("trailing");
    let (from, to) = (folder.join("in.safetensors"), folder.join("out.safetensors"));
    let header = r#"{"w":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}"#;
    let file = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), b"ab", b"behind"].concat();
    std::fs::write(&from, file).unwrap();
    run(&[&"convert", &from, &to]).bad(&["6 bytes follow", "zt convert --allow-trailing"]);
    assert_eq!(run(&[&"convert", &"--allow-trailing", &from, &to]).status, 0);
    assert_eq!(names(&to), ["w"]);
}
