//! The rules of zTensor 2 that are not checked when a file is opened; those of opening are in
//! `component_ranges.rs` and its neighbours. These are rules of layouts, because
//! real files leave out components and attributes (COO, groups of codes, MX, GGUF's blocks: spec 2 sections
//! 6.3 to 6.6). They are also rules for written objects, so that no object is written that a reader refuses
//! (sections 3 to 6).
//!
//! Codes with scales are written as the layout `zt.quant_group/1` (section 6.4), which has more attributes
//! than a quantized_group, and stricter ones.

use super::deterministic::MAX_DEPTH;
use super::layouts::{broken_layout, check_values, decoded, index_dtype, only, size_of};
use super::{footer, layouts, names, parts};
use crate::container::capabilities::{Quantized, QuantizedForm, WriteRules};
use crate::error::{broken, fail, Error, Result, Rule};
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{element_count, Component, Encoding, Format, LogicalType, Manifest, Object};
use crate::model::structure::{parse_packing, Grouping, Groups, LayoutCheck};
use crate::model::value::{Attributes, Value, ValueBuilder, ValueKind};

/// Why an object does not follow its layout.
enum Fault {
    /// A component or an attribute that the layout demands is missing, so the rest cannot be checked.
    Missing(Error),
    /// A component or an attribute breaks a rule.
    Broken(Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Broken(error)
    }
}

type Checked<T = ()> = std::result::Result<T, Fault>;

macro_rules! refuse {
    ($($what:tt)*) => { return Err(broken_layout(format_args!($($what)*)).into()) };
}

/// The words of packed codes, and the dtypes that hold them.
const WORDS: [(&str, [Dtype; 2]); 4] = [
    ("u8", [Dtype::U8, Dtype::I8]),
    ("u16", [Dtype::U16, Dtype::I16]),
    ("u32", [Dtype::U32, Dtype::I32]),
    ("u64", [Dtype::U64, Dtype::I64]),
];

/// Checks an object against its layout. If `complete` is set, it must have all components and attributes that
/// the layout demands; otherwise some may be missing.
pub fn check(manifest: &Manifest, object: &Object, complete: bool) -> Result<LayoutCheck> {
    let kept = |()| LayoutCheck::Kept;
    let checked = match object.format {
        Format::SparseCoo => sparse_coo(manifest, object).map(kept),
        Format::Blocks(_) => blocks(manifest, object).map(kept),
        Format::Other(name) => match manifest.texts.get_bytes(name) {
            b"zt.quant_group/1" => quant_group(manifest, object).map(LayoutCheck::Groups),
            b"zt.mx/1" => mx(manifest, object).map(LayoutCheck::Groups),
            _ => return Ok(LayoutCheck::Unknown),
        },
        Format::Dense | Format::SparseCsr => Ok(LayoutCheck::Kept), // checked at open
        Format::QuantizedGroup => return Ok(LayoutCheck::Unknown),
    };
    match checked {
        Ok(found) => Ok(found),
        Err(Fault::Missing(_)) if !complete => Ok(LayoutCheck::Kept),
        Err(Fault::Missing(error) | Fault::Broken(error)) => Err(error),
    }
}

/// Checks that the object has exactly the components with these roles.
fn parts<'m, const N: usize>(
    m: &'m Manifest,
    object: &Object,
    roles: [&str; N],
) -> Checked<[&'m Component; N]> {
    only(m, object, roles).map_err(|error| match m.components(object).len() < N {
        true => Fault::Missing(error),
        false => Fault::Broken(error),
    })
}

/// An attribute that must exist.
fn attribute<'m>(map: Option<Value<'m>>, key: &str) -> Checked<Value<'m>> {
    let found = map.and_then(|map| map.get(key));
    found.ok_or_else(|| Fault::Missing(broken_layout(format_args!("it has no attribute {key:?}"))))
}

fn number(map: Option<Value<'_>>, key: &str) -> Checked<u64> {
    match attribute(map, key)?.as_u64() {
        Some(number) => Ok(number),
        None => refuse!("its attribute {key:?} is not an unsigned integer"),
    }
}

