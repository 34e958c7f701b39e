//! Blocks of C and C++ on the pages in docs/ compile as printed. The functions in C run on files with sparse,
//! quantized and unknown objects. Linked pages exist.

use std::path::{Path, PathBuf};
use std::process::Command;

const INCLUDES_C: &str =
    "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <ztensor_advanced.h>\n";
const INCLUDES_CPP: &str = "#include <cstdio>\n#include <ztensor.hpp>\n";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The name and text of each page.
fn pages() -> Vec<(String, String)> {
    let mut pages: Vec<_> = std::fs::read_dir(root().join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "md"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    pages.sort();
    pages
}

fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    page.split(fence.as_str()).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// Compiles each block of a language. Returns their number, or None without the compiler.
fn compile(language: &str, compiler: &str, standard: &str, includes: &str) -> Option<usize> {
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("guides");
    std::fs::create_dir_all(&out).unwrap();
    let mut compiled = 0;
    for (name, text) in pages() {
        for (number, block) in blocks(&text, language).into_iter().enumerate() {
            let source = out.join(format!("{name}_{number}.{language}"));
            std::fs::write(&source, format!("{includes}{block}")).unwrap();
            let said = Command::new(compiler)
                .args([standard, "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"])
                .arg(format!("-I{}", root().join("include").display()))
                .arg(&source)
                .output();
            match said {
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => return None,
                said => {
                    let said = said.unwrap();
                    let complaint = String::from_utf8_lossy(&said.stderr);
                    assert!(said.status.success(), "docs/{name}.md, block {number}:\n{complaint}");
                }
            }
            compiled += 1;
        }
    }
    Some(compiled)
}

#[test]
fn the_blocks_of_c_compile_as_printed() {
    let compiler = std::env::var("CC").unwrap_or_else(|_| String::from("cc"));
    let compiled = compile("c", &compiler, "-std=c99", INCLUDES_C).expect("C compiler not found");
    assert!(compiled > 10, "{compiled} blocks");
}

#[test]
fn the_blocks_of_cpp_compile_as_printed() {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| String::from("c++"));
    match compile("cpp", &compiler, "-std=c++17", INCLUDES_CPP) {
        Some(compiled) => assert!(compiled > 0),
        None => println!("the blocks of C++: skipped: C++ compiler not found"),
    }
}

/// The names of the functions that a block defines: on a line without indentation, before a line with a
/// brace.
fn functions(block: &str) -> Vec<&str> {
    let lines: Vec<&str> = block.lines().collect();
    let definitions = lines.windows(2).filter(|pair| pair[1] == "{" && !pair[0].starts_with([' ', '}']));
    definitions.filter_map(|pair| pair[0].split('(').next()?.rsplit([' ', '*']).next()).collect()
}

