//! CBOR alone: the two ways through it agree, what is taken comes back, and ciborium sees the same.
#![no_main]

use ciborium::Value as Other;
use ztensor::container::cbor::encode as cbor_encode;
use ztensor::container::cbor::Cursor;
use ztensor::error::{Cause, Rule};
use ztensor::model::value::{check_writable, Tape};
use ztensor_fuzz::values::{other, same, same_other};

/// Whether a tag is in it: ciborium makes numbers of tags 2 and 3, and has no simple values.
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
            // RFC 7049 forbids these (table 2, section 2.2.2); ciborium lets them pass.
            let lax = ["a simple value below 32 in two bytes", "string is not a definite"];
            let lax = lax.iter().any(|what| e.message().contains(what));
            assert!(reference.is_none() || own_only || lax, "ciborium takes it, here: {e}");
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
    // An indefinite length costs two bytes, that of 256 items and more three to nine; a NaN in single
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
    // An attribute may be 64 levels deep, the map of attributes around it is one more.
    let writable = check_writable(value.get());
    assert!(writable.as_ref().err().is_none_or(|e| e.message().contains("deeper than 64")), "{writable:?}");
});
