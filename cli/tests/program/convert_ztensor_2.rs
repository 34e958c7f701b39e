//! `zt convert --spec 2`, also in canonical form: the new file has the contents of the old one, and converts
//! back.

use crate::common;

use common::{data, folder, input, listing, names_in, run, valid_files};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Files of 1.2 that 2 cannot represent, and the message.
const REFUSED: [(&str, &str); 6] = [
    ("py-1.2.3-attributes.zt", "the name of an attribute has 0 bytes"),
    ("py-1.2.3-nul-and-empty-names.zt", "the name of an object has 0 bytes"),
    ("py-1.2.3-quantized.zt", "zt.quant_group/1"),
    ("py-1.2.3-unknown-format.zt", "\"block_mx\" is not namespace.name/number"),
    ("py-1.2.3-unknown-type.zt", "cannot represent the type \"vendor.int4x2\""),
    ("rs-1.2.3-file-attributes.zt", "the name of an attribute has 0 bytes"),
];

fn components(listing: &Value) -> impl Iterator<Item = &Value> {
    listing["objects"].as_array().unwrap().iter().flat_map(|o| o["components"].as_array().unwrap())
}

/// Checks that both have the same values.
#[track_caller]
fn assert_same(a: &Path, b: &Path) {
    let out = run(&[&"diff", &a, &b]).good();
    assert!(out.ends_with("the same\n"), "{out}");
}

fn algorithm(component: &Value) -> Option<&str> {
    component["digest"].as_str().map(|digest| digest.split(':').next().unwrap())
}

fn files_of_1_2() -> Vec<PathBuf> {
    valid_files()
        .into_iter()
        .map(|(path, _)| path)
        .filter(|p| p.parent().unwrap().ends_with("v1.2"))
        .collect()
}

#[test]
fn files_of_1_2_become_2_and_come_back() {
    let folder = folder("convert-2");
    let (two, back) = (folder.join("two.zt"), folder.join("back.zt"));
    let (mut same, mut refused) = (0, 0);
    for old in files_of_1_2() {
        let ran = run(&[&"convert", &"--force", &old, &two, &"--spec=2"]);
        if let Some((_, why)) = REFUSED.iter().find(|(name, _)| old.ends_with(name)) {
            ran.bad(&[why]);
            refused += 1;
            continue;
        }
        ran.good();
        let (was, is) = (listing(&old), listing(&two));
        assert_eq!(is["version"], "2", "{old:?}");
        for component in components(&is) {
            assert_eq!(component["offset"].as_u64().unwrap() % 4096, 0);
            assert!(matches!(algorithm(component), Some("xxh3" | "sha256")), "{old:?} {component}");
        }
        let encoded = |listing: &Value| components(listing).filter(|c| c["encoding"] != "raw").count();
        assert_eq!(encoded(&was), encoded(&is), "{old:?}");
        run(&[&"verify", &two]).sound();
        assert_same(&old, &two);
        run(&[&"convert", &"--force", &two, &back]).good();
        assert_eq!(listing(&back)["version"], "1.2.0");
        run(&[&"verify", &back]).sound();
        assert_same(&old, &back);
        same += 1;
    }
    assert!(same > 10 && refused == REFUSED.len(), "{same} {refused}");
    assert_eq!(names_in(&folder), ["back.zt", "two.zt"]);
}

#[test]
fn a_safetensors_file_is_the_same_after_a_conversion_to_2_and_back() {
    let (from, folder) = input("convert-2-safetensors");
    let (two, back) = (folder.join("two.zt"), folder.join("back.safetensors"));
    for (options, encoding, digest) in [
        (&["--spec=2"][..], "raw", "xxh3"),
        (&["--spec=2", "--zstd=1", "--digest=sha256"], "zt.zstd-seekable/1", "sha256"),
        (&["--spec=2", "--canonical"], "raw", "xxh3"),
    ] {
        let mut zt = common::zt();
        let ran =
            zt.args(["convert", "--force", "--verify"]).args(options).args([&from, &two]).output().unwrap();
        common::Ran::of(ran).good();
        let is = listing(&two);
        assert_eq!(is["version"], "2");
        assert_eq!(components(&is).count(), 3);
        for component in components(&is) {
            let said = (component["encoding"].as_str().unwrap(), algorithm(component));
            assert_eq!(said, (encoding, Some(digest)), "{options:?}");
        }
        run(&[&"convert", &"--force", &two, &back]).noted("left out");
        assert_same(&from, &back);
        assert!(std::fs::read(&back).unwrap() == std::fs::read(&from).unwrap(), "{options:?}");
    }
}

