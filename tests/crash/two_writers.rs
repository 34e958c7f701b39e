//! Several writers of one file. The file has each object of a finished writer. A second writer fails while
//! the first is open. If a file was replaced during an append, the error says so.

use crate::common;

use common::content::{append, contents, new_object, raw, ztensor_2};
use common::{Folder, Sample};
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;
use ztensor::error::{Cause, Error};
use ztensor::model::dtype::Dtype;
use ztensor::reader::{File, Mode, OpenOptions, VerifyOptions, VerifyReport};
use ztensor::writer::{repair, RepairOptions, Writer, WriterOptions};

/// Environment variables for a child process of this test: the file, and the child's number.
const CHILD: &str = "ZTENSOR_TWO_WRITERS";
const PROCESSES: usize = 3;
const THREADS: usize = 2;
const ROUNDS: usize = 12;

fn create(path: &Path, options: &WriterOptions) {
    let mut writer = Writer::create(path, options).unwrap();
    new_object("old").write(&mut writer).unwrap();
    writer.finish().unwrap();
}

fn bytes_of(number: usize) -> Vec<u8> {
    (0..500 + number * 977 % 9000).map(|at| (at * 31 + number) as u8).collect()
}

fn sample(number: usize) -> Sample {
    let bytes = bytes_of(number);
    Sample::dense(&format!("n{number}"), Dtype::U8, &[bytes.len() as u64], bytes)
}

fn verify(file: &File) {
    let options = VerifyOptions { contents: true, ..VerifyOptions::default() };
    file.verify(&options, &|_, _| true, &mut VerifyReport::default()).unwrap();
}

/// Calls `body` until no other writer has the file open.
fn until_free<T>(mut body: impl FnMut() -> Result<T, Error>) -> T {
    for _ in 0..20_000 {
        match body() {
            Err(e) if e.cause() == Cause::Busy => std::thread::sleep(Duration::from_micros(300)),
            outcome => return outcome.unwrap(),
        }
    }
    panic!("the file stays locked");
}

/// One of many writers: adds objects, renames them, and repairs an intact file.
fn work(path: &Path, number: usize) {
    for round in 0..ROUNDS {
        let object = number * ROUNDS + round;
        let mut writer = until_free(|| Writer::append(path, &WriterOptions::default()));
        sample(object).write(&mut writer).unwrap();
        if round % 4 == 3 {
            drop(writer); // the append is undone
            writer = until_free(|| Writer::append(path, &WriterOptions::default()));
            sample(object).write(&mut writer).unwrap();
        }
        writer.finish().unwrap();
        if round % 3 == 0 {
            let mut writer = until_free(|| Writer::append(path, &WriterOptions::default()));
            writer.rename_object(&format!("n{object}"), &format!("r{object}")).unwrap();
            writer.finish().unwrap();
        }
        let report = until_free(|| repair(path, &RepairOptions::default()));
        assert_eq!(report.old_size, report.new_size);
    }
}

fn work_with_threads(path: &Path, process: usize) {
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || work(path, process * THREADS + thread));
        }
    });
}

/// Does nothing unless [`run_children`] started it.
#[test]
fn a_child_works() {
    let Ok(reported) = std::env::var(CHILD) else { return };
    let (number, path) = reported.split_once(':').unwrap();
    work_with_threads(Path::new(path), number.parse().unwrap());
}

fn run_children(path: &Path) -> Vec<Child> {
    let program = std::env::current_exe().unwrap();
    let start = |number: usize| {
        let mut command = Command::new(&program);
        command.args(["--exact", "two_writers::a_child_works", "--test-threads", "1", "-q"]);
        command.env(CHILD, format!("{number}:{}", path.display()));
        command.spawn().unwrap()
    };
    (1..PROCESSES).map(start).collect()
}

#[test]
fn writers_of_several_processes_lose_nothing_and_readers_see_old_or_new() {
    let _turn = crate::turn();
    for options in [raw(), ztensor_2()] {
        let folder = Folder::new();
        let path = folder.path("file.zt");
        create(&path, &options);
        let children = run_children(&path);
        let stop = std::sync::atomic::AtomicBool::new(false);
        let (path, stop) = (&path, &stop);
        std::thread::scope(|scope| {
            let reader = scope.spawn(move || {
                let (mut opened, mut refused, mut changed) = (0, 0, 0);
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    let modes = [Mode::Read, Mode::Map];
                    let mode = modes[(opened + refused) % 2];
                    match File::open(path, &OpenOptions { mode, ..OpenOptions::default() }) {
                        Ok(file) => {
                            opened += 1;
                            for object in file.objects() {
                                let component = object.components().next().unwrap();
                                let mut bytes = vec![0; component.size().unwrap() as usize];
                                if let Err(e) = component.read(&mut bytes) {
                                    // Appends and repairs followed each other faster than the reader looked.
                                    assert!(
                                        mode == Mode::Read && e.message().contains("open it again"),
                                        "{mode:?}: {e}"
                                    );
                                    changed += 1;
                                    break;
                                }
                                if let Ok(number) = object.name()[1..].parse() {
                                    assert!(bytes == bytes_of(number), "{}", object.name());
                                }
                            }
                        }
                        Err(e) => {
                            assert_eq!(e.cause(), Cause::Busy, "{e}");
                            refused += 1;
                        }
                    }
                }
                println!("{opened} opened, {refused} refused, {changed} changed while they were read");
                assert!(changed < opened, "no file was read to its end");
            });
            work_with_threads(path, 0);
            for mut child in children {
                assert!(child.wait().unwrap().success());
            }
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            reader.join().unwrap();
        });
        let file = File::open(path, &OpenOptions::default()).unwrap();
        verify(&file);
        let all = PROCESSES * THREADS * ROUNDS;
        assert_eq!(file.object_count(), all + 1);
        for number in 0..all {
            let letter = if number % ROUNDS % 3 == 0 { 'r' } else { 'n' };
            let object = file.required(format!("{letter}{number}")).unwrap();
            assert!(object.component("data").unwrap().load().unwrap().as_slice() == bytes_of(number));
        }
    }
}

