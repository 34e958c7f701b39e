//! Files of zTensor 2 and their shards: `STEM.zt` names its shards `STEM-NAME.zt`.

use super::finder::Finder;
use super::listing::Listing;
use super::numbered::NumberedName;
use crate::container::capabilities;
use crate::error::{try_format, Cause, Result};
use crate::io::path;
use crate::memory::Budget;
use crate::model::manifest::{Container, Manifest};
use crate::reader::open::open_part;
use std::path::{Path, PathBuf};

/// The file beside a shard that names it; none if there is no such file.
pub fn root_of(
    finder: &Finder<'_>,
    folder: &Path,
    name: &str,
    listing: Option<&Listing>,
) -> Result<Option<PathBuf>> {
    let Some(stem) = name.strip_suffix(".zt") else { return Ok(None) };
    // Of a numbered shard, the place in front of its number.
    let numbered = NumberedName::parse(name).and_then(|numbered| numbered.prefix.len().checked_sub(1));
    for (at, _) in stem.match_indices('-').filter(|(at, _)| *at > 0) {
        let (root, shard) =
            (stem.get(..at).unwrap_or_default(), stem.get(at.saturating_add(1)..).unwrap_or_default());
        let root = try_format(format_args!("{root}.zt"))?;
        let path = path::join(folder, Path::new(&root))?;
        let is_there = match listing {
            Some(listing) => listing.has(&root),
            None => numbered == Some(at) && finder.store.has(&path)?,
        };
        if !is_there {
            continue;
        }
        match shards_of(finder, &path) {
            Ok(shards) if shards.iter().any(|name| name == shard) => return Ok(Some(path)),
            Err(e) if numbered == Some(at) || e.cause() == Cause::OutOfMemory => return Err(e),
            _ => {}
        }
    }
    Ok(None)
}

/// The names of the shards of a file.
pub fn shards_of(finder: &Finder<'_>, path: &Path) -> Result<Vec<String>> {
    with_manifest(finder, path, |_, manifest| {
        let mut names = Vec::new();
        names.try_reserve_exact(manifest.shards.len())?;
        for shard in &manifest.shards {
            names.push(try_format(format_args!("{}", manifest.texts.get(shard.name)))?);
        }
        Ok(names)
    })
}

/// Whether a file may be a shard: its container has shards, and it has no objects and no shards itself.
pub fn is_shard(finder: &Finder<'_>, path: &Path) -> Result<bool> {
    with_manifest(finder, path, |container, manifest| {
        Ok(capabilities(container).has_shards && manifest.objects.is_empty() && manifest.shards.is_empty())
    })
}

fn with_manifest<T>(
    finder: &Finder<'_>,
    path: &Path,
    body: impl FnOnce(Container, &Manifest) -> Result<T>,
) -> Result<T> {
    let label = try_format(format_args!("{}", path.display()))?;
    // What it takes is freed before the model is opened.
    let budget = Budget::new(finder.limits.memory_for(0));
    let (part, manifest) = open_part(finder.store, path, label, finder.limits, &budget, false)?;
    body(part.container(), &manifest)
}
