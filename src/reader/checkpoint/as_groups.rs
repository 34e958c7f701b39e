//! A weight as groups of codes along its last dimension, for containers that describe codes in that way only.

use super::plan::{Plan, Table};
use super::tensors::{MAX_PART, ROLES_OF_GROUPS};
use crate::container::Quantized;
use crate::convert::scaled::{Form, Formula, Order, Steps, Zeros};
use crate::error::{fail, Result};
use crate::model::dtype::{Dtype, Logical};
use crate::model::structure::Grouping;
use crate::reader::object::Object;

impl Object<'_> {
    /// Its codes, scales and zeros as groups along its last dimension, or an error that says why groups
    /// cannot describe them.
    pub fn as_groups(&self) -> Result<Quantized<'static>> {
        let plan = self.plan()?;
        let of_weight = |what: &str| {
            let scheme = self.scheme().unwrap_or_default();
            fail!(Unsupported, "a weight of {scheme}, {what}")
        };
        let (group_size, zero_point) = groups_of(&plan, self.shape()).map_err(of_weight)?;
        if !self.attribute_text("packing").is_empty() {
            return Err(of_weight("whose packing only its tool defines"));
        }
        let others = self.components().filter(|other| !ROLES_OF_GROUPS.contains(&other.role()));
        if others.map(|other| other.size()).any(|size| size.is_ok_and(|size| size > MAX_PART)) {
            return Err(of_weight("which has large tensors beside codes, scales and zeros"));
        }
        let type_of = |role: &str| -> Result<(Dtype, Option<Logical>)> {
            let component = self.required(role)?;
            let dtype = component.dtype().unwrap_or(Dtype::U8);
            Ok((dtype, component.known_logical()))
        };
        let (codes, scales) = (type_of("packed_weight")?, type_of("scales")?);
        Ok(Quantized {
            bits: Some(u64::from(plan.layout.codes.bits)),
            group_size: Some(group_size),
            packing: None,
            grouping: Some(Grouping {
                axis: (self.shape().len() as u64).saturating_sub(1),
                zero_point,
                ..Grouping::default()
            }),
            codes: float_of(plan.table).map_or(codes, |logical| (logical.dtype(), Some(logical))),
            scales: plan.scale_type.map_or(scales, |logical| (logical.dtype(), Some(logical))),
            has_zeros: plan.zeros.is_some(),
        })
    }
}

/// The type of codes that are small floats.
fn float_of(table: Table) -> Option<Logical> {
    match table {
        Table::Fp4 => Some(Logical::F4E2m1),
        Table::Float8(logical) => Some(logical),
        Table::None | Table::Stored(_) => None,
    }
}

/// How many codes have a scale in common, and the zero of all codes. The error says what a weight of this
/// shape has that groups of codes cannot have.
fn groups_of(plan: &Plan, shape: &[u64]) -> std::result::Result<(u64, i64), &'static str> {
    let (codes, scales) = (plan.layout.codes, plan.layout.scales);
    let is_row = |steps: Steps| match (steps.rows, steps.row_step, steps.column_step) {
        (1, step, 1) => step.checked_mul(steps.columns) == Some(codes.columns),
        (1, 1, 0) => steps.columns >= codes.columns,
        _ => false,
    };
    let group = scales.columns.min(codes.columns);
    let is_whole = shape.last().is_some_and(|columns| columns.checked_rem(group) == Some(0));
    let order_fits = match codes.order {
        Order::Low => true,
        Order::InWords => 32u32.checked_rem(codes.bits) == Some(0),
        Order::HighHalf | Order::Awq => false,
    };
    let Form::Rows { bytes } = codes.form else {
        return Err("whose codes are not in the order of its elements");
    };
    if codes.is_transposed || !order_fits {
        return Err("whose codes are not in the order of its elements");
    }
    if codes.columns.checked_mul(u64::from(codes.bits)) != bytes.checked_mul(8) {
        return Err("whose rows do not end with a word");
    }
    if plan.has_groups || !is_row(scales) || !is_whole {
        return Err("whose scales do not belong to groups of a row");
    }
    if plan.factor.is_some() || plan.nested.is_some() {
        return Err("whose scales are products");
    }
    let zero = match (plan.layout.formula, plan.table, plan.layout.zeros) {
        (Formula::Less { is_signed: false }, Table::None, Zeros::Same(zero)) => i64::from(zero as i16),
        (Formula::Less { is_signed: false }, Table::None, Zeros::Elements(steps)) if is_row(steps) => 0,
        (Formula::Table, Table::Fp4 | Table::Float8(_), _) => match plan.scale_type {
            Some(Logical::F8E8m0) => 0,
            _ => return Err("whose scales are not powers of two"),
        },
        (Formula::Less { is_signed: true }, ..) => return Err("whose codes have a sign"),
        _ => return Err("whose formula is not (code - zero) * scale"),
    };
    Ok((group, zero))
}
