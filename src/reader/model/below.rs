//! What is said of a folder that holds no model: where there are models below it, and downloads that are not
//! complete.

use super::finder::Finder;
use super::listing::{family, is_index_name, is_state, listed, Listing, MAX_LISTED};
use crate::error::{fail, try_format, Cause, Error, Result};
use crate::io::path;
use crate::source::with_range;
use std::path::{Path, PathBuf};

/// How deep below a folder models are looked for: in a cache of downloads
/// `models--ORG--NAME/snapshots/REVISION`.
const MAX_DEPTH: usize = 3;
/// The most names that are looked at.
const MAX_LOOKED_AT: usize = 4096;
/// Where a cache of downloads says which snapshot is the newest.
const NEWEST: &str = "refs/main";
const MAX_REVISION_SIZE: u64 = 256;

/// The failure of a folder that holds no model.
#[cold]
pub fn no_model(finder: &Finder<'_>, folder: &Path, listing: &Listing) -> Result<Error> {
    let found = match finder.store.is_near() {
        true => models_below(finder, folder)?,
        false => Vec::new(),
    };
    if !found.is_empty() {
        let names = listed(found.iter().map(String::as_str));
        return Ok(fail!(
            NoFile,
            "the folder holds no model, but these folders below it do, so name one of them: {names}"
        ));
    }
    if !listing.unfinished.is_empty() {
        let names = listed(listing.unfinished.iter().map(String::as_str));
        return Ok(fail!(
            NoFile,
            "the folder holds no model; these downloads in it are not complete: {names}"
        ));
    }
    Ok(fail!(
        NoFile,
        "the folder holds no model: no index (*.index.json), and no file that ends in .zt, .safetensors, .gguf, .npz, .bin, \
         .pt, .pth or .ckpt"
    ))
}

/// The folders below `folder` that hold a model, by their paths from there.
fn models_below(finder: &Finder<'_>, folder: &Path) -> Result<Vec<String>> {
    let (mut found, mut level, mut looked_at) = (Vec::new(), Vec::new(), 0usize);
    level.try_reserve(1)?;
    level.push(String::new());
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
    crate::model::sort::sort(&mut found);
    if let Some(newest) = newest(finder, folder)? {
        let at = found.iter().position(|name| name.strip_prefix("snapshots/") == Some(newest.as_str()));
        found.get_mut(..=at.unwrap_or(0)).unwrap_or_default().rotate_right(1);
    }
    Ok(found)
}

fn push(names: &mut Vec<String>, name: String) -> Result<()> {
    names.try_reserve(1)?;
    names.push(name);
    Ok(())
}

/// The names in a folder, as far as they may still be looked at.
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
    match listed {
        Err(e) if e.cause() == Cause::OutOfMemory => Err(e),
        _ => Ok(names),
    }
}

/// Whether a folder holds a model; none if the path is no folder.
fn holds_model(finder: &Finder<'_>, path: &Path) -> Result<Option<bool>> {
    let mut found = false;
    let listed = finder.store.for_each_name(path, &mut |name| {
        let name = name.to_str().unwrap_or_default();
        found |= !name.starts_with('.') && (is_index_name(name) || family(name).is_some() && !is_state(name));
        Ok(())
    });
    match listed {
        Ok(is_folder) => Ok(is_folder.then_some(found)),
        Err(e) if e.cause() == Cause::OutOfMemory => Err(e),
        Err(_) => Ok(None),
    }
}

/// The revision that a cache of downloads calls the newest.
fn newest(finder: &Finder<'_>, folder: &Path) -> Result<Option<String>> {
    let path: PathBuf = path::join(folder, Path::new(NEWEST))?;
    let opened = match finder.store.open(&path) {
        Ok(opened) if opened.source.size() <= MAX_REVISION_SIZE => opened,
        Err(e) if e.cause() == Cause::OutOfMemory => return Err(e),
        _ => return Ok(None),
    };
    let size = opened.source.size();
    with_range(opened.source.as_ref(), 0..size, |bytes| {
        let text = std::str::from_utf8(bytes).unwrap_or_default().trim();
        Ok(Some(try_format(format_args!("{text}"))?))
    })
}
