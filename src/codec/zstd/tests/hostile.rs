//! Stored bytes that are damaged, contradict themselves, or decode to very much.

use super::*;

/// Checks that all decoders reject the bytes. Decoding at once must report this rule.
fn refused(stored: &[u8], size: usize, rule: Rule) {
    let error = decode_into(stored, &mut vec![0; size]).unwrap_err();
    assert_eq!(error.rule(), Some(rule), "{error}");
    assert!(decode_chunks(stored, u64::MAX, &mut |_| Ok(())).is_err());
}

#[test]
fn no_frames_at_all() {
    for stored in [&b""[..], b"x", b"\x28\xB5\x2F", b"raw bytes called zstd", b"\x1F\x8B\x08\0\0\0\0\0\0\0"] {
        assert_eq!(known_size(stored).unwrap_err().rule(), Some(Rule::ZstdCorrupt));
        refused(stored, 0, Rule::ZstdCorrupt);
        assert_eq!(runs(stored, 1, 0).unwrap_err().rule(), Some(Rule::ZstdCorrupt));
    }
    assert!(known_size(b"").unwrap_err().message().contains("even empty zstd data needs one frame"));
    let decoder = PiecewiseDecoder::new().unwrap();
    assert_eq!(decoder.check_end().unwrap_err().rule(), Some(Rule::ZstdCorrupt));
    let mut decoder = PiecewiseDecoder::new().unwrap();
    let error = decoder.decode(&mut &b"raw bytes"[..], &mut [0; 8]).unwrap_err();
    assert_eq!(error.rule(), Some(Rule::ZstdCorrupt));
}

#[test]
fn bytes_after_the_frames() {
    let want = text(1, 100);
    for tail in [&b"\0"[..], b"\0\0\0\0\0\0\0\0", b"garbage", b"\x28", b"\x28\xB5\x2F"] {
        let stored = [&sized(&want)[..], tail].concat();
        refused(&stored, 100, Rule::ZstdTrailing);
        let error = known_size(&stored).unwrap_err();
        assert!(error.message().contains(&format!("the {} stored bytes from", tail.len())), "{error}");
        let mut decoder = PiecewiseDecoder::new().unwrap();
        let mut out = [0; 200];
        match decoder.decode(&mut &stored[..], &mut out) {
            Err(error) => {
                assert_eq!(error.rule(), Some(Rule::ZstdTrailing), "{error}");
                assert!(!decoder.finished_frame());
            }
            Ok(_) => assert!(!decoder.finished_frame() && decoder.check_end().is_err()), // may continue
        }
    }
}

#[test]
fn headers_that_are_wrong() {
    let block = |kind: u32, last: u32, size: u32| (last | kind << 1 | size << 3).to_le_bytes()[..3].to_vec();
    let rle = |size| [block(1, 1, size), vec![7]].concat();
    let honest = by_hand(1000, &rle(1000));
    let mut out = vec![0; 1000];
    decode_into(&honest, &mut out).unwrap();
    assert_eq!(out, [7; 1000]);
    // More than the blocks can have. This is found without decoding, so nothing of this size is allocated.
    for promised in [1001, 1 << 40, u64::MAX - 1, u64::MAX] {
        let error = known_size(&by_hand(promised, &rle(1000))).unwrap_err();
        assert_eq!(error.rule(), Some(Rule::ZstdCorrupt), "{promised}");
        assert!(error.message().contains("1000 at most"), "{error}");
    }
    // Less, or as much as the blocks can have but do not: only decoding finds this.
    refused(&by_hand(16, &rle(1000)), 16, Rule::ZstdCorrupt);
    let data = sized(&text(9, 1000));
    assert_eq!((data[4], data[5..7].to_vec()), (0x60, (1000u16 - 256).to_le_bytes().to_vec()));
    let mut wrong = data.clone();
    wrong[5..7].copy_from_slice(&(756u16 - 256).to_le_bytes());
    refused(&wrong, 756, Rule::ZstdCorrupt);
    wrong[5..7].copy_from_slice(&(1756u16 - 256).to_le_bytes());
    refused(&wrong, 1756, Rule::ZstdCorrupt);
    for range in [0..10usize, 1000..1700] {
        assert!(decode_range(&wrong, 1756, range.start as u64, &mut vec![0; range.len()]).is_err());
    }
    // A reserved bit, a reserved block, a window of 2 TiB, a dictionary.
    let mut bad = honest.clone();
    bad[4] |= 0x08;
    refused(&bad, 1000, Rule::ZstdCorrupt);
    refused(&by_hand(0, &block(3, 1, 0)), 0, Rule::ZstdCorrupt);
    let mut bad = honest.clone();
    bad[5] = 0xF8;
    refused(&bad, 1000, Rule::ZstdCorrupt);
    assert!(known_size(&bad).unwrap_err().message().contains("2^41"));
    let mut bad = honest;
    bad[4] |= 1;
    bad.insert(6, 7);
    refused(&bad, 1000, Rule::ZstdCorrupt);
    assert!(known_size(&bad).unwrap_err().message().contains("dictionary 7"));
    // The checksum of the frame is wrong.
    let mut bad = unsized_frame(&text(8, 100));
    *bad.last_mut().unwrap() ^= 1;
    refused(&bad, 100, Rule::ZstdCorrupt);
    assert!(decode_range(&bad, 100, 0, &mut [0; 100]).is_err());
    // For sizes with a sum over 2^64, the blocks would have to match. So use two correct frames and a wrong
    // total:
    let two = [by_hand(1000, &rle(1000)), by_hand(24, &rle(24))].concat();
    assert_eq!(known_size(&two).unwrap(), KnownSize::Exact(1024));
    let error = decode_into(&two, &mut [0; 1000]).unwrap_err();
    assert_eq!(error.message(), "the zstd frames hold 1024 bytes, 1000 are declared");
}

