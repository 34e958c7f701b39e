//! Manifests mean the same, and the same is wrong with them, whether the fast path reads them or all of a
//! manifest is found to be deterministic first and each object is read field by field then.

use super::decode::decode;
use crate::container::cbor::encode as put;
use crate::container::cbor::template::tests::compared;
use crate::container::detect;
use crate::container::differential::{meaning, with_bytes_changed, Random};
use crate::container::frame::{Detected, Ends, Frame, InMemory, Limits};
use crate::digest::xxh3;
use crate::memory::Budget;
use crate::model::manifest::Container;

fn outcome(frame: &Frame, bytes: &[u8]) -> String {
    let manifest = frame.manifest.start..frame.manifest.start + bytes.len() as u64;
    let mut frame = Frame { manifest_hash: Some(xxh3(bytes)), manifest, ..frame.clone() };
    let mut input = InMemory::manifest(&frame, bytes);
    meaning(decode(&mut frame, &mut input, &Limits::default(), &Budget::new(1 << 30)))
}

/// How often manifests were read, were refused and had objects that were matched.
#[derive(Debug, Default)]
struct Counts([usize; 3]);

impl Counts {
    fn add(&mut self, frame: &Frame, bytes: &[u8]) {
        let (outcome, matched) = compared(|| outcome(frame, bytes));
        self.0[0] += usize::from(outcome.starts_with("read"));
        self.0[1] += usize::from(outcome.starts_with("refused"));
        self.0[2] += matched;
    }

    fn are_over(&self, least: [usize; 3]) {
        assert!(self.0.iter().zip(least).all(|(count, least)| *count > least), "{self:?}");
    }
}

#[test]
fn the_corpus_means_the_same_without_the_fast_path() {
    let mut counts = Counts::default();
    with_bytes_changed(40, |file| {
        let ends = Ends { file_size: file.len() as u64, head: file, tail: file };
        if let Ok(Detected::Frame(frame)) = detect(ends, &Limits::default()) {
            if frame.manifest_hash.is_some() {
                counts.add(&frame, &file[frame.manifest.start as usize..frame.manifest.end as usize]);
            }
        }
    });
    counts.are_over([1000, 1000, 100]);
}

/// A number, which now and then is longer than need be.
fn number(random: &mut Random, value: u64, out: &mut Vec<u8>) {
    match random.one_in(2000) {
        true => out.extend([&[0x1b][..], &value.to_be_bytes()].concat()),
        false => put::unsigned(out, value).unwrap(),
    }
}

