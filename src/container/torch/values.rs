//! The values of a pickle, in flat tables. They refer to each other by position.
//!
//! None of them is a Python object. Lists, tuples, dicts and sets are chains of items in one table, so adding
//! an item always costs the same. Texts are ranges of the pickle.

use super::globals::{Bare, Element, Global};
use crate::container::tables::push;
use crate::container::zip::Method;
use crate::error::{fail, Cause, Error, Quoted, Result, Rule};
use crate::memory::{bytes_of, Budget};
use crate::model::component::Checksum;
use crate::model::manifest::table_position;
use std::ops::Range;

/// Some bytes of the pickle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub start: u32,
    pub size: u32,
}

/// A position in one of the tables.
pub type Id = u32;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    None,
    Bool(bool),
    Int(i64),
    /// An integer that does not fit: its bytes in two's complement, least significant first.
    BigInt(Span),
    Float(f64),
    /// UTF-8 text that may have unpaired surrogates: Python's "surrogatepass".
    Text(Span),
    Bytes(Span),
    /// Bytes that the pickle stores as a text of the characters U+0000 to U+00FF.
    Latin1(Span),
    /// A function or class with a known meaning.
    Global(Global),
    /// Another function or class. Only its name is kept.
    Foreign(Id),
    /// A list, tuple, dict or set, or a foreign function or class with its arguments.
    Items(CollectionKind, Id),
    /// The bytes of tensors.
    Storage(Id),
    Tensor(Id),
    /// A value that is allowed but ignored: a device, a complex number.
    Opaque,
}

/// The kinds of values with items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectionKind {
    List,
    /// Also `torch.Size`.
    Tuple,
    /// Its items are key, value, key, value.
    Dict,
    Set,
    /// The value of a foreign function or class. Its items are the function, its arguments, and what was
    /// added to the result.
    Foreign,
}

impl Value {
    /// Its name in messages.
    pub fn kind(self) -> &'static str {
        match self {
            Value::None => "None",
            Value::Bool(_) => "a bool",
            Value::Int(_) | Value::BigInt(_) => "an integer",
            Value::Float(_) => "a float",
            Value::Text(_) => "a text",
            Value::Bytes(_) | Value::Latin1(_) => "bytes",
            Value::Global(_) => "a function or class",
            Value::Items(CollectionKind::List, _) => "a list",
            Value::Items(CollectionKind::Tuple, _) => "a tuple",
            Value::Items(CollectionKind::Dict, _) => "a dict",
            Value::Items(CollectionKind::Set, _) => "a set",
            Value::Foreign(_) | Value::Items(CollectionKind::Foreign, _) => "of a foreign class",
            Value::Storage(_) => "a storage",
            Value::Tensor(_) => "a tensor",
            Value::Opaque => "a device or a complex number",
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Chain {
    first: Id,
    last: Id,
    count: u32,
}

#[derive(Clone, Copy, Debug)]
struct Item {
    value: Value,
    next: Id,
}

/// A storage that the pickle uses.
#[derive(Clone, Copy, Debug)]
pub struct Storage {
    /// The type of its elements; `None` if it counts bytes.
    pub element: Option<Element>,
    /// Its class, if that is unknown.
    pub foreign: Option<Id>,
    /// The name of its record.
    pub key: Span,
    /// How many elements, or bytes.
    pub count: u64,
}

impl Storage {
    /// The size in bytes of what it counts; `None` if that is unknown.
    pub fn unit(&self) -> Option<u64> {
        self.element.map_or(Some(1), Element::stored_size)
    }
}

/// The bytes of a storage in the file.
pub struct Record {
    pub stored: Range<u64>,
    pub method: Method,
    /// The size of the decoded bytes.
    pub size: u64,
    /// The file's checksum of the decoded bytes, if it has one.
    pub checksum: Option<Checksum>,
}

#[derive(Clone, Copy, Debug)]
pub struct Tensor {
    /// The storage with its bytes; `None` if it is not read.
    pub storage: Option<Id>,
    /// The type of its elements; `None` if the pickle does not give it.
    pub element: Option<Element>,
    /// The position of its first element in the storage, in elements.
    pub offset: u64,
    /// The position of its dimensions in the table of numbers. Its strides follow.
    pub numbers: Id,
    pub rank: u32,
    /// Why it is not read.
    pub unreadable: Option<Reason>,
}

/// Why a tensor is not read. It is the name that is listed instead of its dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A name that this library defines.
    Known(&'static str),
    /// The name of an unknown class, dtype or function.
    Foreign(Id),
}

pub struct Heap<'a> {
    bytes: &'a [u8],
    budget: &'a Budget,
    chains: Vec<Chain>,
    items: Vec<Item>,
    storages: Vec<Storage>,
    tensors: Vec<Tensor>,
    numbers: Vec<u64>,
    /// The modules and names of foreign functions and classes.
    foreign: Vec<(Span, Span)>,
    /// Whether there are [`CollectionKind::Foreign`] values.
    has_foreign: bool,
}

impl<'a> Heap<'a> {
    /// An empty heap for a pickle. Positions have 32 bits.
    pub fn new(bytes: &'a [u8], budget: &'a Budget) -> Result<Heap<'a>> {
        if u32::try_from(bytes.len()).is_err() {
            return Err(fail!(Limit, "the pickle of {} bytes passes 4 GiB", bytes.len()));
        }
        let (chains, items) = (Vec::new(), Vec::new());
        let (storages, tensors, numbers) = (Vec::new(), Vec::new(), Vec::new());
        let foreign = Vec::new();
        let has_foreign = false;
        Ok(Heap { bytes, budget, chains, items, storages, tensors, numbers, foreign, has_foreign })
    }

