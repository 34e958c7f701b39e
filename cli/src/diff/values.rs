//! How the values of two components differ.

use super::pairs::{self, stopped};
use crate::interrupt::Interrupt;
use crate::{elements, text};
use serde_json::{json, Value as Json};
use ztensor::error::{Cause, Error, Result};
use ztensor::model::dtype::Dtype;
use ztensor::reader::Component;

/// Where, how often and how much they differ.
#[derive(Debug, PartialEq)]
pub enum Values {
    /// There is another number of bytes.
    Sizes(u64, u64),
    /// Bytes of elements that are not numbers, or of an unknown type.
    Bytes { differ: u64, of: u64, first: u64 },
    /// Numbers. `largest` is the greatest distance of two that are finite, `first` the first one that
    /// differs.
    Numbers {
        differ: u64,
        of: u64,
        first: u64,
        pair: (Number, Number),
        largest: f64,
        is_finite: bool,
        per_element: u64,
    },
    /// Bytes of numbers that are the same: zeros with another sign, NaN with other bits.
    Bits,
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    Float(f64),
    /// A number of a type that f64 cannot hold without loss.
    Integer(i128),
}

impl Number {
    /// Whether they are the same; NaN is the same as NaN.
    fn is(self, other: Number) -> bool {
        match (self, other) {
            (Number::Float(a), Number::Float(b)) => a == b || a.is_nan() && b.is_nan(),
            _ => self == other,
        }
    }

    fn distance(self, other: Number) -> f64 {
        match (self, other) {
            (Number::Integer(a), Number::Integer(b)) => a.abs_diff(b) as f64,
            _ => (self.as_float() - other.as_float()).abs(),
        }
    }

    fn as_float(self) -> f64 {
        match self {
            Number::Float(number) => number,
            Number::Integer(number) => number as f64,
        }
    }

    fn shown(self) -> String {
        match self {
            Number::Float(number) => text::number(number),
            Number::Integer(number) => number.to_string(),
        }
    }

    fn as_json(self) -> Json {
        match self {
            Number::Float(number) => json!(number),
            Number::Integer(number) => {
                i64::try_from(number).map_or_else(|_| json!(number as u64), |small| json!(small))
            }
        }
    }
}

/// Whether they can be compared: components of different types only as numbers.
pub fn are_comparable(a: &Component<'_>, b: &Component<'_>, is_same_type: bool) -> Result<bool> {
    let are_numbers = elements::are_numbers(a) && elements::are_numbers(b);
    Ok(is_same_type || are_numbers && count_of_numbers(a)? == count_of_numbers(b)?)
}

/// How components that can be compared differ, if they do.
pub fn compare(
    a: &Component<'_>,
    b: &Component<'_>,
    is_same_type: bool,
    interrupt: &Interrupt,
) -> Result<Option<Values>> {
    let are_numbers = elements::are_numbers(a) && elements::are_numbers(b);
    if !is_same_type {
        return numbers(a, b, interrupt);
    }
    let known = elements::is_known(a) && elements::is_known(b);
    if known {
        let (size, other) = (a.size()?, b.size()?);
        if size != other {
            return Ok(Some(Values::Sizes(size, other)));
        }
    }
    let Some(found) = bytes(a, b, known, interrupt)? else { return Ok(None) };
    match are_numbers && known {
        true => Ok(numbers(a, b, interrupt)?.or(Some(Values::Bits))),
        false => Ok(Some(found)),
    }
}

/// Compares decoded bytes, or the stored ones of components that cannot be decoded.
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

/// Compares stored bytes, which are read whole, of an unknown encoding or type.
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

/// How many numbers it has, and how many of them make an element.
fn count_of_numbers(component: &Component<'_>) -> Result<(u64, u64)> {
    let width = component.dtype().map_or(1, |dtype| dtype.size() as u64);
    Ok((component.size()? / width, elements::numbers_of_element(component)))
}

