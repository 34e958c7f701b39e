//! The end of an archive: where its directory is, and how many members it has. Also a reader for the numbers
//! of all records.

use crate::container::frame::{Input, Limits, TRAILING_HELP};
use crate::error::{broken, fail, Error, Result, Rule};
use std::ops::Range;

const END: &[u8; 4] = b"PK\x05\x06";
const END_BYTES: usize = 22;
const END_SIZE: u64 = END_BYTES as u64;
const END64: &[u8; 4] = b"PK\x06\x06";
const END64_SIZE: u64 = 56;
const LOCATOR: &[u8; 4] = b"PK\x06\x07";
const LOCATOR_SIZE: u64 = 20;
const MAX_COMMENT: u64 = u16::MAX as u64;

/// What the end of an archive says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct End {
    /// The range of the directory. The end records follow directly.
    pub directory: Range<u64>,
    /// The number of entries in the directory.
    pub members: u64,
}

/// The numbers of an end record. A number that only fits in the 64-bit record has the largest value here.
struct Record {
    disks: [u64; 2],
    members_here: u64,
    members: u64,
    size: u64,
    start: u64,
}

/// Finds and reads the end record.
pub(super) fn read(input: &mut dyn Input, limits: &Limits) -> Result<End> {
    let file_size = input.file_size();
    let at = match limits.allow_trailing {
        true => find_anywhere(input)?,
        false => find(input)?,
    };
    let record = input.read(at..at.saturating_add(END_SIZE))?;
    let record = plain(record).ok_or_else(|| wrong("it is too short"))?;
    let (record, end) = match record64(input, at)? {
        Some((wide, start)) => {
            check_agrees(&record, &wide)?;
            (wide, start)
        }
        None if is_wide(&record) => {
            return Err(wrong("it refers to a 64-bit record, which is missing"));
        }
        None => (record, at),
    };
    if record.disks != [0, 0] {
        return Err(fail!(Unsupported, "the archive is one of several disks"));
    }
    if record.members_here != record.members {
        return Err(wrong(format_args!(
            "it counts {} members on its disk, but {} in all",
            record.members_here, record.members
        )));
    }
    match record.start.checked_add(record.size) == Some(end) {
        true => Ok(End { directory: record.start..end, members: record.members }),
        false => Err(wrong(format_args!(
            "its directory has {} bytes from {} on, but the records of the end begin at {end} of {file_size}",
            record.size, record.start
        ))),
    }
}

#[cold]
fn wrong(what: impl std::fmt::Display) -> Error {
    broken!(Rule::ZipEndRecord, "the archive's end record: {what}")
}

/// Finds the end record: the last one, whose comment ends at the end of the file.
fn find(input: &mut dyn Input) -> Result<u64> {
    let file_size = input.file_size();
    let last = file_size.checked_sub(END_SIZE).ok_or_else(|| wrong("the file is too short for one"))?;
    let record = input.read(last..file_size)?;
    if record.starts_with(END) && record.ends_with(&[0, 0]) {
        return Ok(last); // it has no comment
    }
    let start = last.saturating_sub(MAX_COMMENT);
    let bytes = input.read(start..file_size)?;
    let found = bytes.windows(END.len()).rposition(|window| window == END);
    let found = found.ok_or_else(|| {
        wrong(format_args!("it is missing: the file was truncated, or bytes follow its end: {TRAILING_HELP}"))
    })?;
    let comment = bytes.get(found..).and_then(|record| record.get(20..22));
    let comment = comment.and_then(|size| Fields(size).u16()).map(u64::from);
    let at = start.saturating_add(found as u64);
    let behind = file_size.saturating_sub(at).checked_sub(END_SIZE);
    match behind == comment && behind.is_some() {
        true => Ok(at),
        false if behind > comment => Err(wrong(format_args!(
            "the last one is at {at}, and {} bytes follow its comment of {} bytes; {TRAILING_HELP}",
            behind.unwrap_or(0).saturating_sub(comment.unwrap_or(0)),
            comment.unwrap_or(0)
        ))),
        false => Err(wrong(format_args!(
            "the last one is at {at}, and the comment of {} bytes behind it does not end where the file of \
             {file_size} does; if bytes follow the archive, {TRAILING_HELP}",
            comment.unwrap_or(0)
        ))),
    }
}

/// Finds the last end record whose directory ends where the end records begin. Any bytes may follow it.
fn find_anywhere(input: &mut dyn Input) -> Result<u64> {
    const STEP: u64 = 1 << 16;
    let file_size = input.file_size();
    let mut end = file_size;
    while end >= END_SIZE {
        let start = end.saturating_sub(STEP);
        let mut below = end;
        let is_record = |window: &[u8]| window.starts_with(END);
        while let Some(found) = input.read(start..below)?.windows(END_BYTES).rposition(is_record) {
            let at = start.saturating_add(found as u64);
            let bytes = input.read(at..at.saturating_add(END_SIZE))?;
            let record = plain(bytes).ok_or_else(|| wrong("it is too short"))?;
            let is_end = record.start.checked_add(record.size) == Some(at);
            if is_end || record64(input, at).is_ok_and(|wide| wide.is_some()) {
                return Ok(at);
            }
            below = at.saturating_add(END_SIZE).saturating_sub(1);
        }
        if start == 0 {
            break;
        }
        end = start.saturating_add(END_SIZE).saturating_sub(1);
    }
    Err(wrong("it is missing: the file was truncated, or is not an archive"))
}

