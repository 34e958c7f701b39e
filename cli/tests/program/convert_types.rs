//! `zt convert --type`: which tensors become blocks, and the metadata of the output.

use crate::common;

use common::{folder, names_in, run, zt, Ran};
use std::path::{Path, PathBuf};
use ztensor::model::dtype::Dtype;
use ztensor::model::manifest::Format;
use ztensor::model::value::{Attributes, OwnedValue, Value, ValueKind};
use ztensor::reader::{File, OpenOptions};
use ztensor::writer::{DenseSpec, Recode, Writer, WriterOptions};

const EMBEDDING: &str = "token_embd.weight";
const QUERY: &str = "blk.0.attn_q.weight";
const ODD: &str = "blk.0.odd.weight";
/// Other tensors of the model, which are not quantized by default.
const KEPT: [(&str, &[u64]); 5] = [
    ("blk.0.attn_norm.weight", &[2, 256]),
    ("blk.0.ffn_gate_inp.weight", &[4, 256]),
    ("blk.0.ssm_conv1d.weight", &[2, 256]),
    ("blk.0.scale.weight", &[256]),
    ("blk.0.lora", &[2, 256]),
];

/// A model with llama.cpp's names. One tensor has rows that are not whole blocks, one has integers.
#[track_caller]
fn model(name: &str) -> (PathBuf, PathBuf) {
    let folder = folder(name);
    let path = folder.join("in.zt");
    let options = WriterOptions { usual_digest: false, digest: None, ..WriterOptions::default() };
    let mut writer = Writer::create(&path, &options).unwrap();
    let mut attributes = Attributes::default();
    attributes.set("general.architecture", OwnedValue::text("llama").unwrap().get()).unwrap();
    let old_type = OwnedValue::scalar(ValueKind::Unsigned(1)).unwrap();
    attributes.set("general.file_type", old_type.get()).unwrap();
    writer.set_attributes_agreed(attributes, &mut |_, _| false).unwrap();
    let numbers = |count: u64| (0..count).map(|at| ((at * 7919) % 4001) as f32 / 1000.0 - 2.0);
    let halves =
        |count| numbers(count).flat_map(|x| (x.to_bits() >> 16).to_le_bytes()[..2].to_vec()).collect();
    let singles = |count| numbers(count).flat_map(f32::to_le_bytes).collect::<Vec<u8>>();
    let bytes: Vec<u8> = halves(64 * 256);
    writer.write_dense(&DenseSpec::new(EMBEDDING, Dtype::Bf16, &[64, 256], &bytes)).unwrap();
    writer.write_dense(&DenseSpec::new(QUERY, Dtype::F32, &[16, 512], &singles(16 * 512))).unwrap();
    writer.write_dense(&DenseSpec::new(ODD, Dtype::F32, &[3, 48], &singles(144))).unwrap();
    writer.write_dense(&DenseSpec::new("ids.weight", Dtype::I32, &[2, 256], &singles(512))).unwrap();
    for (name, shape) in KEPT {
        let bytes = singles(shape.iter().product());
        writer.write_dense(&DenseSpec::new(name, Dtype::F32, shape, &bytes)).unwrap();
    }
    writer.finish().unwrap();
    (path, folder)
}

fn open(path: &Path) -> File {
    File::open(path, &OpenOptions::default()).unwrap()
}

/// The type of a tensor's elements.
fn type_of(file: &File, name: &str) -> String {
    let object = file.find(name).unwrap();
    let data = object.component("data").unwrap();
    data.logical_name().unwrap_or(data.dtype_name()).to_owned()
}

fn bytes_of(file: &File, name: &str) -> Vec<u8> {
    let data = file.find(name).unwrap().component("data").unwrap();
    let mut bytes = vec![0; data.size().unwrap() as usize];
    data.read(&mut bytes).unwrap();
    bytes
}

fn number(file: &File, key: &str) -> Option<u64> {
    file.attributes()?.get(key).and_then(Value::as_u64)
}

fn convert(from: &Path, to: &Path, options: &[&str]) -> Ran {
    Ran::of(zt().args(["convert", "--force"]).args(options).args([from, to]).output().unwrap())
}

