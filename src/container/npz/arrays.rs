//! Reads arrays into the tables of a manifest.

use super::header::{self, ElementType, Header, HeaderOutcome};
use crate::codec::inflate_front;
use crate::container::clashes;
use crate::container::frame::{Frame, Input, Limits, TRAILING_HELP};
use crate::container::tables::{add_layout, add_name, add_object, add_text, extend, push};
use crate::container::zip::{Directory, Member, Method};
use crate::error::{broken, fail, Error, Quoted, Result, Rule};
use crate::memory::{bytes_of, Budget};
use crate::model::component::{Checksum, Layout};
use crate::model::dtype::Dtype;
use crate::model::manifest::{
    element_count, table_position, Component, Container, Encoding, Format, LogicalType, Manifest, Object,
    RareNames, TextId,
};
use std::fmt::Display;

/// How many bytes of a member are read with its local header. Most array headers have 128 bytes.
const AHEAD: u64 = 256;
/// How many bytes of a single array are read first.
const FIRST_READ: u64 = 4 << 10;

enum Found {
    /// It is a folder and has no content.
    Folder,
    /// It is stored in a way that the library does not read.
    Unread,
    /// It does not begin like an array.
    Other,
    /// It is an array in a version of the format that the library does not read.
    Version(u8, u8),
    Array(Header),
}

/// The type name of a member that is not an array.
const NOT_AN_ARRAY: &str = "npz.not_an_array";

/// Reads the arrays of an archive: members that begin like an array. Other members are listed but not read.
pub(super) fn archive(
    mut directory: Directory,
    frame: &mut Frame,
    input: &mut dyn Input,
    budget: &Budget,
) -> Result<Manifest> {
    let mut manifest = begin()?;
    let found = headers(&mut directory, input, &mut manifest.dimensions, budget)?;
    let is_named = |member: &Member| directory.name(member).ends_with(b".npy");
    let is_array = |found: &Found| matches!(found, Found::Array(_) | Found::Version(..));
    if !found.is_empty() && !found.iter().any(is_array) && !directory.members.iter().any(is_named) {
        return Err(neither(&directory));
    }
    let (mut name, charged) = (Vec::new(), bytes_of::<Found>(found.capacity()));
    for (member, found) in directory.members.iter().zip(found) {
        name.clear();
        let stem = directory.name(member);
        let stem = stem.strip_suffix(b".npy").unwrap_or(stem);
        match member.is_utf8() || stem.is_ascii() {
            true => extend(budget, &mut name, stem)?,
            false => decode_437(stem, budget, &mut name)?,
        }
        let mut unread = |reason: &dyn Display| {
            let place = StoredArray::of(member, 0);
            add_unread(&mut manifest, &name, reason, place, budget)
        };
        let added = match (found, member.method()) {
            (Found::Folder, _) => Ok(()),
            (_, Method::Unread(reason)) => unread(&reason),
            (Found::Other | Found::Unread, _) => unread(&NOT_AN_ARRAY),
            (Found::Version(major, minor), _) => unread(&format_args!("npy.version-{major}.{minor}")),
            (Found::Array(header), _) => {
                let place = StoredArray::of(member, header.size);
                let added = add_array(&mut manifest, &name, &header, place, budget);
                if let ElementType::Unreadable { text, .. } = header.kind {
                    drop_text(text, budget);
                }
                added
            }
        };
        added.map_err(|e| directory.blame(member, e))?;
    }
    drop_text(name, budget);
    budget.give_back(charged);
    clashes::mark_objects(&mut manifest, budget)?;
    (frame.data, frame.manifest) = (0..directory.range.start, directory.range);
    Ok(manifest)
}

#[cold]
fn neither(directory: &Directory) -> Error {
    let first = directory.members.first().map(|member| directory.name(member)).unwrap_or_default();
    fail!(
        Unsupported,
        "this is a zip archive of {} members, the first of them {}: neither an npz, whose members are \
         arrays of NumPy, nor a checkpoint of PyTorch, which has a folder with data.pkl",
        directory.members.len(),
        Quoted(first)
    )
}

