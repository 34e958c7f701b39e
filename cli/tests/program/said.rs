//! Commands report what they do not compare, convert, cover or copy: in the last lines on standard error, and
//! in JSON.

use crate::common;

use common::ztensor_1::{dense, write};
use common::{data, folder, names, names_in, run, zt};
use serde_json::{json, Value};
use std::path::{Path, PathBuf};

/// A safetensors file with tensors: name, dtype, shape, bytes.
fn safetensors(path: &Path, metadata: &Value, tensors: &[(&str, &str, usize, &[u8])]) -> PathBuf {
    let (mut header, mut bytes) = (json!({}), Vec::new());
    if !metadata.is_null() {
        header["__metadata__"] = metadata.clone();
    }
    for (name, dtype, count, data) in tensors {
        let (start, end) = (bytes.len(), bytes.len() + data.len());
        header[name] = json!({ "dtype": dtype, "shape": [count], "data_offsets": [start, end] });
        bytes.extend(*data);
    }
    let header = header.to_string();
    let header = format!("{header:<0$}", header.len().next_multiple_of(8));
    let file = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &bytes].concat();
    std::fs::write(path, file).unwrap();
    path.to_owned()
}

/// The notes of a document in JSON: kind, count and names.
fn notes(out: &str) -> Vec<(String, u64, Vec<String>)> {
    let document: Value = serde_json::from_str(out).unwrap_or_else(|e| panic!("{e}: {out}"));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let note = |note: &Value| {
        let names = note["names"].as_array().unwrap().iter().map(text).collect();
        (text(&note["what"]), note["count"].as_u64().unwrap(), names)
    };
    document["notes"].as_array().unwrap().iter().map(note).collect()
}

