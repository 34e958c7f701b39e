//! The directory of an archive: what each member is, and where its local header is.

use super::end::{self, zip64_item, End, Fields, Header};
use crate::container::frame::{over_limit, Input, Limits};
use crate::container::tables::{extend, push};
use crate::error::{broken, fail, Error, Quoted, Result, Rule};
use crate::memory::{bytes_of, Budget};
use crate::model::sort::find_duplicate;
use std::fmt;
use std::ops::Range;

const ENTRY: &[u8; 4] = b"PK\x01\x02";
const ENTRY_SIZE: u64 = 46;

/// The flags of a member: the level of deflate (two bits); its sizes are in a descriptor after its data, too;
/// its name is UTF-8; it is encrypted; the directory is encrypted, too.
const LEVEL: u16 = 6;
pub(super) const DESCRIPTOR: u16 = 8;
const UTF8: u16 = 1 << 11;
const ENCRYPTED: u16 = 1 | 1 << 6;
const HIDDEN: u16 = 1 << 13;

/// The highest ratio of decoded to compressed size of a deflated member.
const MAX_RATIO: u64 = 1040;

/// How the bytes of a member are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Stored,
    /// Deflated (RFC 1951).
    Deflated,
    /// In a way that the library does not read. The member is listed, and others are read.
    Unread(Unread),
}

/// Why a member is not read. It is listed as the name of an encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    Encrypted,
    /// The member has unknown flags.
    Flags(u16),
    /// The bytes are compressed with the method of this number.
    Method(u16),
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let method = match self {
            Unread::Encrypted => return f.write_str("zip.encrypted"),
            Unread::Flags(flags) => return write!(f, "zip.flags-{flags:#x}"),
            Unread::Method(method) => method,
        };
        match method {
            9 => f.write_str("zip.deflate64"),
            12 => f.write_str("zip.bzip2"),
            14 => f.write_str("zip.lzma"),
            93 => f.write_str("zip.zstd"),
            95 => f.write_str("zip.xz"),
            other => write!(f, "zip.method-{other}"),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Member {
    name: (usize, u16),
    pub(super) flags: u16,
    pub(super) method: u16,
    /// The CRC-32 of its decoded bytes.
    pub crc32: u32,
    pub stored_size: u64,
    /// The size of its decoded bytes.
    pub size: u64,
    pub(super) header: u64,
    /// The position of its stored bytes. Set by `Directory::visit`.
    pub(super) data: u64,
}

impl Member {
    pub fn method(&self) -> Method {
        let unknown = self.flags & !(LEVEL | DESCRIPTOR | UTF8);
        match self.method {
            _ if self.flags & ENCRYPTED != 0 => Method::Unread(Unread::Encrypted),
            _ if unknown != 0 => Method::Unread(Unread::Flags(unknown)),
            0 => Method::Stored,
            8 => Method::Deflated,
            other => Method::Unread(Unread::Method(other)),
        }
    }

    /// The range of its stored bytes. Known after `Directory::visit`.
    pub fn stored(&self) -> Range<u64> {
        self.data..self.data.saturating_add(self.stored_size)
    }

    /// Whether its name is UTF-8. Otherwise it uses the older code page.
    pub fn is_utf8(&self) -> bool {
        self.flags & UTF8 != 0
    }
}

/// The contents of an archive, in the order of its directory.
#[derive(Debug, Default)]
pub struct Directory {
    pub members: Vec<Member>,
    names: Vec<u8>,
    /// The range of the directory in the file.
    pub range: Range<u64>,
}

impl Directory {
    /// Whether its writer computed no CRC-32s: they are 0 for all members with bytes. If one is not 0, a 0 is
    /// a real CRC-32.
    pub fn lacks_checksums(&self) -> bool {
        let mut with_bytes = self.members.iter().filter(|member| member.size > 0).peekable();
        with_bytes.peek().is_some() && with_bytes.all(|member| member.crc32 == 0)
    }

    /// Reads the end of an archive and its directory. Memory is charged to `budget`; its limit grows with the
    /// size of the directory.
    pub fn read(input: &mut dyn Input, limits: &Limits, budget: &Budget) -> Result<Directory> {
        let End { directory: range, members } = end::read(input, limits)?;
        let size = range.end.saturating_sub(range.start);
        if members > size / ENTRY_SIZE {
            return Err(broken!(
                Rule::ZipEndRecord,
                "the archive has {members} members, but a directory of {size} bytes"
            ));
        }
        if members > limits.objects {
            let limit = limits.objects;
            return Err(fail!(Limit, "the archive has {members} members, above the limit of {limit}"));
        }
        if size > limits.manifest_size {
            return Err(over_limit(size, limits));
        }
        budget.raise(limits.memory_for(size));
        let mut directory = Directory { range: range.clone(), ..Directory::default() };
        let start = range.start;
        let mut fields = Fields(input.read(range)?);
        for _ in 0..members {
            let at = start.saturating_add(size).saturating_sub(fields.0.len() as u64);
            let found = directory.entry(&mut fields, budget);
            found.map_err(|e| e.within(format_args!("the directory's entry at {at}")))?;
        }
        match fields.0.len() {
            0 => directory.check_names(budget).map(|()| directory),
            left => Err(broken!(
                Rule::ZipDirectory,
                "{left} bytes are left of the archive's directory after its {members} entries"
            )),
        }
    }

    /// The name of a member. It is used as a key, never as a path.
    pub fn name(&self, member: &Member) -> &[u8] {
        let (start, size) = member.name;
        self.names.get(start..start.saturating_add(usize::from(size))).unwrap_or_default()
    }

    #[cold]
    pub fn blame(&self, member: &Member, error: Error) -> Error {
        error.within(format_args!("member {}", Quoted(self.name(member))))
    }

    fn entry(&mut self, fields: &mut Fields<'_>, budget: &Budget) -> Result<()> {
        let short = || broken!(Rule::ZipDirectory, "the directory ends within it");
        let Some(rest) = fields.0.strip_prefix(ENTRY) else {
            return Err(broken!(Rule::ZipDirectory, "it does not begin like an entry"));
        };
        fields.0 = rest;
        let (mut member, name, extra, disk) = fixed(fields, self.names.len()).ok_or_else(short)?;
        extend(budget, &mut self.names, name)?;
        let checked = check(&mut member, name, extra, disk, &self.range);
        checked.map_err(|e| self.blame(&member, e))?;
        push(budget, &mut self.members, member)
    }

    fn check_names(&self, budget: &Budget) -> Result<()> {
        let temporary = bytes_of::<&Member>(self.members.len());
        budget.charge(temporary, "names that are compared")?;
        let twice = find_duplicate(&self.members, |a, b| self.name(a).cmp(self.name(b)))?;
        budget.give_back(temporary);
        match twice {
            None => Ok(()),
            Some(twice) => {
                let name = Quoted(self.name(twice));
                Err(broken!(Rule::NameDuplicate, "the archive has two members {name}"))
            }
        }
    }
}

/// Reads the numbers of an entry, its name, its extra field and its disk number. The name will be at
/// `name_start` of all names.
fn fixed<'a>(fields: &mut Fields<'a>, name_start: usize) -> Option<(Member, &'a [u8], &'a [u8], u16)> {
    fields.take(2)?; // the version of the writer
    let Header { flags, method, crc32, stored_size, size, name, extra } = Header::read(fields)?;
    let (comment, disk) = (fields.u16()?, fields.u16()?);
    fields.take(6)?; // attributes
    let (stored_size, size, header) = (stored_size.into(), size.into(), fields.u32()?.into());
    let name_range = (name_start, name);
    let (name, extra) = (fields.take(name)?, fields.take(extra)?);
    fields.take(comment)?;
    let member = Member { name: name_range, flags, method, crc32, stored_size, size, header, data: 0 };
    Some((member, name, extra, disk))
}

