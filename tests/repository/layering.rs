//! Layers: which folder may import which, which files may have unsafe code, and how long a file may be.

use std::path::{Path, PathBuf};

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| ["rs", "c", "cpp", "h"].iter().any(|code| e == *code)) {
            found.push(path);
        }
    }
}

fn all(folder: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    sources(&root.join(folder), &mut paths);
    paths.sort();
    let name = |p: &Path| p.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
    paths.iter().map(|p| (name(p), std::fs::read_to_string(p).unwrap())).collect()
}

/// A folder and the folders that it may import. Every folder may import `error` and `model`. `error` imports
/// nothing. `model` imports `error` and the memory of its tables.
const ALLOWED_IMPORTS: [(&str, &[&str]); 19] = [
    ("error", &[]),
    ("memory", &["error", "hash", "lock"]),
    ("model", &["error", "memory"]),
    ("lock", &[]),
    ("hash", &[]),
    ("threads", &["lock"]),
    ("container", &["error", "model", "memory", "codec", "digest"]),
    ("codec", &["error", "model", "memory", "digest"]),
    ("digest", &["error"]),
    ("convert", &["error", "model", "simd"]),
    ("simd", &[]),
    ("io", &["error"]),
    ("source", &["error", "io", "lock", "memory", "threads"]),
    ("sink", &["error", "io", "lock", "memory", "threads"]),
    // Reads for a caller that opened a file. It only knows where stored bytes are and what they decode to.
    (
        "load",
        &["error", "hash", "model", "codec", "digest", "convert", "source", "lock", "threads", "memory"],
    ),
    (
        "reader",
        &[
            "error",
            "hash",
            "model",
            "container",
            "codec",
            "digest",
            "convert",
            "io",
            "source",
            "load",
            "lock",
            "threads",
            "memory",
        ],
    ),
    // Caches slices; its caller supplies the function that reads them.
    ("cache", &["error", "hash", "lock", "memory", "threads"]),
    // The writer also reads: files that it appends to, copies from and repairs. The reader does not import
    // the writer.
    (
        "writer",
        &[
            "error",
            "hash",
            "model",
            "container",
            "codec",
            "digest",
            "convert",
            "io",
            "source",
            "sink",
            "lock",
            "threads",
            "memory",
            "reader",
        ],
    ),
    (
        "capi",
        &[
            "cache",
            "error",
            "model",
            "container",
            "digest",
            "source",
            "sink",
            "lock",
            "threads",
            "memory",
            "reader",
            "writer",
        ],
    ),
];

/// What the C layer may import from folders that are not its neighbours: conversions, and whether a thread is
/// a worker.
const CAPI_EXTRA_IMPORTS: [&str; 3] = ["container::json::", "digest::", "threads::"];

fn folder(path: &str) -> &str {
    let inner = path.strip_prefix("src/").unwrap();
    inner.split(['/', '.']).next().unwrap()
}

/// Folders that a file names by `crate::`, outside of comments.
fn imports(text: &str) -> Vec<String> {
    let code = text.lines().filter(|l| !l.trim_start().starts_with("//"));
    let mut found = Vec::new();
    for line in code {
        for (at, _) in line.match_indices("crate::") {
            let rest = &line[at + "crate::".len()..];
            let name: String = rest.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
            if ALLOWED_IMPORTS.iter().any(|(folder, _)| *folder == name) {
                found.push(name);
            }
        }
    }
    found
}

