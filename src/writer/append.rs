//! More objects for a file that is there. The old manifest is carried over as it is encoded: its
//! entries are copied byte for byte, unknown fields included, and new ones are put behind them.

use super::stream::rules::is_index;
use super::{Phase, Summary, Writer, WriterOptions};
use crate::error::{fail, try_format, Result, Rule};
use crate::memory::try_box;
use crate::memory::AlignedBuffer;
use crate::model::dtype::Dtype;
use crate::model::manifest::{Encoding, LogicalType, Manifest, Version};
use crate::model::value::Value;
use crate::reader::{record_of, File, Mode, OpenOptions};
use crate::sink::append_sink::{AppendSink, HeadRecord};
use crate::sink::file_sink::FileSink;
use crate::sink::ByteSink;
use crate::wire::append_record::{self, AppendRecord};
use crate::wire::cbor::{Cursor, Head};
use crate::wire::{self, cbor_encode as put, frame, Container, Frame, Limits};
use std::ops::Range;
use std::path::Path;

/// The file that is appended to.
pub struct AppendBase {
    file: File,
    /// Its manifest as it is encoded.
    manifest: AlignedBuffer,
}

impl AppendBase {
    /// Whether an object of that name is in it.
    pub fn has(&self, name: &str) -> bool {
        self.file.find_position(name).is_some()
    }
}

impl Writer {
    /// More objects for the 1.1 or 1.2 file at `path`.
    pub fn append(path: impl AsRef<Path>, options: &WriterOptions) -> Result<Writer> {
        let path = path.as_ref();
        // No mapping: the file is about to change.
        let open = OpenOptions { mode: Mode::Read, max_objects: u64::MAX, ..OpenOptions::default() };
        let file = File::open(path, &open)?;
        let label = try_format(format_args!("{}", path.display()))?;
        let mut writer =
            Writer::over_file(file, path, options).map_err(|e| e.within(format_args!("{label}")))?;
        writer.label = label;
        Ok(writer)
    }

    fn over_file(file: File, path: &Path, options: &WriterOptions) -> Result<Writer> {
        options.check()?;
        if file.frame().container != Container::V1 {
            let version = file.version();
            return Err(fail!(
                Unsupported,
                "a file of version {version:?} cannot be appended to; copy it to a new one"
            ));
        }
        let range = file.frame().manifest.clone();
        let size = usize::try_from(range.end.saturating_sub(range.start))
            .map_err(|_| fail!(Unsupported, "the manifest does not fit this process's address space"))?;
        let mut manifest = AlignedBuffer::zeroed(size)?;
        file.source().read_at(range.start, manifest.as_mut_slice())?;
        let end = file.size();
        let sink: Box<dyn ByteSink> = if AppendRecord::has_room(range.start) {
            let record = head_record(&file, manifest.as_slice())?;
            try_box(AppendSink::open(path, range.start..end, record, options.durable)?)?
        } else {
            try_box(new_file(path, end, options.durable)?)?
        };
        // What is added is encoded as 1.2; whether the file then says so is decided at the end.
        let options = WriterOptions { version: Version::V1_2, ..options.clone() };
        let mut writer = Writer::over(sink, &options, end);
        writer.append_base = Some(AppendBase { file, manifest });
        Ok(writer)
    }

    pub(super) fn finish_append(&mut self, base: AppendBase) -> Result<Summary> {
        if let Phase::Closed(why) = self.state {
            return Err(fail!(State, "{why}"));
        }
        let old = base.manifest.as_slice();
        let parts = ManifestParts::of(old)?;
        let mut bytes = Vec::new();
        bytes.try_reserve(old.len())?;
        let attributes = self.merged_attributes(&base.file)?;
        let has_attributes = parts.pairs.iter().any(|(key, _)| *key == RootKey::Attributes);
        let pairs =
            (parts.pairs.len() as u64).saturating_add(u64::from(attributes.is_some() && !has_attributes));
        put::map(&mut bytes, pairs)?;
        if let (Some(attributes), false) = (&attributes, has_attributes) {
            put::text(&mut bytes, "attributes")?;
            put::value(&mut bytes, attributes)?;
        }
        for (key, pair) in &parts.pairs {
            match (key, &attributes) {
                (RootKey::Version, _) if self.raises_version(base.file.manifest()) => {
                    put::text(&mut bytes, "version")?;
                    put::text(&mut bytes, wire::v1_encode::version_text(Version::V1_2))?;
                }
                (RootKey::Attributes, Some(attributes)) => {
                    put::text(&mut bytes, "attributes")?;
                    put::value(&mut bytes, attributes)?;
                }
                (RootKey::Objects, _) => {
                    let objects = base.file.object_count().saturating_add(self.manifest.objects.len());
                    put::text(&mut bytes, "objects")?;
                    put::map(&mut bytes, objects as u64)?;
                    copy(&mut bytes, old.get(parts.entries.clone()).unwrap_or_default())?;
                    for object in self.manifest.objects.iter() {
                        wire::v1_encode::encode_object(&self.manifest, object, Version::V1_2, &mut bytes)?;
                    }
                }
                _ => copy(&mut bytes, old.get(pair.clone()).unwrap_or_default())?,
            }
        }
        let combined = self.check_combined(&bytes)?;
        drop(base); // where a file that is open cannot be replaced, it is to be closed by then
        self.write_end(&bytes, &[])?;
        Ok(self.summary(combined.0, combined.1))
    }

