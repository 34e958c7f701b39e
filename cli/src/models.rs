//! Opens models: from a path, a URL or standard input. Also finds out which arguments are the same model.

use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::standard_input::{self, is_standard};
use crate::{notes, other_formats, remote};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use ztensor::error::{Cause, Error, Result};
use ztensor::reader::{File, OpenOptions};

/// How the global options open models.
#[derive(Clone, Copy, Default)]
struct Choice {
    part: bool,
    include_unlisted: bool,
    combine: bool,
}

static CHOICE: OnceLock<Choice> = OnceLock::new();

/// Takes the global options `--part`, `--include-unlisted` and `--combine`.
pub fn choose(part: bool, include_unlisted: bool, combine: bool) {
    let _ = CHOICE.set(Choice { part, include_unlisted, combine }); // once
}

/// The options for a command that opens a model.
pub fn with_choice(options: &OpenOptions) -> OpenOptions {
    let Choice { part, include_unlisted, combine } = CHOICE.get().copied().unwrap_or_default();
    OpenOptions {
        part,
        include_unlisted,
        combine_quantized: combine || options.combine_quantized,
        ..options.clone()
    }
}

/// The paths without those that lead to the same model as an earlier path. Indexes of models are read with
/// these options.
pub fn once<'p, P: AsRef<Path>>(paths: &'p [P], options: &OpenOptions) -> Vec<&'p Path> {
    let options = with_choice(options);
    let (mut seen, mut alone) = (HashSet::new(), HashSet::new());
    let is_new = |path: &&Path| {
        if options.part || paths.len() < 2 || remote::is_url(path) {
            return true;
        }
        let own = place(path);
        if seen.contains(&own) {
            return false;
        }
        // Opening the path reports the error.
        let files = File::model_paths(path, &options).unwrap_or_default();
        let places: Vec<_> = files.iter().map(|file| place(file)).collect();
        if places == [own.clone()] {
            alone.insert(own); // a file that is named twice is used twice
            return true;
        }
        let is_known = places.iter().any(|place| seen.contains(place) || alone.contains(place));
        seen.extend(places);
        seen.insert(own);
        !is_known
    };
    paths.iter().map(AsRef::as_ref).filter(is_new).collect()
}

/// The path with its folder resolved: no links and no `..`. A link to a file counts as another file.
fn place(path: &Path) -> PathBuf {
    match (path.is_dir(), path.file_name()) {
        (false, Some(name)) => {
            let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
            folder.canonicalize().map_or_else(|_| path.to_owned(), |folder| folder.join(name))
        }
        _ => path.canonicalize().unwrap_or_else(|_| path.to_owned()),
    }
}

/// Opens a model, by its path or its URL.
pub fn open(path: &Path) -> Outcome<File> {
    open_with(path, &OpenOptions::default()).map_err(|e| Failure::at(path, e))
}

/// Opens a model with these options and the global ones.
pub fn open_with(path: &Path, options: &OpenOptions) -> Result<File> {
    open_or_stop(path, options, &Interrupt::default())
}

/// An open model once more, with the tensors of each quantized weight as one object. None if it was opened
/// so, or cannot be opened a second time.
pub fn combined(path: &Path, file: &File) -> Option<File> {
    let options = OpenOptions { combine_quantized: true, ..OpenOptions::default() };
    let is_combined = file.objects().any(|object| object.scheme().is_some());
    let is_readable_again = !is_combined && !is_standard(path);
    is_readable_again.then(|| open_with(path, &options).ok()).flatten()
}

/// Opens an input: a path, `-` for standard input, or a URL. All commands that only read open inputs here.
pub fn open_or_stop(path: &Path, options: &OpenOptions, interrupt: &Interrupt) -> Result<File> {
    let options = &with_choice(options);
    let is_special = || std::fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir());
    let file = match remote::is_url(path) {
        true => remote::open(path, options),
        false if is_standard(path) => standard_input::open(options, interrupt),
        false if is_special() => Err(Error::new(
            Cause::Unsupported,
            format_args!("neither a regular file nor a folder; give a pipe as standard input, with -"),
        )),
        false => match File::open_model(path, options) {
            // Their libraries know no limits.
            Err(why) if options.max_memory.is_none() => other_formats::open(path)?.ok_or(why),
            file => file,
        },
    };
    file.inspect(|file| notes::remember(path, file))
}
