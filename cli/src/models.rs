//! Models of several files: which arguments are one model, and what was left out of those that were opened.

use crate::json;
use crate::notes::{Notes, What};
use crate::remote;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use ztensor::reader::{File, OpenOptions};

/// How the global options open models.
#[derive(Clone, Copy, Default)]
struct Choice {
    part: bool,
    include_unlisted: bool,
}

static CHOICE: OnceLock<Choice> = OnceLock::new();

/// Takes the global options `--part` and `--include-unlisted`.
pub fn choose(part: bool, include_unlisted: bool) {
    let _ = CHOICE.set(Choice { part, include_unlisted }); // once
}

/// The options with which a command opens a model.
pub fn with_choice(options: &OpenOptions) -> OpenOptions {
    let Choice { part, include_unlisted } = CHOICE.get().copied().unwrap_or_default();
    OpenOptions { part, include_unlisted, ..options.clone() }
}

/// The paths without those that lead to a model that an earlier one leads to.
pub fn once<P: AsRef<Path>>(paths: &[P]) -> Vec<&Path> {
    let options = with_choice(&OpenOptions::default());
    let (mut seen, mut alone) = (HashSet::new(), HashSet::new());
    let is_new = |path: &&Path| {
        if options.part || paths.len() < 2 || remote::is_url(path) {
            return true;
        }
        let own = place(path);
        if seen.contains(&own) {
            return false;
        }
        // What is wrong with a path is said when it is opened.
        let files = File::model_paths(path, &options).unwrap_or_default();
        let places: Vec<_> = files.iter().map(|file| place(file)).collect();
        if places == [own.clone()] {
            alone.insert(own); // a file that is named twice is taken twice
            return true;
        }
        let is_known = places.iter().any(|place| seen.contains(place) || alone.contains(place));
        seen.extend(places);
        seen.insert(own);
        !is_known
    };
    paths.iter().map(AsRef::as_ref).filter(is_new).collect()
}

/// The path without links and `..` in its folder: a link to a file is another file.
fn place(path: &Path) -> PathBuf {
    match (path.is_dir(), path.file_name()) {
        (false, Some(name)) => {
            let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
            folder.canonicalize().map_or_else(|_| path.to_owned(), |folder| folder.join(name))
        }
        _ => path.canonicalize().unwrap_or_else(|_| path.to_owned()),
    }
}

/// What was left out of a model that was opened.
struct LeftOut {
    path: String,
    passed_over: Vec<String>,
    unlisted: u64,
    unlisted_names: Vec<String>,
}

static LEFT_OUT: Mutex<Vec<LeftOut>> = Mutex::new(Vec::new());

/// Remembers what is left out of a model that was opened, for [`report`].
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

/// The names of tensors that the files of a model hold and its index names nowhere, as far as they are kept.
pub fn unlisted_names(file: &File) -> Vec<String> {
    file.model_info().unlisted_names.iter().map(|name| json::name(name).into_owned()).collect()
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

/// Notes what was left out of each model that a path of `is_wanted` led to.
fn note_all(is_wanted: impl Fn(&str) -> bool) -> Notes {
    let notes = Notes::default();
    let all = LEFT_OUT.lock().unwrap_or_else(PoisonError::into_inner);
    all.iter().filter(|left| is_wanted(&left.path)).for_each(|left| left.note(&notes));
    notes
}

/// Reports what was left out of all models that were opened.
pub fn report() {
    note_all(|_| true).report();
}

/// What was left out of the model at a path, as notes in JSON.
pub fn left_out(path: &Path) -> serde_json::Value {
    let shown = remote::shown(path);
    note_all(|path| path == shown).json()
}

/// What was left out of all models that were opened, as notes in JSON.
pub fn all_left_out() -> serde_json::Value {
    note_all(|_| true).json()
}
