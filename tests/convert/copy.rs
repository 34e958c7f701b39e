//! Copies objects from one file to another. If possible, stored bytes and digests are unchanged. Otherwise
//! the rewritten component has the same values.

use crate::common;

use common::tree::{attributes, Tree};
use common::{Sample, VERSIONS};
use ztensor::container::json;
use ztensor::error::{Cause, Result};
use ztensor::model::dtype::{Dtype, Logical};
use ztensor::model::manifest::{Encoding, Format, LogicalType, Version};
use ztensor::reader::{Component, File, Object};
use ztensor::writer::{Algorithm, ComponentSpec, LogicalSpec, ObjectSpec, Recode, Writer, WriterOptions};

fn options(version: Version) -> WriterOptions {
    // These differ from the sources: a copy keeps its encoding and digest. A component without a digest gets
    // the writer's.
    let digest = Some(Algorithm::Sha256);
    WriterOptions { version, encoding: Encoding::Zstd, digest, alignment: 128, ..WriterOptions::default() }
}

fn stored<'b>(component: &Component<'_>, file: &'b [u8]) -> &'b [u8] {
    &file[component.offset() as usize..][..component.stored_size() as usize]
}

fn is_index(component: &Component<'_>) -> bool {
    let sparse = matches!(component.object().format(), Format::SparseCsr | Format::SparseCoo);
    sparse && ["indices", "indptr", "coords"].contains(&component.role())
}

/// Integers of any width, widened.
fn widened(component: &Component<'_>) -> Vec<i128> {
    macro_rules! read {
        ($integer:ty) => {
            common::read(component)
                .chunks_exact(size_of::<$integer>())
                .map(|b| <$integer>::from_ne_bytes(b.try_into().unwrap()).into())
                .collect()
        };
    }
    match component.dtype().unwrap() {
        Dtype::U64 => read!(u64),
        Dtype::U32 => read!(u32),
        Dtype::U16 => read!(u16),
        Dtype::U8 => read!(u8),
        Dtype::I64 => read!(i64),
        Dtype::I32 => read!(i32),
        Dtype::I16 => read!(i16),
        Dtype::I8 => read!(i8),
        other => panic!("{other:?} is not an integer"),
    }
}

/// Counts special cases in the sources, to check that each was tested.
#[derive(Debug, Default)]
struct Seen {
    kept: usize,
    widened: usize,
    swapped: usize,
    bools: usize,
    undeclared: usize,
}

fn check_copied(from: &Component<'_>, to: &Component<'_>, source: &[u8], copy: &[u8], seen: &mut Seen) {
    let at = format!("{:?} {:?}", from.object().name(), from.role());
    assert_eq!((to.role(), to.encoding_name()), (from.role(), from.encoding_name()), "{at}");
    let logical = |c: &Component<'_>| c.logical_name().map(str::to_owned);
    assert_eq!((logical(to), to.logical()), (logical(from), from.logical()), "{at}");
    assert_eq!(to.offset() % 128, 0, "{at}");
    assert!(!to.entry().is_big_endian(), "{at}");
    let algorithm = |c: &Component<'_>| c.digest().map(|d| d.split(':').next().unwrap().to_owned());
    assert_eq!(algorithm(to), algorithm(from).or(Some("sha256".to_owned())), "{at}");
    let narrow = is_index(from) && from.dtype().is_some_and(|d| d.is_integer() && d != Dtype::U64);
    let odd_bools = from.dtype() == Some(Dtype::Bool)
        && from.object().format() == Format::Dense
        && common::read(from).iter().any(|b| *b > 1);
    if narrow {
        seen.widened += 1;
        assert_eq!((to.dtype(), widened(to)), (Some(Dtype::U64), widened(from)), "{at}");
        return;
    }
    assert_eq!(to.dtype_name(), from.dtype_name(), "{at}");
    if odd_bools {
        seen.bools += 1;
        let truth: Vec<u8> = common::read(from).iter().map(|b| u8::from(*b != 0)).collect();
        assert_eq!(common::read(to), truth, "{at}");
    } else if from.entry().is_big_endian() {
        seen.swapped += 1;
        assert_eq!(common::read(to), common::read(from), "{at}");
        assert_ne!(stored(to, copy), stored(from, source), "{at}");
    } else {
        seen.kept += 1;
        assert_eq!(stored(to, copy), stored(from, source), "{at}");
        assert!(from.digest().is_none() || to.digest() == from.digest(), "{at}");
        to.verify_digest().unwrap();
        assert_eq!(common::read(to), common::read(from), "{at}");
    }
    if from.encoding() == Encoding::Zstd {
        seen.undeclared += usize::from(!from.entry().is_size_declared());
        assert!(to.entry().is_size_declared(), "{at}: 1.2 requires uncompressed_length");
    }
    assert_eq!(to.size().ok(), from.size().ok(), "{at}");
}

