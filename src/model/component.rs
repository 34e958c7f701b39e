//! Components: the blobs of an object, and where in a blob its elements are.

use super::dtype::{Block, Dtype, Logical};
use super::encoding::Encoding;
use super::text::{Position, TextId};
use crate::error::{fail, Result};

/// The less usual texts of a component; most have none of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct RareNames {
    /// The digest, as the file has it.
    pub digest: Option<TextId>,
    /// The dtype's name where it is unknown.
    pub dtype: Option<TextId>,
    /// The logical type's name where it is unknown or the dtype's own.
    pub logical: Option<TextId>,
    /// The encoding's name where it is unknown.
    pub encoding: Option<TextId>,
    /// Its position among the manifest's layouts.
    pub layout: Option<Position>,
    /// The file that has its bytes, among the manifest's shards.
    pub shard: Option<Position>,
}

impl RareNames {
    /// Whether it has none. Compared field by field: as a whole it took a third of the time in which an
    /// object with a digest is opened.
    #[inline]
    pub fn is_empty(&self) -> bool {
        let RareNames { digest, dtype, logical, encoding, layout, shard } = self;
        digest.is_none()
            && dtype.is_none()
            && logical.is_none()
            && encoding.is_none()
            && layout.is_none()
            && shard.is_none()
    }
}

/// The logical type of a component, from its field `type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogicalType {
    /// Absent: the elements are what the dtype says.
    Absent,
    /// One that this version knows.
    Known(Logical),
    /// The dtype's own name, named in [`RareNames::logical`]: means the same as absent.
    SameAsDtype,
    /// A name that this version does not know, in [`RareNames::logical`].
    Other,
}

/// One blob on disk and how to read it. Small, as an open file has one for each: [`Component::size`] and what
/// else is yes or no share their memory.
#[derive(Clone, Copy, Debug)]
pub struct Component {
    /// Its name within the object.
    pub role: TextId,
    /// First stored byte, from the start of the file.
    pub offset: u64,
    /// Stored bytes.
    pub stored_size: u64,
    size: u64,
    /// Position in `rare_names` of the manifest, if any.
    pub rare: Option<Position>,
    /// The storage type; none where the file's name for it is unknown.
    pub dtype: Option<Dtype>,
    /// The logical type.
    pub logical: LogicalType,
    /// The encoding.
    pub encoding: Encoding,
    flags: u8,
}

const SIZE_KNOWN: u8 = 1;
const SIZE_DECLARED: u8 = 2;
const BIG_ENDIAN: u8 = 4;
const PAGE_EXCLUSIVE: u8 = 8;
const DIGEST_OF_DECODED: u8 = 16;
const IN_SHARD: u8 = 32;

impl Component {
    /// A raw component of no bytes.
    pub fn new(role: TextId, dtype: Option<Dtype>) -> Component {
        Component {
            role,
            offset: 0,
            stored_size: 0,
            size: 0,
            rare: None,
            dtype,
            logical: LogicalType::Absent,
            encoding: Encoding::Raw,
            flags: 0,
        }
    }

    /// Bytes of an element; 1 where the dtype is unknown.
    pub fn width(&self) -> usize {
        self.dtype.map_or(1, Dtype::size)
    }

    /// Whether its elements are stored in another byte order than the host's.
    pub fn swaps(&self) -> bool {
        self.dtype.is_some_and(|dtype| dtype.swaps(self.is_big_endian()))
    }

    /// The form of its elements, for a conversion. Producers of big-endian files differ in the bytes of
    /// blocks.
    pub fn element_type(&self) -> Result<(Dtype, Option<Logical>)> {
        let logical = self.known_logical();
        match (self.dtype, self.logical) {
            (None, _) | (_, LogicalType::Other) => {
                Err(fail!(Unsupported, "its type is unknown, so its elements cannot be converted"))
            }
            _ if self.is_big_endian() && logical.is_some_and(|logical| logical.is_block_type()) => {
                Err(fail!(
                    Unsupported,
                    "blocks of {} in a big-endian file cannot be converted",
                    logical.map_or("", Logical::name)
                ))
            }
            (Some(dtype), _) => Ok((dtype, logical)),
        }
    }

    /// The type of its elements if they are integers. An f8 is not an integer, though it is stored as u8.
    pub fn integer_dtype(&self) -> Option<Dtype> {
        self.dtype.filter(|dtype| dtype.is_integer() && self.known_logical().is_none())
    }

    /// Decoded bytes, where the manifest declares them.
    #[inline]
    pub fn size(&self) -> Option<u64> {
        (self.flags & SIZE_KNOWN != 0).then_some(self.size)
    }

    /// Sets the decoded bytes; none if the manifest does not declare them.
    #[inline]
    pub fn set_size(&mut self, size: Option<u64>) {
        self.size = size.unwrap_or(0);
        self.set_flag(SIZE_KNOWN, size.is_some());
    }

    /// The manifest has an `uncompressed_length`.
    pub fn is_size_declared(&self) -> bool {
        self.flags & SIZE_DECLARED != 0
    }

    /// Sets whether the manifest has an `uncompressed_length`.
    pub fn set_size_declared(&mut self, is: bool) {
        self.set_flag(SIZE_DECLARED, is);
    }

    /// Multi-byte elements are stored most significant byte first (0.1 `data_endianness`).
    pub fn is_big_endian(&self) -> bool {
        self.flags & BIG_ENDIAN != 0
    }

