//! Appends objects to an existing file. The objects in its manifest are kept.

use super::append_base::AppendBase;
use super::options::{Summary, WriterOptions};
use super::state::Writer;
use crate::container::{self, AppendRecord};
use crate::error::{fail, try_format, Cause, Result};
use crate::io::path::Access;
use crate::memory::{try_box, AlignedBuffer};
use crate::reader::{check_is_one_file, record_of, File, FilePart, Mode, OpenOptions};
use crate::sink::append_sink::{AppendSink, HeadRecord};
use crate::sink::file_sink::FileSink;
use crate::sink::held_file::{HeldFile, ReplacingSink};
use std::path::Path;

/// How often to open the file again if it is replaced meanwhile.
const MAX_LOOKS: u32 = 16;

/// A file that will be appended to.
pub(crate) struct ToAppend {
    file: Box<File>,
    /// Its handle for writing, which has the lock, or the error. The error only matters if the file's
    /// container allows appending.
    held: Result<HeldFile>,
}

impl Writer {
    /// Makes a writer that appends objects to the file at `path`, if the file's container allows that.
    pub fn append(path: impl AsRef<Path>, options: &WriterOptions) -> Result<Writer> {
        let path = path.as_ref();
        Writer::append_to(Writer::open_to_append(path)?, path, options)
    }

    /// Opens the file at `path` for [`Writer::append_to`].
    pub(crate) fn open_to_append(path: &Path) -> Result<ToAppend> {
        check_is_one_file(path).map_err(|e| e.within(format_args!("{}", path.display())))?;
        // The file is not mapped, because it will change.
        let open = OpenOptions { mode: Mode::Read, max_objects: u64::MAX, ..OpenOptions::default() };
        for _ in 0..MAX_LOOKS {
            // Lock the file before reading it, so that no other writer changes it in between.
            let held = match HeldFile::open(path, Access::ReadWrite) {
                Err(e) if e.cause() == Cause::Busy => {
                    return Err(e.within(format_args!("{}", path.display())))
                }
                held => held,
            };
            let file = try_box(File::open_as_writer(path, &open)?)?;
            let Ok(locked) = &held else { return Ok(ToAppend { file, held }) };
            let opened = file.parts().next().and_then(|part| part.source().page_cache());
            if opened.map_or(Ok(true), |opened| opened.is_still(&locked.file))? {
                return Ok(ToAppend { file, held });
            }
        }
        let error = fail!(Io, "it was changed while it was being opened");
        Err(error.within(format_args!("{}", path.display())))
    }

    pub(crate) fn append_to(file: ToAppend, path: &Path, options: &WriterOptions) -> Result<Writer> {
        let label = try_format(format_args!("{}", path.display()))?;
        let mut writer =
            Writer::for_append(file, path, options).map_err(|e| e.within(format_args!("{label}")))?;
        writer.label = label;
        Ok(writer)
    }

    fn for_append(to: ToAppend, path: &Path, options: &WriterOptions) -> Result<Writer> {
        let ToAppend { file, held } = to;
        let Some(version) = file.capabilities().appends_as else {
            let name = file.container().name();
            return Err(fail!(
                Unsupported,
                "a file of {name} cannot be appended to or edited; convert it to .zt first"
            ));
        };
        // At the end, the writer decides whether the file gets this version.
        let options = WriterOptions { version, ..options.clone() }.resolved()?;
        options.check()?;
        if options.canonical {
            return Err(fail!(InvalidArgument, "an append cannot keep the canonical form"));
        }
        let part = file.only_part("cannot be appended to or edited")?;
        let range = part.frame().manifest.clone();
        if range.is_empty() {
            return Err(fail!(Unsupported, "the file has no manifest to add objects to"));
        }
        let size = usize::try_from(range.end.saturating_sub(range.start))
            .map_err(|_| fail!(Unsupported, "the manifest does not fit this process's address space"))?;
        let mut manifest = AlignedBuffer::zeroed(size)?;
        part.source().read_at(range.start, manifest.as_mut_slice())?;
        let end = part.frame().file_size; // without the file's shards
        let has_record = !container::capabilities(version).old_ends_stay;
        let mut writer = if has_record && !AppendRecord::fits_before(range.start) {
            // A file without data has no space for a record. It consists of its manifest, which is written
            // anew. So the file is replaced by a new one, with padding up to the old end.
            let held = held?;
            let sink = ReplacingSink::new(FileSink::create(path, options.durable)?, held);
            let mut writer = Writer::begin_file(try_box(sink)?, &options)?;
            writer.pad_to(end)?;
            writer
        } else {
            let record =
                has_record.then(|| head_record(part, range.start, manifest.as_slice())).transpose()?;
            let sink = AppendSink::over(held?, range.start..end, record, options.durable)?;
            Writer::with_sink(try_box(sink)?, &options, end)
        };
        writer.append_base = Some(AppendBase::new(file, manifest));
        Ok(writer)
    }

