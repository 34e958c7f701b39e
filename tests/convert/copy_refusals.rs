//! A copy rejects objects before it writes a byte. Copied objects are as valid in the finished file as in the
//! source.

use crate::common;

use common::tree::{attributes, Tree};
use common::{Folder, Part, Sample};
use ztensor::error::{Cause, Rule};
use ztensor::model::dtype::{Dtype, Logical};
use ztensor::model::manifest::{Encoding, Version};
use ztensor::model::value::Attributes;
use ztensor::reader::{File, OpenOptions, VerifyOptions, VerifyReport};
use ztensor::writer::{Algorithm, ComponentSpec, Recode, Writer, WriterOptions};

fn options(version: Version) -> WriterOptions {
    WriterOptions { version, ..WriterOptions::default() }
}

fn sample_file(path: &str) -> File {
    common::open(std::fs::read(common::repository("tests/data").join(path)).unwrap())
}

/// Opens in strict mode and verifies everything.
fn verify(bytes: Vec<u8>) -> File {
    let strict = OpenOptions { strict: true, ..OpenOptions::default() };
    let file = File::open_memory(common::Aligned::of(&bytes), &strict).unwrap();
    let all = VerifyOptions { padding: true, threads: 1, ..VerifyOptions::default() };
    file.verify(&all, &|_, _| true, &mut VerifyReport::default()).unwrap();
    file
}

/// A csr object with indices of that dtype.
fn csr(dtype: Dtype) -> Sample {
    let mut sample = common::every_format(Dtype::F32, None).remove(1);
    for part in &mut sample.parts[1..] {
        let wide = part.bytes.chunks(8).map(|n| n[0]);
        part.bytes = wide
            .flat_map(|n| {
                let mut bytes = vec![n];
                bytes.resize(dtype.size(), 0);
                bytes
            })
            .collect();
        part.dtype = dtype;
    }
    sample
}

#[test]
fn narrow_indices_in_an_append_become_u64_for_every_final_version() {
    let narrow = sample_file("valid-odd/csr-1.1-u8-indices.zt");
    let object = narrow.objects().next().unwrap();
    let folder = Folder::new();
    let path = folder.path("target.zt");
    for base in [Version::V1_1, Version::V1_2] {
        for raised in [false, true] {
            let first = Sample::dense("first", Dtype::U8, &[3], vec![1, 2, 3]);
            std::fs::write(&path, common::file_of(&options(base), &[first])).unwrap();
            let mut writer = Writer::append(&path, &WriterOptions::default()).unwrap();
            writer.copy(object, "copied").unwrap();
            if raised {
                let mut f8 = Sample::dense("f8", Dtype::U8, &[1], vec![9]);
                f8.parts[0].logical = Some(Logical::F8E5m2);
                f8.write(&mut writer).unwrap();
            }
            writer.finish().unwrap();
            let file = verify(std::fs::read(&path).unwrap());
            let expected = if raised || base == Version::V1_2 { "1.2.0" } else { "1.1.0" };
            assert_eq!(file.version(), expected);
            assert_eq!(file.find("copied").unwrap().csr_view().unwrap().nnz, object.csr_view().unwrap().nnz);
        }
    }
}

#[test]
fn a_file_whose_types_are_dtypes_stays_1_1() {
    let folder = Folder::new();
    let path = folder.path("target.zt");
    let mut complex = Sample::dense("c", Dtype::F32, &[1], vec![0; 8]);
    complex.parts[0].logical = Some(Logical::Complex64);
    std::fs::write(&path, common::file_of(&options(Version::V1_1), &[complex])).unwrap();
    let zstd = WriterOptions { encoding: Encoding::Zstd, ..WriterOptions::default() };
    let mut writer = Writer::append(&path, &zstd).unwrap();
    Sample::dense("z", Dtype::U8, &[3], vec![1, 2, 3]).write(&mut writer).unwrap();
    writer.finish().unwrap();
    let file = verify(std::fs::read(&path).unwrap());
    assert_eq!(file.version(), "1.1.0", "1.2 has no dtype complex64");
}

