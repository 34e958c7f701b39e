//! Only CBOR: the fast and the general path agree, accepted items are written back the same, and ciborium
//! reads the same.
#![no_main]

use ciborium::Value as Other;
use ztensor::container::cbor::encode as cbor_encode;
use ztensor::container::cbor::Cursor;
use ztensor::error::{Cause, Rule};
use ztensor::model::value::{check_writable, Tape};
use ztensor_fuzz::values::{other, same, same_other};

/// Whether it contains a tag: ciborium turns tags 2 and 3 into numbers, and does not have simple values.
fn comparable(bytes: &[u8]) -> Option<Other> {
    let mut rest = bytes;
    ciborium::de::from_reader_with_recursion_limit(&mut rest, 80).ok()
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (mut reading, mut skipping) = (Cursor::new(bytes, 0), Cursor::new(bytes, 0));
    let (read, skipped) = (reading.value(), skipping.skip());
    assert_eq!(read.is_ok(), skipped.is_ok(), "{read:?} {skipped:?}");
    let reference = comparable(bytes);
    let value = match read {
        Ok(value) => value,
        Err(e) => {
            let fine = [Rule::CborDuplicateKey, Rule::CborUtf8, Rule::CborDepth];
            let own_only = matches!(e.cause(), Cause::Broken(rule) if fine.contains(&rule));
            // RFC 7049 forbids these (table 2, section 2.2.2); ciborium accepts them.
            let lax = ["a simple value below 32 in two bytes", "string is not a definite"];
            let lax = lax.iter().any(|what| e.message().contains(what));
            assert!(
                reference.is_none() || own_only || lax,
                "ciborium accepts it, the library rejects it: {e}"
            );
            return;
        }
    };
    assert_eq!(reading.position(), skipping.position());
    if let (Some(own), Some(reference)) = (other(value.get()), &reference) {
        assert!(same_other(&own, reference), "{own:?} {reference:?}");
    }
    assert!(other(value.get()).is_none() || reference.is_some(), "ciborium refuses {value:?}");
    let mut encoded = Vec::new();
    cbor_encode::value(&mut encoded, value.get()).unwrap();
    // An indefinite length needs two bytes, a length of 256 items or more three to nine. A NaN in single
    // precision is written in double.
    let most = 2 * reading.position();
    assert!(
        encoded.len() <= most,
        "the shortest form is longer: {} of {}",
        encoded.len(),
        reading.position()
    );
    let mut again = Cursor::new(&encoded, 0);
    let back = again.value().unwrap();
    assert!(same(value.get(), back.get()) && again.remaining() == 0, "{value:?} {back:?}");
    let mut copies = Tape::default();
    let copy = copies.add(value.get()).unwrap();
    assert!(same(value.get(), copies.get(copy)));
    // An attribute may be 64 levels deep, and the map of attributes adds one.
    let writable = check_writable(value.get());
    assert!(writable.as_ref().err().is_none_or(|e| e.message().contains("deeper than 64")), "{writable:?}");
});
