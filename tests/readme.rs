//! The README's program is compiled as it is printed, and does what it says.

use std::path::{Path, PathBuf};
use std::process::Command;
use ztensor::container::capabilities;
use ztensor::container::capabilities::{Roles, SharedBytes};
use ztensor::model::manifest::Container;

/// Where the libraries are that were built with this test.
fn libraries() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_path_buf()
}

/// Compiles the README's block of that language and runs it on a file that opens and on one that does not; gives
/// what it printed, and its complaint. None without the compiler.
fn compile_and_run(language: &str, compiler: &str, standard: &str) -> Option<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let program = readme.split(&format!("```{language}\n")).nth(1).and_then(|rest| rest.split("```").next());
    let program = program.unwrap_or_else(|| panic!("the README has no {language} program"));
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("readme").join(language);
    std::fs::create_dir_all(&out).unwrap();
    let source = format!("list.{language}");
    std::fs::write(out.join(&source), program).unwrap();
    let libraries = libraries();
    // The SONAME, which the loader asks for.
    let link = out.join("libztensor.so.0");
    let _ = std::fs::remove_file(&link);
    std::os::unix::fs::symlink(libraries.join("libztensor.so"), &link).unwrap();
    let compiled = Command::new(compiler)
        .args([standard, "-Wall", "-Wextra", "-pedantic", "-Werror", &source, "-o", "list", "-lztensor"])
        .arg(format!("-I{}", root.join("include").display()))
        .arg(format!("-L{}", libraries.display()))
        .current_dir(&out)
        .output();
    let compiled = match compiled {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return None,
        compiled => compiled.unwrap(),
    };
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let run = |argument: &Path| {
        Command::new(out.join("list")).arg(argument).env("LD_LIBRARY_PATH", &out).output().unwrap()
    };
    let listed = run(&root.join("tests/data/v1.2/py-1.2.3-all-dtypes.zt"));
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let refused = run(&root.join("tests/data/invalid/offset-align-8.zt"));
    assert_eq!(refused.status.code(), Some(1));
    Some((String::from_utf8(listed.stdout).unwrap(), String::from_utf8(refused.stderr).unwrap()))
}

fn assert_listed((text, said): (String, String)) {
    assert_eq!(text.lines().count(), 13, "{text}");
    assert!(text.contains("bf16"), "{text}");
    assert!(said.contains("offset 8 is not a multiple of 64"), "{said}");
}

#[test]
fn the_c_program_of_the_readme_runs_as_printed() {
    let compiler = std::env::var("CC").unwrap_or_else(|_| String::from("cc"));
    assert_listed(compile_and_run("c", &compiler, "-std=c99").expect("a C compiler"));
}

#[test]
fn the_cpp_program_of_the_readme_runs_as_printed() {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| String::from("c++"));
    match compile_and_run("cpp", &compiler, "-std=c++17") {
        Some(printed) => assert_listed(printed),
        None => println!("the README's C++ program: skipped: there is no C++ compiler"),
    }
}

#[test]
fn the_readme_states_the_minimum_rust_version() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let stated = manifest
        .lines()
        .find_map(|l| l.strip_prefix("rust-version = "))
        .unwrap()
        .trim_matches('"')
        .to_owned();
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    assert!(readme.contains(&format!("Rust {stated} or later")), "Rust {stated}");
}

/// The row of a container in the first table of "What opens", made of what the library says of it.
fn row_of(container: Container) -> String {
    let can = capabilities(container);
    let yes = |is: bool| if is { " yes " } else { " " };
    let written = match container {
        Container::Safetensors | Container::Gguf | Container::Npz => " `zt convert` ",
        _ => yes(can.number.is_some()),
    };
    let components = match can.roles {
        Roles::Any => " any ",
        Roles::Only(_) => " one ",
    };
    let shared = match can.shared_bytes {
        SharedBytes::None => " ",
        SharedBytes::All => " the same ones ",
        SharedBytes::Any => " any ",
    };
    let cells =
        [yes(can.appends_as.is_some()), yes(can.file_attributes), components, yes(can.big_endian), shared];
    format!("| {} |{written}|{}|\n", container.name(), cells.join("|"))
}

#[test]
fn the_readme_says_of_each_container_what_the_library_does() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let table = readme.split("## What opens").nth(1).unwrap();
    for container in Container::ALL {
        let row = row_of(container);
        assert!(table.contains(&row), "README.md lacks the row\n{row}");
        let named = table.matches(&format!("\n| {}", container.name())).count();
        assert_eq!(named, 2, "rows of {}", container.name());
    }
}

#[test]
fn the_readme_says_of_each_platform_what_was_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let (readme, page) = (text("README.md"), text("docs/platforms.md"));
    let list = text("tools/platforms/list.txt");
    let platforms: Vec<_> = list.lines().filter(|line| !line.starts_with('#')).collect();
    for line in &platforms {
        let mut fields = line.split('\t');
        let (name, title, how) = (fields.next().unwrap(), fields.next().unwrap(), fields.next().unwrap());
        let passed = page.lines().find(|row| row.starts_with(&format!("| {name} |")));
        let quick = format!("{how}, quick");
        let said = match passed {
            Some(row) if row.contains(&format!("| {quick} |")) => quick.as_str(),
            Some(row) => {
                assert!(row.contains(&format!("| {how} |")), "docs/platforms.md: {row}");
                how
            }
            None => "not passed",
        };
        let row = format!("\n| {title} | {said} |\n");
        assert!(readme.contains(&row), "README.md lacks the row{row}");
    }
    // One more: the platform of every change.
    let table = readme.split("| platform | its tests |").nth(1).unwrap().split("\n\n").next().unwrap();
    assert_eq!(table.matches("\n| ").count(), platforms.len() + 1);
}
