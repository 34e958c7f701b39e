//! Interrupted appends: the old bytes are intact before the new ones, every open reports the unfinished
//! append, and a repair removes it.

use crate::common;
use crate::fakes;

use common::content::{append, contents, new_object, raw, zstd};
use common::tree::Tree;
use common::{compressible, Folder, Sample};
use fakes::appending;
use std::path::Path;
use ztensor::error::{Cause, Rule};
use ztensor::model::dtype::Dtype;
use ztensor::reader::{File, Mode, OpenOptions};
use ztensor::writer::{repair, RepairOptions, Writer, WriterOptions};

/// A file, and the same file after an append that did not clear the old footer yet.
fn crashed(folder: &Folder, new: &[Sample]) -> (Vec<u8>, Vec<u8>) {
    let path = folder.path("crash.zt");
    let before =
        common::file_of(&zstd(), &[new_object("a"), Sample::dense("b", Dtype::F32, &[], vec![1, 2, 3, 4])]);
    std::fs::write(&path, &before).unwrap();
    append(&path, &zstd(), |w| {
        new.iter().for_each(|s| s.write(w).unwrap());
        w.set_attribute("step", Tree::Unsigned(7).owned().get()).unwrap();
    });
    let after = std::fs::read(&path).unwrap();
    let uncleared = [&before[..], &after[before.len()..]].concat();
    (before, uncleared)
}

/// Checks a file that ends in an unfinished append and could end at several places. An open reports it, and a
/// repair does nothing. With the right place, a repair restores `before`.
fn assert_in_doubt(path: &Path, image: &[u8], before: &[u8], what: &str) {
    std::fs::write(path, image).unwrap();
    for outcome in [
        File::open(path, &OpenOptions::default()).map(drop),
        repair(path, &RepairOptions::default()).map(drop),
    ] {
        let error = outcome.expect_err(what);
        assert_eq!(error.rule(), Some(Rule::UnfinishedAppend), "{what}: {error}");
        assert!(error.message().contains(&format!("at byte {} (", before.len())), "{what}: {error}");
        assert!(std::fs::read(path).unwrap() == image, "{what}: the file changed");
    }
    repair(path, &RepairOptions { cut_at: before.len() as u64, ..RepairOptions::default() }).unwrap();
    assert!(std::fs::read(path).unwrap() == before, "{what}: not repaired");
}

/// Checks a file that ends in an unfinished append: an open reports it, and a repair restores `before`.
fn assert_unfinished(path: &Path, image: &[u8], before: &[u8], what: &str) {
    std::fs::write(path, image).unwrap();
    let said =
        format!("ends in an unfinished append; last good end at byte {} of {}", before.len(), image.len());
    let mode = if image.len() % 2 == 0 { Mode::Map } else { Mode::Read };
    let error = File::open(path, &OpenOptions { mode, ..OpenOptions::default() }).expect_err(what);
    assert_eq!(error.rule(), Some(Rule::UnfinishedAppend), "{what}: {error}");
    assert!(error.message().contains(&said), "{what}: {error}");
    let report = repair(path, &RepairOptions::default()).unwrap_or_else(|e| panic!("{what}: {e}"));
    assert_eq!(
        (report.old_size, report.new_size, report.objects),
        (image.len() as u64, before.len() as u64, 2)
    );
    assert!(std::fs::read(path).unwrap() == before, "{what}: not repaired");
}

