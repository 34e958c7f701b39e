//! How the numbers of a weight are made, found out of its attributes and of the sizes of its components, and
//! checked: what a plan says is where the components say it is.

use crate::convert::scaled::{Factor, Formula, Layout, Packed, Steps, Zeros};
use crate::error::{fail, Result};
use crate::model::dtype::{Dtype, Logical};
use crate::reader::object::Object;

#[derive(Clone, Copy)]
pub struct Plan {
    pub layout: Layout,
    /// What the elements of the scales are, where their dtype does not say it.
    pub scale_type: Option<Logical>,
    /// The role of the zeros, or of what is added.
    pub zeros: Option<&'static str>,
    /// The component of one element that all scales are multiplied with or divided by.
    pub factor: Option<(&'static str, MakeFactor)>,
    /// The scale of each column is stated.
    pub has_groups: bool,
    pub table: Table,
    /// Scales that are codes themselves.
    pub nested: Option<Nested>,
}

pub type MakeFactor = fn(f32) -> Factor;

/// What codes stand for.
#[derive(Clone, Copy)]
pub enum Table {
    /// Themselves.
    None,
    Float8(Logical),
    Fp4,
    /// The elements of this component.
    Stored(&'static str),
}

/// Scales that are `map[code] * scale + offset`.
#[derive(Clone, Copy)]
pub struct Nested {
    pub block_size: u64,
    pub offset: f32,
}

impl Plan {
    /// One of codes and scales alone.
    pub fn new(codes: Packed, formula: Formula, scales: Steps) -> Plan {
        Plan {
            layout: Layout { codes, formula, scales, zeros: Zeros::Same(0.0) },
            scale_type: None,
            zeros: None,
            factor: None,
            has_groups: false,
            table: Table::None,
            nested: None,
        }
    }

    /// Whether a range of rows needs a part of the codes alone.
    pub fn is_by_rows(&self) -> bool {
        self.layout.codes.is_by_rows()
    }

    /// With zeros, which the component of that role has.
    pub fn with_zeros(mut self, role: &'static str, zeros: Zeros) -> Plan {
        (self.zeros, self.layout.zeros) = (Some(role), zeros);
        self
    }
}

impl<'f> Object<'f> {
    pub(super) fn attribute(&self, key: &str) -> Result<u64> {
        self.number(key).ok_or_else(|| {
            fail!(Unsupported, "its attribute {key:?} is not a number, so its codes cannot be read")
        })
    }

    pub(super) fn attribute_text(&self, key: &str) -> &'f str {
        self.attributes().and_then(|map| map.get(key)).and_then(|value| value.as_text()).unwrap_or_default()
    }

    /// Bits of a code, which can have 1 to 8.
    pub(super) fn bits(&self) -> Result<u32> {
        let bits = self.attribute("bits")?;
        u32::try_from(bits)
            .ok()
            .filter(|bits| (1..=8).contains(bits))
            .ok_or_else(|| geometry!("its codes have {bits} bits, and 1 to 8 are possible"))
    }

    /// Rows and columns of the weight; the rows are those of all matrices in it.
    pub(super) fn rows_and_columns(&self) -> Result<[u64; 2]> {
        let shape = self.shape();
        let (columns, rows) = shape
            .split_last()
            .ok_or_else(|| geometry!("a weight has rows and columns, and its shape has no dimension"))?;
        let rows = crate::model::manifest::element_count(rows);
        let rows = rows.ok_or_else(|| geometry!("its shape {shape:?} has more than 2^64 rows"))?;
        Ok([rows, *columns])
    }

    pub(super) fn elements(&self) -> Result<u64> {
        let count = self.element_count();
        count.ok_or_else(|| geometry!("its shape exceeds 64 bits"))
    }

    pub(super) fn elements_of(&self, role: &str) -> Result<u64> {
        let component = self.required(role)?;
        component.storage_count().map_err(|e| component.wrap(e))
    }

