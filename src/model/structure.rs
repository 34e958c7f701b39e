//! The rules for values of sparse indices and for sizes of quantized components.

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
use crate::memory::filled;
use crate::model::dtype::Dtype;
use crate::model::manifest::element_count;
use crate::model::sort::sort;

/// Calls `body` with every integer of `bytes` and its position, counted from `base`. A negative integer is
/// passed as the largest number, which exceeds every bound.
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
        Dtype::F64 | Dtype::F32 | Dtype::F16 | Dtype::Bf16 | Dtype::Bool => {} // not a dtype for indices
    }
    Ok(())
}

/// A check of index values. They come in order, in any number of chunks.
pub(crate) enum IndexCheck<'a> {
    /// They begin with 0, never decrease, and end with `nnz`.
    Pointers { previous: u64, nnz: u64 },
    /// They are all less than the number of columns.
    Columns { columns: u64 },
    /// Runs of `nnz` values, each less than its dimension.
    Coordinates { shape: &'a [u64], nnz: u64 },
    /// No check. Finds the largest value in each run of `length` values.
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

/// A check that column indices ascend within each row. Indices come in order. An index that is not greater
/// than the one before must be the first of a row.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RowOrder {
    previous: Option<u64>,
    /// How many row pointers were read. `pointer` is the last of them.
    pointers_read: u64,
    row_start: u64,
}

impl RowOrder {
    /// Whether the next index is not greater than the one before.
    pub(crate) fn descends(&mut self, column: u64) -> bool {
        self.previous.replace(column).is_some_and(|previous| previous >= column)
    }

    /// Checks that a row begins at index number `at`. `pointer` returns a row pointer by its number; row
    /// pointers never decrease. `at` increases from call to call.
    pub(crate) fn check_row_start(
        &mut self,
        at: u64,
        mut pointer: impl FnMut(u64) -> Result<Option<u64>>,
    ) -> Result<()> {
        while self.row_start < at {
            self.row_start = pointer(self.pointers_read)?.unwrap_or(u64::MAX);
            self.pointers_read = self.pointers_read.saturating_add(1);
        }
        match self.row_start == at {
            true => Ok(()),
            false => Err(broken!(
                Rule::CsrColumn,
                "its column index {at} is not above the one before it in row {}",
                self.pointers_read.saturating_sub(2)
            )),
        }
    }

    /// Checks one index.
    pub(crate) fn check(
        &mut self,
        column: u64,
        at: u64,
        pointer: impl FnMut(u64) -> Result<Option<u64>>,
    ) -> Result<()> {
        match self.descends(column) {
            true => self.check_row_start(at, pointer),
            false => Ok(()),
        }
    }
}

/// The cells of a sparse_coo object's entries. A cell is the position of an element in row-major order.
#[derive(Debug, Default)]
pub(crate) struct Cells(Vec<u64>);

impl Cells {
    pub(crate) fn new(count: usize) -> Result<Cells> {
        filled(0, count).map(Cells)
    }

    /// Adds coordinates from number `base` on. There is a run for each dimension, with one coordinate for
    /// each entry.
    pub(crate) fn add(&mut self, dtype: Dtype, bytes: &[u8], base: u64, shape: &[u64]) -> Result<()> {
        let nnz = self.0.len() as u64;
        each_index(dtype, bytes, base, |value, at| {
            let (dimension, entry) = (at.checked_div(nnz).unwrap_or(0), at.checked_rem(nnz).unwrap_or(0));
            let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
            let length = shape.get(place(dimension)).copied().unwrap_or(0);
            if let Some(cell) = self.0.get_mut(place(entry)) {
                *cell = cell.wrapping_mul(length).wrapping_add(value);
            }
            Ok(())
        })
    }

