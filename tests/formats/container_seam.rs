//! Details of a container stay in `src/container`: other folders do not name containers, and its files do not
//! import each other in a cycle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use ztensor::model::manifest::Container;

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// The library's files by path, without comments and without the tests at their ends.
fn code() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    sources(&root.join("src"), &mut paths);
    paths.sort();
    let without_comments = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        let lines = without_tests(&text).map(|line| line.split("//").next().unwrap().to_owned() + "\n");
        lines.collect::<String>()
    };
    let name = |p: &Path| p.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
    paths.iter().map(|p| (name(p), without_comments(p))).collect()
}

/// The lines before the module of tests at the end of a file. A module declaration for a file of tests does
/// not end them.
fn without_tests(text: &str) -> impl Iterator<Item = &str> {
    let begins = |rest: &str| {
        let item = rest.lines().find(|line| !line.starts_with("#["));
        rest.starts_with("#[cfg(test)]\n") && item.is_some_and(|i| i.starts_with("mod ") && i.ends_with('{'))
    };
    let end = text.match_indices("#[cfg(test)]").map(|(at, _)| at).find(|&at| begins(&text[at..]));
    text[..end.unwrap_or(text.len())].lines()
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Whether a word is a detail of a container: its version, its magic, or the bytes at its end.
fn is_of_a_container(word: &str) -> bool {
    let parts = ["ztensor_0", "ztensor_1", "v0_1", "v1_0", "MAGIC", "FOOTER", "footer_size", "ZTAPPEND"];
    word.starts_with("ZTEN0") || word.starts_with("ZTEN1") || { parts.iter().any(|part| word.contains(part)) }
}

/// The containers of the table, by the names of their constants.
fn containers(table: &str) -> BTreeSet<&str> {
    let (_, rows) = table.split_once("\ncontainers! {").unwrap();
    let rows = rows.split_once("\n}").unwrap().0.lines().filter_map(|row| row.split_once(" = "));
    rows.map(|(name, _)| name.trim()).collect()
}

/// Whether a file may use the word: codecs have magic numbers, too.
fn is_of_a_codec(path: &str, word: &str) -> bool {
    path.starts_with("src/codec/") && word.contains("MAGIC")
}

#[test]
fn no_other_folder_names_a_container() {
    let files = code();
    let table = &files.iter().find(|(path, _)| path == "src/container/mod.rs").unwrap().1;
    let containers = containers(table);
    assert_eq!(
        (containers.len(), containers.contains("V1_2")),
        (Container::ALL.len(), true),
        "{containers:?}"
    );
    let mut found = BTreeSet::new();
    for (path, code) in files.iter().filter(|(path, _)| !path.starts_with("src/container/")) {
        let named = code.split("Container::").skip(1).filter_map(|rest| words(rest).next());
        let named = named.filter(|word| containers.contains(word));
        let all = named.chain(words(code).filter(|w| is_of_a_container(w) && !is_of_a_codec(path, w)));
        found.extend(all.map(|word| (path.clone(), word.to_owned())));
    }
    assert_eq!(found, BTreeSet::new(), "ask container::capabilities instead");
}

/// Rows of the table describe containers. The folder's code does not check for a container by name, except to
/// report it.
#[test]
fn the_behaviour_of_a_container_is_in_its_row() {
    let files = code();
    let containers = containers(&files.iter().find(|(path, _)| path == "src/container/mod.rs").unwrap().1);
    for (path, code) in files.iter().filter(|(path, _)| path.matches('/').count() == 2) {
        let arms = code.lines().filter_map(|line| line.split_once("=>")).map(|(pattern, _)| pattern);
        for pattern in arms.filter(|_| path.starts_with("src/container/")) {
            let named = pattern.split("Container::").skip(1).filter_map(|rest| words(rest).next());
            let named: Vec<_> = named.filter(|word| containers.contains(word)).collect();
            assert!(
                named.is_empty(),
                "{path} decides by {named:?}: a field of src/container/interface.rs is for that"
            );
        }
    }
}

#[test]
fn no_capability_is_the_version() {
    for (path, code) in code() {
        for line in code.lines().filter(|line| line.contains("version")) {
            let compared = [
                "== Container::",
                "!= Container::",
                "< Container::",
                ">= Container::",
                "== Some(Container::",
            ];
            assert!(!compared.iter().any(|c| line.contains(c)), "{path}: {line}");
        }
    }
}

/// The paths that a file imports: after `use`, and written out in code, as segments.
fn paths_in(code: &str) -> Vec<Vec<String>> {
    fn expand(prefix: &[String], tree: &str, found: &mut Vec<Vec<String>>) {
        let mut depth = 0;
        let mut start = 0;
        let mut items = Vec::new();
        for (at, c) in tree.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    items.push(&tree[start..at]);
                    start = at + 1;
                }
                _ => {}
            }
        }
        items.push(&tree[start..]);
        for item in items.into_iter().map(str::trim).filter(|item| !item.is_empty()) {
            let (path, rest) = match item.split_once('{') {
                Some((path, rest)) => (path, rest.strip_suffix('}')),
                None => (item.split(" as ").next().unwrap(), None),
            };
            let segments = path.split("::").map(str::trim).filter(|s| !s.is_empty()).map(str::to_owned);
            let whole: Vec<_> = prefix.iter().cloned().chain(segments).collect();
            match rest {
                Some(rest) => expand(&whole, rest, found),
                None => found.push(whole),
            }
        }
    }
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find("use ") {
        let own_word = rest[..at].chars().next_back().is_none_or(char::is_whitespace);
        rest = &rest[at + 4..];
        if own_word {
            let (tree, behind) = rest.split_once(';').unwrap_or((rest, ""));
            expand(&[], tree, &mut found);
            rest = behind;
        }
    }
    let written = code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != ':');
    // the path before `{` was handled above
    let written = written.filter(|w| w.contains("::") && !w.ends_with("::"));
    found.extend(written.map(|w| w.split("::").map(str::to_owned).collect()));
    found
}

