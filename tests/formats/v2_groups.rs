//! Views of codes with scales in zTensor 2: `zt.quant_group/1`, `zt.mx/1`, and the blocks of GGUF.

use crate::common;

use common::ztensor_2::{file, map, Cbor, Object, Part};
use ztensor::error::{Cause, Error, Result};
use ztensor::model::dtype::{Dtype, Logical};
use ztensor::model::manifest::LogicalType;
use ztensor::reader::{File, Groups, OpenOptions, VerifyOptions, VerifyReport};

fn open(object: &Object, strict: bool) -> Result<File> {
    File::open_memory(file(std::slice::from_ref(object)), &OpenOptions { strict, ..OpenOptions::default() })
}

fn verify(file: &File) -> Result<()> {
    file.verify(&VerifyOptions::default(), &|_, _| true, &mut VerifyReport::default())
}

fn groups(object: &Object) -> Result<Groups> {
    let file = open(object, false)?;
    let view = file.objects().next().unwrap().quantized_view()?;
    assert_eq!(view.shape, object.shape);
    assert_eq!(view.packed_weight.bytes(), part(object, "data").stored);
    assert_eq!(view.scales.bytes(), part(object, "scales").stored);
    let zeros = object.parts.iter().find(|part| part.role == "zeros");
    assert_eq!(view.zeros.as_ref().map(|zeros| zeros.bytes()), zeros.map(|zeros| &*zeros.stored));
    let groups = view.groups.unwrap();
    assert_eq!((view.bits, view.group_size), (Some(groups.bits), Some(groups.group_size)));
    assert_eq!(view.weights_per_element, Some(groups.codes_per_element));
    Ok(groups)
}

fn part<'o>(object: &'o Object, role: &str) -> &'o Part {
    object.parts.iter().find(|part| part.role == role).unwrap()
}

/// The entries of an object's attributes, and of maps inside them by path.
fn attribute<'o>(object: &'o mut Object, path: &str) -> &'o mut Vec<(&'static str, Cbor<'static>)> {
    let Some(Cbor::Map(entries)) = &mut object.attributes else { panic!() };
    match path {
        "" => entries,
        path => match entries.iter_mut().find(|(key, _)| *key == path) {
            Some((_, Cbor::Map(inner))) => inner,
            _ => panic!("{path}"),
        },
    }
}

/// Replaces or removes the value of an attribute.
fn changed(object: &Object, path: &str, key: &'static str, value: Option<Cbor<'static>>) -> Object {
    let mut object = object.clone();
    let entries = attribute(&mut object, path);
    entries.retain(|(other, _)| *other != key);
    entries.extend(value.map(|value| (key, value)));
    object
}

/// 4 rows of 64 codes of 4 bits in groups of 32, with zero points in that form.
fn quantized(zero_point: Cbor<'static>, zeros: Option<Part>) -> Object {
    let mut parts = vec![Part::new("data", "u32", vec![0x5a; 128]), Part::new("scales", "f16", vec![1; 16])];
    parts.extend(zeros);
    parts.sort_by_key(|part| (part.role.len(), part.role));
    Object::new("q", "zt.quant_group/1", &[4, 64], parts).with(map([
        ("bits", 4.into()),
        ("axis", 1.into()),
        ("group_size", 32.into()),
        ("scale_form", "f16_factors".into()),
        ("packing", map([("word", "u32".into()), ("order", "lsb_first".into()), ("per_word", 8.into())])),
        ("zero_point", zero_point),
    ]))
}

fn symmetric() -> Object {
    quantized(map([("form", "none".into())]), None)
}

fn with_zeros(packing: &'static str, zeros: Part) -> Object {
    quantized(map([("form", "tensor".into()), ("packing", packing.into())]), Some(zeros))
}

/// 2 rows of 64 numbers of 4 bits in blocks of 32.
fn mx() -> Object {
    let data = Part::new("data", "u8", vec![0x21; 64]).of_type("f4_e2m1");
    let scales = Part::new("scales", "u8", vec![127; 4]).of_type("f8_e8m0");
    Object::new("m", "zt.mx/1", &[2, 64], vec![data, scales])
        .with(map([("block_size", 32.into()), ("scale_form", "e8m0_exponent".into())]))
}

