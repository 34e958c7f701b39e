//! To integers and bool, sizes, chunk ends, and every pair of types.

use super::*;

/// A number as an element of every type.
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

/// Small numbers that every type but bool holds, all pairs, lengths around the chunk's, unaligned.
#[test]
fn every_pair_of_types() {
    for from in Dtype::ALL {
        for to in Dtype::ALL {
            for count in
                [0, 1, 2, CHUNK_ELEMENTS - 1, CHUNK_ELEMENTS, CHUNK_ELEMENTS + 1, 3 * CHUNK_ELEMENTS + 5]
            {
                let (mut src, mut want) = (vec![0xFF], vec![0xEE]); // one byte in front: never aligned
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
                assert_eq!(<$t>::from_ne_bytes(one(F64, x.to_ne_bytes(), $dtype)), want, "{x} {}", stringify!($t));
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
    assert_eq!(converted_size(12, from, F64).unwrap_err().rule(), Some(Rule::ElementSize)); // one part and a half
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
