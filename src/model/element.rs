//! Properties of elements that the tables of types have.

/// What the bits of an element mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// IEEE 754 binary floating point.
    Float,
    /// The upper half of an IEEE 754 single.
    Bfloat,
    /// Two's complement.
    Signed,
    /// An integer without a sign.
    Unsigned,
    /// 0 or 1.
    Bool,
}

impl Class {
    /// DLDataTypeCode.
    pub const fn dlpack_code(self) -> u8 {
        match self {
            Class::Signed => 0,
            Class::Unsigned => 1,
            Class::Float => 2,
            Class::Bfloat => 4,
            Class::Bool => 6,
        }
    }
}

/// How many elements take how many bytes. A plain element is a block of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Elements.
    pub elements: u64,
    /// Bytes of them.
    pub bytes: u64,
}

impl Block {
    /// Bytes of `count` elements, rounded up to a whole byte; none if that does not fit in 64 bits.
    #[inline]
    pub const fn size(self, count: u64) -> Option<u64> {
        if self.elements == 1 {
            return count.checked_mul(self.bytes); // without dividing, which takes as long as all else here
        }
        let (whole, rest) = (count / self.elements, count % self.elements);
        match whole.checked_mul(self.bytes) {
            Some(size) => size.checked_add((rest * self.bytes).div_ceil(self.elements)),
            None => None,
        }
    }

    /// Whether `count` elements are whole blocks.
    pub const fn divides(self, count: u64) -> bool {
        count % self.elements == 0
    }
}

/// How elements of a logical type are converted to numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// Each is one element of the dtype, or several: a complex number two.
    OfDtype,
    /// Each is a float of 8 bits.
    Float8(Float8),
    /// They are not converted.
    None,
}

/// A float of 8 bits. What its codes mean is in `convert`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the logical types of the same names are described
pub enum Float8 {
    E4m3fn,
    E5m2,
    E4m3fnuz,
    E5m2fnuz,
}
