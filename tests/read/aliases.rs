//! Components that share bytes: the bytes are checked once, for any number of components. The test counts
//! reads and does not measure time.

use crate::common;

use common::{ReadOnly, Sample};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use ztensor::container::{cbor::encode as cbor_encode, json};
use ztensor::error::{Cause, Result, Rule};
use ztensor::model::dtype::Dtype;
use ztensor::model::manifest::Encoding;
use ztensor::reader::{File, OpenOptions, VerifyOptions, VerifyReport};
use ztensor::source::ByteSource;
use ztensor::writer::WriterOptions;

/// The number of objects with the same bytes.
const MANY: usize = 300;
/// The size of each in bytes.
const SIZE: usize = 64 << 10;

/// A source that counts the bytes that are read.
struct Counted(ReadOnly, Arc<AtomicUsize>);

impl ByteSource for Counted {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn slice(&self, range: Range<u64>) -> Option<&[u8]> {
        self.0.slice(range)
    }

    fn read_at(&self, offset: u64, dst: &mut [u8]) -> Result<()> {
        self.1.fetch_add(dst.len(), Ordering::Relaxed);
        self.0.read_at(offset, dst)
    }
}

/// A file with these parts, each at a multiple of 64, and the objects that `object` encodes for their
/// positions.
fn file(version: &str, parts: &[Vec<u8>], object: impl Fn(usize, &[usize]) -> String) -> Vec<u8> {
    let mut bytes = b"ZTEN1000".to_vec();
    let mut places = Vec::new();
    for part in parts {
        bytes.resize(bytes.len().next_multiple_of(64), 0);
        places.push(bytes.len());
        bytes.extend_from_slice(part);
    }
    bytes.resize(bytes.len().next_multiple_of(64), 0);
    let objects: Vec<String> = (0..MANY).map(|n| format!("\"o{n}\":{}", object(n, &places))).collect();
    let text = format!("{{\"version\":\"{version}\",\"objects\":{{{}}}}}", objects.join(","));
    let mut manifest = Vec::new();
    cbor_encode::value(&mut manifest, json::parse(&text).unwrap().get()).unwrap();
    bytes.extend_from_slice(&manifest);
    bytes.extend_from_slice(&(manifest.len() as u64).to_le_bytes());
    bytes.extend_from_slice(b"ZTEN1000");
    bytes
}

/// The results of opening and of verifying with each number of threads, and the bytes that each read.
fn verified(bytes: &[u8], threads: usize) -> (Result<VerifyReport>, usize, usize) {
    let read = Arc::default();
    let source = Counted(ReadOnly(bytes.to_vec()), Arc::clone(&read));
    let file = File::from_source(Box::new(source), &OpenOptions::default(), "counted".into()).unwrap();
    let opened = read.swap(0, Ordering::Relaxed);
    let options = VerifyOptions { threads, ..VerifyOptions::default() };
    let mut report = VerifyReport::default();
    let result = file.verify(&options, &|_, _| true, &mut report);
    // Bytes that cannot be checked are counted.
    let result = result.or_else(|e| if e.cause() == Cause::Unsupported { Ok(()) } else { Err(e) });
    (result.map(|()| report), opened, read.load(Ordering::Relaxed))
}

fn dense(offset: usize, length: usize, rest: &str) -> String {
    format!(
        r#"{{"shape":[{SIZE}],"format":"dense","components":{{"data":
            {{"dtype":"u8","offset":{offset},"length":{length}{rest}}}}}}}"#
    )
}

/// The content as one zstd frame, like our writer's.
fn compressed(content: &[u8]) -> Vec<u8> {
    let options = WriterOptions { encoding: Encoding::Zstd, ..WriterOptions::default() };
    let sample = Sample::dense("a", Dtype::U8, &[content.len() as u64], content.to_vec());
    let bytes = common::file_of(&options, &[sample]);
    let file = common::open(bytes.clone());
    let component = common::data(&file, "a");
    bytes[component.offset() as usize..][..component.stored_size() as usize].to_vec()
}

fn integers(values: impl Iterator<Item = u64>) -> Vec<u8> {
    values.flat_map(u64::to_le_bytes).collect()
}

#[test]
fn a_digest_of_the_same_bytes_is_computed_once() {
    let content: Vec<u8> = (0..SIZE).map(|n| (n * 7 % 251) as u8).collect();
    let crc = format!("{:08x}", crc32c(&content));
    // Encoded in several ways, and with an unknown algorithm.
    let encoded = [format!("crc32c:{crc}"), format!("crc32c:0x{}", crc.to_uppercase()), "xxh3:00".into()];
    let bytes =
        file("1.2.0", &[content], |n, at| dense(at[0], SIZE, &format!(",\"digest\":\"{}\"", encoded[n % 3])));
    for threads in [1, 3] {
        let (report, _, read) = verified(&bytes, threads);
        let report = report.unwrap();
        assert_eq!((report.objects, report.not_checked), (MANY as u64 / 3 * 2, MANY as u64 / 3));
        assert_eq!((report.digests_verified, report.digests_unknown), (MANY as u64 / 3 * 2, MANY as u64 / 3));
        assert_eq!(report.bytes, (MANY * SIZE) as u64);
        assert!(read < 2 * SIZE, "{read} bytes read");
    }
}

