//! Manifests must mean the same with and without templates.

use crate::container::cbor::encode as put;
use crate::container::cbor::template::tests::compared;
use crate::container::differential::{meaning, outcome, with_bytes_changed, Random};
use crate::container::frame::{Frame, InMemory, Limits};
use crate::container::ztensor_1::decode::decode;
use crate::digest::{to_text, Digest};
use crate::memory::Budget;
use crate::model::manifest::Container;

#[test]
fn the_corpus_means_the_same_without_templates() {
    let (mut opened, mut matched) = (0, 0);
    with_bytes_changed(20, |file| {
        let (outcome, count) = compared(|| outcome(file));
        opened += usize::from(outcome.starts_with("read"));
        matched += count;
    });
    assert!(opened > 50 && matched > 500, "{opened} {matched}");
}

fn manifest(bytes: &[u8]) -> String {
    let mut frame = Frame::with_data_first(Container::V1_2, 64..64 + bytes.len() as u64, 1 << 40);
    let mut input = InMemory::manifest(&frame, bytes);
    meaning(decode(&mut frame, &mut input, &Limits::default(), &Budget::new(1 << 30)))
}

/// Encodes an object in one of several forms, which differ in their fields, their order and their encoding.
/// Numbers, digests and sometimes other things vary.
fn object(form: u64, random: &mut Random, out: &mut Vec<u8>) {
    let mut of_form = Random(form);
    let r = &mut of_form;
    let fields = [r.one_in(3), r.one_in(9), r.one_in(2)];
    put::map(out, 3 + u64::from(fields[0]) + u64::from(fields[1])).unwrap();
    let first = r.below(3);
    for at in 0..3 {
        match (first + at) % 3 {
            0 => {
                put::key(out, "shape").unwrap();
                let rank = [0, 1, 2, 2, 2, 3, 9][r.below(7) as usize];
                let is_indefinite = r.one_in(6);
                match is_indefinite {
                    true => out.push(0x9f),
                    false => put::array(out, rank).unwrap(),
                }
                (0..rank).for_each(|_| put::unsigned(out, random.number()).unwrap());
                out.extend(is_indefinite.then_some(0xff));
            }
            1 => {
                put::key(out, "format").unwrap();
                let names = ["dense", "dense", "quantized_group", "my_format", "gguf.q4_0/1"];
                put::text(out, names[r.below(5) as usize]).unwrap();
            }
            _ => components(r, random, out),
        }
    }
    if fields[0] {
        put::key(out, "attributes").unwrap();
        out.extend([&b"\xa1\x64bits\x04"[..], b"\xf6", b"\xa0"][r.below(3) as usize]);
    }
    if fields[1] {
        put::key(out, if random.one_in(20) { "shape" } else { "unknown" }).unwrap();
        put::unsigned(out, if random.one_in(4) { 1 } else { 0 }).unwrap();
    }
}

fn components(form: &mut Random, random: &mut Random, out: &mut Vec<u8>) {
    put::key(out, "components").unwrap();
    let count = [1, 1, 1, 2, 3, 4][form.below(6) as usize];
    put::map(out, count).unwrap();
    for at in 0..count as usize {
        put::text(out, ["data", "scales", "a longer role", "zeros"][at]).unwrap();
        let optional = [form.one_in(3), form.one_in(3), form.one_in(5), form.one_in(8)];
        put::map(out, 3 + optional.iter().map(|there| u64::from(*there)).sum::<u64>()).unwrap();
        put::key(out, "dtype").unwrap();
        put::text(out, if random.one_in(50) { "f16" } else { "f32" }).unwrap();
        for key in [["offset", "length"], ["length", "offset"]][form.below(2) as usize] {
            put::key(out, key).unwrap();
            match random.one_in(60) {
                true => put::text(out, "none").unwrap(),
                false => put::unsigned(out, random.number()).unwrap(),
            }
        }
        if optional[0] {
            put::key(out, "uncompressed_length").unwrap();
            match form.one_in(4) {
                true => out.push(0xf6),
                false => put::unsigned(out, random.number()).unwrap(),
            }
        }
        if optional[1] {
            put::key(out, "digest").unwrap();
            match random.below(40) {
                0 => out.push(0xf6),
                1 => put::text(out, "not ASCII: \u{e9}").unwrap(),
                2 => out.extend(b"\x7f\x62in\x66chunks\xff"),
                3 => put::text(out, &"long".repeat(70)).unwrap(),
                _ => put::text(out, &format!("crc32c:{:08x}", random.below(1 << 31))).unwrap(),
            }
        }
        if optional[2] {
            put::key(out, "encoding").unwrap();
            put::text(out, ["zstd", "raw", "lz4"][form.below(3) as usize]).unwrap();
        }
        if optional[3] {
            put::key(out, "type").unwrap();
            put::text(out, ["f8_e5m2", "f32", "complex64"][form.below(3) as usize]).unwrap();
        }
    }
}

