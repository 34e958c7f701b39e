//! What a file should hold, kept beside the writer.

use crate::validator::{contents, Object, Part, Valid};
use ztensor::model::dtype::Dtype;
use ztensor::reader::Component;

/// The objects that were accepted, in order, and the file's attributes.
#[derive(Clone, Debug, Default)]
pub struct Model {
    pub attributes: Vec<(String, i64)>,
    pub objects: Vec<Object>,
    /// A strict reader would take it all.
    pub strict: bool,
    /// Something that a verification cannot check was copied.
    pub unsupported: bool,
    /// Something that the second reader does not know, or of another file than it finds valid, was copied.
    pub damaged: bool,
    /// What the library reads of objects from sources that are not valid.
    pub loads: Vec<(String, Vec<Load>)>,
}

/// What a component reads as: its bytes, or nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    pub role: String,
    dtype: String,
    bytes: Option<Vec<u8>>,
}

impl Load {
    pub fn of(component: &Component<'_>) -> Load {
        let bytes = component.load().ok().map(|loaded| loaded.as_slice().to_vec());
        Load { role: component.role().into(), dtype: component.dtype_name().into(), bytes }
    }

    /// Whether the same values may be meant: wider indices, bools that are 1 where they were another number.
    pub fn is_other_encoding(&self, other: &Load) -> bool {
        let length = |load: &Load| load.bytes.as_ref().map(|b| b.len() / width(&load.dtype));
        let respelled = self.dtype != other.dtype || self.dtype == "bool";
        respelled && self.role == other.role && length(self) == length(other)
    }
}

fn width(dtype: &str) -> usize {
    Dtype::from_name(dtype).map_or(1, Dtype::size)
}

impl Model {
    pub fn has(&self, name: &str) -> bool {
        self.objects.iter().any(|o| o.name == name)
    }

    /// That the file has this and no more.
    pub fn compare(&self, valid: &Valid) {
        let names = |objects: &[Object]| objects.iter().map(|o| o.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&valid.objects), names(&self.objects));
        for (found, due) in valid.objects.iter().zip(&self.objects) {
            let at = &due.name;
            assert_eq!((&found.shape, &found.format), (&due.shape, &due.format), "{at:?}");
            assert_eq!(contents::text(&found.attributes), contents::text(&due.attributes), "{at:?}");
            assert_eq!(found.parts.len(), due.parts.len(), "{at:?}");
            for (found, due) in found.parts.iter().zip(&due.parts) {
                compare_part(found, due, at);
            }
        }
        for (key, due) in &self.attributes {
            let found =
                valid.attributes.iter().find(|(k, _)| k.as_text() == Some(key)).map(|(_, v)| v.as_integer());
            assert_eq!(found, Some(Some((*due).into())), "{key:?}");
        }
    }
}

/// Whether the values agree; an index may be wider, a bool that is not 0 may be 1.
fn compare_part(found: &Part, due: &Part, at: &str) {
    let at = format!("{at:?} {:?}", due.role);
    assert_eq!((&found.role, &found.logical), (&due.role, &due.logical), "{at}");
    if found.dtype != due.dtype {
        assert_eq!(found.dtype, "u64", "{at}");
        assert_eq!(contents::integers(found), contents::integers(due), "{at}");
    } else if found.dtype == "bool" {
        let truth = |part: &Part| part.bytes.iter().map(|b| *b != 0).collect::<Vec<_>>();
        assert_eq!(truth(found), truth(due), "{at}");
    } else {
        assert!(found.bytes == due.bytes, "{at}: other values");
    }
}

/// An attribute map as the second reader has it.
pub fn pairs(pairs: &ztensor::model::value::Attributes) -> Vec<(ciborium::Value, ciborium::Value)> {
    let mut encoded = Vec::new();
    for (key, value) in pairs.iter() {
        ztensor::container::cbor::encode::value(&mut encoded, key).unwrap();
        ztensor::container::cbor::encode::value(&mut encoded, value).unwrap();
    }
    let mut rest = encoded.as_slice();
    let mut next = || ciborium::from_reader(&mut rest).unwrap();
    pairs.iter().map(|_| (next(), next())).collect()
}
