//! Conversions compared with values from the definitions: all 8-bit and 16-bit codes for widening, and
//! numbers at and around every midpoint for narrowing.

use super::*;
use Dtype::{Bf16, Bool, F16, F32, F64, I16, I32, I64, I8, U16, U32, U64, U8};

/// A whole conversion at once.
fn convert(src: &[u8], from: (Dtype, Option<Logical>), to: Dtype, dst: &mut [u8]) -> Result<()> {
    let all = dst.len() as u64;
    super::convert(src, from, to, dst, all).map(drop)
}

/// Converts a single element.
fn one<const M: usize, const N: usize>(from: Dtype, bytes: [u8; M], to: Dtype) -> [u8; N] {
    let mut out = [0xA5; N];
    convert(&bytes, (from, None), to, &mut out).unwrap();
    out
}

fn f64_to_16(x: f64, to: Dtype) -> u16 {
    u16::from_ne_bytes(one(F64, x.to_ne_bytes(), to))
}

fn f32_to_16(x: f32, to: Dtype) -> u16 {
    u16::from_ne_bytes(one(F32, x.to_ne_bytes(), to))
}

fn i64_to_16(x: i64, to: Dtype) -> u16 {
    u16::from_ne_bytes(one(I64, x.to_ne_bytes(), to))
}

fn u64_to_16(x: u64, to: Dtype) -> u16 {
    u16::from_ne_bytes(one(U64, x.to_ne_bytes(), to))
}

fn sixteen_to_f32(code: u16, from: Dtype) -> f32 {
    f32::from_ne_bytes(one(from, code.to_ne_bytes(), F32))
}

fn sixteen_to_f64(code: u16, from: Dtype) -> f64 {
    f64::from_ne_bytes(one(from, code.to_ne_bytes(), F64))
}

/// Counts lost numbers by definition, each number separately.
#[test]
fn lost_numbers_are_counted_wherever_they_are() {
    let max = f64::from(f32::MAX);
    let floats =
        [0.0, -0.0, 1.5, 65_519.9, 65_520.0, -70_000.0, max, 1e300, -1e-300, 127.5, 255.4, 255.5, -0.5, -0.6];
    let special = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 9.3e18, 1.9e19, -9.3e18];
    for count in [1, CHUNK_ELEMENTS, PIECE_ELEMENTS, PIECE_ELEMENTS + 1, 3 * PIECE_ELEMENTS + 7] {
        let all: Vec<f64> = floats.iter().chain(&special).copied().cycle().take(count).collect();
        for from in [F64, F32, F16, Bf16] {
            let mut src = vec![0; count * from.size()];
            let bytes: Vec<u8> = all.iter().flat_map(|x| x.to_ne_bytes()).collect();
            convert(&bytes, (F64, None), from, &mut src).unwrap();
            let mut values = vec![0; count * 8];
            convert(&src, (from, None), F64, &mut values).unwrap();
            let values: Vec<f64> =
                values.chunks_exact(8).map(|b| f64::from_ne_bytes(b.try_into().unwrap())).collect();
            for to in Dtype::ALL {
                let mut dst = vec![0; count * to.size()];
                let lost = super::convert(&src, (from, None), to, &mut dst, 0).unwrap();
                let above = |most: f64| values.iter().filter(|x| x.is_finite() && x.abs() >= most).count();
                let outside = |min: f64, end: f64| {
                    values
                        .iter()
                        .filter(|x| !(x.round_ties_even() >= min && x.round_ties_even() < end))
                        .count()
                };
                let wanted = match to {
                    F64 | Bool => 0,
                    F32 => above(max * (1.0 + 2f64.powi(-25))),
                    F16 => above(65_520.0),
                    Bf16 => above(2f64.powi(127) * (2.0 - 2f64.powi(-8))),
                    I64 => outside(-2f64.powi(63), 2f64.powi(63)),
                    I32 => outside(-2f64.powi(31), 2f64.powi(31)),
                    I16 => outside(-32768.0, 32768.0),
                    I8 => outside(-128.0, 128.0),
                    U64 => outside(0.0, 2f64.powi(64)),
                    U32 => outside(0.0, 2f64.powi(32)),
                    U16 => outside(0.0, 65536.0),
                    U8 => outside(0.0, 256.0),
                };
                assert_eq!(lost, wanted as u64, "{count} of {from:?} as {to:?}");
            }
        }
    }
}

