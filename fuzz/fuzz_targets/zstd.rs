//! Random bytes as a compressed component of a valid file, compared with libzstd's one-shot decoder.
#![no_main]

use arbitrary::Unstructured;
use ztensor::error::{Cause, Rule};
use ztensor_fuzz::file::{compressed, Container, Layout};
use ztensor_fuzz::item::{map, text, EncodingStyle, Item};
use ztensor_fuzz::read;

/// libzstd's result; None if it fails or exceeds the limit.
fn reference(stored: &[u8]) -> Option<Vec<u8>> {
    let mut space = vec![0; read::MOST_DECODED as usize];
    let size = zstd_safe::decompress(&mut space[..], stored).ok()?;
    space.truncate(size);
    Some(space)
}

fn rest<'a>(u: &mut Unstructured<'a>) -> &'a [u8] {
    u.bytes(u.len()).expect("all that is left")
}

fn file(u: &mut Unstructured<'_>) -> arbitrary::Result<(Vec<u8>, Vec<u8>, u64)> {
    let (form, claim): (u8, u16) = (u.arbitrary()?, u.arbitrary()?);
    let frame: u16 = u.arbitrary()?;
    let mut stored = match form % 4 {
        0 => rest(u).to_vec(),
        1 => {
            let (flips, repeat): (u8, u8) = (u.arbitrary()?, u.arbitrary()?);
            let places: Vec<(u16, u8)> = (0..flips % 4).map(|_| u.arbitrary()).collect::<Result<_, _>>()?;
            let data = rest(u).repeat(usize::from(repeat) + 1);
            let mut stored =
                compressed(&data[..data.len().min(200_000)], usize::from(frame).max(256), form & 4 > 0);
            let size = stored.len();
            places.iter().for_each(|(at, xor)| stored[usize::from(*at) % size] ^= xor);
            stored
        }
        2 => compressed(rest(u), usize::from(frame).max(256), form & 4 > 0),
        _ => [
            compressed(&vec![form; claim.into()], usize::from(frame).max(256), form & 4 > 0),
            rest(u).to_vec(),
        ]
        .concat(),
    };
    stored.truncate(1 << 20);
    let truth = reference(&stored).map_or(0, |d| d.len() as u64);
    let claim = if form & 8 > 0 { u64::from(claim) } else { truth };
    let container = [Container::V1, Container::V1, Container::V0_1][usize::from(form >> 4) % 3];
    let mut layout = Layout::new(container);
    let offset = Item::Unsigned(layout.place(&stored));
    let length = Item::Unsigned(stored.len() as u64);
    let shape = Item::Array(vec![Item::Unsigned(claim)]);
    let root = if container == Container::V0_1 {
        let tensor = map(vec![
            ("name", text("t")),
            ("offset", offset),
            ("size", length),
            ("dtype", text("uint8")),
            ("shape", shape),
            ("encoding", text("zstd")),
        ]);
        Item::Array(vec![tensor])
    } else {
        // If the layout is unknown, the shape does not give the size; in 1.1 nothing else does.
        let check_error = form & 64 > 0;
        let mut data =
            vec![("dtype", text("u8")), ("offset", offset), ("length", length), ("encoding", text("zstd"))];
        if check_error {
            data.push(("uncompressed_length", Item::Unsigned(claim)));
        }
        let format = text(if form & 128 > 0 || !check_error { "blob" } else { "dense" });
        let object =
            map(vec![("shape", shape), ("format", format), ("components", map(vec![("data", map(data))]))]);
        let version = text(if check_error { "1.2.0" } else { "1.1.0" });
        map(vec![("version", version), ("objects", map(vec![("t", object)]))])
    };
    let start = layout.manifest(&root, &mut EncodingStyle { plain: true, input: u })?;
    let size = (layout.bytes.len() - start) as u64;
    let claim = if container == Container::V0_1 || form & 64 > 0 { claim } else { truth };
    Ok((layout.footer(size), stored, claim))
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Ok((bytes, stored, claim)) = file(&mut Unstructured::new(input)) else { return };
    let expected = reference(&stored);
    let Some(file) = read::everything(&bytes) else {
        assert!(expected.is_none_or(|d| d.len() as u64 != claim), "refused: {:?}", read::open(&bytes, false));
        return;
    };
    let component = file.object(0).unwrap().components().next().unwrap();
    match (component.load(), expected) {
        (Ok(loaded), Some(expected)) => assert_eq!(loaded.as_slice(), expected),
        (Ok(loaded), None) => {
            panic!("libzstd rejects it; the library decoded {} bytes", loaded.as_slice().len())
        }
        (Err(e), Some(expected)) => {
            let wrong_size = expected.len() as u64 != claim;
            assert!(wrong_size || stored.is_empty(), "libzstd accepts it: {e}");
        }
        (Err(e), None) => {
            let fine = [Rule::ZstdCorrupt, Rule::ZstdLength, Rule::ZstdTrailing];
            let check_error = e.rule().is_some_and(|rule| fine.contains(&rule));
            assert!(check_error || e.cause() == Cause::Limit, "{e}");
        }
    }
});