#[test]
fn the_first_wrong_digest_in_file_order_is_named_though_others_are_right() {
    let content = vec![1; SIZE];
    let (right, wrong) = (crc32c(&content), crc32c(&content) ^ 1);
    for place in [0, 1, 7, MANY - 1] {
        let bytes = file("1.2.0", std::slice::from_ref(&content), |n, at| {
            let crc = if n < place { right } else { wrong };
            dense(at[0], SIZE, &format!(",\"digest\":\"crc32c:{crc:08x}\""))
        });
        for threads in [1, 3] {
            let (report, _, read) = verified(&bytes, threads);
            let error = report.unwrap_err();
            assert_eq!(error.cause(), Cause::DigestMismatch);
            assert!(error.to_string().contains(&format!("\"o{place}\"")), "{error}");
            assert!(read <= (2 + threads) * SIZE, "{read} bytes read");
        }
    }
}

#[test]
fn the_same_frames_are_decoded_once_also_where_their_size_is_not_declared() {
    let content: Vec<u8> = common::compressible(SIZE);
    let frames = compressed(&content);
    let length = frames.len();
    let declared = format!(",\"encoding\":\"zstd\",\"uncompressed_length\":{SIZE}");
    for (version, rest) in [("1.2.0", declared.as_str()), ("1.1.0", ",\"encoding\":\"zstd\"")] {
        let bytes = file(version, std::slice::from_ref(&frames), |_, at| dense(at[0], length, rest));
        let (report, opened, read) = verified(&bytes, 2);
        assert_eq!(report.unwrap().components, MANY as u64);
        assert!(read < 3 * length, "{version}: {read} bytes read of {length}");
        assert!(opened < bytes.len() + 4 * length, "{version}: {opened} bytes read to open it");
    }
}

#[test]
fn a_size_that_only_frames_declare_is_computed_once_for_all_aliases() {
    let frames = compressed(&common::compressible(SIZE));
    let length = frames.len();
    // Of an unknown format, so the shape does not give the size either.
    let bytes = file("1.1.0", &[frames], |_, at| {
        dense(at[0], length, ",\"encoding\":\"zstd\"").replace("\"dense\"", "\"other\"")
    });
    let read: Arc<AtomicUsize> = Arc::default();
    let source = Counted(ReadOnly(bytes), Arc::clone(&read));
    let file = File::from_source(Box::new(source), &OpenOptions::default(), "counted".into()).unwrap();
    read.store(0, Ordering::Relaxed);
    for object in file.objects() {
        assert_eq!(object.component("data").unwrap().size().unwrap(), SIZE as u64);
    }
    let read = read.load(Ordering::Relaxed);
    assert!(read <= 2 * length, "{read} bytes read of {length}");
}

/// A part with these 64-bit integers at an offset.
fn numbers(role: &str, offset: usize, count: usize) -> String {
    format!(r#""{role}":{{"dtype":"u64","offset":{offset},"length":{}}}"#, 8 * count)
}

#[test]
fn indices_that_many_shapes_share_are_looked_at_once() {
    const NNZ: usize = SIZE / 8;
    const ROWS: usize = 16;
    let values = integers((0..NNZ as u64).map(|n| n + 1));
    let indices = integers((0..NNZ as u64).map(|n| n * 31 % 1000));
    let pointers = integers((0..=ROWS as u64).map(|n| n * (NNZ / ROWS) as u64));
    let parts = [values, indices, pointers];
    let csr = |columns: usize, at: &[usize]| {
        let parts = [
            numbers("values", at[0], NNZ),
            numbers("indices", at[1], NNZ),
            numbers("indptr", at[2], ROWS + 1),
        ];
        let parts = parts.join(",");
        format!(r#"{{"shape":[{ROWS},{columns}],"format":"sparse_csr","components":{{{parts}}}}}"#)
    };
    let coo = |columns: usize, at: &[usize]| {
        let parts = [numbers("values", at[0], NNZ / 2), numbers("coords", at[1], NNZ)].join(",");
        let parts = parts.replacen(&format!("\"offset\":{}", at[0]), &format!("\"offset\":{}", at[3]), 1);
        format!(r#"{{"shape":[1000,{columns}],"format":"sparse_coo","components":{{{parts}}}}}"#)
    };
    let with_half = [parts.as_slice(), &[integers(0..NNZ as u64 / 2)]].concat();
    for threads in [1, 3] {
        // Each object has fewer columns, so the check of one does not cover the next.
        let cases: [(Vec<u8>, Vec<u8>, Rule); 2] = [
            (
                file("1.2.0", &parts, |n, at| csr(5000 - n, at)),
                file("1.2.0", &parts, |n, at| csr(1100 - n, at)),
                Rule::CsrColumn,
            ),
            (
                file("1.2.0", &with_half, |n, at| coo(5000 - n, at)),
                file("1.2.0", &with_half, |n, at| coo(1100 - n, at)),
                Rule::CooCoordinate,
            ),
        ];
        for (good, bad, rule) in cases {
            let (report, _, read) = verified(&good, threads);
            assert_eq!(report.unwrap().objects, MANY as u64);
            assert!(read <= 3 * SIZE, "{rule:?}: {read} bytes read");
            let (report, _, read) = verified(&bad, threads);
            let error = report.unwrap_err();
            assert_eq!(error.cause(), Cause::Broken(rule));
            assert!(error.to_string().contains("\"o101\""), "{error}");
            assert!(read <= (4 + threads) * SIZE, "{rule:?}: {read} bytes read");
        }
    }
}

/// CRC-32C, one bit at a time.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg()))
    })
}
