//! Seekable zstd in zTensor 2: frames with a correct or a wrong table, and random bytes. Read completely, in
//! ranges, in batches and in pieces, the bytes are those that the released library decodes, or both reject
//! the file.
#![no_main]

use arbitrary::{Result, Unstructured};
use current::Vocabulary;
use ztensor::error::Cause;
use ztensor_fuzz::container_2::{encoded, seekable, sort, table, Blobs};
use ztensor_fuzz::file::compressed;
use ztensor_fuzz::guarded::guarded;
use ztensor_fuzz::item::{map, text, Item};
use ztensor_fuzz::random::Random;
use ztensor_fuzz::read;

/// Stored bytes, and their declared decoded size.
fn stream(u: &mut Unstructured<'_>) -> Result<(Vec<u8>, u64)> {
    let form: u8 = u.arbitrary()?;
    let (claim, each, repeat): (u16, u16, u8) = (u.arbitrary()?, u.arbitrary()?, u.arbitrary()?);
    if form % 4 == 0 {
        return Ok((u.bytes(u.len())?.to_vec(), claim.into()));
    }
    let bends: Vec<(u8, u8, i8)> = (0..form >> 4 & 3).map(|_| u.arbitrary()).collect::<Result<_>>()?;
    let flips: Vec<(u16, u8)> = (0..form >> 6).map(|_| u.arbitrary()).collect::<Result<_>>()?;
    let content = u.bytes(u.len())?.repeat(usize::from(repeat) + 1);
    let content = &content[..content.len().min(20_000)];
    let mut size = content.len() as u64;
    let mut stored = if form % 4 == 1 && bends.is_empty() {
        seekable(content, usize::from(each).max(64))
    } else {
        let (mut frames, mut entries) = (Vec::new(), Vec::new());
        for piece in content.chunks(usize::from(each).max(64)) {
            // An entry may describe several frames, and a skippable one.
            let frame =
                compressed(piece, if form & 8 > 0 { piece.len() / 2 + 1 } else { piece.len() }, form & 4 > 0);
            entries.push((frame.len() as u32, piece.len() as u32));
            frames.extend(frame);
        }
        for (at, which, by) in bends {
            let count = entries.len().max(1);
            let by = i32::from(by);
            let Some(entry) = entries.get_mut(usize::from(at) % count) else { break };
            let neighbour = (usize::from(at) + 1) % count;
            match which % 6 {
                0 => entry.0 = entry.0.wrapping_add_signed(by),
                1 => entry.1 = entry.1.wrapping_add_signed(by),
                2 => {
                    entry.0 = entry.0.wrapping_add_signed(by);
                    entries[neighbour].0 = entries[neighbour].0.wrapping_sub(by as u32);
                }
                3 => {
                    entry.1 = entry.1.wrapping_add_signed(by);
                    entries[neighbour].1 = entries[neighbour].1.wrapping_sub(by as u32);
                }
                4 => entries.push((0, 0)),
                _ => entries.iter_mut().for_each(|entry| entry.1 = entry.1.wrapping_add_signed(by)),
            }
        }
        size = entries.iter().map(|entry| u64::from(entry.1)).sum();
        frames.extend(table(&entries, form & 16 > 0));
        frames
    };
    for (at, xor) in flips {
        // The table is at the end.
        let at = stored.len() - 1 - usize::from(at) % stored.len();
        stored[at] ^= xor;
    }
    Ok((stored, if form & 32 > 0 && claim % 4 == 0 { claim.into() } else { size }))
}

fn file(stored: &[u8], size: u64) -> Vec<u8> {
    let mut blobs = Blobs::new();
    let data = map(vec![
        ("blob", blobs.place(stored)),
        ("dtype", text("u8")),
        ("encoding", text("zt.zstd-seekable/1")),
        ("decoded_length", Item::Unsigned(size)),
    ]);
    let object = map(vec![
        ("shape", Item::Array(vec![Item::Unsigned(size)])),
        ("layout", text("dense")),
        ("parts", map(vec![("data", data)])),
    ]);
    let mut root = map(vec![("objects", map(vec![("t", object)]))]);
    sort(&mut root);
    blobs.with_manifest(&encoded(&root))
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Ok((stored, size)) = stream(&mut Unstructured::new(input)) else { return };
    let bytes = file(&stored, size);
    let mut random = Random::of(&bytes);
    let file = match random.once_in(16) {
        true => read::everything(&bytes),
        false => read::open(&bytes, false).ok(),
    };
    let file = file.expect("its manifest was rejected");
    if size > read::MOST_DECODED {
        return;
    }
    let vocabulary = Vocabulary::standard();
    let encoding = vocabulary.encoding("zt.zstd-seekable/1").expect("the encoding is not built in");
    let Some(expected) = guarded(|| Ok::<_, ()>(encoding.decode(&stored, size))) else { return };
    let component = file.object(0).unwrap().components().next().unwrap();
    read::component(&component, &mut random);
    match (component.load(), expected) {
        (Ok(loaded), Ok(expected)) => assert_eq!(loaded.as_slice(), expected),
        (Ok(loaded), Err(e)) => {
            panic!(
                "the released library rejects it; the library decoded {} bytes: {e}",
                loaded.as_slice().len()
            )
        }
        (Err(e), Ok(_)) => panic!("the released library accepts it: {e}"),
        (Err(e), Err(_)) => assert!(e.rule_name() == c"Encoding" || e.cause() == Cause::Limit, "{e}"),
    }
});
