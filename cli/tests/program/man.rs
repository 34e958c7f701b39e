//! The man pages list exactly the commands and options of `zt`, and the functions of the library.

use crate::common;

use common::run;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn page(name: &str) -> String {
    std::fs::read_to_string(root().join("man").join(name)).unwrap()
}

/// The options in a help text: on lines that begin with a dash, before the description.
fn options_in_help(help: &str) -> BTreeSet<String> {
    help.lines()
        .map(str::trim)
        .filter(|line| line.starts_with('-') && !line.starts_with("- "))
        .flat_map(|line| line.split("  ").next().unwrap().split([' ', ',', '[', '=']))
        .filter(|word| word.starts_with('-'))
        .map(str::to_owned)
        .collect()
}

/// The options in a page in mdoc: `.It Fl l , Fl -long` is -l and --long.
fn options_in_page(page: &str) -> BTreeSet<String> {
    page.lines()
        .filter(|line| line.starts_with(".It Fl "))
        .flat_map(|line| line.split("Fl ").skip(1))
        .map(|rest| format!("-{}", rest.split(' ').next().unwrap()))
        .collect()
}

#[test]
fn every_option_of_zt_is_in_its_page() {
    let page = page("zt.1");
    let mut expected = options_in_help(&run(&[&"--help"]).good());
    let help = run(&[&"--help"]).good();
    let commands = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let commands: Vec<_> = commands.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    for command in commands.iter().filter(|command| **command != "help") {
        assert!(page.contains(&format!("\n.Ss {command}\n")), "{command}");
        assert!(page.contains(&format!("\n.Cm {command}")), "{command}");
        expected.extend(options_in_help(&run(&[command, &"--help"]).good()));
    }
    for action in ["get", "set", "rm"] {
        expected.extend(options_in_help(&run(&[&"attr", &action, &"--help"]).good()));
    }
    assert!(commands.len() > 15 && expected.len() > 30, "{expected:?}");
    assert_eq!(options_in_page(&page), expected);
}

#[test]
fn every_function_of_the_library_is_in_its_page() {
    let symbols = std::fs::read_to_string(root().join("c_tests/abi/symbols.txt")).unwrap();
    let expected: BTreeSet<&str> = symbols.split_whitespace().collect();
    let page = page("ztensor.3");
    let named: BTreeSet<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix(".Fn "))
        .map(|rest| rest.split(' ').next().unwrap())
        .collect();
    assert_eq!(named, expected);
}

#[test]
fn the_pages_are_sound_mdoc() {
    let linted = Command::new("mandoc")
        .args(["-T", "lint", "-W", "warning", "zt.1", "ztensor.3"])
        .current_dir(root().join("man"))
        .output();
    match linted {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => println!("man: skipped: mandoc not found"),
        linted => {
            let linted = linted.unwrap();
            assert!(linted.status.success(), "{}", String::from_utf8_lossy(&linted.stdout));
        }
    }
}