    /// Sets the byte order.
    pub fn set_big_endian(&mut self, is: bool) {
        self.set_flag(BIG_ENDIAN, is);
    }

    /// Its digest covers the decoded bytes, not the stored ones.
    pub fn has_digest_of_decoded(&self) -> bool {
        self.flags & DIGEST_OF_DECODED != 0
    }

    /// Sets whether its digest covers the decoded bytes.
    pub fn set_digest_of_decoded(&mut self, is: bool) {
        self.set_flag(DIGEST_OF_DECODED, is);
    }

    /// Its bytes are in another file than the one whose manifest has it: one of `Manifest::shards`.
    pub fn is_in_shard(&self) -> bool {
        self.flags & IN_SHARD != 0
    }

    /// Sets whether its bytes are in a shard.
    pub fn set_in_shard(&mut self, is: bool) {
        self.set_flag(IN_SHARD, is);
    }

    /// Its pages hold no byte of another component (found when the file is opened).
    pub fn is_page_exclusive(&self) -> bool {
        self.flags & PAGE_EXCLUSIVE != 0
    }

    /// Sets whether its pages hold no byte of another component.
    #[inline]
    pub fn set_page_exclusive(&mut self, is: bool) {
        self.set_flag(PAGE_EXCLUSIVE, is);
    }

    #[inline(always)]
    fn set_flag(&mut self, flag: u8, is: bool) {
        self.flags = (self.flags & !flag) | if is { flag } else { 0 };
    }

    /// The logical type where this version knows it.
    pub fn known_logical(&self) -> Option<Logical> {
        match self.logical {
            LogicalType::Known(logical) => Some(logical),
            _ => None,
        }
    }

    /// Its elements in bytes; none where the dtype or the logical type is unknown.
    pub fn block(&self) -> Option<Block> {
        match (self.logical, self.dtype) {
            (LogicalType::Known(logical), Some(_)) => Some(logical.block()),
            (LogicalType::Absent | LogicalType::SameAsDtype, Some(dtype)) => Some(dtype.block()),
            (LogicalType::Other, _) | (_, None) => None,
        }
    }

    /// Bytes of one storage element; none where the dtype is unknown.
    pub fn element_size(&self) -> Option<u64> {
        self.dtype.map(|d| d.size() as u64)
    }

    /// End of the stored bytes; validated not to overflow.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.stored_size)
    }
}

/// Dimensions that a component with strides has at most.
pub(crate) const MAX_RANK: usize = 64;

/// An archive's CRC-32 of bytes that include those of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksum {
    /// The sum.
    pub crc32: u32,
    /// The offset in the file of the first byte that it covers. For a compressed component it covers all
    /// decoded bytes.
    pub start: u64,
    /// How many.
    pub size: u64,
}

/// Where the elements of a component are among the bytes that its stored ones decode to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Bytes that the stored ones decode to; of a raw component these are the stored ones.
    pub decoded_size: u64,
    /// The first byte of its elements; of a raw component the first stored one.
    pub start: u64,
    /// The first of its strides in `Manifest::strides`, one for each dimension: how many elements lie between
    /// two that follow each other. None where they are row-major.
    pub strides: Option<u32>,
    /// The archive's checksum of its bytes, if there is one.
    pub checksum: Option<Checksum>,
}

impl Layout {
    /// The distance from the first element to the last in memory, in elements; none if it does not fit in 64
    /// bits or there are no elements.
    pub fn reach(shape: &[u64], strides: &[u64]) -> Option<u64> {
        let mut steps = shape.iter().zip(strides);
        steps.try_fold(0u64, |sum, (count, stride)| {
            sum.checked_add(count.checked_sub(1)?.checked_mul(*stride)?)
        })
    }

    /// Whether strides are those of row-major elements.
    pub fn is_row_major(shape: &[u64], strides: &[u64]) -> bool {
        if shape.contains(&0) {
            return true;
        }
        let mut next = 1u64;
        shape.iter().zip(strides).rev().all(|(count, stride)| {
            let matches = *count == 1 || *stride == next;
            next = next.saturating_mul(*count);
            matches
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::manifest::Object;
    use crate::model::text::TextArena;

    #[test]
    fn an_entry_is_small_and_its_flags_are_independent() {
        assert_eq!((size_of::<Component>(), size_of::<Object>()), (40, 40));
        let role = TextArena::default().add("data").unwrap();
        let mut c = Component::new(role, Some(Dtype::F32));
        assert_eq!(
            (c.size(), c.is_size_declared(), c.is_big_endian(), c.is_page_exclusive()),
            (None, false, false, false)
        );
        c.set_size(Some(0));
        assert_eq!((c.size(), c.is_size_declared()), (Some(0), false));
        c.set_size_declared(true);
        c.set_big_endian(true);
        c.set_page_exclusive(true);
        c.set_size(None);
        assert_eq!(
            (c.size(), c.is_size_declared(), c.is_big_endian(), c.is_page_exclusive()),
            (None, true, true, true)
        );
        c.set_size(Some(u64::MAX));
        c.set_page_exclusive(false);
        assert_eq!(
            (c.size(), c.is_size_declared(), c.is_big_endian(), c.is_page_exclusive()),
            (Some(u64::MAX), true, true, false)
        );
    }
}
