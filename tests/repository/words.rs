//! Texts are in plain words: they have no phrase of a stop list, and pages and headers have no long
//! sentences.

use std::path::{Path, PathBuf};

/// Phrases that are hard to read.
const STOP_LIST: [&str; 18] = [
    "of which",
    "that of",
    "is of",
    "is none",
    "are none",
    "no whole",
    "nothing more but",
    "as it is",
    "whatever it",
    "what it is",
    "what is there",
    "who has",
    "lends",
    "is lent",
    "goes by none",
    "sevenths",
    "the same, but",
    "of its own accord",
];

/// The maximum number of words in a sentence.
const LONGEST: usize = 30;

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The comments of a header without their markers. A paragraph or a declaration ends a sentence.
fn comments(header: &str) -> String {
    let mut out = String::new();
    for line in header.lines() {
        let line = line.trim();
        let text =
            line.strip_prefix("///").or_else(|| line.strip_prefix("* ")).or_else(|| line.strip_prefix("//"));
        match text.or_else(|| line.split_once("///< ").map(|(_, text)| text)) {
            Some(text) if !text.trim_start().starts_with('|') => out += &format!("{text}\n"),
            _ => out.push_str("\n\n"),
        }
    }
    out
}

/// The text without tables, code and headings.
fn prose(page: &str) -> String {
    let mut is_code = false;
    let mut out = String::new();
    for line in page.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
        }
        let is_prose =
            !is_code && !line.trim_start().starts_with(['|', '#', '`']) && !line.starts_with("    ");
        match is_prose {
            true if line.starts_with("- ") => out += &format!("\n\n{line}\n"),
            true => out += &format!("{line}\n"),
            false => out.push_str("\n\n"),
        }
    }
    out
}

/// The text of a man page from DESCRIPTION to EXAMPLES. A macro for a heading or an option ends a sentence.
fn manual(page: &str) -> String {
    let mut out = String::new();
    let lines = page.lines().skip_while(|line| *line != ".Sh DESCRIPTION");
    for line in lines.take_while(|line| *line != ".Sh EXAMPLES" && *line != ".Ss Status and errors") {
        let ends = [".Sh", ".Ss", ".It", ".Bl", ".El", ".Pp"].iter().any(|name| line.starts_with(name));
        match line.strip_prefix('.') {
            _ if ends => out.push_str("\n\n"),
            Some(names) => out += &format!("{}\n", names.split_once(' ').map_or("", |(_, names)| names)),
            None => out += &format!("{line}\n"),
        }
    }
    out
}

/// Sentences. A semicolon and a colon also end one. Each status of a list is a sentence.
fn sentences(text: &str) -> Vec<Vec<&str>> {
    let mut found = Vec::new();
    for paragraph in text.split("\n\n") {
        let mut sentence = Vec::new();
        for word in paragraph.split_whitespace() {
            if word.starts_with("ZT_ERROR_") {
                found.push(std::mem::take(&mut sentence));
            }
            sentence.push(word);
            let word = word.trim_end_matches([')', '"', '*', '`']);
            if word.ends_with(['.', ';', ':', '?', '!']) {
                found.push(std::mem::take(&mut sentence));
            }
        }
        found.push(sentence);
    }
    found
}

/// Phrases of the stop list in a text, with the words around them. Ignores lines with `plain words:` and a
/// reason.
fn phrases(path: &str, text: &str) -> Vec<String> {
    let mut plain = String::from(" ");
    for line in text.lines().filter(|line| !line.contains("plain words:")) {
        let line = line.trim().trim_start_matches(['/', '*', '#', '!']);
        for word in line.split_whitespace().filter(|word| *word != "\\") {
            plain += word;
            plain.push(' ');
        }
    }
    let mut faults = Vec::new();
    for phrase in STOP_LIST {
        let capital = phrase[..1].to_uppercase() + &phrase[1..];
        for phrase in [phrase, &capital] {
            for (at, _) in plain.match_indices(phrase) {
                let end = at + phrase.len();
                let is_word = !plain[..at].ends_with(char::is_alphanumeric);
                if is_word && !plain[end..].starts_with(char::is_alphanumeric) {
                    let start = (0..at.saturating_sub(40)).rev().find(|at| plain.is_char_boundary(*at));
                    let after: String = plain[end..].chars().take(20).collect();
                    faults.push(format!(
                        "{path}: {phrase:?} in {:?}",
                        format!("{}{after}", &plain[start.unwrap_or(0)..end])
                    ));
                }
            }
        }
    }
    faults
}

