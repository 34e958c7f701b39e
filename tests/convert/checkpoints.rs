//! Weights that tools stored as several tensors, opened as one object each. The small models are in
//! tests/data/checkpoints; their `want.json` has the SHA-256 of each weight's float32 numbers.

use crate::common;

use common::{Folder, Random};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use ztensor::container::json;
use ztensor::error::Result;
use ztensor::model::dtype::Dtype;
use ztensor::model::value::{Attributes, OwnedValue, Value, ValueKind};
use ztensor::reader::{
    BatchOptions, BatchStats, File, Hyperslab, Mode, Object, OpenOptions, Selected, Wanted,
};
use ztensor::writer::{ComponentSpec, LogicalSpec, ObjectSpec, Writer, WriterOptions};

pub fn combined() -> OpenOptions {
    OpenOptions { combine_quantized: true, ..OpenOptions::default() }
}

pub fn models() -> Vec<PathBuf> {
    let folder = common::repository("tests/data/checkpoints");
    let mut found: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.is_dir());
    found.sort();
    assert!(found.len() >= 26, "{}", found.len());
    found
}

fn parsed(path: &Path) -> OwnedValue {
    json::parse(&std::fs::read_to_string(path).unwrap()).unwrap()
}

pub fn wanted() -> OwnedValue {
    parsed(&common::repository("tests/data/checkpoints/want.json"))
}

pub fn name_of(model: &Path) -> &str {
    model.file_name().unwrap().to_str().unwrap()
}

fn numbers_of(value: Value<'_>) -> Vec<u64> {
    let ValueKind::Array(items) = value.kind() else { panic!("{value:?}") };
    items.iter().map(|item| item.as_u64().unwrap()).collect()
}

pub fn floats(object: &Object<'_>) -> Result<Vec<f32>> {
    let mut bytes = vec![0; object.size_as(Dtype::F32)? as usize];
    assert_eq!(object.read_as(Dtype::F32, &mut bytes)?, bytes.len());
    Ok(bytes.chunks_exact(4).map(|bytes| f32::from_ne_bytes(bytes.try_into().unwrap())).collect())
}

pub fn bits(object: &Object<'_>) -> Vec<u32> {
    floats(object).unwrap().into_iter().map(f32::to_bits).collect()
}

