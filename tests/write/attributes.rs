//! Attributes of every CBOR kind, and the manifest as another CBOR implementation reads it.

use crate::common;

use ciborium::Value as Cbor;
use common::tree::Tree;
use common::{every_format, Sample, VERSIONS};
use ztensor::container::json;
use ztensor::error::Cause;
use ztensor::model::dtype::Dtype;
use ztensor::model::manifest::{Encoding, Version};
use ztensor::model::value::{order, Attributes, OwnedValue, Value, ValueKind};
use ztensor::reader::{Component, Object};
use ztensor::writer::{Algorithm, ObjectSpec, WriterOptions};

/// Values of every kind, as JSON. Our forms stand for values that JSON does not have.
const EVERY_KIND: [&str; 32] = [
    "null",
    "true",
    "false",
    "0",
    "23",
    "24",
    "255",
    "256",
    "65535",
    "65536",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "-1",
    "-24",
    "-25",
    "-9223372036854775809",
    "-18446744073709551616",
    "1.5",
    "0.1",
    "-0.0",
    "1e300",
    "65504.0",
    r#"{"$float":"nan"}"#,
    r#"{"$float":"-inf"}"#,
    r#""text with \" and é and \u0000""#,
    r#"{"$bytes":"00ff10"}"#,
    r#"[]"#,
    r#"[1,[2,["three",null]],{"$bytes":""}]"#,
    r#"{"a":{"b":{"c":1}},"":2}"#,
    r#"{"$tag":[0,"2013-03-21T20:04:00Z"]}"#,
    r#"{"$map":[[1,"one"],[{"$bytes":"aa"},[true]],[null,{"$tag":[1,2]}]]}"#,
];

