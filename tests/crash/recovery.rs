//! Finds where a file ended before a killed append. Its record gives the place, whatever was appended.
//! Without a record, the result is the right file or an error with the candidates, never a wrong file.

use crate::common;
use crate::fakes;

use common::content::{append, new_object, raw, zstd};
use common::{compressible, Folder, Random, Sample};
use fakes::{appending, coherent_tail, footer, hostile, MAGIC};
use std::path::Path;
use ztensor::container::AppendRecord;
use ztensor::error::{Cause, Error, Result, Rule};
use ztensor::model::dtype::Dtype;
use ztensor::reader::{File, OpenOptions, VerifyOptions, VerifyReport};
use ztensor::writer::{repair, repair_with_progress, RepairOptions, RepairReport, Writer};

fn before() -> Vec<u8> {
    common::file_of(&zstd(), &[new_object("a"), new_object("b")])
}

fn inner() -> Vec<u8> {
    common::file_of(&raw(), &[new_object("inner")])
}

fn cut_at(end: usize) -> RepairOptions {
    RepairOptions { cut_at: end as u64, ..RepairOptions::default() }
}

/// Opens and repairs `image`. Checks that the file becomes `before` or does not change.
fn safely(path: &Path, image: &[u8], before: &[u8], what: &str) -> Result<RepairReport> {
    std::fs::write(path, image).unwrap();
    let error = File::open(path, &OpenOptions::default()).expect_err(what);
    assert_eq!(error.rule(), Some(Rule::UnfinishedAppend), "{what}: {error}");
    let dry = repair(path, &RepairOptions { dry_run: true, ..RepairOptions::default() });
    assert!(std::fs::read(path).unwrap() == image, "{what}: a dry run changed the file");
    let done = repair(path, &RepairOptions::default());
    assert_eq!(dry.as_ref().map_err(Error::message), done.as_ref().map_err(Error::message), "{what}");
    let wanted = if done.is_ok() { before } else { image };
    assert!(std::fs::read(path).unwrap() == wanted, "{what}: {done:?}");
    done
}

#[test]
fn with_a_record_appended_bytes_do_not_affect_the_repair() {
    let _turn = crate::turn();
    let (folder, before, inner) = (Folder::new(), before(), inner());
    let path = folder.path("file.zt");
    let mut random = Random(1);
    for round in 0..150 {
        let mut appended = hostile(before.len() as u64, 20_000, &inner, &mut random);
        appended.truncate(1 + random.below(20_000) as usize);
        if round % 3 == 0 {
            // The appended bytes end like a file, like this very file, or like a complete append.
            let end = (before.len() + appended.len()) as u64;
            appended.extend([inner.clone(), coherent_tail(end), footer(end - 8)][round / 3 % 3].iter());
        }
        let image = appending(&before, &appended);
        let what = format!("round {round}");
        let report = safely(&path, &image, &before, &what).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_eq!((report.new_size, report.objects), (before.len() as u64, 2), "{what}");
    }
}

#[test]
fn a_record_decides_even_if_the_new_end_is_complete() {
    let _turn = crate::turn();
    let (folder, before) = (Folder::new(), before());
    let path = folder.path("file.zt");
    std::fs::write(&path, &before).unwrap();
    append(&path, &raw(), |w| new_object("c").write(w).unwrap());
    let after = std::fs::read(&path).unwrap();
    assert!(after[8..64].iter().all(|b| *b == 0), "a finished append leaves zeros in the head");
    safely(&path, &appending(&before, &after[before.len()..]), &before, "not committed").unwrap();
}

#[test]
fn without_a_record_the_answer_is_right_or_an_error_that_lets_the_caller_choose() {
    let _turn = crate::turn();
    let (folder, before, inner) = (Folder::new(), before(), inner());
    let path = folder.path("file.zt");
    let (mut right, mut doubt, mut random) = (0, 0, Random(2));
    for round in 0..150 {
        let size = random.below(if round % 2 == 0 { 300 } else { 6000 }) as usize;
        let appended = hostile(before.len() as u64, size, &inner, &mut random);
        let image = [&before[..], &appended, &[1; 9]].concat();
        let what = format!("round {round}");
        match safely(&path, &image, &before, &what) {
            Ok(_) => right += 1,
            Err(e) => {
                doubt += 1;
                assert_eq!(e.rule(), Some(Rule::UnfinishedAppend), "{what}: {e}");
                assert!(
                    e.message().contains(&format!("at byte {} (2 objects)", before.len())),
                    "{what}: {e}"
                );
                assert!(e.message().contains("zt_repair_options.cut_at"), "{what}: {e}");
                assert_eq!(repair(&path, &cut_at(before.len())).unwrap().objects, 2, "{what}");
                assert!(std::fs::read(&path).unwrap() == before, "{what}");
            }
        }
    }
    assert!(right > 20 && doubt > 20, "{right} {doubt}");
}

