//! Appends where system calls fail. Without locks, the second writer detects a file that another writer has
//! changed. If an append cannot be undone, the message describes the file.
#![cfg(target_os = "linux")]

use crate::common;
use crate::refusing;

use common::content::{new_object, raw, ztensor_2};
use common::{verify, Folder, Sample};
use refusing::{all_of, if_argument, refusing, Rule};
use std::path::Path;
use ztensor::error::Cause;
use ztensor::model::dtype::Dtype;
use ztensor::reader::{File, OpenOptions};
use ztensor::writer::{repair, RepairOptions, Writer, WriterOptions};

fn create(path: &Path, options: &WriterOptions) {
    let mut writer = Writer::create(path, options).unwrap();
    new_object("old").write(&mut writer).unwrap();
    writer.finish().unwrap();
}

fn begin(path: &Path) -> Writer {
    Writer::append(path, &WriterOptions::default()).unwrap()
}

fn names(path: &Path) -> Vec<String> {
    let file = File::open(path, &OpenOptions::default()).unwrap();
    verify(&file).unwrap();
    let mut names: Vec<String> = file.objects().map(|object| object.name().to_owned()).collect();
    names.sort();
    names
}

/// The second of two writers detects the first one's change, and leaves the file unchanged.
#[test]
fn without_locks_a_file_that_was_changed_is_left_to_the_other_writer() {
    let _turn = crate::turn();
    for error in [libc::ENOLCK, libc::EOPNOTSUPP, libc::ENOSYS] {
        for (options, size) in [(raw(), 10), (raw(), 3 << 20), (ztensor_2(), 10), (ztensor_2(), 3 << 20)] {
            let folder = Folder::new();
            let path = folder.path("file.zt");
            create(&path, &options);
            let both = || {
                let (mut first, mut second) = (begin(&path), begin(&path));
                let object = |name: &str| Sample::dense(name, Dtype::U8, &[size], vec![7; size as usize]);
                object("first").write(&mut first).unwrap();
                first.finish().unwrap();
                let written = object("second").write(&mut second);
                let refused = written.and_then(|()| second.finish().map(drop)).map_err(|e| second.abort(e));
                let refused = refused.expect_err("the file was changed");
                assert_eq!(refused.cause(), Cause::Io, "{refused}");
                assert!(refused.message().contains("another program has changed the file"), "{refused}");
            };
            if refusing(&[all_of(libc::SYS_flock)], error, both).is_none() {
                return;
            }
            assert_eq!(names(&path), ["first", "old"]);
        }
    }
}

/// The message of a failed finish is correct, whichever call fails while the append is undone.
#[test]
fn the_message_describes_the_file_if_an_append_cannot_be_undone() {
    let _turn = crate::turn();
    let (sync, cut) = (all_of(libc::SYS_fsync), all_of(libc::SYS_ftruncate));
    let clear = if_argument(libc::SYS_write, 2, u32::MAX, 4096); // zeros over the added bytes
    let cases: [&[Rule]; 3] = [&[sync], &[sync, cut], &[sync, cut, clear]];
    let mut said = Vec::new();
    for options in [raw(), ztensor_2()] {
        for (number, rules) in cases.iter().enumerate() {
            let folder = Folder::new();
            let path = folder.path("file.zt");
            create(&path, &options);
            let mut writer = begin(&path);
            Sample::dense("new", Dtype::U8, &[50_000], vec![7; 50_000]).write(&mut writer).unwrap();
            let finish = move || {
                let outcome = writer.finish().map(drop).map_err(|e| writer.abort(e));
                drop(writer);
                outcome.expect_err("finish did not fail although syncs fail")
            };
            let Some(error) = refusing(rules, libc::EIO, finish) else { return };
            let text = error.message();
            let what = match File::open(&path, &OpenOptions::default()) {
                Ok(file) if file.object_count() == 2 => "new",
                Ok(_) => "old",
                Err(_) => "unfinished",
            };
            let is_true = match what {
                "new" => text.contains("it has its new objects"),
                "old" => text.contains("it has its old objects") || !text.contains("it has its new objects"),
                _ => text.contains("unfinished append, which zt_repair cuts off"),
            };
            assert!(is_true, "{number}, {what}: {text}");
            assert!(what == "unfinished" || !text.contains("ends in an unfinished append"), "{what}: {text}");
            said.push(what);
            if what == "unfinished" {
                repair(&path, &RepairOptions::default()).unwrap();
                assert_eq!(names(&path), ["old"]);
            }
        }
    }
    println!("{said:?}");
}
