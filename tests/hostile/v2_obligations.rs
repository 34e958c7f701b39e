//! Rules of zTensor 2 that no file of the corpus breaks: the result for such files, and the rule in the
//! error.

use crate::common;

use common::shards::{self, data_shard, entry, Tensor, PAGE};
use common::ztensor_2::{file, map, with_manifest, Cbor, Object, Part};
use common::{data, Folder};
use ztensor::error::{Cause, Result};
use ztensor::reader::{File, OpenOptions, Shards, VerifyOptions, VerifyReport};

const MAGIC: &[u8] = b"\x89ZT2\r\n\x1a\n";

fn open(bytes: Vec<u8>) -> Result<File> {
    File::open_memory(bytes, &OpenOptions::default())
}

fn open_strictly(bytes: Vec<u8>) -> Result<File> {
    File::open_memory(bytes, &OpenOptions { strict: true, ..OpenOptions::default() })
}

fn verify(file: &File) -> Result<()> {
    file.verify(&VerifyOptions::default(), &|_, _| true, &mut VerifyReport::default())
}

/// The broken rule, or "valid" or "unsupported".
fn rule<T>(outcome: Result<T>) -> &'static str {
    match outcome {
        Ok(_) => "valid",
        Err(e) if e.cause() == Cause::Unsupported => "unsupported",
        Err(e) => e.rule_name().to_str().unwrap(),
    }
}

fn dense(shape: &[u64], part: Part) -> File {
    open(file(&[Object::new("o", "dense", shape, vec![part])])).unwrap()
}

/// The results of reading all data, and of verifying the file.
fn read_and_verified(file: &File) -> [&'static str; 2] {
    let component = data(file, "o");
    let size = component.size().unwrap() as usize;
    [rule(component.read(&mut vec![0; size])), rule(verify(file))]
}

