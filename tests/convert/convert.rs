//! Reads elements as another type: every pair of types, with values at the limits of each.

use crate::common;

use common::{Part, Sample};
use half::{bf16, f16};
use ztensor::error::Cause;
use ztensor::model::dtype::{Dtype, Logical};
use ztensor::model::manifest::Encoding;
use ztensor::model::value::Attributes;
use ztensor::writer::{ComponentSpec, LogicalSpec, ObjectSpec, WriterOptions};

/// One element's exact value.
#[derive(Clone, Copy, Debug)]
enum Number {
    Integer(i128),
    Float(f64),
}

/// Values near a limit, a tie or a special case of a type.
fn floats() -> Vec<f64> {
    let mut all = vec![0.0, 0.5, 1.0, 1.5, 2.5, 1.0 / 3.0, 127.5, 128.0, 255.5, 256.0, 257.0, 448.0, 2049.0];
    all.extend([
        32767.5,
        65504.0,
        65519.99,
        65520.0,
        65535.5,
        1e10,
        2147483647.5,
        4294967296.0,
        9.3e18,
        1.9e19,
    ]);
    all.extend([
        3.3895e38,
        3.4028236e38,
        1e300,
        6e-8,
        2.98e-8,
        2.99e-8,
        1e-40,
        7e-46,
        5e-324,
        f64::INFINITY,
        f64::NAN,
    ]);
    // Halfway between two f16, bf16 or f32, and slightly above and below.
    for tie in [1.0 + 2f64.powi(-11), 1.0 + 3.0 * 2f64.powi(-11), 1.0 + 2f64.powi(-8), 1.0 + 2f64.powi(-24)] {
        all.extend([tie, f64::from_bits(tie.to_bits() - 1), f64::from_bits(tie.to_bits() + 1)]);
    }
    all.iter().flat_map(|v| [*v, -*v]).collect()
}

fn integers() -> Vec<i128> {
    let mut all = vec![0, 1, 2, 100, 257, 259, 2049, 2051, 65519, 65520];
    for bits in [7, 8, 15, 16, 24, 31, 32, 53, 63, 64] {
        all.extend([(1 << bits) - 1, 1 << bits, (1 << bits) + 1]);
    }
    all.iter().flat_map(|v| [*v, -*v]).collect()
}

/// The bytes of source elements: the values above that the type can hold; for 8-bit types all codes.
fn source(dtype: Dtype) -> Vec<u8> {
    macro_rules! fitting {
        ($integer:ty) => {
            integers()
                .iter()
                .filter_map(|v| <$integer>::try_from(*v).ok())
                .flat_map(|v| v.to_ne_bytes())
                .collect()
        };
    }
    match dtype {
        Dtype::F64 => floats().iter().flat_map(|v| v.to_ne_bytes()).collect(),
        Dtype::F32 => floats().iter().flat_map(|v| (*v as f32).to_ne_bytes()).collect(),
        Dtype::F16 => (0..=u16::MAX).step_by(7).flat_map(|v| v.to_ne_bytes()).collect(),
        Dtype::Bf16 => (0..=u16::MAX).step_by(5).flat_map(|v| v.to_ne_bytes()).collect(),
        Dtype::I64 => fitting!(i64),
        Dtype::I32 => fitting!(i32),
        Dtype::I16 => fitting!(i16),
        Dtype::U64 => fitting!(u64),
        Dtype::U32 => fitting!(u32),
        Dtype::U16 => fitting!(u16),
        Dtype::I8 | Dtype::U8 => (0..=255).collect(),
        Dtype::Bool => vec![0, 1, 1, 0],
    }
}

/// An 8-bit float by its definition.
fn f8(code: u8, logical: Logical) -> f64 {
    let (mantissa_bits, bias) = match logical {
        Logical::F8E4m3fn => (3, 7),
        Logical::F8E5m2 => (2, 15),
        Logical::F8E4m3fnuz => (3, 8),
        Logical::F8E5m2fnuz => (2, 16),
        _ => unreachable!(),
    };
    let (magnitude, negative) = (code & 0x7f, code > 0x7f);
    let exponent = i32::from(magnitude >> mantissa_bits);
    let mantissa = f64::from(magnitude & ((1 << mantissa_bits) - 1));
    let one = f64::from(1 << mantissa_bits);
    let value = match (logical, code, magnitude) {
        (Logical::F8E4m3fnuz | Logical::F8E5m2fnuz, 0x80, _) | (Logical::F8E4m3fn, _, 0x7f) => f64::NAN,
        (Logical::F8E5m2, _, 0x7c) => f64::INFINITY,
        (Logical::F8E5m2, _, 0x7d..) => f64::NAN,
        _ if exponent == 0 => mantissa / one * 2f64.powi(1 - bias),
        _ => (1.0 + mantissa / one) * 2f64.powi(exponent - bias),
    };
    if negative {
        -value
    } else {
        value
    }
}

