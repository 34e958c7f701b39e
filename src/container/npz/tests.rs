use super::header::{self, ElementType, Header, HeaderOutcome};
use crate::container::frame::{Frame, InMemory, Limits};
use crate::error::{Cause, Error, Result, Rule};
use crate::memory::Budget;
use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::{Container, Encoding, LogicalType, Manifest};

/// An array: its header with unpadded text, and its elements.
fn array(version: u8, text: &str, elements: &[u8]) -> Vec<u8> {
    let size = text.len() as u32;
    let size = size.to_le_bytes();
    let size = if version == 1 { &size[..2] } else { &size[..] };
    [b"\x93NUMPY", &[version, 0][..], size, text.as_bytes(), elements].concat()
}

fn read(bytes: &[u8]) -> Result<(Header, Vec<u64>)> {
    let (mut dimensions, budget) = (Vec::new(), Budget::new(1 << 20));
    match header::read(bytes, bytes.len() as u64, &mut dimensions, &budget)? {
        HeaderOutcome::Header(header) => Ok((header, dimensions)),
        HeaderOutcome::Needs(size) => panic!("{size} bytes of {} are wanted", bytes.len()),
        HeaderOutcome::Other | HeaderOutcome::Version(..) => panic!("not the front of an array"),
    }
}

fn of(text: &str) -> Result<(Header, Vec<u64>)> {
    read(&array(1, text, &[]))
}

fn shape(text: &str) -> Result<Vec<u64>> {
    of(&format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {text}}}")).map(|(_, shape)| shape)
}

fn kind(descr: &str) -> Result<ElementType> {
    of(&format!("{{'descr': {descr}, 'fortran_order': False, 'shape': ()}}")).map(|(header, _)| header.kind)
}

fn rule(outcome: Result<impl Sized>) -> Option<Rule> {
    outcome.err().and_then(|e: Error| e.rule())
}

#[test]
fn a_header_is_read_in_every_form_that_python_reads() {
    for text in [
        "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }          \n",
        "{\"shape\":(2,3,),\"fortran_order\":True,\"descr\":\"<f4\"}",
        " \t{ 'descr' : '<f4' ,\n'fortran_order'\t:True , 'shape' : ( 2L ,3 ) }",
    ] {
        for version in [1, 2, 3] {
            let bytes = array(version, text, b"elements");
            let (header, shape) = read(&bytes).unwrap();
            assert_eq!((shape, header.fortran_order), (vec![2, 3], true), "{text}");
            assert_eq!(header.size as usize, bytes.len() - 8);
            assert!(matches!(
                header.kind,
                ElementType::Plain { dtype: Dtype::F32, logical: LogicalType::Absent, big_endian: false }
            ));
        }
    }
}

#[test]
fn what_is_no_plain_dictionary_is_refused() {
    for text in [
        "",
        " ",
        "{}",
        "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'shape': ()}",
        "{'fortran_order': False, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (), 'x': 1}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (),,}",
        "{,'descr': '<f4', 'fortran_order': False, 'shape': ()}",
        "{'descr': '<f4' 'fortran_order': False, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': ()} x",
        "{'descr': '<f4', 'fortran_order': False, 'shape': ()}\0",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': Falsey, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': not True, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': ()",
        "{'descr': '<f\\x34', 'fortran_order': False, 'shape': ()}",
        "{'descr: '<f4', 'fortran_order': False, 'shape': ()}",
        "{b'descr': '<f4', 'fortran_order': False, 'shape': ()}",
        "dict(descr='<f4', fortran_order=False, shape=())",
        "('<f4', False, ())",
    ] {
        assert_eq!(rule(of(text)), Some(Rule::NpyHeader), "{text}");
    }
}

