use super::*;
use crate::codec::frame_format::FrameFormat;
use crate::codec::zstd::Zstd;
use crate::codec::{Codec, Coding, KnownSize, StoredPart};
use crate::model::encoding::Encoding;

fn codec() -> Codec {
    match Coding::of(Encoding::ZstdSeekable) {
        Some(Coding::Compressed(codec)) => codec,
        other => panic!("{other:?}"),
    }
}

/// A table with these entries and this descriptor.
fn table(entries: &[(u32, u32)], descriptor: u8) -> Vec<u8> {
    let entry = if descriptor & 0x80 == 0 { 8 } else { 12 };
    let size = entries.len() * entry + END_SIZE;
    let mut out = (FIRST_WORD as u32).to_le_bytes().to_vec();
    out.extend((size as u32).to_le_bytes());
    for (stored, decoded) in entries {
        out.extend(stored.to_le_bytes());
        out.extend(decoded.to_le_bytes());
        out.extend(&[0u8; 4][..entry - 8]);
    }
    out.extend((entries.len() as u32).to_le_bytes());
    out.push(descriptor);
    out.extend((LAST_WORD as u32).to_le_bytes());
    out
}

/// Frames with `each` bytes of `content`, without sizes in their headers, and their seek table.
fn seekable(content: &[u8], each: usize, descriptor: u8) -> Vec<u8> {
    let (mut out, mut entries) = (Vec::new(), Vec::new());
    for piece in content.chunks(each) {
        let mut context = zstd_safe::CCtx::create();
        context.set_parameter(zstd_safe::CParameter::ContentSizeFlag(false)).unwrap();
        let mut frame = vec![0; zstd_safe::compress_bound(piece.len())];
        let size = context.compress2(frame.as_mut_slice(), piece).unwrap();
        out.extend(&frame[..size]);
        entries.push((size as u32, piece.len() as u32));
    }
    out.extend(table(&entries, descriptor));
    out
}

fn content(size: usize) -> Vec<u8> {
    (0..size as u64).map(|at| (at * at / 7 + at / 3) as u8).collect()
}

#[test]
fn sizes_come_from_the_table_and_ranges_are_those_of_the_content() {
    for (size, each) in [(0, 10), (10, 10), (11, 10), (100_000, 1000), (3 << 20, 1 << 20), (100_001, 40_000)]
    {
        for descriptor in [0, 0x80] {
            let content = content(size);
            let stored = seekable(&content, each, descriptor);
            assert_eq!(codec().known_size(&stored).unwrap(), KnownSize::Exact(size as u64));
            let mut whole = vec![0; size];
            codec().decode_into(&stored, &mut whole).unwrap();
            assert!(whole == content);
            let (known, runs) = codec().runs(&stored, 2 * each as u64, size as u64).unwrap();
            assert_eq!(known, KnownSize::Exact(size as u64));
            for run in &runs {
                let mut part = vec![0; run.size() as usize];
                codec().decode_into(run.part_of(&stored), &mut part).unwrap();
                assert!(part == content[run.decoded.start as usize..run.decoded.end as usize]);
            }
            assert_eq!(runs.iter().map(|run| run.size()).sum::<u64>(), size as u64);
            let index = codec().index(&stored).unwrap();
            for (offset, length) in
                [(0, size), (0, size.min(1)), (size / 2, size / 3), (size, 0), (size / 3, 7)]
            {
                let length = length.min(size - offset);
                let seek = index.seek(offset as u64, length as u64);
                let needed = seek.needed(stored.len());
                let entries = seek.part_of(&stored).entries;
                let part = StoredPart { bytes: &stored[needed.clone()], from: needed.start, entries };
                let mut out = vec![0; length];
                codec().decode_range(part, seek, size as u64, offset as u64, &mut out).unwrap();
                assert!(out == content[offset..offset + length], "{size} {each} {offset} {length}");
            }
            let mut chunks = Vec::new();
            let sink = &mut |chunk: &[u8]| {
                chunks.extend_from_slice(chunk);
                Ok(())
            };
            assert_eq!(codec().decode_chunks(&stored, size as u64, sink).unwrap(), size as u64);
            assert!(chunks == content);
        }
    }
}

