//! The numbers of an object as elements of another dtype, in whatever way its components store them: each by
//! itself, in blocks, as codes with scales, or only those that are not zero.

#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

use super::entries::{Entries, Positions};
use super::groups::{Decoder, Elements};
use super::object::{Component, Object};
use super::view::ViewPart;
use crate::convert::{as_bytes, convert, converted_size, refuse_loss};
use crate::error::{broken, fail, Result, Rule};
use crate::load::Part;
use crate::memory::{in_memory, take_front};
use crate::model::dtype::{Block, Class, Dtype};
use crate::model::manifest::{Format, LogicalType};
use crate::model::structure::Groups;

/// The layout of small floats with scales that are powers of two.
const MX: &str = "zt.mx/1";

/// Where the numbers of an object are.
enum Stored<'f> {
    /// All are in one component.
    Array(Component<'f>),
    /// These take so many bytes each; all others are zero.
    Entries(u64),
    /// As codes with scales.
    Groups(Component<'f>, Groups),
}

impl<'f> Object<'f> {
    /// Bytes of its numbers as elements of `to`.
    pub fn size_as(&self, to: Dtype) -> Result<u64> {
        self.stored_numbers(to).map(|(_, size)| size)
    }

    /// Fills the front of `dst` with its numbers as elements of `to` and returns how many bytes these are.
    /// The bytes behind them are not touched.
    pub fn read_as(&self, to: Dtype, dst: &mut [u8]) -> Result<usize> {
        let (stored, size) = self.stored_numbers(to)?;
        if let Stored::Array(data) = &stored {
            data.check_array_bytes().map_err(|e| data.wrap(e))?;
        }
        let capacity = dst.len();
        let Some(dst) = in_memory(size).ok().and_then(|size| dst.get_mut(..size)) else {
            return Err(self.wrap(fail!(
                BufferSize,
                "its numbers as {} take {size} bytes, the memory for them has {capacity}",
                to.name()
            )));
        };
        let size = dst.len();
        match stored {
            Stored::Array(data) => self.read_array(&data, to, dst)?,
            Stored::Entries(each) => self.read_entries(each, to, dst)?,
            Stored::Groups(data, groups) => self.read_groups(&data, groups, to, dst)?,
        }
        Ok(size)
    }

    /// The component that has all of its numbers and nothing else.
    pub fn numbers(&self) -> Result<Component<'f>> {
        if self.format().is_array() {
            return self.required("data");
        }
        let format = self.format_name();
        Err(self.wrap(fail!(
            Unsupported,
            "its format is {format:?}; only dense objects and block types have one component of numbers"
        )))
    }

    /// Where its numbers are, and their bytes as elements of `to`.
    fn stored_numbers(&self, to: Dtype) -> Result<(Stored<'f>, u64)> {
        let format = self.format_name();
        match self.format() {
            Format::Dense | Format::Blocks(_) => {
                let data = self.required("data")?;
                let (_, size) = data.sizes_as(to).map_err(|e| data.wrap(e))?;
                Ok((Stored::Array(data), size))
            }
            Format::SparseCsr | Format::SparseCoo => {
                let values = self.required("values")?;
                let each = values.bytes_of_each(to).map_err(|e| values.wrap(e))?;
                Ok((Stored::Entries(each), self.size_of_shape(each, to)?))
            }
            Format::QuantizedGroup => {
                let is_absent = |key: &&&str| self.attributes().and_then(|map| map.get(key)).is_none();
                let wanted = ["axis", "packing", "order", "zero_offset"];
                let why = match wanted.iter().find(is_absent) {
                    Some(key) => fail!(
                        Unsupported,
                        "its format is {format:?}, whose codes cannot be read without the attribute {key:?}"
                    ),
                    None => {
                        fail!(Unsupported, "its format is {format:?}, which this version does not decode")
                    }
                };
                Err(self.wrap(why))
            }
            Format::Other(_) => {
                let Some(groups) = self.groups()? else {
                    return Err(self.wrap(fail!(
                        Unsupported,
                        "its format is {format:?}, which cannot be read as numbers"
                    )));
                };
                let data = self.required("data")?;
                let is_float = matches!(to.class(), Class::Float | Class::Bfloat);
                let why = if !is_float {
                    let to = to.name();
                    fail!(Unsupported, "numbers of {format:?} can become f64, f32, f16 or bf16, not {to}")
                } else if format == MX && data.known_logical().is_none() {
                    // Of dtype i8: the text of zTensor 2 does not state the scale that it implies.
                    fail!(Unsupported, "the text of {format:?} does not say what its i8 numbers stand for")
                } else {
                    let size = to.size() as u64;
                    return Ok((Stored::Groups(data, groups), self.size_of_shape(size, to)?));
                };
                Err(self.wrap(why))
            }
        }
    }

    /// Bytes of elements that take `each`.
    fn size_of_shape(&self, each: u64, to: Dtype) -> Result<u64> {
        let size = self.element_count().and_then(|count| count.checked_mul(each));
        size.ok_or_else(|| {
            let (shape, to) = (self.shape(), to.name());
            self.wrap(fail!(Limit, "the shape {shape:?} as {to} takes more than 2^64 bytes"))
        })
    }

    fn read_array(&self, data: &Component<'f>, to: Dtype, dst: &mut [u8]) -> Result<()> {
        if let Format::Blocks(_) = self.format() {
            self.check_layout(true)?;
        }
        let block = data.known_block().map_err(|e| data.wrap(e))?;
        if self.element_count().is_some_and(|count| block.divides(count)) {
            return data.run(Part::Whole, Some(to), dst, data.threads());
        }
        // The last block has more elements than there are.
        let (mut rest, mut lost) = (dst, 0u64);
        data.for_each_pair(to, &mut |_, numbers, more| {
            lost = lost.saturating_add(more);
            let size = numbers.len().min(rest.len());
            let now = take_front(&mut rest, size as u64)?;
            now.copy_from_slice(numbers.get(..size).unwrap_or_default());
            Ok(())
        })?;
        refuse_loss(lost, to, false).map_err(|e| data.wrap(e))
    }
}

