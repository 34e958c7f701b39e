//! Appends to an existing file such that neither a kill nor a power cut loses the file.
//!
//! An append writes data at the file's end that an attacker may have chosen, so the last bytes are not
//! trusted. Instead a record in the file's head, where no component can be, says that an append is running
//! and where the file ended before. Each of these steps is on the disk before the next one begins:
//!
//! 1. Write the record, sync. After a kill or a power cut it is the old file: it ends where the record says.
//! 2. Append components, manifest and footer, sync. It is the old file, once a repair has cut off any part of
//!    the new data; after the sync, too.
//! 3. Clear the record, sync. It is the new file, from the moment that the record is gone.
//! 4. Overwrite the old manifest and footer with zeros. It is the new file, with any part of the old manifest
//!    as padding.
//!
//! If no existing byte may change, there is no record, and steps 1, 3 and 4 are left out. The new data is on
//! the disk before its footer is. Until then the file has no footer at its end, so a repair cuts it back to
//! the last complete footer.
//!
//! A disk may write in any order between two syncs. In step 1 only the record changes: even if only a part of
//! it is written, the file still ends in its old footer. In step 2 the record is complete. In step 3 only the
//! record changes, and the file ends in its new footer. Steps 1 to 3 are always synced; step 4 only if the
//! append is durable.
//!
//! The file is locked while the sink exists. Before step 1, and again before the new end becomes valid, the
//! sink checks that nobody has changed or replaced the file. The second check is at the end of step 2 or,
//! without a record, before the footer is written.
//!
//! To roll an append back, cut the file to its old end, sync, then restore the bytes at the record's place.
//! If a file cannot be cut (Windows, while it is mapped), give it a valid end: overwrite the new data with
//! zeros, write the old manifest and footer again after them, sync, then do steps 3 and 4.

use super::buffered_file::BufferedFile;
use super::held_file::{HeldFile, Place};
use super::write_all::write_all;
use super::ByteSink;
use crate::error::{fail, Error, Result, SystemText};
use crate::io::files::size_of;
use crate::memory::AlignedBuffer;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::time::{Duration, SystemTime};

/// The size of a [`HeadRecord`].
const RECORD: usize = 32;
/// How many bytes are copied at a time.
const COPY_CHUNK: usize = 4096;
/// How many bytes are cleared at a time.
const CLEAR_CHUNK: usize = 1 << 20;

/// The record that an append keeps in the head of a file while it runs.
#[derive(Clone)]
pub struct HeadRecord {
    /// Its offset in the file.
    pub offset: u64,
    /// Its bytes.
    pub bytes: [u8; RECORD],
    /// The bytes that were at its place before: zeros, or padding from another program.
    pub before: [u8; RECORD],
}

/// The progress of an append.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// The file is unchanged.
    Untouched,
    /// The record may have been written.
    Begun,
    /// The file may have become longer.
    Grown,
    /// The record may have been cleared, so the file may have its new end.
    Cleared,
    /// Another program writes to the file, too, so no byte of it is changed any more.
    Shared,
}

/// What is at the end of a file that could not be cut back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FileEnd {
    /// The data of the append.
    AsItWas,
    /// The content does not matter: the record, or the missing footer, shows that the append is unfinished.
    Unfinished,
    /// The old manifest.
    Old,
}

/// An existing file that is appended to. Its old content is complete until the append is published; dropping
/// the sink before that restores the file.
pub struct AppendSink {
    writer: Option<BufferedFile>,
    place: Place,
    /// `None` if the old bytes must not change. Then the old end is not cleared, either, and the append takes
    /// effect once the new footer is on the disk.
    record: Option<HeadRecord>,
    /// The old manifest and footer.
    tail: Range<u64>,
    progress: Progress,
    /// Whether the new end was written without a record, so that the file has its new objects.
    is_complete: bool,
    durable: bool,
}

