//! MLX: codes in rows, each `q * s + b`, or a small float times the scale of its group.

use super::config::Config;
use super::found::{Description, Found};
use super::plan::{is_float, steps_of_groups, Plan, Table};
use crate::convert::scaled::{Form, Formula, Order, Packed, Zeros};
use crate::error::{fail, Result};
use crate::model::dtype::{Dtype, Logical};
use crate::reader::object::Object;

pub fn describe(found: &Found<'_>, config: &Config, to: &mut Description) -> Result<()> {
    let (codes, scales) = (found.required("packed_weight")?, found.required("scales")?);
    let form = config.mlx_form(found.module).ok_or_else(|| config.lacks("quantization of MLX"))?;
    let Some((mode, usual)) = form.mode else {
        return Err(fail!(Unsupported, "config.json says a mode of MLX that is not known"));
    };
    let bits = form.bits.or(usual.map(|(bits, _)| bits)).ok_or_else(|| config.lacks("bits"))?;
    let group =
        form.group_size.or(usual.map(|(_, group)| group)).ok_or_else(|| config.lacks("group_size"))?;
    config.expect_whole()?;
    if config.has_other_modules {
        return Err(fail!(
            Unsupported,
            "config.json has \"quantization\" of single modules, and none of them is in the file"
        ));
    }
    let is_possible = match usual {
        Some(usual) => usual == (bits, group),
        None => matches!(bits, 1..=6 | 8),
    };
    if !is_possible {
        return Err(fail!(
            Unsupported,
            "config.json says {bits} bits in groups of {group}, which {mode} of MLX does not have"
        ));
    }
    let shape = codes.shape();
    let Some((words, rows)) = shape.split_last() else {
        return Err(codes.wrong(format_args!("it has no dimension")));
    };
    let of_words = words.checked_mul(32).filter(|all| all.checked_rem(bits) == Some(0));
    let columns = of_words.and_then(|all| all.checked_div(bits));
    let columns = columns.ok_or_else(|| {
        codes.wrong(format_args!("{words} words cannot be divided into codes of {bits} bits"))
    })?;
    scales.expect_groups(rows, columns, group)?;
    if usual.is_none() {
        let biases = found.required("biases")?;
        biases.expect_shape(scales.shape(), format_args!("its groups"))?;
    } else if let Some(biases) = found.tensor("biases") {
        return Err(biases.wrong(format_args!("{mode} of MLX has no biases")));
    }
    to.start(shape)?.columns(columns).number("bits", bits)?.number("group_size", group)?;
    to.text("mode", mode)?.text("order", "lsb_first")?;
    Ok(())
}

pub fn plan(object: &Object<'_>) -> Result<Plan> {
    let [rows, columns] = object.rows_and_columns()?;
    let (bits, group) = (object.bits()?, object.attribute("group_size")?.max(1));
    let words = columns.checked_mul(u64::from(bits)).map(|bits| bits.div_ceil(32));
    let bytes = words.and_then(|words| words.checked_mul(4)).unwrap_or(u64::MAX);
    let form = Form::Rows { bytes };
    let codes = Packed { form, bits, order: Order::Low, is_transposed: false, rows, columns };
    object.expect_codes(&codes)?;
    let steps = steps_of_groups(object, [rows, columns], group)?;
    let with_table = |table, scale_type| Plan {
        table,
        scale_type: Some(scale_type),
        ..Plan::new(codes, Formula::Table, steps)
    };
    let is_code = |dtype, logical: Option<Logical>| {
        dtype == Some(Dtype::U8) && logical.is_none_or(|logical| logical.block().bytes == 1)
    };
    match object.attribute_text("mode") {
        "affine" => {
            object.expect_type("scales", is_float, "a float")?;
            object.expect_floats("biases", Some(object.elements_of("scales")?), "its groups")?;
            Ok(Plan::new(codes, Formula::Plus, steps).with_zeros("biases", Zeros::Elements(steps)))
        }
        mode => {
            object.expect_type("scales", is_code, "u8")?;
            match mode {
                "mxfp4" if bits == 4 => Ok(with_table(Table::Fp4, Logical::F8E8m0)),
                "nvfp4" if bits == 4 => Ok(with_table(Table::Fp4, Logical::F8E4m3fn)),
                "mxfp8" if bits == 8 => Ok(with_table(Table::Float8(Logical::F8E4m3fn), Logical::F8E8m0)),
                _ => Err(fail!(Unsupported, "its mode is {mode:?} of {bits} bits, which is not known")),
            }
        }
    }
}
