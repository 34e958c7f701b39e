//! `zt info`, `stats`, `diff`, `cat`, `extract` and the sums of `ls`: their output matches the files.

use crate::common;

use common::{data, folder, names_in, run, zt};
use safetensors::tensor::TensorView;
use safetensors::Dtype;
use serde_json::{json, Value};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use ztensor::writer::{ComponentSpec, ObjectSpec, Writer, WriterOptions};

fn bytes_of(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// A file of tensors of f32.
fn write(path: &Path, tensors: &[(&str, &[usize], &[f32])]) -> PathBuf {
    let data: Vec<_> = tensors.iter().map(|(_, _, numbers)| bytes_of(numbers)).collect();
    let views = tensors.iter().zip(&data).map(|((name, shape, _), bytes)| {
        (name.to_string(), TensorView::new(Dtype::F32, shape.to_vec(), bytes).unwrap())
    });
    std::fs::write(path, safetensors::serialize(views, None).unwrap()).unwrap();
    path.to_owned()
}

fn json_of(out: &str) -> Value {
    serde_json::from_str(out).unwrap_or_else(|e| panic!("{e}: {out}"))
}

#[test]
fn statistics_are_those_of_the_numbers() {
    let path = folder("stats").join("a.safetensors");
    let numbers = [1.0, -3.0, 0.0, f32::NAN, f32::INFINITY, 4.0];
    write(&path, &[("x", &[2, 3], &numbers), ("empty", &[0], &[])]);
    let out = json_of(&run(&[&"stats", &"--json", &"--histogram", &"7", &path]).good());
    let x = out["tensors"].as_array().unwrap().iter().find(|t| t["name"] == "x").unwrap();
    let expected = json!({
        "name": "x", "role": "data", "type": "f32", "numbers": 6, "min": -3.0, "max": 4.0, "mean": 0.5,
        "zero": 1, "nan": 1, "infinite": 1,
        "histogram": {"edges": [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0], "counts": [1, 0, 0, 1, 1, 0, 1]},
    });
    for (key, value) in expected.as_object().unwrap() {
        match (value, key.as_str()) {
            (_, "histogram") => {
                assert_eq!(x[key]["counts"], value["counts"]);
                let edges = |v: &Value| -> Vec<f64> {
                    v["edges"].as_array().unwrap().iter().map(|e| e.as_f64().unwrap()).collect()
                };
                assert!(edges(&x[key]).iter().zip(edges(value)).all(|(a, b)| (a - b).abs() < 1e-9), "{x}");
            }
            _ => assert_eq!(&x[key], value, "{key}"),
        }
    }
    let deviation = x["std"].as_f64().unwrap();
    assert!((deviation - 6.25f64.sqrt()).abs() < 1e-12, "{deviation}");
    let empty = out["tensors"].as_array().unwrap().iter().find(|t| t["name"] == "empty").unwrap();
    assert_eq!((&empty["min"], &empty["numbers"]), (&Value::Null, &json!(0)));
    let table = run(&[&"stats", &path, &"x", &"--threads", &"3"]).good();
    let row: Vec<_> = table.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row, ["x", "f32", "6", "-3", "4", "0.5", "2.5", "1", "1", "1"]);
    assert_eq!(table.lines().count(), 2);
}

#[test]
fn tensors_of_numbers_have_statistics_and_blocks_of_unclear_byte_order_are_left_out_by_name() {
    let gguf = data().join("foreign/valid/amber-big-endian-py.gguf");
    let listed = common::listing(&gguf);
    let names = |is_of_blocks: bool| -> Vec<Value> {
        let objects = listed["objects"].as_array().unwrap().iter();
        let chosen = objects.filter(|o| o["components"][0]["type"].is_string() == is_of_blocks);
        chosen.map(|o| o["name"].clone()).collect()
    };
    let out = json_of(&run(&[&"stats", &"--json", &gguf]).noted("not checked"));
    let found = |key: &str| -> Vec<Value> {
        out[key].as_array().unwrap().iter().map(|tensor| tensor["name"].clone()).collect()
    };
    assert_eq!((found("tensors"), found("left_out")), (names(false), names(true)));
    assert!(names(false).len() > 1 && !names(true).is_empty(), "{listed}");
    let all =
        json_of(&run(&[&"stats", &"--json", &data().join("foreign/valid/amber-all-types-py.gguf")]).good());
    let are_of_blocks = |tensor: &&Value| tensor["type"].as_str().unwrap().starts_with("gguf.");
    let of_blocks: Vec<_> = all["tensors"].as_array().unwrap().iter().filter(are_of_blocks).collect();
    assert!(
        of_blocks.len() > 15 && of_blocks.iter().all(|tensor| tensor["numbers"].as_u64() > Some(0)),
        "{all}"
    );
    for file in ["v1.1/py-1.1.1-all-dtypes.zt", "v0.1/py-0.1.4-shapes.zt", "v1.2/py-1.2.3-sparse.zt"] {
        let out = json_of(&run(&[&"stats", &"--json", &data().join(file)]).good());
        assert!(!out["tensors"].as_array().unwrap().is_empty(), "{file}");
        assert_eq!(out["left_out"], json!([]), "{file}");
    }
    run(&[&"stats", &data().join("invalid/zstd-corrupt-block.zt")])
        .bad(&["zstd-corrupt-block.zt", "\"data\""]);
}

