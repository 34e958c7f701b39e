//! A manifest has many forms in CBOR. The reader has a fast path for the usual forms and a general path for
//! others. Both must give the same result.

use crate::common;

use ztensor::error::{Cause, Rule};
use ztensor::reader::{File, OpenOptions};

#[derive(Clone, Copy, Debug)]
enum Encoding {
    /// Writes every head with an argument of one, two, four or eight bytes.
    Heads(u8),
    /// Writes texts in chunks, and arrays and maps that end with a break.
    Indefinite,
}

/// Rewrites the item at the front of `input`, and returns its length. None if it is malformed.
fn reencode(input: &[u8], out: &mut Vec<u8>, how: Encoding, depth: u32) -> Option<usize> {
    let (major, info) = (input.first()? >> 5, input[0] & 31);
    let size = match info {
        0..=23 => 0,
        24..=27 => 1 << (info - 24),
        31 => return None, // already has that form
        _ => return None,
    };
    let argument = input.get(1..1 + size)?.iter().fold(0u64, |n, b| n << 8 | u64::from(*b));
    let argument = if size == 0 { u64::from(info) } else { argument };
    let mut at = 1 + size;
    let indefinite = matches!((how, major), (Encoding::Indefinite, 3..=5));
    match how {
        _ if major == 7 => out.extend_from_slice(&input[..at]),
        Encoding::Heads(bytes) if u32::from(bytes) * 8 >= 64 - argument.leading_zeros() => {
            out.push(major << 5 | (24 + bytes.trailing_zeros() as u8));
            out.extend_from_slice(&argument.to_be_bytes()[8 - usize::from(bytes)..]);
        }
        _ if indefinite => out.push(major << 5 | 31),
        _ => out.extend_from_slice(&input[..at]),
    }
    match major {
        2 | 3 => {
            let end = at.checked_add(usize::try_from(argument).ok()?)?;
            if indefinite {
                out.extend_from_slice(&input[..at]);
            }
            out.extend_from_slice(input.get(at..end)?);
            at = end;
        }
        4..=6 => {
            let items = [argument, argument.checked_mul(2)?, 1][usize::from(major) - 4];
            for _ in 0..items {
                at += reencode(&input[at..], out, how, depth.checked_sub(1)?)?;
            }
        }
        _ => {}
    }
    if indefinite {
        out.push(0xff);
    }
    Some(at)
}

/// Rewrites the file's manifest, or returns None if that is not possible.
fn file(bytes: &[u8], how: Encoding) -> Option<Vec<u8>> {
    let magic = bytes.len().checked_sub(8).filter(|at| &bytes[*at..] == b"ZTEN1000");
    let end = magic.unwrap_or(bytes.len()).checked_sub(8)?;
    let size = u64::from_le_bytes(bytes[end..end + 8].try_into().ok()?);
    let start = end.checked_sub(usize::try_from(size).ok()?)?;
    let mut made = bytes[..start].to_vec();
    if start < 8 || reencode(&bytes[start..end], &mut made, how, 100)? != end - start {
        return None;
    }
    let size = (made.len() - start) as u64;
    made.extend_from_slice(&size.to_le_bytes());
    made.extend_from_slice(&bytes[end + 8..]);
    Some(made)
}

/// All contents of a file, or the error.
fn outcome_of(bytes: Vec<u8>) -> Result<String, Cause> {
    let file = File::open_memory(bytes, &OpenOptions::default()).map_err(|e| e.cause())?;
    let mut said = format!("{} {:?}\n", file.version(), file.attributes());
    for o in file.objects() {
        let attributes = o.attributes();
        said += &format!("{:?} {:?} {} {attributes:?}\n", o.name(), o.shape(), o.format_name());
        for c in o.components() {
            let (entry, types) = (c.entry(), (c.dtype_name(), c.logical_name(), c.encoding_name()));
            said += &format!("  {:?} {types:?} {:?} {:?} ", c.role(), c.logical(), c.digest());
            said += &format!("{} {} {:?} ", entry.offset, entry.stored_size, entry.size());
            said += &format!("{} {}\n", entry.is_big_endian(), entry.is_size_declared());
        }
    }
    Ok(said)
}