fn decoded(dtype: Dtype, logical: Option<Logical>, bytes: &[u8]) -> Vec<Number> {
    let element = |b: &[u8]| {
        macro_rules! as_is {
            ($type:ty) => {
                <$type>::from_ne_bytes(b.try_into().unwrap())
            };
        }
        match (dtype, logical) {
            (Dtype::U8, Some(logical)) => Number::Float(f8(b[0], logical)),
            (Dtype::F64, _) => Number::Float(as_is!(f64)),
            (Dtype::F32, _) => Number::Float(f64::from(as_is!(f32))),
            (Dtype::F16, _) => Number::Float(f16::from_bits(as_is!(u16)).to_f64()),
            (Dtype::Bf16, _) => Number::Float(bf16::from_bits(as_is!(u16)).to_f64()),
            (Dtype::I64, _) => Number::Integer(as_is!(i64).into()),
            (Dtype::I32, _) => Number::Integer(as_is!(i32).into()),
            (Dtype::I16, _) => Number::Integer(as_is!(i16).into()),
            (Dtype::I8, _) => Number::Integer(as_is!(i8).into()),
            (Dtype::U64, _) => Number::Integer(as_is!(u64).into()),
            (Dtype::U32, _) => Number::Integer(as_is!(u32).into()),
            (Dtype::U16, _) => Number::Integer(as_is!(u16).into()),
            (Dtype::U8 | Dtype::Bool, _) => Number::Integer(b[0].into()),
        }
    };
    bytes.chunks_exact(dtype.size()).map(element).collect()
}

/// An integer of at most 65 bits rounded to `bits` significant bits, ties to even. The result is exact in
/// f64.
fn round_integer(value: i128, bits: u32) -> f64 {
    let magnitude = value.unsigned_abs();
    let drop = (128 - magnitude.leading_zeros()).saturating_sub(bits);
    let (kept, lost, half) = (magnitude >> drop, magnitude & ((1 << drop) - 1), (1u128 << drop) >> 1);
    let up = drop > 0 && (lost > half || lost == half && kept & 1 == 1);
    let rounded = ((kept + u128::from(up)) << drop) as f64;
    if value < 0 {
        -rounded
    } else {
        rounded
    }
}

/// A float rounded to `bits` significant bits and the exponent range of a type, ties to even.
fn round_float(value: f64, bits: i32, least_exponent: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let exponent = (((value.to_bits() >> 52) & 0x7ff) as i32 - 1023).max(least_exponent);
    // In two steps, because 2^1074 is not an f64.
    let (a, b) = ((bits - 1 - exponent) / 2, (bits - 1 - exponent) - (bits - 1 - exponent) / 2);
    (value * 2f64.powi(a) * 2f64.powi(b)).round_ties_even() * 2f64.powi(-a) * 2f64.powi(-b)
}

/// The result of a conversion by the documented rules.
fn converted(value: Number, to: Dtype) -> Number {
    let float = |bits: u32, least_exponent: i32, largest: f64| {
        let rounded = match value {
            Number::Integer(v) => round_integer(v, bits),
            Number::Float(v) => round_float(v, bits as i32, least_exponent),
        };
        Number::Float(if rounded.abs() > largest { rounded.signum() * f64::INFINITY } else { rounded })
    };
    let integer = |least: i128, largest: i128| {
        Number::Integer(match value {
            Number::Integer(v) => v.clamp(least, largest),
            Number::Float(v) if v.is_nan() => 0,
            Number::Float(v) => (v.round_ties_even() as i128).clamp(least, largest),
        })
    };
    match to {
        Dtype::F64 => float(53, -1022, f64::MAX),
        Dtype::F32 => float(24, -126, f64::from(f32::MAX)),
        Dtype::F16 => float(11, -14, 65504.0),
        Dtype::Bf16 => float(8, -126, bf16::MAX.to_f64()),
        Dtype::I64 => integer(i64::MIN.into(), i64::MAX.into()),
        Dtype::I32 => integer(i32::MIN.into(), i32::MAX.into()),
        Dtype::I16 => integer(i16::MIN.into(), i16::MAX.into()),
        Dtype::I8 => integer(i8::MIN.into(), i8::MAX.into()),
        Dtype::U64 => integer(0, u64::MAX.into()),
        Dtype::U32 => integer(0, u32::MAX.into()),
        Dtype::U16 => integer(0, u16::MAX.into()),
        Dtype::U8 => integer(0, u8::MAX.into()),
        Dtype::Bool => Number::Integer(match value {
            Number::Integer(v) => (v != 0).into(),
            Number::Float(v) => (v != 0.0).into(),
        }),
    }
}

/// Whether a finite number becomes infinite, or has no value in an integer type.
fn is_lost(value: Number, to: Dtype) -> bool {
    match (value, converted(value, to)) {
        _ if to == Dtype::Bool => false,
        (Number::Integer(a), Number::Integer(b)) => a != b,
        (Number::Float(a), Number::Integer(b)) => a.is_nan() || a.round_ties_even() as i128 != b,
        (Number::Integer(_), Number::Float(b)) => b.is_infinite(),
        (Number::Float(a), Number::Float(b)) => a.is_finite() && b.is_infinite(),
    }
}