#[test]
fn debris_is_neither_appended_to_nor_touched_by_a_dry_run() {
    let _turn = crate::turn();
    let folder = Folder::new();
    let (before, uncleared) = crashed(&folder, &[new_object("c")]);
    let (path, image) = (folder.path("debris.zt"), &uncleared[..before.len() + 100]);
    std::fs::write(&path, image).unwrap();
    let refused = Writer::append(&path, &raw()).map(drop).map_err(|e| e.rule());
    assert_eq!(refused, Err(Some(Rule::UnfinishedAppend)));
    let report = repair(&path, &RepairOptions { dry_run: true, ..RepairOptions::default() }).unwrap();
    assert_eq!((report.old_size, report.new_size), (image.len() as u64, before.len() as u64));
    assert!(std::fs::read(&path).unwrap() == image);
    for (content, cause) in
        [(&b"no tensor"[..], Cause::NotZtensor), (b"ZTEN1000 and no end", Cause::Broken(Rule::FooterMagic))]
    {
        std::fs::write(&path, content).unwrap();
        assert_eq!(repair(&path, &RepairOptions::default()).map_err(|e| e.cause()), Err(cause));
        assert_eq!(std::fs::read(&path).unwrap(), content, "a file that cannot be repaired changed");
    }
}

#[test]
fn an_append_that_was_cut_at_any_byte_is_named_and_repaired() {
    let _turn = crate::turn();
    let folder = Folder::new();
    let (before, uncleared) = crashed(&folder, &[Sample::dense("c", Dtype::U8, &[90], compressible(90))]);
    let path = folder.path("cut.zt");
    for cut in before.len() + 1..uncleared.len() {
        assert_unfinished(&path, &uncleared[..cut], &before, &format!("cut at {cut}"));
    }
    let old = common::open(before.clone());
    assert_eq!(contents(&common::open(uncleared[..before.len()].to_vec())), contents(&old));
    let new = common::open(uncleared.clone());
    assert_eq!((new.object_count(), new.attributes().unwrap().get("step").unwrap().as_u64()), (3, Some(7)));

    // Blocks that the file system allocated but never filled.
    for zeroed in [1, 7, 8, 9, 16, 100, uncleared.len() - before.len()] {
        let (kept, lost) = uncleared.split_at(uncleared.len() - zeroed);
        let image = [kept, &vec![0; lost.len()]].concat();
        assert_unfinished(&path, &image, &before, &format!("{zeroed} bytes zero"));
    }
}

#[test]
fn a_crash_while_the_old_manifest_is_cleared_leaves_the_new_file() {
    let _turn = crate::turn();
    let folder = Folder::new();
    let (before, uncleared) = crashed(&folder, &[new_object("c")]);
    let start = before.len() - 16 - common::manifest_bytes(&before).len();
    for cleared in start..=before.len() {
        let mut image = uncleared.clone();
        image[start..cleared].fill(0);
        let file = common::open(image);
        assert_eq!(file.object_count(), 3, "cleared to {cleared}");
        assert_eq!(common::read(&common::data(&file, "c")), compressible(1000));
    }
    let path = folder.path("whole.zt");
    std::fs::write(&path, &uncleared).unwrap();
    let report = repair(&path, &RepairOptions::default()).unwrap();
    assert_eq!(
        (report.old_size, report.new_size, report.objects),
        (uncleared.len() as u64, uncleared.len() as u64, 3)
    );
    assert!(std::fs::read(&path).unwrap() == uncleared, "a file that opens changed");
}

#[test]
fn magics_within_the_appended_bytes_do_not_hide_the_last_good_end() {
    let _turn = crate::turn();
    let folder = Folder::new();
    let magic = b"ZTEN1000";
    let blob =
        [&magic[..], &[1; 8], magic, &[0; 8], magic, &[0xff; 8], magic, b"ZTEN0001", magic, magic].concat();
    let size = blob.len() as u64;
    let object = Sample::dense("magics", Dtype::U8, &[size], blob.clone());
    let path = folder.path("magic.zt");
    let before = common::file_of(&raw(), &[new_object("a"), new_object("b")]);
    std::fs::write(&path, &before).unwrap();
    append(&path, &raw(), |w| object.write(w).unwrap());
    let after = std::fs::read(&path).unwrap();
    let start = common::data(&common::open(after.clone()), "magics").offset() as usize;
    assert_eq!(after[start..start + blob.len()], blob);
    for cut in start..start + blob.len() + 4 {
        let image = [&before[..], &after[before.len()..cut]].concat();
        assert_unfinished(&path, &image, &before, &format!("cut {} bytes into the magics", cut - start));
    }
}

