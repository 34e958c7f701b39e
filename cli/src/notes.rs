//! Notes about what a command did not do, in one form: the last lines on standard error, and `"notes"` in
//! JSON.
//!
//! `zt: not converted: 2 objects: "a", "b": f32 from gguf.q8_0`

use crate::progress::is_quiet;
use crate::{failure, names, remote, text};
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use ztensor::reader::File;

/// What happened to the objects or files in a note.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum What {
    LeftOut,
    NotChecked,
    NotCompared,
    NotConverted,
    NotCovered,
    PassedOver,
    Lossy,
    Renamed,
    Damaged,
}

impl What {
    fn label(self) -> &'static str {
        match self {
            What::LeftOut => "left out",
            What::NotChecked => "not checked",
            What::NotCompared => "not compared",
            What::NotConverted => "not converted",
            What::NotCovered => "not covered",
            What::PassedOver => "passed over",
            What::Lossy => "values lost",
            What::Renamed => "renamed",
            What::Damaged => "damaged",
        }
    }
}

/// A fact about things that share a reason.
#[derive(Clone)]
struct Note {
    what: What,
    /// The singular of the counted things: "object", "file", "attribute", "byte".
    noun: &'static str,
    why: String,
    count: u64,
    names: Vec<String>,
}

/// The notes of a command, in the order in which they were added.
#[derive(Clone, Default)]
pub struct Notes {
    notes: RefCell<Vec<Note>>,
    /// Where the note with that reason is.
    places: RefCell<HashMap<(What, &'static str, String), usize>>,
}

/// A line names at most this many things; JSON has all of them.
const NAMES_SHOWN: usize = 8;

impl Notes {
    /// Adds a note about a thing with a name. Things with the same `what`, `noun` and `why` share a note.
    pub fn add(&self, what: What, noun: &'static str, name: &str, why: impl Into<String>) {
        self.entry(what, noun, why.into(), 1, Some(name));
    }

    /// Adds a note about `count` things without names.
    pub fn add_count(&self, what: What, noun: &'static str, count: u64, why: impl Into<String>) {
        self.entry(what, noun, why.into(), count, None);
    }

    /// Adds a note about `count` parts of a thing with a name, such as bytes of a file.
    pub fn add_part(&self, what: What, noun: &'static str, count: u64, name: &str, why: impl Into<String>) {
        self.entry(what, noun, why.into(), count, Some(name));
    }

    /// Adds the notes of another part of the command.
    pub fn absorb(&self, other: Notes) {
        for Note { what, noun, why, count, names } in other.notes.into_inner() {
            self.entry(what, noun, why.clone(), count, None);
            names.iter().for_each(|name| self.entry(what, noun, why.clone(), 0, Some(name)));
        }
    }

    fn entry(&self, what: What, noun: &'static str, why: String, count: u64, name: Option<&str>) {
        let (mut notes, mut places) = (self.notes.borrow_mut(), self.places.borrow_mut());
        let place = *places.entry((what, noun, why.clone())).or_insert(notes.len());
        if place == notes.len() {
            notes.push(Note { what, noun, why, count: 0, names: Vec::new() });
        }
        notes[place].count = notes[place].count.saturating_add(count);
        notes[place].names.extend(name.map(str::to_owned));
    }

    /// Prints the notes to standard error, one on each line. Call it last.
    pub fn report(&self) {
        for note in self.notes.borrow().iter().filter(|_| !is_quiet()) {
            failure::report(&note.line());
        }
    }

    /// Like [`Notes::report`], for one of several files.
    pub fn report_of(&self, path: &Path) {
        for note in self.notes.borrow().iter().filter(|_| !is_quiet()) {
            failure::report(&format!("{}: {}", remote::shown(path), note.line()));
        }
    }

    /// The notes as a JSON array.
    pub fn json(&self) -> serde_json::Value {
        self.notes.borrow().iter().map(Note::json).collect()
    }

    /// A JSON object with the notes added, including those about opened models.
    pub fn with(&self, facts: serde_json::Value) -> serde_json::Value {
        self.and(all_left_out(), facts)
    }

    /// Like [`Notes::with`], for one of several files.
    pub fn with_of(&self, path: &Path, facts: serde_json::Value) -> serde_json::Value {
        self.and(left_out(path), facts)
    }

    fn and(&self, more: serde_json::Value, mut facts: serde_json::Value) -> serde_json::Value {
        let (mut all, mut more) = (self.json(), more);
        if let (Some(all), Some(more)) = (all.as_array_mut(), more.as_array_mut()) {
            all.append(more);
        }
        facts["notes"] = all;
        facts
    }
}

/// The first names, and how many there are beside them.
pub fn first_names(names: &[String]) -> String {
    let shown: Vec<_> = names.iter().take(NAMES_SHOWN).map(|name| format!("\"{name}\"")).collect();
    match names.len().saturating_sub(NAMES_SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

impl Note {
    fn line(&self) -> String {
        let mut line = format!("{}: {}", self.what.label(), text::count(self.count, self.noun));
        if !self.names.is_empty() {
            line = format!("{line}: {}", first_names(&self.names));
        }
        if !self.why.is_empty() {
            line = format!("{line}: {}", self.why);
        }
        line
    }

    fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "what": self.what.label(), "noun": self.noun, "count": self.count, "names": self.names, "why": self.why,
        })
    }
}

