//! The rules of layouts that are not checked when a file is opened, because real files leave parts and
//! attributes out: COO, groups of codes, MX, GGUF's blocks (spec 2 sections 6.3 to 6.6).

use super::layouts::{broken_layout, check_values, decoded, index_dtype, only, size_of};
use crate::error::{Error, Result};
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{element_count, Component, Format, LogicalType, Manifest, Object};
use crate::model::structure::{Groups, LayoutCheck};
use crate::model::value::{Kind, Value};

/// Why an object does not keep its layout.
enum Fault {
    /// It lacks a part or an attribute that the layout demands, so the rest cannot be checked.
    Missing(Error),
    /// A part or an attribute breaks a rule.
    Broken(Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Broken(error)
    }
}

type Checked<T = ()> = std::result::Result<T, Fault>;

macro_rules! refuse {
    ($($what:tt)*) => { return Err(Fault::Broken(broken_layout(format_args!($($what)*)))) };
}

/// Checks an object against its layout. If `complete`, it has to have all parts and attributes that the
/// layout demands; otherwise an object that lacks some passes.
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

/// The parts of those roles and no others.
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

/// An attribute that has to be there.
fn attribute<'m>(map: Option<Value<'m>>, key: &str) -> Checked<Value<'m>> {
    let found = map.and_then(|map| map.get(key));
    found.ok_or_else(|| Fault::Missing(broken_layout(format_args!("it has no attribute {key:?}"))))
}

fn number(map: Option<Value<'_>>, key: &str) -> Checked<u64> {
    match attribute(map, key)?.as_u64() {
        Some(number) => Ok(number),
        None => refuse!("its attribute {key:?} is no unsigned integer"),
    }
}

/// The one of `texts` that an attribute is.
fn one_of<'t>(map: Option<Value<'_>>, key: &str, texts: &[&'t str]) -> Checked<&'t str> {
    let value = attribute(map, key)?;
    match texts.iter().find(|text| value.is_text(text)) {
        Some(text) => Ok(text),
        None => refuse!("its attribute {key:?} is none of {texts:?}"),
    }
}

fn total(manifest: &Manifest, object: &Object) -> u64 {
    element_count(manifest.shape(object)).unwrap_or(u64::MAX) // opening the file has checked that it fits
}

fn dimension(manifest: &Manifest, object: &Object, axis: u64) -> Checked<u64> {
    let shape = manifest.shape(object);
    match usize::try_from(axis).ok().and_then(|axis| shape.get(axis)) {
        Some(along) => Ok(*along),
        None => refuse!("its axis {axis} is none of the {} dimensions", shape.len()),
    }
}

/// The quotient of numbers that have to divide.
fn divide(what: &str, number: u64, by: u64) -> Checked<u64> {
    match (number.checked_div(by), number.checked_rem(by)) {
        (Some(quotient), Some(0)) => Ok(quotient),
        _ => refuse!("its {what} of {number} are no multiple of {by}"),
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

/// Checks the dtype and the type of scales against the form that the attributes state.
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

/// Checks the attribute "zero_point", whose form is `form`. Returns the zero point of all codes, none if it
/// does not fit in an `i64`, and whether those of a tensor are packed.
fn zero_points(attribute: Option<Value<'_>>, form: &str) -> Checked<(Option<i64>, bool)> {
    let get = |key: &str| attribute.and_then(|map| map.get(key));
    let value = get("value");
    let is_integer = value.is_some_and(|value| matches!(value.kind(), Kind::Unsigned(_) | Kind::Negative(_)));
    if (form == "implied") != is_integer || (form != "implied" && value.is_some()) {
        refuse!("its \"zero_point\" has an integer \"value\" exactly where its form is \"implied\"");
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
    let words = match one_of(packing, "word", &["u8", "u16", "u32", "u64"])? {
        "u8" => [Dtype::U8, Dtype::I8],
        "u16" => [Dtype::U16, Dtype::I16],
        "u32" => [Dtype::U32, Dtype::I32],
        _ => [Dtype::U64, Dtype::I64],
    };
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
    // Without groups there is a scale for each index of the axis, or one for each code: the words can be read
    // as either.
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