fn check_object(from: &Object<'_>, to: &Object<'_>) {
    let json = |o: &Object<'_>| {
        o.attributes().filter(|a| !a.as_map().unwrap().is_empty()).map(|a| json::write(a).unwrap())
    };
    let metadata = |o: &Object<'_>| (o.shape().to_vec(), o.format_name().to_owned(), json(o));
    assert_eq!(metadata(to), metadata(from), "{:?}", from.name());
    assert_eq!(to.components().len(), from.components().len());
}

#[test]
fn every_object_of_every_valid_file_is_copied_into_a_1_2_file() {
    let mut seen = Seen::default();
    let mut objects = 0;
    for path in common::VALID.into_iter().flat_map(common::corpus) {
        let source = std::fs::read(&path).unwrap();
        let from = common::open(source.clone());
        let copied = common::written(&options(Version::V1_2), |w| {
            for (object, at) in from.objects().zip(0..) {
                w.copy(object, &format!("{at} {}", object.name()))
                    .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            }
        });
        let to = common::open(copied.clone());
        assert_eq!((to.version(), to.object_count()), ("1.2.0", from.object_count()));
        for ((old, new), at) in from.objects().zip(to.objects()).zip(0..) {
            assert_eq!(new.name(), format!("{at} {}", old.name()));
            check_object(&old, &new);
            for (c, d) in old.components().zip(new.components()) {
                check_copied(&c, &d, &source, &copied, &mut seen);
            }
            objects += 1;
        }
        let report = common::verify(&to).unwrap_or_else(|e| panic!("the copy of {}: {e}", path.display()));
        assert_eq!(report.padding_nonzero, 0);
    }
    assert!(objects > 4000, "{objects}");
    assert!(
        seen.kept > 4000 && seen.widened >= 5 && seen.swapped >= 11 && seen.undeclared > 10 && seen.bools > 0,
        "{seen:?}"
    );
}

/// Copies all objects that can be copied. Each other object must be rejected with its name in the message.
fn copy_what_can_be(from: &File, version: Version) -> (Vec<u8>, Vec<String>) {
    let mut refused = Vec::new();
    let copied = common::written(&options(version), |w| {
        for object in from.objects() {
            if let Err(e) = w.copy(object, object.name()) {
                assert_eq!(e.cause(), Cause::Unsupported, "{e}");
                assert!(
                    e.message().contains(&format!("{:?}", object.name())),
                    "the message does not name an object: {e}"
                );
                refused.push(object.name().to_owned());
            }
        }
    });
    (copied, refused)
}

#[test]
fn a_copy_rejects_exactly_what_an_older_version_cannot_represent() {
    for source in VERSIONS {
        for encoding in common::encodings() {
            let mut samples: Vec<Sample> =
                common::every_type().into_iter().flat_map(|(d, l)| common::every_format(d, l)).collect();
            samples.retain(|s| s.can_be_said_in(source));
            let written = WriterOptions {
                version: source,
                encoding,
                digest: Some(Algorithm::Crc32c),
                ..WriterOptions::default()
            };
            let bytes = common::file_of(&written, &samples);
            let from = common::open(bytes.clone());
            for version in VERSIONS {
                let (copied, refused) = copy_what_can_be(&from, version);
                let (sayable, unsayable): (Vec<_>, Vec<_>) =
                    samples.iter().partition(|s| s.can_be_said_in(version));
                assert_eq!(
                    refused,
                    unsayable.iter().map(|s| s.name.clone()).collect::<Vec<_>>(),
                    "to {version:?}"
                );
                let to = common::open(copied.clone());
                assert_eq!(to.object_count(), sayable.len());
                for (sample, object) in sayable.iter().zip(to.objects()) {
                    check_object(&from.find(&sample.name).unwrap(), &object);
                    for (part, component) in sample.parts.iter().zip(object.components()) {
                        assert_eq!(common::read(&component), part.bytes);
                        let old = from.find(&sample.name).unwrap().component(part.role).unwrap();
                        assert_eq!(stored(&component, &copied), stored(&old, &bytes), "verbatim");
                        assert_eq!(component.digest(), old.digest());
                    }
                }
                common::verify(&to).unwrap();
                // Rejected objects leave nothing in the file.
                let only = common::written(&options(version), |w| {
                    sayable.iter().for_each(|s| w.copy(from.find(&s.name).unwrap(), &s.name).unwrap());
                });
                assert!(only == copied, "{source:?} to {version:?}: a rejected copy left bytes");
            }
        }
    }
}