#[test]
fn a_manifest_means_the_same_in_every_encoding() {
    let (mut opened, mut refused) = (0, 0);
    for path in common::VALID.into_iter().chain(["invalid"]).flat_map(common::corpus) {
        let bytes = std::fs::read(&path).unwrap();
        let usual = outcome_of(bytes.clone());
        let at_the_end = [Rule::RangeEof, Rule::RangeManifest].map(Cause::Broken);
        if usual.as_ref().is_err_and(|e| at_the_end.contains(e)) {
            continue; // they may be valid in a file with a longer manifest
        }
        for how in [1, 2, 4, 8].map(Encoding::Heads).into_iter().chain([Encoding::Indefinite]) {
            let Some(other) = file(&bytes, how) else { continue };
            assert_eq!(usual, outcome_of(other), "{} {how:?}", path.display());
            *(if usual.is_ok() { &mut opened } else { &mut refused }) += 1;
        }
    }
    assert!(opened > 1000 && refused > 300, "{opened} {refused}");
}

/// Random objects in the forms of various writers. Each has its bytes in a separate range of 64 bytes, not at
/// the start of a page.
struct Objects(u64);

impl Objects {
    fn chance(&mut self, of: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % of
    }

    /// An unsigned integer, sometimes not in its shortest form.
    fn number(&mut self, n: u64) -> Vec<u8> {
        let needed = [24, 1 << 8, 1 << 16, 1 << 32, u64::MAX].iter().position(|most| n < *most).unwrap_or(4);
        let longer = if self.chance(4) == 0 { self.chance(5) as usize } else { 0 };
        match needed.max(longer) {
            0 => vec![n as u8],
            size => [&[23 + size as u8], &n.to_be_bytes()[8 - (1 << (size - 1))..]].concat(),
        }
    }

    fn text(text: &str) -> Vec<u8> {
        let size = text.len() as u8;
        let head = if size < 24 { vec![0x60 + size] } else { vec![0x78, size] };
        [&head, text.as_bytes()].concat()
    }

    /// A digest algorithm: one that a reader checks, or an unknown one.
    fn digest(&mut self, offset: u64) -> Vec<u8> {
        match self.chance(12) {
            0 => vec![0xf6],
            1 => Self::text("blake9:é"),
            2 => Self::text(&"x".repeat(200)),
            3 => [&[0x7f], &Self::text("crc32c:")[..], &Self::text("01234567"), &[0xff]].concat(),
            4..8 => Self::text(&format!("sha256:{offset:064x}")),
            _ => Self::text(&format!("crc32c:{:08x}", offset * 7919)),
        }
    }

    fn attributes(&mut self) -> Vec<u8> {
        let number = self.chance(7) as u8;
        match self.chance(6) {
            0 => vec![0xf6],
            1 => vec![0xa0],
            2 => [&[0xbf, 0x61, b'a', number, 0xff][..]].concat(),
            3 => [&[0xa2, 0x61, b'a', 0x83, number, 0xf4, 0x80, 0x61, b'b', 0xa1, number, 0x60][..]].concat(),
            _ => [&[0xa2][..], &Self::text("bits"), &[4], &Self::text("group_size"), &[0x18, 32 + number]]
                .concat(),
        }
    }

    fn map(&mut self, mut pairs: Vec<(&str, Vec<u8>)>) -> Vec<u8> {
        if self.chance(4) == 0 {
            let by = self.chance(pairs.len() as u64) as usize;
            pairs.rotate_left(by);
        }
        let endless = self.chance(6) == 0;
        let mut map = vec![if endless { 0xbf } else { 0xa0 + pairs.len() as u8 }];
        pairs.into_iter().for_each(|(key, value)| map.extend([Self::text(key), value].concat()));
        map.extend(endless.then_some(0xff));
        map
    }

