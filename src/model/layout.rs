//! Components whose elements are not simply all of their decoded bytes, one after the other.

/// Dimensions that a component with strides has at most.
pub(crate) const MAX_RANK: usize = 64;

/// An archive's CRC-32 of bytes that include those of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksum {
    /// The sum.
    pub crc32: u32,
    /// The first byte of the file that it is of; of a compressed component it is of the decoded bytes, all of
    /// them.
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
