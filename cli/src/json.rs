//! `zt ls --json`: prints everything that a file declares, in the schema of the corpus manifests.
//!
//! Attribute values that JSON lacks are written as `{"$bytes": hex}`, `{"$float": "nan"}`, `{"$tag": [number,
//! value]}`, `{"$map": [[key, value], ..]}`, `{"$undefined": true}` and `{"$simple": number}`. Integers have
//! their full range, from -2^64 to 2^64-1. For a model of several files, `parts` has their paths, and `part`
//! of a component is the position of its file in that list.

use crate::failure::{error, take_errors, Failure, Outcome};
use crate::names;
use crate::notes;
use crate::output::Output;
use sha2::{Digest, Sha256};
use std::path::Path;
use ztensor::container;
use ztensor::error::Result;
use ztensor::model::dtype::Dtype;
use ztensor::model::value::{OwnedValue, Value};
use ztensor::reader::{Component, File, FilePart, Object};

/// Writes the file as JSON. If a hash cannot be computed, null is written, and the result is a failure.
pub fn write(
    out: &mut Output,
    path_of_file: &Path,
    file: &File,
    objects: &[Object<'_>],
    sha256: bool,
) -> Outcome<()> {
    let at_path = |e| Failure::at(path_of_file, e);
    let mut failed = false;
    out.json("{\n \"version\": ")?;
    out.json(&text(file.version()).map_err(at_path)?)?;
    out.json(",\n \"attributes\": ")?;
    out.json(&attributes(file.attributes()).map_err(at_path)?)?;
    let is_model = file.part_count() > 1;
    if is_model {
        let path = |part: &FilePart| String::from_utf8_lossy(part.path().unwrap_or(b"\0")).into_owned();
        let paths: Result<Vec<_>> =
            file.parts().map(|part| text(path(part).trim_end_matches('\0'))).collect();
        out.json(&format!(",\n \"parts\": [{}]", paths.map_err(at_path)?.join(", ")))?;
    }
    let left_out = notes::left_out(path_of_file);
    if left_out.as_array().is_some_and(|notes| !notes.is_empty()) {
        out.json(&format!(",\n \"left_out\": {left_out}"))?;
    }
    out.json(",\n \"objects\": [")?;
    for (at, object) in objects.iter().enumerate() {
        out.json(if at > 0 { ",\n  {" } else { "\n  {" })?;
        let head = object_head(object).map_err(at_path)?;
        out.json(&head)?;
        for (at, component) in object.components().enumerate() {
            out.json(if at > 0 { ",\n    {" } else { "\n    {" })?;
            out.json(&component_fields(&component).map_err(at_path)?)?;
            if is_model {
                out.json(&format!(", \"part\": {}", component.part_number()))?;
            }
            if sha256 {
                let hash = decoded_hash(&component).unwrap_or_else(|e| {
                    failed = true;
                    error(e.message());
                    (String::from("null"), String::from("null"))
                });
                out.json(&format!(
                    ", \"sha256_of_decoded_little_endian_bytes\": {}, \"decoded_length\": {}",
                    hash.0, hash.1
                ))?;
            }
            out.json("}")?;
        }
        out.json("]}")?;
    }
    out.json(if objects.is_empty() { "]" } else { "\n ]" })?;
    let errors = take_errors();
    if !errors.is_empty() {
        out.json(&format!(",\n \"errors\": {}", serde_json::json!(errors)))?;
    }
    out.json("\n}\n")?;
    if failed {
        Err(Failure::Reported)
    } else {
        Ok(())
    }
}

fn object_head(object: &Object<'_>) -> Result<String> {
    Ok(format!(
        "\"name\": {}, \"shape\": {:?}, \"format\": {}, \"attributes\": {}, \"components\": [",
        text(&names::in_json(object.name_bytes()))?,
        object.shape(),
        text(object.format_name())?,
        attributes(object.attributes())?,
    ))
}

fn component_fields(component: &Component<'_>) -> Result<String> {
    let entry = component.entry();
    let declared = entry.size().filter(|_| entry.is_size_declared());
    Ok(format!(
        "\"role\": {}, \"dtype\": {}, \"type\": {}, \"offset\": {}, \"length\": {}, \
         \"uncompressed_length\": {}, \"encoding\": {}, \"digest\": {}",
        text(component.role())?,
        text(component.dtype_name())?,
        component.logical_name().map_or(Ok(String::from("null")), text)?,
        component.offset(),
        component.stored_size(),
        declared.map_or(String::from("null"), |size| size.to_string()),
        text(component.encoding_name())?,
        component.digest().map_or(Ok(String::from("null")), text)?,
    ))
}

fn text(text: &str) -> Result<String> {
    container::json::write(OwnedValue::text(text)?.get())
}

/// Missing attributes become an empty map.
fn attributes(value: Option<Value<'_>>) -> Result<String> {
    value.map_or(Ok(String::from("{}")), container::json::write)
}

/// The hash and the size of the decoded bytes, as JSON.
fn decoded_hash(component: &Component<'_>) -> Result<(String, String)> {
    let width = component.dtype().map_or(1, Dtype::size);
    let mut hasher = Sha256::new();
    let mut length = 0u64;
    component.for_each_decoded(&mut |bytes| {
        length += bytes.len() as u64;
        if cfg!(target_endian = "big") {
            bytes.chunks(width).for_each(|element| element.iter().rev().for_each(|b| hasher.update([*b])));
        } else {
            hasher.update(bytes);
        }
        Ok(())
    })?;
    let hex: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((format!("\"{hex}\""), length.to_string()))
}
