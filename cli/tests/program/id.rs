//! `zt id`: the content digest of a file, or the reason why it has none; and violations of the canonical
//! form.

use crate::common;

use common::{data, folder, run};
use ztensor::model::dtype::Dtype;
use ztensor::model::manifest::Version;
use ztensor::model::value::{Attributes, Value};
use ztensor::writer::{Algorithm, ComponentSpec, ObjectSpec, Writer, WriterOptions};

#[test]
fn a_file_has_its_digest() {
    let path = data().join("v2/real/release-2.1.2-canonical.zt");
    let line = run(&[&"id", &path]).noted("not covered");
    let digest = "sha256:188cef453c3833dd698bf7967074b5d9214fd300fe9109954675f237fc1de537";
    assert_eq!(line, format!("{digest}  {}\n", path.display()));
    let line = run(&[&"id", &"--digest", &"xxh3", &path]).noted("not covered");
    assert!(line.starts_with("xxh3:32de14785eafea30  "), "{line}");
}

#[test]
fn a_file_that_is_not_canonical_is_listed_with_the_reason() {
    let path = data().join("v2/real/release-2.1.1-zstd.zt");
    let line = run(&[&"id", &path]).good();
    assert!(
        line.contains("  not canonical: K2: its offset 8192 is not a multiple of 65536: object "),
        "{line}"
    );
    let json: serde_json::Value = serde_json::from_str(&run(&[&"id", &"--json", &path]).good()).unwrap();
    assert!(json[0]["content_digest"].as_str().unwrap().starts_with("sha256:"));
}

#[test]
fn padding_that_is_not_zero_is_not_canonical() {
    let mut bytes = std::fs::read(data().join("v2/real/release-2.1.2-canonical.zt")).unwrap();
    bytes[4096] = 0xab;
    let path = common::folder("id-padding").join("a.zt");
    std::fs::write(&path, bytes).unwrap();
    let line = run(&[&"id", &path]).noted("not covered");
    let why = "  not canonical: F14: 1 bytes of padding are not zero, the first at 4096\n";
    assert!(line.ends_with(why), "{line}");
}

#[test]
fn names_that_are_not_in_normal_form_are_not_canonical() {
    let path = data().join("v2/cases/k5-decomposed.zt");
    let line = run(&[&"id", &path]).good();
    assert!(line.contains("  not canonical: K5: the name is not in normal form C: object "), "{line}");
    let composed = data().join("v2/real/py-names-canonical.zt");
    assert!(!run(&[&"id", &composed]).good().contains("not canonical"));
    // Keys of attributes are names, too.
    let path = common::folder("id-names").join("a.zt");
    let written = |of_file: &str, of_object: &str| {
        let digest = Some(Algorithm::Xxh3);
        let options =
            WriterOptions { version: Version::V2, alignment: 65536, digest, ..WriterOptions::default() };
        let map = |key: &str| {
            let mut attributes = Attributes::default();
            attributes.set(key, Value::EMPTY_MAP).unwrap();
            attributes
        };
        let mut writer = Writer::create(&path, &options).unwrap();
        writer.set_attributes(map(of_file)).unwrap();
        let object = ObjectSpec { name: "a", format: "dense", shape: &[1] };
        writer
            .write_object(&object, map(of_object), &[(ComponentSpec::new("data", Dtype::U8), b"x")])
            .unwrap();
        writer.finish().unwrap();
        run(&[&"id", &path]).noted("not covered")
    };
    let (composed, decomposed) = ("\u{e9}", "e\u{301}");
    assert!(!written(composed, composed).contains("not canonical"));
    for (line, of) in
        [(written(decomposed, composed), "the file's"), (written(composed, decomposed), "object \"a\"'s")]
    {
        assert!(line.contains("not canonical: K5: the key ") && line.contains(of), "{line}");
    }
}

#[test]
fn a_file_without_a_content_digest_ends_with_2_and_a_broken_one_with_1() {
    let other = data().join("v1.2/py-1.2.3-zstd.zt");
    let ran = run(&[&"id", &other]);
    assert_eq!((ran.status, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("has no content digest; only zTensor 2"), "{}", ran.err);
    let ran = run(&[&"id", &other, &"nowhere.zt"]);
    assert_eq!(ran.status, 1);
}

#[test]
fn either_all_files_of_a_model_have_a_content_digest_or_none() {
    let folder = folder("id-parts");
    let from = data().join("v1.2/py-1.2.3-all-dtypes.zt");
    for (options, name, has_one) in [
        (&["--spec=2"][..], "two.zt", true),
        (&["--spec=1.2"], "one.zt", false),
        (&["--include=i*"], "m.safetensors", false),
    ] {
        let mut whole = common::zt();
        whole
            .args(["convert", "--no-attributes", "--shard-size=1"])
            .args(options)
            .arg(&from)
            .arg(folder.join(name));
        let made = common::Ran::of(whole.output().unwrap());
        assert_eq!(made.status, 0, "{made:?}");
        let stem = name.split('.').next().unwrap();
        let part =
            common::names_in(&folder).into_iter().find(|n| n.starts_with(&format!("{stem}-00001"))).unwrap();
        let (model, part) =
            (run(&[&"id", &folder.join(&part)]), run(&[&"--part", &"id", &folder.join(&part)]));
        assert_eq!((model.status, part.status), (2, if has_one { 0 } else { 2 }), "{model:?} {part:?}");
        assert_eq!(model.err.contains("--part"), has_one, "{model:?}");
        assert!(has_one || model.err.contains("only zTensor 2"), "{model:?}");
    }
}