/// The one of `texts` that the attribute has.
fn one_of<'t>(map: Option<Value<'_>>, key: &str, texts: &[&'t str]) -> Checked<&'t str> {
    let value = attribute(map, key)?;
    match texts.iter().find(|text| value.is_text(text)) {
        Some(text) => Ok(text),
        None => refuse!("its attribute {key:?} is not one of {texts:?}"),
    }
}

fn total(manifest: &Manifest, object: &Object) -> u64 {
    element_count(manifest.shape(object)).unwrap_or(u64::MAX) // opening the file has checked that it fits
}

fn dimension(manifest: &Manifest, object: &Object, axis: u64) -> Checked<u64> {
    let shape = manifest.shape(object);
    match usize::try_from(axis).ok().and_then(|axis| shape.get(axis)) {
        Some(along) => Ok(*along),
        None => refuse!("its axis {axis} is not one of its {} dimensions", shape.len()),
    }
}

/// Divides numbers, which must leave no remainder.
fn divide(what: &str, number: u64, by: u64) -> Checked<u64> {
    match (number.checked_div(by), number.checked_rem(by)) {
        (Some(quotient), Some(0)) => Ok(quotient),
        _ => refuse!("its {what} of {number} are not a multiple of {by}"),
    }
}

fn has_size(role: &str, c: &Component, expected: Option<u64>) -> Checked {
    match decoded(c) {
        found if Some(found) == expected => Ok(()),
        found => match expected {
            Some(expected) => refuse!("{role:?} has {found} bytes, but the shape takes {expected}"),
            None => refuse!("{role:?} has {found} bytes, but the shape takes more than 2^64"),
        },
    }
}

fn has_elements(role: &str, c: &Component, count: u64) -> Checked {
    match size_of(c, count).transpose()? {
        Some(size) => has_size(role, c, Some(size)),
        None => Ok(()),
    }
}

fn sparse_coo(manifest: &Manifest, object: &Object) -> Checked {
    let [values, coords] = only(manifest, object, ["values", "coords"])?;
    let dtype = index_dtype("coords", coords)?;
    let rank = u64::from(object.rank);
    if rank == 0 {
        refuse!("its rank is 0, so that it has no coordinates");
    }
    let nnz = divide("bytes of coordinates", decoded(coords), rank.saturating_mul(dtype.size() as u64))?;
    Ok(check_values(values, nnz)?)
}

fn blocks(manifest: &Manifest, object: &Object) -> Checked {
    let [data] = only(manifest, object, ["data"])?;
    let attributes = manifest.object_attributes(object);
    let is_blocks = matches!(data.logical, LogicalType::Known(logical) if logical.is_block_type());
    if data.dtype != Some(Dtype::U8) || !(is_blocks || data.logical == LogicalType::Absent) {
        refuse!("\"data\" is not of the dtype u8 without a type");
    }
    let elements = number(attributes, "elems_per_block")?;
    let bytes = number(attributes, "block_bytes")?;
    if bytes == 0 {
        refuse!("its blocks have 0 bytes");
    }
    let count = divide("elements", total(manifest, object), elements)?;
    if let Some(last) = manifest.shape(object).last() {
        divide("elements of a row", *last, elements)?;
    }
    has_size("data", data, count.checked_mul(bytes))
}

/// Checks the dtype and type of the scales against the form that the attributes give.
fn check_scales(form: &str, scales: &Component) -> Checked {
    let is_exponent =
        scales.dtype == Some(Dtype::U8) && scales.logical == LogicalType::Known(Logical::F8E8m0);
    let is_float = matches!(scales.dtype, Some(Dtype::F64 | Dtype::F32 | Dtype::F16 | Dtype::Bf16));
    match form {
        "e8m0_exponent" if is_exponent => Ok(()),
        "f32_factors" | "f16_factors" if is_float && scales.logical == LogicalType::Absent => Ok(()),
        _ => refuse!("\"scales\" are not of the dtype and type of {form:?}"),
    }
}

/// Checks the attribute "zero_point" of this form. Returns the zero point of all codes (`None` if it does not
/// fit in an `i64`), and whether the zero points of a tensor are packed.
fn zero_points(attribute: Option<Value<'_>>, form: &str) -> Checked<(Option<i64>, bool)> {
    let get = |key: &str| attribute.and_then(|map| map.get(key));
    let value = get("value");
    let is_integer =
        value.is_some_and(|value| matches!(value.kind(), ValueKind::Unsigned(_) | ValueKind::Negative(_)));
    if (form == "implied") != is_integer || (form != "implied" && value.is_some()) {
        refuse!("its \"zero_point\" needs an integer \"value\" if its form is \"implied\", and only then");
    }
    let is_packed = match form {
        "tensor" => one_of(attribute, "packing", &["same_as_data", "plain"])? == "same_as_data",
        _ if get("packing").is_some() => refuse!("its \"zero_point\" has a \"packing\", but no tensor"),
        _ => false,
    };
    Ok((value.map_or(Some(0), Value::as_i64), is_packed))
}

fn quant_group(manifest: &Manifest, object: &Object) -> Checked<Groups> {
    let attributes = manifest.object_attributes(object);
    let zero_point = Some(attribute(attributes, "zero_point")?);
    let form = one_of(zero_point, "form", &["none", "implied", "tensor"])?;
    let (data, scales, zeros) = match form {
        "tensor" => {
            let [data, scales, zeros] = parts(manifest, object, ["data", "scales", "zeros"])?;
            (data, scales, Some(zeros))
        }
        _ => {
            let [data, scales] = parts(manifest, object, ["data", "scales"])?;
            (data, scales, None)
        }
    };
    let (zero_point, zeros_packed) = zero_points(zero_point, form)?;
    let bits = number(attributes, "bits")?;
    let packing = Some(attribute(attributes, "packing")?);
    let is_msb_first = one_of(packing, "order", &["lsb_first", "msb_first"])? == "msb_first";
    let word = one_of(packing, "word", &WORDS.map(|(word, _)| word))?;
    let words = WORDS.into_iter().find(|(known, _)| *known == word);
    let words = words.map_or([Dtype::U64, Dtype::I64], |(_, words)| words);
    let width = words.map(|word| word.size() as u64)[0];
    if !matches!(bits, 2..=6 | 8) {
        refuse!("its codes have {bits} bits");
    }
    let per_word = divide("bits of a word", width.saturating_mul(8), bits)?;
    let claimed = number(packing, "per_word")?;
    if claimed != per_word {
        refuse!("its \"per_word\" is {claimed}, but {per_word} codes of {bits} bits are in a word");
    }
    if data.logical != LogicalType::Absent || !data.dtype.is_some_and(|dtype| words.contains(&dtype)) {
        refuse!("\"data\" is not of the dtype of its words");
    }
    let forms = ["f32_factors", "f16_factors", "e8m0_exponent"];
    check_scales(one_of(attributes, "scale_form", &forms)?, scales)?;
    let axis = number(attributes, "axis")?;
    let along = dimension(manifest, object, axis)?;
    let group_size = number(attributes, "group_size")?;
    let codes = total(manifest, object);
    has_size("data", data, divide("codes", codes, per_word)?.checked_mul(width))?;
    let lanes = codes.checked_div(along).unwrap_or(0);
    // Without groups, there is one scale for each index of the axis, or one for each code. The specification
    // allows both readings.
    let mut scale_count = match group_size {
        0 => codes,
        _ => divide("codes along the axis", along, group_size)?.saturating_mul(lanes),
    };
    if group_size == 0 && size_of(scales, along).transpose()? == Some(decoded(scales)) {
        scale_count = along;
    }
    has_elements("scales", scales, scale_count)?;
    match zeros {
        None => {}
        Some(zeros) if !zeros_packed => has_elements("zeros", zeros, scale_count)?,
        Some(zeros) => has_size("zeros", zeros, divide("zeros", scale_count, per_word)?.checked_mul(width))?,
    }
    let codes_per_element = per_word;
    Ok(Groups { bits, axis, group_size, codes_per_element, is_msb_first, zero_point, zeros_packed })
}

fn mx(manifest: &Manifest, object: &Object) -> Checked<Groups> {
    let [data, scales] = parts(manifest, object, ["data", "scales"])?;
    let attributes = manifest.object_attributes(object);
    check_scales(one_of(attributes, "scale_form", &["e8m0_exponent"])?, scales)?;
    let bits = match (data.logical, data.dtype) {
        (LogicalType::Known(Logical::F4E2m1), _) => 4,
        (LogicalType::Known(Logical::F8E4m3fn | Logical::F8E5m2), _) => 8,
        (LogicalType::Absent, Some(Dtype::I8)) => 8,
        _ => refuse!("\"data\" is not of the type f4_e2m1, f8_e4m3fn or f8_e5m2, nor of the dtype i8"),
    };
    let last = u64::from(object.rank).saturating_sub(1);
    let axis = match attributes.and_then(|map| map.get("axis")) {
        Some(_) => number(attributes, "axis")?,
        None => last,
    };
    let along = dimension(manifest, object, axis)?;
    let block_size = number(attributes, "block_size")?;
    if block_size < 2 {
        refuse!("its blocks have {block_size} elements, fewer than 2");
    }
    divide("elements along the axis", along, block_size)?;
    let count = total(manifest, object);
    has_elements("data", data, count)?;
    has_elements("scales", scales, divide("elements", count, block_size)?)?;
    Ok(Groups {
        bits,
        axis,
        group_size: block_size,
        codes_per_element: if bits == 4 { 2 } else { 1 },
        is_msb_first: false,
        zero_point: Some(0),
        zeros_packed: false,
    })
}

/// The layout and its attributes, or an error for something that the layout cannot represent.
pub fn form(spec: &Quantized<'_>) -> Result<QuantizedForm> {
    if spec.codes.1.is_some() {
        return form_of_floats(spec);
    }
    let Some(grouping) = spec.grouping else {
        refuse!("\"zt.quant_group/1\" says along which axis groups lie (has_axis)")
    };
    let Some(bits) = spec.bits else { refuse!("\"zt.quant_group/1\" says how many bits a code has") };
    let Some(group_size) = spec.group_size else {
        // One scale for each index of the axis, or for each code: the specification allows both readings.
        refuse!("\"zt.quant_group/1\" without a group size does not say how many scales it has")
    };
    let codes = spec.codes.0;
    let (word, per_word) = (word(codes)?, per_word(codes, bits)?);
    check_packing(spec, per_word)?;
    let Grouping { axis, zero_point, is_msb_first, zeros_packed } = grouping;
    let zero_form = match (spec.has_zeros, zero_point) {
        (true, 0) => "tensor",
        (true, _) => refuse!("it has zeros, and a zero point of {zero_point} for all codes as well"),
        (false, _) if zeros_packed => refuse!("its zeros are packed, but it has no zeros"),
        (false, 0) => "none",
        (false, _) => "implied",
    };
    let mut attributes = Attributes::default();
    for (key, number) in [("bits", bits), ("axis", axis), ("group_size", group_size)] {
        attributes.set_built(key, |to| to.unsigned(number))?;
    }
    attributes.set_built("scale_form", |to| to.text(scale_form(spec.scales)?))?;
    attributes.set_built("packing", |to| {
        to.begin_map(None)?;
        text(to, "word", word)?;
        text(to, "order", if is_msb_first { "msb_first" } else { "lsb_first" })?;
        to.text("per_word")?;
        to.unsigned(per_word)?;
        to.end().map(drop)
    })?;
    attributes.set_built("zero_point", |to| {
        to.begin_map(None)?;
        text(to, "form", zero_form)?;
        match zero_form {
            "tensor" => text(to, "packing", if zeros_packed { "same_as_data" } else { "plain" })?,
            "implied" => to.text("value").and_then(|()| to.integer(zero_point))?,
            _ => {}
        }
        to.end().map(drop)
    })?;
    Ok(QuantizedForm { format: "zt.quant_group/1", codes: "data", attributes })
}

/// The same for small floats whose scales are powers of two.
fn form_of_floats(spec: &Quantized<'_>) -> Result<QuantizedForm> {
    if spec.scales.1 != Some(Logical::F8E8m0) {
        refuse!("\"zt.mx/1\" has scales of the type f8_e8m0");
    }
    let (Some(block_size), Some(grouping), false) = (spec.group_size, spec.grouping, spec.has_zeros) else {
        refuse!("\"zt.mx/1\" has blocks of a stated size along an axis, and no zeros")
    };
    let mut attributes = Attributes::default();
    for (key, number) in [("axis", grouping.axis), ("block_size", block_size)] {
        attributes.set_built(key, |to| to.unsigned(number))?;
    }
    attributes.set_built("scale_form", |to| to.text("e8m0_exponent"))?;
    Ok(QuantizedForm { format: "zt.mx/1", codes: "data", attributes })
}

fn text(builder: &mut ValueBuilder<'_>, key: &str, value: &str) -> Result<()> {
    builder.text(key)?;
    builder.text(value)
}

fn word(codes: Dtype) -> Result<&'static str> {
    match WORDS.into_iter().find(|(_, dtypes)| dtypes.contains(&codes)) {
        Some((word, _)) => Ok(word),
        None => refuse!("its codes are packed in {}, not in an integer", codes.name()),
    }
}

