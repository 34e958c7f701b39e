//! The names of new files: their containers, and which files belong together.

use super::place::{check_free, folder_of, identity, Identity};
use crate::failure::{Failure, Outcome};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use ztensor::reader::{part_of_set, File, OpenOptions};

/// The most sets with the same name that are searched.
const MAX_GENERATIONS: u32 = 1000;

/// Refuses a name that does not end in `.zt`, for commands that only write .zt files.
pub fn check_is_zt(path: &Path) -> Outcome<()> {
    match has_extension(path, "zt") {
        true => Ok(()),
        false => Err(Failure::at(path, "this command writes only .zt files; use zt convert for others")),
    }
}

/// Refuses the name of a part for a file that is a whole model.
pub fn check_whole(path: &Path) -> Outcome<()> {
    match part_of_set(name_of(path)).filter(|(_, count)| *count > 1) {
        Some((number, count)) => {
            let why = format!("this is the name of part {number} of {count}, but the file is a whole model");
            Err(Failure::at(path, format!("{why}; choose another name")))
        }
        None => Ok(()),
    }
}

/// Refuses a name that is not UTF-8, because the names of parts are derived from it.
fn check_text(path: &Path) -> Outcome<()> {
    match path.file_name().is_none_or(|name| name.to_str().is_some()) {
        true => Ok(()),
        false => Err(Failure::at(path, "its name is not UTF-8; several files need a name that is")),
    }
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|given| given.eq_ignore_ascii_case(extension))
}

/// The name of a file without the extension of its container.
pub fn stem(path: &Path, extension: &str) -> String {
    let name = if has_extension(path, extension) { path.file_stem() } else { path.file_name() };
    name.unwrap_or_default().to_string_lossy().into_owned()
}

/// The files that a root names. A root is an index, or a file that lists shards.
pub struct Members {
    /// Their names after the stem of the root: `00001-of-00003` and so on.
    pub names: Vec<String>,
    pub paths: Vec<PathBuf>,
    /// Files that only the old root names.
    pub obsolete: Vec<PathBuf>,
    /// The old root, for [`super::NewFiles`].
    pub old_root: Option<Identity>,
}

impl Members {
    /// A single file that no root names.
    pub fn alone(path: &Path) -> Outcome<Members> {
        check_whole(path)?;
        Ok(Members { names: Vec::new(), paths: vec![path.to_owned()], obsolete: Vec::new(), old_root: None })
    }

    /// The members of a model called `output`, with names from its `root`: `STEM-00001-of-00003.EXTENSION`
    /// and so on. If there is an old root, existing files must not become parts of the new model. Then the
    /// names are `STEM-r2-00001-of-00003.EXTENSION`, or the next that are free, so that the old model stays
    /// complete meanwhile.
    pub fn of_root(
        root: &Path,
        output: &Path,
        extension: &str,
        count: usize,
        force: bool,
    ) -> Outcome<Members> {
        check_text(output)?;
        if root.is_symlink() {
            let why = "it is a symbolic link; name its target, because the parts are written beside it";
            return Err(Failure::at(root, why));
        }
        let old_root = identity(root); // before it is read
        let names = |generation| (1..=count).map(move |number| member_name(generation, number, count));
        if root.symlink_metadata().is_err() {
            let paths = without_root(output, extension, count)?;
            let (names, obsolete) = (names(1).collect(), Vec::new());
            return Ok(Members { names, paths, obsolete, old_root });
        }
        check_free(root, force)?;
        let (stem, old) = (stem(output, extension), named_by(root));
        for generation in 1..=MAX_GENERATIONS {
            let path = |name: String| root.with_file_name(format!("{stem}-{name}.{extension}"));
            let paths: Vec<_> = names(generation).map(path).collect();
            if paths.iter().all(|path| path.symlink_metadata().is_err() && !old.contains(path)) {
                let (names, obsolete) = (names(generation).collect(), obsolete(root, &stem, old));
                return Ok(Members { names, paths, obsolete, old_root });
            }
        }
        Err(Failure::at(root, format!("the folder has {MAX_GENERATIONS} sets of files of this name already")))
    }
}

