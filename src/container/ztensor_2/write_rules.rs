//! What a writer checks before it writes, so that no object is written that a reader refuses (spec 2 sections
//! 3 to 6).

use super::deterministic::MAX_DEPTH;
use super::{ends, groups, layouts, names, parts, profiles};
use crate::container::write_rules::WriteRules;
use crate::error::{broken, fail, Result, Rule};
use crate::model::dtype::Dtype;
use crate::model::layout::MAX_RANK;
use crate::model::manifest::{Encoding, Format, LogicalType, Manifest, Object};
use crate::model::value::{Kind, Value};

/// All of them.
pub const RULES: WriteRules = WriteRules {
    name: |what, name| names::check_name(what, name.as_bytes()),
    shard_name: Some(|name| names::check_shard_name(name.as_bytes())),
    shape,
    value,
    object: Some(object),
    format: |name| layouts::format(name.as_bytes()).or_else(|| Format::from_name(name)),
    format_name,
    quantized: groups::form,
};

fn shape(shape: &[u64]) -> Result<()> {
    if shape.len() > MAX_RANK {
        return Err(broken!(Rule::Zt2Shape, "its rank is {}, above {MAX_RANK}", shape.len()));
    }
    // From the first dimension to the last, as readers do: a 0 behind a product that is too large does not
    // help.
    match shape.iter().try_fold(1u64, |product, d| product.checked_mul(*d)) {
        Some(_) => Ok(()),
        None => Err(broken!(Rule::Zt2Shape, "the product of the shape {shape:?} leaves 64 bits")),
    }
}

/// Checks a value of an attribute. It is 2 levels deep in the manifest; of an object's attribute, 4.
fn value(value: Value<'_>, of_file: bool) -> Result<()> {
    item(value, if of_file { 2 } else { 4 })
}

fn item(value: Value<'_>, depth: usize) -> Result<()> {
    if depth > MAX_DEPTH {
        return Err(broken!(Rule::Zt2CborDepth, "an item is within more than {MAX_DEPTH} arrays and maps"));
    }
    let deeper = depth.saturating_add(1);
    match value.kind() {
        Kind::Tag(tag, _) => Err(broken!(Rule::Zt2CborSyntax, "a value has the tag {tag}")),
        Kind::Simple(simple) => Err(broken!(Rule::Zt2CborSyntax, "a value is the simple value {simple}")),
        Kind::Array(items) => items.iter().try_for_each(|value| item(value, deeper)),
        Kind::Map(pairs) => {
            pairs.iter().try_for_each(|(k, v)| item(k, deeper).and_then(|()| item(v, deeper)))
        }
        _ => Ok(()),
    }
}

/// Checks the name of a layout, which is that of a format of the library.
fn format_name(name: &str) -> Result<()> {
    match (RULES.format)(name) {
        Some(Format::QuantizedGroup) => Err(broken!(
            Rule::Zt2LayoutRule,
            "its groups of codes are the layout \"zt.quant_group/1\", which says more than {name:?}: along which axis they lie"
        )),
        Some(_) => Ok(()),
        None => match is_layout_id(name) {
            true => Ok(()),
            false => Err(broken!(Rule::Zt2LayoutRule, "the layout {name:?} is no namespace.name/number")),
        },
    }
}

/// `namespace.name/number`.
fn is_layout_id(name: &str) -> bool {
    let parts = name.rsplit_once('/').and_then(|(id, number)| Some((id.split_once('.')?, number)));
    parts.is_some_and(|((namespace, name), number)| {
        let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        !namespace.is_empty() && !name.is_empty() && is_number
    })
}

fn object(manifest: &Manifest, object: &Object, complete: bool) -> Result<()> {
    if object.component_count == 0 {
        return Err(broken!(Rule::Zt2Schema, "it has no component"));
    }
    for c in manifest.components(object) {
        let role = manifest.texts.get(c.role);
        let in_part = |e: crate::error::Error| e.within(format_args!("component {role:?}"));
        if !c.dtype.is_some_and(parts::has_dtype) {
            return Err(in_part(broken!(Rule::Zt2Schema, "its dtype is none of the 12")));
        }
        if c.dtype == Some(Dtype::Bool) && c.logical != LogicalType::Absent {
            return Err(in_part(broken!(Rule::Zt2Schema, "it is of the type bool and of another one")));
        }
        if c.encoding == Encoding::Other && c.size().is_none() {
            return Err(in_part(fail!(Unsupported, "its decoded size is unknown, but has to be declared")));
        }
        if c.stored_size > u64::MAX.saturating_sub(ends::FOOTER_SIZE) {
            return Err(in_part(broken!(Rule::Zt2BlobBounds, "it has too many bytes")));
        }
    }
    layouts::check(manifest, object)?;
    profiles::check(manifest, object, complete).map(drop)
}
