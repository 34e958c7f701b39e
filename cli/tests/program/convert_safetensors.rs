//! `zt convert IN.safetensors OUT.zt`: every tensor is copied bit for bit.

use crate::common;

use common::{folder, listing, names_in, run};
use safetensors::tensor::{serialize_to_file, Dtype, TensorView};
use serde_json::json;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use ztensor::model::value::{Attributes, OwnedValue};
use ztensor::reader::{File, OpenOptions};
use ztensor::writer::{DenseSpec, Writer, WriterOptions};

/// Every dtype that safetensors and zTensor share: safetensors' name, our name, the logical type, the element
/// size.
const DTYPES: [(Dtype, &str, Option<&str>, usize); 18] = [
    (Dtype::F64, "f64", None, 8),
    (Dtype::F32, "f32", None, 4),
    (Dtype::F16, "f16", None, 2),
    (Dtype::BF16, "bf16", None, 2),
    (Dtype::I64, "i64", None, 8),
    (Dtype::I32, "i32", None, 4),
    (Dtype::I16, "i16", None, 2),
    (Dtype::I8, "i8", None, 1),
    (Dtype::U64, "u64", None, 8),
    (Dtype::U32, "u32", None, 4),
    (Dtype::U16, "u16", None, 2),
    (Dtype::U8, "u8", None, 1),
    (Dtype::BOOL, "bool", None, 1),
    (Dtype::F8_E4M3, "u8", Some("f8_e4m3fn"), 1),
    (Dtype::F8_E5M2, "u8", Some("f8_e5m2"), 1),
    (Dtype::F8_E4M3FNUZ, "u8", Some("f8_e4m3fnuz"), 1),
    (Dtype::F8_E5M2FNUZ, "u8", Some("f8_e5m2fnuz"), 1),
    (Dtype::C64, "f32", Some("complex64"), 8),
];

struct Tensor {
    name: String,
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

/// Pseudo-random bytes, because every bit pattern must be kept, also NaNs.
fn noise(size: usize, seed: u32) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..size).map(|_| next()).collect()
}

fn all_dtypes() -> Vec<Tensor> {
    let mut tensors = Vec::new();
    for (seed, (dtype, _, _, width)) in DTYPES.into_iter().enumerate() {
        for (kind, shape) in [("scalar", vec![]), ("empty", vec![3, 0]), ("cube", vec![2, 5, 7])] {
            let size = shape.iter().product::<usize>() * width;
            let mut bytes = noise(size, seed as u32 + 1);
            if dtype == Dtype::BOOL {
                bytes.iter_mut().for_each(|b| *b &= 1);
            }
            tensors.push(Tensor { name: format!("{dtype}.{kind}"), dtype, shape, bytes });
        }
    }
    tensors
}

fn save(path: &Path, tensors: &[Tensor], metadata: Option<HashMap<String, String>>) {
    let view = |t: &Tensor| (t.name.clone(), t.dtype, t.shape.clone());
    let views: Vec<_> = tensors.iter().map(view).zip(tensors).collect();
    let views = views
        .into_iter()
        .map(|((name, dtype, shape), t)| (name, TensorView::new(dtype, shape, &t.bytes).unwrap()));
    serialize_to_file(views, metadata, path).unwrap();
}

#[track_caller]
fn assert_same(path: &Path, tensors: &[Tensor]) {
    let file = File::open(path, &OpenOptions::default()).unwrap();
    assert_eq!(file.object_count(), tensors.len());
    for tensor in tensors {
        let object = file.find(&tensor.name).unwrap();
        let (_, dtype, logical, _) = DTYPES.into_iter().find(|d| d.0 == tensor.dtype).unwrap();
        let data = object.component("data").unwrap();
        assert_eq!((object.format_name(), data.dtype_name(), data.logical_name()), ("dense", dtype, logical));
        assert_eq!(object.shape(), tensor.shape.iter().map(|d| *d as u64).collect::<Vec<_>>());
        assert_eq!(data.load().unwrap().as_slice(), tensor.bytes, "{}", tensor.name);
    }
}

fn input(name: &str) -> (PathBuf, PathBuf) {
    let folder = folder(name);
    (folder.join("in.safetensors"), folder.join("out.zt"))
}

