//! Storage types and logical types. This is the only list of them.
//!
//! Each type is a row of a table with its size, its names, its class and its codes in other interfaces. Names
//! are from spec 1.2 (section 2); older names are in fields of their own.

use std::ffi::CStr;

/// A row of the storage types.
struct DtypeRow {
    name: Name,
    old_name: &'static str,
    bits: u32,
    class: Class,
}

/// The container that defines a logical type.
#[derive(Clone, Copy)]
enum Origin {
    /// The table of spec 1.2. If spec 1.1 has the type as a dtype, its name there.
    Spec(Option<&'static str>),
    /// Other containers. A `.zt` file may use the name for anything.
    Foreign,
    /// ggml: its number there (`ggml_type`), and the name of the format of objects made of its blocks.
    Ggml(u32, Name),
}

/// A row of the logical types.
struct LogicalRow {
    name: Name,
    origin: Origin,
    dtype: Dtype,
    block: Block,
    /// Its DLDataTypeCode, if DLPack has the type. Its bits in DLPack are the bits of an element.
    dlpack_code: Option<u8>,
    numbers: Numbers,
}

/// A logical type with a row of its own in the specification or another container. `block` is a number of
/// elements, and the bytes they take.
const fn logical(
    name: Name,
    origin: Origin,
    dtype: Dtype,
    (elements, bytes): (u64, u64),
    dlpack_code: u8,
    numbers: Numbers,
) -> LogicalRow {
    let (block, dlpack_code) = (Block { elements, bytes }, Some(dlpack_code));
    LogicalRow { name, origin, dtype, block, dlpack_code, numbers }
}

/// A block type: ggml's number, and the elements and bytes of a block.
const fn ggml(name: Name, format: Name, number: u32, elements: u64, bytes: u64) -> LogicalRow {
    let (origin, block) = (Origin::Ggml(number, format), Block { elements, bytes });
    LogicalRow { name, origin, dtype: Dtype::U8, block, dlpack_code: None, numbers: Numbers::Blocks }
}

/// Turns a list of rows into the enum (its values are the numbers in C), the list of all values, and the
/// table. The comment of a row becomes the comment in the header.
macro_rules! types {
    (
        $(#[$about:meta])* $kind:ident: $row:ident;
        $($(#[doc = $doc:literal])* $variant:ident = $number:literal $value:expr;)*
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        #[allow(missing_docs)]
        pub enum $kind {
            $($(#[doc = $doc])* $variant = $number,)*
        }

        impl $kind {
            /// All values, in the order of the table.
            pub const ALL: [$kind; [$($number),*].len()] = [$($kind::$variant),*];

            const fn row(self) -> &'static $row {
                match self {
                    $($kind::$variant => const { &$value },)*
                }
            }

            /// Its number in C.
            pub const fn number(self) -> i32 {
                self as i32
            }

            /// The value with this number in C.
            pub fn from_number(number: i32) -> Option<$kind> {
                $kind::ALL.into_iter().find(|kind| kind.number() == number)
            }

            /// Its name. If spec 1.2 defines it, the name there.
            pub const fn name(self) -> &'static str {
                self.row().name.text
            }

            /// Its name, with a NUL at the end.
            pub const fn c_name(self) -> &'static std::ffi::CStr {
                self.row().name.c
            }

            /// A sentence about it; "" if the name is enough.
            pub const fn about(self) -> &'static str {
                match self {
                    $($kind::$variant => concat!($($doc),*),)*
                }
            }

            /// The value with this name.
            pub fn from_name(name: &str) -> Option<$kind> {
                $kind::ALL.into_iter().find(|kind| kind.name() == name)
            }
        }
    };
}

const fn storage(name: Name, old_name: &'static str, bits: u32, class: Class) -> DtypeRow {
    DtypeRow { name, old_name, bits, class }
}

types! {
    /// A storage type: decides how wide an element is. Spec 1.2 section 2.
    Dtype: DtypeRow;
    /// IEEE 754 double precision, 8 bytes.
    F64 = 1 storage(Name::new(c"f64"), "float64", 64, Class::Float);
    /// IEEE 754 single precision, 4 bytes.
    F32 = 2 storage(Name::new(c"f32"), "float32", 32, Class::Float);
    /// IEEE 754 half precision, 2 bytes.
    F16 = 3 storage(Name::new(c"f16"), "float16", 16, Class::Float);
    /// bfloat16, 2 bytes.
    Bf16 = 4 storage(Name::new(c"bf16"), "bfloat16", 16, Class::Bfloat);
    /// Two's complement, 8 bytes.
    I64 = 5 storage(Name::new(c"i64"), "int64", 64, Class::Signed);
    /// Two's complement, 4 bytes.
    I32 = 6 storage(Name::new(c"i32"), "int32", 32, Class::Signed);
    /// Two's complement, 2 bytes.
    I16 = 7 storage(Name::new(c"i16"), "int16", 16, Class::Signed);
    /// Two's complement, 1 byte.
    I8 = 8 storage(Name::new(c"i8"), "int8", 8, Class::Signed);
    /// Unsigned, 8 bytes.
    U64 = 9 storage(Name::new(c"u64"), "uint64", 64, Class::Unsigned);
    /// Unsigned, 4 bytes.
    U32 = 10 storage(Name::new(c"u32"), "uint32", 32, Class::Unsigned);
    /// Unsigned, 2 bytes.
    U16 = 11 storage(Name::new(c"u16"), "uint16", 16, Class::Unsigned);
    /// Unsigned, 1 byte.
    U8 = 12 storage(Name::new(c"u8"), "uint8", 8, Class::Unsigned);
    /// 1 byte: 0 is false, 1 is true. From 1.1 on, writing and zt_verify reject other bytes.
    Bool = 13 storage(Name::new(c"bool"), "bool", 8, Class::Bool);
}

const NEW_IN_1_2: Origin = Origin::Spec(None);

types! {
    /// A logical type: what the storage elements mean. Those up to [`Logical::Complex128`] are in spec 1.2
    /// section 2.
    Logical: LogicalRow;
    /// 8-bit float, 4 exponent bits, finite: stored as u8.
    F8E4m3fn = 1 logical(
        Name::new(c"f8_e4m3fn"), Origin::Spec(Some("f8_e4m3")), Dtype::U8, (1, 1), 10,
        Numbers::Float8(Float8::E4m3fn)
    );
    /// 8-bit float, 5 exponent bits: stored as u8.
    F8E5m2 = 2 logical(
        Name::new(c"f8_e5m2"), Origin::Spec(Some("f8_e5m2")), Dtype::U8, (1, 1), 12,
        Numbers::Float8(Float8::E5m2)
    );
    /// 8-bit float, 4 exponent bits, finite, unsigned zero: stored as u8.
    F8E4m3fnuz = 3 logical(
        Name::new(c"f8_e4m3fnuz"), NEW_IN_1_2, Dtype::U8, (1, 1), 11, Numbers::Float8(Float8::E4m3fnuz)
    );
    /// 8-bit float, 5 exponent bits, finite, unsigned zero: stored as u8.
    F8E5m2fnuz = 4 logical(
        Name::new(c"f8_e5m2fnuz"), NEW_IN_1_2, Dtype::U8, (1, 1), 13, Numbers::Float8(Float8::E5m2fnuz)
    );
    /// Pairs of f32: real, imaginary.
    Complex64 = 5 logical(
        Name::new(c"complex64"), Origin::Spec(Some("complex64")), Dtype::F32, (1, 8), 5, Numbers::OfDtype
    );
    /// Pairs of f64: real, imaginary.
    Complex128 = 6 logical(
        Name::new(c"complex128"), Origin::Spec(Some("complex128")), Dtype::F64, (1, 16), 5, Numbers::OfDtype
    );
    /// 8-bit power of two: a scale. Stored as u8.
    F8E8m0 = 8 logical(
        Name::new(c"f8_e8m0"), Origin::Foreign, Dtype::U8, (1, 1), 14, Numbers::Float8(Float8::E8m0)
    );
    /// 4-bit float: 2 elements in a byte, the first one in its low bits.
    F4E2m1 = 9 logical(Name::new(c"f4_e2m1"), Origin::Foreign, Dtype::U8, (2, 1), 17, Numbers::Blocks);
    /// 6-bit float, 2 exponent bits: 4 elements in 3 bytes, the first one in the lowest bits.
    F6E2m3 = 10 logical(Name::new(c"f6_e2m3"), Origin::Foreign, Dtype::U8, (4, 3), 15, Numbers::Blocks);
    /// 6-bit float, 3 exponent bits: 4 elements in 3 bytes, the first one in the lowest bits.
    F6E3m2 = 11 logical(Name::new(c"f6_e3m2"), Origin::Foreign, Dtype::U8, (4, 3), 16, Numbers::Blocks);
    /// Pairs of f16: real, imaginary.
    Complex32 = 12 logical(Name::new(c"complex32"), Origin::Foreign, Dtype::F16, (1, 4), 5, Numbers::OfDtype);
    Q4_0 = 32 ggml(Name::new(c"gguf.q4_0"), Name::new(c"gguf.q4_0/1"), 2, 32, 18);
    Q4_1 = 33 ggml(Name::new(c"gguf.q4_1"), Name::new(c"gguf.q4_1/1"), 3, 32, 20);
    Q5_0 = 34 ggml(Name::new(c"gguf.q5_0"), Name::new(c"gguf.q5_0/1"), 6, 32, 22);
    Q5_1 = 35 ggml(Name::new(c"gguf.q5_1"), Name::new(c"gguf.q5_1/1"), 7, 32, 24);
    Q8_0 = 36 ggml(Name::new(c"gguf.q8_0"), Name::new(c"gguf.q8_0/1"), 8, 32, 34);
    Q8_1 = 37 ggml(Name::new(c"gguf.q8_1"), Name::new(c"gguf.q8_1/1"), 9, 32, 36);
    Q2K = 38 ggml(Name::new(c"gguf.q2_k"), Name::new(c"gguf.q2_k/1"), 10, 256, 84);
    Q3K = 39 ggml(Name::new(c"gguf.q3_k"), Name::new(c"gguf.q3_k/1"), 11, 256, 110);
    Q4K = 40 ggml(Name::new(c"gguf.q4_k"), Name::new(c"gguf.q4_k/1"), 12, 256, 144);
    Q5K = 41 ggml(Name::new(c"gguf.q5_k"), Name::new(c"gguf.q5_k/1"), 13, 256, 176);
    Q6K = 42 ggml(Name::new(c"gguf.q6_k"), Name::new(c"gguf.q6_k/1"), 14, 256, 210);
    Q8K = 43 ggml(Name::new(c"gguf.q8_k"), Name::new(c"gguf.q8_k/1"), 15, 256, 292);
    Iq2Xxs = 44 ggml(Name::new(c"gguf.iq2_xxs"), Name::new(c"gguf.iq2_xxs/1"), 16, 256, 66);
    Iq2Xs = 45 ggml(Name::new(c"gguf.iq2_xs"), Name::new(c"gguf.iq2_xs/1"), 17, 256, 74);
    Iq3Xxs = 46 ggml(Name::new(c"gguf.iq3_xxs"), Name::new(c"gguf.iq3_xxs/1"), 18, 256, 98);
    Iq1S = 47 ggml(Name::new(c"gguf.iq1_s"), Name::new(c"gguf.iq1_s/1"), 19, 256, 50);
    Iq4Nl = 48 ggml(Name::new(c"gguf.iq4_nl"), Name::new(c"gguf.iq4_nl/1"), 20, 32, 18);
    Iq3S = 49 ggml(Name::new(c"gguf.iq3_s"), Name::new(c"gguf.iq3_s/1"), 21, 256, 110);
    Iq2S = 50 ggml(Name::new(c"gguf.iq2_s"), Name::new(c"gguf.iq2_s/1"), 22, 256, 82);
    Iq4Xs = 51 ggml(Name::new(c"gguf.iq4_xs"), Name::new(c"gguf.iq4_xs/1"), 23, 256, 136);
    Iq1M = 52 ggml(Name::new(c"gguf.iq1_m"), Name::new(c"gguf.iq1_m/1"), 29, 256, 56);
    Tq1_0 = 53 ggml(Name::new(c"gguf.tq1_0"), Name::new(c"gguf.tq1_0/1"), 34, 256, 54);
    Tq2_0 = 54 ggml(Name::new(c"gguf.tq2_0"), Name::new(c"gguf.tq2_0/1"), 35, 256, 66);
    Mxfp4 = 55 ggml(Name::new(c"gguf.mxfp4"), Name::new(c"gguf.mxfp4/1"), 39, 32, 17);
    Nvfp4 = 56 ggml(Name::new(c"gguf.nvfp4"), Name::new(c"gguf.nvfp4/1"), 40, 64, 36);
    Q1_0 = 57 ggml(Name::new(c"gguf.q1_0"), Name::new(c"gguf.q1_0/1"), 41, 128, 18);
    Q2_0 = 58 ggml(Name::new(c"gguf.q2_0"), Name::new(c"gguf.q2_0/1"), 42, 64, 18);
}

impl Dtype {
    /// Bits of one element.
    pub const fn bits(self) -> u32 {
        self.row().bits
    }

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        self.bits() as usize / 8
    }

    /// Whether elements that are stored big-endian (or little-endian) have to be swapped to the host's order.
    pub const fn swaps(self, stored_big_endian: bool) -> bool {
        self.size() > 1 && stored_big_endian != cfg!(target_endian = "big")
    }

    /// The size of an element, as a block of one.
    pub const fn block(self) -> Block {
        Block { elements: 1, bytes: self.size() as u64 }
    }

    /// The meaning of its bits.
    pub const fn class(self) -> Class {
        self.row().class
    }

    /// The name in spec 0.1 and 1.0.
    pub const fn old_name(self) -> &'static str {
        self.row().old_name
    }