fn sha256(floats: &[f32]) -> String {
    let bytes: Vec<u8> = floats.iter().flat_map(|float| float.to_le_bytes()).collect();
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Compares all weights of an open model with the expected ones.
pub fn check(file: &File, model: &str, wanted: Value<'_>) {
    let weights = wanted.get(model).unwrap();
    for (name, weight) in weights.pairs() {
        let name = name.as_text().unwrap();
        let object = file.required(name).unwrap();
        assert_eq!(object.shape(), numbers_of(weight.get("shape").unwrap()), "{model} {name}");
        let found = floats(&object).unwrap_or_else(|e| panic!("{model} {name}: {e}"));
        assert!(weight.get("f32").unwrap().is_text(&sha256(&found)), "{model} {name}: {:?}", &found[..4]);
    }
    common::verify(file).unwrap();
}

#[test]
fn weights_of_every_scheme_have_the_right_bits_for_every_path() {
    let wanted = wanted();
    for model in models() {
        let name = name_of(&model);
        check(&File::open_model(&model, &combined()).unwrap(), name, wanted.get());
        let path = model.join("model.safetensors");
        for mode in [Mode::Map, Mode::Read, Mode::Private] {
            check(&File::open(&path, &OpenOptions { mode, ..combined() }).unwrap(), name, wanted.get());
        }
    }
}

#[test]
fn without_the_option_nothing_is_combined() {
    for model in models() {
        let (plain, file) = (OpenOptions::default(), model.join("model.safetensors"));
        let (plain, together) = (File::open(&file, &plain).unwrap(), File::open(&file, &combined()).unwrap());
        assert!(plain.objects().all(|object| object.scheme().is_none()));
        assert!(plain.object_count() > together.object_count(), "{model:?}");
        let components = together.objects().map(|object| object.components().len()).sum::<usize>();
        assert_eq!(components, plain.object_count(), "each tensor is in one object");
    }
}

/// Checks rows and slices, with one and three threads, as f32, bf16 and f16.
#[test]
fn rows_and_slices_equal_parts_of_the_weight() {
    let mut random = Random(11);
    for model in models() {
        for mode in [Mode::Map, Mode::Read] {
            let file = File::open_model(&model, &OpenOptions { mode, ..combined() }).unwrap();
            for object in file.objects().filter(|object| object.scheme().is_some()) {
                let whole = floats(&object).unwrap();
                let shape = object.shape();
                let columns = *shape.last().unwrap();
                let rows = whole.len() as u64 / columns;
                for _ in 0..6 {
                    let first = random.below(rows);
                    let stride = 1 + random.below(3);
                    let count = 1 + random.below((rows - first).div_ceil(stride));
                    let count = count.min((rows - first).div_ceil(stride));
                    let selected = Selected::Rows { first, rows: count, stride };
                    let places: Vec<u64> = (0..count)
                        .flat_map(|row| {
                            let start = (first + row * stride) * columns;
                            start..start + columns
                        })
                        .collect();
                    same(&object, &selected, &whole, &places, 1 + random.below(3) as usize);

                    let pick = |random: &mut Random, size: u64| {
                        let (start, step) = (random.below(size), 1 + random.below(3));
                        let count = 1 + random.below((size - start).div_ceil(step));
                        (start, count.min((size - start).div_ceil(step)), step)
                    };
                    let picks: Vec<_> = shape.iter().map(|size| pick(&mut random, *size)).collect();
                    let [start, count, step] = [0, 1, 2].map(|part| {
                        let one = |(start, count, step): &(u64, u64, u64)| [*start, *count, *step][part];
                        picks.iter().map(one).collect::<Vec<u64>>()
                    });
                    let slab = Hyperslab { start: &start, count: &count, step: Some(&step) };
                    let mut places = vec![0u64];
                    for ((size, start), (count, step)) in
                        shape.iter().zip(&start).zip(count.iter().zip(&step))
                    {
                        let each = |place: &u64| {
                            (0..*count)
                                .map(move |at| at * step + start)
                                .map({
                                    let place = *place;
                                    move |at| place * size + at
                                })
                                .collect::<Vec<_>>()
                        };
                        places = places.iter().flat_map(each).collect();
                    }
                    same(&object, &Selected::Slab(slab), &whole, &places, 2);
                }
            }
        }
    }
}

/// Reads a part in three types, and compares it with the same elements of the complete weight.
fn same(object: &Object<'_>, selected: &Selected<'_>, whole: &[f32], places: &[u64], threads: usize) {
    for to in [Dtype::F32, Dtype::Bf16, Dtype::F16] {
        let mut bytes = vec![0xA5; places.len() * to.size()];
        let wanted = Wanted { convert: Some(to), ..Wanted::default() };
        let mut requests = [object.request_as(selected, wanted, &mut bytes).unwrap()];
        let options = BatchOptions { threads, ..BatchOptions::default() };
        let done = |_: u64, _: &Result<()>| {};
        File::read_batch(&mut requests, &options, &done, &|_, _| true, &mut BatchStats::default()).unwrap();
        drop(requests);
        for (place, bytes) in places.iter().zip(bytes.chunks_exact(to.size())) {
            let number = whole[*place as usize];
            let expected: Vec<u8> = match to {
                Dtype::F32 => number.to_ne_bytes().to_vec(),
                Dtype::Bf16 => half::bf16::from_f32(number).to_ne_bytes().to_vec(),
                _ => half::f16::from_f32(number).to_ne_bytes().to_vec(),
            };
            assert_eq!(bytes, expected, "{selected:?} {place}");
        }
    }
}

/// A safetensors file with some tensors of another file.
fn without(file: &File, left_out: &str) -> Vec<u8> {
    let (mut header, mut data) = (String::from("{"), Vec::new());
    for object in file.objects().filter(|object| object.name() != left_out) {
        let component = object.component("data").unwrap();
        let (dtype, logical) = (component.dtype().unwrap(), component.known_logical());
        let name = ztensor::container::safetensors_dtype(dtype, logical).unwrap();
        let start = data.len();
        data.extend(common::read(&component));
        let comma = if header.len() > 1 { "," } else { "" };
        let (shape, end) = (object.shape(), data.len());
        header += &format!(
            "{comma}{:?}:{{\"dtype\":\"{name}\",\"shape\":{shape:?},\"data_offsets\":[{start},{end}]}}",
            object.name()
        );
    }
    header.push('}');
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

/// What tensors named weight_shape say.
const PACKED_SHAPE: [u64; 2] = [2, 16];

/// A safetensors file with these tensors. All bytes are 1, except those of shapes.
fn made_of(tensors: &[(&str, &str, &[u64], usize)]) -> Vec<u8> {
    let (mut header, mut end) = (String::from("{"), 0);
    for (name, dtype, shape, size) in tensors {
        let comma = if header.len() > 1 { "," } else { "" };
        let offsets = [end, end + size];
        header += &format!(
            "{comma}{name:?}:{{\"dtype\":{dtype:?},\"shape\":{shape:?},\"data_offsets\":{offsets:?}}}"
        );
        end += size;
    }
    header.push('}');
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    for (name, _, _, size) in tensors {
        match name.ends_with("weight_shape") {
            true => bytes.extend(PACKED_SHAPE.iter().flat_map(|number| number.to_le_bytes())),
            false => bytes.resize(bytes.len() + size, 1),
        }
    }
    bytes
}

type Made<'t> = (&'t str, &'t str, &'t [u64], usize);

/// The weight `x.weight` is refused if the tensors and the configuration contradict each other, or leave
/// something open. An empty message is for one that can be read.
#[test]
fn nothing_is_guessed() {
    let gptq: &[Made<'_>] = &[
        ("x.qweight", "I32", &[2, 8], 64),
        ("x.qzeros", "I32", &[2, 1], 8),
        ("x.scales", "F16", &[2, 8], 32),
    ];
    let of_gptq = |more: &str| {
        format!(r#"{{"quantization_config":{{"quant_method":"gptq","bits":4,"group_size":8{more}}}}}"#)
    };
    let packed: &[Made<'_>] = &[
        ("x.weight_packed", "I32", &[2, 2], 16),
        ("x.weight_scale", "F32", &[2, 2], 16),
        ("x.weight_shape", "I64", &[2], 16),
    ];
    let packed_by_row: &[Made<'_>] = &[packed[0], ("x.weight_scale", "F32", &[2, 1], 8), packed[2]];
    let of_packed = |weights: &str| {
        let groups = format!(r#""config_groups":{{"a":{{"weights":{{"num_bits":4,{weights}}}}},"b":{{}}}}"#);
        format!(r#"{{"quantization_config":{{"quant_method":"compressed-tensors",{groups}}}}}"#)
    };
    let blocks: &[Made<'_>] =
        &[("x.weight", "F8_E4M3", &[8, 8], 64), ("x.weight_scale_inv", "F32", &[1, 1], 4)];
    let one_scale: &[Made<'_>] =
        &[("x.weight", "F8_E4M3", &[256, 2], 512), ("x.weight_scale_inv", "F32", &[1], 4)];
    let of_fp8 = |more: &str| format!(r#"{{"quantization_config":{{"quant_method":"fp8"{more}}}}}"#);
    let mlx: &[Made<'_>] =
        &[("x.weight", "U32", &[2, 4], 32), ("x.scales", "F16", &[2, 1], 4), ("x.biases", "F16", &[2, 1], 4)];
    let second: &[Made<'_>] = &[
        ("x.weight", "F8_E4M3", &[2, 2], 4),
        ("x.weight_scale", "F32", &[], 4),
        ("x.weight_scale_2", "F32", &[], 4),
    ];
    let float_scale: &[Made<'_>] = &[("x.weight", "F8_E4M3", &[2, 2], 4), ("x.scale", "F32", &[1], 4)];
    let exl2: &[Made<'_>] = &[("x.q_weight", "I32", &[2, 2], 16), ("x.q_scale", "I32", &[2], 8)];
    let python = r#"{"limits":[0.0, -Infinity],"x\"NaN":NaN,
        "quantization_config":{"quant_method":"gptq","bits":4,"group_size":8}}"#;
    let cases: Vec<(String, &[Made<'_>], &str)> = vec![
        (of_gptq(""), gptq, ""),
        (of_gptq(r#","desc_act":true"#), gptq, "\"x.g_idx\""),
        (of_gptq(r#","dynamic":{"+:x":{"group_size":4}}"#), gptq, "\"x.g_idx\""),
        (of_gptq(r#","desc_act":1"#), gptq, "\"desc_act\""),
        (of_gptq(r#","checkpoint_format":2"#), gptq, "\"checkpoint_format\""),
        (of_gptq(r#","is_marlin_format":1"#), gptq, "\"is_marlin_format\""),
        (python.to_owned(), gptq, ""),
        (of_packed(r#""group_size":8"#), packed, ""),
        (of_packed(r#""group_size":8,"actorder":"group""#), packed, "weight_g_idx"),
        (of_packed(r#""group_size":8"#), packed_by_row, "do not fit the groups"),
        (of_packed(r#""group_size":8,"symmetric":false"#), packed, "zero_point"),
        (of_packed(r#""group_size":8,"symmetric":0"#), packed, "\"symmetric\""),
        (of_fp8(r#","weight_block_size":[128,128]"#), blocks, ""),
        (of_fp8(""), blocks, ""),
        (of_fp8(r#","weight_block_size":["8","8"]"#), blocks, "\"weight_block_size\""),
        (of_fp8(r#","weight_block_size":[8]"#), blocks, "\"weight_block_size\""),
        (r#"{"quantization_config":"#.to_owned(), blocks, "config.json"),
        (of_fp8(r#","weight_block_size":[128,128]"#), one_scale, "blocks of 128 x 128"),
        (of_fp8(""), one_scale, ""),
        (of_fp8(""), second, "\"x.weight_scale_2\""),
        (of_fp8(""), float_scale, "\"x.scale\" are of f32"),
        ("{}".to_owned(), exl2, "order of its kernels"),
        (r#"{"quantization":{"bits":4,"group_size":32}}"#.to_owned(), mlx, ""),
        (r#"{"quantization":{"bits":4,"group_size":32,"x":{"bits":4,"group_size":32}}}"#.to_owned(), mlx, ""),
        (r#"{"quantization":{"bits":4,"group_size":32,"m.x":{"bits":8}}}"#.to_owned(), mlx, "single modules"),
        (r#"{"quantization":{"bits":7,"group_size":32}}"#.to_owned(), mlx, "7 bits"),
        (r#"{"quantization":{"bits":4,"group_size":64,"mode":"mxfp4"}}"#.to_owned(), mlx, "groups of 64"),
    ];
    let folder = Folder::new();
    for (config, tensors, wanted) in cases {
        std::fs::write(folder.path("config.json"), &config).unwrap();
        let tensors = [tensors, &[("plain.weight", "F32", &[1], 4)]].concat();
        std::fs::write(folder.path("m.safetensors"), made_of(&tensors)).unwrap();
        let file = File::open(folder.path("m.safetensors"), &combined()).unwrap();
        floats(&file.required("plain.weight").unwrap()).unwrap();
        match floats(&file.required("x.weight").unwrap()) {
            Ok(_) => assert!(wanted.is_empty(), "{config} {tensors:?}"),
            Err(e) => {
                let named = ["x.weight", wanted].iter().all(|words| e.message().contains(words));
                assert!(!wanted.is_empty() && named, "{config} {tensors:?}: {e}");
                assert!(common::verify(&file).is_err(), "{config}");
            }
        }
    }

    // A configuration that cannot be opened spoils the weights that need it.
    std::fs::remove_file(folder.path("config.json")).unwrap();
    std::fs::create_dir(folder.path("config.json")).unwrap();
    let tensors = [gptq, &[("plain.weight", "F32", &[1], 4)]].concat();
    std::fs::write(folder.path("m.safetensors"), made_of(&tensors)).unwrap();
    let file = File::open(folder.path("m.safetensors"), &combined()).unwrap();
    floats(&file.required("plain.weight").unwrap()).unwrap();
    let error = floats(&file.required("x.weight").unwrap()).unwrap_err();
    assert!(error.message().contains("config.json"), "{error}");

    // Names alone show nothing.
    let maze = made_of(&[("maze_blocks", "U8", &[3, 4], 12), ("maze_scales", "U8", &[3], 3)]);
    std::fs::write(folder.path("m.safetensors"), maze).unwrap();
    let file = File::open(folder.path("m.safetensors"), &combined()).unwrap();
    assert!(file.objects().all(|object| object.scheme().is_none()));
}

/// The size of an unknown type's elements is not checked when a file is opened.
#[test]
fn an_element_that_the_bytes_lack_is_not_zero() {
    for size in [0, 8, 16] {
        let bytes = common::written(&WriterOptions::default(), |writer| {
            let mut write = |name, shape: &[u64], of: ComponentSpec<'_>, bytes: &[u8]| {
                let object = ObjectSpec { name, format: "dense", shape };
                writer.write_object(&object, Attributes::default(), &[(of, bytes)]).unwrap();
            };
            write("x.weight", &[2, 4], ComponentSpec::new("data", Dtype::I8), &[1; 8]);
            write("x.SCB", &[2], ComponentSpec::new("data", Dtype::F32), &[0; 8]);
            let unknown = ComponentSpec {
                logical: Some(LogicalSpec::Other("acme.x")),
                ..ComponentSpec::new("data", Dtype::I64)
            };
            write("x.weight_format", &[1], unknown, &vec![0; size]);
        });
        let file = File::open_memory(common::Aligned::of(&bytes), &combined()).unwrap();
        match floats(&file.required("x.weight").unwrap()) {
            Ok(_) => assert_eq!(size, 8),
            Err(e) => assert!(size != 8 && e.message().contains(&format!("in {size} bytes")), "{e}"),
        }
    }
}

#[test]
fn tensors_that_only_look_like_a_weight_stay_or_are_rejected() {
    let folder = Folder::new();
    let opened = |config: &str, tensors: &[(&str, &str, &[u64], usize)]| {
        std::fs::write(folder.path("config.json"), config).unwrap();
        std::fs::write(folder.path("m.safetensors"), made_of(tensors)).unwrap();
        File::open(folder.path("m.safetensors"), &combined()).unwrap()
    };
    let fp8 = r#"{"quantization_config":{"quant_method":"fp8","weight_block_size":[128,128]}}"#;
    let file = opened(fp8, &[("ls1.scale", "BF16", &[4], 8), ("norm.weight", "BF16", &[4], 8)]);
    assert_eq!(file.object_count(), 2);
    assert!(
        file.objects().all(|object| object.scheme().is_none()),
        "a parameter with the name scale is not combined"
    );

    // Scales of columns. Their number is equal to the number of rows.
    let tools = r#"{"quantization_config":{"quant_method":"compressed-tensors"}}"#;
    for (shape, is_right) in [([4, 1], true), ([1, 4], false), ([2, 2], false)] {
        let file = opened(tools, &[("x.weight", "I8", &[4, 4], 16), ("x.weight_scale", "F32", &shape, 16)]);
        let read = floats(&file.required("x.weight").unwrap());
        assert_eq!(read.is_ok(), is_right, "{shape:?}");
        let named =
            |e: &ztensor::error::Error| ["x.weight", "scales"].iter().all(|word| e.message().contains(word));
        assert!(is_right || read.is_err_and(|e| named(&e)));
    }

    // Tensors of two tools for one weight: the first tool's are used.
    let gptq = r#"{"quantization_config":{"quant_method":"gptq","bits":4,"group_size":8}}"#;
    let file = opened(
        gptq,
        &[
            ("a.W_q", "U8", &[4, 4], 16),
            ("a.g_idx", "I32", &[8], 32),
            ("a.qweight", "I32", &[1, 8], 32),
            ("a.qzeros", "I32", &[1, 1], 4),
            ("a.scales", "F16", &[1, 8], 16),
        ],
    );
    assert_eq!(file.objects().filter(|object| object.name() == "a.weight").count(), 1);

    // The configuration of a text model inside a larger one.
    let nested = r#"{"text_config":{"quantization_config":{"quant_method":"gptq","bits":4,"group_size":8}}}"#;
    let parts: [(&str, &str, &[u64], usize); 3] = [
        ("a.qweight", "I32", &[1, 8], 32),
        ("a.qzeros", "I32", &[1, 1], 4),
        ("a.scales", "F16", &[1, 8], 16),
    ];
    assert_eq!(floats(&opened(nested, &parts).required("a.weight").unwrap()).unwrap().len(), 64);
    let broken = opened("{}", &parts);
    let error = floats(&broken.required("a.weight").unwrap()).unwrap_err();
    assert!(error.message().contains("config.json"), "{error}");
    let copy = folder.path("copy.zt");
    let mut writer = Writer::create(&copy, &WriterOptions::default()).unwrap();
    writer.copy(broken.required("a.weight").unwrap(), "a.weight").unwrap();
    writer.finish().unwrap();
    let copy = File::open(&copy, &OpenOptions::default()).unwrap();
    let object = copy.required("a.weight").unwrap();
    assert!(object.attributes().unwrap().get("unreadable").is_none(), "a later version can read it");
    let tensors = object.stored_tensors(b"b.weight").unwrap().unwrap();
    assert!(tensors.iter().any(|tensor| tensor.name == b"b.qweight"), "the name in the list of tensors");
    assert!(object.stored_tensors(b"b").is_err());
}

/// Removes each tensor of a model in turn. The weight of a removed tensor is rejected, or readable without
/// it. Other weights do not change.
#[test]
fn a_missing_tensor_is_named_and_affects_only_its_weight() {
    let (wanted, folder) = (wanted(), Folder::new());
    let mut refused = 0;
    for model in models() {
        let plain = File::open_model(&model, &OpenOptions::default()).unwrap();
        let weights = wanted.get().get(name_of(&model)).unwrap();
        let whole = File::open_model(&model, &combined()).unwrap();
        for object in plain.objects() {
            std::fs::copy(model.join("config.json"), folder.path("config.json")).unwrap();
            std::fs::write(folder.path("model.safetensors"), without(&plain, object.name())).unwrap();
            let file = File::open_model(folder.path("model.safetensors"), &combined()).unwrap();
            for (name, weight) in weights.pairs() {
                let name = name.as_text().unwrap();
                let had = whole.required(name).unwrap();
                let tensors = had.stored_tensors(had.name_bytes()).unwrap().unwrap_or_default();
                let is_of_weight = tensors.iter().any(|tensor| tensor.name == object.name_bytes());
                match file.find(name).map(|object| floats(&object)) {
                    Some(Ok(found)) if weight.get("f32").unwrap().is_text(&sha256(&found)) => {}
                    Some(Err(e)) => {
                        assert!(is_of_weight, "{model:?} {name}: {e}");
                        assert!(e.message().contains(name), "{e}");
                        assert!(common::verify(&file).is_err(), "{model:?} without {:?}", object.name());
                        refused += 1;
                    }
                    None => assert!(is_of_weight || name == object.name(), "{model:?} {name}"),
                    Some(Ok(found)) => {
                        // Symmetric weights do not have zeros, and the order of groups is optional.
                        let may_lack = ["g_idx", "zero_point", "biases"];
                        let is_optional = may_lack.iter().any(|part| object.name().contains(part));
                        assert!(
                            is_optional,
                            "{model:?} {name} without {:?}: {:?}",
                            object.name(),
                            &found[..4]
                        );
                    }
                }
            }
        }
    }
    assert!(refused > 50, "{refused}");
}

/// Changes bytes of headers, settings and configurations. The library must not panic, and the bytes it reads
/// must fit the shape.
#[test]
fn no_byte_of_a_header_or_a_configuration_does_harm() {
    let (mut random, folder) = (Random(12), Folder::new());
    for model in models() {
        let good = [
            std::fs::read(model.join("model.safetensors")).unwrap(),
            std::fs::read(model.join("config.json")).unwrap(),
        ];
        for turn in 0..60 {
            let mut bytes = good.clone();
            for _ in 0..=random.below(2) {
                let file = &mut bytes[usize::from(turn % 3 == 0)];
                let header = 8 + u64::from_le_bytes(good[0][..8].try_into().unwrap());
                let most = if turn % 3 == 0 { file.len() as u64 } else { header };
                let at =
                    if turn % 3 == 1 { random.below(file.len() as u64) } else { random.below(most) } as usize;
                file[at] = match random.below(3) {
                    0 => b"0123456789"[random.below(10) as usize],
                    1 => file[at] ^ (1 << random.below(8)),
                    _ => random.below(256) as u8,
                };
            }
            std::fs::write(folder.path("model.safetensors"), &bytes[0]).unwrap();
            std::fs::write(folder.path("config.json"), &bytes[1]).unwrap();
            let Ok(file) = File::open(folder.path("model.safetensors"), &combined()) else { continue };
            for object in file.objects() {
                let Ok(size) = object.size_as(Dtype::F32) else { continue };
                if size > 1 << 24 {
                    continue;
                }
                if let Ok(found) = floats(&object) {
                    assert_eq!(Some(found.len() as u64), object.element_count());
                }
                let _ = object.stored_tensors(object.name_bytes());
            }
            let _ = common::verify(&file);
        }
    }
}
