//! Digest forms, known answers, and the corpus' malformed ones.

use super::*;
use crate::error::Cause;

const SHA: &str = "c0522e48b7d17602f6f09ca7182ed4d283708f66fdbf9312f398ec28af7e109b";

#[test]
fn known_answers() {
    assert_eq!(compute(Algorithm::Crc32c, b"123456789"), Digest::Crc32c(0xE306_9283));
    assert_eq!(compute(Algorithm::Crc32c, b""), Digest::Crc32c(0));
    let abc = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(&*to_text(&compute(Algorithm::Sha256, b"abc")).unwrap(), abc);
    let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(&*to_text(&compute(Algorithm::Sha256, b"")).unwrap(), empty);
}

#[test]
fn pieces_give_what_the_whole_gives() {
    let bytes: Vec<u8> = (0..1000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for algorithm in [Algorithm::Crc32c, Algorithm::Sha256] {
        for piece in [1, 3, 64, 999] {
            let mut hasher = Hasher::new(algorithm);
            bytes.chunks(piece).for_each(|chunk| hasher.update(chunk));
            hasher.update(&[]);
            assert_eq!(hasher.finish(), compute(algorithm, &bytes));
        }
    }
}

/// Its short forms, its blocks of 1 KiB and what is kept between two pieces.
#[test]
fn xxh3_is_what_another_crate_computes() {
    let bytes: Vec<u8> = (0..5000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for size in (0..300).chain([511, 512, 513, 1023, 1024, 1025, 2048, 4095, 4096, 5000]) {
        let (bytes, wanted) = (&bytes[..size], xxhash_rust::xxh3::xxh3_64(&bytes[..size]));
        assert_eq!(xxh3(bytes), wanted, "{size} bytes at once");
        for piece in [1, 63, 64, 65, 256, 257, 1024, 4999] {
            let mut hasher = Hasher::new(Algorithm::Xxh3);
            bytes.chunks(piece).for_each(|chunk| hasher.update(chunk));
            assert_eq!(hasher.finish(), Digest::Xxh3(wanted), "{size} bytes in pieces of {piece}");
        }
    }
}

#[test]
fn what_we_write_we_read() {
    for value in [0, 1, 0xABCDEF, u32::MAX] {
        let text = to_text(&Digest::Crc32c(value)).unwrap();
        assert_eq!(text.len(), "crc32c:0x".len() + 8);
        assert_eq!(text.len(), text_size(Algorithm::Crc32c));
        assert_eq!(parse(&text).unwrap(), Digest::Crc32c(value));
    }
    assert_eq!(&*to_text(&Digest::Crc32c(0xF81C8CF)).unwrap(), "crc32c:0x0F81C8CF");
    let digest = compute(Algorithm::Sha256, b"x");
    assert_eq!(parse(&to_text(&digest).unwrap()).unwrap(), digest);
    assert_eq!(to_text(&digest).unwrap().len(), text_size(Algorithm::Sha256));
    assert_eq!(Digest::Unknown.to_string(), "an algorithm that this version does not know");
    assert_eq!(to_text(&Digest::Unknown).unwrap_err().cause(), Cause::Internal);
}

#[test]
fn forms_that_are_read() {
    let Digest::Sha256(value) = parse(&format!("sha256:{SHA}")).unwrap() else { panic!() };
    assert_eq!(value[..3], [0xC0, 0x52, 0x2E]);
    assert_eq!(value[31], 0x9B);
    assert_eq!(parse(&format!("sha256:{}", SHA.to_uppercase())).unwrap(), Digest::Sha256(value));
    for (text, value) in [
        ("crc32c:f81c8cf5", 0xF81C_8CF5),
        ("crc32c:F81C8CF5", 0xF81C_8CF5),
        ("crc32c:0xf81C8cF5", 0xF81C_8CF5),
        ("crc32c:0XF81C8CF5", 0xF81C_8CF5),
        ("crc32c:0x0", 0),
        ("crc32c:0", 0),
        ("crc32c:abc", 0xABC),
        ("crc32c:0x1234567", 0x123_4567),
    ] {
        assert_eq!(parse(text).unwrap(), Digest::Crc32c(value), "{text}");
    }
    let upper = format!("SHA256:{SHA}");
    for text in
        ["md5:00000000000000000000000000000000", &upper, "Crc32c:00", "xxh3-64:", "a:b:c", "b2+_.-:\0é"]
    {
        assert_eq!(parse(text).unwrap(), Digest::Unknown, "{text}");
    }
}

#[test]
fn forms_that_are_malformed() {
    let cases = [
        String::new(),
        ":".into(),
        "sha256".into(),
        "crc32c".into(),
        format!(":{SHA}"),
        "sha256:".into(),
        format!("sha256:{}", &SHA[1..]),
        format!("sha256:{SHA}0"),
        format!("sha256: {SHA}"),
        format!("sha256:{SHA} "),
        format!("sha256:{}\0", &SHA[1..]),
        format!("sha256:0x{}", &SHA[2..]),
        format!("sha256:{}", "g".repeat(64)),
        format!("sha256:{}", "\u{664}".repeat(32)), // 64 bytes, digits elsewhere
        format!("sha256:{}", "\u{ff10}".repeat(64)),
        "crc32c:".into(),
        "crc32c:0x".into(),
        "crc32c:0f81c8cf5".into(),
        "crc32c:0x0f81c8cf5".into(),
        "crc32c:+81c8cf5".into(),
        "crc32c:-1".into(),
        "crc32c:f81c_cf5".into(),
        "crc32c: f81c8cf".into(),
        "crc32c:0x0xff".into(),
        "crc32c:0xXYZ".into(),
        "crc32c:0\0".into(),
        format!("crc32c:{SHA}"),
        "m d5:00".into(),
        "md\0:00".into(),
        "é:00".into(),
        " sha256:00".into(),
    ];
    for text in cases {
        let error = parse(&text).unwrap_err();
        assert_eq!(error.rule(), Some(Rule::DigestForm), "{text:?}");
        assert!(!error.message().contains('\0'), "{text:?}");
    }
    let long = "\u{1F600}".repeat(100_000);
    assert!(parse(&long).unwrap_err().message().len() < 600);
}

#[test]
fn comparing() {
    let one = Digest::Crc32c(1);
    assert!(check(&one, &Digest::Crc32c(1)).is_ok());
    let error = check(&one, &Digest::Crc32c(2)).unwrap_err();
    assert_eq!(error.cause(), Cause::DigestMismatch);
    assert_eq!(error.message(), "expected crc32c:0x00000001, computed crc32c:0x00000002");
    assert_eq!(check(&Digest::Unknown, &one).unwrap_err().cause(), Cause::Unsupported);
    assert_eq!(check(&one, &Digest::Sha256([0; 32])).unwrap_err().cause(), Cause::Internal);
    assert_eq!(one.algorithm(), Some(Algorithm::Crc32c));
    assert_eq!(Digest::Unknown.algorithm(), None);
}
