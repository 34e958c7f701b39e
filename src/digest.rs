//! Digests of stored or decoded bytes: parsing, computing, comparing, formatting. Also the CRC-32 of
//! archives.

#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss
    )
)]

use crate::error::{broken, fail, Result, Rule};
use sha2::Digest as _;
use std::hash::Hasher as _;
use twox_hash::xxhash3_64::{RawHasher, SecretBuffer};
use twox_hash::XxHash3_64;

/// A digest algorithm that this version computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// CRC-32C (Castagnoli).
    Crc32c,
    /// SHA-256.
    Sha256,
    /// XXH3 of 64 bits, without a seed.
    Xxh3,
}

impl Algorithm {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Crc32c => "crc32c",
            Algorithm::Sha256 => "sha256",
            Algorithm::Xxh3 => "xxh3",
        }
    }
}

/// Which bytes the digests of a container cover. This also determines its algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DigestOf {
    /// Stored bytes: `sha256`, `crc32c`.
    Stored,
    /// Decoded bytes: `sha256`, `xxh3`.
    Decoded,
}

impl DigestOf {
    /// The algorithm to use instead of `algorithm` in this container: the same one, or one of the same
    /// strength.
    pub(crate) fn similar(self, algorithm: Algorithm) -> Algorithm {
        match (self, algorithm) {
            (_, Algorithm::Sha256) => Algorithm::Sha256,
            (DigestOf::Stored, _) => Algorithm::Crc32c,
            (DigestOf::Decoded, _) => Algorithm::Xxh3,
        }
    }

    /// Whether the text of a digest has the required form: digests of decoded bytes are in lower case.
    pub(crate) fn has_form(self, text: &str) -> bool {
        self == DigestOf::Stored || is_lower_case(text.as_bytes())
    }
}

/// Whether a text is `algorithm:hex`, all in lower case.
pub(crate) fn is_lower_case(text: &[u8]) -> bool {
    let is_hex = |b: &u8| b.is_ascii_digit() || (b'a'..=b'f').contains(b);
    let is_algorithm = |b: &u8| b.is_ascii_digit() || b.is_ascii_lowercase();
    let colon = text.iter().position(|b| *b == b':').and_then(|at| text.split_at_checked(at));
    let parts = colon.and_then(|(algorithm, rest)| Some((algorithm, rest.get(1..)?)));
    parts.is_some_and(|(algorithm, hex)| {
        let all_there = !algorithm.is_empty() && !hex.is_empty();
        all_there && algorithm.iter().all(is_algorithm) && hex.iter().all(is_hex)
    })
}

/// A digest, from a manifest or computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Digest {
    Crc32c(u32),
    /// A SHA-256 in its usual byte order.
    Sha256([u8; 32]),
    Xxh3(u64),
    /// A digest whose algorithm this version does not know. It cannot be checked.
    Unknown,
}

impl Digest {
    /// The algorithm that checks it, if there is one.
    pub(crate) fn algorithm(&self) -> Option<Algorithm> {
        match self {
            Digest::Crc32c(_) => Some(Algorithm::Crc32c),
            Digest::Sha256(_) => Some(Algorithm::Sha256),
            Digest::Xxh3(_) => Some(Algorithm::Xxh3),
            Digest::Unknown => None,
        }
    }

    pub(crate) fn hasher(&self) -> Result<Hasher> {
        let unknown = || fail!(Unsupported, "the digest's algorithm is unknown to this version");
        Ok(Hasher::new(self.algorithm().ok_or_else(unknown)?))
    }
}

/// Parses `algorithm:hex` for a container whose digests cover the bytes `of`.
pub(crate) fn parse_of(text: &str, of: DigestOf) -> Result<Digest> {
    match (of, text.split_once(':')) {
        (DigestOf::Stored, _) | (_, None | Some(("sha256", _))) => parse(text),
        (DigestOf::Decoded, Some(("xxh3", hex))) => xxh3_from_hex(hex).map(Digest::Xxh3).ok_or_else(|| {
            let (quoted, size) = (QuotedDigest(text), hex.len());
            broken!(Rule::DigestForm, "digest {quoted} has {size} bytes after xxh3:, not 16 hex digits")
        }),
        (DigestOf::Decoded, Some(_)) => Ok(Digest::Unknown),
    }
}

