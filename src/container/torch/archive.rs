//! The records of a checkpoint: the members in one folder of its archive.

use super::values::{Record, Storage};
use crate::codec::Coding;
use crate::container::frame::Input;
use crate::container::tables::push;
use crate::container::zip::{Directory, Member, Method};
use crate::digest::Crc32;
use crate::error::{broken, fail, Quoted, Result, Rule};
use crate::memory::{bytes_of, Budget};
use crate::model::component::Checksum;
use crate::model::encoding::Encoding;
use crate::model::sort::sort_by;

/// The name of the record with the pickle.
const PICKLE: &[u8] = b"data.pkl";
/// The prefix of the records with storages.
const STORAGES: &[u8] = b"data/";
/// The latest known version of the records.
const LATEST_VERSION: u32 = 10;
/// The largest record that is one short text: `byteorder`, `version`.
const MAX_TEXT: u64 = 64;

/// Whether a member with this name shows that an archive is a checkpoint.
pub fn is_pickle(name: &[u8]) -> bool {
    name == PICKLE || root(name).is_some()
}

/// The folder of a pickle, including the slash.
fn root(name: &[u8]) -> Option<&[u8]> {
    name.strip_suffix(PICKLE).filter(|root| root.len() > 1 && root.ends_with(b"/"))
}

pub struct Archive<'d> {
    directory: &'d Directory,
    root: &'d [u8],
    pub pickle: &'d Member,
    /// The members of the folder `data`, sorted by name.
    storages: Vec<&'d Member>,
    /// Whether PyTorch was told not to write CRC-32s (`set_crc32_options(False)`), so that they are all 0.
    lacks_checksums: bool,
    budget: &'d Budget,
}

