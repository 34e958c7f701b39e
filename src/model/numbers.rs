//! Converts between numbers of an attribute and elements of a dtype in memory, in the host's byte order.
//! Nothing is rounded.

use super::dtype::Dtype;
use super::value::{read_wide, Value, ValueBuilder, ValueKind};
use crate::error::{fail, Result};
use half::{bf16, f16};
use std::fmt;

/// Puts an array of elements. `bytes` is a whole number of elements.
pub(crate) fn array(dtype: Dtype, bytes: &[u8], to: &mut ValueBuilder<'_>) -> Result<()> {
    match bytes.iter().position(|byte| *byte > 1).filter(|_| dtype == Dtype::Bool) {
        Some(at) => Err(fail!(InvalidArgument, "element {at} is a bool that is neither 0 nor 1")),
        None => to.numbers(dtype, bytes),
    }
}

/// Puts a number as `dtype`. Fails if the dtype cannot hold it exactly.
pub(crate) fn state(number: Value<'_>, dtype: Dtype, to: &mut ValueBuilder<'_>) -> Result<()> {
    let Some(element) = element(number, dtype) else {
        return Err(fail!(InvalidArgument, "{} cannot hold {} exactly", dtype.name(), Shown(number)));
    };
    to.number(dtype, element.get(..dtype.size()).unwrap_or_default())
}

/// Fills `dst` with the items of an array, or with one number or bool. `dst` has space for all of them. It is
/// changed only if the dtype can hold all of them exactly.
pub(crate) fn read(value: Value<'_>, dtype: Dtype, dst: &mut [u8]) -> Result<()> {
    let ValueKind::Array(items) = value.kind() else { return read_each(std::iter::once(value), dtype, dst) };
    let Some(records) = items.elements(dtype) else {
        return if read_wide(items, dtype, dst) { Ok(()) } else { read_each(items.iter(), dtype, dst) };
    };
    match dtype.size() {
        1 if dtype == Dtype::Bool => return read_each(items.iter(), dtype, dst),
        1 => untag_each::<1>(records, dst),
        2 => untag_each::<2>(records, dst),
        4 => untag_each::<4>(records, dst),
        _ => untag_each::<8>(records, dst),
    }
    Ok(())
}

/// Copies the elements without the tag byte before each.
fn untag_each<const SIZE: usize>(records: &[u8], dst: &mut [u8]) {
    for (record, place) in records.chunks_exact(SIZE.saturating_add(1)).zip(dst.chunks_exact_mut(SIZE)) {
        place.copy_from_slice(record.get(1..).unwrap_or_default());
    }
}

fn read_each<'a>(items: impl Iterator<Item = Value<'a>> + Clone, dtype: Dtype, dst: &mut [u8]) -> Result<()> {
    let size = dtype.size();
    for (at, item) in items.clone().enumerate() {
        if element(item, dtype).is_none() {
            return Err(fail!(
                InvalidArgument,
                "element {at} is {}, which {} cannot hold exactly",
                Shown(item),
                dtype.name()
            ));
        }
    }
    for (item, place) in items.zip(dst.chunks_exact_mut(size)) {
        let bytes = element(item, dtype).unwrap_or_default();
        place.copy_from_slice(bytes.get(..size).unwrap_or_default());
    }
    Ok(())
}

/// Shows a value in a message: a number, or else the kind of the value.
struct Shown<'a>(Value<'a>);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0.kind() {
            ValueKind::Unsigned(number) => return number.fmt(f),
            ValueKind::Negative(number) => return (!i128::from(number)).fmt(f), // this is -1 - number
            ValueKind::Float(number) => return write!(f, "{number:?}"),
            ValueKind::Bool(truth) => return truth.fmt(f),
            ValueKind::Null => "null",
            ValueKind::Text(_) => "a string",
            ValueKind::Bytes(_) => "a byte string",
            ValueKind::Array(_) => "an array",
            ValueKind::Map(_) => "a map",
            ValueKind::Tag(..) => "a tag",
            ValueKind::Simple(_) => "a simple value",
        })
    }
}

