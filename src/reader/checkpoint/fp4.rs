//! Floats of 4 bits, two in a byte, the low half first, with a scale for each 32 or 16 of a row.

use super::config::Config;
use super::found::{Description, Found, Tensor};
use super::plan::{is_u8, steps_of_groups, MakeFactor, Plan, Table};
use crate::convert::scaled::{Formula, Order, Packed};
use crate::error::Result;
use crate::model::dtype::{Dtype, Logical};
use crate::reader::object::Object;

/// Elements that have a scale in common.
const MX_GROUP: u64 = 32;
const NV_GROUP: u64 = 16;

/// Columns of codes that are in half as many bytes, and the scales that these take.
fn describe_of(
    shape: &[u64],
    columns: u64,
    scales: &Tensor<'_>,
    group: u64,
    to: &mut Description,
) -> Result<()> {
    let rows = shape.split_last().map_or(&[][..], |(_, rows)| rows);
    scales.expect_groups(rows, columns, group)?;
    to.start(shape)?.columns(columns).number("bits", 4)?.number("group_size", group)?;
    Ok(())
}

/// Two in each element of the codes.
pub fn describe_mx(found: &Found<'_>, _: &Config, to: &mut Description) -> Result<()> {
    let (codes, [_, half]) = found.matrix()?;
    describe_of(codes.shape(), half.saturating_mul(2), &found.required("scales")?, MX_GROUP, to)
}

/// The same, with scales of f8_e4m3fn and one for all of them.
pub fn describe_nv(found: &Found<'_>, _: &Config, to: &mut Description) -> Result<()> {
    let (codes, [_, half]) = found.matrix()?;
    let global = found.required("global_scale")?;
    if global.count() != 1 {
        return Err(
            global.wrong(format_args!("its shape is {:?}, and it has to have one element", global.shape()))
        );
    }
    describe_of(codes.shape(), half.saturating_mul(2), &found.required("scales")?, NV_GROUP, to)
}

/// Codes of I8, two in each, or of F4, whose shape may count either.
pub fn describe_scale(found: &Found<'_>, _: &Config, to: &mut Description) -> Result<()> {
    let (codes, [_, last]) = found.matrix()?;
    let scales = found.required("scales")?;
    let of_scales = scales.matrix()?[1].saturating_mul(MX_GROUP);
    let is_packed = codes.element_type().1.is_none() || last != of_scales;
    let columns = if is_packed { last.saturating_mul(2) } else { last };
    describe_of(codes.shape(), columns, &scales, MX_GROUP, to)
}

/// Experts: codes [E, R, C / 32, 16], scales [E, R, C / 32].
pub fn describe_blocks(found: &Found<'_>, _: &Config, to: &mut Description) -> Result<()> {
    let (codes, scales) = (found.required("packed_weight")?, found.required("scales")?);
    let shape = codes.shape();
    let [experts, rows, groups, bytes] = *shape else {
        return Err(
            codes.wrong(format_args!("its shape is {shape:?}, not one of experts, rows, groups and bytes"))
        );
    };
    if bytes.checked_mul(2) != Some(MX_GROUP) {
        return Err(codes.wrong(format_args!("its groups have {bytes} bytes, not 16")));
    }
    let columns = groups.checked_mul(MX_GROUP);
    let columns = columns.ok_or_else(|| codes.wrong(format_args!("it has more than 2^64 columns")))?;
    describe_of(&[experts, rows, columns], columns, &scales, MX_GROUP, to)
}

fn plan(object: &Object<'_>) -> Result<Plan> {
    let [rows, columns] = object.rows_and_columns()?;
    let group = object.attribute("group_size")?;
    let codes = Packed::in_rows(rows, columns, 4, Order::Low);
    object.expect_codes(&codes)?;
    if columns.checked_rem(group) != Some(0) {
        return Err(geometry!("{columns} columns are not cut into groups of {group}"));
    }
    let steps = steps_of_groups(object, [rows, columns], group)?;
    Ok(Plan { table: Table::Fp4, ..Plan::new(codes, Formula::Table, steps) })
}

/// Whether scales are powers of two: f8_e8m0, or their bytes.
pub fn is_e8m0_or_u8(dtype: Option<Dtype>, logical: Option<Logical>) -> bool {
    is_u8(dtype, logical) || logical == Some(Logical::F8E8m0)
}

pub fn is_e4m3(_: Option<Dtype>, logical: Option<Logical>) -> bool {
    logical == Some(Logical::F8E4m3fn)
}

/// The scales are powers of two.
pub fn plan_mx(object: &Object<'_>) -> Result<Plan> {
    object.expect_type("scales", is_e8m0_or_u8, "u8 or f8_e8m0")?;
    Ok(Plan { scale_type: Some(Logical::F8E8m0), ..plan(object)? })
}

/// The scales are divided by one for all, or multiplied with it.
pub fn plan_nv(object: &Object<'_>, factor: MakeFactor) -> Result<Plan> {
    object.expect_type("scales", is_e4m3, "f8_e4m3fn")?;
    object.expect_floats("global_scale", Some(1), "all groups together")?;
    Ok(Plan { factor: Some(("global_scale", factor)), ..plan(object)? })
}
