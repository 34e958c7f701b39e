//! Parts of components: ranges and hyperslabs compared with a simple loop, in every mode and encoding;
//! batches.

use crate::common;

use common::{compressible, elements, Folder, Random, Sample};
use std::path::Path;
use ztensor::error::{Cause, Result, Rule};
use ztensor::model::dtype::{Dtype, Logical};
use ztensor::model::manifest::Encoding;
use ztensor::reader::{
    BatchOptions, BatchStats, Component, Direct, File, Hyperslab, Mode, OpenOptions, Request, Selection,
};
use ztensor::writer::{Algorithm, WriterOptions};

fn cause<T>(result: Result<T>) -> Option<Cause> {
    result.err().map(|e| e.cause())
}

fn options(encoding: Encoding, frame_size: u64) -> WriterOptions {
    WriterOptions { encoding, frame_size, digest: Some(Algorithm::Crc32c), ..WriterOptions::default() }
}

/// The file, opened in each way.
fn opened(path: &Path) -> Vec<File> {
    let bytes = std::fs::read(path).unwrap();
    let reading = OpenOptions { mode: Mode::Read, ..OpenOptions::default() };
    let padded = path.with_extension("behind");
    std::fs::write(&padded, [&[0xee; 4096], &bytes[..], &[0xee; 99]].concat()).unwrap();
    let inner = |options| {
        let file = std::fs::File::open(&padded).unwrap();
        File::open_file(file, 4096, bytes.len() as u64, options).unwrap()
    };
    vec![
        File::open(path, &OpenOptions::default()).unwrap(),
        File::open(path, &reading).unwrap(),
        inner(&OpenOptions::default()),
        inner(&reading),
        File::from_source(Box::new(common::ReadOnly(bytes.clone())), &reading, String::from("source"))
            .unwrap(),
        common::open(bytes),
    ]
}

#[test]
fn ranges_equal_the_component_in_every_mode_encoding_and_frame_size() {
    let folder = Folder::new();
    let content = compressible(300_001);
    for (encoding, frame_size) in [
        (Encoding::Raw, 1 << 20),
        (Encoding::Zstd, 1024),
        (Encoding::Zstd, 65_536),
        (Encoding::Zstd, 1 << 20),
    ] {
        let path = folder.path("ranges.zt");
        let sample = Sample::dense("r", Dtype::U8, &[300_001], content.clone());
        std::fs::write(&path, common::file_of(&options(encoding, frame_size), &[sample])).unwrap();
        for file in opened(&path) {
            let component = common::data(&file, "r");
            let mut random = Random(frame_size + 3);
            for round in 0..60 {
                // Near the ends of frames, and at random positions.
                let near =
                    |random: &mut Random| (random.below(300) * 1024 + random.below(3)).saturating_sub(1);
                let mut pick = || if round % 2 == 0 { near(&mut random) } else { random.below(300_002) };
                let (a, b) = (pick().min(300_001), pick().min(300_001));
                let (start, end) = (a.min(b) as usize, a.max(b) as usize);
                let mut range = vec![0xaa; end - start];
                component.read_range(start as u64, &mut range).unwrap();
                assert!(
                    range == content[start..end],
                    "{start}..{end}, {encoding:?} in frames of {frame_size}"
                );
            }
            for (offset, size) in [(300_001, 1), (300_002, 0), (0, 300_002), (u64::MAX, 1), (u64::MAX, 0)] {
                let refused = cause(component.read_range(offset, &mut vec![0; size]));
                assert_eq!(refused, Some(Cause::InvalidArgument), "{size} bytes at {offset}");
            }
            assert_eq!(cause(component.read(&mut vec![0; 300_000])), Some(Cause::BufferSize));
            let mut buffer = vec![0xaa; 300_010];
            component.read(&mut buffer).unwrap();
            assert!(
                buffer[..300_001] == content && buffer[300_001..].iter().all(|b| *b == 0xaa),
                "bytes after the range were written"
            );
        }
    }
}