    /// The definition of an object with bytes at `offset`. For one in `wrong`, it breaks a rule.
    fn one(&mut self, offset: u64, wrong: u64) -> Vec<u8> {
        let shapes: [(&[u64], &str, u64); 6] = [
            (&[4, 4], "f32", 64),
            (&[2, 2], "f32", 16),
            (&[8], "f64", 64),
            (&[], "u16", 2),
            (&[3, 0, 5], "i8", 0),
            (&[1, 2, 1, 2, 1, 1, 2, 1, 1], "bf16", 16),
        ];
        let (shape, dtype, size) = shapes[self.chance(6) as usize];
        let mut shape = shape.to_vec();
        let (mut at, mut length, mut decoded, mut offset_is) = (offset, size, size, None);
        match self.chance(wrong * 6) {
            0 => at += 1,
            1 => at = 1 << 40,
            2 => length += 1,
            3 => shape.push(u64::MAX),
            4 => offset_is = Some(vec![0x20]), // a negative number
            5 => decoded += 2,
            _ => {}
        }
        let mut dimensions = vec![0x80 + shape.len() as u8];
        shape.iter().for_each(|d| dimensions.extend(self.number(*d)));
        let mut component = vec![
            ("dtype", Self::text(dtype)),
            ("offset", offset_is.unwrap_or_else(|| self.number(at))),
            ("length", self.number(length)),
        ];
        if self.chance(2) == 0 {
            component.push(("digest", self.digest(offset)));
        }
        match self.chance(8) {
            0 => component.push(("encoding", Self::text("raw"))),
            1 => component.push(("uncompressed_length", self.number(decoded))),
            2 => component.push(("uncompressed_length", vec![0xf6])),
            3 => component
                .extend([("encoding", Self::text("zstd")), ("uncompressed_length", self.number(decoded))]),
            4 => component.push(("type", Self::text(dtype))),
            _ => {}
        }
        let mut components = vec![("data", self.map(component))];
        // In the next ranges of 64 bytes that are free and do not start a page: up to three more.
        let full = (offset + 64) % 4096 == 0 || at.saturating_add(length) > offset + 64;
        let more = if full { 0 } else { self.chance(6).saturating_sub(2) };
        for (role, at) in ["scales", "zeros", "other"].into_iter().take(more as usize).zip(0..) {
            let size = if at == 0 { 4 * (1 + self.chance(2)) } else { 0 };
            let mut another = vec![
                ("dtype", Self::text("u16")),
                ("offset", self.number(offset + 64)),
                ("length", self.number(size)),
            ];
            if self.chance(3) == 0 {
                another.push(("digest", self.digest(offset)));
            }
            components.push((role, self.map(another)));
        }
        let components = self.map(components);
        let format = Self::text("dense");
        let mut object = vec![("shape", dimensions), ("format", format), ("components", components)];
        match self.chance(9) {
            0..3 => object.push(("attributes", self.attributes())),
            3 => object.push(("extra", vec![0x82, 0xf4, self.chance(20) as u8])),
            _ => {}
        }
        self.map(object)
    }

    /// A random tensor of spec 0.1.0.
    fn old(&mut self, n: u64, wrong: u64) -> Vec<u8> {
        let offset = 64 * (2 * n + 1);
        let shapes: [(&[u64], &str, u64); 4] =
            [(&[4, 4], "float32", 64), (&[8], "float64", 64), (&[], "uint16", 2), (&[3, 0], "int8", 0)];
        let (shape, dtype, size) = shapes[self.chance(4) as usize];
        let (mut at, mut length) = (self.number(offset), size);
        match self.chance(wrong * 3) {
            0 => at = self.number(offset + 1),
            1 => length += 1,
            2 => at = vec![0x20], // a negative number
            _ => {}
        }
        let mut dimensions = vec![0x80 + shape.len() as u8];
        shape.iter().for_each(|d| dimensions.extend(self.number(*d)));
        let name = match self.chance(4) {
            0 => format!("größe.{n}"),
            1 => format!("model.layers.{n}.self_attention.query_projection.weight"),
            _ => format!("layer.{n}.weight"),
        };
        let encoding = if self.chance(4) == 0 { "zstd" } else { "raw" };
        let mut tensor = vec![
            ("name", Self::text(&name)),
            ("offset", at),
            ("size", self.number(length)),
            ("dtype", Self::text(dtype)),
            ("shape", dimensions),
            ("encoding", Self::text(encoding)),
        ];
        match self.chance(6) {
            0 => tensor.push(("layout", Self::text("dense"))),
            1 => tensor.push(("layout", Self::text("tiled"))),
            2 => tensor.push(("data_endianness", Self::text("big"))),
            3 => tensor.push(("data_endianness", Self::text("little"))),
            _ => {}
        }
        if self.chance(2) == 0 {
            tensor.push(("checksum", self.digest(offset)));
        }
        if self.chance(3) == 0 {
            tensor.push(("custom", self.attributes()));
        }
        self.map(tensor)
    }
}

