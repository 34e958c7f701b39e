//! One rule for inputs: every command that reads takes a path, standard input and a URL, in every format.
#![cfg(unix)]

use crate::common;

use common::commands::{Effect, Scene, ROWS};
use common::{data, folder, run, zt, Ran};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

/// Runs `zt` with these bytes in a pipe.
fn piped(words: &[&str], bytes: &[u8]) -> Ran {
    let mut command = zt();
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let bytes = bytes.to_owned();
    let writer = std::thread::spawn(move || drop(pipe.write_all(&bytes))); // its reader may end early
    let ran = Ran::of(child.wait_with_output().unwrap());
    writer.join().unwrap();
    ran
}

#[test]
fn every_command_that_reads_takes_a_pipe() {
    let mut tried = 0;
    let is_path_only = |words: &str| words.starts_with("bench") || words.ends_with("- --to zt");
    for row in ROWS.iter().filter(|row| row.1 != Effect::Changes && !is_path_only(row.0)) {
        let Some((before, after)) = row.0.split_once("{in}") else { continue };
        let scene = Scene::new("inputs-pipe");
        let bytes = std::fs::read(scene.path("{in}")).unwrap();
        let by_path = Ran::of(scene.command(row).output().unwrap());
        for name in common::names_in(&scene.0).iter().filter(|name| name.starts_with("new")) {
            let path = scene.0.join(name);
            std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir_all(&path)).unwrap();
        }
        let words = format!("{before}-{after}");
        let words: Vec<String> =
            words.split(' ').map(|word| scene.path(word).to_str().unwrap().to_owned()).collect();
        let ran = piped(&words.iter().map(String::as_str).collect::<Vec<_>>(), &bytes);
        assert_eq!(
            (ran.status, ran.out.is_empty()),
            (by_path.status, by_path.out.is_empty()),
            "{words:?} {ran:?}"
        );
        tried += 1;
    }
    assert!(tried > 15, "{tried}");
}

#[test]
fn formats_with_their_index_at_the_end_come_through_a_pipe() {
    let files = ["amber-legacy-pickle.pth", "amber-many.pt", "amber-all-stored.npz", "amber-bare.npy"];
    for file in files.iter().map(|file| data().join("foreign/valid").join(file)) {
        let bytes = std::fs::read(&file).unwrap();
        for command in ["ls", "stats", "head"] {
            assert_eq!(piped(&[command, "-"], &bytes).out, run(&[&command, &file]).out, "{command} {file:?}");
        }
        assert!(piped(&["verify", "-"], &bytes).out.contains("ok, "), "{file:?}");
    }
}

#[test]
fn a_pipe_has_a_limit() {
    let bytes = std::fs::read(data().join("v1.2/py-1.2.3-all-dtypes.zt")).unwrap();
    let most = bytes.len().to_string();
    let all = piped(&["ls", "-", "--stdin-limit", &most], &bytes).good();
    assert!(all.contains("13 objects"), "{all}");
    let less = (bytes.len() - 1).to_string();
    let why = format!("zt: standard input: it has more than {less} bytes; --stdin-limit allows more");
    piped(&["ls", "-", "--stdin-limit", &less], &bytes).bad(&[&why]);
    // What is copied goes to the folder for temporary files, and nothing is left there.
    let mut command = zt();
    command.args(["ls", "-"]).stdin(Stdio::piped()).env("TMPDIR", "/nowhere");
    let ran = Ran::of(command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap());
    ran.bad(&["zt: standard input: ", "/nowhere", "TMPDIR"]);
}

#[test]
fn what_cannot_be_opened_says_why_in_every_command() {
    let folder = folder("inputs-refused");
    let hdf5 = folder.join("a.h5");
    std::fs::write(&hdf5, b"\x89HDF\r\n\x1a\nrest").unwrap();
    let device = Path::new("/dev/null");
    for (path, why) in [(hdf5.as_path(), "HDF5"), (device, "neither a regular file nor a folder")] {
        for words in [&["ls"][..], &["info"], &["stats"], &["head"], &["verify"], &["attr"]] {
            let ran = Ran::of(zt().args(words).arg(path).output().unwrap());
            // With the feature, zt knows that the file is damaged.
            let is_damaged = cfg!(feature = "compat") && why == "HDF5";
            let status = if words == ["verify"] && !is_damaged { 2 } else { 1 };
            assert!(ran.status == status && ran.err.contains(why), "{words:?} {path:?} {ran:?}");
        }
    }
}

#[test]
fn help_says_what_an_input_is_once() {
    let help = run(&[&"--help"]).good();
    let rule = help.split_once("\nInputs of all commands that read").unwrap().1;
    for part in ["standard input", "$TMPDIR", "https://", "s3://", "hf://OWNER/NAME", "PyTorch", "HDF5"] {
        assert!(rule.contains(part), "{part}: {help}");
    }
    let refers = "as `zt --help` says";
    for command in ["ls", "info", "verify", "stats", "cat", "diff", "convert", "head", "extract"] {
        let help = run(&[&command, &"--help"]).good().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(help.contains(refers), "{command}: {help}");
    }
}

#[test]
fn a_url_of_hugging_face_has_an_owner_and_a_name() {
    for url in ["hf://owner", "hf://me:hush@owner/name", "hf://owner/name/../x"] {
        run(&[&"ls", &url]).bad(&["zt: hf://...: ", "hf://OWNER/NAME@REVISION"]);
    }
}
