//! Views: checks their guarantees with separate code.

use crate::read::{check_error, is_wide_view};
use ztensor::error::Result;
use ztensor::model::dtype::Dtype;
use ztensor::model::manifest::Format;
use ztensor::reader::{File, ViewPart};

/// Views of a verified file must succeed, unless the format is another one.
pub fn every_object(file: &File, verified: bool) {
    for object in file.objects().take(24) {
        // Unreadable components are listed nevertheless, and pass verification.
        let verified = verified && object.components().all(|c| c.caps().read && !is_wide_view(file, &c));
        if let Some(view) = outcome(object.tensor_view(), verified && object.format() == Format::Dense) {
            assert_eq!(view.shape, object.shape());
            let loaded = object.component("data").unwrap().load().unwrap();
            assert_eq!(view.data.bytes(), loaded.as_slice());
        }
        if let Some(view) = outcome(object.csr_view(), verified && object.format() == Format::SparseCsr) {
            assert_eq!((view.rows, view.columns), (object.shape()[0], object.shape()[1]));
            let (pointers, columns) = (numbers(&view.indptr), numbers(&view.indices));
            assert_eq!(pointers.len() as u64, view.rows + 1);
            assert_eq!((pointers[0], *pointers.last().unwrap()), (0, i128::from(view.nnz)));
            assert!(pointers.is_sorted());
            assert_eq!(columns.len() as u64, view.nnz);
            assert!(columns.iter().all(|c| (0..i128::from(view.columns)).contains(c)));
        }
        if let Some(view) = outcome(object.coo_view(), verified && object.format() == Format::SparseCoo) {
            let coordinates = numbers(&view.coords);
            assert_eq!(coordinates.len() as u64, view.nnz * view.shape.len() as u64);
            for (at, c) in coordinates.iter().enumerate() {
                let bound = view.shape[at / view.nnz as usize];
                assert!((0..i128::from(bound)).contains(c));
            }
        }
        let wanted = verified && object.format() == Format::QuantizedGroup;
        if let Some(view) = outcome(object.quantized_view(), wanted) {
            let role = if object.format() == Format::QuantizedGroup { "packed_weight" } else { "data" };
            assert_eq!(
                view.packed_weight.bytes().len() as u64,
                object.component(role).unwrap().size().unwrap()
            );
            assert!(view.groups.is_none_or(|groups| groups.axis < view.shape.len() as u64));
        }
    }
}

fn outcome<T>(view: Result<T>, wanted: bool) -> Option<T> {
    match view {
        Ok(view) => Some(view),
        Err(e) => {
            check_error(&e);
            assert!(!wanted, "it verified, but: {e}");
            None
        }
    }
}

fn numbers(part: &ViewPart<'_>) -> Vec<i128> {
    let width = part.dtype.size();
    let signed = matches!(part.dtype, Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::I64);
    let whole = part.bytes().chunks_exact(width).map(|b| {
        let value = b.iter().rev().fold(0i128, |v, b| v << 8 | i128::from(*b));
        if signed && b[width - 1] > 127 {
            value - (1i128 << (8 * width))
        } else {
            value
        }
    });
    let numbers: Vec<_> = whole.collect();
    assert_eq!(numbers.len() as u64, part.count);
    numbers
}
