//! Commands that write several files, killed at every call that creates or removes a name. The result is the
//! old model or the new one, never a mixture.
#![cfg(target_os = "linux")]

use crate::common;
use crate::traced;

use common::{folder, names_in, zt};
use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use traced::Ended;
use ztensor::reader::{File, OpenOptions};

/// A safetensors file with four tensors of the same shapes. Each byte has this value.
fn write_model(path: &Path, byte: u8) {
    let entry = |at: usize| {
        let (begin, end) = (at * 8, at * 8 + 8);
        format!(r#""t{at}":{{"dtype":"F32","shape":[2],"data_offsets":[{begin},{end}]}}"#)
    };
    let header = format!("{{{}}}", (0..4).map(entry).collect::<Vec<_>>().join(","));
    let bytes = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &[byte; 32]].concat();
    std::fs::write(path, bytes).unwrap();
}

/// The byte of a model with four tensors, which is the same everywhere; None if it cannot be opened.
fn byte_of(path: &Path, what: &str) -> Option<u8> {
    let file = File::open_model(path, &OpenOptions::default()).ok()?;
    let mut all = Vec::new();
    for object in file.objects() {
        let component = object.components().next().unwrap();
        component
            .for_each_decoded(&mut |bytes| {
                all.extend_from_slice(bytes);
                Ok(())
            })
            .unwrap_or_else(|e| panic!("{what}: {}: {e}", path.display()));
    }
    assert_eq!(all.len(), 32, "{what}: {}: incomplete", path.display());
    assert!(all.iter().all(|byte| *byte == all[0]), "{what}: {}: a mixture of both", path.display());
    Some(all[0])
}

fn is_of_names(number: libc::c_long) -> bool {
    let calls = [libc::SYS_renameat, libc::SYS_renameat2, libc::SYS_unlinkat, libc::SYS_linkat];
    #[cfg(target_arch = "x86_64")]
    let calls = [&calls[..], &[libc::SYS_rename, libc::SYS_unlink, libc::SYS_link, libc::SYS_rmdir]].concat();
    calls.contains(&number)
}

/// Kills a command before and after each such call. Returns the number of kills, and the result of the run
/// that was not killed.
fn at_every_name(
    command: &dyn Fn() -> Command,
    prepare: &dyn Fn(),
    check: &mut dyn FnMut(&str),
) -> Option<(usize, i32)> {
    for point in 0.. {
        prepare();
        let (mut seen, mut inside) = (0, false);
        let exec = || panic!("{}", command().stdout(Stdio::null()).stderr(Stdio::null()).exec());
        let ended = traced::run(&exec, &mut |stop| {
            let counts = if stop.entry { is_of_names(stop.number) } else { inside };
            inside = stop.entry && counts;
            seen += usize::from(counts);
            seen <= point
        });
        match ended {
            Ended::Killed => check(&format!("killed at {point}")),
            Ended::Exit(code) => return Some((point, code)),
            Ended::Refused => {
                println!("skipped: this process may not trace its children");
                return None;
            }
        }
        assert!(point < 500, "the command does not end");
    }
    None
}

const OLD: u8 = 1;
const NEW: u8 = 2;

/// Two models, and an output folder.
struct Scene {
    folder: PathBuf,
    to: PathBuf,
}

impl Scene {
    fn new(name: &str) -> Scene {
        let folder = folder(name);
        write_model(&folder.join("old.safetensors"), OLD);
        write_model(&folder.join("new.safetensors"), NEW);
        let to = folder.join("to");
        Scene { folder, to }
    }

    fn command(&self, words: &str, model: &str) -> Command {
        let mut command = zt();
        let path = |word: &str| match word {
            "{in}" => self.folder.join(format!("{model}.safetensors")).into_os_string(),
            _ => match word.strip_prefix("{to}") {
                Some(name) => self.to.join(name.trim_start_matches('/')).into_os_string(),
                None => word.into(),
            },
        };
        command.args(words.split(' ').map(path));
        command
    }

    fn clear(&self) {
        let _ = std::fs::remove_dir_all(&self.to);
        std::fs::create_dir_all(&self.to).unwrap();
    }

    /// All files except hidden ones, with their contents.
    fn state(&self) -> BTreeMap<String, Vec<u8>> {
        let names = names_in(&self.to).into_iter().filter(|name| !name.starts_with('.'));
        names.map(|name| (name.clone(), std::fs::read(self.to.join(name)).unwrap_or_default())).collect()
    }
}

