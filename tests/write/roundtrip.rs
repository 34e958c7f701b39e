//! Written files are read back: every element type in every format, with every encoding and digest, in every
//! version, with every way of opening and reading.

use crate::common;

use common::tree::{attributes, Tree};
use common::{encodings, Folder, Sample, DIGESTS, VERSIONS};
use ztensor::container::json;
use ztensor::error::Cause;
use ztensor::model::dtype::{Dtype, Logical};
use ztensor::model::manifest::{Encoding, LogicalType, Version};
use ztensor::model::value::Attributes;
use ztensor::reader::{
    Component, ComponentBytes, File, Mode, Object, OpenOptions, VerifyOptions, VerifyReport,
};
use ztensor::writer::{Algorithm, ComponentSpec, LogicalSpec, ObjectSpec, Writer, WriterOptions};

/// Every version × encoding × digest.
fn all_options() -> Vec<WriterOptions> {
    let mut all = Vec::new();
    for version in VERSIONS {
        for encoding in encodings() {
            for digest in DIGESTS {
                let usual = common::without_digests();
                all.push(WriterOptions { version, encoding, digest, threads: 1, ..usual });
            }
        }
    }
    assert_eq!(all.len(), VERSIONS.len() * encodings().len() * DIGESTS.len());
    all
}

/// Every element type × format.
fn every_sample() -> Vec<Sample> {
    let all: Vec<Sample> =
        common::every_type().into_iter().flat_map(|(d, l)| common::every_format(d, l)).collect();
    assert_eq!(all.len(), 19 * 5);
    all
}

fn sayable(version: Version) -> Vec<Sample> {
    let mut samples = every_sample();
    samples.retain(|s| s.can_be_said_in(version));
    samples
}

fn check_component(part: &common::Part, found: &Component<'_>, options: &WriterOptions, file: &[u8]) {
    let at = format!("{:?} {:?} of {:?} with {options:?}", found.object().name(), part.role, part.dtype);
    assert_eq!(found.dtype(), Some(part.dtype), "{at}");
    assert_eq!(found.dtype_name(), part.dtype.name(), "{at}");
    assert_eq!(found.known_logical(), part.logical, "{at}");
    assert_eq!(found.logical() == LogicalType::Absent, part.logical.is_none(), "{at}");
    assert_eq!(found.encoding(), options.encoding, "{at}");
    assert_eq!(found.offset() % 64, 0, "{at}");
    let declared = options.version == Version::V1_2 && options.encoding != Encoding::Raw;
    assert_eq!(found.entry().is_size_declared(), declared, "{at}");
    let start = found.offset() as usize;
    let stored = &file[start..start + found.stored_size() as usize];
    let digest = options.digest.map(|a| common::digest_text(a, stored));
    assert_eq!(found.digest(), digest.as_deref(), "{at}");
    match options.digest {
        Some(_) => found.verify_digest().unwrap(),
        None => assert_eq!(found.verify_digest().map_err(|e| e.cause()), Err(Cause::Unsupported), "{at}"),
    }
    check_bytes(part, found, &at);
}

/// Checks that every way to read the bytes gives the same bytes.
fn check_bytes(part: &common::Part, found: &Component<'_>, at: &str) {
    assert_eq!(common::read(found), part.bytes, "{at}");
    let loaded = found.load().unwrap();
    assert_eq!(loaded.as_slice(), part.bytes, "{at}");
    assert_eq!(loaded.as_slice().as_ptr().addr() % 64, 0, "{at}");
    let caps = found.caps();
    assert_eq!(found.borrow().is_ok(), caps.map, "{at}");
    assert_eq!(matches!(loaded, ComponentBytes::Borrowed(_)), caps.map, "{at}");
    if let Ok(borrowed) = found.borrow() {
        assert_eq!(borrowed, part.bytes, "{at}");
    }
    let size = part.bytes.len();
    for (start, end) in [(0, 0), (0, 1), (1, size), (size / 3, size / 2), (size - 1, size), (size, size)] {
        let mut range = vec![0xaa; end - start];
        found.read_range(start as u64, &mut range).unwrap();
        assert_eq!(range, part.bytes[start..end], "{at} {start}..{end}");
    }
}

