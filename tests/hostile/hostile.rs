//! Hostile files: truncated, with flipped bits, nested, and with huge declared sizes. The library does not
//! panic or abort, does not allocate for a declared size, and returns an error if memory is short.

use crate::common;
use crate::counting;

use common::{Random, Sample};
use counting::{peak, GOOD};
use std::cell::Cell;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use ztensor::error::{Cause, Error, Result};
use ztensor::model::dtype::Dtype;
use ztensor::model::manifest::Encoding;
use ztensor::reader::{File, Hyperslab, Mode, OpenOptions, VerifyOptions, VerifyReport};
use ztensor::source::ByteSource;
use ztensor::writer::{Algorithm, Writer, WriterOptions};

/// The limit for decoded components in these tests.
const DECODED: u64 = 1 << 20;

fn options(mode: Mode) -> OpenOptions {
    OpenOptions { mode, max_decoded_size: Some(DECODED), ..OpenOptions::default() }
}

/// Makes every call on a file, and returns the results for comparison.
fn walk(file: &File) -> Vec<String> {
    let mut said = vec![format!("{} {} {:?}", file.version(), file.size(), file.attributes())];
    let mut buffer = [0; 4096];
    let said_of = |result: Result<()>| result.err().map_or(String::from("ok"), |e| e.to_string());
    for object in file.objects() {
        said.push(format!(
            "{:?} {:?} {:?} {:?}",
            object.name(),
            object.shape(),
            object.format(),
            object.element_count()
        ));
        for c in object.components() {
            said.push(format!(
                "{} {} {:?} {:?}",
                c.role(),
                c.dtype_name(),
                c.size().map_err(|e| e.to_string()),
                c.digest()
            ));
            match c.load() {
                Ok(loaded) => said.push(format!("{:08x}", crc32c::crc32c(loaded.as_slice()))),
                Err(e) => said.push(e.to_string()),
            }
            let size = c.size().unwrap_or(0).min(buffer.len() as u64) as usize;
            said.push(said_of(c.read_range(c.size().unwrap_or(0) - size as u64, &mut buffer[..size])));
            said.push(said_of(c.verify_digest()));
        }
        let zeros = vec![0; object.shape().len()];
        let ones: Vec<u64> = object.shape().iter().map(|d| (*d).min(1)).collect();
        said.push(said_of(
            object.read_slice(&Hyperslab { start: &zeros, count: &ones, step: None }, &mut buffer),
        ));
        said.push(said_of(object.read_as(Dtype::F32, &mut buffer).map(drop)));
        said.push(said_of(object.tensor_view().map(drop)));
        said.push(said_of(object.csr_view().map(drop)));
        said.push(said_of(object.coo_view().map(drop)));
        said.push(said_of(object.quantized_view().map(drop)));
    }
    let mut report = VerifyReport::default();
    let verify = VerifyOptions { threads: 1, ..VerifyOptions::default() };
    said.push(said_of(file.verify(&verify, &|_, _| true, &mut report)));
    said.push(format!("{report:?}"));
    said
}

/// Opens and walks a file, and checks the peaks of memory.
fn try_bytes(bytes: Vec<u8>, what: &dyn Fn() -> String) -> bool {
    let size = bytes.len();
    let bytes: Arc<[u8]> = bytes.into();
    let (opened, at_open) = peak(|| File::open_memory(bytes, &options(Mode::Map)));
    let bound = 64 * size + (1 << 20);
    assert!(at_open <= bound, "{}: {at_open} bytes at open, {bound} are allowed", what());
    let Ok(file) = opened.inspect_err(|e| assert!(!e.message().is_empty())) else { return false };
    let ((), walked) = peak(|| drop(walk(&file)));
    // The text for each component, the decoded bytes (kept by views, up to three for an object), and scratch
    // memory.
    let kept: u64 =
        file.objects().flat_map(|o| o.components()).map(|c| c.size().unwrap_or(0).min(DECODED)).sum();
    let bound = bound + 4 * kept as usize + (2 << 20);
    assert!(walked <= bound, "{}: {walked} bytes to walk, {bound} are allowed", what());
    true
}

