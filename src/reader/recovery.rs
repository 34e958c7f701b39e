//! Finds where a file without a valid footer ended earlier. Such a file has an append that was killed or is
//! running.
//!
//! An append of this library writes an [`AppendRecord`] into the file's head, which appended bytes cannot
//! reach. If there is a record, it decides, whatever the last bytes are. Files without a record (truncated,
//! or from writers that write none) are searched for positions where a complete file could end. Such a
//! position may be inside data that an attacker chose. It is accepted only if it is the only one in the file,
//! and all bytes that its manifest does not use are zero. In every other case, the caller has to decide. Some
//! containers keep every old end when they are appended to. They have no record, and the last position is
//! accepted.
//!
//! Whether the bytes before such a position are one CBOR map is checked without decoding. Only the heads of
//! items are read, up to the first one that cannot belong to the map.

use super::manifest::{self, read_manifest, unfinished, NameIndex};
use crate::container::cbor::{Cursor, Head};
use crate::container::{self, AppendRecord, EndSearch, Limits, HEADER_SIZE, HEAD_BYTES};
use crate::error::{broken, fail, Cause, Error, Result, Rule};
use crate::memory::{push, with_capacity, zeroed};
use crate::source::{for_each_chunk, ByteSource, READ_CHUNK};
use std::fmt;
use std::ops::Range;

/// A position where a complete file could end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// The offset just after the footer.
    pub end: u64,
    /// How many objects the file that ends there has.
    pub objects: u64,
}

/// How far back from the end of a file an open searches. A repair searches the whole file.
const SEARCH_LIMIT: u64 = 256 << 20;

/// Whether a failure can come from a broken tail: there is no footer, or the last bytes happen to be the
/// footer's magic without a valid size or manifest before them.
fn is_tail_error(error: &Error) -> bool {
    match error.cause() {
        Cause::Limit => true, // the last bytes may not be a manifest size at all
        Cause::Broken(rule) => matches!(
            rule,
            Rule::FooterMagic
                | Rule::ManifestEmpty
                | Rule::ManifestRange
                | Rule::RootType
                | Rule::KeyType
                | Rule::CborMalformed
                | Rule::CborTrailing
                | Rule::CborUtf8
                | Rule::CborDepth
                | Rule::CborDuplicateKey
                | Rule::VersionMissing
                | Rule::ObjectsMissing
                | Rule::Zt2FooterMagic
                | Rule::Zt2ManifestBounds
                | Rule::Zt2ManifestHash
                | Rule::Zt2ManifestTooLarge
        ),
        _ => false,
    }
}

/// Adds to a failure to open a file where the file ended earlier, if that can be found.
pub fn explain(source: &dyn ByteSource, limits: &Limits, error: Error) -> Error {
    if error.rule() == Some(Rule::UnfinishedAppend) {
        return recorded_end(source, limits).err().unwrap_or(error);
    }
    if !is_tail_error(&error) {
        return error;
    }
    let from = source.size().saturating_sub(SEARCH_LIMIT);
    match search(source, limits, from) {
        Ok(search) if search.count == 0 && search.is_complete => error,
        Ok(search) if search.count == 0 => {
            error.within(format_args!("zt_repair looks for where the file ended before an append"))
        }
        Ok(search) if from == 0 || search.last_wins => match search.decide(source, limits) {
            Ok(location) => {
                let rule = error.rule().filter(|_| search.last_wins);
                unfinished(location.end, source.size()).called(rule)
            }
            Err(e) => e,
        },
        Ok(search) => search.ambiguous("zt_repair looks for more further in front"),
        Err(e) => e, // the part that could not be read may be the end of a complete file
    }
}

/// Where to cut a file that cannot be opened because of `error`.
pub fn last_valid_end(source: &dyn ByteSource, limits: &Limits, error: Error) -> Result<Location> {
    if error.rule() == Some(Rule::UnfinishedAppend) {
        return recorded_end(source, limits)?.ok_or(error);
    }
    if !is_tail_error(&error) {
        return Err(error);
    }
    let search = search(source, limits, 0)?;
    if search.count == 0 && search.is_complete {
        return Err(error.within(format_args!("no complete file ends within it, so nothing can be cut back")));
    }
    search.decide(source, limits)
}

/// The append record in a file's head. The append is unfinished if the file does not end where the record
/// says.
pub fn record_of(source: &dyn ByteSource) -> Result<Option<AppendRecord>> {
    let mut head = [0; HEAD_BYTES];
    if source.size() < head.len() as u64 {
        return Ok(None);
    }
    source.read_at(0, &mut head)?;
    Ok(AppendRecord::find(&head))
}

