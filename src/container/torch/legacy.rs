//! Checkpoints from before PyTorch 1.6: five pickles one after the other, then the storages.
//!
//! The pickles are a magic number, a version, facts about the system, the object, and the keys of the
//! storages in their order in the file. A storage is its number of elements (u64), then its bytes, without
//! alignment.

use super::decode::manifest;
use super::pickle::{read_first, Pickle, Stop};
use super::values::{wrong, CollectionKind, Reason, Record, Storage, Value};
use crate::container::frame::{Frame, Input, Limits, TRAILING_HELP};
use crate::container::tables::push;
use crate::container::zip::Method;
use crate::error::{broken, fail, Quoted, Result, Rule};
use crate::memory::{bytes_of, Budget};
use crate::model::manifest::Manifest;
use crate::model::sort::sort_by;
use std::ops::Range;

/// The size of the first window. Each next window is `GROWTH` times as large.
const FIRST_READ: u64 = 64 << 10;
const GROWTH: u64 = 4;
/// The only version that exists.
const VERSION: i64 = 1001;
/// The size of the number of elements before a storage.
const COUNT_SIZE: u64 = 8;

/// Reads a file that was detected by its magic number.
pub fn decode(
    frame: &mut Frame,
    input: &mut dyn Input,
    limits: &Limits,
    budget: &Budget,
) -> Result<Manifest> {
    let reach = input.file_size().min(limits.manifest_size);
    let mut end = FIRST_READ.min(reach);
    let (manifest, counts) = loop {
        budget.raise(limits.memory_for(end)); // the limit grows with what was read
        match read_front(input.read(0..end)?, frame, limits, budget) {
            Ok(found) => break found,
            Err(Stop { needs: Some(least), .. }) if least <= reach => {
                end = end.saturating_mul(GROWTH).max(least).min(reach);
            }
            Err(Stop { needs: Some(least), .. }) if least <= frame.file_size => {
                return Err(fail!(
                    Limit,
                    "its pickles have {least} bytes or more, above the limit of {reach}"
                ));
            }
            Err(stop) => return Err(stop.error),
        }
    };
    input.read_each(&counts.places, &mut |at, bytes| {
        let found = bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        match counts.expected.get(at) {
            Some(expected) if *expected != found => {
                let at = counts.places.get(at).map_or(0, |place| place.start);
                Err(broken!(
                    Rule::TorchStorage,
                    "the storage at byte {at} has {found} elements, but its tensors announce {expected}"
                ))
            }
            _ => Ok(()),
        }
    })?;
    budget.give_back(bytes_of::<Range<u64>>(counts.places.capacity()));
    budget.give_back(bytes_of::<u64>(counts.expected.capacity()));
    Ok(manifest)
}

/// Reads the pickles. They begin in `bytes`, and may end there.
fn read_front(
    bytes: &[u8],
    frame: &mut Frame,
    limits: &Limits,
    budget: &Budget,
) -> std::result::Result<(Manifest, Counts), Stop> {
    let mut at = 0;
    let mut next = || {
        let pickle = read_first(bytes.get(at..).unwrap_or_default(), budget).map_err(|stop| {
            let error = stop.error.within(format_args!("the pickle at byte {at}"));
            Stop { error, needs: stop.needs.map(|needs| needs.saturating_add(at as u64)) }
        })?;
        at = at.saturating_add(pickle.size);
        Ok::<Pickle<'_>, Stop>(pickle)
    };
    let _magic = next()?;
    check_version(&next()?)?;
    check_system(&next()?)?;
    let object = next()?;
    let keys = next()?;
    (frame.manifest, frame.data) = (0..at as u64, at as u64..frame.file_size);
    let mut places = announced(&object, budget)?;
    let counts = find(&mut places, &object, &keys, frame, limits, budget)?;
    let record = |key: &[u8], _: &Storage| record(&places, key);
    let start = at.saturating_sub(keys.size).saturating_sub(object.size);
    let manifest = manifest(&object, &record, false, limits, budget)
        .map_err(|e| e.within(format_args!("the pickle at byte {start}")))?;
    budget.give_back(bytes_of::<Place<'_>>(places.capacity()));
    Ok((manifest, counts))
}

fn check_version(version: &Pickle<'_>) -> Result<()> {
    match version.root {
        Value::Int(VERSION) => Ok(()),
        Value::Int(other) => {
            Err(fail!(Unsupported, "its protocol version is {other}; {VERSION} is read here"))
        }
        other => Err(wrong(format_args!("its protocol version is {}, not an integer", other.kind()))),
    }
}

/// Refuses files from big-endian machines, because versions of PyTorch disagree on their content.
fn check_system(system: &Pickle<'_>) -> Result<()> {
    let heap = &system.heap;
    let Value::Items(CollectionKind::Dict, id) = system.root else {
        return Err(wrong(format_args!("the facts of the system are {}, not a dict", system.root.kind())));
    };
    let mut items = heap.items(id);
    while let (Some(key), Some(value)) = (items.next(), items.next()) {
        if heap.text(key) == Some(b"little_endian") && value != Value::Bool(true) {
            return Err(fail!(
                Unsupported,
                "a big-endian machine wrote it; of files before PyTorch 1.6 only little-endian ones are read"
            ));
        }
    }
    Ok(())
}

/// A storage that the object uses, and its bytes in the file.
struct Place<'p> {
    key: &'p [u8],
    storage: Storage,
    stored: Option<Range<u64>>,
}

