//! Contents that the output of `zt convert` cannot represent. They are rejected with a line that names them.
//! With --lossy they are left out, also with a line. The rows are those of docs/ztensor_2.md.

use crate::common;

use common::ztensor_1::{component, dense, object, write};
use common::{data, folder, input, listing, names, names_in, run};
use serde_json::{json, Value};
use std::path::{Path, PathBuf};

/// Without --lossy nothing is written, and the message has all of `why` and the advice for all losses. With it
/// these are the lines. A .zt file is refused at its first loss.
#[track_caller]
fn lossy(from: &Path, to: &Path, options: &[&str], losses: &[(&str, &[&str])]) {
    let convert = |more: &[&str]| {
        let mut zt = common::zt();
        common::Ran::of(zt.arg("convert").args(options).args(more).args([from, to]).output().unwrap())
    };
    let (what, why) = losses[0];
    let of = |noun: &str| losses.iter().filter(|loss| loss.0 == noun).count();
    let things = match (of("object"), of("attribute")) {
        _ if losses.len() == 1 || to.extension().is_some_and(|extension| extension == "zt") => {
            format!("the {what}")
        }
        (objects, 0) => format!("the {}", if objects == 1 { "object" } else { "objects" }),
        (1, attributes) => format!("1 object and {attributes} attributes"),
        (objects, attributes) => format!("{objects} objects and {attributes} attributes"),
    };
    convert(&[]).bad(&[why, &[format!("; --lossy leaves {things} out\n").as_str()]].concat());
    assert!(!to.exists());
    let is_known = run(&[&"verify", &from]).status == 0;
    let ran = convert(if is_known { &["--lossy", "--verify"] } else { &["--lossy"] });
    assert_eq!((ran.status, ran.err.lines().count()), (0, losses.len()), "{ran:?}");
    // A note has only the name, because it first says what kind it is.
    let name = |words: &&str| words.trim_start_matches("object ").trim_start_matches("attribute ").to_owned();
    for (what, why) in losses {
        let is_of_it = |line: &str| {
            let begins = line.starts_with(&format!("zt: left out: 1 {what}: "));
            begins && why.iter().all(|words| line.contains(&name(words)))
        };
        assert!(ran.err.lines().any(is_of_it), "{what}, {why:?}: {}", ran.err);
    }
    run(&[&"verify", &if is_known { "--threads=1" } else { "--quick" }, &to]).sound();
}

/// Nothing is lost, so nothing is reported, with and without --lossy.
#[track_caller]
fn lossless(from: &Path, to: &Path, options: &[&str]) {
    for more in [&[][..], &["--lossy"]] {
        let mut zt = common::zt();
        let ran = zt.args(["convert", "--force"]).args(options).args(more).args([from, to]).output();
        common::Ran::of(ran.unwrap()).good();
        run(&[&"verify", &to]).sound();
        let diff = run(&[&"diff", &from, &to]);
        let wider =
            diff.out.lines().filter(|line| line.contains("indices") || line.contains("indptr")).count();
        assert!(diff.status == 0 || wider + 1 == diff.out.lines().count(), "{diff:?}");
        // positions become u64
    }
}

fn data_of(path: &Path, object: &str) -> Value {
    let listing: Value = serde_json::from_str(&run(&[&"ls", &"--json", &path]).good()).unwrap();
    let found = listing["objects"].as_array().unwrap().iter().find(|o| o["name"] == object);
    found.unwrap()["components"][0].clone()
}

struct Case {
    folder: PathBuf,
    from: PathBuf,
    to: PathBuf,
}

impl Case {
    fn new(name: &str) -> Case {
        let folder = folder(name);
        let (from, to) = (folder.join("in.zt"), folder.join("out.zt"));
        Case { folder, from, to }
    }

    /// An object that 2 cannot represent is left out. The other one stays.
    #[track_caller]
    fn loses_object(&self, name: &str, bad: &Value, why: &[&str]) {
        let mut objects = json!({ "good": dense(8, &json!({})) });
        objects[name] = bad.clone();
        let _ = std::fs::remove_file(&self.to);
        write(&self.from, &json!({}), &objects);
        lossy(&self.from, &self.to, &["--spec=2"], &[("object", why)]);
        assert_eq!(names(&self.to), ["good"]);
        assert_eq!(names_in(&self.folder), ["in.zt", "out.zt"]);
    }