#[test]
fn a_difference_is_reported_with_its_place_and_size() {
    let folder = folder("diff");
    let a = write(
        &folder.join("a.safetensors"),
        &[
            ("same", &[2], &[1.0, f32::NAN]),
            ("value", &[2, 2], &[1.0, 2.0, 3.0, 4.0]),
            ("shape", &[4], &[0.0; 4]),
            ("gone", &[1], &[0.0]),
            ("zero", &[1], &[0.0]),
            ("late", &[1], &[1.0]),
        ],
    );
    let b = write(
        &folder.join("b.safetensors"),
        &[
            ("same", &[2], &[1.0, f32::NAN]),
            ("value", &[2, 2], &[1.0, 2.5, 3.0, f32::INFINITY]),
            ("shape", &[2, 2], &[0.0; 4]),
            ("new", &[1], &[0.0]),
            ("zero", &[1], &[-0.0]),
            ("late", &[1], &[1.0 + f32::EPSILON]),
        ],
    );
    let ran = run(&[&"diff", &a, &b]);
    assert!(ran.status == 1 && ran.err.starts_with("zt: not compared: 1 object: \"shape\""), "{ran:?}");
    for line in [
        "- gone [1]",
        "+ new [1]",
        "~ shape: shape [4] and [2, 2]",
        "~ value: 2 of 4 numbers differ, at most by 0.5, some of them to infinity or NaN, the first at [0, 1]: 2 and 2.5",
        "~ late: 1 of 1 numbers differ, at most by 1.19209e-7, the first at [0]: 1.0 and 1.0000001192092896",
        "~ zero: the same numbers with other bits: signs of zeros, kinds of NaN, or other bytes of true",
        "1 object the same, 4 differ, 1 only in the first, 1 only in the second",
    ] {
        assert!(ran.out.lines().any(|l| l == line), "{line:?} is not in\n{}", ran.out);
    }
    let ran = run(&[&"diff", &"--json", &a, &b]);
    let found = json_of(&ran.out);
    assert_eq!((&found["same"], &found["only_in_first"]), (&json!(1), &json!(["gone"])));
    let of = |name: &str| {
        found["differing"].as_array().unwrap().iter().find(|d| d["name"] == name).unwrap().clone()
    };
    let value = &of("value")["differences"][0];
    assert_eq!(
        (&value["first_place"], &value["largest"], &value["differ"]),
        (&json!([0, 1]), &json!(0.5), &json!(2))
    );
    // Only these objects are the same.
    assert!(run(&[&"diff", &a, &b, &"same"]).good().contains("1 object the same"));
}

#[test]
fn converted_objects_are_equal_in_another_container() {
    let folder = folder("diff-containers");
    let a = data().join("../../examples/data/minilm-small.safetensors");
    let (zt_file, half) = (folder.join("b.zt"), folder.join("half.zt"));
    run(&[&"convert", &a, &zt_file, &"--zstd"]).good();
    let out = run(&[&"diff", &a, &zt_file, &"--attributes"]).good();
    assert!(out.contains("the same") && out.lines().count() == 1, "{out}");
    run(&[&"convert", &a, &half, &"--dtype", &"bf16"]).good();
    let ran = run(&[&"diff", &a, &half]);
    assert_eq!(ran.status, 1);
    assert!(
        ran.out.contains("type f32 and bf16") && ran.out.contains("numbers differ, at most by"),
        "{}",
        ran.out
    );
}