/// The bytes of an element; `None` if the dtype cannot hold it exactly.
#[inline(always)]
fn element(value: Value<'_>, dtype: Dtype) -> Option<[u8; 8]> {
    fn padded(bytes: &[u8]) -> [u8; 8] {
        let mut all = [0; 8];
        all.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
        all
    }
    // Copy the bits, including those of a NaN. Only bools are normalised below, because a bool in a file may
    // be any byte.
    let stated = value.element().filter(|(stated, _)| *stated == dtype && dtype != Dtype::Bool);
    if let Some((_, bytes)) = stated {
        return Some(padded(bytes));
    }
    Some(match dtype {
        Dtype::F64 => padded(&float(value)?.to_ne_bytes()),
        Dtype::F32 => {
            let wide = float(value)?;
            #[allow(clippy::cast_possible_truncation, reason = "held against what it was")]
            let narrow = wide as f32;
            padded(&same(f64::from(narrow), wide).then(|| narrow.to_ne_bytes())?)
        }
        Dtype::F16 => {
            let wide = float(value)?;
            let narrow = f16::from_f64(wide);
            padded(&same(narrow.to_f64(), wide).then(|| narrow.to_ne_bytes())?)
        }
        Dtype::Bf16 => {
            let wide = float(value)?;
            let narrow = bf16::from_f64(wide);
            padded(&same(narrow.to_f64(), wide).then(|| narrow.to_ne_bytes())?)
        }
        Dtype::I64 => padded(&value.as_i64()?.to_ne_bytes()),
        Dtype::I32 => padded(&i32::try_from(value.as_i64()?).ok()?.to_ne_bytes()),
        Dtype::I16 => padded(&i16::try_from(value.as_i64()?).ok()?.to_ne_bytes()),
        Dtype::I8 => padded(&i8::try_from(value.as_i64()?).ok()?.to_ne_bytes()),
        Dtype::U64 => padded(&value.as_u64()?.to_ne_bytes()),
        Dtype::U32 => padded(&u32::try_from(value.as_u64()?).ok()?.to_ne_bytes()),
        Dtype::U16 => padded(&u16::try_from(value.as_u64()?).ok()?.to_ne_bytes()),
        Dtype::U8 => padded(&u8::try_from(value.as_u64()?).ok()?.to_ne_bytes()),
        Dtype::Bool => match value.kind() {
            ValueKind::Bool(truth) => padded(&[u8::from(truth)]),
            _ => return None,
        },
    })
}

/// The value as a float, if a double can hold it exactly.
fn float(value: Value<'_>) -> Option<f64> {
    #[allow(clippy::cast_precision_loss, reason = "held against what it was")]
    match value.kind() {
        ValueKind::Float(v) => Some(v),
        ValueKind::Unsigned(v) => Some(v as f64).filter(|f| is_exact(v, *f)),
        // -1 - n is exact if n + 1 is. 2^64 is exact, too.
        ValueKind::Negative(n) => match n.checked_add(1) {
            Some(v) => Some(-(v as f64)).filter(|f| is_exact(v, -f)),
            None => Some(-18_446_744_073_709_551_616.0),
        },
        _ => None,
    }
}