/// A definition and its number.
type Numbered<'o> = (usize, &'o [u8]);

/// A 1.2 file with these objects, named by their numbers.
fn file_1_2(objects: &[Numbered<'_>]) -> Vec<u8> {
    let mut file = b"ZTEN1000".to_vec();
    file.resize(64 * 700, 0);
    let start = file.len();
    file.extend(b"\xa2\x67version\x651.2.0\x67objects\xb9");
    file.extend((objects.len() as u16).to_be_bytes());
    for (number, object) in objects {
        file.extend([Objects::text(&format!("layer.{number}.weight")), object.to_vec()].concat());
    }
    let size = (file.len() - start) as u64;
    file.extend([&size.to_le_bytes()[..], b"ZTEN1000"].concat());
    file
}

/// A 0.1 file with these tensors.
fn file_0_1(tensors: &[Numbered<'_>]) -> Vec<u8> {
    let mut file = b"ZTEN0001".to_vec();
    file.resize(64 * 700, 0);
    let start = file.len();
    file.push(0x99);
    file.extend((tensors.len() as u16).to_be_bytes());
    tensors.iter().for_each(|(_, tensor)| file.extend(*tensor));
    let size = (file.len() - start) as u64;
    file.extend(size.to_le_bytes());
    file
}

/// Random objects in one file mean the same as each alone in a file. `head`: the description of an empty
/// file.
fn check_after_each_other(
    head: &str,
    file_of: fn(&[Numbered<'_>]) -> Vec<u8>,
    one: fn(&mut Objects, u64, u64) -> Vec<u8>,
) {
    let (mut opened, mut refused) = (0, 0);
    for seed in 0..300 {
        let mut made = Objects(seed);
        let count = made.chance(300);
        let wrong = if seed % 3 == 0 { 40 } else { u64::MAX / 6 };
        let definition = |n: u64| {
            if seed % 2 == 0 {
                made.0 = seed + n % 3; // three forms, each several times
            }
            one(&mut made, n, wrong)
        };
        let objects: Vec<Vec<u8>> = (1..count + 2).map(definition).collect();
        let numbered: Vec<Numbered<'_>> = objects.iter().map(Vec::as_slice).enumerate().collect();
        let alone: Vec<_> = numbered.iter().map(|one| outcome_of(file_of(&[*one]))).collect();
        let combined = outcome_of(file_of(&numbered));
        // A file is parsed before it is checked, so errors of the manifest's syntax come first.
        let misread = |e: &&Cause| matches!(e, Cause::Broken(Rule::OffsetType | Rule::CborMalformed));
        let errors = || alone.iter().filter_map(|outcome_of| outcome_of.as_ref().err());
        match errors().find(misread).or(errors().next()) {
            Some(error) => {
                assert_eq!(combined.as_ref().unwrap_err(), error, "seed {seed}");
                refused += 1;
            }
            None => {
                let parts =
                    alone.iter().map(|outcome_of| outcome_of.as_ref().unwrap().strip_prefix(head).unwrap());
                assert!(combined.unwrap() == head.to_owned() + &parts.collect::<String>(), "seed {seed}");
                opened += objects.len();
            }
        }
    }
    assert!(opened > 30_000 && refused > 30, "{opened} {refused}");
}

#[test]
fn an_object_means_the_same_after_others() {
    check_after_each_other("1.2.0 None\n", file_1_2, |made, n, wrong| made.one(64 * (2 * n + 1), wrong));
}

#[test]
fn a_tensor_of_0_1_means_the_same_after_others() {
    check_after_each_other("0.1.0 None\n", file_0_1, Objects::old);
}