/// Every length of a small file, some lengths of a large one.
fn cuts(size: usize) -> Vec<usize> {
    match size {
        0..=2048 => (0..size).collect(),
        _ => (0..64).chain((0..64).map(|at| size * at / 64)).chain(size - 64..size).collect(),
    }
}

#[test]
fn files_cut_at_any_byte_never_panic_and_stay_within_their_memory() {
    let mut opened = 0;
    for path in common::corpus("invalid") {
        let bytes = std::fs::read(&path).unwrap();
        for cut in cuts(bytes.len()) {
            opened +=
                usize::from(try_bytes(bytes[..cut].to_vec(), &|| format!("{} cut at {cut}", path.display())));
        }
    }
    assert!(opened < 1000, "{opened} cut files opened");
}

#[test]
fn files_with_any_byte_flipped_never_panic_and_stay_within_their_memory() {
    let mut random = Random(3);
    let mut opened = 0;
    for path in common::corpus("invalid") {
        let bytes = std::fs::read(&path).unwrap();
        let places: Vec<usize> = match bytes.len() {
            size @ 0..=2048 => (0..size).collect(),
            size => (0..100).map(|_| random.below(size as u64) as usize).chain(size - 100..size).collect(),
        };
        for at in places {
            // Flips one bit, the highest, all, or random ones: numbers, heads and lengths react differently.
            let mask = [1 << random.below(8), 0x80, 0xff, 1 + random.below(255) as u8][at % 4];
            let mut flipped = bytes.clone();
            flipped[at] ^= mask;
            let what = || format!("{} with byte {at} flipped by {mask:#x}", path.display());
            opened += usize::from(try_bytes(flipped, &what));
        }
    }
    assert!(opened > 1000, "only {opened} flipped files opened");
}

fn open_both(path: &Path) -> [Vec<String>; 2] {
    [Mode::Map, Mode::Read].map(|mode| match File::open(path, &options(mode)) {
        Ok(file) => walk(&file),
        Err(e) => vec![format!("{:?} {e}", e.cause())],
    })
}

#[test]
fn the_whole_corpus_is_the_same_mapped_and_read() {
    for path in common::VALID.into_iter().chain(["invalid"]).flat_map(common::corpus) {
        let [mapped, read] = open_both(&path);
        assert_eq!(mapped, read, "{}", path.display());
    }
}

/// Runs the tests above in a process with a small address space. That also limits what C decoders allocate.
#[cfg(target_os = "linux")]
#[test]
fn the_whole_corpus_fits_into_a_small_address_space() {
    const KIB: u64 = 224 << 10;
    let limit = format!("ulimit -v {KIB} &&");
    common::run_alone("hostile::the_whole_corpus_is_the_same_mapped_and_read", &limit);
}

/// A 1.2 file with this manifest and one blob of 64 bytes.
fn file_with(manifest: &[u8]) -> Vec<u8> {
    let size = (manifest.len() as u64).to_le_bytes();
    [b"ZTEN1000", &[0; 56][..], &[7; 64], manifest, &size, b"ZTEN1000"].concat()
}

const VERSION: &[u8] = b"\x67version\x651.2.0";

#[test]
fn a_declared_manifest_of_1_gib_allocates_nothing() {
    let claim = |size: u64| {
        let file = [b"ZTEN1000", &[0; 100][..], &size.to_le_bytes(), b"ZTEN1000"].concat();
        peak(|| {
            File::from_source(Box::new(common::ReadOnly(file)), &options(Mode::Read), String::from("claim"))
        })
    };
    for size in [1 << 30, (1 << 30) - 1, (1 << 30) + 1, 1 << 40, u64::MAX, u64::MAX - 24] {
        let (opened, allocated) = claim(size);
        let cause = opened.expect_err("opened a file with a manifest beyond its end").cause();
        let limit = size > 1 << 30;
        assert!(
            if limit { cause == Cause::Limit } else { matches!(cause, Cause::Broken(_)) },
            "{size}: {cause:?}"
        );
        assert!(allocated < 1 << 20, "{allocated} bytes for a claim of {size}");
    }
    // A sparse file that has the bytes, and a caller that allows less.
    let folder = common::Folder::new();
    let path = folder.path("hole.zt");
    let tail = [&(16u64 << 20).to_le_bytes()[..], b"ZTEN1000"].concat();
    let mut file = std::fs::File::create(&path).unwrap();
    file.write_all(b"ZTEN1000").unwrap();
    file.seek(SeekFrom::Start((16 << 20) + 64)).unwrap();
    file.write_all(&tail).unwrap();
    for mode in [Mode::Map, Mode::Read] {
        let careful = OpenOptions { max_manifest_size: 1 << 20, ..options(mode) };
        let (opened, allocated) = peak(|| File::open(&path, &careful));
        assert_eq!(opened.map(drop).map_err(|e| e.cause()), Err(Cause::Limit));
        assert!(allocated < 2 << 20, "{allocated} bytes");
    }
}