#[test]
fn imports_follow_the_layers() {
    let mut edges = 0;
    for (path, text) in all("src").into_iter().filter(|(path, _)| path != "src/lib.rs") {
        let folder = folder(&path);
        let (_, allowed) = ALLOWED_IMPORTS
            .iter()
            .find(|(r, _)| *r == folder)
            .unwrap_or_else(|| panic!("{path}: an unknown folder"));
        for import in imports(&text) {
            assert!(import == folder || allowed.contains(&import.as_str()), "{path} imports {import}");
            edges += 1;
        }
        let code = || text.lines().filter(|l| !l.trim_start().starts_with("//"));
        for line in code() {
            // Both forms would bypass the check above.
            assert!(!line.contains("crate::{"), "{path} imports several folders at once: {line}");
            let out = if path.ends_with("/mod.rs") { "super::" } else { "super::super::" };
            let leaves = path.matches('/').count() == 2 && line.contains(out) && !line.contains("pub(super)");
            assert!(!leaves, "{path} leaves its folder by super: {line}");
        }
        let distant = code().flat_map(|l| l.split("crate::").skip(1)).filter(|rest| {
            ["container", "codec", "digest", "convert", "threads"]
                .iter()
                .any(|r| rest.strip_prefix(r).is_some_and(|r| r.starts_with("::")))
        });
        for rest in distant.filter(|_| folder == "capi") {
            assert!(CAPI_EXTRA_IMPORTS.iter().any(|taken| rest.starts_with(taken)), "{path} imports {rest}");
        }
    }
    assert!(edges > 100, "{edges}");
}

/// Unsafe code outside the C layer: for the platform, the processor, and memory that outlives its borrow.
const UNSAFE_FILES: [&str; 23] = [
    "src/error/data.rs",
    "src/hash.rs",
    "src/io/blocks", // and its folder
    "src/io/file_lock.rs",
    "src/io/folder.rs",
    "src/io/path.rs",
    "src/io/files.rs",
    "src/load/destination.rs",
    "src/load/streaming.rs",
    "src/memory/buffer.rs",
    "src/memory/host.rs",
    "src/memory/huge_pages.rs",
    "src/memory/huge_vec.rs",
    "src/memory/slots.rs",
    "src/simd",
    "src/sink/write_all.rs",
    "src/source/advice.rs",
    "src/source/map.rs",
    "src/source/residence.rs",
    "src/threads/group.rs",
    "src/threads/hooks.rs",
    "src/threads/portable.rs",
    "src/threads/posix.rs",
];

#[test]
fn unsafe_code_stands_in_the_listed_files_only() {
    for (path, text) in all("src") {
        let allowed = path.starts_with("src/capi/") || UNSAFE_FILES.iter().any(|f| path.starts_with(f));
        let is_code = |l: &&str| !l.trim_start().starts_with("//") && !l.contains("unsafe_code");
        let has = text.lines().filter(is_code).any(|l| l.contains("unsafe ") || l.contains("unsafe{"));
        assert!(allowed || !has, "{path} has unsafe code");
    }
}

#[test]
fn no_file_is_over_600_lines() {
    let files = ["src", "cli/src", "cli/tests", "tests", "examples", "c_tests"].map(all).concat();
    assert!(files.len() > 500, "{}", files.len());
    for (path, text) in files {
        let (is_c, lines) = (!path.ends_with(".rs"), text.lines().count());
        assert!(lines <= 600 || is_c && path.starts_with("examples/"), "{path} has {lines} lines");
    }
}

#[test]
fn files_of_a_folder_import_each_other_in_no_circle() {
    let folders = ALLOWED_IMPORTS.iter().map(|(folder, _)| ("src", Some(*folder)));
    let others = ["cli/src", "benches/src", "remote/src"].map(|source| (source, None));
    let circles = folders.chain(others).flat_map(|(source, one)| files_in_circles(source, one));
    let circles: Vec<String> = circles.chain(python_files_in_circles()).collect();
    assert!(circles.is_empty(), "{circles:#?}");
}