fn per_word(codes: Dtype, bits: u64) -> Result<u64> {
    let width = (codes.size() as u64).saturating_mul(8);
    match (matches!(bits, 2 | 4 | 8), width.checked_div(bits)) {
        (true, Some(per_word)) => Ok(per_word),
        _ => refuse!("codes of {bits} bits do not fill a word; 2, 4 and 8 do"),
    }
}

/// Checks that the caller's packing agrees with the words. The file has no field for it.
fn check_packing(spec: &Quantized<'_>, per_word: u64) -> Result<()> {
    let Some(packing) = spec.packing else { return Ok(()) };
    match parse_packing(packing) {
        Some((count, dtype)) if count == per_word && word(dtype)? == word(spec.codes.0)? => Ok(()),
        _ => {
            refuse!("the packing {packing:?} does not match {per_word} codes in each {}", spec.codes.0.name())
        }
    }
}

fn scale_form((dtype, logical): (Dtype, Option<Logical>)) -> Result<&'static str> {
    Ok(match (dtype, logical) {
        (Dtype::F32 | Dtype::Bf16, None) => "f32_factors",
        (Dtype::F16, None) => "f16_factors",
        (Dtype::U8, Some(Logical::F8E8m0)) => "e8m0_exponent",
        (dtype, _) => refuse!(
            "its scales are of {}{}, not f32, bf16, f16, or u8 of the type f8_e8m0",
            dtype.name(),
            if logical.is_some() { " with a type" } else { "" }
        ),
    })
}

