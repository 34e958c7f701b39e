//! Seekable zstd in zTensor 2: only the table says where frames are, for every read, and each frame must
//! match its entry.

use crate::common;

use common::ztensor_2::{file, Object, Part};
use common::{Random, ReadOnly};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use ztensor::error::{Error, Result};
use ztensor::model::dtype::Dtype;
use ztensor::model::manifest::{Encoding, Version};
use ztensor::reader::{BatchOptions, BatchStats, File, OpenOptions, Selection, VerifyOptions, VerifyReport};
use ztensor::source::ByteSource;
use ztensor::writer::{Algorithm, DenseSpec, Recode, WriterOptions};

/// The decoded size of a frame, the total decoded size, and the number of frames.
const FRAME: usize = 128 << 10;
const SIZE: usize = 12 * FRAME - 999;
const COUNT: usize = 12;

/// Stored and decoded bytes of a frame.
type Entry = (u32, u32);

fn content() -> Vec<u8> {
    let mut random = Random(7);
    (0..SIZE).map(|_| random.below(16) as u8).collect()
}

fn frame(content: &[u8], has_size: bool) -> Vec<u8> {
    let mut context = zstd_safe::CCtx::create();
    context.set_parameter(zstd_safe::CParameter::ContentSizeFlag(has_size)).unwrap();
    context.set_parameter(zstd_safe::CParameter::ChecksumFlag(true)).unwrap();
    let mut frame = vec![0; zstd_safe::compress_bound(content.len())];
    let size = context.compress2(frame.as_mut_slice(), content).unwrap();
    frame.truncate(size);
    frame
}

/// Frames, one after the other, and the correct table.
fn frames(content: &[u8]) -> (Vec<u8>, Vec<Entry>) {
    let (mut out, mut entries) = (Vec::new(), Vec::new());
    for (at, piece) in content.chunks(FRAME).enumerate() {
        let frame = frame(piece, at % 2 == 0);
        entries.push((frame.len() as u32, piece.len() as u32));
        out.extend(frame);
    }
    (out, entries)
}

fn table(entries: &[Entry], has_checksums: bool) -> Vec<u8> {
    let mut out = 0x184D_2A5E_u32.to_le_bytes().to_vec();
    let size = entries.len() * if has_checksums { 12 } else { 8 } + 9;
    out.extend((size as u32).to_le_bytes());
    for (stored, decoded) in entries {
        out.extend([*stored, *decoded].map(u32::to_le_bytes).as_flattened());
        out.extend(&[0x5a; 4][..if has_checksums { 4 } else { 0 }]);
    }
    out.extend((entries.len() as u32).to_le_bytes());
    out.push(if has_checksums { 0x80 } else { 0 });
    out.extend(0x8F92_EAB1_u32.to_le_bytes());
    out
}

/// A file with one tensor in these frames, with its digest.
fn tensor(frames: &[u8], entries: &[Entry], has_checksums: bool) -> Vec<u8> {
    let stored = [frames, &table(entries, has_checksums)].concat();
    let data = Part::new("data", "u8", stored).seekable(SIZE as u64).digest_of(&content());
    file(&[Object::new("t", "dense", &[SIZE as u64], vec![data])])
}

/// A source that does not map, and counts the bytes that are read.
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

/// The file in borrowed memory, and in a source that is read.
fn borrowed_and_read(bytes: &[u8]) -> [(File, Arc<AtomicUsize>); 2] {
    let read = Arc::<AtomicUsize>::default();
    let counted = Counted(ReadOnly(bytes.to_vec()), Arc::clone(&read));
    let options = OpenOptions::default();
    let from_source = File::from_source(Box::new(counted), &options, String::from("counted")).unwrap();
    [(File::open_memory(bytes.to_vec(), &options).unwrap(), Arc::default()), (from_source, read)]
}

fn batch(file: &File, selection: &Selection<'_>, size: usize, verify: bool) -> Result<Vec<u8>> {
    let component = file.find("t").unwrap().component("data").unwrap();
    let mut dst = vec![0xaa; size];
    let mut requests = [component.request(selection, &mut dst, 0)?];
    let options =
        BatchOptions { threads: 3, chunk_size: 2 * FRAME as u64, verify, ..BatchOptions::default() };
    File::read_batch(&mut requests, &options, &|_, _| (), &|_, _| true, &mut BatchStats::default())?;
    Ok(dst)
}