    /// The dtype with this name in spec 0.1 and 1.0.
    pub fn from_old_name(name: &str) -> Option<Dtype> {
        Dtype::ALL.into_iter().find(|dtype| dtype.old_name() == name)
    }

    /// A name that only spec 1.1 has as a dtype, as dtype and logical type.
    pub fn from_compound_name(name: &str) -> Option<(Dtype, Logical)> {
        let logical = Logical::ALL.into_iter().find(|logical| logical.name_in_1_1() == Some(name))?;
        Some((logical.dtype(), logical))
    }

    /// Whether it is an integer type. Before 1.2, a sparse index may have any of them.
    pub const fn is_integer(self) -> bool {
        match self.class() {
            Class::Signed | Class::Unsigned => true,
            Class::Float | Class::Bfloat | Class::Bool => false,
        }
    }
}

impl Logical {
    /// The name that spec 1.1 has for it as a dtype, if any.
    pub const fn name_in_1_1(self) -> Option<&'static str> {
        match self.row().origin {
            Origin::Spec(name) => name,
            Origin::Foreign | Origin::Ggml(..) => None,
        }
    }

    /// Whether spec 1.2 defines it. In a `.zt` file, components of other types are not checked.
    pub const fn is_in_spec(self) -> bool {
        matches!(self.row().origin, Origin::Spec(_))
    }

    /// ggml's number, if it is one of ggml's block types.
    pub const fn ggml_type(self) -> Option<u32> {
        match self.row().origin {
            Origin::Ggml(number, _) => Some(number),
            Origin::Spec(_) | Origin::Foreign => None,
        }
    }

    /// Whether objects are made of its blocks. Then the format names it, and no field of the component does.
    pub const fn is_block_type(self) -> bool {
        self.ggml_type().is_some()
    }

    /// The name of the format of objects made of its blocks, if it is a block type.
    pub(crate) const fn format_name(self) -> Option<Name> {
        match self.row().origin {
            Origin::Ggml(_, format) => Some(format),
            Origin::Spec(_) | Origin::Foreign => None,
        }
    }

    /// The storage type.
    pub const fn dtype(self) -> Dtype {
        self.row().dtype
    }

    /// The size of its elements.
    pub const fn block(self) -> Block {
        self.row().block
    }

    /// How many storage elements are in a block; 2 for a complex number.
    pub const fn ratio(self) -> u64 {
        self.block().bytes / self.dtype().size() as u64
    }

    /// The bits of an element. For a block type, the bits of a block.
    pub const fn bits(self) -> u64 {
        match self.ggml_type() {
            Some(_) => self.block().bytes * 8,
            None => self.block().bytes * 8 / self.block().elements,
        }
    }

    /// Its DLDataTypeCode, if DLPack has the type.
    pub const fn dlpack_code(self) -> Option<u8> {
        self.row().dlpack_code
    }

    /// How its elements are converted.
    pub const fn numbers(self) -> Numbers {
        self.row().numbers
    }
}

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

