//! Chooses the model in a folder. If the folder has several forms of one model, chooses the preferred form.
//!
//! Models are preferred to states of a training. Among the forms of one model, safetensors is preferred to
//! PyTorch's format, a plain model to a variant (`model` to `model.fp16`), and an index to files that it does
//! not name. Everything else is counted as passed over. If several models remain, the caller has to name one.

use super::finder::{self, extras, Found, ModelFiles};
use super::indexes::{Finder, FoundIndex};
use super::listing::{add_name, family, is_index_name, is_state, stem, Listed, Listing, MAX_LISTED};
use super::numbered::{Family, NumberedName, EXTENSIONS};
use crate::container::ShardIndex;
use crate::error::{fail, try_format, Error, Result};
use crate::io::path;
use crate::memory::{collected, filled, push, with_capacity};
use crate::model::sort::{sort, sort_by};
use crate::reader::store::if_readable;
use crate::source::with_range;
use std::path::Path;

/// The most files that are opened to find out which are shards.
const MAX_OPENED: usize = 64;

pub fn choose(finder: &Finder<'_>, folder: &Path, listing: &Listing) -> Result<ModelFiles> {
    let indexes = finder.all_indexes(folder, listing, &|_, _| true)?;
    let mut taken = filled(false, listing.names.len())?;
    let mut all = Vec::new();
    let (mut known, mut states) = (Vec::new(), Vec::new());
    for FoundIndex { name, index } in indexes {
        if let Ok(index) = &index {
            claim(listing, &mut taken, (0..index.file_count()).map(|at| index.file(at)));
            claim(listing, &mut taken, extras(index, Some(listing), finder.budget)?.into_iter());
        }
        push(&mut known, name)?;
        push(&mut all, Candidate::new(name, CandidateKind::Index(index))?)?;
    }
    let mut roots = take_shards(finder, folder, listing, &mut taken)?;
    let is_model = |name: &&String| family(name).is_some() && !name.starts_with('.');
    let mut sets = Vec::new();
    for (name, taken) in listing.names.iter().zip(&taken).filter(|(name, _)| is_model(name)) {
        push(&mut known, name.as_str())?;
        match NumberedName::parse(name) {
            _ if *taken => {}
            _ if is_state(name) => push(&mut states, name.as_str())?,
            Some(numbered) => push(&mut sets, (numbered, name.as_str()))?,
            None => {
                let root = roots.iter_mut().find(|(root, _)| *root == name.as_str());
                let shards = root.map(|(_, shards)| std::mem::take(shards)).unwrap_or_default();
                push(&mut all, Candidate::new(name, CandidateKind::File(shards))?)?;
            }
        }
    }
    sort(&mut sets);
    for set in sets.chunk_by(|(one, _), (other, _)| one.is_of_set(other)) {
        if let Some((numbered, name)) = set.first() {
            push(&mut all, Candidate::new(name, CandidateKind::Set(*numbered))?)?;
        }
    }
    reduce(&mut all)?;
    if all.len() > 1 && all.iter().any(Candidate::is_index) {
        all.retain(Candidate::is_index);
        reduce(&mut all)?;
    }
    if all.is_empty() {
        for name in &states {
            push(&mut all, Candidate::new(name, CandidateKind::File(Vec::new()))?)?;
        }
    }
    let chosen = match (all.pop(), all.len()) {
        (None, _) => return Err(no_model(finder, folder, listing)?),
        (Some(chosen), 0) => chosen,
        (Some(last), _) => {
            all.push(last); // put it back in its place
            return Err(ambiguous(&mut all));
        }
    };
    let (mut names, mut files) = open_as(finder, folder, listing, chosen)?;
    sort(&mut names);
    sort(&mut known);
    for name in known.iter().filter(|name| names.binary_search_by(|own| own.as_str().cmp(name)).is_err()) {
        add_name(&mut files.passed_over, name, finder.budget)?;
    }
    Ok(files)
}