/// Every way to read all bytes, and to read a range with at least one byte of each frame except the first and
/// the last.
fn every_outcome(file: &File, content: &[u8]) -> Vec<(&'static str, Result<()>)> {
    let component = file.find("t").unwrap().component("data").unwrap();
    let is = |found: Result<Vec<u8>>, wanted: &[u8]| found.map(|found| assert!(found == wanted));
    let mut whole = vec![0; SIZE];
    let alone = component.read(&mut whole).map(|()| whole);
    let inner = FRAME - 1..SIZE - FRAME;
    let part = Selection::Range { offset: inner.start as u64, length: inner.len() as u64 };
    let mut range = vec![0; inner.len()];
    let ranged = component.read_range(inner.start as u64, &mut range).map(|()| range);
    let contents = VerifyOptions { digests: false, ..VerifyOptions::default() };
    let verify = |options: &VerifyOptions| file.verify(options, &|_, _| true, &mut VerifyReport::default());
    vec![
        ("alone", is(alone, content)),
        ("in parallel", is(batch(file, &Selection::Whole, SIZE, false), content)),
        ("in parallel and checked", is(batch(file, &Selection::Whole, SIZE, true), content)),
        ("a range", is(ranged, &content[inner.clone()])),
        ("a range of a batch", is(batch(file, &part, inner.len(), false), &content[inner])),
        ("verified", verify(&contents)),
        ("with its digest", verify(&VerifyOptions::default())),
    ]
}

#[test]
fn complete_reads_ranges_and_batches_equal_the_content() {
    let content = content();
    let (frames, entries) = frames(&content);
    for has_checksums in [false, true] {
        for (file, _) in borrowed_and_read(&tensor(&frames, &entries, has_checksums)) {
            for (how, outcome) in every_outcome(&file, &content) {
                outcome.unwrap_or_else(|e| panic!("{how}: {e}"));
            }
            let component = file.find("t").unwrap().component("data").unwrap();
            for (at, length) in
                [(0, 1), (FRAME - 1, 2), (5, 3 * FRAME), (SIZE - 1, 1), (7 * FRAME, FRAME), (0, 0)]
            {
                let mut dst = vec![0; length];
                component.read_range(at as u64, &mut dst).unwrap();
                assert!(dst == content[at..at + length], "{length} bytes at {at}");
            }
        }
    }
}

#[test]
fn a_range_reads_the_table_and_its_frames() {
    let (frames, entries) = frames(&content());
    let [_, (file, read)] = borrowed_and_read(&tensor(&frames, &entries, false));
    let component = file.find("t").unwrap().component("data").unwrap();
    let most = entries.iter().map(|(stored, _)| *stored as usize).max().unwrap();
    for _ in 0..2 {
        let before = read.load(Ordering::Relaxed);
        component.read_range(5 * FRAME as u64 + 3, &mut [0; 9]).unwrap();
        let took = read.load(Ordering::Relaxed) - before;
        assert!(took <= most + (4 << 10) + 8 * COUNT, "{took}");
    }
}

