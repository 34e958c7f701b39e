//! Files from before PyTorch 1.6 that the tests build: where storages are found, and what is refused.

use super::*;
use crate::container::frame::{Frame, InMemory, Input, Limits, OnRange};
use crate::container::torch::legacy::decode;
use crate::model::manifest::{Container, Manifest};
use std::ops::Range;

const MAGIC: &[u8] = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.";

/// A storage as in its persistent id, with the sixth field.
fn announced(class: &str, key: &str, count: i64, view: &[u8]) -> Vec<u8> {
    let (module, name) = class.rsplit_once('.').unwrap();
    let id = [text("storage"), global(module, name), text(key), text("cpu"), int(count), view.to_vec()];
    [tuple(&id), b"Q".to_vec()].concat()
}

/// A row-major tensor of all elements after the first `offset`.
fn vector(class: &str, key: &str, count: i64, offset: i64) -> Vec<u8> {
    let storage = announced(class, key, count, b"N");
    let arguments =
        [storage, int(offset), ints(&[count - offset]), ints(&[1]), b"\x89".to_vec(), b"}".to_vec()];
    rebuild("_rebuild_tensor_v2", &arguments)
}

fn header(version: i64, little_endian: &[u8]) -> Vec<u8> {
    let system = dict(&[("protocol_version", int(version)), ("little_endian", little_endian.to_vec())]);
    [MAGIC, &whole(int(version)), &whole(system)].concat()
}

/// A file: the object, the keys, and for each storage the number of elements and the bytes.
fn file(object: &[u8], keys: &[&str], storages: &[(u64, &[u8])]) -> Vec<u8> {
    let keys: Vec<u8> = keys.iter().flat_map(|key| text(key)).collect();
    let mut bytes = [header(1001, b"\x88"), whole(object), whole([b"](", &keys[..], b"e"].concat())].concat();
    for (count, stored) in storages {
        bytes.extend([&count.to_le_bytes()[..], stored].concat());
    }
    bytes
}

/// The bytes of a file, and a count of reads.
struct Counted<'b>(InMemory<'b>, usize);

impl Input for Counted<'_> {
    fn file_size(&self) -> u64 {
        self.0.file_size()
    }

    fn read(&mut self, range: Range<u64>) -> Result<&[u8]> {
        self.1 += 1;
        self.0.read(range)
    }

    fn read_each(&mut self, ranges: &[Range<u64>], body: &mut OnRange<'_>) -> Result<()> {
        self.0.read_each(ranges, body)
    }
}

fn decode_within(bytes: &[u8], limits: &Limits) -> Result<(Manifest, Frame, usize)> {
    let mut frame = Frame::of_unknown_manifest(Container::Torch, bytes.len() as u64);
    let budget = Budget::new(limits.memory_for(0));
    let mut input = Counted(InMemory::file(bytes), 0);
    let manifest = decode(&mut frame, &mut input, limits, &budget)?;
    Ok((manifest, frame, input.1))
}

fn error(bytes: &[u8]) -> (Cause, String) {
    let error = decode_within(bytes, &Limits::default()).map(drop).unwrap_err();
    (error.cause(), error.message().to_owned())
}

#[track_caller]
fn refused(bytes: &[u8], cause: Cause, part: &str) {
    let (found, message) = error(bytes);
    assert!(found == cause && message.contains(part), "{found:?}: {message}");
}

/// Two tensors in one storage, and one in another. The file has them in the order of the keys.
fn three() -> Vec<u8> {
    let object = dict(&[
        ("late", vector("torch.HalfStorage", "9", 3, 0)),
        ("all", vector("torch.DoubleStorage", "1", 2, 0)),
        ("last", vector("torch.DoubleStorage", "1", 2, 1)),
    ]);
    file(&object, &["1", "9"], &[(2, &[1; 16]), (3, &[2; 6])])
}