    /// Checks that the component of a role has so many elements.
    pub(super) fn expect(&self, role: &str, wanted: Option<u64>, of: &str) -> Result<()> {
        let found = self.elements_of(role)?;
        let why = match wanted {
            Some(wanted) if wanted == found => return Ok(()),
            Some(wanted) => geometry!("it has {found} elements, but {of} take {wanted}"),
            None => geometry!("{of} take more than 2^64 elements"),
        };
        Err(self.required(role)?.wrap(why))
    }

    /// Checks that the component of a role has so many floats.
    pub(super) fn expect_floats(&self, role: &str, wanted: Option<u64>, of: &str) -> Result<()> {
        self.expect_type(role, is_float, "a float")?;
        self.expect(role, wanted, of)
    }

    /// Checks that the codes take as many bytes as they have.
    pub(super) fn expect_codes(&self, codes: &Packed) -> Result<()> {
        let component = self.required("packed_weight")?;
        let (found, bits, shape) = (component.size()?, codes.bits, self.shape());
        let why = match codes.size() {
            Some(size) if size == found => return Ok(()),
            Some(size) => {
                geometry!("it has {found} bytes, but the shape {shape:?} of {bits}-bit codes takes {size}")
            }
            None => geometry!("the shape {shape:?} of {bits}-bit codes takes more than 2^64 bytes"),
        };
        Err(component.wrap(why))
    }

    pub(super) fn expect_type(&self, role: &str, is_it: TypeCheck, wanted: &str) -> Result<()> {
        let component = self.required(role)?;
        match is_it(component.dtype(), component.known_logical()) {
            true => Ok(()),
            false => {
                let found = component.logical_name().unwrap_or(component.dtype_name());
                Err(component.wrap(geometry!("its type is {found}, not {wanted}")))
            }
        }
    }
}

pub type TypeCheck = fn(Option<Dtype>, Option<Logical>) -> bool;

pub fn is_u8(dtype: Option<Dtype>, logical: Option<Logical>) -> bool {
    (dtype, logical) == (Some(Dtype::U8), None)
}

pub fn is_i8(dtype: Option<Dtype>, logical: Option<Logical>) -> bool {
    (dtype, logical) == (Some(Dtype::I8), None)
}

pub fn is_u32(dtype: Option<Dtype>, logical: Option<Logical>) -> bool {
    (dtype, logical) == (Some(Dtype::U32), None)
}

pub fn is_i32(dtype: Option<Dtype>, logical: Option<Logical>) -> bool {
    (dtype, logical) == (Some(Dtype::I32), None)
}

/// Whether elements are floats, each by itself.
pub fn is_float(dtype: Option<Dtype>, logical: Option<Logical>) -> bool {
    match logical {
        None => matches!(dtype, Some(Dtype::F32 | Dtype::F16 | Dtype::Bf16 | Dtype::F64)),
        Some(logical) => logical.block().elements == 1 && logical.block().bytes == 1,
    }
}

/// [`steps`] of a weight whose scales are one for each group of a row.
pub fn steps_of_groups(object: &Object<'_>, [rows, columns]: [u64; 2], group: u64) -> Result<Steps> {
    let groups = columns.div_ceil(group.max(1));
    object.expect("scales", rows.checked_mul(groups), "its groups")?;
    // A row of one group has one scale.
    let steps = steps(object.elements_of("scales")?, rows, columns, Some(group).filter(|_| groups > 1));
    steps.ok_or_else(|| geometry!("its groups have no scales"))
}

/// Which scale an element has, where `count` scales are one for all, one for each row, or one for so many
/// columns of a row.
pub fn steps(count: u64, rows: u64, columns: u64, group: Option<u64>) -> Option<Steps> {
    let whole = Steps { rows: rows.max(1), columns: columns.max(1), row_step: 0, column_step: 0 };
    let group = group.filter(|group| *group > 0 && *group < columns);
    match group {
        Some(group) => {
            let groups = columns.div_ceil(group);
            let is_it = rows.checked_mul(groups) == Some(count);
            is_it.then_some(Steps { rows: 1, columns: group, row_step: groups, column_step: 1 })
        }
        None if count == rows => Some(Steps { rows: 1, row_step: 1, ..whole }),
        None if count == 1 => Some(whole),
        None => None,
    }
}
