//! How the values of two components differ.

use super::{pairs, stopped};
use crate::interrupt::Interrupt;
use crate::{elements, text};
use serde_json::{json, Value as Json};
use ztensor::error::{Cause, Error, Result};
use ztensor::reader::Component;

/// Where, how often and how much they differ.
#[derive(Debug, PartialEq)]
pub enum Values {
    /// There is another number of bytes.
    Sizes(u64, u64),
    /// Bytes of elements that are no numbers, or of which nothing is known.
    Bytes { differ: u64, of: u64, first: u64 },
    /// Numbers. `largest` is the greatest distance of two that are finite, `first` the first one that differs.
    Numbers {
        differ: u64,
        of: u64,
        first: u64,
        pair: (f64, f64),
        largest: f64,
        is_finite: bool,
        per_element: u64,
    },
    /// Bytes of numbers that are the same: zeros with another sign, NaN with other bits.
    Bits,
}

/// How they differ, if they do. Of another type they are compared as numbers alone.
pub fn compare(
    a: &Component<'_>,
    b: &Component<'_>,
    is_same_type: bool,
    interrupt: &Interrupt,
) -> Result<Option<Values>> {
    let are_numbers = elements::are_numbers(a) && elements::are_numbers(b);
    if !is_same_type {
        return if are_numbers { numbers(a, b, interrupt) } else { Ok(None) };
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

/// Of decoded bytes or, of what cannot be decoded, the stored ones.
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

/// Of bytes as they are stored, which are read whole: they are of an encoding or type that nobody knows.
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

fn numbers(a: &Component<'_>, b: &Component<'_>, interrupt: &Interrupt) -> Result<Option<Values>> {
    const WIDTH: usize = 8;
    let (mut differ, mut of, mut first) = (0u64, 0u64, None);
    let (mut largest, mut is_finite) = (0f64, true);
    let as_bytes = |component: &Component<'_>, body: &mut dyn FnMut(&[u8]) -> Result<()>| {
        component.for_each_converted(ztensor::model::dtype::Dtype::F64, body)
    };
    let number = |bytes: &[u8]| f64::from_ne_bytes(bytes.try_into().unwrap_or_default());
    pairs::for_each(&|body| as_bytes(a, body), &|body| as_bytes(b, body), &mut |at, a, b| {
        interrupt.check().map_err(|_| stopped())?;
        let begin = at / WIDTH as u64;
        for (index, (a, b)) in a.chunks_exact(WIDTH).zip(b.chunks_exact(WIDTH)).enumerate() {
            let (x, y) = (number(a), number(b));
            if x == y || x.is_nan() && y.is_nan() {
                continue;
            }
            differ += 1;
            first.get_or_insert((begin + index as u64, (x, y)));
            let distance = (x - y).abs();
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
            Values::Bits => String::from("the same numbers by other bits: signs of zeros, or kinds of NaN"),
            Values::Numbers { differ, of, first, pair: (a, b), largest, is_finite, per_element } => {
                let at = match place(first / per_element, shape) {
                    Some(place) => text::shape(&place),
                    None => first.to_string(),
                };
                let more = if *is_finite { "" } else { ", some of them to infinity or NaN" };
                format!(
                    "{differ} of {of} numbers differ, at most by {}{more}, the first at {at}: {} and {}",
                    text::number(*largest),
                    text::number(*a),
                    text::number(*b)
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
                "first": a,
                "second": b,
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