/// Encodes an object of one of the forms, which differ in what they have. Numbers and digests are its own;
/// now and then one is wrong.
fn object(form: u64, at: u64, random: &mut Random, out: &mut Vec<u8>) {
    let mut of_form = Random(form);
    let r = &mut of_form;
    let (rank, parts, layout) = (r.below(4), r.below(8), r.below(5));
    let [has_attributes, is_unknown, has_digest, is_encoded] = [3, 6, 2, 5].map(|times| r.one_in(times));
    let shape: Vec<u64> = (0..rank).map(|_| random.below(9)).collect();
    let elements: u64 = shape.iter().product();
    put::map(out, 3 + u64::from(has_attributes) + u64::from(is_unknown)).unwrap();
    put::key(out, "parts").unwrap();
    let roles: &[&str] = if parts == 0 { &["data", "scales"] } else { &["data"] };
    put::map(out, roles.len() as u64).unwrap();
    for (n, role) in roles.iter().enumerate() {
        put::text(out, role).unwrap();
        put::map(out, 2 + u64::from(has_digest) + 2 * u64::from(is_encoded)).unwrap();
        put::key(out, "blob").unwrap();
        put::array(out, 2).unwrap();
        let place = 1 + 2 * at + n as u64;
        let offset = match random.below(3000) {
            0 => random.below(1 << 31) << 12,
            1 => 4096 * place + 64,
            2 => 4096 * (place - 1),
            _ => 4096 * place,
        };
        let size = 4 * elements + u64::from(random.one_in(1500));
        number(random, offset, out);
        let stored = if is_encoded { random.below(3000) } else { size };
        number(random, stored, out);
        put::key(out, "dtype").unwrap();
        put::text(out, if random.one_in(300) { "i32" } else { "f32" }).unwrap();
        if has_digest {
            put::key(out, "digest").unwrap();
            let digits = if form % 2 == 0 { 16 } else { 64 };
            let algorithm =
                if random.one_in(2000) { "XXH3" } else { ["xxh3", "sha256"][(form % 2) as usize] };
            let digit = |r: &mut Random| char::from(b"0123456789abcdefgF"[r.below(16) as usize]);
            let mut hex: String = (0..digits).map(|_| digit(random)).collect();
            match random.below(2000) {
                0 => hex = hex.to_uppercase(),
                1 => hex.push('g'),
                2 => drop(hex.pop()),
                _ => {}
            }
            put::text(out, &format!("{algorithm}:{hex}")).unwrap();
        }
        if is_encoded {
            put::key(out, "encoding").unwrap();
            put::text(out, ["zt.zstd-seekable/1", "acme/1"][(form % 3 / 2) as usize]).unwrap();
            put::key(out, "decoded_length").unwrap();
            number(random, size, out);
        }
    }
    put::key(out, "shape").unwrap();
    put::array(out, rank).unwrap();
    for (n, dimension) in shape.into_iter().enumerate() {
        let is_huge = random.one_in(2000) && n < 2;
        number(random, if is_huge { u64::MAX } else { dimension }, out);
    }
    put::key(out, "layout").unwrap();
    put::text(out, ["dense", "dense", "dense", "acme/1", "zt.sparse_coo/1"][layout as usize]).unwrap();
    if is_unknown {
        put::key(out, "unknown").unwrap();
        put::unsigned(out, random.below(2)).unwrap();
    }
    if has_attributes {
        put::key(out, "attributes").unwrap();
        out.extend([&b"\xa1\x64bits\x04"[..], b"\xa0"][random.below(2) as usize]);
    }
}

fn frame() -> Frame {
    let end = 1 << 40;
    let manifest = end - (1 << 30)..end - 40;
    Frame { container: Container::V2, manifest, data: 4096..end - 40, file_size: end, manifest_hash: None }
}

#[test]
fn random_manifests_mean_the_same_without_the_fast_path() {
    let mut counts = Counts::default();
    for seed in 0..2000 {
        let mut random = Random(seed);
        let (forms, objects) = (1 + random.below(4), random.below(60));
        let mut bytes = b"\xa1\x67objects".to_vec();
        put::map(&mut bytes, objects).unwrap();
        for at in 0..objects {
            let width = if random.one_in(600) { 3 } else { 4 };
            let name = match random.below(600) {
                0 => format!("layer.\0{at:0width$}"),
                1 => format!("layer.\u{e9}{at:0width$}"),
                _ => format!("layer.{at:0width$}"),
            };
            put::text(&mut bytes, &name).unwrap();
            object(seed * 8 + random.below(forms), at, &mut random, &mut bytes);
        }
        if random.one_in(5) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = random.below(256) as u8;
        }
        counts.add(&frame(), &bytes);
    }
    counts.are_over([500, 500, 10_000]);
}

/// Speed depends on it, and nothing else shows it.
#[test]
fn all_objects_of_a_form_but_the_first_are_matched() {
    let mut bytes = b"\xa1\x67objects\xb9\x03\xe8".to_vec();
    for at in 0..1000u64 {
        put::text(&mut bytes, &format!("a name of a layer as long as usual.{at:04}")).unwrap();
        bytes.extend(b"\xa3\x65parts\xa1\x64data\xa3\x64blob\x82");
        put::unsigned(&mut bytes, 4096 * (at + 1)).unwrap();
        bytes.extend(b"\x18\x40\x65dtype\x63f32\x66digest\x75");
        bytes.extend(format!("xxh3:{:016x}", at.wrapping_mul(0x0123_4567_89ab_cdef)).as_bytes());
        bytes.extend(b"\x65shape\x81\x10\x66layout\x65dense");
    }
    let (outcome, matched) = compared(|| outcome(&frame(), &bytes));
    assert!(outcome.starts_with("read"), "{outcome}");
    assert_eq!(matched, 999);
}
