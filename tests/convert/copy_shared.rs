//! Components that share bytes in the source also share bytes in the copy.

use crate::common;

use common::shards::{file, Tensor, PAGE};
use common::{data, read, Folder};
use ztensor::model::manifest::{Encoding, Version};
use ztensor::reader::{File, OpenOptions};
use ztensor::writer::{Algorithm, Recode, Writer, WriterOptions};

const SIZE: usize = 3 * PAGE;

/// A file with `one` and `tied`, which share bytes, and `other`, which has equal bytes elsewhere.
fn tied(seed: u8) -> Vec<u8> {
    let bytes: Vec<u8> = (0..SIZE).map(|at| (at % 251) as u8 ^ seed).collect();
    let tensor = |name, offset| Tensor { name, shard: None, offset, bytes: &bytes };
    file(&[tensor("one", PAGE), tensor("tied", PAGE), tensor("other", PAGE + SIZE)], &[])
}

fn copied(version: Version, write: impl FnOnce(&mut Writer)) -> File {
    let made = common::open(common::written(&WriterOptions { version, ..WriterOptions::default() }, write));
    common::verify(&made).unwrap();
    made
}

#[test]
fn tied_weights_are_stored_once_by_every_kind_of_copy() {
    let source = common::open(tied(0));
    for version in [Version::V2, Version::V1_2, Version::V0_1] {
        for encoding in [None, Some(Encoding::Raw), Some(Encoding::Zstd)] {
            for digest in [None, Some(None), Some(Some(Algorithm::Sha256))] {
                if version == Version::V0_1 && digest == Some(Some(Algorithm::Sha256)) {
                    continue; // this version does not have it
                }
                let recode = Recode { encoding, digest, ..Recode::default() };
                let made = copied(version, |writer| {
                    for object in source.objects() {
                        writer.copy_as(object, object.name(), &recode).unwrap();
                    }
                    // Components that are written differently do not share bytes.
                    let zstd = Recode { encoding: Some(Encoding::Zstd), digest: Some(None), ..recode };
                    let raw = Recode { encoding: Some(Encoding::Raw), ..zstd };
                    for (name, recode) in [("raw", raw), ("zstd", zstd)] {
                        writer.copy_as(source.find("one").unwrap(), name, &recode).unwrap();
                    }
                });
                let place = |name| data(&made, name).offset();
                let says = format!("{version:?} {encoding:?} {digest:?}");
                assert_eq!(place("one"), place("tied"), "{says}");
                assert_ne!(place("one"), place("other"), "{says}");
                assert_ne!(place("raw"), place("zstd"), "{says}");
                assert_eq!(data(&made, "one").digest(), data(&made, "tied").digest(), "{says}");
                for object in made.objects() {
                    assert_eq!(read(&data(&made, object.name())), read(&data(&source, "one")), "{says}");
                }
            }
        }
    }
}

#[test]
fn the_same_place_of_another_file_is_not_the_same_bytes() {
    let folder = Folder::new();
    let paths = ["a.zt", "b.zt"].map(|name| folder.path(name));
    for recode in [Recode::default(), Recode { encoding: Some(Encoding::Zstd), ..Recode::default() }] {
        let made = copied(Version::V2, |writer| {
            for seed in 1..20 {
                let source = common::open(tied(seed)); // one after the other, possibly in the same memory
                writer.copy_as(source.find("one").unwrap(), &format!("{seed}"), &recode).unwrap();
            }
        });
        for seed in 1..20 {
            assert_eq!(read(&data(&made, &format!("{seed}")))[0], seed);
        }
        // The same position in another part of a model is not the same bytes either.
        std::fs::write(&paths[0], tied(7)).unwrap();
        let bytes = [9; SIZE];
        let other = Tensor { name: "far", shard: None, offset: PAGE, bytes: &bytes };
        std::fs::write(&paths[1], file(&[other], &[])).unwrap();
        let model = File::open_parts(&paths, &OpenOptions::default()).unwrap();
        let made = copied(Version::V2, |writer| {
            model.objects().for_each(|object| writer.copy_as(object, object.name(), &recode).unwrap());
        });
        assert_eq!((read(&data(&made, "tied"))[0], read(&data(&made, "far"))), (7, bytes.to_vec()));
    }
}