#[test]
fn a_view_matches_its_layout() {
    let plain = Groups {
        bits: 4,
        axis: 1,
        group_size: 32,
        codes_per_element: 8,
        is_msb_first: false,
        zero_point: Some(0),
        zeros_packed: false,
    };
    assert_eq!(groups(&symmetric()).unwrap(), plain);
    let msb_first = changed(&symmetric(), "packing", "order", Some("msb_first".into()));
    assert_eq!(groups(&msb_first).unwrap(), Groups { is_msb_first: true, ..plain });
    for (value, expected) in [(Cbor::Number(8), 8), (Cbor::Negative(7), -8), (Cbor::Number(0), 0)] {
        let implied = quantized(map([("form", "implied".into()), ("value", value)]), None);
        assert_eq!(groups(&implied).unwrap(), Groups { zero_point: Some(expected), ..plain });
    }
    let zeros = with_zeros("plain", Part::new("zeros", "u8", vec![8; 8]));
    assert_eq!(groups(&zeros).unwrap(), plain);
    let packed = with_zeros("same_as_data", Part::new("zeros", "u32", vec![0x88; 4]));
    assert_eq!(groups(&packed).unwrap(), Groups { zeros_packed: true, ..plain });
    let mx = mx();
    let blocks = Groups { codes_per_element: 2, ..plain };
    assert_eq!(groups(&mx).unwrap(), blocks);
    let file = open(&mx, true).unwrap();
    let view = file.find("m").unwrap().quantized_view().unwrap();
    assert_eq!((view.scales.dtype, view.packed_weight.count), (Dtype::U8, 64));
    let mut bytes = mx.clone();
    bytes.parts[0] = Part::new("data", "i8", vec![1; 128]);
    assert_eq!(groups(&bytes).unwrap(), Groups { bits: 8, codes_per_element: 1, ..blocks });
}

#[test]
fn groups_along_another_axis_and_without_a_size_are_viewed() {
    let of_rows = changed(&symmetric(), "", "axis", Some(0.into()));
    let mut of_rows = changed(&of_rows, "", "group_size", Some(2.into()));
    of_rows.parts[1] = Part::new("scales", "f16", vec![1; 2 * 64 * 2]);
    assert_eq!(groups(&of_rows).unwrap().axis, 0);
    for count in [64, 4 * 64] {
        let mut whole = changed(&symmetric(), "", "group_size", Some(0.into()));
        whole.parts[1] = Part::new("scales", "f16", vec![1; 2 * count]);
        assert_eq!(groups(&whole).unwrap().group_size, 0, "{count} scales");
    }
}

/// Checks that views, verification and strict opening reject the object. If it only lacks something,
/// verification still accepts it.
fn refused(object: &Object, is_incomplete: bool, what: &str) {
    let is_layout = |error: Error| assert_eq!(error.rule_name(), c"LayoutRule", "{what}: {error}");
    let file = open(object, false).unwrap_or_else(|e| panic!("{what}: {e}"));
    is_layout(file.objects().next().unwrap().quantized_view().err().unwrap_or_else(|| panic!("{what}")));
    match verify(&file) {
        Ok(()) => assert!(is_incomplete, "{what} is verified"),
        Err(error) => {
            assert!(!is_incomplete, "{what}: {error}");
            is_layout(error);
        }
    }
    is_layout(open(object, true).map(drop).unwrap_err());
}