fn faults(path: &str) -> Vec<String> {
    let page = read(path);
    let text = match Path::new(path).extension().and_then(|e| e.to_str()) {
        Some("md") => prose(&page),
        Some("1" | "3") => manual(&page),
        _ => comments(&page),
    };
    let mut faults = phrases(path, &text);
    for sentence in sentences(&text) {
        if sentence.len() > LONGEST {
            faults.push(format!("{path}: {} words: {}", sentence.len(), sentence.join(" ")));
        }
    }
    faults
}

/// Files below a folder with one of the extensions.
fn below(folder: &str, extensions: &[&str]) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut folders, mut found): (Vec<PathBuf>, _) = (vec![root.join(folder)], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap();
            let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
            match path.is_dir() {
                true if !name.contains("/.") => folders.push(path),
                true => {}
                false if extensions.contains(&extension) => found.push(name.replace('\\', "/")),
                false => {}
            }
        }
    }
    found.sort();
    found
}

#[test]
fn pages_and_headers_are_in_plain_words() {
    let mut pages = vec![String::from("man/zt.1"), String::from("man/ztensor.3")];
    for page in ["ztensor.h", "ztensor_advanced.h", "ztensor_dlpack.h"] {
        pages.push(format!("include/{page}"));
    }
    for page in ["README", "CHANGELOG", "CONTRIBUTING", "SECURITY"] {
        pages.push(format!("{page}.md"));
    }
    pages.extend(below("docs", &["md"]));
    assert!(pages.len() > 40, "{pages:?}");
    let faults: Vec<String> = pages.iter().flat_map(|page| faults(page)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Comments and messages: the complete text of each file. The header's comments are tested above.
#[test]
fn sources_have_no_phrase_of_the_stop_list() {
    let mut sources = below("src", &["rs"]);
    sources.retain(|path| !path.starts_with("src/capi/"));
    sources.extend(below("cli/src", &["rs"]));
    sources.extend(below("remote/src", &["rs"]));
    for language in ["go", "julia/src", "python/libztensor", "zig"] {
        sources.extend(below(&format!("bindings/{language}"), &["go", "jl", "py", "zig"]));
    }
    assert!(sources.len() > 350, "{}", sources.len());
    let faults: Vec<String> = sources.iter().flat_map(|path| phrases(path, &read(path))).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_rules_find_sentences_that_are_not_plain() {
    let header = comments("/// Gives it, of\n/// which nothing is known.\nint x; ///< Short.\n");
    assert!(header.contains("of\n which"), "{header}");
    let long = "word ".repeat(LONGEST + 1);
    let counts: Vec<usize> = sentences(&format!("One. Two; {long}\n\n{long}")).iter().map(Vec::len).collect();
    assert_eq!(counts.iter().filter(|count| **count > LONGEST).count(), 2, "{counts:?}");
    let source =
        "/// Bytes\n/// of which\nf(\"what it \\\n is\");\nthis is offset; // plain words: is none\n";
    assert_eq!(phrases("a.rs", source).len(), 2, "{:?}", phrases("a.rs", source));
    assert_eq!(manual(".Sh DESCRIPTION\nRuns\n.Nm zt .\n.Sh EXAMPLES\nx").split_whitespace().count(), 3);
    assert_eq!(
        prose("| a table |\n```\ncode\n```\nText.\n").split_whitespace().collect::<Vec<_>>(),
        ["Text."]
    );
}
