//! The differences between the values of two components.

use super::errors::Errors;
use super::pairs::{self, stopped, Reading};
use crate::interrupt::Interrupt;
use crate::number::{place, Number};
use crate::{elements, text};
use serde_json::{json, Value as Json};
use ztensor::error::{Cause, Error, Result};
use ztensor::model::dtype::Dtype;
use ztensor::model::manifest::Format;
use ztensor::reader::{Component, Object};

/// The size of a compared number in bytes.
const WIDTH: usize = 8;

/// Where, how often and by how much they differ.
#[derive(Debug, PartialEq)]
pub enum Values {
    /// Their sizes differ.
    Sizes(u64, u64),
    /// The bytes of elements that are not numbers, or of an unknown type, differ.
    Bytes { differ: u64, of: u64, first: u64 },
    /// Numbers differ. `first` is the first that differs; `is_finite` means that all that differ are finite.
    Numbers {
        differ: u64,
        of: u64,
        first: u64,
        pair: (Number, Number),
        errors: Errors,
        is_finite: bool,
        is_same_type: bool,
        per_element: u64,
    },
    /// Only the bits of equal numbers differ: signs of zeros, or bits of NaNs.
    Bits,
}

/// Whether they can be compared. Components with different types can only be compared as numbers.
pub fn are_comparable(a: &Component<'_>, b: &Component<'_>, is_same_type: bool) -> Result<bool> {
    let are_numbers = elements::are_numbers(a) && elements::are_numbers(b);
    Ok(is_same_type || are_numbers && count_of_numbers(a)? == count_of_numbers(b)?)
}

/// The differences between components of the same type, if there are any.
pub fn compare(a: &Component<'_>, b: &Component<'_>, interrupt: &Interrupt) -> Result<Option<Values>> {
    let are_numbers = elements::are_numbers(a) && elements::are_numbers(b);
    let known = elements::is_known(a) && elements::is_known(b);
    if known {
        let (size, other) = (a.size()?, b.size()?);
        if size != other {
            return Ok(Some(Values::Sizes(size, other)));
        }
    }
    let Some(found) = bytes(a, b, known, interrupt)? else { return Ok(None) };
    match are_numbers && known {
        true => Ok(numbers(a, b, true, interrupt)?.0.or(Some(Values::Bits))),
        false => Ok(Some(found)),
    }
}

/// Compares decoded bytes; stored bytes if the components cannot be decoded.
fn bytes(a: &Component<'_>, b: &Component<'_>, known: bool, interrupt: &Interrupt) -> Result<Option<Values>> {
    if !known {
        return stored(a, b);
    }
    if let (Ok(a), Ok(b)) = (a.borrow(), b.borrow()) {
        if a == b {
            return Ok(None);
        }
    }
    let (mut differ, mut of, mut first) = (0u64, 0u64, None);
    pairs::for_each(&|body| a.for_each_decoded(body), &|body| b.for_each_decoded(body), &mut |at, a, b| {
        interrupt.check().map_err(|_| stopped())?;
        of = at + a.len() as u64;
        if a != b {
            differ += a.iter().zip(b).filter(|(a, b)| a != b).count() as u64;
            let place = || a.iter().zip(b).position(|(a, b)| a != b).map(|place| at + place as u64);
            first = first.or_else(place);
        }
        Ok(())
    })?;
    Ok(first.map(|first| Values::Bytes { differ, of, first }))
}

/// Compares the stored bytes of components with an unknown encoding or type. They are read as a whole.
fn stored(a: &Component<'_>, b: &Component<'_>) -> Result<Option<Values>> {
    let read = |component: &Component<'_>| -> Result<Vec<u8>> {
        let size = component.stored_size();
        let mut bytes = Vec::new();
        let none = || Error::new(Cause::OutOfMemory, format_args!("no memory for {size} stored bytes"));
        bytes.try_reserve_exact(usize::try_from(size).map_err(|_| none())?).map_err(|_| none())?;
        bytes.resize(size as usize, 0);
        component.read_stored(&mut bytes)?;
        Ok(bytes)
    };
    if a.encoding_name() != b.encoding_name() || a.stored_size() != b.stored_size() {
        return Ok(Some(Values::Sizes(a.stored_size(), b.stored_size())));
    }
    let (a, b) = (read(a)?, read(b)?);
    let differ = a.iter().zip(&b).filter(|(a, b)| a != b).count() as u64;
    let first = a.iter().zip(&b).position(|(a, b)| a != b);
    Ok(first.map(|first| Values::Bytes { differ, of: a.len() as u64, first: first as u64 }))
}

/// How many numbers it has, and how many numbers an element has.
fn count_of_numbers(component: &Component<'_>) -> Result<(u64, u64)> {
    let per_element = elements::numbers_of_element(component);
    if elements::is_quantized(component) {
        return Ok((component.object().size_as(Dtype::F64)? / WIDTH as u64, per_element));
    }
    let width = component.dtype().map_or(1, |dtype| dtype.size() as u64);
    Ok((component.size()? / width, per_element))
}