    /// The budget to which its tables are charged.
    pub fn budget(&self) -> &'a Budget {
        self.budget
    }

    pub fn bytes(&self, span: Span) -> &'a [u8] {
        let start = span.start as usize;
        self.bytes.get(start..start.saturating_add(span.size as usize)).unwrap_or_default()
    }

    pub fn text(&self, value: Value) -> Option<&'a [u8]> {
        match value {
            Value::Text(span) => Some(self.bytes(span)),
            _ => None,
        }
    }

    /// Makes an empty list, tuple, dict or set.
    pub fn make(&mut self, kind: CollectionKind) -> Result<Id> {
        self.has_foreign |= kind == CollectionKind::Foreign;
        add(self.budget, &mut self.chains, Chain::default())
    }

    pub fn empty(&mut self, kind: CollectionKind) -> Result<Value> {
        self.make(kind).map(|id| Value::Items(kind, id))
    }

    pub fn append(&mut self, id: Id, value: Value) -> Result<()> {
        let at = add(self.budget, &mut self.items, Item { value, next: 0 })?;
        let Some(chain) = self.chains.get_mut(id as usize) else { return Ok(()) };
        match chain.count {
            0 => chain.first = at,
            _ => {
                if let Some(last) = self.items.get_mut(chain.last as usize) {
                    last.next = at;
                }
            }
        }
        chain.last = at;
        chain.count = chain.count.saturating_add(1);
        Ok(())
    }

    /// Makes a list, tuple, dict or set with the current items of `from`.
    pub fn copy(&mut self, kind: CollectionKind, from: Id) -> Result<Value> {
        let id = self.make(kind)?;
        let mut place = self.front(from);
        while let Some(item) = self.next(&mut place) {
            self.append(id, item)?;
        }
        Ok(Value::Items(kind, id))
    }

    /// Stores the name of a function or class without a known meaning.
    pub fn add_foreign(&mut self, module: Span, name: Span) -> Result<Value> {
        add(self.budget, &mut self.foreign, (module, name)).map(Value::Foreign)
    }

    /// The module and name of a foreign function or class, or of the one that would make a value.
    pub fn foreign_name(&self, value: Value) -> Option<(&'a [u8], &'a [u8])> {
        let function = match value {
            Value::Items(CollectionKind::Foreign, id) => self.items(id).next()?,
            other => other,
        };
        let Value::Foreign(id) = function else { return None };
        let (module, name) = self.foreign.get(id as usize)?;
        Some((self.bytes(*module), self.bytes(*name)))
    }

    pub fn shown(&self, reason: Reason) -> ShownReason<'a> {
        let (module, name) = match reason {
            Reason::Known(name) => (&b""[..], name.as_bytes()),
            Reason::Foreign(id) => self.foreign_name(Value::Foreign(id)).unwrap_or((b"torch", b"unknown")),
        };
        ShownReason { module, name }
    }

    /// The first foreign function or class in the pickle. If there is only a value that is not built here, a
    /// value without a name.
    pub fn first_foreign(&self) -> Option<Value> {
        match self.foreign.is_empty() {
            true => self.has_foreign.then_some(Value::Opaque),
            false => Some(Value::Foreign(0)),
        }
    }

    pub fn last(&self, id: Id) -> Option<Value> {
        let chain = self.chains.get(id as usize).filter(|chain| chain.count > 0)?;
        self.items.get(chain.last as usize).map(|item| item.value)
    }

    pub fn count(&self, id: Id) -> u32 {
        self.chains.get(id as usize).map_or(0, |chain| chain.count)
    }

    /// The items, front to back.
    pub fn items(&self, id: Id) -> impl Iterator<Item = Value> + use<'_, 'a> {
        let mut place = self.front(id);
        std::iter::from_fn(move || self.next(&mut place))
    }

    pub fn front(&self, id: Id) -> Place {
        let chain = self.chains.get(id as usize).copied().unwrap_or_default();
        Place { next: chain.first, left: chain.count }
    }

    pub fn next(&self, place: &mut Place) -> Option<Value> {
        place.left = place.left.checked_sub(1)?;
        let item = self.items.get(place.next as usize)?;
        place.next = item.next;
        Some(item.value)
    }

    /// The items, if there are at most `N`.
    pub fn array<const N: usize>(&self, id: Id) -> Option<([Value; N], usize)> {
        let mut found = [Value::None; N];
        let count = self.count(id) as usize;
        if count > N {
            return None;
        }
        found.iter_mut().zip(self.items(id)).for_each(|(place, item)| *place = item);
        Some((found, count))
    }

    /// The number of items in all lists, tuples, dicts and sets.
    pub fn item_count(&self) -> usize {
        self.items.len()
    }

    pub fn chain_count(&self) -> usize {
        self.chains.len()
    }

    pub fn add_storage(&mut self, storage: Storage) -> Result<Value> {
        add(self.budget, &mut self.storages, storage).map(Value::Storage)
    }

    /// All storages. If several tensors use one, it is there several times.
    pub fn storages(&self) -> &[Storage] {
        &self.storages
    }

    pub fn storage(&self, id: Id) -> Option<&Storage> {
        self.storages.get(id as usize)
    }

    pub fn add_tensor(&mut self, tensor: Tensor) -> Result<Value> {
        add(self.budget, &mut self.tensors, tensor).map(Value::Tensor)
    }

    pub fn tensor(&self, id: Id) -> Option<&Tensor> {
        self.tensors.get(id as usize)
    }

    /// Stores dimensions or strides. Returns the position of the first.
    pub fn add_numbers(&mut self, numbers: &[u64]) -> Result<Id> {
        let at = table_position(self.numbers.len())?;
        numbers.iter().try_for_each(|number| push(self.budget, &mut self.numbers, *number))?;
        Ok(at)
    }

    /// A tensor's dimensions and strides.
    pub fn shape(&self, tensor: &Tensor) -> (&[u64], &[u64]) {
        let rank = tensor.rank as usize;
        let both = self.numbers.get(tensor.numbers as usize..).unwrap_or_default();
        let (shape, behind) = both.split_at_checked(rank).unwrap_or_default();
        (shape, behind.get(..rank).unwrap_or_default())
    }
}

