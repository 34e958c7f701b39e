//! Where a written file goes. A new file grows under another name beside its destination and takes
//! the destination's name only when it is whole; a sink that is dropped before leaves nothing.

use super::ByteSink;
use crate::error::{fail, Error, Result};
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Small writes are gathered up to this many bytes; larger ones go straight through.
const GATHER: usize = 1 << 20;

/// A new file, published at [`ByteSink::publish`].
pub struct FileSink {
    writer: Option<BufWriter<File>>,
    temporary: PathBuf,
    destination: PathBuf,
    durable: bool,
}

static NEXT: AtomicU64 = AtomicU64::new(0);

impl FileSink {
    /// A file that will be at `path`. What is there stays until then.
    pub fn create(path: &Path, durable: bool) -> Result<Self> {
        let destination = resolve(path)?;
        let folder = folder_of(&destination);
        let name = destination.file_name().ok_or_else(|| fail!(InvalidArgument, "the path names no file"))?;
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let mut hidden = std::ffi::OsString::from(".");
            hidden.push(name);
            hidden.push(format!(".{}-{number}.tmp", std::process::id()));
            let temporary = folder.join(shortened(hidden, number));
            match OpenOptions::new().write(true).create_new(true).open(&temporary) {
                Ok(file) => {
                    let writer = Some(BufWriter::with_capacity(GATHER, file));
                    let sink = FileSink { writer, temporary, destination, durable };
                    sink.keep_permissions()?;
                    return Ok(sink);
                }
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {} // left by a process of our number
                Err(e) => return Err(Error::io("could not create a file beside it", &e)),
            }
        }
    }

    /// A file that replaces another keeps its permissions.
    fn keep_permissions(&self) -> Result<()> {
        let Ok(meta) = self.destination.metadata() else { return Ok(()) };
        std::fs::set_permissions(&self.temporary, meta.permissions())
            .map_err(|e| Error::io("could not take over the permissions of the file that it replaces", &e))
    }
}