#[test]
fn a_bomb_stops_at_its_limit() {
    // 64 MiB of zeros without a size: 512 blocks of 4 bytes.
    let mut bomb = 0xFD2F_B528u32.to_le_bytes().to_vec();
    bomb.extend([0, 0x58]);
    for i in 0..512u32 {
        let header = u32::from(i == 511) | 1 << 1 | (128 << 10) << 3;
        bomb.extend(&header.to_le_bytes()[..3]);
        bomb.push(0);
    }
    assert_eq!(known_size(&bomb).unwrap(), KnownSize::AtMost(64 << 20));
    assert_eq!(decode_into(&bomb, &mut [0; 16]).unwrap_err().rule(), Some(Rule::ZstdLength));
    let error = decode_into(&bomb, &mut [0; 16]).unwrap_err();
    assert!(error.message().contains("more than the 16 bytes"), "{error}");
    let mut seen = 0;
    let error = decode_chunks(&bomb, 1 << 20, &mut |bytes| {
        seen += bytes.len();
        Ok(())
    });
    assert_eq!(error.unwrap_err().cause(), Cause::Limit);
    assert!(seen <= 1 << 20);
    assert_eq!(decode_counted(&bomb, 1 << 20).unwrap_err().cause(), Cause::Limit);
    assert_eq!(decode_counted(&bomb, 64 << 20).unwrap(), 64 << 20);
    assert_eq!(decode_into(&bomb, &mut vec![0; (64 << 20) + 1]).unwrap_err().rule(), Some(Rule::ZstdLength));
    let mut part = [1; 100];
    decode_range(&bomb, 64 << 20, 1 << 20, &mut part).unwrap();
    assert_eq!(part, [0; 100]);
}

/// Frames with a larger window than a stream decoder keeps. Decoding at once accepts them. If the header
/// gives the size, decoding a part works, too.
#[test]
fn windows_past_the_streaming_limit() {
    let blocks = 1032u32; // 129 MiB of sevens
    let size = u64::from(blocks) << 17;
    let body: Vec<u8> = (0..blocks)
        .flat_map(|i| {
            let [a, b, c, _] = (u32::from(i + 1 == blocks) | 1 << 1 | (128 << 10) << 3).to_le_bytes();
            [a, b, c, 7]
        })
        .collect();
    let magic = 0xFD2F_B528u32.to_le_bytes();
    let single = [&magic[..], &[0b1110_0000], &size.to_le_bytes(), &body].concat();
    let unknown = [&magic[..], &[0, 18 << 3], &body].concat(); // a window of 2^28
    assert_eq!(known_size(&single).unwrap(), KnownSize::Exact(size));
    assert_eq!(known_size(&unknown).unwrap(), KnownSize::AtMost(size));
    let mut out = vec![0; size as usize];
    for stored in [&single, &unknown] {
        out.fill(0);
        decode_into(stored, &mut out).unwrap();
        assert!(out.chunks(4096).all(|bytes| bytes == [7; 4096]));
    }
    let mut part = [0; 1000];
    decode_range(&single, size, size - 1000, &mut part).unwrap();
    assert_eq!(part, [7; 1000]);
    let mut sum = 0;
    let mut sink = |bytes: &[u8]| {
        sum += bytes.len() as u64;
        Ok(())
    };
    assert_eq!(decode_chunks(&single, size, &mut sink).unwrap(), size);
    assert_eq!(sum, size);
    assert_eq!(decode_range(&unknown, size, 0, &mut part).unwrap_err().cause(), Cause::Unsupported);
    assert_eq!(decode_counted(&unknown, size).unwrap_err().cause(), Cause::Unsupported);
}