/// Where a file with an append record ended before the append, checked to be complete up to there. `None`
/// without a record.
pub fn recorded_end(source: &dyn ByteSource, limits: &Limits) -> Result<Option<Location>> {
    let Some(AppendRecord { tail, tail_crc }) = record_of(source)? else { return Ok(None) };
    let mismatch = |why: fmt::Arguments<'_>| {
        broken!(
            Rule::UnfinishedAppend,
            "the append record says that the file of now {} bytes ended at byte {} before, but {why}",
            source.size(),
            tail.end
        )
    };
    if tail.end > source.size() {
        return Err(mismatch(format_args!("that is past its end")));
    }
    let prefix = Prefix { source, size: tail.end };
    let (frame, manifest) = read_manifest(&prefix, limits).map_err(|e| match e.cause() {
        Cause::Broken(_) => mismatch(format_args!("no complete file ends there: {e}")),
        _ => e,
    })?;
    if frame.manifest.start != tail.start {
        let found = frame.manifest.start;
        return Err(mismatch(format_args!("its manifest begins at {found}, not at {}", tail.start)));
    }
    let mut crc = 0;
    for_each_chunk(source, tail.clone(), &mut |chunk| {
        crc = crc32c::crc32c_append(crc, chunk);
        Ok(())
    })?;
    if crc != tail_crc {
        return Err(mismatch(format_args!(
            "the CRC-32C of its manifest is {crc:08x}, not {tail_crc:08x}: it is damaged, or another one"
        )));
    }
    Ok(Some(Location { end: tail.end, objects: manifest.objects.len() as u64 }))
}

/// Positions where a complete file could end.
struct Search {
    /// The first few positions, for messages.
    first: Vec<Location>,
    last: Option<Location>,
    /// Whether the last position is accepted even if there are several.
    last_wins: bool,
    count: u64,
    /// Whether the search has examined every position that looks like an end.
    is_complete: bool,
}

impl Search {
    const MAX_LISTED: usize = 8;

    fn push(&mut self, location: Location) -> Result<()> {
        self.count = self.count.saturating_add(1);
        self.last = Some(location);
        if self.first.len() < Self::MAX_LISTED {
            push(&mut self.first, location)?;
        }
        Ok(())
    }

    /// The position that is accepted, or an error if another one may be right.
    fn decide(&self, source: &dyn ByteSource, limits: &Limits) -> Result<Location> {
        match self.first.as_slice() {
            _ if !self.is_complete => Err(self.ambiguous("more places look like an end than can be checked")),
            _ if self.last_wins => self.last.ok_or_else(|| self.ambiguous("no place was found")),
            [only] => match is_zero_between(source, limits, only)? {
                true => Ok(*only),
                false => Err(self.ambiguous("bytes in front of it that belong to nothing are not zero")),
            },
            _ => Err(self.ambiguous("a tensor that holds .zt files has such places")),
        }
    }

    #[cold]
    fn ambiguous(&self, why: &str) -> Error {
        broken!(
            Rule::UnfinishedAppend,
            "the file has no valid end and no append record; a whole file could end {self}; {why}; \
             zt_repair cuts it where zt_repair_options.cut_at says"
        )
    }
}

impl fmt::Display for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.count != 1 || !self.is_complete {
            let least = if self.is_complete { "" } else { "at least " };
            write!(f, "at {least}{} places: ", self.count)?;
        }
        for (at, Location { end, objects }) in self.first.iter().enumerate() {
            let (comma, s) = (if at > 0 { ", " } else { "" }, if *objects == 1 { "" } else { "s" });
            write!(f, "{comma}at byte {end} ({objects} object{s})")?;
        }
        f.write_str(if self.count > self.first.len() as u64 { ", ..." } else { "" })
    }
}