fn plain(record: &[u8]) -> Option<Record> {
    let mut fields = Fields(record.strip_prefix(END)?);
    Some(Record {
        disks: [fields.u16()?.into(), fields.u16()?.into()],
        members_here: fields.u16()?.into(),
        members: fields.u16()?.into(),
        size: fields.u32()?.into(),
        start: fields.u32()?.into(),
    })
}

const WIDE_16: u64 = u16::MAX as u64;
const WIDE_32: u64 = u32::MAX as u64;

/// Whether the directory's offset or size is in a 64-bit record. 65,535 members alone do not need one.
fn is_wide(record: &Record) -> bool {
    [record.size, record.start].contains(&WIDE_32)
}

/// The 64-bit record and its offset, if there is one. Its locator is before the end record.
fn record64(input: &mut dyn Input, end: u64) -> Result<Option<(Record, u64)>> {
    let Some(locator) = end.checked_sub(LOCATOR_SIZE) else { return Ok(None) };
    let bytes = input.read(locator..end)?;
    let Some(fields) = bytes.strip_prefix(LOCATOR) else { return Ok(None) };
    let mut fields = Fields(fields);
    let (disk, at, disks) = (fields.u32(), fields.u64().unwrap_or(0), fields.u32());
    if disk != Some(0) || disks.is_some_and(|disks| disks > 1) {
        return Err(fail!(Unsupported, "the archive is one of several disks"));
    }
    let size = locator.checked_sub(at).filter(|size| *size >= END64_SIZE);
    let size = size.ok_or_else(|| {
        wrong(format_args!("its locator at {locator} points at {at}, where a record of 64 bits does not fit"))
    })?;
    let bytes = input.read(at..at.saturating_add(END64_SIZE))?;
    let wide = wide(bytes).ok_or_else(|| wrong(format_args!("there is no record of 64 bits at {at}")))?;
    match wide.1.checked_add(12) == Some(size) {
        true => Ok(Some((wide.0, at))),
        false => Err(wrong(format_args!(
            "the record of 64 bits at {at} says {} bytes, but its locator is at {locator}",
            wide.1
        ))),
    }
}

/// Reads a 64-bit record. Returns it and the size that it gives.
fn wide(record: &[u8]) -> Option<(Record, u64)> {
    let mut fields = Fields(record.strip_prefix(END64)?);
    let size = fields.u64()?;
    fields.take(4)?; // versions
    let record = Record {
        disks: [fields.u32()?.into(), fields.u32()?.into()],
        members_here: fields.u64()?,
        members: fields.u64()?,
        size: fields.u64()?,
        start: fields.u64()?,
    };
    Some((record, size))
}

/// Checks that the plain record agrees with the 64-bit record.
fn check_agrees(plain: &Record, wide: &Record) -> Result<()> {
    let short = [
        ("disk", plain.disks[0], wide.disks[0]),
        ("disk", plain.disks[1], wide.disks[1]),
        ("number of members", plain.members_here, wide.members_here),
        ("number of members", plain.members, wide.members),
    ];
    let long = [("directory size", plain.size, wide.size), ("directory offset", plain.start, wide.start)];
    let short = short.iter().find(|(_, plain, wide)| *plain != WIDE_16 && plain != wide);
    let long = long.iter().find(|(_, plain, wide)| *plain != WIDE_32 && plain != wide);
    match short.or(long) {
        None => Ok(()),
        Some((what, plain, wide)) => {
            Err(wrong(format_args!("its {what} is {plain}, but {wide} in the record of 64 bits")))
        }
    }
}

/// The rest of a record.
pub(super) struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub fn take(&mut self, count: u16) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::from(count))?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }
}

/// The numbers that a local header and an entry of the directory begin with.
pub(super) struct Header {
    pub flags: u16,
    pub method: u16,
    pub crc32: u32,
    pub stored_size: u32,
    pub size: u32,
    /// The size of the name.
    pub name: u16,
    /// The size of the extra field.
    pub extra: u16,
}

impl Header {
    pub fn read(fields: &mut Fields<'_>) -> Option<Header> {
        fields.take(2)?; // the version that is needed
        let (flags, method) = (fields.u16()?, fields.u16()?);
        fields.take(4)?; // time and date
        let crc32 = fields.u32()?;
        let (stored_size, size) = (fields.u32()?, fields.u32()?);
        let (name, extra) = (fields.u16()?, fields.u16()?);
        Some(Header { flags, method, crc32, stored_size, size, name, extra })
    }
}

/// The number of the item in an extra field that has 64-bit sizes and offsets.
const ZIP64: u16 = 1;

/// The bytes of the 64-bit item in an extra field: `None` if it is absent, an error if an item passes the
/// field's end. Up to three bytes after the last item are padding, which some writers use for alignment.
pub(super) fn zip64_item(extra: &[u8]) -> std::result::Result<Option<&[u8]>, &'static str> {
    let mut fields = Fields(extra);
    let mut found = None;
    while fields.0.len() >= 4 {
        let item = fields.u16().zip(fields.u16());
        let Some((kind, item)) = item.and_then(|(kind, size)| Some((kind, fields.take(size)?))) else {
            return Err("an item of its extra field passes the end of that");
        };
        if kind == ZIP64 && found.replace(item).is_some() {
            return Err("its extra field has two items of 64-bit sizes");
        }
    }
    Ok(found)
}