fn check_views(sample: &Sample, object: &Object<'_>) {
    let bytes = |role| sample.parts.iter().find(|p| p.role == role).unwrap().bytes.as_slice();
    match sample.format {
        "dense" => {
            let view = object.tensor_view().unwrap();
            assert_eq!((view.data.bytes(), view.shape), (bytes("data"), &*sample.shape));
        }
        "sparse_csr" => {
            let view = object.csr_view().unwrap();
            assert_eq!((view.rows, view.columns, view.nnz), (4, 6, 5));
            let parts = [("values", view.values), ("indices", view.indices), ("indptr", view.indptr)];
            parts.iter().for_each(|(role, part)| assert_eq!(part.bytes(), bytes(role), "{role}"));
        }
        "sparse_coo" => {
            let view = object.coo_view().unwrap();
            assert_eq!((view.shape, view.nnz), (&*sample.shape, 3));
            assert_eq!((view.values.bytes(), view.coords.bytes()), (bytes("values"), bytes("coords")));
        }
        "quantized_group" => {
            let view = object.quantized_view().unwrap();
            assert_eq!((view.bits, view.group_size), (Some(4), Some(8)));
            assert_eq!(view.packing.unwrap().as_str(), "8_per_i32");
            assert_eq!(view.packed_weight.bytes(), bytes("packed_weight"));
            let both = (view.scales.bytes().to_vec(), view.zeros.unwrap().bytes().to_vec());
            assert_eq!(both, (bytes("scales").to_vec(), bytes("zeros").to_vec()));
        }
        _ => assert_eq!(object.tensor_view().map(drop).map_err(|e| e.cause()), Err(Cause::Unsupported)),
    }
}

fn check_file(file: &File, samples: &[Sample], options: &WriterOptions, bytes: &[u8]) {
    let version = match options.version {
        Version::V0_1 => "0.1.0",
        Version::V1_1 => "1.1.0",
        _ => "1.2.0",
    };
    assert_eq!(file.version(), version);
    assert_eq!(file.size(), bytes.len() as u64);
    assert_eq!(file.object_count(), samples.len());
    for (object, sample) in file.objects().zip(samples) {
        assert_eq!(object.name(), sample.name);
        assert_eq!(object.format_name(), sample.format);
        assert_eq!(object.shape(), sample.shape);
        let attributes = object.attributes().map_or(String::from("{}"), |a| json::write(a).unwrap());
        assert_eq!(attributes, sample.attributes);
        assert_eq!(object.components().len(), sample.parts.len());
        for (component, part) in object.components().zip(&sample.parts) {
            assert_eq!(component.role(), part.role);
            check_component(part, &component, options, bytes);
        }
        check_views(sample, &object);
        assert_eq!(file.find(&sample.name).unwrap().name(), sample.name);
    }
    let report = common::verify(file).unwrap();
    let components: u64 = samples.iter().map(|s| s.parts.len() as u64).sum();
    let (verified, absent) = if options.digest.is_some() { (components, 0) } else { (0, components) };
    assert_eq!((report.objects, report.components), (samples.len() as u64, components));
    assert_eq!(
        (report.digests_verified, report.digests_absent, report.digests_unknown),
        (verified, absent, 0)
    );
    assert_eq!(report.padding_nonzero, 0);
}

#[test]
fn everything_that_a_version_can_represent_is_read_back_in_every_mode() {
    let folder = Folder::new();
    for options in all_options() {
        let samples = sayable(options.version);
        assert_eq!(samples.len(), [13, 85, 95][VERSIONS.iter().position(|v| *v == options.version).unwrap()]);
        let path = folder.path("file.zt");
        let mut writer = Writer::create(&path, &options).unwrap();
        samples.iter().for_each(|s| s.write(&mut writer).unwrap());
        writer.finish().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes, common::file_of(&options, &samples), "a path and a sink get the same bytes");

        let strict = OpenOptions { strict: options.version != Version::V0_1, ..OpenOptions::default() };
        let digests = VerifyOptions { contents: false, ..VerifyOptions::default() };
        let opened = || -> Result<(), Cause> {
            let file = File::open(&path, &strict).map_err(|e| e.cause())?;
            file.verify(&digests, &|_, _| true, &mut VerifyReport::default()).map_err(|e| e.cause())
        };
        let reading = OpenOptions { mode: Mode::Read, ..OpenOptions::default() };
        check_file(&File::open(&path, &reading).unwrap(), &samples, &options, &bytes);
        check_file(&File::open(&path, &OpenOptions::default()).unwrap(), &samples, &options, &bytes);
        check_file(&common::open(bytes.clone()), &samples, &options, &bytes);
        let source = Box::new(common::ReadOnly(bytes.clone()));
        let label = String::from("the test's source");
        check_file(&File::from_source(source, &reading, label).unwrap(), &samples, &options, &bytes);
        // With `strict`, known formats are accepted and the unknown one is rejected.
        let wanted = if options.version == Version::V0_1 { Ok(()) } else { Err(Cause::Unsupported) };
        assert_eq!(opened(), wanted);
        let known: Vec<Sample> =
            sayable(options.version).into_iter().filter(|s| s.format != "block_mx").collect();
        std::fs::write(&path, common::file_of(&options, &known)).unwrap();
        assert_eq!(opened(), Ok(()));
    }
}

