//! Reads the metadata of a file into the tables of a manifest. Tensor descriptions are read in as many steps
//! as it takes to get their bytes. ggml's numbers identify the types.

use super::cursor::{Cursor, Encoding, Reach, Read, Stop};
use super::keys::{KeyMap, Keys};
use crate::container::frame::{Frame, Input, Limits};
use crate::container::tables::{add_name, add_object, add_text, expect, push};
use crate::error::{broken, fail, try_format, Error, Quoted, Result, Rule};
use crate::memory::{bytes_of, collected, Budget};
use crate::model::dtype::{ggml_type_from_number, Block, Dtype, Logical};
use crate::model::manifest::{
    element_count, table_position, Component, Container, Format, LogicalType, Manifest, Object, RareNames,
    TextId,
};
use crate::model::sort::sort;
use crate::model::value::Tape;

pub(crate) const MAGIC: &[u8; 4] = b"GGUF";

/// The size of the first read, and the largest size. Each read is twice as large as the one before, and at
/// least one item.
const READ_SIZES: (u64, u64) = (64 << 10, 1 << 20);

const ROLE: &str = "data";

/// Reads the metadata. Returns its end and the manifest.
pub fn decode(
    frame: &mut Frame,
    input: &mut dyn Input,
    limits: &Limits,
    budget: &Budget,
) -> Result<Manifest> {
    decode_by(READ_SIZES, frame, input, limits, budget)
}

pub(super) fn decode_by(
    (mut ahead, most): (u64, u64),
    frame: &mut Frame,
    input: &mut dyn Input,
    limits: &Limits,
    budget: &Budget,
) -> Result<Manifest> {
    let mut tape = Tape::default();
    let mut keys = KeyMap::new(&mut tape, budget)?;
    let reach = Reach { file_size: input.file_size(), limit: limits.manifest_size };
    let mut decoder = MetadataReader::new(limits, budget)?;
    let (mut start, mut least) = (0u64, 0u64);
    loop {
        let end = start.saturating_add(least.max(ahead)).min(reach.limit).min(reach.file_size);
        ahead = ahead.saturating_mul(2).min(most);
        budget.raise(limits.memory_for(end)); // the limit grows with what was read
        let mut cursor = Cursor::new(input.read(start..end)?, start, decoder.encoding, reach);
        match decoder.read(&mut cursor, &mut keys) {
            Ok(()) => {
                let end = cursor.offset();
                let attributes = keys.finish()?;
                tape.trim(Some(budget))?;
                let (data, mut manifest) = decoder.finish(end, reach.file_size)?;
                manifest.container = Some(Container::Gguf);
                manifest.attributes = Some(attributes);
                manifest.values = tape;
                (frame.manifest, frame.data) = (0..end, data..reach.file_size);
                return Ok(manifest);
            }
            Err(Stop::Failed(e)) => return Err(e),
            Err(Stop::More(until)) => {
                start = cursor.done;
                least = until.saturating_sub(start);
            }
        }
    }
}

/// The storage type of a tensor's elements, and their type if they are blocks. `None` if the type is unknown,
/// or a layout that ggml has removed, such as 4 and 31. Then the size of a tensor is unknown.
type Type = Option<(Dtype, Option<Logical>)>;

struct MetadataReader<'b> {
    manifest: Manifest,
    limits: &'b Limits,
    budget: &'b Budget,
    encoding: Encoding,
    role: TextId,
    /// `None` until the header was read.
    keys: Option<Keys>,
    tensors_left: u64,
    /// The last type and its number, because neighbours often have the same.
    last_type: Option<(u32, Type)>,
    /// Whether there is a tensor whose type does not give its size.
    has_unknown: bool,
    last_shape: (u32, u32),
}

impl<'b> MetadataReader<'b> {
    fn new(limits: &'b Limits, budget: &'b Budget) -> Result<Self> {
        let mut manifest = Manifest::default();
        let role = manifest.intern_role(ROLE)?;
        Ok(MetadataReader {
            manifest,
            limits,
            budget,
            encoding: Encoding::default(),
            role,
            keys: None,
            tensors_left: 0,
            last_type: None,
            has_unknown: false,
            last_shape: (0, 0),
        })
    }