#[test]
fn all_dtypes_arrive_bit_for_bit() {
    let (from, to) = input("safetensors-dtypes");
    let tensors = all_dtypes();
    save(&from, &tensors, None);
    for options in
        [&[][..], &["--zstd"], &["--zstd=-7", "--digest=sha256"], &["--digest=crc32c", "--durable"]]
    {
        let mut arguments: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"convert", &"--force", &from, &to];
        arguments.extend(options.iter().map(|o| o as &dyn AsRef<std::ffi::OsStr>));
        let out = run(&arguments).good();
        assert!(out.starts_with(&format!("{}: 54 objects, ", to.display())), "{out}");
        assert_same(&to, &tensors);
        let verified = run(&[&"verify", &"--strict", &to]).sound();
        assert!(verified.contains("ok, 54 digests verified; "), "{verified}");
        let compressed = options.iter().any(|o| o.starts_with("--zstd"));
        let listing = listing(&to);
        let objects = listing["objects"].as_array().unwrap();
        assert!(objects.iter().all(|o| (o["components"][0]["encoding"] == "zstd") == compressed));
    }
    assert_eq!(names_in(to.parent().unwrap()), ["in.safetensors", "out.zt"]);
}

#[test]
fn a_header_that_no_reader_opens_is_not_written() {
    let folder = folder("safetensors-header");
    let (from, to) = (folder.join("in.zt"), folder.join("out.safetensors"));
    let mut writer = Writer::create(&from, &WriterOptions::default()).unwrap();
    let mut attributes = Attributes::default();
    let long = OwnedValue::text(&"x".repeat(100_000_000)).unwrap();
    attributes.set("long", long.get()).unwrap();
    writer.set_attributes(attributes).unwrap();
    writer.write_dense(&DenseSpec::new("a", ztensor::model::dtype::Dtype::U8, &[1], &[1])).unwrap();
    writer.finish().unwrap();
    run(&[&"convert", &from, &to]).bad(&["its header would have 1000000", "safetensors allows 100000000"]);
    assert_eq!(names_in(&folder), ["in.zt"]);
}

#[test]
fn metadata_becomes_attributes() {
    let (from, to) = input("safetensors-metadata");
    let metadata = [("format", "pt"), ("ключ", "значение\n\0\"quoted\""), ("", "")];
    let metadata: HashMap<_, _> = metadata.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    save(&from, &all_dtypes(), Some(metadata));
    run(&[&"convert", &"--force", &from, &to]).good();
    let expected = json!({"": "", "format": "pt", "ключ": "значение\n\0\"quoted\""});
    assert_eq!(listing(&to)["attributes"], expected);
}

#[test]
fn tensors_larger_than_a_chunk_are_streamed() {
    let (from, to) = input("safetensors-large");
    let tensor = |name: &str, elements: usize| Tensor {
        name: name.into(),
        dtype: Dtype::F32,
        shape: vec![elements],
        bytes: noise(elements * 4, 9),
    };
    // More than a chunk of 16 MiB, and not a multiple of a page or a frame.
    let tensors = [tensor("large", (18 << 20) / 4 + 3), tensor("small", 7)];
    save(&from, &tensors, None);
    run(&[&"convert", &"--force", &from, &to, &"--large-alignment=64K"]).good();
    assert_same(&to, &tensors);
    let list = listing(&to);
    let offset = |i: usize| list["objects"][i]["components"][0]["offset"].as_u64().unwrap();
    assert_eq!(offset(0) % 65536, 0);
    assert!(offset(1) % 64 == 0 && offset(1) % 65536 != 0);
    run(&[&"convert", &"--force", &from, &to, &"--zstd=1"]).good();
    assert_same(&to, &tensors);
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let (from, to) = input("safetensors-same");
    let metadata = (0..50).map(|n| (format!("key {n}"), n.to_string())).collect();
    save(&from, &all_dtypes(), Some(metadata));
    let convert = || {
        run(&[&"convert", &"--force", &from, &to, &"--digest=sha256"]).good();
        std::fs::read(&to).unwrap()
    };
    assert!(convert() == convert());
}

/// A file with this header, followed by that many bytes.
fn write_raw(path: &Path, header: &str, bytes: usize) {
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header.as_bytes());
    file.resize(file.len() + bytes, 0);
    std::fs::write(path, file).unwrap();
}

