//! Appends of bytes that look like the ends of files, killed at every system call. The result is the old file
//! or the new one. ZT_KILLS sets the number of kills; the seed counts up.
#![cfg(target_os = "linux")]

use crate::common;
use crate::fakes;
use crate::traced;

use common::content::{append, new_object, raw, zstd};
use common::{Folder, Random, Sample};
use fakes::hostile;
use std::path::Path;
use traced::{at_every_stop, SKIPPED};
use ztensor::error::Rule;
use ztensor::model::dtype::Dtype;
use ztensor::model::value::Value;
use ztensor::reader::{File, OpenOptions};
use ztensor::writer::{repair, RepairOptions, Writer, WriterOptions};

fn blob(name: &str, bytes: Vec<u8>) -> Sample {
    Sample::dense(name, Dtype::U8, &[bytes.len() as u64], bytes)
}

/// Opens and repairs `path`, and checks both results. Returns whether it is the new file.
fn settle(
    path: &Path,
    before: &[u8],
    after: &[u8],
    old_manifest: usize,
    objects: [usize; 2],
    what: &str,
) -> bool {
    let opened = File::open(path, &OpenOptions::default()).map(|file| file.object_count());
    let report = repair(path, &RepairOptions::default()).unwrap_or_else(|e| panic!("{what}: {e}"));
    let image = std::fs::read(path).unwrap();
    let is_new = image != before;
    if is_new {
        // Only the cleared part of the old manifest may differ.
        assert!(image.len() == after.len() && report.old_size == report.new_size, "{what}: a different file");
        assert!(image[..old_manifest] == before[..old_manifest], "{what}: an old byte changed");
        assert!(image[before.len()..] == after[before.len()..], "{what}: the added bytes are not complete");
    }
    match opened {
        Ok(found) => {
            assert_eq!(found, objects[usize::from(is_new)], "{what}: an open found different objects")
        }
        Err(e) => {
            assert!(!is_new, "{what}: {e}");
            assert_eq!(e.rule(), Some(Rule::UnfinishedAppend), "{what}: {e}");
            assert!(
                e.message().contains(&format!("last good end at byte {} of", before.len())),
                "{what}: {e}"
            );
        }
    }
    is_new
}

#[test]
fn an_append_of_anything_killed_at_any_system_call_is_taken_back_or_complete() {
    let _turn = crate::turn();
    let wanted =
        std::env::var("ZT_KILLS").map_or(250, |v| v.parse::<usize>().expect("ZT_KILLS is not a number"));
    let folder = Folder::new();
    let path = folder.path("file.zt");
    let inner = common::file_of(&raw(), &[new_object("inner")]);
    let (mut killed, mut olds, mut news, mut round) = (0, 0, 0, 0);
    while killed < wanted {
        let mut random = Random(1000 + round);
        // The old file also contains bytes that look like ends of files.
        let held = blob("held", hostile(64, 3000, &inner, &mut random));
        let before = common::file_of(&raw(), &[held, new_object("b")]);
        let old_manifest = before.len() - 16 - common::manifest_bytes(&before).len();
        let base = before.len() as u64;
        // Many buffered writes, and some that bypass the buffer.
        let mut size = || 1 + random.below(if round % 2 == 0 { 900 << 10 } else { 40 << 10 }) as usize;
        let sizes = [size(), size()];
        let first = base.next_multiple_of(64);
        let second = (first + sizes[0] as u64).next_multiple_of(64);
        let mut new = vec![
            blob("first", hostile(first, sizes[0], &inner, &mut random)),
            blob("second", hostile(second, sizes[1], &inner, &mut random)),
        ];
        // The last write before the manifest ends like a file.
        let third = (second + sizes[1] as u64).next_multiple_of(64);
        let front = hostile(third, 500, &inner, &mut random);
        let end =
            [fakes::coherent_tail(third + 500), inner.clone(), before.clone()][round as usize % 3].clone();
        new.push(blob("third", [front, end].concat()));
        let options = WriterOptions { threads: 1, durable: round % 4 == 3, ..raw() };
        let in_pieces = round % 5 == 4;
        let write = |w: &mut Writer| {
            let wrote = |s: &Sample| if in_pieces { s.stream(w, 70_000) } else { s.write(w) };
            new.iter().try_for_each(wrote).unwrap();
        };
        let prepare = || std::fs::write(&path, &before).unwrap();
        let body = || append(&path, &options, write);
        prepare();
        body();
        let after = std::fs::read(&path).unwrap();
        assert!(after[8..64].iter().all(|b| *b == 0), "round {round}: the head is not cleared");
        let count = at_every_stop(&format!("round {round}"), &prepare, &body, &mut |what| {
            let is_new = settle(&path, &before, &after, old_manifest, [2, 5], what);
            news += usize::from(is_new);
            olds += usize::from(!is_new);
        });
        if count == SKIPPED {
            return;
        }
        killed += count;
        round += 1;
    }
    println!("killed {killed} times in {round} rounds: {olds} old, {news} new");
    assert!(olds > 0 && news > 0, "{olds} {news}");
}