    /// Checks that no two entries have the same cell.
    pub(crate) fn check(mut self, shape: &[u64]) -> Result<()> {
        let cells = &mut self.0;
        if !cells.is_sorted_by(|a, b| a < b) {
            sort(cells);
        }
        match cells.windows(2).find(|pair| pair.first() == pair.last()) {
            None => Ok(()),
            Some(pair) => Err(broken!(
                Rule::CooCoordinate,
                "two of its {} entries are element {} of the shape {shape:?}, counted row by row",
                cells.len(),
                pair.first().copied().unwrap_or_default()
            )),
        }
    }
}

/// Rejects bools other than 0 and 1. `place` gives the position of a byte in the component.
pub(crate) fn check_bools(bytes: &[u8], place: impl FnOnce(u64) -> u64) -> Result<()> {
    // This has no early exit, so that the compiler checks many bytes at once.
    let are_bools = |piece: &[u8]| piece.iter().fold(0, |all, byte| all | byte) <= 1;
    if bytes.chunks(4096).all(are_bools) {
        return Ok(());
    }
    match bytes.iter().position(|b| *b > 1) {
        None => Ok(()),
        Some(at) => {
            let value = bytes.get(at).copied().unwrap_or_default();
            let at = place(at as u64);
            Err(broken!(Rule::BoolByte, "its bool at byte {at} is {value}, neither 0 nor 1"))
        }
    }
}

/// Shows an index in a message. A negative index is stored as the largest number.
struct IndexValue(u64);

impl std::fmt::Display for IndexValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            u64::MAX => f.write_str("negative or 2^64-1"),
            value => write!(f, "{value}"),
        }
    }
}

/// How the codes, scales and zero points of an object belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Groups {
    /// How many bits a code has.
    pub bits: u64,
    /// The dimension along which the groups are.
    pub axis: u64,
    /// How many codes share a scale. 0: one scale for each index of the axis.
    pub group_size: u64,
    /// How many codes are in an element of the dtype.
    pub codes_per_element: u64,
    /// Whether the first code of an element is in the highest bits.
    pub is_msb_first: bool,
    /// The zero point of all codes, if no component has zero points. `None` if it does not fit in 64 bits.
    pub zero_point: Option<i64>,
    /// Whether zero points are packed like codes.
    pub zeros_packed: bool,
}

/// The properties of groups except their sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grouping {
    /// The dimension along which the groups are.
    pub axis: u64,
    /// The zero point of all codes, if no component has zero points.
    pub zero_point: i64,
    /// Whether the first code of an element is in its highest bits.
    pub is_msb_first: bool,
    /// Whether zero points are packed like codes.
    pub zeros_packed: bool,
}

/// The result of checking an object against its layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutCheck {
    /// The layout is unknown, so nothing was checked.
    Unknown,
    /// The object follows the rules.
    Kept,
    /// The object follows the rules, and has groups.
    Groups(Groups),
}

/// The sizes of a quantized_group object's components, and its attributes about them. Attributes that are
/// absent or have another kind are not checked.
#[derive(Default)]
pub(crate) struct QuantizedSizes<'a> {
    pub shape: &'a [u64],
    pub bits: Option<u64>,
    pub group_size: Option<u64>,
    /// How many weights an element has, and the dtype of the element.
    pub packing: Option<(u64, Dtype)>,
    pub packed_dtype: Option<Dtype>,
    pub packed_size: u64,
    pub packed_count: u64,
    pub scale_count: u64,
    pub zero_count: Option<u64>,
}

/// Parses a packing such as "8_per_i32": how many weights an element has, and its dtype.
pub(crate) fn parse_packing(text: &str) -> Option<(u64, Dtype)> {
    let (count, dtype) = text.split_once("_per_")?;
    let count = count.parse().ok().filter(|n| *n > 0)?;
    Some((count, Dtype::from_name(dtype)?))
}

impl QuantizedSizes<'_> {
    /// Checks that there is space for every weight, a scale for every group, and the right number of zero
    /// points.
    pub(crate) fn check(&self) -> Result<()> {
        let rule = Rule::QuantizedGeometry;
        let Some(weights) = element_count(self.shape) else {
            return Err(broken!(rule, "the shape {:?} exceeds 64 bits", self.shape));
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
