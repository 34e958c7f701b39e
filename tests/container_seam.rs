//! What is particular to a container stays in `src/container`: no other folder names one, and no two of its files import
//! each other in a circle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

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

/// The files of the library by their paths, without comments and without the tests at their ends.
fn code() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    sources(&root.join("src"), &mut paths);
    paths.sort();
    let without_comments = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        let lines = text.lines().take_while(|line| *line != "#[cfg(test)]");
        lines.map(|line| line.split("//").next().unwrap().to_owned() + "\n").collect::<String>()
    };
    let name = |p: &Path| p.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
    paths.iter().map(|p| (name(p), without_comments(p))).collect()
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Whether a word is only known to somebody who knows a container: its version, its magic, the bytes at its end.
fn is_of_a_container(word: &str) -> bool {
    let versions = ["V0_1", "V1_0", "V1_1", "V1_2"];
    let parts = ["ztensor_0", "ztensor_1", "v0_1", "v1_0", "MAGIC", "FOOTER", "footer_size", "ZTAPPEND"];
    versions.contains(&word) || word.starts_with("ZTEN0") || word.starts_with("ZTEN1") || {
        parts.iter().any(|part| word.contains(part))
    }
}

/// Files that have such a word for a reason, and how many.
const NAMED: [(&str, &str); 1] = [
    ("src/codec/zstd/walk.rs", "MAGIC"), // of zstd
];

#[test]
fn no_other_folder_names_a_container() {
    let mut found = BTreeSet::new();
    for (path, code) in code().into_iter().filter(|(path, _)| !path.starts_with("src/container/")) {
        found.extend(words(&code).filter(|w| is_of_a_container(w)).map(|w| (path.clone(), w.to_owned())));
    }
    let allowed: BTreeSet<_> =
        NAMED.iter().map(|(path, word)| (path.to_string(), word.to_string())).collect();
    assert_eq!(found, allowed, "ask container::capabilities instead");
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

/// What a file imports: the paths behind `use`, and those that are written out, each as its segments.
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
    let written = written.filter(|w| w.contains("::") && !w.ends_with("::")); // that was a tree
    found.extend(written.map(|w| w.split("::").map(str::to_owned).collect()));
    found
}

/// The files of `src/container` that each of them imports.
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
        // Modules that are imported by name, by that name.
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
    assert!(left["container::cbor::value"].contains("container::cbor::cursor"));
    assert!(left["container::detect"].contains("container::ztensor_1::footer"));
    // What imports nothing that is left is in no circle.
    while let Some(leaf) = left.iter().find(|(_, targets)| targets.is_empty()).map(|(file, _)| file.clone()) {
        left.remove(&leaf);
        for targets in left.values_mut() {
            targets.remove(&leaf);
        }
    }
    assert!(left.is_empty(), "a circle is among {left:#?}");
}
