//! `zt rm`, `mv`, `attr`, `add`, `merge` and `compact`: their changes, and that nothing else changes.

use crate::common;

use common::{data, folder, listing, names_in, run, Ran};
use std::path::{Path, PathBuf};
use ztensor::model::value::{Attributes, OwnedValue, ValueKind};
use ztensor::writer::{Writer, WriterOptions};

fn names(path: &Path) -> Vec<String> {
    let listing = listing(path);
    let objects = listing["objects"].as_array().unwrap();
    objects.iter().map(|object| object["name"].as_str().unwrap().to_owned()).collect()
}

/// Checks that these objects have the same values in both files.
fn assert_same(a: &Path, b: &Path, names: &[String]) {
    let mut words: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"diff", &"--no-attributes", &a, &b];
    words.extend(names.iter().map(|name| name as &dyn AsRef<std::ffi::OsStr>));
    assert_eq!(run(&words).noted("not compared"), format!("{} objects the same\n", names.len()));
}

fn copied(name: &str) -> PathBuf {
    let path = folder(name).join("file.zt");
    std::fs::copy(data().join("v1.2/py-1.2.3-all-dtypes.zt"), &path).unwrap();
    path
}

#[test]
fn objects_are_removed_renamed_and_given_back() {
    let path = copied("rm");
    let before = names(&path);
    run(&[&"rm", &path, &before[0], &before[1]]).good();
    run(&[&"mv", &path, &before[2], &"new"]).good();
    let after = names(&path);
    assert_eq!(after[0], "new");
    assert_eq!(after[1..], before[3..]);
    run(&[&"rm", &path, &"none"]).bad(&["file.zt", "\"none\""]);
    let (listed, size) = (listing(&path), std::fs::metadata(&path).unwrap().len());
    let out = run(&[&"compact", &path]).good();
    assert!(out.contains("given back"), "{out}");
    let hashes = |listing: &serde_json::Value| -> Vec<_> {
        let objects = listing["objects"].as_array().unwrap().iter();
        objects.map(|o| o["components"][0]["sha256_of_decoded_little_endian_bytes"].clone()).collect()
    };
    assert_eq!(hashes(&listing(&path)), hashes(&listed));
    assert!(std::fs::metadata(&path).unwrap().len() < size);
    assert_eq!(names_in(path.parent().unwrap()), ["file.zt"]);
    run(&[&"verify", &"--strict", &path]).sound();
    let foreign = folder("compact-not").join("a.safetensors");
    std::fs::copy(data().join("../../examples/data/minilm-small.safetensors"), &foreign).unwrap();
    run(&[&"compact", &foreign]).bad(&["a.safetensors", "zt convert"]);
}

#[test]
fn attributes_are_set_printed_and_removed() {
    let path = copied("attr");
    let object = names(&path).remove(0);
    run(&[&"attr", &"set", &path, &"author", &"Jane \"J\" Doe"]).good();
    run(&[&"attr", &"set", &path, &"layers", &"12"]).good();
    run(&[&"attr", &"set", &path, &"build", &"--text", &"12"]).good();
    run(&[&"attr", &"set", &path, &"offset", &"-3.5"]).good();
    run(&[&"attr", &"set", &path, &object, &"scale", &"[1, 0.5]"]).good();
    let get = |arguments: &[&str]| {
        let mut all: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"attr", &"get", &path];
        all.extend(arguments.iter().map(|a| a as &dyn AsRef<std::ffi::OsStr>));
        run(&all)
    };
    assert_eq!(get(&["author"]).good(), "Jane \"J\" Doe\n");
    assert_eq!(get(&["layers"]).good(), "12\n");
    assert_eq!(get(&[&object, "scale"]).good(), "[1,0.5]\n");
    let all: serde_json::Value = serde_json::from_str(&get(&[]).good()).unwrap();
    assert_eq!((&all["build"], &all["layers"], &all["offset"]), (&"12".into(), &12.into(), &(-3.5).into()));
    run(&[&"attr", &"rm", &path, &"layers"]).good();
    run(&[&"attr", &"rm", &path, &object, &"scale"]).good();
    get(&["layers"]).bad(&["the file has no attribute \"layers\""]);
    get(&[&object, "scale"]).bad(&["has no attribute \"scale\""]);
    get(&["none", "scale"]).bad(&["\"none\""]);
    run(&[&"attr", &"rm", &path, &"layers"]).bad(&["layers"]);
    run(&[&"verify", &path]).sound();
}