#[test]
fn weights_of_two_dimensions_become_blocks_in_each_container() {
    let (from, folder) = model("types-usual");
    let source = open(&from);
    // With llama.cpp's file type for such a file.
    for (name, file_type) in [
        ("q4_0", 2),
        ("q4_1", 3),
        ("q8_0", 7),
        ("q5_0", 8),
        ("q5_1", 9),
        ("iq4_nl", 25),
        ("tq1_0", 36),
        ("tq2_0", 37),
        ("mxfp4", 38),
    ] {
        let full = format!("gguf.{name}");
        let logical = ztensor::model::dtype::Logical::from_name(&full).unwrap();
        for (output, options) in [("out.zt", &[][..]), ("2.zt", &["--spec=2"]), ("out.gguf", &[])] {
            let to = folder.join(output);
            let chosen = format!("--type={name}");
            let options = [options, &[chosen.as_str(), "--verify"]].concat();
            let ran = convert(&from, &to, &options);
            if output == "2.zt" && name.starts_with("tq") {
                ran.bad(&["does not list the layout", &full, "--lossy"]);
                continue;
            }
            assert!(ran.out.contains(&format!("; 2 objects quantized to {name}")), "{ran:?}");
            let rows =
                "not converted: 1 object: \"blk.0.odd.weight\": rows of 48 elements are not whole blocks";
            assert!(ran.err.contains(rows), "{ran:?}");
            let integers = format!("not converted: 1 object: \"ids.weight\": i32 to {name}");
            assert!(ran.err.contains(&integers), "{ran:?}");
            ran.noted("not converted");
            let made = open(&to);
            for quantized in [EMBEDDING, QUERY] {
                let object = made.find(quantized).unwrap();
                assert_eq!(object.format(), Format::Blocks(logical));
                let mut expected = Vec::new();
                let data = source.find(quantized).unwrap().component("data").unwrap();
                let mut body = |piece: &[u8]| {
                    expected.extend_from_slice(piece);
                    Ok(())
                };
                data.for_each_quantized(logical, &mut body).unwrap();
                assert!(bytes_of(&made, quantized) == expected, "{output} {full} {quantized}");
            }
            for kept in [ODD, "ids.weight"].into_iter().chain(KEPT.map(|(name, _)| name)) {
                assert_eq!(type_of(&made, kept), type_of(&source, kept), "{output} {kept}");
                assert!(bytes_of(&made, kept) == bytes_of(&source, kept), "{output} {kept}");
            }
            let facts = ["general.quantization_version", "general.file_type"].map(|key| number(&made, key));
            assert_eq!(facts, [Some(2), Some(file_type)], "{output} {full}");
            assert_eq!(run(&[&"verify", &to]).status, 0);
        }
        // Converted from a .zt file, the GGUF file is the same as from the model.
        let through = folder.join("through.gguf");
        assert_eq!(convert(&folder.join("out.zt"), &through, &[]).status, 0);
        let keys = |path: &Path| {
            let file = open(path);
            let value =
                |key| file.attributes().unwrap().get(key).map(|value| (value.dtype(), value.as_u64()));
            ["general.quantization_version", "general.file_type"].map(value)
        };
        assert_eq!(keys(&through), keys(&folder.join("out.gguf")));
        assert_eq!(keys(&through)[0], Some((Some(Dtype::U32), Some(2))));
    }
}

