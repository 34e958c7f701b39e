//! The manifest: CBOR with the kinds in the spec's tables.

use super::{bytes, Checked, Entry, Listed, Object};
use ciborium::Value;
use std::collections::HashSet;

pub struct Manifest {
    pub version: (u32, u32),
    pub attributes: Vec<(Value, Value)>,
    pub objects: Vec<Listed>,
}

pub fn read(bytes: &[u8], old: bool) -> Checked<Manifest> {
    let mut rest = bytes;
    let root: Value = ciborium::from_reader(&mut rest).map_err(|e| format!("no CBOR: {e}"))?;
    if !rest.is_empty() {
        return Err(format!("{} bytes after the manifest", rest.len()));
    }
    unique_keys(&root)?;
    if old {
        let Value::Array(tensors) = root else { return Err("the manifest is not an array".into()) };
        let objects = tensors.into_iter().map(tensor).collect::<Checked<_>>()?;
        return Ok(Manifest { version: (0, 1), attributes: Vec::new(), objects });
    }
    let mut root = Fields::of(root)?;
    let version = version(&root.text("version")?.ok_or("no version")?)?;
    let attributes = root.map("attributes")?.unwrap_or_default();
    let mut objects = Vec::new();
    for (name, definition) in root.map("objects")?.ok_or("no objects")? {
        let name = name.into_text().map_err(|_| "a name is not text")?;
        let read = object(name.clone(), definition, version);
        objects.push(read.map_err(|e| format!("object {name:?}: {e}"))?);
    }
    Ok(Manifest { version, attributes, objects })
}

/// Three numbers. The first is 1.
fn version(text: &str) -> Checked<(u32, u32)> {
    let numbers: Vec<_> = text.split('.').map(str::parse::<u32>).collect();
    match &numbers[..] {
        [Ok(1), Ok(minor @ 1..), Ok(_)] => Ok((1, *minor)),
        _ => Err(format!("the version is {text:?}")),
    }
}

