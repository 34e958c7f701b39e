//! Reads the keys and values of a file into its attribute map, in as many steps as it takes to get their
//! bytes. Order and stated types are kept. Arrays in arrays are on a list, so the depth of the stack does not
//! depend on the file.
//!
//! Also reads llama.cpp's keys of a file that is one of several: `split.no`, `split.count`,
//! `split.tensors.count`.

use super::cursor::{Cursor, Read, Stop, ValueType};
use crate::container::interface::Split;
use crate::error::{broken, Quoted, Result, Rule};
use crate::memory::{bytes_of, with_capacity, Budget};
use crate::model::dtype::Dtype;
use crate::model::manifest::Manifest;
use crate::model::sort::find_duplicate;
use crate::model::text::Position;
use crate::model::value::{Tape, ValueBuilder};

/// The deepest nesting of arrays.
///
/// cbindgen:ignore
pub const MAX_DEPTH: usize = 8;

/// The alignment of the data if no key gives it.
pub(super) const DEFAULT_ALIGNMENT: u64 = 32;
const MAX_ALIGNMENT: u32 = 1 << 20;

/// An array whose elements follow.
#[derive(Clone, Copy)]
struct OpenArray {
    element: ValueType,
    left: u64,
}

/// The keys that were not read yet.
pub struct Keys {
    left: u64,
    open: [Option<OpenArray>; MAX_DEPTH],
    depth: usize,
    /// The first bytes of the current key, for messages.
    key: [u8; 64],
    key_size: usize,
    alignment: Option<u32>,
}

impl Keys {
    pub fn new(count: u64) -> Keys {
        Keys { left: count, open: [None; MAX_DEPTH], depth: 0, key: [0; 64], key_size: 0, alignment: None }
    }

    pub fn alignment(&self) -> u64 {
        self.alignment.map_or(DEFAULT_ALIGNMENT, u64::from)
    }

    /// Reads everything that is in memory. An error names the key.
    pub fn read(&mut self, cursor: &mut Cursor<'_>, out: &mut KeyMap<'_>) -> Read<()> {
        let read = self.read_on(cursor, out);
        read.map_err(|stop| match stop {
            Stop::Failed(e) => {
                let key = Quoted(self.key.get(..self.key_size).unwrap_or_default());
                Stop::Failed(e.within(format_args!("key {key}")))
            }
            more => more,
        })
    }

    fn read_on(&mut self, cursor: &mut Cursor<'_>, out: &mut KeyMap<'_>) -> Read<()> {
        loop {
            let at = self.depth.checked_sub(1);
            match at.and_then(|at| self.open.get_mut(at)?.as_mut()) {
                None if self.left == 0 => return Ok(()),
                None => self.key(cursor, out)?,
                Some(OpenArray { left: 0, .. }) => {
                    self.depth = at.unwrap_or(0);
                    out.map.end()?;
                }
                Some(OpenArray { element: ValueType::Number(dtype), left }) => {
                    let width = dtype.size() as u64;
                    let bytes = cursor.elements(width, *left)?;
                    out.numbers(*dtype, bytes)?;
                    let read = (bytes.len() as u64).checked_div(width).unwrap_or(0);
                    *left = left.saturating_sub(read);
                }
                Some(OpenArray { element: ValueType::Text, left }) => {
                    while *left > 0 {
                        let text = cursor.string()?;
                        out.text(text)?;
                        *left = left.saturating_sub(1);
                        cursor.end_item();
                    }
                }
                Some(OpenArray { element: ValueType::Array, left }) => {
                    let array = array(cursor)?;
                    *left = left.saturating_sub(1);
                    self.begin(array, out)?;
                }
            }
            cursor.end_item();
        }
    }

    /// Reads a key, and its value unless that is an array.
    fn key(&mut self, cursor: &mut Cursor<'_>, out: &mut KeyMap<'_>) -> Read<()> {
        let at = cursor.offset();
        self.remember(b"");
        let key = cursor.string()?;
        self.remember(key);
        if key.is_empty() {
            return Err(broken!(Rule::KeyEmpty, "the key at offset {at} is empty").into());
        }
        let kind = cursor.kind()?;
        let is_alignment = key == b"general.alignment";
        if is_alignment && kind != ValueType::Number(Dtype::U32) {
            return Err(broken!(Rule::ValueType, "it is not of type u32").into());
        }
        match kind {
            ValueType::Number(dtype) => {
                let bytes = cursor.elements(dtype.size() as u64, 1)?;
                if is_alignment {
                    self.alignment = Some(alignment(bytes, cursor.encoding.big_endian)?);
                }
                out.text(key)?;
                out.number(dtype, bytes)?;
            }
            ValueType::Text => {
                let text = cursor.string()?;
                out.text(key)?;
                out.text(text)?;
            }
            ValueType::Array => {
                let array = array(cursor)?;
                out.text(key)?;
                self.begin(array, out)?;
            }
        }
        self.left = self.left.saturating_sub(1);
        Ok(())
    }

    /// Begins an array. Its elements follow.
    fn begin(&mut self, array: OpenArray, out: &mut KeyMap<'_>) -> Read<()> {
        let Some(place) = self.open.get_mut(self.depth) else {
            return Err(broken!(Rule::ValueDepth, "arrays nest deeper than {MAX_DEPTH} levels").into());
        };
        out.map.begin_array(array.element.element(), Some(array.left))?;
        *place = Some(array);
        self.depth = self.depth.saturating_add(1);
        Ok(())
    }