impl AppendSink {
    /// Appends to `file`. Its manifest and footer are the bytes `tail`.
    pub fn over(file: HeldFile, tail: Range<u64>, record: Option<HeadRecord>, durable: bool) -> Result<Self> {
        let HeldFile { file, place } = file;
        let (old, end) = (tail.end, place.size);
        if end != old {
            return Err(fail!(Io, "it changed from {old} to {end} bytes while it was being opened"));
        }
        seek(&file, end)?;
        let writer = Some(BufferedFile::new(file, end)?);
        Ok(AppendSink {
            writer,
            place,
            record,
            tail,
            progress: Progress::Untouched,
            is_complete: false,
            durable,
        })
    }

    fn writer(&mut self) -> Result<&mut BufferedFile> {
        self.writer.as_mut().ok_or_else(|| fail!(State, "the file is closed"))
    }

    /// Step 1, unless it was done: nothing is written after the old end before it.
    fn begin(&mut self) -> Result<()> {
        if self.progress != Progress::Untouched {
            return Ok(());
        }
        if let Some(writer) = &self.writer {
            self.place.check_unchanged(&writer.file)?;
        }
        self.progress = Progress::Begun;
        let (record, end) = (self.record.clone(), self.tail.end);
        let file = &self.writer()?.file;
        if let Some(HeadRecord { offset, bytes, .. }) = record {
            write_at(file, offset, &bytes)
                .map_err(|e| e.within(format_args!("could not write the append record")))?;
            sync(file, "could not sync the append record")?;
        }
        seek(file, end)?;
        self.progress = Progress::Grown;
        Ok(())
    }

    /// Steps 1 and 2, if there is something to write.
    fn grow(&mut self) -> Result<()> {
        self.begin()?;
        let writer = self.writer()?;
        writer.flush()?;
        self.is_complete = self.progress == Progress::Cleared;
        let Some(writer) = &self.writer else { return Ok(()) };
        sync(&writer.file, "could not sync what was added")?;
        let (size, position) = (size_of(&writer.file)?, writer.position);
        if size != position {
            self.progress = Progress::Shared;
            return Err(fail!(
                Io,
                "another program wrote to the file meanwhile: it has {size} bytes, not {position}; the file \
                 was not changed back"
            ));
        }
        self.place.check_in_place(&writer.file)
    }

    /// Steps 1 to 3.
    fn commit(&mut self) -> Result<()> {
        let record = self.record.clone();
        if record.is_none() {
            self.begin()?;
            self.progress = Progress::Cleared; // writes from here on may complete the new footer
        }
        self.grow()?;
        self.progress = Progress::Cleared;
        let Some(HeadRecord { offset, before, .. }) = record else { return Ok(()) };
        put_back(&self.writer()?.file, offset, &before)?;
        self.is_complete = true;
        sync(&self.writer()?.file, "could not sync the new end")
    }

    /// Restores the file. If it cannot be cut, gives it a valid end with its old objects.
    fn restore(&self, writer: &BufferedFile) -> Result<()> {
        let file = &writer.file;
        if matches!(self.progress, Progress::Grown | Progress::Cleared) {
            let old_end = self.tail.end;
            if let Err(cut) = writer.set_length(old_end) {
                let mut end = FileEnd::AsItWas;
                let ended = self.end_validly(file, &mut end);
                let state = match (end, self.progress) {
                    _ if ended.is_ok() => "it has its old objects, and zeros instead of the new ones",
                    (FileEnd::Old, _) => {
                        "it has its old objects, and zeros instead of the new ones, but not yet on the disk"
                    }
                    (FileEnd::AsItWas, Progress::Cleared) if self.is_complete => {
                        "it has its new objects, but perhaps not on the disk"
                    }
                    (FileEnd::AsItWas, Progress::Cleared) => {
                        "it has its new objects, or ends in an unfinished append, which zt_repair cuts off"
                    }
                    _ => "it ends in an unfinished append, which zt_repair cuts off",
                };
                let (cut, why) = (SystemText(&cut), ended.err());
                let error = fail!(Io, "the file could not be cut back to {old_end} bytes: {cut}; {state}");
                return Err(match why {
                    Some(why) => fail!(Io, "{error} ({why})"),
                    None => error,
                });
            }
            // If the sync fails, the record stays, because the disk may still have the new data.
            sync(file, "the file is cut back, but could not be synced")?;
        }
        if let Some(record) = &self.record {
            put_back(file, record.offset, &record.before)
                .map_err(|e| e.within(format_args!("the file has its old end, but")))?;
        }
        set_modified(file, self.place.modified);
        match self.durable {
            true => sync(file, "the file is cut back, but could not be synced"),
            false => Ok(()),
        }
    }

