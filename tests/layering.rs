//! The layers: who may import whom, where unsafe code may stand, how long a file may be.

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

fn all(folder: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    sources(&root.join(folder), &mut paths);
    paths.sort();
    let name = |p: &Path| p.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
    paths.iter().map(|p| (name(p), std::fs::read_to_string(p).unwrap())).collect()
}

/// A folder and the folders that it may import from. Everything may import `error` and `model`, but `error`
/// itself nothing and `model` only `error` and the memory of its tables.
const ALLOWED_IMPORTS: [(&str, &[&str]); 15] = [
    ("error", &[]),
    ("memory", &["error", "hash", "lock"]),
    ("model", &["error", "memory"]),
    ("lock", &[]),
    ("hash", &[]),
    ("threads", &["lock"]),
    ("container", &["error", "model", "memory"]),
    ("payload", &["error", "model", "simd"]),
    ("simd", &[]),
    ("io", &["error"]),
    ("source", &["error", "io", "lock", "memory", "threads"]),
    ("sink", &["error", "io", "lock", "memory"]),
    ("reader", &["error", "hash", "model", "container", "payload", "source", "lock", "threads", "memory"]),
    // The writer reads, too: what it appends to, copies from and repairs. Never the reverse.
    (
        "writer",
        &[
            "error",
            "hash",
            "model",
            "container",
            "payload",
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
            "error",
            "model",
            "container",
            "payload",
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

/// All that the C layer may import from folders that are not its neighbours: conversions, and whether a thread is
/// a worker.
const CAPI_EXTRA_IMPORTS: [&str; 3] = ["container::json::", "payload::digest::", "threads::is_worker"];

fn folder(path: &str) -> &str {
    let inner = path.strip_prefix("src/").unwrap();
    inner.split(['/', '.']).next().unwrap()
}

/// Rooms that a file names by `crate::`, outside of comments.
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
    for (path, text) in all("src") {
        let folder = folder(&path);
        if folder == "lib" {
            continue;
        }
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
            // Either would be a way around what is looked for above.
            assert!(!line.contains("crate::{"), "{path} imports several folders at once: {line}");
            let out = if path.ends_with("/mod.rs") { "super::" } else { "super::super::" };
            let leaves = path.matches('/').count() == 2 && line.contains(out) && !line.contains("pub(super)");
            assert!(!leaves, "{path} leaves its folder by super: {line}");
        }
        let distant = code().flat_map(|l| l.split("crate::").skip(1)).filter(|rest| {
            ["container", "payload", "threads"]
                .iter()
                .any(|r| rest.strip_prefix(r).is_some_and(|r| r.starts_with("::")))
        });
        for rest in distant.filter(|_| folder == "capi") {
            assert!(CAPI_EXTRA_IMPORTS.iter().any(|taken| rest.starts_with(taken)), "{path} imports {rest}");
        }
    }
    assert!(edges > 100, "{edges}");
}

/// Where the compiler cannot look beside the C layer: the platform, the processor, and memory that outlives its borrow.
const UNSAFE_FILES: [&str; 16] = [
    "src/hash.rs",
    "src/io/blocks.rs",
    "src/io/page_size.rs",
    "src/io/path.rs",
    "src/io/stat.rs",
    "src/memory/buffer.rs",
    "src/memory/decoded_cache.rs",
    "src/memory/huge_vec.rs",
    "src/memory/try_box.rs",
    "src/simd.rs",
    "src/sink/signals.rs",
    "src/source/advice.rs",
    "src/source/map.rs",
    "src/source/network.rs",
    "src/source/residence.rs",
    "src/threads/posix.rs",
];

#[test]
fn unsafe_code_stands_in_the_listed_files_only() {
    for (path, text) in all("src") {
        let allowed = path.starts_with("src/capi/") || UNSAFE_FILES.contains(&path.as_str());
        let code = text.lines().filter(|l| !l.trim_start().starts_with("//"));
        let has = code
            .filter(|l| !l.contains("unsafe_code"))
            .any(|l| l.contains("unsafe ") || l.contains("unsafe{"));
        assert!(allowed || !has, "{path} has unsafe code");
    }
}

#[test]
fn no_file_is_over_400_lines() {
    let files: Vec<_> =
        ["src", "cli/src", "cli/tests", "tests", "examples"].into_iter().flat_map(all).collect();
    assert!(files.len() > 60, "{}", files.len());
    for (path, text) in files {
        let lines = text.lines().count();
        assert!(lines <= 400, "{path} has {lines} lines");
    }
}
