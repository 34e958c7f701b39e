//! How the program behaves for users, pipes and scripts.

use crate::common;

use common::{data, folder, run, zt, Ran};

#[test]
fn help_and_version_are_results() {
    let help = run(&[&"--help"]).good();
    for command in ["ls", "verify", "convert", "repair"] {
        assert!(help.contains(&format!("\n  {command} ")), "{help}");
        assert!(run(&[&command, &"--help"]).good().contains("Usage: zt "));
    }
    let version = format!("zt {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!([run(&[&"--version"]).good(), run(&[&"version"]).good()], [version.clone(), version]);
}

#[test]
fn options_of_all_commands_come_last_in_every_help() {
    for command in ["ls", "completions", "convert"] {
        let help = run(&[&command, &"--help"]).good();
        let (own, all) = help.split_once("\nOptions of all commands:\n").unwrap();
        for option in ["--quiet", "--part", "--combine", "--include-unlisted", "--root-certificates"] {
            assert!(all.contains(option) && !own.contains(option), "{help}");
        }
    }
}

#[test]
fn one_table_in_help_has_the_exit_status_of_all_commands() {
    let help = run(&[&"--help"]).good();
    let table = help.split_once("\nExit status of all commands:\n").unwrap().1.split("\n\n").next().unwrap();
    let statuses: Vec<_> = table.lines().map(|line| line.trim().split("  ").next().unwrap()).collect();
    assert_eq!(statuses, ["0", "1", "2", "3", "130, 143"], "{help}");
}

/// The system's folders of libraries have no libztensor_remote, or this test has nothing to see.
#[cfg(unix)]
#[test]
fn a_url_without_the_library_for_urls_is_status_3() {
    let commands = ["ls", "info", "tree", "verify", "stats", "head", "report -o -", "convert", "id", "diff"];
    for command in commands.iter().filter(|command| run(&[command, &"--help"]).status == 0) {
        let mut words: Vec<_> = command.split(' ').collect();
        words.push("https://me:hush@host/a.zt");
        words.extend(Some("unused.zt").filter(|_| ["convert", "diff"].contains(command)));
        let ran = Ran::of(zt().args(&words).env_remove("LD_LIBRARY_PATH").output().unwrap());
        if !ran.err.contains("is not installed") {
            return println!("manners: skipped: libztensor_remote is installed: {ran:?}");
        }
        assert_eq!(ran.status, 3, "{ran:?}");
        assert!(ran.err.starts_with("zt: https://...: URLs need libztensor_remote"), "{ran:?}");
        assert!(!ran.err.contains("hush") && ran.err.lines().count() == 1, "{ran:?}");
    }
}

#[test]
fn quiet_leaves_out_notes_and_keeps_failures() {
    let file = data().join("v1.1/py-1.1.1-all-dtypes.zt");
    run(&[&"verify", &file]).noted("not covered");
    run(&[&"verify", &file, &"--quiet"]).good();
    run(&[&"ls", &"-q", &"missing.zt"]).bad(&["missing.zt: "]);
}

#[test]
fn attr_with_a_file_prints_all_attributes() {
    let file = data().join("foreign/valid/amber-all-types-py.gguf");
    assert_eq!(run(&[&"attr", &file]).good(), run(&[&"attr", &"get", &file]).good());
    let key = "general.architecture";
    assert_eq!(run(&[&"attr", &file, &key]).good(), "llama\n");
}

/// The commands in a help text.
fn commands_in(help: &str) -> Vec<String> {
    let listed = help.split_once("Commands:\n").map_or("", |(_, listed)| listed);
    let listed = listed.lines().take_while(|line| !line.is_empty());
    let names = listed.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn every_help_ends_with_an_example_of_its_command() {
    let mut due: Vec<Vec<String>> = vec![Vec::new()];
    let mut seen = 0;
    while let Some(path) = due.pop() {
        let help = Ran::of(zt().args(&path).arg("--help").output().unwrap()).good();
        let example = help.trim_end().lines().last().unwrap();
        let begin = format!("Example: zt {}", path.join(" "));
        assert!(example.starts_with(&begin) && example.len() > begin.len(), "{path:?}: {example:?}");
        due.extend(commands_in(&help).into_iter().map(|command| [&path[..], &[command]].concat()));
        seen += 1;
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn wrong_usage_is_status_2_on_standard_error() {
    let file = data().join("v1.2/py-1.2.3-zstd.zt");
    let help = run(&[]);
    assert_eq!((help.status, help.out.as_str()), (2, ""), "{help:?}");
    assert!(help.err.contains("Commands:"), "{help:?}");
    let wrong: [&[&dyn AsRef<std::ffi::OsStr>]; 13] = [
        &[&"list"],
        &[&"edit", &file],
        &[&"merge", &file],
        &[&"merge", &file, &"--force"],
        &[&"attr", &"set", &file, &"key"],
        &[&"attr", &"rm", &file],
        &[&"ls"],
        &[&"ls", &file, &"--sha256"],
        &[&"ls", &file, &"--sort", &"colour"],
        &[&"convert", &file],
        &[&"convert", &file, &"out.zt", &"--zstd=23"],
        &[&"convert", &file, &"out.zt", &"--alignment", &"96"],
        &[&"convert", &file, &"out.zt", &"--digest", &"md5"],
    ];
    for arguments in wrong {
        let ran = run(arguments);
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{ran:?}");
        assert!(ran.err.starts_with("zt: ") && ran.err.lines().count() == 1, "{ran:?}");
        assert!(ran.err.contains("zt "), "the message does not name the help: {ran:?}");
    }
}

#[test]
fn wrong_usage_gives_advice() {
    for (words, said) in [
        ("lss", "unrecognized subcommand 'lss'; a similar subcommand exists: 'ls'; zt --help has more"),
        ("ls", "the following required arguments were not provided: <FILE>; zt ls --help has more"),
        ("attr set", "FILE> <[OBJECT] KEY VALUE>...; zt attr set --help has more"),
        ("ls a --sort colour", "'--sort <BY>' [possible values: name, offset, size]; zt ls --help has more"),
        ("convert a b.gguf --dtype q8_0", "f16, bf16]; --type q8_0 quantizes; zt convert --help has more"),
        ("verify a --sort=b", "'--sort' found; zt ls has it; zt verify"),
        (
            "ls a --force",
            "'--force' found; zt report, extract, convert, merge and split have it; zt ls --help",
        ),
        ("ls a --zzz", "zt: unexpected argument '--zzz' found; zt ls --help has more\n"),
        ("ls a --jsn", "; a similar argument exists: '--json'; zt ls"),
        ("edit a", "<--remove <NAME>|--rename <NAME> <NEW>|"),
    ] {
        let ran = Ran::of(zt().args(words.split(' ')).output().unwrap());
        assert!(ran.err.contains(said), "{words}: {ran:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn help_that_cannot_be_written_is_a_failure() {
    for word in ["--help", "--version"] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let ran = Ran::of(zt().arg(word).stdout(full).output().unwrap());
        ran.bad(&["standard output: "]);
    }
}

#[test]
fn a_number_behind_an_option_that_may_have_one_is_its_value() {
    let folder = folder("manners-numbers");
    let (from, to) = (data().join("v1.2/py-1.2.3-all-dtypes.zt"), folder.join("new.zt"));
    let cases: [&[&dyn AsRef<std::ffi::OsStr>]; 3] = [
        &[&"convert", &from, &to, &"--force", &"--zstd", &"9"],
        &[&"convert", &"--zstd", &"-3", &from, &to, &"--force"],
        &[&"convert", &"--zstd", &from, &to, &"--force"],
    ];
    for words in cases {
        run(words).good();
    }
    assert!(run(&[&"ls", &to]).good().contains("zstd"));
    assert_eq!(run(&[&"convert", &from, &to, &"--force", &"--zstd", &"23"]).status, 2);
}

#[test]
fn colours_and_bars_are_only_printed_on_a_terminal() {
    for (variable, value) in [("CLICOLOR_FORCE", "0"), ("NO_COLOR", "1"), ("TERM", "xterm-256color")] {
        for command in ["ls", "verify"] {
            let mut zt = zt();
            zt.arg(command).arg(data().join("v1.2/rs-1.2.3-1m.zt")).env(variable, value);
            // standard error is empty, so there is no progress bar
            let out = Ran::of(zt.output().unwrap()).good();
            assert!(!out.contains('\u{1b}'), "{out:?}");
        }
    }
}

#[test]
fn backtraces_are_never_shown() {
    let mut zt = zt();
    zt.args(["ls", "missing.zt"]).env("RUST_BACKTRACE", "full");
    Ran::of(zt.output().unwrap()).bad(&["zt: missing.zt: "]);
}

#[test]
fn no_file_of_the_corpus_upsets_any_command() {
    let folder = folder("manners-corpus");
    let (copy, new) = (folder.join("copy.zt"), folder.join("new.zt"));
    let mut files = 0;
    for entry in std::fs::read_dir(data().join("invalid")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "zt") {
            continue;
        }
        std::fs::copy(&path, &copy).unwrap();
        let runs = [
            run(&[&"ls", &path]),
            run(&[&"ls", &"--json", &"--sha256", &path]),
            run(&[&"verify", &"--strict", &path]),
            run(&[&"convert", &path, &new, &"--zstd", &"--digest=crc32c", &"--force"]),
            run(&[&"repair", &copy]),
        ];
        for ran in runs {
            assert!([0, 1, 2].contains(&ran.status), "{}: {ran:?}", path.display());
            // Notes are not failures, and a failure is not only a note.
            let notes =
                ["not covered: ", "left out: ", "values lost: ", "renamed: ", "its stored bytes are copied"];
            let is_failure = |line: &&str| !notes.iter().any(|note| line.contains(note));
            let failures = ran.err.lines().filter(is_failure).count();
            assert_eq!(ran.status > 0, failures > 0, "{}: {ran:?}", path.display());
            assert!(ran.err.lines().all(|line| line.starts_with("zt: ")), "{}: {ran:?}", path.display());
            assert!(!ran.err.contains("internal error"), "{}: {ran:?}", path.display());
        }
        files += 1;
    }
    assert_eq!(files, 426);
}