/// Parses 16 hex digits in lower case.
fn xxh3_from_hex(hex: &str) -> Option<u64> {
    let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    (hex.len() == 16 && hex.bytes().all(is_digit)).then(|| u64::from_str_radix(hex, 16).ok()).flatten()
}

/// The XXH3 of bytes that are all in memory.
pub(crate) fn xxh3(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot(bytes)
}

/// Parses `algorithm:hex`, a digest of stored bytes.
///
/// `sha256:` has exactly 64 hex digits in any case. `crc32c:` has 1 to 8 hex digits, possibly after `0x` or
/// `0X`: released versions write the number without leading zeros. Names are case-sensitive.
pub(crate) fn parse(text: &str) -> Result<Digest> {
    let quoted = QuotedDigest(text);
    if let Some(value) = text.strip_prefix("sha256:") {
        return sha256_from_hex(value).map(Digest::Sha256).ok_or_else(|| {
            let size = value.len();
            broken!(
                Rule::DigestForm,
                "digest {quoted} does not have exactly 64 hex digits after sha256: ({size} bytes)"
            )
        });
    }
    if let Some(value) = text.strip_prefix("crc32c:") {
        return crc32c_from_hex(value).map(Digest::Crc32c).ok_or_else(|| {
            let size = value.len();
            broken!(
                Rule::DigestForm,
                "digest {quoted} does not have 1 to 8 hex digits after crc32c: or crc32c:0x ({size} bytes)"
            )
        });
    }
    match text.split_once(':') {
        Some((name, _)) if is_algorithm_name(name) => Ok(Digest::Unknown),
        Some(_) => Err(broken!(Rule::DigestForm, "digest {quoted} has no algorithm (algorithm:hex)")),
        None => Err(broken!(Rule::DigestForm, "digest {quoted} has no colon (algorithm:hex)")),
    }
}

/// Whether the name has at least one character and only ASCII letters, digits and `-_.+`.
fn is_algorithm_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.+".contains(&b))
}

/// The value of a hex digit. `from_str_radix` does not fit here, because it accepts a sign.
fn nibble(digit: u8) -> Option<u8> {
    (digit as char).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// Parses 64 hex digits in any case.
fn sha256_from_hex(hex: &str) -> Option<[u8; 32]> {
    let hex: &[u8; 64] = hex.as_bytes().try_into().ok()?;
    let mut value = [0; 32];
    for (byte, pair) in value.iter_mut().zip(hex.chunks_exact(2)) {
        let &[high, low] = pair else { return None };
        *byte = nibble(high)? << 4 | nibble(low)?;
    }
    Some(value)
}

/// Parses 1 to 8 hex digits in any case, possibly after `0x`.
fn crc32c_from_hex(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    if digits.is_empty() || digits.len() > 8 {
        return None;
    }
    digits.bytes().try_fold(0u32, |value, digit| Some(value << 4 | u32::from(nibble(digit)?)))
}

/// A digest from a file for a message: escaped, and shortened if it is very long.
struct QuotedDigest<'a>(&'a str);

impl std::fmt::Display for QuotedDigest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut rest = self.0.char_indices().skip(100);
        match rest.next() {
            Some((at, _)) => write!(f, "{:?}...", self.0.get(..at).unwrap_or_default()),
            None => write!(f, "{:?}", self.0),
        }
    }
}

/// Computes a digest piece by piece.
#[allow(clippy::large_enum_variant, reason = "a box would ask for memory that cannot be refused")]
pub(crate) enum Hasher {
    Crc32c(u32),
    Sha256(sha2::Sha256),
    /// It does not allocate: it borrows these bytes of the default secret.
    Xxh3(RawHasher<&'static [u8; 192]>),
}

impl Hasher {
    pub(crate) fn new(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Crc32c => Hasher::Crc32c(0),
            Algorithm::Sha256 => Hasher::Sha256(sha2::Sha256::new()),
            Algorithm::Xxh3 => Hasher::Xxh3(RawHasher::new(SecretBuffer::default())),
        }
    }