#[test]
fn blocks_of_the_same_type_are_compared_as_numbers() {
    let model = data().join("foreign/valid/amber-all-types-py.gguf");
    let changed = folder("diff-changed-blocks").join("b.gguf");
    let listed = common::listing(&model);
    let objects = listed["objects"].as_array().unwrap();
    let of_blocks = objects.iter().find(|o| o["components"][0]["type"] == "gguf.q4_0").unwrap();
    let offset = of_blocks["components"][0]["offset"].as_u64().unwrap() as usize;
    let mut bytes = std::fs::read(&model).unwrap();
    bytes[offset + 3] ^= 1;
    std::fs::write(&changed, bytes).unwrap();
    assert_eq!(run(&[&"diff", &model, &model]).good(), format!("{} objects the same\n", objects.len()));
    let ran = run(&[&"diff", &model, &changed]);
    let name = of_blocks["name"].as_str().unwrap();
    let is_line = |line: &str| line.starts_with(&format!("~ {name}: 1 of 64 numbers differ, at most by "));
    assert!(ran.status == 1 && ran.out.lines().any(is_line), "{ran:?}");
    assert!(ran.out.contains("the first at [0, 1]: -0.3916") && !ran.out.contains("RMSE"), "{ran:?}");
}

#[test]
fn files_that_cannot_be_compared_give_exit_status_2() {
    let broken = data().join("invalid/zstd-corrupt-block.zt");
    for (a, b) in [(&broken, &broken), (&broken, &data().join("missing.zt"))] {
        let ran = run(&[&"diff", a, b]);
        assert_eq!(ran.status, 2, "{ran:?}");
        assert!(ran.err.starts_with("zt: ") && ran.err.lines().count() == 1, "{ran:?}");
    }
}

#[test]
fn a_glob_without_a_match_is_an_error() {
    let path = data().join("v1.2/py-1.2.3-all-dtypes.zt");
    let to = folder("glob-nothing").join("out");
    run(&[&"stats", &path, &"f32", &"nonsense*"]).bad(&["no object matches \"nonsense*\""]);
    run(&[&"extract", &path, &"f32", &"nonsense*", &"--to", &to]).bad(&["no object matches \"nonsense*\""]);
    assert!(!to.exists());
    let ran = run(&[&"diff", &path, &path, &"nonsense*"]);
    assert_eq!((ran.status, ran.out.as_str()), (2, ""), "comparing nothing did not fail: {ran:?}");
    assert!(ran.err.contains("no object matches \"nonsense*\""), "{ran:?}");
}

#[test]
fn cat_gives_the_bytes_and_a_numpy_file_of_them() {
    let path = folder("cat").join("a.safetensors");
    write(&path, &[("x", &[2, 2], &[1.0, 2.0, 3.0, 4.0])]);
    let cat = |arguments: &[&str]| zt().arg("cat").arg(&path).args(arguments).output().unwrap();
    assert_eq!(cat(&["x"]).stdout, bytes_of(&[1.0, 2.0, 3.0, 4.0]));
    let npy = cat(&["x", "--npy"]).stdout;
    assert_eq!((&npy[..6], npy.len()), (&b"\x93NUMPY"[..], 128 + 16));
    assert!(String::from_utf8_lossy(&npy[10..128]).contains("'shape': (2, 2)"));
    run(&[&"cat", &path, &"y"]).bad(&["a.safetensors", "\"y\""]);
    let sparse = data().join("v1.2/py-1.2.3-sparse.zt");
    run(&[&"cat", &sparse, &"csr-z"]).bad(&["--component", "indptr"]);
    run(&[&"cat", &sparse, &"csr-z", &"--component", &"x"]).bad(&["csr-z", "indptr"]);
    let indptr = zt().args(["cat", "--component", "indptr"]).arg(&sparse).arg("csr-z").output().unwrap();
    assert_eq!(indptr.stdout.len(), 56);
    // The reader has closed the pipe: quiet, like ls.
    let mut child =
        zt().arg("cat").arg(&path).arg("x").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(String::from_utf8_lossy(&child.wait_with_output().unwrap().stderr), "");
}

