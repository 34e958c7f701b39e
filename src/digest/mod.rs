//! Digests over stored or decoded bytes: reading the manifest's text, computing, comparing, writing.

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

mod crc32;

use sha2::Digest as _;
use std::hash::Hasher as _;
use twox_hash::xxhash3_64::{RawHasher, SecretBuffer};
use twox_hash::XxHash3_64;

pub(crate) use crc32::Crc32;

use crate::error::{broken, fail, Result, Rule};

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

/// Which bytes the digests of a container are of. This also decides its algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DigestOf {
    /// Stored bytes: `sha256`, `crc32c`.
    Stored,
    /// Decoded bytes: `sha256`, `xxh3`.
    Decoded,
}

impl DigestOf {
    /// The algorithm to use in place of `algorithm`: itself, or one of the same strength.
    pub(crate) fn similar(self, algorithm: Algorithm) -> Algorithm {
        match (self, algorithm) {
            (_, Algorithm::Sha256) => Algorithm::Sha256,
            (DigestOf::Stored, _) => Algorithm::Crc32c,
            (DigestOf::Decoded, _) => Algorithm::Xxh3,
        }
    }

    /// Whether the text of a digest has the form that it has to have: digests of decoded bytes are in lower
    /// case.
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

/// The value of a digest: that of a manifest, or a computed one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Digest {
    /// A CRC-32C as the number.
    Crc32c(u32),
    /// A SHA-256 in its usual byte order.
    Sha256([u8; 32]),
    /// An XXH3 as the number.
    Xxh3(u64),
    /// An algorithm that this version does not know: neither right nor wrong.
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

    /// A hasher of its algorithm.
    pub(crate) fn hasher(&self) -> Result<Hasher> {
        let unknown = || fail!(Unsupported, "the digest is of an algorithm that this version does not know");
        Ok(Hasher::new(self.algorithm().ok_or_else(unknown)?))
    }
}

/// Reads `algorithm:hex` of a container whose digests are of the bytes `of`.
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

/// 16 hex digits, lower case.
fn xxh3_from_hex(hex: &str) -> Option<u64> {
    let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    (hex.len() == 16 && hex.bytes().all(is_digit)).then(|| u64::from_str_radix(hex, 16).ok()).flatten()
}

/// The XXH3 of bytes that lie in memory as a whole.
pub(crate) fn xxh3(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot(bytes)
}

/// Reads `algorithm:hex`, a digest of stored bytes.
///
/// `sha256:` takes exactly 64 hex digits of any case; `crc32c:` takes 1 to 8, `0x` or `0X` in front
/// or not: releases write the number without zero padding. Names are case-sensitive.
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
        Some(_) => Err(broken!(Rule::DigestForm, "digest {quoted} names no algorithm (algorithm:hex)")),
        None => Err(broken!(Rule::DigestForm, "digest {quoted} has no colon (algorithm:hex)")),
    }
}

/// At least one ASCII letter, digit or `-_.+`, and nothing else.
fn is_algorithm_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.+".contains(&b))
}

