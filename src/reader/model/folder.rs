//! Which model a folder is: the one in it, or the one that is preferred where there are several forms of it.
//!
//! Models come before the states of a training. Of the forms of one model, safetensors come before what
//! PyTorch saves, a plain model before a variant (`model` before `model.fp16`), an index before files that it
//! does not name. What is then left beside the model is passed over, and counted. If several models are left,
//! the caller has to name one.

use super::below;
use super::finder::{extras, Finder, Found, ModelFiles};
use super::forms::{reduce, Candidate, Kind};
use super::indexes::FoundIndex;
use super::listing::{add_name, family, is_state, listed, Listing};
use super::numbered::NumberedName;
use super::roots;
use crate::error::{fail, try_format, Cause, Error, Result};
use crate::io::path;
use crate::model::sort::{sort, sort_by};
use std::path::Path;

/// The most files that are opened to see which of them are shards.
const MAX_OPENED: usize = 64;

/// The files of the model in a folder.
pub fn choose(finder: &Finder<'_>, folder: &Path, listing: &Listing) -> Result<ModelFiles> {
    let indexes = finder.indexes().all(folder, listing, &|_, _| true)?;
    let mut taken = Vec::new();
    taken.try_reserve_exact(listing.names.len())?;
    taken.resize(listing.names.len(), false);
    let mut all = Vec::new();
    let (mut known, mut states) = (Vec::new(), Vec::new());
    for FoundIndex { name, index } in indexes {
        if let Ok(index) = &index {
            claim(listing, &mut taken, (0..index.file_count()).map(|at| index.file(at)));
            claim(listing, &mut taken, extras(index, Some(listing), finder.budget)?.into_iter());
        }
        push(&mut known, name)?;
        push(&mut all, Candidate::new(name, Kind::Index(index))?)?;
    }
    let roots = take_shards(finder, folder, listing, &mut taken)?;
    let is_model = |name: &&String| family(name).is_some() && !name.starts_with('.');
    let mut sets = Vec::new();
    for (name, taken) in listing.names.iter().zip(&taken).filter(|(name, _)| is_model(name)) {
        push(&mut known, name.as_str())?;
        match NumberedName::parse(name) {
            _ if *taken => {}
            _ if is_state(name) => push(&mut states, name.as_str())?,
            Some(numbered) => push(&mut sets, (numbered, name.as_str()))?,
            None => {
                let shards = roots.iter().position(|(root, _)| *root == name.as_str());
                let shards = shards.and_then(|at| roots.get(at)).map(|(_, shards)| shards.as_slice());
                push(&mut all, Candidate::new(name, Kind::File(copies(shards.unwrap_or_default())?))?)?;
            }
        }
    }
    sort(&mut sets);
    for set in sets.chunk_by(|(one, _), (other, _)| one.is_of_set(other)) {
        if let Some((numbered, name)) = set.first() {
            push(&mut all, Candidate::new(name, Kind::Set(*numbered))?)?;
        }
    }
    reduce(&mut all)?;
    if all.len() > 1 && all.iter().any(Candidate::is_index) {
        all.retain(Candidate::is_index);
        reduce(&mut all)?;
    }
    if all.is_empty() {
        for name in &states {
            push(&mut all, Candidate::new(name, Kind::File(Vec::new()))?)?;
        }
    }
    let chosen = match (all.pop(), all.len()) {
        (None, _) => return Err(below::no_model(finder, folder, listing)?),
        (Some(chosen), 0) => chosen,
        (Some(last), _) => {
            all.push(last); // where it was
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
    let names = listed(all.iter().map(|candidate| candidate.name));
    fail!(InvalidArgument, "the folder holds several models, so name one of them: {names}")
}

/// The names of all files of what was chosen, and the files that are opened.
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
        Kind::Index(index) => finder.of_index(folder, &path, index?, Some(listing))?,
        Kind::Set(numbered) => finder.of_set(folder, &numbered, Some(listing))?,
        Kind::File(shards) => {
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

/// A file, and the names of the files of its shards.
type Root<'l> = (&'l str, Vec<String>);

/// Marks the shards of files in the folder as taken: those that a file names, and those that no file names
/// any more.
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
        match roots::shards_of(finder, &root) {
            Ok(shards) if shards.is_empty() => continue,
            Ok(shards) => {
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
                    match roots::is_shard(finder, &path::join(folder, Path::new(other))?) {
                        Ok(is_shard) => *taken = is_shard,
                        Err(e) if e.cause() == Cause::OutOfMemory => return Err(e),
                        Err(_) => {}
                    }
                }
            }
            Err(e) if e.cause() == Cause::OutOfMemory => return Err(e),
            // Whoever opens it says why it cannot be.
            Err(_) => {
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

/// The names of a listing from `STEM-` on.
fn behind<'l>(listing: &'l Listing, stem: &str) -> &'l [String] {
    let first = listing.names.partition_point(|name| name.bytes().lt(stem.bytes().chain(*b"-")));
    listing.names.get(first..).unwrap_or_default()
}

/// Marks names as taken.
fn claim<'n>(listing: &Listing, taken: &mut [bool], names: impl Iterator<Item = &'n str>) {
    for name in names {
        let name = name.trim_start_matches("./");
        let found = listing.names.binary_search_by(|other| other.as_str().cmp(name));
        if let Some(taken) = found.ok().and_then(|at| taken.get_mut(at)) {
            *taken = true;
        }
    }
}

fn push<T>(items: &mut Vec<T>, item: T) -> Result<()> {
    items.try_reserve(1)?;
    items.push(item);
    Ok(())
}

fn copies(names: &[String]) -> Result<Vec<String>> {
    let mut copies = Vec::new();
    copies.try_reserve_exact(names.len())?;
    for name in names {
        copies.push(try_format(format_args!("{name}"))?);
    }
    Ok(copies)
}