#[test]
fn a_table_that_does_not_fit_is_refused() {
    let sound = seekable(&content(2500), 1000, 0);
    let mut tables: Vec<Vec<u8>> = vec![Vec::new(), sound[..16].to_vec(), sound[..sound.len() - 1].to_vec()];
    for at in sound.len() - 9..sound.len() {
        let mut changed = sound.clone();
        changed[at] ^= 0x41;
        tables.push(changed);
    }
    tables.push(table(&[(1, 1), (1, 2), (1, 1)], 0)); // of different sizes
    tables.push(table(&[(1, (16 << 20) + 1)], 0));
    tables.push(table(&[(1, 1)], 0)); // no frame before it
    tables.push([&[0; 3][..], &table(&[(2, 1)], 0)].concat());
    for stored in &tables {
        let error = codec().known_size(stored).unwrap_err();
        assert_eq!(error.rule(), Some(Rule::ZstdCorrupt), "{error}");
    }
}

#[test]
fn a_frame_that_holds_another_size_than_its_entry_is_refused() {
    let content = content(3000);
    let stored = seekable(&content, 1000, 0);
    let at = stored.len() - END_SIZE - 3 * 8;
    let mut changed = stored.clone();
    for entry in 0..2 {
        changed[at + entry * 8 + 4..at + entry * 8 + 8].copy_from_slice(&1001u32.to_le_bytes());
    }
    changed[at + 20..at + 24].copy_from_slice(&998u32.to_le_bytes());
    assert_eq!(codec().known_size(&changed).unwrap(), KnownSize::Exact(3000));
    let mut out = vec![0; 3000];
    assert!(codec().decode_into(&changed, &mut out).is_err());
    assert!(codec().decode_chunks(&changed, 3000, &mut |_| Ok(())).is_err());
    let index = codec().index(&changed).unwrap();
    let seek = index.seek(1500, 100);
    assert!(codec().decode_range(seek.part_of(&changed), seek, 3000, 1500, &mut out[..100]).is_err());
}

#[test]
fn an_index_of_more_frames_than_it_has_places_finds_every_frame() {
    let count = 3 * Zstd::<true>::MAX_POINTS + 5;
    let content = content(count);
    let stored = seekable(&content, 1, 0);
    let index = codec().index(&stored).unwrap();
    for offset in (0..count).step_by(7).chain([count - 1]) {
        for length in [1, 9, 5000] {
            let length = length.min(count - offset);
            let seek = index.seek(offset as u64, length as u64);
            let mut out = vec![0; length];
            codec().decode_range(seek.part_of(&stored), seek, count as u64, offset as u64, &mut out).unwrap();
            assert!(out == content[offset..offset + length], "{offset} {length}");
        }
    }
}

#[test]
fn a_last_frame_shorter_than_its_entry_is_refused() {
    for (held, said) in [(500u32, 600u32), (1, 2), (2 << 20, (2 << 20) + 1)] {
        let content = content(held as usize);
        let mut stored = seekable(&content, held as usize, 0);
        let at = stored.len() - END_SIZE - 4;
        stored[at..at + 4].copy_from_slice(&said.to_le_bytes());
        let mut out = vec![0; said as usize];
        assert!(codec().decode_into(&stored, &mut out).is_err(), "{held} {said}");
        let all = codec().decode_chunks(&stored, said.into(), &mut |_| Ok(()));
        assert!(all.is_err(), "{held} {said} {all:?}");
        let index = codec().index(&stored).unwrap();
        let seek = index.seek(0, said.into());
        let range = codec().decode_range(seek.part_of(&stored), seek, said.into(), 0, &mut out);
        assert!(range.is_err(), "{held} {said}");
    }
}

/// Speed depends on this, and no other test would notice: making a decoder takes longer than decoding a small
/// frame.
#[test]
fn all_frames_are_decoded_by_one_decoder() {
    use crate::codec::zstd::CREATED;
    let content: Vec<u8> = (0..100_000u32).map(|n| (n / 7) as u8).collect();
    let stored = seekable(&content, 1000, 0);
    let before = CREATED.get();
    let mut decoded = Vec::new();
    let size = codec().decode_chunks(&stored, u64::MAX, &mut |chunk| {
        decoded.extend_from_slice(chunk);
        Ok(())
    });
    assert_eq!((size.unwrap(), decoded == content), (100_000, true));
    assert_eq!(CREATED.get() - before, 1);
}