#[test]
fn lost_integers_are_those_without_the_same_value() {
    let numbers =
        [0i64, 1, -1, 127, 128, -128, -129, 255, 256, 32767, 32768, 65519, 65520, -65520, i64::MAX, i64::MIN];
    for to in Dtype::ALL.into_iter().filter(|to| *to != Bool) {
        for x in numbers {
            let mut dst = vec![0; to.size()];
            let lost = super::convert(&x.to_ne_bytes(), (I64, None), to, &mut dst, 0).unwrap();
            let mut back = [0; 8];
            convert(&dst, (to, None), I64, &mut back).unwrap();
            let is_float = matches!(to, F64 | F32 | F16 | Bf16);
            let is_lost = if is_float {
                to == F16 && x.unsigned_abs() >= 65_520
            } else {
                i64::from_ne_bytes(back) != x
            };
            assert_eq!(lost, u64::from(is_lost), "{x} as {to:?}");
        }
    }
    let lost = |from, bytes: &[u8], to: Dtype| {
        super::convert(bytes, (from, None), to, &mut vec![0; bytes.len() / from.size() * to.size()], 0)
            .unwrap()
    };
    assert_eq!(lost(U64, &u64::MAX.to_ne_bytes(), I64), 1);
    assert_eq!(lost(U16, &[65_520u16, 65_519].map(u16::to_ne_bytes).concat(), F16), 1);
    assert_eq!(lost(U8, &[0, 127, 128, 255], I8), 2);
    assert_eq!(lost(Bool, &[0, 1, 7], U8), 0);
}

/// The neighbours of a positive f32 or f64. (`next_up` of the standard library is newer than the oldest
/// supported Rust.)
trait Neighbour: Sized {
    fn step(self, by: i64) -> Self;
}

impl Neighbour for f64 {
    fn step(self, by: i64) -> f64 {
        f64::from_bits(self.to_bits().wrapping_add_signed(by))
    }
}

impl Neighbour for f32 {
    fn step(self, by: i64) -> f32 {
        f32::from_bits(self.to_bits().wrapping_add_signed(by as i32))
    }
}

fn next_up<T: Neighbour>(x: T) -> T {
    x.step(1)
}

fn next_down<T: Neighbour>(x: T) -> T {
    x.step(-1)
}

/// The value of a finite positive code by definition. The code of infinity gives the next power of two.
fn defined(code: u16, mantissa: i32, bias: i32) -> f64 {
    let exponent = i32::from(code >> mantissa);
    let fraction = f64::from(code & ((1 << mantissa) - 1)) / f64::from(1 << mantissa);
    if exponent == 0 {
        fraction * 2f64.powi(1 - bias)
    } else {
        (1.0 + fraction) * 2f64.powi(exponent - bias)
    }
}

/// mantissa bits, bias, the code of infinity
fn geometry(dtype: Dtype) -> (i32, i32, u16) {
    if dtype == F16 {
        (10, 15, 0x7C00)
    } else {
        (7, 127, 0x7F80)
    }
}