#[test]
fn the_end_of_a_file_inside_a_tensor_is_not_an_end_of_the_outer_file() {
    let _turn = crate::turn();
    let folder = Folder::new();
    let inner = common::file_of(&raw(), &[new_object("inner")]);
    let embedded = || Sample::dense("held", Dtype::U8, &[inner.len() as u64], inner.clone());
    let path = folder.path("nested.zt");
    // The old part also contains a file. Its end is not the last good end either.
    let before = common::file_of(&raw(), &[embedded(), new_object("b")]);
    for durable in [false, true] {
        std::fs::write(&path, &before).unwrap();
        append(&path, &WriterOptions { durable, ..raw() }, |w| {
            Sample { name: "another".into(), ..embedded() }.write(w).unwrap();
            new_object("c").write(w).unwrap();
        });
        let after = std::fs::read(&path).unwrap();
        let another = common::data(&common::open(after.clone()), "another").offset() as usize;
        assert_unfinished(
            &path,
            &appending(&before, &after[before.len()..another + inner.len()]),
            &before,
            "at the inner end",
        );
        for cut in [another + inner.len() - 1, another + inner.len() + 1, after.len() - 9] {
            let appended = &after[before.len()..cut];
            assert_unfinished(&path, &appending(&before, appended), &before, &format!("cut at {cut}"));
            assert_in_doubt(&path, &[&before[..], appended].concat(), &before, &format!("cut at {cut}"));
        }
    }
}

#[test]
fn an_append_that_stops_where_the_file_within_it_ends_is_not_that_file() {
    let _turn = crate::turn();
    let folder = Folder::new();
    let path = folder.path("growing.zt");
    // Larger than the buffer, so it is written at once.
    let large = Sample::dense("large", Dtype::U8, &[3 << 20], compressible(3 << 20));
    let inner = common::file_of(&raw(), &[large]);
    let embedded = Sample::dense("held", Dtype::U8, &[inner.len() as u64], inner);
    let before = common::file_of(&raw(), &[new_object("a"), new_object("b")]);
    std::fs::write(&path, &before).unwrap();
    let mut writer = Writer::append(&path, &raw()).unwrap();
    embedded.write(&mut writer).unwrap();
    let killed_here = std::fs::read(&path).unwrap();
    assert_eq!(killed_here[8..40], fakes::record_of(&before));
    drop(writer);
    assert!(std::fs::read(&path).unwrap() == before);
    assert_unfinished(&path, &killed_here, &before, "killed after the inner file");
    append(&path, &raw(), |w| embedded.write(w).unwrap());
    let whole = common::open(std::fs::read(&path).unwrap());
    assert!(common::read(&common::data(&whole, "held")) == embedded.parts[0].bytes);
}

#[test]
fn old_manifests_that_writers_left_uncleared_are_not_gone_back_to() {
    let _turn = crate::turn();
    let folder = Folder::new();
    let path = folder.path("again.zt");
    let mut now = common::file_of(&raw(), &[new_object("a"), new_object("b")]);
    for (round, clears) in [false, false, true, false].into_iter().enumerate() {
        // Killed after the new end was written and before the old one was cleared; or finished.
        std::fs::write(&path, &now).unwrap();
        append(&path, &raw(), |w| new_object(&format!("round {round}")).write(w).unwrap());
        let after = std::fs::read(&path).unwrap();
        now = if clears { after } else { [&now[..], &after[now.len()..]].concat() };
        // The next append is also killed: one with a record, and one of a writer without records.
        let what = format!("round {round}");
        std::fs::write(&path, appending(&now, &compressible(500))).unwrap();
        let report = repair(&path, &RepairOptions::default()).unwrap();
        assert_eq!(report.new_size, now.len() as u64, "{what}");
        assert!(std::fs::read(&path).unwrap() == now, "{what}");
        assert_in_doubt(&path, &[&now[..], &compressible(500)].concat(), &now, &what);
    }
}