    /// A digest of the object "x" is left out. `instead` is its new digest.
    #[track_caller]
    fn loses_digest(&self, component: &Value, why: &[&str]) -> Value {
        let _ = std::fs::remove_file(&self.to);
        write(&self.from, &json!({}), &json!({ "x": dense(8, component) }));
        lossy(&self.from, &self.to, &["--spec=2"], &[("digest", why)]);
        data_of(&self.to, "x")
    }
}

#[test]
fn objects_that_2_cannot_represent_are_left_out() {
    let case = Case::new("lossy-objects");
    let good = dense(8, &json!({}));
    let long = "n".repeat(1025);
    for (name, why) in [("", "has 0 bytes"), ("a\0b", "has a NUL"), (&long, "has 1025 bytes; 1 to 1024")] {
        case.loses_object(name, &good, &["object \"", "the name", "of an object", why]);
    }
    let data = component(64, 8);
    let rank_65 = object("dense", &json!(vec![1; 65]), &json!({ "data": component(192, 1) }));
    let coords = json!({ "dtype": "u64", "offset": 128, "length": 16 });
    let huge = json!([1_u64 << 40, 1_u64 << 40]);
    let coo = object("sparse_coo", &huge, &json!({ "values": component(192, 1), "coords": coords }));
    let groups = object("quantized_group", &json!([8]), &json!({ "packed_weight": data, "scales": data }));
    let sized = |encoding: &str| dense(8, &json!({ "encoding": encoding, "uncompressed_length": 8 }));
    for (bad, why) in [
        (coo, "the product of the shape [1099511627776, 1099511627776] exceeds 64 bits"),
        (rank_65, "its rank is 65, above 64"),
        (dense(8, &json!({ "dtype": "i4" })), "component \"data\": its dtype is not one of the 12"),
        (
            object("blocked_ell", &json!([8]), &json!({ "data": data })),
            "\"blocked_ell\" is not namespace.name",
        ),
        (groups, "the layout \"zt.quant_group/1\", which, unlike \"quantized_group\""),
        (object("acme.empty/1", &json!([8]), &json!({})), "it has no component"),
        (object("dense", &json!([8]), &json!({ "data": data, "more": data })), "but it has 2 parts"),
        (dense(8, &json!({ "encoding": "acme" })), "its decoded size is unknown"),
        (sized("zt.zstd-seekable/1"), "is unknown in its file, but has a meaning in the output file"),
    ] {
        case.loses_object("x", &bad, &["object \"x\"", why]);
    }
    write(&case.from, &json!({}), &json!({ "x": sized("acme") }));
    run(&[&"convert", &"--force", &case.from, &case.to, &"--spec=2"]).good();
    assert_eq!(data_of(&case.to, "x")["encoding"], "acme");
}

#[test]
fn attributes_that_2_cannot_represent_are_left_out() {
    let case = Case::new("lossy-attributes");
    let (tag, undefined) = ("cbor:c101", "cbor:f7");
    let deep = format!("cbor:{}00", "81".repeat(40));
    let odd = json!({ "deep": deep, "kept": 1, "none": undefined, "tagged": tag, "": 2, "cbor:05": 3 });
    let mut x = dense(8, &json!({}));
    x["attributes"] = odd.clone();
    write(&case.from, &odd, &json!({ "x": x }));
    let of_file: [&[&str]; 5] = [
        &["the name of an attribute has 0 bytes"],
        &["an attribute whose key is not text"],
        &["attribute \"deep\"", "within more than 32 arrays and maps"],
        &["attribute \"none\"", "a value is the simple value 23"],
        &["attribute \"tagged\"", "a value has the tag 1"],
    ];
    let of_object: Vec<_> = of_file.iter().map(|why| [&["object \"x\""][..], why].concat()).collect();
    let losses: Vec<(&str, &[&str])> = of_file
        .into_iter()
        .chain(of_object.iter().map(Vec::as_slice))
        .map(|why| ("attribute", why))
        .collect();
    lossy(&case.from, &case.to, &["--spec=2"], &losses);
    let is = listing(&case.to);
    assert_eq!(is["attributes"], json!({ "kept": 1 }));
    assert_eq!(is["objects"][0]["attributes"], json!({ "kept": 1 }));
}

