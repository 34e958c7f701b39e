//! Copies objects of other containers to a `.zt` file: the bytes are the same, and the objects follow the
//! registry of formats.

use crate::common;

use ztensor::container::json;
use ztensor::error::Cause;
use ztensor::model::dtype::Dtype;
use ztensor::model::manifest::{Encoding, Format};
use ztensor::model::value::Value;
use ztensor::reader::{File, Object, OpenOptions};
use ztensor::writer::{Algorithm, Recode, Writer, WriterOptions};

/// All files of other containers that can be opened.
fn valid() -> Vec<File> {
    let entries = std::fs::read_dir(common::repository("tests/data/foreign/valid")).unwrap();
    let paths = entries.map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e != "json"));
    let files: Vec<_> = paths.filter_map(|p| File::open(p, &OpenOptions::default()).ok()).collect();
    assert!(files.len() > 45);
    files
}

fn valid_file(name: &str) -> File {
    let path = common::repository("tests/data/foreign/valid").join(name);
    File::open(path, &OpenOptions::default()).unwrap()
}

fn elements(object: &Object<'_>) -> Vec<u8> {
    let data = object.component("data").unwrap();
    let bytes = common::read(&data);
    let is_bool = data.dtype() == Some(Dtype::Bool);
    bytes.iter().map(|b| if is_bool { u8::from(*b != 0) } else { *b }).collect()
}

