//! The numbers of an object as elements of another dtype.

use super::object::{Component, Object};
use crate::convert::converted_size;
use crate::error::{broken, fail, Result, Rule};
use crate::load::Part;
use crate::memory::in_memory;
use crate::model::dtype::{Block, Dtype};
use crate::model::manifest::Format;

impl<'f> Object<'f> {
    /// Bytes of its numbers as elements of `to`.
    pub fn size_as(&self, to: Dtype) -> Result<u64> {
        let data = self.numbers()?;
        data.sizes_as(to).map(|(_, size)| size).map_err(|e| data.wrap(e))
    }

    /// Fills the front of `dst` with its numbers as elements of `to` and returns how many bytes these are.
    /// The bytes behind them are not touched.
    pub fn read_as(&self, to: Dtype, dst: &mut [u8]) -> Result<usize> {
        let data = self.numbers()?;
        let size = data.size_to_read(to, dst.len()).map_err(|e| data.wrap(e))?;
        data.run(Part::Whole, Some(to), dst.get_mut(..size).unwrap_or_default(), 1)?;
        Ok(size)
    }

    /// The component that has all of its numbers and nothing else.
    fn numbers(&self) -> Result<Component<'f>> {
        if self.format() == Format::Dense {
            return self.required("data");
        }
        let format = self.format_name();
        Err(self
            .wrap(fail!(Unsupported, "its format is {format:?}; only a dense object can be read as numbers")))
    }
}

impl Component<'_> {
    /// Bytes that the shape of its object takes, as they are and as elements of `to`.
    fn sizes_as(&self, to: Dtype) -> Result<(u64, u64)> {
        let block = self.known_block()?;
        let shape = self.object().shape();
        let size = self.object().element_count().and_then(|count| block.size(count));
        let size = size
            .ok_or_else(|| broken!(Rule::DenseSize, "the shape {shape:?} takes no whole number of bytes"))?;
        // Its dtype is known if its block is.
        let from = (self.entry.dtype.unwrap_or(to), self.known_logical());
        Ok((size, converted_size(size, from, to)?))
    }

    /// Bytes to read as elements of `to` into `capacity` bytes, if it has those that the shape takes.
    fn size_to_read(&self, to: Dtype, capacity: usize) -> Result<usize> {
        let (expected, size) = self.sizes_as(to)?;
        let found = self.decoded_size()?;
        if found != expected {
            let shape = self.object().shape();
            return Err(broken!(
                Rule::DenseSize,
                "it has {found} bytes, but the shape {shape:?} takes {expected}"
            ));
        }
        match in_memory(size)? {
            size if size <= capacity => Ok(size),
            _ => Err(fail!(
                BufferSize,
                "its numbers as {} take {size} bytes, the memory for them has {capacity}",
                to.name()
            )),
        }
    }

    /// Its elements in bytes, or an error that names the dtype or type that this version does not know.
    pub(super) fn known_block(&self) -> Result<Block> {
        self.entry.block().ok_or_else(|| match self.entry.dtype {
            None => fail!(Unsupported, "its dtype {:?} is unknown", self.dtype_name()),
            Some(_) => {
                let name = self.logical_name().unwrap_or_default();
                fail!(Unsupported, "its type {name:?} is unknown, so its elements cannot be separated")
            }
        })
    }
}
