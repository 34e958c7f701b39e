//! The elements of a component, as numbers if possible.

use ztensor::error::Result;
use ztensor::model::dtype::{Dtype, Numbers};
use ztensor::model::manifest::{Encoding, LogicalType};
use ztensor::model::value::Value;
use ztensor::reader::{Advice, Component, Object};

/// The name of its elements' type.
pub fn type_name<'f>(component: &Component<'f>) -> &'f str {
    component.logical_name().unwrap_or_else(|| component.dtype_name())
}

/// The name of its elements' type, and how they are stored if that differs. Block types have ggml's names.
pub fn full_type_name(component: &Component<'_>) -> String {
    let is_block_type = component.known_logical().is_some_and(|logical| logical.is_block_type());
    match component.logical_name() {
        Some(name) if is_block_type => name.strip_prefix("gguf.").unwrap_or(name).to_owned(),
        Some(name) => format!("{} ({name})", component.dtype_name()),
        None => component.dtype_name().to_owned(),
    }
}

/// What the numbers of an object are called: by their type or, where several components make them, by their
/// scheme or their layout.
pub fn type_of_object(object: &Object<'_>) -> String {
    if let Some(scheme) = object.scheme() {
        return scheme.to_owned();
    }
    let data = object.component("data").filter(|_| object.format().is_array());
    data.map_or_else(|| object.format_name().to_owned(), |data| full_type_name(&data))
}

/// How the numbers of an object are stored: its type or, of a quantized weight, the scheme with its numbers.
pub fn storage_of(object: &Object<'_>) -> String {
    let name = type_of_object(object);
    let number = |key: &str| object.attributes().and_then(|map| map.get(key)).and_then(Value::as_u64);
    if object.scheme().is_none() {
        return name;
    }
    match (number("block_rows"), number("block_columns"), number("bits"), number("group_size")) {
        (Some(rows), Some(columns), ..) if object.shape() == [rows, columns] => {
            format!("{name}, a scale each")
        }
        (Some(1), ..) => format!("{name}, a scale for each row"),
        (Some(rows), Some(columns), ..) => format!("{name} in blocks of {rows} x {columns}"),
        (_, _, Some(bits), Some(group)) => format!("{name} of {bits} bits in groups of {group}"),
        (_, _, Some(bits), None) => format!("{name} of {bits} bits"),
        _ => name,
    }
}

/// Stored bytes of all components of an object.
pub fn stored_size(object: &Object<'_>) -> u64 {
    object.components().map(|component| component.stored_size()).fold(0, u64::saturating_add)
}

/// Groups items in order, with at most `max_size` bytes each. A larger item is a group of its own.
pub fn group_by_size<T>(
    items: impl IntoIterator<Item = T>,
    max_size: u64,
    size_of: impl Fn(&T) -> u64,
) -> Vec<Vec<T>> {
    let mut groups: Vec<Vec<T>> = Vec::new();
    let mut size = 0u64;
    for item in items {
        let own = size_of(&item);
        size = size.saturating_add(own);
        match groups.last_mut() {
            Some(group) if size <= max_size => group.push(item),
            _ => {
                size = own;
                groups.push(vec![item]);
            }
        }
    }
    groups
}

/// Releases the pages of a component that is not read again.
pub fn release(component: &Component<'_>) {
    let _ = component.advise(Advice::Release); // a hint
}

/// Whether an attribute of an object only repeats the type of its blocks.
pub fn restates_type(key: Option<&str>) -> bool {
    matches!(key, Some("elems_per_block" | "block_bytes"))
}

/// Whether its bytes can be decoded.
pub fn is_known(component: &Component<'_>) -> bool {
    component.dtype().is_some() && component.encoding() != Encoding::Other
}

/// Whether each element is a separate number, or a pair of numbers.
fn is_plain(component: &Component<'_>) -> bool {
    let is_plain = match component.logical() {
        LogicalType::Absent | LogicalType::SameAsDtype => true,
        LogicalType::Known(logical) => matches!(logical.numbers(), Numbers::OfDtype | Numbers::Float8(_)),
        LogicalType::Other => false,
    };
    is_plain && is_known(component)
}

/// Whether it represents the numbers of its whole object: blocks, packed floats, codes with scales.
pub fn is_quantized(component: &Component<'_>) -> bool {
    let object = component.object();
    object.codes().is_some_and(|codes| codes.number() == component.number()) && object.is_quantized()
}

/// Whether its numbers can be read.
pub fn are_numbers(component: &Component<'_>) -> bool {
    is_quantized(component) || is_plain(component) && !component.object().is_weight()
}

/// How many numbers an element has: 2 if it is complex.
pub fn numbers_of_element(component: &Component<'_>) -> u64 {
    let width = component.dtype().map_or(1, |dtype| dtype.size() as u64);
    match component.logical() {
        LogicalType::Known(logical) if is_plain(component) => (logical.block().bytes / width).max(1),
        _ => 1,
    }
}

/// The dtype of 8 bytes that its numbers are read as: integers that f64 does not hold stay what they are.
pub fn wide_dtype(component: &Component<'_>) -> Dtype {
    match component.dtype() {
        Some(wide @ (Dtype::I64 | Dtype::U64))
            if component.known_logical().is_none() && !is_quantized(component) =>
        {
            wide
        }
        _ => Dtype::F64,
    }
}

/// The same of all numbers of an object.
pub fn wide_dtype_of_object(object: &Object<'_>) -> Dtype {
    let role = if object.format().is_array() { "data" } else { "values" };
    object.component(role).map_or(Dtype::F64, |component| wide_dtype(&component))
}

/// Calls `body` with all its numbers, front to back.
pub fn each_chunk(component: &Component<'_>, body: &mut dyn FnMut(&[f64]) -> Result<()>) -> Result<()> {
    let mut numbers = Vec::new();
    each_number(component, &mut |bytes| {
        numbers.clear();
        numbers.extend(bytes.chunks_exact(8).map(|b| f64::from_ne_bytes(b.try_into().unwrap_or_default())));
        body(&numbers)
    })
}

/// Calls `body` with the bytes of all its numbers as f64, front to back.
pub fn each_number(component: &Component<'_>, body: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    match is_quantized(component) {
        true => component.object().for_each_number(Dtype::F64, true, body),
        false => component.for_each_converted(Dtype::F64, body),
    }
}

/// The name of an object in messages; of a component if the object has several.
pub fn shown(object: &Object<'_>, component: &Component<'_>) -> String {
    let name = crate::names::shown(object);
    match object.components().len() {
        1 => name.into_owned(),
        _ if is_quantized(component) => name.into_owned(),
        _ => format!("{name} ({})", crate::text::name(component.role())),
    }
}