#[test]
fn objects_of_other_files_are_added_and_merged() {
    let path = copied("add");
    let before = names(&path);
    let input = data().join("../../examples/data/minilm-small.safetensors");
    let more = names(&input);
    run(&[&"add", &path, &input, &more[0]]).noted("left out");
    assert_eq!(names(&path), [before.clone(), vec![more[0].clone()]].concat());
    let bytes = std::fs::read(&path).unwrap();
    run(&[&"add", &path, &input]).bad(&["file.zt", &more[0], "--replace"]);
    assert_eq!(std::fs::read(&path).unwrap(), bytes, "a failed command changed the file");
    run(&[&"add", &path, &input, &"--replace"]).noted("left out");
    assert_eq!(names(&path), [before.clone(), more.clone()].concat());
    assert_same(&input, &path, &more);
    run(&[&"add", &path, &input, &more[0], &"none*", &"--replace"]).bad(&["no object matches \"none*\""]);

    let merged = path.with_file_name("merged.zt");
    let one = data().join("v1.2/py-1.2.3-all-dtypes.zt");
    let out = run(&[&"merge", &one, &input, &merged]).good();
    assert!(out.contains("2 files merged"), "{out}");
    assert_same(&one, &merged, &before);
    assert_same(&input, &merged, &more);
    assert_eq!(names(&merged), [before, more].concat());
    run(&[&"merge", &one, &"--force", &input, &merged]).good();
    run(&[&"merge", &one, &input, &merged]).bad(&["it exists"]);
    for wrong in ["a.safetensors", "a.gguf", "a.pt"] {
        let wrong = path.with_file_name(wrong);
        run(&[&"merge", &one, &input, &wrong]).bad(&["only .zt files", "zt convert"]);
        run(&[&"split", &one, &wrong, &"--size", &"1K"]).bad(&["only .zt files", "zt convert"]);
    }
    run(&[&"merge", &one, &path, &merged, &"--force"]).bad(&["is also in"]);
    assert_eq!(names_in(path.parent().unwrap()), ["file.zt", "merged.zt"]);
}

