//! Each command with errors: bad input, a full disk, a closed pipe, a signal.
#![cfg(unix)]

use crate::common;

use common::commands::{Effect, Row, Scene, REPAIR, ROWS};
use common::{names_in, run, Ran};
use std::fs::OpenOptions;
use std::io::{Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use ztensor::error::{Error, Result};
use ztensor::reader::{File, OpenOptions as ReaderOptions};
use ztensor::sink::ByteSink;
use ztensor::writer::{Writer, WriterOptions};

fn rows() -> impl Iterator<Item = Row> {
    ROWS.into_iter().chain([REPAIR])
}

#[test]
fn every_command_has_a_row() {
    let help = run(&[&"--help"]).good();
    let listed = help.split_once("Commands:\n").unwrap().1;
    let names =
        listed.lines().take_while(|line| !line.is_empty()).filter_map(|l| l.split_whitespace().next());
    for name in names.filter(|name| *name != "help") {
        assert!(rows().any(|(words, _)| words.split(' ').next() == Some(name)), "{name} has no row");
    }
}

#[test]
fn rows_have_the_declared_effect() {
    for row in rows() {
        let scene = Scene::new("trouble-none");
        let before = scene.state();
        let ended = scene.command(&row).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        let differs = i32::from(row.0.starts_with("diff") && row.0.ends_with("{zt}"));
        let is_note = |line: &str| line.contains(": left out: ") || line.contains(": not covered: ");
        assert_eq!(ended.status.code(), Some(differs), "{row:?}: {said}");
        assert!(said.lines().all(is_note), "{row:?}: {said}");
        assert_eq!(scene.state() == before, row.1 == Effect::Prints, "{row:?}");
    }
}

#[test]
fn bad_input_is_an_error_of_one_line_without_other_effects() {
    for row in rows() {
        for damage in ["missing", "empty", "other", "half", "folder"] {
            let scene = Scene::new("trouble-input");
            for path in scene.inputs(&row) {
                let bytes = std::fs::read(&path).unwrap_or_default();
                let _ = std::fs::remove_file(&path);
                match damage {
                    "missing" => {}
                    "empty" => std::fs::write(&path, "").unwrap(),
                    "other" => {
                        std::fs::write(&path, [b"\x1b[31mnot a file of tensors\n".repeat(40)].concat())
                            .unwrap()
                    }
                    "half" => std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap(),
                    _ => drop(std::fs::create_dir_all(&path)),
                }
            }
            let inputs = scene.inputs(&row);
            if inputs.is_empty() {
                continue;
            }
            let before = scene.state();
            let ran = Ran::of(scene.command(&row).output().unwrap());
            let cannot_be_read = row.0.starts_with("verify") && ["missing", "folder"].contains(&damage);
            let expected = if row.0.starts_with("diff") || cannot_be_read { 2 } else { 1 };
            assert_eq!(ran.status, expected, "{row:?} {damage} {ran:?}");
            let said = if row.0.starts_with("verify --json") { &ran.out } else { &ran.err };
            let names_it = |path: &PathBuf| said.contains(path.file_name().unwrap().to_str().unwrap());
            assert!(inputs.iter().any(names_it), "{row:?} {damage} {ran:?}");
            let is_one_line = ran.err.lines().count() == usize::from(said == &ran.err)
                && !ran.err.contains("internal error");
            assert!(
                is_one_line && ran.err.lines().all(|line| line.starts_with("zt: ")),
                "{row:?} {damage} {ran:?}"
            );
            assert!(!ran.err.contains('\x1b') && !ran.out.contains('\x1b'), "{row:?} {damage} {ran:?}");
            assert_eq!(scene.state(), before, "{row:?} {damage}");
        }
    }
}

/// A limit on the size of files simulates a full disk, in the middle of writing.
#[test]
fn a_full_disk_changes_no_file() {
    for row in rows().filter(|(_, effect)| *effect != Effect::Prints) {
        for blocks in ["0", "1"] {
            let scene = Scene::new("trouble-full");
            let before = scene.state();
            let given = scene.command(&row);
            let mut limited = Command::new("sh");
            limited.args(["-c", &format!("ulimit -f {blocks}; exec \"$0\" \"$@\"")]);
            limited.arg(given.get_program()).args(given.get_args());
            let ran = Ran::of(limited.output().unwrap());
            // Small outputs fit, and truncating a file does not need disk space.
            let may_fit = blocks == "1" || row == REPAIR;
            match ran.status {
                0 if may_fit => assert_ne!(scene.state(), before, "{row:?} {blocks}"),
                _ => {
                    ran.bad(&["File too large"]);
                    assert_eq!(scene.state(), before, "{row:?} {blocks}");
                }
            }
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_under_standard_output_is_reported() {
    for row in rows() {
        let scene = Scene::new("trouble-dev-full");
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = scene.command(&row).stdout(full).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!([1, 2].contains(&output.status.code().unwrap()), "{row:?}: {message}");
        assert!(
            message.starts_with("zt: standard output: ") && message.lines().count() == 1,
            "{row:?}: {message}"
        );
    }
}

#[test]
fn a_closed_pipe_ends_a_command_quietly_and_its_work_is_done() {
    for row in rows() {
        let scene = Scene::new("trouble-pipe");
        let before = scene.state();
        let (reader, writer) = UnixStream::pair().unwrap();
        drop(reader);
        let ended = scene.command(&row).stdout(OwnedFd::from(writer)).output().unwrap();
        let message = String::from_utf8_lossy(&ended.stderr);
        // A truncated output file is the only failure.
        let is_file = row.0.starts_with("convert") && row.1 == Effect::Prints;
        let failures = message.lines().filter(|line| !line.contains(": not covered: ")).count();
        assert_eq!(failures, usize::from(is_file), "{row:?}: {message}");
        assert_eq!(ended.status.code(), Some(i32::from(is_file)), "{row:?}: {message}");
        assert_eq!(scene.state() == before, row.1 == Effect::Prints, "{row:?}");
    }
}

/// Sends the signal of Ctrl-C. Returns the exit status (130 if the signal ended it) and standard error.
fn interrupt(child: Child) -> (i32, String) {
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let ended = child.wait_with_output().unwrap();
    (ended.status.code().unwrap_or(130), String::from_utf8(ended.stderr).unwrap())
}

/// A command that writes nothing does not speak of files that are half written.
#[test]
fn an_interrupted_reader_says_only_that() {
    let scene = Scene::new("trouble-reader");
    scene.write_safetensors(&[("model.a.weight", "F32", 2 << 30)]);
    for row in [("stats {in}", Effect::Prints), ("convert {in} - --to zt", Effect::Prints)] {
        let mut child = spawn(&scene, &row);
        std::thread::sleep(Duration::from_millis(300)); // it listens, and has more to do than this
        assert!(child.try_wait().unwrap().is_none(), "{row:?}");
        assert_eq!(interrupt(child), (130, String::from("zt: interrupted\n")), "{row:?}");
    }
}

fn spawn(scene: &Scene, row: &Row) -> Child {
    scene.command(row).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn an_interrupt_in_the_middle_changes_no_file() {
    let scene = Scene::new("trouble-interrupt");
    // The first file is written, or has its name, long before the second one.
    let (first, second) = (("model.a.weight", "F32", 1 << 20), ("model.b.weight", "F32", 1 << 30));
    scene.write_safetensors(&[first, second, ("model.b.bias", "F32", 8)]);
    let small = std::fs::read(scene.path("{zt}")).unwrap();
    write_sparse_zt(&scene);
    let large = std::fs::metadata(scene.path("{zt}")).unwrap().len();
    for row in rows().filter(|(words, effect)| {
        let reads_large = words.contains("{in}") || words.starts_with("compact");
        *effect != Effect::Prints && reads_large
    }) {
        if row.0.starts_with("add") {
            std::fs::write(scene.path("{zt}"), &small).unwrap();
        }
        let before = scene.state();
        let size = || std::fs::metadata(scene.path("{zt}")).unwrap().len();
        let (names, old_size) = (all_names(&scene), size());
        let mut child = spawn(&scene, &row);
        while all_names(&scene) == names && size() == old_size && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let message = String::from("zt: interrupted; nothing is left half written\n");
        assert_eq!(interrupt(child), (130, message), "{row:?}");
        assert_eq!(scene.state(), before, "{row:?}");
        if row.0.starts_with("add") {
            write_sparse_zt(&scene);
            assert_eq!(size(), large);
        }
    }
}

/// The names in the folder, and in the folder that `zt extract` makes.
fn all_names(scene: &Scene) -> Vec<String> {
    let new = scene.path("{new}/arrays");
    let inside = if new.is_dir() { names_in(&new) } else { Vec::new() };
    [names_in(&scene.0), inside].concat()
}

/// A large sparse `.zt` file, which does not use disk space: the contents of {in}, and the objects that rows
/// name.
fn write_sparse_zt(scene: &Scene) {
    struct Sparse(std::fs::File);
    impl ByteSink for Sparse {
        fn write(&mut self, bytes: &[u8]) -> Result<()> {
            let put = match bytes.iter().all(|byte| *byte == 0) {
                true => self.0.seek(SeekFrom::Current(bytes.len() as i64)).map(drop),
                false => self.0.write_all(bytes),
            };
            put.map_err(|e| Error::io("sparse", &e))
        }

        fn publish(&mut self) -> Result<()> {
            Ok(())
        }
    }
    let input = File::open(scene.path("{in}"), &ReaderOptions::default()).unwrap();
    let sink = Sparse(std::fs::File::create(scene.path("{zt}")).unwrap());
    let mut writer = Writer::to_sink(Box::new(sink), &WriterOptions::default()).unwrap();
    for (object, name) in input.objects().zip(["u8", "i8"]) {
        writer.copy(object, name).unwrap();
    }
    writer.finish().unwrap();
}

/// Changing a manifest is so fast that the signal comes before, during or after it. The file is the old or
/// the new one, and never needs a repair.
#[test]
fn an_interrupt_of_a_change_leaves_the_old_file_or_the_new_one() {
    let scene = Scene::new("trouble-change");
    let torn = std::fs::read(scene.path("{torn}")).unwrap();
    let old = many_objects(&scene);
    for row in rows().filter(|row| row.1 == Effect::Changes && !row.0.contains("{in}")) {
        for delay in [0, 1, 3, 10, 30] {
            std::fs::write(scene.path("{zt}"), &old).unwrap();
            std::fs::write(scene.path("{torn}"), &torn).unwrap();
            let before = scene.state();
            let child = spawn(&scene, &row);
            std::thread::sleep(Duration::from_millis(delay));
            match interrupt(child) {
                (0, _) => assert_ne!(scene.state(), before, "{row:?}"),
                (status, message) => {
                    assert_eq!(status, 130, "{row:?} {message}");
                    assert_eq!(scene.state(), before, "{row:?} {message}");
                }
            }
            if row != REPAIR {
                run(&[&"verify", &"--quick", &scene.path("{zt}")]).sound();
            }
        }
    }
}

fn many_objects(scene: &Scene) -> Vec<u8> {
    let names: Vec<String> = (0..4_000).map(|n| format!("layers.{n}.weight")).collect();
    let tensors = names.iter().map(String::as_str).chain(["u8", "i8"]).map(|name| (name, "U8", 0));
    scene.write_safetensors(&tensors.collect::<Vec<_>>());
    run(&[&"convert", &scene.path("{in}"), &scene.path("{zt}"), &"--force"]).good();
    run(&[&"attr", &"set", &scene.path("{zt}"), &"license", &"MIT"]).good();
    std::fs::read(scene.path("{zt}")).unwrap()
}
