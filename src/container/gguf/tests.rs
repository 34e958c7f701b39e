//! What the files in tests/data do not cover: windows of any size, budgets, limits.

use super::decode::{decode, decode_by};
use crate::container::frame::InMemory;
use crate::container::{Frame, Limits};
use crate::error::{Cause, Result, Rule};
use crate::memory::Budget;
use crate::model::dtype::Dtype;
use crate::model::manifest::{Container, Format, Manifest};
use crate::model::value::ValueKind;

/// A version 3 file that the tests build, in either byte order.
#[derive(Clone, Default)]
struct Made {
    bytes: Vec<u8>,
    big_endian: bool,
}

impl Made {
    fn new(big_endian: bool, tensors: u64, keys: u64) -> Made {
        Made { bytes: b"GGUF".to_vec(), big_endian }.u32(3).u64(tensors).u64(keys)
    }

    fn u32(mut self, n: u32) -> Made {
        self.bytes.extend(if self.big_endian { n.to_be_bytes() } else { n.to_le_bytes() });
        self
    }

    fn u64(mut self, n: u64) -> Made {
        self.bytes.extend(if self.big_endian { n.to_be_bytes() } else { n.to_le_bytes() });
        self
    }

    fn string(self, text: &[u8]) -> Made {
        self.u64(text.len() as u64).raw(text)
    }

    fn raw(mut self, bytes: &[u8]) -> Made {
        self.bytes.extend(bytes);
        self
    }

    fn tensor(self, name: &[u8], dims: &[u64], kind: u32, offset: u64) -> Made {
        let made = self.string(name).u32(dims.len() as u32);
        dims.iter().fold(made, |made, d| made.u64(*d)).u32(kind).u64(offset)
    }

    fn padded(mut self, data: usize) -> Made {
        self.bytes.resize(self.bytes.len().next_multiple_of(32) + data, 0);
        self
    }
}

fn limits() -> Limits {
    Limits::default()
}

fn frame(bytes: &[u8]) -> Frame {
    Frame::of_unknown_manifest(Container::Gguf, bytes.len() as u64)
}

/// Opens a file with reads of at least `step` bytes.
fn open_by(bytes: &[u8], step: u64, limits: &Limits) -> Result<Manifest> {
    let budget = Budget::new(limits.memory_for(0));
    decode_by((step, step), &mut frame(bytes), &mut InMemory::file(bytes), limits, &budget)
}

/// A file with one of each kind of thing.
fn usual(big_endian: bool) -> Made {
    let made = Made::new(big_endian, 3, 4).string(b"a.text").u32(8).string(b"\xff\xfe");
    let made = made.string(b"numbers").u32(9).u32(5).u64(300);
    let made = (0..300).fold(made, |made, n| made.u32((n * 7 - 900) as u32));
    let made = made.string(b"texts").u32(9).u32(8).u64(2).string(b"").string("caf\u{e9}".as_bytes());
    let made =
        made.string(b"deep").u32(9).u32(9).u64(2).u32(9).u64(1).u32(7).u64(3).raw(&[0, 1, 1]).u32(10).u64(0);
    let made = made.tensor(b"\xffname", &[32, 3], 2, 0).tensor(b"b", &[], 0, 64);
    made.tensor(b"c", &[5, 1, 2], 43, 96).padded(128)
}

#[test]
fn windows_of_any_size_and_both_byte_orders_show_the_same() {
    let shown = |manifest: &Manifest| {
        let map = manifest.values.get(manifest.attributes.unwrap());
        format!("{map:?} {:?}", manifest.objects.iter().map(|o| manifest.shape(o)).collect::<Vec<_>>())
    };
    let expected = shown(&open_by(&usual(false).bytes, u64::MAX / 2, &limits()).unwrap());
    assert!(expected.contains("caf\u{e9}") && expected.contains("[[3, 32], [], [2, 1, 5]]"), "{expected}");
    for big_endian in [false, true] {
        let made = usual(big_endian);
        for step in [1, 2, 7, 64, 999, 1 << 20] {
            assert_eq!(shown(&open_by(&made.bytes, step, &limits()).unwrap()), expected, "{step}");
        }
    }
}

