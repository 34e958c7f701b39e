//! Numbers of objects, however they are stored: printed, extracted, summed up, compared, converted.

use crate::common;

use common::{data, folder, names_in, run, zt};
use serde_json::{json, Value};
use std::path::{Path, PathBuf};

const F32: u32 = 0;
const Q8_0: u32 = 8;

/// A GGUF file with tensors: name, dimensions, ggml's number of the type, bytes.
fn gguf(path: &Path, tensors: &[(&str, &[u64], u32, Vec<u8>)]) -> PathBuf {
    let mut file =
        [&b"GGUF"[..], &3u32.to_le_bytes(), &(tensors.len() as u64).to_le_bytes(), &[0; 8]].concat();
    let mut data = Vec::new();
    for (name, shape, number, bytes) in tensors {
        file.extend((name.len() as u64).to_le_bytes());
        file.extend(name.bytes());
        file.extend((shape.len() as u32).to_le_bytes());
        shape.iter().rev().for_each(|dimension| file.extend(dimension.to_le_bytes()));
        file.extend(number.to_le_bytes());
        file.extend((data.len() as u64).to_le_bytes());
        data.extend(bytes);
        data.resize(data.len().next_multiple_of(32), 0);
    }
    file.resize(file.len().next_multiple_of(32), 0);
    file.extend(data);
    std::fs::write(path, file).unwrap();
    path.to_owned()
}

/// Two blocks: the scale 0.5 with the codes -16 to 15, and -2 with 0 to 31.
fn blocks() -> Vec<u8> {
    let block = |scale: u16, first: i8| -> Vec<u8> {
        scale.to_le_bytes().into_iter().chain((first..first + 32).map(|code| code as u8)).collect()
    };
    [block(0x3800, -16), block(0xc000, 0)].concat()
}

/// The numbers of these blocks.
fn numbers() -> Vec<f32> {
    let of = |scale: f32, first: i8| (first..first + 32).map(move |code| scale * f32::from(code));
    of(0.5, -16).chain(of(-2.0, 0)).collect()
}