fn same(a: Number, b: Number) -> bool {
    match (a, b) {
        (Number::Integer(a), Number::Integer(b)) => a == b,
        (Number::Float(a), Number::Float(b)) if a.is_nan() => b.is_nan(),
        (Number::Float(a), Number::Float(b)) => a.to_bits() == b.to_bits(),
        _ => false,
    }
}

#[test]
fn every_type_is_read_as_every_other_by_the_documented_rules() {
    let types = common::every_type();
    let sample = |(dtype, logical): &(Dtype, Option<Logical>)| {
        let bytes = source(*dtype);
        let whole = bytes.len() / (dtype.size() * 2) * (dtype.size() * 2);
        let bytes = bytes[..whole].to_vec();
        let count = bytes.len() / dtype.size() / logical.map_or(1, Logical::ratio) as usize;
        let part = Part { role: "data", dtype: *dtype, logical: *logical, bytes };
        let name = format!("{dtype:?} {logical:?}");
        Sample { name, format: "dense", shape: vec![count as u64], attributes: "{}", parts: vec![part] }
    };
    let samples: Vec<Sample> = types.iter().map(sample).collect();
    let mut compared = 0;
    for encoding in common::encodings() {
        let options = WriterOptions { encoding, frame_size: 1024, ..WriterOptions::default() };
        let file = common::open(common::file_of(&options, &samples));
        for ((from, logical), sample) in types.iter().zip(&samples) {
            let object = file.find(&sample.name).unwrap();
            let values = decoded(*from, *logical, &sample.parts[0].bytes);
            for to in Dtype::ALL {
                let mut bytes = vec![0xaa; values.len() * to.size() + 1];
                let mut at = 0;
                let mut body = |piece: &[u8]| {
                    bytes[at..at + piece.len()].copy_from_slice(piece);
                    at += piece.len();
                    Ok(())
                };
                object
                    .component("data")
                    .unwrap()
                    .for_each_converted(to, &mut body)
                    .unwrap_or_else(|e| panic!("{e}"));
                let lost = values.iter().filter(|value| is_lost(**value, to)).count();
                let mut read = vec![0xaa; bytes.len()];
                match (object.read_as(to, &mut read), lost) {
                    (Ok(written), 0) => assert_eq!((written, &read), (bytes.len() - 1, &bytes)),
                    (Err(e), 1..) => {
                        assert_eq!(e.cause(), Cause::Limit);
                        let (found, name) = (e.to_string(), &sample.name);
                        assert!(
                            found.contains(&format!(" {lost} ")) && found.contains(name.as_str()),
                            "{found}"
                        );
                    }
                    (read, lost) => panic!("{}: {lost} lost numbers: {read:?}", sample.name),
                }
                assert_eq!(bytes.pop(), Some(0xaa), "a byte after the elements was written");
                assert_eq!(object.size_as(to).ok(), Some(bytes.len() as u64));
                if to == *from && logical.is_none() {
                    assert_eq!(bytes, sample.parts[0].bytes, "{to:?} as itself, bit by bit");
                    continue;
                }
                for (value, found) in values.iter().zip(decoded(to, None, &bytes)) {
                    let wanted = converted(*value, to);
                    assert!(
                        same(wanted, found),
                        "{value:?} of {} as {to:?} is {found:?}, not {wanted:?}",
                        sample.name
                    );
                    compared += 1;
                }
                bytes.pop();
                let before = bytes.clone();
                let short = object.read_as(to, &mut bytes);
                assert_eq!(short.map_err(|e| e.cause()), Err(Cause::BufferSize));
                assert_eq!(bytes, before, "a buffer that is too small was written to");
            }
        }
    }
    assert!(compared > 100_000, "only {compared} values were compared");
}

#[test]
fn elements_of_an_unknown_type_are_not_converted() {
    let logical = Some(LogicalSpec::Other("f6_e4m1"));
    let spec =
        ComponentSpec { logical, encoding: Some(Encoding::Raw), ..ComponentSpec::new("data", Dtype::U8) };
    let bytes = common::written(&WriterOptions::default(), |w| {
        let object = ObjectSpec { name: "o", format: "dense", shape: &[4] };
        w.write_object(&object, Attributes::default(), &[(spec, &[1, 2, 3])]).unwrap();
    });
    let file = common::open(bytes);
    let component = common::data(&file, "o");
    assert_eq!(common::read(&component), [1, 2, 3], "its bytes can be read");
    let object = file.find("o").unwrap();
    for refused in [object.read_as(Dtype::F32, &mut [0; 64]).map(drop), object.size_as(Dtype::F32).map(drop)]
    {
        let error = refused.unwrap_err();
        assert!(error.cause() == Cause::Unsupported && error.message().contains("f6_e4m1"), "{error}");
    }
}
