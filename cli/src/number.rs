//! Single numbers of tensors, and their positions.

use crate::text;
use serde_json::{json, Value as Json};
use ztensor::model::dtype::Dtype;

/// A number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    Float(f64),
    /// A number of a type that f64 cannot hold exactly.
    Integer(i128),
}

impl Number {
    /// A function that makes a number from 8 bytes of a dtype.
    pub fn reader(dtype: Dtype) -> fn([u8; 8]) -> Number {
        match dtype {
            Dtype::I64 => |bytes| Number::Integer(i64::from_ne_bytes(bytes).into()),
            Dtype::U64 => |bytes| Number::Integer(u64::from_ne_bytes(bytes).into()),
            _ => |bytes| Number::Float(f64::from_ne_bytes(bytes)),
        }
    }

    /// Whether they are the same. NaN equals NaN.
    pub fn is(self, other: Number) -> bool {
        match (self, other) {
            (Number::Float(a), Number::Float(b)) => a == b || a.is_nan() && b.is_nan(),
            _ => self.as_integer().is_some() && self.as_integer() == other.as_integer(),
        }
    }

    pub fn distance(self, other: Number) -> f64 {
        match (self, other) {
            (Number::Float(a), Number::Float(b)) => (a - b).abs(),
            _ => match (self.as_integer(), other.as_integer()) {
                (Some(a), Some(b)) => a.abs_diff(b) as f64,
                _ => (self.as_float() - other.as_float()).abs(),
            },
        }
    }

    /// Its value, if that is an integer of 64 bits or a little more.
    fn as_integer(self) -> Option<i128> {
        const MOST: f64 = 1e30;
        match self {
            Number::Integer(number) => Some(number),
            Number::Float(number) => (number.fract() == 0.0 && number.abs() < MOST).then_some(number as i128),
        }
    }

    pub fn as_float(self) -> f64 {
        match self {
            Number::Float(number) => number,
            Number::Integer(number) => number as f64,
        }
    }

    pub fn shown(self) -> String {
        match self {
            Number::Float(number) => text::number(number),
            Number::Integer(number) => number.to_string(),
        }
    }

    pub fn as_json(self) -> Json {
        match self {
            Number::Float(number) => json!(number),
            Number::Integer(number) => {
                i64::try_from(number).map_or_else(|_| json!(number as u64), |small| json!(small))
            }
        }
    }
}

/// A number in JSON, which has none that is infinite or NaN: these are texts that Python and JavaScript take for
/// numbers.
pub fn any_in_json(number: Number) -> Json {
    match number {
        Number::Float(number) if number.is_nan() => json!("NaN"),
        Number::Float(number) if number.is_infinite() => {
            json!(if number > 0.0 { "Infinity" } else { "-Infinity" })
        }
        other => other.as_json(),
    }
}

/// The position of an element in its tensor, outermost dimension first; `None` if the shape does not
/// determine it.
pub fn place(mut element: u64, shape: &[u64]) -> Option<Vec<u64>> {
    let mut place = vec![0; shape.len()];
    for (at, &dimension) in shape.iter().enumerate().rev() {
        place[at] = element.checked_rem(dimension)?;
        element /= dimension;
    }
    (element == 0).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_floats_are_compared_exactly() {
        use Number::{Float, Integer};
        let large = 1i128 << 53;
        for (a, b, distance) in [
            (Integer(large), Float(large as f64), 0.0),
            (Integer(large + 1), Float(large as f64), 1.0),
            (Float(large as f64), Integer(large + 1), 1.0),
            (Integer(i128::from(u64::MAX)), Float(u64::MAX as f64), 1.0),
            (Integer(-1), Integer(i128::from(u64::MAX)), 18_446_744_073_709_551_616.0),
            (Integer(0), Float(-0.0), 0.0),
            (Integer(2), Float(2.5), 0.5),
            (Integer(2), Float(1e300), 1e300),
        ] {
            assert_eq!((a.is(b), a.distance(b)), (distance == 0.0, distance), "{a:?} {b:?}");
        }
        assert!(!Integer(0).is(Float(f64::NAN)) && !Integer(0).is(Float(f64::INFINITY)));
        assert!(Float(1e300).is(Float(1e300)) && Integer(0).distance(Float(f64::INFINITY)).is_infinite());
    }

    #[test]
    fn places_are_those_of_the_shape() {
        assert_eq!(place(0, &[]), Some(vec![]));
        assert_eq!(place(7, &[2, 3, 4]), Some(vec![0, 1, 3]));
        assert_eq!(place(23, &[2, 3, 4]), Some(vec![1, 2, 3]));
        assert_eq!(place(24, &[2, 3, 4]), None);
        assert_eq!(place(0, &[0]), None);
    }
}
