//! A file gives the same status when it is mapped, in memory or read: for the file, for each component, for a
//! batch and for views.

use crate::common;

use common::Folder;
use std::fmt::Write;
use ztensor::error::Result;
use ztensor::model::dtype::Dtype;
use ztensor::model::manifest::{Encoding, Version};
use ztensor::reader::{
    BatchOptions, BatchStats, File, Mode, OpenOptions, Selection, VerifyOptions, VerifyReport,
};
use ztensor::writer::WriterOptions;

/// The errors of all calls on a file.
fn statuses(file: Result<File>) -> String {
    let file = match file {
        Ok(file) => file,
        Err(e) => return format!("open {:?}", e.cause()),
    };
    let mut found = String::new();
    let mut say = |what: &str, outcome: Result<()>| {
        writeln!(found, "{what} {:?}", outcome.map_err(|e| (e.cause(), e.rule()))).unwrap();
    };
    let report = &mut VerifyReport::default();
    let options = VerifyOptions { threads: 1, ..VerifyOptions::default() };
    let verified = file.verify(&options, &|_, _| true, report);
    say(&format!("verify {report:?}"), verified);
    for object in file.objects() {
        for component in object.components() {
            say("load", component.load().map(drop));
            say("digest", component.verify_digest());
        }
        say("tensor", object.tensor_view().map(drop));
        say("csr", object.csr_view().map(drop));
        say("coo", object.coo_view().map(drop));
        say("quantized", object.quantized_view().map(drop));
    }
    let all: Vec<_> = file.objects().flat_map(|object| object.components().collect::<Vec<_>>()).collect();
    for threads in [1, 2] {
        let mut space: Vec<Vec<u8>> =
            all.iter().map(|c| vec![0; c.size().unwrap_or(0).min(1 << 20) as usize]).collect();
        let requests: Result<Vec<_>> =
            all.iter().zip(&mut space).map(|(c, space)| c.request(&Selection::Whole, space, 0)).collect();
        let options = BatchOptions { threads, ..BatchOptions::default() };
        let stats = &mut BatchStats::default();
        let outcome = requests.and_then(|mut requests| {
            File::read_batch(&mut requests, &options, &|_, _| {}, &|_, _| true, stats)
        });
        say("batch", outcome);
    }
    found
}

/// A file with several components without stored bytes, at the same position.
fn nothing_stored() -> Vec<u8> {
    let mut bytes = b"ZTEN1000".to_vec();
    bytes.resize(64, 0);
    let start = bytes.len();
    let object = r#"{"shape":[16],"format":"dense","components":{"data":{"dtype":"u8","offset":64,"length":0,
        "encoding":"zstd","uncompressed_length":16}}}"#;
    let objects: Vec<_> = (0..5).map(|at| format!("\"z{at}\":{object}")).collect();
    let manifest = format!(r#"{{"version":"1.2.0","objects":{{{}}}}}"#, objects.join(","));
    let manifest = ztensor::container::json::parse(&manifest).unwrap();
    ztensor::container::cbor::encode::value(&mut bytes, manifest.get()).unwrap();
    let length = (bytes.len() - start) as u64;
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(b"ZTEN1000");
    bytes
}

/// Files of every version with changed bytes, and files of the corpus that break a rule.
fn edge_files() -> Vec<(String, Vec<u8>)> {
    let mut files = vec![("nothing stored".to_owned(), nothing_stored())];
    for path in common::corpus("invalid").into_iter().chain(common::corpus("valid-odd")) {
        let bytes = std::fs::read(&path).unwrap();
        if bytes.len() < 64 << 10 {
            files.push((path.display().to_string(), bytes));
        }
    }
    let mut random = common::Random(5);
    for version in [Version::V0_1, Version::V1_1, Version::V1_2, Version::V2] {
        for encoding in [Encoding::Raw, Encoding::Zstd] {
            let options = WriterOptions { version, encoding, threads: 1, ..WriterOptions::default() };
            let samples = common::every_format(Dtype::Bool, None).into_iter();
            let samples: Vec<_> = samples.filter(|sample| sample.can_be_said_in(version)).collect();
            let bytes = common::file_of(&options, &samples);
            for at in 0..60 {
                let mut bytes = bytes.clone();
                let place = random.below(bytes.len() as u64) as usize;
                bytes[place] ^= 1 << random.below(8);
                files.push((format!("{version:?} {encoding:?} {at}"), bytes));
            }
        }
    }
    files
}

#[test]
fn one_file_has_one_status_in_every_mode() {
    let folder = Folder::new();
    let path = folder.path("x.zt");
    let files = edge_files();
    assert!(files.len() > 700, "{}", files.len());
    for (name, bytes) in files {
        std::fs::write(&path, &bytes).unwrap();
        let open = |mode| File::open(&path, &OpenOptions { mode, ..OpenOptions::default() });
        let mapped = statuses(open(Mode::Map));
        assert!(!mapped.contains("Internal"), "{name}: {mapped}");
        assert_eq!(mapped, statuses(open(Mode::Read)), "{name}: read");
        let in_memory = File::open_memory(common::Aligned::of(&bytes), &OpenOptions::default());
        assert_eq!(mapped, statuses(in_memory), "{name}: in memory");
    }
}