/// Notes about damaged bytes, which do not match a checksum of their file or are invalid for their type.
pub mod damage {
    use crate::failure::Failure;

    /// The reason why an object is listed as damaged.
    pub fn reason(left_out: bool) -> &'static str {
        match left_out {
            false => "the bytes are damaged, and get no new digest",
            true => "the bytes are damaged, and are left out",
        }
    }

    /// The failure of a command that does not continue after damage.
    pub fn refused(why: Failure) -> Failure {
        match why {
            Failure::Message(why) => {
                Failure::Message(format!("{why}; --allow-damaged goes on past damaged bytes and lists them"))
            }
            other => other,
        }
    }
}

/// Notes the objects of a file whose writer left out the usual checksums.
pub fn note_unchecked(notes: &Notes, file: &ztensor::reader::File) {
    let lacks = |object: &ztensor::reader::Object<'_>| object.components().any(|c| c.lacks_checksum());
    let count = file.objects().filter(lacks).count() as u64;
    if count > 0 {
        notes.add_count(What::NotChecked, "object", count, "the archive was written without CRC-32s");
    }
}

/// What was left out when a model was opened.
struct LeftOut {
    path: String,
    passed_over: Vec<String>,
    unlisted: u64,
    unlisted_names: Vec<String>,
}

static LEFT_OUT: Mutex<Vec<LeftOut>> = Mutex::new(Vec::new());

/// Remembers what was left out of an opened model, for [`report_left_out`].
pub fn remember(path: &Path, file: &File) {
    let info = file.model_info();
    if info.passed_over.is_empty() && info.unlisted == 0 {
        return;
    }
    let path = remote::shown(path);
    let mut all = LEFT_OUT.lock().unwrap_or_else(PoisonError::into_inner);
    if all.iter().all(|other| other.path != path) {
        let unlisted_names = unlisted_names(file);
        all.push(LeftOut {
            path,
            passed_over: info.passed_over.clone(),
            unlisted: info.unlisted,
            unlisted_names,
        });
    }
}

/// The names, as far as they are kept, of tensors in a model's files that its index does not name.
pub fn unlisted_names(file: &File) -> Vec<String> {
    file.model_info().unlisted_names.iter().map(|name| names::in_json(name).into_owned()).collect()
}

impl LeftOut {
    fn note(&self, notes: &Notes) {
        for name in &self.passed_over {
            notes.add(What::PassedOver, "file", name, format!("in {}", self.path));
        }
        let why = format!("no index names it, in {} (--include-unlisted includes it)", self.path);
        for name in &self.unlisted_names {
            notes.add(What::PassedOver, "object", name, why.clone());
        }
        let more = self.unlisted.saturating_sub(self.unlisted_names.len() as u64);
        if more > 0 {
            notes.add_count(What::PassedOver, "object", more, why);
        }
    }
}

/// Notes what was left out of each opened model whose path passes `is_wanted`.
fn note_all(is_wanted: impl Fn(&str) -> bool) -> Notes {
    let notes = Notes::default();
    let all = LEFT_OUT.lock().unwrap_or_else(PoisonError::into_inner);
    all.iter().filter(|left| is_wanted(&left.path)).for_each(|left| left.note(&notes));
    notes
}

/// Prints what was left out of all opened models.
pub fn report_left_out() {
    note_all(|_| true).report();
}

/// What was left out of the model at a path, as notes in JSON.
pub fn left_out(path: &Path) -> serde_json::Value {
    let shown = remote::shown(path);
    note_all(|path| path == shown).json()
}

/// What was left out of all opened models, as notes in JSON.
pub fn all_left_out() -> serde_json::Value {
    note_all(|_| true).json()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_with_one_reason_are_one_line() {
        let notes = Notes::default();
        notes.add(What::NotConverted, "object", "a", "gguf.q8_0");
        notes.add(What::LeftOut, "attribute", "k", "npz has no attributes");
        notes.add(What::NotConverted, "object", "b", "gguf.q8_0");
        notes.add_count(What::NotCovered, "byte", 1, "");
        let lines: Vec<_> = notes.notes.borrow().iter().map(Note::line).collect();
        let expected = [
            "not converted: 2 objects: \"a\", \"b\": gguf.q8_0",
            "left out: 1 attribute: \"k\": npz has no attributes",
            "not covered: 1 byte",
        ];
        assert_eq!(lines, expected);
        let json = notes.json();
        assert_eq!(json[0]["names"], serde_json::json!(["a", "b"]));
        assert_eq!(json[2]["count"], 1);
    }

    #[test]
    fn a_line_names_eight_and_counts_the_rest() {
        let notes = Notes::default();
        (0..10).for_each(|at| notes.add(What::LeftOut, "object", &at.to_string(), ""));
        let line = notes.notes.borrow()[0].line();
        assert_eq!(
            line,
            "left out: 10 objects: \"0\", \"1\", \"2\", \"3\", \"4\", \"5\", \"6\", \"7\" and 2 more"
        );
    }
}