/// Values that ciborium cannot represent.
const SIMPLE: [&str; 4] =
    [r#"{"$undefined":true}"#, r#"{"$simple":0}"#, r#"{"$simple":19}"#, r#"{"$simple":255}"#];

fn every_kind() -> impl Iterator<Item = (String, OwnedValue)> {
    let values = EVERY_KIND.iter().chain(&SIMPLE).map(|text| json::parse(text).unwrap());
    values.enumerate().map(|(at, value)| (format!("key {at}"), value))
}

fn pairs_of_every_kind() -> Attributes {
    let mut attributes = Attributes::default();
    every_kind().for_each(|(key, value)| attributes.set(&key, value.get()).unwrap());
    attributes
}

fn assert_every_kind(attributes: Option<Value<'_>>, what: &str) {
    let attributes = attributes.unwrap_or_else(|| panic!("{what} has no attributes"));
    assert_eq!(attributes.pairs().len(), EVERY_KIND.len() + SIMPLE.len(), "{what}");
    for ((key, value), text) in every_kind().zip(EVERY_KIND.iter().chain(&SIMPLE)) {
        let found = attributes.get(&key).unwrap();
        assert!(order(found, value.get()).is_eq() || text.contains("nan"), "{what}: {found:?} is not {text}");
        assert_eq!(json::write(found).unwrap(), *text, "{what}");
    }
}

#[test]
fn attributes_of_every_kind_come_back_from_files_and_objects() {
    for version in VERSIONS {
        let options = WriterOptions { version, ..WriterOptions::default() };
        let object = ObjectSpec { name: "w", format: "dense", shape: &[1] };
        let part = Sample::dense("w", Dtype::U8, &[1], vec![7]).parts.remove(0);
        let once = common::written(&options, |w| {
            w.write_object(&object, pairs_of_every_kind(), &[(part.spec(), &part.bytes)]).unwrap();
            for (key, value) in every_kind().filter(|_| version != Version::V0_1) {
                w.set_attribute(&key, value.get()).unwrap();
            }
        });
        let one_by_one = common::written(&options, |w| {
            w.begin(&object, Attributes::default()).unwrap();
            for (key, value) in every_kind() {
                w.set_object_attribute(&key, Tree::text("is replaced").owned().get()).unwrap();
                w.set_object_attribute(&key, value.get()).unwrap();
            }
            w.component_whole(&part.spec(), &part.bytes).unwrap();
            w.end().unwrap();
            for (key, value) in every_kind() {
                let set = w.set_attribute(&key, value.get()).map_err(|e| e.cause());
                assert_eq!(set, if version == Version::V0_1 { Err(Cause::Unsupported) } else { Ok(()) });
            }
        });
        assert!(once == one_by_one, "{version:?}");
        let file = common::open(once);
        assert_every_kind(file.objects().next().unwrap().attributes(), "the object");
        if version == Version::V0_1 {
            assert!(file.attributes().is_none());
        } else {
            assert_every_kind(file.attributes(), "the file");
        }
    }
}

#[test]
fn names_of_0_1_fields_cannot_be_attributes_of_a_0_1_object() {
    let options = WriterOptions { version: Version::V0_1, ..WriterOptions::default() };
    let fields =
        ["name", "offset", "size", "dtype", "shape", "encoding", "layout", "data_endianness", "checksum"];
    let plain = Sample::dense("w", Dtype::U8, &[1], vec![7]);
    let bytes = common::written(&options, |w| {
        for field in fields {
            let attributes = common::tree::attributes(&[(Tree::text(field), Tree::Null)]);
            let part = &plain.parts[0];
            let refused = w.write_object(&plain.spec(), attributes, &[(part.spec(), &part.bytes)]);
            assert_eq!(refused.map_err(|e| e.cause()), Err(Cause::Unsupported), "{field}");
        }
        plain.write(w).unwrap();
    });
    assert!(bytes == common::file_of(&options, &[plain]));
}

#[test]
fn an_attribute_nests_as_deep_as_a_reader_takes_it_and_no_deeper() {
    let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    let mut deepest = 0;
    for levels in 1..200 {
        let Ok(value) = json::parse(&nested(levels)) else { break };
        let bytes =
            common::written(&WriterOptions::default(), |w| w.set_attribute("deep", value.get()).unwrap());
        let file = common::open(bytes);
        let found = file.attributes().unwrap().get("deep").unwrap();
        assert_eq!(json::write(found).unwrap(), nested(levels));
        deepest = levels;
    }
    assert!((60..=64).contains(&deepest), "the deepest accepted JSON has {deepest} levels");

    // Values can come from other sources than JSON. An invalid value must not get into a file.
    let innermost: [fn() -> Tree; 2] = [|| Tree::Null, || Tree::Array(Vec::new())];
    for (levels, innermost) in
        [deepest - 1, deepest, deepest + 1, 66, 1000].into_iter().flat_map(|n| innermost.map(|v| (n, v)))
    {
        let deep = (0..levels).fold(innermost(), |inner, _| Tree::Array(vec![inner]));
        let sink = common::MemorySink::default();
        let mut writer =
            ztensor::writer::Writer::to_sink(Box::new(sink.clone()), &WriterOptions::default()).unwrap();
        let set = deep.try_owned().and_then(|deep| writer.set_attribute("deep", deep.get()));
        let finished = set.and_then(|()| writer.finish());
        if finished.is_ok() {
            let bytes = sink.0.lock().unwrap().clone();
            let opened = ztensor::reader::File::open_memory(bytes, &Default::default());
            opened.unwrap_or_else(|e| panic!("{levels} levels were written, but do not open: {e}"));
        }
    }
}

#[test]
fn an_attribute_map_with_a_key_twice_is_refused_at_any_level() {
    let twice = || Tree::Map(vec![(Tree::Unsigned(1), Tree::Null), (Tree::Unsigned(1), Tree::Null)]);
    for value in [twice(), Tree::Array(vec![twice()]), Tree::Tag(5, Box::new(twice()))] {
        let sink = common::MemorySink::default();
        let mut writer =
            ztensor::writer::Writer::to_sink(Box::new(sink.clone()), &WriterOptions::default()).unwrap();
        let finished = writer.set_attribute("k", value.owned().get()).and_then(|()| writer.finish());
        if finished.is_ok() {
            let opened =
                ztensor::reader::File::open_memory(sink.0.lock().unwrap().clone(), &Default::default());
            opened.unwrap_or_else(|e| panic!("it was written, but does not open: {e}"));
        }
    }
}

/// Converts our values to ciborium's.
fn cbor(value: Value<'_>) -> Cbor {
    match value.kind() {
        ValueKind::Null => Cbor::Null,
        ValueKind::Bool(v) => Cbor::Bool(v),
        ValueKind::Unsigned(v) => Cbor::Integer(v.into()),
        ValueKind::Negative(n) => Cbor::Integer((-1 - i128::from(n)).try_into().unwrap()),
        ValueKind::Float(v) => Cbor::Float(v),
        ValueKind::Text(text) => Cbor::Text(text.as_str().into()),
        ValueKind::Bytes(bytes) => Cbor::Bytes(bytes.to_vec()),
        ValueKind::Array(items) => Cbor::Array(items.iter().map(cbor).collect()),
        ValueKind::Map(pairs) => Cbor::Map(pairs.iter().map(|(k, v)| (cbor(k), cbor(v))).collect()),
        ValueKind::Tag(tag, inner) => Cbor::Tag(tag, Box::new(cbor(inner))),
        ValueKind::Simple(v) => panic!("ciborium has no simple value {v}"),
    }
}

fn text(text: &str) -> Cbor {
    Cbor::Text(text.into())
}

fn map(pairs: Vec<(&str, Cbor)>) -> Cbor {
    Cbor::Map(pairs.into_iter().map(|(k, v)| (text(k), v)).collect())
}

fn number(value: u64) -> Cbor {
    Cbor::Integer(value.into())
}

fn component_1_x(component: &Component<'_>, version: Version) -> Cbor {
    let mut pairs = Vec::new();
    let dtype = component.known_logical().and_then(|t| t.name_in_1_1()).filter(|_| version == Version::V1_1);
    pairs.push(("dtype", text(dtype.unwrap_or(component.dtype_name()))));
    if let Some(logical) = component.logical_name().filter(|_| version == Version::V1_2) {
        pairs.push(("type", text(logical)));
    }
    pairs.push(("offset", number(component.offset())));
    pairs.push(("length", number(component.stored_size())));
    if component.encoding() == Encoding::Zstd {
        if version == Version::V1_2 {
            pairs.push(("uncompressed_length", number(component.size().unwrap())));
        }
        pairs.push(("encoding", text("zstd")));
    }
    pairs.extend(component.digest().map(|digest| ("digest", text(digest))));
    map(pairs)
}

fn object_1_x(object: &Object<'_>, version: Version) -> Cbor {
    let shape = object.shape().iter().map(|d| number(*d)).collect();
    let components = object.components().map(|c| (c.role(), component_1_x(&c, version))).collect();
    let mut pairs = vec![("shape", Cbor::Array(shape)), ("format", text(object.format_name()))];
    pairs.extend(object.attributes().map(|a| ("attributes", cbor(a))));
    pairs.push(("components", map(components)));
    map(pairs)
}

fn tensor_0_1(object: &Object<'_>) -> Cbor {
    let data = object.component("data").unwrap();
    let raw = data.encoding() == Encoding::Raw;
    let mut pairs = vec![
        ("name", text(object.name())),
        ("offset", number(data.offset())),
        ("size", number(data.stored_size())),
        ("dtype", text(data.dtype().unwrap().old_name())),
        ("layout", text("dense")),
        ("shape", Cbor::Array(object.shape().iter().map(|d| number(*d)).collect())),
        ("encoding", text(data.encoding_name())),
    ];
    pairs.extend(raw.then(|| ("data_endianness", text("little"))));
    pairs.extend(data.digest().map(|digest| ("checksum", text(digest))));
    let mut tensor = map(pairs);
    let Cbor::Map(all) = &mut tensor else { unreachable!() };
    let attributes = object.attributes().unwrap_or(Value::EMPTY_MAP);
    all.extend(attributes.pairs().map(|(k, v)| (cbor(k), cbor(v))));
    tensor
}

/// NaN is not equal to itself, so printed values are compared.
fn assert_same(found: &Cbor, wanted: &Cbor) {
    assert_eq!(format!("{found:#?}"), format!("{wanted:#?}"));
}

#[test]
fn another_cbor_reader_finds_the_same_manifest_and_encodes_it_the_same() {
    for version in VERSIONS {
        for encoding in common::encodings() {
            let options = WriterOptions {
                version,
                encoding,
                digest: Some(Algorithm::Crc32c),
                ..WriterOptions::default()
            };
            let mut samples: Vec<Sample> =
                common::every_type().into_iter().flat_map(|(d, l)| every_format(d, l)).collect();
            samples.retain(|s| s.can_be_said_in(version));
            let known = || every_kind().take(EVERY_KIND.len());
            let bytes = common::written(&options, |w| {
                samples.iter().for_each(|s| s.write(w).unwrap());
                w.begin(
                    &ObjectSpec { name: "attributes", format: "dense", shape: &[0] },
                    Attributes::default(),
                )
                .unwrap();
                known().for_each(|(key, value)| w.set_object_attribute(&key, value.get()).unwrap());
                w.component_whole(&Sample::dense("", Dtype::F32, &[0], Vec::new()).parts[0].spec(), &[])
                    .unwrap();
                w.end().unwrap();
                if version != Version::V0_1 {
                    known().for_each(|(key, value)| w.set_attribute(&key, value.get()).unwrap());
                }
            });
            let manifest = common::manifest_bytes(&bytes);
            let found: Cbor = ciborium::from_reader(manifest).unwrap();
            let file = common::open(bytes.clone());
            assert_eq!(file.object_count(), samples.len() + 1);
            if version == Version::V0_1 {
                assert_same(&found, &Cbor::Array(file.objects().map(|o| tensor_0_1(&o)).collect()));
                continue;
            }
            let objects = file.objects().map(|o| (o.name(), object_1_x(&o, version))).collect();
            let wanted = map(vec![
                ("version", text(file.version())),
                ("attributes", cbor(file.attributes().unwrap())),
                ("objects", map(objects)),
            ]);
            assert_same(&found, &wanted);
            // Definite lengths, shortest numbers and floats: ciborium's own form.
            let mut encoded = Vec::new();
            ciborium::into_writer(&found, &mut encoded).unwrap();
            assert!(encoded == manifest, "{version:?} is encoded differently");
        }
    }
}

#[test]
fn a_file_without_objects_has_the_least_bytes_that_its_version_takes() {
    let file = |version| common::file_of(&WriterOptions { version, ..WriterOptions::default() }, &[]);
    assert_eq!(file(Version::V0_1), b"ZTEN0001\x80\x01\0\0\0\0\0\0\0");
    for (version, said) in [(Version::V1_1, b"1.1.0"), (Version::V1_2, b"1.2.0")] {
        let manifest = [&b"\xa2\x67version\x65"[..], said, b"\x67objects\xa0"].concat();
        let size = (manifest.len() as u64).to_le_bytes();
        assert_eq!(file(version), [b"ZTEN1000", &manifest[..], &size, b"ZTEN1000"].concat());
    }
}