#[test]
fn ranges_of_more_components_than_are_remembered_by_several_threads() {
    let mut random = Random(77);
    let noise: Vec<u8> = (0..400_000).map(|_| random.below(256) as u8).collect();
    let content = |of: usize| noise[of * 1000..][..300_001].to_vec();
    let sample = |of: usize| Sample::dense(&format!("{of}"), Dtype::U8, &[300_001], content(of));
    let samples: Vec<Sample> = (0..40).map(sample).collect();
    let mut bytes = common::file_of(&options(Encoding::Zstd, 1024), &samples);
    let read = &|file: &File, seed: u64| {
        let mut random = Random(seed);
        for round in 0..400 {
            let of = if round % 3 == 0 { 7 } else { random.below(40) as usize };
            let start = random.below(300_000) as usize;
            let mut range = vec![0xaa; (300_001 - start).min(5000)];
            let outcome = common::data(file, &format!("{of}")).read_range(start as u64, &mut range);
            outcome.unwrap();
            assert!(range == noise[of * 1000..][start..][..range.len()], "{of}: {start}");
        }
    };
    let file = &common::open(bytes.clone());
    std::thread::scope(|scope| {
        for seed in 1..5 {
            scope.spawn(move || read(file, seed));
        }
    });

    // Every range reports an invalid frame, wherever it is.
    let stored = common::data(file, "5").offset() + common::data(file, "5").stored_size();
    let last = bytes[..stored as usize].windows(4).rposition(|w| w == [0x28, 0xb5, 0x2f, 0xfd]).unwrap();
    bytes[last] ^= 1;
    let broken = common::open(bytes);
    for offset in [0, 300_000, 0] {
        let refused = common::data(&broken, "5").read_range(offset, &mut [0]);
        assert_eq!(common::rule(refused), Some(Rule::ZstdTrailing), "{offset}");
    }
}

#[test]
fn ranges_of_big_endian_data_may_begin_and_end_within_an_element() {
    let path = common::repository("tests/data/v0.1/rs-0.1.0-big-endian.zt");
    for mode in [Mode::Map, Mode::Read] {
        let file = File::open(&path, &OpenOptions { mode, ..OpenOptions::default() }).unwrap();
        let mut big_endian = 0;
        for component in file.objects().flat_map(|o| o.components()) {
            let whole = common::read(&component);
            for start in 0..=whole.len() {
                for end in start..=whole.len() {
                    let mut range = vec![0xaa; end - start];
                    component.read_range(start as u64, &mut range).unwrap();
                    assert_eq!(range, whole[start..end], "{} {start}..{end}", component.object().name());
                }
            }
            big_endian += usize::from(component.entry().is_big_endian());
            let borrows = mode == Mode::Map && common::byte_order::is_as_here(&component);
            let borrowed = borrows.then_some(whole.as_slice()).ok_or(Cause::NotMappable);
            assert_eq!(component.borrow().map_err(|e| e.cause()), borrowed);
        }
        assert_eq!(big_endian, 11);
    }
}

/// A slab, element by element.
fn reference_slice(shape: &[u64], slab: &Hyperslab<'_>, width: usize, whole: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut index = vec![0u64; shape.len()];
    if slab.count.contains(&0) {
        return out;
    }
    loop {
        let mut at = 0;
        for (dimension, extent) in shape.iter().enumerate() {
            let step = slab.step.map_or(1, |s| s[dimension]);
            at = at * extent + slab.start[dimension] + index[dimension] * step;
        }
        out.extend_from_slice(&whole[at as usize * width..][..width]);
        let Some(turn) = (0..shape.len()).rev().find(|d| index[*d] + 1 < slab.count[*d]) else { return out };
        index[turn] += 1;
        index[turn + 1..].fill(0);
    }
}