#[test]
fn the_functions_in_c_run_on_files_of_every_kind() {
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("guides/run");
    std::fs::create_dir_all(&out).unwrap();
    let driver = std::fs::read_to_string(root().join("tests/repository/guides/run.c")).unwrap();
    let pages = pages();
    let all: Vec<&str> = pages.iter().flat_map(|(_, text)| blocks(text, "c")).collect();
    let defined: Vec<&str> = all.iter().flat_map(|block| functions(block)).collect();
    assert!(defined.len() >= all.len(), "{defined:?}");
    for name in defined {
        let given =
            driver.contains(&format!("{name}(")) || all.iter().any(|b| b.contains(&format!(" = {name}")));
        assert!(given, "tests/repository/guides/run.c does not call {name}");
    }
    std::fs::write(out.join("run.c"), format!("{INCLUDES_C}{}{driver}", all.concat())).unwrap();
    let libraries = std::env::current_exe().unwrap().parent().unwrap().to_path_buf();
    // The SONAME that the loader needs.
    let link = out.join("libztensor.so.1");
    let _ = std::fs::remove_file(&link);
    std::os::unix::fs::symlink(libraries.join("libztensor.so"), &link).unwrap();
    let compiled = Command::new(std::env::var("CC").unwrap_or_else(|_| String::from("cc")))
        .args([
            "-std=c99",
            "-g",
            "-Wall",
            "-Wextra",
            "-pedantic",
            "-Werror",
            "run.c",
            "-o",
            "run",
            "-lztensor",
        ])
        .arg(format!("-I{}", root().join("include").display()))
        .arg(format!("-L{}", libraries.display()))
        .current_dir(&out)
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let mut run = Command::new(out.join("run"));
    run.arg(out.join("written.zt")).env("LD_LIBRARY_PATH", &out);
    for folder in ["v0.1", "v1.0", "v1.1", "v1.2", "valid-odd"] {
        let mut files: Vec<_> = std::fs::read_dir(root().join("tests/data").join(folder))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|e| e == "zt"))
            .collect();
        files.sort();
        run.args(files);
    }
    let ran = run.output().unwrap();
    assert!(ran.status.success(), "{}: {}", ran.status, String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn no_block_is_of_another_language() {
    for (name, text) in pages() {
        for (index, fence) in text.lines().filter(|line| line.starts_with("```")).enumerate() {
            let wanted: &[&str] = if index % 2 == 0 { &["```c", "```cpp", "```text"] } else { &["```"] };
            assert!(wanted.contains(&fence), "docs/{name}.md: {fence}");
        }
    }
}

#[test]
fn the_pages_that_are_linked_are_there_and_the_first_one_links_the_guides() {
    let mut linked = Vec::new();
    for (name, text) in pages() {
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            assert!(root().join("docs").join(target).exists(), "docs/{name}.md links {target}");
            if name == "guide" {
                linked.push(target.trim_end_matches(".md").to_owned());
            }
        }
    }
    for (name, text) in pages().into_iter().filter(|(name, _)| name != "guide" && name != "dependencies") {
        assert!(linked.contains(&name), "docs/guide.md does not link {name}");
        assert!(text.lines().count() <= 200, "docs/{name}.md is long");
    }
}

/// The pages beside README.md and those in docs/decisions, with the folder that their links are relative to.
fn other_pages() -> Vec<(PathBuf, String)> {
    let mut paths: Vec<_> =
        ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"].map(|p| root().join(p)).into();
    paths.extend(std::fs::read_dir(root().join("docs/decisions")).unwrap().map(|e| e.unwrap().path()));
    paths.into_iter().map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn links_of_the_other_pages_lead_somewhere_and_every_decision_is_listed() {
    let index = std::fs::read_to_string(root().join("docs/decisions/README.md")).unwrap();
    for (path, text) in other_pages() {
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for target in targets.filter(|t| !t.starts_with("https://")) {
            assert!(path.parent().unwrap().join(target).exists(), "{} links {target}", path.display());
        }
        if path.parent().unwrap().ends_with("decisions") && !path.ends_with("README.md") {
            let name = path.file_name().unwrap().to_str().unwrap();
            assert!(index.contains(&format!("({name})")), "docs/decisions/README.md does not list {name}");
            assert!(text.lines().count() <= 64, "{name} is long");
        }
    }
}

/// Expands `a/{b,c}.rs` to two paths.
fn paths_of(word: &str) -> Vec<String> {
    let Some((before, rest)) = word.split_once('{') else { return vec![word.to_owned()] };
    let (names, after) = rest.split_once('}').unwrap();
    names.split(',').map(|name| format!("{before}{name}{after}")).collect()
}

#[test]
fn the_files_that_contributors_are_sent_to_are_there() {
    let pages =
        ["CONTRIBUTING.md", "docs/extending.md"].map(|p| std::fs::read_to_string(root().join(p)).unwrap());
    let text = pages.concat();
    let folders = ["src/", "tests/", "c_tests/", "bindings/", "include/", "fuzz/", "tools/", "man/", "docs/"];
    let words = text.split('`').skip(1).step_by(2).filter(|w| folders.iter().any(|f| w.starts_with(f)));
    let paths: Vec<String> = words.filter(|w| !w.contains(['*', '<', ' '])).flat_map(paths_of).collect();
    assert!(paths.len() > 50, "{paths:?}");
    for path in paths.iter().filter(|p| *p != "fuzz/corpus") {
        assert!(root().join(path).exists(), "CONTRIBUTING.md or docs/extending.md names {path}");
    }
}