/// Searches for positions where a complete file ends, after `from` and before the end of `source`. The time
/// is proportional to the file size, whatever the content.
fn search(source: &dyn ByteSource, limits: &Limits, from: u64) -> Result<Search> {
    let mut search = Search { first: Vec::new(), last: None, last_wins: false, count: 0, is_complete: true };
    let size = source.size();
    let Some(ends) = end_search_of(source)? else { return Ok(search) };
    search.last_wins = ends.last_wins;
    // How much all candidates together may read.
    let mut budget = ByteBudget(size.saturating_mul(8).saturating_add(16 << 20));
    let mut buffer = zeroed(usize::try_from(size).unwrap_or(READ_CHUNK).min(READ_CHUNK))?;
    let mut start = from.max(HEADER_SIZE);
    while size.saturating_sub(start) > ends.size as u64 {
        let length = usize::try_from(size.saturating_sub(start)).unwrap_or(READ_CHUNK).min(buffer.len());
        let window = buffer.get_mut(..length).unwrap_or_default();
        source.read_at(start, window)?;
        ends.find(window, start, &mut |manifest, end| {
            if end >= size || !search.is_complete {
                return Ok(());
            }
            match whole_file_at(source, limits, manifest, end, &mut budget)? {
                Some(Some(location)) => search.push(location)?,
                Some(None) => {}
                None => search.is_complete = false,
            }
            Ok(())
        })?;
        if !search.is_complete {
            return Ok(search);
        }
        start = start.saturating_add((length as u64).saturating_sub((ends.size as u64).saturating_sub(1)));
    }
    Ok(search)
}

/// Whether a complete file ends at `end` with that manifest. The outer `None` means that the budget ran out.
fn whole_file_at(
    source: &dyn ByteSource,
    limits: &Limits,
    manifest: Range<u64>,
    end: u64,
    budget: &mut ByteBudget,
) -> Result<Option<Option<Location>>> {
    match is_one_map(source, manifest.clone(), budget)? {
        None => return Ok(None),
        Some(false) => return Ok(Some(None)),
        // Decoding takes more than reading heads, so it costs twice as much.
        Some(true) if !budget.spend(manifest.end.saturating_sub(manifest.start).saturating_mul(2)) => {
            return Ok(None)
        }
        Some(true) => {}
    }
    let prefix = Prefix { source, size: end };
    let duplicate = |_, _| Err(broken!(Rule::NameDuplicate, "a name is there twice"));
    let found = read_manifest(&prefix, limits).and_then(|(_, manifest)| {
        NameIndex::build(&manifest, duplicate).map(|_| manifest.objects.len() as u64)
    });
    match found {
        Ok(objects) => Ok(Some(Some(Location { end: prefix.size, objects }))),
        // The part that could not be read may be the end.
        Err(e)
            if matches!(
                e.cause(),
                Cause::Io | Cause::NoFile | Cause::OutOfMemory | Cause::Limit | Cause::Cancelled
            ) =>
        {
            Err(e)
        }
        Err(_) => Ok(Some(None)),
    }
}

/// Whether all bytes before that end that its manifest does not use are zero.
fn is_zero_between(source: &dyn ByteSource, limits: &Limits, location: &Location) -> Result<bool> {
    let prefix = Prefix { source, size: location.end };
    let (frame, manifest) = read_manifest(&prefix, limits)?;
    let mut zero = true;
    for gap in manifest::gaps(manifest.components.iter(), &[], &frame)? {
        for_each_chunk(source, gap, &mut |chunk| {
            zero &= chunk.iter().all(|b| *b == 0);
            Ok(())
        })?;
    }
    Ok(zero)
}

/// How to search for ends, by the container that the file's first bytes show.
fn end_search_of(source: &dyn ByteSource) -> Result<Option<&'static EndSearch>> {
    let mut head = [0; HEADER_SIZE as usize];
    if source.size() < HEADER_SIZE {
        return Ok(None);
    }
    source.read_at(0, &mut head)?;
    Ok(container::end_search(&head))
}

/// Checks that a file may be cut to `end`: it is long enough, and no append record gives another end.
pub fn check_cut(source: &dyn ByteSource, limits: &Limits, end: u64) -> Result<()> {
    let size = source.size();
    if end > size {
        return Err(fail!(InvalidArgument, "cut_at is {end}, past the end of the file of {size} bytes"));
    }
    match recorded_end(source, limits) {
        Ok(Some(recorded)) if recorded.end != end => Err(fail!(
            InvalidArgument,
            "cut_at is {end}, but by the append record the file ended at byte {} before",
            recorded.end
        )),
        Err(e) if e.cause() == Cause::Cancelled => Err(e),
        _ => Ok(()), // a record that does not fit the file is ignored
    }
}

/// The first bytes of a source, as if the file ended there.
pub struct Prefix<'a> {
    pub source: &'a dyn ByteSource,
    pub size: u64,
}

impl ByteSource for Prefix<'_> {
    fn size(&self) -> u64 {
        self.size
    }

    fn slice(&self, range: Range<u64>) -> Option<&[u8]> {
        self.source.slice(range)
    }

    fn read_at(&self, offset: u64, dst: &mut [u8]) -> Result<()> {
        self.source.read_at(offset, dst)
    }
}