/// Reads the header of each member that is an array. Appends its dimensions to `dimensions`.
fn headers(
    directory: &mut Directory,
    input: &mut dyn Input,
    dimensions: &mut Vec<u64>,
    budget: &Budget,
) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    for member in &directory.members {
        let is_folder = member.size == 0 && directory.name(member).ends_with(b"/");
        push(budget, &mut found, if is_folder { Found::Folder } else { Found::Unread })?;
    }
    let mut inflated = Vec::new();
    directory.visit(input, AHEAD, budget, &mut |at, member, front| {
        let Some(found @ Found::Unread) = found.get_mut(at) else { return Ok(None) };
        let header = match member.method() {
            Method::Stored => header::read(front, member.size, dimensions, budget)?,
            Method::Deflated => match inflate(member, front, &mut inflated, dimensions, budget)? {
                HeaderOutcome::Needs(_) => {
                    HeaderOutcome::Needs((front.len() as u64).saturating_mul(4).max(AHEAD))
                }
                found => found,
            },
            Method::Unread(_) => return Ok(None),
        };
        match header {
            HeaderOutcome::Needs(size) => return Ok(Some(size)),
            HeaderOutcome::Other => *found = Found::Other,
            HeaderOutcome::Version(major, minor) => *found = Found::Version(major, minor),
            HeaderOutcome::Header(header) => {
                check_size(&header, dimensions, member.size)?;
                *found = Found::Array(header);
            }
        }
        Ok(None)
    })?;
    budget.give_back(inflated.len() as u64);
    Ok(found)
}

/// Reads a file that is a single array.
pub(super) fn single(
    frame: &mut Frame,
    input: &mut dyn Input,
    limits: &Limits,
    budget: &Budget,
) -> Result<Manifest> {
    let mut manifest = begin()?;
    let file_size = input.file_size();
    let mut size = FIRST_READ;
    let header = loop {
        let front = input.read(0..size.min(file_size))?;
        match header::read(front, file_size, &mut manifest.dimensions, budget)? {
            HeaderOutcome::Header(header) => break header,
            HeaderOutcome::Needs(more) if more > size => size = more,
            HeaderOutcome::Needs(_) => return Err(fail!(Internal, "a header that was read is wanted")),
            HeaderOutcome::Version(major, minor) => {
                return Err(fail!(
                    Unsupported,
                    "its header has version {major}.{minor}; 1.0, 2.0 and 3.0 are read here"
                ));
            }
            HeaderOutcome::Other => return Err(fail!(Internal, "an array does not begin as one")),
        }
    };
    let size = file_size.saturating_sub(header.size);
    let size = match size_of(&header, &manifest.dimensions)? {
        Some(expected) if expected < size && limits.allow_trailing => expected,
        Some(expected) if expected < size => {
            let behind = size.saturating_sub(expected);
            return Err(broken!(Rule::DenseSize, "{behind} bytes follow its elements; {TRAILING_HELP}"));
        }
        _ => check_size(&header, &manifest.dimensions, file_size).map(|()| size)?,
    };
    let place = StoredArray {
        offset: header.size,
        stored_size: size,
        encoding: Encoding::Raw,
        layout: Layout { decoded_size: size, ..Layout::default() },
    };
    add_array(&mut manifest, b"", &header, place, budget)?;
    (frame.manifest, frame.data) = (0..header.size, header.size..file_size);
    Ok(manifest)
}

fn begin() -> Result<Manifest> {
    let mut manifest = Manifest::default();
    manifest.container = Some(Container::Npz);
    manifest.version_text = Some(manifest.texts.add("")?); // neither archives nor arrays have a version
    Ok(manifest)
}

/// The header of a deflated member, which begins with the stored bytes `front`.
fn inflate(
    member: &Member,
    front: &[u8],
    inflated: &mut Vec<u8>,
    dimensions: &mut Vec<u64>,
    budget: &Budget,
) -> Result<HeaderOutcome> {
    let mut size = 4096.min(member.size);
    loop {
        let count = usize::try_from(size).unwrap_or(usize::MAX);
        if inflated.len() < count {
            budget.charge(size, "the header of a member")?;
            budget.give_back(inflated.len() as u64);
            inflated.try_reserve_exact(count.saturating_sub(inflated.len()))?;
            inflated.resize(count, 0);
        }
        let space = inflated.get_mut(..count).unwrap_or_default();
        let written = inflate_front(front, space)?;
        let decoded = space.get(..written).unwrap_or_default();
        match header::read(decoded, member.size, dimensions, budget)? {
            HeaderOutcome::Needs(more) if written as u64 == size && more > size => size = more,
            HeaderOutcome::Needs(_) if front.len() as u64 == member.stored_size => {
                return Err(broken!(Rule::DeflateLength, "its deflated bytes end within its header"));
            }
            front => return Ok(front),
        }
    }
}