#[test]
fn objects_that_a_version_cannot_represent_are_rejected_without_effect() {
    for options in all_options() {
        let version = options.version;
        let asked_for_all = common::written(&options, |writer| {
            for sample in every_sample() {
                match sample.write(writer) {
                    Ok(()) => assert!(sample.can_be_said_in(version), "{} in {version:?}", sample.name),
                    Err(e) => {
                        assert!(!sample.can_be_said_in(version), "{} in {version:?}: {e}", sample.name);
                        assert_eq!(e.cause(), Cause::Unsupported, "{e}");
                        assert!(
                            e.message().contains(&sample.name),
                            "the message does not name an object: {e}"
                        );
                    }
                }
            }
        });
        assert!(asked_for_all == common::file_of(&options, &sayable(version)), "{version:?} differs");
    }
}

#[test]
fn a_streamed_component_of_a_type_that_the_version_lacks_is_refused_and_another_can_follow() {
    let options = WriterOptions { version: Version::V1_1, ..WriterOptions::default() };
    let bytes = common::written(&options, |writer| {
        let object = ObjectSpec { name: "w", format: "dense", shape: &[4] };
        let plain = ComponentSpec::new("data", Dtype::U8);
        writer.begin(&object, Attributes::default()).unwrap();
        for logical in [LogicalSpec::Known(Logical::F8E4m3fnuz), LogicalSpec::Other("f4_e2m1")] {
            let refused = writer.component(&ComponentSpec { logical: Some(logical), ..plain });
            assert_eq!(refused.map_err(|e| e.cause()), Err(Cause::Unsupported));
        }
        writer.component(&plain).unwrap();
        writer.data(&[1, 2, 3, 4]).unwrap();
        writer.end().unwrap();
    });
    assert!(bytes == common::file_of(&options, &[Sample::dense("w", Dtype::U8, &[4], vec![1, 2, 3, 4])]));
}

#[test]
fn streaming_in_odd_pieces_gives_the_bytes_of_one_call() {
    for options in all_options() {
        let samples = sayable(options.version);
        let whole = common::file_of(&options, &samples);
        for most in [1, 7, 64] {
            let streamed =
                common::written(&options, |w| samples.iter().for_each(|s| s.stream(w, most).unwrap()));
            assert!(streamed == whole, "pieces of up to {most} bytes differ with {options:?}");
        }
    }
}

#[test]
fn scalars_and_shapes_without_elements_come_back_with_all_options() {
    let shapes: [&[u64]; 7] =
        [&[], &[0], &[1], &[0, 3], &[3, 0, 5], &[1 << 40, 0, 1 << 40], &[1, 1, 1, 1, 1, 1]];
    for options in all_options() {
        for (dtype, logical) in common::every_type() {
            let samples: Vec<Sample> = (shapes.iter().enumerate())
                .map(|(at, shape)| {
                    let count =
                        if shape.contains(&0) { 0 } else { logical.map_or(1, Logical::ratio) as usize };
                    let bytes = common::elements(dtype, count);
                    let part = common::Part { role: "data", dtype, logical, bytes };
                    let name = format!("shape {at}");
                    Sample {
                        name,
                        format: "dense",
                        shape: shape.to_vec(),
                        attributes: "{}",
                        parts: vec![part],
                    }
                })
                .filter(|s| s.can_be_said_in(options.version))
                .collect();
            let bytes = common::file_of(&options, &samples);
            let file = common::open(bytes);
            assert_eq!(file.object_count(), samples.len());
            for (object, sample) in file.objects().zip(&samples) {
                assert_eq!(object.shape(), sample.shape);
                assert_eq!(object.element_count(), Some(sample.shape.iter().product()));
                assert_eq!(object.tensor_view().unwrap().data.bytes(), sample.parts[0].bytes);
                assert_eq!(common::read(&object.component("data").unwrap()), sample.parts[0].bytes);
            }
            common::verify(&file).unwrap();
        }
    }
}