/// The reason why an object cannot be in a `.zt` file, or None.
fn refusal(object: &Object<'_>) -> Option<&'static str> {
    let data = object.component("data").unwrap();
    let is_of_blocks = matches!(object.format(), Format::Blocks(_));
    match () {
        () if data.dtype().is_none() => Some("and so is its size"),
        () if is_of_blocks && data.entry().is_big_endian() => {
            Some("it is unknown which of their bytes to swap")
        }
        () if std::str::from_utf8(object.name_bytes()).is_err() => Some("is not UTF-8"),
        () if object.name_bytes().len() > 65536 => Some(""), // the name fills the message
        () => None,
    }
}

#[test]
fn every_object_is_the_same_in_a_zt_file_in_every_encoding() {
    let recodes = [
        Recode::default(),
        Recode { encoding: Some(Encoding::Zstd), digest: Some(Some(Algorithm::Crc32c)), ..Recode::default() },
    ];
    let (mut copied, mut refused) = (0, 0);
    for (file, recode) in valid().iter().flat_map(|file| recodes.iter().map(move |recode| (file, recode))) {
        let bytes = common::written(&WriterOptions::default(), |w| {
            for object in file.objects() {
                let outcome = object.text_name().and_then(|name| w.copy_as(object, name, recode));
                match (outcome, refusal(&object)) {
                    (Ok(()), None) => copied += 1,
                    (Err(e), Some(why)) => {
                        assert!(e.message().contains(why), "{e:?}");
                        refused += 1;
                    }
                    (outcome, why) => panic!("{outcome:?} {why:?}"),
                }
            }
        });
        let made = common::open(bytes);
        common::verify(&made).unwrap();
        for object in file.objects().filter(|object| refusal(object).is_none()) {
            let new = made.find(object.name()).unwrap();
            assert_eq!((new.shape(), new.format_name()), (object.shape(), object.format_name()));
            assert_eq!(elements(&new), elements(&object), "{file:?} {:?}", object.name());
            let (old, data) = (object.component("data").unwrap(), new.component("data").unwrap());
            assert_eq!((data.dtype(), data.logical()), (old.dtype(), old.logical()));
            if let Format::Blocks(logical) = new.format() {
                let number = |key| new.attributes().unwrap().get(key).and_then(Value::as_u64);
                let block = logical.block();
                assert_eq!(number("elems_per_block"), Some(block.elements));
                assert_eq!(number("block_bytes"), Some(block.bytes));
            }
        }
    }
    assert!(copied > 400 && refused >= 4, "{copied} {refused}");
}

#[test]
fn a_tensor_of_an_unknown_type_is_refused() {
    let head = [b"GGUF\x03\0\0\0".as_slice(), &1u64.to_le_bytes(), &0u64.to_le_bytes()].concat();
    let tensor =
        [&1u64.to_le_bytes()[..], b"t", &1u32.to_le_bytes(), &32u64.to_le_bytes(), &99u32.to_le_bytes()];
    let mut bytes = [head, tensor.concat(), 0u64.to_le_bytes().to_vec()].concat();
    bytes.resize(bytes.len().next_multiple_of(32) + 64, 7);
    let file = common::open(bytes);
    common::written(&WriterOptions::default(), |w| {
        let e = w.copy(file.object(0).unwrap(), "t").unwrap_err();
        assert_eq!(e.cause(), Cause::Unsupported);
        assert!(e.message().contains("object \"t\": the type \"ggml.99\" is unknown"), "{e}");
    });
}

#[test]
fn only_floats_are_converted_including_quantized_ones() {
    let file = valid_file("amber-all-dtypes-rust.safetensors");
    let recode = Recode { floats: Some(Dtype::F32), lossy: true, ..Recode::default() };
    let bytes = common::written(&WriterOptions::default(), |w| {
        file.objects().for_each(|object| w.copy_as(object, object.name(), &recode).unwrap());
    });
    let (made, mut converted) = (common::open(bytes), 0);
    for (old, new) in file.objects().zip(made.objects()) {
        let (from, to) = (old.component("data").unwrap(), new.component("data").unwrap());
        let is_float = matches!(from.dtype(), Some(Dtype::F64 | Dtype::F16 | Dtype::Bf16));
        let is_f8 =
            from.logical_name().is_some_and(|name| name.starts_with("f8_e4") || name.starts_with("f8_e5"));
        if old.is_quantized() || is_f8 || is_float && from.logical_name().is_none() {
            converted += 1;
            assert_eq!(to.dtype(), Some(Dtype::F32));
            let mut expected = Vec::new();
            let mut body = |piece: &[u8]| {
                expected.extend_from_slice(piece);
                Ok(())
            };
            old.for_each_number(Dtype::F32, true, &mut body).unwrap();
            assert_eq!(common::read(&to), expected);
        } else {
            assert_eq!((to.dtype(), to.logical()), (from.dtype(), from.logical()));
            assert_eq!(elements(&new), elements(&old));
        }
    }
    assert!(converted >= 3, "{converted}");
}

/// The attributes of a copied file, as JSON.
fn copied_attributes(file: &File) -> String {
    let bytes = common::written(&WriterOptions::default(), |w: &mut Writer| w.copy_attributes(file).unwrap());
    json::write(common::open(bytes).attributes().unwrap_or(Value::EMPTY_MAP)).unwrap()
}

#[test]
fn a_copy_records_what_attributes_cannot_represent() {
    let attributes = copied_attributes(&valid_file("amber-kv-all-be3.gguf"));
    for part in ["\"byte_order\":\"big\"", "\"version\":3", "\"u8[]\"", "\"i16\"", "\"string[]\"", "\"f64\""]
    {
        assert!(attributes.contains(part), "{part}: {attributes}");
    }
    assert!(!attributes.contains("\"offsets\"") && !attributes.contains("\"size\""), "{attributes}");
    let nested = copied_attributes(&valid_file("amber-nested-arrays.gguf"));
    assert!(
        nested.contains("[\"i32[]\"") || nested.contains("[\"u8[]\"") || nested.contains("[[\""),
        "{nested}"
    );
    assert!(copied_attributes(&valid_file("amber-tensors-unordered.gguf")).contains("\"offsets\":["));
    assert!(copied_attributes(&valid_file("amber-padding-not-zero.gguf")).contains("\"padding\":[["));
    assert!(copied_attributes(&valid_file("amber-trailing-bytes.gguf")).contains("\"size\":133"));
    // Files of a released writer already contain it all.
    for name in ["amber-all-dtypes-python.safetensors", "amber-torch-save.safetensors"] {
        assert!(!copied_attributes(&valid_file(name)).contains(File::ORIGIN), "{name}");
    }
    let order = copied_attributes(&valid_file("amber-header-order-differs.safetensors"));
    assert!(order.contains("\"offsets\":["), "{order}");
    let blanks = copied_attributes(&valid_file("amber-unaligned-header.safetensors"));
    assert!(blanks.contains("\"blanks\":"), "{blanks}");
}

#[test]
fn a_signalling_nan_keeps_its_bits() {
    let signalling = 0x7f80_0001u32;
    let mut bytes = [b"GGUF\x03\0\0\0".as_slice(), &0u64.to_le_bytes(), &1u64.to_le_bytes()].concat();
    bytes.extend([&1u64.to_le_bytes()[..], b"k", &9u32.to_le_bytes(), &6u32.to_le_bytes()].concat());
    bytes.extend([&2u64.to_le_bytes()[..], &1f32.to_le_bytes(), &signalling.to_le_bytes()].concat());
    bytes.resize(bytes.len().next_multiple_of(32), 0);
    let attributes = copied_attributes(&common::open(bytes));
    assert!(attributes.contains("{\"$bytes\":\"0000803f0100807f\"}"), "{attributes}");
}

#[test]
fn a_model_of_parts_in_several_containers_is_copied_as_one() {
    let valid = |name: &str| common::repository("tests/data/foreign/valid").join(name);
    let folder = common::Folder::new();
    let of_zt = folder.path("part.zt");
    let source = valid_file("amber-all-types-hand.gguf");
    let mut writer = Writer::create(&of_zt, &WriterOptions::default()).unwrap();
    writer.copy_attributes(&source).unwrap();
    source.objects().for_each(|object| writer.copy(object, object.name()).unwrap());
    writer.finish().unwrap();
    let orders = [
        [of_zt.clone(), valid("amber-kv-types-py.gguf"), valid("amber-all-dtypes-rust.safetensors")],
        [valid("amber-kv-types-py.gguf"), of_zt, valid("amber-all-dtypes-rust.safetensors")],
    ];
    for paths in orders {
        let model = File::open_parts(&paths, &OpenOptions::default()).unwrap();
        assert_eq!(model.part_count(), 3);
        let bytes = common::written(&WriterOptions::default(), |w| {
            w.copy_attributes(&model).unwrap();
            model.objects().for_each(|object| w.copy(object, object.name()).unwrap());
        });
        let made = common::open(bytes);
        common::verify(&made).unwrap();
        assert_eq!(made.object_count(), model.object_count());
        for (old, new) in model.objects().zip(made.objects()) {
            assert_eq!((new.name(), new.shape()), (old.name(), old.shape()));
            assert_eq!((new.format_name(), elements(&new)), (old.format_name(), elements(&old)));
        }
        // The keys and their types are those of the first part. Their positions in it are not recorded.
        let origin = made.attributes().unwrap().get(File::ORIGIN).unwrap();
        let keys: Vec<_> = origin.pairs().map(|(key, _)| key.as_text().unwrap()).collect();
        assert_eq!(keys, ["container", "version", "keys"]);
        let first = File::open(&paths[0], &OpenOptions::default()).unwrap();
        let own = first.origin().unwrap().unwrap();
        assert_eq!(format!("{:?}", origin.get("keys")), format!("{:?}", own.get().get("keys")));
    }
}