/// The size of an array's elements in bytes; `None` if the size of an element is unknown.
fn size_of(header: &Header, dimensions: &[u64]) -> Result<Option<u64>> {
    let shape = shape_of(header, dimensions);
    let unit = match &header.kind {
        ElementType::Plain { dtype, logical, .. } => Some(unit(*dtype, *logical)),
        ElementType::Unreadable { size, .. } => *size,
    };
    let overflow = || broken!(Rule::ShapeOverflow, "the size of the shape {shape:?} exceeds 64 bits");
    let elements = element_count(shape).ok_or_else(overflow)?;
    unit.map(|unit| elements.checked_mul(unit).ok_or_else(overflow)).transpose()
}

/// Checks that an array of `total` bytes (including its header) has the number of elements that its shape
/// gives.
fn check_size(header: &Header, dimensions: &[u64], total: u64) -> Result<()> {
    let size = total.saturating_sub(header.size);
    match size_of(header, dimensions)? {
        Some(expected) if expected != size => Err(broken!(
            Rule::DenseSize,
            "it has {size} bytes behind its header, but its elements of the shape {:?} take {expected}",
            shape_of(header, dimensions)
        )),
        _ => Ok(()),
    }
}

fn unit(dtype: Dtype, logical: LogicalType) -> u64 {
    match logical {
        LogicalType::Known(logical) => logical.block().bytes,
        _ => dtype.block().bytes,
    }
}

fn shape_of<'d>(header: &Header, dimensions: &'d [u64]) -> &'d [u64] {
    let (start, rank) = (header.shape.0 as usize, header.shape.1 as usize);
    dimensions.get(start..start.saturating_add(rank)).unwrap_or_default()
}

/// The position of an array's bytes in the file, and their encoding.
struct StoredArray {
    offset: u64,
    stored_size: u64,
    encoding: Encoding,
    /// The layout. Its strides are set later.
    layout: Layout,
}

impl StoredArray {
    /// The array in a member, after a header of this size. The position of the member's stored bytes is
    /// known.
    fn of(member: &Member, header_size: u64) -> StoredArray {
        let stored = member.stored();
        let checksum = Some(Checksum { crc32: member.crc32, start: stored.start, size: member.size });
        let (offset, stored_size) = (stored.start, member.stored_size);
        match member.method() {
            Method::Deflated => {
                let (decoded_size, start) = (member.size, header_size);
                let layout = Layout { decoded_size, start, strides: None, checksum };
                StoredArray { offset, stored_size, encoding: Encoding::Deflate, layout }
            }
            Method::Unread(_) => {
                let layout = Layout { decoded_size: stored_size, ..Layout::default() };
                StoredArray { offset, stored_size, encoding: Encoding::Other, layout }
            }
            Method::Stored => {
                let size = member.size.saturating_sub(header_size);
                StoredArray {
                    offset: offset.saturating_add(header_size),
                    stored_size: size,
                    encoding: Encoding::Raw,
                    layout: Layout { decoded_size: size, start: 0, strides: None, checksum },
                }
            }
        }
    }
}

fn add_array(
    manifest: &mut Manifest,
    name: &[u8],
    header: &Header,
    place: StoredArray,
    budget: &Budget,
) -> Result<()> {
    let mut component = Component::new(manifest.intern_role("data")?, None);
    let mut rare = RareNames::default();
    let mut place = place;
    match &header.kind {
        ElementType::Plain { dtype, logical, big_endian } => {
            (component.dtype, component.logical) = (Some(*dtype), *logical);
            component.set_big_endian(*big_endian);
            place.layout.strides = strides(manifest, header, budget)?;
        }
        ElementType::Unreadable { text, .. } => rare.dtype = Some(described(manifest, text, budget)?),
    }
    add_member(manifest, name, header.shape, (component, rare), place, budget)
}