#[test]
fn sparse_objects_without_entries_rows_or_columns_come_back() {
    for encoding in encodings() {
        let options = WriterOptions { encoding, digest: Some(Algorithm::Sha256), ..WriterOptions::default() };
        let bytes = common::written(&options, |w| {
            w.write_csr("empty", Dtype::F32, None, &[3, 4], &[], &[], &[0, 0, 0, 0]).unwrap();
            w.write_csr("no rows", Dtype::F32, None, &[0, 4], &[], &[], &[0]).unwrap();
            w.write_csr("wide", Dtype::U8, None, &[1, u64::MAX], &[7], &[u64::MAX - 1], &[0, 1]).unwrap();
            w.write_coo("none", Dtype::F64, None, &[3, 0], 0, &[], &[]).unwrap();
            w.write_coo("scalar", Dtype::U8, None, &[], 1, &[9], &[]).unwrap();
            let huge = [u64::MAX, u64::MAX];
            w.write_coo("huge", Dtype::Bool, None, &huge, 1, &[1], &[5, u64::MAX - 1]).unwrap();
        });
        let file = common::open(bytes);
        let csr = |name| file.find(name).unwrap().csr_view().unwrap();
        assert_eq!((csr("empty").nnz, csr("empty").rows), (0, 3));
        assert_eq!((csr("no rows").rows, csr("no rows").columns), (0, 4));
        assert_eq!(csr("wide").indices.bytes(), common::numbers(&[u64::MAX - 1]));
        let coo = |name| file.find(name).unwrap().coo_view().unwrap();
        assert_eq!((coo("none").nnz, coo("scalar").nnz), (0, 1));
        assert_eq!(coo("huge").coords.bytes(), common::numbers(&[5, u64::MAX - 1]));
        assert_eq!(file.find("huge").unwrap().element_count(), None);
        common::verify(&file).unwrap();
    }
}

#[test]
fn a_component_may_have_its_own_encoding_digest_and_unknown_type() {
    let options = WriterOptions {
        encoding: Encoding::Zstd,
        digest: Some(Algorithm::Crc32c),
        ..WriterOptions::default()
    };
    let plain = ComponentSpec::new("plain", Dtype::U8);
    let raw = ComponentSpec { role: "raw", encoding: Some(Encoding::Raw), digest: Some(None), ..plain };
    let sha = ComponentSpec { role: "sha", digest: Some(Some(Algorithm::Sha256)), ..plain };
    let odd = ComponentSpec { role: "odd", logical: Some(LogicalSpec::Other("u2_packed")), ..plain };
    let bytes = common::written(&options, |w| {
        let object = ObjectSpec { name: "o", format: "anything", shape: &[2] };
        let parts: Vec<_> = [plain, raw, sha, odd].into_iter().map(|spec| (spec, &b"abc"[..])).collect();
        w.write_object(&object, attributes(&[(Tree::text("k"), Tree::Null)]), &parts).unwrap();
    });
    let file = common::open(bytes);
    let object = file.find("o").unwrap();
    let found = |role| object.component(role).unwrap();
    assert_eq!(found("plain").encoding(), Encoding::Zstd);
    assert!(found("plain").digest().unwrap().starts_with("crc32c:0x"));
    assert_eq!((found("raw").encoding(), found("raw").digest()), (Encoding::Raw, None));
    assert!(found("sha").digest().unwrap().starts_with("sha256:"));
    assert_eq!(
        (found("odd").logical(), found("odd").logical_name()),
        (LogicalType::Other, Some("u2_packed"))
    );
    object.components().for_each(|c| assert_eq!(common::read(&c), b"abc", "{}", c.role()));
    common::verify(&file).unwrap();
}
