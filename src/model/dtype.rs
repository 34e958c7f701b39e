//! Storage types and logical types: the only list of them.
//!
//! Each is one row of a table; its size, its names, its class and what other interfaces call it are computed from that.
//! Names are the ones of spec 1.2 (section 2); what older versions call them stands beside them.

use super::name::Name;

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

/// A row of the storage types.
struct DtypeRow {
    dtype: Dtype,
    name: Name,
    /// The name in spec 0.1 and 1.0.
    old_name: &'static str,
    /// Bits of one element.
    bits: u32,
    class: Class,
}

/// A row of the logical types.
struct LogicalRow {
    logical: Logical,
    name: Name,
    /// The name that spec 1.1 has for it as a dtype.
    name_in_1_1: Option<&'static str>,
    /// How its elements are stored.
    dtype: Dtype,
    /// Storage elements for one of its own.
    ratio: u32,
    /// DLDataTypeCode; its bits are those of the storage elements.
    dlpack_code: u8,
}

/// From a list of rows: the enum, whose values are the numbers in C, all of it in order, and the table.
macro_rules! types {
    (
        $(#[$about:meta])* $kind:ident: $row:ident, $own:ident;
        $($variant:ident = $number:literal { $($field:ident: $value:expr),* $(,)? })*
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        #[allow(missing_docs)]
        pub enum $kind {
            $($variant = $number,)*
        }

        impl $kind {
            /// All of them, in the order of the spec.
            pub const ALL: [$kind; [$($number),*].len()] = [$($kind::$variant),*];

            const ROWS: &[$row; $kind::ALL.len()] =
                &[$($row { $own: $kind::$variant, $($field: $value),* }),*];

            const fn row(self) -> &'static $row {
                &$kind::ROWS[self as usize - 1]
            }

            /// Its number in C.
            pub const fn number(self) -> i32 {
                self as i32
            }

            /// By its number in C.
            pub fn from_number(number: i32) -> Option<$kind> {
                let row = usize::try_from(number).ok()?.checked_sub(1)?;
                Some($kind::ROWS.get(row)?.$own)
            }

            /// Its name in spec 1.2.
            pub const fn name(self) -> &'static str {
                self.row().name.text
            }

            /// The same with a NUL behind it.
            pub const fn c_name(self) -> &'static std::ffi::CStr {
                self.row().name.c
            }

            /// By its name in spec 1.2.
            pub fn from_name(name: &str) -> Option<$kind> {
                $kind::ROWS.iter().find(|row| row.name.text == name).map(|row| row.$own)
            }
        }

        const _: () = {
            let mut at = 0;
            while at < $kind::ROWS.len() {
                assert!($kind::ROWS[at].$own as usize == at + 1, "numbers are given in order, from 1 on");
                at += 1;
            }
        };
    };
}

types! {
    /// A storage type: decides how wide an element is. Spec 1.2 section 2.
    Dtype: DtypeRow, dtype;
    F64 = 1 { name: Name::new(c"f64"), old_name: "float64", bits: 64, class: Class::Float }
    F32 = 2 { name: Name::new(c"f32"), old_name: "float32", bits: 32, class: Class::Float }
    F16 = 3 { name: Name::new(c"f16"), old_name: "float16", bits: 16, class: Class::Float }
    Bf16 = 4 { name: Name::new(c"bf16"), old_name: "bfloat16", bits: 16, class: Class::Bfloat }
    I64 = 5 { name: Name::new(c"i64"), old_name: "int64", bits: 64, class: Class::Signed }
    I32 = 6 { name: Name::new(c"i32"), old_name: "int32", bits: 32, class: Class::Signed }
    I16 = 7 { name: Name::new(c"i16"), old_name: "int16", bits: 16, class: Class::Signed }
    I8 = 8 { name: Name::new(c"i8"), old_name: "int8", bits: 8, class: Class::Signed }
    U64 = 9 { name: Name::new(c"u64"), old_name: "uint64", bits: 64, class: Class::Unsigned }
    U32 = 10 { name: Name::new(c"u32"), old_name: "uint32", bits: 32, class: Class::Unsigned }
    U16 = 11 { name: Name::new(c"u16"), old_name: "uint16", bits: 16, class: Class::Unsigned }
    U8 = 12 { name: Name::new(c"u8"), old_name: "uint8", bits: 8, class: Class::Unsigned }
    Bool = 13 { name: Name::new(c"bool"), old_name: "bool", bits: 8, class: Class::Bool }
}

