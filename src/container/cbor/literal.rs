//! Pieces of encoded items that are matched or not, in a few instructions each: bytes that are known, and
//! numbers and digits between them. Each function gives what stands behind, or none.

/// What stands behind `literal`, if the input begins with it. Most are too short for what the standard
/// library does.
#[inline(always)]
pub fn strip<'a>(input: &'a [u8], literal: &[u8]) -> Option<&'a [u8]> {
    let (front, rest) = input.split_at_checked(literal.len())?;
    is_same(front, literal).then_some(rest)
}

/// Whether two texts of one length are the same: sixteen bytes at a time, the last of which may overlap.
#[inline(always)]
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let (mut a, mut b) = (one, other);
    while let (Some((first, rest)), Some((other_first, other_rest))) =
        (a.split_first_chunk::<16>(), b.split_first_chunk::<16>())
    {
        if first != other_first {
            return false;
        }
        (a, b) = (rest, other_rest);
    }
    if let (Some(last), Some(other_last)) = (one.last_chunk::<16>(), other.last_chunk::<16>()) {
        return last == other_last;
    }
    if let (Some(last), Some(other_last)) = (one.last_chunk::<8>(), other.last_chunk::<8>()) {
        return last == other_last && one.first_chunk::<8>() == other.first_chunk::<8>();
    }
    if let (Some(last), Some(other_last)) = (one.last_chunk::<4>(), other.last_chunk::<4>()) {
        return last == other_last && one.first_chunk::<4>() == other.first_chunk::<4>();
    }
    one.iter().zip(other).all(|(a, b)| a == b)
}

/// An unsigned integer that has no shorter form, and what stands behind it; not one in the input's last eight
/// bytes.
#[inline(always)]
pub fn shortest(input: &[u8]) -> Option<(u64, &[u8])> {
    let (initial, rest) = input.split_first()?;
    if *initial < 24 {
        return Some((u64::from(*initial), rest));
    }
    // One, two, four or eight bytes, the most significant first.
    let exponent = u32::from(initial.wrapping_sub(24));
    if exponent > 3 {
        return None;
    }
    let eight = u64::from_be_bytes(*rest.first_chunk()?);
    let bits = 8u32.wrapping_shl(exponent);
    let value = eight.wrapping_shr(64u32.saturating_sub(bits));
    // From 24 on in one byte, from 2^8 on in two, from 2^16 on in four, from 2^32 on in eight.
    let least = 1u64.wrapping_shl(bits / 2).max(24);
    let rest = rest.get(1usize.wrapping_shl(exponent)..)?;
    (value >= least).then_some((value, rest))
}

/// Whether all are digits and letters from a to f; eight bytes at a time, likewise.
#[inline(always)]
pub fn is_lower_hex(text: &[u8]) -> bool {
    let Some(last) = text.last_chunk::<8>() else {
        return text.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    };
    let all = text.chunks_exact(8).filter_map(|eight| eight.first_chunk::<8>());
    all.fold(hex_digits(last), |bits, eight| bits & hex_digits(eight)) == HIGH
}

const HIGH: u64 = 0x8080_8080_8080_8080;

/// The highest bit of each byte that is such a digit.
#[inline(always)]
fn hex_digits(eight: &[u8; 8]) -> u64 {
    // The highest bit of `low` and a number is set from a letter on; none carries into the next byte.
    let (bytes, each) = (u64::from_ne_bytes(*eight), |byte: u8| u64::from_ne_bytes([byte; 8]));
    let low = bytes & !HIGH;
    let from = |least: u8| low.wrapping_add(each(0x80_u8.wrapping_sub(least)));
    let is_digit = from(b'0') & !from(b'9'.wrapping_add(1));
    let is_letter = from(b'a') & !from(b'f'.wrapping_add(1));
    (is_digit | is_letter) & !bytes & HIGH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_is_stripped_if_all_of_its_bytes_are_there() {
        for length in 0..40 {
            let literal: Vec<u8> = (0..length).collect();
            let mut input = [&literal[..], b"rest"].concat();
            assert_eq!(strip(&input, &literal), Some(&b"rest"[..]));
            for at in 0..literal.len() {
                input[at] ^= 0x80;
                assert_eq!(strip(&input, &literal), None, "{length}, {at}");
                input[at] ^= 0x80;
                assert_eq!(strip(&input[..at], &literal), None);
            }
        }
    }

    #[test]
    fn a_number_is_taken_only_in_its_shortest_form() {
        for shift in 0..64 {
            for value in [(1u64 << shift) - 1, 1 << shift, (1 << shift) + 1, 23, 24] {
                let eight = value.to_be_bytes();
                let mut forms: Vec<Vec<u8>> = if value < 24 { vec![vec![value as u8]] } else { Vec::new() };
                for (initial, bytes) in [(24, 1), (25, 2), (26, 4), (27, 8)] {
                    if bytes == 8 || value >> (8 * bytes) == 0 {
                        forms.push([&[initial], &eight[8 - bytes..]].concat());
                    }
                }
                for (n, form) in forms.iter().enumerate() {
                    let input = [&form[..], b"the rest"].concat();
                    let expected = (n == 0).then_some((value, &b"the rest"[..]));
                    assert_eq!(shortest(&input), expected, "{form:?}");
                    let cut = shortest(&form[..form.len() - 1]);
                    assert!(cut.is_none() && (value < 24 || shortest(form).is_none_or(|_| form.len() == 9)));
                }
            }
        }
        assert!((28..=255).all(|initial| shortest(&[initial, 1, 2, 3, 4, 5, 6, 7, 8, 9]).is_none()));
    }

    #[test]
    fn digits_differ_from_other_texts_wherever_a_byte_is() {
        for length in 0..40 {
            let mut text = vec![b'a'; length];
            assert!(is_lower_hex(&text));
            for at in 0..length {
                for byte in 0..=255u8 {
                    text[at] = byte;
                    assert_eq!(is_lower_hex(&text), byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
                }
                text[at] = b'7';
            }
        }
    }
}
