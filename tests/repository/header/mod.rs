//! The header is the manual, and it is generated. It must be current, complete and in C terms, and declare
//! exactly what the library exports.

mod chapters;
mod layout;
mod tables;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn header(name: &str) -> String {
    std::fs::read_to_string(root().join("include").join(name)).unwrap()
}

/// All declarations: generated ones, and those written by hand.
fn all_headers() -> String {
    ["ztensor.h", "ztensor_advanced.h", "ztensor_dlpack.h"].map(header).concat()
}

/// Functions that the header declares.
fn declared(header: &str) -> BTreeSet<String> {
    let flat = code(header).replace('\n', " ").replace("ZT_NODISCARD ", "");
    let mut names = BTreeSet::new();
    for statement in flat.split(';') {
        let Some((before, _)) = statement.split_once('(') else { continue };
        let name = before.trim_end().rsplit([' ', '*']).next().unwrap_or_default();
        if name.starts_with("zt_") && !statement.contains("typedef") && !statement.contains("(*") {
            names.insert(name.to_owned());
        }
    }
    names
}

/// The text without comments and preprocessor lines.
fn code(text: &str) -> String {
    let text = without_comments(text);
    text.lines().filter(|l| !l.starts_with('#')).collect::<Vec<_>>().join("\n")
}

