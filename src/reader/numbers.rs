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

use super::batch::{part_of_rows, run_request, Hyperslab, Selection};
use super::entries::{Cells, Entries, Positions};
use super::groups::{Decoder, Elements};
use super::object::{Component, Object};
use super::view::ViewPart;
use crate::codec::Decoding;
use crate::convert::{as_bytes, convert, converted_size, refuse_loss};
use crate::error::{broken, fail, Result, Rule};
use crate::load::{Part, Request, Slab, StoredComponent, Taken, Wanted};
use crate::memory::{in_memory, take_front, try_box, zeroed};
use crate::model::dtype::{Block, Class, Dtype};
use crate::model::manifest::{Format, LogicalType};
use crate::model::structure::Groups;

/// The layout of small floats with scales that are powers of two.
const MX: &str = "zt.mx/1";

/// Which numbers of an object are read.
#[derive(Clone, Copy, Debug)]
pub enum Selected<'a> {
    /// All of them.
    Whole,
    /// Rows, a row being the last dimension.
    Rows {
        /// The first row.
        first: u64,
        /// How many.
        rows: u64,
        /// From one row to the next; 1 if they follow each other.
        stride: u64,
    },
    /// A hyperslab.
    Slab(Hyperslab<'a>),
}

/// Where the numbers of an object are.
enum Stored<'f> {
    /// All are in one component.
    Array(Component<'f>),
    /// These values take so many bytes each; all others are zero.
    Entries(Component<'f>, u64),
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
        match &stored {
            Stored::Array(data) => self.read_array(data, to, dst)?,
            Stored::Entries(main, _) | Stored::Groups(main, _) => {
                let threads = self.file.threads_for(size).min(main.threads_of_source());
                let wanted = Wanted { convert: Some(to), ..Wanted::default() };
                run_request(self.request_as(&Selected::Whole, wanted, dst)?, threads)?;
            }
        }
        in_memory(size)
    }

    /// A request for its numbers as elements of the dtype `wanted.convert`, which go to the front of `dst`.
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
            Stored::Array(data) => {
                let part = match selected {
                    Selected::Whole => Selection::Whole,
                    Selected::Slab(slab) => Selection::Slab(*slab),
                    Selected::Rows { first, rows, stride } => {
                        let block = data.known_block().map_err(|e| data.wrap(e))?;
                        self.rows(block, *first, *rows, *stride).map_err(|e| data.wrap(e))?
                    }
                };
                return data.request_as(&part, wanted, dst);
            }
            Stored::Entries(values, each) => (values, *each, false),
            // Codes that are compressed are decoded from the first one on.
            Stored::Groups(data, _) => (data, to.size() as u64, data.is_raw()),
        };
        let blob = main.blob().map_err(|e| main.wrap(e))?;
        let decoding = Decoding::Numbers { to, in_ranges };
        let blob = StoredComponent { decoding, size, strict_bools: false, ..blob };
        let part = || match selected {
            Selected::Whole => Ok(Part::Whole),
            Selected::Slab(slab) => {
                let slab = Slab::new(self.shape(), slab.start, slab.count, slab.step, each)?;
                Ok(Part::Slab(try_box(slab)?))
            }
            Selected::Rows { first, rows, stride } => {
                match self.rows(Block { elements: 1, bytes: each }, *first, *rows, *stride)? {
                    Selection::Rows { offset, rows, row_length, row_stride } => {
                        part_of_rows(offset, rows, row_length, row_stride, size)
                    }
                    _ => Err(fail!(Internal, "rows are not rows")),
                }
            }
        };
        let (part, size) = part().and_then(|part| Request::checked(&blob, part, None)).map_err(wrap)?;
        Ok(Request::of(blob, part, size, Wanted { convert: None, ..wanted }, dst))
    }

    /// Fills `dst` with those of its numbers that are taken, and returns how many of them that loses. Not for
    /// numbers that are all in one component.
    pub(super) fn read_numbers(&self, to: Dtype, taken: &Taken<'_>, dst: &mut [u8]) -> Result<u64> {
        match self.stored_numbers(to)? {
            (Stored::Array(_), _) => Err(fail!(Internal, "an array is read by its component")),
            (Stored::Entries(_, each), size) => {
                let (each, are_all) = (in_memory(each)?, dst.len() as u64 == size);
                self.read_entries(to, Cells { taken, each, are_all, dst })
            }
            (Stored::Groups(data, groups), _) => self.read_groups(&data, groups, to, taken, dst),
        }
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
                Ok((Stored::Entries(values, each), self.size_of_shape(each, to)?))
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

/// Elements as f32 that are decoded before some of them are taken.
const DECODED: usize = 32 << 10;

/// Unwanted elements between two pieces that are rather decoded than skipped.
const MAX_DECODED_GAP: u64 = 4 << 10;

impl<'f> Object<'f> {
    fn read_groups(
        &self,
        data: &Component<'f>,
        groups: Groups,
        to: Dtype,
        taken: &Taken<'_>,
        dst: &mut [u8],
    ) -> Result<u64> {
        let elements = |part: &Component<'f>| part.part()?.elements().map_err(|e| part.wrap(e));
        let scales = elements(&self.required("scales")?)?;
        let zeros = self.component("zeros").map(|zeros| elements(&zeros)).transpose()?;
        let mut decoder = Decoder::new(groups, self.shape(), scales, zeros).map_err(|e| self.wrap(e))?;
        let width = to.size() as u64;
        let in_elements = |bytes: u64| bytes.checked_div(width).unwrap_or(0);
        let (total, mut rest, mut lost) = (dst.len() as u64, dst, 0u64);
        let mut store = |numbers: &[f32], rest: &mut &mut [u8]| -> Result<()> {
            let numbers = as_bytes(numbers);
            let from = (Dtype::F32, None);
            let now = take_front(rest, converted_size(numbers.len() as u64, from, to)?)?;
            lost = lost.saturating_add(convert(numbers, from, to, now, total)?);
            Ok(())
        };
        match taken {
            Taken::From(first) => {
                let count = in_elements(rest.len() as u64);
                data.decode_codes(&mut decoder, groups, in_elements(*first), count, &mut |numbers| {
                    store(numbers, &mut rest)
                })?;
            }
            Taken::Slab(slab) => {
                let [most, gap] = [DECODED as u64, MAX_DECODED_GAP].map(|n| n.saturating_mul(width));
                let mut decoded = Vec::new();
                decoded.try_reserve_exact(DECODED)?;
                for piece in slab.windows().flat_map(|window| window.pieces(most, gap)) {
                    let (first, count) = (in_elements(piece.source_offset), in_elements(piece.source_size()));
                    if piece.count == 1 {
                        data.decode_codes(&mut decoder, groups, first, count, &mut |numbers| {
                            store(numbers, &mut rest)
                        })?;
                        continue;
                    }
                    decoded.clear();
                    data.decode_codes(&mut decoder, groups, first, count, &mut |numbers| {
                        decoded.extend_from_slice(numbers); // within what was reserved
                        Ok(())
                    })?;
                    let (stride, block) = (in_elements(piece.stride), in_elements(piece.block));
                    let step = usize::try_from(stride).unwrap_or(usize::MAX);
                    for numbers in decoded.chunks(step) {
                        let block = numbers.len().min(usize::try_from(block).unwrap_or(usize::MAX));
                        store(numbers.get(..block).unwrap_or_default(), &mut rest)?;
                    }
                }
            }
        }
        Ok(lost)
    }

    fn read_entries(&self, to: Dtype, mut cells: Cells<'_>) -> Result<u64> {
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
        cells.dst.fill(0);
        values.and_then(|values| entries.place(values, to, &mut cells)).map_err(|e| self.wrap(e))
    }
}

impl Component<'_> {
    /// Gives `body` the elements of the codes in it from the element `first` on.
    fn decode_codes(
        &self,
        decoder: &mut Decoder<'_>,
        groups: Groups,
        first: u64,
        count: u64,
        body: &mut dyn FnMut(&[f32]) -> Result<()>,
    ) -> Result<()> {
        let (from, blob) =
            self.entry.element_type().and_then(|from| Ok((from, self.blob()?))).map_err(|e| self.wrap(e))?;
        let (per, width) = (groups.codes_per_element.max(1), from.0.size() as u64);
        let of_word = first.checked_div(per).unwrap_or(0);
        let end = first.saturating_add(count).div_ceil(per);
        let range = of_word.saturating_mul(width)..end.saturating_mul(width).min(blob.size);
        // The first word may have elements before the first, the last one codes behind the last.
        let mut skipped = usize::try_from(first.checked_rem(per).unwrap_or(0)).unwrap_or(usize::MAX);
        let mut left = count;
        decoder.go_to(of_word.saturating_mul(per));
        let mut decode = |chunk: &[u8]| {
            decoder.decode(chunk, from, &mut |numbers| {
                let numbers = numbers.get(skipped.min(numbers.len())..).unwrap_or_default();
                let now = numbers.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                (skipped, left) = (0, left.saturating_sub(now as u64));
                body(numbers.get(..now).unwrap_or_default())
            })
        };
        if self.is_raw() || range.end.saturating_sub(range.start) == blob.size {
            return self.unless_changed(blob.for_each_in(&range, &mut decode));
        }
        let size = range.end.saturating_sub(range.start); // at most what their numbers take in the destination
        let mut codes = zeroed(in_memory(size)?)?;
        self.run(Part::Range { offset: range.start, length: size }, None, &mut codes, 1)?;
        decode(&codes).map_err(|e| self.wrap(e))
    }
}
