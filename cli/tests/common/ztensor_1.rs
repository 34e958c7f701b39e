//! Files of zTensor 1.2 with unusual manifests.

use serde_json::{json, Value};
use std::path::Path;

/// Writes a file with this JSON, as CBOR, as its manifest. Data begins at byte 64: the bytes 0 to 63, and 192
/// zeros. A text with the prefix `cbor:` stands for the bytes in the hex digits after it.
pub fn write(path: &Path, attributes: &Value, objects: &Value) {
    let mut file = b"ZTEN1000".to_vec();
    file.resize(64, 0);
    file.extend(0..64);
    file.resize(file.len() + 192, 0);
    let start = file.len();
    encode(&json!({ "version": "1.2.0", "attributes": attributes, "objects": objects }), &mut file);
    let size = file.len() - start;
    file.extend((size as u64).to_le_bytes());
    file.extend(b"ZTEN1000");
    std::fs::write(path, file).unwrap();
}

fn encode(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::String(text) => match text.strip_prefix("cbor:") {
            Some(hex) => {
                let digit = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
                out.extend((0..hex.len()).step_by(2).map(digit));
            }
            None => {
                head(3, text.len() as u64, out);
                out.extend(text.as_bytes());
            }
        },
        Value::Number(number) => head(0, number.as_u64().unwrap(), out),
        Value::Array(items) => {
            head(4, items.len() as u64, out);
            items.iter().for_each(|item| encode(item, out));
        }
        Value::Object(pairs) => {
            head(5, pairs.len() as u64, out);
            for (key, value) in pairs {
                encode(&json!(key), out);
                encode(value, out);
            }
        }
        Value::Bool(_) | Value::Null => panic!("{value} is not supported"),
    }
}

fn head(major: u8, number: u64, out: &mut Vec<u8>) {
    out.push(major << 5 | 27);
    out.extend(number.to_be_bytes());
}

/// A dense object with elements of one byte. The component gets more fields.
pub fn dense(count: u64, fields: &Value) -> Value {
    let mut data = json!({ "dtype": "u8", "offset": 64, "length": count });
    for (key, value) in fields.as_object().unwrap() {
        data[key] = value.clone();
    }
    object("dense", &json!([count]), &json!({ "data": data }))
}

pub fn object(format: &str, shape: &Value, components: &Value) -> Value {
    json!({ "format": format, "shape": shape, "components": components })
}

/// A component of u8 with this size, at this offset.
pub fn component(offset: u64, length: u64) -> Value {
    json!({ "dtype": "u8", "offset": offset, "length": length })
}