#[test]
fn extract_writes_files_that_open_and_replaces_none() {
    let folder = folder("extract");
    let path = folder.join("a.safetensors");
    write(&path, &[("x/../y", &[1], &[1.0]), ("z", &[2], &[2.0, 3.0])]);
    let to = folder.join("out");
    let out = run(&[&"extract", &path, &"--to", &to]).good();
    assert!(out.contains("2 files, 12 B of data"), "{out}");
    assert_eq!(names_in(&to), ["x_.._y.npy", "z.npy"]);
    let listed = run(&[&"ls", &to.join("z.npy")]).good();
    assert!(listed.contains("f32") && listed.contains("[2]"), "{listed}");
    for several in [&[][..], &["--force"]] {
        let mut command = common::zt();
        command.arg("extract").arg(&path).arg("--to").arg(&to).args(several);
        common::Ran::of(command.output().unwrap()).bad(&["it exists", "a new folder"]);
    }
    run(&[&"extract", &path, &"z", &"--to", &to]).bad(&["it exists", "--force"]);
    run(&[&"extract", &path, &"z", &"--to", &to, &"--force"]).good();
    run(&[&"extract", &path, &"z", &"--to", &to, &"--force", &"--raw"]).good();
    assert_eq!(std::fs::read(to.join("z.bin")).unwrap(), bytes_of(&[2.0, 3.0]));
    run(&[&"extract", &path, &"none*", &"--to", &to]).bad(&["no object matches \"none*\""]);
    let typed = data().join("v1.2/py-1.2.3-all-dtypes.zt");
    run(&[&"extract", &typed, &"--to", &folder.join("not")]).bad(&["NumPy cannot represent \"bf16\""]);
    assert!(!folder.join("not").exists());
}

