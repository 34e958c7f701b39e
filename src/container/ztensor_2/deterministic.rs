//! Checks that bytes are one item of deterministic CBOR (RFC 8949 section 4.2.1) with only the kinds that
//! spec 2 section 2 allows.
//!
//! It is a single walk without recursion or allocation. For each open map it keeps the position of the last
//! key, which is compared with the next one. Bytes that were checked can be read without checking them again.

use crate::container::cbor::encode::narrow;
use crate::error::{broken, Error, Result, Rule};
use half::f16;
use std::cmp::Ordering;
use std::ops::Range;

/// The most arrays and maps around an item.
pub(super) const MAX_DEPTH: usize = 32;

/// An array or map whose items are still to come.
#[derive(Clone, Copy, Default)]
struct Open {
    /// How many items are left. A pair counts as one.
    left: u64,
    is_map: bool,
    /// Whether it is a map and its next item is a value.
    is_at_value: bool,
    /// The start of the current key: the next key, or the key whose value comes next.
    key_start: usize,
    /// The previous key; empty for the first key.
    last_key: (usize, usize),
}

struct Walk<'a> {
    input: &'a [u8],
    at: usize,
    /// The offset of the input in the file.
    base: u64,
}

/// Checks that `input`, which begins at offset `base` of the file, is exactly one item.
pub fn check(input: &[u8], base: u64) -> Result<()> {
    let size = check_item(input, base, 0)?;
    match input.len().saturating_sub(size) {
        0 => Ok(()),
        left => {
            let walk = Walk { input, at: size, base };
            Err(walk.wrong(Rule::Zt2CborSyntax, format_args!("{left} bytes follow the manifest's one item")))
        }
    }
}

/// Checks the head of an array or map.
pub fn check_head(input: &[u8], base: u64) -> Result<()> {
    Walk { input, at: 0, base }.item().map(drop)
}

/// Checks the item at the start of `input`, which is inside `around` arrays and maps. Returns its size.
#[inline(never)] // so that its large stack frame is only there while it runs
pub fn check_item(input: &[u8], base: u64, around: usize) -> Result<usize> {
    let mut walk = Walk { input, at: 0, base };
    let mut open = [Open::default(); MAX_DEPTH + 1];
    let mut depth = around;
    loop {
        let Some(container) = open.get_mut(depth) else {
            return Err(walk.wrong(
                Rule::Zt2CborDepth,
                format_args!("an item within more than {MAX_DEPTH} arrays and maps"),
            ));
        };
        let (count, is_map) = walk.item()?;
        if count > 0 {
            *container = Open { left: count, is_map, key_start: walk.at, ..Open::default() };
            depth = depth.saturating_add(1);
            continue;
        }
        // An item is complete. Close the arrays and maps that end with it.
        loop {
            if depth == around {
                return Ok(walk.at);
            }
            depth = depth.saturating_sub(1);
            let Some(container) = open.get_mut(depth) else { return Ok(walk.at) };
            if container.is_map && !container.is_at_value {
                walk.check_key(container.last_key, container.key_start..walk.at)?;
                container.last_key = (container.key_start, walk.at);
                container.is_at_value = true;
            } else {
                container.is_at_value = false;
                container.key_start = walk.at;
                container.left = container.left.saturating_sub(1);
            }
            if container.left > 0 {
                depth = depth.saturating_add(1);
                break;
            }
        }
    }
}

