//! Verification reports the error, its object, and what it did not check.

use crate::common;

use common::content::new_object;
use common::Sample;
use std::sync::Mutex;
use ztensor::error::{Cause, Result, Rule};
use ztensor::model::dtype::Dtype;
use ztensor::model::manifest::Encoding;
use ztensor::reader::{File, OnFailure, OpenOptions, VerifyOptions, VerifyReport};
use ztensor::writer::{Algorithm, WriterOptions};

fn run(file: &File, options: &VerifyOptions) -> (Result<()>, VerifyReport) {
    let mut report = VerifyReport::default();
    let outcome = file.verify(options, &|_, _| true, &mut report);
    (outcome, report)
}

fn everything(threads: usize) -> VerifyOptions {
    VerifyOptions { threads, ..VerifyOptions::default() }
}

fn digested() -> WriterOptions {
    WriterOptions { digest: Some(Algorithm::Sha256), ..WriterOptions::default() }
}

/// A file with `count` objects. A byte of each object in `damaged` is changed.
fn damaged(options: &WriterOptions, count: usize, which: &[usize]) -> Vec<u8> {
    let samples: Vec<Sample> = (0..count).map(|at| new_object(&format!("object {at}"))).collect();
    let mut bytes = common::file_of(options, &samples);
    let file = common::open(bytes.clone());
    for at in which {
        let component = common::data(&file, &format!("object {at}"));
        bytes[(component.offset() + component.stored_size() / 2) as usize] ^= 4;
    }
    bytes
}

#[test]
fn a_byte_that_does_not_fit_its_digest_is_found_by_every_verification() {
    for algorithm in [Algorithm::Crc32c, Algorithm::Sha256] {
        let options = WriterOptions { digest: Some(algorithm), ..WriterOptions::default() };
        let bytes = damaged(&options, 3, &[1]);
        let file = common::open(bytes.clone());
        let component = common::data(&file, "object 1");
        assert_eq!(component.verify_digest().map_err(|e| e.cause()), Err(Cause::DigestMismatch));
        common::data(&file, "object 2").verify_digest().unwrap();
        let (outcome, report) = run(&file, &everything(1));
        let error = outcome.unwrap_err();
        assert_eq!(error.cause(), Cause::DigestMismatch);
        let start = component.offset() as usize;
        let computed = common::digest_text(algorithm, &bytes[start..][..component.stored_size() as usize]);
        for word in ["object 1", "data", component.digest().unwrap(), &computed] {
            assert!(error.message().contains(word), "{word:?} is not in {error}");
        }
        assert_eq!((report.objects, report.digests_verified), (1, 1), "the objects before it were checked");
        let without = VerifyOptions { digests: false, ..everything(1) };
        let (outcome, report) = run(&file, &without);
        assert_eq!((outcome.is_ok(), report.digests_verified, report.objects), (true, 0, 3));
    }
}

#[test]
fn damage_without_a_digest_is_found_where_the_bytes_show_it() {
    let zstd = WriterOptions { encoding: Encoding::Zstd, ..common::without_digests() };
    let mut bytes = common::file_of(&zstd, &[new_object("z")]);
    let at = common::data(&common::open(bytes.clone()), "z").offset() as usize;
    bytes[at..at + 4].fill(0x28); // not zstd's magic
    let file = common::open(bytes);
    assert_eq!(common::rule(run(&file, &everything(1)).0), Some(Rule::ZstdCorrupt));
    let without = VerifyOptions { contents: false, ..everything(1) };
    run(&file, &without).0.unwrap();

    let bools = Sample::dense("b", Dtype::Bool, &[3], vec![1, 0, 1]);
    let mut bytes = common::file_of(&common::without_digests(), &[bools]);
    let at = common::data(&common::open(bytes.clone()), "b").offset() as usize;
    bytes[at + 2] = 2;
    let file = common::open(bytes);
    let error = run(&file, &everything(1)).0.unwrap_err();
    assert_eq!(error.rule(), Some(Rule::BoolByte));
    assert!(error.message().contains("byte 2 is 2"), "{error}");
}

