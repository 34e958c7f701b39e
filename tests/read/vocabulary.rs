//! Retired words must not return in identifiers. docs/glossary.md has the words to use.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A retired word, and the word to use.
const RETIRED: [(&str, &str); 48] = [
    ("alike", "same_..., or template"),
    ("arrow", "layer, allowed import"),
    ("arrows", "layers, allowed imports"),
    ("beside", "worker, extra, temporary"),
    ("hold", "lock, or the word for what is kept"),
    ("house", "layers"),
    ("lend", "borrow"),
    ("lends", "borrows"),
    ("lent", "borrowed"),
    ("lie", "wrong, misaligned"),
    ("lies", "is_aligned, wrong"),
    ("lying", "wrong"),
    ("mine", "on_caller, own"),
    ("ours", "own, libztensor, worker"),
    ("respell", "reencode"),
    ("road", "path, strategy"),
    ("roads", "paths, strategies"),
    ("room", "capacity, space, buffer, folder"),
    ("rooms", "folders"),
    ("shelf", "cache"),
    ("soon", "prefetch"),
    ("spell", "encode, to_text"),
    ("spelled", "encoded"),
    ("spelling", "encoding, form, template"),
    ("spellings", "encodings, forms, templates"),
    ("spells", "encodes"),
    ("tell", "report, fill"),
    ("teller", "writer"),
    ("telling", "reporting"),
    ("tells", "reports"),
    ("theirs", "reference, on_workers"),
    ("told", "reported, matched"),
    ("unhashed", "hash_queue"),
    ("unsaid", "cannot_represent"),
    ("untold", "undeclared, unknown"),
    ("way", "route, path, variant"),
    ("ways", "cases, options"),
    ("found_sizes", "lazy_sizes"),
    ("hosts_own", "is_callback"),
    ("at_hand", "is_cached"),
    ("break_down", "poison"),
    ("settle_logical", "resolve_logical_type"),
    ("kind_t", "zt_value_kind"),
    ("put_down", "set, insert"),
    ("goes_on", "continues, on_progress"),
    ("misfit", "mismatch"),
    ("unheard", "unreported"),
    ("put_first", "push_front"),
];

/// Identifiers that are allowed to have such a word.
const EXCEPTIONS: [(&str, &str); 0] = [];

const FOLDERS: [&str; 9] =
    ["src", "cli", "tests", "benches/src", "fuzz/src", "fuzz/fuzz_targets", "c_tests", "include", "bindings"];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return }; // some packages have fewer folders
    for entry in entries {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap_or_default();
        if path.is_dir() && !["data", "target", "__pycache__"].contains(&name) && !name.starts_with('.') {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| {
            ["rs", "c", "h", "hpp", "cpp", "py", "go", "zig", "jl"].contains(&e.to_str().unwrap_or_default())
        }) {
            found.push(path);
        }
    }
}

/// The end of the comment, string or character literal at the front of `rest`; 0 if it is something else.
fn skipped(rest: &str, hashes: bool) -> usize {
    let until = |from: usize, end: &str| {
        rest.get(from..).and_then(|r| r.find(end)).map_or(rest.len(), |at| from + at + end.len())
    };
    let quoted = |from: usize, quote: u8| {
        let mut at = from;
        while let Some(byte) = rest.as_bytes().get(at) {
            match *byte {
                b'\\' => at += 2,
                byte if byte == quote => return at + 1,
                _ => at += 1,
            }
        }
        rest.len()
    };
    let raw = rest.strip_prefix(['b', 'c']).unwrap_or(rest);
    match rest {
        _ if hashes && rest.starts_with('#') => until(0, "\n"),
        _ if hashes && rest.starts_with("\"\"\"") => until(3, "\"\"\""),
        _ if hashes && rest.starts_with('\'') => quoted(1, b'\''),
        _ if !hashes && rest.starts_with("//") => until(0, "\n"),
        _ if !hashes && rest.starts_with("/*") => until(2, "*/"),
        _ if raw.starts_with("r\"")
            || raw.starts_with("r#") && raw.trim_start_matches(['r', '#']).starts_with('"') =>
        {
            let count = raw.bytes().skip(1).take_while(|b| *b == b'#').count();
            until(rest.len() - raw.len() + 2 + count, &format!("\"{}", "#".repeat(count)))
        }
        _ if rest.starts_with('"') => quoted(1, b'"'),
        _ if rest.starts_with("'\\") => quoted(1, b'\''),
        // A character literal, not a lifetime.
        _ if rest.starts_with('\'') => {
            let mut characters = rest.char_indices().skip(2);
            characters.next().filter(|(_, c)| *c == '\'').map_or(0, |(at, _)| at + 1)
        }
        _ => 0,
    }
}

