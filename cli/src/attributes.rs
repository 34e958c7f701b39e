//! Attributes for people: a line for each, with its type and its value as JSON.

use crate::text;
use ztensor::container::json;
use ztensor::error::Result;
use ztensor::model::dtype::Dtype;
use ztensor::model::value::{Element, Value, ValueKind};

/// A line for each attribute: `general.alignment: u32 = 32`.
pub fn lines(map: Option<Value<'_>>) -> Result<Vec<String>> {
    let line = |(key, value): (Value<'_>, Value<'_>)| {
        let (key, type_of) = (key_text(key)?, type_name(value));
        Ok(format!("{}: {type_of} = {}", text::name(&key), short(value)?))
    };
    map.unwrap_or(Value::EMPTY_MAP).pairs().map(line).collect()
}

/// A JSON array with the key, the type and the value of each attribute.
pub fn as_json(map: Option<Value<'_>>) -> Result<String> {
    let pairs = map.unwrap_or(Value::EMPTY_MAP).pairs();
    let entries: Result<Vec<_>> = pairs.map(|(key, value)| entry(&key_text(key)?, value)).collect();
    Ok(format!("[{}]", entries?.join(",\n")))
}

/// An attribute in JSON. The library writes the value, as integers may be beyond those of serde_json.
pub fn entry(key: &str, value: Value<'_>) -> Result<String> {
    let (key, type_of) = (serde_json::json!(key), serde_json::json!(type_name(value)));
    Ok(format!("{{\"key\": {key}, \"type\": {type_of}, \"value\": {}}}", json::write(value)?))
}

/// A key that is not a text is shown as JSON.
fn key_text(key: Value<'_>) -> Result<String> {
    key.as_text().map_or_else(|| json::write(key), |key| Ok(key.to_owned()))
}

/// The type of a value: `u32`, `string`, `[string] x 32000`. Only GGUF states the widths of numbers.
pub fn type_name(value: Value<'_>) -> String {
    let stated = || value.dtype().map(Dtype::name);
    match value.kind() {
        ValueKind::Null => String::from("null"),
        ValueKind::Bool(_) => String::from("bool"),
        ValueKind::Unsigned(_) | ValueKind::Negative(_) => stated().unwrap_or("integer").to_owned(),
        ValueKind::Float(_) => stated().unwrap_or("float").to_owned(),
        ValueKind::Text(_) => String::from("string"),
        ValueKind::Bytes(_) => String::from("bytes"),
        ValueKind::Array(items) => {
            let is_text = |item: Value<'_>| item.as_text().is_some();
            let of_items = match items.element() {
                Element::Number(dtype) => dtype.name(),
                Element::Array => "array",
                Element::Text => "string",
                Element::Any if !items.is_empty() && items.iter().all(is_text) => "string",
                Element::Any => "any",
            };
            format!("[{of_items}] x {}", items.len())
        }
        ValueKind::Map(pairs) => format!("map x {}", pairs.len()),
        ValueKind::Tag(number, _) => format!("tag {number}"),
        ValueKind::Simple(number) => format!("simple {number}"),
    }
}

/// The start of a long value as JSON, less of a list than of a text; `zt attr get` prints all of it.
fn short(value: Value<'_>) -> Result<String> {
    let max_shown = if matches!(value.kind(), ValueKind::Array(_)) { 48 } else { 100 };
    let json = json::write(value)?;
    let shown = text::one_line(&json);
    Ok(match shown.char_indices().nth(max_shown) {
        Some((end, _)) => format!("{}... ({})", &shown[..end], text::size(json.len() as u64)),
        None => shown.into_owned(),
    })
}