fn f32s(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn f16(code: u16) -> f64 {
    let (exponent, mantissa) = (i32::from(code >> 10 & 31), f64::from(code & 1023) / 1024.0);
    let sign = if code >> 15 == 0 { 1.0 } else { -1.0 };
    match (exponent, mantissa) {
        (31, 0.0) => sign * f64::INFINITY,
        (31, _) => f64::NAN,
        (0, _) => sign * mantissa * 2f64.powi(-14),
        _ => sign * (1.0 + mantissa) * 2f64.powi(exponent - 15),
    }
}

fn bf16(code: u16) -> f64 {
    f32::from_bits(u32::from(code) << 16).into()
}

/// Numbers of an f8 type, by its definition.
fn f8(code: u8, dtype: &str) -> f64 {
    let (mantissa_bits, bias) = match dtype {
        "F8_E4M3" => (3, 7),
        "F8_E5M2" => (2, 15),
        "F8_E4M3FNUZ" => (3, 8),
        _ => (2, 16),
    };
    let (magnitude, sign) = (u32::from(code & 0x7f), if code & 0x80 == 0 { 1.0 } else { -1.0 });
    let (exponent, mantissa) =
        (magnitude >> mantissa_bits, f64::from(magnitude & ((1 << mantissa_bits) - 1)));
    match (dtype, magnitude) {
        ("F8_E4M3", 0x7f) => return f64::NAN,
        ("F8_E5M2", 0x7c) => return sign * f64::INFINITY,
        ("F8_E5M2", 0x7d..) => return f64::NAN,
        ("F8_E4M3FNUZ" | "F8_E5M2FNUZ", 0) if code == 0x80 => return f64::NAN,
        _ => {}
    }
    let fraction = mantissa / f64::from(1 << mantissa_bits);
    let scale = 2f64.powi(exponent.max(1) as i32 - bias);
    sign * scale * (fraction + if exponent == 0 { 0.0 } else { 1.0 })
}

#[test]
fn f8_is_converted_to_every_container() {
    let folder = folder("said-f8");
    let codes: Vec<u8> = (0..=255).collect();
    let types = ["F8_E4M3", "F8_E5M2", "F8_E4M3FNUZ", "F8_E5M2FNUZ"];
    let tensors: Vec<_> = types.iter().map(|name| (*name, *name, 256, &codes[..])).collect();
    let from = safetensors(&folder.join("in.safetensors"), &Value::Null, &tensors);
    for to in ["out.zt", "out2.zt", "out.safetensors", "out.gguf", "out.npz"] {
        for (dtype, width) in [("f32", 4), ("f16", 2), ("bf16", 2), ("f64", 8)] {
            if (to, dtype) == ("out.npz", "bf16") {
                continue;
            }
            let to = folder.join(to);
            let spec = if to.ends_with("out2.zt") { "--spec=2" } else { "--threads=2" };
            run(&[&"convert", &"--verify", &"--force", &"--dtype", &dtype, &spec, &from, &to]).good();
            for name in types {
                let out = common::zt().arg("cat").arg(&to).arg(name).output().unwrap().stdout;
                assert_eq!(out.len(), 256 * width, "{name} {dtype} {}", to.display());
                for (code, bytes) in codes.iter().zip(out.chunks(width)) {
                    let found = match dtype {
                        "f64" => f64::from_le_bytes(bytes.try_into().unwrap()),
                        "f32" => f32::from_le_bytes(bytes.try_into().unwrap()).into(),
                        "f16" => f16(u16::from_le_bytes(bytes.try_into().unwrap())),
                        _ => bf16(u16::from_le_bytes(bytes.try_into().unwrap())),
                    };
                    let wanted = f8(*code, name);
                    assert!(
                        found == wanted || found.is_nan() && wanted.is_nan(),
                        "{code} of {name} is {found}"
                    );
                }
            }
        }
    }
    // Without --dtype npz is rejected, and the advice in the message works.
    let to = folder.join("no.npz");
    run(&[&"convert", &from, &to])
        .bad(&["npz cannot represent the type \"f8_", "; --dtype f32 converts them"]);
}

#[test]
fn tensors_that_dtype_does_not_convert_are_noted() {
    let (folder, gguf) = (folder("said-dtype"), data().join("foreign/valid/amber-big-endian-py.gguf"));
    let listed = common::listing(&gguf);
    let objects = listed["objects"].as_array().unwrap();
    // The byte order of their elements is unknown.
    let blocks: Vec<_> = objects.iter().filter(|o| o["components"][0]["type"].is_string()).collect();
    let ran = run(&[&"convert", &"--json", &"--dtype=f64", &gguf, &folder.join("out.gguf")]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let mut left: Vec<String> = Vec::new();
    for (what, count, names) in notes(&ran.out) {
        assert_eq!((what.as_str(), count), ("not converted", names.len() as u64));
        left.extend(names);
    }
    left.sort();
    let mut wanted: Vec<_> = blocks.iter().map(|o| o["name"].as_str().unwrap().to_owned()).collect();
    wanted.sort();
    assert!(left == wanted && !left.is_empty(), "{left:?} {wanted:?}");
    assert!(ran.err.lines().all(|line| line.starts_with("zt: not converted: ")), "{}", ran.err);
    assert!(ran.err.contains(" to f64"), "{}", ran.err);
    // Sparse values and complex numbers are not converted either. Integers are not floats.
    let from = data().join("v1.2/py-1.2.3-sparse.zt");
    let ran = run(&[&"convert", &"--json", &"--dtype=f16", &from, &folder.join("sparse.zt")]);
    assert!(ran.status == 0 && ran.err.contains("of sparse_csr to f16"), "{ran:?}");
}

/// The scales are in a tensor that no known scheme uses.
#[test]
fn codes_are_not_converted_without_their_scales() {
    let folder = folder("said-scales");
    let scale = f32s(&[0.5]);
    let bytes = [0x38u8, 0x40, 0x48, 0x30].repeat(8);
    let codes = [("x.weight", "F8_E4M3", 32, &bytes[..]), ("x.scale_weight", "F32", 1, &scale)];
    let (from, to) =
        (safetensors(&folder.join("in.safetensors"), &Value::Null, &codes), folder.join("out.zt"));
    run(&[&"convert", &"--dtype=bf16", &from, &to]).bad(&["\"x.weight\"", "\"x.scale_weight\"", "--lossy"]);
    assert!(!to.exists());
    for to in ["out.zt", "out.gguf"] {
        let ran = run(&[&"convert", &"--type=x.weight=q8_0", &from, &folder.join(to)]);
        ran.bad(&["\"x.weight\"", "\"x.scale_weight\"", "--lossy"]);
    }
    let bare = [("weight", "F8_E4M3", 32, &bytes[..]), ("weight_scale_x", "F32", 1, &scale)];
    let bare = safetensors(&folder.join("bare.safetensors"), &Value::Null, &bare);
    run(&[&"convert", &"--dtype=bf16", &bare, &to]).bad(&["\"weight\"", "\"weight_scale_x\""]);
    run(&[&"convert", &"--dtype=bf16", &"--lossy", &from, &to]).noted("values lost");
    let of_inputs = [("x.weight", "F8_E4M3", 32, &bytes[..]), ("x.input_scale", "F32", 1, &scale)];
    let of_inputs = safetensors(&folder.join("inputs.safetensors"), &Value::Null, &of_inputs);
    run(&[&"convert", &"--dtype=bf16", &"--force", &of_inputs, &to]).good();
    let alone = safetensors(&folder.join("alone.safetensors"), &Value::Null, &codes[..1]);
    run(&[&"convert", &"--dtype=bf16", &"--force", &alone, &to]).good();
}

/// Without config.json, the tensors of a quantized weight cannot be read as numbers.
#[test]
fn settings_that_the_output_lacks_are_named() {
    let (folder, model) = (folder("said-settings"), data().join("checkpoints/gptq-4"));
    for (to, option) in [("a.zt", "--threads=1"), ("b.gguf", "--threads=1"), ("c.safetensors", "--combine")] {
        let ran = run(&[&"convert", &option, &model, &folder.join(to)]);
        assert!(ran.status == 0 && ran.err.starts_with("zt: left out: 1 file: \"config.json\""), "{ran:?}");
    }
    for (to, option) in [("d.zt", "--combine"), ("e.zt", "--dtype=bf16"), ("f.gguf", "--type=q8_0")] {
        run(&[&"convert", &option, &model, &folder.join(to)]).good();
    }
    let alone = folder.join("alone.safetensors");
    std::fs::copy(model.join("model.safetensors"), &alone).unwrap();
    run(&[&"convert", &alone, &folder.join("g.zt")]).good();
}

#[test]
fn numbers_that_become_infinite_are_counted() {
    let folder = folder("said-infinite");
    let wide = f32s(&[1.0, 70_000.0, -1e6, f32::INFINITY, f32::NAN, 65_519.0]);
    let wider: Vec<u8> = [1e300f64, 2.0, -1e39, f64::NEG_INFINITY].map(f64::to_le_bytes).concat();
    let bf16: Vec<u8> = [1e9f32, 3.0].map(|x| ((x.to_bits() >> 16) as u16).to_le_bytes()).concat();
    let tensors = [("w", "F32", 6, &wide[..]), ("d", "F64", 4, &wider), ("b", "BF16", 2, &bf16)];
    let (from, lines) =
        (safetensors(&folder.join("in.safetensors"), &Value::Null, &tensors), |s: &str| s.lines().count());
    for to in ["out.zt", "out2.zt", "out.safetensors", "out.gguf", "out.npz"] {
        let spec = if to == "out2.zt" { "--spec=2" } else { "--durable" };
        let to = folder.join(to);
        for (name, dtype, lost) in [("w", "f16", 2), ("d", "f16", 2), ("d", "f32", 2), ("b", "f16", 1)] {
            let only = format!("--include={name}");
            for verify in ["--verify", "--threads=1"] {
                let numbers = if lost == 1 { "number" } else { "numbers" };
                let wider = if name == "d" { "f64" } else { "f32" };
                let why = format!(
                    "object \"{name}\": {lost} finite {numbers} would become infinite as {dtype}; \
                     --dtype {wider} keeps them finite; --lossy allows that"
                );
                run(&[&"convert", &verify, &only, &"--dtype", &dtype, &spec, &from, &to]).bad(&[&why]);
                assert!(!to.exists());
            }
            let ran = run(&[
                &"convert",
                &"--verify",
                &"--lossy",
                &"--json",
                &only,
                &"--dtype",
                &dtype,
                &spec,
                &from,
                &to,
            ]);
            assert_eq!(
                (ran.status, notes(&ran.out)),
                (0, vec![("values lost".into(), 1, vec![name.into()])])
            );
            assert!(lines(&ran.err) == 1 && ran.err.contains(&format!("{lost} finite ")), "{ran:?}");
            let document: Value = serde_json::from_str(&ran.out).unwrap();
            assert_eq!(document["converted"]["lost"], lost);
            common::schema::Schema::of("convert").holds(&ran.out);
            std::fs::remove_file(&to).unwrap();
        }
        // Rounding is not a loss, nor are numbers that were already infinite.
        let ran = run(&[&"convert", &"--dtype=bf16", &"--include=w", &from, &folder.join("r.zt")]).good();
        assert!(ran.contains("1 object converted to bf16, largest error 576, relative 0.00205714"), "{ran}");
        std::fs::remove_file(folder.join("r.zt")).unwrap();
    }
}

#[test]
fn files_whose_attributes_differ_are_different() {
    let folder = folder("said-diff");
    let numbers = f32s(&[1.0]);
    let tensors = [("w", "F32", 1, &numbers[..])];
    let file = |name: &str, metadata: Value| safetensors(&folder.join(name), &metadata, &tensors);
    let a = file("a.safetensors", json!({ "k": "1", "same": "x" }));
    let b = file("b.safetensors", json!({ "k": "2", "same": "x", "new": "" }));
    let ran = run(&[&"diff", &a, &b]);
    assert_eq!((ran.status, ran.err.as_str()), (1, ""));
    assert!(
        ran.out.contains("~ attribute \"k\" \"1\" and \"2\"\n~ attribute \"new\" nothing and \"\"\n"),
        "{ran:?}"
    );
    let ran = run(&[&"diff", &"--no-attributes", &"--json", &a, &b]);
    assert_eq!((ran.status, notes(&ran.out)), (0, vec![("not compared".into(), 3, vec![])]));
    assert_eq!(ran.err, "zt: not compared: 3 attributes: --no-attributes\n");
    let copy = folder.join("a.zt");
    run(&[&"convert", &a, &copy]).good();
    run(&[&"diff", &a, &copy]).good();
    // Attributes of objects, too.
    let (x, y) = (folder.join("x.zt"), folder.join("y.zt"));
    for (path, value) in [(&x, 1), (&y, 2)] {
        let mut w = dense(8, &json!({}));
        w["attributes"] = json!({ "scale": value });
        write(path, &json!({}), &json!({ "w": w }));
    }
    let ran = run(&[&"diff", &x, &y]);
    assert_eq!(ran.status, 1);
    assert!(ran.out.contains("~ w: attribute \"scale\" 1 and 2\n"), "{ran:?}");
    // Values that are not compared.
    let other = folder.join("other.zt");
    write(&other, &json!({}), &json!({ "w": dense(4, &json!({})) }));
    let ran = run(&[&"diff", &"--json", &x, &other]);
    assert_eq!((ran.status, notes(&ran.out)), (1, vec![("not compared".into(), 1, vec!["w".into()])]));
}

#[test]
fn id_notes_that_a_content_digest_does_not_cover_attributes() {
    let (folder, numbers) = (folder("said-id"), f32s(&[1.0]));
    let from = safetensors(&folder.join("a.safetensors"), &json!({ "k": "v" }), &[("w", "F32", 1, &numbers)]);
    let to = folder.join("a.zt");
    run(&[&"convert", &"--spec=2", &from, &to]).good();
    let ran = run(&[&"id", &"--json", &to]);
    let entry: Value = serde_json::from_str(&ran.out).unwrap();
    let note = &entry[0]["notes"][0];
    assert_eq!((&note["what"], &note["noun"]), (&json!("not covered"), &json!("attribute")));
    assert!(ran.status == 0 && ran.err.contains("a.zt: not covered: "), "{ran:?}");
}

#[test]
fn attributes_that_are_not_taken_along_are_noted() {
    let (folder, numbers) = (folder("said-taken"), f32s(&[1.0]));
    let file = |name: &str, tensor: &str, metadata: Value| {
        safetensors(&folder.join(name), &metadata, &[(tensor, "F32", 1, &numbers)])
    };
    let a = file("a.safetensors", "a", json!({ "k": "1", "one": "" }));
    let b = file("b.safetensors", "b", json!({ "k": "2", "one": "" }));
    let merged = folder.join("m.zt");
    let ran = run(&[&"merge", &a, &b, &merged]);
    assert_eq!(ran.err, "zt: left out: 1 attribute: \"k\": an earlier file has another value\n");
    let c = file("c.safetensors", "c", json!({ "x": "1" }));
    let ran = run(&[&"add", &merged, &c]);
    assert_eq!(ran.err, "zt: left out: 1 attribute: \"x\": attributes of the added file\n");
    let ran = run(&[&"extract", &c, &"--to", &folder.join("out")]);
    assert_eq!(ran.err, "zt: left out: 1 attribute: only tensors are extracted\n");
    let (digests, to) = (folder.join("d.zt"), folder.join("d.safetensors"));
    run(&[&"convert", &"--digest=sha256", &c, &digests]).good();
    let ran = run(&[&"convert", &digests, &to]);
    assert_eq!(ran.err, "zt: left out: 1 digest: only .zt files have digests\n");
}

#[test]
fn a_name_is_a_name_first_and_then_a_pattern() {
    let folder = folder("said-names");
    let values: Vec<Vec<u8>> = (0..6).map(|n| f32s(&[n as f32])).collect();
    let tensors = ["layers[0].w", "layers0.w", "{a,b}", "a", "b", "x*"];
    let tensors: Vec<_> = tensors.iter().zip(&values).map(|(name, v)| (*name, "F32", 1, &v[..])).collect();
    let from = safetensors(&folder.join("in.safetensors"), &Value::Null, &tensors);
    let listed = |words: &[&str]| -> Vec<String> {
        let ran =
            common::Ran::of(common::zt().args(["ls", "--json"]).arg(&from).args(words).output().unwrap());
        let document: Value = serde_json::from_str(&ran.good()).unwrap();
        let name = |o: &Value| o["name"].as_str().unwrap().to_owned();
        document["objects"].as_array().unwrap().iter().map(name).collect()
    };
    assert_eq!(listed(&["layers[0].w"]), ["layers[0].w"]);
    assert_eq!(listed(&["--glob", "layers[0].w"]), ["layers0.w"]);
    assert_eq!(listed(&["{a,b}"]), ["{a,b}"]);
    let mut both = listed(&["--glob", "{a,b}"]);
    both.sort();
    assert_eq!(both, ["a", "b"]);
    let mut all = listed(&["layers*"]);
    all.sort();
    assert_eq!(all, ["layers0.w", "layers[0].w"]);
    run(&[&"stats", &"--exact", &from, &"layers*"]).bad(&["no object has the name \"layers*\""]);
    run(&[&"stats", &from, &"["]).bad(&["no object has the name \"[\"", "as a pattern"]);
    let one = |command: &[&str]| {
        let ran = common::Ran::of(common::zt().args(command).output().unwrap());
        ran.good()
    };
    let path = from.to_str().unwrap();
    assert!(one(&["stats", path, "layers[0].w"]).contains("layers[0].w"));
    assert!(one(&["info", path, "layers[0].w"]).starts_with("layers[0].w\n"));
    assert!(one(&["diff", path, path, "{a,b}"]).starts_with("1 object the same"));
    assert_eq!(common::zt().args(["cat", path, "layers[0].w"]).output().unwrap().stdout, values[0]);
    assert_eq!(common::zt().args(["cat", "--glob", path, "layers[0].w"]).output().unwrap().stdout, values[1]);
    run(&[&"cat", &from, &"layers*"]).bad(&["several objects match \"layers*\""]);
    let out = folder.join("out");
    run(&[&"extract", &from, &"layers[0].w", &"--to", &out]).good();
    assert_eq!(names_in(&out), ["layers[0].w.npy"]);
    let to = folder.join("out.zt");
    run(&[&"convert", &"--exclude", &"layers[0].w", &"--include", &"layers*", &from, &to]).good();
    assert_eq!(names(&to), ["layers0.w"]);
    run(&[&"convert", &"--force", &"--rename", &"x*=y*", &from, &to]).good();
    assert!(names(&to).contains(&String::from("y*")));
    run(&[&"rm", &to, &"layers[0].w"]).good();
    assert_eq!(names(&to).iter().filter(|name| name.starts_with("layers")).count(), 1);
    run(&[&"rm", &"--glob", &to, &"layers[0].w"]).good();
    run(&[&"rm", &to, &"{a,b}", &"y*", &"?"]).good();
    assert!(names(&to).is_empty());
}

#[test]
fn extract_numbers_names_that_a_file_system_may_confuse() {
    let folder = folder("said-extract");
    let long = "n".repeat(252);
    let values: Vec<Vec<u8>> = (0..6).map(|n| f32s(&[n as f32])).collect();
    let given = ["W", "w", "a/b", "a_b", "w-2", long.as_str()];
    let tensors: Vec<_> = given.iter().zip(&values).map(|(name, v)| (*name, "F32", 1, &v[..])).collect();
    let (from, out) =
        (safetensors(&folder.join("in.safetensors"), &Value::Null, &tensors), folder.join("out"));
    let order = names(&from);
    let ran = run(&[&"extract", &from, &"--to", &out]);
    assert_eq!(ran.status, 1, "a tensor is left out: {ran:?}");
    assert!(ran.err.contains("zt: left out: 1 object: \"nnn") && ran.err.contains("too long"), "{ran:?}");
    let files = names_in(&out);
    assert_eq!(files.len(), 5, "{files:?}");
    let mut lower: Vec<_> = files.iter().map(|name| name.to_lowercase()).collect();
    lower.sort();
    lower.dedup();
    assert_eq!(lower.len(), 5);
    assert!(
        ran.err.lines().filter(|line| line.starts_with("zt: renamed: ")).count() >= 2,
        "{ran:?} {order:?}"
    );
    // All values are there.
    let mut found: Vec<f32> = Vec::new();
    for name in &files {
        let bytes = std::fs::read(out.join(name)).unwrap();
        found.push(f32::from_le_bytes(bytes[bytes.len() - 4..].try_into().unwrap()));
    }
    found.sort_by(f32::total_cmp);
    assert_eq!(found, [0.0, 1.0, 2.0, 3.0, 4.0]);
}

/// In other containers every byte except 0 may be true.
#[test]
fn bools_become_0_and_1_in_every_container() {
    let folder = folder("bools");
    let from = safetensors(&folder.join("in.safetensors"), &Value::Null, &[("b", "BOOL", 3, &[0, 2, 255])]);
    for to in ["out.zt", "out.npz", "out.safetensors"] {
        let to = folder.join(to);
        run(&[&"convert", &"--verify", &from, &to]).good();
        run(&[&"verify", &"--strict", &to]).sound();
        let cat = zt().arg("cat").arg(&to).arg("b").output().unwrap();
        assert_eq!(cat.stdout, [0, 1, 1], "{}", to.display());
    }
}