    /// The whole manifest once more, as a reader will see it: nothing that does not open is published.
    fn check_combined(&self, bytes: &[u8]) -> Result<(u64, u64)> {
        let end = self.position.saturating_add(bytes.len() as u64);
        let frame = Frame {
            container: Container::V1,
            manifest: self.position..end,
            file_size: end.saturating_add(16),
        };
        let limits = Limits { objects: u64::from(u32::MAX), ..Limits::default() };
        let manifest = wire::decode(&frame, bytes, &limits)?.into_inner();
        Ok((manifest.objects.len() as u64, manifest.components.len() as u64))
    }

    /// The file's attributes with the new ones, if there are new ones.
    fn merged_attributes(&mut self, file: &File) -> Result<Option<Value>> {
        if self.attributes.is_empty() {
            return Ok(None);
        }
        let mut merged = Vec::new();
        for (key, value) in file.attributes().and_then(Value::pairs).unwrap_or_default() {
            merged.try_reserve(1)?;
            merged.push((key.try_clone()?, value.try_clone()?));
        }
        for (key, value) in std::mem::take(&mut self.attributes) {
            // Not only texts are keys.
            match merged.iter_mut().find(|(old, _)| old.order(&key).is_eq()) {
                Some((_, place)) => *place = value,
                None => {
                    merged.try_reserve(1)?;
                    merged.push((key, value));
                }
            }
        }
        Ok(Some(Value::Map(merged)))
    }

    /// A 1.1 file becomes 1.2 when something of 1.2 is added, unless an object that is there would
    /// break a rule of 1.2: then the version stays, as the releases leave it, and readers take the new
    /// fields all the same. What is added keeps the rules of both.
    fn raises_version(&self, old: &Manifest) -> bool {
        let added = self.manifest.components.iter();
        let mut added = added.filter(|c| c.encoding == Encoding::Zstd || c.logical != LogicalType::Absent);
        old.version == Some(Version::V1_1)
            && added.next().is_some()
            && old.objects.iter().all(|o| keeps_1_2(old, o))
    }
}

/// Whether an object of a 1.1 file keeps the rules that only 1.2 has. A logical type may stand in its dtype, as
/// in 1.1 and nowhere else.
fn keeps_1_2(manifest: &Manifest, object: &crate::model::manifest::Object) -> bool {
    manifest.components(object).iter().all(|c| {
        let index = is_index(object.format, manifest.texts.get(c.role));
        (c.encoding != Encoding::Zstd || c.is_size_declared())
            && (!index || c.dtype == Some(Dtype::U64))
            && c.known_logical().is_none()
    })
}

/// The record of an append to `file`, whose manifest is `manifest`.
fn head_record(file: &File, manifest: &[u8]) -> Result<HeadRecord> {
    let footer = wire::v1_encode::footer(manifest.len() as u64);
    let tail_crc = crc32c::crc32c_append(crc32c::crc32c(manifest), &footer);
    let record = AppendRecord { tail: file.frame().manifest.start..file.size(), tail_crc };
    let mut before = [0; append_record::SIZE];
    if record_of(file.source())?.is_none() {
        file.source().read_at(append_record::OFFSET, &mut before)?;
    } // else of an append that was killed before it wrote anything: that one is not put back
    Ok(HeadRecord { offset: append_record::OFFSET, bytes: record.to_bytes(), before })
}

/// A file without data has no room for a record; its bytes are all in the manifest, which is written anew. So it
/// is replaced by a new file: padding up to the old end, and what is added.
fn new_file(path: &Path, old_end: u64, durable: bool) -> Result<FileSink> {
    const ZEROS: [u8; 4096] = [0; 4096];
    let mut sink = FileSink::create(path, durable)?;
    sink.write(frame::MAGIC_1)?;
    let mut left = old_end.saturating_sub(frame::MAGIC_1.len() as u64);
    while left > 0 {
        let now = usize::try_from(left).unwrap_or(usize::MAX).min(ZEROS.len());
        sink.write(ZEROS.get(..now).unwrap_or_default())?;
        left = left.saturating_sub(now as u64);
    }
    Ok(sink)
}