#[test]
fn a_shape_is_a_tuple_of_integers() {
    assert_eq!(shape("()").unwrap(), [0; 0]);
    assert_eq!(shape("(7,)").unwrap(), [7]);
    assert_eq!(shape("(0, 9223372036854775807)").unwrap(), [0, i64::MAX as u64]);
    assert_eq!(shape(&format!("({})", "1,".repeat(64))).unwrap(), [1; 64]);
    assert_eq!(rule(shape(&format!("({})", "1,".repeat(65)))), Some(Rule::ShapeRank));
    for wrong in
        ["(7)", "[7]", "7", "(-1,)", "(1.0,)", "(1e3,)", "(0x1,)", "(1_0,)", "(01,)", "(True,)", "('1',)"]
    {
        assert_eq!(rule(shape(wrong)), Some(Rule::NpyHeader), "{wrong}");
    }
    for wrong in ["(,)", "(1,,)", "(1 2)", "((1,),)", "(1+1,)", "(1", "(L,)", "None"] {
        assert_eq!(rule(shape(wrong)), Some(Rule::NpyHeader), "{wrong}");
    }
    for wrong in ["(9223372036854775808,)", "(18446744073709551616,)", "(99999999999999999999999,)"] {
        assert_eq!(rule(shape(wrong)), Some(Rule::ShapeOverflow), "{wrong}");
    }
}

#[test]
fn types_are_read_or_listed() {
    let native = cfg!(target_endian = "big"); // without a stated order, it is the machine's
    for (descr, dtype, big) in [
        ("'|b1'", Dtype::Bool, false),
        ("'|i1'", Dtype::I8, false),
        ("'>u1'", Dtype::U8, false),
        ("'>i2'", Dtype::I16, true),
        ("'<u4'", Dtype::U32, false),
        ("'f2'", Dtype::F16, native),
        ("'=f8'", Dtype::F64, native),
        ("'|u8'", Dtype::U64, native),
    ] {
        let found = kind(descr).unwrap();
        let wanted = (dtype, big);
        let ElementType::Plain { dtype, big_endian, .. } = found else { panic!("{descr}: {found:?}") };
        assert_eq!((dtype, big_endian), wanted, "{descr}");
    }
    for (descr, logical) in [("'>c8'", Logical::Complex64), ("'<c16'", Logical::Complex128)] {
        let found = kind(descr).unwrap();
        let is = matches!(found, ElementType::Plain { logical: LogicalType::Known(l), .. } if l == logical);
        assert!(is, "{descr}: {found:?}");
    }
    for (descr, bytes) in [
        ("'|O'", None),
        ("'<U5'", Some(20)),
        ("'|S3'", Some(3)),
        ("'|V2'", Some(2)),
        ("'<M8[ns]'", Some(8)),
        ("'<m8'", Some(8)),
        ("'<f16'", Some(16)),
        ("'>c32'", Some(32)),
        ("[('a', '<f4'), ('b', '|u1', (2, 3))]", None),
        ("[(('title', 'a'), [('x', '<f4')])]", None),
        ("('<f4', (2,))", None),
        (r"[('it\'s', '<f4'), ('a\\', '<i2'), ('\u200b', '<f4')]", None),
        ("[]", None),
        ("'<f1'", None),
        ("''", None),
        ("'<'", None),
        ("'f'", None),
        ("'<f3'", None),
        ("'<q4'", None),
        ("'<f-4'", None),
        ("'float32'", None),
        ("'<i16'", None),
        ("'<b2'", None),
        ("'U'", None),
        ("'<U18446744073709551615'", None),
        ("'<M4'", None),
    ] {
        match kind(descr).unwrap() {
            ElementType::Unreadable { text, size } => {
                assert_eq!(String::from_utf8(text).unwrap(), descr.trim_matches('\''));
                assert_eq!(size, bytes, "{descr}");
            }
            found => panic!("{descr}: {found:?}"),
        }
    }
    for descr in [
        "None",
        r"'<f\x34'",
        r"['\",
        r"['\'",
        "4.0",
        "{}",
        "[",
        "[('a', '<f4')",
        "[)",
        "['a' 'b']",
        "[,]",
        "__import__('os')",
    ] {
        assert_eq!(rule(kind(descr)), Some(Rule::NpyHeader), "{descr}");
    }
    let deep = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(kind(&deep(64)).is_ok());
    assert_eq!(rule(kind(&deep(65))), Some(Rule::NpyHeader));
}

