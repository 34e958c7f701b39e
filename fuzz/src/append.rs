//! Appends to existing files, and files with a truncated append.

use crate::read::{self, check_error};
use crate::write;
use arbitrary::{Result, Unstructured};
use std::path::{Path, PathBuf};
use ztensor::container::AppendRecord;
use ztensor::error::{Cause, Rule};
use ztensor::reader::{File, Mode, OpenOptions};
use ztensor::writer::{repair, RepairOptions, Writer};

/// A file of this process, in the folder for temporary files (set TMPDIR to memory).
pub struct TemporaryFile(PathBuf);

impl TemporaryFile {
    #[allow(clippy::new_without_default)]
    pub fn new() -> TemporaryFile {
        TemporaryFile(std::env::temp_dir().join(format!("ztensor-fuzz-{}.zt", std::process::id())))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn put(&self, bytes: &[u8]) {
        std::fs::write(&self.0, bytes).unwrap();
    }

    pub fn get(&self) -> Vec<u8> {
        std::fs::read(&self.0).unwrap()
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Appends to `old`. Either the append is rejected and the file does not change, or the file opens with the
/// old and new objects.
pub fn to(old: &[u8], u: &mut Unstructured<'_>) -> Result<()> {
    let place = TemporaryFile::new();
    place.put(old);
    let before = read::open(old, false);
    let by_path = File::open(place.path(), &OpenOptions { mode: Mode::Read, ..read::options(false) });
    assert_eq!(before.is_ok(), by_path.is_ok(), "{before:?} {by_path:?}");
    let mut writer = match Writer::append(place.path(), &write::options(u)?) {
        Ok(writer) => writer,
        Err(e) => {
            let (cause, _) = check_error(&e);
            assert!(before.is_err() || cause == Cause::Unsupported, "it opens, but: {e}");
            assert_eq!(place.get(), old, "rejected, but the file changed");
            return Ok(());
        }
    };
    let before = before.expect("the file accepts an append, but cannot be opened");
    let mut model = write::Model::default();
    let written = write::script(u, &mut writer, &mut model);
    if written.is_err() || u.ratio(1, 8)? {
        drop(writer);
        assert_eq!(place.get(), old, "aborted, but the file changed");
        return written;
    }
    if !write::finish(&mut writer, &mut model) {
        drop(writer);
        assert_eq!(place.get(), old, "finish failed, but the file changed");
        return Ok(());
    }
    let new = place.get();
    let after = read::open(&new, false).unwrap_or_else(|e| panic!("the file after the append: {e}"));
    holds_both(&before, &after, &mut model);
    cut(old, &new, &place, u)
}

fn holds_both(before: &File, after: &File, model: &mut write::Model) {
    assert_eq!(after.object_count(), before.object_count() + model.objects.len());
    for (a, b) in before.objects().zip(after.objects()).take(32) {
        assert_eq!((a.name(), a.shape(), a.format_name()), (b.name(), b.shape(), b.format_name()));
        for (x, y) in a.components().zip(b.components()) {
            assert_eq!((x.role(), x.dtype_name(), x.offset()), (y.role(), y.dtype_name(), y.offset()));
            let loads = (x.load(), y.load());
            assert_eq!(
                loads.0.as_ref().ok().map(|l| l.as_slice()),
                loads.1.as_ref().ok().map(|l| l.as_slice())
            );
        }
    }
    write::holds(after, model, before.attributes());
}

/// The process ends after it wrote some bytes after the old end: the old manifest is still there.
fn cut(old: &[u8], new: &[u8], place: &TemporaryFile, u: &mut Unstructured<'_>) -> Result<()> {
    let at = u.int_in_range(old.len()..=new.len())?;
    let torn = [old, &new[old.len()..at]].concat();
    place.put(&torn);
    let opened = File::open(place.path(), &OpenOptions { mode: Mode::Read, ..read::options(false) });
    let whole = at == old.len() || at == new.len();
    match &opened {
        Ok(_) => assert!(whole, "{at} of {} to {} bytes open", old.len(), new.len()),
        Err(e) => {
            assert!(!whole, "the append is complete, but: {e}");
            assert_eq!(check_error(e).1, Some(Rule::UnfinishedAppend), "{e}");
        }
    }
    let dry = repair(place.path(), &RepairOptions { dry_run: true, ..RepairOptions::default() });
    assert_eq!(place.get(), torn, "a dry run changed the file");
    let repaired = repair(place.path(), &RepairOptions::default());
    assert_eq!(dry.as_ref().map_err(|e| e.message()), repaired.as_ref().map_err(|e| e.message()));
    match repaired {
        Ok(report) => assert_eq!(place.get(), if whole { &torn } else { old }, "{report:?}"),
        Err(e) => {
            // Without the record, other candidates or padding that is not zero make the end ambiguous.
            assert_eq!(check_error(&e).1, Some(Rule::UnfinishedAppend), "{e}");
            assert_eq!(place.get(), torn, "ambiguous, but the file changed");
            let chosen = RepairOptions { cut_at: old.len() as u64, ..RepairOptions::default() };
            repair(place.path(), &chosen).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(place.get(), old);
        }
    }
    if whole || old.len() < 64 {
        return Ok(());
    }
    // The state after a killed append, with its record: never ambiguous.
    let start = old.len() - 16 - u64::from_le_bytes(old[old.len() - 16..][..8].try_into().unwrap()) as usize;
    if start >= 64 {
        let record =
            AppendRecord { tail: start as u64..old.len() as u64, tail_crc: crc32c::crc32c(&old[start..]) };
        let mut torn = torn;
        torn[8..40].copy_from_slice(&record.to_bytes());
        place.put(&torn);
        repair(place.path(), &RepairOptions::default()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(place.get()[40..], old[40..]);
        assert_eq!(place.get()[8..40], [0; 32]);
    }
    Ok(())
}
