//! CBOR has many spellings for one manifest. Those that no writer uses are read as the usual ones are: the
//! reader has a quick way for the usual ones, and both ways lead to the same.

mod common;

use ztensor::error::{Cause, Rule};
use ztensor::reader::{File, OpenOptions};

#[derive(Clone, Copy, Debug)]
enum Spelling {
    /// Every head with an argument of one, two, four or eight bytes.
    Heads(u8),
    /// Texts in chunks, arrays and maps that end with a break.
    Indefinite,
}

/// Spells the item at the front of `input` anew; how many bytes it takes. None where it is malformed.
fn respell(input: &[u8], out: &mut Vec<u8>, how: Spelling, depth: u32) -> Option<usize> {
    let (major, info) = (input.first()? >> 5, input[0] & 31);
    let size = match info {
        0..=23 => 0,
        24..=27 => 1 << (info - 24),
        31 => return None, // has that spelling already
        _ => return None,
    };
    let argument = input.get(1..1 + size)?.iter().fold(0u64, |n, b| n << 8 | u64::from(*b));
    let argument = if size == 0 { u64::from(info) } else { argument };
    let mut at = 1 + size;
    let indefinite = matches!((how, major), (Spelling::Indefinite, 3..=5));
    match how {
        _ if major == 7 => out.extend_from_slice(&input[..at]),
        Spelling::Heads(bytes) if u32::from(bytes) * 8 >= 64 - argument.leading_zeros() => {
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
                at += respell(&input[at..], out, how, depth.checked_sub(1)?)?;
            }
        }
        _ => {}
    }
    if indefinite {
        out.push(0xff);
    }
    Some(at)
}

/// The file with its manifest spelled anew; none where that cannot be done.
fn file(bytes: &[u8], how: Spelling) -> Option<Vec<u8>> {
    let magic = bytes.len().checked_sub(8).filter(|at| &bytes[*at..] == b"ZTEN1000");
    let end = magic.unwrap_or(bytes.len()).checked_sub(8)?;
    let size = u64::from_le_bytes(bytes[end..end + 8].try_into().ok()?);
    let start = end.checked_sub(usize::try_from(size).ok()?)?;
    let mut made = bytes[..start].to_vec();
    if start < 8 || respell(&bytes[start..end], &mut made, how, 100)? != end - start {
        return None;
    }
    let size = (made.len() - start) as u64;
    made.extend_from_slice(&size.to_le_bytes());
    made.extend_from_slice(&bytes[end + 8..]);
    Some(made)
}

/// All that a file says, or why it is refused.
fn told(bytes: Vec<u8>) -> Result<String, Cause> {
    let file = File::open_memory(bytes, &OpenOptions::default()).map_err(|e| e.cause())?;
    let mut said = format!("{} {:?}\n", file.version(), file.attributes());
    for o in file.objects() {
        let attributes = o.attributes();
        said += &format!("{:?} {:?} {} {attributes:?}\n", o.name(), o.shape(), o.format_name());
        for c in o.components() {
            let (entry, types) = (c.entry(), (c.dtype_name(), c.logical_name(), c.encoding_name()));
            said += &format!("  {:?} {types:?} {:?} {:?} ", c.role(), c.logical(), c.digest());
            said += &format!("{} {} {:?} ", entry.offset, entry.stored_size, entry.size);
            said += &format!("{} {} {}\n", entry.big_endian, entry.size_declared, entry.page_exclusive);
        }
    }
    Ok(said)
}

#[test]
fn a_manifest_says_the_same_in_every_spelling() {
    let (mut opened, mut refused) = (0, 0);
    for path in common::VALID.into_iter().chain(["invalid"]).flat_map(common::corpus) {
        let bytes = std::fs::read(&path).unwrap();
        let usual = told(bytes.clone());
        let at_the_end = [Rule::RangeEof, Rule::RangeManifest].map(Cause::Broken);
        if usual.as_ref().is_err_and(|e| at_the_end.contains(e)) {
            continue; // in a file whose manifest is longer, they may be right
        }
        for how in [1, 2, 4, 8].map(Spelling::Heads).into_iter().chain([Spelling::Indefinite]) {
            let Some(other) = file(&bytes, how) else { continue };
            assert_eq!(usual, told(other), "{} {how:?}", path.display());
            *(if usual.is_ok() { &mut opened } else { &mut refused }) += 1;
        }
    }
    assert!(opened > 1000 && refused > 300, "{opened} {refused}");
}