#[test]
fn an_index_that_the_version_does_not_allow_is_refused_when_it_is_given() {
    let folder = Folder::new();
    let path = folder.path("target.zt");
    for version in [Version::V1_1, Version::V1_2] {
        let first = Sample::dense("first", Dtype::U8, &[3], vec![1, 2, 3]);
        std::fs::write(&path, common::file_of(&options(version), &[first])).unwrap();
        let append = Writer::append(&path, &WriterOptions::default()).unwrap();
        let create = Writer::create(folder.path("new.zt"), &options(version)).unwrap();
        for (mut writer, appends) in [(append, true), (create, false)] {
            for dtype in [Dtype::U8, Dtype::I32, Dtype::F32, Dtype::U64] {
                let allowed =
                    dtype == Dtype::U64 || version == Version::V1_1 && !appends && dtype.is_integer();
                let mut sample = csr(dtype);
                sample.name = format!("{dtype:?}");
                let mut outcomes = vec![sample.write(&mut writer)];
                sample.name.push('2');
                if allowed {
                    outcomes.push(sample.stream(&mut writer, 3));
                }
                for outcome in outcomes {
                    let cause = outcome.err().map(|e| e.cause());
                    let due = (!allowed).then_some(Cause::InvalidArgument);
                    assert_eq!(cause, due, "{dtype:?} {version:?} {appends}");
                }
                sample.name.push('3');
                if !allowed {
                    writer.begin(&sample.spec(), Attributes::default()).unwrap();
                    writer.component_whole(&sample.parts[0].spec(), &sample.parts[0].bytes).unwrap();
                    let refused = writer.component(&sample.parts[1].spec()).unwrap_err();
                    assert_eq!(refused.cause(), Cause::InvalidArgument, "{refused}");
                    for (role, numbers) in [("indices", &[0, 5, 2, 1, 3][..]), ("indptr", &[0, 2, 2, 3, 5])] {
                        let spec = ComponentSpec::new(role, Dtype::U64);
                        writer.component_whole(&spec, &common::numbers(numbers)).unwrap();
                    }
                    writer.end().unwrap();
                }
            }
            writer.finish().unwrap();
        }
        verify(std::fs::read(&path).unwrap());
        verify(std::fs::read(folder.path("new.zt")).unwrap());
    }
}

#[test]
fn half_a_complex_number_is_refused() {
    let part = |bytes: usize| Part {
        role: "values",
        dtype: Dtype::F32,
        logical: Some(Logical::Complex64),
        bytes: vec![0; bytes],
    };
    let sample = |bytes| Sample {
        parts: vec![part(bytes)],
        format: "pairs",
        ..Sample::dense("p", Dtype::U8, &[1], vec![])
    };
    let bytes = common::written(&WriterOptions::default(), |w| {
        assert_eq!(sample(12).write(w).unwrap_err().cause(), Cause::BufferSize);
        w.begin(&sample(0).spec(), Attributes::default()).unwrap();
        let announced = ComponentSpec { size: Some(4), ..part(0).spec() };
        assert_eq!(w.component(&announced).unwrap_err().cause(), Cause::BufferSize);
        w.component(&part(0).spec()).unwrap();
        w.data(&[0; 12]).unwrap();
        assert_eq!(w.end().unwrap_err().cause(), Cause::BufferSize);
        w.data(&[0; 4]).unwrap();
        w.end().unwrap();
    });
    common::verify(&common::open(bytes)).unwrap();
}

#[test]
fn an_object_that_cannot_be_copied_does_not_change_the_writer() {
    for (path, rule) in [
        ("copy/damaged-component.zt", None),
        ("copy/unsupported-component.zt", None),
        ("copy/negative-index.zt", Some(Rule::CsrIndptrOrder)),
        ("copy/undeclared-frames-1.zt", None),
        ("copy/undeclared-frames-2.zt", None),
        ("copy/undeclared-frames-3.zt", None),
    ] {
        let from = sample_file(path);
        let anew = Recode { encoding: None, digest: Some(Some(Algorithm::Sha256)), ..Recode::default() };
        for version in common::VERSIONS {
            let mut refused = 0;
            let with = |recode: Option<Recode>, refused: &mut usize| {
                common::written(&options(version), |w| {
                    for object in from.objects() {
                        let copied = match recode {
                            Some(recode) => w.copy_as(object, object.name(), &recode),
                            None => w.copy(object, object.name()),
                        };
                        if let Err(e) = copied {
                            assert!(
                                matches!(e.cause(), Cause::Broken(_) | Cause::Unsupported | Cause::Limit),
                                "{e}"
                            );
                            assert!(
                                rule.is_none()
                                    || version == Version::V1_1
                                    || version == Version::V0_1
                                    || e.rule() == rule,
                                "{path}: {e}"
                            );
                            *refused += 1;
                        }
                    }
                    Sample::dense("last", Dtype::U8, &[3], vec![1, 2, 3]).write(w).unwrap();
                })
            };
            for recode in [None, Some(anew)] {
                let to = common::open(with(recode, &mut refused));
                assert_eq!(common::read(&common::data(&to, "last")), [1, 2, 3]);
                // Copied objects have the same numbers as in the source, or the same error.
                for (old, new) in from.objects().filter_map(|o| Some((o, to.find(o.name())?))) {
                    for (old, new) in old.components().filter_map(|c| Some((c, new.component(c.role())?))) {
                        let all = |c: &ztensor::reader::Component<'_>| {
                            let mut bytes = vec![0; usize::try_from(c.size().ok()?).ok()?];
                            c.read(&mut bytes).ok().map(|()| bytes)
                        };
                        if new.dtype() == old.dtype() && old.size().is_ok_and(|size| size < 1 << 20) {
                            assert!(all(&old) == all(&new), "{path} {:?} {version:?}", old.object().name());
                        }
                    }
                }
            }
            assert!(refused > 0, "{path} {version:?}");
        }
    }
}

#[test]
fn a_negative_index_is_named_and_never_becomes_another_number() {
    let from = sample_file("copy/negative-index.zt");
    common::written(&WriterOptions::default(), |w| {
        let error = w.copy(from.objects().next().unwrap(), "n").unwrap_err();
        assert_eq!(error.rule(), Some(Rule::CsrIndptrOrder));
        assert!(error.message().contains("\"indptr\"") && error.message().contains("element 0"), "{error}");
    });
}