#[test]
fn digests_of_unknown_algorithms_are_counted_but_not_as_verified() {
    // It has the length of the old one, so that the manifest keeps its size.
    for (text, unknown) in [("blake3", true), ("sha257", true), ("sha2=6", false)] {
        let mut bytes = common::file_of(&digested(), &[new_object("a")]);
        let at = bytes.windows(7).position(|w| w == b"sha256:").unwrap();
        bytes[at..at + 6].copy_from_slice(text.as_bytes());
        let (outcome, report) = run(&common::open(bytes), &everything(1));
        if unknown {
            assert_eq!(outcome.unwrap_err().cause(), Cause::Unsupported);
            assert_eq!((report.digests_unknown, report.digests_verified, report.digests_absent), (1, 0, 0));
            assert_eq!((report.not_checked, report.components, report.objects), (1, 0, 0));
        } else {
            assert_eq!(common::rule(outcome), Some(Rule::DigestForm), "{text}");
        }
    }
    let file = common::open(common::file_of(&common::without_digests(), &[new_object("a")]));
    let (outcome, report) = run(&file, &everything(1));
    outcome.unwrap();
    assert_eq!(report.bytes_not_covered, report.bytes);
    assert_eq!((report.digests_unknown, report.digests_verified, report.digests_absent), (0, 0, 1));
}

#[test]
fn the_first_failure_in_file_order_is_reported_with_any_number_of_threads() {
    let file = common::open(damaged(&digested(), 40, &[17, 18, 31, 39]));
    for threads in [0, 1, 2, 3, 16] {
        for _ in 0..10 {
            let error = run(&file, &everything(threads)).0.unwrap_err();
            assert!(error.message().contains("\"object 17\""), "{threads} threads: {error}");
        }
    }
}

#[test]
fn progress_goes_forwards_to_the_total_and_can_stop_the_work() {
    let samples: Vec<Sample> = (0..20).map(|at| new_object(&format!("{at}"))).collect();
    let file = common::open(common::file_of(&digested(), &samples));
    for threads in [1, 4] {
        let progress_reports = Mutex::new(Vec::new());
        let mut report = VerifyReport::default();
        let note = |done, total| {
            progress_reports.lock().unwrap().push((done, total));
            true
        };
        file.verify(&everything(threads), &note, &mut report).unwrap();
        let progress_reports = progress_reports.into_inner().unwrap();
        assert_eq!(progress_reports.len(), 20);
        assert!(
            progress_reports.is_sorted() && progress_reports.iter().all(|(_, total)| *total == 20_000),
            "{progress_reports:?}"
        );
        assert_eq!(progress_reports.last(), Some(&(20_000, 20_000)));
        assert_eq!((report.objects, report.components, report.bytes), (20, 20, 20_000));
        let stopped = file.verify(&everything(threads), &|done, _| done < 5000, &mut report);
        assert_eq!(stopped.map_err(|e| e.cause()), Err(Cause::Cancelled));
        assert!(report.objects < 20, "{report:?}");
    }
}

#[test]
fn a_large_component_reports_progress_and_can_be_verified_separately() {
    const SIZE: u64 = 5 << 20;
    for encoding in common::encodings() {
        let options = WriterOptions { encoding, ..digested() };
        let large = Sample::dense("large", Dtype::U8, &[SIZE], vec![7; SIZE as usize]);
        let samples = [new_object("small"), large];
        let file = common::open(common::file_of(&options, &samples));
        let stored = |at| file.object(at).unwrap().components().map(|c| c.stored_size()).sum::<u64>();
        for only in [None, Some(1)] {
            let (reports, mut report) = (Mutex::new(Vec::new()), VerifyReport::default());
            let note = |done, total| {
                reports.lock().unwrap().push((done, total));
                true
            };
            file.verify_object((1, only), &everything(1), &note, None, &mut report).unwrap();
            let reports = reports.into_inner().unwrap();
            assert!(reports.len() > 4 && reports.is_sorted(), "{encoding:?}: {reports:?}");
            assert_eq!(reports.last(), Some(&(stored(1), stored(1))));
            assert_eq!((report.components, report.digests_verified, report.bytes), (1, 1, stored(1)));
            let calls = Mutex::new(0);
            let stop = |_, _| {
                *calls.lock().unwrap() += 1;
                false
            };
            let stopped =
                file.verify_object((1, only), &everything(1), &stop, Some(&|_, _, _| true), &mut report);
            assert_eq!((stopped.map_err(|e| e.cause()), *calls.lock().unwrap()), (Err(Cause::Cancelled), 1));
        }
        let place = file.object(1).unwrap().components().next().map(|c| c.offset()).unwrap() as usize;
        let mut bytes = common::file_of(&options, &samples);
        bytes[place + stored(1) as usize / 2] ^= 1;
        let broken = common::open(bytes);
        for only in [None, Some(1)] {
            let (calls, mut report) = (Mutex::new(0), VerifyReport::default());
            let go_on: &OnFailure<'_> = &|_, _, _| {
                *calls.lock().unwrap() += 1;
                true
            };
            let found =
                broken.verify_object((1, only), &everything(1), &|_, _| true, Some(go_on), &mut report);
            let found = found.map_err(|e| e.cause());
            assert_eq!((found, *calls.lock().unwrap()), (Err(Cause::DigestMismatch), 1), "{only:?}");
        }
    }
}

