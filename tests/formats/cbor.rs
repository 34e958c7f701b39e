//! Compares our CBOR with ciborium's: each reads what the other writes, and the values are equal.

use crate::common;

use ciborium::Value as Other;
use common::tree::Tree;
use ztensor::container::cbor::encode as cbor_encode;
use ztensor::container::cbor::Cursor;
use ztensor::model::value::ValueKind;

/// Pseudo-random numbers, the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 33
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

fn integer(random: &mut Random) -> u64 {
    let bits = random.below(65);
    let value = random.next() << 33 ^ random.next() << 12 ^ random.next();
    if bits == 0 {
        0
    } else {
        value >> (64 - bits)
    }
}

fn text(random: &mut Random) -> String {
    (0..random.below(30)).map(|_| char::from_u32(random.below(0x500) as u32).unwrap_or('x')).collect()
}

fn value(random: &mut Random, depth: u32) -> Tree {
    match random.below(if depth == 0 { 7 } else { 10 }) {
        0 => Tree::Null,
        1 => Tree::Bool(random.below(2) == 1),
        2 => Tree::Unsigned(integer(random)),
        3 => Tree::Negative(integer(random)),
        4 => Tree::Float(match random.below(4) {
            0 => f64::from_bits(integer(random)),
            1 => random.below(1000) as f64 / 8.0,
            2 => f64::from(f32::from_bits(random.next() as u32)),
            _ => [f64::INFINITY, f64::NEG_INFINITY, -0.0, 65504.0, 65520.0, 1e-7][random.below(6) as usize],
        }),
        5 => Tree::Text(text(random)),
        6 => Tree::Bytes(text(random).into_bytes()),
        7 => Tree::Array((0..random.below(6)).map(|_| value(random, depth - 1)).collect()),
        8 => {
            let pairs = (0..random.below(6))
                .map(|i| (Tree::Text(format!("{i}{}", text(random))), value(random, depth - 1)));
            Tree::Map(pairs.collect())
        }
        _ => Tree::Tag(1000 + random.below(1 << 40), Box::new(value(random, depth - 1))),
    }
}

fn other(value: &Tree) -> Other {
    match value {
        Tree::Null => Other::Null,
        Tree::Bool(v) => Other::Bool(*v),
        Tree::Unsigned(v) => Other::Integer((*v).into()),
        Tree::Negative(n) => Other::Integer((-1 - i128::from(*n)).try_into().unwrap()),
        Tree::Float(v) => Other::Float(*v),
        Tree::Text(t) => Other::Text(t.clone()),
        Tree::Bytes(b) => Other::Bytes(b.clone()),
        Tree::Array(items) => Other::Array(items.iter().map(other).collect()),
        Tree::Map(pairs) => Other::Map(pairs.iter().map(|(k, v)| (other(k), other(v))).collect()),
        Tree::Tag(tag, inner) => Other::Tag(*tag, Box::new(other(inner))),
        Tree::Simple(_) | Tree::Number(..) => unreachable!("ciborium does not have these values"),
    }
}

/// Compares values; NaN is equal to itself.
fn same(a: &Other, b: &Other) -> bool {
    match (a, b) {
        (Other::Float(x), Other::Float(y)) => x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan(),
        (Other::Array(x), Other::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y)),
        (Other::Map(x), Other::Map(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(&x.0, &y.0) && same(&x.1, &y.1))
        }
        (Other::Tag(s, x), Other::Tag(t, y)) => s == t && same(x, y),
        _ => a == b,
    }
}

#[test]
fn ciborium_reads_what_we_write_and_the_reverse() {
    let mut random = Random(7);
    for round in 0..20_000 {
        let value_in = value(&mut random, 4);
        let reference = other(&value_in);
        let mut bytes = Vec::new();
        cbor_encode::value(&mut bytes, value_in.owned().get()).unwrap();
        let read: Other = ciborium::from_reader(&bytes[..]).unwrap();
        assert!(same(&read, &reference), "round {round}: {reference:?} was read as {read:?}");
        let mut written = Vec::new();
        ciborium::into_writer(&reference, &mut written).unwrap();
        let back = Cursor::new(&written, 0).value().unwrap_or_else(|e| panic!("round {round}: {e}"));
        assert!(
            same(&other(&Tree::of(back.get())), &reference),
            "round {round}: {reference:?} came back as {back:?}"
        );
    }
}

#[test]
fn ciborium_accepts_what_we_accept() {
    let mut random = Random(11);
    let mut taken = 0;
    for _ in 0..200_000 {
        let mut bytes = Vec::new();
        cbor_encode::value(&mut bytes, value(&mut random, 2).owned().get()).unwrap();
        for _ in 0..random.below(3) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = random.next() as u8;
        }
        let mut cursor = Cursor::new(&bytes, 0);
        let Ok(value_in) = cursor.value() else { continue };
        let value_in = Tree::of(value_in.get());
        let mut skipping = Cursor::new(&bytes, 0);
        skipping.skip().unwrap();
        assert_eq!(skipping.position(), cursor.position());
        if format!("{value_in:?}").contains("Simple(") || format!("{value_in:?}").contains("Tag(") {
            continue; // ciborium does not have other simple values, and turns tags 2 and 3 into numbers
        }
        let read: Other = ciborium::from_reader(&bytes[..cursor.position()]).unwrap();
        assert!(same(&read, &other(&value_in)), "{bytes:02x?}: {value_in:?}, {read:?}");
        taken += 1;
    }
    assert!(taken > 50_000, "{taken}");
}

#[test]
fn integers_and_lengths_take_their_shortest_form() {
    for (value, expected) in [
        (0u64, "00"),
        (23, "17"),
        (24, "1818"),
        (255, "18ff"),
        (256, "190100"),
        (65535, "19ffff"),
        (65536, "1a00010000"),
        (u64::from(u32::MAX), "1affffffff"),
        (1 << 32, "1b0000000100000000"),
        (u64::MAX, "1bffffffffffffffff"),
    ] {
        let mut bytes = Vec::new();
        cbor_encode::unsigned(&mut bytes, value).unwrap();
        let found: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(found, expected);
    }
    for (value, expected) in [(1.5, 3), (65504.0, 3), (65520.0, 5), (0.1, 9), (f64::NAN, 3), (-0.0, 3)] {
        let mut bytes = Vec::new();
        cbor_encode::value(&mut bytes, Tree::Float(value).owned().get()).unwrap();
        assert_eq!(bytes.len(), expected, "{value}");
    }
}

#[test]
fn nans_that_differ_stay_different_and_the_usual_one_is_short() {
    let mut sizes = Vec::new();
    for bits in [
        0x7ff8_0000_0000_0000u64,
        0xfff8_0000_0000_0000,
        0x7ffc_0400_0000_0000,
        0x7ff8_0000_2000_0000,
        0x7ff8_0000_0000_0001,
        0x7ff0_0000_0000_0001,
        0x7ff4_0000_0000_0000,
    ] {
        let mut bytes = Vec::new();
        cbor_encode::value(&mut bytes, Tree::Float(f64::from_bits(bits)).owned().get()).unwrap();
        let back = Cursor::new(&bytes, 0).value().unwrap();
        let ValueKind::Float(back) = back.get().kind() else { panic!("{bytes:?}") };
        assert_eq!(back.to_bits(), bits, "{bits:x} is written as {bytes:x?}");
        sizes.push(bytes.len());
    }
    assert_eq!(sizes, [3, 3, 3, 9, 9, 9, 9]);
}