/// All rules for writing.
pub const RULES: WriteRules = WriteRules {
    name: |what, name| names::check_name(what, name.as_bytes()),
    shard_name: Some(|name| names::check_shard_name(name.as_bytes())),
    shape: layouts::check_shape,
    value,
    object: Some(object),
    format: |name| layouts::format(name.as_bytes()).or_else(|| Format::from_name(name)),
    format_name,
    quantized: form,
};

/// Checks a value of an attribute. An attribute of the file is 2 levels deep in the manifest, an attribute of
/// an object 4.
fn value(value: Value<'_>, of_file: bool) -> Result<()> {
    item(value, if of_file { 2 } else { 4 })
}

fn item(value: Value<'_>, depth: usize) -> Result<()> {
    if depth > MAX_DEPTH {
        return Err(broken!(Rule::Zt2CborDepth, "an item is within more than {MAX_DEPTH} arrays and maps"));
    }
    let deeper = depth.saturating_add(1);
    match value.kind() {
        ValueKind::Tag(tag, _) => Err(broken!(Rule::Zt2CborSyntax, "a value has the tag {tag}")),
        ValueKind::Simple(simple) => {
            Err(broken!(Rule::Zt2CborSyntax, "a value is the simple value {simple}"))
        }
        _ => value.parts().try_for_each(|part| item(part, deeper)),
    }
}

