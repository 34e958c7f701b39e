//! Pages that a stranger reads first are in plain words: no phrase of a stop list, no long sentence.

use std::path::Path;

/// Phrases that make a reader read twice.
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

/// The most words of a sentence.
const LONGEST: usize = 30;

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// Comments of a header, without what marks them; paragraphs and declarations end a sentence.
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

/// Text without tables, code and headings.
fn prose(page: &str) -> String {
    let mut is_code = false;
    let mut out = String::new();
    for line in page.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
        }
        let is_prose = !is_code && !line.starts_with(['|', '#', '`']) && !line.starts_with("    ");
        match is_prose {
            true if line.starts_with("- ") => out += &format!("\n\n{line}\n"),
            true => out += &format!("{line}\n"),
            false => out.push_str("\n\n"),
        }
    }
    out
}

/// Sentences; a semicolon and a colon end one, too, and each status of a list is one by itself.
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

fn faults(path: &str) -> Vec<String> {
    let page = read(path);
    let text = if path.ends_with(".md") { prose(&page) } else { comments(&page) };
    let plain = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let mut faults = Vec::new();
    for phrase in STOP_LIST {
        for (at, _) in plain.match_indices(&format!(" {phrase}")) {
            let end = at + 1 + phrase.len();
            if !plain[end..].starts_with(|next: char| next.is_alphanumeric()) {
                let around = &plain[at.saturating_sub(40)..(end + 20).min(plain.len())];
                faults.push(format!("{path}: {phrase:?} in {around:?}"));
            }
        }
    }
    for sentence in sentences(&text) {
        if sentence.len() > LONGEST {
            faults.push(format!("{path}: {} words: {}", sentence.len(), sentence.join(" ")));
        }
    }
    faults
}

#[test]
fn pages_that_come_first_are_in_plain_words() {
    let pages = [
        "include/ztensor.h",
        "include/ztensor_advanced.h",
        "include/ztensor_dlpack.h",
        "README.md",
        "CHANGELOG.md",
        "SECURITY.md",
    ];
    let faults: Vec<String> = pages.iter().flat_map(|page| faults(page)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn what_is_not_plain_is_found() {
    let header = comments("/// Gives it, of\n/// which nothing is known.\nint x; ///< Short.\n");
    assert!(header.contains("of\n which"), "{header}");
    let long = "word ".repeat(LONGEST + 1);
    let counts: Vec<usize> = sentences(&format!("One. Two; {long}\n\n{long}")).iter().map(Vec::len).collect();
    assert_eq!(counts.iter().filter(|count| **count > LONGEST).count(), 2, "{counts:?}");
    assert_eq!(
        prose("| a table |\n```\ncode\n```\nText.\n").split_whitespace().collect::<Vec<_>>(),
        ["Text."]
    );
}