#[test]
fn a_layout_that_is_not_kept_has_no_view() {
    let base = symmetric();
    for (path, key, value) in [
        ("", "bits", Cbor::Number(3)),
        ("", "bits", Cbor::Number(8)),
        ("", "bits", Cbor::Text("4")),
        ("", "axis", Cbor::Number(2)),
        ("", "axis", Cbor::Negative(0)),
        ("", "group_size", Cbor::Number(24)),
        ("", "group_size", Cbor::Number(u64::MAX)),
        ("", "scale_form", Cbor::Text("e8m0_exponent")),
        ("", "scale_form", Cbor::Text("factors")),
        ("packing", "word", Cbor::Text("u8")),
        ("packing", "word", Cbor::Text("f32")),
        ("packing", "order", Cbor::Text("first")),
        ("packing", "per_word", Cbor::Number(4)),
        ("zero_point", "form", Cbor::Text("some")),
        ("zero_point", "value", Cbor::Number(8)),
        ("zero_point", "packing", Cbor::Text("plain")),
    ] {
        refused(&changed(&base, path, key, Some(value)), false, key);
    }
    for key in ["bits", "axis", "group_size", "scale_form", "packing", "zero_point"] {
        refused(&changed(&base, "", key, None), true, key);
    }
    for (at, part) in [
        (0, Part::new("data", "u32", vec![0; 124])),
        (0, Part::new("data", "u64", vec![0; 128])),
        (1, Part::new("scales", "f16", vec![0; 14])),
        (1, Part::new("scales", "u16", vec![0; 16])),
        (1, Part::new("points", "f16", vec![0; 16])),
    ] {
        let mut object = base.clone();
        let what = format!("{} as {}", part.role, part.dtype);
        object.parts[at] = part;
        object.parts.sort_by_key(|part| (part.role.len(), part.role));
        refused(&object, false, &what);
    }
    let mut alone = base.clone();
    alone.parts.truncate(1);
    refused(&alone, true, "no scales");
    refused(&with_zeros("plain", Part::new("zeros", "u8", vec![8; 9])), false, "too many zeros");
    refused(&with_zeros("same_as_data", Part::new("zeros", "u32", vec![8; 8])), false, "unpacked zeros");
    refused(
        &quantized(map([("form", "tensor".into()), ("packing", "plain".into())]), None),
        true,
        "no zeros",
    );
}

#[test]
fn a_broken_mx_has_no_view() {
    let base = mx();
    for (key, value) in [
        ("block_size", Cbor::Number(1)),
        ("block_size", Cbor::Number(0)),
        ("block_size", Cbor::Number(48)),
        ("block_size", Cbor::Number(16)),
        ("axis", Cbor::Number(2)),
        ("scale_form", Cbor::Text("f32_factors")),
    ] {
        refused(&changed(&base, "", key, Some(value)), false, key);
    }
    for key in ["block_size", "scale_form"] {
        refused(&changed(&base, "", key, None), true, key);
    }
    let mut untyped = base.clone();
    untyped.parts[0] = Part::new("data", "u8", vec![0; 64]);
    refused(&untyped, false, "data without a type");
}

#[test]
fn a_zero_point_beyond_64_bits_is_unsupported() {
    let implied = quantized(map([("form", "implied".into()), ("value", u64::MAX.into())]), None);
    assert_eq!(groups(&implied).unwrap_err().cause(), Cause::Unsupported);
    verify(&open(&implied, true).unwrap()).unwrap();
}

#[test]
fn blocks_of_gguf_are_an_array_that_keeps_its_layout() {
    let attributes = |elements: u64, bytes: u64| {
        map([("elems_per_block", elements.into()), ("block_bytes", bytes.into())])
    };
    let object =
        |size: usize| Object::new("g", "gguf.q8_0/1", &[2, 32], vec![Part::new("data", "u8", vec![3; size])]);
    let file = open(&object(68).with(attributes(32, 34)), true).unwrap();
    let view = file.find("g").unwrap().tensor_view().unwrap();
    assert_eq!((view.data.logical, view.data.bytes().len()), (LogicalType::Known(Logical::Q8_0), 68));
    assert_eq!(file.find("g").unwrap().quantized_view().map(drop).unwrap_err().cause(), Cause::Unsupported);
    for broken in [
        object(68),
        object(68).with(attributes(32, 33)),
        object(68).with(attributes(0, 34)),
        object(68).with(attributes(64, 68)),
        object(0).with(attributes(32, 0)),
    ] {
        let file = open(&broken, false).unwrap();
        let error = file.find("g").unwrap().tensor_view().map(drop).unwrap_err();
        assert_eq!(error.rule_name(), c"LayoutRule", "{error}");
        open(&broken, true).map(drop).unwrap_err();
    }
    // Has the layout in its attributes, which differs from blocks of that name.
    let file = open(&object(66).with(attributes(32, 33)), true).unwrap();
    let error = file.find("g").unwrap().tensor_view().map(drop).unwrap_err();
    assert_eq!(error.rule_name(), c"LayoutRule", "{error}");
}