types! {
    /// A logical type: what the storage elements mean. Spec 1.2 section 2.
    Logical: LogicalRow, logical;
    F8E4m3fn = 1 {
        name: Name::new(c"f8_e4m3fn"), name_in_1_1: Some("f8_e4m3"), dtype: Dtype::U8, ratio: 1, dlpack_code: 10,
    }
    F8E5m2 = 2 {
        name: Name::new(c"f8_e5m2"), name_in_1_1: Some("f8_e5m2"), dtype: Dtype::U8, ratio: 1, dlpack_code: 12,
    }
    F8E4m3fnuz = 3 {
        name: Name::new(c"f8_e4m3fnuz"), name_in_1_1: None, dtype: Dtype::U8, ratio: 1, dlpack_code: 11,
    }
    F8E5m2fnuz = 4 {
        name: Name::new(c"f8_e5m2fnuz"), name_in_1_1: None, dtype: Dtype::U8, ratio: 1, dlpack_code: 13,
    }
    Complex64 = 5 {
        name: Name::new(c"complex64"), name_in_1_1: Some("complex64"), dtype: Dtype::F32, ratio: 2, dlpack_code: 5,
    }
    Complex128 = 6 {
        name: Name::new(c"complex128"), name_in_1_1: Some("complex128"), dtype: Dtype::F64, ratio: 2, dlpack_code: 5,
    }
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

    /// What its bits mean.
    pub const fn class(self) -> Class {
        self.row().class
    }

    /// The name in spec 0.1 and 1.0.
    pub const fn old_name(self) -> &'static str {
        self.row().old_name
    }

    /// By its name in spec 0.1 and 1.0.
    pub fn from_old_name(name: &str) -> Option<Dtype> {
        Dtype::ROWS.iter().find(|row| row.old_name == name).map(|row| row.dtype)
    }

    /// A dtype that only spec 1.1 has, as dtype and logical type.
    pub fn from_compound_name(name: &str) -> Option<(Dtype, Logical)> {
        let row = Logical::ROWS.iter().find(|row| row.name_in_1_1 == Some(name))?;
        Some((row.dtype, row.logical))
    }

    /// Whether it is an integer type: what a sparse index may be before 1.2.
    pub const fn is_integer(self) -> bool {
        match self.class() {
            Class::Signed | Class::Unsigned => true,
            Class::Float | Class::Bfloat | Class::Bool => false,
        }
    }
}

impl Logical {
    /// The name that spec 1.1 has for it as a dtype, where it has one.
    pub const fn name_in_1_1(self) -> Option<&'static str> {
        self.row().name_in_1_1
    }

    /// The storage type that the spec's table gives it.
    pub const fn dtype(self) -> Dtype {
        self.row().dtype
    }

    /// Storage elements for one logical element.
    pub const fn ratio(self) -> u64 {
        self.row().ratio as u64
    }

    /// Bits of one logical element.
    pub const fn bits(self) -> u32 {
        self.row().ratio * self.row().dtype.bits()
    }

    /// DLDataTypeCode.
    pub const fn dlpack_code(self) -> u8 {
        self.row().dlpack_code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        for number in [i32::MIN, -1, 0, 14, i32::MAX] {
            assert_eq!(Dtype::from_number(number), None);
        }
        assert_eq!((Logical::from_number(0), Logical::from_number(7)), (None, None));
    }
}
