//! A fast path: whether a short text is UTF-8. The standard library looks for long runs of ASCII and branches
//! at each byte, which costs 110 instructions and several wrong guesses for a token of a vocabulary, of ten
//! bytes. Here each byte is a row of a table that says which state follows which, and a shift picks it. A
//! GGUF file with 536,000 such texts opens in two thirds of the time. It does not apply to long texts, of
//! which the standard library checks more at once.

/// Longer texts are left to the standard library.
const MAX_SHORT: usize = 64;

/// The bit at which the follower of a state is in a row, which has six bits for each state.
const fn shift_of(state: u64) -> u64 {
    state * 6
}

/// Between characters.
const WHOLE: u64 = 0;
/// The text is not UTF-8, whatever follows.
const WRONG: u64 = 1;
/// One, two or three more bytes of a character follow.
const ONE: u64 = 2;
const TWO: u64 = 3;
const THREE: u64 = 4;
/// After a byte behind which some bytes are not allowed: they would make a longer form than needed, a
/// surrogate, or a character above U+10FFFF.
const AFTER_E0: u64 = 5;
const AFTER_ED: u64 = 6;
const AFTER_F0: u64 = 7;
const AFTER_F4: u64 = 8;
const STATES: u64 = 9;

/// The state behind a byte (RFC 3629, section 4).
const fn next(state: u64, byte: u8) -> u64 {
    match (state, byte) {
        (WHOLE, 0..=0x7f) => WHOLE,
        (WHOLE, 0xc2..=0xdf) => ONE,
        (WHOLE, 0xe0) => AFTER_E0,
        (WHOLE, 0xed) => AFTER_ED,
        (WHOLE, 0xe1..=0xef) => TWO,
        (WHOLE, 0xf0) => AFTER_F0,
        (WHOLE, 0xf1..=0xf3) => THREE,
        (WHOLE, 0xf4) => AFTER_F4,
        (ONE, 0x80..=0xbf) => WHOLE,
        (TWO, 0x80..=0xbf) | (AFTER_E0, 0xa0..=0xbf) | (AFTER_ED, 0x80..=0x9f) => ONE,
        (THREE, 0x80..=0xbf) | (AFTER_F0, 0x90..=0xbf) | (AFTER_F4, 0x80..=0x8f) => TWO,
        _ => WRONG,
    }
}

/// For each byte, the shifts of the states that follow each state.
static ROWS: [u64; 256] = {
    let mut rows = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut state = 0;
        while state < STATES {
            rows[byte] |= shift_of(next(state, byte as u8)) << shift_of(state);
            state += 1;
        }
        byte += 1;
    }
    rows
};

/// Whether it is UTF-8.
#[inline]
pub fn is_utf8(text: &[u8]) -> bool {
    if text.len() > MAX_SHORT {
        return std::str::from_utf8(text).is_ok();
    }
    let row = |byte: &u8| ROWS.get(usize::from(*byte)).copied().unwrap_or_default();
    let end = text.iter().fold(shift_of(WHOLE), |at, byte| row(byte) >> (at & 63));
    end & 63 == shift_of(WHOLE)
}

#[cfg(test)]
mod tests {
    use super::is_utf8;

    /// The plain path is the standard library's.
    #[track_caller]
    fn compare(text: &[u8]) {
        assert_eq!(is_utf8(text), std::str::from_utf8(text).is_ok(), "{text:x?}");
    }

    #[test]
    fn every_character_is_utf8_and_with_a_byte_changed_what_the_standard_library_says() {
        for c in
            ('\0'..=char::MAX).step_by(7).chain("\u{7f}\u{80}\u{7ff}\u{800}\u{d7ff}\u{e000}\u{ffff}".chars())
        {
            let mut text = *b"abc____defghijk";
            let size = c.encode_utf8(&mut [0; 4]).len();
            c.encode_utf8(&mut text[3..]);
            assert!(is_utf8(&text), "{c:?}");
            for end in 3..3 + size {
                compare(&text[..end]);
                for byte in [0, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xed, 0xf4, 0xff]
                {
                    let before = std::mem::replace(&mut text[end], byte);
                    compare(&text);
                    text[end] = before;
                }
            }
        }
    }

    #[test]
    fn every_two_bytes_in_front_of_others() {
        for two in 0..=u16::MAX {
            for rest in [
                &b""[..],
                b"\x80",
                b"\x80\x80",
                b"\x80\x80\x80",
                b"\xbf\xbf",
                b"plain text behind it",
                &[b'x'; 70],
            ] {
                compare(&[&two.to_be_bytes(), rest].concat());
            }
        }
    }
}