#[test]
fn twenty_thousand_levels_are_refused_within_a_small_stack() {
    const LEVELS: usize = 20_000;
    let kinds: [(&str, &[u8], &[u8]); 6] = [
        ("arrays", b"\x81", b""),
        ("maps", b"\xa1\x61k", b""),
        ("maps as keys", b"\xa1", b"\x00"),
        ("tags", b"\xc1", b""),
        ("endless arrays", b"\x9f", b"\xff"),
        ("endless maps", b"\xbf\x61k", b"\xff"),
    ];
    let check = move || {
        for (kind, open, close) in kinds {
            let deep = [open.repeat(LEVELS), vec![0], close.repeat(LEVELS)].concat();
            let places: [&[u8]; 4] = [b"\x6aattributes", b"\x67unknown", b"\x67objects", b""];
            for place in places {
                let manifest = match place {
                    b"" => deep.clone(),
                    place => [&b"\xa3"[..], VERSION, place, &deep, b"\x67objects\xa0"].concat(),
                };
                let (opened, allocated) =
                    peak(|| File::open_memory(file_with(&manifest), &options(Mode::Map)));
                let cause = opened.expect_err(kind).cause();
                assert!(matches!(cause, Cause::Broken(_)), "{kind} in {place:?}: {cause:?}");
                assert!(allocated < 3 * deep.len() + (1 << 20), "{kind}: {allocated} bytes");
            }
        }
    };
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(check).unwrap();
    assert!(thread.join().is_ok());
}

#[test]
fn a_million_tiny_objects_open_in_a_few_times_their_bytes() {
    const COUNT: u32 = 1_000_000;
    let mut manifest = [&b"\xa2"[..], VERSION, b"\x67objects\xba", &COUNT.to_be_bytes()].concat();
    for at in 0..COUNT {
        manifest.extend_from_slice(format!("\x6a{at:010}").as_bytes());
        manifest.extend_from_slice(b"\xa3\x65shape\x81\x08\x66format\x65dense\x6acomponents\xa1\x64data");
        manifest.extend_from_slice(b"\xa3\x65dtype\x62u8\x66offset\x18\x40\x66length\x08");
    }
    let bytes: Arc<[u8]> = file_with(&manifest).into();
    let size = bytes.len();
    let (opened, allocated) = peak(|| File::open_memory(bytes, &OpenOptions::default()).unwrap());
    assert_eq!(opened.object_count(), COUNT as usize);
    assert_eq!(common::read(&common::data(&opened, "0000999999")), [7; 8]);
    assert!(allocated < 4 * size, "{allocated} bytes for a file of {size}");
    let careful = OpenOptions { max_objects: u64::from(COUNT) - 1, ..OpenOptions::default() };
    let refused = File::open_memory(file_with(&manifest), &careful).map(drop).map_err(|e| e.cause());
    assert_eq!(refused, Err(Cause::Limit));
}

/// A sink that discards the bytes.
struct Nowhere;

impl ztensor::sink::ByteSink for Nowhere {
    fn write(&mut self, _bytes: &[u8]) -> Result<()> {
        Ok(())
    }