/// For each file of `src/container`, the files that it imports.
fn imports() -> BTreeMap<String, BTreeSet<String>> {
    let files: Vec<_> = code().into_iter().filter(|(path, _)| path.starts_with("src/container/")).collect();
    let module = |path: &str| {
        let path = path.strip_prefix("src/").unwrap().strip_suffix(".rs").unwrap();
        path.strip_suffix("/mod").unwrap_or(path).replace('/', "::")
    };
    let modules: BTreeSet<String> = files.iter().map(|(path, _)| module(path)).collect();
    // The innermost file that a path leads to.
    let file_of = |path: &[String]| {
        (1..=path.len()).rev().map(|n| path[..n].join("::")).find(|name| modules.contains(name))
    };
    let mut imports = BTreeMap::new();
    for (path, code) in &files {
        let own = module(path);
        let own_path: Vec<String> = own.split("::").map(str::to_owned).collect();
        let absolute = |path: &[String]| {
            let ups = path.iter().take_while(|s| *s == "super").count();
            match path.first().map(String::as_str) {
                Some("crate") => path[1..].to_vec(),
                Some("super") => [&own_path[..own_path.len().saturating_sub(ups)], &path[ups..]].concat(),
                Some("self") => [&own_path[..], &path[1..]].concat(),
                _ => [&own_path[..], path].concat(),
            }
        };
        let paths = paths_in(code);
        // Modules imported by name.
        let named: BTreeMap<String, Vec<String>> = paths
            .iter()
            .map(|path| absolute(path))
            .filter(|path| modules.contains(&path.join("::")))
            .map(|path| (path.last().unwrap().clone(), path))
            .collect();
        let targets = paths.iter().flat_map(|path| {
            let by_name = named.get(&path[0]).map(|module| [&module[..], &path[1..]].concat());
            [Some(absolute(path)), by_name]
        });
        let targets = targets.flatten().filter_map(|path| file_of(&path));
        imports.insert(own.clone(), targets.filter(|target| *target != own).collect());
    }
    imports
}

#[test]
fn no_two_files_of_the_containers_import_each_other_in_a_circle() {
    let mut left = imports();
    assert!(left.len() > 25 && left.values().map(BTreeSet::len).sum::<usize>() > 60, "{left:#?}");
    assert!(left["container::cbor::fields"].contains("container::cbor::cursor"));
    assert!(left["container::not_read"].contains("container::ztensor_1::footer"));
    // Files that import no remaining file are not part of a cycle.
    while let Some(leaf) = left.iter().find(|(_, targets)| targets.is_empty()).map(|(file, _)| file.clone()) {
        left.remove(&leaf);
        for targets in left.values_mut() {
            targets.remove(&leaf);
        }
    }
    assert!(left.is_empty(), "these files contain a cycle: {left:#?}");
}