#[test]
fn an_append_to_a_file_without_data_killed_at_any_system_call_leaves_it_or_the_new_one() {
    let _turn = crate::turn();
    let folder = Folder::new();
    let path = folder.path("file.zt");
    let before = common::file_of(&zstd(), &[]);
    let inner = common::file_of(&raw(), &[new_object("inner")]);
    for durable in [false, true] {
        let options = WriterOptions { threads: 1, durable, ..raw() };
        let data = hostile(before.len() as u64, 300 << 10, &inner, &mut Random(5));
        let prepare = || std::fs::write(&path, &before).unwrap();
        let body = || append(&path, &options, |w| blob("data", data.clone()).write(w).unwrap());
        prepare();
        body();
        let after = std::fs::read(&path).unwrap();
        let (mut olds, mut news) = (0, 0);
        let killed = at_every_stop("append to an empty file", &prepare, &body, &mut |what| {
            let now = std::fs::read(&path).unwrap();
            assert!(now == before || now == after, "{what}: {} bytes", now.len());
            olds += usize::from(now == before);
            news += usize::from(now == after);
            for name in folder.names().iter().filter(|n| *n != "file.zt") {
                assert!(name.starts_with(".file.zt.") && name.ends_with(".tmp"), "{what}: {name}");
                std::fs::remove_file(folder.path(name)).unwrap();
            }
        });
        assert!(killed == SKIPPED || olds > 0 && news > 0, "{killed} {olds} {news}");
    }
}

#[test]
fn killed_edits_are_complete_or_have_no_effect() {
    let _turn = crate::turn();
    let folder = Folder::new();
    let path = folder.path("file.zt");
    let before = common::file_of(&zstd(), &["a", "b", "c"].map(new_object));
    let old_manifest = before.len() - 16 - common::manifest_bytes(&before).len();
    for (round, new) in [0, 1, 300 << 10].into_iter().enumerate() {
        let options = WriterOptions { threads: 1, durable: round == 1, ..raw() };
        let edit = |w: &mut Writer| {
            w.remove_object("a").unwrap();
            w.rename_object("b", "x").unwrap();
            w.set_attribute_of("c", "k", Value::NULL).unwrap();
            if new > 0 {
                blob("a", vec![7; new]).write(w).unwrap(); // a new object with that name
            }
        };
        let prepare = || std::fs::write(&path, &before).unwrap();
        let body = || append(&path, &options, edit);
        prepare();
        body();
        let after = std::fs::read(&path).unwrap();
        let objects = [3, 2 + usize::from(new > 0)];
        let (mut olds, mut news) = (0, 0);
        let killed = at_every_stop(&format!("edit {round}"), &prepare, &body, &mut |what| {
            let is_new = settle(&path, &before, &after, old_manifest, objects, what);
            let file = File::open(&path, &OpenOptions::default()).unwrap();
            assert_eq!((file.find("b").is_some(), file.find("x").is_some()), (!is_new, is_new), "{what}");
            assert_eq!(file.required("c").unwrap().attributes().is_some(), is_new, "{what}");
            news += usize::from(is_new);
            olds += usize::from(!is_new);
        });
        assert!(killed == SKIPPED || olds > 0 && news > 0, "{killed} {olds} {news}");
    }
}