#[test]
fn odd_bools_of_0_1_become_true() {
    let plain = |version, bytes: &[u8]| {
        let written = WriterOptions { version, digest: Some(Algorithm::Crc32c), ..WriterOptions::default() };
        let file = common::file_of(
            &written,
            &[Sample::dense("b", Dtype::Bool, &[bytes.len() as u64], bytes.to_vec())],
        );
        common::open(file)
    };
    let copied = |from: &File| {
        common::open(common::written(&options(Version::V1_2), |w| {
            w.copy(from.find("b").unwrap(), "b").unwrap()
        }))
    };
    let old = plain(Version::V0_1, &[0, 1, 2, 255, 0]);
    let new = copied(&old);
    assert_eq!(common::read(&common::data(&new, "b")), [0, 1, 1, 1, 0]);
    assert!(common::data(&new, "b").digest().unwrap().starts_with("crc32c:0x"), "a digest of the same kind");
    common::verify(&new).unwrap();
    let even = plain(Version::V0_1, &[0, 1, 1]);
    assert_eq!(common::data(&copied(&even), "b").digest(), common::data(&even, "b").digest());
}

#[test]
fn a_copy_into_an_append_and_of_ones_own_kind_keeps_types() -> Result<()> {
    let folder = common::Folder::new();
    let path = folder.path("target.zt");
    std::fs::copy(common::repository("tests/data/v1.1/oracle-index-dtypes.zt"), &path).unwrap();
    let source = common::file_of(
        &WriterOptions::default(),
        &common::every_format(Dtype::U8, Some(Logical::F8E4m3fnuz)),
    );
    let from = common::open(source);
    let narrow = common::open(std::fs::read(&path).unwrap());
    let mut writer = Writer::append(&path, &WriterOptions::default())?;
    from.objects().for_each(|o| writer.copy(o, o.name()).unwrap());
    let index = narrow.objects().next().unwrap();
    writer.copy(index, "its own")?;
    assert_eq!(writer.copy(index, index.name()).map_err(|e| e.cause()), Err(Cause::Exists));
    writer.finish()?;
    let file = common::open(std::fs::read(&path).unwrap());
    let dense = file.find("dense of f8_e4m3fnuz").unwrap().component("data").unwrap();
    assert_eq!(dense.logical(), LogicalType::Known(Logical::F8E4m3fnuz));
    let (own, first) = (file.find("its own").unwrap(), file.find(index.name()).unwrap());
    let values = |o: &Object<'_>| {
        o.components().map(|c| if is_index(&c) { widened(&c) } else { vec![] }).collect::<Vec<_>>()
    };
    assert_eq!(values(&own), values(&first));
    common::verify(&file).map(drop)
}

#[test]
fn unknown_types_formats_and_attributes_are_carried_over() {
    let spec =
        ComponentSpec { logical: Some(LogicalSpec::Other("f4")), ..ComponentSpec::new("nibbles", Dtype::U8) };
    let source = common::written(&WriterOptions::default(), |w| {
        let attributes =
            attributes(&[(Tree::text("scale"), Tree::Float(0.1)), (Tree::Unsigned(3), Tree::Null)]);
        w.write_object(
            &ObjectSpec { name: "o", format: "mx4", shape: &[u64::MAX, 9] },
            attributes,
            &[(spec, &[1, 2])],
        )
        .unwrap();
    });
    let from = common::open(source);
    let to = common::open(common::written(&options(Version::V1_2), |w| {
        w.copy(from.find("o").unwrap(), "p").unwrap()
    }));
    let (old, new) = (from.find("o").unwrap(), to.find("p").unwrap());
    check_object(&old, &new);
    assert_eq!(new.component("nibbles").unwrap().logical_name(), Some("f4"));
    for version in [Version::V0_1, Version::V1_1] {
        let (copied, refused) = copy_what_can_be(&from, version);
        assert_eq!((common::open(copied).object_count(), refused), (0, vec![String::from("o")]));
    }
}

