//! Durable files bypass the page cache if possible. They have the same bytes as other files, and nothing
//! after them.
#![cfg(target_os = "linux")]

use crate::common;
use crate::traced;

use common::{compressible, Folder, Random};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use traced::Ended;
use ztensor::model::dtype::Dtype;
use ztensor::model::manifest::Encoding;
use ztensor::model::value::Attributes;
use ztensor::writer::{Algorithm, ComponentSpec, ObjectSpec, Writer, WriterOptions};

const WINDOW: usize = 2 << 20;

/// Sizes of tensors, and of the pieces in which they are written; 0 for one piece.
struct Plan {
    sizes: &'static [usize],
    piece: usize,
    /// Offset of the memory in its page.
    skew: usize,
}

const PLANS: [Plan; 9] = [
    Plan { sizes: &[1000], piece: 0, skew: 0 },
    Plan { sizes: &[1 << 20, 5], piece: 0, skew: 0 },
    Plan { sizes: &[3 * WINDOW, 2 * WINDOW - 64, 100, 9 << 20], piece: 0, skew: 0 },
    Plan { sizes: &[3 * WINDOW, 2 * WINDOW - 64, 100, 9 << 20], piece: 0, skew: 64 },
    Plan { sizes: &[6 * WINDOW + 4097, 1, 4 * WINDOW], piece: 0, skew: 1 },
    Plan { sizes: &[WINDOW - 64, WINDOW, WINDOW, 3], piece: 0, skew: 0 },
    Plan { sizes: &[5_000_001, 300], piece: 100_000, skew: 7 },
    Plan { sizes: &[9 << 20, 4095], piece: WINDOW, skew: 0 },
    Plan { sizes: &[20 << 20], piece: 5_000_000, skew: 0 },
];

fn write(path: &Path, options: &WriterOptions, plan: &Plan) {
    let data = compressible(*plan.sizes.iter().max().unwrap());
    let mut memory = vec![0; data.len() + 8192];
    let start = memory.as_ptr().align_offset(4096) + plan.skew;
    memory[start..start + data.len()].copy_from_slice(&data);
    let mut writer = Writer::create(path, options).unwrap();
    for (at, size) in plan.sizes.iter().enumerate() {
        let (name, shape) = (format!("t{at}"), [*size as u64]);
        let object = ObjectSpec { name: &name, format: "dense", shape: &shape };
        let data = &memory[start..start + size];
        let spec = ComponentSpec::new("data", Dtype::U8);
        if plan.piece == 0 {
            writer.write_object(&object, Attributes::default(), &[(spec, data)]).unwrap();
            continue;
        }
        writer.begin(&object, Attributes::default()).unwrap();
        writer.component(&spec).unwrap();
        data.chunks(plan.piece).for_each(|piece| writer.data(piece).unwrap());
        writer.end().unwrap();
    }
    let summary = writer.finish().unwrap();
    assert_eq!(summary.file_size, std::fs::metadata(path).unwrap().len());
}

#[test]
fn a_durable_file_has_the_bytes_of_any_other_and_allocates_no_more() {
    let _turn = crate::turn();
    let folder = Folder::new();
    let (usual, durable) = (folder.path("usual.zt"), folder.path("durable.zt"));
    let raw = WriterOptions::default();
    for (number, plan) in PLANS.iter().enumerate() {
        let others = [
            (4096, Some(Algorithm::Crc32c), Encoding::Raw),
            (64, Some(Algorithm::Sha256), Encoding::Raw),
            (512, None, Encoding::Zstd),
        ];
        for (large_alignment, digest, encoding) in [(0, None, Encoding::Raw), others[number % others.len()]] {
            let options = WriterOptions { large_alignment, digest, encoding, ..raw.clone() };
            write(&usual, &WriterOptions { threads: 1, ..options.clone() }, plan);
            let expected = std::fs::read(&usual).unwrap();
            for threads in [1, 2] {
                write(&durable, &WriterOptions { threads, durable: true, ..options.clone() }, plan);
                let what = format!("plan {number}, {digest:?}, {threads} threads");
                assert!(std::fs::read(&durable).unwrap() == expected, "{what}");
                let allocated = std::fs::metadata(&durable).unwrap().blocks() * 512;
                assert!(
                    allocated <= expected.len() as u64 + 65536,
                    "{what}: {allocated} bytes of {}",
                    expected.len()
                );
            }
        }
    }
    assert_eq!(folder.names(), ["durable.zt", "usual.zt"]);
}

