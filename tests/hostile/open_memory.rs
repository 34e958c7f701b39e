//! Memory for opening a hostile file never exceeds `max_memory`, counted by the allocator. Also tests the
//! default limit.

use crate::common;
use crate::counting;

use common::ReadOnly;
use counting::peak;
use std::ops::Range;
use std::sync::Arc;
use ztensor::error::{Cause, Error};
use ztensor::reader::{File, OpenOptions};
use ztensor::source::ByteSource;

/// Bytes of a manifest of each form.
const SIZE: usize = 1 << 17;
/// Memory of an open file besides its contents: the struct, and a first entry in each table.
const FIXED: u64 = 32 << 10;

/// A 1.2 file with this manifest only.
fn file_1_2(manifest: &[u8]) -> Vec<u8> {
    let mut bytes = b"ZTEN1000".to_vec();
    bytes.resize(64, 0);
    bytes.extend_from_slice(manifest);
    bytes.extend_from_slice(&(manifest.len() as u64).to_le_bytes());
    bytes.extend_from_slice(b"ZTEN1000");
    bytes
}

/// A file of another container, whose end is only the size.
fn file_before(magic: &[u8; 8], manifest: &[u8]) -> Vec<u8> {
    let mut bytes = magic.to_vec();
    bytes.resize(64, 0);
    bytes.extend_from_slice(manifest);
    bytes.extend_from_slice(&(manifest.len() as u64).to_le_bytes());
    bytes
}

/// A head with a length of four bytes.
fn head(major: u8, count: usize) -> Vec<u8> {
    [&[major | 26][..], &(count as u32).to_be_bytes()].concat()
}

/// Enough `parts` to fill a manifest. Each part contains its number.
fn many(part: impl Fn(u32) -> Vec<u8>) -> (usize, Vec<u8>) {
    let mut parts = Vec::new();
    let mut count = 0;
    while parts.len() < SIZE {
        parts.extend(part(count));
        count += 1;
    }
    (count as usize, parts)
}

/// A text of eight digits.
fn digits(n: u32) -> Vec<u8> {
    format!("\x68{n:08}").into_bytes()
}

/// A file whose attributes have this value.
fn attribute(value: &[u8]) -> Vec<u8> {
    file_1_2(&[b"\xa3gversione1.2.0gobjects\xa0jattributes\xa1aa", value].concat())
}

/// A file with these objects. A name precedes each.
fn objects(object: impl Fn(u32) -> Vec<u8>) -> Vec<u8> {
    let (count, all) = many(|n| [digits(n), object(n)].concat());
    file_1_2(&[&b"\xa2gversione1.2.0gobjects"[..], &head(0xa0, count), &all].concat())
}

/// A file with one object with this definition.
fn one_object(object: &[u8]) -> Vec<u8> {
    file_1_2(&[b"\xa2gversione1.2.0gobjects\xa1aa", object].concat())
}

const RAW: &[u8] = b"\xa3edtypebu8foffset\x00flength\x00";
const EMPTY: &[u8] = b"\xa3eshape\x81\x00fformatax";