#[test]
fn a_digest_that_does_not_agree_is_not_replaced_by_one_that_does() {
    let digest = WriterOptions { digest: Some(Algorithm::Crc32c), ..WriterOptions::default() };
    let mut bytes = common::file_of(&digest, &[Sample::dense("d", Dtype::U8, &[3], vec![1, 2, 3])]);
    bytes[64] ^= 1;
    let from = common::open(bytes);
    let object = from.required("d").unwrap();
    common::written(&WriterOptions::default(), |w| {
        let recode = Recode { encoding: Some(Encoding::Zstd), ..Recode::default() };
        assert_eq!(w.copy_as(object, "d", &recode).unwrap_err().cause(), Cause::DigestMismatch);
        assert_eq!(w.copy(object, "unchanged").unwrap_err().cause(), Cause::DigestMismatch);
    });
    let allow = WriterOptions { allow_damaged: true, ..WriterOptions::default() };
    let copied = common::written(&allow, |w| w.copy(object, "unchanged").unwrap());
    let copied = common::open(copied);
    let kept = copied.required("unchanged").unwrap().component("data").unwrap();
    assert_eq!(kept.digest(), object.component("data").unwrap().digest());
    assert_eq!(kept.verify_digest().unwrap_err().cause(), Cause::DigestMismatch);
}

#[test]
fn a_type_equal_to_its_dtype_is_left_out_before_1_2() {
    let from = sample_file("copy/type-equals-dtype-1.2.zt");
    for version in common::VERSIONS {
        let to = verify(common::written(&options(version), |w| {
            from.objects().for_each(|o| w.copy(o, o.name()).unwrap());
        }));
        let (old, new) = (from.objects().next().unwrap(), to.objects().next().unwrap());
        let (old, new) = (old.component("data").unwrap(), new.component("data").unwrap());
        assert_eq!((new.dtype(), common::read(&new)), (old.dtype(), common::read(&old)));
        assert_eq!(new.logical_name(), if version == Version::V1_2 { Some("f32") } else { None });
    }
}

#[test]
fn a_strict_reader_checks_bools_in_every_read() {
    let bytes = std::fs::read(common::repository("tests/data/copy/odd-bool.zt")).unwrap();
    let strict = OpenOptions { strict: true, ..OpenOptions::default() };
    let file = File::open_memory(common::Aligned::of(&bytes), &strict).unwrap();
    let object = file.objects().next().unwrap();
    let data = object.component("data").unwrap();
    let mut place = [0; 64];
    let slab = ztensor::reader::Hyperslab { start: &[2], count: &[1], step: None };
    for (route, outcome) in [
        ("borrow", data.borrow().map(drop)),
        ("read", data.read(&mut place)),
        ("read_range", data.read_range(2, &mut place[..1])),
        ("read_as", object.read_as(Dtype::F32, &mut place).map(drop)),
        ("load", data.load().map(drop)),
        ("chunks", data.for_each_decoded(&mut |_| Ok(()))),
        ("slice", object.read_slice(&slab, &mut place)),
        ("view", object.tensor_view().map(drop)),
    ] {
        assert_eq!(common::rule(outcome), Some(Rule::BoolByte), "{route}");
    }
    data.read_range(0, &mut place[..2]).unwrap();
}

#[test]
fn an_append_keeps_attributes_with_keys_that_are_not_text() {
    let folder = Folder::new();
    let path = folder.path("target.zt");
    let pairs = |numbers: &[u64]| {
        let pairs: Vec<_> = numbers.iter().map(|n| (Tree::Unsigned(*n), Tree::Unsigned(n * n))).collect();
        attributes(&pairs)
    };
    let base = common::written(&WriterOptions::default(), |w| w.set_attributes(pairs(&[1, 2])).unwrap());
    std::fs::write(&path, base).unwrap();
    let mut writer = Writer::append(&path, &WriterOptions::default()).unwrap();
    writer.set_attributes(pairs(&[2, 3])).unwrap();
    writer.finish().unwrap();
    let file = verify(std::fs::read(&path).unwrap());
    let keys: Vec<_> = file.attributes().unwrap().pairs().map(|(k, _)| k.as_u64()).collect();
    assert_eq!(keys, [Some(1), Some(2), Some(3)]);
}

#[cfg(unix)]
#[test]
fn a_dangling_link_stays_and_leads_to_the_new_file() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("there")).unwrap();
    let link = folder.path("link.zt");
    std::os::unix::fs::symlink("second.zt", &link).unwrap();
    std::os::unix::fs::symlink("there/file.zt", folder.path("second.zt")).unwrap();
    let mut writer = Writer::create(&link, &WriterOptions::default()).unwrap();
    Sample::dense("d", Dtype::U8, &[3], vec![1, 2, 3]).write(&mut writer).unwrap();
    writer.finish().unwrap();
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(folder.names(), ["link.zt", "second.zt", "there"]);
    verify(std::fs::read(folder.path("there/file.zt")).unwrap());
}