#[test]
fn types_are_those_that_the_file_states() {
    let manifest = open_by(&usual(true).bytes, 1, &limits()).unwrap();
    let map = manifest.values.get(manifest.attributes.unwrap());
    assert!(matches!(map.get("a.text").unwrap().kind(), ValueKind::Bytes(b"\xff\xfe")));
    let numbers = map.get("numbers").unwrap();
    let ValueKind::Array(items) = numbers.kind() else { panic!("{numbers:?}") };
    assert_eq!((numbers.dtype(), items.len()), (Some(Dtype::I32), 300));
    assert!(items.iter().enumerate().all(|(n, item)| item.as_i64() == Some(n as i64 * 7 - 900)));
    let [blocks, scalar, unknown] = &manifest.objects[..] else { panic!() };
    assert_eq!(manifest.texts.get_bytes(blocks.name), b"\xffname");
    assert!(matches!(blocks.format, Format::Blocks(_)) && scalar.format == Format::Dense);
    let sizes: Vec<_> = manifest.components.iter().map(|c| (c.stored_size, c.dtype)).collect();
    assert_eq!(sizes, [(54, Some(Dtype::U8)), (4, Some(Dtype::F32)), (32, None)]);
    assert!(manifest.components.iter().all(|c| c.is_big_endian() && c.offset % 32 == 0));
    assert_eq!(manifest.format_name(unknown.format), "ggml.43");
}

#[test]
fn a_file_that_is_cut_anywhere_is_refused_by_a_rule() {
    let made = usual(false);
    let budget = Budget::new(limits().memory_for(0));
    let mut frame = frame(&made.bytes);
    decode(&mut frame, &mut InMemory::file(&made.bytes), &limits(), &budget).unwrap();
    for cut in 4..frame.manifest.end as usize {
        for step in [1, 1 << 20] {
            let e = open_by(&made.bytes[..cut], step, &limits()).unwrap_err();
            assert!(matches!(e.cause(), Cause::Broken(Rule::MetadataTruncated)), "{cut}: {e:?}");
        }
    }
}

#[test]
fn what_is_claimed_takes_no_memory_before_it_is_there() {
    let of_keys = |made: Made| open_by(&made.padded(1 << 20).bytes, 1, &limits()).unwrap_err();
    let counts = [u64::MAX, 1 << 61, 1 << 32, 1 << 21];
    for count in counts {
        let e = of_keys(Made::new(false, count, 0));
        assert_eq!(e.rule(), Some(Rule::MetadataTruncated), "{e}");
        for element in [0, 8, 9, 12] {
            let e = of_keys(Made::new(false, 0, 1).string(b"k").u32(9).u32(element).u64(count));
            assert_eq!(e.rule(), Some(Rule::MetadataTruncated), "{e}");
        }
    }
    // The file declares as many tensors as are allowed, but has no bytes for them.
    let bytes = Made::new(false, 1 << 20, 0).padded(24 << 20).bytes;
    let budget = Budget::new(1 << 20);
    let limits = Limits { memory: Some(1 << 20), ..limits() };
    let e = decode(&mut frame(&bytes), &mut InMemory::file(&bytes), &limits, &budget).unwrap_err();
    assert_eq!(e.cause(), Cause::Limit, "{e}");
}

#[test]
fn limits_of_the_caller_are_kept() {
    let made = usual(false);
    let few = Limits { objects: 2, ..limits() };
    assert_eq!(open_by(&made.bytes, 1, &few).unwrap_err().cause(), Cause::Limit);
    for size in [4, 24, 200, 1500] {
        let small = Limits { manifest_size: size, ..limits() };
        let e = open_by(&made.bytes, 1 << 20, &small).unwrap_err();
        assert!(e.cause() == Cause::Limit && e.message().contains("above the limit"), "{size}: {e:?}");
    }
    let tight = Limits { memory: Some(1000), ..limits() };
    assert_eq!(open_by(&made.bytes, 1, &tight).unwrap_err().cause(), Cause::Limit);
}

#[test]
fn arrays_nest_to_a_depth_of_eight() {
    let nested = |depth: u32| {
        let made = Made::new(false, 0, 1).string(b"k").u32(9);
        let made = (1..depth).fold(made, |made, _| made.u32(9).u64(1));
        open_by(&made.u32(0).u64(1).raw(&[7]).bytes, 1, &limits())
    };
    nested(8).unwrap();
    for depth in [9, 1000] {
        assert_eq!(nested(depth).unwrap_err().rule(), Some(Rule::ValueDepth));
    }
}

#[test]
fn version_1_has_short_lengths() {
    let made = Made::new(false, 0, 0);
    let bytes = [b"GGUF\x01\0\0\0", &[1, 0, 0, 0][..], &[1, 0, 0, 0]].concat();
    let made = Made { bytes, ..made }.u32(1).raw(b"k").u32(8).u32(2).raw(b"ok");
    let made = made.u32(1).raw(b"t").u32(1).u32(4).u32(0).u64(0).padded(16);
    let manifest = open_by(&made.bytes, 1, &limits()).unwrap();
    assert_eq!(manifest.version_text(), "1");
    assert_eq!(manifest.values.get(manifest.attributes.unwrap()).get("k").unwrap().as_text(), Some("ok"));
    assert_eq!(manifest.shape(&manifest.objects[0]), [4]);
}