/// All 8-bit floats from their definitions.
#[test]
fn f8_every_code() {
    let defined_here = [
        (Logical::F8E4m3fn, 3, 7),
        (Logical::F8E5m2, 2, 15),
        (Logical::F8E4m3fnuz, 3, 8),
        (Logical::F8E5m2fnuz, 2, 16),
        (Logical::F8E8m0, 0, 127), // no sign, and no code for a subnormal
    ];
    let mut all = Logical::ALL.to_vec();
    all.retain(|logical| matches!(logical.numbers(), Numbers::Float8(_)));
    assert_eq!(defined_here.map(|(logical, ..)| logical).to_vec(), all, "those that are looked at, and all");
    for (logical, mantissa, bias) in defined_here {
        for code in 0..=255u8 {
            let magnitude = u16::from(code & 0x7F);
            let sign = if code & 0x80 == 0 { 1.0 } else { -1.0 };
            let want = match (logical, magnitude) {
                (Logical::F8E8m0, _) if code == 255 => f64::NAN,
                (Logical::F8E8m0, _) => 2f64.powi(i32::from(code) - bias),
                (Logical::F8E4m3fn, 0x7F) => f64::NAN.copysign(sign),
                (Logical::F8E5m2, 0x7C) => f64::INFINITY * sign,
                (Logical::F8E5m2, 0x7D..) => f64::NAN.copysign(sign),
                (Logical::F8E4m3fnuz | Logical::F8E5m2fnuz, 0) if code == 0x80 => f64::NAN,
                _ => defined(magnitude, mantissa, bias) * sign,
            };
            let (mut wide, mut narrow) = ([0; 8], [0; 4]);
            convert(&[code], (U8, Some(logical)), F64, &mut wide).unwrap();
            convert(&[code], (U8, Some(logical)), F32, &mut narrow).unwrap();
            let (wide, narrow) = (f64::from_ne_bytes(wide), f32::from_ne_bytes(narrow));
            let said = format!("{} {code:#04x}", logical.name());
            assert_eq!(wide.is_nan(), want.is_nan(), "{said}");
            assert_eq!(narrow.is_nan(), want.is_nan(), "{said}");
            assert_eq!(wide.is_sign_negative(), want.is_sign_negative(), "{said}");
            if !want.is_nan() {
                assert_eq!(wide.to_bits(), want.to_bits(), "{said}");
                assert_eq!(f64::from(narrow).to_bits(), want.to_bits(), "{said}");
            }
            for (to, exact) in [(F16, float::f64_to_f16(wide)), (Bf16, float::f64_to_bf16(wide))] {
                let mut half = [0; 2];
                convert(&[code], (U8, Some(logical)), to, &mut half).unwrap();
                assert_eq!(u16::from_ne_bytes(half), exact, "{said} to {}", to.name());
            }
            let mut int = [0];
            convert(&[code], (U8, Some(logical)), U8, &mut int).unwrap();
            assert_eq!(int[0], want.round_ties_even() as u8, "{said}");
        }
    }
    let value = |logical, code| float::float8_values(Some(logical)).unwrap()[code];
    assert_eq!(value(Logical::F8E4m3fn, 0x7E), 448.0);
    assert_eq!(value(Logical::F8E5m2, 0x7B), 57344.0);
    assert_eq!(value(Logical::F8E4m3fnuz, 0x7F), 240.0);
    assert_eq!(value(Logical::F8E5m2fnuz, 0xFF), -57344.0);
    assert_eq!(value(Logical::F8E4m3fn, 0x01), 2f32.powi(-9));
    assert_eq!(value(Logical::F8E5m2fnuz, 0x01), 2f32.powi(-17));
}

/// Every 16-bit code widens to its definition, and narrows back to the same code.
#[test]
fn sixteen_bits_every_code() {
    for dtype in [F16, Bf16] {
        let (mantissa, bias, infinity) = geometry(dtype);
        for code in 0..=u16::MAX {
            let (narrow, wide) = (sixteen_to_f32(code, dtype), sixteen_to_f64(code, dtype));
            let magnitude = code & 0x7FFF;
            let (other, exact) = match dtype {
                F16 => (Bf16, float::f64_to_bf16(wide)),
                _ => (F16, float::f64_to_f16(wide)),
            };
            assert_eq!(u16::from_ne_bytes(one(dtype, code.to_ne_bytes(), other)), exact, "{code:#06x}");
            let said = format!("{} {code:#06x}", dtype.name());
            assert_eq!(narrow.is_sign_negative(), code >> 15 == 1, "{said}");
            assert_eq!(wide.is_sign_negative(), code >> 15 == 1, "{said}");
            let back = [f32_to_16(narrow, dtype), f64_to_16(wide, dtype)];
            if magnitude > infinity {
                assert!(narrow.is_nan() && wide.is_nan(), "{said}");
                assert_eq!(narrow.to_bits() >> 22 & 1, 1, "quiet: {said}");
                assert_eq!(back, [code | 1 << (mantissa - 1); 2], "{said}");
                continue;
            }
            let want = if magnitude == infinity { f64::INFINITY } else { defined(magnitude, mantissa, bias) };
            assert_eq!(wide.abs().to_bits(), want.to_bits(), "{said}");
            assert_eq!(f64::from(narrow).abs().to_bits(), want.to_bits(), "{said}");
            assert_eq!(back, [code; 2], "{said}");
        }
    }
}