    /// Reads everything that is in memory.
    fn read(&mut self, cursor: &mut Cursor<'_>, values: &mut KeyMap<'_>) -> Read<()> {
        if self.keys.is_none() {
            self.header(cursor)?;
            values.set_order(self.encoding.big_endian);
            cursor.end_item();
        }
        let Some(keys) = &mut self.keys else { return Ok(()) };
        keys.read(cursor, values)?;
        let alignment = keys.alignment();
        while self.tensors_left > 0 {
            let info = info(cursor)?;
            self.tensor(&info, alignment).map_err(|e| info.blame(e))?;
            self.tensors_left = self.tensors_left.saturating_sub(1);
            cursor.end_item();
        }
        Ok(())
    }

    fn header(&mut self, cursor: &mut Cursor<'_>) -> Read<()> {
        let version = cursor.version(MAGIC)?;
        let tensors = cursor.count(min_size(cursor.size_width()), "tensors")?;
        // A key has at least a length, the number of its type, and a value of one byte.
        let keys = cursor.count(cursor.size_width().saturating_add(4 + 1), "keys")?;
        let limit = self.limits.objects;
        if tensors > limit {
            return Err(fail!(Limit, "it has {tensors} tensors, above the limit of {limit}").into());
        }
        self.encoding = cursor.encoding;
        let version = try_format(format_args!("{version}"))?;
        self.manifest.version_text = Some(self.manifest.texts.add(&version)?);
        self.tensors_left = tensors;
        self.keys = Some(Keys::new(keys));
        expect(self.budget, &mut self.manifest.objects, tensors)?;
        expect(self.budget, &mut self.manifest.components, tensors)?;
        Ok(())
    }

    /// Adds a tensor. Its offset counts from the start of all data, whose position is not known yet.
    fn tensor(&mut self, info: &Info<'_>, alignment: u64) -> Result<()> {
        let elements = match self.last_type {
            Some((last, found)) if last == info.kind => found,
            _ => ggml_type_from_number(info.kind),
        };
        self.last_type = Some((info.kind, elements));
        let shape = info.shape();
        if info.offset & alignment.saturating_sub(1) != 0 {
            let offset = info.offset;
            return Err(broken!(Rule::OffsetAlign, "its offset {offset} is not a multiple of {alignment}"));
        }
        let name = add_text(self.budget, &mut self.manifest, info.name)?;
        let mut component = Component::new(self.role, elements.map(|(dtype, _)| dtype));
        let mut format = Format::Dense;
        component.set_big_endian(self.encoding.big_endian);
        match elements {
            Some((_, None)) => {}
            Some((_, Some(blocks))) => {
                format = Format::Blocks(blocks);
                component.logical = LogicalType::Known(blocks);
            }
            None => {
                let unknown = add_name(self.budget, &mut self.manifest, format_args!("ggml.{}", info.kind))?;
                self.has_unknown = true;
                format = Format::Other(unknown);
                let rare = RareNames { dtype: Some(unknown), ..RareNames::default() };
                component.rare = self.manifest.add_rare_names(rare)?;
            }
        }
        component.offset = info.offset;
        component.stored_size = size_of(component.block(), info)?;
        component.set_size(Some(component.stored_size));
        let object = Object::with_one_component(name, format, self.shape(shape)?);
        add_object(self.budget, &mut self.manifest, object, component)
    }

    /// Stores a shape, unless it is the same as the last tensor's.
    fn shape(&mut self, shape: &[u64]) -> Result<(u32, u32)> {
        let dimensions = &mut self.manifest.dimensions;
        let last = dimensions.get(self.last_shape.0 as usize..).unwrap_or_default();
        if last == shape {
            return Ok(self.last_shape);
        }
        let start = table_position(dimensions.len())?;
        shape.iter().try_for_each(|dimension| push(self.budget, dimensions, *dimension))?;
        self.last_shape = (start, table_position(shape.len())?);
        Ok(self.last_shape)
    }

