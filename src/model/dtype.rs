//! Storage types and logical types: the only list of them.
//!
//! Names are the ones of spec 1.2 (section 2). Other names of older versions are translated
//! by their codec in `container`; [`Dtype::from_old_name`] is the table for that.

/// A storage type: decides how wide an element is. Spec 1.2 section 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Dtype {
    F64 = 1,
    F32 = 2,
    F16 = 3,
    Bf16 = 4,
    I64 = 5,
    I32 = 6,
    I16 = 7,
    I8 = 8,
    U64 = 9,
    U32 = 10,
    U16 = 11,
    U8 = 12,
    Bool = 13,
}

/// A logical type: what the storage elements mean. Spec 1.2 section 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Logical {
    F8E4m3fn = 1,
    F8E5m2 = 2,
    F8E4m3fnuz = 3,
    F8E5m2fnuz = 4,
    Complex64 = 5,
    Complex128 = 6,
}

impl Dtype {
    /// All storage types, in the order of the spec's table.
    pub const ALL: [Dtype; 13] = [
        Dtype::F64,
        Dtype::F32,
        Dtype::F16,
        Dtype::Bf16,
        Dtype::I64,
        Dtype::I32,
        Dtype::I16,
        Dtype::I8,
        Dtype::U64,
        Dtype::U32,
        Dtype::U16,
        Dtype::U8,
        Dtype::Bool,
    ];

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            Dtype::F64 | Dtype::I64 | Dtype::U64 => 8,
            Dtype::F32 | Dtype::I32 | Dtype::U32 => 4,
            Dtype::F16 | Dtype::Bf16 | Dtype::I16 | Dtype::U16 => 2,
            Dtype::I8 | Dtype::U8 | Dtype::Bool => 1,
        }
    }

    /// The name in spec 1.1 and 1.2.
    pub const fn name(self) -> &'static str {
        match self {
            Dtype::F64 => "f64",
            Dtype::F32 => "f32",
            Dtype::F16 => "f16",
            Dtype::Bf16 => "bf16",
            Dtype::I64 => "i64",
            Dtype::I32 => "i32",
            Dtype::I16 => "i16",
            Dtype::I8 => "i8",
            Dtype::U64 => "u64",
            Dtype::U32 => "u32",
            Dtype::U16 => "u16",
            Dtype::U8 => "u8",
            Dtype::Bool => "bool",
        }
    }

    /// The name in spec 0.1 and 1.0.
    pub const fn old_name(self) -> &'static str {
        match self {
            Dtype::F64 => "float64",
            Dtype::F32 => "float32",
            Dtype::F16 => "float16",
            Dtype::Bf16 => "bfloat16",
            Dtype::I64 => "int64",
            Dtype::I32 => "int32",
            Dtype::I16 => "int16",
            Dtype::I8 => "int8",
            Dtype::U64 => "uint64",
            Dtype::U32 => "uint32",
            Dtype::U16 => "uint16",
            Dtype::U8 => "uint8",
            Dtype::Bool => "bool",
        }
    }

    /// By its name in spec 1.1 and 1.2.
    pub fn from_name(name: &str) -> Option<Dtype> {
        Some(match name {
            "f64" => Dtype::F64,
            "f32" => Dtype::F32,
            "f16" => Dtype::F16,
            "bf16" => Dtype::Bf16,
            "i64" => Dtype::I64,
            "i32" => Dtype::I32,
            "i16" => Dtype::I16,
            "i8" => Dtype::I8,
            "u64" => Dtype::U64,
            "u32" => Dtype::U32,
            "u16" => Dtype::U16,
            "u8" => Dtype::U8,
            "bool" => Dtype::Bool,
            _ => return None,
        })
    }

    /// By its name in spec 0.1 and 1.0.
    pub fn from_old_name(name: &str) -> Option<Dtype> {
        Dtype::ALL.into_iter().find(|d| d.old_name() == name)
    }

    /// The four extra dtypes of spec 1.1 as dtype and logical type.
    pub fn from_compound_name(name: &str) -> Option<(Dtype, Logical)> {
        match name {
            "f8_e4m3" => Some((Dtype::U8, Logical::F8E4m3fn)),
            "f8_e5m2" => Some((Dtype::U8, Logical::F8E5m2)),
            "complex64" => Some((Dtype::F32, Logical::Complex64)),
            "complex128" => Some((Dtype::F64, Logical::Complex128)),
            _ => None,
        }
    }

    /// Whether it is one of the eight integer types: what a sparse index may be before 1.2.
    pub const fn is_integer(self) -> bool {
        matches!(
            self,
            Dtype::I64
                | Dtype::I32
                | Dtype::I16
                | Dtype::I8
                | Dtype::U64
                | Dtype::U32
                | Dtype::U16
                | Dtype::U8
        )
    }
}

impl Logical {
    /// All logical types, in the order of the spec's tables.
    pub const ALL: [Logical; 6] = [
        Logical::F8E4m3fn,
        Logical::F8E5m2,
        Logical::F8E4m3fnuz,
        Logical::F8E5m2fnuz,
        Logical::Complex64,
        Logical::Complex128,
    ];

    /// The name in spec 1.2.
    pub const fn name(self) -> &'static str {
        match self {
            Logical::F8E4m3fn => "f8_e4m3fn",
            Logical::F8E5m2 => "f8_e5m2",
            Logical::F8E4m3fnuz => "f8_e4m3fnuz",
            Logical::F8E5m2fnuz => "f8_e5m2fnuz",
            Logical::Complex64 => "complex64",
            Logical::Complex128 => "complex128",
        }
    }

    /// The name that spec 1.1 has for it as a dtype, where it has one.
    pub const fn name_in_1_1(self) -> Option<&'static str> {
        match self {
            Logical::F8E4m3fn => Some("f8_e4m3"),
            Logical::F8E5m2 => Some("f8_e5m2"),
            Logical::Complex64 => Some("complex64"),
            Logical::Complex128 => Some("complex128"),
            Logical::F8E4m3fnuz | Logical::F8E5m2fnuz => None,
        }
    }

    /// By its name in spec 1.2.
    pub fn from_name(name: &str) -> Option<Logical> {
        Logical::ALL.into_iter().find(|t| t.name() == name)
    }

    /// The storage type that the spec's table gives it.
    pub const fn dtype(self) -> Dtype {
        match self {
            Logical::Complex64 => Dtype::F32,
            Logical::Complex128 => Dtype::F64,
            _ => Dtype::U8,
        }
    }

    /// Storage elements for one logical element.
    pub const fn ratio(self) -> u64 {
        match self {
            Logical::Complex64 | Logical::Complex128 => 2,
            _ => 1,
        }
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
        }
        for t in Logical::ALL {
            assert_eq!(Logical::from_name(t.name()), Some(t));
            if let Some(old) = t.name_in_1_1() {
                assert_eq!(Dtype::from_compound_name(old), Some((t.dtype(), t)));
            }
        }
        assert_eq!(Dtype::from_name("F32"), None);
        assert_eq!(Dtype::from_old_name("f32"), None);
    }
}
