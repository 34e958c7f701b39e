//! Records of zip archives with stored members: the header before each member, and the directory after them.

/// The least version of readers that support 64-bit sizes.
const ZIP64: u16 = 45;
const UNIX: u16 = 3 << 8;
/// 1980-01-01, which is used for members without a time.
const DATE: u16 = 1 << 5 | 1;
/// Names are UTF-8.
const UTF8: u16 = 1 << 11;
/// The owner may read and write.
const MODE: u32 = 0o600 << 16;
/// Replaces a size or offset if the number is in the extra field.
const IN_EXTRA_FIELD: u32 = u32::MAX;

/// A member that was written.
pub struct Member {
    pub name: Vec<u8>,
    pub crc: u32,
    pub size: u64,
    pub offset: u64,
}

/// The fields of a record, least significant byte first.
#[derive(Default)]
pub struct Record(pub Vec<u8>);

impl Record {
    pub fn u16(mut self, number: u16) -> Record {
        self.0.extend(number.to_le_bytes());
        self
    }

    pub fn u32(mut self, number: u32) -> Record {
        self.0.extend(number.to_le_bytes());
        self
    }

    pub fn u64(mut self, number: u64) -> Record {
        self.0.extend(number.to_le_bytes());
        self
    }

    pub fn raw(mut self, bytes: &[u8]) -> Record {
        self.0.extend(bytes);
        self
    }
}

fn flags(member: &Member) -> u16 {
    if member.name.is_ascii() {
        0
    } else {
        UTF8
    }
}

/// The header before a member's bytes. Its size does not depend on the checksum and sizes.
pub fn local(member: &Member) -> Vec<u8> {
    let record = Record::default().raw(b"PK\x03\x04").u16(ZIP64).u16(flags(member)).u16(0).u16(0).u16(DATE);
    let record =
        record.u32(member.crc).u32(IN_EXTRA_FIELD).u32(IN_EXTRA_FIELD).u16(member.name.len() as u16).u16(20);
    record.raw(&member.name).u16(1).u16(16).u64(member.size).u64(member.size).0
}

/// The member's entry in the directory.
pub fn central(member: &Member) -> Vec<u8> {
    let short = |number: u64| u32::try_from(number).unwrap_or(IN_EXTRA_FIELD);
    let mut extra = Record::default();
    if short(member.size) == IN_EXTRA_FIELD {
        extra = extra.u64(member.size).u64(member.size);
    }
    if short(member.offset) == IN_EXTRA_FIELD {
        extra = extra.u64(member.offset);
    }
    if !extra.0.is_empty() {
        extra = Record::default().u16(1).u16(extra.0.len() as u16).raw(&extra.0);
    }
    let record = Record::default().raw(b"PK\x01\x02").u16(UNIX | ZIP64).u16(ZIP64).u16(flags(member)).u16(0);
    let record = record.u16(0).u16(DATE).u32(member.crc).u32(short(member.size)).u32(short(member.size));
    let record =
        record.u16(member.name.len() as u16).u16(extra.0.len() as u16).u16(0).u16(0).u16(0).u32(MODE);
    record.u32(short(member.offset)).raw(&member.name).raw(&extra.0).0
}

/// The records after the directory, including those for 64-bit sizes if they are needed.
pub fn end(count: u64, offset: u64, size: u64) -> Vec<u8> {
    let (few, short) =
        (u16::try_from(count).unwrap_or(u16::MAX), |n: u64| u32::try_from(n).unwrap_or(IN_EXTRA_FIELD));
    let mut record = Record::default();
    if few == u16::MAX || short(offset) == IN_EXTRA_FIELD || short(size) == IN_EXTRA_FIELD {
        record = record.raw(b"PK\x06\x06").u64(44).u16(ZIP64).u16(ZIP64).u32(0).u32(0).u64(count).u64(count);
        record = record.u64(size).u64(offset);
        record = record.raw(b"PK\x06\x07").u32(0).u64(offset + size).u32(1);
    }
    record.raw(b"PK\x05\x06").u16(0).u16(0).u16(few).u16(few).u32(short(size)).u32(short(offset)).u16(0).0
}
