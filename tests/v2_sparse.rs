//! Sparse objects of zTensor 2 whose values are half a byte each.

mod common;

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

/// A matrix of one row with so many entries, whose values take so many bytes.
fn csr(count: u32, size: usize) -> Object {
    let columns: Vec<u32> = (0..count).collect();
    let parts = vec![
        Part::new("values", "u8", vec![0x21; size]).of_type("f4_e2m1"),
        Part::new("indices", "u32", numbers(&columns)),
        Part::new("indptr", "u32", numbers(&[0, count])),
    ];
    Object::new("m", "zt.sparse_csr/1", &[1, 9], parts)
}

/// A list of so many entries.
fn coo(count: u32, size: usize) -> Object {
    let columns = (0..count).map(|column| column % 3);
    let coords: Vec<u32> = (0..count).map(|row| row / 3).chain(columns).collect();
    let parts = vec![
        Part::new("values", "u8", vec![0x21; size]).of_type("f4_e2m1"),
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