#[test]
fn false_ends_do_not_exhaust_the_limit_before_the_right_one() {
    let _turn = crate::turn();
    let (folder, before, inner) = (Folder::new(), before(), inner());
    let path = folder.path("file.zt");
    // Maps to which a hundred footers point from far behind.
    let mut appended = vec![0xa0; 64];
    appended.resize(2 << 20, 5);
    for _ in 0..100 {
        let end = before.len() + appended.len();
        appended.extend(footer((end - before.len()) as u64));
        appended.resize(appended.len() + 48, 5);
    }
    let image = [&before[..], &appended].concat();
    assert_eq!(safely(&path, &image, &before, "fakes").unwrap().objects, 2);
    // With a file before them the end is ambiguous, and the repair does not choose that file.
    appended[1 << 20..][..inner.len()].copy_from_slice(&inner);
    let image = [&before[..], &appended].concat();
    let error = safely(&path, &image, &before, "fakes and a file").unwrap_err();
    assert!(error.message().contains("could end at 2 places: at byte "), "{error}");
    // More than a repair searches: each is a map that takes long to skip.
    let mut appended = Vec::new();
    for _ in 0..60_000 {
        appended.extend(footer((appended.len() as u64).saturating_sub(64)));
    }
    let start = [&[0xbf; 64][..], &[0; 4096]].concat();
    let image = [&before[..], &start, &appended, &[0]].concat();
    let outcome = safely(&path, &image, &before, "many");
    assert!(outcome.is_ok() || outcome.unwrap_err().rule() == Some(Rule::UnfinishedAppend));
}

#[test]
fn a_file_that_was_cut_short_behind_a_file_within_it_is_not_made_that_file() {
    let _turn = crate::turn();
    let (folder, inner) = (Folder::new(), inner());
    let path = folder.path("short.zt");
    let held = Sample::dense("held", Dtype::U8, &[inner.len() as u64], inner.clone());
    let whole = common::file_of(&raw(), &[held, new_object("b")]);
    let image = &whole[..64 + inner.len() + 100];
    let error = safely(&path, image, &[], "cut short").unwrap_err();
    assert!(error.message().contains("that belong to nothing are not zero"), "{error}");
    let chosen = repair(&path, &cut_at(64 + inner.len())).unwrap();
    assert_eq!((chosen.new_size, chosen.objects), (64 + inner.len() as u64, 1), "the caller's choice works");
}

#[test]
fn cut_at_is_checked_against_the_file_and_its_record() {
    let _turn = crate::turn();
    let (folder, before, inner) = (Folder::new(), before(), inner());
    let path = folder.path("file.zt");
    let image = appending(&before, &[&inner[..], &[7; 50]].concat());
    std::fs::write(&path, &image).unwrap();
    let tried = [(before.len() + inner.len(), "by the append record"), (image.len() + 1, "past the end")];
    for (end, said) in tried {
        let error = repair(&path, &cut_at(end)).unwrap_err();
        assert_eq!(error.cause(), Cause::InvalidArgument, "{error}");
        assert!(error.message().contains(said), "{error}");
    }
    assert!(std::fs::read(&path).unwrap() == image);
    std::fs::write(&path, [&before[..], &[7; 50]].concat()).unwrap();
    let error = repair(&path, &cut_at(before.len() - 1)).unwrap_err();
    assert!(matches!(error.cause(), Cause::Broken(_)), "{error}");
    assert!(error.message().contains("would not open"), "{error}");
    assert_eq!(repair(&path, &cut_at(before.len())).unwrap().new_size, before.len() as u64);
}

#[test]
fn a_record_that_does_not_match_its_file_is_an_error() {
    let _turn = crate::turn();
    let (folder, before) = (Folder::new(), before());
    let path = folder.path("file.zt");
    let right = AppendRecord::find(&[&MAGIC[..], &fakes::record_of(&before)].concat()).unwrap();
    let wrong = [
        (
            AppendRecord { tail: right.tail.start..right.tail.end - 1, ..right.clone() },
            "no complete file ends there",
        ),
        (AppendRecord { tail: right.tail.start..1 << 40, ..right.clone() }, "past its end"),
        (
            AppendRecord { tail: right.tail.start - 1..right.tail.end, ..right.clone() },
            "its manifest begins at",
        ),
        (AppendRecord { tail_crc: right.tail_crc ^ 1, ..right.clone() }, "CRC-32C"),
    ];
    for (record, said) in wrong {
        let mut image = [&before[..], &[7; 5000]].concat();
        image[8..40].copy_from_slice(&record.to_bytes());
        let error = safely(&path, &image, &before, said).unwrap_err();
        assert!(error.message().contains(said), "{error}");
        assert_eq!(repair(&path, &cut_at(before.len())).unwrap().objects, 2, "{said}");
        assert!(std::fs::read(&path).unwrap() == before, "{said}");
    }
}

