//! Floats that are smaller than a byte. A block is what fills whole bytes; there is no scale.
//!
//! | type | block | element |
//! |---|---|---|
//! | f4_e2m1 | a byte: 2 codes, the first one in its low half | `F4[q]` |
//! | f6_e2m3 | 3 bytes: 4 codes, the first one in the lowest bits, as in ONNX | `F6_E2M3[q]` |
//! | f6_e3m2 | likewise | `F6_E3M2[q]` |

/// The values of f4_e2m1.
const F4: [f32; 16] = values(1, 1);

/// The values of f6_e2m3.
const F6_E2M3: [f32; 64] = values(3, 1);

/// The values of f6_e3m2.
const F6_E3M2: [f32; 64] = values(2, 3);

/// The values of all codes: a sign, exponent, and so many bits of mantissa. All of them are finite.
const fn values<const CODES: usize>(mantissa: u32, bias: u32) -> [f32; CODES] {
    let mut values = [0.0; CODES];
    let mut code = 0;
    while code < CODES {
        let magnitude = code as u32 % (CODES as u32 / 2);
        let (exponent, fraction) = (magnitude >> mantissa, magnitude % (1 << mantissa));
        // Exponent 0 has no leading one, and the same power of two as exponent 1.
        let (whole, power) = match exponent {
            0 => (fraction, 1),
            _ => (fraction + (1 << mantissa), exponent),
        };
        let scale = f32::from_bits((127 + power - bias - mantissa) << 23);
        values[code] = if code < CODES / 2 { whole as f32 * scale } else { -(whole as f32 * scale) };
        code += 1;
    }
    values
}

#[inline(always)]
pub(super) fn f4_e2m1([byte]: &[u8; 1], out: &mut [f32; 2]) {
    *out = [F4[usize::from(byte & 15)], F4[usize::from(byte >> 4)]];
}

#[inline(always)]
pub(super) fn f6_e2m3(block: &[u8; 3], out: &mut [f32; 4]) {
    *out = codes(block).map(|code| F6_E2M3[code]);
}

#[inline(always)]
pub(super) fn f6_e3m2(block: &[u8; 3], out: &mut [f32; 4]) {
    *out = codes(block).map(|code| F6_E3M2[code]);
}

#[inline(always)]
fn codes([a, b, c]: &[u8; 3]) -> [usize; 4] {
    [a & 63, a >> 6 | b << 2 & 63, b >> 4 | c << 4 & 63, c >> 2].map(usize::from)
}
