//! The keys of a file and their values, in as many steps as it takes to have their bytes. Arrays in arrays
//! are kept in a list of their own, so that the stack does not depend on the file.

use super::cursor::{Cursor, Read, Stop};
use super::key_map::KeyMap;
use super::kind::Kind;
use crate::error::{broken, Quoted, Result, Rule};
use crate::model::dtype::Dtype;

/// How deep arrays may nest.
///
/// cbindgen:ignore
pub const MAX_DEPTH: usize = 8;

/// Where data begins if no key says it.
pub(super) const DEFAULT_ALIGNMENT: u64 = 32;
const MAX_ALIGNMENT: u32 = 1 << 20;

/// An array of which elements follow.
#[derive(Clone, Copy)]
struct OpenArray {
    element: Kind,
    left: u64,
}

/// The keys that are still to be read.
pub struct Keys {
    left: u64,
    open: [Option<OpenArray>; MAX_DEPTH],
    depth: usize,
    /// The first bytes of the key whose value is read, for messages.
    key: [u8; 64],
    key_size: usize,
    alignment: Option<u32>,
}

impl Keys {
    /// All of `count`.
    pub fn new(count: u64) -> Keys {
        Keys { left: count, open: [None; MAX_DEPTH], depth: 0, key: [0; 64], key_size: 0, alignment: None }
    }

    /// What the data and each tensor are aligned to.
    pub fn alignment(&self) -> u64 {
        self.alignment.map_or(DEFAULT_ALIGNMENT, u64::from)
    }

    /// Reads all that is in memory; an error names the key.
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
                    out.end_array()?;
                }
                Some(OpenArray { element: Kind::Number(dtype), left }) => numbers(*dtype, left, cursor, out)?,
                Some(OpenArray { element: Kind::Text, left }) => {
                    while *left > 0 {
                        let text = cursor.string()?;
                        out.text(text)?;
                        *left = left.saturating_sub(1);
                        cursor.end_item();
                    }
                }
                Some(OpenArray { element: Kind::Array, left }) => {
                    let array = array(cursor)?;
                    *left = left.saturating_sub(1);
                    self.begin(array, out)?;
                }
            }
            cursor.end_item();
        }
    }

    /// A key, and its value unless that is an array.
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
        if is_alignment && kind != Kind::Number(Dtype::U32) {
            return Err(broken!(Rule::ValueType, "it is not of type u32").into());
        }
        match kind {
            Kind::Number(dtype) => {
                let bytes = cursor.elements(dtype.size() as u64, 1)?;
                if is_alignment {
                    self.alignment = Some(alignment(bytes, cursor.encoding().big_endian)?);
                }
                out.text(key)?;
                out.number(dtype, bytes)?;
            }
            Kind::Text => {
                let text = cursor.string()?;
                out.text(key)?;
                out.text(text)?;
            }
            Kind::Array => {
                let array = array(cursor)?;
                out.text(key)?;
                self.begin(array, out)?;
            }
        }
        self.left = self.left.saturating_sub(1);
        Ok(())
    }

    /// The elements of an array follow.
    fn begin(&mut self, array: OpenArray, out: &mut KeyMap<'_>) -> Read<()> {
        let Some(place) = self.open.get_mut(self.depth) else {
            return Err(broken!(Rule::ValueDepth, "arrays nest deeper than {MAX_DEPTH} levels").into());
        };
        out.begin_array(array.element.element(), array.left)?;
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

/// What an array has in front of its elements.
fn array(cursor: &mut Cursor<'_>) -> Read<OpenArray> {
    let element = cursor.kind()?;
    let left = cursor.count(element.min_size(cursor.size_width()), "elements")?;
    Ok(OpenArray { element, left })
}

/// The elements that are in memory of an array of numbers.
fn numbers(dtype: Dtype, left: &mut u64, cursor: &mut Cursor<'_>, out: &mut KeyMap<'_>) -> Read<()> {
    let width = dtype.size() as u64;
    let bytes = cursor.elements(width, *left)?;
    out.numbers(dtype, bytes)?;
    let read = (bytes.len() as u64).checked_div(width).unwrap_or(0);
    *left = left.saturating_sub(read);
    Ok(())
}

/// The value of `general.alignment`.
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