/// The imports of files that are in a cycle, or that import such a file, each as "file imports file". Ignores
/// tests.
fn files_in_circles(source: &str, folder: Option<&str>) -> Vec<String> {
    let module = |path: &str| module(path.strip_prefix(source).unwrap());
    let is_in = |path: &str| folder.is_none_or(|folder| module(path)[0] == folder);
    let files: Vec<(Vec<String>, String)> = all(source)
        .into_iter()
        .filter(|(path, _)| path.ends_with(".rs") && is_in(path))
        .map(|(path, text)| (module(&path), in_one_module(&without_tests(&text))))
        .filter(|(module, _)| !module.iter().any(|name| name.ends_with("tests")))
        .collect();
    let find = |path: &[String]| files.iter().position(|(module, _)| module == path);
    let mut edges: Vec<(usize, usize)> = Vec::new();
    for (from, (module, text)) in files.iter().enumerate() {
        for path in named_paths(module, text, &|child| find(child).is_some()) {
            // The longest prefix of the path that is a file. The rest is an item in it.
            let to = (1..=path.len()).rev().find_map(|length| find(&path[..length]));
            edges.extend(to.filter(|to| *to != from).map(|to| (from, to)));
        }
    }
    assert!(
        !files.is_empty() && (files.len() == 1 || !edges.is_empty()),
        "{source} {folder:?} was not checked"
    );
    in_circles(edges, |file| format!("{source}: {}", files[file].0.join("::")))
}

/// Checks the Python package for cycles: `from .x import y` and `from . import x`, outside of functions.
fn python_files_in_circles() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("bindings/python/libztensor");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let paths: Vec<_> = entries.filter(|path| path.extension().is_some_and(|e| e == "py")).collect();
    let stem = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let mut edges = Vec::new();
    for (from, path) in paths.iter().enumerate() {
        let text = std::fs::read_to_string(path).unwrap();
        let imports = text.lines().filter_map(|line| line.strip_prefix("from .")?.split_once(" import "));
        let names =
            imports.flat_map(|(module, names)| if module.is_empty() { names } else { module }.split(", "));
        edges
            .extend(names.filter_map(|name| Some((from, paths.iter().position(|path| stem(path) == name)?))));
    }
    assert!(edges.len() > 3, "the Python package was not checked");
    in_circles(edges, |file| format!("bindings/python: {}", stem(&paths[file])))
}

/// The imports that are in a cycle or lead to one, as text.
fn in_circles(mut edges: Vec<(usize, usize)>, name: impl Fn(usize) -> String) -> Vec<String> {
    edges.sort_unstable();
    edges.dedup();
    keep_circles(&mut edges);
    edges.into_iter().map(|(from, to)| format!("{} imports {}", name(from), name(to))).collect()
}

/// Removes files that import nothing, and files that are not imported, until only cycles remain.
fn keep_circles(edges: &mut Vec<(usize, usize)>) {
    loop {
        let before = edges.len();
        let (importing, imported): (Vec<usize>, Vec<usize>) = edges.iter().copied().unzip();
        edges.retain(|(from, to)| importing.contains(to) && imported.contains(from));
        if edges.len() == before {
            return;
        }
    }
}

/// The path of a file's module below the source folder. /codec/zstd/walk.rs is codec::zstd::walk; mod.rs is
/// its folder.
fn module(path: &str) -> Vec<String> {
    let path = path.strip_prefix('/').unwrap().strip_suffix(".rs").unwrap();
    let path = path.strip_suffix("/mod").unwrap_or(path);
    path.split('/').map(str::to_owned).collect()
}

/// Code without comments, up to the first test module in the file.
fn without_tests(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim_start().starts_with("//")).collect();
    let test = (0..lines.len()).find(|&at| {
        lines[at].trim() == "#[cfg(test)]"
            && lines[at + 1..]
                .iter()
                .find(|l| !l.starts_with("#["))
                .is_some_and(|l| l.starts_with("mod ") && l.ends_with('{'))
    });
    lines[..test.unwrap_or(lines.len())].join("\n")
}

