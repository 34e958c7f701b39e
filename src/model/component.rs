//! Components: the blobs of an object, and the positions of elements in a blob.

use super::dtype::{Block, Dtype, Logical};
use super::encoding::Encoding;
use super::text::{Position, TextId};
use crate::error::{fail, Result};

/// The rare texts of a component. Most components have none of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct RareNames {
    /// The digest, as written in the file.
    pub digest: Option<TextId>,
    /// The name of the dtype, if this version does not know it.
    pub dtype: Option<TextId>,
    /// The name of the logical type, if this version does not know it or it is the dtype's own name.
    pub logical: Option<TextId>,
    /// The name of the encoding, if this version does not know it.
    pub encoding: Option<TextId>,
    /// The component's layout: a position in the manifest's layouts.
    pub layout: Option<Position>,
    /// The file that has the component's bytes: a position in the manifest's shards.
    pub shard: Option<Position>,
}

impl RareNames {
    /// Whether all of them are absent. Compared field by field: comparing the whole struct took a third of
    /// the time to open an object with a digest.
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
    /// A type that this version knows.
    Known(Logical),
    /// The dtype's own name, in [`RareNames::logical`]. It means the same as absent.
    SameAsDtype,
    /// A name that this version does not know, in [`RareNames::logical`].
    Other,
}

/// A blob in a file, and how to read it. Small, because an open file has one for each component:
/// [`Component::size`] and all flags share memory.
#[derive(Clone, Copy, Debug)]
pub struct Component {
    /// Its name within the object.
    pub role: TextId,
    /// The offset of the first stored byte in the file.
    pub offset: u64,
    /// How many stored bytes it has.
    pub stored_size: u64,
    size: u64,
    /// Its position in the manifest's `rare_names`, if any.
    pub rare: Option<Position>,
    /// The storage type; `None` if this version does not know its name.
    pub dtype: Option<Dtype>,
    /// The logical type.
    pub logical: LogicalType,
    /// The encoding.
    pub encoding: Encoding,
    flags: u8,
}

const SIZE_KNOWN: u8 = 1;

/// Makes a function that reads a flag, and one that sets it, for each row.
macro_rules! flags {
    ($($(#[doc = $doc:literal])* $is:ident, $set:ident = $bit:literal;)*) => {
        impl Component {
            $(
                $(#[doc = $doc])*
                #[inline]
                pub fn $is(&self) -> bool {
                    self.flags & $bit != 0
                }

                /// Sets this flag.
                #[inline]
                pub fn $set(&mut self, is: bool) {
                    self.set_flag($bit, is);
                }
            )*
        }

        const _: () = assert!(SIZE_KNOWN $(| $bit)* == SIZE_KNOWN $(^ $bit)*, "two flags are one bit");
    };
}

flags! {
    /// Whether the manifest has an `uncompressed_length`.
    is_size_declared, set_size_declared = 2;
    /// Whether elements of several bytes are stored with the most significant byte first (0.1
    /// `data_endianness`).
    is_big_endian, set_big_endian = 4;
    /// Whether its pages have no byte of another component. This is determined when the file is opened.
    is_page_exclusive, set_page_exclusive = 8;
    /// Whether its digest covers the decoded bytes instead of the stored ones.
    has_digest_of_decoded, set_digest_of_decoded = 16;
    /// Whether its bytes are in another file, one of `Manifest::shards`.
    is_in_shard, set_in_shard = 32;
}

impl Component {
    /// A raw component without bytes.
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

    /// The size of an element in bytes; 1 if the dtype is unknown.
    pub fn width(&self) -> usize {
        self.dtype.map_or(1, Dtype::size)
    }

    /// Whether stored elements have to be byte-swapped to the host's order.
    pub fn swaps(&self) -> bool {
        self.dtype.is_some_and(|dtype| dtype.swaps(self.is_big_endian()))
    }

    /// The type of its elements, for a conversion. Fails for blocks in big-endian files, because programs
    /// disagree on their byte order.
    pub fn element_type(&self) -> Result<(Dtype, Option<Logical>)> {
        match (self.dtype, self.logical) {
            (None, _) | (_, LogicalType::Other) => {
                Err(fail!(Unsupported, "its type is unknown, so its elements cannot be converted"))
            }
            (_, LogicalType::Known(logical)) if self.is_big_endian() && logical.is_block_type() => {
                let name = logical.name();
                Err(fail!(Unsupported, "blocks of {name} in a big-endian file cannot be converted"))
            }
            (Some(dtype), _) => Ok((dtype, self.known_logical())),
        }
    }

    /// The dtype of its elements if they are integers. An f8 is not an integer, although it is stored as u8.
    pub fn integer_dtype(&self) -> Option<Dtype> {
        self.dtype.filter(|dtype| dtype.is_integer() && self.known_logical().is_none())
    }

    /// The decoded size, if the manifest declares it.
    #[inline]
    pub fn size(&self) -> Option<u64> {
        (self.flags & SIZE_KNOWN != 0).then_some(self.size)
    }

    /// Sets the decoded size; `None` if the manifest does not declare it.
    #[inline]
    pub fn set_size(&mut self, size: Option<u64>) {
        self.size = size.unwrap_or(0);
        self.set_flag(SIZE_KNOWN, size.is_some());
    }

    #[inline(always)]
    fn set_flag(&mut self, flag: u8, is: bool) {
        self.flags = (self.flags & !flag) | if is { flag } else { 0 };
    }

    /// The logical type, if this version knows it.
    pub fn known_logical(&self) -> Option<Logical> {
        match self.logical {
            LogicalType::Known(logical) => Some(logical),
            _ => None,
        }
    }

    /// The size of its elements; `None` if the dtype or logical type is unknown.
    pub fn block(&self) -> Option<Block> {
        match (self.logical, self.dtype) {
            (LogicalType::Known(logical), Some(_)) => Some(logical.block()),
            (LogicalType::Absent | LogicalType::SameAsDtype, Some(dtype)) => Some(dtype.block()),
            (LogicalType::Other, _) | (_, None) => None,
        }
    }

    /// The end of the stored bytes. Validation has ensured that it does not overflow.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.stored_size)
    }
}

/// The most dimensions of a component with strides.
pub(crate) const MAX_RANK: usize = 64;

/// An archive's CRC-32 of bytes that include a component's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksum {
    /// The checksum.
    pub crc32: u32,
    /// The file offset of the first byte that it covers. For a compressed component, it covers all decoded
    /// bytes.
    pub start: u64,
    /// How many bytes it covers.
    pub size: u64,
}

/// The positions of a component's elements in its decoded bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// The size of the decoded bytes. For a raw component, the stored size.
    pub decoded_size: u64,
    /// The offset of the first element in the decoded bytes. For a raw component, its offset in the stored
    /// bytes.
    pub start: u64,
    /// The first of its strides in `Manifest::strides`, one for each dimension: the distance, in elements,
    /// between neighbours. `None` if the elements are row-major.
    pub strides: Option<u32>,
    /// The archive's checksum of its bytes, if there is one.
    pub checksum: Option<Checksum>,
}

impl Layout {
    /// The distance in memory from the first element to the last, in elements. `None` if it does not fit in
    /// 64 bits or there are no elements.
    pub fn reach(shape: &[u64], strides: &[u64]) -> Option<u64> {
        let mut steps = shape.iter().zip(strides);
        steps.try_fold(0u64, |sum, (count, stride)| {
            sum.checked_add(count.checked_sub(1)?.checked_mul(*stride)?)
        })
    }

    /// Whether the strides mean row-major order.
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