#[cold]
fn ambiguous(all: &mut [Candidate<'_>]) -> Error {
    sort_by(all, |one, other| one.name.cmp(other.name));
    let names = Listed(all.iter().map(|candidate| candidate.name));
    fail!(InvalidArgument, "the folder holds several models, so name one of them: {names}")
}

/// The names of all files that belong to the chosen model, and the files to open.
#[inline(never)] // its stack frame is gone before the next step
fn open_as(
    finder: &Finder<'_>,
    folder: &Path,
    listing: &Listing,
    chosen: Candidate<'_>,
) -> Result<(Vec<String>, ModelFiles)> {
    let path = path::join(folder, Path::new(chosen.name))?;
    let mut names = Vec::new();
    let found = match chosen.kind {
        CandidateKind::Index(index) => finder.of_index(folder, &path, index?, Some(listing))?,
        CandidateKind::Set(numbered) => finder.of_set(folder, &numbered, Some(listing))?,
        CandidateKind::File(shards) => {
            names = shards;
            Found::Model(finder.alone(&path)?)
        }
    };
    let files = match found {
        Found::Model(files) => files,
        Found::Incomplete(why) => return Err(why),
        Found::Alone => finder.alone(&path)?,
    };
    names.try_reserve(files.paths.len().saturating_add(1))?;
    names.push(try_format(format_args!("{}", chosen.name))?);
    for path in &files.paths {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        names.push(try_format(format_args!("{name}"))?);
    }
    Ok((names, files))
}

/// A file, and the names of its shards.
type Root<'l> = (&'l str, Vec<String>);

/// Marks shards in the folder as taken: those that a file lists, and those that no file lists any more.
#[inline(never)] // its stack frame is gone before the next step
fn take_shards<'l>(
    finder: &Finder<'_>,
    folder: &Path,
    listing: &'l Listing,
    taken: &mut [bool],
) -> Result<Vec<Root<'l>>> {
    let mut opened = 0usize;
    let mut roots = Vec::new();
    for name in &listing.names {
        let Some(stem) = name.strip_suffix(".zt").filter(|_| !name.starts_with('.')) else { continue };
        let may_be = |other: &String| {
            let rest = other.strip_prefix(stem).and_then(|rest| rest.strip_suffix(".zt"));
            rest.is_some_and(|rest| rest.starts_with('-'))
        };
        let (others, starts) = (behind(listing, stem), |other: &&String| other.starts_with(stem));
        if opened >= MAX_OPENED || !others.iter().take_while(starts).any(may_be) {
            continue;
        }
        opened = opened.saturating_add(1);
        let root = path::join(folder, Path::new(name))?;
        let mut files = Vec::new();
        match if_readable(finder::shards_of(finder, &root))? {
            Some(shards) if shards.is_empty() => continue,
            Some(shards) => {
                for shard in &shards {
                    push(&mut files, try_format(format_args!("{stem}-{shard}.zt"))?)?;
                }
                claim(listing, taken, files.iter().map(String::as_str));
                for (other, taken) in listing.names.iter().zip(&mut *taken).filter(|(other, _)| may_be(other))
                {
                    if *taken || opened >= MAX_OPENED {
                        continue;
                    }
                    opened = opened.saturating_add(1);
                    let is_shard = finder::is_shard(finder, &path::join(folder, Path::new(other))?);
                    *taken = if_readable(is_shard)?.unwrap_or(false);
                }
            }
            // Opening the file reports the error.
            None => {
                for (other, taken) in listing.names.iter().zip(&mut *taken).filter(|(other, _)| may_be(other))
                {
                    *taken = true;
                    push(&mut files, try_format(format_args!("{other}"))?)?;
                }
            }
        }
        push(&mut roots, (name.as_str(), files))?;
    }
    Ok(roots)
}

/// The names of a listing that begin with `STEM-`, and all names after them.
fn behind<'l>(listing: &'l Listing, stem: &str) -> &'l [String] {
    let first = listing.names.partition_point(|name| name.bytes().lt(stem.bytes().chain(*b"-")));
    listing.names.get(first..).unwrap_or_default()
}

fn claim<'n>(listing: &Listing, taken: &mut [bool], names: impl Iterator<Item = &'n str>) {
    for name in names {
        let name = name.trim_start_matches("./");
        let found = listing.names.binary_search_by(|other| other.as_str().cmp(name));
        if let Some(taken) = found.ok().and_then(|at| taken.get_mut(at)) {
            *taken = true;
        }
    }
}