#[test]
fn storages_are_found_behind_the_pickles() {
    let bytes = three();
    let (manifest, frame, reads) = decode_within(&bytes, &Limits::default()).unwrap();
    let data = bytes.len() as u64 - (8 + 16 + 8 + 6);
    assert_eq!((frame.manifest, frame.data), (0..data, data..bytes.len() as u64));
    let places: Vec<_> = manifest.components.iter().map(|c| c.offset - data..c.end() - data).collect();
    assert_eq!(places, [32..38, 8..24, 16..24]);
    assert_eq!(reads, 1);
    for cut in MAGIC.len()..bytes.len() {
        decode_within(&bytes[..cut], &Limits::default()).map(|_| panic!("cut at {cut}")).unwrap_err();
    }
}

#[test]
fn the_window_grows_until_the_pickles_end() {
    for size in [(64 << 10) - 400, 64 << 10, 300 << 10, 3 << 20] {
        let many = vector("torch.ByteStorage", "0", 4, 0);
        let object =
            [b"}(", &many[..], b"0", &text("note"), &text(&"x".repeat(size)), &text("t"), &many, b"u"];
        let mut bytes = file(&object.concat(), &["0"], &[(4, b"abcd")]);
        let (manifest, frame, reads) = decode_within(&bytes, &Limits::default()).unwrap();
        assert_eq!(manifest.components[0].offset + 4, bytes.len() as u64);
        assert_eq!(frame.manifest.end + 12, bytes.len() as u64);
        assert!(reads <= 3, "{reads} for {size} bytes");
        let limits = Limits { manifest_size: frame.manifest.end, ..Limits::default() };
        decode_within(&bytes, &limits).unwrap();
        let limits = Limits { manifest_size: frame.manifest.end - 1, ..Limits::default() };
        assert_eq!(decode_within(&bytes, &limits).map(drop).unwrap_err().cause(), Cause::Limit, "{size}");
        bytes.extend([0; 100_000]);
        assert!(error(&bytes).1.contains("100000 bytes follow the last storage"));
        decode_within(&bytes, &Limits { allow_trailing: true, ..Limits::default() }).unwrap();
    }
    // A size that the file does not have is refused at once, and so is one above the limit.
    let claim = |size: u64| {
        [&header(1001, b"\x88")[..], b"\x80\x04\x8d", &size.to_le_bytes(), &[0; 200_000]].concat()
    };
    refused(&claim(1 << 40), Cause::Broken(Rule::PickleSyntax), "1099511627776 bytes are promised");
    let limits = Limits { manifest_size: 100_000, ..Limits::default() };
    let e = decode_within(&claim(150_000), &limits).map(drop).unwrap_err();
    assert!(e.cause() == Cause::Limit && e.message().contains("above the limit of 100000"), "{e}");
}

/// The memory of a try is returned before the next try, so all tries together may take as much as one.
#[test]
fn tries_take_no_memory() {
    let items = [b"](".to_vec(), b"N".repeat(200_000), b"e".to_vec()].concat();
    let bytes = file(&dict(&[("list", items)]), &[], &[]);
    let least = (10..40)
        .map(|bits| 1u64 << bits)
        .find(|memory| decode_within(&bytes, &Limits { memory: Some(*memory), ..Limits::default() }).is_ok());
    assert!(least.unwrap() <= 16 << 20, "{least:?}");
}