#[test]
fn padding_that_is_not_zero_is_counted_and_rejected_with_an_option() {
    let odd = Sample::dense("odd", Dtype::U8, &[1], vec![5]);
    let mut bytes = common::file_of(&WriterOptions::default(), &[odd, new_object("next")]);
    let (first, second) = (66, 127);
    (bytes[first], bytes[second]) = (1, 2);
    let file = common::open(bytes.clone());
    let (outcome, report) = run(&file, &everything(1));
    outcome.unwrap();
    assert_eq!(report.padding_nonzero, 2);
    let (outcome, report) = run(&file, &VerifyOptions { padding: true, ..everything(1) });
    let error = outcome.unwrap_err();
    assert_eq!((error.rule(), report.padding_nonzero), (Some(Rule::PaddingNonzero), 2));
    assert!(error.message().contains("66"), "{error}");
    let strict = OpenOptions { strict: true, ..OpenOptions::default() };
    let strict = File::open_memory(common::Aligned::of(&bytes), &strict).unwrap();
    assert_eq!(common::rule(run(&strict, &everything(1)).0), Some(Rule::PaddingNonzero));
}

#[test]
fn an_incomplete_element_is_detected_without_a_shape() {
    for (dtype, logical, size, fine) in [
        ("f64", "", 58, false),
        ("f64", "", 56, true),
        ("f64", r#","type":"mine""#, 58, false),
        ("f32", r#","type":"complex64""#, 12, false),
        ("f32", r#","type":"complex64""#, 16, true),
    ] {
        let manifest = format!(
            r#"{{"version":"1.2.0","objects":{{"a":{{"shape":[],"format":"mine","components":{{
                "data":{{"dtype":"{dtype}"{logical},"offset":64,"length":{size}}}}}}}}}}}"#
        );
        let bytes = file_of(&vec![0; size], &manifest);
        let (outcome, _) = run(&common::open(bytes), &everything(1));
        assert_eq!(outcome.is_ok(), fine, "{size} bytes of {dtype}{logical}: {outcome:?}");
        assert_eq!(outcome.err().and_then(|e| e.rule()), (!fine).then_some(Rule::ElementSize));
    }
}

/// A file with these bytes from 64 on, and a manifest from JSON.
fn file_of(blobs: &[u8], manifest: &str) -> Vec<u8> {
    let mut bytes = b"ZTEN1000".to_vec();
    bytes.resize(64, 0);
    bytes.extend_from_slice(blobs);
    let start = bytes.len();
    ztensor::container::cbor::encode::value(
        &mut bytes,
        ztensor::container::json::parse(manifest).unwrap().get(),
    )
    .unwrap();
    let length = (bytes.len() - start) as u64;
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(b"ZTEN1000");
    bytes
}

#[test]
fn an_f8_of_1_1_cannot_be_an_index_although_it_is_stored_as_u8() {
    let mut blobs = vec![0; 65];
    blobs[64] = 2;
    let manifest = r#"{"version":"1.1.0","objects":{"s":{"shape":[3],"format":"sparse_coo","components":{
        "values":{"dtype":"f32","offset":64,"length":4},"coords":{"dtype":"f8_e4m3","offset":128,"length":1}}}}}"#;
    let bytes = file_of(&blobs, manifest);
    let file = common::open(bytes);
    let refused = file.object(0).unwrap().coo_view().map(drop).unwrap_err();
    assert_eq!(refused.cause(), Cause::Broken(Rule::IndexDtype), "{refused}");
    common::written(&WriterOptions::default(), |w| {
        let refused = w.copy(file.object(0).unwrap(), "s").unwrap_err();
        assert_eq!(refused.cause(), Cause::Broken(Rule::IndexDtype), "{refused}");
    });
}