#[test]
fn canonical_files_of_different_sources_are_equal() {
    let (from, folder) = input("convert-2-canonical");
    let path = |name: &str| folder.join(name);
    let canonical = |from: &Path, to: &Path| {
        run(&[&"convert", &"--force", &from, &to, &"--spec=2", &"--canonical"]).good();
        let said = run(&[&"id", &to]).out;
        assert!(said.starts_with("sha256:") && !said.contains("not canonical"), "{said}");
        std::fs::read(to).unwrap()
    };
    let wanted = canonical(&from, &path("a.zt"));
    run(&[&"convert", &from, &path("zstd.zt"), &"--spec=2", &"--zstd", &"--digest=sha256"]).good();
    assert!(run(&[&"id", &path("zstd.zt")]).noted("not covered").contains("not canonical"));
    run(&[&"convert", &from, &path("1.2.zt")]).good();
    for other in ["a.zt", "zstd.zt", "1.2.zt"] {
        assert!(canonical(&path(other), &path("b.zt")) == wanted, "{other}");
    }
    for release in ["release-2.0.0-canonical.zt", "release-2.1.2-canonical.zt", "py-csr-canonical.zt"] {
        let release = data().join("v2/real").join(release);
        assert!(canonical(&release, &path("b.zt")) == std::fs::read(&release).unwrap(), "{release:?}");
    }
}

#[test]
fn options_that_2_does_not_have_are_rejected_and_nothing_is_written() {
    let (from, folder) = input("convert-2-refused");
    let to = folder.join("out.zt");
    let quantized = data().join("v1.2/py-1.2.3-quantized.zt");
    let long = format!("--rename=model.a.weight={}", "n".repeat(1025));
    let cases: [(&Path, &[&str], &str); 6] = [
        (&from, &["--canonical"], "cannot represent a canonical form"),
        (&from, &["--spec=2", "--canonical", "--zstd"], "an encoding is not possible"),
        (&from, &["--spec=2", "--canonical", "--digest=sha256"], "a digest other than xxh3 is not possible"),
        (&from, &["--spec=2", "--digest=crc32c"], "cannot represent the digest crc32c"),
        (&quantized, &["--spec=2"], "zt.quant_group/1"),
        (&from, &["--spec=2", &long], "1025 bytes; 1 to 1024"),
    ];
    for (from, options, why) in cases {
        let mut zt = common::zt();
        let output = zt.args(["convert"]).args(options).args([from, &to]).output().unwrap();
        common::Ran::of(output).bad(&[why]);
        assert_eq!(names_in(&folder), ["in.safetensors"], "{options:?}");
    }
}

/// With --combine, weights that a layout of 2 can have get it, and become the same tensors again. Of others,
/// the message says why.
#[test]
fn weights_of_checkpoints_become_layouts_of_2_and_come_back() {
    let folder = folder("convert-2-combined");
    let [two, one, back] = ["two.zt", "one.zt", "back.safetensors"].map(|name| folder.join(name));
    for (model, layout, scheme) in [
        ("ct-int4-group", "zt.quant_group/1", "pack_quantized"),
        ("ct-mxfp4", "zt.mx/1", "mxfp4_pack_quantized"),
        ("mxfp4-experts", "zt.mx/1", "mxfp4_blocks"),
        ("mlx-mxfp4", "zt.mx/1", "mlx"),
    ] {
        let model = data().join("checkpoints").join(model);
        let out = run(&[&"convert", &"--combine", &"--spec=2", &"--verify", &"--force", &model, &two]).good();
        assert!(out.contains(&format!("1 weight of {scheme} combined")), "{out}");
        run(&[&"verify", &"--strict", &two]).sound();
        let listed = listing(&two);
        let formats = listed["objects"].as_array().unwrap().iter().map(|object| &object["format"]);
        assert!(formats.clone().any(|format| format == layout), "{listed}");
        run(&[&"convert", &"--spec=1.2", &"--verify", &"--force", &two, &one]).good();
        let listed = listing(&one);
        let formats = listed["objects"].as_array().unwrap().iter().map(|object| &object["format"]);
        assert!(formats.clone().any(|format| format == "quantized_group"), "{listed}");
        for from in [&two, &one] {
            run(&[&"convert", &"--verify", &"--force", from, &back]).noted("left out");
            assert_same(&model.join("model.safetensors"), &back);
        }
        // Its numbers become those of other types, as those of the model do.
        let (of_two, of_model) = (folder.join("of-two.gguf"), folder.join("of-model.gguf"));
        for options in [["--dtype=bf16", "--force"], ["--type=q8_0", "--force"]] {
            run(&[&"convert", &options[0], &options[1], &two, &of_two]);
            run(&[&"convert", &options[0], &options[1], &model, &of_model]);
            assert_eq!(run(&[&"diff", &"--no-attributes", &of_two, &of_model]).status, 0);
        }
    }
    let model = data().join("checkpoints/gptq-4");
    let why = "cannot represent a weight of gptq, whose codes are not in the order of its elements";
    run(&[&"convert", &"--combine", &"--spec=2", &"--force", &model, &two]).bad(&[
        "a.weight",
        why,
        "zTensor 1.2",
    ]);
}