/// At, just below and just above every midpoint, from f64 and f32: numbers for which two roundings give a
/// wrong result.
#[test]
fn every_midpoint_rounds_once() {
    for dtype in [F16, Bf16] {
        let (mantissa, bias, infinity) = geometry(dtype);
        for code in 0..infinity {
            let middle = (defined(code, mantissa, bias) + defined(code + 1, mantissa, bias)) / 2.0;
            let even = code + (code & 1);
            for (x, want) in [(middle, even), (next_down(middle), code), (next_up(middle), code + 1)] {
                assert_eq!(f64_to_16(x, dtype), want, "{} {x:e}", dtype.name());
                assert_eq!(f64_to_16(-x, dtype), want | 0x8000, "{} -{x:e}", dtype.name());
            }
            // The midpoint of two bf16 subnormals near the end is still an f32.
            let middle = middle as f32;
            for (x, want) in [(middle, even), (next_down(middle), code), (next_up(middle), code + 1)] {
                assert_eq!(f32_to_16(x, dtype), want, "{} {x:e}", dtype.name());
                assert_eq!(f32_to_16(-x, dtype), want | 0x8000, "{} -{x:e}", dtype.name());
            }
        }
        assert_eq!(f64_to_16(f64::MAX, dtype), infinity);
        assert_eq!(f64_to_16(f64::INFINITY, dtype), infinity);
        assert_eq!(f64_to_16(f64::from_bits(1), dtype), 0);
        assert_eq!(f64_to_16(-f64::MIN_POSITIVE, dtype), 0x8000);
        assert_eq!(f64_to_16(-0.0, dtype), 0x8000);
        for x in [
            f64::NAN,
            -f64::NAN,
            f64::from_bits(0x7FF0_0000_0000_0001),
            f64::from_bits(0xFFF0_0000_0000_0001),
        ] {
            let code = f64_to_16(x, dtype);
            assert!(code & 0x7FFF > infinity && code >> 15 == u16::from(x.is_sign_negative()), "{code:#06x}");
            let single = f32::from_ne_bytes(one(F64, x.to_ne_bytes(), F32));
            assert!(single.is_nan() && single.is_sign_negative() == x.is_sign_negative());
        }
    }
}

/// Every code of both 16-bit floats in rows. They give the same as single elements, for any start, for any
/// rest, with and without the caches, and nothing outside the row changes.
#[test]
fn rows_of_16_bit_floats_are_widened_as_each_alone() {
    let codes: Vec<u16> = (0..=u16::MAX).collect();
    let mut bytes = vec![0u8; 1];
    bytes.extend(codes.iter().flat_map(|c| c.to_ne_bytes()));
    for count in [codes.len(), 4096 + 7, 263, 17, 9, 8, 7, 1] {
        for (lead, all) in
            [0, 1, 2, 4, 8, 12, 28, 31].into_iter().flat_map(|at| [(at, 0), (at, MIN_NONTEMPORAL)])
        {
            for (dtype, each) in [(F16, float::f16_to_f32 as fn(u16) -> f32), (Bf16, float::bf16_to_f32)] {
                let mut wide = vec![0xA5u8; count * 4 + 64 + 32];
                let lead = wide.as_ptr().addr().wrapping_neg() % 32 + lead;
                let (before, rest) = wide.split_at_mut(lead);
                let (found, after) = rest.split_at_mut(count * 4);
                super::convert(&bytes[1..=count * 2], (dtype, None), F32, found, all).unwrap();
                assert!(before.iter().chain(&*after).all(|b| *b == 0xA5));
                for (code, found) in codes.iter().zip(found.chunks_exact(4)) {
                    let found = u32::from_ne_bytes(found.try_into().unwrap());
                    assert_eq!(
                        found,
                        each(*code).to_bits(),
                        "{dtype:?} {code:#06x} of {count}, {lead}, {all}"
                    );
                }
            }
        }
    }
}