/// The identifiers of a source file.
fn identifiers(text: &str, hashes: bool) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let skip = skipped(rest, hashes).min(rest.len());
        if skip > 0 {
            at += skip;
            while !text.is_char_boundary(at) {
                at += 1;
            }
        } else if first.is_ascii_alphanumeric() || first == '_' {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            found.insert(&rest[..end]);
            at += end;
        } else {
            at += first.len_utf8();
        }
    }
    found
}

/// `readBatchOf`, `ReadBatchOf` and `read_batch_of` become `_read_batch_of_`.
fn words(identifier: &str) -> String {
    let mut out = String::from("_");
    let bytes = identifier.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        let before_lower = bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase);
        let after_lower = at > 0 && bytes[at - 1].is_ascii_lowercase();
        if byte.is_ascii_uppercase() && (after_lower || before_lower) && !out.ends_with('_') {
            out.push('_');
        }
        if *byte != b'_' || !out.ends_with('_') {
            out.push(byte.to_ascii_lowercase() as char);
        }
    }
    if !out.ends_with('_') {
        out.push('_');
    }
    out
}

fn retired(identifier: &str) -> Option<&'static (&'static str, &'static str)> {
    if EXCEPTIONS.iter().any(|(allowed, _)| *allowed == identifier) {
        return None;
    }
    let words = words(identifier);
    RETIRED.iter().find(|(word, _)| words.contains(&format!("_{word}_")))
}

#[test]
fn retired_words_are_in_no_identifier() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    FOLDERS.iter().for_each(|folder| sources(&root.join(folder), &mut files));
    let (mut count, mut wrong) = (0, Vec::new());
    for path in &files {
        let hashes = path.extension().is_some_and(|e| e == "py" || e == "jl");
        let name = path.strip_prefix(root).unwrap().display().to_string();
        let text = std::fs::read_to_string(path).unwrap();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        for identifier in identifiers(&text, hashes).into_iter().chain([stem]) {
            count += 1;
            if let Some((word, instead)) = retired(identifier) {
                wrong.push(format!("{name}: {identifier}: not {word:?}, but {instead}"));
            }
        }
    }
    assert!(count > 10_000, "{count}");
    assert!(wrong.is_empty(), "retired words:\n{}", wrong.join("\n"));
}

/// Words that comments must not have either, because they have no other meaning in this field.
const RETIRED_IN_COMMENTS: [&str; 9] =
    ["untold", "shelf", "shelves", "unsaid", "teller", "respell", "roads", "spelled", "alike"];

/// The comments of a source file, one after the other.
fn comments(text: &str, hashes: bool) -> String {
    let (mut found, mut at) = (String::new(), 0);
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let mut skip = skipped(rest, hashes).min(rest.len());
        while !rest.is_char_boundary(skip) {
            skip += 1;
        }
        if skip > 0 && (rest.starts_with('/') || hashes && first == '#') {
            found.push_str(&rest[..skip]);
            found.push('\n');
        }
        at += skip.max(first.len_utf8());
    }
    found
}

#[test]
fn retired_words_are_in_no_comment() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    FOLDERS.iter().for_each(|folder| sources(&root.join(folder), &mut files));
    let mut wrong = Vec::new();
    for path in files.iter().filter(|path| !path.ends_with("vocabulary.rs")) {
        let hashes = path.extension().is_some_and(|e| e == "py" || e == "jl");
        let text = comments(&std::fs::read_to_string(path).unwrap(), hashes).to_lowercase();
        let mut words = text.split(|c: char| !c.is_ascii_alphabetic());
        wrong.extend(
            words.find(|word| RETIRED_IN_COMMENTS.contains(word)).map(|word| format!("{path:?}: {word}")),
        );
    }
    assert!(wrong.is_empty(), "retired words in comments:\n{}", wrong.join("\n"));
    assert_eq!(comments("a // b\n\"// c\" /* d */", false), "// b\n\n/* d */\n");
}

#[test]
fn identifiers_are_split_into_words_and_found_outside_of_comments_and_strings() {
    for (identifier, split) in [
        ("is_at_hand", "_is_at_hand_"),
        ("DirectFile", "_direct_file_"),
        ("MAX_FRAMES", "_max_frames_"),
        ("readCBORItem", "_read_cbor_item_"),
        ("__road", "_road_"),
    ] {
        assert_eq!(words(identifier), split);
    }
    assert!(
        retired("which_road").is_some()
            && retired("Roadster").is_none()
            && retired("zt_value_kind_t").is_some()
    );
    let text =
        "fn road<'a>(x: &'a str) { /* shelf */ let y = \"told\"; 'l'; '\\''; r#\"lies \"\"#; z } // room\n";
    let found: Vec<&str> = identifiers(text, false).into_iter().collect();
    assert_eq!(found, ["a", "fn", "let", "road", "str", "x", "y", "z"]);
    let text = "x = 'told' # room\ny = \"\"\"shelf\n\"\"\"";
    assert_eq!(identifiers(text, true).into_iter().collect::<Vec<_>>(), ["x", "y"]);
}
