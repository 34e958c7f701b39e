//! The rules of the values of sparse indices and of the sizes of quantized parts.

#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss
    )
)]

use crate::error::{broken, Result, Rule};
use crate::model::dtype::Dtype;
use crate::model::manifest::element_count;

/// Calls `body` with every integer of `bytes` and its position after `base`. A negative one comes as
/// the largest number, which no bound allows.
pub(crate) fn each_index(
    dtype: Dtype,
    bytes: &[u8],
    base: u64,
    mut body: impl FnMut(u64, u64) -> Result<()>,
) -> Result<()> {
    let mut at = base;
    macro_rules! each {
        ($integer:ty) => {
            for element in bytes.chunks_exact(size_of::<$integer>()) {
                let value = element.first_chunk().map_or(0, |b| <$integer>::from_ne_bytes(*b));
                body(u64::try_from(value).unwrap_or(u64::MAX), at)?;
                at = at.wrapping_add(1);
            }
        };
    }
    match dtype {
        Dtype::U64 => each!(u64),
        Dtype::U32 => each!(u32),
        Dtype::U16 => each!(u16),
        Dtype::U8 => each!(u8),
        Dtype::I64 => each!(i64),
        Dtype::I32 => each!(i32),
        Dtype::I16 => each!(i16),
        Dtype::I8 => each!(i8),
        Dtype::F64 | Dtype::F32 | Dtype::F16 | Dtype::Bf16 | Dtype::Bool => {} // none is an index
    }
    Ok(())
}

/// A check of index values that are given in order, in as many chunks as there are.
pub(crate) enum IndexCheck<'a> {
    /// Begins with 0, never decreases, ends with `nnz`.
    Pointers { previous: u64, nnz: u64 },
    /// All below a number of columns.
    Columns { columns: u64 },
    /// Runs of `nnz`, each below its dimension.
    Coordinates { shape: &'a [u64], nnz: u64 },
    /// No check: finds the largest of each run of `length`.
    Largest { largest: &'a mut [u64], length: u64 },
}

impl IndexCheck<'_> {
    pub(crate) fn chunk(&mut self, dtype: Dtype, bytes: &[u8], base: u64) -> Result<()> {
        match self {
            IndexCheck::Pointers { previous, .. } => each_index(dtype, bytes, base, |value, at| {
                if at == 0 && value != 0 {
                    return Err(broken!(Rule::CsrIndptrOrder, "its first row pointer is {value}, not 0"));
                }
                if value < *previous {
                    return Err(broken!(
                        Rule::CsrIndptrOrder,
                        "its row pointer {at} is {value}, less than {previous} before it"
                    ));
                }
                *previous = value;
                Ok(())
            }),
            IndexCheck::Columns { columns } => {
                each_index(dtype, bytes, base, |value, at| match value < *columns {
                    true => Ok(()),
                    false => Err(broken!(
                        Rule::CsrColumn,
                        "its column index {at} is {}, not below the {columns} columns",
                        IndexValue(value)
                    )),
                })
            }
            IndexCheck::Largest { largest, length } => each_index(dtype, bytes, base, |value, at| {
                let run = usize::try_from(at.checked_div(*length).unwrap_or(0)).unwrap_or(usize::MAX);
                if let Some(largest) = largest.get_mut(run) {
                    *largest = value.max(*largest);
                }
                Ok(())
            }),
            IndexCheck::Coordinates { shape, nnz } => each_index(dtype, bytes, base, |value, at| {
                let dimension = at.checked_div(*nnz).unwrap_or(0);
                let bound = usize::try_from(dimension).ok().and_then(|d| shape.get(d)).copied().unwrap_or(0);
                match value < bound {
                    true => Ok(()),
                    false => Err(broken!(
                        Rule::CooCoordinate,
                        "its coordinate {at} is {}, not below dimension {dimension} of {bound}",
                        IndexValue(value)
                    )),
                }
            }),
        }
    }

    pub(crate) fn end(&self) -> Result<()> {
        match self {
            IndexCheck::Pointers { previous, nnz } if previous != nnz => Err(broken!(
                Rule::CsrIndptrOrder,
                "its last row pointer is {}, but there are {nnz} entries",
                IndexValue(*previous)
            )),
            _ => Ok(()),
        }
    }
}

/// A check that column indices rise within each row, given in order.
#[derive(Default)]
pub(crate) struct RowOrder {
    /// How many row pointers were read, and the last of them.
    pointers_read: u64,
    next_row: u64,
    previous: Option<u64>,
}

