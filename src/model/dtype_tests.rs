//! Names and numbers of the types.

use super::*;

#[test]
fn one_byte_elements_are_never_turned() {
    for stored_big_endian in [false, true] {
        assert!(!Dtype::U8.swaps(stored_big_endian));
        for dtype in [Dtype::F16, Dtype::F32, Dtype::I64] {
            assert_eq!(dtype.swaps(stored_big_endian), stored_big_endian == cfg!(target_endian = "little"));
        }
    }
}

#[test]
fn names_lead_back_to_their_type() {
    for d in Dtype::ALL {
        assert_eq!(Dtype::from_name(d.name()), Some(d));
        assert_eq!(Dtype::from_old_name(d.old_name()), Some(d));
        assert_eq!(Dtype::from_number(d.number()), Some(d));
        assert_eq!(d.c_name().to_str(), Ok(d.name()));
        assert_eq!((d.bits() % 8, d.bits() as usize / 8), (0, d.size()));
    }
    for t in Logical::ALL {
        assert_eq!(Logical::from_name(t.name()), Some(t));
        assert_eq!(Logical::from_number(t.number()), Some(t));
        assert_eq!(t.c_name().to_str(), Ok(t.name()));
        if let Some(old) = t.name_in_1_1() {
            assert_eq!(Dtype::from_compound_name(old), Some((t.dtype(), t)));
        }
    }
    assert_eq!(Dtype::from_name("F32"), None);
    assert_eq!(Dtype::from_old_name("f32"), None);
    for number in [i32::MIN, -1, 0, 256, i32::MAX] {
        assert_eq!(Dtype::from_number(number), None);
    }
    for number in [i32::MIN, 0, 7, 256, i32::MAX] {
        assert_eq!(Logical::from_number(number), None);
    }
}

/// Codes that are taken for integers would be converted to wrong numbers without a word.
#[test]
fn what_elements_are_as_numbers_fits_what_they_are() {
    for t in Logical::ALL {
        const COMPLEX: u8 = 5; // of DLPack
        let wanted = match t.numbers() {
            Numbers::OfDtype => t.dlpack_code() == Some(COMPLEX) && t.ratio() == 2,
            Numbers::Float8(_) => (t.dtype(), t.bits(), t.block().elements) == (Dtype::U8, 8, 1),
            Numbers::None => t.dlpack_code() != Some(COMPLEX),
        };
        assert!(wanted, "{}: {:?}", t.name(), t.numbers());
    }
}