#[test]
fn what_does_not_agree_is_refused() {
    let broken = Cause::Broken(Rule::TorchStorage);
    let f32 = |key: &str, count| vector("torch.FloatStorage", key, count, 0);
    let one = |object: Vec<u8>, keys: &[&str]| file(&dict(&[("a", object)]), keys, &[(1, &[0; 4])]);
    decode_within(&one(f32("0", 1), &["0"]), &Limits::default()).unwrap();
    refused(&one(f32("0", 2), &["0"]), broken, "\"0\" at byte");
    refused(&one(f32("0", 0), &["0"]), broken, "4 bytes follow");
    refused(&one(f32("0", 1), &["1"]), broken, "\"1\" is listed twice, or no tensor uses it");
    refused(&file(&dict(&[("a", f32("0", 1))]), &["0", "0"], &[(1, &[0; 4]), (1, &[0; 4])]), broken, "twice");
    refused(&file(&dict(&[("a", f32("0", 1))]), &[], &[]), broken, "does not list the storage \"0\"");
    let count = file(&dict(&[("a", f32("0", 1))]), &["0"], &[(257, &[0; 4])]);
    refused(&count, broken, "has 257 elements, but its tensors announce 1");
    let huge = file(&dict(&[("a", f32("0", i64::MAX))]), &["0"], &[(i64::MAX as u64, &[0; 4])]);
    refused(&huge, Cause::Broken(Rule::ShapeOverflow), "does not fit in 64 bits");
    for other in [f32("0", 2), vector("torch.IntStorage", "0", 1, 0)] {
        let both = dict(&[("a", f32("0", 1)), ("b", other)]);
        refused(&file(&both, &["0"], &[(1, &[0; 4])]), broken, "two classes or sizes");
    }
    let keys =
        |keys: &[u8]| [header(1001, b"\x88"), whole(dict(&[("a", f32("0", 1))])), whole(keys)].concat();
    refused(&keys(b"N"), Cause::Broken(Rule::PickleType), "not a list");
    refused(&keys(b"]K\x01a"), Cause::Broken(Rule::PickleType), "not a text");
}

#[test]
fn what_is_not_read_is_named() {
    let rest = [whole(b"}"), whole(b"]")].concat();
    decode_within(&[header(1001, b"\x88"), rest.clone()].concat(), &Limits::default()).unwrap();
    refused(&[header(1000, b"\x88"), rest.clone()].concat(), Cause::Unsupported, "1000; 1001 is read");
    refused(&[header(1001, b"\x89"), rest].concat(), Cause::Unsupported, "big-endian");
    let view = tuple(&[text("7"), int(0), int(1)]);
    let of = |storage: Vec<u8>| file(&dict(&[("a", storage)]), &["0"], &[(1, &[0; 4])]);
    refused(&of(announced("torch.FloatStorage", "0", 1, &view)), Cause::Unsupported, "part of another");
    refused(&of(announced("torch.cuda.FloatStorage", "0", 1, b"N")), Cause::Unsupported, "torch.cuda");
    refused(&of(announced("torch.FloatStorage", "0", 1, b"NN")), Cause::Broken(Rule::PickleType), "a tuple");
    let called = [global("os", "system"), text("true"), b"\x85R".to_vec()].concat();
    refused(&file(&called, &[], &[]), Cause::Unsupported, "os.system");
}

/// Numbers that are not read still have a size, and do not hide the storages after them.
#[test]
fn quantized_storages_are_passed_over() {
    let quantized = |class: &str| {
        let arguments = [announced(class, "0", 2, b"N"), int(0), ints(&[2]), ints(&[1]), b"\x89".to_vec()];
        rebuild("_rebuild_qtensor", &[&arguments[..], &[b"\x89".to_vec(), b"}".to_vec()]].concat())
    };
    for (class, size) in [("torch.QInt8Storage", 2), ("torch.QInt32Storage", 8), ("torch.Bits16Storage", 4)] {
        let object = dict(&[("q", quantized(class)), ("t", vector("torch.CharStorage", "1", 3, 0))]);
        let bytes = file(&object, &["0", "1"], &[(2, &[0; 8][..size]), (3, b"xyz")]);
        let (manifest, ..) = decode_within(&bytes, &Limits::default()).unwrap();
        assert_eq!(manifest.components[1].offset + 3, bytes.len() as u64, "{class}");
    }
}

/// The persistent id of a saved module has its class and source.
#[test]
fn modules_are_names() {
    let source = text("import os; os.system('true')");
    let class = [tuple(&[text("module"), global("my.models", "Net"), text("a.py"), source]), b"Q".to_vec()];
    let state = dict(&[("_parameters", dict(&[("w", vector("torch.FloatStorage", "0", 1, 0))]))]);
    let module = [&class.concat()[..], b")\x81", &state, b"b"].concat();
    let (manifest, ..) = decode_within(&file(&module, &["0"], &[(1, &[0; 4])]), &Limits::default()).unwrap();
    assert_eq!(manifest.texts.get(manifest.objects[0].name), "_parameters.w");
}
