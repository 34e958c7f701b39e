//! `zt attr`: prints, sets and removes attributes of a file or its objects. It does not write data again.

use crate::arguments::{value_of, AttrAction};
use crate::attributes;
use crate::edit::change;
use crate::failure::{Failure, Outcome};
use crate::models;
use crate::names;
use crate::output::Output;
use crate::text;
use std::path::Path;
use ztensor::container::json;
use ztensor::error::{Cause, Error, Result};
use ztensor::model::value::{OwnedValue, Value};
use ztensor::reader::{File, OpenOptions};

pub fn run(action: &AttrAction) -> Outcome<()> {
    match action {
        AttrAction::Get { file, path, json } => get(file, path, *json),
        AttrAction::Set { file, path, text, durable } => {
            let (object, key, value) = match path.as_slice() {
                [key, value] => (None, key, value),
                [object, key, value] => (Some(object), key, value),
                _ => {
                    return Err(Failure::Usage("not a key and a value: zt attr set FILE [OBJECT] KEY VALUE"))
                }
            };
            let at_file = |e| Failure::at(file, e);
            let value = if *text { OwnedValue::text(value) } else { value_of(value) }.map_err(at_file)?;
            if object.is_none() && !key.contains('=') {
                check_container(file, key, value.get())?;
            }
            change(file, *durable, |writer| match object {
                Some(object) => writer.set_attribute_of(object, key, value.get()),
                None => writer.set_attribute(key, value.get()),
            })
        }
        AttrAction::Rm { file, path, durable } => {
            let (object, key) = object_and_key(path);
            change(file, *durable, |writer| match object {
                Some(object) => writer.remove_attribute_of(object, key),
                None => writer.remove_attribute(key),
            })
        }
    }
}

/// Refuses to set an attribute in a file that cannot be edited, but that `zt convert --set` writes again. The
/// message has the command.
fn check_container(path: &Path, key: &str, value: Value<'_>) -> Outcome<()> {
    let opened = File::open(path, &OpenOptions { part: true, ..OpenOptions::default() });
    let Some(name) = opened.ok().map(|file| file.container().name()) else { return Ok(()) };
    if !matches!(name, "GGUF" | "safetensors") {
        return Ok(());
    }
    // A text that is not JSON is shown without quotes, as it was typed.
    let json = json::write(value).map_err(|e| Failure::at(path, e))?;
    let plain = value.as_text().filter(|text| json::parse(text).is_err());
    let setting = format!("{key}={}", plain.unwrap_or(&json));
    let setting = text::shell_word(&setting);
    let input = path.display().to_string();
    let (input, extension) = (text::shell_word(&input), name.to_ascii_lowercase());
    let command = format!("zt convert {input} NEW.{extension} --set {setting}");
    Err(Failure::at(path, format!("a file of {name} cannot be edited; {command} writes another one")))
}

/// Splits the arguments into an optional name of an object, and a key.
fn object_and_key(path: &[String]) -> (Option<&String>, &str) {
    match path {
        [object, key] => (Some(object), key),
        [key] => (None, key),
        _ => (None, ""),
    }
}

fn get(path: &Path, names: &[String], as_json: bool) -> Outcome<()> {
    let at_path = |e| Failure::at(path, e);
    let file = models::open(path)?;
    let mut out = Output::new();
    if as_json {
        let list = match names.last() {
            None => attributes::as_json(file.attributes()),
            Some(key) => {
                find(&file, names).and_then(|value| Ok(format!("[{}]", attributes::entry(key, value)?)))
            }
        };
        out.json(&format!("{{\"attributes\": {}}}", list.map_err(at_path)?))?;
    } else if names.is_empty() {
        let all = json::write(file.attributes().unwrap_or(Value::EMPTY_MAP)).map_err(at_path)?;
        out.json(&all)?;
    } else {
        let value = find(&file, names).map_err(at_path)?;
        match value.as_text() {
            Some(text) => out.text(text)?,
            None => out.json(&json::write(value).map_err(at_path)?)?,
        }
    }
    out.put("\n")?;
    out.flush()
}

fn find<'f>(file: &'f File, names: &[String]) -> Result<Value<'f>> {
    let (object, key) = object_and_key(names);
    let of = match object {
        Some(object) => names::find(file, object)?.attributes(),
        None => file.attributes(),
    };
    let whose = object.map_or(String::from("the file"), |object| format!("object {object:?}"));
    of.and_then(|map| map.get(key))
        .ok_or_else(|| Error::new(Cause::NotFound, format_args!("{whose} has no attribute {key:?}")))
}