/// Wrong tables for the frames.
fn wrong_tables(entries: &[Entry]) -> Vec<(&'static str, Vec<Entry>)> {
    let changed = |change: &dyn Fn(&mut [Entry])| {
        let mut entries = entries.to_vec();
        change(&mut entries);
        entries
    };
    let short = (SIZE % FRAME) as u32;
    vec![
        ("stored bytes: more, then fewer", changed(&|e| (e[4].0, e[5].0) = (e[4].0 + 1, e[5].0 - 1))),
        ("stored bytes: fewer, then more", changed(&|e| (e[4].0, e[5].0) = (e[4].0 - 1, e[5].0 + 1))),
        (
            "stored bytes: half a frame",
            changed(&|e| (e[7].0, e[8].0) = (e[7].0 / 2, e[8].0 + e[7].0 - e[7].0 / 2)),
        ),
        ("stored bytes: one frame too many", [&entries[..6], &entries[7..]].concat()),
        ("stored bytes: too many in all", changed(&|e| e[5].0 += 1)),
        ("stored bytes: too few in all", changed(&|e| e[5].0 -= 1)),
        ("stored bytes: none", changed(&|e| (e[4].0, e[5].0) = (0, e[4].0 + e[5].0))),
        ("decoded bytes: more of one", changed(&|e| e[5].1 += 1)),
        ("decoded bytes: fewer of one", changed(&|e| e[5].1 -= 1)),
        ("decoded bytes: more of the last", changed(&|e| e[COUNT - 1].1 += 1)),
        ("decoded bytes: fewer of the last", changed(&|e| e[COUNT - 1].1 -= 1)),
        (
            "decoded bytes: more of each, the rest of the last",
            changed(&|e| {
                e.iter_mut().for_each(|e| e.1 += 1);
                e[COUNT - 1].1 = short + 1 - COUNT as u32;
            }),
        ),
        (
            "decoded bytes: fewer of each, the rest of the last",
            changed(&|e| {
                e.iter_mut().for_each(|e| e.1 -= 1);
                e[COUNT - 1].1 = short + COUNT as u32 - 1;
            }),
        ),
        ("more than a frame may have", changed(&|e| e.iter_mut().for_each(|e| e.1 = (16 << 20) + 1))),
    ]
}

#[test]
fn a_wrong_entry_fails_every_read() {
    let content = content();
    let (frames, entries) = frames(&content);
    for (what, wrong) in wrong_tables(&entries) {
        for has_checksums in [false, true] {
            for (file, _) in borrowed_and_read(&tensor(&frames, &wrong, has_checksums)) {
                for (how, outcome) in every_outcome(&file, &content) {
                    let error: Error = outcome.err().unwrap_or_else(|| panic!("{what}, {how}: taken"));
                    assert_eq!(error.rule_name(), c"Encoding", "{what}, {how}: {error}");
                }
            }
        }
    }
}

#[test]
fn a_damaged_frame_fails_every_read() {
    let content = content();
    let (frames, entries) = frames(&content);
    let start: usize = entries[..5].iter().map(|(stored, _)| *stored as usize).sum();
    let end = start + entries[5].0 as usize;
    for at in [start, start + 5, (start + end) / 2, end - 1] {
        let mut damaged = frames.clone();
        damaged[at] ^= 0x10;
        for (file, _) in borrowed_and_read(&tensor(&damaged, &entries, false)) {
            for (how, outcome) in every_outcome(&file, &content) {
                let error = outcome.err().unwrap_or_else(|| panic!("{at}, {how}: taken"));
                assert_eq!(error.rule_name(), c"Encoding", "{at}, {how}: {error}");
            }
        }
    }
}

#[test]
fn no_component_has_frames_that_no_reader_takes() {
    let options = |encoding, frame_size, digest| WriterOptions {
        version: Version::V2,
        encoding,
        frame_size,
        digest,
        ..WriterOptions::default()
    };
    let dense = |name| DenseSpec::new(name, Dtype::U8, &[1], b"x");
    let zstd = |name| DenseSpec { encoding: Some(Encoding::Zstd), ..dense(name) };
    let small =
        common::written(&options(Encoding::Zstd, 1 << 20, None), |w| w.write_dense(&dense("a")).unwrap());
    let small = common::open(small);
    let recode = Recode { digest: Some(Some(Algorithm::Xxh3)), ..Recode::default() };
    common::written(&options(Encoding::Raw, 32 << 20, None), |w| {
        for error in [
            w.write_dense(&zstd("a")),
            w.write_batch(&[zstd("a"), dense("b")]),
            w.copy_as(small.find("a").unwrap(), "a", &recode),
        ] {
            assert!(error.as_ref().unwrap_err().message().contains("the maximum is 16777216"), "{error:?}");
        }
        w.copy(small.find("a").unwrap(), "a").unwrap(); // the frames are copied unchanged
        w.write_dense(&dense("b")).unwrap();
    });
}
