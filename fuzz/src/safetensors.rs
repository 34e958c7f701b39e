//! safetensors: a file from the input. Compares our reader with the `safetensors` crate: they accept the same
//! files, and read the same names, dtypes, shapes, bytes and metadata.
//!
//! If only one accepts a file, this code looks for the reason in the bytes, without using the readers.

use crate::read::check_error;
use safetensors::{Dtype as TheirDtype, SafeTensors};
use serde_json::Value as Json;
use std::collections::{BTreeMap, HashSet};
use ztensor::error::{Cause, Error, Rule};
use ztensor::model::manifest::Container;
use ztensor::reader::File;

/// The file itself, or one whose header is the input, with as much data as the header declares.
pub fn file_of(input: &[u8]) -> Vec<u8> {
    if !input.starts_with(b"{") {
        return input.to_vec();
    }
    let size = serde_json::from_slice(input).map_or(16, |header| data_size(&header)).min(1 << 14);
    let data = (0..size).map(|at| (at * 31 % 251) as u8);
    (input.len() as u64).to_le_bytes().into_iter().chain(input.iter().copied()).chain(data).collect()
}

/// The end of the last tensor in a header.
fn data_size(header: &Json) -> u64 {
    let entries = header.as_object().into_iter().flat_map(|object| object.values());
    entries.filter_map(|entry| entry.get("data_offsets")?.get(1)?.as_u64()).max().unwrap_or(0)
}

/// Compares the results of both for a file.
pub fn compare(bytes: &[u8], own: &Result<File, Error>) {
    // The input may be of another container, which the crate does not support.
    if own.as_ref().is_ok_and(|own| own.container() != Container::Safetensors) {
        return;
    }
    match (own, SafeTensors::deserialize(bytes)) {
        (Ok(own), Ok(reference)) => same_tensors(own, &reference, bytes),
        (Err(own), Ok(_)) => {
            let reason = why_we_refuse(bytes, own);
            assert!(reason.is_some(), "the crate accepts it, and we reject it: {own}");
        }
        (Ok(_), Err(reference)) => {
            assert!(why_they_refuse(bytes).is_some(), "we accept it, and the crate rejects it: {reference}")
        }
        (Err(_), Err(_)) => {}
    }
}

fn header(bytes: &[u8]) -> Option<&[u8]> {
    let (size, rest) = bytes.split_first_chunk()?;
    rest.get(..usize::try_from(u64::from_le_bytes(*size)).ok()?)
}

/// Reasons why we reject files that the crate accepts, but the format forbids.
fn why_we_refuse(bytes: &[u8], error: &Error) -> Option<&'static str> {
    let (cause, rule) = check_error(error);
    let header = header(bytes)?;
    let json: Json = serde_json::from_slice(header).ok()?;
    let entries = || json.as_object().into_iter().flatten().filter(|(name, _)| *name != "__metadata__");
    if serde_json::from_slice::<Unique>(header).is_err() {
        return Some("a duplicate key; serde keeps the last");
    }
    match (cause, rule) {
        (Cause::NotZtensor, _) if !header.starts_with(b"{") => Some("spaces before the header"),
        (_, Some(Rule::JsonSyntax | Rule::ObjectType)) if entries().any(|(_, entry)| entry.is_array()) => {
            Some("serde accepts an array of the fields as an entry")
        }
        (_, Some(Rule::JsonSyntax | Rule::DtypeType)) if entries().any(|(_, e)| e["dtype"].is_object()) => {
            Some("serde accepts a map with one name as a dtype")
        }
        (_, Some(Rule::AttributesType | Rule::JsonSyntax)) if json["__metadata__"].is_null() => {
            Some("null instead of no metadata")
        }
        _ => None,
    }
}

/// Reasons why the crate rejects files that we accept.
fn why_they_refuse(bytes: &[u8]) -> Option<&'static str> {
    let header = header(bytes)?;
    let json: Json = serde_json::from_slice(header).ok()?;
    let shapes = json.as_object().into_iter().flatten().filter_map(|(_, entry)| entry["shape"].as_array());
    let leaves_64_bits = |shape: &Vec<Json>| {
        // The largest element has 64 bits.
        shape.iter().try_fold(64u64, |product, d| product.checked_mul(d.as_u64()?)).is_none()
    };
    if shapes.into_iter().any(|shape| shape.contains(&Json::from(0)) && leaves_64_bits(shape)) {
        return Some("dimensions whose product exceeds 64 bits, and a 0 among them");
    }
    (depth(header) >= MOST_NESTED).then_some("ignored values nest deeper than serde_json supports")
}