/// What is read of both, and what 8 bytes of it are: integers as they are, all else as floats.
fn number_of(a: &Component<'_>, b: &Component<'_>) -> (bool, fn([u8; 8]) -> Number) {
    match (a.dtype(), b.dtype()) {
        (Some(Dtype::I64), Some(Dtype::I64)) => {
            (true, |bytes| Number::Integer(i64::from_ne_bytes(bytes).into()))
        }
        (Some(Dtype::U64), Some(Dtype::U64)) => {
            (true, |bytes| Number::Integer(u64::from_ne_bytes(bytes).into()))
        }
        _ => (false, |bytes| Number::Float(f64::from_ne_bytes(bytes))),
    }
}

fn numbers(a: &Component<'_>, b: &Component<'_>, interrupt: &Interrupt) -> Result<Option<Values>> {
    const WIDTH: usize = 8;
    let (mut differ, mut of, mut first) = (0u64, 0u64, None);
    let (mut largest, mut is_finite) = (0f64, true);
    let (is_plain, number) = number_of(a, b);
    let read = |component: &Component<'_>, body: &mut dyn FnMut(&[u8]) -> Result<()>| match is_plain {
        true => component.for_each_decoded(body),
        false => component.for_each_converted(Dtype::F64, body),
    };
    let number = |bytes: &[u8]| number(bytes.try_into().unwrap_or_default());
    pairs::for_each(&|body| read(a, body), &|body| read(b, body), &mut |at, a, b| {
        interrupt.check().map_err(|_| stopped())?;
        let begin = at / WIDTH as u64;
        for (index, (a, b)) in a.chunks_exact(WIDTH).zip(b.chunks_exact(WIDTH)).enumerate() {
            let (x, y) = (number(a), number(b));
            if x.is(y) {
                continue;
            }
            differ += 1;
            first.get_or_insert((begin + index as u64, (x, y)));
            let distance = x.distance(y);
            is_finite &= distance.is_finite();
            if distance.is_finite() {
                largest = largest.max(distance);
            }
        }
        of = begin + (a.len() / WIDTH) as u64;
        Ok(())
    })?;
    let per_element = elements::numbers_of_element(a);
    let found = |(first, pair)| Values::Numbers { differ, of, first, pair, largest, is_finite, per_element };
    Ok(first.map(found))
}

/// The place of an element in its tensor, outermost first; none where the shape does not tell.
fn place(mut element: u64, shape: &[u64]) -> Option<Vec<u64>> {
    let mut place = vec![0; shape.len()];
    for (at, &dimension) in shape.iter().enumerate().rev() {
        place[at] = element.checked_rem(dimension)?;
        element /= dimension;
    }
    (element == 0).then_some(place)
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
            Values::Numbers { differ, of, first, pair: (a, b), largest, is_finite, per_element } => {
                let at = match place(first / per_element, shape) {
                    Some(place) => text::shape(&place),
                    None => first.to_string(),
                };
                // Two that differ in a late digit are not shown as the same.
                let mut shown = (a.shown(), b.shown());
                if shown.0 == shown.1 {
                    shown = (a.as_json().to_string(), b.as_json().to_string());
                }
                let more = if *is_finite { "" } else { ", some of them to infinity or NaN" };
                format!(
                    "{differ} of {of} numbers differ, at most by {}{more}, the first at {at}: {} and {}",
                    text::number(*largest),
                    shown.0,
                    shown.1
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
            Values::Numbers { differ, of, first, pair: (a, b), largest, is_finite, per_element } => json!({
                "unit": "number",
                "differ": differ,
                "of": of,
                "first_at": first,
                "first_place": place(first / per_element, shape),
                "first": a.as_json(),
                "second": b.as_json(),
                "largest": largest,
                "all_finite": is_finite,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_the_shape() {
        assert_eq!(place(0, &[]), Some(vec![]));
        assert_eq!(place(7, &[2, 3, 4]), Some(vec![0, 1, 3]));
        assert_eq!(place(23, &[2, 3, 4]), Some(vec![1, 2, 3]));
        assert_eq!(place(24, &[2, 3, 4]), None);
        assert_eq!(place(0, &[0]), None);
    }
}