    /// Overwrites the new data with zeros, and writes the old manifest and footer after it. `reached` is set
    /// to what the file ends in, on failure, too.
    fn end_validly(&self, file: &File, reached: &mut FileEnd) -> Result<()> {
        let mut seeker: &File = file;
        let end = seeker.seek(SeekFrom::End(0)).map_err(|e| Error::io("could not find its end", &e))?;
        if let Some(record) = &self.record {
            write_at(file, record.offset, &record.bytes)?; // the last step may have cleared it
            *reached = FileEnd::Unfinished;
            sync(file, "could not sync the append record")?;
        } else {
            // Overwrite the new footer first: while it is valid, the bytes before it must not become zeros.
            zero(file, end.saturating_sub(COPY_CHUNK as u64).max(self.tail.end)..end)?;
            *reached = FileEnd::Unfinished;
        }
        zero(file, self.tail.end..end)?;
        copy(file, self.tail.clone(), end)?;
        if self.record.is_none() {
            *reached = FileEnd::Old;
        }
        sync(file, "could not sync the old manifest")?;
        let Some(record) = &self.record else { return Ok(()) };
        put_back(file, record.offset, &record.before)?;
        *reached = FileEnd::Old;
        sync(file, "could not sync the old manifest")?;
        let _ = zero(file, self.tail.clone()); // the rest of it is padding
        Ok(())
    }
}

/// Cuts a file to `end`, where it ended before an append that was killed. Then clears the append's record, if
/// there is one.
pub fn cut_back(file: &File, end: Option<u64>, record: Option<u64>) -> Result<()> {
    if let Some(end) = end {
        file.set_len(end).map_err(|e| Error::io("could not cut it back", &e))?;
        sync(file, "it is cut back, but could not be synced")?;
    }
    if let Some(offset) = record {
        put_back(file, offset, &[0; RECORD])?;
        sync(file, "it is cut back, but could not be synced")?;
    }
    Ok(())
}

fn put_back(file: &File, offset: u64, before: &[u8]) -> Result<()> {
    write_at(file, offset, before).map_err(|e| e.within(format_args!("could not clear the append record")))
}

/// Restores the modification time of an unchanged file, so that readers see no change. If that fails, the
/// file has a new time.
fn set_modified(file: &File, nanoseconds: i64) {
    if let Some(since) = u64::try_from(nanoseconds).ok().filter(|since| *since > 0) {
        let time = SystemTime::UNIX_EPOCH.checked_add(Duration::from_nanos(since));
        let _ = time.map(|time| file.set_modified(time));
    }
}

fn seek(mut file: &File, to: u64) -> Result<()> {
    file.seek(SeekFrom::Start(to)).map(drop).map_err(|e| Error::io("could not seek", &e))
}

fn write_at(file: &File, offset: u64, bytes: &[u8]) -> Result<()> {
    seek(file, offset)?;
    write_all(file, bytes, &[])
}

fn sync(file: &File, failed: &str) -> Result<()> {
    file.sync_all().map_err(|e| Error::io(failed, &e))
}