#[test]
fn info_reports_the_file_and_of_an_object() {
    let path = data().join("v1.2/py-1.2.3-digests.zt");
    let out = run(&[&"info", &path]).good();
    for part in ["container    zTensor 1.2", "objects      7 objects, 7 components", "f32: 7 components"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let out = run(&[&"info", &path, &"zstd-sha256"]).good();
    for part in ["zstd-sha256\n", "shape        [64], 64 elements", "encoding   zstd", "digest     sha256:"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    run(&[&"info", &path, &"none"]).bad(&["py-1.2.3-digests.zt", "\"none\""]);
}

#[test]
fn tree_and_ls_sum_up_by_prefix_and_by_type_and_ls_takes_several_files() {
    let folder = folder("ls-sums");
    let path = folder.join("a.safetensors");
    let one: (&[usize], &[f32]) = (&[1], &[1.0]);
    write(
        &path,
        &[("m.10.w", one.0, one.1), ("m.2.w", one.0, one.1), ("m.2.b", one.0, one.1), ("e", one.0, one.1)],
    );
    let out = run(&[&"tree", &"--no-fold", &"--depth=2", &path]).good();
    let rows: Vec<Vec<_>> = out.lines().map(|l| l.split_whitespace().collect()).collect();
    let expected = [
        ["m.", "3", "12", "B", "75.0", "%"],
        ["2.", "2", "8", "B", "50.0", "%"],
        ["10.", "1", "4", "B", "25.0", "%"],
    ];
    assert_eq!(rows[2..5], expected, "{out}");
    assert_eq!(rows[1], ["e", "1", "4", "B", "25.0", "%", "f32", "[1]"]);
    let out = run(&[&"ls", &"--totals", &path]).good();
    assert_eq!(
        out.lines().nth(1).unwrap().split_whitespace().collect::<Vec<_>>(),
        ["f32", "4", "16", "B", "16", "B"]
    );
    let out = run(&[&"ls", &path, &data().join("v1.2/py-1.2.3-digests.zt"), &"*w"]).good();
    assert!(
        out.contains("a.safetensors:\n") && out.contains("2 objects of 4") && out.contains("0 objects of 7"),
        "{out}"
    );
    assert!(out.contains("SafeTensors, file of") || out.contains("safetensors, file of"), "{out}");
    let missing = folder.join("missing.zt");
    let ran = run(&[&"ls", &missing, &path]);
    assert!(ran.status == 1 && ran.out.contains("4 objects"), "the other files were not listed: {ran:?}");
}

/// A file with tensors of 8 bytes.
fn write_wide(path: &Path, dtype: Dtype, numbers: &[[u8; 8]]) -> PathBuf {
    let bytes = numbers.concat();
    let view = TensorView::new(dtype, vec![numbers.len()], &bytes).unwrap();
    std::fs::write(path, safetensors::serialize([("x", view)], None).unwrap()).unwrap();
    path.to_owned()
}

#[test]
fn integers_that_no_float_holds_are_compared_as_they_are() {
    let folder = folder("diff-wide");
    for (dtype, least, most) in [
        (Dtype::I64, (1i64 << 53).to_le_bytes(), ((1i64 << 53) + 1).to_le_bytes()),
        (Dtype::U64, (u64::MAX - 1).to_le_bytes(), u64::MAX.to_le_bytes()),
    ] {
        let a = write_wide(&folder.join("a.safetensors"), dtype, &[least, least]);
        let b = write_wide(&folder.join("b.safetensors"), dtype, &[least, most]);
        let ran = run(&[&"diff", &a, &b]);
        assert!(
            ran.status == 1 && ran.out.contains("1 of 2 numbers differ, at most by 1, the first at [1]: "),
            "{ran:?}"
        );
    }
    // Types of every width beside each other, and floats.
    let large = 1i64 << 53;
    let numbers: [(Dtype, [[u8; 8]; 2]); 3] = [
        (Dtype::I64, [large.to_le_bytes(), (large + 1).to_le_bytes()]),
        (Dtype::U64, [large.to_le_bytes(), (large + 2).to_le_bytes()]),
        (Dtype::F64, [(large as f64).to_le_bytes(), (large as f64).to_le_bytes()]),
    ];
    for (a_is, a) in &numbers {
        for (b_is, b) in numbers.iter().filter(|(b_is, _)| b_is != a_is) {
            let a = write_wide(&folder.join("a.safetensors"), *a_is, a);
            let b = write_wide(&folder.join("b.safetensors"), *b_is, b);
            let largest = if *a_is != Dtype::I64 && *b_is != Dtype::I64 { 2 } else { 1 };
            let ran = run(&[&"diff", &a, &b]);
            let why = format!("1 of 2 numbers differ, at most by {largest}, ");
            assert!(
                ran.status == 1 && ran.out.contains(&why) && ran.out.contains("the first at [1]: "),
                "{ran:?}"
            );
        }
    }
}

#[test]
fn a_sum_that_is_wrong_is_noticed_on_either_side() {
    let good = data().join("v1.2/py-1.2.3-zstd.zt");
    let bad = folder("diff-sum").join("bad.zt");
    let listed = common::listing(&good);
    let component = &listed["objects"][0]["components"][0];
    let end = component["offset"].as_u64().unwrap() + component["length"].as_u64().unwrap();
    let mut bytes = std::fs::read(&good).unwrap();
    bytes[end as usize - 1] ^= 1;
    std::fs::write(&bad, bytes).unwrap();
    for (a, b) in [(&good, &bad), (&bad, &good)] {
        let ran = run(&[&"diff", a, b]);
        assert_eq!(ran.status, 2, "{ran:?}");
        assert!(ran.err.contains("bad.zt: ") && ran.err.lines().count() == 1, "{ran:?}");
    }
}

#[test]
fn two_tensors_are_written_to_two_files() {
    let folder = folder("extract-twice");
    let path = folder.join("a.safetensors");
    write(&path, &[("a/b", &[1], &[1.0]), ("A_b", &[1], &[2.0])]);
    run(&[&"extract", &path, &"--to", &folder.join("out"), &"--force"]).noted("renamed");
    assert_eq!(names_in(&folder.join("out")).len(), 2);
}

#[test]
fn blocks_and_their_converted_floats_have_the_same_attributes() {
    let path = data().join("foreign/valid/amber-all-types-py.gguf");
    let made = folder("diff-blocks").join("a.zt");
    run(&[&"convert", &path, &made]).good();
    run(&[&"diff", &"--attributes", &path, &made]).good();
}

/// A role may be any text.
#[test]
fn one_component_is_not_taken_for_two_by_its_role() {
    let folder = folder("diff-roles");
    let with = |name: &str, roles: &[&str]| {
        let path = folder.join(name);
        let mut writer = Writer::create(&path, &WriterOptions::default()).unwrap();
        let object = ObjectSpec { name: "x", format: "mine.x/1", shape: &[4] };
        let parts: Vec<_> = roles
            .iter()
            .map(|role| (ComponentSpec::new(role, ztensor::model::dtype::Dtype::U8), &[1, 2, 3, 4][..]))
            .collect();
        writer.write_object(&object, Default::default(), &parts).unwrap();
        writer.finish().unwrap();
        path
    };
    let (one, two) = (with("one.zt", &["a, b"]), with("two.zt", &["a", "b"]));
    let ran = run(&[&"diff", &one, &two]);
    assert_eq!(ran.status, 1);
    assert!(ran.out.contains("~ x: components \"a, b\" and a, b\n"), "{}", ran.out);
    run(&[&"diff", &one, &one]).good();
}

/// Names that differ only in a number, of the same type and shape, are a line.
#[test]
fn layers_are_folded_and_tree_shows_them_at_once() {
    let path = folder("fold").join("a.safetensors");
    let one: (&[usize], &[f32]) = (&[1], &[1.0]);
    let names: Vec<_> = (0..12).map(|layer| format!("model.layers.{layer}.q.weight")).collect();
    let mut tensors: Vec<_> = names.iter().map(|name| (name.as_str(), one.0, one.1)).collect();
    let two: (&[usize], &[f32]) = (&[2], &[1.0, 2.0]);
    tensors[7] = (names[7].as_str(), two.0, two.1);
    tensors.push(("embed", one.0, one.1));
    write(&path, &tensors);
    let out = run(&[&"ls", &"--fold", &path]).good();
    let rows: Vec<Vec<_>> = out.lines().map(|l| l.split_whitespace().collect()).collect();
    let mut found = rows[1..4].to_vec();
    found.sort();
    assert_eq!(rows[0], ["NAME", "TYPE", "SHAPE", "OBJECTS", "STORED"]);
    assert_eq!(found[0], ["embed", "f32", "[1]", "1", "4", "B"]);
    assert_eq!(found[1], ["model.layers.7.q.weight", "f32", "[2]", "1", "8", "B"]);
    assert_eq!(found[2], ["model.layers.{0-6,8-11}.q.weight", "f32", "[1]", "11", "44", "B"]);
    assert!(rows[4].starts_with(&["13", "objects:"]), "{out}");
    let out = run(&[&"tree", &path]).good();
    let rows: Vec<Vec<_>> = out.lines().map(|l| l.split_whitespace().collect()).collect();
    assert_eq!(rows[1], ["embed", "1", "4", "B", "7.1", "%", "f32", "[1]"], "{out}");
    let layers = "model.layers.{0-11}.q.weight 12 52 B 92.9 % f32 [1], f32 [2]";
    assert_eq!(rows[2].join(" "), layers);
    let out = run(&[&"tree", &"--no-fold", &path, &"*.1?.*"]).good();
    assert!(out.contains("\n  10.q.weight") && out.contains("\n  11.q.weight"), "{out}");
    assert!(out.contains("2 objects of 13"), "{out}");
    run(&[&"tree", &path, &"none"]).bad(&["a.safetensors", "\"none\""]);
    assert_eq!(run(&[&"tree", &"--depth=0", &path]).status, 2);
    for file in [
        "v1.2/py-1.2.3-sparse.zt",
        "foreign/valid/amber-name-not-utf8.gguf",
        "foreign/valid/amber-nothing.gguf",
    ] {
        run(&[&"tree", &data().join(file)]).good();
    }
    let odd = data().join("foreign/valid/amber-name-not-utf8.gguf");
    for words in [&["ls"][..], &["ls", "--fold"], &["tree"]] {
        let out = common::Ran::of(zt().args(words).arg(&odd).output().unwrap()).good();
        assert!(out.contains("\n\\xffraw "), "{out}");
    }
}

/// Long texts are shown around the first difference.
#[test]
fn long_attributes_are_shown_where_they_differ() {
    let folder = folder("diff-long");
    let file = |name: &str| write(&folder.join(name), &[("x", &[1], &[0.0])]);
    let zt = |name: &str, text: &str| {
        let (from, to) = (file("x.safetensors"), folder.join(name));
        run(&[&"convert", &"--force", &from, &to]).good();
        run(&[&"attr", &"set", &to, &"template", &"--text", &text]).good();
        to
    };
    let same = "0123456789".repeat(10);
    let shown = |a: &str, b: &str| {
        let ran = run(&[&"diff", &zt("a.zt", a), &zt("b.zt", b)]);
        assert_eq!(ran.status, 1, "{ran:?}");
        ran.out.lines().next().unwrap().to_owned()
    };
    let (before, behind) = ("0123456789".repeat(2), "0123456789".repeat(3));
    assert_eq!(
        shown(&format!("{same}A{same}"), &format!("{same}B{same}")),
        format!(
            "~ attribute \"template\" ...{before}A{behind}012345678... and ...{before}B{behind}012345678..."
        )
    );
    // At the end, and a text that begins like the other one.
    assert_eq!(
        shown(&format!("{same}!"), &same),
        format!("~ attribute \"template\" ...23456789{behind}{before}!\" and ...123456789{behind}{before}\"")
    );
    assert_eq!(shown("short", "text"), "~ attribute \"template\" \"short\" and \"text\"");
    let line = shown(&format!("A{same}"), "B");
    assert_eq!(line, format!("~ attribute \"template\" \"A{behind}{before}01234567... and \"B\""));
}
