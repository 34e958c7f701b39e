//! Validates JSON with a schema in docs/schema. It knows the keywords of those schemas, and panics on others,
//! so that none is ignored. It is stricter than JSON Schema: a key that the schema does not name is an error
//! unless `additionalProperties` is true. So every key of an output must be documented.

use serde_json::{Map, Value};
use std::path::Path;

/// The schema of a command.
pub struct Schema(pub Value);

impl Schema {
    pub fn of(command: &str) -> Schema {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schema");
        let text = std::fs::read_to_string(folder.join(format!("{command}.json"))).unwrap();
        Schema(serde_json::from_str(&text).unwrap())
    }

    /// The errors in a value, and their places.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        check(&self.0, value, "$")
    }

    /// Validates every document of an output. Returns their number, without those of a command that failed
    /// without a result.
    #[track_caller]
    pub fn holds(&self, out: &str) -> usize {
        let documents = serde_json::Deserializer::from_str(out).into_iter::<Value>().map(Result::unwrap);
        let has_only_errors =
            |document: &Value| document.as_object().is_some_and(|all| all.keys().eq(["errors"]));
        let (failed, documents): (Vec<_>, Vec<_>) = documents.partition(has_only_errors);
        failed.iter().for_each(|document| Schema::of("errors").check(document).unwrap());
        let checked = documents.iter().map(|document| self.check(document));
        let checked: Result<Vec<()>, String> = checked.collect();
        checked.unwrap_or_else(|wrong| panic!("{}: {wrong}", self.0["title"])).len()
    }
}

fn check(schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    for (word, rule) in schema.as_object().unwrap() {
        let holds = match word.as_str() {
            "$schema" | "$id" | "title" | "description" => true,
            "type" => types(rule).any(|name| is_of(name, value)),
            "enum" => rule.as_array().unwrap().contains(value),
            "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap()),
            "required" => value.as_object().is_none_or(|map| {
                rule.as_array().unwrap().iter().all(|key| map.contains_key(key.as_str().unwrap()))
            }),
            "properties" => {
                value.as_object().map_or(Ok(()), |map| properties(schema, rule, map, at)).map(|()| true)?
            }
            "additionalProperties" => rule == &Value::Bool(true),
            "items" => {
                for (number, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(rule, item, &format!("{at}[{number}]"))?;
                }
                true
            }
            "anyOf" => rule.as_array().unwrap().iter().any(|branch| check(branch, value, at).is_ok()),
            unknown => panic!("{at}: this test does not support the keyword {unknown} of JSON Schema"),
        };
        if !holds {
            return Err(format!("{at}: {value} breaks {word}: {rule}"));
        }
    }
    Ok(())
}

fn properties(schema: &Value, rules: &Value, map: &Map<String, Value>, at: &str) -> Result<(), String> {
    for (key, value) in map {
        match rules.get(key) {
            Some(rule) => check(rule, value, &format!("{at}.{key}"))?,
            None if schema["additionalProperties"] == true => {}
            None => return Err(format!("{at}: the schema does not name {key}")),
        }
    }
    Ok(())
}

fn types(rule: &Value) -> impl Iterator<Item = &str> {
    let one = rule.as_str();
    one.into_iter().chain(rule.as_array().into_iter().flatten().map(|name| name.as_str().unwrap()))
}

fn is_of(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64() || value.as_f64().is_some_and(|n| n.fract() == 0.0),
        unknown => panic!("JSON has no type {unknown}"),
    }
}