    pub(crate) fn algorithm(&self) -> Algorithm {
        match self {
            Hasher::Crc32c(_) => Algorithm::Crc32c,
            Hasher::Sha256(_) => Algorithm::Sha256,
            Hasher::Xxh3(_) => Algorithm::Xxh3,
        }
    }

    /// Hashes the next bytes, in order.
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match self {
            Hasher::Crc32c(value) => *value = crc32c::crc32c_append(*value, bytes),
            Hasher::Sha256(hasher) => hasher.update(bytes),
            Hasher::Xxh3(hasher) => hasher.write(bytes),
        }
    }

    pub(crate) fn finish(self) -> Digest {
        match self {
            Hasher::Crc32c(value) => Digest::Crc32c(value),
            Hasher::Sha256(hasher) => Digest::Sha256(hasher.finalize().into()),
            Hasher::Xxh3(hasher) => Digest::Xxh3(hasher.finish()),
        }
    }
}

/// The digest of bytes that are all in memory.
pub(crate) fn compute(algorithm: Algorithm, bytes: &[u8]) -> Digest {
    let mut hasher = Hasher::new(algorithm);
    hasher.update(bytes);
    hasher.finish()
}

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match to_text(self) {
            Ok(text) => f.write_str(&text),
            Err(_) => f.write_str("an algorithm that this version does not know"),
        }
    }
}

/// The length of the text that [`to_text`] makes.
pub(crate) fn text_size(algorithm: Algorithm) -> usize {
    match algorithm {
        Algorithm::Crc32c => "crc32c:0x".len().saturating_add(8),
        Algorithm::Sha256 => "sha256:".len().saturating_add(64),
        Algorithm::Xxh3 => "xxh3:".len().saturating_add(16),
    }
}

/// A digest as text for the manifest. It does not allocate, because there may be one for each of many small
/// tensors.
#[derive(Debug)]
pub(crate) struct DigestText {
    bytes: [u8; 71], // the longest text, for SHA-256
    size: usize,
}

impl DigestText {
    /// Formats `front`, then `value` with `digits`.
    #[inline(always)]
    fn new(front: &str, value: &[u8], digits: &[u8; 16]) -> DigestText {
        let digit = |value: u8| digits.get(usize::from(value & 15)).copied().unwrap_or(b'?');
        let mut bytes = [0; 71];
        if let Some((start, hex)) = bytes.split_at_mut_checked(front.len()) {
            start.copy_from_slice(front.as_bytes());
            for (pair, byte) in hex.chunks_exact_mut(2).zip(value) {
                pair.copy_from_slice(&[digit(byte >> 4), digit(*byte)]);
            }
        }
        DigestText { bytes, size: front.len().saturating_add(value.len().saturating_mul(2)) }
    }
}

impl std::ops::Deref for DigestText {
    type Target = str;

    fn deref(&self) -> &str {
        self.bytes.get(..self.size).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
    }
}

/// The text of a digest for the manifest, in the form that every released version accepts: `sha256:` in lower
/// case, `crc32c:0x` in upper case.
pub(crate) fn to_text(digest: &Digest) -> Result<DigestText> {
    match digest {
        Digest::Crc32c(value) => Ok(DigestText::new("crc32c:0x", &value.to_be_bytes(), b"0123456789ABCDEF")),
        Digest::Sha256(value) => Ok(DigestText::new("sha256:", value, b"0123456789abcdef")),
        Digest::Xxh3(value) => Ok(DigestText::new("xxh3:", &value.to_be_bytes(), b"0123456789abcdef")),
        Digest::Unknown => Err(fail!(Internal, "a digest of an unknown algorithm cannot be written")),
    }
}

/// Compares the digest of the manifest with the computed one.
pub(crate) fn check(digest: &Digest, computed: &Digest) -> Result<()> {
    match (digest, computed) {
        (Digest::Unknown, _) | (_, Digest::Unknown) => {
            Err(fail!(Unsupported, "the digest's algorithm is unknown to this version"))
        }
        _ if digest == computed => Ok(()),
        _ if digest.algorithm() == computed.algorithm() => {
            Err(fail!(DigestMismatch, "expected {digest}, computed {computed}"))
        }
        _ => Err(fail!(Internal, "{digest} cannot be compared with {computed}")),
    }
}