/// A number of elements, and how many bytes they take. A plain element is a block of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The number of elements.
    pub elements: u64,
    /// Their size in bytes.
    pub bytes: u64,
}

impl Block {
    /// The size of `count` elements in bytes, rounded up to a whole byte; `None` if it does not fit in 64
    /// bits.
    #[inline]
    pub const fn size(self, count: u64) -> Option<u64> {
        if self.elements == 1 {
            // Avoids a division, which takes as long as everything else here.
            return count.checked_mul(self.bytes);
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
    /// Each number is one element of the dtype. An element of a complex type is two numbers.
    OfDtype,
    /// Each is a float of 8 bits.
    Float8(Float8),
    /// The numbers of a block are decoded together, to f32.
    Blocks,
}

/// An 8-bit float. `convert` has the meaning of its codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the logical types of the same names are described
pub enum Float8 {
    E4m3fn,
    E5m2,
    E4m3fnuz,
    E5m2fnuz,
    E8m0,
}

/// A name that lives as long as the library.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name {
    pub(super) text: &'static str,
    /// The text, with a NUL at the end.
    pub(super) c: &'static CStr,
}

impl Name {
    /// Makes a name at compile time. It does not compile if the text is not UTF-8.
    pub(super) const fn new(c: &'static CStr) -> Name {
        match c.to_str() {
            Ok(text) => Name { text, c },
            Err(_) => panic!("a name of the spec is UTF-8"),
        }
    }
}

/// The types of ggml that are not blocks, by number (`ggml_type`).
const GGML_ELEMENTS: [(u32, Dtype); 8] = [
    (0, Dtype::F32),
    (1, Dtype::F16),
    (24, Dtype::I8),
    (25, Dtype::I16),
    (26, Dtype::I32),
    (27, Dtype::I64),
    (28, Dtype::F64),
    (30, Dtype::Bf16),
];

/// ggml's number for a type, if ggml has the type.
pub fn ggml_type_number(dtype: Dtype, logical: Option<Logical>) -> Option<u32> {
    match logical {
        Some(logical) => logical.ggml_type(),
        None => GGML_ELEMENTS.iter().find(|(_, plain)| *plain == dtype).map(|(number, _)| *number),
    }
}

/// The type with this number in ggml, if it is known.
pub fn ggml_type_from_number(number: u32) -> Option<(Dtype, Option<Logical>)> {
    let plain = GGML_ELEMENTS.iter().find(|(plain, _)| *plain == number).map(|(_, dtype)| (*dtype, None));
    let blocks = || {
        let found = Logical::ALL.into_iter().find(|logical| logical.ggml_type() == Some(number))?;
        Some((found.dtype(), Some(found)))
    };
    plain.or_else(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_byte_elements_are_never_turned() {
        for stored_big_endian in [false, true] {
            assert!(!Dtype::U8.swaps(stored_big_endian));
            for dtype in [Dtype::F16, Dtype::F32, Dtype::I64] {
                assert_eq!(
                    dtype.swaps(stored_big_endian),
                    stored_big_endian == cfg!(target_endian = "little")
                );
            }
        }
    }

    #[test]
    fn names_lead_back_to_their_type() {
        for d in Dtype::ALL {
            assert_eq!(Dtype::from_name(d.name()), Some(d));
            assert_eq!(Dtype::from_old_name(d.old_name()), Some(d));
            assert_eq!(Dtype::from_number(d.number()), Some(d));
            assert_eq!(d.c_name().to_str(), Ok(d.name()));
            assert_eq!((d.bits() % 8, d.bits() as usize / 8), (0, d.size()));
        }
        for t in Logical::ALL {
            assert_eq!(Logical::from_name(t.name()), Some(t));
            assert_eq!(Logical::from_number(t.number()), Some(t));
            assert_eq!(t.c_name().to_str(), Ok(t.name()));
            if let Some(old) = t.name_in_1_1() {
                assert_eq!(Dtype::from_compound_name(old), Some((t.dtype(), t)));
            }
        }
        assert_eq!(Dtype::from_name("F32"), None);
        assert_eq!(Dtype::from_old_name("f32"), None);
        for number in [i32::MIN, -1, 0, 256, i32::MAX] {
            assert_eq!(Dtype::from_number(number), None);
        }
        for number in [i32::MIN, 0, 7, 256, i32::MAX] {
            assert_eq!(Logical::from_number(number), None);
        }
    }

    /// If codes were taken for integers, conversions would silently give wrong numbers.
    #[test]
    fn what_elements_are_as_numbers_fits_what_they_are() {
        for t in Logical::ALL {
            const COMPLEX: u8 = 5; // in DLPack
            let wanted = match t.numbers() {
                Numbers::OfDtype => t.dlpack_code() == Some(COMPLEX) && t.ratio() == 2,
                Numbers::Float8(_) => (t.dtype(), t.bits(), t.block().elements) == (Dtype::U8, 8, 1),
                Numbers::Blocks => t.dlpack_code() != Some(COMPLEX) && t.dtype() == Dtype::U8,
            };
            assert!(wanted, "{}: {:?}", t.name(), t.numbers());
        }
    }
}