/// The most levels below a folder in which models are searched. A cache of downloads has
/// `models--ORG--NAME/snapshots/REVISION`.
const MAX_DEPTH: usize = 3;
/// The most names that are examined.
const MAX_LOOKED_AT: usize = 4096;
/// The file in a cache of downloads that gives the newest snapshot.
const NEWEST: &str = "refs/main";
const MAX_REVISION_SIZE: u64 = 256;

#[cold]
pub fn no_model(finder: &Finder<'_>, folder: &Path, listing: &Listing) -> Result<Error> {
    let found = match finder.store.is_near() {
        true => models_below(finder, folder)?,
        false => Vec::new(),
    };
    if !found.is_empty() {
        let names = Listed(found.iter().map(String::as_str));
        return Ok(fail!(
            NoFile,
            "the folder holds no model, but these folders below it do, so name one of them: {names}"
        ));
    }
    if !listing.unfinished.is_empty() {
        let names = Listed(listing.unfinished.iter().map(String::as_str));
        return Ok(fail!(
            NoFile,
            "the folder holds no model; these downloads in it are not complete: {names}"
        ));
    }
    let known = Listed(EXTENSIONS.iter().map(|(extension, _)| *extension));
    Ok(fail!(
        NoFile,
        "the folder holds no model: no index (*.index.json), and no file with one of the extensions {known}"
    ))
}

/// The folders below `folder` that have a model, as relative paths.
fn models_below(finder: &Finder<'_>, folder: &Path) -> Result<Vec<String>> {
    let (mut found, mut level, mut looked_at) = (Vec::new(), Vec::new(), 0usize);
    push(&mut level, String::new())?;
    for _ in 0..MAX_DEPTH {
        let mut next = Vec::new();
        for parent in &level {
            for name in names_in(finder, &path::join(folder, Path::new(parent))?, &mut looked_at)? {
                let below = match parent.as_str() {
                    "" => name,
                    parent => try_format(format_args!("{parent}/{name}"))?,
                };
                match holds_model(finder, &path::join(folder, Path::new(&below))?)? {
                    None => continue,
                    Some(true) if found.len() <= MAX_LISTED => push(&mut found, below)?,
                    Some(true) => return Ok(found),
                    Some(false) => push(&mut next, below)?,
                }
            }
        }
        level = next;
    }
    sort(&mut found);
    if let Some(newest) = newest(finder, folder)? {
        let at = found.iter().position(|name| name.strip_prefix("snapshots/") == Some(newest.as_str()));
        found.get_mut(..=at.unwrap_or(0)).unwrap_or_default().rotate_right(1);
    }
    Ok(found)
}

/// The names in a folder, up to the limit for examined names.
fn names_in(finder: &Finder<'_>, folder: &Path, looked_at: &mut usize) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let listed = finder.store.for_each_name(folder, &mut |name| {
        let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { return Ok(()) };
        *looked_at = looked_at.saturating_add(1);
        match *looked_at <= MAX_LOOKED_AT {
            true => push(&mut names, try_format(format_args!("{name}"))?),
            false => Ok(()),
        }
    });
    if_readable(listed)?;
    Ok(names)
}

/// Whether a folder has a model; `None` if the path is not a folder.
fn holds_model(finder: &Finder<'_>, path: &Path) -> Result<Option<bool>> {
    let mut found = false;
    let listed = finder.store.for_each_name(path, &mut |name| {
        let name = name.to_str().unwrap_or_default();
        found |= !name.starts_with('.') && (is_index_name(name) || family(name).is_some() && !is_state(name));
        Ok(())
    });
    Ok(if_readable(listed)?.and_then(|is_folder| is_folder.then_some(found)))
}

/// The newest revision in a cache of downloads.
fn newest(finder: &Finder<'_>, folder: &Path) -> Result<Option<String>> {
    let path = path::join(folder, Path::new(NEWEST))?;
    let Some(opened) = if_readable(finder.store.open(&path))? else { return Ok(None) };
    let size = opened.source.size();
    if size > MAX_REVISION_SIZE {
        return Ok(None);
    }
    with_range(opened.source.as_ref(), 0..size, |bytes| {
        let text = std::str::from_utf8(bytes).unwrap_or_default().trim();
        Ok(Some(try_format(format_args!("{text}"))?))
    })
}

/// The most models that are compared by their form.
const MAX_COMPARED: usize = 256;