/// Computes a CRC-32 as in archives (IEEE 802.3).
pub(crate) struct Crc32(crc32fast::Hasher);

impl Crc32 {
    pub(crate) fn new() -> Crc32 {
        Crc32(crc32fast::Hasher::new())
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Compares it with the expected CRC.
    pub(crate) fn check(self, expected: u32) -> Result<()> {
        let found = self.0.finalize();
        match found == expected {
            true => Ok(()),
            false => Err(broken!(
                Rule::ZipChecksum,
                "its CRC-32 is {found:#010x}, but the archive says {expected:#010x}"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Cause;

    const SHA: &str = "c0522e48b7d17602f6f09ca7182ed4d283708f66fdbf9312f398ec28af7e109b";

    #[test]
    fn known_answers() {
        assert_eq!(compute(Algorithm::Crc32c, b"123456789"), Digest::Crc32c(0xE306_9283));
        assert_eq!(compute(Algorithm::Crc32c, b""), Digest::Crc32c(0));
        let abc = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(&*to_text(&compute(Algorithm::Sha256, b"abc")).unwrap(), abc);
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(&*to_text(&compute(Algorithm::Sha256, b"")).unwrap(), empty);
    }

    #[test]
    fn pieces_give_what_the_whole_gives() {
        let bytes: Vec<u8> = (0..1000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for algorithm in [Algorithm::Crc32c, Algorithm::Sha256] {
            for piece in [1, 3, 64, 999] {
                let mut hasher = Hasher::new(algorithm);
                bytes.chunks(piece).for_each(|chunk| hasher.update(chunk));
                hasher.update(&[]);
                assert_eq!(hasher.finish(), compute(algorithm, &bytes));
            }
        }
    }

    /// Short inputs, blocks of 1 KiB, and the state between two pieces.
    #[test]
    fn xxh3_is_what_another_crate_computes() {
        let bytes: Vec<u8> = (0..5000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for size in (0..300).chain([511, 512, 513, 1023, 1024, 1025, 2048, 4095, 4096, 5000]) {
            let (bytes, wanted) = (&bytes[..size], xxhash_rust::xxh3::xxh3_64(&bytes[..size]));
            assert_eq!(xxh3(bytes), wanted, "{size} bytes at once");
            for piece in [1, 63, 64, 65, 256, 257, 1024, 4999] {
                let mut hasher = Hasher::new(Algorithm::Xxh3);
                bytes.chunks(piece).for_each(|chunk| hasher.update(chunk));
                assert_eq!(hasher.finish(), Digest::Xxh3(wanted), "{size} bytes in pieces of {piece}");
            }
        }
    }

    #[test]
    fn what_we_write_we_read() {
        for value in [0, 1, 0xABCDEF, u32::MAX] {
            let text = to_text(&Digest::Crc32c(value)).unwrap();
            assert_eq!(text.len(), "crc32c:0x".len() + 8);
            assert_eq!(text.len(), text_size(Algorithm::Crc32c));
            assert_eq!(parse(&text).unwrap(), Digest::Crc32c(value));
        }
        assert_eq!(&*to_text(&Digest::Crc32c(0xF81C8CF)).unwrap(), "crc32c:0x0F81C8CF");
        let digest = compute(Algorithm::Sha256, b"x");
        assert_eq!(parse(&to_text(&digest).unwrap()).unwrap(), digest);
        assert_eq!(to_text(&digest).unwrap().len(), text_size(Algorithm::Sha256));
        assert_eq!(Digest::Unknown.to_string(), "an algorithm that this version does not know");
        assert_eq!(to_text(&Digest::Unknown).unwrap_err().cause(), Cause::Internal);
    }

    #[test]
    fn forms_that_are_read() {
        let Digest::Sha256(value) = parse(&format!("sha256:{SHA}")).unwrap() else { panic!() };
        assert_eq!(value[..3], [0xC0, 0x52, 0x2E]);
        assert_eq!(value[31], 0x9B);
        assert_eq!(parse(&format!("sha256:{}", SHA.to_uppercase())).unwrap(), Digest::Sha256(value));
        for (text, value) in [
            ("crc32c:f81c8cf5", 0xF81C_8CF5),
            ("crc32c:F81C8CF5", 0xF81C_8CF5),
            ("crc32c:0xf81C8cF5", 0xF81C_8CF5),
            ("crc32c:0XF81C8CF5", 0xF81C_8CF5),
            ("crc32c:0x0", 0),
            ("crc32c:0", 0),
            ("crc32c:abc", 0xABC),
            ("crc32c:0x1234567", 0x123_4567),
        ] {
            assert_eq!(parse(text).unwrap(), Digest::Crc32c(value), "{text}");
        }
        let upper = format!("SHA256:{SHA}");
        for text in
            ["md5:00000000000000000000000000000000", &upper, "Crc32c:00", "xxh3-64:", "a:b:c", "b2+_.-:\0é"]
        {
            assert_eq!(parse(text).unwrap(), Digest::Unknown, "{text}");
        }
    }

    #[test]
    fn forms_that_are_malformed() {
        let cases = [
            String::new(),
            ":".into(),
            "sha256".into(),
            "crc32c".into(),
            format!(":{SHA}"),
            "sha256:".into(),
            format!("sha256:{}", &SHA[1..]),
            format!("sha256:{SHA}0"),
            format!("sha256: {SHA}"),
            format!("sha256:{SHA} "),
            format!("sha256:{}\0", &SHA[1..]),
            format!("sha256:0x{}", &SHA[2..]),
            format!("sha256:{}", "g".repeat(64)),
            format!("sha256:{}", "\u{664}".repeat(32)), // 64 bytes of digits that are not ASCII
            format!("sha256:{}", "\u{ff10}".repeat(64)),
            "crc32c:".into(),
            "crc32c:0x".into(),
            "crc32c:0f81c8cf5".into(),
            "crc32c:0x0f81c8cf5".into(),
            "crc32c:+81c8cf5".into(),
            "crc32c:-1".into(),
            "crc32c:f81c_cf5".into(),
            "crc32c: f81c8cf".into(),
            "crc32c:0x0xff".into(),
            "crc32c:0xXYZ".into(),
            "crc32c:0\0".into(),
            format!("crc32c:{SHA}"),
            "m d5:00".into(),
            "md\0:00".into(),
            "é:00".into(),
            " sha256:00".into(),
        ];
        for text in cases {
            let error = parse(&text).unwrap_err();
            assert_eq!(error.rule(), Some(Rule::DigestForm), "{text:?}");
            assert!(!error.message().contains('\0'), "{text:?}");
        }
        let long = "\u{1F600}".repeat(100_000);
        assert!(parse(&long).unwrap_err().message().len() < 600);
    }

    #[test]
    fn comparing() {
        let one = Digest::Crc32c(1);
        assert!(check(&one, &Digest::Crc32c(1)).is_ok());
        let error = check(&one, &Digest::Crc32c(2)).unwrap_err();
        assert_eq!(error.cause(), Cause::DigestMismatch);
        assert_eq!(error.message(), "expected crc32c:0x00000001, computed crc32c:0x00000002");
        assert_eq!(check(&Digest::Unknown, &one).unwrap_err().cause(), Cause::Unsupported);
        assert_eq!(check(&one, &Digest::Sha256([0; 32])).unwrap_err().cause(), Cause::Internal);
        assert_eq!(one.algorithm(), Some(Algorithm::Crc32c));
        assert_eq!(Digest::Unknown.algorithm(), None);
    }

    #[test]
    fn the_sum_is_that_of_archives() {
        let of = |pieces: &[&[u8]]| {
            let mut sum = Crc32::new();
            pieces.iter().for_each(|piece| sum.update(piece));
            sum
        };
        of(&[b"123456789"]).check(0xcbf4_3926).unwrap();
        of(&[b"1234", b"56789"]).check(0xcbf4_3926).unwrap();
        of(&[]).check(0).unwrap();
        let error = of(&[b"123456788"]).check(0xcbf4_3926).unwrap_err();
        assert!(error.rule() == Some(Rule::ZipChecksum) && error.message().contains("0xcbf43926"));
    }
}