#[test]
fn digests_that_2_cannot_represent_are_left_out() {
    let case = Case::new("lossy-digests");
    let why = ["object \"x\": component \"data\"", "the digest \"acme:00ff\"", "its algorithm is unknown"];
    let left = case.loses_digest(&json!({ "digest": "acme:00ff" }), &why);
    assert!(left["digest"].as_str().unwrap().starts_with("xxh3:"), "{left}");
    std::fs::remove_file(&case.to).unwrap();
    lossy(&case.from, &case.to, &["--spec=1.2", "--zstd"], &[("digest", &why)]);
    assert!(data_of(&case.to, "x")["digest"].as_str().unwrap().starts_with("crc32c:"));
    let encoded = json!({ "encoding": "acme", "uncompressed_length": 8, "digest": "crc32c:8a2cbc3b" });
    let why = ["component \"data\"", "the digest \"crc32c:8a2cbc3b\" of the stored bytes", "unknown"];
    let left = case.loses_digest(&encoded, &why);
    assert_eq!((&left["encoding"], &left["digest"]), (&json!("acme"), &Value::Null));
}

#[test]
fn contents_with_a_different_form_in_2_are_not_lost() {
    let case = Case::new("lossy-nothing-1");
    for file in ["py-1.2.3-zstd.zt", "py-1.2.3-digests.zt", "py-1.2.3-all-dtypes.zt", "py-1.2.3-sparse.zt"] {
        lossless(&data().join("v1.2").join(file), &case.to, &["--spec=2"]);
    }
    for file in ["v1.1/oracle-f8-complex.zt", "valid-odd/csr-1.1-u8-indices.zt"] {
        lossless(&data().join(file), &case.to, &["--spec=2"]);
    }
}

#[test]
fn types_that_2_does_not_know_are_refused() {
    let case = Case::new("lossy-types");
    let (zstd, typed) = (case.folder.join("zstd.zt"), dense(8, &json!({ "type": "acme" })));
    write(&case.from, &json!({ "number": "cbor:f97e01" }), &json!({ "x": typed }));
    run(&[&"convert", &"--zstd", &case.from, &zstd]).good();
    for from in [&case.from, &zstd] {
        let ran = run(&[&"convert", &"--force", &"--verify", &"--spec=2", from, &case.to]);
        ran.bad(&["object \"x\"", "spec 2 cannot represent the type \"acme\""]);
        assert!(!case.to.exists());
    }
    write(&case.from, &json!({}), &json!({ "": dense(8, &json!({})) }));
    run(&[&"convert", &"--force", &"--spec=2", &"--rename==x", &case.from, &case.to]).good();
    assert_eq!(names(&case.to), ["x"]);
}

#[test]
fn contents_with_a_different_form_in_1_2_are_not_lost() {
    let case = Case::new("lossy-nothing-2");
    for file in [
        "real/py-zstd.zt",
        "real/py-every-dtype.zt",
        "real/py-f4-even-and-odd.zt",
        "real/py-csr-canonical.zt",
        "real/rs-sharded-xxh3.zt",
        "real/rs-attributes-all-kinds.zt",
        "real/py-gguf-layouts.zt",
        "real/py-quant-as-documented.zt",
        "real/py-rank-64.zt",
        "cases/t4-bool-sound.zt",
        "cases/lr-u32-sound.zt",
        "cases/b4-one-blob-three-dtypes.zt",
    ] {
        lossless(&data().join("v2").join(file), &case.to, &["--spec=1.2"]);
    }
}

#[test]
fn digests_of_2_that_1_2_cannot_represent_are_left_out() {
    let case = Case::new("lossy-back");
    let unknown = data().join("v2/cases/d3-unknown-algorithm-opens.zt");
    let why: &[&str] = &["component \"data\"", "the digest \"", "its algorithm is unknown"];
    lossy(&unknown, &case.to, &[], &[("digest", why)]);
    assert!(data_of(&case.to, "w")["digest"].as_str().unwrap().starts_with("crc32c:"));
    std::fs::remove_file(&case.to).unwrap();
    let why: &[&str] =
        &["the digest \"xxh3:", "of the decoded bytes, as its type or its encoding is unknown"];
    lossy(&data().join("v2/real/py-unknown-type.zt"), &case.to, &[], &[("digest", why)]);
    assert_eq!(data_of(&case.to, "tern")["digest"], Value::Null);
}

