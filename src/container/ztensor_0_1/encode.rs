//! A manifest to a 0.1 index.

use crate::container::capabilities::Capabilities;
use crate::container::cbor::encode as put;
use crate::error::Result;
use crate::model::manifest::{Format, LogicalType, Manifest, Object};
use crate::model::value::Value;

/// The role that a 0.1 tensor's bytes get.
pub(crate) const ROLE: &str = "data";

/// Names that a custom field cannot have.
pub(crate) const FIELDS: [&str; 9] =
    ["name", "offset", "size", "dtype", "shape", "encoding", "layout", "data_endianness", "checksum"];

/// Encodes a whole index.
pub fn encode_manifest(manifest: &Manifest, to: &Capabilities, out: &mut Vec<u8>) -> Result<()> {
    encode_head(manifest, to, out)?;
    manifest.objects.iter().try_for_each(|object| encode_object(manifest, object, to, out))
}

/// Encodes what is in front of the first tensor.
fn encode_head(manifest: &Manifest, to: &Capabilities, out: &mut Vec<u8>) -> Result<()> {
    if manifest.file_attributes().is_some_and(|a| a.pairs().len() > 0) {
        to.check_file_attributes()?;
    }
    put::array(out, manifest.objects.len() as u64)
}

/// Encodes one tensor, its fields in the order of the releases. Refuses what 0.1 cannot represent.
fn encode_object(manifest: &Manifest, object: &Object, to: &Capabilities, out: &mut Vec<u8>) -> Result<()> {
    let name = manifest.texts.get(object.name);
    encode_tensor(manifest, object, to, out).map_err(|e| e.within(format_args!("object {name:?}")))
}

fn encode_tensor(manifest: &Manifest, object: &Object, to: &Capabilities, out: &mut Vec<u8>) -> Result<()> {
    let components = manifest.components(object);
    to.check_component_count(components.len())?;
    let [component] = components else { return Err(to.cannot_represent("its components")) };
    let dtype = match (object.format, component.dtype, component.logical) {
        (Format::Dense, Some(dtype), LogicalType::Absent | LogicalType::SameAsDtype) => dtype,
        (Format::Dense, ..) => return Err(to.cannot_represent("its type")),
        _ => return Err(to.cannot_represent("a format other than dense")),
    };
    let custom = manifest.object_attributes(object).unwrap_or(Value::EMPTY_MAP);
    let digest = manifest.digest(component);
    put::open_map(out)?; // the releases' maps are of indefinite length
    put::text(out, "name")?;
    put::text(out, manifest.texts.get(object.name))?;
    put::text(out, "offset")?;
    put::unsigned(out, component.offset)?;
    put::text(out, "size")?;
    put::unsigned(out, component.stored_size)?;
    put::text(out, "dtype")?;
    put::text(out, dtype.old_name())?;
    put::text(out, "layout")?;
    put::text(out, "dense")?;
    put::text(out, "shape")?;
    let shape = manifest.shape(object);
    put::array(out, shape.len() as u64)?;
    shape.iter().try_for_each(|d| put::unsigned(out, *d))?;
    put::text(out, "encoding")?;
    put::text(out, component.encoding.name().ok_or_else(|| to.cannot_represent("its encoding"))?)?;
    if !component.encoding.is_compressed() {
        put::text(out, "data_endianness")?;
        put::text(out, if component.is_big_endian() { "big" } else { "little" })?;
    }
    if let Some(digest) = digest {
        put::text(out, "checksum")?;
        put::text(out, digest)?;
    }
    for (key, value) in custom.pairs() {
        to.check_attribute(key.as_text(), value)?;
        put::value(out, key)?;
        put::value(out, value)?;
    }
    put::end(out)
}
