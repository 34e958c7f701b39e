//! An edit keeps the encoding of everything that is not edited, in every file of the corpus and in a manifest
//! of another writer.

use crate::common;
use crate::validator;

use common::content::{append, contents, raw};
use common::Folder;
use std::path::PathBuf;
use ztensor::container::json;
use ztensor::model::value::{OwnedValue, ValueKind};
use ztensor::writer::Writer;

fn bytes_of(path: &PathBuf) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

fn number(value: u64) -> OwnedValue {
    OwnedValue::scalar(ValueKind::Unsigned(value)).unwrap()
}

/// Edits one object of every file of the corpus, undoes the edit, and removes the object.
#[test]
fn objects_that_are_not_edited_keep_their_encoding() {
    let folder = Folder::new();
    let path = folder.path("file.zt");
    let (mut edited, mut refused) = (0, 0);
    for source in common::VALID.into_iter().flat_map(common::corpus) {
        std::fs::copy(&source, &path).unwrap();
        let before = bytes_of(&path);
        let old = common::open(before.clone());
        let at = source.display();
        if old.capabilities().appends_as.is_none() {
            let error = Writer::append(&path, &raw()).map(drop).unwrap_err();
            assert!(error.to_string().contains("edited; convert it to .zt"), "{at}: {error}");
            refused += 1;
            continue;
        }
        let Some(last) = old.object_count().checked_sub(1) else { continue };
        let name = old.object(last).unwrap().name().to_owned();
        append(&path, &raw(), |w| {
            w.rename_object(&name, "edited for the test").unwrap();
            w.set_attribute_of("edited for the test", "set for the test", number(7).get()).unwrap();
        });
        // Undoes the edit: the encoding is the same again.
        append(&path, &raw(), |w| {
            w.remove_attribute_of("edited for the test", "set for the test").unwrap();
            w.rename_object("edited for the test", &name).unwrap();
        });
        let after = bytes_of(&path);
        let new = common::open(after.clone());
        let known = |contents: Vec<String>| contents.join("\n").replace("Some(\"{}\")", "None");
        assert_eq!(known(contents(&new)), known(contents(&old)), "{at}");
        assert_eq!(new.version(), old.version(), "{at}");
        assert_eq!(
            new.attributes().map(|v| json::write(v).unwrap()),
            old.attributes().map(|v| json::write(v).unwrap()),
            "{at}"
        );
        // The entries before it, with their unknown fields.
        if old.object_count() > 1 {
            let (old, new) = (common::manifest_bytes(&before), common::manifest_bytes(&after));
            let front = |manifest: &[u8]| {
                let value: ciborium::Value = ciborium::from_reader(manifest).unwrap();
                let objects =
                    value.into_map().unwrap().into_iter().find(|(k, _)| k.as_text() == Some("objects"));
                let objects = objects.unwrap().1.into_map().unwrap();
                format!("{:?}", &objects[..objects.len() - 1]) // a NaN is not equal to itself
            };
            assert_eq!(front(old), front(new), "{at}");
        }
        // After the removal, the second reader still accepts the file.
        append(&path, &raw(), |w| w.remove_object(&name).unwrap());
        assert_eq!(common::open(bytes_of(&path)).object_count(), last, "{at}");
        if validator::validate(&before).is_ok() {
            validator::validate(&bytes_of(&path)).unwrap_or_else(|e| panic!("{at}: {e}"));
        }
        edited += 1;
    }
    assert!(edited >= 70 && refused >= 28, "{edited} edited, {refused} refused");
}

/// A manifest of another writer: indefinite lengths, long heads, texts in chunks, tags, and keys that are not
/// text.
#[test]
fn the_encoding_of_another_writer_is_kept() {
    let folder = Folder::new();
    let path = folder.path("file.zt");
    let text = |t: &str| [&[0x60 | t.len() as u8][..], t.as_bytes()].concat();
    let definition = |attributes: &[u8], unknown: &[u8]| {
        let component = [
            &[0xa3][..],
            &text("dtype"),
            &text("u8"),
            &text("offset"),
            &[0x18, 64],
            &text("length"),
            &[0x1a, 0, 0, 0, 1],
        ];
        let pairs = [
            &text("components")[..],
            &[0xbf],
            &text("data"),
            &component.concat(),
            &[0xff],
            &text("attributes"),
            attributes,
            &text("x"),
            unknown,
            &text("format"),
            &text("dense"),
            &text("shape"),
            &[0x9f, 0x18, 1, 0xff],
        ];
        [&[0xbf][..], &pairs.concat(), &[0xff]].concat()
    };
    // {_ (_ "k", "ey"): 24(h'00'), 7: 1.5 as a double, "gone": null}
    let odd = b"\xbf\x7f\x61k\x62ey\xff\xd8\x18\x41\x00\x07\xfb\x3f\xf8\0\0\0\0\0\0\x64gone\xf6\xff";
    let unknown = b"\xd8\x20\x82\x5f\x41\x01\xff\xf7";
    let other = definition(b"\xf6", unknown);
    let manifest = [
        &[0xbf][..],
        &text("objects"),
        &[0xbf],
        &[0x78, 1, b'a'], // a name with a longer head than necessary
        &definition(odd, unknown),
        &text("other"),
        &other,
        &[0xff],
        &text("version"),
        &text("1.2.0"),
        &[0xff],
    ]
    .concat();
    let mut bytes = b"ZTEN1000".to_vec();
    bytes.resize(64, 0);
    bytes.push(9);
    bytes.extend_from_slice(&manifest);
    bytes.extend_from_slice(&(manifest.len() as u64).to_le_bytes());
    bytes.extend_from_slice(b"ZTEN1000");
    std::fs::write(&path, &bytes).unwrap();
    let has = |part: &[u8]| bytes_of(&path).windows(part.len()).any(|w| w == part);

    append(&path, &raw(), |w| {
        w.set_attribute_of("a", "gone", number(1).get()).unwrap();
        w.set_attribute_of("a", "more", number(2).get()).unwrap();
    });
    assert!(has(&[&[0xa4], &odd[1..odd.len() - 2], b"\x01\x64more\x02"].concat()), "the other attributes");
    assert!(has(&[&text("x")[..], unknown].concat()), "an unknown field of the edited object");
    assert!(has(&[&text("other")[..], &other].concat()), "the other object");
    assert!(has(&[0x78, 1, b'a']), "a name that does not change");
    append(&path, &raw(), |w| {
        w.rename_object("other", "named").unwrap();
        w.remove_attribute_of("a", "key").unwrap(); // in the file, the key is in chunks
    });
    assert!(has(&[&text("named")[..], &other].concat()), "a renamed object, except its name");
    append(&path, &raw(), |w| w.set_attribute_of("named", "k", number(1).get()).unwrap());
    let file = common::open(bytes_of(&path));
    let attributes = file.required("named").unwrap().attributes().unwrap();
    assert_eq!(json::write(attributes).unwrap(), r#"{"k":1}"#, "null was replaced");
    assert_eq!(file.objects().map(|o| o.name()).collect::<Vec<_>>(), ["a", "named"]);
    validator::validate(&bytes_of(&path)).unwrap();
    append(&path, &raw(), |w| w.remove_object("a").unwrap());
    append(&path, &raw(), |w| w.remove_object("named").unwrap());
    assert_eq!(common::open(bytes_of(&path)).object_count(), 0);
}