#[test]
fn a_front_that_was_cut_says_how_much_more_it_takes() {
    let bytes = array(2, "{'descr': '<f4', 'fortran_order': False, 'shape': ()}", b"1234");
    let header = bytes.len() - 4;
    for seen in 0..header {
        let (mut dimensions, budget) = (Vec::new(), Budget::new(1 << 20));
        let mut read = |all| header::read(&bytes[..seen], all, &mut dimensions, &budget);
        match read(bytes.len() as u64) {
            Ok(HeaderOutcome::Needs(size)) => assert!(size as usize > seen && size as usize <= header),
            _ => panic!("{seen} bytes"),
        }
        match seen < header::MAGIC.len() {
            true => assert!(matches!(read(seen as u64), Ok(HeaderOutcome::Other)), "{seen}"),
            false => assert_eq!(rule(read(seen as u64)), Some(Rule::NpyHeader), "{seen}"),
        }
        assert!(dimensions.is_empty());
    }
    let front = |bytes: &[u8]| {
        header::read(bytes, bytes.len() as u64, &mut Vec::new(), &Budget::new(1 << 20)).unwrap()
    };
    assert!(matches!(front(b"\x93NUMPX\x01\x00\x00\x00"), HeaderOutcome::Other));
    for [major, minor] in [[0, 0], [1, 1], [4, 0]] {
        let mut other = bytes.clone();
        other[6..8].copy_from_slice(&[major, minor]);
        assert!(matches!(front(&other), HeaderOutcome::Version(a, b) if (a, b) == (major, minor)));
    }
    let mut long = bytes.clone();
    long[8..12].fill(0xff);
    assert_eq!(rule(read(&long)), Some(Rule::NpyHeader));
    let latin = "{'descr': [('\u{e9}', '<f4')], 'fortran_order': False, 'shape': ()}";
    let mut latin_1 = array(3, latin, &[]);
    assert!(read(&latin_1).is_ok());
    let at = latin_1.iter().position(|b| *b == 0xc3).unwrap();
    latin_1[at] = b' ';
    assert_eq!(rule(read(&latin_1)), Some(Rule::NpyHeader), "no UTF-8");
    latin_1[6] = 2;
    assert!(read(&latin_1).is_ok(), "Latin-1");
}

fn single(bytes: &[u8]) -> Result<Manifest> {
    let mut frame = Frame::of_unknown_manifest(Container::Npz, bytes.len() as u64);
    super::decode(&mut frame, &mut InMemory::file(bytes), &Limits::default(), &Budget::new(1 << 20))
}

#[test]
fn an_array_by_itself_has_the_empty_name_and_ends_the_file() {
    let text = "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3)}";
    let bytes = array(1, text, &[7; 12]);
    let manifest = single(&bytes).unwrap();
    let object = manifest.objects[0];
    let component = manifest.components[0];
    assert_eq!((manifest.texts.get(object.name), manifest.shape(&object)), ("", &[2, 3][..]));
    assert_eq!((component.offset as usize, component.stored_size), (bytes.len() - 12, 12));
    assert!(component.is_big_endian() && component.encoding == Encoding::Raw);
    let layout = manifest.layout(&component).unwrap();
    assert_eq!(manifest.strides(layout, 2), Some(&[1, 2][..]));
    for size in [11, 13] {
        assert_eq!(rule(single(&array(1, text, &vec![7; size]))), Some(Rule::DenseSize));
    }
    let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}";
    assert_eq!(rule(single(&array(1, text, &[]))), Some(Rule::ShapeOverflow));
}

#[test]
fn an_archive_of_neither_is_unsupported() {
    let mut archive = b"PK\x03\x04".to_vec();
    archive.resize(30, 0);
    archive[26] = 1;
    archive.push(b'a');
    let mut entry = b"PK\x01\x02".to_vec();
    entry.resize(46, 0);
    entry[28] = 1;
    entry.push(b'a');
    let start = archive.len() as u32;
    archive.extend(&entry);
    archive.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    archive.extend((entry.len() as u32).to_le_bytes());
    archive.extend(start.to_le_bytes());
    archive.extend([0, 0]);
    let error = single(&archive).unwrap_err();
    assert!(error.cause() == Cause::Unsupported && error.message().contains("\"a\""), "{error}");
}