#[test]
fn older_versions_and_other_containers_lack_more() {
    let (_, folder) = input("lossy-others");
    let (from, path) = (folder.join("in.zt"), |name: &str| folder.join(name));
    let coords = json!({ "dtype": "u64", "offset": 128, "length": 8 });
    let coo = object("sparse_coo", &json!([1]), &json!({ "values": component(192, 1), "coords": coords }));
    let mut noted = dense(8, &json!({}));
    noted["attributes"] = json!({ "shape": 1, "x": 2 });
    let typed = dense(8, &json!({ "type": "acme" }));
    write(&from, &json!({ "n": 5 }), &json!({ "coo": coo, "noted": noted, "typed": typed }));
    lossy(
        &from,
        &path("0.1.zt"),
        &["--spec=0.1"],
        &[
            ("attribute", &["attribute \"n\"", "attributes of the file"]),
            ("object", &["object \"coo\"", "sparse_coo"]),
            ("attribute", &["object \"noted\"", "the attribute \"shape\""]),
            ("object", &["object \"typed\"", "the type \"acme\""]),
        ],
    );
    assert_eq!(listing(&path("0.1.zt"))["objects"][0]["attributes"], json!({ "x": 2 }));
    lossy(&from, &path("1.1.zt"), &["--spec=1.1"], &[("object", &["object \"typed\"", "the type \"acme\""])]);
    let no_array: (&str, &[&str]) = ("object", &["object \"coo\"", "the format \"sparse_coo\""]);
    let no_type: (&str, &[&str]) = ("object", &["object \"typed\"", "the unknown type \"acme\""]);
    let noted = ["shape", "x"].map(|key| format!("attribute {key:?}"));
    let noted: Vec<[&str; 3]> =
        noted.iter().map(|key| ["object \"noted\"", "attributes of a tensor", key.as_str()]).collect();
    for (name, of_file) in [
        ("out.safetensors", Some("can only represent texts")),
        ("out.gguf", None),
        ("out.npz", Some("npz has no attributes")),
    ] {
        let mut losses = vec![no_array, ("attribute", &noted[0][..]), ("attribute", &noted[1]), no_type];
        let of_file = of_file.map(|why| ["attribute \"n\"", why]);
        losses.extend(of_file.as_ref().map(|why| ("attribute", &why[..])));
        if name == "out.gguf" {
            losses = vec![no_array, ("object", &["object \"noted\"", "the type \"u8\""]), no_type];
        }
        lossy(&from, &path(name), &[], &losses);
        assert_eq!(names(&path(name)), if name == "out.gguf" { vec![] } else { vec!["noted"] });
    }
}

/// Readers of GGUF treat bytes that are valid UTF-8 as text.
#[test]
fn bytes_that_gguf_has_as_texts_are_left_out() {
    let (_, folder) = input("lossy-bytes");
    let (from, to) = (folder.join("in.zt"), folder.join("out.gguf"));
    for (value, is_kept) in [
        (r#"{"$bytes":"6162"}"#, false),
        (r#"{"$bytes":""}"#, false),
        (r#"[{"$bytes":"ff"},{"$bytes":"c3a9"}]"#, false),
        (r#"[["a"],[{"$bytes":"6162"}]]"#, false),
        (r#"{"$bytes":"ff61"}"#, true),
        (r#"["ab",{"$bytes":"ff"}]"#, true),
        (r#""ab""#, true),
    ] {
        write(&from, &json!({}), &json!({ "w": dense(8, &json!({ "dtype": "i8" })) }));
        run(&[&"attr", &"set", &from, &"k", &value]).good();
        match is_kept {
            true => lossless(&from, &to, &[]),
            false => lossy(&from, &to, &[], &[("attribute", &["attribute \"k\"", "its value"])]),
        }
        std::fs::remove_file(&to).unwrap();
    }
}

#[test]
fn damage_is_not_a_loss() {
    let case = Case::new("lossy-damaged");
    let same = data().join("v0.1/py-0.1.4-duplicate-name.zt");
    run(&[&"convert", &"--lossy", &"--spec=2", &same, &case.to]).bad(&["two tensors would have the name"]);
    for (file, spec) in [
        ("copy/damaged-component.zt", "--spec=2"),
        ("copy/negative-index.zt", "--spec=2"),
        ("v2/cases/z5-flipped-byte.zt", "--spec=1.2"),
        ("v2/cases/upstream-verify-digest-mismatch.zt", "--spec=1.2"),
        ("v2/cases/b3-different-shards-do-not-clash.zt", "--spec=1.2"), // with a missing shard
    ] {
        run(&[&"convert", &"--lossy", &spec, &data().join(file), &case.to]).bad(&[file]);
        assert!(names_in(&case.folder).is_empty());
    }
    write(&case.from, &json!({}), &json!({ "x": dense(8, &json!({ "digest": "sha256:00" })) }));
    run(&[&"convert", &"--lossy", &"--spec=2", &case.from, &case.to]).bad(&["object \"x\"", "sha256:00"]);
}
