//! Contents of an untrusted file do not control the terminal: names, types, attributes and paths are escaped.

use crate::common;

use common::commands::{Effect, Scene, ROWS};
use common::{run, zt, Ran};
use std::process::Command;

/// Characters that move the cursor, ring, or change the direction of writing.
const HARMFUL: &str = "\u{1b}[2J\u{7}\u{8}\r\u{7f}\u{9b}31m\u{61c}\u{202e}\u{2066}\u{2028}";

fn is_harmful(c: char) -> bool {
    c != '\n' && (c.is_control() || "\u{61c}\u{202e}\u{2066}\u{2028}".contains(c))
}

#[track_caller]
fn is_harmless(what: &str, ran: &Ran) {
    for text in [&ran.out, &ran.err] {
        let found = text.chars().find(|c| is_harmful(*c));
        assert_eq!(found, None, "{what}: {text:?}");
    }
}

/// The rows, except those that write a file to standard output.
fn rows() -> impl Iterator<Item = common::commands::Row> {
    ROWS.into_iter().filter(|(words, _)| !words.starts_with("cat") && !words.contains(" - "))
}

#[test]
fn names_and_attributes_come_out_escaped() {
    let scene = Scene::new("terminal-names");
    // The file replaces each input, also those of another container.
    let named = scene.path("{zt}");
    run(&[&"mv", &named, &"f16", &HARMFUL]).good();
    run(&[&"attr", &"set", &named, &HARMFUL, &HARMFUL]).good();
    run(&[&"attr", &"set", &named, &HARMFUL, &HARMFUL, &HARMFUL]).good();
    let foreign = scene.path("{new}.safetensors");
    run(&[&"convert", &named, &foreign, &"--include", &HARMFUL, &"--no-attributes"]);
    let bytes = std::fs::read(&named).unwrap();
    for row in rows() {
        for words in [
            row.0.replace("{in}", "{zt}"),
            row.0.replace("model.a.weight", HARMFUL).replace("{in}", "{zt}"),
            row.0.to_owned(),
        ] {
            std::fs::write(&named, &bytes).unwrap();
            let ran = run(&words
                .split(' ')
                .map(|word| scene.path(word))
                .collect::<Vec<_>>()
                .iter()
                .map(|p| p as &dyn AsRef<std::ffi::OsStr>)
                .collect::<Vec<_>>());
            is_harmless(&words, &ran);
            let _ = std::fs::remove_dir_all(scene.path("{new}"));
            for name in common::names_in(&scene.0).iter().filter(|name| name.starts_with("new")) {
                std::fs::remove_file(scene.0.join(name)).unwrap();
            }
        }
    }
    for words in [
        vec!["attr", "get", "{zt}"],
        vec!["attr", "get", "{zt}", HARMFUL, "none"],
        vec!["info", "{zt}", "none", HARMFUL],
        vec!["cat", "{zt}", HARMFUL, "--component", HARMFUL],
        vec!["rm", "{zt}", "\u{1b}[31m"],
        vec!["add", "{zt}", "{zt}"],
        vec!["merge", "{zt}", "{zt}", "{new}"],
        vec!["diff", "{zt}", "{in}", "--attributes"],
        vec!["ls", "{new}\u{1b}[31m\u{9b}"],
    ] {
        let ran = Ran::of(zt().args(words.iter().map(|word| scene.path(word))).output().unwrap());
        is_harmless(&format!("{words:?}"), &ran);
    }
}

/// Texts of a manifest other than names. They have the length of the old ones, so that the file stays valid.
#[test]
fn types_roles_and_encodings_come_out_escaped() {
    let scene = Scene::new("terminal-types");
    let path = scene.path("{zt}");
    let plain = std::fs::read(&path).unwrap();
    let compressed = std::fs::read(common::data().join("v1.2/py-1.2.3-zstd.zt")).unwrap();
    let mut changed = 0;
    for (bytes, old, new) in [
        (&plain, "f32", "\u{1b}[m"),
        (&plain, "dense", "\u{1b}[31m"),
        (&plain, "data", "\u{1b}[2J"),
        (&plain, "MIT", "\u{1b}[m"),
        (&plain, "1.2.0", "\u{1b}[31m"),
        (&compressed, "zstd", "\u{1b}[2J"),
    ] {
        let text = |of: &str| [&[0x60 + of.len() as u8], of.as_bytes()].concat(); // CBOR
        let places: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(&text(old))).collect();
        assert!(!places.is_empty(), "{old}");
        for at in places {
            let mut hostile = bytes.clone();
            hostile[at..at + 1 + old.len()].copy_from_slice(&text(new));
            for row in rows().filter(|row| row.1 != Effect::Makes) {
                std::fs::write(&path, &hostile).unwrap();
                let words = row.0.replace("{in}", "{zt}");
                let ran = Ran::of(zt().args(words.split(' ').map(|word| scene.path(word))).output().unwrap());
                is_harmless(&format!("{old} at {at}: {words}"), &ran);
            }
            changed += 1;
        }
    }
    assert!(changed > 10, "{changed}");
}

