//! Frames that we write and frames that other programs may write: sizes, decoding at once, in ranges and in
//! pieces, and every way to cut or change them.

use super::decode::PiecewiseDecoder;
use super::Zstd;
use crate::codec::frame_format::StreamDecoder;
use crate::codec::frame_index::FrameIndex;
use crate::codec::frames::{FrameRun, KnownSize, Stored, StoredPart};
use crate::codec::walk::Walk;
use crate::codec::{Encoder, Entries};
use crate::error::{Cause, Result, Rule};
use crate::model::encoding::{Codec, Coding, Encoding};

fn codec() -> Codec {
    match Coding::of(Encoding::Zstd) {
        Some(Coding::Compressed(codec)) => codec,
        other => panic!("{other:?}"),
    }
}

fn encoder(level: i32) -> Result<Encoder> {
    codec().encoder(level)
}

fn known_size(stored: impl Stored) -> Result<KnownSize> {
    codec().known_size(stored)
}

fn runs(stored: impl Stored, least: u64, wanted: u64) -> Result<(KnownSize, Vec<FrameRun>)> {
    codec().runs(stored, least, wanted)
}

fn index(stored: impl Stored) -> Result<FrameIndex> {
    codec().index(stored)
}

fn decode_into<'s>(stored: impl Into<StoredPart<'s>>, dst: &mut [u8]) -> Result<()> {
    codec().decode_into(stored, dst)
}

