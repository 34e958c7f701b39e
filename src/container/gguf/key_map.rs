//! The keys of a file as its attribute map: in their order, with the types that the file states.

use crate::error::{broken, Quoted, Result, Rule};
use crate::memory::{bytes_of, Budget};
use crate::model::dtype::Dtype;
use crate::model::find_duplicate::find_duplicate;
use crate::model::text::Position;
use crate::model::value::record::Kind;
use crate::model::value::{Element, Tape, ValueBuilder};

/// Bytes of elements that are swapped to the host's byte order at once.
const SWAP_BUFFER_SIZE: usize = 512;

/// A map that is being put together.
pub struct KeyMap<'t> {
    map: ValueBuilder<'t>,
    budget: &'t Budget,
    swaps: bool,
}

impl<'t> KeyMap<'t> {
    /// A map at the end of `tape`, with memory charged to `budget`.
    pub fn new(tape: &'t mut Tape, budget: &'t Budget) -> Result<Self> {
        let mut map = ValueBuilder::new(tape).within(Some(budget));
        map.begin_map(None)?;
        Ok(KeyMap { map, budget, swaps: false })
    }

    /// The byte order of numbers that come.
    pub fn set_order(&mut self, big_endian: bool) {
        self.swaps = big_endian != cfg!(target_endian = "big");
    }

    /// The key of the next value, or a string: text where it is UTF-8, else bytes.
    #[inline]
    pub fn text(&mut self, text: &[u8]) -> Result<()> {
        self.map.text_or_bytes(text)
    }

    /// One number or bool, as the file has it.
    pub fn number(&mut self, dtype: Dtype, bytes: &[u8]) -> Result<()> {
        let mut swapped = [0; SWAP_BUFFER_SIZE];
        self.map.number(dtype, in_host_order(bytes, dtype, self.swaps, &mut swapped))
    }

    /// An array of that many elements, which follow.
    pub fn begin_array(&mut self, element: Element, count: u64) -> Result<()> {
        self.map.begin_array(element, Some(count))
    }

    /// Elements of the array that was begun last, as the file has them.
    pub fn numbers(&mut self, dtype: Dtype, bytes: &[u8]) -> Result<()> {
        if !self.swaps {
            return self.map.elements(dtype, bytes);
        }
        bytes.chunks(SWAP_BUFFER_SIZE).try_for_each(|chunk| {
            let mut swapped = [0; SWAP_BUFFER_SIZE];
            self.map.elements(dtype, in_host_order(chunk, dtype, true, &mut swapped))
        })
    }

    /// Ends the array, which has all of its elements.
    pub fn end_array(&mut self) -> Result<()> {
        self.map.end().map(drop)
    }

    /// All keys are there, each once.
    pub fn finish(mut self) -> Result<Position> {
        let pairs = self.map.end()?.pairs();
        // They are sorted by reference to find out.
        let sorted = bytes_of::<(&[u8], usize)>(pairs.len());
        self.budget.charge(sorted, "keys that are sorted")?;
        let mut keys = Vec::new();
        keys.try_reserve_exact(pairs.len())?;
        keys.extend(pairs.map(|(key, _)| match key.kind() {
            Kind::Text(text) => text.as_bytes(),
            Kind::Bytes(bytes) => bytes,
            _ => &[],
        }));
        if let Some(key) = find_duplicate(&keys, Ord::cmp)? {
            return Err(broken!(Rule::KeyDuplicate, "the key {} is there twice", Quoted(key)));
        }
        self.budget.give_back(sorted);
        self.map.finish()
    }
}

/// Elements with their bytes the other way round if the order is not the host's; at most `SWAP_BUFFER_SIZE`
/// bytes then.
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
