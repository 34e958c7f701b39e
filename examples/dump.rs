//! Prints what a file of any container holds as one JSON object, with a SHA-256 of each tensor: for comparing readers.
//!
//!     cargo run --example dump model.safetensors

use serde_json::{json, Map, Value};
use sha2::{Digest, Sha256};
use ztensor::error::Result;
use ztensor::model::manifest::{Encoding, LogicalType};
use ztensor::reader::{Component, File, Object, OpenOptions};

fn main() -> std::process::ExitCode {
    let path = std::env::args_os().nth(1).unwrap_or_default();
    match File::open(path, &OpenOptions::default()) {
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

/// What is in a file, and where.
pub fn dump(file: &File) -> Value {
    let objects: Vec<Value> = file.objects().map(|object| object_of(&object)).collect();
    let container = file.container().name();
    let attributes = file.attributes().map(|map| map.pairs()).into_iter().flatten();
    let texts = attributes.filter_map(|(key, value)| Some((key.as_text()?, value.as_text()?)));
    let metadata: Map<String, Value> = texts.map(|(key, value)| (key.into(), value.into())).collect();
    json!({"container": container, "objects": objects, "metadata": metadata})
}

fn object_of(object: &Object<'_>) -> Value {
    let (name, shape) = (object.name(), object.shape());
    let Some(data) = object.component("data") else {
        return json!({"name": name, "shape": shape, "error": "it has no data"});
    };
    let mut out = json!({"name": name, "shape": shape, "dtype": dtype_name(&data)});
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

/// The SHA-256 of stored bytes, and of elements as a little-endian machine has them.
fn hashes(data: &Component<'_>) -> Result<(String, String)> {
    let mut stored = vec![0; usize::try_from(data.stored_size()).unwrap_or(0)];
    data.read_stored(&mut stored)?;
    let loaded = data.load()?;
    Ok((hex(&stored), hex(loaded.as_slice())))
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The name of its elements' type, as safetensors and ggml have it.
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
