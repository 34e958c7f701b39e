//! `zt ls`: the JSON equals the corpus manifests, and the table is readable.

use crate::common;

use common::{data, folder, listing, manifest, run, valid_files, zt, Ran};
use serde_json::{json, Value};
use std::process::Stdio;

const COMPONENT: [&str; 10] = [
    "role",
    "dtype",
    "type",
    "offset",
    "length",
    "uncompressed_length",
    "encoding",
    "digest",
    "sha256_of_decoded_little_endian_bytes",
    "decoded_length",
];

fn picked(value: &Value, fields: &[&str]) -> Value {
    fields
        .iter()
        .map(|field| (field.to_string(), value[field].clone()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// The part of a manifest entry that `zt ls --json --sha256` prints.
fn expected(entry: &Value) -> Value {
    let objects = entry["objects"].as_array().unwrap().iter().map(|object| {
        let mut picked_object = picked(object, &["name", "shape", "format", "attributes"]);
        // as printed
        picked_object["name"] = object["name"].as_str().unwrap().replace('\\', "\\\\").into();
        let components = object["components"].as_array().unwrap();
        picked_object["components"] = components.iter().map(|c| picked(c, &COMPONENT)).collect();
        picked_object
    });
    json!({
        "version": entry["version"],
        "attributes": entry["attributes"],
        "objects": objects.collect::<Vec<_>>(),
    })
}

#[test]
fn the_json_equals_the_manifests() {
    let files = valid_files();
    assert_eq!(files.len(), 137);
    for (path, entry) in files {
        assert_eq!(listing(&path), expected(&entry), "{}", path.display());
    }
}

#[test]
fn integers_beyond_64_bits_are_exact() {
    const LEAST: &str = "-18446744073709551616"; // serde_json would make it a float
    let (text, _) = manifest("valid-odd");
    let path = data().join("valid-odd/attributes-everything.zt");
    let out = run(&[&"ls", &"--json", &path]).good();
    assert!(text.contains(LEAST));
    assert_eq!(out.matches(LEAST).count(), text.matches(LEAST).count());
}

#[test]
fn without_sha256_nothing_is_hashed() {
    let out = run(&[&"ls", &"--json", &data().join("v1.2/py-1.2.3-zstd.zt")]).good();
    assert!(!out.contains("sha256_of_decoded") && !out.contains("decoded_length"));
}

#[test]
fn a_hash_that_cannot_be_had_is_null_and_a_failure() {
    let ran = run(&[&"ls", &"--json", &"--sha256", &data().join("invalid/zstd-corrupt-block.zt")]);
    let json: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(json["objects"][0]["components"][0]["decoded_length"], Value::Null);
    ran.bad(&["zstd-corrupt-block.zt", "component \"data\""]);
}

#[test]
fn the_table_shows_every_component() {
    let out = run(&[&"ls", &data().join("v1.2/py-1.2.3-sparse.zt")]).good();
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(
        lines[0].split_whitespace().collect::<Vec<_>>(),
        ["NAME", "TYPE", "SHAPE", "STORED", "DECODED", "ENCODING", "DIGEST"]
    );
    let line = |start: &str| lines.iter().find(|l| l.starts_with(start)).unwrap().to_string();
    assert!(line("csr-z ").contains("sparse_csr") && line("csr-z ").contains("[6, 6]"));
    assert!(out.contains("  values    f32 (complex64)"));
    assert!(out.contains("zstd      sha256:b9ff8be023..."));
    assert_eq!(
        *lines.last().unwrap(),
        "8 objects, 21 components: 934 B stored, 1.0 KiB decoded; zTensor 1.2.0, file of 2.9 KiB"
    );
}

#[test]
fn the_long_table_has_bytes_offsets_and_whole_digests() {
    let out = run(&[&"ls", &"--long", &data().join("v1.2/py-1.2.3-digests.zt")]).good();
    let line = out.lines().find(|l| l.starts_with("zstd-sha256")).unwrap();
    let (_, manifest) = manifest("v1.2");
    let objects = manifest["py-1.2.3-digests.zt"]["objects"].as_array().unwrap();
    let component = &objects.iter().find(|o| o["name"] == "zstd-sha256").unwrap()["components"][0];
    let cells: Vec<_> = line.split_whitespace().collect();
    let number = |field: &str| component[field].to_string();
    assert_eq!(
        cells,
        [
            "zstd-sha256",
            "dense",
            "f32",
            "[64]",
            &number("offset"),
            &number("length"),
            &number("decoded_length"),
            "zstd",
            component["digest"].as_str().unwrap(),
        ]
    );
}

#[test]
fn the_table_has_only_columns_that_say_something() {
    let heading = |out: &str| out.lines().next().unwrap().split_whitespace().map(str::to_owned).collect();
    let headings = |path: &str, words: &[&str]| -> Vec<String> {
        heading(&Ran::of(zt().arg("ls").arg(data().join(path)).args(words).output().unwrap()).good())
    };
    let gguf = "foreign/valid/amber-all-types-py.gguf";
    assert_eq!(headings(gguf, &[]), ["NAME", "TYPE", "SHAPE", "STORED"]);
    let archive = "foreign/valid/amber-all-deflated.npz";
    assert_eq!(headings(archive, &[]), ["NAME", "TYPE", "SHAPE", "STORED", "DECODED", "ENCODING", "DIGEST"]);
    let all = ["NAME", "FORMAT", "TYPE", "SHAPE", "OFFSET", "STORED", "DECODED", "ENCODING", "DIGEST"];
    assert_eq!(headings(gguf, &["--long"]), all);
    // Real names fit into 80 columns.
    let model = data().join("../../examples/data/minilm-small.safetensors");
    for words in [&["ls"][..], &["tree"], &["info", "--memory"]] {
        let out = Ran::of(zt().args(words).arg(&model).output().unwrap()).good();
        assert!(out.lines().all(|line| line.len() <= 80), "{out}");
    }
    let out = run(&[&"ls", &model]).good();
    let totals = "66 objects: 224.5 KiB; safetensors, file of 231.4 KiB";
    assert_eq!(out.lines().last(), Some(totals));
}

/// The CRC-32s are those that Python's zipfile gives for the members.
#[test]
fn the_digest_of_an_archive_is_its_crc32() {
    for (file, name, sum) in [
        ("amber-all-deflated.npz", "tok_emb.16", "ADE30910"),
        ("amber-all-dtypes-typed.pt", "tok_emb", "D5347C2D"),
    ] {
        let path = data().join("foreign/valid").join(file);
        let out = run(&[&"ls", &path, &name]).good();
        assert!(out.lines().nth(1).unwrap().ends_with(&format!("  crc32:0x{sum}")), "{out}");
        let out = run(&[&"info", &path, &name]).good();
        assert!(out.contains(&format!("\n  digest     crc32:0x{sum}, of the archive\n")), "{out}");
    }
}

#[test]
fn attributes_are_shown_with_their_types() {
    let attributes = |file: &str| run(&[&"ls", &"-a", &data().join("foreign/valid").join(file)]).good();
    let out = attributes("amber-kv-types-py.gguf");
    for line in [
        "general.architecture: string = \"bert\"",
        "a.u16: u16 = 60000",
        "a.i64: i64 = -9223372036854775808",
        "a.f32: f32 = 1.5",
        "a.bool: bool = true",
        "b.int: [i32] x 3 = [1,2,3]",
        "b.str: [string] x 3 = [\"x\",\"\",\"yyamber\"]",
        "b.bool: [bool] x 3 = [true,false,false]",
        "b.nested: [array] x 3 = [[1,2],[3,4,5],[6]]",
    ] {
        assert!(out.lines().any(|found| found == line), "{line}: {out}");
    }
    let out = attributes("amber-kv-all-le3.gguf");
    assert!(out.contains("\narr.empty_u8: [u8] x 0 = []\narr.empty_str: [string] x 0 = []\n"), "{out}");
    assert!(
        out.contains("\nstr.not_utf8: bytes = ") && out.contains("\narr.not_utf8: [string] x 4 = "),
        "{out}"
    );
    let vocabulary = data().join("foreign/valid/amber-vocab.gguf");
    let out = run(&[&"info", &vocabulary]).good();
    let line = out.lines().find(|line| line.starts_with("  tokenizer.ggml.tokens: ")).unwrap();
    assert!(
        line.starts_with("  tokenizer.ggml.tokens: [string] x ") && line.ends_with("... (55.0 KiB)"),
        "{line}"
    );
    let out = run(&[&"info", &data().join("valid-odd/attributes-everything.zt"), &"x"]).good();
    for part in [": integer = ", ": float = ", ": tag 0 = ", ": map x 6 = "] {
        assert!(out.contains(part), "{part}: {out}");
    }
}

fn names(out: &str) -> Vec<&str> {
    let rows = out.lines().count() - 2; // without heading and totals
    out.lines().skip(1).take(rows).map(|l| l.split_whitespace().next().unwrap()).collect()
}

#[test]
fn globs_choose_and_sort_orders() {
    let file = data().join("v1.1/py-1.1.1-all-dtypes.zt");
    let out = run(&[&"ls", &file, &"f*", &"u1?", &"--sort", &"name"]).good();
    assert_eq!(names(&out), ["f16", "f32", "f64", "u16"]);
    assert!(out.lines().last().unwrap().starts_with("4 objects of 13: "), "{out}");
    let out = run(&[&"ls", &file, &"[fu]*", &"--sort", &"name", &"--reverse"]).good();
    assert_eq!(names(&out), ["u8", "u64", "u32", "u16", "f64", "f32", "f16"]);
    let out = run(&[&"ls", &file, &"{i8,i16,i32,i64}", &"--sort", &"size"]).good();
    assert_eq!(names(&out), ["i8", "i16", "i32", "i64"]);
    let json = run(&[&"ls", &"--json", &file, &"bool"]).good();
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["objects"].as_array().unwrap().len(), 1);

    let shuffled = data().join("valid-odd/blob-order.zt");
    let offsets = |arguments: &[&str]| -> Vec<u64> {
        let out = zt().arg("ls").arg("--json").args(arguments).arg(&shuffled).output().unwrap();
        let json: Value = serde_json::from_slice(&out.stdout).unwrap();
        let objects = json["objects"].as_array().unwrap();
        objects.iter().map(|o| o["components"][0]["offset"].as_u64().unwrap()).collect()
    };
    assert!(!offsets(&[]).is_sorted());
    assert!(offsets(&["--sort", "offset"]).is_sorted());
    assert!(offsets(&["--sort", "offset", "--reverse"]).is_sorted_by(|a, b| a >= b));

    // A file with a wrong name looks like a glob.
    run(&[&"ls", &file, &"f*", &"nothing.zt"]).bad(&["neither an object nor a file \"nothing.zt\""]);
    let of_two = run(&[&"ls", &file, &shuffled, &"f32"]).good();
    assert!(of_two.contains("0 objects of ") && of_two.contains("1 object of 13"), "{of_two}");
    run(&[&"ls", &file, &"["]).bad(&["no object has the name \"[\"", "as a pattern"]);
}

#[test]
fn names_are_escaped_in_the_table() {
    for (file, shown) in [
        ("valid-odd/name-newline.zt", "a\\r\\nb"),
        ("valid-odd/name-bidi.zt", "\\u{202e}\\u{2066}x"),
        ("v1.2/py-1.2.3-nul-and-empty-names.zt", "a\\u{0}b"),
    ] {
        let out = run(&[&"ls", &data().join(file)]).good();
        assert!(out.contains(shown), "{out}");
        assert!(!out.contains(|c: char| c.is_control() && c != '\n' || c == '\u{202e}'), "{out:?}");
    }
}

#[test]
fn an_unreadable_file_is_one_line_and_status_1() {
    let ran = run(&[&"ls", &"-"]);
    assert!(ran.status == 1 && ran.err.starts_with("zt: standard input: the file is empty"), "{ran:?}");
    run(&[&"ls", &data().join("invalid/header-magic-gguf.zt")]).bad(&["header-magic-gguf.zt: "]);
    run(&[&"ls", &folder("ls").join("missing.zt")]).bad(&["missing.zt: ", "No such file"]);
    run(&[&"ls", &folder("ls")]).bad(&["folder"]);
}

#[test]
fn a_closed_pipe_is_quiet() {
    let file = data().join("v1.1/py-1.1.1-1000.zt");
    for arguments in [&["ls"][..], &["ls", "--json"]] {
        let mut child =
            zt().args(arguments).arg(&file).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
}

#[test]
fn a_model_of_several_files_is_listed_with_the_part_of_each_component() {
    let folder = data().join("foreign/valid/amber-hf-sharded");
    let out = run(&[&"ls", &"--json", &"--sort", &"offset", &folder]).good();
    let listed: Value = serde_json::from_str(&out).unwrap();
    let parts = listed["parts"].as_array().unwrap();
    assert!(parts.len() == 3 && parts[2].as_str().unwrap().ends_with("/model-00003-of-00003.safetensors"));
    let of = |object: &Value| object["components"][0]["part"].as_u64().unwrap();
    let places: Vec<u64> = listed["objects"].as_array().unwrap().iter().map(of).collect();
    assert!(places.is_sorted() && places.contains(&2) && places.len() > 3, "{places:?}");
}