/// Adds a member that is listed but not read. The name of its type gives the reason.
fn add_unread(
    manifest: &mut Manifest,
    name: &[u8],
    reason: &dyn Display,
    place: StoredArray,
    budget: &Budget,
) -> Result<()> {
    let component = Component::new(manifest.intern_role("data")?, None);
    let reason = Some(add_name(budget, manifest, reason)?);
    let encoding = reason.filter(|_| place.encoding == Encoding::Other);
    let rare = RareNames { dtype: reason, encoding, ..RareNames::default() };
    add_member(manifest, name, (0, 0), (component, rare), place, budget)
}

/// Adds an object with one component of a known type.
fn add_member(
    manifest: &mut Manifest,
    name: &[u8],
    shape: (u32, u32),
    (mut component, rare): (Component, RareNames),
    place: StoredArray,
    budget: &Budget,
) -> Result<()> {
    let name = add_text(budget, manifest, name)?;
    let StoredArray { offset, stored_size, encoding, layout } = place;
    (component.offset, component.stored_size, component.encoding) = (offset, stored_size, encoding);
    let size = layout.decoded_size.saturating_sub(layout.start);
    component.set_size((encoding != Encoding::Other).then_some(size));
    component.set_size_declared(encoding.is_compressed());
    component.rare = match encoding {
        Encoding::Other => manifest.add_rare_names(rare)?,
        _ => add_layout(budget, manifest, rare, layout)?,
    };
    add_object(budget, manifest, Object::with_one_component(name, Format::Dense, shape), component)
}

/// The strides of an array in Fortran order; `None` if its elements are in row-major order anyway.
fn strides(manifest: &mut Manifest, header: &Header, budget: &Budget) -> Result<Option<u32>> {
    let shape = shape_of(header, &manifest.dimensions);
    let is_row_major = shape.iter().filter(|count| **count != 1).count() < 2 || shape.contains(&0);
    if !header.fortran_order || is_row_major {
        return Ok(None);
    }
    let start = table_position(manifest.strides.len())?;
    let mut stride = 1u64;
    for count in shape {
        push(budget, &mut manifest.strides, stride)?;
        stride = stride.saturating_mul(*count);
    }
    Ok(Some(start))
}

/// The name of a type that is not read, from its description in Latin-1.
fn described(manifest: &mut Manifest, text: &[u8], budget: &Budget) -> Result<TextId> {
    let mut name = Vec::new();
    extend(budget, &mut name, b"numpy.")?;
    match std::str::from_utf8(text) {
        Ok(text) => extend(budget, &mut name, text.as_bytes())?,
        Err(_) => {
            for byte in text {
                extend(budget, &mut name, char::from(*byte).encode_utf8(&mut [0; 4]).as_bytes())?;
            }
        }
    }
    let kept = add_text(budget, manifest, &name);
    drop_text(name, budget);
    kept
}

/// Frees a text, and returns its memory to the budget.
fn drop_text(text: Vec<u8>, budget: &Budget) {
    budget.give_back(text.capacity() as u64);
}

/// The characters of code page 437 from 128 on. Names that are not marked as UTF-8 use them.
const CODE_PAGE_437: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»\
    ░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀\
    αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";

fn decode_437(name: &[u8], budget: &Budget, to: &mut Vec<u8>) -> Result<()> {
    let mut table = ['\0'; 128];
    table.iter_mut().zip(CODE_PAGE_437.chars()).for_each(|(place, character)| *place = character);
    for byte in name {
        let high = byte.checked_sub(128).and_then(|at| table.get(usize::from(at)).copied());
        let character = high.unwrap_or(char::from(*byte));
        extend(budget, to, character.encode_utf8(&mut [0; 4]).as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_dropped_is_no_longer_charged() {
        let (described_by, added_by) = (Budget::new(1 << 20), Budget::new(1 << 20));
        let (mut one, mut other) = (begin().unwrap(), begin().unwrap());
        for size in [1, 100, 5000] {
            let text = "x".repeat(size);
            described(&mut one, text.as_bytes(), &described_by).unwrap();
            add_text(&added_by, &mut other, format!("numpy.{text}").as_bytes()).unwrap();
            assert_eq!(described_by.held(), added_by.held());
        }
    }
}
