//! Sparse objects of zTensor 2 with values of half a byte.

use crate::common;

use common::ztensor_2::{file, Object, Part};
use ztensor::error::Result;
use ztensor::reader::{File, OpenOptions, VerifyOptions, VerifyReport};

fn numbers(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn open(object: Object, strict: bool) -> Result<File> {
    File::open_memory(file(&[object]), &OpenOptions { strict, ..OpenOptions::default() })
}

fn verify(file: &File) -> Result<()> {
    file.verify(&VerifyOptions::default(), &|_, _| true, &mut VerifyReport::default())
}

/// `size` bytes of values. If `count` is odd, the unused half of the last byte is 0.
fn values(count: u32, size: usize) -> Vec<u8> {
    let mut values = vec![0x21; size];
    if let (1, Some(last)) = (count % 2, values.last_mut()) {
        *last = 0x01;
    }
    values
}

/// A matrix with one row: `count` entries, and `size` bytes of values.
fn csr(count: u32, size: usize) -> Object {
    let columns: Vec<u32> = (0..count).collect();
    let parts = vec![
        Part::new("values", "u8", values(count, size)).of_type("f4_e2m1"),
        Part::new("indices", "u32", numbers(&columns)),
        Part::new("indptr", "u32", numbers(&[0, count])),
    ];
    Object::new("m", "zt.sparse_csr/1", &[1, 9], parts)
}

/// A list of `count` entries.
fn coo(count: u32, size: usize) -> Object {
    let columns = (0..count).map(|column| column % 3);
    let coords: Vec<u32> = (0..count).map(|row| row / 3).chain(columns).collect();
    let parts = vec![
        Part::new("values", "u8", values(count, size)).of_type("f4_e2m1"),
        Part::new("coords", "u32", numbers(&coords)),
    ];
    Object::new("m", "zt.sparse_coo/1", &[3, 3], parts)
}

#[test]
fn an_odd_number_of_values_of_4_bits_is_viewed_and_verified() {
    for (count, size) in [(0, 0), (1, 1), (2, 1), (5, 3), (6, 3)] {
        for strict in [false, true] {
            let file = open(csr(count, size), strict).unwrap();
            let view = file.find("m").unwrap().csr_view().unwrap();
            assert_eq!((view.nnz, view.values.bytes().len()), (count.into(), size));
            verify(&file).unwrap();
            let file = open(coo(count, size), strict).unwrap();
            let view = file.find("m").unwrap().coo_view().unwrap();
            assert_eq!((view.nnz, view.values.bytes().len()), (count.into(), size));
            verify(&file).unwrap();
        }
    }
}

#[test]
fn the_unused_half_of_the_last_byte_is_0() {
    for mut object in [csr(5, 3), coo(5, 3)] {
        object.parts[0].stored[2] = 0x21;
        let file = open(object, false).unwrap();
        let error = verify(&file).unwrap_err();
        assert_eq!(error.rule_name(), c"LayoutData", "{error}");
        for words in ["object \"m\": component \"values\"", "byte 2", "0x21"] {
            assert!(error.message().contains(words), "no {words} in: {error}");
        }
    }
    // Objects with an unknown number of values: of an unknown layout, without positions.
    let mut unknown = csr(5, 3);
    unknown.layout = "x.sparse/1";
    unknown.parts[0].stored[2] = 0x21;
    let mut lone = coo(5, 3);
    lone.parts.truncate(1);
    lone.parts[0].stored[2] = 0x21;
    verify(&open(unknown, false).unwrap()).unwrap();
    let error = open(lone, false).and_then(|file| verify(&file)).unwrap_err();
    assert_ne!(error.rule_name(), c"LayoutData", "{error}");
}

#[test]
fn values_that_are_not_as_many_as_their_positions_are_refused() {
    for (count, size) in [(0, 1), (1, 0), (3, 1), (4, 3), (5, 2), (5, 4)] {
        let error = open(csr(count, size), false).map(drop).unwrap_err();
        assert_eq!(error.rule_name(), c"LayoutRule", "{error}");
        let file = open(coo(count, size), false).unwrap();
        for error in [file.find("m").unwrap().coo_view().map(drop).unwrap_err(), verify(&file).unwrap_err()] {
            assert_eq!(error.rule_name(), c"LayoutRule", "{error}");
        }
    }
}