/// If cut anywhere, it is rejected. If any byte is changed, nothing panics, and the walk accepts only what
/// libzstd's own walk accepts.
#[test]
fn cut_or_changed_anywhere() {
    let (a, b) = (text(11, 700), text(12, 300));
    let stored = [sized(&a), skippable(9), unsized_frame(&b)].concat();
    let boundaries = [sized(&a).len(), sized(&a).len() + 17];
    let mut out = vec![0; 1000];
    for end in 0..stored.len() {
        let cut = &stored[..end];
        assert!(decode_into(cut, &mut out).is_err(), "cut at {end}");
        assert_eq!(known_size(cut).is_ok(), boundaries.contains(&end), "cut at {end}");
        let mut decoder = PiecewiseDecoder::new().unwrap();
        let ended = decoder.decode(&mut &cut[..], &mut out).is_ok() && decoder.finished_frame();
        assert_eq!(ended, boundaries.contains(&end), "cut at {end}");
        assert_eq!(decode_counted(cut, 2000).is_ok(), boundaries.contains(&end), "cut at {end}");
    }
    for at in 0..stored.len() {
        for flip in [1, 4, 8, 32, 128, 0xFF] {
            let mut changed = stored.clone();
            changed[at] ^= flip;
            let _ = decode_into(&changed, &mut out);
            let _ = decode_range(&changed, 1000, 650, &mut out[..200]);
            let _ = decode_counted(&changed, 2000);
            let _ = decode_chunks(&changed, 2000, &mut |_| Ok(()));
            let reference_bound = zstd_safe::decompress_bound(&changed);
            if let Ok(size) = known_size(&changed) {
                let (KnownSize::Exact(bound) | KnownSize::AtMost(bound)) = size;
                assert!(
                    reference_bound.is_ok_and(|reference_bound| bound <= reference_bound),
                    "byte {at} ^ {flip}"
                );
            }
        }
    }
}

#[test]
fn the_encoder() {
    for level in [i32::MIN, -200_000, 23, i32::MAX] {
        let error = encoder(level).err().unwrap();
        assert_eq!(error.cause(), Cause::InvalidArgument);
        assert!(error.message().contains("to 22"), "{error}");
    }
    let (a, b) = (text(21, 50_000), text(22, 10));
    for level in [-5, 0, 1, 3, 19, 22] {
        let mut encoder = encoder(level).unwrap();
        let mut out = b"before".to_vec();
        for bytes in [&a[..], &b, &[], &a] {
            encoder.encode(bytes, &mut out).unwrap();
        }
        let frames: Vec<_> = Walk::<Zstd<false>>::from(&mut &out[6..], 0).map(Result::unwrap).collect();
        let sizes: Vec<_> = frames.iter().map(|frame| frame.content).collect();
        assert_eq!(sizes, [Some(50_000), Some(10), Some(0), Some(50_000)]);
        let (first, last) = (&frames[0].stored, &frames[3].stored);
        assert_eq!(out[6..][first.clone()], out[6..][last.clone()], "the same whatever came before");
        assert_eq!(out[6 + 4] & 0b111, 0, "no checksum, no dictionary");
        let mut got = vec![0; 100_010];
        decode_into(&out[6..], &mut got).unwrap();
        assert!(got == [&a[..], &b, &a].concat());
        assert_eq!(&out[..6], b"before");
    }
}