/// Appends to a table. Returns the position.
fn add<T>(budget: &Budget, table: &mut Vec<T>, entry: T) -> Result<Id> {
    let id = table_position(table.len())?;
    push(budget, table, entry).map(|()| id)
}

/// Returns the memory of the tables to the budget.
impl Drop for Heap<'_> {
    fn drop(&mut self) {
        let sizes = [
            bytes_of::<Chain>(self.chains.capacity()),
            bytes_of::<Item>(self.items.capacity()),
            bytes_of::<Storage>(self.storages.capacity()),
            bytes_of::<Tensor>(self.tensors.capacity()),
            bytes_of::<u64>(self.numbers.capacity()),
            bytes_of::<(Span, Span)>(self.foreign.capacity()),
        ];
        sizes.into_iter().for_each(|size| self.budget.give_back(size));
    }
}

/// A position in a chain that remains valid while other chains are used.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    next: Id,
    left: u32,
}

pub struct ShownReason<'a> {
    module: &'a [u8],
    name: &'a [u8],
}

impl std::fmt::Display for ShownReason<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        /// The longest name that is shown whole, because each such tensor has a copy.
        const MAX_WHOLE: usize = 100;
        let (module, name) = (self.module, self.name);
        match module.len().saturating_add(name.len()) > MAX_WHOLE {
            _ if module.is_empty() => write!(f, "{}", Bare(name)),
            false => write!(f, "{}.{}", Bare(module), Bare(name)),
            true => write!(f, "{}.{}", Quoted(module), Quoted(name)), // shortened in the middle
        }
    }
}

/// The error for a value of the wrong kind.
#[cold]
pub fn wrong(what: std::fmt::Arguments<'_>) -> Error {
    Error::new(Cause::Broken(Rule::PickleType), what)
}