impl<'d> Archive<'d> {
    /// Finds the folder with the pickle. An archive must have exactly one.
    pub fn find(directory: &'d Directory, budget: &'d Budget) -> Result<Archive<'d>> {
        let mut pickles = directory.members.iter().filter_map(|m| Some((m, root(directory.name(m))?)));
        let Some((pickle, root)) = pickles.next() else {
            return Err(broken!(Rule::TorchArchive, "data.pkl is not in a folder of the archive"));
        };
        if let Some((_, other)) = pickles.next() {
            let (root, other) = (Quoted(root), Quoted(other));
            return Err(broken!(
                Rule::TorchArchive,
                "two folders of the archive have a data.pkl: {root} and {other}"
            ));
        }
        let mut storages = Vec::new();
        for member in &directory.members {
            let Some(name) = directory.name(member).strip_prefix(root) else { continue };
            if name == b"constants.pkl" || name.starts_with(b"code/") {
                return Err(fail!(
                    Unsupported,
                    "this is a TorchScript archive, a program: it has {}; only checkpoints are read",
                    Quoted(name)
                ));
            }
            if name.starts_with(STORAGES) {
                push(budget, &mut storages, member)?;
            }
        }
        sort_by(&mut storages, |a, b| directory.name(a).cmp(directory.name(b)));
        let lacks_checksums = directory.lacks_checksums();
        Ok(Archive { directory, root, pickle, storages, lacks_checksums, budget })
    }

    /// Returns its memory to the budget.
    pub fn release(self) {
        self.budget.give_back(bytes_of::<&Member>(self.storages.capacity()));
    }

    fn record(&self, name: &[u8]) -> Option<&'d Member> {
        let is = |m: &&Member| self.directory.name(m).strip_prefix(self.root) == Some(name);
        self.directory.members.iter().find(is)
    }

    /// The record of a storage. It must have the size that the pickle declares.
    pub fn storage(&self, key: &[u8], storage: &Storage) -> Result<Record> {
        let path = |member: &Member| {
            let name = self.directory.name(member).strip_prefix(self.root).unwrap_or_default();
            name.strip_prefix(STORAGES).unwrap_or_default()
        };
        let is_path = matches!(key, b"" | b"." | b"..") || key.iter().any(|b| matches!(b, b'/' | b'\\' | 0));
        let found = self.storages.binary_search_by(|member| path(member).cmp(key));
        let member =
            found.ok().filter(|_| !is_path).and_then(|at| self.storages.get(at)).ok_or_else(|| {
                broken!(Rule::TorchStorage, "the archive has no record of the storage {}", Quoted(key))
            })?;
        let unit = storage.element.map_or(Some(1), |element| element.size());
        match unit.and_then(|unit| storage.count.checked_mul(unit)) {
            Some(size) if size == member.size => {
                let stored = member.stored();
                let sum = Checksum { crc32: member.crc32, start: stored.start, size };
                let checksum = Some(sum).filter(|_| !self.lacks_checksums);
                Ok(Record { stored, method: member.method(), size, checksum })
            }
            _ => Err(broken!(
                Rule::TorchStorage,
                "the storage {} has {} elements of {} bytes, but its record has {} bytes",
                Quoted(key),
                storage.count,
                unit.unwrap_or(0),
                member.size
            )),
        }
    }

    /// Whether elements are big-endian. The first versions wrote no record `byteorder`; then elements are
    /// little-endian.
    pub fn is_big_endian(&self, input: &mut dyn Input) -> Result<bool> {
        let Some(member) = self.record(b"byteorder") else { return Ok(false) };
        let mut scratch = Vec::new();
        match self.text(member, input, &mut scratch)? {
            b"little" => Ok(false),
            b"big" => Ok(true),
            other => {
                Err(broken!(Rule::TorchArchive, "its byteorder is {}, neither little nor big", Quoted(other)))
            }
        }
    }

    /// Refuses versions of the records that are later than the latest known one.
    pub fn check_version(&self, input: &mut dyn Input) -> Result<()> {
        let Some(member) = self.record(b"version") else { return Ok(()) };
        let mut scratch = Vec::new();
        let text = self.text(member, input, &mut scratch)?;
        let number = std::str::from_utf8(text).ok().and_then(|text| text.trim_end().parse::<u32>().ok());
        match number {
            Some(1..=LATEST_VERSION) => Ok(()),
            _ => Err(fail!(
                Unsupported,
                "its version is {}; 1 to {LATEST_VERSION} are read here",
                Quoted(text.trim_ascii_end())
            )),
        }
    }

    /// Reads a record that is a short text.
    fn text<'r>(
        &self,
        member: &Member,
        input: &'r mut dyn Input,
        scratch: &'r mut Vec<u8>,
    ) -> Result<&'r [u8]> {
        match member.size <= MAX_TEXT {
            true => self.bytes(member, input, scratch),
            false => {
                let name = Quoted(self.directory.name(member));
                Err(broken!(
                    Rule::TorchArchive,
                    "the record {name} has {} bytes, more than {MAX_TEXT}",
                    member.size
                ))
            }
        }
    }

    /// The bytes of a record. If they are deflated, they are decoded to `scratch`. If the archive has
    /// CRC-32s, they are checked.
    pub fn bytes<'r>(
        &self,
        member: &Member,
        input: &'r mut dyn Input,
        scratch: &'r mut Vec<u8>,
    ) -> Result<&'r [u8]> {
        let stored = input.read(member.stored()).and_then(|stored| match member.method() {
            Method::Stored => Ok(stored),
            Method::Deflated => self.inflate(member, stored, scratch),
            Method::Unread(reason) => {
                Err(fail!(Unsupported, "it is stored as {reason}, which is not read here"))
            }
        });
        let checked = stored.and_then(|bytes| {
            if self.lacks_checksums {
                return Ok(bytes);
            }
            let mut sum = Crc32::new();
            sum.update(bytes);
            sum.check(member.crc32).map(|()| bytes)
        });
        checked.map_err(|e| self.directory.blame(member, e))
    }

    fn inflate<'s>(&self, member: &Member, stored: &[u8], scratch: &'s mut Vec<u8>) -> Result<&'s [u8]> {
        self.budget.charge(member.size, "a record that is deflated")?;
        let size = usize::try_from(member.size).unwrap_or(usize::MAX);
        scratch.try_reserve_exact(size)?;
        scratch.resize(size, 0);
        match Coding::of(Encoding::Deflate) {
            Some(Coding::Compressed(codec)) => codec.decode_into(stored, scratch)?,
            _ => return Err(fail!(Internal, "deflate has no codec")),
        }
        Ok(scratch)
    }
}