/// Checks the name of a layout, which is also a format of the library.
fn format_name(name: &str) -> Result<()> {
    match (RULES.format)(name) {
        Some(Format::QuantizedGroup) => Err(broken!(
            Rule::Zt2LayoutRule,
            "its groups of codes need the layout \"zt.quant_group/1\", which, unlike {name:?}, says along \
             which axis they lie"
        )),
        Some(Format::Blocks(logical)) if layouts::UNLISTED.contains(&logical) => Err(broken!(
            Rule::Zt2LayoutRule,
            "its specification does not list the layout {name:?}; write zTensor 1.2 instead"
        )),
        Some(_) => Ok(()),
        None => match is_layout_id(name) {
            true => Ok(()),
            false => Err(broken!(Rule::Zt2LayoutRule, "the layout {name:?} is not namespace.name/number")),
        },
    }
}

/// Whether a name has the form `namespace.name/number`.
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
            return Err(in_part(broken!(Rule::Zt2Schema, "its dtype is not one of the 12")));
        }
        if c.dtype == Some(Dtype::Bool) && c.logical != LogicalType::Absent {
            return Err(in_part(broken!(Rule::Zt2Schema, "it has the type bool and another one")));
        }
        if c.encoding == Encoding::Other && c.size().is_none() {
            return Err(in_part(fail!(Unsupported, "its decoded size is unknown, but has to be declared")));
        }
        if c.stored_size > u64::MAX.saturating_sub(footer::FOOTER_SIZE) {
            return Err(in_part(broken!(Rule::Zt2BlobBounds, "it has too many bytes")));
        }
    }
    layouts::check(manifest, object)?;
    check(manifest, object, complete).map(drop)
}
