//! The local headers of an archive's members. They are compared with the directory.

use super::directory::{Directory, Member, DESCRIPTOR};
use super::end::{zip64_item, Fields, Header};
use crate::container::frame::Input;
use crate::container::tables::push;
use crate::error::{broken, Result, Rule};
use crate::memory::{bytes_of, Budget};
use crate::model::sort::sort_by_key;
use std::ops::Range;

const LOCAL: &[u8; 4] = b"PK\x03\x04";
const LOCAL_SIZE: u64 = 30;
/// The longest extra field that writers use to align data to 64 bytes.
const USUAL_EXTRA: u64 = 128;
const DATA_DESCRIPTOR: &[u8; 4] = b"PK\x07\x08";
const MAX_DESCRIPTOR_SIZE: u64 = 24;

/// Called with a member's index, the member, and the first of its stored bytes. Returns how many of them it
/// needs, if these are not enough.
pub type OnMember<'b> = dyn FnMut(usize, &Member, &[u8]) -> Result<Option<u64>> + 'b;

impl Directory {
    /// Checks every local header, and that no two members share bytes. After this, [`Member::stored`] is
    /// known. Calls `body` for each member, in the order of the directory, with the first `ahead` of its
    /// stored bytes, or all of them. If `body` needs more bytes, it is called again with them.
    pub fn visit(
        &mut self,
        input: &mut dyn Input,
        ahead: u64,
        budget: &Budget,
        body: &mut OnMember<'_>,
    ) -> Result<()> {
        // Do this before any member is read: overlapping members would be read and inflated many times.
        self.check_overlaps(budget, |directory, member| {
            let name = directory.name(member).len() as u64;
            member.header.saturating_add(LOCAL_SIZE).saturating_add(name).saturating_add(member.stored_size)
        })?;
        let end = self.range.start;
        let (mut wanted, mut ranges) = (Vec::new(), Vec::new());
        for (at, member) in self.members.iter().enumerate() {
            let data = ahead.min(member.stored_size);
            let head = LOCAL_SIZE.saturating_add(self.name(member).len() as u64).saturating_add(USUAL_EXTRA);
            let to = member.header.saturating_add(head).saturating_add(data).min(end);
            push(budget, &mut wanted, at)?;
            push(budget, &mut ranges, member.header..to)?;
        }
        while !wanted.is_empty() {
            let (mut again, mut further) = (Vec::new(), Vec::new());
            input.read_each(&ranges, &mut |at, bytes| {
                let at = wanted.get(at).copied().unwrap_or_default();
                let Some(member) = self.members.get(at).copied() else { return Ok(()) };
                let more = self.check_member(at, member, bytes, ahead, body);
                if let Some(range) = more.map_err(|e| self.blame(&member, e))? {
                    push(budget, &mut again, at)?;
                    push(budget, &mut further, range)?;
                }
                Ok(())
            })?;
            let held = |at: &Vec<usize>, ranges: &Vec<Range<u64>>| {
                bytes_of::<usize>(at.capacity()).saturating_add(bytes_of::<Range<u64>>(ranges.capacity()))
            };
            budget.give_back(held(&wanted, &ranges));
            (wanted, ranges) = (again, further);
        }
        self.check_descriptors(input, budget)?;
        self.check_overlaps(budget, |_, member| member.stored().end)
    }

    /// Checks a member. `bytes` begin with its header. Returns the range to read if more bytes are needed.
    /// The caller adds the member's name to errors.
    fn check_member(
        &mut self,
        at: usize,
        mut member: Member,
        bytes: &[u8],
        ahead: u64,
        body: &mut OnMember<'_>,
    ) -> Result<Option<Range<u64>>> {
        let (header, end) = (member.header, self.range.start);
        let more = |size: u64| Some(header..header.saturating_add(size).min(end));
        let start = match check_local(self, &member, bytes)? {
            Some(size) if size > bytes.len() as u64 => {
                let size = size.saturating_add(ahead.min(member.stored_size));
                if header.saturating_add(size) > end {
                    return Err(broken!(
                        Rule::ZipLocalHeader,
                        "its local header at {header} and its data pass the start of the directory at {end}"
                    ));
                }
                return Ok(more(size));
            }
            Some(size) => size,
            None => {
                return Err(broken!(
                    Rule::ZipLocalHeader,
                    "the archive's directory at {end} begins within its local header at {header}"
                ));
            }
        };
        let data = header.saturating_add(start);
        let data_end = data.checked_add(member.stored_size).filter(|data_end| *data_end <= end);
        if data_end.is_none() {
            return Err(broken!(
                Rule::ZipLocalHeader,
                "its {} bytes from {data} on pass the start of the directory at {end}",
                member.stored_size
            ));
        }
        member.data = data;
        if let Some(entry) = self.members.get_mut(at) {
            *entry = member;
        }
        let head = usize::try_from(start).ok().and_then(|start| bytes.get(start..)).unwrap_or_default();
        let max = usize::try_from(member.stored_size).unwrap_or(usize::MAX);
        let head = head.get(..max).unwrap_or(head);
        let needed = body(at, &member, head)?.map(|size| size.min(member.stored_size));
        let needed = needed.filter(|size| *size > head.len() as u64);
        Ok(needed.and_then(|size| more(start.saturating_add(size))))
    }

