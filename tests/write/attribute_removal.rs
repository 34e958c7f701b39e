//! Removes attributes: of a new file, of the open object, and of a file in an append.

use ztensor::error::Cause;
use ztensor::model::value::{OwnedValue, Value, ValueKind};
use ztensor::reader::{File, OpenOptions};
use ztensor::writer::{Writer, WriterOptions};

fn keys(path: &std::path::Path) -> Vec<String> {
    let file = File::open(path, &OpenOptions::default()).unwrap();
    let attributes = file.attributes().unwrap_or(Value::EMPTY_MAP);
    attributes.pairs().filter_map(|(key, _)| key.as_text().map(str::to_owned)).collect()
}

#[test]
fn an_append_removes_attributes_and_sets_them_again() {
    let truth = OwnedValue::scalar(ValueKind::Bool(true)).unwrap();
    let path = std::env::temp_dir().join(format!("zt-{}-attribute-removal.zt", std::process::id()));
    let mut writer = Writer::create(&path, &WriterOptions::default()).unwrap();
    for key in ["a", "b", "c", "d"] {
        writer.set_attribute(key, truth.get()).unwrap();
    }
    writer.remove_attribute("d").unwrap();
    assert_eq!(writer.remove_attribute("d").unwrap_err().cause(), Cause::NotFound);
    assert_eq!(writer.remove_object_attribute("a").unwrap_err().cause(), Cause::State);
    writer.finish().unwrap();
    assert_eq!(keys(&path), ["a", "b", "c"]);

    let mut writer = Writer::append(&path, &WriterOptions::default()).unwrap();
    writer.remove_attribute("a").unwrap();
    assert_eq!(writer.remove_attribute("a").unwrap_err().cause(), Cause::NotFound);
    writer.set_attribute("b", Value::NULL).unwrap();
    writer.remove_attribute("b").unwrap(); // the new one and the old one
    writer.set_attribute("a", truth.get()).unwrap(); // a new attribute with that key
    writer.finish().unwrap();
    assert_eq!(keys(&path), ["c", "a"]);

    let mut writer = Writer::append(&path, &WriterOptions::default()).unwrap();
    writer.remove_attribute("a").unwrap();
    writer.remove_attribute("c").unwrap();
    writer.finish().unwrap();
    assert!(keys(&path).is_empty());
    std::fs::remove_file(&path).unwrap();
}