impl RowOrder {
    /// Checks one index. `pointer` returns a row pointer by its number; they never decrease.
    pub(crate) fn check(
        &mut self,
        column: u64,
        at: u64,
        mut pointer: impl FnMut(u64) -> Result<Option<u64>>,
    ) -> Result<()> {
        while at >= self.next_row {
            self.next_row = pointer(self.pointers_read)?.unwrap_or(u64::MAX);
            self.pointers_read = self.pointers_read.saturating_add(1);
            self.previous = None;
        }
        match self.previous.replace(column) {
            Some(previous) if previous >= column => Err(broken!(
                Rule::CsrColumn,
                "its column index {at} is {column}, not above {previous} before it in row {}",
                self.pointers_read.saturating_sub(2)
            )),
            _ => Ok(()),
        }
    }
}

/// An index for a message; the largest number stands for a negative one.
struct IndexValue(u64);

impl std::fmt::Display for IndexValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            u64::MAX => f.write_str("negative or 2^64-1"),
            value => write!(f, "{value}"),
        }
    }
}

/// How the codes of an object, its scales and its zero points belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Groups {
    /// Bits of a code.
    pub bits: u64,
    /// The dimension that groups lie along.
    pub axis: u64,
    /// Codes that have a scale in common; 0: there is one for each index of the axis.
    pub group_size: u64,
    /// Codes in an element of the dtype.
    pub codes_per_element: u64,
    /// The first of these is in the highest bits.
    pub is_msb_first: bool,
    /// What is taken from each code where no part has zero points; none where it leaves 64 bits.
    pub zero_point: Option<i64>,
    /// Zero points are packed as codes are.
    pub zeros_packed: bool,
}

/// The properties of groups but for their sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grouping {
    /// The dimension that groups lie along.
    pub axis: u64,
    /// What is taken from each code where no part has zero points.
    pub zero_point: i64,
    /// The first code of an element is in its highest bits.
    pub is_msb_first: bool,
    /// Zero points are packed as codes are.
    pub zeros_packed: bool,
}

/// The result of checking an object against its layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutCheck {
    /// The layout is not known, so nothing was checked.
    Unknown,
    /// The object keeps the rules that were to be checked.
    Kept,
    /// The object keeps the rules, and has groups.
    Groups(Groups),
}

/// The sizes of a quantized_group object's parts, and its attributes about them. Attributes that are absent or of another kind
/// are not checked.
#[derive(Default)]
pub(crate) struct QuantizedSizes<'a> {
    pub shape: &'a [u64],
    pub bits: Option<u64>,
    pub group_size: Option<u64>,
    /// How many weights one element of which dtype packs.
    pub packing: Option<(u64, Dtype)>,
    pub packed_dtype: Option<Dtype>,
    pub packed_size: u64,
    pub packed_count: u64,
    pub scale_count: u64,
    pub zero_count: Option<u64>,
}

/// "8_per_i32": how many weights one element packs.
pub(crate) fn parse_packing(text: &str) -> Option<(u64, Dtype)> {
    let (count, dtype) = text.split_once("_per_")?;
    let count = count.parse().ok().filter(|n| *n > 0)?;
    Some((count, Dtype::from_name(dtype)?))
}

impl QuantizedSizes<'_> {
    /// Checks that there is room for every weight, a scale for every group, and as many zero points as needed.
    pub(crate) fn check(&self) -> Result<()> {
        let rule = Rule::QuantizedGeometry;
        let Some(weights) = element_count(self.shape) else {
            return Err(broken!(rule, "the shape {:?} leaves 64 bits", self.shape));
        };
        if let Some(zeros) = self.zero_count.filter(|zeros| (*zeros == 0) != (self.scale_count == 0)) {
            return Err(broken!(rule, "it has {} scales, but {zeros} zero points", self.scale_count));
        }
        if let Some(bits) = self.bits {
            let needed = u128::from(weights).saturating_mul(u128::from(bits));
            let packed_bits = u128::from(self.packed_size).saturating_mul(8);
            if !(1..=64).contains(&bits) || packed_bits < needed {
                return Err(broken!(
                    rule,
                    "{weights} weights of {bits} bits take {needed} bits, its packed_weight has {packed_bits}"
                ));
            }
        }
        if let Some((per, dtype)) = self.packing {
            let width = (dtype.size() as u64).saturating_mul(8);
            if let Some(bits) = self.bits.filter(|bits| per.saturating_mul(*bits) > width) {
                let name = dtype.name();
                return Err(broken!(rule, "{per} weights of {bits} bits do not fit in one {name}"));
            }
            if self.packed_dtype == Some(dtype) && self.packed_count.saturating_mul(per) < weights {
                return Err(broken!(
                    rule,
                    "its {} packed elements of {per} weights are fewer than the {weights} of its shape",
                    self.packed_count
                ));
            }
        }
        match self.group_size {
            Some(group)
                if u128::from(self.scale_count).saturating_mul(u128::from(group)) < u128::from(weights) =>
            {
                Err(broken!(
                    rule,
                    "its {} scales for groups of {group} do not reach its {weights} weights",
                    self.scale_count
                ))
            }
            _ => Ok(()),
        }
    }
}