/// Checks that keys of a map are unique.
fn unique_keys(value: &Value) -> Checked<()> {
    match value {
        Value::Array(items) => items.iter().try_for_each(unique_keys),
        Value::Tag(_, value) => unique_keys(value),
        Value::Map(pairs) => {
            let mut seen = HashSet::new();
            for (key, value) in pairs {
                let mut encoded = Vec::new();
                ciborium::into_writer(key, &mut encoded).map_err(|e| e.to_string())?;
                if !seen.insert(encoded) {
                    return Err(format!("the key {key:?} twice"));
                }
                unique_keys(key).and_then(|()| unique_keys(value))?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The fields of a map. Each is taken once, and null means absent.
struct Fields(Vec<(Value, Value)>);

impl Fields {
    fn of(value: Value) -> Checked<Fields> {
        value.into_map().map(Fields).map_err(|other| format!("{other:?} is not a map"))
    }

    fn take(&mut self, key: &str) -> Option<Value> {
        let at = self.0.iter().position(|(k, _)| k.as_text() == Some(key))?;
        Some(self.0.remove(at).1).filter(|v| *v != Value::Null)
    }

    fn text(&mut self, key: &str) -> Checked<Option<String>> {
        self.take(key).map(|v| v.into_text().map_err(|v| format!("{key} is {v:?}"))).transpose()
    }

    fn map(&mut self, key: &str) -> Checked<Option<Vec<(Value, Value)>>> {
        self.take(key).map(|v| v.into_map().map_err(|v| format!("{key} is {v:?}"))).transpose()
    }

    fn number(&mut self, key: &str) -> Checked<Option<u64>> {
        self.take(key).map(number).transpose().map_err(|e| format!("{key}: {e}"))
    }

    fn shape(&mut self) -> Checked<Vec<u64>> {
        let shape = self.take("shape").ok_or("no shape")?;
        shape.into_array().map_err(|v| format!("the shape is {v:?}"))?.into_iter().map(number).collect()
    }
}

fn number(value: Value) -> Checked<u64> {
    let integer = value.as_integer().ok_or_else(|| format!("{value:?} is not an integer"))?;
    u64::try_from(integer).map_err(|_| format!("{value:?} is not a u64"))
}

fn object(name: String, definition: Value, version: (u32, u32)) -> Checked<Listed> {
    let mut fields = Fields::of(definition)?;
    let shape = fields.shape()?;
    let format = fields.text("format")?.ok_or("no format")?;
    let attributes = fields.map("attributes")?.unwrap_or_default();
    let mut entries = Vec::new();
    for (role, definition) in fields.map("components")?.ok_or("no components")? {
        let role = role.into_text().map_err(|_| "a role is not text")?;
        let entry = component(role.clone(), Fields::of(definition)?, version);
        entries.push(entry.map_err(|e| format!("component {role:?}: {e}"))?);
    }
    Ok((Object { name, shape, format, attributes, parts: Vec::new() }, entries))
}

fn component(role: String, mut fields: Fields, version: (u32, u32)) -> Checked<Entry> {
    let mut dtype = fields.text("dtype")?.ok_or("no dtype")?;
    // In a 1.1 file, the text of 1.1 does not define the field `type`. Readers of 1.2 understand it.
    let mut logical = fields.text("type")?;
    if let (Some((storage, implied)), (1, 1)) = (bytes::of_1_1(&dtype), version) {
        if logical.as_deref().is_some_and(|logical| logical != implied) {
            return Err(format!("the type {logical:?} of a {dtype}"));
        }
        (dtype, logical) = (storage.into(), Some(implied.into()));
    }
    if let Some(logical) = &logical {
        let due = bytes::dtype_of(logical).or(bytes::width(logical).map(|_| logical.as_str()));
        if due.is_some_and(|due| due != dtype) {
            return Err(format!("the type {logical:?} of a {dtype}"));
        }
    }
    let encoding = fields.text("encoding")?.unwrap_or_else(|| "raw".into());
    if encoding != "raw" && encoding != "zstd" {
        return Err(format!("the encoding is {encoding:?}"));
    }
    Ok(Entry {
        role,
        logical: logical.filter(|logical| *logical != dtype),
        dtype,
        offset: fields.number("offset")?.ok_or("no offset")?,
        length: fields.number("length")?.ok_or("no length")?,
        decoded: fields.number("uncompressed_length")?,
        zstd: encoding == "zstd",
        big_endian: false,
        digest: fields.text("digest")?,
    })
}

/// A map for a tensor in a 0.1 file.
fn tensor(value: Value) -> Checked<Listed> {
    let mut fields = Fields::of(value)?;
    let name = fields.text("name")?.ok_or("no name")?;
    let shape = fields.shape()?;
    if fields.0.iter().any(|(key, value)| key.as_text() == Some("layout") && *value == Value::Null) {
        return Err("the layout is null".into());
    }
    let format = fields.text("layout")?.unwrap_or_else(|| "dense".into());
    if format == "sparse" && !fields.0.iter().any(|(key, _)| key.as_text() == Some("sparse_format")) {
        return Err("a sparse layout without its format".into());
    }
    let dtype = fields.text("dtype")?.ok_or("no dtype")?;
    let dtype = bytes::of_old_name(&dtype).ok_or_else(|| format!("the dtype is {dtype:?}"))?;
    let encoding = fields.text("encoding")?.ok_or("no encoding")?;
    let big_endian = match fields.text("data_endianness")?.as_deref() {
        None | Some("little") => false,
        Some("big") => true,
        Some(other) => return Err(format!("the byte order is {other:?}")),
    };
    let zstd = match encoding.as_str() {
        "raw" => false,
        "zstd" if !big_endian => true,
        other => return Err(format!("the encoding is {other:?}")),
    };
    let entry = Entry {
        role: "data".into(),
        dtype: dtype.into(),
        logical: None,
        offset: fields.number("offset")?.ok_or("no offset")?,
        length: fields.number("size")?.ok_or("no size")?,
        decoded: None,
        zstd,
        big_endian,
        digest: fields.text("checksum")?,
    };
    Ok((Object { name, shape, format, attributes: fields.0, parts: Vec::new() }, vec![entry]))
}