/// The output of a command on a terminal with this many columns, which `script` provides.
#[cfg(target_os = "linux")]
fn on_terminal(words: &str, columns: usize) -> Option<String> {
    let command = format!("stty rows 24 cols {columns}; {} {words}", env!("CARGO_BIN_EXE_zt"));
    let mut script = Command::new("script");
    script.args(["-qec", &command, "/dev/null"]).env("NO_COLOR", "1").env_remove("COLUMNS");
    match script.output() {
        Ok(output) => Some(String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n")),
        Err(_) => None,
    }
}

#[cfg(target_os = "linux")]
#[test]
fn raw_output_is_escaped_on_a_terminal() {
    let scene = Scene::new("terminal-raw");
    let path = scene.path("{zt}");
    let text = "{% for m in messages %}\n\t\u{1b}[2J\u{9b}m";
    run(&[&"attr", &"set", &path, &"template", &text]).good();
    assert_eq!(run(&[&"attr", &"get", &path, &"template"]).good(), format!("{text}\n"));
    let Some(shown) = on_terminal(&format!("attr get {} template", path.display()), 80) else {
        return println!("terminal: skipped: script not found");
    };
    assert_eq!(shown, "{% for m in messages %}\n\t\\u{1b}[2J\\u{9b}m\n");
    for words in [format!("cat {} u8", path.display()), format!("convert {} - --to zt", path.display())] {
        let shown = on_terminal(&words, 200).unwrap();
        assert!(shown.starts_with("zt: standard output: ") && shown.lines().count() == 1, "{shown:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn lines_fit_into_the_terminal_and_numbers_are_whole() {
    let scene = Scene::new("terminal-width");
    let long = format!("model.{}.lora_A.weight", "vision_tower.self_attention".repeat(3));
    let text = format!("{}A{}", "same ".repeat(40), " rest".repeat(40));
    for (name, text) in [("a", text.clone()), ("b", text.replace('A', "B"))] {
        let (from, to) = (scene.0.join(format!("{name}.safetensors")), scene.0.join(format!("{name}.zt")));
        let last = if name == "a" { 0.012_345_6f32 } else { 0.012_345_7 };
        let bytes = [-0.123_456_7f32, 7.654_321e-8, last].map(f32::to_le_bytes).concat();
        let header = format!(
            r#"{{"__metadata__":{{"t":"{text}"}},"{long}":{{"dtype":"F32","shape":[3],"data_offsets":[0,12]}}}}"#
        );
        let size = (header.len() as u64).to_le_bytes();
        std::fs::write(&from, [&size[..], header.as_bytes(), &bytes].concat()).unwrap();
        run(&[&"convert", &"--zstd", &from, &to]).good();
    }
    let (a, b) = (scene.0.join("a.zt"), scene.0.join("b.zt"));
    let (a, b) = (a.display(), b.display());
    let new = scene.0.join("new.zt");
    for (words, whole) in [
        (format!("ls {a}"), vec!["STORED", "DECODED", "crc32c:0x"]),
        (format!("stats --histogram 2 {a}"), vec!["-0.123457", "0.0123456", "-0.037037 ", "0.0613154"]),
        (format!("diff {a} {b}"), vec!["1 of 3 numbers differ", "9.96515e-8", "0.0123456", "0.0123457"]),
        (
            format!("convert --force --dtype f16 {a} {}", new.display()),
            vec!["1 object converted to f16,", "1.74195e-5"],
        ),
    ] {
        let Some(narrow) = on_terminal(&words, 80) else {
            return println!("terminal: skipped: script not found");
        };
        let widest = narrow.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(80), "{narrow}");
        let joined = narrow.split_whitespace().collect::<Vec<_>>().join(" ");
        for number in whole {
            assert!(joined.contains(number), "{number}: {narrow}");
        }
        let is_named = !words.starts_with("convert");
        assert!(!is_named || narrow.contains('…') && !narrow.contains(&long), "{narrow}");
        // Nothing is cut on a wide terminal, nor in a pipe.
        let wide = on_terminal(&words, 300).unwrap();
        let piped = Ran::of(zt().args(words.split(' ')).env("COLUMNS", "20").output().unwrap()).out;
        for whole in [wide, piped] {
            assert!(!whole.contains('…') && (!is_named || whole.contains(&long)), "{whole}");
        }
    }
}