/// Something that the folder may be opened as.
pub struct Candidate<'l> {
    pub name: &'l str,
    stem: String,
    family: Option<Family>,
    pub kind: CandidateKind<'l>,
}

pub enum CandidateKind<'l> {
    /// An index, or the error of reading it.
    Index(Result<ShardIndex>),
    Set(NumberedName<'l>),
    /// A file with its shards, if it is known to have some.
    File(Vec<String>),
}

impl<'l> Candidate<'l> {
    pub fn new(name: &'l str, kind: CandidateKind<'l>) -> Result<Candidate<'l>> {
        let (stem, found) = stem(name)?;
        let of_index = match &kind {
            CandidateKind::Index(Ok(index)) => family(index.file(0)),
            _ => None,
        };
        Ok(Candidate { name, stem, family: found.or(of_index), kind })
    }

    pub fn is_index(&self) -> bool {
        matches!(self.kind, CandidateKind::Index(_))
    }

    /// Whether the other candidate may be shards of an earlier or later state of this file. A replacement
    /// that was interrupted leaves `STEM-00001-of-00002.zt` or `STEM-r2-00001-of-00002.zt` beside `STEM.zt`.
    fn may_have_left(&self, other: &Candidate<'_>, behind_stem: &str) -> bool {
        let is_generation = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        let is_own = behind_stem.is_empty() || behind_stem.strip_prefix("-r").is_some_and(is_generation);
        let is_zt = self.name.ends_with(".zt") && other.name.ends_with(".zt");
        is_own
            && is_zt
            && matches!((&self.kind, &other.kind), (CandidateKind::File(_), CandidateKind::Set(_)))
    }

    /// Whether both are forms of one model, and this one is preferred.
    fn is_preferred_to(&self, other: &Candidate<'_>) -> bool {
        let (Some(one), Some(two)) = (self.family, other.family) else { return false };
        if !one.is_same(two) {
            return false;
        }
        match other.stem.strip_prefix(self.stem.as_str()) {
            Some("") => match (&self.kind, &other.kind) {
                _ if one != two => one.is_preferred_to(two),
                (CandidateKind::Index(Ok(index)), CandidateKind::Index(Ok(others))) => {
                    index.is_same(others) && self.name < other.name
                }
                (CandidateKind::Index(_), CandidateKind::Index(_)) => false,
                (CandidateKind::Index(_), _) => true,
                _ => self.may_have_left(other, ""),
            },
            Some(variant) if variant.starts_with('.') => !self.stem.is_empty(),
            Some(behind) => self.may_have_left(other, behind),
            None => false,
        }
    }
}

/// Whether two names belong to forms of one model.
pub fn is_one_model(one: &str, other: &str) -> Result<bool> {
    let ((one, _), (other, _)) = (stem(one)?, stem(other)?);
    let is_variant =
        |one: &str, other: &str| one.strip_prefix(other).is_some_and(|rest| rest.starts_with('.'));
    Ok(one == other || is_variant(&one, &other) || is_variant(&other, &one))
}

/// The preferred one of several indexes that name a file.
pub fn preferred_index(found: Vec<(&str, ShardIndex)>) -> Result<Option<(&str, ShardIndex)>> {
    let mut all = with_capacity(found.len())?;
    for (name, index) in found {
        all.push(Candidate::new(name, CandidateKind::Index(Ok(index)))?);
    }
    reduce(&mut all)?;
    if all.len() > 1 {
        let names = Listed(all.iter().map(|candidate| candidate.name));
        return Err(fail!(InvalidArgument, "several indexes name it, so name one of them: {names}"));
    }
    Ok(all.pop().and_then(|candidate| match candidate.kind {
        CandidateKind::Index(Ok(index)) => Some((candidate.name, index)),
        _ => None,
    }))
}

/// Removes the candidates to which another one is preferred.
pub fn reduce(all: &mut Vec<Candidate<'_>>) -> Result<()> {
    if all.len() > MAX_COMPARED {
        return Ok(());
    }
    let stays = collected(
        all.len(),
        all.iter().map(|candidate| !all.iter().any(|other| other.is_preferred_to(candidate))),
    )?;
    let mut stays = stays.into_iter();
    all.retain(|_| stays.next() == Some(true));
    Ok(())
}