/// For each storage, the position of the number of elements in the file, and the number that the object
/// declares.
#[derive(Default)]
struct Counts {
    places: Vec<Range<u64>>,
    expected: Vec<u64>,
}

/// The storages that the object uses, each once, sorted by key.
fn announced<'p>(object: &Pickle<'p>, budget: &Budget) -> Result<Vec<Place<'p>>> {
    let mut places = Vec::new();
    for storage in object.heap.storages() {
        let key = object.heap.bytes(storage.key);
        push(budget, &mut places, Place { key, storage: *storage, stored: None })?;
    }
    sort_by(&mut places, |a, b| a.key.cmp(b.key));
    let what = |place: &Place<'_>| (place.storage.element, place.storage.count);
    let differ = |pair: &&[Place<'_>]| matches!(pair, [a, b] if a.key == b.key && what(a) != what(b));
    if let Some([place, _]) = places.windows(2).find(differ) {
        let key = Quoted(place.key);
        return Err(broken!(Rule::TorchStorage, "the storage {key} has two classes or sizes"));
    }
    places.dedup_by_key(|place| place.key);
    Ok(places)
}

fn position(places: &[Place<'_>], key: &[u8]) -> Option<usize> {
    places.binary_search_by(|place| place.key.cmp(key)).ok()
}

/// Finds the bytes of all storages: after the pickles, in the order of the keys.
fn find(
    places: &mut [Place<'_>],
    object: &Pickle<'_>,
    keys: &Pickle<'_>,
    frame: &Frame,
    limits: &Limits,
    budget: &Budget,
) -> Result<Counts> {
    let mut counts = Counts::default();
    let Value::Items(CollectionKind::List, list) = keys.root else {
        return Err(wrong(format_args!("the keys of its storages are {}, not a list", keys.root.kind())));
    };
    let mut at = frame.data.start;
    for key in keys.heap.items(list) {
        let Some(key) = keys.heap.text(key) else {
            return Err(wrong(format_args!("the key of a storage is {}, not a text", key.kind())));
        };
        let shown = Quoted(key);
        let place = position(places, key).and_then(|at| places.get_mut(at));
        let place = place.filter(|place| place.stored.is_none()).ok_or_else(|| {
            broken!(Rule::TorchStorage, "the storage {shown} is listed twice, or no tensor uses it")
        })?;
        let Storage { foreign, count, .. } = place.storage;
        let unit = place.storage.unit().ok_or_else(|| {
            let class = object.heap.shown(foreign.map_or(Reason::Known("torch.unknown"), Reason::Foreign));
            fail!(
                Unsupported,
                "the storage {shown} has the class {class}, whose elements have an unknown size, so the \
                 storages behind it cannot be found"
            )
        })?;
        let start = at.saturating_add(COUNT_SIZE);
        let end = count.checked_mul(unit).and_then(|size| start.checked_add(size));
        let end = end.filter(|end| *end <= frame.file_size).ok_or_else(|| {
            let size = frame.file_size;
            broken!(
                Rule::TorchStorage,
                "the storage {shown} at byte {at} has {count} elements of {unit} bytes, but the file has \
                 {size} bytes"
            )
        })?;
        place.stored = Some(start..end);
        push(budget, &mut counts.places, at..start)?;
        push(budget, &mut counts.expected, count)?;
        at = end;
    }
    match frame.file_size.saturating_sub(at) {
        behind if behind > 0 && !limits.allow_trailing => Err(broken!(
            Rule::TorchStorage,
            "{behind} bytes follow the last storage, which ends at byte {at}; {TRAILING_HELP}"
        )),
        _ => Ok(counts),
    }
}

fn record(places: &[Place<'_>], key: &[u8]) -> Result<Record> {
    let place = position(places, key).and_then(|at| places.get(at));
    let stored = place
        .and_then(|place| place.stored.clone())
        .ok_or_else(|| broken!(Rule::TorchStorage, "the file does not list the storage {}", Quoted(key)))?;
    let size = stored.end.saturating_sub(stored.start);
    Ok(Record { stored, method: Method::Stored, size, checksum: None })
}