impl Component<'_> {
    /// Bytes that one of its elements takes as `to`.
    fn bytes_of_each(&self, to: Dtype) -> Result<u64> {
        let block = self.known_block()?;
        let size = converted_size(block.bytes, self.entry.element_type()?, to)?;
        Ok(size.checked_div(block.elements).unwrap_or(0))
    }

    /// Bytes for the shape of its object, unchanged and as elements of `to`.
    fn sizes_as(&self, to: Dtype) -> Result<(u64, u64)> {
        let (block, shape) = (self.known_block()?, self.object().shape());
        let count = self.object().element_count();
        let (Some(count), Some(size)) = (count, count.and_then(|count| block.size(count))) else {
            return Err(broken!(
                Rule::DenseSize,
                "the shape {shape:?} does not take a whole number of bytes"
            ));
        };
        let whole = converted_size(size, self.entry.element_type()?, to)?;
        // Of a last block that is not full, only the elements that there are.
        Ok((size, if block.divides(count) { whole } else { count.saturating_mul(to.size() as u64) }))
    }

    /// Checks that it has the bytes that the shape of its object takes.
    fn check_array_bytes(&self) -> Result<()> {
        self.check_shape_size()?;
        let (found, shape) = (self.decoded_size()?, self.object().shape());
        let expected = self.object().element_count().and_then(|count| self.known_block().ok()?.size(count));
        match expected {
            Some(expected) if expected != found => Err(broken!(
                Rule::DenseSize,
                "it has {found} bytes, but the shape {shape:?} takes {expected}"
            )),
            _ => Ok(()),
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

impl<'f> ViewPart<'f> {
    /// Its elements, if their type is known.
    fn elements(&self) -> Result<Elements<'f>> {
        let logical = match self.logical {
            LogicalType::Known(logical) => Some(logical),
            LogicalType::Absent | LogicalType::SameAsDtype => None,
            LogicalType::Other => return Err(fail!(Unsupported, "its type is unknown")),
        };
        Ok(Elements { bytes: self.bytes(), from: (self.dtype, logical) })
    }
}

impl<'f> Object<'f> {
    fn read_groups(&self, data: &Component<'f>, groups: Groups, to: Dtype, dst: &mut [u8]) -> Result<()> {
        let elements = |part: &Component<'f>| part.part()?.elements().map_err(|e| part.wrap(e));
        let scales = elements(&self.required("scales")?)?;
        let zeros = self.component("zeros").map(|zeros| elements(&zeros)).transpose()?;
        let mut decoder = Decoder::new(groups, self.shape(), scales, zeros).map_err(|e| self.wrap(e))?;
        let from = data.entry.element_type().map_err(|e| data.wrap(e))?;
        let (total, mut rest, mut lost) = (dst.len() as u64, dst, 0u64);
        data.for_each_decoded(&mut |chunk| {
            decoder.decode(chunk, from, &mut |numbers| {
                // Half a byte behind the last code is not one.
                let left = rest.len().checked_div(to.size()).unwrap_or(0);
                let numbers = as_bytes(numbers.get(..numbers.len().min(left)).unwrap_or_default());
                let from = (Dtype::F32, None);
                let now = take_front(&mut rest, converted_size(numbers.len() as u64, from, to)?)?;
                lost = lost.saturating_add(convert(numbers, from, to, now, total)?);
                Ok(())
            })
        })?;
        refuse_loss(lost, to, false).map_err(|e| self.wrap(e))
    }

    fn read_entries(&self, each: u64, to: Dtype, dst: &mut [u8]) -> Result<()> {
        let (mut entries, values, role) = match self.format() {
            Format::SparseCsr => {
                let view = self.csr_view()?;
                let values = view.values.elements();
                (Entries::new(view.nnz, Positions::Rows(view)), values, "indices")
            }
            _ => {
                let view = self.coo_view()?;
                let values = view.values.elements();
                (Entries::new(view.nnz, Positions::Coordinates(view)), values, "coords")
            }
        };
        let positions = self.required(role)?;
        if !self.positions_are_unique(&positions) {
            let memory = |nnz| self.comparable_entries(&positions, nnz, 12);
            entries.find_equal(&memory).map_err(|e| positions.wrap(e))?;
        }
        if entries.has_equal() && !matches!(to.class(), Class::Float | Class::Bfloat) {
            return Err(self.wrap(fail!(
                Unsupported,
                "its format is {:?}, and several entries have equal coordinates: their sum can become f64, f32, \
                 f16 or bf16, not {}",
                self.format_name(),
                to.name()
            )));
        }
        dst.fill(0);
        let placed = values.and_then(|values| entries.place(values, in_memory(each)?, to, dst));
        placed.and_then(|lost| refuse_loss(lost, to, false)).map_err(|e| self.wrap(e))
    }
}
