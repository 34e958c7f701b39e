//! bitsandbytes: codes of a map with a scale for each block of the whole weight, and integers of 8 bits.

use super::config::{parse, Config};
use super::found::{Attribute, Description, Found};
use super::plan::{is_float, Nested, Plan, Table};
use crate::convert::scaled::{Formula, Order, Packed, Steps};
use crate::error::{fail, Result};
use crate::model::dtype::Dtype;
use crate::model::value::{Value, ValueKind};
use crate::reader::object::Object;

/// Codes in a map.
const MAP: u64 = 16;
const NESTED_MAP: u64 = 256;

pub fn describe_4_bits(found: &Found<'_>, _: &Config, to: &mut Description) -> Result<()> {
    let (codes, scales) = (found.required("packed_weight")?, found.required("scales")?);
    found.required("map")?;
    let state = match (found.tensor("fp4_state"), found.tensor("nf4_state")) {
        (Some(state), Some(_)) => return Err(state.wrong(format_args!("it has a state of nf4, too"))),
        (Some(state), None) => state,
        (None, _) => found.required("nf4_state")?,
    };
    let text = state.text()?;
    let json = parse(text.as_bytes()).map_err(|e| state.wrong(format_args!("{e}")))?;
    let number = |key: &str| {
        let number = json.get().get(key).and_then(Value::as_u64).filter(|number| *number > 0);
        number.ok_or_else(|| state.wrong(format_args!("it says no {key}")))
    };
    let Some(ValueKind::Array(dimensions)) = json.get().get("shape").map(Value::kind) else {
        return Err(state.wrong(format_args!("it says no shape")));
    };
    let mut shape = [0u64; 3];
    let Some(shape) = shape.get_mut(..dimensions.len()) else {
        return Err(state.wrong(format_args!("its shape has {} dimensions", dimensions.len())));
    };
    for (place, dimension) in shape.iter_mut().zip(dimensions.iter()) {
        let size = dimension.as_u64();
        *place =
            size.ok_or_else(|| state.wrong(format_args!("its shape has an entry that is not a size")))?;
    }
    let count = crate::model::manifest::element_count(shape)
        .ok_or_else(|| state.wrong(format_args!("its shape has more than 2^64 elements")))?;
    if codes.count() != count.div_ceil(2) {
        return Err(state.wrong(format_args!(
            "its shape {shape:?} has {count} elements, but the codes have {} bytes",
            codes.count()
        )));
    }
    let block = number("blocksize")?;
    if scales.count() != count.div_ceil(block) {
        return Err(scales.wrong(format_args!(
            "it has {} elements, but {count} codes in blocks of {block} take {}",
            scales.count(),
            count.div_ceil(block)
        )));
    }
    to.start(shape)?.number("bits", 4)?.number("group_size", block)?;
    let is_nested = scales.element_type() == (Some(Dtype::U8), None);
    if !is_nested {
        let nested = found.tensor("nested_scales").or(found.tensor("nested_map"));
        return match nested {
            Some(nested) => {
                Err(nested.wrong(format_args!("it is there, but the scales are not codes of U8")))
            }
            None => Ok(()),
        };
    }
    found.required("nested_scales")?;
    found.required("nested_map")?;
    let offset = match json.get().get("nested_offset").map(Value::kind) {
        Some(ValueKind::Float(offset)) => offset,
        Some(ValueKind::Unsigned(offset)) => offset as f64,
        _ => return Err(state.wrong(format_args!("it says no nested_offset"))),
    };
    to.number("nested_block_size", number("nested_blocksize")?)?;
    to.add("nested_offset", Attribute::Float(offset))?;
    Ok(())
}

pub fn plan_4_bits(object: &Object<'_>) -> Result<Plan> {
    let count = object.elements()?;
    let block = object.attribute("group_size")?.max(1);
    // Blocks run across rows: the whole weight is one row of codes.
    let codes = Packed::in_rows(1, count, 4, Order::HighHalf);
    object.expect_codes(&codes)?;
    object.expect("scales", Some(count.div_ceil(block)), "its blocks")?;
    object.expect_floats("map", Some(MAP), "codes of 4 bits")?;
    let steps = Steps { rows: 1, columns: block, row_step: 0, column_step: 1 };
    let plan = Plan { table: Table::Stored("map"), ..Plan::new(codes, Formula::Table, steps) };
    if object.required("scales")?.dtype() != Some(Dtype::U8) {
        object.expect_type("scales", is_float, "a float or u8")?;
        return Ok(plan);
    }
    let block_size = object.attribute("nested_block_size")?.max(1);
    let offset = match object.attributes().and_then(|map| map.get("nested_offset")).map(Value::kind) {
        Some(ValueKind::Float(offset)) => offset as f32,
        _ => return Err(fail!(Unsupported, "its attribute \"nested_offset\" is not a float")),
    };
    let of_scales = count.div_ceil(block).div_ceil(block_size);
    object.expect_floats("nested_scales", Some(of_scales), "the blocks of its scales")?;
    object.expect_floats("nested_map", Some(NESTED_MAP), "codes of 8 bits")?;
    Ok(Plan { nested: Some(Nested { block_size, offset }), ..plan })
}

pub fn describe_8_bits(found: &Found<'_>, _: &Config, to: &mut Description) -> Result<()> {
    let (codes, [rows, _]) = found.matrix()?;
    let scales = found.required("scales")?;
    if scales.count() != rows {
        return Err(scales.wrong(format_args!("it has {} scales for {rows} rows", scales.count())));
    }
    if let Some(order) = found.tensor("weight_format") {
        let order = order.number()?;
        if order != 0 {
            return Err(fail!(
                Unsupported,
                "its weight_format is {order}: the order of a GPU's kernel, which cannot be read"
            ));
        }
    }
    to.start(codes.shape())?.number("bits", 8)?;
    Ok(())
}

pub fn plan_8_bits(object: &Object<'_>) -> Result<Plan> {
    let [rows, columns] = object.rows_and_columns()?;
    let codes = Packed::bytes(rows, columns);
    object.expect_codes(&codes)?;
    object.expect_floats("scales", Some(rows), "its rows")?;
    let steps = Steps { rows: 1, columns: columns.max(1), row_step: 1, column_step: 0 };
    Ok(Plan::new(codes, Formula::Over127, steps))
}