/// How many bytes may still be read. The reads are limited because the file's content decides how many there
/// are.
pub(super) struct ByteBudget(pub u64);

impl ByteBudget {
    /// Takes `bytes` from the budget. Returns false if less than that is left.
    pub fn spend(&mut self, bytes: u64) -> bool {
        let left = self.0.checked_sub(bytes);
        self.0 = left.unwrap_or(0);
        left.is_some()
    }
}

/// The deepest nesting of arrays and maps. Attributes may have 64 levels.
const MAX_DEPTH: usize = 128;

/// Whether `range` is exactly one well-formed map; `None` if the budget ran out.
pub(super) fn is_one_map(
    source: &dyn ByteSource,
    range: Range<u64>,
    budget: &mut ByteBudget,
) -> Result<Option<bool>> {
    let mut heads =
        Heads { source, position: range.start, end: range.end, window: Vec::new(), window_start: 0, budget };
    // For each open array or map, the number of items left; `None` for indefinite length.
    let mut open: Vec<Option<u64>> = with_capacity(MAX_DEPTH)?;
    loop {
        let head = match heads.next()? {
            Next::Head(head) => head,
            Next::Malformed => return Ok(Some(false)),
            Next::OverBudget => return Ok(None),
        };
        if open.is_empty() && !matches!(head, Head::Map(_)) {
            return Ok(Some(false));
        }
        let items = match head {
            Head::Bytes(Some(length)) | Head::Text(Some(length)) => {
                if !heads.skip(length) {
                    return Ok(Some(false));
                }
                Some(0)
            }
            Head::Bytes(None) | Head::Text(None) => None,
            Head::Array(count) => count,
            Head::Map(pairs) => pairs.map(|pairs| pairs.saturating_mul(2)),
            Head::Tag(_) => continue, // the tagged item follows
            Head::Break => match open.pop() {
                Some(None) => Some(0), // a break ends an array or map, which is one item of the outer one
                _ => return Ok(Some(false)),
            },
            Head::Unsigned(_) | Head::Negative(_) | Head::Simple(_) | Head::Float(_) => Some(0),
        };
        if items != Some(0) {
            if open.len() == MAX_DEPTH {
                return Ok(Some(false));
            }
            open.push(items); // within what was reserved
            continue;
        }
        // An item is complete. Close the arrays and maps that end with it.
        while let Some(Some(left)) = open.last_mut() {
            *left = left.saturating_sub(1);
            if *left > 0 {
                break;
            }
            open.pop();
        }
        if open.is_empty() {
            return Ok(Some(heads.position == heads.end));
        }
    }
}

enum Next {
    Head(Head),
    Malformed,
    OverBudget,
}

/// Reads heads through a window that starts small: most candidates for a map are not maps.
struct Heads<'a> {
    source: &'a dyn ByteSource,
    position: u64,
    end: u64,
    window: Vec<u8>,
    window_start: u64,
    budget: &'a mut ByteBudget,
}

impl Heads<'_> {
    const FIRST_READ: usize = 256;
    const MAX_READ: usize = 64 << 10;

    fn skip(&mut self, length: u64) -> bool {
        let to = self.position.checked_add(length).filter(|to| *to <= self.end);
        self.position = to.unwrap_or(self.position);
        to.is_some()
    }

    fn next(&mut self) -> Result<Next> {
        const MAX_HEAD_SIZE: u64 = 9;
        let left = self.end.saturating_sub(self.position);
        let in_window = self.position.checked_sub(self.window_start);
        let in_window = in_window.and_then(|from| self.window.get(usize::try_from(from).ok()?..));
        if in_window.is_none_or(|w| (w.len() as u64) < left.min(MAX_HEAD_SIZE)) {
            let size = self.window.len().saturating_mul(4).clamp(Self::FIRST_READ, Self::MAX_READ);
            let size = usize::try_from(left).unwrap_or(size).min(size);
            if !self.budget.spend(Self::FIRST_READ.max(size) as u64) {
                return Ok(Next::OverBudget);
            }
            if self.window.len() != size {
                self.window = zeroed(size)?;
            }
            self.source.read_at(self.position, &mut self.window)?;
            self.window_start = self.position;
        }
        let from = usize::try_from(self.position.saturating_sub(self.window_start)).unwrap_or(usize::MAX);
        let mut cursor = Cursor::new(self.window.get(from..).unwrap_or_default(), self.position);
        let Ok(head) = cursor.head() else { return Ok(Next::Malformed) };
        self.position = self.position.saturating_add(cursor.position() as u64);
        Ok(Next::Head(head))
    }
}