    /// Checks that the descriptors after the data of members agree with the directory.
    fn check_descriptors(&self, input: &mut dyn Input, budget: &Budget) -> Result<()> {
        let (mut wanted, mut ranges) = (Vec::new(), Vec::new());
        for member in self.members.iter().filter(|member| member.flags & DESCRIPTOR != 0) {
            let data_end = member.stored().end;
            let to = data_end.saturating_add(MAX_DESCRIPTOR_SIZE).min(self.range.start);
            push(budget, &mut wanted, member)?;
            push(budget, &mut ranges, data_end..to)?;
        }
        input.read_each(&ranges, &mut |at, bytes| {
            let Some(member) = wanted.get(at) else { return Ok(()) };
            let bare = bytes.strip_prefix(DATA_DESCRIPTOR);
            let agrees = |bytes: &[u8]| descriptor_agrees(member, bytes).unwrap_or(false);
            match bare.is_some_and(agrees) || agrees(bytes) {
                true => Ok(()),
                false => {
                    let at = member.stored().end;
                    let error = broken!(
                        Rule::ZipLocalHeader,
                        "its sizes or its CRC-32 in the directory differ from those after its data at {at}"
                    );
                    Err(self.blame(member, error))
                }
            }
        })?;
        budget.give_back(bytes_of::<&Member>(wanted.capacity()));
        budget.give_back(bytes_of::<Range<u64>>(ranges.capacity()));
        Ok(())
    }

    /// Checks that no two members share a byte. A member ends at `end_of` or later.
    fn check_overlaps(&self, budget: &Budget, end_of: impl Fn(&Directory, &Member) -> u64) -> Result<()> {
        let mut last = 0;
        let in_order = self.members.iter().all(|member| {
            let after = member.header >= last;
            last = end_of(self, member);
            after
        });
        if in_order {
            return Ok(());
        }
        let mut sorted = Vec::new();
        for member in &self.members {
            push(budget, &mut sorted, member)?;
        }
        sort_by_key(&mut sorted, |member| member.header);
        for pair in sorted.windows(2) {
            let [a, b] = pair else { continue };
            let end = end_of(self, a);
            if b.header < end {
                let error = broken!(
                    Rule::ZipOverlap,
                    "its bytes {} to {} reach into the header at {} of another",
                    a.header,
                    end,
                    b.header
                );
                return Err(self.blame(a, error));
            }
        }
        budget.give_back(bytes_of::<&Member>(sorted.capacity()));
        Ok(())
    }
}

/// Compares a local header with the directory, if the whole header is available. Returns its size, which may
/// be more than were given; `None` if the directory begins inside the fixed part.
fn check_local(directory: &Directory, member: &Member, bytes: &[u8]) -> Result<Option<u64>> {
    let Some(rest) = bytes.strip_prefix(LOCAL) else {
        let at = member.header;
        return Err(broken!(Rule::ZipLocalHeader, "there is no local header at {at}"));
    };
    let mut fields = Fields(rest);
    let Some(local) = Header::read(&mut fields) else { return Ok(None) };
    let name = directory.name(member);
    let size = LOCAL_SIZE.saturating_add(name.len() as u64).saturating_add(local.extra.into());
    if usize::from(local.name) != name.len() {
        return Err(differs("names"));
    }
    let parts = fields.take(local.name).and_then(|name| Some((name, fields.take(local.extra)?)));
    let Some((found, extra)) = parts else { return Ok(Some(size)) };
    if found != name {
        return Err(differs("names"));
    }
    if local.flags != member.flags {
        return Err(differs("flags"));
    }
    if local.method != member.method {
        return Err(differs("methods"));
    }
    let sizes = sizes(&local, extra)?;
    let is_later = member.flags & DESCRIPTOR != 0;
    let same = |local: u64, member: u64| local == member || (is_later && local == 0);
    if !same(sizes.0, member.size) || !same(sizes.1, member.stored_size) {
        return Err(differs("sizes"));
    }
    match same(local.crc32.into(), member.crc32.into()) {
        true => Ok(Some(size)),
        false => Err(differs("CRC-32s")),
    }
}

#[cold]
fn differs(what: &str) -> crate::error::Error {
    broken!(Rule::ZipLocalHeader, "the {what} in its local header and in the directory differ")
}

/// The size and the stored size in a local header. If its extra field has 64-bit sizes, these.
fn sizes(local: &Header, extra: &[u8]) -> Result<(u64, u64)> {
    let wide = zip64_item(extra).map_err(|what| broken!(Rule::ZipLocalHeader, "local header: {what}"))?;
    let mut wide = Fields(wide.unwrap_or_default());
    let missing = || broken!(Rule::ZipLocalHeader, "a size of 64 bits is missing in its local header");
    let mut number = |short: u32| match short {
        u32::MAX => wide.u64().ok_or_else(missing),
        short => Ok(short.into()),
    };
    Ok((number(local.size)?, number(local.stored_size)?))
}

/// Whether a data descriptor, with 32-bit or 64-bit sizes, agrees with the directory.
fn descriptor_agrees(member: &Member, bytes: &[u8]) -> Option<bool> {
    let mut fields = Fields(bytes);
    let is_crc = fields.u32()? == member.crc32;
    let mut wide = Fields(fields.0);
    let short = (u64::from(fields.u32()?), u64::from(fields.u32()?));
    let long = wide.u64().zip(wide.u64());
    let sizes = (member.stored_size, member.size);
    Some(is_crc && (short == sizes || long == Some(sizes)))
}
