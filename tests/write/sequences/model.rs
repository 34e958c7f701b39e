//! The expected contents of a file, tracked beside the writer.

use crate::validator::{contents, Object, Part, Valid};
use ztensor::model::dtype::Dtype;
use ztensor::reader::Component;

/// The accepted objects, in order, and the file's attributes.
#[derive(Clone, Debug, Default)]
pub struct Model {
    pub attributes: Vec<(String, i64)>,
    pub objects: Vec<Object>,
    /// A strict reader must accept the file.
    pub strict: bool,
    /// A component was copied that verification cannot check.
    pub unsupported: bool,
    /// An object was copied that the second reader does not know, or that comes from a file it rejects.
    pub damaged: bool,
    /// Values that the library reads from invalid sources.
    pub loads: Vec<(String, Vec<Load>)>,
}

/// The result of reading a component: its bytes, or nothing.
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

    /// Whether the values may be equal: indices may be wider, and bools may become 1.
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

    /// Checks that the file has exactly these objects.
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

/// Whether the values agree. An index may be wider, and a bool that is not 0 may become 1.
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
        assert!(found.bytes == due.bytes, "{at}: wrong values");
    }
}

/// An attribute map in the second reader's form.
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