fn copy(out: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
    out.try_reserve(bytes.len())?;
    out.extend_from_slice(bytes);
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RootKey {
    Version,
    Attributes,
    Objects,
    Other,
}

/// Where the parts of a manifest stand in its bytes. It was decoded before, so it is well-formed.
struct ManifestParts {
    /// The root's pairs, each from its key to the end of its value.
    pairs: Vec<(RootKey, Range<usize>)>,
    /// The entries of `objects`, without the map's head and end.
    entries: Range<usize>,
}

impl ManifestParts {
    fn of(bytes: &[u8]) -> Result<ManifestParts> {
        let mut cursor = Cursor::new(bytes, 0);
        let mut parts = ManifestParts { pairs: Vec::new(), entries: 0..0 };
        let mut left = map_length(&mut cursor)?;
        while cursor.another(&mut left)? {
            let start = cursor.position();
            let key = match cursor.head()? {
                Head::Text(length) => cursor.text_body(length)?,
                _ => return Err(unexpected()),
            };
            let key = match &*key {
                "version" => RootKey::Version,
                "attributes" => RootKey::Attributes,
                "objects" => RootKey::Objects,
                _ => RootKey::Other,
            };
            if key == RootKey::Objects {
                parts.entries = entries(&mut cursor)?;
            } else {
                skip_checked(&mut cursor)?;
            }
            parts.pairs.try_reserve(1)?;
            parts.pairs.push((key, start..cursor.position()));
        }
        Ok(parts)
    }
}

fn entries(cursor: &mut Cursor<'_>) -> Result<Range<usize>> {
    let mut left = map_length(cursor)?;
    let start = cursor.position();
    let mut end = start;
    while cursor.another(&mut left)? {
        skip_checked(cursor)?;
        skip_checked(cursor)?;
        end = cursor.position();
    }
    Ok(start..end)
}

/// Steps over an item of what was decoded before, and checked then: heads and lengths are enough.
fn skip_checked(cursor: &mut Cursor<'_>) -> Result<()> {
    let mut open: Vec<Option<u64>> = Vec::new(); // how many items follow in each container that is open
    loop {
        match cursor.head()? {
            Head::Text(length) => drop(cursor.text_body(length)?),
            Head::Bytes(Some(length)) => drop(cursor.take(length)?),
            Head::Tag(_) => continue, // what it is about follows
            Head::Break => return Err(unexpected()),
            Head::Array(length) => push(&mut open, length)?,
            Head::Map(length) => push(&mut open, length.map(|pairs| pairs.saturating_mul(2)))?,
            Head::Bytes(None) => push(&mut open, None)?,
            _ => {}
        }
        while let Some(left) = open.last_mut() {
            if cursor.another(left)? {
                break;
            }
            open.pop();
        }
        if open.is_empty() {
            return Ok(());
        }
    }
}

fn push(open: &mut Vec<Option<u64>>, length: Option<u64>) -> Result<()> {
    open.try_reserve(1)?;
    open.push(length);
    Ok(())
}

fn map_length(cursor: &mut Cursor<'_>) -> Result<Option<u64>> {
    match cursor.head()? {
        Head::Map(length) => Ok(length),
        _ => Err(unexpected()),
    }
}

fn unexpected() -> crate::error::Error {
    crate::error::broken!(Rule::CborMalformed, "the manifest changed while it was being appended to")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passing_over_ends_where_decoding_ends() {
        let items: [&[u8]; 15] = [
            b"\x00",
            b"\x1b\x00\x00\x00\x01\x00\x00\x00\x00",
            b"\x63abc",
            b"\x7f\x61a\x62bc\xff",
            b"\x43\x01\x02\xff",
            b"\x5f\x41\xff\x42\x01\x02\xff",
            b"\x80",
            b"\xa0",
            b"\x82\x81\x01\xa1\x61k\x80",
            b"\x9f\x01\x9f\xff\xa0\xff",
            b"\xbf\x61a\xbf\xff\x61b\x5f\xff\xff",
            b"\xc1\x1a\x00\x00\x00\x07",
            b"\xa2\x61a\xd8\x20\x82\xc2\x41\x01\x02\x61b\xf6",
            b"\xf5",
            b"\xfb\x40\x09\x21\xfb\x54\x44\x2d\x18",
        ];
        for item in items {
            let bytes = [item, b"\x01"].concat(); // and something behind it
            let (mut decoded, mut passed) = (Cursor::new(&bytes, 0), Cursor::new(&bytes, 0));
            decoded.skip().unwrap();
            skip_checked(&mut passed).unwrap();
            assert_eq!((decoded.position(), passed.position()), (item.len(), item.len()), "{item:02x?}");
        }
        for cut in [&b"\xff"[..], b"\x82\x01", b"\x63ab", b"\x9f\x01", b""] {
            assert!(skip_checked(&mut Cursor::new(cut, 0)).is_err(), "{cut:02x?}");
        }
    }
}