/// What will be replaced: behind a symbolic link its target, so that the link stays one.
fn resolve(path: &Path) -> Result<PathBuf> {
    match path.metadata() {
        Ok(meta) if meta.is_dir() => Err(fail!(Io, "it is a folder")),
        Ok(meta) if !meta.is_file() => Err(fail!(Io, "it is there already and is no regular file")),
        Ok(meta) if meta.permissions().readonly() => Err(fail!(Io, "it is there already and is read-only")),
        Ok(_) => path.canonicalize().map_err(|e| Error::io("could not resolve the path", &e)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(path.to_path_buf()),
        Err(e) => Err(Error::io("could not look at the path", &e)),
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// File systems allow 255 bytes; a destination near that leaves no room for our affixes.
fn shortened(name: std::ffi::OsString, number: u64) -> std::ffi::OsString {
    if name.len() <= 250 {
        return name;
    }
    format!(".zt-{}-{number}.tmp", std::process::id()).into()
}

/// Writes all of it; an interruption is taken up again by `write_all`.
fn write_all(writer: &mut BufWriter<File>, bytes: &[u8]) -> Result<()> {
    writer
        .write_all(bytes)
        .map_err(|e| Error::io("", &e).within(format_args!("could not write {} bytes", bytes.len())))
}

impl ByteSink for FileSink {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let writer = self.writer.as_mut().ok_or_else(|| fail!(State, "the file is closed"))?;
        write_all(writer, bytes)
    }

    fn publish(&mut self) -> Result<()> {
        let mut writer = self.writer.take().ok_or_else(|| fail!(State, "the file is closed"))?;
        let done = publish(&mut writer, &self.temporary, &self.destination, self.durable);
        // Whatever happens, the gathered bytes must not be written once more on drop.
        let (_file, _rest) = writer.into_parts();
        if done.is_err() {
            let _ = std::fs::remove_file(&self.temporary);
        }
        done
    }
}

fn publish(writer: &mut BufWriter<File>, temporary: &Path, destination: &Path, durable: bool) -> Result<()> {
    writer.flush().map_err(|e| Error::io("could not write the last bytes", &e))?;
    if durable {
        writer.get_ref().sync_all().map_err(|e| Error::io("could not sync the file", &e))?;
    }
    std::fs::rename(temporary, destination)
        .map_err(|e| Error::io("could not give the finished file its name", &e))?;
    if durable {
        sync_folder(folder_of(destination))?;
    }
    Ok(())
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> Result<()> {
    let synced = File::open(folder).and_then(|f| f.sync_all());
    synced.map_err(|e| Error::io("the file is in place, but its folder could not be synced", &e))
}

#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> Result<()> {
    Ok(())
}

impl Drop for FileSink {
    fn drop(&mut self) {
        if let Some(writer) = self.writer.take() {
            let (_file, _unwritten) = writer.into_parts();
            let _ = std::fs::remove_file(&self.temporary);
        }
    }
}

/// An existing file that grows behind its end. Until it is published, what was there is whole:
/// dropping the sink cuts the file back to it.
pub struct AppendSink {
    writer: Option<BufWriter<File>>,
    old_manifest: u64,
    old_end: u64,
    durable: bool,
}

impl AppendSink {
    /// Appends to the file at `path`, whose manifest and footer are the bytes `old`.
    pub fn open(path: &Path, old: std::ops::Range<u64>, durable: bool) -> Result<Self> {
        let old_end = old.end;
        use std::io::Seek;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .map_err(|e| Error::io("could not open it for writing", &e))?;
        let end =
            file.seek(std::io::SeekFrom::End(0)).map_err(|e| Error::io("could not find its end", &e))?;
        if end != old_end {
            return Err(fail!(Io, "it changed from {old_end} to {end} bytes while it was being opened"));
        }
        Ok(AppendSink {
            writer: Some(BufWriter::with_capacity(GATHER, file)),
            old_manifest: old.start,
            old_end,
            durable,
        })
    }
}

/// Overwrites a range with zero bytes.
fn zero(file: &File, range: std::ops::Range<u64>) -> Result<()> {
    use std::io::{Seek, SeekFrom};
    const ZEROS: [u8; 4096] = [0; 4096];
    let failed = |e: std::io::Error| {
        Error::io("the append is in place, but the old manifest could not be cleared", &e)
    };
    let mut writer: &File = file;
    writer.seek(SeekFrom::Start(range.start)).map_err(failed)?;
    let mut left = range.end.saturating_sub(range.start);
    while left > 0 {
        let now = usize::try_from(left).unwrap_or(usize::MAX).min(ZEROS.len());
        writer.write_all(ZEROS.get(..now).unwrap_or_default()).map_err(failed)?;
        left = left.saturating_sub(now as u64);
    }
    Ok(())
}

impl Drop for AppendSink {
    fn drop(&mut self) {
        if let Some(writer) = self.writer.take() {
            let (file, _unwritten) = writer.into_parts();
            let _ = file.set_len(self.old_end);
        }
    }
}

impl ByteSink for AppendSink {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let writer = self.writer.as_mut().ok_or_else(|| fail!(State, "the file is closed"))?;
        write_all(writer, bytes)
    }

    /// The new manifest and footer are written: syncs them, then turns those that they replace to
    /// zero padding.
    fn publish(&mut self) -> Result<()> {
        let mut writer = self.writer.take().ok_or_else(|| fail!(State, "the file is closed"))?;
        let flushed = writer.flush().map_err(|e| Error::io("could not write the last bytes", &e));
        // The order is the promise: new footer on disk first, old footer gone after, in any mode.
        let synced = flushed.and_then(|()| {
            writer.get_ref().sync_all().map_err(|e| Error::io("could not sync the new end", &e))
        });
        let (file, _rest) = writer.into_parts();
        if let Err(e) = synced {
            let _ = file.set_len(self.old_end);
            return Err(e);
        }
        // From here on the new state stands; failing to clear the old footer loses nothing.
        zero(&file, self.old_manifest..self.old_end)?;
        if self.durable {
            file.sync_all().map_err(|e| Error::io("the append is in place, but could not be synced", &e))?;
        }
        Ok(())
    }
}