/// A random slab of the shape: start, count, step.
fn random_slab(random: &mut Random, shape: &[u64]) -> [Vec<u64>; 3] {
    let mut slab = [Vec::new(), Vec::new(), Vec::new()];
    for extent in shape {
        let start = random.below(extent + 1);
        let step = 1 + random.below(4);
        let most = (extent - start).div_ceil(step);
        let count = if random.below(4) == 0 { most } else { random.below(most + 1) };
        [start, count, step].into_iter().zip(&mut slab).for_each(|(value, list)| list.push(value));
    }
    slab
}

#[test]
fn hyperslabs_equal_the_result_of_a_simple_loop() {
    let folder = Folder::new();
    let shapes: [&[u64]; 7] = [&[], &[17], &[6, 9], &[4, 5, 7], &[3, 1, 8, 5], &[2, 3, 2, 3, 2], &[40, 700]];
    let types =
        [(Dtype::U8, None), (Dtype::F16, None), (Dtype::F32, Some(Logical::Complex64)), (Dtype::F64, None)];
    let mut samples = Vec::new();
    for (dtype, logical) in types {
        for shape in shapes {
            let ratio = logical.map_or(1, Logical::ratio) as usize;
            let bytes = elements(dtype, shape.iter().product::<u64>() as usize * ratio);
            let part = common::Part { role: "data", dtype, logical, bytes };
            let name = format!("{dtype:?} {shape:?}");
            samples.push(Sample {
                name,
                format: "dense",
                shape: shape.to_vec(),
                attributes: "{}",
                parts: vec![part],
            });
        }
    }
    let mut slabs = 0;
    for (encoding, frame_size) in [(Encoding::Raw, 1024), (Encoding::Zstd, 1024)] {
        let path = folder.path("slabs.zt");
        std::fs::write(&path, common::file_of(&options(encoding, frame_size), &samples)).unwrap();
        for file in opened(&path) {
            let mut random = Random(99);
            for sample in &samples {
                let object = file.find(&sample.name).unwrap();
                let part = &sample.parts[0];
                let width = part.bytes.len() / (sample.shape.iter().product::<u64>() as usize);
                for round in 0..20 {
                    let [start, count, step] = random_slab(&mut random, &sample.shape);
                    let step = if round % 5 == 0 { vec![1; step.len()] } else { step };
                    let count: Vec<u64> = (0..count.len())
                        .map(|d| count[d].min((sample.shape[d] - start[d]).div_ceil(step[d])))
                        .collect();
                    let plain = round % 5 == 0;
                    let slab = Hyperslab { start: &start, count: &count, step: (!plain).then_some(&step) };
                    let wanted = reference_slice(&sample.shape, &slab, width, &part.bytes);
                    let mut found = vec![0xaa; wanted.len() + 3];
                    object.read_slice(&slab, &mut found).unwrap_or_else(|e| panic!("{slab:?}: {e}"));
                    assert!(found[..wanted.len()] == wanted, "{slab:?} of {}", sample.name);
                    assert_eq!(found[wanted.len()..], [0xaa; 3], "bytes behind {slab:?} of {}", sample.name);
                    if !wanted.is_empty() {
                        let short = &mut found[..wanted.len() - 1];
                        assert_eq!(cause(object.read_slice(&slab, short)), Some(Cause::BufferSize));
                    }
                    slabs += 1;
                }
            }
        }
    }
    assert_eq!(slabs, 2 * 6 * 28 * 20);
}

