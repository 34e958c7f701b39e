//! Finds the tensors and plain values of a pickle, with their key paths: keys and positions from the root on,
//! joined with ".".
//!
//! One buffer holds the path; a separate stack has the open lists and dicts. A value that several paths reach
//! is visited for each path, so the number of visits is limited.

use super::globals::Global;
use super::values::{CollectionKind, Heap, Id, Place, Value};
use crate::container::tables::{extend, push};
use crate::error::{broken, fail, try_format, Error, Quoted, Result, Rule};
use crate::memory::bytes_of;
use crate::model::sort::find_duplicate;

/// How often each item may be visited on average.
const VISITS_PER_ITEM: usize = 16;
/// How many visits are allowed even if there are only few items.
const MIN_VISITS: usize = 1 << 20;

/// Copying or comparing this many bytes of keys counts as a visit.
const KEY_BYTES_PER_VISIT: usize = 256;

/// Receives the contents of a tree with their paths: tensors, storages that no tensor uses, plain values,
/// lists and tuples of plain values, and values of foreign classes.
pub type OnValue<'v> = dyn FnMut(&[u8], Value) -> Result<()> + 'v;

/// A list or dict that is being visited.
struct Open {
    kind: CollectionKind,
    id: Id,
    place: Place,
    /// How many of its items were visited.
    passed: u32,
    /// The length of its path.
    path_size: usize,
}

/// Visits everything in a tree, depth first.
pub fn walk(heap: &Heap<'_>, root: Value, to: &mut OnValue<'_>) -> Result<()> {
    let (path, open, mut seen) = (Vec::new(), Vec::new(), Vec::new());
    (0..heap.chain_count()).try_for_each(|_| push(heap.budget(), &mut seen, Seen::Never))?;
    let mut walk = Walk { heap, path, open, seen, foreign: 0, visits_left: visit_limit(heap) };
    walk.visit(root, to)?;
    while let Some(value) = walk.next()? {
        walk.visit(value, to)?;
    }
    heap.budget().give_back(walk.path.capacity() as u64);
    heap.budget().give_back(bytes_of::<Open>(walk.open.capacity()));
    heap.budget().give_back(bytes_of::<Seen>(walk.seen.capacity()));
    Ok(())
}

fn visit_limit(heap: &Heap<'_>) -> usize {
    heap.item_count().saturating_mul(VISITS_PER_ITEM).max(MIN_VISITS)
}

/// Whether a value is an attribute.
fn is_plain(value: Value) -> bool {
    match value {
        Value::Global(global) => matches!(global, Global::Dtype(_)),
        Value::Foreign(_) | Value::Items(..) | Value::Storage(_) | Value::Tensor(_) | Value::Opaque => false,
        _ => true,
    }
}

/// Whether a list, tuple, dict or set was visited.
#[derive(Clone, Copy, PartialEq)]
enum Seen {
    Never,
    Before,
    Open,
}

struct Walk<'h, 'a> {
    heap: &'h Heap<'a>,
    path: Vec<u8>,
    open: Vec<Open>,
    /// The state of each list, tuple, dict and set.
    seen: Vec<Seen>,
    /// How many foreign values are open. Inside them, only tensors and storages are listed.
    foreign: u32,
    visits_left: usize,
}