/// The differences between the numbers of components with the same count, and the errors.
pub fn numbers(
    a: &Component<'_>,
    b: &Component<'_>,
    is_same_type: bool,
    interrupt: &Interrupt,
) -> Result<(Option<Values>, Errors)> {
    let read =
        |component: &Component<'_>, body: &mut dyn FnMut(&[u8]) -> Result<()>| match elements::wide_dtype(
            component,
        ) {
            Dtype::F64 => elements::each_number(component, body),
            _ => component.for_each_decoded(body),
        };
    let numbers = [a, b].map(|component| Number::reader(elements::wide_dtype(component)));
    let per_element = elements::numbers_of_element(a);
    let sides: [&Reading<'_>; 2] = [&|body| read(a, body), &|body| read(b, body)];
    compare_numbers(sides, numbers, is_same_type, per_element, interrupt)
}

/// The same for all numbers of objects with equal shapes, however they are stored. `None` if they cannot be
/// read.
pub fn numbers_of_objects(
    a: &Object<'_>,
    b: &Object<'_>,
    interrupt: &Interrupt,
) -> Result<Option<(Option<Values>, Errors)>> {
    let is_sparse = |object: &Object<'_>| matches!(object.format(), Format::SparseCsr | Format::SparseCoo);
    let size = |object: &Object<'_>| object.size_as(Dtype::F64).ok();
    let Some(of_a) = size(a).filter(|of_a| size(b) == Some(*of_a)) else { return Ok(None) };
    // A sparse shape may be much larger than the stored data.
    if is_sparse(a) && is_sparse(b) {
        return Ok(None);
    }
    let count = a.element_count().unwrap_or(0);
    let per_element = (of_a / WIDTH as u64).checked_div(count).unwrap_or(1);
    let wide = [a, b].map(elements::wide_dtype_of_object);
    let sides: [&Reading<'_>; 2] =
        [&|body| a.for_each_number(wide[0], true, body), &|body| b.for_each_number(wide[1], true, body)];
    compare_numbers(sides, wide.map(Number::reader), false, per_element, interrupt).map(Some)
}

fn compare_numbers(
    [a, b]: [&Reading<'_>; 2],
    numbers: [fn([u8; 8]) -> Number; 2],
    is_same_type: bool,
    per_element: u64,
    interrupt: &Interrupt,
) -> Result<(Option<Values>, Errors)> {
    let (mut differ, mut of, mut first) = (0u64, 0u64, None);
    let (mut errors, mut is_finite) = (Errors::default(), true);
    let [of_a, of_b] = numbers.map(|number| move |bytes: &[u8]| number(bytes.try_into().unwrap_or_default()));
    pairs::for_each(a, b, &mut |at, a, b| {
        interrupt.check().map_err(|_| stopped())?;
        let begin = at / WIDTH as u64;
        for (index, (a, b)) in a.chunks_exact(WIDTH).zip(b.chunks_exact(WIDTH)).enumerate() {
            let (x, y) = (of_a(a), of_b(b));
            let distance = x.distance(y);
            errors.add(x.as_float(), distance);
            if !x.is(y) {
                differ += 1;
                first.get_or_insert((begin + index as u64, (x, y)));
                is_finite &= distance.is_finite();
            }
        }
        of = begin + (a.len() / WIDTH) as u64;
        Ok(())
    })?;
    let values = first.map(|(first, pair)| Values::Numbers {
        differ,
        of,
        first,
        pair,
        errors,
        is_finite,
        is_same_type,
        per_element,
    });
    Ok((values, errors))
}

impl Values {
    pub fn shown(&self, shape: &[u64]) -> String {
        match self {
            Values::Sizes(a, b) => format!("{a} bytes and {b}"),
            Values::Bytes { differ, of, first } => {
                format!("{differ} of {of} bytes differ, the first at byte {first}")
            }
            Values::Bits => String::from(
                "the same numbers with other bits: signs of zeros, kinds of NaN, or other bytes of true",
            ),
            Values::Numbers {
                differ,
                of,
                first,
                pair: (a, b),
                errors,
                is_finite,
                is_same_type,
                per_element,
            } => {
                let at = match place(first / per_element, shape) {
                    Some(place) => text::shape(&place),
                    None => first.to_string(),
                };
                // Numbers that only differ in a late digit must not look equal.
                let mut shown = (a.shown(), b.shown());
                if shown.0 == shown.1 {
                    shown = (a.as_json().to_string(), b.as_json().to_string());
                }
                let more = if *is_finite { "" } else { ", some of them to infinity or NaN" };
                let largest = text::number(errors.largest);
                let means = match is_same_type {
                    true => String::new(),
                    false => format!(", {}", errors.means_shown()),
                };
                format!(
                    "{differ} of {of} numbers differ, at most by {largest}{more}{means}, the first at {at}: {} and {}",
                    shown.0, shown.1
                )
            }
        }
    }

    pub fn as_json(&self, shape: &[u64]) -> Json {
        match self {
            Values::Sizes(a, b) => json!({ "unit": "size", "first": a, "second": b }),
            Values::Bytes { differ, of, first } => {
                json!({ "unit": "byte", "differ": differ, "of": of, "first_at": first })
            }
            Values::Bits => json!({ "unit": "bits" }),
            Values::Numbers { differ, of, first, pair: (a, b), errors, is_finite, per_element, .. } => {
                json!({
                    "unit": "number",
                    "differ": differ,
                    "of": of,
                    "first_at": first,
                    "first_place": place(first / per_element, shape),
                    "first": a.as_json(),
                    "second": b.as_json(),
                    "largest": errors.largest,
                    "rmse": errors.rmse(),
                    "nmse": errors.nmse(),
                    "all_finite": is_finite,
                })
            }
        }
    }
}
