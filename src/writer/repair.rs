//! Repairs a file that ends in an unfinished append: cuts it back to its last valid end.

use crate::container::{AppendRecord, Limits};
use crate::error::{fail, Cause, Error, Result};
use crate::io::path::{Access, SystemPath};
use crate::memory::try_box;
use crate::reader::{check_cut, check_is_one_file, last_valid_end, record_of, File, OpenOptions};
use crate::sink::append_sink::cut_back;
use crate::sink::held_file::HeldFile;
use crate::source::file::FileSource;
use crate::source::{ByteSource, PageCache};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Options of a repair.
#[derive(Clone, Copy, Debug)]
pub struct RepairOptions {
    /// Only report what would be done.
    pub dry_run: bool,
    /// The largest manifest, in bytes.
    pub max_manifest_size: u64,
    /// The size to cut the file to; 0 lets the repair find it.
    pub cut_at: u64,
}

impl Default for RepairOptions {
    fn default() -> Self {
        RepairOptions { dry_run: false, max_manifest_size: Limits::default().manifest_size, cut_at: 0 }
    }
}

/// What a repair did, or would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepairReport {
    /// The size of the file before.
    pub old_size: u64,
    /// The size of the file after.
    pub new_size: u64,
    /// How many objects the file has after the repair.
    pub objects: u64,
}

/// Repairs the file at `path`. A file that opens keeps its bytes. Only the record of an append that wrote
/// nothing is cleared.
pub fn repair(path: impl AsRef<Path>, options: &RepairOptions) -> Result<RepairReport> {
    repair_with_progress(path, options, &|_, _| true)
}

/// Like [`repair`]. `progress` is called with the bytes examined and the size of the file. If it stops the
/// repair, the file stays unchanged.
pub fn repair_with_progress(
    path: impl AsRef<Path>,
    options: &RepairOptions,
    progress: &(dyn Fn(u64, u64) -> bool + Sync),
) -> Result<RepairReport> {
    let path = path.as_ref();
    repair_file(path, options, progress).map_err(|e| e.within(format_args!("{}", path.display())))
}

fn repair_file(
    path: &Path,
    options: &RepairOptions,
    progress: &(dyn Fn(u64, u64) -> bool + Sync),
) -> Result<RepairReport> {
    let limits = Limits {
        manifest_size: options.max_manifest_size,
        objects: u64::from(u32::MAX),
        ..Limits::default()
    };
    check_is_one_file(path)?;
    // Lock the file before checking it, so that no append starts or continues meanwhile. A file that needs no
    // repair may be read-only.
    let held = match HeldFile::open(path, Access::ReadWrite) {
        Err(e) if e.cause() != Cause::Busy => HeldFile::open(path, Access::Read),
        held => held,
    }?;
    let file = held.file.try_clone().map_err(|e| Error::io("could not open it once more", &e))?;
    let source = FileSource::from_file(file, 0, u64::MAX)?;
    let (_, _, old_size) = source.parts();
    let watched = Watched { source: &source, progress, done: AtomicU64::new(0) };
    let new_size = match options.cut_at {
        0 => match objects_of(part(&source, old_size)?, options) {
            Ok(_) => old_size,
            Err(e) => last_valid_end(&watched, &limits, e)?.end,
        },
        end => {
            check_cut(&watched, &limits, end)?;
            end
        }
    };
    let record = record_of(&source)?.map(|_| AppendRecord::OFFSET);
    // Check that the repaired file will open, by opening its content now.
    let left = part(&source, new_size)?;
    let objects = match record {
        Some(_) => objects_of(Cleared(left), options),
        None => objects_of(left, options),
    };
    let objects = objects.map_err(|e| e.within(format_args!("cut at byte {new_size} it would not open")))?;
    let end = (new_size != old_size).then_some(new_size);
    watched.report(old_size)?; // the last chance to stop: everything is checked, and nothing is changed
    if !options.dry_run && (end.is_some() || record.is_some()) {
        let file = SystemPath::new(path)?.open(Access::Write);
        let file = file.map_err(|e| Error::io("could not open it for writing", &e))?;
        // The check took time. Writers may have replaced the file by renaming, and some file systems have no
        // locks.
        if !source.is_still(&file)? {
            return Err(fail!(Io, "it was changed meanwhile, so it was not repaired"));
        }
        cut_back(&file, end, record)?;
    }
    drop(held);
    Ok(RepairReport { old_size, new_size, objects })
}

/// The first `end` bytes of the file.
fn part(source: &FileSource, end: u64) -> Result<FileSource> {
    let (file, _, _) = source.parts();
    let file = file.try_clone().map_err(|e| Error::io("could not open it once more", &e))?;
    FileSource::from_file(file, 0, end)
}

/// The number of objects in a file, which is opened as a reader would.
fn objects_of(source: impl ByteSource + 'static, options: &RepairOptions) -> Result<u64> {
    let open = OpenOptions {
        max_manifest_size: options.max_manifest_size,
        max_objects: u64::MAX,
        ..OpenOptions::default()
    };
    File::from_whole(try_box(source)?, &open).map(|file| file.object_count() as u64)
}

/// A file that reports how much of it was read, and stops if the caller asks for it.
struct Watched<'a> {
    source: &'a FileSource,
    progress: &'a (dyn Fn(u64, u64) -> bool + Sync),
    /// How many bytes were read, counting repeated reads; [`STOPPED`] after the caller asked to stop.
    done: AtomicU64,
}

const STOPPED: u64 = u64::MAX;

impl Watched<'_> {
    fn report(&self, more: u64) -> Result<()> {
        let (size, before) = (self.source.size(), self.done.load(Ordering::Relaxed));
        let done = before.saturating_add(more).min(size);
        if before != STOPPED && (self.progress)(done, size) {
            self.done.store(done, Ordering::Relaxed);
            return Ok(());
        }
        self.done.store(STOPPED, Ordering::Relaxed);
        Err(fail!(Cancelled, "the caller stopped the repair at byte {done} of {size}"))
    }
}

impl ByteSource for Watched<'_> {
    fn size(&self) -> u64 {
        self.source.size()
    }

    fn read_at(&self, offset: u64, dst: &mut [u8]) -> Result<()> {
        self.source.read_at(offset, dst)?;
        self.report(dst.len() as u64)
    }
}

/// A file whose append record is read as zeros.
struct Cleared(FileSource);

impl ByteSource for Cleared {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn read_at(&self, offset: u64, dst: &mut [u8]) -> Result<()> {
        self.0.read_at(offset, dst)?;
        let record = AppendRecord::OFFSET..AppendRecord::OFFSET.saturating_add(AppendRecord::SIZE as u64);
        for (byte, at) in dst.iter_mut().zip(offset..).take_while(|(_, at)| *at < record.end) {
            *byte = if record.contains(&at) { 0 } else { *byte };
        }
        Ok(())
    }
}
