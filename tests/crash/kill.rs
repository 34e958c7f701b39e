//! Writers killed at every system call. The result is the old file, the new file, or a file that a repair
//! restores.
#![cfg(target_os = "linux")]

use crate::common;
use crate::fakes;
use crate::traced;

use common::content::{append, contents, new_object, raw, zstd, ztensor_2};
use common::{compressible, Folder, Random, Sample};
use fakes::appending;
use std::path::Path;
use traced::{at_every_stop, Ended, SKIPPED};
use ztensor::error::Rule;
use ztensor::model::dtype::Dtype;
use ztensor::reader::{File, OpenOptions};
use ztensor::writer::{repair, RepairOptions, Writer, WriterOptions};

/// The child is a fork of one thread, so it must not start threads.
fn one_thread(options: WriterOptions, durable: bool) -> WriterOptions {
    WriterOptions { threads: 1, durable, ..options }
}

fn old() -> Vec<u8> {
    common::file_of(&zstd(), &[new_object("a"), Sample::dense("b", Dtype::F32, &[], vec![1, 2, 3, 4])])
}

/// Some objects are buffered, one is written at once.
fn new() -> Vec<Sample> {
    vec![
        new_object("c"),
        Sample::dense("large", Dtype::U8, &[2 << 20], compressible(2 << 20)),
        new_object("d"),
    ]
}

fn write_new(writer: &mut Writer) {
    new().iter().for_each(|s| s.write(writer).unwrap());
}

/// Writes in pieces, with digests, compressed in frames.
fn stream_new(writer: &mut Writer) {
    new().iter().for_each(|s| s.stream(writer, 300_000).unwrap());
}

/// Checks that the folder has only the file and, at most, the temporary file of one killed writer.
fn assert_tidy(folder: &Folder, what: &str) {
    let mut names = folder.names();
    names.retain(|n| n != "file.zt");
    let is_temporary = |n: &String| n.starts_with(".file.zt.") && n.ends_with(".tmp");
    assert!(names.len() <= 1 && names.iter().all(is_temporary), "{what}: {names:?}");
    for name in names {
        std::fs::remove_file(folder.path(&name)).unwrap();
    }
}