/// Fills in the 64-bit numbers, and checks what can be checked in an entry.
fn check(
    member: &mut Member,
    name: &[u8],
    extra: &[u8],
    mut disk: u16,
    directory: &Range<u64>,
) -> Result<()> {
    const WIDE: u64 = u32::MAX as u64;
    let wide = zip64_item(extra).map_err(|what| broken!(Rule::ZipDirectory, "{what}"))?;
    let mut wide = Fields(wide.unwrap_or_default());
    for number in [&mut member.size, &mut member.stored_size, &mut member.header] {
        if *number == WIDE {
            let missing = || broken!(Rule::ZipDirectory, "a number of 64 bits is missing in its extra field");
            *number = wide.u64().ok_or_else(missing)?;
        }
    }
    if disk == u16::MAX {
        disk = wide.u32().map_or(disk, |disk| u16::try_from(disk).unwrap_or(u16::MAX));
    }
    if disk != 0 {
        return Err(fail!(Unsupported, "it is on disk {disk} of an archive of several"));
    }
    if member.flags & HIDDEN != 0 {
        return Err(fail!(Unsupported, "the archive's directory is encrypted"));
    }
    if member.is_utf8() && std::str::from_utf8(name).is_err() {
        return Err(broken!(Rule::ZipName, "its name is marked as UTF-8 but is not"));
    }
    let (stored_size, size) = (member.stored_size, member.size);
    if member.header >= directory.start || stored_size > directory.start {
        return Err(broken!(
            Rule::ZipDirectory,
            "its {stored_size} bytes and the header at {} pass the start of the directory at {}",
            member.header,
            directory.start
        ));
    }
    match member.method() {
        Method::Stored if stored_size != size => Err(broken!(
            Rule::ZipDirectory,
            "it is not compressed, but takes {stored_size} bytes and has {size}"
        )),
        Method::Deflated if size > stored_size.saturating_mul(MAX_RATIO) => Err(broken!(
            Rule::DeflateLength,
            "it has {size} bytes, more than its {stored_size} deflated ones can hold"
        )),
        _ => Ok(()),
    }
}