    pub(super) fn finish_append(&mut self, base: AppendBase) -> Result<Summary> {
        self.check_not_closed()?;
        let (encoded, old) = (base.manifest.as_slice(), base.file.manifest());
        self.align_manifest()?;
        let bytes = container::extend(encoded, old, &self.manifest, &self.attributes, &base.edits)?;
        let frame = container::frame_of(self.options.version, self.position, &bytes)?;
        // Check that the whole manifest can be decoded.
        let combined = container::decode_encoded(&frame, &bytes)?.into_inner();
        let (objects, components) = (combined.objects.len() as u64, combined.components.len() as u64);
        drop((base, combined)); // on some systems an open file cannot be replaced, so close it now
        self.write_end(&frame, &bytes)?;
        Ok(self.summary(objects, components))
    }
}

/// The record of an append to `file`, whose manifest is `manifest` and begins at `start`.
fn head_record(file: &FilePart, start: u64, manifest: &[u8]) -> Result<HeadRecord> {
    let record = AppendRecord::of(start, manifest);
    let mut before = [0; AppendRecord::SIZE];
    if record_of(file.source())?.is_none() {
        file.source().read_at(AppendRecord::OFFSET, &mut before)?;
    } // otherwise the record is from an append that was killed before it wrote anything; it is not restored
    Ok(HeadRecord { offset: AppendRecord::OFFSET, bytes: record.to_bytes(), before })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::dtype::Dtype;
    use crate::writer::DenseSpec;

    fn write(path: &Path, name: &str) {
        let mut writer = Writer::create(path, &WriterOptions::default()).unwrap();
        add(&mut writer, name);
    }

    fn add(writer: &mut Writer, name: &str) {
        writer.write_dense(&DenseSpec::new(name, Dtype::U8, &[4], b"abcd")).unwrap();
        writer.finish().unwrap();
    }

    /// A file with the same size may have its manifest at the same position.
    #[test]
    fn what_took_the_place_of_a_file_is_not_appended_to() {
        let name = |ending: &str| {
            std::env::temp_dir().join(format!("ztensor-still-{}.{ending}", std::process::id()))
        };
        let (path, other) = (name("zt"), name("other"));
        write(&path, "a");
        let file = Writer::open_to_append(&path).unwrap();
        write(&other, "b");
        let after = std::fs::read(&other).unwrap();
        assert_eq!(after.len(), std::fs::read(&path).unwrap().len());
        std::fs::rename(&other, &path).unwrap();
        let mut writer = Writer::append_to(file, &path, &WriterOptions::default()).unwrap();
        writer.write_dense(&DenseSpec::new("c", Dtype::U8, &[4], b"abcd")).unwrap();
        if cfg!(any(unix, windows)) {
            let error = writer.finish().map_err(|e| writer.abort(e)).unwrap_err();
            assert!(error.message().contains("another file replaced it meanwhile"), "{error}");
        }
        drop(writer);
        assert!(std::fs::read(&path).unwrap() == after);
        add(&mut Writer::append(&path, &WriterOptions::default()).unwrap(), "c");
        let names: Vec<_> = File::open(&path, &OpenOptions::default())
            .unwrap()
            .objects()
            .map(|o| o.name().to_owned())
            .collect();
        assert_eq!(names, ["b", "c"]);
        std::fs::remove_file(&path).unwrap();
    }
}
