//! The front of an array: version, length of the header, the header.

use super::descr::{self, Kind};
use super::literal::Literal;
use crate::container::tables::push;
use crate::error::{broken, Quoted, Result, Rule};
use crate::memory::Budget;
use crate::model::manifest::table_position;

/// First bytes.
pub(super) const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Bytes of the magic, the version and the length, which has two bytes or four.
const SHORT_PREFIX: usize = 10;
const LONG_PREFIX: usize = 12;
/// Bytes of the longest header that is read: more than any type takes.
const MAX_HEADER: u64 = 1 << 20;
/// The most dimensions of an array, as in NumPy.
///
/// cbindgen:ignore
pub const MAX_RANK: u32 = 64;

/// What a header says.
#[derive(Debug)]
pub(super) struct Header {
    pub kind: Kind,
    pub fortran_order: bool,
    /// Its dimensions in the manifest's table: the first, and how many.
    pub shape: (u32, u32),
    /// Bytes in front of the elements.
    pub size: u64,
}

/// What the first bytes show.
pub(super) enum Front {
    Header(Header),
    /// They are not those of an array.
    Other,
    /// They are those of an array whose format has a version that is not read here.
    Version(u8, u8),
    /// So many bytes have to be read for the header.
    Needs(u64),
}

/// Reads the front of an array of `total` bytes, of which `bytes` are the first. Its dimensions are appended
/// to `dimensions`.
pub(super) fn read(bytes: &[u8], total: u64, dimensions: &mut Vec<u64>, budget: &Budget) -> Result<Front> {
    let incomplete = |wanted: u64| match total < wanted {
        true => Err(broken!(Rule::NpyHeader, "it has {total} bytes and ends within its header")),
        false => Ok(Front::Needs(wanted)),
    };
    let (prefix, size) = match bytes.strip_prefix(MAGIC) {
        Some([1, 0, low, high, ..]) => (SHORT_PREFIX, u64::from(u16::from_le_bytes([*low, *high]))),
        Some([2 | 3, 0, rest @ ..]) => match rest.first_chunk::<4>() {
            Some(size) => (LONG_PREFIX, u64::from(u32::from_le_bytes(*size))),
            None => return incomplete(LONG_PREFIX as u64),
        },
        Some([1, 0, ..] | [_] | []) => return incomplete(SHORT_PREFIX as u64),
        Some([major, minor, ..]) => return Ok(Front::Version(*major, *minor)),
        None if MAGIC.starts_with(bytes) && total > bytes.len() as u64 => {
            return Ok(Front::Needs(total.min(LONG_PREFIX as u64)));
        }
        None => return Ok(Front::Other),
    };
    let end = size.saturating_add(prefix as u64);
    if size > MAX_HEADER {
        return Err(broken!(Rule::NpyHeader, "its header has {size} bytes, more than {MAX_HEADER}"));
    }
    let text = usize::try_from(end).ok().and_then(|end| bytes.get(prefix..end));
    let Some(text) = text else { return incomplete(end) };
    let is_utf8 = bytes.get(6) == Some(&3);
    if is_utf8 && std::str::from_utf8(text).is_err() {
        return Err(broken!(Rule::NpyHeader, "its header is not UTF-8"));
    }
    let found = dictionary(text, dimensions, budget)?;
    Ok(Front::Header(Header { size: end, ..found }))
}

/// Keys of the dictionary.
const DESCR: u8 = 1;
const FORTRAN_ORDER: u8 = 2;
const SHAPE: u8 = 4;

fn dictionary(text: &[u8], dimensions: &mut Vec<u64>, budget: &Budget) -> Result<Header> {
    let mut literal = Literal::new(text);
    let mut seen = 0;
    let (mut kind, mut fortran_order, mut shape) = (None, false, (0, 0));
    literal.expect(b'{', "expected a dictionary")?;
    while !literal.take(b'}') {
        let Some(key) = literal.text()? else { return Err(literal.wrong("expected a key or the end")) };
        let field = match key {
            b"descr" => DESCR,
            b"fortran_order" => FORTRAN_ORDER,
            b"shape" => SHAPE,
            _ => return Err(broken!(Rule::NpyHeader, "its header has an unknown key {}", Quoted(key))),
        };
        if seen & field != 0 {
            return Err(broken!(Rule::NpyHeader, "its header has two keys {}", Quoted(key)));
        }
        seen |= field;
        literal.expect(b':', "expected \":\"")?;
        match field {
            DESCR => {
                kind = Some(match literal.text()? {
                    Some(text) => descr::parse(text, budget)?,
                    None => Kind::unreadable(literal.value()?, budget)?,
                });
            }
            FORTRAN_ORDER => fortran_order = literal.boolean()?,
            _ => shape = tuple(&mut literal, dimensions, budget)?,
        }
        if !literal.take(b',') {
            literal.expect(b'}', "expected a comma or the end of the dictionary")?;
            break;
        }
    }
    literal.end()?;
    match kind.filter(|_| seen == DESCR | FORTRAN_ORDER | SHAPE) {
        Some(kind) => Ok(Header { kind, fortran_order, shape, size: 0 }),
        None => {
            let missing = match seen {
                _ if seen & DESCR == 0 => "descr",
                _ if seen & SHAPE == 0 => "shape",
                _ => "fortran_order",
            };
            Err(broken!(Rule::NpyHeader, "its header has no key {missing:?}"))
        }
    }
}

/// Appends a tuple of dimensions to `dimensions`. Returns where the first is and how many there are.
fn tuple(literal: &mut Literal<'_>, dimensions: &mut Vec<u64>, budget: &Budget) -> Result<(u32, u32)> {
    literal.expect(b'(', "expected a tuple of dimensions")?;
    let start = table_position(dimensions.len())?;
    let mut rank = 0u32;
    let mut comma = true;
    while !literal.take(b')') {
        if !comma {
            return Err(literal.wrong("expected a comma or the end of the tuple"));
        }
        if rank == MAX_RANK {
            return Err(broken!(Rule::ShapeRank, "it has more than {MAX_RANK} dimensions"));
        }
        push(budget, dimensions, literal.dimension()?)?;
        rank = rank.saturating_add(1);
        comma = literal.take(b',');
    }
    match rank == 1 && !comma {
        true => Err(literal.wrong("one integer in parentheses is no tuple")),
        false => Ok((start, rank)),
    }
}