fn without_comments(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("/*") {
        out.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    out.lines().map(|l| l.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The comment lines directly above a function's declaration.
fn doc_of<'h>(header: &'h str, name: &str) -> Vec<&'h str> {
    let call = format!("{name}(");
    let lines: Vec<&str> = header.lines().collect();
    let is_declaration = |l: &&str| {
        l.starts_with(|c: char| c.is_ascii_alphabetic()) && l.contains(&call) && !l.starts_with("typedef")
    };
    let at = lines.iter().position(is_declaration).unwrap_or_else(|| panic!("{name} is not declared"));
    let mut doc: Vec<&str> = lines[..at].iter().rev().map_while(|l| l.strip_prefix("///")).collect();
    doc.reverse();
    doc
}

#[test]
fn the_committed_header_equals_the_output_of_cbindgen() {
    let config = cbindgen::Config::from_file(root().join("cbindgen.toml")).unwrap();
    let made = cbindgen::Builder::new().with_crate(root()).with_config(config).generate().unwrap();
    let mut bytes = Vec::new();
    made.write(&mut bytes);
    for (file, made) in layout::in_chapters(&String::from_utf8(bytes).unwrap()) {
        let path = root().join("include").join(file);
        if std::env::var_os("ZT_BLESS").is_some() {
            std::fs::write(&path, &made).unwrap();
        }
        let found = std::fs::read_to_string(path).unwrap();
        let differs = made.lines().zip(found.lines()).enumerate().find(|(_, (a, b))| a != b);
        assert!(made == found, "include/{file} is stale; run `make header`. First difference: {differs:?}");
    }
}

/// The index of functions in the manual page has the headers' chapters.
#[test]
fn the_manual_page_has_the_chapters_of_the_headers() {
    let mut index = String::new();
    for header in &chapters::HEADERS {
        for chapter in header.chapters {
            let functions: Vec<&str> = chapter
                .items
                .split_whitespace()
                .filter(|name| declared(&all_headers()).contains(*name))
                .collect();
            let title = chapter.title.split_once(' ').unwrap().1;
            index +=
                &format!(".Ss {title}\nIn\n.In {} .\n.Fn {} .\n", header.file, functions.join(" ,\n.Fn "));
        }
    }
    let path = root().join("man/ztensor.3");
    let page = std::fs::read_to_string(&path).unwrap();
    let start = page.find(".Ss Status and errors").or(page.find(".Ss DLPack")).unwrap();
    let end = page.find(".Ss DLPack").unwrap();
    if std::env::var_os("ZT_BLESS").is_some() {
        std::fs::write(&path, format!("{}{index}{}", &page[..start], &page[end..])).unwrap();
    }
    let page = std::fs::read_to_string(&path).unwrap();
    assert!(page.contains(&index), "man/ztensor.3 is stale; run `make header`");
}

/// The header of libztensor_remote. cbindgen is not part of its crate's build.
#[test]
fn the_header_of_the_remote_library_equals_the_output_of_cbindgen() {
    let remote = root().join("remote");
    let config = cbindgen::Config::from_file(remote.join("cbindgen.toml")).unwrap();
    let made =
        cbindgen::Builder::new().with_src(remote.join("src/capi.rs")).with_config(config).generate().unwrap();
    let mut bytes = Vec::new();
    made.write(&mut bytes);
    let (made, path) = (String::from_utf8(bytes).unwrap(), remote.join("include/ztensor_remote.h"));
    if std::env::var_os("ZT_BLESS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap();
    assert!(made == found, "remote/include/ztensor_remote.h is stale; run `make header`");
    for name in declared(&found) {
        assert!(!doc_of(&found, &name).is_empty(), "{name} has no doc");
    }
}

#[test]
fn the_header_speaks_c_and_documents_every_function() {
    let header = all_headers();
    for rust in ["::", "[`", "Option<", "&str", "Vec<"] {
        assert!(!header.contains(rust), "the header contains {rust:?}");
    }
    for line in without_comments(&header).lines().filter(|l| l.starts_with("#define")) {
        assert!(line.starts_with("#define ZT"), "a name that is not ours: {line}");
    }
    let functions = declared(&header);
    assert!(functions.len() > 85, "{}", functions.len());
    for name in &functions {
        assert!(!doc_of(&header, name).is_empty(), "{name} has no doc");
    }
}

/// The first pages of the header have all that a program needs to open a model, find a tensor and read it.
#[test]
fn the_first_header_is_short_and_begins_with_the_functions_for_loaders() {
    let header = header("ztensor.h");
    let line_of = |text: &str| {
        header.lines().position(|l| l.contains(text)).unwrap_or_else(|| panic!("the header has no {text:?}"))
    };
    let most = [
        ("zt_open_model", 270),
        ("zt_tensor_find", 300),
        ("zt_component_ptr", 530),
        ("zt_object_read_as", 550),
    ];
    for (name, most) in most {
        let line = line_of(&format!(" {name}("));
        assert!(line < most, "{name} is in line {line}");
    }
    assert!(header.lines().count() <= 1400, "{} lines", header.lines().count());
    assert!(header.split_whitespace().count() <= 12_000, "{} words", header.split_whitespace().count());
}

/// A new function with a pointer argument needs a call with NULL.
#[test]
fn every_function_that_takes_pointers_is_called_with_null() {
    let header = code(&all_headers()).replace('\n', " ").replace("ZT_NODISCARD ", "");
    let calls = ["hostile_null", "hostile_null_write"]
        .map(|part| std::fs::read_to_string(root().join(format!("c_tests/{part}.c"))).unwrap())
        .concat();
    let (mut with_pointers, mut missing) = (0, Vec::new());
    for statement in header.split(';') {
        let Some((before, arguments)) = statement.split_once('(') else { continue };
        let name = before.trim_end().rsplit([' ', '*']).next().unwrap_or_default();
        if !declared(statement).contains(name) || !arguments.contains('*') {
            continue;
        }
        with_pointers += 1;
        let call = format!("{name}(");
        let mut used = calls.match_indices(&call).map(|(at, _)| &calls[at + call.len()..]);
        if !used.any(|rest| rest.split(';').next().unwrap_or_default().contains("NULL")) {
            missing.push(name.to_owned());
        }
    }
    assert!(with_pointers > 80, "{with_pointers}");
    assert!(missing.is_empty(), "c_tests/hostile_null*.c do not call these with NULL: {missing:?}");
}

#[test]
fn every_function_is_called_where_memory_or_stack_is_short() {
    let calls = ["files", "opens", "points", "reads", "writes"]
        .map(|part| std::fs::read_to_string(root().join(format!("c_tests/entry_{part}.h"))).unwrap())
        .concat();
    let functions = declared(&all_headers());
    let missing: Vec<_> = functions.iter().filter(|name| !calls.contains(&format!("{name}("))).collect();
    assert!(functions.len() > 100 && missing.is_empty(), "c_tests/entry_*.h do not call {missing:?}");
}

/// The shared library that was built beside this test, if it and `nm` exist.
fn exported() -> Option<BTreeSet<String>> {
    let test = std::env::current_exe().unwrap();
    let library = test.parent()?.join("libztensor.so"); // cargo builds it along with its tests
    if !library.exists() {
        return None;
    }
    let listed = Command::new("nm").args(["-D", "--defined-only"]).arg(&library).output().ok()?;
    assert!(listed.status.success());
    let text = String::from_utf8(listed.stdout).unwrap();
    Some(text.lines().filter_map(|l| l.split_whitespace().nth(2)).map(str::to_owned).collect())
}

#[test]
fn the_library_exports_exactly_what_the_header_declares() {
    let functions = declared(&all_headers());
    let listed = std::fs::read_to_string(root().join("c_tests/abi/symbols.txt")).unwrap();
    let listed: BTreeSet<String> = listed.lines().map(str::to_owned).filter(|l| !l.is_empty()).collect();
    let same = |what: &str, has: &BTreeSet<String>| {
        let (more, less): (Vec<_>, Vec<_>) =
            (has.difference(&functions).collect(), functions.difference(has).collect());
        assert!(
            more.is_empty() && less.is_empty(),
            "{what} lacks {less:?} of the header, and the header lacks {more:?}"
        );
    };
    same("c_tests/abi/symbols.txt", &listed);
    if cfg!(target_os = "linux") {
        let exported = exported().expect("libztensor.so is missing, or nm (binutils) is");
        same("libztensor.so", &exported);
    }
}

/// The header declares every constant that a comment names.
#[test]
fn constants_in_comments_are_declared() {
    let header = all_headers();
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        words.filter(|w| w.starts_with("ZT_") && !w.ends_with('_')).map(str::to_owned).collect()
    };
    let (mut named, mut declared) = (Vec::new(), Vec::new());
    for line in header.lines() {
        let (code, comment) = line.split_once("//").unwrap_or((line, ""));
        let is_comment = code.trim_start().starts_with('*');
        declared.extend(if is_comment { Vec::new() } else { words(code) });
        named.extend(words(if is_comment { code } else { comment }));
    }
    declared.push("ZT_ERROR_UNKNOWN".to_owned()); // the name of an unknown status
    let missing: Vec<_> = named.iter().filter(|name| !declared.contains(name)).collect();
    assert!(missing.is_empty() && named.len() > 100, "{missing:?} of {}", named.len());
}