#[test]
fn a_model_with_a_root_that_is_replaced_is_the_old_one_or_the_new_one_after_a_kill() {
    let scene = Scene::new("kill-root");
    let cases = [
        ("split {in} {to}/m.zt --force --size 8", "split {in} {to}/m.zt --force --size 8", "m.zt"),
        ("split {in} {to}/m.zt --force --size 16", "split {in} {to}/m.zt --force --size 8", "m.zt"),
        ("convert {in} {to}/m.zt", "split {in} {to}/m.zt --force --size 8", "m.zt"),
        ("split {in} {to}/m.zt --size 8", "convert {in} {to}/m.zt --force", "m.zt"),
        (
            "convert {in} {to}/m.safetensors --shard-size 8",
            "convert {in} {to}/m.safetensors --force --shard-size 8",
            "m.safetensors.index.json",
        ),
        (
            "convert {in} {to}/m.safetensors --shard-size 16",
            "convert {in} {to}/m.safetensors --force --shard-size 8",
            "m.safetensors.index.json",
        ),
    ];
    for (before, command, root) in cases {
        // The old model was written to that name, or replaced an older one.
        for generations in 1..=2 {
            let prepare = || {
                scene.clear();
                assert!(scene.command(before, "old").output().unwrap().status.success());
                for _ in 1..generations {
                    let again = format!("{} --force", before.replace(" --force", ""));
                    assert!(scene.command(&again, "old").output().unwrap().status.success());
                }
                assert_eq!(byte_of(&scene.to, before), Some(OLD));
            };
            let (mut olds, mut news) = (0, 0);
            let what = |what: &str| {
                format!("{command} over {before} {generations}, {what}: {:?}", names_in(&scene.to))
            };
            let killed = at_every_name(&|| scene.command(command, "new"), &prepare, &mut |at| {
                let at = what(at);
                let found = [byte_of(&scene.to.join(root), &at), byte_of(&scene.to, &at)];
                assert!(found == [Some(OLD); 2] || found == [Some(NEW); 2], "{at}: {found:?}");
                olds += usize::from(found[0] == Some(OLD));
                news += usize::from(found[0] == Some(NEW));
                // A second run succeeds after every kill of the first.
                assert!(scene.command(command, "new").output().unwrap().status.success(), "{at}");
                assert_eq!(byte_of(&scene.to, &at), Some(NEW), "{at}");
            });
            let Some((killed, code)) = killed else { return };
            println!("{command}: killed {killed} times, {olds} old, {news} new");
            assert!(
                killed >= 2 && olds > 0 && news > 0 && code == 0,
                "{command}: {killed} {olds} {news} {code}"
            );
            let left = names_in(&scene.to);
            assert!(command.ends_with("zt --force") || left.len() <= 5, "old shards are removed: {left:?}");
        }
    }
}

#[test]
fn numbered_files_without_a_root_and_arrays_replace_no_file() {
    let scene = Scene::new("kill-refused");
    for words in [
        "convert {in} {to}/m.gguf --shard-size 8",
        "convert {in} {to}/m.zt --shard-size 8",
        "extract {in} --to {to}",
    ] {
        scene.clear();
        assert!(scene.command(words, "old").output().unwrap().status.success(), "{words}");
        let before = scene.state();
        for more in ["", " --force"] {
            let replaced = || assert_eq!(scene.state(), before, "{words}");
            let command = format!("{words}{more}");
            let ended = at_every_name(&|| scene.command(&command, "new"), &|| {}, &mut |_| replaced());
            let Some((_, code)) = ended else { return };
            assert_eq!((code, scene.state() == before), (1, true), "{command}");
            assert_eq!(names_in(&scene.to).len(), before.len(), "{command}: a temporary file is left");
        }
    }
}

#[test]
fn after_a_kill_a_new_model_of_several_files_is_complete_or_does_not_open() {
    let scene = Scene::new("kill-new");
    let cases = [
        ("split {in} {to}/m.zt --size 8", "m.zt"),
        ("convert {in} {to}/m.safetensors --shard-size 8", "m.safetensors.index.json"),
        ("convert {in} {to}/m.safetensors --shard-size 8", "m-00001-of-00004.safetensors"),
        ("convert {in} {to}/m.gguf --shard-size 8", "m-00001-of-00004.gguf"),
        ("convert {in} {to}/m.zt --shard-size 8", "m-00004-of-00004.zt"),
    ];
    for (command, root) in cases {
        let mut news = 0;
        let killed = at_every_name(&|| scene.command(command, "new"), &|| scene.clear(), &mut |at| {
            for path in [scene.to.join(root), scene.to.clone()] {
                let found = byte_of(&path, &format!("{command}, {at}"));
                assert!([None, Some(NEW)].contains(&found), "{command}, {at}: {found:?}");
                news += usize::from(found == Some(NEW));
            }
        });
        let Some((killed, code)) = killed else { return };
        assert!(killed >= 8 && news > 0 && code == 0, "{command}: {killed} {news} {code}");
    }
}

#[test]
fn a_new_folder_of_arrays_has_all_of_them_or_is_not_there_after_a_kill() {
    let scene = Scene::new("kill-arrays");
    for (words, ends) in
        [("extract {in} --to {to}/arrays", "npy"), ("extract {in} --to {to}/arrays --raw", "bin")]
    {
        let mut whole = 0;
        let killed = at_every_name(&|| scene.command(words, "new"), &|| scene.clear(), &mut |at| {
            let arrays = scene.to.join("arrays");
            if arrays.exists() {
                let expected: Vec<_> = (0..4).map(|at| format!("t{at}.{ends}")).collect();
                assert_eq!(names_in(&arrays), expected, "{words}, {at}");
                whole += 1;
            }
        });
        let Some((killed, code)) = killed else { return };
        assert!(killed >= 8 && whole > 0 && code == 0, "{words}: {killed} {whole} {code}");
        assert_eq!(names_in(&scene.to), ["arrays"]);
    }
}