/// Whether `rounded`, the nearest double to `v`, equals `v`.
fn is_exact(v: u64, rounded: f64) -> bool {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 2^64")]
    let back = rounded as u128;
    back == u128::from(v)
}

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::value::OwnedValue;

    fn float_of(kind: ValueKind<'_>) -> Option<f64> {
        float(OwnedValue::scalar(kind).unwrap().get())
    }

    #[test]
    fn integers_are_doubles_only_where_no_bit_is_lost() {
        assert_eq!(float_of(ValueKind::Unsigned(1 << 53)), Some(9_007_199_254_740_992.0));
        assert_eq!(float_of(ValueKind::Unsigned((1 << 53) + 1)), None);
        assert_eq!(float_of(ValueKind::Unsigned(u64::MAX)), None);
        assert_eq!(float_of(ValueKind::Negative(u64::MAX)), Some(-18_446_744_073_709_551_616.0));
        assert_eq!(float_of(ValueKind::Negative(0)), Some(-1.0));
        assert_eq!(float_of(ValueKind::Bool(true)), None);
    }

    #[test]
    fn elements_of_every_dtype_come_back_as_they_were() {
        for dtype in Dtype::ALL {
            let size = dtype.size();
            // Bytes that are all 0 or 1 are valid numbers for every dtype, including bool.
            let bytes: Vec<u8> = (0..8 * size).map(|at| u8::from(at % 3 == 0)).collect();
            let value = OwnedValue::build(|to| array(dtype, &bytes, to)).unwrap();
            let mut back = vec![7; bytes.len()];
            read(value.get(), dtype, &mut back).unwrap();
            assert_eq!(back, bytes, "{}", dtype.name());
        }
    }

    #[test]
    fn a_bool_of_any_byte_is_0_or_1() {
        let array = OwnedValue::build(|to| to.numbers(Dtype::Bool, &[0, 1, 2, 255])).unwrap();
        let mut read_back = [9; 4];
        read(array.get(), Dtype::Bool, &mut read_back).unwrap();
        assert_eq!(read_back, [0, 1, 1, 1]);
        let one = OwnedValue::build(|to| to.number(Dtype::Bool, &[7])).unwrap();
        read(one.get(), Dtype::Bool, &mut read_back[..1]).unwrap();
        assert_eq!((read_back[0], one.get().as_u64()), (1, None));
    }

    #[test]
    fn what_does_not_fit_leaves_all_as_it_was() {
        let elements = [1u16, 256].map(u16::to_ne_bytes).concat();
        let value = OwnedValue::build(|to| array(Dtype::U16, &elements, to)).unwrap();
        let mut dst = [9; 2];
        let error = read(value.get(), Dtype::U8, &mut dst).unwrap_err();
        assert!(error.to_string().contains("element 1"), "{error}");
        assert_eq!(dst, [9; 2]);
    }

    #[test]
    fn numbers_without_a_width_are_the_same_read_all_at_once_and_each_by_itself() {
        let floats = [0.0, -0.0, 1.5, -3e38, 1e-45, 0.1, 1e39, f64::INFINITY, f64::NAN].map(ValueKind::Float);
        let (low, high) = (1 << 31, u64::MAX);
        let unsigned = [0, 7, low - 1, low, high].map(ValueKind::Unsigned);
        let negative = [0, 7, low - 1, low, high].map(ValueKind::Negative);
        let others =
            [ValueKind::Bool(true), ValueKind::Null, ValueKind::Simple(0), ValueKind::Bytes(b"sixsix")];
        let kinds = [&floats[..], &unsigned, &negative, &others].concat();
        let (mut fast, mut pairs) = (0, 0);
        for (a, b) in kinds.iter().flat_map(|a| kinds.iter().map(move |b| (*a, *b))) {
            let value = OwnedValue::build(|to| {
                to.begin_array(crate::model::value::Element::Any, Some(2))?;
                put(a, to)?;
                put(b, to)?;
                to.end().map(drop)
            });
            let value = value.unwrap();
            let ValueKind::Array(items) = value.get().kind() else { panic!() };
            for dtype in Dtype::ALL {
                let (mut wide, mut each) = (vec![9; 2 * dtype.size()], vec![9; 2 * dtype.size()]);
                let (is_wide, is_each) =
                    (read_wide(items, dtype, &mut wide), read_each(items.iter(), dtype, &mut each).is_ok());
                assert!(wide == if is_wide { each } else { vec![9; wide.len()] }, "{a:?} {b:?}");
                assert!(is_each || !is_wide, "{a:?} {b:?}");
                (fast, pairs) = (fast + usize::from(is_wide), pairs + usize::from(is_each));
            }
        }
        assert!(fast > 50 && pairs > fast, "{fast} {pairs}");
    }

    fn put(kind: ValueKind<'_>, to: &mut ValueBuilder<'_>) -> Result<()> {
        match kind {
            ValueKind::Float(v) => to.float(v),
            ValueKind::Unsigned(v) => to.unsigned(v),
            ValueKind::Negative(v) => to.negative(v),
            ValueKind::Bool(v) => to.boolean(v),
            ValueKind::Bytes(v) => to.bytes(v),
            ValueKind::Simple(v) => to.simple(v),
            _ => to.null(),
        }
    }

    #[test]
    fn a_stated_number_comes_back_bit_for_bit() {
        // A signalling NaN. Widening would make it quiet.
        let bits = 0x7f80_1234_u32.to_ne_bytes();
        let value = OwnedValue::build(|to| to.number(Dtype::F32, &bits)).unwrap();
        let mut back = [0; 4];
        read(value.get(), Dtype::F32, &mut back).unwrap();
        assert_eq!(back, bits);
    }
}