impl Walk<'_, '_> {
    /// Visits a value at the current path. Its items are visited next.
    fn visit(&mut self, value: Value, to: &mut OnValue<'_>) -> Result<()> {
        match value {
            Value::Tensor(_) | Value::Storage(_) => {
                to(&self.path, value).map_err(|e| e.within(format_args!("object {}", Quoted(&self.path))))
            }
            Value::Items(CollectionKind::Dict, id) => self.enter(CollectionKind::Dict, id),
            Value::Items(CollectionKind::Foreign, id) => {
                if self.foreign == 0 {
                    to(&self.path, value)?;
                }
                self.enter(CollectionKind::Foreign, id)
            }
            Value::Items(kind, id) => {
                self.count_visits(self.heap.count(id))?;
                match self.heap.items(id).all(is_plain) {
                    true if self.foreign == 0 => to(&self.path, value),
                    true => Ok(()),
                    false => self.enter(kind, id),
                }
            }
            value if is_plain(value) || matches!(value, Value::Foreign(_)) => match self.foreign {
                0 => to(&self.path, value),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn enter(&mut self, kind: CollectionKind, id: Id) -> Result<()> {
        let seen = self.set_seen(id, Seen::Open);
        if seen == Seen::Open && (kind == CollectionKind::Foreign || self.foreign > 0) {
            return Ok(()); // its tensors are listed already
        }
        if seen == Seen::Open {
            return Err(fail!(Unsupported, "a list or dict holds itself, as at {}", Quoted(&self.path)));
        }
        if kind == CollectionKind::Dict && seen == Seen::Never {
            self.check_keys(id)?;
        }
        if kind == CollectionKind::Foreign {
            self.foreign = self.foreign.saturating_add(1);
        }
        let (place, path_size) = (self.heap.front(id), self.path.len());
        push(self.heap.budget(), &mut self.open, Open { kind, id, place, passed: 0, path_size })
    }

    /// Refuses a dict with a duplicate key: PyTorch shows only the last value, and no program writes such a
    /// dict.
    fn check_keys(&mut self, id: Id) -> Result<()> {
        let heap = self.heap;
        let (budget, mut keys, mut items) = (heap.budget(), Vec::new(), heap.items(id));
        while let (Some(key), Some(_)) = (items.next(), items.next()) {
            match key {
                Value::Text(span) => {
                    let text = heap.bytes(span);
                    self.count_key(text)?;
                    push(budget, &mut keys, (None, text))?;
                }
                Value::Int(number) => push(budget, &mut keys, (Some(number), &b""[..]))?,
                _ => {}
            }
        }
        let held = bytes_of::<(Option<i64>, &[u8])>(keys.capacity());
        let sorted = bytes_of::<&(Option<i64>, &[u8])>(keys.len());
        budget.charge(sorted, "keys that are compared")?;
        let twice = find_duplicate(&keys, Ord::cmp)?;
        budget.give_back(held.saturating_add(sorted));
        match twice {
            None => Ok(()),
            Some((number, text)) => {
                let (path, shown) = (Quoted(&self.path), Quoted(text));
                Err(match number {
                    Some(number) => {
                        broken!(Rule::NameDuplicate, "at {path}: a dict has the key {number} twice")
                    }
                    None => broken!(Rule::NameDuplicate, "at {path}: a dict has the key {shown} twice"),
                })
            }
        }
    }

    /// Sets the state of a list, tuple, dict or set. Returns the previous state.
    fn set_seen(&mut self, id: Id, seen: Seen) -> Seen {
        self.seen.get_mut(id as usize).map_or(Seen::Never, |place| std::mem::replace(place, seen))
    }

    /// The next item of the innermost open value, with its path.
    fn next(&mut self) -> Result<Option<Value>> {
        while let Some(open) = self.open.last_mut() {
            self.path.truncate(open.path_size);
            let Some(item) = self.heap.next(&mut open.place) else {
                let (id, kind) = (open.id, open.kind);
                self.set_seen(id, Seen::Before);
                self.open.pop();
                if kind == CollectionKind::Foreign {
                    self.foreign = self.foreign.saturating_sub(1);
                }
                continue;
            };
            if open.kind == CollectionKind::Foreign {
                self.count_visits(1)?;
                return Ok(Some(item)); // it has the path of the value itself
            }
            let (key, value) = match open.kind {
                CollectionKind::Dict => (item, self.heap.next(&mut open.place)),
                _ => (Value::Int(open.passed.into()), Some(item)),
            };
            open.passed = open.passed.saturating_add(1);
            self.count_visits(1)?;
            self.append_key(key)?;
            return Ok(value);
        }
        Ok(None)
    }

    fn count_visits(&mut self, count: u32) -> Result<()> {
        self.visits_left = self.visits_left.checked_sub(count as usize).ok_or_else(|| self.too_many())?;
        Ok(())
    }

    #[cold]
    fn too_many(&self) -> Error {
        let (limit, items) = (visit_limit(self.heap), self.heap.item_count());
        fail!(Limit, "its {items} items are reached in more than {limit} ways")
    }

    /// Whether the item's key is part of the path. Items of a foreign value have no key.
    fn has_path(&self) -> bool {
        self.open.len().saturating_sub(self.foreign as usize) > 1
    }

    fn append_key(&mut self, key: Value) -> Result<()> {
        let shown = match key {
            Value::Text(span) => return self.append_text(self.heap.bytes(span)),
            Value::Bool(true) => return self.append_text(b"True"),
            Value::Bool(false) => return self.append_text(b"False"),
            Value::None => return self.append_text(b"None"),
            Value::Int(n) => try_format(format_args!("{n}"))?,
            Value::BigInt(span) if span.size <= MAX_KEY_INTEGER => {
                try_format(format_args!("{}", wide(self.heap.bytes(span))))?
            }
            Value::Float(n) => float(n)?,
            other => match self.heap.foreign_name(other) {
                Some((module, name)) => return self.append_foreign_key(module, name),
                None => try_format(format_args!("<{}>", other.kind()))?,
            },
        };
        self.append_text(shown.as_bytes())
    }

    fn append_foreign_key(&mut self, module: &[u8], name: &[u8]) -> Result<()> {
        self.append_text(b"<")?;
        for part in [module, b".", name, b">"] {
            extend(self.heap.budget(), &mut self.path, part)?;
        }
        let copied = module.len().saturating_add(name.len()) / KEY_BYTES_PER_VISIT;
        self.count_visits(u32::try_from(copied).unwrap_or(u32::MAX))
    }

    /// Counts the bytes of a key, because a few bytes of a pickle can repeat a long key.
    fn count_key(&mut self, text: &[u8]) -> Result<()> {
        self.count_visits(u32::try_from(text.len() / KEY_BYTES_PER_VISIT).unwrap_or(u32::MAX))
    }

    fn append_text(&mut self, text: &[u8]) -> Result<()> {
        self.count_key(text)?;
        if self.has_path() {
            extend(self.heap.budget(), &mut self.path, b".")?;
        }
        extend(self.heap.budget(), &mut self.path, text)
    }
}

/// The largest integer in bytes that may be a key.
const MAX_KEY_INTEGER: u32 = 16;

/// An integer of at most `MAX_KEY_INTEGER` bytes.
fn wide(bytes: &[u8]) -> i128 {
    let sign = if bytes.last().is_some_and(|byte| *byte >= 0x80) { 0xff } else { 0 };
    let mut wide = [sign; MAX_KEY_INTEGER as usize];
    wide.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
    i128::from_le_bytes(wide)
}

/// Formats a float as Python does. An exponent has a sign and at least two digits.
fn float(number: f64) -> Result<String> {
    if number.is_nan() {
        return try_format(format_args!("nan"));
    }
    let text = try_format(format_args!("{number:?}"))?;
    match text.split_once('e').and_then(|(digits, e)| Some((digits, e.parse::<i32>().ok()?))) {
        Some((digits, exponent)) => try_format(format_args!("{digits}e{exponent:+03}")),
        None => Ok(text),
    }
}