#[test]
fn types_that_1_2_lacks_arrive_under_their_own_names() {
    let (from, to) = input("safetensors-types");
    for (dtype, name, bytes) in [
        ("F4", "f4_e2m1", 8),
        ("F6_E2M3", "f6_e2m3", 12),
        ("F6_E3M2", "f6_e3m2", 12),
        ("F8_E8M0", "f8_e8m0", 16),
    ] {
        let header = format!(
            r#"{{"fine":{{"dtype":"U8","shape":[4],"data_offsets":[0,4]}},"layer.\"0\"":{{"dtype":"{dtype}","shape":[16],"data_offsets":[4,{}]}}}}"#,
            4 + bytes
        );
        write_raw(&from, &header, 4 + bytes);
        run(&[&"convert", &"--force", &from, &to, &"--digest=crc32c"]).good();
        let list = listing(&to);
        let (object, data) = (&list["objects"][1], &list["objects"][1]["components"][0]);
        assert_eq!((&object["name"], &object["shape"]), (&json!("layer.\"0\""), &json!([16])));
        assert_eq!(
            (&data["dtype"], &data["type"], &data["length"]),
            (&json!("u8"), &json!(name), &json!(bytes))
        );
        run(&[&"verify", &to]).sound();
    }
}

#[test]
fn an_unknown_dtype_is_an_error_with_the_tensors_name() {
    let (from, to) = input("safetensors-unknown");
    std::fs::write(&to, "precious").unwrap();
    write_raw(&from, r#"{"layer.\"0\"":{"dtype":"Q9_NEW","shape":[16],"data_offsets":[0,16]}}"#, 16);
    run(&[&"convert", &"--force", &from, &to]).bad(&["in.safetensors: object \"layer.\\\"0\\\"\"", "Q9_NEW"]);
    assert_eq!(std::fs::read(&to).unwrap(), b"precious");
    assert_eq!(names_in(to.parent().unwrap()), ["in.safetensors", "out.zt"]);
}

#[test]
fn an_unsound_file_is_refused() {
    let (from, to) = input("safetensors-unsound");
    let tensor = |end: usize| format!(r#"{{"a":{{"dtype":"U8","shape":[4],"data_offsets":[0,{end}]}}}}"#);
    write_raw(&from, &tensor(4), 4);
    run(&[&"convert", &"--force", &from, &to]).good();
    std::fs::remove_file(&to).unwrap();
    for (header, bytes) in [(tensor(4), 3), (tensor(4), 5), (tensor(5), 5), (String::from("{\"a\":"), 0)] {
        write_raw(&from, &header, bytes);
        run(&[&"convert", &"--force", &from, &to]).bad(&["in.safetensors: "]);
    }
    let huge = [&u64::MAX.to_le_bytes()[..], b"{}"].concat();
    std::fs::write(&from, huge).unwrap();
    run(&[&"convert", &"--force", &from, &to]).bad(&["in.safetensors: "]);
    std::fs::write(&from, "").unwrap();
    run(&[&"convert", &"--force", &from, &to]).bad(&["in.safetensors: "]);
    assert_eq!(names_in(to.parent().unwrap()), ["in.safetensors"]);
}

#[cfg(unix)]
#[test]
fn an_interrupt_takes_the_half_written_file_away() {
    use std::process::Command;
    let (from, to) = input("safetensors-interrupt");
    let bytes = 192 << 20;
    // A sparse file of zeros, which does not use disk space. The highest level is slow enough to be
    // interrupted.
    let header = format!(r#"{{"zeros":{{"dtype":"U8","shape":[{bytes}],"data_offsets":[0,{bytes}]}}}}"#);
    write_raw(&from, &header, 0);
    let file = std::fs::OpenOptions::new().write(true).open(&from).unwrap();
    file.set_len((8 + header.len() + bytes) as u64).unwrap();
    let mut child = common::zt();
    child.args(["convert", "--zstd=22"]).args([&from, &to]).stderr(std::process::Stdio::piped());
    let child = child.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let begun = || names_in(to.parent().unwrap()).len() == 2;
    while !begun() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(names_in(to.parent().unwrap()), ["in.safetensors"]);
}