fn forms() -> Vec<(String, Vec<u8>)> {
    let mut forms = Vec::new();
    let items: [(&str, &[u8]); 22] = [
        ("small integers", b"\x00"),
        ("empty arrays", b"\x80"),
        ("arrays of one", b"\x81\x00"),
        ("arrays in arrays", &[[0x81; 60].as_slice(), b"\x00"].concat()),
        ("empty maps", b"\xa0"),
        ("maps of one", b"\xa1\x00\x00"),
        ("maps in maps", &[b"\xa1\x00".repeat(60).as_slice(), b"\x00"].concat()),
        ("maps as keys", b"\xa1\xa1\x00\x00\x00"),
        ("strings of one byte", b"\x61a"),
        ("empty strings", b"\x60"),
        ("byte strings of one byte", b"\x41a"),
        ("empty byte strings", b"\x40"),
        ("strings in chunks", b"\x7f\x61a\x61b\xff"),
        ("empty strings in chunks", b"\x7f\xff"),
        ("byte strings in chunks", b"\x5f\x41a\xff"),
        ("arrays of indefinite length", b"\x9f\x00\xff"),
        ("empty arrays of indefinite length", b"\x9f\xff"),
        ("maps of indefinite length", b"\xbf\x00\x00\xff"),
        ("tags", b"\xc1\x00"),
        ("tags in tags", &[[0xc1; 60].as_slice(), b"\x00"].concat()),
        ("floats", b"\xf9\x3c\x00"),
        ("nulls", b"\xf6"),
    ];
    for (name, item) in items {
        let (count, all) = many(|_| item.to_vec());
        forms.push((format!("an array of {name}"), attribute(&[&head(0x80, count), &all[..]].concat())));
        let open = [b"\x9f", &all[..], b"\xff"].concat();
        forms.push((format!("an array of indefinite length of {name}"), attribute(&open)));
    }
    let (count, pairs) = many(|n| [head(0, n as usize), b"\x00".to_vec()].concat());
    forms.push(("a map of small keys".into(), attribute(&[&head(0xa0, count), &pairs[..]].concat())));
    forms.push(("a map of indefinite length".into(), attribute(&[b"\xbf", &pairs[..], b"\xff"].concat())));
    let long = [head(0x60, SIZE), vec![b'a'; SIZE]].concat();
    forms.push(("one string".into(), attribute(&long)));
    forms.push(("one byte string".into(), attribute(&[head(0x40, SIZE), vec![0; SIZE]].concat())));
    let (_, chunks) = many(|_| b"\x61a".to_vec());
    forms.push(("one string in chunks".into(), attribute(&[b"\x7f", &chunks[..], b"\xff"].concat())));

    let plain = |shape: &[u8], rest: &[u8]| [b"\xa3eshape", shape, b"fformataxjcomponents", rest].concat();
    forms.push(("objects of nothing".into(), objects(|_| plain(b"\x80", b"\xa0"))));
    forms.push(("objects of a component".into(), objects(|_| plain(b"\x80", &[b"\xa1ad", RAW].concat()))));
    let shape = |n: u32| [b"\x88", &[0; 7][..], &head(0, n as usize)].concat();
    forms.push(("objects of a shape each".into(), objects(|n| plain(&shape(n), b"\xa0"))));
    let (count, dimensions) = many(|_| b"\x00".to_vec());
    let shape = [head(0x80, count), dimensions].concat();
    forms.push(("a shape of a million".into(), one_object(&plain(&shape, b"\xa0"))));
    let (count, components) = many(|n| [digits(n), RAW.to_vec()].concat());
    let components = [head(0xa0, count), components].concat();
    forms.push(("an object of many components".into(), one_object(&plain(b"\x80", &components))));
    let with = |field: &[u8]| {
        let (count, all) = many(|n| [&digits(n), &b"\xa4"[..], &RAW[1..], field, &digits(n)].concat());
        one_object(&plain(b"\x80", &[head(0xa0, count), all].concat()))
    };
    for field in ["digest", "encoding", "type", "other"] {
        let name = [&[0x60 + field.len() as u8], field.as_bytes()].concat();
        forms.push((format!("components of a {field} each"), with(&name)));
    }
    let attributes =
        |n: u32| [b"\xa4", &plain(b"\x80", b"\xa0")[1..], b"jattributes\xa1", &digits(n), b"\x00"].concat();
    forms.push(("objects of an attribute each".into(), objects(attributes)));
    let unknown = |n: u32| [b"\xa4", &plain(b"\x80", b"\xa0")[1..], &digits(n), b"\x81\x00"].concat();
    forms.push(("objects of an unknown field each".into(), objects(unknown)));
    let (_, fields) = many(|n| [digits(n), b"\x00".to_vec()].concat());
    let fields = [b"\xbf", &EMPTY[1..], b"jcomponents\xa0", &fields, b"\xff"].concat();
    forms.push(("an object of many unknown fields".into(), one_object(&fields)));
    let (_, fields) = many(|n| [digits(n), b"\x81\x00".to_vec()].concat());
    let fields = [b"\xbfgversione1.2.0gobjects\xa0", &fields[..], b"\xff"].concat();
    forms.push(("a manifest of many unknown fields".into(), file_1_2(&fields)));

    let tensor = |n: u32, rest: &[u8]| {
        let fields = b"eshape\x81\x00edtypeeuint8foffset\x00dsize\x00hencodingcraw";
        [b"\xbfdname", &digits(n)[..], fields, rest, b"\xff"].concat()
    };
    let (count, all) = many(|n| tensor(n, &[&digits(n)[..], b"\x81\x00"].concat()));
    let old = [head(0x80, count), all].concat();
    forms.push(("0.1 tensors of a field of their own".into(), file_before(b"ZTEN0001", &old)));
    let (_, fields) = many(|n| [digits(n), b"\x00".to_vec()].concat());
    let old = [b"\x81", &tensor(0, &fields)[..]].concat();
    forms.push(("a 0.1 tensor of many fields".into(), file_before(b"ZTEN0001", &old)));
    // Each component has the name of a dtype that only the tensor declares.
    let (count, all) = many(|n| [&digits(n)[..], b"\xa2foffset\x00flength\x00"].concat());
    let name = [head(0x60, SIZE), vec![b'd'; SIZE]].concat();
    let tensor = [b"\xa4", &EMPTY[1..], b"edtype", &name, b"jcomponents", &head(0xa0, count), &all].concat();
    let old = [b"\xa2gversionc1.0gtensors\xa1aa", &tensor[..]].concat();
    forms.push(("1.0 components of a long dtype".into(), file_before(b"ZTEN1000", &old)));
    // The reader searches it for "tensors", because a file without the last magic may be in that format.
    let (count, all) = many(|_| b"\x81\x00".to_vec());
    let cut = [b"\xa2gversione1.2.0gobjects", &head(0x80, count)[..], &all].concat();
    forms.push(("a file without an end".into(), file_before(b"ZTEN1000", &cut)));
    forms
}