#[test]
fn a_writer_killed_at_any_system_call_leaves_the_old_file_or_the_new_one() {
    let _turn = crate::turn();
    let (folder, before) = (Folder::new(), old());
    let path = folder.path("file.zt");
    let source = common::open(before.clone());
    type Body<'a> = &'a dyn Fn(&mut Writer);
    let copy = |w: &mut Writer| {
        source.objects().for_each(|o| w.copy(o, o.name()).unwrap());
        write_new(w);
    };
    let cases: [(_, _, _, Body<'_>); 5] = [
        ("create", raw(), false, &write_new),
        ("durable", raw(), true, &write_new),
        ("copy", raw(), true, &copy),
        ("stream", zstd(), true, &stream_new),
        ("zTensor 2", ztensor_2(), true, &stream_new),
    ];
    for (what, options, durable, write) in cases {
        let options = one_thread(options, durable);
        let body = || {
            let mut writer = Writer::create(&path, &options).unwrap();
            write(&mut writer);
            writer.finish().unwrap();
        };
        body();
        let after = std::fs::read(&path).unwrap();
        let (mut olds, mut news) = (0, 0);
        let prepare = || std::fs::write(&path, &before).unwrap();
        let killed = at_every_stop(what, &prepare, &body, &mut |what| {
            let now = std::fs::read(&path).unwrap();
            assert!(now == before || now == after, "{what}: {} bytes", now.len());
            olds += usize::from(now == before);
            news += usize::from(now == after);
            assert_tidy(&folder, what);
        });
        println!("{what}: killed {killed} times, {olds} old, {news} new");
        assert!(killed == SKIPPED || killed > 40 && olds > 0 && news > 0, "{what}: {killed} {olds} {news}");
    }
}

/// Checks the file after a kill during an append: it is the new file, or repairs to the old one. Returns
/// whether it is the new one.
fn recovered_state(path: &Path, before: &[u8], after: &[u8], old_manifest: usize, what: &str) -> bool {
    let killed = std::fs::read(path).unwrap();
    let opened = File::open(path, &OpenOptions::default());
    // Also if the file opens: the record of an append without writes is cleared.
    let report = repair(path, &RepairOptions::default()).unwrap_or_else(|e| panic!("{what}: {e}"));
    if let Err(e) = opened {
        let said =
            format!("unfinished append; last good end at byte {} of {}", report.new_size, killed.len());
        assert_eq!(e.rule(), Some(Rule::UnfinishedAppend), "{what}: {e}");
        assert!(e.message().contains(&said), "{what}: {e}");
    }
    let image = std::fs::read(path).unwrap();
    if image == before {
        return false;
    }
    let file = File::open(path, &OpenOptions::default()).unwrap_or_else(|e| panic!("{what}: {e}"));
    assert_eq!(file.object_count(), 5, "{what}");
    // Only the cleared part of the old manifest may differ.
    assert!(image[..old_manifest] == before[..old_manifest], "{what}: an old byte changed");
    assert!(image[before.len()..] == after[before.len()..], "{what}: the added bytes are not complete");
    true
}

#[test]
fn an_append_killed_at_any_system_call_loses_nothing() {
    let _turn = crate::turn();
    let (folder, before) = (Folder::new(), old());
    let path = folder.path("file.zt");
    let old_manifest = before.len() - 16 - common::manifest_bytes(&before).len();
    let cases: [(_, _, _, fn(&mut Writer)); 3] = [
        ("append", raw(), false, write_new),
        ("durable append", raw(), true, write_new),
        ("streamed append", zstd(), true, stream_new),
    ];
    for (what, options, durable, write) in cases {
        let prepare = || std::fs::write(&path, &before).unwrap();
        let body = || append(&path, &one_thread(options.clone(), durable), write);
        prepare();
        body();
        let after = std::fs::read(&path).unwrap();
        let (mut olds, mut news) = (0, 0);
        let killed = at_every_stop(what, &prepare, &body, &mut |what| {
            let new = recovered_state(&path, &before, &after, old_manifest, what);
            news += usize::from(new);
            olds += usize::from(!new);
            assert_eq!(folder.names(), ["file.zt"], "{what}");
        });
        println!("{what}: killed {killed} times, {olds} old, {news} new");
        assert!(killed == SKIPPED || killed > 40 && olds > 0 && news > 0, "{what}: {killed} {olds} {news}");
    }
}

#[test]
fn an_append_to_ztensor_2_killed_at_any_system_call_is_repaired_or_complete() {
    let _turn = crate::turn();
    let folder = Folder::new();
    let path = folder.path("file.zt");
    let before = common::file_of(&ztensor_2(), &[new_object("a"), new_object("b")]);
    for durable in [false, true] {
        let prepare = || std::fs::write(&path, &before).unwrap();
        let body = || append(&path, &one_thread(zstd(), durable), stream_new);
        prepare();
        body();
        let after = std::fs::read(&path).unwrap();
        let (mut olds, mut news) = (0, 0);
        let killed = at_every_stop("zTensor 2", &prepare, &body, &mut |what| {
            repair(&path, &RepairOptions::default()).unwrap_or_else(|e| panic!("{what}: {e}"));
            let now = std::fs::read(&path).unwrap();
            assert!(now == before || now == after, "{what}: {} bytes", now.len());
            olds += usize::from(now == before);
            news += usize::from(now == after);
            assert_eq!(folder.names(), ["file.zt"], "{what}");
        });
        println!("append to zTensor 2: killed {killed} times, {olds} old, {news} new");
        assert!(killed == SKIPPED || killed > 20 && olds > 0 && news > 0, "{killed} {olds} {news}");
    }
}

#[test]
fn a_repair_killed_at_any_system_call_can_be_done_again() {
    let _turn = crate::turn();
    let (folder, before) = (Folder::new(), old());
    let path = folder.path("file.zt");
    // With a record, which is cleared when the file is truncated, and without.
    for debris in [appending(&before, &compressible(5000)), [&before[..], &compressible(5000)].concat()] {
        a_repair_killed(&path, &before, &debris);
    }
}

fn a_repair_killed(path: &Path, before: &[u8], debris: &[u8]) {
    let cut = &debris[..before.len()];
    let body = || assert_eq!(repair(path, &RepairOptions::default()).unwrap().objects, 2);
    let (mut olds, mut news) = (0, 0);
    let killed = at_every_stop("repair", &|| std::fs::write(path, debris).unwrap(), &body, &mut |what| {
        let now = std::fs::read(path).unwrap();
        assert!(now == before || now == cut || now == debris, "{what}: {} bytes", now.len());
        olds += usize::from(now == debris);
        news += usize::from(now == before);
        body();
        assert!(std::fs::read(path).unwrap() == before, "{what}");
    });
    println!("repair: killed {killed} times, {olds} before, {news} after");
    assert!(killed == SKIPPED || killed > 10 && olds > 0 && news > 0, "{killed} {olds} {news}");
}

#[test]
fn appends_in_a_loop_killed_at_any_time_lose_no_object() {
    let _turn = crate::turn();
    const KILLS: usize = 150;
    let folder = Folder::new();
    let path = folder.path("file.zt");
    std::fs::write(&path, old()).unwrap();
    let mut random = Random(7);
    let (mut all, mut repaired) = (contents(&common::open(old())), 0);
    for round in 0..KILLS {
        let child = traced::fork(|| {
            for at in 0.. {
                append(&path, &one_thread(zstd(), at % 2 == 1), |w| {
                    new_object(&format!("{round}.{at}")).write(w).unwrap();
                });
            }
        });
        std::thread::sleep(std::time::Duration::from_micros(random.below(4000)));
        assert_eq!(traced::kill(child), Ended::Killed);
        let what = format!("round {round}");
        let report = repair(&path, &RepairOptions::default()).unwrap_or_else(|e| panic!("{what}: {e}"));
        repaired += usize::from(report.new_size < report.old_size);
        let file = File::open(&path, &OpenOptions::default()).unwrap_or_else(|e| panic!("{what}: {e}"));
        let now = contents(&file);
        assert!(now.starts_with(&all), "{what}: an object was lost");
        all = now;
    }
    println!("killed {KILLS} times at any time, {repaired} unfinished appends, {} objects", all.len() / 2);
    assert!(all.len() > 4, "no append finished");
}