fn f32s(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// A file with a tensor "w" of q8_0, and one of f32.
fn quantized(folder: &Path) -> PathBuf {
    let tensors: [(&str, &[u64], u32, Vec<u8>); 2] =
        [("w", &[2, 32], Q8_0, blocks()), ("bias", &[2], F32, f32s(&[1.5, -2.0]))];
    gguf(&folder.join("q8_0.gguf"), &tensors)
}

fn json_of(out: &str) -> Value {
    serde_json::from_str(out).unwrap_or_else(|e| panic!("{e}: {out}"))
}

#[test]
fn head_prints_the_first_numbers_of_any_object_by_rows() {
    let path = quantized(&folder("head"));
    let out = run(&[&"head", &path, &"w", &"--count", &"35"]).good();
    let expected = [
        "w [2, 32] q8_0",
        "  [0, 0]     -8  -7.5    -7  -6.5    -6  -5.5    -5  -4.5",
        "  [0, 8]     -4  -3.5    -3  -2.5    -2  -1.5    -1  -0.5",
        "  [0, 16]     0   0.5     1   1.5     2   2.5     3   3.5",
        "  [0, 24]     4   4.5     5   5.5     6   6.5     7   7.5",
        "  [1, 0]     -0    -2    -4",
    ];
    assert_eq!(out.lines().collect::<Vec<_>>(), expected);
    let all = run(&[&"head", &path]).good();
    assert!(all.ends_with("\n\nbias [2] f32\n  [0]  1.5   -2\n"), "{all}");
    assert_eq!(run(&[&"head", &path, &"bias", &"-n", &"0"]).good(), "bias [2] f32\n");
    // Small floats times powers of two, and a sparse matrix.
    let mx = run(&[&"head", &data().join("v2/cases/lm-sound.zt"), &"-n", &"8"]).good();
    assert!(mx.starts_with("m [2, 64] zt.mx/1\n  [0, 0]  0.5    0    1    0  1.5    0    2    0\n"), "{mx}");
    let sparse = run(&[&"head", &data().join("v1.2/py-1.2.3-sparse.zt"), &"csr-c64"]).good();
    assert!(
        sparse.starts_with("csr-c64 [3, 4] sparse_csr\n  [0, 0, 0]         NaN        -inf\n"),
        "{sparse}"
    );
    let json = json_of(&run(&[&"head", &"--json", &path, &"-n", &"3"]).good());
    let expected = json!({
        "tensors": [
            { "name": "w", "shape": [2, 32], "type": "q8_0", "numbers_per_element": 1, "numbers": [-8.0, -7.5, -7.0] },
            { "name": "bias", "shape": [2], "type": "f32", "numbers_per_element": 1, "numbers": [1.5, -2.0] },
        ],
        "notes": [],
    });
    assert_eq!(json, expected);
    let sparse = data().join("v1.2/py-1.2.3-sparse.zt");
    let complex = json_of(&run(&[&"head", &"--json", &sparse, &"csr-c64", &"-n2"]).good());
    assert_eq!(complex["tensors"][0]["numbers"], json!(["NaN", "-Infinity"]));
    assert_eq!(complex["tensors"][0]["numbers_per_element"], 2);
    // Integers that f64 cannot hold.
    let wide = data().join("v1.2/py-1.2.3-all-dtypes.zt");
    let json = json_of(&run(&[&"head", &"--json", &wide, &"i64", &"u64"]).good());
    let texts = run(&[&"head", &wide, &"i64", &"u64"]).good();
    let numbers =
        json["tensors"].as_array().unwrap().iter().flat_map(|one| one["numbers"].as_array().unwrap());
    assert!(numbers.clone().count() > 4 && numbers.clone().any(|one| one.as_u64() > Some(1 << 53)));
    numbers.for_each(|one| assert!(texts.contains(&one.to_string()), "{one}"));
    let large = run(&[&"head", &wide, &"i64"]).good();
    assert!(large.starts_with("i64 ") && !large.contains('e'), "{large}");
    let grouped = data().join("v1.2/py-1.2.3-quantized.zt");
    let first = common::names(&grouped).swap_remove(0);
    run(&[&"head", &grouped, &first]).bad(&[
        "py-1.2.3-quantized.zt",
        "quantized_group",
        "without the attribute",
    ]);
    let ran = run(&[&"head", &"--json", &grouped, &first]);
    assert_eq!((ran.status, &json_of(&ran.out)["tensors"]), (1, &json!([])));
    assert!(ran.err.contains("quantized_group"), "{ran:?}");
}

#[test]
fn extract_writes_the_numbers_of_any_object() {
    let folder = folder("extract");
    let (path, to) = (quantized(&folder), folder.join("out"));
    run(&[&"extract", &path, &"--to", &to, &"--dtype", &"f32"]).good();
    assert_eq!(names_in(&to), ["bias.npy", "w.npy"]);
    let file = std::fs::read(to.join("w.npy")).unwrap();
    assert!(String::from_utf8_lossy(&file[..128])
        .contains("'descr': '<f4', 'fortran_order': False, 'shape': (2, 32)"));
    assert_eq!(file[128..], f32s(&numbers()));
    // The upper halves of f32 are bf16.
    let raw = folder.join("raw");
    run(&[&"extract", &path, &"w", &"--to", &raw, &"--dtype", &"bf16", &"--raw"]).good();
    let halves: Vec<u8> = numbers().iter().flat_map(|n| ((n.to_bits() >> 16) as u16).to_le_bytes()).collect();
    assert_eq!(std::fs::read(raw.join("w.bin")).unwrap(), halves);
    let no = folder.join("no");
    run(&[&"extract", &path, &"--to", &no, &"--dtype", &"bf16"])
        .bad(&["NumPy cannot represent \"bf16\"; --raw"]);
    // One file for each component of an object.
    let groups = folder.join("groups");
    run(&[&"extract", &data().join("v2/cases/lq-sound.zt"), &"--to", &groups, &"--dtype", &"f16"])
        .noted("left out");
    assert_eq!(names_in(&groups), ["q.npy"]);
    assert_eq!(std::fs::metadata(groups.join("q.npy")).unwrap().len(), 128 + 2 * 256);
    let sparse = data().join("v1.2/py-1.2.3-sparse.zt");
    run(&[&"extract", &sparse, &"csr-c64", &"--to", &no, &"--dtype", &"f32"])
        .bad(&["a complex number is not one f32"]);
    let wide = gguf(&folder.join("wide.gguf"), &[("x", &[2], F32, f32s(&[1.0, 1e30]))]);
    run(&[&"extract", &wide, &"--to", &no, &"--dtype", &"f16"])
        .bad(&["\"x\"", "1 finite number would become infinite as f16"]);
    assert!(!no.exists());
}

#[test]
fn statistics_are_those_of_the_decoded_numbers() {
    let path = quantized(&folder("stats"));
    let out = json_of(&run(&[&"stats", &"--json", &"--histogram=2", &path]).good());
    let w = out["tensors"].as_array().unwrap().iter().find(|tensor| tensor["name"] == "w").unwrap();
    let found = ["type", "numbers", "min", "max", "zero", "nan"].map(|key| w[key].clone());
    assert_eq!(found, [json!("gguf.q8_0"), json!(64), json!(-62.0), json!(7.5), json!(2), json!(0)]);
    let mean = numbers().iter().sum::<f32>() / 64.0;
    assert!((w["mean"].as_f64().unwrap() - f64::from(mean)).abs() < 1e-9, "{w}");
    assert_eq!(w["histogram"]["counts"], json!([18, 46]));
    let table = run(&[&"stats", &path, &"w"]).good();
    let row: Vec<_> = table.lines().nth(1).unwrap().split_whitespace().take(5).collect();
    assert_eq!(row, ["w", "q8_0", "64", "-62", "7.5"]);
    // Codes with scales: the numbers of the object.
    let out = json_of(&run(&[&"stats", &"--json", &data().join("v2/cases/lq-sound.zt")]).good());
    let found = out["tensors"].as_array().unwrap().iter().map(|of| (&of["type"], &of["numbers"]));
    assert_eq!(found.collect::<Vec<_>>(), [(&json!("zt.quant_group/1"), &json!(256))]);
}

#[test]
fn a_model_and_its_quantized_form_have_their_errors() {
    let folder = folder("diff");
    let path = quantized(&folder);
    // One number is off by 3, another by 4.
    let mut floats = numbers();
    (floats[3], floats[40]) = (floats[3] + 3.0, floats[40] - 4.0);
    let reference: f32 = floats.iter().map(|x| x * x).sum();
    let tensors: [(&str, &[u64], u32, Vec<u8>); 2] =
        [("w", &[2, 32], F32, f32s(&floats)), ("bias", &[2], F32, f32s(&[1.5, -2.0]))];
    let original = gguf(&folder.join("f32.gguf"), &tensors);
    let ran = run(&[&"diff", &original, &path]);
    assert_eq!((ran.status, ran.err.as_str()), (1, ""), "{ran:?}");
    let found = json_of(&run(&[&"diff", &"--json", &original, &path]).out);
    common::schema::Schema::of("diff").check(&found).unwrap();
    let values = &found["differing"][0]["differences"][1];
    let of_pair = |key: &str| values[key].as_f64().unwrap();
    assert_eq!((&values["differ"], &values["of"], &values["role"]), (&json!(2), &json!(64), &Value::Null));
    assert_eq!((&values["first_place"], of_pair("largest")), (&json!([0, 3]), 4.0));
    assert!((of_pair("rmse") - (25.0f64 / 64.0).sqrt()).abs() < 1e-12, "{values}");
    assert!((of_pair("nmse") - 25.0 / f64::from(reference)).abs() < 1e-9, "{values}");
    let by_type = &found["by_type"][0];
    let types = ["first", "second", "objects", "numbers", "largest"].map(|key| by_type[key].clone());
    assert_eq!(types, [json!("f32"), json!("q8_0"), json!(1), json!(64), json!(4.0)]);
    assert_eq!((&by_type["rmse"], &by_type["nmse"]), (&values["rmse"], &values["nmse"]));
    for start in [
        "~ w: format dense and gguf.q8_0/1",
        "~ w: 2 of 64 numbers differ, at most by 4, RMSE 0.625, NMSE 0.00",
        "f32 and q8_0: 1 object, largest error 4, RMSE 0.625, NMSE 0.00",
        "1 object the same, 1 differ",
    ] {
        assert!(ran.out.lines().any(|line| line.starts_with(start)), "{start:?} is not in\n{}", ran.out);
    }
    assert!(ran.out.contains(", the first at [0, 3]: -3.5 and -6.5\n"), "{}", ran.out);
}

#[test]
fn dtype_converts_what_is_quantized() {
    let folder = folder("convert");
    let blocks = quantized(&folder);
    let halves: Vec<u8> = numbers().iter().flat_map(|n| ((n.to_bits() >> 16) as u16).to_le_bytes()).collect();
    for to in ["a.zt", "a2.zt", "a.safetensors", "a.gguf", "a.npz"] {
        let (spec, dtype) = match to {
            "a2.zt" => ("--spec=2", "bf16"),
            "a.npz" => ("--threads=2", "f32"),
            _ => ("--threads=2", "bf16"),
        };
        let to = folder.join(to);
        let out = run(&[&"convert", &"--verify", &"--dtype", &dtype, &spec, &blocks, &to]).good();
        assert!(
            out.contains(&format!("2 objects converted to {dtype}, largest error 0,")) || dtype == "f32",
            "{out}"
        );
        let listed = common::listing(&to);
        let objects = listed["objects"].as_array().unwrap();
        let w = objects.iter().find(|object| object["name"] == "w").unwrap();
        assert_eq!((&w["shape"], &w["format"]), (&json!([2, 32]), &json!("dense")));
        assert_eq!(
            (&w["components"][0]["dtype"], &w["components"][0]["type"]),
            (&json!(dtype), &Value::Null)
        );
        assert_eq!(w["attributes"], json!({}), "{}", to.display());
        let bytes = zt().arg("cat").arg(&to).arg("w").output().unwrap().stdout;
        assert_eq!(bytes, if dtype == "f32" { f32s(&numbers()) } else { halves.clone() });
    }
    for (file, name) in [("lq-sound.zt", "q"), ("lm-sound.zt", "m")] {
        let from = data().join("v2/cases").join(file);
        for to in ["b.zt", "b.safetensors", "b.npz", "b.gguf"] {
            let to = folder.join(to);
            run(&[&"convert", &"--verify", &"--force", &"--dtype=f32", &from, &to]).good();
            // The layouts differ, but no number differs.
            let ran = run(&[&"diff", &from, &to]);
            let lines: Vec<_> =
                ran.out.lines().filter(|line| line.starts_with(&format!("~ {name}: "))).collect();
            assert!(ran.status == 1 && ran.err.is_empty(), "{ran:?}");
            assert!(lines.iter().all(|line| !line.contains("numbers differ")), "{ran:?}");
            assert!(ran.out.contains(" and f32: 1 object, largest error 0, RMSE 0, NMSE 0\n"), "{ran:?}");
        }
    }
    // Without --dtype the message names the option.
    run(&[&"convert", &blocks, &folder.join("no.safetensors")])
        .bad(&["safetensors cannot represent the type \"gguf.q8_0\"; --dtype f16 converts it"]);
}

#[test]
fn a_block_type_is_one_line_and_has_its_own_name() {
    let path = quantized(&folder("ls"));
    let out = run(&[&"ls", &path]).good();
    let cells = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let lines: Vec<_> = out.lines().map(cells).collect();
    assert_eq!(lines.len(), 4, "a heading, two tensors, and the sum: {out}");
    assert_eq!(lines[1], ["w", "q8_0", "[2,", "32]", "68", "B"]);
    assert!(run(&[&"ls", &"--totals", &path]).good().contains("\nq8_0 "));
}