/// Code where `super` means the folder, even in a module inside the file.
fn in_one_module(text: &str) -> String {
    let mut end = None;
    let line = |line: &str| {
        let inner = line.trim_start();
        if end.is_none() && inner.contains("mod ") && inner.ends_with('{') {
            end = Some(format!("{}}}", &line[..line.len() - inner.len()]));
        } else if end.as_deref() == Some(line) {
            end = None;
        }
        if end.is_some() {
            line.replace("super::", "self::")
        } else {
            line.to_owned()
        }
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Paths in the crate that a file names: by `crate::`, `super::`, `self::`, or by the name of a module below
/// it.
fn named_paths(module: &[String], text: &str, is_file: &dyn Fn(&[String]) -> bool) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("::") {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let start = text[..at].rfind(|c| !word(c)).map_or(0, |before| before + 1);
        if text[..start].ends_with("::") || text[..start].ends_with("pub(in ") {
            continue; // the middle of a path, or a visibility
        }
        let base = match &text[start..at] {
            "crate" => Vec::new(),
            "self" => module.to_vec(),
            "super" => module[..module.len() - 1].to_vec(),
            child => {
                let path = [module, &[child.to_owned()]].concat();
                if !is_file(&path) {
                    continue;
                }
                path
            }
        };
        follow(base, &text[at + 2..], &mut found);
    }
    found
}

/// The rest of a path: names, `super`, or several in braces.
fn follow(mut base: Vec<String>, rest: &str, found: &mut Vec<Vec<String>>) {
    if let Some(group) = rest.strip_prefix('{') {
        let (mut depth, mut start) = (0, 0);
        for (at, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                ',' | '}' if depth == 0 => {
                    follow(base.clone(), group[start..at].trim(), found);
                    start = at + 1;
                    if c == '}' {
                        return;
                    }
                }
                '}' => depth -= 1,
                _ => {}
            }
        }
        return;
    }
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    match &rest[..end] {
        "" | "self" => {}
        "super" => drop(base.pop()),
        name => base.push(name.to_owned()),
    }
    match rest[end..].strip_prefix("::") {
        Some(rest) => follow(base, rest, found),
        None => found.push(base),
    }
}

#[test]
fn circles_are_found() {
    let paths = |module: &[&str], text: &str| -> Vec<String> {
        let module: Vec<String> = module.iter().map(|name| (*name).to_owned()).collect();
        let is_file = |path: &[String]| path.join("::") == "a::b::child";
        named_paths(&module, text, &is_file).into_iter().map(|path| path.join("::")).collect()
    };
    assert_eq!(paths(&["a", "b"], "use super::c::{self, d::E, f};"), ["a::c", "a::c::d::E", "a::c::f"]);
    assert_eq!(paths(&["a", "b"], "use child::X; other::Y; crate::z::W"), ["a::b::child::X", "z::W"]);
    assert_eq!(paths(&["a", "b", "c"], "super::super::x()"), ["a::x"]);
    let text = "use super::a;\nmod inner {\n    use super::b;\n}\nuse super::c;";
    assert_eq!(in_one_module(text), text.replace("super::b", "self::b"));
    let mut edges = vec![(0, 1), (1, 2), (2, 3), (2, 1), (4, 3)];
    keep_circles(&mut edges);
    assert_eq!(edges, [(1, 2), (2, 1)]);
    edges.retain(|edge| *edge != (2, 1));
    keep_circles(&mut edges);
    assert_eq!(edges, []);
}

/// A file that is not declared as a module is not compiled.
#[test]
fn every_file_is_a_module() {
    let files = all("src");
    for (path, _) in &files {
        let (folder, file) = path.rsplit_once('/').unwrap_or_default();
        let name = file.trim_end_matches(".rs");
        let (parents, module) = match (name, folder.rsplit_once('/')) {
            ("lib", _) => continue,
            ("mod", Some((above, own))) => {
                (vec![format!("{above}/mod.rs"), format!("{above}/lib.rs"), format!("{above}.rs")], own)
            }
            _ => (vec![format!("{folder}/mod.rs"), format!("{folder}/lib.rs"), format!("{folder}.rs")], name),
        };
        let declared = format!("mod {module};");
        let by_path = format!("path = {file:?}");
        let is_named = files.iter().any(|(other, text)| {
            let is_same_folder = other.rsplit_once('/').is_some_and(|(other, _)| other == folder);
            parents.contains(other) && text.contains(&declared) || is_same_folder && text.contains(&by_path)
        });
        assert!(is_named, "{path} is not a module of {parents:?}");
    }
}
