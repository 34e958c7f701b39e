//! A file that ends in an unfinished append, cut back to its last good end.

use crate::error::{Error, Result};
use crate::io::file::FileSource;
use crate::reader::{is_about_the_tail, last_good_end, read_manifest};
use crate::wire::{frame, Limits};
use std::path::Path;

/// How to repair.
#[derive(Clone, Copy, Debug)]
pub struct RepairOptions {
    /// Only tell what would be done.
    pub dry_run: bool,
    /// Largest manifest, in bytes.
    pub max_manifest_size: u64,
}

impl Default for RepairOptions {
    fn default() -> Self {
        RepairOptions { dry_run: false, max_manifest_size: frame::MANIFEST_LIMIT }
    }
}

/// What a repair did, or would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepairReport {
    /// Bytes of the file before.
    pub old_size: u64,
    /// Bytes of the file after.
    pub new_size: u64,
    /// Objects that it then has.
    pub objects: u64,
}

/// Repairs the file at `path`; one that opens is left as it is.
pub fn repair(path: impl AsRef<Path>, options: &RepairOptions) -> Result<RepairReport> {
    let path = path.as_ref();
    repair_file(path, options).map_err(|e| e.within(format_args!("{}", path.display())))
}

fn repair_file(path: &Path, options: &RepairOptions) -> Result<RepairReport> {
    let limits = Limits {
        manifest_size: options.max_manifest_size,
        objects: u64::from(u32::MAX),
        ..Limits::default()
    };
    let source = FileSource::open(path)?;
    let old_size = crate::io::ByteSource::size(&source);
    let error = match read_manifest(&source, &limits) {
        Ok((_, manifest)) => {
            let objects = manifest.objects.len() as u64;
            return Ok(RepairReport { old_size, new_size: old_size, objects });
        }
        Err(error) => error,
    };
    if !is_about_the_tail(&error) {
        return Err(error);
    }
    let Some((new_size, objects)) = last_good_end(&source, &limits, u64::MAX)? else {
        return Err(error.within(format_args!("no whole file ends within it, so nothing can be cut back")));
    };
    if !options.dry_run {
        let file = std::fs::OpenOptions::new().write(true).open(path);
        let file = file.map_err(|e| Error::io("could not open it for writing", &e))?;
        file.set_len(new_size).map_err(|e| Error::io("could not cut it back", &e))?;
        file.sync_all().map_err(|e| Error::io("it is cut back, but could not be synced", &e))?;
    }
    Ok(RepairReport { old_size, new_size, objects })
}