    fn remember(&mut self, key: &[u8]) {
        self.key_size = key.len().min(self.key.len());
        let start = key.get(..self.key_size).unwrap_or_default();
        if let Some(place) = self.key.get_mut(..self.key_size) {
            place.copy_from_slice(start);
        }
    }
}

/// Reads the fields before an array's elements.
fn array(cursor: &mut Cursor<'_>) -> Read<OpenArray> {
    let element = cursor.kind()?;
    let left = cursor.count(element.min_size(cursor.size_width()), "elements")?;
    Ok(OpenArray { element, left })
}

fn alignment(bytes: &[u8], big_endian: bool) -> Result<u32> {
    let bytes = bytes.first_chunk().copied().unwrap_or_default();
    let value = if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) };
    match value.is_power_of_two() && value <= MAX_ALIGNMENT {
        true => Ok(value),
        false => Err(broken!(
            Rule::AlignmentValue,
            "the alignment is {value}, not a power of two from 1 to {MAX_ALIGNMENT}"
        )),
    }
}

/// The keys. A file with a whole model has none of them, or a count of 1.
pub const SPLIT_KEYS: [&str; 3] = ["split.no", "split.count", "split.tensors.count"];

/// The values of these keys; `None` if the file is not one of several.
pub fn split(manifest: &Manifest) -> Result<Option<Split>> {
    let integer = |key: &str| -> Result<Option<u64>> {
        let Some(value) = manifest.file_attributes().and_then(|map| map.get(key)) else { return Ok(None) };
        let wrong = || broken!(Rule::SplitKeys, "key {key:?} is not an integer of at least 0");
        value.as_u64().map(Some).ok_or_else(wrong)
    };
    let Some(count) = integer("split.count")?.filter(|count| *count > 1) else { return Ok(None) };
    let (number, tensors) = (integer("split.no")?, integer("split.tensors.count")?);
    let Some(number) = number.filter(|number| *number < count) else {
        return Err(broken!(Rule::SplitKeys, "split.count is {count}, but split.no is not below it"));
    };
    Ok(Some(Split { number, count, tensors }))
}

/// How many bytes of elements are swapped at a time.
const SWAP_BUFFER_SIZE: usize = 512;

/// Builds the map of keys.
pub struct KeyMap<'t> {
    map: ValueBuilder<'t>,
    budget: &'t Budget,
    swaps: bool,
}

impl<'t> KeyMap<'t> {
    /// A map at the end of `tape`. Memory is charged to `budget`.
    pub fn new(tape: &'t mut Tape, budget: &'t Budget) -> Result<Self> {
        let mut map = ValueBuilder::new(tape).within(Some(budget));
        map.begin_map(None)?;
        Ok(KeyMap { map, budget, swaps: false })
    }

    /// Sets the byte order of the numbers that follow.
    pub fn set_order(&mut self, big_endian: bool) {
        self.swaps = big_endian != cfg!(target_endian = "big");
    }

    /// The key of the next value, or a string: a text if it is UTF-8, else bytes.
    #[inline]
    pub fn text(&mut self, text: &[u8]) -> Result<()> {
        self.map.text_or_bytes(text)
    }

    /// A number or bool in the file's byte order.
    pub fn number(&mut self, dtype: Dtype, bytes: &[u8]) -> Result<()> {
        let mut swapped = [0; SWAP_BUFFER_SIZE];
        self.map.number(dtype, in_host_order(bytes, dtype, self.swaps, &mut swapped))
    }

    /// Elements of the innermost array, in the file's byte order.
    pub fn numbers(&mut self, dtype: Dtype, bytes: &[u8]) -> Result<()> {
        if !self.swaps {
            return self.map.elements(dtype, bytes);
        }
        bytes.chunks(SWAP_BUFFER_SIZE).try_for_each(|chunk| {
            let mut swapped = [0; SWAP_BUFFER_SIZE];
            self.map.elements(dtype, in_host_order(chunk, dtype, true, &mut swapped))
        })
    }

    /// Ends the map. Fails if a key is there twice.
    pub fn finish(mut self) -> Result<Position> {
        let pairs = self.map.end()?.pairs();
        // Duplicates are found by sorting references to the keys.
        let sorted = bytes_of::<(&[u8], usize)>(pairs.len());
        self.budget.charge(sorted, "keys that are sorted")?;
        let mut keys = with_capacity(pairs.len())?;
        keys.extend(pairs.map(|(key, _)| key.as_bytes().unwrap_or_default()));
        if let Some(key) = find_duplicate(&keys, Ord::cmp)? {
            return Err(broken!(Rule::KeyDuplicate, "the key {} is in the file twice", Quoted(key)));
        }
        self.budget.give_back(sorted);
        self.map.finish()
    }
}

/// The elements in the host's byte order. If they have to be swapped, there are at most `SWAP_BUFFER_SIZE`
/// bytes.
fn in_host_order<'a>(
    bytes: &'a [u8],
    dtype: Dtype,
    swaps: bool,
    swapped: &'a mut [u8; SWAP_BUFFER_SIZE],
) -> &'a [u8] {
    let size = dtype.size().max(1);
    let Some(swapped) = swapped.get_mut(..bytes.len()).filter(|_| swaps && size > 1) else { return bytes };
    for (from, to) in bytes.chunks_exact(size).zip(swapped.chunks_exact_mut(size)) {
        to.copy_from_slice(from);
        to.reverse();
    }
    swapped
}