    fn publish(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A source that does not map and does not allocate.
struct Shared(Arc<[u8]>);

impl ByteSource for Shared {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn slice(&self, _range: std::ops::Range<u64>) -> Option<&[u8]> {
        None
    }

    fn read_at(&self, offset: u64, dst: &mut [u8]) -> Result<()> {
        dst.copy_from_slice(&self.0[offset as usize..][..dst.len()]);
        Ok(())
    }
}

#[test]
fn every_failed_allocation_is_an_error() {
    let mut samples: Vec<Sample> =
        (0..20).map(|at| Sample::dense(&format!("{at:0900}"), Dtype::U8, &[9], vec![1; 9])).collect();
    samples.push(Sample::dense("large", Dtype::F32, &[100, 100], common::elements(Dtype::F32, 10_000)));
    let written = WriterOptions {
        encoding: Encoding::Zstd,
        digest: Some(Algorithm::Sha256),
        threads: 1,
        ..WriterOptions::default()
    };
    let bytes: Arc<[u8]> = common::file_of(&written, &samples).into();
    let mut refused = 0;
    let mut until_it_goes_well = |what: &str, body: &dyn Fn() -> Result<()>| {
        for good in 0.. {
            GOOD.set(good);
            let outcome = body();
            let spared = GOOD.replace(usize::MAX) > 0;
            match outcome {
                Ok(()) if spared => break,
                Ok(()) => {} // the call works without this allocation
                Err(e) => assert_eq!(e.cause(), Cause::OutOfMemory, "{what}, allocation {good}: {e}"),
            }
            refused += 1;
            assert!(good < 1000, "{what} never succeeds");
        }
    };
    let source = |file: &Arc<[u8]>| Box::new(Shared(Arc::clone(file)));
    let open = || File::from_source(source(&bytes), &OpenOptions::default(), String::new());
    until_it_goes_well("open", &|| open().map(drop));
    let file = open().unwrap();
    let large = file.find("large").unwrap();
    let data = large.component("data").unwrap();
    let mut buffer = vec![0; 80_000];
    let memory = Cell::new(&mut buffer[..]);
    let with_buffer = |body: &dyn Fn(&mut [u8]) -> Result<()>| {
        let buffer = memory.take();
        let outcome = body(buffer);
        memory.set(buffer);
        outcome
    };
    let slab = Hyperslab { start: &[1, 1], count: &[40, 40], step: Some(&[2, 2]) };
    until_it_goes_well("load", &|| data.load().map(drop));
    until_it_goes_well("read", &|| with_buffer(&|buffer| data.read(buffer)));
    until_it_goes_well("read_range", &|| with_buffer(&|buffer| data.read_range(5, &mut buffer[..20_000])));
    until_it_goes_well("read_as", &|| with_buffer(&|buffer| large.read_as(Dtype::F64, buffer).map(drop)));
    until_it_goes_well("read_slice", &|| with_buffer(&|buffer| large.read_slice(&slab, buffer)));
    until_it_goes_well("tensor_view", &|| {
        open().and_then(|f| f.find("large").unwrap().tensor_view().map(drop))
    });
    until_it_goes_well("verify", &|| common::verify(&file).map(drop));
    let writer = || Writer::to_sink(Box::new(Nowhere), &written);
    until_it_goes_well("write", &|| {
        let mut writer = writer()?;
        samples.iter().try_for_each(|s| s.write(&mut writer))?;
        writer.finish().map(drop)
    });
    until_it_goes_well("copy", &|| {
        let mut writer = writer()?;
        file.objects().try_for_each(|o| writer.copy(o, o.name()))?;
        writer.finish().map(drop)
    });
    assert!(refused > 30, "only {refused} allocations were refused");
    assert!(Error::out_of_memory(7).message().contains('7'));
}

#[test]
fn values_of_attributes_are_counted_over_the_whole_manifest() {
    // Each byte of such an array becomes a value of 24 bytes. Without a limit, a manifest of 1 GiB would use
    // 35 GiB.
    let count = (1u32 << 24) + 1;
    let mut manifest = b"\xa3gversione1.2.0gobjects\xa0jattributes\xa1aa\x9a".to_vec();
    manifest.extend_from_slice(&count.to_be_bytes());
    manifest.resize(manifest.len() + count as usize, 0);
    let mut bytes = b"ZTEN1000".to_vec();
    bytes.resize(64, 0);
    bytes.extend_from_slice(&manifest);
    bytes.extend_from_slice(&(manifest.len() as u64).to_le_bytes());
    bytes.extend_from_slice(b"ZTEN1000");
    let opened = File::open_memory(bytes, &OpenOptions::default()).map(drop).map_err(|e| e.cause());
    assert_eq!(opened, Err(Cause::Limit));
}