    /// Called when all metadata was read. The data begins at the next multiple of the alignment after its
    /// end.
    fn finish(mut self, end: u64, file_size: u64) -> Result<(u64, Manifest)> {
        let alignment = self.keys.as_ref().map_or(1, Keys::alignment);
        let overflow = || broken!(Rule::RangeOverflow, "the start of the data exceeds 64 bits");
        let data = end.checked_next_multiple_of(alignment).ok_or_else(overflow)?;
        for (object, component) in self.manifest.objects.iter().zip(self.manifest.components.iter_mut()) {
            let (offset, name) = (component.offset, object.name);
            component.offset = offset.checked_add(data).ok_or_else(|| {
                let name = Quoted(self.manifest.texts.get_bytes(name));
                broken!(Rule::RangeOverflow, "tensor {name}: its offset {offset} exceeds 64 bits")
            })?;
        }
        if self.has_unknown {
            set_unknown_sizes(&mut self.manifest, file_size, self.budget)?;
        }
        Ok((data, self.manifest))
    }
}

/// Gives a tensor of unknown type all bytes up to the next tensor or the end of the file, including padding.
#[cold]
fn set_unknown_sizes(manifest: &mut Manifest, file_size: u64, budget: &Budget) -> Result<()> {
    let charged = bytes_of::<u64>(manifest.components.len());
    budget.charge(charged, "offsets that are sorted")?;
    let mut offsets: Vec<u64> =
        collected(manifest.components.len(), manifest.components.iter().map(|c| c.offset))?;
    sort(&mut offsets);
    for component in manifest.components.iter_mut().filter(|c| c.dtype.is_none()) {
        let next = offsets.partition_point(|offset| *offset <= component.offset);
        // If several tensors are at the same offset, it is unknown which of them the following bytes belong
        // to.
        let is_alone = next.checked_sub(2).and_then(|at| offsets.get(at)) != Some(&component.offset);
        let end = offsets.get(next).copied().unwrap_or(file_size).min(file_size);
        let size = if is_alone { end.saturating_sub(component.offset) } else { 0 };
        component.stored_size = size;
        component.set_size(Some(size));
    }
    budget.give_back(charged);
    Ok(())
}

/// The stored size of a tensor. 0 if its type is unknown, until all offsets are known.
fn size_of(block: Option<Block>, info: &Info<'_>) -> Result<u64> {
    let Some(block) = block else { return Ok(0) };
    let (shape, row) = (info.shape(), info.row());
    if !block.divides(row) {
        let elements = block.elements;
        return Err(broken!(Rule::BlockRow, "its rows of {row} elements are not whole blocks of {elements}"));
    }
    let size = element_count(shape).and_then(|count| block.size(count));
    size.ok_or_else(|| broken!(Rule::ShapeOverflow, "the size of the shape {shape:?} exceeds 64 bits"))
}

/// The most dimensions of a tensor.
///
/// cbindgen:ignore
pub const MAX_RANK: usize = 8;

/// The description of a tensor in a file.
#[derive(Clone, Copy, Debug)]
pub struct Info<'a> {
    /// Its name, which may not be UTF-8.
    pub name: &'a [u8],
    dimensions: [u64; MAX_RANK],
    rank: usize,
    pub kind: u32,
    /// The offset of its data from the start of all data.
    pub offset: u64,
}

impl Info<'_> {
    /// Its dimensions, outermost first.
    pub fn shape(&self) -> &[u64] {
        self.dimensions.get(MAX_RANK.saturating_sub(self.rank)..).unwrap_or_default()
    }

    /// How many elements a row of the last dimension has.
    pub fn row(&self) -> u64 {
        self.shape().last().copied().unwrap_or(1)
    }

    #[cold]
    pub fn blame(&self, e: Error) -> Error {
        e.within(format_args!("tensor {}", Quoted(self.name)))
    }
}

/// The size of the shortest description: an empty name and no dimensions.
pub fn min_size(size_width: u64) -> u64 {
    size_width.saturating_add(4 + 4 + 8)
}

#[inline]
pub fn info<'a>(cursor: &mut Cursor<'a>) -> Read<Info<'a>> {
    let name = cursor.string()?;
    let mut info = Info { name, dimensions: [0; MAX_RANK], rank: 0, kind: 0, offset: 0 };
    let rank = cursor.u32()?;
    info.rank = usize::try_from(rank).unwrap_or(usize::MAX);
    if info.rank > MAX_RANK {
        let e = broken!(Rule::ShapeRank, "it has {rank} dimensions, more than {MAX_RANK}");
        return Err(Stop::Failed(info.blame(e)));
    }
    for place in info.dimensions.iter_mut().rev().take(info.rank) {
        *place = cursor.size()?;
    }
    info.kind = cursor.u32()?;
    info.offset = cursor.u64()?;
    Ok(info)
}