/// Overwrites a range with zeros. For the manifest of 100,000 objects this takes 12 calls, or 3,000 if there
/// is no memory for large ones.
fn zero(file: &File, range: Range<u64>) -> Result<()> {
    const ZEROS: [u8; COPY_CHUNK] = [0; COPY_CHUNK];
    seek(file, range.start)?;
    let mut left = range.end.saturating_sub(range.start);
    let large = if left > COPY_CHUNK as u64 { AlignedBuffer::zeroed(CLEAR_CHUNK).ok() } else { None };
    let zeros = large.as_ref().map_or(ZEROS.as_slice(), AlignedBuffer::as_slice);
    while left > 0 {
        let now = usize::try_from(left).unwrap_or(usize::MAX).min(zeros.len());
        write_all(file, zeros.get(..now).unwrap_or_default(), &[])?;
        left = left.saturating_sub(now as u64);
    }
    Ok(())
}

/// Copies a range to a later position.
fn copy(mut file: &File, from: Range<u64>, mut to: u64) -> Result<()> {
    let mut buffer = [0; COPY_CHUNK];
    let mut at = from.start;
    while at < from.end {
        let now = usize::try_from(from.end.saturating_sub(at)).unwrap_or(usize::MAX).min(COPY_CHUNK);
        let chunk = buffer.get_mut(..now).unwrap_or_default();
        seek(file, at)?;
        file.read_exact(chunk).map_err(|e| Error::io("could not read its manifest", &e))?;
        write_at(file, to, chunk)?;
        at = at.saturating_add(now as u64);
        to = to.saturating_add(now as u64);
    }
    Ok(())
}

impl Drop for AppendSink {
    fn drop(&mut self) {
        // If it fails, zt_open reports the unfinished append, and zt_repair repairs it.
        let _ = self.roll_back();
    }
}

impl ByteSink for AppendSink {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if self.writer()?.would_write(bytes.len()) {
            self.begin()?;
        }
        self.writer()?.write(bytes)
    }

    fn settle(&mut self) -> Result<()> {
        if self.record.is_some() {
            return Ok(()); // without the new footer, the record says where the file ends
        }
        self.grow()
    }

    /// Called after the new manifest and footer were written. Makes them valid, then overwrites the old
    /// manifest and footer with zeros.
    fn publish(&mut self) -> Result<()> {
        self.commit()?;
        // The new content is valid from here on. If clearing the old manifest fails, nothing is lost.
        let Some(writer) = self.writer.take().filter(|_| self.record.is_some()) else { return Ok(()) };
        zero(&writer.file, self.tail.clone()).map_err(|e| {
            e.within(format_args!("the append is in place, but the old manifest could not be cleared"))
        })?;
        match self.durable {
            true => sync(&writer.file, "the append is in place, but could not be synced"),
            false => Ok(()),
        }
    }

    fn roll_back(&mut self) -> Result<()> {
        match self.writer.take() {
            Some(writer) if !matches!(self.progress, Progress::Untouched | Progress::Shared) => {
                self.restore(&writer)
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_cleared_and_nothing_around_it() {
        let path = std::env::temp_dir().join(format!("ztensor-cleared-{}", std::process::id()));
        let end = 2 * CLEAR_CHUNK + COPY_CHUNK + 9;
        for range in [0..0, 5..6, 7..7 + COPY_CHUNK, 1..2 + COPY_CHUNK, 3..3 + CLEAR_CHUNK, 100..end - 100] {
            std::fs::write(&path, vec![1; end]).unwrap();
            let file = File::options().write(true).open(&path).unwrap();
            zero(&file, range.start as u64..range.end as u64).unwrap();
            let after = std::fs::read(&path).unwrap();
            assert_eq!(after.len(), end);
            let wrong = after.iter().enumerate().find(|(at, byte)| (**byte == 0) != range.contains(at));
            assert_eq!(wrong, None, "{range:?}");
        }
        std::fs::remove_file(&path).unwrap();
    }
}