/// The fast path from f32 gives the same as the slow path through f64.
fn fast_equals_exact(bits: u32) {
    let x = f32::from_bits(bits);
    assert_eq!(float::f32_to_f16(x), float::f64_to_f16(float::f32_to_f64(x)), "f16 {bits:#010x}");
    assert_eq!(float::f32_to_bf16(x), float::f64_to_bf16(float::f32_to_f64(x)), "bf16 {bits:#010x}");
}

/// Rows of f32 of any length are narrowed like single elements, with and without the caches.
#[test]
fn rows_of_f32_are_narrowed_as_each_alone() {
    let mut all: Vec<u32> = (0..=u32::MAX).step_by(65_521).collect();
    let edges =
        [0x7F80_0000, 0x7F80_0001, 0x7FFF_FFFF, 0x477F_EFFF, 0x477F_F000, 0x3300_0000, 0x3300_0001, 1];
    all.extend(edges.into_iter().flat_map(|bits: u32| [bits, bits | 1 << 31]));
    for count in (0..20).chain([all.len()]) {
        let bits = &all[all.len() - count..];
        let bytes: Vec<u8> = bits.iter().flat_map(|bits| bits.to_ne_bytes()).collect();
        for (dtype, each) in [(F16, float::f32_to_f16 as fn(f32) -> u16), (Bf16, float::f32_to_bf16)] {
            let mut found = vec![0; count * 2];
            let lost = super::convert(&bytes, (F32, None), dtype, &mut found, 0).unwrap();
            for at in [0, 1, 2, 16] {
                // around the caches, where the result is aligned for it
                let mut past = vec![0xA5; count * 2 + 48];
                let at = past.as_ptr().addr().wrapping_neg() % 16 + at;
                let place = &mut past[at..at + count * 2];
                let total = MIN_NONTEMPORAL;
                assert_eq!(super::convert(&bytes, (F32, None), dtype, place, total).unwrap(), lost);
                assert!(*place == found[..], "{dtype:?} {count} {at}");
                let around = past[..at].iter().chain(&past[at + count * 2..]);
                assert!(around.copied().all(|byte| byte == 0xA5));
            }
            for (bits, found) in bits.iter().zip(found.chunks_exact(2)) {
                let found = u16::from_ne_bytes(found.try_into().unwrap());
                assert_eq!(found, each(f32::from_bits(*bits)), "{dtype:?} {bits:#010x} of {count}");
            }
        }
    }
}

#[test]
fn fast_paths_are_exact_on_a_sample() {
    (0..=u32::MAX).step_by(2_053).for_each(fast_equals_exact);
}

