//! Objects of a manifest, read as a writer encodes them.

use super::*;
use crate::container::frame::Container;
use crate::container::ztensor_1::encode::encode_object;
use crate::memory::Budget;
use crate::model::manifest::Position;
use crate::model::value::Value;

/// Two objects that differ in names, numbers and digests.
fn two_objects(roles: &[&str], digest: bool, encoding: Encoding, attributes: bool) -> Vec<u8> {
    let mut manifest = Manifest::default();
    let mut bytes = Vec::new();
    for number in 0..2u32 {
        let name = manifest.texts.add(&format!("layer.{number}")).unwrap();
        let shape_start = manifest.dimensions.len() as u32;
        manifest.dimensions.extend([3 + u64::from(number), 400]);
        let component_start = manifest.components.len() as u32;
        for (at, role) in roles.iter().enumerate() {
            let mut component = Component::new(manifest.intern_role(role).unwrap(), Some(Dtype::F32));
            component.offset = 64 << (at + 9 * number as usize);
            component.stored_size = 7 + at as u64;
            component.encoding = encoding;
            component.set_size(Some(1 << (5 * number)));
            let digest = digest.then(|| manifest.texts.add(&format!("crc32c:{number:08x}")).unwrap());
            component.rare = manifest.add_rare_names(RareNames { digest, ..RareNames::default() }).unwrap();
            manifest.components.push(component).unwrap();
        }
        let bits = (Value::text("bits").unwrap(), Value::Unsigned(4));
        manifest.values.push(Value::Map(vec![bits]));
        let object = Object {
            name,
            format: Format::Dense,
            shape_start,
            rank: 2,
            component_start,
            component_count: roles.len() as u32,
            attributes: attributes.then(|| Position::after(number as usize).unwrap()),
        };
        encode_object(&manifest, &object, &super::super::CAPABILITIES_1_2, &mut bytes).unwrap();
    }
    bytes
}

/// Speed depends on it, and no other test shows it: what is read field by field means the same.
#[test]
fn the_second_of_two_objects_matches_the_template_of_the_first() {
    for roles in [&["data"][..], &["data", "scales"], &["data", "scales", "zeros"]] {
        for digest in [false, true] {
            for encoding in [Encoding::Raw, Encoding::Zstd] {
                for attributes in [false, true] {
                    let bytes = two_objects(roles, digest, encoding, attributes);
                    let manifest = 64..64 + bytes.len() as u64;
                    let frame = Frame { container: Container::V1, file_size: manifest.end + 16, manifest };
                    let budget = Budget::new(u64::MAX);
                    let mut d = Decoder::new(&frame, &bytes, &budget);
                    let name = d.name().unwrap();
                    object(&mut d, &name, &DIALECT).unwrap();
                    d.name().unwrap();
                    // Dimensions, and of each component offset, length, decoded size, digest: more are not noted.
                    let of_each = 2 + usize::from(encoding == Encoding::Zstd) + usize::from(digest);
                    let fits = 2 + roles.len() * of_each <= 14;
                    let matched = d.templates.read(&mut d.cursor).is_some();
                    assert_eq!(matched, fits, "{roles:?} {digest} {encoding:?} {attributes}");
                    assert_eq!(matched, d.cursor.remaining() == 0);
                }
            }
        }
    }
}

#[test]
fn attributes_of_the_same_bytes_are_interned() {
    let map = |bits: u8| [&b"\xa1\x64bits"[..], &[bits]].concat();
    let bytes = [map(4), map(8), map(4), map(4), map(8)].concat();
    let frame = Frame { container: Container::V1, manifest: 64..64 + bytes.len() as u64, file_size: 1000 };
    let budget = Budget::new(u64::MAX);
    let mut d = Decoder::new(&frame, &bytes, &budget);
    let kept: Vec<usize> = (0..5).map(|_| d.object_attributes().unwrap().unwrap().index()).collect();
    assert_eq!((kept, d.manifest.values.len()), (vec![0, 1, 0, 0, 1], 2));
}
