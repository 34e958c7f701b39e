//! Each language's own code calls every C function, or bindings/coverage.txt has the reason why not.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Language, folder, extension of its sources, and the file that declares C functions without calling them.
const LANGUAGES: [(&str, &str, &str, &[&str]); 5] = [
    ("c++", "include/ztensor", ".hpp", &[]),
    ("go", "bindings/go", ".go", &["_test.go"]),
    ("julia", "bindings/julia/src", ".jl", &["declarations.jl"]),
    ("python", "bindings/python/libztensor", ".py", &["_declarations.py"]),
    ("zig", "bindings/zig", ".zig", &["test.zig", "programs.zig"]),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn functions() -> BTreeSet<String> {
    read(&root().join("c_tests/abi/symbols.txt")).split_whitespace().map(str::to_owned).collect()
}

/// Removes text that only describes code. In Go, a block before `import "C"` is C code; only its comments are
/// removed.
fn code(language: &str, text: &str) -> String {
    let outside = |mut text: &str, begin: &str, end: &str| -> String {
        let mut kept = String::new();
        while let Some((before, after)) = text.split_once(begin) {
            kept.push_str(before);
            text = after.split_once(end).map_or("", |(_, rest)| rest);
        }
        kept + text
    };
    let lines = |text: &str, mark: &str| -> String {
        text.lines().map(|line| line.split(mark).next().unwrap()).collect::<Vec<_>>().join("\n")
    };
    match language {
        "c++" => lines(&outside(text, "/*", "*/"), "//"),
        "go" | "zig" => lines(text, "//"),
        "julia" => {
            let text = lines(&outside(text, "\"\"\"", "\"\"\""), "#");
            let is_doc = |line: &&str| line.trim_start().starts_with('"');
            text.lines().filter(|line| !is_doc(line)).collect::<Vec<_>>().join("\n")
        }
        _ => lines(&outside(text, "\"\"\"", "\"\"\""), "#"),
    }
}

fn sources(folder: &Path, ending: &str, but: &[&str]) -> Vec<PathBuf> {
    let mut found: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        path.is_file() && name.ends_with(ending) && !but.iter().any(|other| name.ends_with(other))
    });
    found
}

fn reached(language: &str, folder: &str, ending: &str, but: &[&str]) -> BTreeSet<String> {
    let files = sources(&root().join(folder), ending, but);
    assert!(!files.is_empty(), "{folder} has no sources of {language}");
    let text: String = files.iter().map(|path| code(language, &read(path))).collect();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(|c| !is_name(c)).filter(|word| word.starts_with("zt_")).map(str::to_owned).collect()
}

/// The language and function of each line of bindings/coverage.txt: `languages function: reason`.
fn excused() -> BTreeSet<(String, String)> {
    let mut rows = BTreeSet::new();
    for line in read(&root().join("bindings/coverage.txt")).lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (row, reason) =
            line.split_once(": ").unwrap_or_else(|| panic!("a line without a reason: {line}"));
        let (languages, function) =
            row.split_once(' ').unwrap_or_else(|| panic!("a line without a function: {line}"));
        assert!(reason.trim().len() > 8, "no reason: {line}");
        for language in languages.split(',') {
            assert!(
                rows.insert((language.to_owned(), function.to_owned())),
                "twice in bindings/coverage.txt: {row}"
            );
        }
    }
    rows
}

#[test]
fn every_function_is_reached_from_every_language_or_has_a_reason() {
    let functions = functions();
    let excused = excused();
    let mut wrong = Vec::new();
    for (language, function) in &excused {
        if !functions.contains(function) || !LANGUAGES.iter().any(|row| row.0 == language) {
            wrong.push(format!(
                "bindings/coverage.txt: {language} {function}: the language or function does not exist"
            ));
        }
    }
    for (language, folder, ending, but) in LANGUAGES {
        let reached = reached(language, folder, ending, but);
        for function in &functions {
            let has_reason = excused.contains(&(language.to_owned(), function.clone()));
            match (reached.contains(function), has_reason) {
                (true, true) => {
                    wrong.push(format!("bindings/coverage.txt: {language} calls {function}: remove the line"))
                }
                (false, false) => wrong.push(format!(
                    "{folder}: nothing calls {function}, and bindings/coverage.txt has no reason"
                )),
                _ => (),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn comments_are_not_taken_for_code() {
    for (language, text) in [
        ("c++", "/* zt_a */ zt_b(x); // zt_c"),
        ("go", "// zt_a\nC.zt_b(x) // zt_c"),
        ("zig", "/// zt_a\nc.zt_b(x); // zt_c"),
        ("julia", "\"\"\"\nzt_a\n\"\"\"\n\"of zt_c\"\nzt_b(x) # zt_c"),
        ("python", "\"\"\"zt_a\"\"\"\nlib.zt_b(x)  # zt_c"),
    ] {
        let kept = code(language, text);
        assert!(
            kept.contains("zt_b") && !kept.contains("zt_a") && !kept.contains("zt_c"),
            "{language}: {kept}"
        );
    }
}
