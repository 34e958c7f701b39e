//! The README's program is compiled as it is printed, and does what it says.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the libraries are that were built with this test.
fn libraries() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_path_buf()
}

#[test]
fn the_program_of_the_readme_runs_as_printed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let program = readme.split("```c\n").nth(1).and_then(|rest| rest.split("```").next());
    let program = program.expect("the README has a C program");
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("readme");
    std::fs::create_dir_all(&out).unwrap();
    std::fs::write(out.join("list.c"), program).unwrap();
    let libraries = libraries();
    // The SONAME, which the loader asks for.
    let link = out.join("libztensor.so.1");
    let _ = std::fs::remove_file(&link);
    std::os::unix::fs::symlink(libraries.join("libztensor.so"), &link).unwrap();
    let compiled = Command::new(std::env::var("CC").unwrap_or_else(|_| String::from("cc")))
        .args(["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "list.c", "-o", "list", "-lztensor"])
        .arg(format!("-I{}", root.join("include").display()))
        .arg(format!("-L{}", libraries.display()))
        .current_dir(&out)
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let run = |argument: &Path| {
        Command::new(out.join("list")).arg(argument).env("LD_LIBRARY_PATH", &out).output().unwrap()
    };
    let listed = run(&root.join("tests/data/v1.2/py-1.2.3-all-dtypes.zt"));
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let text = String::from_utf8(listed.stdout).unwrap();
    assert_eq!(text.lines().count(), 13, "{text}");
    assert!(text.contains(": bf16, "), "{text}");
    let refused = run(&root.join("tests/data/invalid/offset-align-8.zt"));
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("offset 8 is not a multiple of 64"), "{said}");
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