/// Integers at or near a midpoint of the 16-bit floats and of f32.
#[test]
fn wide_integers_round_once() {
    for dtype in [F16, Bf16] {
        let (mantissa, bias, infinity) = geometry(dtype);
        for code in 0..infinity {
            let (low, high) = (defined(code, mantissa, bias), defined(code + 1, mantissa, bias));
            if low < 2f64.powi(mantissa) || high > 2f64.powi(64) {
                continue;
            }
            let twice = low as u128 + high as u128;
            let (middle, whole) = (twice / 2, twice % 2 == 0);
            let even = code + (code & 1);
            let mut cases = vec![(middle, if whole { even } else { code }), (middle + 1, code + 1)];
            if middle > low as u128 {
                cases.push((middle - 1, code));
            }
            for (x, want) in cases {
                let Ok(x) = u64::try_from(x) else { continue };
                assert_eq!(u64_to_16(x, dtype), want, "{} {x}", dtype.name());
                let Ok(x) = i64::try_from(x) else { continue };
                assert_eq!(i64_to_16(x, dtype), want, "{} {x}", dtype.name());
                assert_eq!(i64_to_16(-x, dtype), want | 0x8000, "{} -{x}", dtype.name());
            }
        }
    }
    assert_eq!(i64_to_16(i64::MIN, Bf16), 0xDF00);
    assert_eq!(u64_to_16(u64::MAX, Bf16), 0x5F80);
    assert_eq!((i64_to_16(i64::MIN, F16), u64_to_16(u64::MAX, F16)), (0xFC00, 0x7C00));
    // Through f64, this would first round to the midpoint 2^62 + 2^38, then to the even 2^62.
    let trap = (1i64 << 62) + (1 << 38) + 1;
    assert_eq!(f32::from_ne_bytes(one(I64, trap.to_ne_bytes(), F32)).to_bits(), 2f32.powi(62).to_bits() + 1);
    assert_eq!(
        f32::from_ne_bytes(one(U64, (trap as u64).to_ne_bytes(), F32)).to_bits(),
        2f32.powi(62).to_bits() + 1
    );
    let trap = (1i64 << 62) + (1 << 54) + 1; // the same for bf16
    assert_eq!(
        (i64_to_16(trap, Bf16), u64_to_16(trap as u64, Bf16), i64_to_16(-trap, Bf16)),
        (0x5E81, 0x5E81, 0xDE81)
    );
    assert_eq!(f64::from_ne_bytes(one(U64, u64::MAX.to_ne_bytes(), F64)), 2f64.powi(64));
    assert_eq!(f64::from_ne_bytes(one(I64, i64::MIN.to_ne_bytes(), F64)), -(2f64.powi(63)));
}

/// f64 to f32 at midpoints, overflow, subnormals.
#[test]
fn f64_to_f32_rounds_to_even() {
    let to = |x: f64| f32::from_ne_bytes(one(F64, x.to_ne_bytes(), F32));
    for code in [0u32, 1, 2, 0x007F_FFFF, 0x0080_0000, 0x3F80_0000, 0x3F80_0001, 0x7F7F_FFFE, 0x7F7F_FFFF] {
        let next = if code == 0x7F7F_FFFF { 2f64.powi(128) } else { f64::from(f32::from_bits(code + 1)) };
        let middle = (f64::from(f32::from_bits(code)) + next) / 2.0;
        assert_eq!(to(middle).to_bits(), code + (code & 1));
        assert_eq!(to(next_down(middle)).to_bits(), code);
        assert_eq!(to(-next_up(middle)).to_bits(), (code + 1) | 1 << 31);
    }
}

#[test]
fn rounding_to_whole_numbers() {
    let mut bits = 0u64;
    for _ in 0..300_000 {
        bits = bits.wrapping_add(0x9E37_79B9_7F4A_7C15);
        // Exponents from far below a half to past 2^52.
        let x = f64::from_bits(bits & !(0x7FF << 52) | (1018 + (bits >> 7) % 64) << 52);
        for x in
            [x, x.round(), x.trunc() + 0.5, next_up(x.trunc().abs() + 0.5), next_down(x.trunc().abs() + 0.5)]
        {
            assert!(float::round(x) == x.round_ties_even(), "{x:e}");
        }
    }
    for x in [0.0, -0.0, 0.5, -0.5, f64::MAX, f64::MIN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE] {
        assert!(float::round(x) == x.round_ties_even(), "{x:e}");
    }
    assert!(float::round(f64::NAN).is_nan());
}

/// A number as an element of each type.
fn element(dtype: Dtype, x: i64) -> Vec<u8> {
    let float = x as f64;
    match dtype {
        F64 => float.to_ne_bytes().to_vec(),
        F32 => (x as f32).to_ne_bytes().to_vec(),
        F16 => half::f16::from_f32(x as f32).to_bits().to_ne_bytes().to_vec(),
        Bf16 => half::bf16::from_f32(x as f32).to_bits().to_ne_bytes().to_vec(),
        I64 => x.to_ne_bytes().to_vec(),
        I32 => (x as i32).to_ne_bytes().to_vec(),
        I16 => (x as i16).to_ne_bytes().to_vec(),
        I8 => (x as i8).to_ne_bytes().to_vec(),
        U64 => (x as u64).to_ne_bytes().to_vec(),
        U32 => (x as u32).to_ne_bytes().to_vec(),
        U16 => (x as u16).to_ne_bytes().to_vec(),
        U8 => vec![x as u8],
        Bool => vec![u8::from(x != 0)],
    }
}