/// A second append, a repair and a dry run of a repair fail until the first writer has ended.
#[test]
fn a_file_has_one_writer_at_a_time() {
    let _turn = crate::turn();
    for options in [raw(), ztensor_2()] {
        let folder = Folder::new();
        let path = folder.path("file.zt");
        create(&path, &options);
        let assert_busy = |what: &str| {
            let dry = RepairOptions { dry_run: true, ..RepairOptions::default() };
            let refused = [
                Writer::append(&path, &WriterOptions::default()).err(),
                repair(&path, &RepairOptions::default()).err(),
                repair(&path, &dry).err(),
            ];
            for error in refused.map(|error| error.expect(what)) {
                assert_eq!(error.cause(), Cause::Busy, "{what}: {error}");
                assert!(error.message().contains("another writer has locked the file"), "{error}");
            }
        };
        type End<'a> = &'a dyn Fn(Writer);
        let finish: End<'_> = &|mut writer| assert!(writer.finish().is_ok());
        for (at, end) in [finish, &drop, finish].into_iter().enumerate() {
            let mut writer = Writer::append(&path, &WriterOptions::default()).unwrap();
            assert_busy("begun");
            let large = Sample::dense(&format!("large{at}"), Dtype::U8, &[3 << 20], vec![1; 3 << 20]);
            large.write(&mut writer).unwrap();
            assert_busy("written to");
            let refused = File::open(&path, &OpenOptions::default()).err().unwrap();
            assert_eq!(refused.cause(), Cause::Busy, "{refused}");
            assert!(!refused.rule_name().to_str().unwrap().is_empty(), "{refused}");
            end(writer);
            verify(&File::open(&path, &OpenOptions::default()).unwrap());
            repair(&path, &RepairOptions::default()).unwrap();
        }
        let names = contents(&File::open(&path, &OpenOptions::default()).unwrap());
        assert_eq!(names.iter().filter(|line| line.contains("dense")).count(), 3, "{names:#?}");
        // A failed writer releases the file when it ends.
        let mut writer = Writer::append(&path, &WriterOptions::default()).unwrap();
        assert!(new_object("old").write(&mut writer).is_err());
        assert_busy("a call failed");
        drop(writer);
        append(&path, &WriterOptions::default(), |writer| new_object("b").write(writer).unwrap());
    }
}

/// At the end of the append, another file or no file is at the writer's path.
#[test]
fn finish_reports_that_the_file_was_replaced_or_removed() {
    let _turn = crate::turn();
    let empty = |options: &WriterOptions, path: &Path| {
        assert!(Writer::create(path, options).unwrap().finish().is_ok())
    };
    type Make<'a> = &'a dyn Fn(&WriterOptions, &Path);
    let with_data: Make<'_> = &|options, path| create(path, options);
    for options in [raw(), ztensor_2()] {
        for (make, size) in [(with_data, 10), (with_data, 3 << 20), (&empty as Make<'_>, 10)] {
            for removed in [false, true] {
                let folder = Folder::new();
                let (path, other) = (folder.path("file.zt"), folder.path("other.zt"));
                make(&options, &path);
                let mut writer = Writer::append(&path, &WriterOptions::default()).unwrap();
                let object = Sample::dense("new", Dtype::U8, &[size], vec![1; size as usize]);
                object.write(&mut writer).unwrap();
                match removed {
                    true => std::fs::remove_file(&path).unwrap(),
                    false => {
                        create(&other, &options);
                        std::fs::rename(&other, &path).unwrap();
                    }
                }
                let there = std::fs::read(&path).ok();
                let error = writer
                    .finish()
                    .map_err(|e| writer.abort(e))
                    .expect_err("finish did not fail although the file was replaced");
                drop(writer);
                assert_eq!(error.cause(), Cause::Io, "{error}");
                let expected = if removed { "was removed or renamed" } else { "another file replaced it" };
                assert!(error.message().contains(expected), "{error}");
                assert!(std::fs::read(&path).ok() == there, "the file at the path changed");
            }
        }
    }
}

/// A reader that opens the file while an append is undone sees the time of the truncation. Then the writer
/// restores the old time.
#[test]
fn a_file_stays_readable_after_an_undone_append() {
    let _turn = crate::turn();
    let hour_ago = std::time::SystemTime::now() - Duration::from_secs(3600);
    for options in [raw(), ztensor_2()] {
        for has_writer in [true, false] {
            let folder = Folder::new();
            let path = folder.path("file.zt");
            create(&path, &options);
            let writer = has_writer.then(|| Writer::append(&path, &WriterOptions::default()).unwrap());
            let file =
                File::open(&path, &OpenOptions { mode: Mode::Read, ..OpenOptions::default() }).unwrap();
            drop(writer);
            std::fs::File::options().write(true).open(&path).unwrap().set_modified(hour_ago).unwrap();
            let component = common::data(&file, "old");
            let read = component.read(&mut vec![0; component.size().unwrap() as usize]);
            assert_eq!(read.map_err(|e| e.cause()), if has_writer { Ok(()) } else { Err(Cause::Io) });
        }
    }
}