#[test]
fn sizes_at_random_come_out_the_same() {
    let _turn = crate::turn();
    let folder = Folder::new();
    let path = folder.path("random.zt");
    let mut random = Random(23);
    let data = compressible(7 << 20);
    for round in 0..12 {
        let pieces: Vec<(usize, usize)> = (0..40)
            .map(|_| {
                let most = 16 << random.below(19);
                let size = random.below(most) as usize;
                (random.below((data.len() - size) as u64) as usize, size)
            })
            .collect();
        let body = |writer: &mut Writer| {
            let shape = [pieces.iter().map(|p| p.1 as u64).sum()];
            let object = ObjectSpec { name: "all", format: "dense", shape: &shape };
            writer.begin(&object, Attributes::default()).unwrap();
            writer.component(&ComponentSpec::new("data", Dtype::U8)).unwrap();
            pieces.iter().for_each(|(at, size)| writer.data(&data[*at..at + size]).unwrap());
            writer.end().unwrap();
        };
        let options = WriterOptions { durable: true, threads: 2, ..WriterOptions::default() };
        let mut writer = Writer::create(&path, &options).unwrap();
        body(&mut writer);
        writer.finish().unwrap();
        assert!(std::fs::read(&path).unwrap() == common::written(&options, body), "round {round}");
    }
}

/// Whether files here can be written without the page cache.
fn can_go_direct(folder: &Folder) -> bool {
    let path = folder.path("probe");
    let opened =
        std::fs::OpenOptions::new().write(true).create(true).custom_flags(libc::O_DIRECT).open(&path);
    let memory = vec![0; 8192];
    let start = memory.as_ptr().align_offset(4096);
    let can = opened.is_ok_and(|f| f.write_at(&memory[start..start + 4096], 0).is_ok());
    std::fs::remove_file(&path).unwrap();
    can
}

#[test]
fn large_durable_files_go_past_the_page_cache_and_others_do_not() {
    let _turn = crate::turn();
    let folder = Folder::new();
    if !can_go_direct(&folder) {
        println!("durable: skipped: this file system cannot write without the page cache");
        return;
    }
    let path = folder.path("x.zt");
    for (durable, plan, goes) in [
        (true, &PLANS[2], true),
        (true, &PLANS[4], true),
        (true, &PLANS[0], false),
        (false, &PLANS[2], false),
    ] {
        let options = WriterOptions { threads: 1, durable, ..WriterOptions::default() };
        let (mut direct, mut other) = (0, 0);
        let ended = traced::run(&|| write(&path, &options, plan), &mut |stop| {
            if stop.entry && stop.file().is_some_and(|f| f.parent() == Some(&folder.0)) {
                let bytes = stop.written().map_or(0, |bytes| bytes.len() as u64);
                *(if stop.is_direct() { &mut direct } else { &mut other }) += bytes;
            }
            true
        });
        if ended == Ended::Refused {
            println!("durable: skipped: this process may not trace its children");
            return;
        }
        assert_eq!(ended, Ended::Exit(0));
        let size = std::fs::metadata(&path).unwrap().len();
        assert_eq!(direct + other, size, "durable {durable}: each byte once");
        assert_eq!(direct, if goes { size - size % 4096 } else { 0 }, "durable {durable} of {size}");
    }
}

/// A process that can open the file for a moment can read all that is written to it later.
#[test]
fn a_file_that_replaces_a_private_one_is_private_from_the_start() {
    let _turn = crate::turn();
    let folder = Folder::new();
    let path = folder.path("x.zt");
    let mode = |path: &Path| path.metadata().unwrap().mode() & 0o777;
    let options = WriterOptions { threads: 1, ..WriterOptions::default() };
    for (before, most) in [(None, 0o666), (Some(0o600), 0o600), (Some(0o640), 0o640), (Some(0o644), 0o644)] {
        let _ = std::fs::remove_file(&path);
        if let Some(mode) = before {
            std::fs::write(&path, "old").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let mut seen = 0;
        let ended = traced::run(&|| write(&path, &options, &PLANS[0]), &mut |_| {
            let names = folder.names();
            for temporary in names.iter().filter(|name| name.starts_with('.')) {
                let mode = mode(&folder.path(temporary));
                assert_eq!(mode & !most, 0, "{mode:o} for {before:?}");
                seen += 1;
            }
            true
        });
        if ended == Ended::Refused {
            println!("durable: skipped: this process may not trace its children");
            return;
        }
        assert_eq!(ended, Ended::Exit(0));
        assert!(seen > 1, "the file was not seen while it grew");
        assert!(before.is_none_or(|before| mode(&path) == before), "{:o} for {before:?}", mode(&path));
    }
}