/// Small numbers that every type but bool can hold, for all pairs of types, with lengths around the chunk
/// size, unaligned.
#[test]
fn every_pair_of_types() {
    for from in Dtype::ALL {
        for to in Dtype::ALL {
            for count in
                [0, 1, 2, CHUNK_ELEMENTS - 1, CHUNK_ELEMENTS, CHUNK_ELEMENTS + 1, 3 * CHUNK_ELEMENTS + 5]
            {
                let (mut src, mut want) = (vec![0xFF], vec![0xEE]); // one byte before them, so never aligned
                for i in 0..count {
                    let mut x = (i as i64 * 37 + 1) % 128;
                    src.extend(element(from, x));
                    x = if from == Bool { i64::from(x != 0) } else { x };
                    want.extend(element(to, x));
                }
                let mut dst = vec![0xEE; want.len()];
                convert(&src[1..], (from, None), to, &mut dst[1..]).unwrap();
                assert_eq!(dst, want, "{} to {}, {count}", from.name(), to.name());
                let size = converted_size(src.len() as u64 - 1, (from, None), to).unwrap();
                assert_eq!(size, want.len() as u64 - 1);
            }
        }
    }
}

#[test]
fn floats_to_integers() {
    macro_rules! check {
        ($($dtype:ident $t:ty),*) => {$(
            for (x, want) in [
                (f64::NAN, 0), (-f64::NAN, 0), (-0.0, 0), (0.5, 0), (1.5, 2), (2.5, 2), (3.5, 4),
                (next_up(0.5f64), 1), (next_down(2.5f64), 2), (126.5, 126),
                (f64::INFINITY, <$t>::MAX), (f64::MAX, <$t>::MAX), (f64::NEG_INFINITY, <$t>::MIN),
                (<$t>::MAX as f64, <$t>::MAX), (<$t>::MIN as f64, <$t>::MIN), (2f64.powi(64), <$t>::MAX),
            ] {
                let found = <$t>::from_ne_bytes(one(F64, x.to_ne_bytes(), $dtype));
                assert_eq!(found, want, "{x} {}", stringify!($t));
                if f64::from(x as f32) == x || x.is_nan() {
                    assert_eq!(<$t>::from_ne_bytes(one(F32, (x as f32).to_ne_bytes(), $dtype)), want, "{x}");
                }
            }
            let low = if <$t>::MIN == 0 { 0 } else { <$t>::try_from(-2i8 as i64 as i128).unwrap_or(0) };
            assert_eq!(<$t>::from_ne_bytes(one(F64, (-2.5f64).to_ne_bytes(), $dtype)), low);
        )*};
    }
    check!(I64 i64, I32 i32, I16 i16, I8 i8, U64 u64, U32 u32, U16 u16, U8 u8);
    assert_eq!(one(F64, 255.5f64.to_ne_bytes(), U8), [255]);
    assert_eq!(one(F64, 254.5f64.to_ne_bytes(), U8), [254]);
    assert_eq!(one(F64, (-128.5f64).to_ne_bytes(), I8), (-128i8).to_ne_bytes());
    assert_eq!(one(F16, 0x7C00u16.to_ne_bytes(), I16), i16::MAX.to_ne_bytes());
    assert_eq!(one(Bf16, 0xFF80u16.to_ne_bytes(), U64), 0u64.to_ne_bytes());
}