fn member_name(generation: u32, number: usize, count: usize) -> String {
    match generation {
        1 => format!("{number:05}-of-{count:05}"),
        _ => format!("r{generation}-{number:05}-of-{count:05}"),
    }
}

/// The files that a root names; empty if it does not exist or cannot be read.
fn named_by(root: &Path) -> BTreeSet<PathBuf> {
    if has_extension(root, "json") {
        let index = std::fs::read(root).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let index: serde_json::Value = index.unwrap_or_default();
        let files = index["weight_map"].as_object().into_iter().flat_map(|map| map.values());
        return files.filter_map(|file| Some(root.with_file_name(file.as_str()?))).collect();
    }
    let Ok(file) = File::open(root, &OpenOptions::default()) else { return BTreeSet::new() };
    let shards = (1..file.part_count()).filter_map(|at| file.part(at)?.path());
    shards.map(super::view::path_of).collect()
}

/// The files of an old root that are removed with it: numbered files with its own stem that no other index
/// names.
fn obsolete(root: &Path, stem: &str, old: BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let front = format!("{stem}-");
    let is_member = |path: &PathBuf| {
        let is_numbered = name_of(path).starts_with(&front) && part_of_set(name_of(path)).is_some();
        is_numbered && path.parent() == root.parent() && path.symlink_metadata().is_ok()
    };
    let members: Vec<_> = old.into_iter().filter(is_member).collect();
    if members.is_empty() {
        return members;
    }
    let others = neighbours(root).filter(|path| path != root && has_extension(path, "json"));
    let kept: BTreeSet<_> = others.flat_map(|index| named_by(&index)).collect();
    members.into_iter().filter(|path| !kept.contains(path)).collect()
}

/// All entries in the folder of a file.
fn neighbours(path: &Path) -> impl Iterator<Item = PathBuf> + '_ {
    let entries = std::fs::read_dir(folder_of(path)).into_iter().flatten().flatten();
    entries.map(|entry| path.with_file_name(entry.file_name()))
}

fn is_part(path: &Path, front: &str, extension: &str) -> bool {
    let name = name_of(path);
    name.starts_with(front) && has_extension(path, extension) && part_of_set(name).is_some()
}

/// Refuses numbered files without a root if a part of another set with that name has appeared.
pub fn check_only_set(files: &[&Path]) -> Outcome<()> {
    let Some(last) = files.last() else { return Ok(()) };
    let end = format!("-{}", member_name(1, files.len(), files.len()));
    let extension = last.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let Some((stem, _)) = name_of(last).rsplit_once(&end) else { return Ok(()) };
    let front = format!("{stem}-");
    match neighbours(last).find(|path| is_part(path, &front, extension) && !files.contains(&path.as_path())) {
        Some(other) => Err(Failure::at(&other, "another program made it meanwhile, so nothing is written")),
        None => Ok(()),
    }
}

/// The paths of `count` files without a root, `STEM-00001-of-00003.EXTENSION` and so on. Such files cannot
/// replace others all at once, so no file with such a name may exist.
pub fn without_root(output: &Path, extension: &str, count: usize) -> Outcome<Vec<PathBuf>> {
    check_text(output)?;
    let front = format!("{}-", stem(output, extension));
    let there = Some(output.to_owned()).filter(|path| path.symlink_metadata().is_ok());
    if let Some(there) = there.or_else(|| neighbours(output).find(|path| is_part(path, &front, extension))) {
        let why = "it exists, and several files cannot replace it at once; choose a new folder";
        return Err(Failure::at(&there, why));
    }
    let name = |number| format!("{front}{}.{extension}", member_name(1, number, count));
    Ok((1..=count).map(|number| output.with_file_name(name(number))).collect())
}