/// A source of bytes that are borrowed or only read. It does not count as allocated memory.
#[derive(Clone)]
struct Bytes(Arc<ReadOnly>);

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        &self.0 .0
    }
}

impl ByteSource for Bytes {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn slice(&self, range: Range<u64>) -> Option<&[u8]> {
        self.0.slice(range)
    }

    fn read_at(&self, offset: u64, dst: &mut [u8]) -> ztensor::error::Result<()> {
        self.0.read_at(offset, dst)
    }
}

/// The result of opening it, and the peak of memory meanwhile.
fn open(bytes: &Bytes, borrowed: bool, max_memory: Option<u64>) -> (Result<(), Error>, u64) {
    let options = OpenOptions { max_memory, ..OpenOptions::default() };
    let (opened, held) = peak(|| {
        let opened = match borrowed {
            true => File::open_memory(bytes.clone(), &options),
            false => File::from_source(Box::new(bytes.clone()), &options, String::from("read")),
        };
        opened.map(drop)
    });
    (opened, held as u64)
}

#[test]
fn no_form_of_a_file_takes_more_than_the_limit() {
    for (name, bytes) in forms() {
        let bytes = Bytes(Arc::new(ReadOnly(bytes)));
        for borrowed in [true, false] {
            let (whole, most) = open(&bytes, borrowed, None);
            let manifest = bytes.size();
            // The search for the possible end of a truncated file reads it in pieces.
            let fixed = FIXED + if whole.is_err() { 1 << 20 } else { 0 };
            assert!(most <= 256 << 20, "{name}: {most} bytes by default");
            if let Err(e) = &whole {
                let expected = name.starts_with("a file without") || name.starts_with("components of a type");
                assert!(expected || name.contains("encoding"), "{name}: {e}");
            }
            for limit in [1, 50 << 10, 150 << 10, 1 << 20, 3 << 20, 10 << 20] {
                let (opened, held) = open(&bytes, borrowed, Some(limit));
                assert!(
                    held <= limit + fixed,
                    "{name}, borrowed {borrowed}: {held} bytes for {manifest}, limit {limit}"
                );
                match opened {
                    Ok(()) => assert!(whole.is_ok(), "{name}"),
                    Err(e) if e.cause() == Cause::Limit => {
                        let text = e.to_string();
                        assert!(text.contains("max_memory") && text.contains(&limit.to_string()), "{e}");
                        // The charged memory is close to the allocated memory.
                        assert!(most * 4 + 4 * manifest + FIXED > limit, "{name}: {most} of {limit}: {e}");
                    }
                    Err(e) => assert!(whole.is_err(), "{name}: {e}"),
                }
            }
        }
    }
}

#[test]
fn the_same_number_holds_for_a_value_that_is_passed_over() {
    // Unknown fields one after the other: each uses all memory that is left, and frees it.
    let (count, all) = many(|_| b"\x81\x00".to_vec());
    let field = [head(0x80, count), all].concat();
    let fields: Vec<u8> = (0..20).flat_map(|n| [&digits(n), &field[..]].concat()).collect();
    let bytes = file_1_2(&[b"\xb6gversione1.2.0gobjects\xa0", &fields[..]].concat());
    let bytes = Bytes(Arc::new(ReadOnly(bytes)));
    let (opened, most) = open(&bytes, true, None);
    opened.unwrap();
    assert!(most < 60 << 20, "{most} bytes for a field of {SIZE}");
    // One field uses up to 30 times its bytes while its tape grows. The 20 fields do not use it at once.
    open(&bytes, true, Some(48 * SIZE as u64)).0.unwrap();
}

#[test]
fn a_big_vocabulary_and_many_objects_are_far_from_the_default() {
    let mut vocabulary = head(0x80, 256_000);
    (0..256_000u32).for_each(|n| vocabulary.extend(digits(n)));
    let scores = [head(0x80, 256_000), b"\xfa\xbf\x80\x00\x01".repeat(256_000)].concat();
    let both = [&b"\x82"[..], &vocabulary, &scores].concat();
    let (opened, held) = open(&Bytes(Arc::new(ReadOnly(attribute(&both)))), false, None);
    opened.unwrap();
    println!("{held} bytes for a vocabulary");
    assert!(held < 64 << 20, "{held}");
}
