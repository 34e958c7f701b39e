//! Reads the numbers of an object as elements of another dtype, however they are stored: separately, in
//! blocks, as codes with scales, or only the nonzero ones.

use super::borrowed_or_read::ComponentBytes;
use super::checkpoint::Plan;
use super::codes::DECODED;
use super::entries::{Entries, Positions, TakenCells, WithReader};
use super::object::{Component, Object};
use super::requests::{part_of_rows, run_request, Hyperslab, Selection};
use crate::codec::Decoding;
use crate::convert::into_blocks::IntoBlocks;
use crate::convert::scaled::Elements;
use crate::convert::{convert, converted_size, refuse_loss, Conversion};
use crate::error::{broken, fail, Error, Result, Rule};
use crate::load::{decoded_limit, for_each_block, Part, Request, Slab, StoredComponent, Taken, Wanted};
use crate::memory::{in_memory, refill, take_front, try_box, whole_units, zeroed};
use crate::model::dtype::{Block, Class, Dtype, Logical, Numbers};
use crate::model::manifest::Format;
use crate::model::structure::Groups;
use std::ops::Range;

/// The layout of small floats whose scales are powers of two.
const MX: &str = "zt.mx/1";

/// Which numbers of an object to read.
#[derive(Clone, Copy, Debug)]
pub enum Selected<'a> {
    /// All of them.
    Whole,
    /// Rows. A row is the last dimension.
    Rows {
        /// The number of the first row.
        first: u64,
        /// How many rows.
        rows: u64,
        /// The distance between two rows; 1 if they follow each other.
        stride: u64,
    },
    /// A hyperslab.
    Slab(Hyperslab<'a>),
}

/// The memory for each entry of a sparse object, if entries have to be compared with each other.
const BYTES_TO_COMPARE: u64 = 12;

/// How many bytes of sparse numbers or decoded codes are read at once, if there is no memory for all of them.
/// It is a multiple of every element size.
const WINDOW: u64 = 4 << 20;

struct Piece<'p> {
    /// The elements before conversion. For a sparse object, these are the same as `numbers`.
    decoded: &'p [u8],
    from: (Dtype, Option<Logical>),
    /// The elements converted to the other dtype.
    numbers: &'p [u8],
    /// How many numbers the conversion loses.
    lost: u64,
}

type PieceBody<'b> = dyn FnMut(Piece<'_>) -> Result<()> + 'b;

