//! Rejected calls and failures. A rejected call changes nothing. A writer that failed or was dropped leaves
//! no file.

use crate::common;

use common::tree::{attributes, Tree};
use common::{small_frames, tensors, MemorySink, Sample};
use std::path::Path;
use ztensor::error::{Cause, Error, Result, Rule};
use ztensor::model::dtype::{Dtype, Logical};
use ztensor::model::manifest::Version;
use ztensor::model::value::{Attributes, Value};
use ztensor::reader::{File, OpenOptions};
use ztensor::sink::ByteSink;
use ztensor::writer::{ComponentSpec, LogicalSpec, ObjectSpec, Summary, Writer, WriterOptions};

fn cause<T>(result: Result<T>) -> Option<Cause> {
    result.err().map(|e| e.cause())
}

/// A call that must be rejected, and the expected error.
type Refused = (&'static str, Cause, Box<dyn Fn(&mut Writer) -> Result<()>>);

fn refused_between_objects() -> Vec<Refused> {
    let f32 = Dtype::F32;
    let dense = |name: &'static str, shape: &'static [u64], size: usize| {
        move |w: &mut Writer| Sample::dense(name, Dtype::F32, shape, vec![0; size]).write(w)
    };
    let object = |format: &'static str, roles: &'static [&'static str]| {
        move |w: &mut Writer| {
            let parts: Vec<_> =
                roles.iter().map(|r| (ComponentSpec::new(r, Dtype::F32), &[0u8; 8][..])).collect();
            w.write_object(&ObjectSpec { name: "bad", format, shape: &[2] }, Attributes::default(), &parts)
        }
    };
    vec![
        ("a name that is taken", Cause::Exists, Box::new(dense("first", &[2], 8))),
        ("too few bytes", Cause::BufferSize, Box::new(dense("bad", &[3], 8))),
        ("too many bytes", Cause::BufferSize, Box::new(dense("bad", &[1], 8))),
        ("a shape of 2^64 elements", Cause::InvalidArgument, Box::new(dense("bad", &[1 << 32, 1 << 32], 8))),
        (
            "a name of 64 KiB and one",
            Cause::Limit,
            Box::new(|w| Sample::dense(&"n".repeat((64 << 10) + 1), Dtype::U8, &[1], vec![0]).write(w)),
        ),
        ("no data", Cause::InvalidArgument, Box::new(object("dense", &["values"]))),
        ("no components", Cause::InvalidArgument, Box::new(object("dense", &[]))),
        ("a role twice", Cause::Exists, Box::new(object("odd", &["a", "b", "a"]))),
        (
            "csr that is not a matrix",
            Cause::InvalidArgument,
            Box::new(object("sparse_csr", &["values", "indices", "indptr"])),
        ),
        (
            "an attribute twice",
            Cause::Exists,
            Box::new(|w| {
                let pair = || (Tree::text("k"), Tree::Null);
                let spec = ObjectSpec { name: "bad", format: "odd", shape: &[] };
                w.write_object(&spec, attributes(&[pair(), pair()]), &[])
            }),
        ),
        (
            "a type on another dtype",
            Cause::InvalidArgument,
            Box::new(|w| {
                let logical = Some(LogicalSpec::Known(Logical::Complex64));
                let spec = ComponentSpec { logical, ..ComponentSpec::new("data", Dtype::F64) };
                w.write_object(
                    &ObjectSpec { name: "bad", format: "dense", shape: &[1] },
                    Attributes::default(),
                    &[(spec, &[0; 16])],
                )
            }),
        ),
        (
            "half an element",
            Cause::BufferSize,
            Box::new(|w| {
                let parts: [(ComponentSpec<'_>, &[u8]); 1] = [(ComponentSpec::new("p", Dtype::F32), &[0; 7])];
                w.write_object(
                    &ObjectSpec { name: "bad", format: "odd", shape: &[] },
                    Attributes::default(),
                    &parts,
                )
            }),
        ),
        ("data without an object", Cause::State, Box::new(|w| w.data(&[1]))),
        (
            "a component without an object",
            Cause::State,
            Box::new(|w| w.component(&ComponentSpec::new("data", Dtype::U8))),
        ),
        ("an end without an object", Cause::State, Box::new(|w| w.end())),
        (
            "an attribute without an object",
            Cause::State,
            Box::new(|w| w.set_object_attribute("k", Value::NULL)),
        ),
        (
            "too few values",
            Cause::BufferSize,
            Box::new(move |w| w.write_csr("bad", f32, None, &[1, 4], &[0; 4], &[0, 1], &[0, 2])),
        ),
        (
            "a column too far",
            Cause::Broken(Rule::CsrColumn),
            Box::new(move |w| w.write_csr("bad", f32, None, &[1, 4], &[0; 4], &[4], &[0, 1])),
        ),
        (
            "row pointers that fall",
            Cause::Broken(Rule::CsrIndptrOrder),
            Box::new(move |w| w.write_csr("bad", f32, None, &[3, 4], &[0; 8], &[0, 1], &[0, 2, 1, 2])),
        ),
        (
            "a coordinate too far",
            Cause::Broken(Rule::CooCoordinate),
            Box::new(move |w| w.write_coo("bad", f32, None, &[2, 2], 1, &[0; 4], &[0, 2])),
        ),
    ]
}

#[test]
fn a_rejected_call_does_not_change_the_writer() {
    let (first, last) = (
        || Sample::dense("first", Dtype::F32, &[2], vec![1; 8]),
        || Sample::dense("last", Dtype::U8, &[3], vec![2; 3]),
    );
    for version in [Version::V1_1, Version::V1_2] {
        let options = WriterOptions { version, ..WriterOptions::default() };
        let plain = common::file_of(&options, &[first(), last()]);
        let tried = common::written(&options, |w| {
            first().write(w).unwrap();
            for (what, wanted, call) in refused_between_objects() {
                let error = call(w).expect_err(what);
                assert_eq!(error.cause(), wanted, "{what}: {error}");
                assert!(!error.message().is_empty());
            }
            last().write(w).unwrap();
        });
        assert!(tried == plain, "{version:?}");
    }
}

#[test]
fn a_refused_call_within_an_object_leaves_its_open_component_open() {
    let options = WriterOptions::default();
    let streamed = common::written(&options, |w| {
        let spec = |role| ComponentSpec::new(role, Dtype::U16);
        w.begin(&ObjectSpec { name: "o", format: "odd", shape: &[] }, Attributes::default()).unwrap();
        w.component(&spec("a")).unwrap();
        w.data(&[1, 2]).unwrap();
        let taken = ObjectSpec { name: "p", format: "odd", shape: &[] };
        assert_eq!(cause(w.begin(&taken, Attributes::default())), Some(Cause::State));
        assert_eq!(cause(w.finish()), Some(Cause::State));
        assert_eq!(cause(w.component(&spec("a"))), Some(Cause::Exists));
        w.data(&[3, 4]).expect("the open component is no longer open");
        w.end().unwrap();
    });
    let parts: [(ComponentSpec<'_>, &[u8]); 1] = [(ComponentSpec::new("a", Dtype::U16), &[1, 2, 3, 4])];
    let whole = common::written(&options, |w| {
        w.write_object(&ObjectSpec { name: "o", format: "odd", shape: &[] }, Attributes::default(), &parts)
            .unwrap();
    });
    assert!(streamed == whole);
}

#[test]
fn a_stream_has_to_give_as_many_bytes_as_were_announced() {
    let mut writer = Writer::to_sink(Box::new(MemorySink::default()), &WriterOptions::default()).unwrap();
    writer.begin(&ObjectSpec { name: "w", format: "dense", shape: &[4] }, Attributes::default()).unwrap();
    let spec = ComponentSpec::new("data", Dtype::U8);
    assert_eq!(cause(writer.component(&ComponentSpec { size: Some(5), ..spec })), Some(Cause::BufferSize));
    writer.component(&spec).unwrap();
    writer.data(&[1, 2]).unwrap();
    assert_eq!(cause(writer.end()), Some(Cause::BufferSize), "two bytes are missing");
    assert_eq!(cause(writer.data(&[3, 4, 5])), Some(Cause::BufferSize), "one byte too many");
    writer.data(&[3, 4]).unwrap();
    writer.end().unwrap();
    let wanted =
        Summary { objects: 1, components: 1, stored_bytes: 4, data_bytes: 4, file_size: 0, damaged: 0 };
    let summary = writer.finish().unwrap();
    assert_eq!(Summary { file_size: 0, ..summary }, wanted);
    assert_eq!(cause(writer.finish()), Some(Cause::State), "the writer is finished");
    assert_eq!(cause(writer.set_attribute("k", Value::NULL)), Some(Cause::State));
}

/// Accepts this many bytes, then fails. `publish` fails if none are left.
struct Failing(usize);

impl ByteSink for Failing {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let left = self.0.checked_sub(bytes.len());
        self.0 = left.ok_or_else(|| Error::new(Cause::Io, format_args!("no space is left")))?;
        Ok(())
    }

    fn publish(&mut self) -> Result<()> {
        self.write(&[0])
    }
}

/// Accepts everything, but cannot be truncated.
struct Stuck;

impl ByteSink for Stuck {
    fn write(&mut self, _bytes: &[u8]) -> Result<()> {
        Ok(())
    }

    fn publish(&mut self) -> Result<()> {
        Ok(())
    }

    fn roll_back(&mut self) -> Result<()> {
        Err(Error::new(Cause::Io, format_args!("the file could not be cut back")))
    }
}

#[test]
fn abort_reports_a_failed_rollback() {
    let mut writer = Writer::to_sink(Box::new(Stuck), &WriterOptions::default()).unwrap();
    writer.begin(&ObjectSpec { name: "x", format: "other", shape: &[] }, Attributes::default()).unwrap();
    let open = writer.finish().unwrap_err();
    assert_eq!(open.cause(), Cause::State);
    let error = writer.abort(open);
    assert_eq!(error.cause(), Cause::State);
    for part in ["object \"x\" is still open", "the file could not be cut back"] {
        assert!(error.message().contains(part), "{error}");
    }
    assert_eq!(cause(writer.end()), Some(Cause::State), "the writer has ended");
    let again = writer.abort(Error::new(Cause::State, format_args!("once more")));
    assert_eq!(again.message(), "once more");
}

#[test]
fn a_sink_that_fails_at_any_byte_fails_the_writer_for_good() {
    for encoding in common::encodings() {
        let options = WriterOptions { encoding, ..small_frames() };
        let samples: Vec<Sample> = tensors().into_iter().take(4).collect();
        let size = common::file_of(&options, &samples).len();
        let run = |capacity: usize| -> Result<Summary> {
            let mut writer = Writer::to_sink(Box::new(Failing(capacity)), &options)?;
            for sample in &samples {
                if let Err(error) = sample.stream(&mut writer, 100) {
                    assert_eq!(
                        cause(sample.write(&mut writer)),
                        Some(Cause::State),
                        "the writer continues after {error}"
                    );
                    assert_eq!(cause(writer.finish()), Some(Cause::State));
                    return Err(error);
                }
            }
            writer.finish()
        };
        for capacity in (0..=size).step_by(if size > 3000 { 13 } else { 1 }).chain([size - 1, size]) {
            let error = run(capacity).expect_err("wrote more bytes than the sink can hold");
            assert_eq!(error.cause(), Cause::Io, "room for {capacity} of {size}: {error}");
        }
        assert_eq!(run(size + 1).unwrap().file_size, size as u64);
    }
}

#[test]
fn a_writer_that_fails_or_is_dropped_leaves_the_destination_and_no_temporary_file() {
    let folder = common::Folder::new();
    let path = folder.path("kept.zt");
    let old =
        common::file_of(&WriterOptions::default(), &[Sample::dense("old", Dtype::U8, &[2], vec![1, 2])]);
    let start = |path: &Path| {
        let mut writer = Writer::create(path, &small_frames()).unwrap();
        tensors().iter().for_each(|t| t.write(&mut writer).unwrap());
        writer
    };
    drop(start(&path));
    assert!(folder.names().is_empty(), "{:?}", folder.names());
    std::fs::write(&path, &old).unwrap();
    drop(start(&path));
    assert_eq!((folder.names(), std::fs::read(&path).unwrap() == old), (vec![String::from("kept.zt")], true));

    // A file with the folder's name appears before the end, so finish fails.
    let below = folder.path("below");
    std::fs::create_dir(&below).unwrap();
    let mut writer = start(&below.join("new.zt"));
    std::fs::remove_dir_all(&below).unwrap();
    assert_eq!(cause(writer.finish()), Some(Cause::NoFile));
    assert_eq!(cause(writer.finish()), Some(Cause::State));
    assert_eq!(folder.names(), ["kept.zt"]);

    // A folder with the destination's name appears before the end, so the file cannot be renamed to it.
    let taken = folder.path("taken.zt");
    let mut writer = start(&taken);
    std::fs::create_dir(&taken).unwrap();
    assert_eq!(cause(writer.finish()), Some(Cause::Io));
    assert_eq!(folder.names(), ["kept.zt", "taken.zt"], "the unpublished file is still there");
    std::fs::remove_dir(&taken).unwrap();

    let durable = WriterOptions { durable: true, ..WriterOptions::default() };
    Writer::create(&path, &durable).unwrap().finish().unwrap();
    assert_eq!(File::open(&path, &OpenOptions::default()).unwrap().object_count(), 0);
    assert_eq!(folder.names(), ["kept.zt"]);
    assert_eq!(cause(Writer::create(folder.path("no/such/folder.zt"), &durable)), Some(Cause::NoFile));
    assert_eq!(cause(Writer::create(&folder.0, &durable)), Some(Cause::Io));
}

#[cfg(unix)]
#[test]
fn a_file_that_is_replaced_keeps_its_permissions_and_a_link_stays_a_link() {
    use std::os::unix::fs::{symlink, PermissionsExt};
    let folder = common::Folder::new();
    let (path, link) = (folder.path("file.zt"), folder.path("link.zt"));
    std::fs::write(&path, "old").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    symlink("file.zt", &link).unwrap();
    Writer::create(&link, &WriterOptions::default()).unwrap().finish().unwrap();
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(File::open(&path, &OpenOptions::default()).unwrap().object_count(), 0);
    assert_eq!(folder.names(), ["file.zt", "link.zt"]);
}