#[test]
fn slabs_that_leave_the_shape_or_have_another_rank_are_invalid_arguments() {
    let samples = [
        Sample::dense("m", Dtype::F32, &[4, 6], elements(Dtype::F32, 24)),
        common::every_format(Dtype::F32, None).remove(1),
    ];
    let file = common::open(common::file_of(&WriterOptions::default(), &samples));
    let dense = file.find("m").unwrap();
    let mut dst = [0; 96];
    let mut try_slab = |start: &[u64], count: &[u64], step: Option<&[u64]>| {
        cause(dense.read_slice(&Hyperslab { start, count, step }, &mut dst))
    };
    let bad = Some(Cause::InvalidArgument);
    assert_eq!(try_slab(&[0, 0], &[4, 6], None), None);
    assert_eq!(
        try_slab(&[3, 5], &[1, 1], Some(&[u64::MAX, u64::MAX])),
        None,
        "a step is ignored if only one element is read"
    );
    assert_eq!(try_slab(&[4, 6], &[0, 0], None), None, "an empty slab at the end of the shape");
    assert_eq!(try_slab(&[0, 0], &[5, 6], None), bad);
    assert_eq!(try_slab(&[0, 1], &[4, 6], None), bad);
    assert_eq!(try_slab(&[0, 0], &[4, 3], Some(&[1, 3])), bad);
    assert_eq!(try_slab(&[0, 0], &[4, 6], Some(&[0, 1])), bad);
    assert_eq!(try_slab(&[0, 0], &[2, 2], Some(&[u64::MAX, 1])), bad);
    assert_eq!(try_slab(&[u64::MAX, 0], &[u64::MAX, 1], None), bad);
    assert_eq!(try_slab(&[5, 0], &[0, 1], None), bad);
    assert_eq!(try_slab(&[0], &[4], None), bad);
    assert_eq!(try_slab(&[0, 0, 0], &[1, 1, 1], None), bad);
    assert_eq!(try_slab(&[0, 0], &[4, 6], Some(&[1])), bad);
    let sparse = file.objects().nth(1).unwrap();
    let slab = Hyperslab { start: &[0, 0], count: &[1, 1], step: None };
    assert_eq!(cause(sparse.read_slice(&slab, &mut dst)), Some(Cause::Unsupported));
}

/// The complete component, a range and a slab of every component, as one batch.
fn parts<'a>(component: &Component<'_>, range: (u64, u64), slab: &'a [Vec<u64>; 3]) -> Vec<Selection<'a>> {
    let [start, count, step] = slab;
    let dense = component.role() == "data";
    let mut parts = vec![Selection::Whole, Selection::Range { offset: range.0, length: range.1 - range.0 }];
    parts.extend(dense.then_some(Selection::Slab(Hyperslab { start, count, step: Some(step) })));
    parts
}

#[test]
fn a_batch_equals_single_reads_with_any_number_of_threads() {
    let folder = Folder::new();
    let path = folder.path("batch.zt");
    let sizes = [0u64, 1, 4096, 100_000, 300_001];
    let mut samples: Vec<Sample> = sizes
        .iter()
        .map(|n| Sample::dense(&format!("t{n}"), Dtype::U8, &[*n], compressible(*n as usize)))
        .collect();
    samples.extend(common::every_format(Dtype::Bf16, None).into_iter().skip(1));
    for encoding in common::encodings() {
        std::fs::write(&path, common::file_of(&options(encoding, 4096), &samples)).unwrap();
        for file in opened(&path) {
            for (threads, chunk_size, verify) in
                [(1, 4096, true), (2, 65_536, false), (4, 1 << 20, true), (0, 5000, true)]
            {
                let mut random = Random(5);
                let components: Vec<Component<'_>> = file.objects().flat_map(|o| o.components()).collect();
                let drawn: Vec<_> = (components.iter())
                    .map(|c| {
                        let size = c.size().unwrap();
                        let start = random.below(size + 1);
                        (
                            *c,
                            (start, start + random.below(size - start + 1)),
                            random_slab(&mut random, c.object().shape()),
                        )
                    })
                    .collect();
                let plan: Vec<(Component<'_>, Selection<'_>)> =
                    drawn.iter().flat_map(|(c, r, s)| parts(c, *r, s).into_iter().map(|p| (*c, p))).collect();
                let wanted: Vec<Vec<u8>> = plan.iter().map(|(c, part)| single_read(c, part)).collect();
                let mut memory: Vec<Vec<u8>> = wanted.iter().map(|w| vec![0xaa; w.len()]).collect();
                let mut requests: Vec<Request<'_>> = (plan.iter().zip(&mut memory).zip(0..))
                    .map(|(((component, part), dst), tag)| component.request(part, dst, tag).unwrap())
                    .collect();
                let batch = BatchOptions {
                    threads,
                    chunk_size,
                    verify,
                    direct: Direct::Never,
                    ..BatchOptions::default()
                };
                let done = std::sync::Mutex::new(Vec::new());
                let mut stats = BatchStats::default();
                let note = |tag: u64, outcome: &Result<()>| {
                    assert!(outcome.is_ok(), "{tag}: {outcome:?}");
                    done.lock().unwrap().push(tag);
                };
                File::read_batch(&mut requests, &batch, &note, &|_, _| true, &mut stats).unwrap();
                drop(requests);
                assert!(memory == wanted, "{threads} threads, chunks of {chunk_size}, {encoding:?}");
                let mut done = done.into_inner().unwrap();
                done.sort_unstable();
                assert!(done.into_iter().eq(0..plan.len() as u64), "each request is reported once");
                assert_eq!(stats.requests, plan.len() as u64);
                assert_eq!(stats.bytes, wanted.iter().map(|w| w.len() as u64).sum::<u64>());
                // A range that covers a complete component is verified like the component.
                let covers_all = |(c, part): &&(Component<'_>, Selection<'_>)| match part {
                    Selection::Whole => true,
                    Selection::Range { offset, length } => *offset == 0 && *length == c.size().unwrap(),
                    Selection::Slab(_) | Selection::Rows { .. } => false,
                };
                let digests = if verify { plan.iter().filter(covers_all).count() } else { 0 };
                assert_eq!(stats.digests_verified, digests as u64);
                assert!(!verify || digests >= components.len());
            }
        }
    }
}

