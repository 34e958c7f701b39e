//! JSON: parsed values are written back the same, and serde_json accepts the text, too. An index of shards
//! cannot name a file outside its folder.
#![no_main]

use std::path::{Component, Path};
use ztensor::container::{json, Limits, ShardIndex};
use ztensor::memory::Budget;
use ztensor::model::value::check_writable;
use ztensor_fuzz::values::{same, value};

fn check_index(input: &[u8]) {
    let Ok(index) = ShardIndex::decode(input, &Limits::default(), &Budget::new(1 << 24)) else { return };
    assert!(index.file_count() > 0);
    for file in 0..index.file_count() {
        let stays = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        assert!(Path::new(index.file(file)).components().all(stays), "{}", index.file(file));
        assert!(file == 0 || index.file(file - 1) < index.file(file));
        assert!(index.tensors(file).count() > 0);
    }
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    check_index(input);
    let parsed = match std::str::from_utf8(input).map(json::parse) {
        Ok(Ok(parsed)) => {
            serde_json::from_slice::<serde_json::Value>(input).expect("serde_json rejects it");
            parsed
        }
        // Bytes that are not text become a value instead.
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
    serde_json::from_str::<serde_json::Value>(&text).expect("the written text is not JSON");
    check_writable(parsed.get()).unwrap();
});