fn decode_chunks(stored: &[u8], limit: u64, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<u64> {
    codec().decode_chunks(stored, limit, sink)
}

fn decode_counted(stored: &[u8], limit: u64) -> Result<u64> {
    codec().decode_counted(stored, limit, &mut |_| Ok(()))
}

/// Bytes that compress a little, different for each `seed`.
fn text(seed: u64, size: usize) -> Vec<u8> {
    let mut state = seed;
    let step = |state: &mut u64| {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *state >> 33
    };
    let mut bytes = Vec::with_capacity(size);
    while bytes.len() < size {
        let (byte, run) = (step(&mut state) as u8, 1 + step(&mut state) % 40);
        bytes.extend((0..run).map(|_| byte));
    }
    bytes.truncate(size);
    bytes
}

/// A frame like the writer makes.
fn sized(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    encoder(3).unwrap().encode(bytes, &mut out).unwrap();
    out
}

/// A frame without content size in its header, with its own checksum.
fn unsized_frame(bytes: &[u8]) -> Vec<u8> {
    let mut context = zstd_safe::CCtx::try_create().unwrap();
    context.set_parameter(zstd_safe::CParameter::ContentSizeFlag(false)).unwrap();
    context.set_parameter(zstd_safe::CParameter::ChecksumFlag(true)).unwrap();
    let mut out = vec![0; zstd_safe::compress_bound(bytes.len())];
    let size = context.compress2(&mut out[..], bytes).unwrap();
    out.truncate(size);
    out
}

/// A frame that decoders skip.
fn skippable(size: u32) -> Vec<u8> {
    let mut out = 0x184D_2A53u32.to_le_bytes().to_vec();
    out.extend(size.to_le_bytes());
    out.extend((0..size).map(|i| i as u8));
    out
}

/// A frame made by hand: the header promises `content` bytes, and `blocks` follow.
fn by_hand(content: u64, blocks: &[u8]) -> Vec<u8> {
    let mut out = 0xFD2F_B528u32.to_le_bytes().to_vec();
    out.push(0b1100_0000); // content size of 8 bytes, with a window
    out.push(0x58); // 2 MiB
    out.extend(content.to_le_bytes());
    out.extend(blocks);
    out
}

/// Several mixtures of frames, and their content.
fn mixtures() -> Vec<(&'static str, Vec<u8>, Vec<u8>)> {
    let (a, b, c) = (text(1, 70_000), text(2, 300_000), text(3, 1_500_000));
    let all = [&a[..], &b, &c].concat();
    let turned = [&c[..], &b, &a].concat();
    vec![
        ("one", sized(&b), b.clone()),
        ("nothing", sized(&[]), vec![]),
        ("one byte", sized(&[7]), vec![7]),
        ("one large", sized(&c), c.clone()),
        ("large first", [sized(&c), sized(&b), sized(&a)].concat(), turned),
        ("three", [sized(&a), sized(&b), sized(&c)].concat(), all.clone()),
        ("one of unknown size", unsized_frame(&c), c.clone()),
        ("unknown between", [sized(&a), unsized_frame(&b), sized(&c)].concat(), all.clone()),
        ("unknown outside", [unsized_frame(&a), sized(&b), unsized_frame(&c)].concat(), all.clone()),
        ("empty ones", [sized(&[]), unsized_frame(&[]), sized(&a), sized(&[])].concat(), a.clone()),
        (
            "skippable ones",
            [skippable(0), sized(&a), skippable(300), sized(&b), sized(&c), skippable(5)].concat(),
            all,
        ),
        ("only skippable", skippable(3), vec![]),
    ]
}

/// Decodes a range after a walk of its own.
fn decode_range(stored: &[u8], size: u64, offset: u64, dst: &mut [u8]) -> Result<()> {
    let start = index(stored)?.seek(offset, dst.len() as u64);
    codec().decode_range(StoredPart::from(stored), start, size, offset, dst)?;
    // The stored bytes that it needs are enough.
    let needed = start.needed(stored.len());
    let (from, bytes) = (needed.start, &stored[needed]);
    let mut again = vec![0x55; dst.len()];
    codec().decode_range(
        StoredPart { bytes, from, entries: Entries::default() },
        start,
        size,
        offset,
        &mut again,
    )?;
    assert!(again == dst);
    Ok(())
}

#[test]
fn every_decoder_gives_the_same_bytes() {
    for (name, stored, want) in mixtures() {
        let size = want.len() as u64;
        match known_size(&stored).unwrap() {
            KnownSize::Exact(exact) => assert_eq!(exact, size, "{name}"),
            KnownSize::AtMost(most) => {
                assert!(most >= size && name.contains("unknown") || name == "empty ones", "{name}");
                assert!(most <= zstd_safe::decompress_bound(&stored).unwrap(), "{name}");
            }
        }
        let mut got = vec![0xEE; want.len()];
        decode_into(&stored, &mut got).unwrap();
        assert!(got == want, "{name}");

        let mut chunked = Vec::new();
        let mut sink = |bytes: &[u8]| {
            chunked.extend_from_slice(bytes);
            Ok(())
        };
        assert_eq!(decode_chunks(&stored, size, &mut sink).unwrap(), size, "{name}");
        assert!(chunked == want, "{name}");
        assert_eq!(decode_counted(&stored, size).unwrap(), size, "{name}");
        if size > 0 {
            assert_eq!(decode_counted(&stored, size - 1).unwrap_err().cause(), Cause::Limit, "{name}");
            let error = decode_chunks(&stored, size - 1, &mut |_| Ok(())).unwrap_err();
            assert_eq!(error.cause(), Cause::Limit, "{name}");
        }

        // One byte more or less than the content has.
        for wrong in [size + 1, size.wrapping_sub(1)] {
            if wrong > 1 << 40 {
                continue;
            }
            let error = decode_into(&stored, &mut vec![0; wrong as usize]).unwrap_err();
            assert_eq!(error.rule(), Some(Rule::ZstdLength), "{name}: {error}");
            assert!(error.message().contains(&wrong.to_string()), "{name}: {error}");
        }
    }
}

#[test]
fn runs_of_frames() {
    for (name, stored, want) in mixtures() {
        let size = want.len() as u64;
        for least in [0, 1, 100_000, 400_000, u64::MAX] {
            let (known, runs) = runs(&stored, least, size).unwrap();
            assert_eq!(known, known_size(&stored).unwrap(), "{name}");
            let KnownSize::Exact(_) = known else { continue };
            let mut end = 0;
            for (at, run) in runs.iter().enumerate() {
                assert_eq!(run.decoded.start, end, "{name}");
                end = run.decoded.end;
                assert!(run.size() >= least || at + 1 == runs.len(), "{name}: {run:?}");
                let mut got = vec![0; run.size() as usize];
                decode_into(&stored[run.stored.clone()], &mut got).unwrap();
                assert!(got == want[run.decoded.start as usize..run.decoded.end as usize], "{name}");
            }
            assert_eq!(end, size, "{name}");
            assert_eq!(known.check(codec(), size + 1).unwrap_err().rule(), Some(Rule::ZstdLength), "{name}");
        }
    }
    // Many small frames give few runs.
    let stored = sized(b"x").repeat(100_000);
    let (known, peek) = runs(&stored, 1000, 100_000).unwrap();
    assert_eq!((known, peek.len()), (KnownSize::Exact(100_000), 100));
    let (known, fewer) = runs(&stored, 0, 10).unwrap();
    assert_eq!(
        (known, fewer.len()),
        (KnownSize::Exact(100_000), 10),
        "those that are too many are counted only"
    );
}

#[test]
fn ranges() {
    for (name, stored, want) in mixtures() {
        let size = want.len() as u64;
        let mut points = vec![0, 1, 69_999, 70_000, 131_072, 370_001, size / 2];
        points.extend([size.saturating_sub(1), size]);
        points.retain(|&point| point <= size);
        for &from in &points {
            for &to in &points {
                if to < from {
                    continue;
                }
                let mut got = vec![0xEE; (to - from) as usize];
                decode_range(&stored, size, from, &mut got).unwrap();
                assert!(got == want[from as usize..to as usize], "{name}: {from}..{to}");
            }
        }
        let outside = decode_range(&stored, size, size, &mut [0]).unwrap_err();
        assert_eq!(outside.cause(), Cause::InvalidArgument);
        let outside = decode_range(&stored, size, u64::MAX, &mut [0, 0]).unwrap_err();
        assert_eq!(outside.cause(), Cause::InvalidArgument);
        if let Ok(KnownSize::Exact(_)) = known_size(&stored) {
            let wrong = decode_range(&stored, size + 1, 0, &mut [0]).unwrap_err();
            assert_eq!(wrong.rule(), Some(Rule::ZstdLength), "{name}");
        }
    }
    // A frame of unknown size that ends before the range and before the declared size.
    let (a, b) = (text(4, 1000), text(5, 500));
    let stored = [unsized_frame(&a), sized(&b)].concat();
    for offset in [0, 999, 1499, 1500] {
        let error = decode_range(&stored, 1501, offset, &mut vec![0; 1501 - offset as usize]).unwrap_err();
        assert_eq!(error.rule(), Some(Rule::ZstdLength), "{offset}: {error}");
    }
}

#[test]
fn a_range_does_not_need_the_other_frames() {
    let (a, b) = (text(6, 5000), text(7, 5000));
    let mut stored = [sized(&a), sized(&b)].concat();
    let second = sized(&a).len();
    for byte in &mut stored[second - 40..second - 4] {
        *byte ^= 0xFF; // changes the first frame's data, not its header
    }
    let mut got = vec![0; 5000];
    decode_range(&stored, 10_000, 5000, &mut got).unwrap();
    assert!(got == b);
    assert_eq!(decode_range(&stored, 10_000, 0, &mut got).unwrap_err().rule(), Some(Rule::ZstdCorrupt));
}

#[test]
fn a_range_begins_at_an_indexed_frame_however_many_there_are() {
    for count in [1, 2, 255, 256, 257, 258, 511, 512, 513, 5000] {
        let (mut stored, mut want, mut places) = (Vec::new(), Vec::new(), Vec::new());
        for i in 0..count {
            // Some are empty, and some are skippable.
            let bytes = text(i, ((i + 1) % 7 * 3) as usize);
            if i % 5 == 0 {
                stored.extend(skippable(i as u32 % 3));
            }
            places.push((want.len() as u64, stored.len()));
            stored.extend(sized(&bytes));
            want.extend(bytes);
        }
        let index = index(&stored[..]).unwrap();
        let size = want.len() as u64;
        assert_eq!(index.seek(0, 0).size, KnownSize::Exact(size));
        let mut begun = std::collections::HashSet::new();
        for offset in (0..size).step_by(11) {
            let mut got = vec![0; (size - offset).min(50) as usize];
            let start = index.seek(offset, got.len() as u64);
            let at = places.binary_search(&(start.point.decoded, start.point.stored)).unwrap();
            begun.insert(at);
            let first = places.partition_point(|place| place.0 <= offset) - 1;
            let steps = (count as usize).div_ceil(256).next_power_of_two();
            assert!(at <= first && first - at < steps + 7, "{count} frames, {offset}: {at}, {first}");
            let needed = start.needed(stored.len());
            let last = places.partition_point(|place| place.1 < needed.end) - 1;
            assert!(last <= first + 50 / 3 * 2 + steps + 7, "{count} frames, {offset}: {last}, {first}");
            let part = StoredPart { from: needed.start, bytes: &stored[needed], entries: Entries::default() };
            codec().decode_range(part, start, size, offset, &mut got).unwrap();
            assert!(got == want[offset as usize..][..got.len()], "{count} frames, {offset}");
        }
        assert!(begun.len() <= 256 && begun.len() > (count as usize).min(256) / 4, "{}", begun.len());
    }
    // After a frame that gives no size, nothing is in the index.
    let (a, b) = (text(31, 1000), text(32, 100));
    let stored = [sized(&a), unsized_frame(&b), sized(&a), sized(&a)].concat();
    let index = index(&stored[..]).unwrap();
    assert_eq!(index.seek(999, 1).point.decoded, 0);
    assert_eq!(index.seek(3000, 1).point.stored, sized(&a).len());
    // An index for other bytes gives errors, but never reads outside of these.
    for wrong in [&stored[..5], &stored[1..], &[]] {
        for offset in [0, 1050, 3000] {
            let part = StoredPart::from(wrong);
            let refused = codec().decode_range(part, index.seek(offset, 50), 3100, offset, &mut [0; 50]);
            assert!(matches!(refused.unwrap_err().cause(), Cause::Broken(_)), "{offset}");
        }
    }
}

#[test]
fn pieces_of_every_size() {
    for (name, stored, want) in mixtures() {
        for (piece, capacity) in
            [(1, 1000), (3, 100_000), (1000, 77), (1 << 20, 1 << 22), (stored.len(), want.len())]
        {
            if piece.min(capacity) < 100 && want.len() > 400_000 {
                continue; // slow, and tests nothing new
            }
            let mut decoder = PiecewiseDecoder::new().unwrap();
            assert!(!decoder.finished_frame());
            let (mut got, mut out) = (Vec::new(), vec![0; capacity.max(1)]);
            for mut input in stored.chunks(piece) {
                loop {
                    let written = decoder.decode(&mut input, &mut out).unwrap();
                    got.extend_from_slice(&out[..written]);
                    if written < out.len() {
                        assert!(input.is_empty(), "{name}");
                        break;
                    }
                }
            }
            assert!(decoder.finished_frame(), "{name} in {piece}s");
            assert!(got == want, "{name} in {piece}s to {capacity}s");
            decoder.check_end().unwrap();
            assert_eq!(decoder.decode(&mut &[][..], &mut out).unwrap(), 0);
            assert!(decoder.finished_frame(), "{name}: asking for more changes nothing");
        }
    }
}

mod hostile;