#[test]
fn other_tensors_are_chosen_by_name() {
    let (from, folder) = model("types-names");
    let to = folder.join("out.zt");
    let types = |options: &[&str]| {
        let ran = convert(&from, &to, options);
        assert_eq!(ran.status, 0, "{ran:?}");
        let made = open(&to);
        let quantized = made.objects().filter(|object| matches!(object.format(), Format::Blocks(_)));
        quantized
            .map(|object| format!("{} {}", object.name(), type_of(&made, object.name())))
            .collect::<Vec<_>>()
    };
    let (embedding, query) = (format!("{EMBEDDING} gguf.q8_0"), format!("{QUERY} gguf.q8_0"));
    assert_eq!(types(&["--type=q8_0"]), [embedding.as_str(), &query]);
    assert_eq!(types(&["--type=q8_0", "--exclude=token_embd.*"]), [query.as_str()]);
    assert_eq!(types(&["--type=q8_0", "--type=token_embd.*=keep"]), [query.as_str()]);
    assert_eq!(types(&["--type=*lora=q4_0"]), ["blk.0.lora gguf.q4_0"]);
    let mixed =
        ["--type=*attn*=q5_1", "--type=*=tq2_0", "--type=*q*=q4_0", "--exclude=ids*", "--exclude=*odd*"];
    let expected = [
        "token_embd.weight gguf.tq2_0",
        "blk.0.attn_q.weight gguf.q5_1",
        "blk.0.attn_norm.weight gguf.q5_1",
        "blk.0.ffn_gate_inp.weight gguf.tq2_0",
        "blk.0.ssm_conv1d.weight gguf.tq2_0",
        "blk.0.scale.weight gguf.tq2_0",
        "blk.0.lora gguf.tq2_0",
    ];
    assert_eq!(types(&mixed), expected);
    // Tensors that --include selects may have any name, but must have two dimensions.
    let included = ["--type=q8_0", "--include=*lora", "--include=*scale*", "--include=*_norm*"];
    assert_eq!(types(&included), ["blk.0.attn_norm.weight gguf.q8_0", "blk.0.lora gguf.q8_0"]);
    let ran = convert(&from, &to, &["--type=q8_0", "--type=*lora=q4_0", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(json["quantized"], serde_json::json!({"q8_0": 2, "q4_0": 1}));
    assert_eq!(number(&open(&to), "general.file_type"), Some(7), "the file type is not most tensors' type");
}

#[test]
fn tensors_that_cannot_be_quantized_are_named_and_nothing_is_written() {
    let (from, folder) = model("types-refused");
    let to = folder.join("out.zt");
    let refused = |options: &[&str], parts: &[&str]| convert(&from, &to, options).bad(parts);
    let rows = "object \"blk.0.odd.weight\": rows of 48 elements are not whole blocks of 32 of q8_0";
    refused(&["--type=q8_0", "--strict"], &["in.zt: ", rows, "without --strict"]);
    refused(&["--type=q8_0", "--type=q4_0"], &["--type gives several types"]);
    refused(&["--type=none=q8_0"], &["no object matches \"none\""]);
    let why = &["--type: every object that matches \"token_embd.weight\" is left out by another option"];
    refused(&["--type=token_embd.weight=q8_0", "--exclude=token_embd.*"], why);
    refused(&["--type=*=q8_0", "--type=token_embd.weight=keep", "--include=blk.*"], why);
    refused(&["--type=q8_0", "--to=safetensors"], &["--type only applies to .zt and .gguf output"]);
    for (option, why) in [("q4_k", "llama-quantize"), ("f16", "not a block type")] {
        let ran = convert(&from, &to, &[&format!("--type={option}")]);
        assert!(ran.status == 2 && ran.err.contains(why), "{ran:?}");
    }
    assert_eq!(convert(&from, &to, &["--type=q8_0", "--dtype=f16"]).status, 2);
    assert_eq!(names_in(&folder), ["in.zt"]);

    let odd = folder.join("nan.zt");
    let mut writer = Writer::create(&odd, &WriterOptions::default()).unwrap();
    let mut numbers = vec![0f32; 1 << 20];
    numbers[777_777] = f32::NAN;
    let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
    writer.write_dense(&DenseSpec::new("a.weight", Dtype::F32, &[1 << 10, 1 << 10], &bytes)).unwrap();
    writer.finish().unwrap();
    for output in ["out.zt", "out.gguf"] {
        let ran = convert(&odd, &folder.join(output), &["--type=q8_0"]);
        ran.bad(&["nan.zt: ", "\"a.weight\"", "element 777777 is NaN"]);
    }
    assert_eq!(names_in(&folder), ["in.zt", "nan.zt"]);
}

/// A big-endian GGUF file, and one with blocks. Offsets are not kept, because tensors become smaller.
#[test]
fn gguf_files_are_quantized_and_packed() {
    let (from, folder) = model("types-gguf");
    let plain = folder.join("plain.gguf");
    convert(&from, &plain, &[]).good();
    let made = folder.join("q8.gguf");
    convert(&plain, &made, &["--type=q8_0"]).noted("not converted");
    let direct = folder.join("direct.gguf");
    convert(&from, &direct, &["--type=q8_0"]).noted("not converted");
    assert_eq!(std::fs::metadata(&made).unwrap().len(), std::fs::metadata(&direct).unwrap().len());
    let again = convert(&made, &folder.join("again.gguf"), &["--type=q4_0"]);
    assert!(again.err.contains("q8_0 to q4_0"), "{again:?}");
    let mut end = 0;
    let file = open(&made);
    for object in file.objects() {
        let data = object.component("data").unwrap();
        assert!(end == 0 || data.offset() == end, "{}", object.name());
        end = (data.offset() + data.stored_size()).next_multiple_of(32);
    }
    let mut writer = Writer::create(folder.join("copy.zt"), &WriterOptions::default()).unwrap();
    let recode = Recode { blocks: Some(ztensor::model::dtype::Logical::Q8_0), ..Recode::default() };
    writer.copy_as(open(&from).find(QUERY).unwrap(), QUERY, &recode).unwrap();
    writer.finish().unwrap();
    assert!(bytes_of(&open(&folder.join("copy.zt")), QUERY) == bytes_of(&file, QUERY));
}

/// The byte order of floats does not affect blocks that are made from them.
#[test]
fn big_endian_floats_become_blocks_of_gguf() {
    let folder = folder("types-big-endian");
    let numbers: Vec<f32> = (0..64).map(|at| at as f32 - 31.5).collect();
    let header = format!("{:<117}\n", "{'descr': '>f4', 'fortran_order': False, 'shape': (2, 32), }");
    let npy = |bytes: Vec<u8>, header: &str| {
        [b"\x93NUMPY\x01\0".to_vec(), (header.len() as u16).to_le_bytes().to_vec(), header.into(), bytes]
            .concat()
    };
    let big: Vec<u8> = numbers.iter().flat_map(|x| x.to_be_bytes()).collect();
    let little: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
    std::fs::write(folder.join("w.npy"), npy(big, &header)).unwrap();
    std::fs::create_dir(folder.join("little")).unwrap();
    std::fs::write(folder.join("little/w.npy"), npy(little, &header.replace('>', "<"))).unwrap();
    let made = ["w.npy", "little/w.npy"].map(|input| {
        let output = folder.join(input).with_extension("gguf");
        run(&[&"convert", &folder.join(input), &output, &"--type", &"*=Q8_0"]).good();
        let file = File::open(&output, &OpenOptions::default()).unwrap();
        let object = file.objects().next().unwrap();
        assert_eq!(object.format(), Format::Blocks(ztensor::model::dtype::Logical::Q8_0));
        let data = object.component("data").unwrap();
        let mut bytes = vec![0; data.size().unwrap() as usize];
        data.read(&mut bytes).unwrap();
        bytes
    });
    assert_eq!(made[0], made[1]);
}
