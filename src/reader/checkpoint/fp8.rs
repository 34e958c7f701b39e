//! Floats of 8 bits with a scale for each block, each row, or the whole weight: `w * s`.

use super::config::Config;
use super::found::{Description, Found};
use super::plan::{Plan, Table};
use crate::convert::scaled::{Formula, Packed, Steps};
use crate::error::Result;
use crate::reader::object::Object;

/// The block where no configuration says another one.
const USUAL_BLOCK: [u64; 2] = [128, 128];

pub fn describe_blocks(found: &Found<'_>, config: &Config, to: &mut Description) -> Result<()> {
    let (codes, [rows, columns]) = found.matrix()?;
    let scales = found.required("scales")?;
    if config.block.is_none() && matches!(scales.shape(), [] | [1]) {
        return description(codes.shape(), [rows, columns], to);
    }
    let [height, width] = config.block.unwrap_or(USUAL_BLOCK);
    scales.expect_shape(
        &[rows.div_ceil(height), columns.div_ceil(width)],
        format_args!("{rows} rows and {columns} columns in blocks of {height} x {width}"),
    )?;
    if config.block.is_none() {
        config.expect_whole()?;
    }
    description(codes.shape(), [height, width], to)
}

/// A scale for each row, or for all.
pub fn describe(found: &Found<'_>, _: &Config, to: &mut Description) -> Result<()> {
    let (codes, [rows, columns]) = found.matrix()?;
    let rows_of_scale = if found.has_one_scale(rows)? { rows } else { 1 };
    description(codes.shape(), [rows_of_scale, columns], to)
}

fn description(shape: &[u64], [height, width]: [u64; 2], to: &mut Description) -> Result<()> {
    to.start(shape)?.number("bits", 8)?;
    to.number("block_rows", height.max(1))?.number("block_columns", width.max(1))?;
    Ok(())
}

pub fn plan(object: &Object<'_>) -> Result<Plan> {
    let [rows, columns] = object.rows_and_columns()?;
    let [height, width] = [object.attribute("block_rows")?.max(1), object.attribute("block_columns")?.max(1)];
    let groups = columns.div_ceil(width);
    object.expect_floats("scales", rows.div_ceil(height).checked_mul(groups), "the blocks")?;
    let is_wide = groups > 1;
    let scales = Steps { rows: height, columns: width, row_step: groups, column_step: u64::from(is_wide) };
    let codes = Packed::bytes(rows, columns);
    object.expect_codes(&codes)?;
    let logical = object.required("packed_weight")?.known_logical();
    let logical = logical.ok_or_else(|| geometry!("its codes are not floats of 8 bits"))?;
    Ok(Plan { table: Table::Float8(logical), ..Plan::new(codes, Formula::Table, scales) })
}