fn little_endian(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// F1 to F3: a file that is too small is rejected, whatever its first bytes.
#[test]
fn a_file_of_fewer_than_48_bytes_is_too_small() {
    let whole = file(&[]);
    let end = whole.len();
    for (bytes, expected) in [
        (&whole[..0], ""),
        (&whole[..1], "FileTooSmall"),
        (&whole[..7], "FileTooSmall"),
        (&whole[..8], "FileTooSmall"),
        (&whole[..47], "FileTooSmall"),
        (&whole[end - 8..], "FileTooSmall"),
        (&whole[end - 40..], "FileTooSmall"),
        (&whole[end - 47..], "FileTooSmall"),
        (&whole[end - 48..], "HeaderMagic"),
        (&whole[..48], "FooterMagic"),
    ] {
        assert_eq!(rule(open(bytes.to_vec())), expected, "{} bytes", bytes.len());
    }
    assert_eq!(open(Vec::new()).unwrap_err().cause(), Cause::NotZtensor);
    let png = open(b"\x89PNG\r\n\x1a\n".to_vec()).unwrap_err();
    assert_eq!((png.cause(), png.rule_name()), (Cause::NotZtensor, c""));
}

/// C4 before C8: a tag is a syntax error, also if its number is not in the shortest form.
#[test]
fn a_tag_is_a_syntax_error_in_every_form_of_its_number() {
    for tag in [&b"\xc1"[..], b"\xd8\x05", b"\xd8\x20", b"\xd9\x00\x01", b"\xdb\0\0\0\0\0\0\0\x01", b"\xdf"] {
        let under_unknown_key = [b"\xa2\x61k", tag, b"\x00\x67objects\xa0"].concat();
        let in_attributes = [b"\xa2\x67objects\xa0\x6aattributes\xa1\x61k", tag, b"\x00"].concat();
        for manifest in [under_unknown_key, in_attributes, [tag, b"\x00"].concat()] {
            let outcome = open(with_manifest(MAGIC.to_vec(), &manifest));
            assert_eq!(rule(outcome), "CborSyntax", "{manifest:02x?}");
        }
    }
}

/// H4: other errors in a part are reported before a shard that is not in the table.
#[test]
fn a_part_is_a_part_before_its_shard_is_looked_for() {
    let part = |fields: &[(&'static str, Cbor<'static>)]| {
        let object = map([
            ("shape", Cbor::Array(vec![3.into()])),
            ("layout", "dense".into()),
            ("parts", map([("data", Cbor::Map(fields.to_vec()))])),
        ]);
        let mut manifest = Vec::new();
        map([("objects", map([("o", object)]))]).write(&mut manifest);
        rule(open(with_manifest(MAGIC.to_vec(), &manifest)))
    };
    let blob = || ("blob", Cbor::Array(vec![4096.into(), 3.into()]));
    assert_eq!(part(&[blob(), ("dtype", "u8".into()), ("shard", "a".into())]), "ShardRef");
    assert_eq!(part(&[blob(), ("shard", "a".into())]), "Schema");
    assert_eq!(part(&[("dtype", "u8".into()), ("shard", "a".into())]), "Schema");
    assert_eq!(part(&[blob(), ("dtype", "u8".into()), ("shard", ".a".into())]), "ShardName");
}

fn frame(content: &[u8]) -> Vec<u8> {
    let mut out = vec![0; 100 + content.len()];
    let size = zstd_safe::compress(out.as_mut_slice(), content, 3).unwrap();
    out.truncate(size);
    out
}

/// Frames, and a table with the decoded size of each.
fn seekable(frames: &[(&[u8], u32)]) -> Vec<u8> {
    let (mut out, mut entries) = (Vec::new(), Vec::new());
    for (content, claim) in frames {
        let frame = frame(content);
        entries.extend([frame.len() as u32, *claim]);
        out.extend(frame);
    }
    out.extend(little_endian(&[0x184D_2A5E, entries.len() as u32 * 4 + 9]));
    out.extend(little_endian(&entries));
    out.extend(little_endian(&[frames.len() as u32]));
    out.push(0);
    out.extend(little_endian(&[0x8F92_EAB1]));
    out
}

/// Z1, Z3 to Z5, Z7, E2: also for parts that decode to 0 bytes.
#[test]
fn a_table_of_frames_must_match_the_frames() {
    let (sound, broken) = ("valid", "Encoding");
    for (stored, size, expected) in [
        (Vec::new(), 0, broken),
        (vec![0; 16], 0, broken),
        (vec![7; 17], 0, broken),
        (seekable(&[]), 0, sound),
        (seekable(&[(b"", 0)]), 0, sound),
        (seekable(&[(b"abcd", 4)]), 0, broken),
        (seekable(&[(b"abcd", 4), (b"", 0)]), 4, sound),
        (seekable(&[(b"", 0), (b"", 0), (b"abcd", 4)]), 4, sound),
        (seekable(&[(b"abcd", 4), (b"", 0), (b"efgh", 4)]), 8, broken),
        (seekable(&[(b"abcd", 4), (b"ef", 2)]), 6, sound),
        (seekable(&[(b"abcd", 4), (b"ef", 3)]), 7, broken),
        (seekable(&[(b"abcd", 4), (b"efg", 2)]), 6, broken),
        (seekable(&[(b"abcd", 4), (b"ef", 2)]), 7, broken),
        (seekable(&[(b"abcd", 0), (b"", 4)]), 4, broken),
    ] {
        let said = read_and_verified(&dense(&[size], Part::new("data", "u8", stored.clone()).seekable(size)));
        assert_eq!(said, [expected; 2], "{size} bytes of {stored:02x?}");
    }
    // The last frame may have more bytes than the others.
    let part = Part::new("data", "u8", seekable(&[(b"abcd", 4), (b"efghijklm", 9)])).seekable(13);
    let file = dense(&[13], part);
    assert_eq!(read_and_verified(&file), [sound; 2]);
    for (at, expected) in [(0, "abcd"), (3, "def"), (4, "efghijklm"), (8, "i"), (12, "m")] {
        let mut found = vec![0; expected.len()];
        data(&file, "o").read_range(at, &mut found).unwrap();
        assert_eq!(found, expected.as_bytes());
    }
}

/// D2, D3: an algorithm that only other containers have is not registered in zTensor 2.
#[test]
fn digests_are_those_that_are_registered() {
    for (digest, expected) in [
        ("crc32c:00000000", "unsupported"),
        ("sha512:00", "unsupported"),
        ("xxh64:0000000000000000", "unsupported"),
        ("xxh3:0", "Digest"),
        ("xxh3:00000000000000000", "Digest"),
        ("sha256:00", "Digest"),
    ] {
        let part = Part { digest: Some(digest.to_owned()), ..Part::new("data", "u8", vec![1, 2, 3]) };
        let file = dense(&[3], part);
        assert_eq!(rule(data(&file, "o").verify_digest()), expected, "{digest}");
    }
}

/// T2, T3, E1: names of other containers are unknown in zTensor 2. Digests are checked nevertheless.
#[test]
fn names_of_other_containers_are_unknown() {
    for name in ["f32", "u8", "f6_e2m3", "gguf_q4_0", ""] {
        let part = Part::new("data", "u8", vec![1, 2, 3]).of_type(name);
        for (digest_of, expected) in [(&[1, 2, 3][..], "unsupported"), (&[1], "Digest")] {
            let file = dense(&[9], part.clone().digest_of(digest_of));
            assert_eq!(read_and_verified(&file), ["unsupported", expected], "{name}");
        }
    }
    for name in ["raw", "zstd", "zt.zstd-seekable/2", ""] {
        let file = dense(&[3], Part::new("data", "u8", vec![1, 2, 3]).encoded(name, 3));
        assert_eq!(read_and_verified(&file), ["unsupported"; 2], "{name}");
        assert_eq!(rule(data(&file, "o").borrow()), "unsupported", "{name}");
    }
}

/// T4 for every part, T5 if the number of elements is known.
#[test]
fn the_bytes_of_a_registered_type_are_looked_at_wherever_it_is() {
    let bad = || Part::new("data", "u8", vec![1, 2, 0]).of_type("bool");
    for layout in ["dense", "acme.x/1", "zt.quant_group/1", "zt.mx/2"] {
        let file = open(file(&[Object::new("o", layout, &[3], vec![bad()])])).unwrap();
        assert_eq!(rule(verify(&file)), "LayoutData", "{layout}");
    }
    assert_eq!(read_and_verified(&dense(&[3], bad().digest_of(&[1, 2, 0]))), ["valid", "LayoutData"]);
    // Section 7.2: contents are checked before digests.
    assert_eq!(read_and_verified(&dense(&[3], bad().digest_of(b"others"))), ["valid", "LayoutData"]);
    let odd = Part::new("data", "u8", vec![0xff, 0x10]).of_type("f4_e2m1").digest_of(b"others");
    assert_eq!(read_and_verified(&dense(&[3], odd)), ["valid", "LayoutData"]);
    let good = Part::new("data", "u8", vec![1, 0, 0]).of_type("bool").digest_of(b"others");
    assert_eq!(read_and_verified(&dense(&[3], good)), ["valid", "Digest"]);
    let encoded = Part::new("data", "u8", seekable(&[(b"\x01\x02", 2)])).seekable(2).of_type("bool");
    assert_eq!(read_and_verified(&dense(&[2], encoded)), ["valid", "LayoutData"]);
    for (shape, bytes, expected) in [
        (&[][..], &[0x11u8][..], "LayoutData"),
        (&[3], &[0xff, 0x10], "LayoutData"),
        (&[3], &[0xff, 0x0f], "valid"),
        (&[2], &[0xff], "valid"),
        (&[0], &[], "valid"),
    ] {
        let part = Part::new("data", "u8", bytes).of_type("f4_e2m1");
        assert_eq!(read_and_verified(&dense(shape, part)), ["valid", expected], "{shape:?}");
    }
    for (last, expected) in [(0x11, "LayoutData"), (0x01, "valid")] {
        let values = Part::new("data", "u8", vec![0x11, last]).of_type("f4_e2m1");
        let scales = Part::new("scales", "u8", vec![127]).of_type("f8_e8m0");
        let attributes = map([("block_size", 3.into()), ("scale_form", "e8m0_exponent".into())]);
        let object = Object::new("o", "zt.mx/1", &[3], vec![values, scales]).with(attributes);
        assert_eq!(rule(verify(&open(file(&[object])).unwrap())), expected);
    }
}

/// LR5 to LR7.
#[test]
fn rows_are_checked_for_every_shape() {
    for (shape, indices, indptr, expected) in [
        ([0, 0], &[][..], &[0][..], "valid"),
        ([2, 0], &[], &[0, 0, 0], "valid"),
        ([2, 3], &[0, 1], &[0, 0, 2], "valid"),
        ([2, 3], &[1, 0], &[0, 1, 2], "valid"),
        ([0, 3], &[], &[1], "LayoutData"),
        ([0, 3], &[0], &[0], "LayoutData"),
        ([2, 0], &[0], &[0, 0, 1], "LayoutData"),
        ([2, 3], &[0], &[1, 1, 1], "LayoutData"),
        ([2, 3], &[0, 1], &[0, 3, 2], "LayoutData"),
        ([2, 3], &[0, 1], &[0, u32::MAX, 2], "LayoutData"),
        ([3, 3], &[0, 1, 1], &[0, 2, 1, 3], "LayoutData"),
    ] {
        let parts = vec![
            Part::new("values", "u8", vec![1; indices.len()]),
            Part::new("indices", "u32", little_endian(indices)),
            Part::new("indptr", "u32", little_endian(indptr)),
        ];
        let file = open(file(&[Object::new("o", "zt.sparse_csr/1", &shape, parts)])).unwrap();
        let said = [rule(file.find("o").unwrap().csr_view()), rule(verify(&file))];
        assert_eq!(said, [expected; 2], "{shape:?} {indices:?} {indptr:?}");
    }
}

/// LG1: every layout of the family.
#[test]
fn all_blocks_of_gguf_have_their_sizes() {
    const BLOCKS: [(&str, u64, usize); 22] = [
        ("gguf.q4_0/1", 32, 18),
        ("gguf.q4_1/1", 32, 20),
        ("gguf.q5_0/1", 32, 22),
        ("gguf.q5_1/1", 32, 24),
        ("gguf.q8_0/1", 32, 34),
        ("gguf.q8_1/1", 32, 36),
        ("gguf.q2_k/1", 256, 84),
        ("gguf.q3_k/1", 256, 110),
        ("gguf.q4_k/1", 256, 144),
        ("gguf.q5_k/1", 256, 176),
        ("gguf.q6_k/1", 256, 210),
        ("gguf.q8_k/1", 256, 292),
        ("gguf.iq1_s/1", 256, 50),
        ("gguf.iq1_m/1", 256, 56),
        ("gguf.iq2_xxs/1", 256, 66),
        ("gguf.iq2_xs/1", 256, 74),
        ("gguf.iq2_s/1", 256, 82),
        ("gguf.iq3_xxs/1", 256, 98),
        ("gguf.iq3_s/1", 256, 110),
        ("gguf.iq4_nl/1", 32, 18),
        ("gguf.iq4_xs/1", 256, 136),
        ("gguf.mxfp4/1", 32, 17),
    ];
    for (layout, elements, bytes) in BLOCKS {
        for (blocks, expected) in [(2, "valid"), (1, "LayoutRule"), (3, "LayoutRule")] {
            let data = Part::new("data", "u8", vec![3; blocks * bytes]);
            let attributes =
                map([("elems_per_block", elements.into()), ("block_bytes", (bytes as u64).into())]);
            let bytes = file(&[Object::new("o", layout, &[2, elements], vec![data]).with(attributes)]);
            let opened = open(bytes.clone()).unwrap();
            let view = rule(opened.find("o").unwrap().tensor_view());
            let said = [view, rule(verify(&opened)), rule(open_strictly(bytes))];
            assert_eq!(said, [expected; 3], "{layout}");
        }
    }
}

/// H6: for every kind of file in place of a shard.
#[test]
fn a_shard_must_be_a_complete_file() {
    let sound = data_shard(&[(PAGE, b"abc")]);
    let changed = |from_end: usize| {
        let mut bytes = sound.clone();
        let at = bytes.len() - from_end;
        bytes[at] ^= 1;
        bytes
    };
    let with = |manifest: &[u8]| {
        let mut bytes = MAGIC.to_vec();
        bytes.resize(PAGE + 3, 7);
        with_manifest(bytes, manifest)
    };
    let mut hash_differs = with(b"\xa1\x67objects\xa0");
    let end = hash_differs.len();
    hash_differs[end - 24] ^= 1;
    for (what, bytes, expected) in [
        ("a data shard", sound.clone(), "valid"),
        ("a file with a manifest", with(b"\xa1\x67objects\xa0"), "valid"),
        ("the first byte", changed(sound.len()), "ShardIdentity"),
        ("the last byte", changed(1), "ShardIdentity"),
        ("version 3", changed(16), "ShardIdentity"),
        ("a data shard with a hash", changed(24), "ShardIdentity"),
        ("a hash that differs", hash_differs, "ShardIdentity"),
        ("a manifest without objects", with(b"\xa0"), "ShardIdentity"),
        ("a manifest with more behind it", with(b"\xa1\x67objects\xa0\x00"), "ShardIdentity"),
        ("only text", vec![b'x'; 9000], "ShardIdentity"),
    ] {
        let folder = Folder::new();
        let tensor = Tensor { name: "x", shard: Some("a"), offset: PAGE, bytes: &bytes[PAGE..PAGE + 3] };
        std::fs::write(folder.path("m.zt"), shards::file(&[tensor], &[entry("a", &bytes)])).unwrap();
        std::fs::write(folder.path("m-a.zt"), &bytes).unwrap();
        let options = OpenOptions { shards: Shards::AtOpen, ..OpenOptions::default() };
        let at_open = rule(File::open_model(folder.path("m.zt"), &options));
        let file = File::open_model(folder.path("m.zt"), &OpenOptions::default()).unwrap();
        let read = rule(data(&file, "x").read(&mut [0; 3]));
        assert_eq!([at_open, read, rule(verify(&file))], [expected; 3], "{what}");
    }
}