fn single_read(component: &Component<'_>, part: &Selection<'_>) -> Vec<u8> {
    match part {
        Selection::Whole => common::read(component),
        Selection::Range { offset, length } => {
            let mut bytes = vec![0; *length as usize];
            component.read_range(*offset, &mut bytes).unwrap();
            bytes
        }
        Selection::Rows { offset, rows, row_length, row_stride } => {
            let mut bytes = vec![0; (rows * row_length) as usize];
            for (row, dst) in (0u64..).zip(bytes.chunks_mut(*row_length as usize)) {
                component.read_range(offset + row * row_stride, dst).unwrap();
            }
            bytes
        }
        Selection::Slab(slab) => {
            let mut bytes = vec![0; slab.count.iter().product::<u64>() as usize];
            component.object().read_slice(slab, &mut bytes).unwrap();
            bytes
        }
    }
}

#[test]
fn a_batch_stops_when_cancelled_and_at_a_digest_that_is_wrong() {
    let sample = |name: &str| Sample::dense(name, Dtype::U8, &[50_000], compressible(50_000));
    let mut bytes = common::file_of(&options(Encoding::Raw, 1024), &[sample("a"), sample("b")]);
    let run = |file: &File, progress: bool| {
        let mut memory = [vec![0; 50_000], vec![0; 50_000]];
        let mut requests: Vec<Request<'_>> = (file.objects().zip(&mut memory).zip(0..))
            .map(|((o, dst), tag)| o.component("data").unwrap().request(&Selection::Whole, dst, tag).unwrap())
            .collect();
        let batch = BatchOptions { verify: true, chunk_size: 4096, threads: 2, ..BatchOptions::default() };
        let outcome =
            File::read_batch(&mut requests, &batch, &|_, _| (), &|_, _| progress, &mut BatchStats::default());
        outcome.map_err(|e| e.cause())
    };
    let file = common::open(bytes.clone());
    assert_eq!(run(&file, true), Ok(()));
    assert_eq!(run(&file, false), Err(Cause::Cancelled));
    let at = common::data(&file, "b").offset() as usize + 49_999;
    bytes[at] ^= 1;
    assert_eq!(run(&common::open(bytes), true), Err(Cause::DigestMismatch));
}
