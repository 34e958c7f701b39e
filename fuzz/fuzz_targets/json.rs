//! JSON: what is parsed comes back when it is written, and serde_json takes it too.
#![no_main]

use ztensor::model::value::check_writable;
use ztensor::container::json;
use ztensor_fuzz::values::{same, value};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let parsed = match std::str::from_utf8(input).map(json::parse) {
        Ok(Ok(parsed)) => {
            serde_json::from_slice::<serde_json::Value>(input).expect("serde_json takes it too");
            parsed
        }
        // Bytes that are no text are a value instead.
        Err(_) => match value(&mut arbitrary::Unstructured::new(input), 5) {
            Ok(made) => made.owned(),
            Err(_) => return,
        },
        Ok(Err(_)) => return,
    };
    let text = json::write(parsed.get()).unwrap();
    let again = json::parse(&text).unwrap_or_else(|e| panic!("{text}: {e}"));
    assert!(same(parsed.get(), again.get()), "{parsed:?} {again:?}");
    assert_eq!(text, json::write(again.get()).unwrap());
    serde_json::from_str::<serde_json::Value>(&text).expect("what is written is JSON");
    check_writable(parsed.get()).unwrap();
});