#[test]
fn a_folder_is_rejected_with_advice() {
    let path = copied("change-folder");
    let model = path.parent().unwrap();
    let cases: [&[&dyn AsRef<std::ffi::OsStr>]; 5] = [
        &[&"rm", &model, &"f32"],
        &[&"mv", &model, &"f32", &"new"],
        &[&"attr", &"set", &model, &"author", &"me"],
        &[&"add", &model, &path, &"--replace"],
        &[&"compact", &model],
    ];
    for words in cases {
        run(words).bad(&["change-folder: it is a folder; name the file"]);
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_is_refused_and_not_waited_for() {
    let pipe = folder("change-pipe").join("pipe.zt");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    run(&[&"rm", &pipe, &"f32"]).bad(&["pipe.zt: "]);
    run(&[&"compact", &pipe]).bad(&["pipe.zt: "]);
}

/// A user who may write to the folder, but not to the file, must not replace another user's file.
#[cfg(target_os = "linux")]
#[test]
fn a_file_without_write_permission_is_not_replaced() {
    use std::os::unix::process::CommandExt;
    let path = copied("compact-not-mine");
    let bytes = std::fs::read(&path).unwrap();
    let is_root = std::process::Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    if !is_root {
        return; // cannot make a file of another user
    }
    let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    let folder = std::env::temp_dir().join(format!("zt-not-mine-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::set_permissions(&folder, everybody).unwrap();
    let (protected, program) = (folder.join("file.zt"), folder.join("zt"));
    std::fs::copy(&path, &protected).unwrap();
    // Not opened by this process: an open program cannot be started by another thread ("text file busy").
    let copy = std::process::Command::new("cp").arg(env!("CARGO_BIN_EXE_zt")).arg(&program).status().unwrap();
    assert!(copy.success());
    let mut command = std::process::Command::new(&program);
    let ran = Ran::of(command.arg("compact").arg(&protected).uid(65534).gid(65534).output().unwrap());
    let after = std::fs::read(&protected).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    ran.bad(&["file.zt: could not open it for writing"]);
    assert!(after == bytes, "the file changed");
}

#[test]
fn completions_name_every_command() {
    let help = run(&[&"--help"]).good();
    let commands = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let commands: Vec<_> = commands.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert!(commands.contains(&"merge"), "{commands:?}");
    for shell in ["bash", "zsh", "fish"] {
        let script = run(&[&"completions", &shell]).good();
        for command in &commands {
            assert!(script.contains(command), "{shell}: {command}");
        }
    }
}

/// The completions of bash after these words. For files it offers nothing, so bash completes file names
/// itself.
#[cfg(unix)]
#[test]
fn bash_completes_commands_options_values_and_leaves_files_to_itself() {
    use std::process::Command;
    let script = folder("completions").join("zt.bash");
    std::fs::write(&script, run(&[&"completions", &"bash"]).good()).unwrap();
    if Command::new("bash").arg("--version").output().is_err() {
        println!("skipped: bash not found");
        return;
    }
    let offered = |words: &str| {
        let asks = r#"source "$1"; complete -p zt | grep -q -- '-o default' || exit 1
            read -ra COMP_WORDS <<<"$2"; [[ $2 == *' ' ]] && COMP_WORDS+=("")
            COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            asked=$(complete -p zt | sed 's/.*-F \([a-z_]*\) .*/\1/')
            $asked zt "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
            echo "${COMPREPLY[@]}""#;
        Ran::of(Command::new("bash").args(["-c", asks, "bash"]).arg(&script).arg(words).output().unwrap())
            .good()
    };
    assert!(offered("zt ").starts_with("ls tree info diff "), "{}", offered("zt "));
    for (words, expected) in [
        ("zt comp", "compact completions"),
        ("zt ls --to", "--totals"),
        ("zt tree --d", "--depth"),
        ("zt ls --sort ", "name offset size"),
        ("zt attr ", "get set rm help"),
        ("zt completions b", "bash"),
        ("zt convert --to s", "safetensors"),
    ] {
        assert_eq!(offered(words).trim(), expected, "{words}");
    }
    for words in ["zt ls ", "zt ls a", "zt attr get ", "zt report a -o ", "zt convert a ", "zt ls a --json "]
    {
        assert_eq!(offered(words).trim(), "", "{words}");
    }
}

/// The completions of fish after these words: a line for each, with its description after a tab.
#[cfg(unix)]
#[test]
fn fish_completes_commands_options_and_values() {
    use std::process::Command;
    let script = folder("completions-fish").join("zt.fish");
    std::fs::write(&script, run(&[&"completions", &"fish"]).good()).unwrap();
    if Command::new("fish").arg("--version").output().is_err() {
        println!("skipped: fish not found");
        return;
    }
    for (words, expected) in [
        ("zt comp", "compact completions"),
        ("zt ls --to", "--totals"),
        ("zt convert --spec ", "0.1 1.1 1.2 2"),
        ("zt completions b", "bash"),
    ] {
        let asks = ["-c", "source $argv[1]; complete -C $argv[2]"];
        let ran = Command::new("fish").args(asks).arg(&script).arg(words).output().unwrap();
        let offered = Ran::of(ran).good();
        let offered: Vec<_> = offered.lines().filter_map(|line| line.split('\t').next()).collect();
        assert_eq!(offered.join(" "), expected, "{words}");
    }
}

#[test]
fn a_merged_model_is_not_a_part() {
    let folder = folder("merge-split");
    let part = data().join("foreign/valid/amber-gguf-split-hand/llm-00002-of-00003.gguf");
    let (merged, back) = (folder.join("m.zt"), folder.join("m.gguf"));
    run(&[&"merge", &part, &merged]).good();
    run(&[&"convert", &merged, &back]).noted("left out: 6 digests");
    assert_eq!(names(&back).len(), names(&merged).len());
    run(&[&"diff", &part, &back]).noted("not compared");
    assert!(run(&[&"attr", &"get", &part]).good().contains("\"split.count\":3"));
    for made in [&merged, &back] {
        assert!(!run(&[&"attr", &"get", made]).good().contains("split."));
    }
}

#[test]
fn a_compact_file_keeps_its_alignment() {
    let path = folder("compact-alignment").join("a.zt");
    let input = data().join("../../examples/data/minilm-small.safetensors");
    run(&[&"convert", &input, &path, &"--alignment", &"4096"]).good();
    let first = names(&path).remove(0);
    run(&[&"rm", &path, &first]).good();
    run(&[&"compact", &path]).good();
    let listed = listing(&path);
    let offsets =
        listed["objects"].as_array().unwrap().iter().map(|o| o["components"][0]["offset"].as_u64().unwrap());
    assert!(offsets.clone().count() > 10 && offsets.clone().all(|offset| offset % 4096 == 0));
}

#[test]
fn a_compact_file_has_no_gap_that_only_its_offsets_ask_for() {
    let path = folder("compact-far").join("a.zt");
    let input = data().join("v1.2/py-1.2.3-all-dtypes.zt");
    let first = names(&input).remove(0);
    run(&[&"convert", &input, &path, &"--include", &first, &"--alignment", &"67108864"]).good();
    assert!(std::fs::metadata(&path).unwrap().len() > 1 << 26);
    run(&[&"compact", &path]).good();
    assert_eq!(names(&path), [first]);
    let size = std::fs::metadata(&path).unwrap().len();
    assert!((1 << 21..1 << 23).contains(&size), "{size} bytes");
}

/// A linear search for each attribute would take many minutes.
#[test]
fn a_hundred_thousand_attributes_are_merged_and_the_first_file_s_stay() {
    const COUNT: u64 = 100_000;
    let folder = folder("merge-attributes");
    let number = |n: u64| OwnedValue::scalar(ValueKind::Unsigned(n)).unwrap();
    let with = |name: &str, add: u64| {
        let mut attributes = Attributes::default();
        (0..COUNT).for_each(|n| attributes.push(number(n).get(), number(n + add).get()).unwrap());
        (0..COUNT).for_each(|n| {
            let key = OwnedValue::text(&format!("key {n}")).unwrap();
            attributes.push(key.get(), number(n + add).get()).unwrap();
        });
        let path = folder.join(name);
        let mut writer = Writer::create(&path, &WriterOptions::default()).unwrap();
        writer.set_attributes(attributes).unwrap();
        writer.finish().unwrap();
        path
    };
    let (one, two, merged) = (with("one.zt", 0), with("two.zt", 7), folder.join("merged.zt"));
    run(&[&"merge", &one, &two, &merged]).noted("left out");
    assert_eq!(run(&[&"attr", &"get", &merged]).good(), run(&[&"attr", &"get", &one]).good());
}