#[test]
fn random_manifests_mean_the_same_without_templates() {
    let (mut read, mut refused, mut matched) = (0, 0, 0);
    for seed in 0..3000 {
        let mut random = Random(seed);
        let (forms, objects) = (1 + random.below(6), random.below(60));
        let mut bytes = b"\xa2\x67version\x651.2.0\x67objects".to_vec();
        put::map(&mut bytes, objects).unwrap();
        for at in 0..objects {
            put::text(&mut bytes, &format!("layer.{at}")).unwrap();
            object(seed * 8 + random.below(forms), &mut random, &mut bytes);
        }
        if random.one_in(4) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = random.below(256) as u8;
        }
        let (outcome, count) = compared(|| manifest(&bytes));
        read += usize::from(outcome.starts_with("read"));
        refused += usize::from(outcome.starts_with("refused"));
        matched += count;
    }
    assert!(read > 200 && refused > 200 && matched > 10_000, "{read} {refused} {matched}");
}

/// A manifest with `count` plain objects. `form` makes the parts that differ between them, `digest` their
/// digests.
fn plain_objects(count: u64, form: impl Fn(u64) -> String, digest: impl Fn(u64) -> String) -> Vec<u8> {
    let mut bytes = b"\xa2\x67version\x651.2.0\x67objects".to_vec();
    put::map(&mut bytes, count).unwrap();
    for at in 0..count {
        put::text(&mut bytes, &format!("layer.{at}")).unwrap();
        bytes.extend(b"\xa4\x65shape\x81\x10\x67unknown");
        put::text(&mut bytes, &form(at)).unwrap();
        bytes.extend(b"\x6acomponents\xa1\x64data\xa4\x65dtype\x63f32\x66digest");
        put::text(&mut bytes, &digest(at)).unwrap();
        put::key(&mut bytes, "offset").unwrap();
        put::unsigned(&mut bytes, 64 * (at + 1)).unwrap();
        bytes.extend(b"\x66length\x18\x40\x66format\x65dense");
    }
    bytes
}

/// Speed depends on this, and no other test would notice.
#[test]
fn all_objects_of_a_form_but_the_first_are_matched() {
    let crc32c = |at: u64| to_text(&Digest::Crc32c((at << 22) as u32)).unwrap().to_string();
    let matched =
        |count, form: fn(u64) -> String| compared(|| manifest(&plain_objects(count, form, crc32c))).1;
    assert_eq!(matched(1000, |_| "same".into()), 999);
    assert_eq!(matched(1000, |at| (at % 4).to_string()), 996, "four forms in turn");
    assert_eq!(matched(1000, |at| at.to_string()), 0, "none is like another");
    assert_eq!(matched(1000, |at| at.min(40).to_string()), 0, "what does not repeat is given up");
    assert_eq!(matched(1000, |at| at.min(20).to_string()), 979, "some do not repeat, the others do");
}