#[test]
fn the_record_of_an_append_without_writes_is_harmless_and_is_removed_later() {
    let _turn = crate::turn();
    let (folder, before) = (Folder::new(), before());
    let path = folder.path("file.zt");
    let stale = appending(&before, &[]);
    let padding = |image: &[u8], strict: bool| {
        let options = OpenOptions { strict, ..OpenOptions::default() };
        let file = File::open_memory(image.to_vec(), &options).unwrap();
        file.verify(&VerifyOptions::default(), &|_, _| true, &mut VerifyReport::default())
    };
    padding(&stale, false).unwrap();
    assert_eq!(padding(&stale, true).unwrap_err().rule(), Some(Rule::PaddingNonzero));
    std::fs::write(&path, &stale).unwrap();
    let report = repair(&path, &RepairOptions { dry_run: true, ..RepairOptions::default() }).unwrap();
    assert_eq!((report.old_size, report.new_size), (stale.len() as u64, stale.len() as u64));
    assert!(std::fs::read(&path).unwrap() == stale);
    assert_eq!(repair(&path, &RepairOptions::default()).unwrap(), report);
    assert!(std::fs::read(&path).unwrap() == before);

    std::fs::write(&path, &stale).unwrap();
    let mut writer = Writer::append(&path, &raw()).unwrap();
    Sample::dense("large", Dtype::U8, &[1 << 20], compressible(1 << 20)).write(&mut writer).unwrap();
    let error = File::open(&path, &OpenOptions::default()).unwrap_err();
    assert_eq!(error.cause(), Cause::Busy, "while it goes on: {error}");
    drop(writer);
    assert!(std::fs::read(&path).unwrap() == before, "taken back");
    std::fs::write(&path, &stale).unwrap();
    append(&path, &raw(), |w| new_object("c").write(w).unwrap());
    padding(&std::fs::read(&path).unwrap(), true).unwrap();
}

#[test]
fn a_repair_is_good_only_where_the_file_opens_then() {
    let _turn = crate::turn();
    let folder = Folder::new();
    let path = folder.path("twice.zt");
    let mut image = common::file_of(&raw(), &[new_object("one"), new_object("two")]);
    let at = image.windows(3).rposition(|w| w == b"two").unwrap();
    image[at..at + 3].copy_from_slice(b"one");
    std::fs::write(&path, &image).unwrap();
    assert_eq!(
        repair(&path, &RepairOptions::default()).map_err(|e| e.rule()),
        Err(Some(Rule::NameDuplicate))
    );
    assert_eq!(repair(&path, &cut_at(image.len())).map_err(|e| e.rule()), Err(Some(Rule::NameDuplicate)));
    assert!(std::fs::read(&path).unwrap() == image);
    image.extend([7; 100]);
    std::fs::write(&path, &image).unwrap();
    assert!(repair(&path, &RepairOptions::default()).is_err());
    assert!(std::fs::read(&path).unwrap() == image);
}

#[test]
fn a_file_without_data_is_replaced_when_the_append_is_finished() {
    let _turn = crate::turn();
    let folder = Folder::new();
    let path = folder.path("empty.zt");
    let before = common::file_of(&raw(), &[]);
    std::fs::write(&path, &before).unwrap();
    let mut writer = Writer::append(&path, &raw()).unwrap();
    Sample::dense("large", Dtype::U8, &[1 << 20], compressible(1 << 20)).write(&mut writer).unwrap();
    assert!(std::fs::read(&path).unwrap() == before, "the file changed before finish");
    drop(writer);
    assert!(std::fs::read(&path).unwrap() == before);
    assert_eq!(folder.names(), ["empty.zt"]);
    append(&path, &raw(), |w| new_object("c").write(w).unwrap());
    let after = std::fs::read(&path).unwrap();
    assert!(after[8..64].iter().all(|b| *b == 0) && after[64..].starts_with(&compressible(1000)[..64]));
    assert_eq!(folder.names(), ["empty.zt"]);
}

/// A change by another program while a repair reads the file.
type Change<'c> = &'c (dyn Fn(&Path) + Sync);

#[test]
fn a_file_that_was_changed_while_it_was_looked_at_is_not_cut() {
    let _turn = crate::turn();
    let (folder, before) = (Folder::new(), before());
    let (path, other) = (folder.path("file.zt"), folder.path("other.zt"));
    let image = appending(&before, &[7; 5000]);
    let new = common::file_of(&raw(), &(0..40).map(|i| new_object(&format!("n{i}"))).collect::<Vec<_>>());
    assert!(new.len() > before.len());
    let replaced = |path: &Path| {
        std::fs::write(&other, &new).unwrap();
        std::fs::rename(&other, path).unwrap();
    };
    let overwritten = |path: &Path| std::fs::write(path, &new).unwrap();
    let same_size = |path: &Path| {
        std::fs::write(&other, &image).unwrap();
        std::fs::rename(&other, path).unwrap();
    };
    let changes: [(Change<'_>, &[u8]); 3] = [(&replaced, &new), (&overwritten, &new), (&same_size, &image)];
    for (number, (change, after)) in changes.into_iter().enumerate() {
        for options in [RepairOptions::default(), cut_at(before.len())] {
            std::fs::write(&path, &image).unwrap();
            let progress = |done, total| {
                if done == total {
                    change(&path);
                }
                true
            };
            let error = repair_with_progress(&path, &options, &progress).unwrap_err();
            assert!(std::fs::read(&path).unwrap() == after, "{number}: {error}");
            // In the second case, the change also overwrites bytes that the repair reads.
            assert!(number == 1 || error.message().contains("was changed meanwhile"), "{number}: {error}");
        }
    }
}