#[test]
fn a_copy_may_be_given_another_encoding_and_digest() {
    let samples = common::every_format(Dtype::F32, Some(Logical::Complex64));
    for source in common::encodings() {
        let digest = Some(Algorithm::Crc32c);
        let from = common::open(common::file_of(
            &WriterOptions { encoding: source, digest, ..WriterOptions::default() },
            &samples,
        ));
        for encoding in common::encodings() {
            for digest in common::DIGESTS {
                let recode = Recode { encoding: Some(encoding), digest: Some(digest), ..Recode::default() };
                let copied = common::written(&options(Version::V1_2), |w| {
                    from.objects().for_each(|o| w.copy_as(o, o.name(), &recode).unwrap());
                });
                // The result equals a file that was written with these options.
                let wanted =
                    WriterOptions { encoding, digest, usual_digest: false, ..options(Version::V1_2) };
                assert!(
                    copied == common::file_of(&wanted, &samples),
                    "{source:?} to {encoding:?} with {digest:?}"
                );
            }
        }
        let as_it_is =
            |w: &mut Writer| from.objects().for_each(|o| w.copy_as(o, o.name(), &Recode::default()).unwrap());
        let verbatim = |w: &mut Writer| from.objects().for_each(|o| w.copy(o, o.name()).unwrap());
        assert!(
            common::written(&options(Version::V1_2), as_it_is)
                == common::written(&options(Version::V1_2), verbatim)
        );
    }
}

/// A 0.1 file with one tensor.
fn old_file(dtype: &str, layout: &str) -> Vec<u8> {
    let mut bytes = b"ZTEN0001".to_vec();
    bytes.resize(64, 0);
    bytes.extend_from_slice(&[7; 8]);
    let tensor = json::parse(&format!(
        r#"[{{"name":"a","offset":64,"size":8,"dtype":"{dtype}","shape":[2],"encoding":"raw","layout":"{layout}"}}]"#
    ));
    let start = bytes.len();
    ztensor::container::cbor::encode::value(&mut bytes, tensor.unwrap().get()).unwrap();
    let size = (bytes.len() - start) as u64;
    bytes.extend_from_slice(&size.to_le_bytes());
    bytes
}

#[test]
fn a_name_that_was_unknown_does_not_become_known_by_a_copy() {
    for (dtype, layout) in [("f32", "dense"), ("complex64", "dense"), ("float32", "sparse_coo")] {
        let old = common::open(old_file(dtype, layout));
        let sink = common::MemorySink::default();
        let mut writer = Writer::to_sink(Box::new(sink), &WriterOptions::default()).unwrap();
        let refused = writer.copy(old.find("a").unwrap(), "a").unwrap_err();
        assert_eq!(refused.cause(), Cause::Unsupported, "{dtype} {layout}: {refused}");
        writer.finish().unwrap();
    }
}

#[test]
fn an_unknown_dtype_with_a_known_type_is_not_written_if_one_name_stands_for_both() {
    let mut sample = Sample::dense("a", Dtype::U8, &[4], vec![1, 2, 3, 4]);
    sample.parts[0].logical = Some(Logical::F8E5m2);
    let mut bytes = common::file_of(&WriterOptions::default(), &[sample]);
    let at = bytes.windows(3).rposition(|w| w == b"bu8").expect("the dtype's text");
    bytes[at + 2] = b'9';
    let file = common::open(bytes);
    let object = file.required("a").unwrap();
    for version in [Version::V1_2, Version::V1_1, Version::V0_1] {
        common::written(&WriterOptions { version, ..WriterOptions::default() }, |w| {
            let outcome = w.copy(object, "a").map_err(|e| e.cause());
            assert_eq!(outcome.is_ok(), version == Version::V1_2, "{version:?} {outcome:?}");
        });
    }
}

/// One byte for each nibble. The spec does not have this type, so the rules of a type with that name
/// elsewhere do not apply.
#[test]
fn types_that_the_spec_does_not_know_are_copied() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/v1.2/py-1.2.3-unknown-type.zt");
    let from = common::open(std::fs::read(path).unwrap());
    let anew =
        Recode { encoding: Some(Encoding::Zstd), digest: Some(Some(Algorithm::Crc32c)), ..Recode::default() };
    for recode in [Recode::default(), anew] {
        let copied = common::written(&options(Version::V1_2), |w| {
            for object in from.objects() {
                w.copy_as(object, object.name(), &recode).unwrap();
            }
        });
        let to = common::open(copied);
        for (old, new) in from.objects().zip(to.objects()) {
            let (old, new) = (old.component("data").unwrap(), new.component("data").unwrap());
            assert_eq!(new.logical_name(), old.logical_name());
            assert_eq!(common::read(&new), common::read(&old));
        }
    }
}
