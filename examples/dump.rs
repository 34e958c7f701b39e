//! Prints the contents of a file of any container as a JSON object, with a SHA-256 of each tensor, to compare
//! readers.
//!
//!     cargo run --example dump model.safetensors

use serde_json::{json, Map, Value};
use sha2::{Digest, Sha256};
use ztensor::error::Result;
use ztensor::model::manifest::{Container, Encoding, LogicalType};
use ztensor::model::value::{Element, Value as Attribute, ValueKind};
use ztensor::reader::{Component, File, Object, OpenOptions};

fn main() -> std::process::ExitCode {
    let path = std::env::args_os().nth(1).unwrap_or_default();
    match File::open_model(path, &OpenOptions::default()) {
        Ok(file) => {
            println!("{}", dump(&file));
            std::process::ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("{e}");
            std::process::ExitCode::from(1)
        }
    }
}

/// The contents of a file.
pub fn dump(file: &File) -> Value {
    let is_packed = file.container() == Container::Torch;
    let objects: Vec<Value> = file.objects().map(|object| object_of(&object, is_packed)).collect();
    let container = file.container().name();
    let attributes = || file.attributes().into_iter().flat_map(|map| map.pairs());
    let texts = attributes().filter_map(|(key, value)| Some((key.as_text()?, value.as_text()?)));
    let metadata: Map<String, Value> = texts.map(|(key, value)| (key.into(), value.into())).collect();
    let typed: Vec<Value> = attributes().map(|(key, value)| typed(key, value)).collect();
    json!({"container": container, "objects": objects, "metadata": metadata, "kv": typed})
}

/// Bytes that may be text.
fn text(bytes: &[u8]) -> Value {
    let Ok(text) = std::str::from_utf8(bytes) else {
        const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let of_three = |three: &[u8]| -> String {
            let bits = (0..3).fold(0, |bits, at| bits << 8 | three.get(at).map_or(0, |b| usize::from(*b)));
            let digits = (0..4).map(|at| char::from(DIGITS[bits >> (18 - 6 * at) & 63]));
            digits.take(three.len() + 1).chain("==".chars()).take(4).collect()
        };
        return json!({"b64": bytes.chunks(3).map(of_three).collect::<String>()});
    };
    text.into()
}

/// A string: text or bytes.
fn string(value: Attribute<'_>) -> Option<&[u8]> {
    match value.kind() {
        ValueKind::Text(text) => Some(text.as_bytes()),
        ValueKind::Bytes(bytes) => Some(bytes),
        _ => None,
    }
}

/// An attribute with the type that the file declares.
fn typed(key: Attribute<'_>, value: Attribute<'_>) -> Value {
    let mut encoded = Vec::new();
    let number = encode(value, &mut encoded);
    let mut out = json!({"key": text(string(key).unwrap_or_default()), "type": TYPES.get(number)});
    match value.kind() {
        ValueKind::Array(items) => {
            out["elem_type"] = TYPES.get(element(items.element())).copied().into();
            out["count"] = items.len().into();
            out["sha256_le"] = hex(&encoded).into();
        }
        ValueKind::Bool(truth) => out["value"] = truth.into(),
        ValueKind::Unsigned(v) => out["value"] = v.to_string().into(),
        ValueKind::Negative(n) => out["value"] = (-1 - i128::from(n)).to_string().into(),
        ValueKind::Float(_) => {
            let bits: String = encoded.iter().rev().map(|byte| format!("{byte:02x}")).collect();
            out["bits"] = format!("0x{bits}").into();
        }
        _ => out["value"] = text(string(value).unwrap_or_default()),
    }
    out
}

/// Types of values, at their numbers in GGUF.
const TYPES: [&str; 13] =
    ["u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "str", "arr", "u64", "i64", "f64"];

/// The number of the items' type in an array.
fn element(element: Element) -> usize {
    let name = match element {
        Element::Number(dtype) => dtype.name(),
        Element::Text => "str",
        Element::Array => "arr",
        Element::Any => "",
    };
    TYPES.iter().position(|known| *known == name).unwrap_or(TYPES.len())
}

/// Appends a value in the form of little-endian GGUF 3. Returns the number of its type.
fn encode(value: Attribute<'_>, out: &mut Vec<u8>) -> usize {
    let size = value.dtype().map_or(8, |dtype| dtype.size());
    match value.kind() {
        ValueKind::Array(items) => {
            let kind = element(items.element());
            out.extend((kind as u32).to_le_bytes());
            out.extend((items.len() as u64).to_le_bytes());
            for item in items.iter() {
                encode(item, out);
            }
            return element(Element::Array);
        }
        ValueKind::Bool(truth) => out.push(u8::from(truth)),
        ValueKind::Unsigned(v) => out.extend(&v.to_le_bytes()[..size]),
        ValueKind::Negative(n) => out.extend(&(!n).to_le_bytes()[..size]),
        ValueKind::Float(v) if size == 4 => out.extend((v as f32).to_le_bytes()),
        ValueKind::Float(v) => out.extend(v.to_le_bytes()),
        _ => {
            let bytes = string(value).unwrap_or_default();
            out.extend((bytes.len() as u64).to_le_bytes());
            out.extend(bytes);
            return element(Element::Text);
        }
    }
    value.dtype().map_or(TYPES.len(), |dtype| element(Element::Number(dtype)))
}

/// An object. For packed f4, PyTorch's shapes count two as one element.
fn object_of(object: &Object<'_>, is_packed: bool) -> Value {
    let (name, mut shape) = (text(object.name_bytes()), object.shape().to_vec());
    let Some(data) = object.component("data") else {
        return json!({"name": name, "shape": shape, "error": "the object has no data"});
    };
    let mut dtype = dtype_name(&data);
    if let ("F4", true, Some(last)) = (&*dtype, is_packed, shape.last_mut()) {
        (dtype, *last) = ("F4_X2".into(), *last / 2);
    }
    let mut out = json!({"name": name, "shape": shape, "dtype": dtype});
    match hashes(&data) {
        Ok((stored, decoded)) => {
            out["sha256_stored"] = stored.into();
            out["sha256_le"] = decoded.into();
            if data.encoding() == Encoding::Raw {
                out["offset"] = data.offset().into();
                out["stored_len"] = data.stored_size().into();
            }
        }
        Err(e) => out["error"] = e.to_string().into(),
    }
    out
}

/// The SHA-256 of stored bytes, or of little-endian elements.
fn hashes(data: &Component<'_>) -> Result<(String, String)> {
    let mut stored = vec![0; usize::try_from(data.stored_size()).unwrap_or(0)];
    data.read_stored(&mut stored)?;
    let mut elements = data.load()?.as_slice().to_vec();
    if cfg!(target_endian = "big") {
        let width = data.dtype().map_or(1, |dtype| dtype.size());
        elements.chunks_mut(width).for_each(<[u8]>::reverse);
    }
    Ok((hex(&stored), hex(&elements)))
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The type's name in safetensors and ggml.
fn dtype_name(data: &Component<'_>) -> String {
    let LogicalType::Known(logical) = data.logical() else {
        return data.dtype_name().to_uppercase();
    };
    match logical.name() {
        "f8_e4m3fn" => "F8_E4M3".into(),
        "f4_e2m1" => "F4".into(),
        "complex32" => "C32".into(),
        "complex64" => "C64".into(),
        "complex128" => "C128".into(),
        name => name.trim_start_matches("gguf.").to_uppercase(),
    }
}
