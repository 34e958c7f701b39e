//! Types of elements, by their names in a header.

use crate::model::dtype::{Dtype, Logical};
use crate::model::manifest::LogicalType;

const fn plain(dtype: Dtype) -> (Dtype, LogicalType) {
    (dtype, LogicalType::Absent)
}

fn typed(logical: Logical) -> (Dtype, LogicalType) {
    (logical.dtype(), LogicalType::Known(logical))
}

/// Makes the functions from a name to a type and back of one list.
macro_rules! names {
    ($($name:literal = $elements:expr;)*) => {
        /// The dtype and the logical type of a name.
        pub fn find(name: &[u8]) -> Option<(Dtype, LogicalType)> {
            match name {
                $($name => Some($elements),)*
                _ => None,
            }
        }

        /// The name of what an element is, if the format has it.
        pub fn name(dtype: Dtype, logical: Option<Logical>) -> Option<&'static str> {
            let wanted = logical.map_or(plain(dtype), typed);
            $(if wanted == $elements {
                return std::str::from_utf8($name).ok();
            })*
            None
        }
    };
}

names! {
    b"BF16" = plain(Dtype::Bf16);
    b"F16" = plain(Dtype::F16);
    b"F32" = plain(Dtype::F32);
    b"F64" = plain(Dtype::F64);
    b"I64" = plain(Dtype::I64);
    b"I32" = plain(Dtype::I32);
    b"I16" = plain(Dtype::I16);
    b"I8" = plain(Dtype::I8);
    b"U64" = plain(Dtype::U64);
    b"U32" = plain(Dtype::U32);
    b"U16" = plain(Dtype::U16);
    b"U8" = plain(Dtype::U8);
    b"BOOL" = plain(Dtype::Bool);
    b"F8_E4M3" = typed(Logical::F8E4m3fn);
    b"F8_E5M2" = typed(Logical::F8E5m2);
    b"F8_E4M3FNUZ" = typed(Logical::F8E4m3fnuz);
    b"F8_E5M2FNUZ" = typed(Logical::F8E5m2fnuz);
    b"F8_E8M0" = typed(Logical::F8E8m0);
    b"F4" = typed(Logical::F4E2m1);
    b"F6_E2M3" = typed(Logical::F6E2m3);
    b"F6_E3M2" = typed(Logical::F6E3m2);
    b"C64" = typed(Logical::Complex64);
}