#[test]
fn integers_saturate() {
    let edges =
        [i64::MIN, i64::MIN + 1, -1 << 32, -32769, -129, -128, -1, 0, 1, 127, 128, 255, 256, 65536, 1 << 40];
    macro_rules! check {
        ($($dtype:ident $t:ty),*) => {$(
            for x in edges.into_iter().chain([i64::MAX]) {
                let clamped = i128::from(x).clamp(<$t>::MIN as i128, <$t>::MAX as i128) as $t;
                assert_eq!(<$t>::from_ne_bytes(one(I64, x.to_ne_bytes(), $dtype)), clamped, "{x}");
                let clamped = u128::from(x as u64).min(<$t>::MAX as u128) as $t;
                assert_eq!(<$t>::from_ne_bytes(one(U64, (x as u64).to_ne_bytes(), $dtype)), clamped, "{x}");
            }
        )*};
    }
    check!(I64 i64, I32 i32, I16 i16, I8 i8, U64 u64, U32 u32, U16 u16, U8 u8);
    assert_eq!(one(I8, [0x80], U8), [0]);
    assert_eq!(one(U8, [0x80], I8), [127]);
    assert_eq!(one(I8, [0x80], I64), (-128i64).to_ne_bytes());
}

#[test]
fn to_bool_and_from_bool() {
    let set = |x: f64| one::<8, 1>(F64, x.to_ne_bytes(), Bool)[0];
    assert_eq!([0.0, -0.0, f64::NAN, 1e-320, -1.0, f64::INFINITY].map(set), [0, 0, 1, 1, 1, 1]);
    assert_eq!(one(F16, 0x8000u16.to_ne_bytes(), Bool), [0]);
    assert_eq!(one(F16, 0x8001u16.to_ne_bytes(), Bool), [1]);
    assert_eq!(one(I64, (1i64 << 40).to_ne_bytes(), Bool), [1]);
    assert_eq!(one(U64, (1u64 << 63).to_ne_bytes(), Bool), [1]);
    let mut out = [9; 4];
    convert(&[0, 1, 7, 255], (Bool, None), Bool, &mut out).unwrap();
    assert_eq!(out, [0, 1, 1, 1]);
    convert(&[0, 1, 7, 255], (Bool, None), I8, &mut out).unwrap();
    assert_eq!(out, [0, 1, 1, 1]);
    assert_eq!(one(Bool, [7], F32), 1f32.to_ne_bytes());
}

#[test]
fn the_same_type_keeps_every_bit() {
    let signalling = 0x7F80_0001u32.to_ne_bytes();
    assert_eq!(one(F32, signalling, F32), signalling);
    assert_eq!(one(F16, 0xFC01u16.to_ne_bytes(), F16), 0xFC01u16.to_ne_bytes());
}

#[test]
fn complex_is_two_parts() {
    let src: Vec<u8> = [1.0f32, -2.5, 3.0, f32::NAN].iter().flat_map(|x| x.to_ne_bytes()).collect();
    let from = (F32, Some(Logical::Complex64));
    let mut out = [0; 8];
    convert(&src, from, I16, &mut out).unwrap();
    assert_eq!(out.chunks(2).map(|b| i16::from_ne_bytes([b[0], b[1]])).collect::<Vec<_>>(), [1, -2, 3, 0]);
    assert_eq!(converted_size(16, from, F64).unwrap(), 32);
    // One and a half complex elements.
    assert_eq!(converted_size(12, from, F64).unwrap_err().rule(), Some(Rule::ElementSize));
    assert_eq!(converted_size(16, (F64, Some(Logical::Complex128)), U8).unwrap(), 2);
}

#[test]
fn refused() {
    let size = |n, from, to| converted_size(n, from, to).unwrap_err();
    assert_eq!(size(3, (F16, None), F32).rule(), Some(Rule::ElementSize));
    assert_eq!(size(4, (F32, Some(Logical::F8E5m2)), F32).rule(), Some(Rule::TypeDtypeMismatch));
    assert_eq!(size(u64::MAX, (U8, None), F64).cause(), crate::error::Cause::Limit);
    for wrong in [0, 7, 9] {
        let error = convert(&[0; 4], (F16, None), F32, &mut vec![0; wrong]).unwrap_err();
        assert_eq!(error.cause(), crate::error::Cause::BufferSize);
        assert!(error.message().contains("4 bytes of f16 are 8 bytes of f32"), "{error}");
    }
}