/// The value of one hex digit. `from_str_radix` is no help: it takes a sign.
fn nibble(digit: u8) -> Option<u8> {
    (digit as char).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// 64 hex digits of any case.
fn sha256_from_hex(hex: &str) -> Option<[u8; 32]> {
    let hex: &[u8; 64] = hex.as_bytes().try_into().ok()?;
    let mut value = [0; 32];
    for (byte, pair) in value.iter_mut().zip(hex.chunks_exact(2)) {
        let &[high, low] = pair else { return None };
        *byte = nibble(high)? << 4 | nibble(low)?;
    }
    Some(value)
}

/// 1 to 8 hex digits of any case, perhaps after `0x`.
fn crc32c_from_hex(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    if digits.is_empty() || digits.len() > 8 {
        return None;
    }
    digits.bytes().try_fold(0u32, |value, digit| Some(value << 4 | u32::from(nibble(digit)?)))
}

/// A digest from a file for a message: escaped, and cut where it is absurdly long.
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
pub(crate) struct Hasher(RunningHash);

/// An XXH3 that asks for no memory: it borrows the usual secret, of which these are the bytes.
type Xxh3 = RawHasher<&'static [u8; 192]>;

/// The running value.
#[allow(clippy::large_enum_variant, reason = "a box would ask for memory that cannot be refused")]
enum RunningHash {
    /// The CRC so far.
    Crc32c(u32),
    /// The hash so far.
    Sha256(sha2::Sha256),
    /// The hash so far.
    Xxh3(Xxh3),
}

impl Hasher {
    /// Nothing hashed yet.
    pub(crate) fn new(algorithm: Algorithm) -> Self {
        Hasher(match algorithm {
            Algorithm::Crc32c => RunningHash::Crc32c(0),
            Algorithm::Sha256 => RunningHash::Sha256(sha2::Sha256::new()),
            Algorithm::Xxh3 => RunningHash::Xxh3(RawHasher::new(SecretBuffer::default())),
        })
    }

    /// What it computes.
    pub(crate) fn algorithm(&self) -> Algorithm {
        match self.0 {
            RunningHash::Crc32c(_) => Algorithm::Crc32c,
            RunningHash::Sha256(_) => Algorithm::Sha256,
            RunningHash::Xxh3(_) => Algorithm::Xxh3,
        }
    }

    /// Takes the next bytes, in order.
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            RunningHash::Crc32c(value) => *value = crc32c::crc32c_append(*value, bytes),
            RunningHash::Sha256(hasher) => hasher.update(bytes),
            RunningHash::Xxh3(hasher) => hasher.write(bytes),
        }
    }

    /// The digest of everything taken.
    pub(crate) fn finish(self) -> Digest {
        match self.0 {
            RunningHash::Crc32c(value) => Digest::Crc32c(value),
            RunningHash::Sha256(hasher) => Digest::Sha256(hasher.finalize().into()),
            RunningHash::Xxh3(hasher) => Digest::Xxh3(hasher.finish()),
        }
    }
}

/// The digest of bytes that lie in memory as a whole.
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

/// Bytes that [`to_text`] makes of a digest.
pub(crate) fn text_size(algorithm: Algorithm) -> usize {
    match algorithm {
        Algorithm::Crc32c => "crc32c:0x".len().saturating_add(8),
        Algorithm::Sha256 => "sha256:".len().saturating_add(64),
        Algorithm::Xxh3 => "xxh3:".len().saturating_add(16),
    }
}

/// A digest as the manifest has it; no memory is asked for, as there may be one for each of many small
/// tensors.
#[derive(Debug)]
pub(crate) struct DigestText {
    bytes: [u8; 71], // the longest, of SHA-256
    size: usize,
}

impl DigestText {
    /// `front`, then `value` in `digits`.
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

/// The text of a digest for the manifest, in the one form that every release checks: `sha256:` lower case,
/// `crc32c:0x` upper case.
pub(crate) fn to_text(digest: &Digest) -> Result<DigestText> {
    match digest {
        Digest::Crc32c(value) => Ok(DigestText::new("crc32c:0x", &value.to_be_bytes(), b"0123456789ABCDEF")),
        Digest::Sha256(value) => Ok(DigestText::new("sha256:", value, b"0123456789abcdef")),
        Digest::Xxh3(value) => Ok(DigestText::new("xxh3:", &value.to_be_bytes(), b"0123456789abcdef")),
        Digest::Unknown => Err(fail!(Internal, "a digest of an unknown algorithm cannot be written")),
    }
}

/// Compares the manifest's digest with the computed one.
pub(crate) fn check(digest: &Digest, computed: &Digest) -> Result<()> {
    match (digest, computed) {
        (Digest::Unknown, _) | (_, Digest::Unknown) => {
            Err(fail!(Unsupported, "the digest is of an algorithm that this version does not know"))
        }
        _ if digest == computed => Ok(()),
        _ if digest.algorithm() == computed.algorithm() => {
            Err(fail!(DigestMismatch, "expected {digest}, computed {computed}"))
        }
        _ => Err(fail!(Internal, "{digest} cannot be compared with {computed}")),
    }
}

#[cfg(test)]
mod tests;