/// serde_json's limit is 128; what counts depends on the position.
const MOST_NESTED: usize = 125;

/// The nesting depth of brackets, outside of texts.
fn depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest, mut in_text, mut is_escaped) = (0usize, 0, false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_text => is_escaped = true,
            b'"' => in_text = !in_text,
            b'{' | b'[' if !in_text => depth += 1,
            b'}' | b']' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// A value without duplicate keys in any of its objects.
struct Unique;

impl<'de> serde::Deserialize<'de> for Unique {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Unique, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Unique;

            fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                to.write_str("a value")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Unique, A::Error> {
                let mut keys = HashSet::new();
                while let Some((key, Unique)) = map.next_entry::<String, Unique>()? {
                    if !keys.insert(key) {
                        return Err(serde::de::Error::custom("a duplicate key"));
                    }
                }
                Ok(Unique)
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<Unique, A::Error> {
                while list.next_element::<Unique>()?.is_some() {}
                Ok(Unique)
            }
            fn visit_str<E>(self, _: &str) -> Result<Unique, E> {
                Ok(Unique)
            }
            fn visit_bool<E>(self, _: bool) -> Result<Unique, E> {
                Ok(Unique)
            }
            fn visit_unit<E>(self) -> Result<Unique, E> {
                Ok(Unique)
            }
            fn visit_f64<E>(self, _: f64) -> Result<Unique, E> {
                Ok(Unique)
            }
            fn visit_u64<E>(self, _: u64) -> Result<Unique, E> {
                Ok(Unique)
            }
            fn visit_i64<E>(self, _: i64) -> Result<Unique, E> {
                Ok(Unique)
            }
        }
        from.deserialize_any(Visitor)
    }
}

fn same_tensors(own: &File, reference: &SafeTensors<'_>, bytes: &[u8]) {
    assert_eq!(own.object_count(), reference.len());
    for (name, tensor) in reference.iter() {
        let object = own.find(name).unwrap_or_else(|| panic!("{name:?} is missing"));
        let component = object.component("data").expect("one component");
        assert_eq!(
            object.shape().iter().map(|n| *n as usize).collect::<Vec<_>>(),
            tensor.shape(),
            "{name:?}"
        );
        let dtype = component.logical_name().unwrap_or(component.dtype_name());
        assert_eq!(dtype, dtype_name(tensor.dtype()), "{name:?}");
        assert_eq!(component.load().expect("it cannot be loaded").as_slice(), tensor.data(), "{name:?}");
    }
    let (_, metadata) = SafeTensors::read_metadata(bytes).expect("it cannot be read again");
    let reference: BTreeMap<_, _> =
        metadata.metadata().iter().flatten().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    let pairs = own.attributes().into_iter().flat_map(|map| map.pairs());
    let own: BTreeMap<_, _> = pairs.map(|(k, v)| (k.as_text().unwrap(), v.as_text().unwrap())).collect();
    assert_eq!(own, reference);
}

/// This library's name for a type of the crate.
fn dtype_name(dtype: TheirDtype) -> &'static str {
    match dtype {
        TheirDtype::BOOL => "bool",
        TheirDtype::F4 => "f4_e2m1",
        TheirDtype::F6_E2M3 => "f6_e2m3",
        TheirDtype::F6_E3M2 => "f6_e3m2",
        TheirDtype::U8 => "u8",
        TheirDtype::I8 => "i8",
        TheirDtype::F8_E5M2 => "f8_e5m2",
        TheirDtype::F8_E4M3 => "f8_e4m3fn",
        TheirDtype::F8_E8M0 => "f8_e8m0",
        TheirDtype::F8_E4M3FNUZ => "f8_e4m3fnuz",
        TheirDtype::F8_E5M2FNUZ => "f8_e5m2fnuz",
        TheirDtype::I16 => "i16",
        TheirDtype::U16 => "u16",
        TheirDtype::F16 => "f16",
        TheirDtype::BF16 => "bf16",
        TheirDtype::I32 => "i32",
        TheirDtype::U32 => "u32",
        TheirDtype::F32 => "f32",
        TheirDtype::C64 => "complex64",
        TheirDtype::F64 => "f64",
        TheirDtype::I64 => "i64",
        TheirDtype::U64 => "u64",
        other => panic!("a new dtype of the crate: {other:?}"),
    }
}