impl Walk<'_> {
    #[cold]
    fn wrong(&self, rule: Rule, what: std::fmt::Arguments<'_>) -> Error {
        broken!(rule, "CBOR at offset {}: {what}", self.base.saturating_add(self.at as u64))
    }

    #[cold]
    fn truncated(&self) -> Error {
        self.wrong(Rule::Zt2CborSyntax, format_args!("the input ends within an item"))
    }

    #[cold]
    fn not_shortest(&self) -> Error {
        self.wrong(Rule::Zt2CborDeterminism, format_args!("a number has a shorter form"))
    }

    /// Reads the next bytes as a big-endian number. It must be at least `min`, because smaller numbers have a
    /// shorter form.
    fn argument<const N: usize>(&mut self, min: u64) -> Result<u64> {
        let value = self.fixed::<N>()?;
        if value < min {
            return Err(self.not_shortest());
        }
        Ok(value)
    }

    fn fixed<const N: usize>(&mut self) -> Result<u64> {
        let rest = self.input.get(self.at..).unwrap_or_default();
        let Some(bytes) = rest.first_chunk::<N>() else { return Err(self.truncated()) };
        self.at = self.at.saturating_add(N);
        Ok(bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    /// Skips an item, or the head of an array or map. Returns how many items follow, and whether they are
    /// pairs.
    #[inline(always)]
    fn item(&mut self) -> Result<(u64, bool)> {
        let Some(initial) = self.input.get(self.at).copied() else { return Err(self.truncated()) };
        self.at = self.at.saturating_add(1);
        let (major, short) = (initial >> 5, initial & 0x1f);
        match major {
            7 => return self.simple_or_float(short).map(|()| (0, false)),
            6 => return Err(self.wrong(Rule::Zt2CborSyntax, format_args!("a tagged item"))),
            _ => {}
        }
        let argument = match short {
            0..=23 => u64::from(short),
            24 => self.argument::<1>(24)?,
            25 => self.argument::<2>(1 << 8)?,
            26 => self.argument::<4>(1 << 16)?,
            27 => self.argument::<8>(1 << 32)?,
            31 => {
                return Err(self.wrong(Rule::Zt2CborSyntax, format_args!("an item of indefinite length")));
            }
            _ => return Err(self.wrong(Rule::Zt2CborSyntax, format_args!("a reserved kind of item"))),
        };
        let left = self.input.len().saturating_sub(self.at);
        let capacity = match major {
            0 | 1 => return Ok((0, false)),
            5 => left / 2,
            _ => left,
        };
        if argument > capacity as u64 {
            return Err(self.wrong(
                Rule::Zt2CborSyntax,
                format_args!("{argument} items or bytes are declared, {left} bytes are left"),
            ));
        }
        if major >= 4 {
            return Ok((argument, major == 5));
        }
        let end = self.at.saturating_add(usize::try_from(argument).unwrap_or(usize::MAX));
        let bytes = self.input.get(self.at..end).unwrap_or_default();
        // Almost all texts are ASCII, which is checked eight bytes at a time.
        if major == 3 && !bytes.is_ascii() && std::str::from_utf8(bytes).is_err() {
            return Err(self.wrong(Rule::Zt2CborSyntax, format_args!("a text that is not UTF-8")));
        }
        self.at = end;
        Ok((0, false))
    }

    #[inline(never)]
    fn simple_or_float(&mut self, short: u8) -> Result<()> {
        let shortest = match short {
            20..=22 => true,
            25 => {
                let bits = self.fixed::<2>()?;
                bits & 0x7fff <= 0x7c00 || bits == 0x7e00
            }
            26 => {
                let value = f32::from_bits(u32::try_from(self.fixed::<4>()?).unwrap_or_default());
                !value.is_nan() && f16::from_f32(value).to_f32().to_bits() != value.to_bits()
            }
            27 => {
                let value = f64::from_bits(self.fixed::<8>()?);
                !value.is_nan() && f64::from(narrow(value)).to_bits() != value.to_bits()
            }
            _ => {
                return Err(
                    self.wrong(Rule::Zt2CborSyntax, format_args!("an unknown simple value or a break"))
                )
            }
        };
        match shortest {
            true => Ok(()),
            false => Err(self.not_shortest()),
        }
    }

    #[inline(always)]
    fn check_key(&self, last: (usize, usize), key: Range<usize>) -> Result<()> {
        let (start, end) = last;
        let last = self.input.get(start..end).unwrap_or_default();
        let next = self.input.get(key.clone()).unwrap_or_default();
        // Most keys differ in their first two bytes, the length and the first letter.
        if let (Some(a), Some(b)) = (last.first_chunk::<2>(), next.first_chunk::<2>()) {
            if u16::from_be_bytes(*a) < u16::from_be_bytes(*b) {
                return Ok(());
            }
        }
        // The first key is compared with an empty key, which is smaller than any other.
        match last.cmp(next) {
            Ordering::Less => Ok(()),
            order => Err(self.wrong_key(order, key)),
        }
    }

    #[cold]
    fn wrong_key(&self, order: Ordering, key: Range<usize>) -> Error {
        let at = self.base.saturating_add(key.start as u64);
        match order {
            Ordering::Equal => {
                broken!(Rule::Zt2CborDuplicateKey, "CBOR at offset {at}: a key is twice in one map")
            }
            _ => broken!(
                Rule::Zt2CborDeterminism,
                "CBOR at offset {at}: a key is not greater than the one before it"
            ),
        }
    }
}