/// How the numbers of an object are stored.
enum Stored<'f> {
    Array(Component<'f>),
    /// As the values of some cells, each with this many bytes; all other cells are zero.
    Entries(Component<'f>, u64),
    Groups(Component<'f>, Groups),
    /// As those of a checkpoint's weight.
    Weight(Component<'f>, Plan),
}

impl<'f> Object<'f> {
    /// The size in bytes of its numbers, converted to `to`.
    pub fn size_as(&self, to: Dtype) -> Result<u64> {
        self.stored_numbers(to).map(|(_, size)| size)
    }

    /// Fills the front of `dst` with its numbers, converted to `to`. Returns their size in bytes; the rest of
    /// `dst` stays unchanged.
    pub fn read_as(&self, to: Dtype, dst: &mut [u8]) -> Result<usize> {
        let (stored, size) = self.stored_numbers(to)?;
        let capacity = dst.len();
        let Some(dst) = in_memory(size).ok().and_then(|size| dst.get_mut(..size)) else {
            return Err(self.wrap(fail!(
                BufferSize,
                "its numbers as {} take {size} bytes, the memory for them has {capacity}",
                to.name()
            )));
        };
        match &stored {
            Stored::Array(data) if self.has_whole_blocks(data)? => {
                data.run(Part::Whole, Some(to), dst, data.threads())?;
            }
            Stored::Array(main)
            | Stored::Entries(main, _)
            | Stored::Groups(main, _)
            | Stored::Weight(main, _) => {
                let threads = self.file.threads_for(size).min(main.threads_of_source());
                let wanted = Wanted { convert: Some(to), ..Wanted::default() };
                run_request(self.request_as(&Selected::Whole, wanted, dst)?, threads)?;
            }
        }
        in_memory(size)
    }

    /// The component that has its elements or its codes, if they can be numbers of the whole object.
    pub fn codes(&self) -> Option<Component<'f>> {
        self.component(if self.format() == Format::QuantizedGroup { "packed_weight" } else { "data" })
    }

    /// Whether it is a weight of several components that can be decoded, as those of checkpoints are.
    pub fn is_weight(&self) -> bool {
        match self.format() {
            Format::QuantizedGroup => self.plan().is_ok(),
            _ => self.has_groups_of_layout() && self.size_as(Dtype::F32).is_ok(),
        }
    }

    /// Whether its numbers are blocks, packed floats, or codes with scales, and can be decoded.
    pub fn is_quantized(&self) -> bool {
        let Some(data) = self.codes() else { return false };
        let by_itself = |logical: Logical| matches!(logical.numbers(), Numbers::OfDtype | Numbers::Float8(_));
        let may_be = match self.format() {
            Format::SparseCsr | Format::SparseCoo => false,
            Format::Dense => data.known_logical().is_some_and(|logical| !by_itself(logical)),
            Format::QuantizedGroup | Format::Blocks(_) | Format::Other(_) => true,
        };
        may_be && self.size_as(Dtype::F64).is_ok()
    }

    /// Whether the attribute with that key describes how numbers are quantized. A tensor of plain floats does
    /// not need such an attribute.
    pub fn is_of_quantization(&self, key: &str) -> bool {
        const OF_BLOCKS: [&str; 2] = ["elems_per_block", "block_bytes"];
        const OF_GROUPS: [&str; 19] = [
            "axis",
            "bits",
            "block_columns",
            "block_rows",
            "block_size",
            "group_size",
            "mode",
            "nested_block_size",
            "nested_offset",
            "order",
            "packing",
            "parts",
            "scale_form",
            "scheme",
            "shapes",
            "types",
            "unreadable",
            "zero_offset",
            "zero_point",
        ];
        OF_BLOCKS.contains(&key) || !self.format().is_array() && OF_GROUPS.contains(&key)
    }

    /// Calls `body` with its numbers, converted to `to`, front to back in pieces, which takes little memory.
    /// Fails at the end if numbers are lost, unless `lossy` is set.
    pub fn for_each_number(
        &self,
        to: Dtype,
        lossy: bool,
        body: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut lost = 0u64;
        self.for_each_piece(to, &mut |piece| {
            lost = lost.saturating_add(piece.lost);
            body(piece.numbers)
        })?;
        refuse_loss(lost, to, lossy).map_err(|e| self.wrap(e))
    }

    /// Gives `body` its numbers as blocks of ggml's type `to`. Its rows have to be whole blocks. With
    /// `only_checks` it gives nothing, and only fails if one of the numbers does not fit in such a block.
    pub fn for_each_quantized(
        &self,
        to: Logical,
        only_checks: bool,
        body: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let wrap = |e| self.wrap(e);
        let blocks = IntoBlocks::new((Dtype::F32, None), to, only_checks).map_err(wrap)?;
        for_each_block(blocks, &wrap, |floats| self.for_each_number(Dtype::F32, true, floats), body)
    }

    /// What a conversion of its numbers to `to` does to them. Reads all of it. The errors are 0 for a sparse
    /// object.
    pub fn conversion(&self, to: Dtype) -> Result<Conversion> {
        let mut found = Conversion::default();
        self.for_each_piece(to, &mut |piece| {
            found.add(piece.decoded, piece.from, to, piece.numbers, piece.lost);
            Ok(())
        })?;
        Ok(found)
    }

    fn for_each_piece(&self, to: Dtype, body: &mut PieceBody<'_>) -> Result<()> {
        let (stored, size) = self.stored_numbers(to)?;
        let (from, size) = match &stored {
            Stored::Array(data) => return self.for_each_of_array(data, size, to, body),
            // Zeros are not stored, so a few bytes can represent any number of elements: check the limit.
            Stored::Entries(values, _) => {
                let limit = decoded_limit(values.stored_size(), self.file.max_decoded_size);
                if size > limit {
                    return Err(
                        self.wrap(fail!(Limit, "its numbers take {size} bytes, above the limit of {limit}"))
                    );
                }
                (to, size)
            }
            // Codes with scales are f32 first.
            Stored::Groups(..) | Stored::Weight(..) => (Dtype::F32, self.size_as(Dtype::F32)?),
        };
        let (mut decoded, mut converted, mut start) = (Vec::new(), Vec::new(), 0u64);
        self.with_numbers(from, &mut |read| {
            while start < size {
                let now = WINDOW.min(size.saturating_sub(start));
                refill(&mut decoded, in_memory(now)?)?;
                let mut lost = read(&Taken::From(start), &mut decoded)?;
                if from != to {
                    let produced = converted_size(now, (from, None), to)?;
                    refill(&mut converted, in_memory(produced)?)?;
                    lost =
                        lost.saturating_add(convert(&decoded, (from, None), to, &mut converted, produced)?);
                }
                let numbers = if from == to { &decoded } else { &converted };
                body(Piece { decoded: &decoded, from: (from, None), numbers, lost })?;
                start = start.saturating_add(now);
            }
            Ok(())
        })
    }

    /// A request for its numbers, converted to `wanted.convert`, which go to the front of `dst`.
    pub fn request_as<'a>(
        &self,
        selected: &Selected<'_>,
        wanted: Wanted,
        dst: &'a mut [u8],
    ) -> Result<Request<'a>>
    where
        'f: 'a,
    {
        let wrap = |e| self.wrap(e);
        let to = wanted.convert.ok_or_else(|| fail!(Internal, "numbers of no dtype")).map_err(wrap)?;
        let (stored, size) = self.stored_numbers(to)?;
        let (main, each, in_ranges) = match &stored {
            // If the last block has more elements than the shape, decode everything and cut the rest off.
            Stored::Array(data) if matches!(selected, Selected::Whole) && !self.has_whole_blocks(data)? => {
                (data, to.size() as u64, false)
            }
            Stored::Array(data) => {
                self.check_array(data)?;
                let part = match selected {
                    Selected::Whole => Selection::Whole,
                    Selected::Slab(slab) => Selection::Slab(*slab),
                    Selected::Rows { first, rows, stride } => {
                        let block = data.known_block().map_err(|e| data.wrap(e))?;
                        let found = self.rows(block, *first, *rows, *stride).map_err(|e| data.wrap(e))?;
                        let [offset, row_length, row_stride] = found;
                        Selection::Rows { offset, rows: *rows, row_length, row_stride }
                    }
                };
                return data.request_as(&part, wanted, dst);
            }
            Stored::Entries(values, each) => (values, *each, false),
            // Compressed codes have to be decoded from the first one on.
            Stored::Groups(data, _) => (data, to.size() as u64, data.is_raw()),
            // Those of columns are read as a whole.
            Stored::Weight(data, plan) => {
                let in_ranges = data.is_raw() && (plan.is_by_rows() || data.slice_for_call().is_some());
                (data, to.size() as u64, in_ranges)
            }
        };
        let stored = main.stored_component().map_err(|e| main.wrap(e))?;
        let decoding = Decoding::Numbers { to, in_ranges };
        let stored = StoredComponent { decoding, size, strict_bools: false, ..stored };
        let part = || match selected {
            Selected::Whole => Ok(Part::Whole),
            Selected::Slab(slab) => {
                let slab = Slab::new(self.shape(), slab.start, slab.count, slab.step, each)?;
                Ok(Part::Slab(try_box(slab)?))
            }
            Selected::Rows { first, rows, stride } => {
                let block = Block { elements: 1, bytes: each };
                let [offset, row_length, row_stride] = self.rows(block, *first, *rows, *stride)?;
                part_of_rows(offset, *rows, row_length, row_stride, size)
            }
        };
        let (part, size) = part().and_then(|part| Request::checked(&stored, part, None)).map_err(wrap)?;
        Ok(Request::of(stored, part, size, Wanted { convert: None, ..wanted }, dst))
    }

    /// Fills `dst` with the wanted numbers. Returns how many numbers the conversion loses.
    pub(super) fn read_numbers(&self, to: Dtype, taken: &Taken<'_>, dst: &mut [u8]) -> Result<u64> {
        let mut lost = 0;
        self.with_numbers(to, &mut |read| {
            lost = read(taken, dst)?;
            Ok(())
        })?;
        Ok(lost)
    }

    /// How many of its numbers in a range are lost when converted to `to`. The range counts bytes of the
    /// numbers.
    pub(super) fn count_lost(&self, to: Dtype, range: Range<u64>) -> Result<u64> {
        let mut memory = zeroed(whole_units(DECODED, to.size()))?;
        let (mut at, mut lost) = (range.start, 0u64);
        self.with_numbers(to, &mut |read| {
            while at < range.end {
                let left = usize::try_from(range.end.saturating_sub(at)).unwrap_or(usize::MAX);
                let size = memory.len().min(left);
                let now = memory.get_mut(..size).unwrap_or_default();
                lost = lost.saturating_add(read(&Taken::From(at), now)?);
                at = at.saturating_add(size as u64);
            }
            Ok(())
        })?;
        Ok(lost)
    }

    fn with_numbers(&self, to: Dtype, body: &mut WithReader<'_>) -> Result<()> {
        match self.stored_numbers(to)? {
            (Stored::Array(data), _) => body(&mut |_, dst| self.read_cut_array(&data, to, dst)),
            (Stored::Entries(_, each), size) => self.with_entries(to, in_memory(each)?, size, body),
            (Stored::Groups(data, groups), _) => self.with_groups(&data, groups, to, body),
            (Stored::Weight(data, plan), _) => self.with_weight(&data, &plan, to, body),
        }
    }

    /// How its numbers are stored, and the size in bytes of the numbers converted to `to`.
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
                Ok((Stored::Entries(values, each), self.size_of_shape(each, to)?))
            }
            Format::QuantizedGroup => {
                let plan = self.plan()?;
                if !is_float(to) {
                    return Err(self.wrap(no_float(format, to)));
                }
                let size = self.size_of_shape(to.size() as u64, to)?;
                Ok((Stored::Weight(self.required("packed_weight")?, plan), size))
            }
            Format::Other(_) => {
                let Some(groups) = self.groups()? else {
                    return Err(self.wrap(fail!(
                        Unsupported,
                        "its format is {format:?}, which cannot be read as numbers"
                    )));
                };
                let data = self.required("data")?;
                let why = if !is_float(to) {
                    no_float(format, to)
                } else if format == MX && data.known_logical().is_none() {
                    // With dtype i8, the specification of zTensor 2 does not say which scale is implied.
                    fail!(Unsupported, "the text of {format:?} does not define the meaning of i8 numbers")
                } else {
                    let size = to.size() as u64;
                    return Ok((Stored::Groups(data, groups), self.size_of_shape(size, to)?));
                };
                Err(self.wrap(why))
            }
        }
    }

    /// The size in bytes of the shape, if each element takes `each` bytes.
    fn size_of_shape(&self, each: u64, to: Dtype) -> Result<u64> {
        let size = self.element_count().and_then(|count| count.checked_mul(each));
        size.ok_or_else(|| {
            let (shape, to) = (self.shape(), to.name());
            self.wrap(fail!(Limit, "the shape {shape:?} as {to} takes more than 2^64 bytes"))
        })
    }

    /// Checks that the component of an array has the size that the shape needs.
    fn check_array(&self, data: &Component<'f>) -> Result<()> {
        if let Format::Blocks(_) = self.format() {
            self.check_layout(true)?;
        }
        data.check_array_bytes().map_err(|e| data.wrap(e))
    }

    /// Whether a checked array ends at the end of its last block.
    fn has_whole_blocks(&self, data: &Component<'f>) -> Result<bool> {
        self.check_array(data)?;
        let block = data.known_block().map_err(|e| data.wrap(e))?;
        Ok(self.element_count().is_some_and(|count| block.divides(count)))
    }

    /// Reads all elements of an array whose last block has more elements than the shape.
    fn read_cut_array(&self, data: &Component<'f>, to: Dtype, dst: &mut [u8]) -> Result<u64> {
        let (size, mut rest, mut lost) = (dst.len() as u64, dst, 0u64);
        self.for_each_of_array(data, size, to, &mut |piece| {
            lost = lost.saturating_add(piece.lost);
            take_front(&mut rest, piece.numbers.len() as u64)?.copy_from_slice(piece.numbers);
            Ok(())
        })?;
        Ok(lost)
    }

    fn for_each_of_array(
        &self,
        data: &Component<'f>,
        size: u64,
        to: Dtype,
        body: &mut PieceBody<'_>,
    ) -> Result<()> {
        self.check_array(data)?;
        let from = data.entry.element_type().map_err(|e| data.wrap(e))?;
        let mut rest = size;
        data.for_each_pair(to, &mut |decoded, numbers, lost| {
            // Leave out the elements of the last block that are not in the shape.
            let left = usize::try_from(rest).unwrap_or(usize::MAX);
            let numbers = numbers.get(..left).unwrap_or(numbers);
            rest = rest.saturating_sub(numbers.len() as u64);
            body(Piece { decoded, from, numbers, lost })
        })
    }

    /// The stored bytes of all its components, and how much more memory decoding its numbers takes.
    pub(super) fn cost_of_numbers(&self) -> (u64, u64) {
        let is_sparse = matches!(self.format(), Format::SparseCsr | Format::SparseCoo);
        let is_by_rows = || self.plan().is_ok_and(|plan| plan.is_by_rows());
        let (mut stored, mut memory) = (0u64, (DECODED as u64).saturating_mul(8));
        for component in self.components() {
            stored = stored.saturating_add(component.stored_size());
            let is_of_codes =
                component.role() == "data" || component.role() == "packed_weight" && is_by_rows();
            let is_in_pieces = !is_sparse && is_of_codes && component.is_raw();
            if !is_in_pieces && component.slice_for_call().is_none() {
                memory = memory.saturating_add(component.decoded_size().unwrap_or(0));
            }
            if is_sparse && component.role() == "values" && !self.positions_are_unique(&component) {
                let entries = component.storage_count().unwrap_or(0);
                memory = memory.saturating_add(entries.saturating_mul(BYTES_TO_COMPARE));
            }
        }
        (stored, memory)
    }

    fn with_entries(&self, to: Dtype, each: usize, size: u64, body: &mut WithReader<'_>) -> Result<()> {
        if self.format() == Format::SparseCsr {
            let csr = self.csr_geometry()?;
            let loaded =
                [csr.values.load_for_call()?, csr.indices.load_for_call()?, csr.indptr.load_for_call()?];
            let view = self.csr_view_of(&csr, loaded.each_ref().map(ComponentBytes::as_slice))?;
            let values = view.values.elements().map_err(|e| self.wrap(e))?;
            let mut entries = Entries::new(view.nnz, Positions::Rows(view));
            return self.with_cells(&mut entries, values, &csr.indices, (to, each, size), body);
        }
        self.check_layout(true)?;
        let coo = self.coo_geometry()?;
        let loaded = [coo.values.load_for_call()?, coo.coords.load_for_call()?];
        let view = self.coo_view_of(&coo, loaded.each_ref().map(ComponentBytes::as_slice))?;
        let values = view.values.elements().map_err(|e| self.wrap(e))?;
        let mut entries = Entries::new(view.nnz, Positions::Coordinates(view));
        self.with_cells(&mut entries, values, &coo.coords, (to, each, size), body)
    }

    fn with_cells<'b>(
        &self,
        entries: &mut Entries<'b>,
        values: Elements<'b>,
        positions: &Component<'f>,
        (to, each, size): (Dtype, usize, u64),
        body: &mut WithReader<'_>,
    ) -> Result<()> {
        if !self.positions_are_unique(positions) {
            let memory = |nnz| self.comparable_entries(positions, nnz, BYTES_TO_COMPARE);
            entries.find_equal(&memory).map_err(|e| positions.wrap(e))?;
        }
        if entries.has_equal() && !is_float(to) {
            return Err(self.wrap(fail!(
                Unsupported,
                "its format is {:?}, and several entries have equal coordinates: their sum can become f64, \
                 f32, f16 or bf16, not {}",
                self.format_name(),
                to.name()
            )));
        }
        body(&mut |taken, dst| {
            dst.fill(0);
            let are_all = dst.len() as u64 == size;
            let placed = entries.place(values, to, &mut TakenCells { taken, each, are_all, dst });
            placed.map_err(|e| self.wrap(e))
        })
    }
}

fn is_float(to: Dtype) -> bool {
    matches!(to.class(), Class::Float | Class::Bfloat)
}

#[cold]
fn no_float(format: &str, to: Dtype) -> Error {
    let to = to.name();
    fail!(Unsupported, "numbers of {format:?} can become f64, f32, f16 or bf16, not {to}")
}

impl Component<'_> {
    /// The size in bytes of one of its elements, converted to `to`.
    fn bytes_of_each(&self, to: Dtype) -> Result<u64> {
        let block = self.known_block()?;
        let size = converted_size(block.bytes, self.entry.element_type()?, to)?;
        Ok(size.checked_div(block.elements).unwrap_or(0))
    }

    /// The size in bytes of its object's shape: as stored, and converted to `to`.
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
        // If the last block is not full, only the elements of the shape are converted.
        Ok((size, if block.divides(count) { whole } else { count.saturating_mul(to.size() as u64) }))
    }

    /// Checks that it has the size that the shape of its object needs.
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

    /// The size of its elements. If the dtype or type is unknown, the error names it.
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
