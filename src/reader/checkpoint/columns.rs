//! GPTQ and AWQ: integers whose columns are stored as rows: `(q - z) * s`.

use super::config::Config;
use super::found::{Description, Found};
use super::plan::{is_i32, Plan};
use crate::convert::scaled::{Form, Formula, Order, Packed, Steps, Zeros};
use crate::error::{fail, Result};
use crate::reader::object::Object;

/// Codes in a word of AWQ.
const AWQ_CODES: u64 = 8;

/// Columns of a group, as the configuration says.
fn group_size(config: &Config, columns: u64) -> Result<u64> {
    match config.group_size {
        Some(-1) => Ok(columns.max(1)),
        Some(size) => u64::try_from(size).ok().filter(|size| *size > 0).ok_or_else(|| {
            fail!(Unsupported, "config.json says the group_size {size}, which is neither -1 nor positive")
        }),
        None => Err(config.lacks("group_size")),
    }
}

fn checked(found: &Found<'_>, rows: u64, columns: u64, group: u64, of_zeros: [u64; 2]) -> Result<()> {
    let (scales, zeros) = (found.required("scales")?, found.required("zeros")?);
    let groups = columns.div_ceil(group);
    let wanted = [groups, rows];
    scales.expect_shape(&wanted, format_args!("{columns} columns in groups of {group} with {rows} rows"))?;
    zeros.expect_shape(&of_zeros, format_args!("{groups} groups with {rows} rows"))?;
    match found.tensor("g_idx") {
        Some(of_columns) => of_columns.expect_shape(&[columns], format_args!("{columns} columns")),
        None => Ok(()),
    }
}

pub fn describe_gptq(found: &Found<'_>, config: &Config, to: &mut Description) -> Result<()> {
    if config.method != "gptq" {
        return Err(match config.method.as_str() {
            "" => config.lacks("quant_method"),
            other => {
                fail!(Unsupported, "config.json says quant_method {other:?}, whose qweight cannot be read")
            }
        });
    }
    if config.is_marlin {
        return Err(fail!(
            Unsupported,
            "config.json says is_marlin_format, whose order belongs to a GPU's kernel"
        ));
    }
    config.expect_whole()?;
    let offset = match config.checkpoint_format.as_deref() {
        None | Some("gptq") => 1,
        Some("gptq_v2") => 0,
        Some(other) => {
            return Err(fail!(
                Unsupported,
                "config.json says checkpoint_format {other:?}, which cannot be read"
            ))
        }
    };
    let bits = config.bits.ok_or_else(|| config.lacks("bits"))?;
    if ![2, 3, 4, 8].contains(&bits) {
        return Err(fail!(Unsupported, "config.json says {bits} bits, and 2, 3, 4 and 8 can be read"));
    }
    let (codes, [words, rows]) = found.matrix()?;
    let columns = words.checked_mul(32).and_then(|all| all.checked_div(bits)).unwrap_or(u64::MAX);
    if columns.checked_mul(bits).map(|bits| bits.div_ceil(32)) != Some(words)
        || words.checked_rem(bits) != Some(0) && bits == 3
    {
        return Err(codes.wrong(format_args!("{words} words cannot be divided into codes of {bits} bits")));
    }
    let group = group_size(config, columns)?;
    if config.has_group_sizes || config.has_order && group < columns {
        found.required("g_idx")?;
    }
    let zero_words = rows.saturating_mul(bits).div_ceil(32);
    checked(found, rows, columns, group, [columns.div_ceil(group), zero_words])?;
    to.start(&[rows, columns])?.number("bits", bits)?.number("group_size", group)?.number("axis", 1)?;
    let packing = [(2, "16_per_i32"), (4, "8_per_i32"), (8, "4_per_i32")];
    if let Some((_, packing)) = packing.iter().find(|(of, _)| *of == bits) {
        to.text("packing", packing)?;
    }
    to.text("order", "lsb_first")?.number("zero_offset", offset)?;
    Ok(())
}

pub fn plan_gptq(object: &Object<'_>) -> Result<Plan> {
    let [rows, columns] = object.rows_and_columns()?;
    let (bits, group) = (object.bits()?, object.attribute("group_size")?.max(1));
    let added = match object.attribute("zero_offset")? {
        0 => 0,
        1 => 1,
        other => return Err(fail!(Unsupported, "its zero_offset is {other}, not 0 or 1")),
    };
    let codes = Packed { form: Form::Words, bits, order: Order::Low, is_transposed: false, rows, columns };
    let words = rows.checked_mul(u64::from(bits)).map(|bits| bits.div_ceil(32));
    // The sums of 3 bits are not cut to 3 bits.
    let mask = if bits == 3 { u8::MAX } else { u8::MAX.wrapping_shr(8u32.saturating_sub(bits)) };
    plan(object, codes, Order::Low, words, group, (added, mask))
}

pub fn describe_awq(found: &Found<'_>, config: &Config, to: &mut Description) -> Result<()> {
    config.expect_whole()?;
    for (key, layout) in [("version", &config.version), ("checkpoint_format", &config.checkpoint_format)] {
        let is_known = |layout: &str| ["gemm", "awq"].iter().any(|known| layout.eq_ignore_ascii_case(known));
        if let Some(other) = layout.as_deref().filter(|layout| !is_known(layout)) {
            return Err(fail!(
                Unsupported,
                "config.json says {key} {other:?}, and only \"gemm\" can be read"
            ));
        }
    }
    match config.bits {
        Some(4) => {}
        Some(bits) => return Err(fail!(Unsupported, "config.json says {bits} bits, and AWQ has 4")),
        None => return Err(config.lacks("bits")),
    }
    let (codes, [columns, words]) = found.matrix()?;
    let rows = words.checked_mul(AWQ_CODES);
    let rows = rows.ok_or_else(|| codes.wrong(format_args!("{words} words have more than 2^64 codes")))?;
    let group = group_size(config, columns)?;
    checked(found, rows, columns, group, [columns.div_ceil(group), words])?;
    to.start(&[rows, columns])?.number("bits", 4)?.number("group_size", group)?.number("axis", 1)?;
    to.text("packing", "8_per_i32")?.text("order", "awq")?.number("zero_offset", 0)?;
    Ok(())
}

pub fn plan_awq(object: &Object<'_>) -> Result<Plan> {
    let [rows, columns] = object.rows_and_columns()?;
    let group = object.attribute("group_size")?.max(1);
    if object.attribute("bits")? != 4 {
        return Err(fail!(Unsupported, "its codes have {} bits, and AWQ has 4", object.attribute("bits")?));
    }
    let words = Some(rows.div_ceil(AWQ_CODES));
    let form = Form::Rows { bytes: rows.div_ceil(AWQ_CODES).saturating_mul(4) };
    let codes = Packed { form, bits: 4, order: Order::Awq, is_transposed: true, rows, columns };
    plan(object, codes, Order::Awq, words, group, (0, u8::MAX))
}

/// Scales [G, R], and zeros [G, words].
fn plan(
    object: &Object<'_>,
    codes: Packed,
    order: Order,
    words: Option<u64>,
    group: u64,
    (added, mask): (u8, u8),
) -> Result<Plan> {
    let (rows, columns) = (codes.rows, codes.columns);
    let groups = columns.div_ceil(group);
    object.expect_codes(&codes)?;
    object.expect_floats("scales", groups.checked_mul(rows), "its groups")?;
    object.expect_type("zeros", is_i32, "i32")?;
    object.expect("zeros", words.and_then(|words| words.checked_mul(groups)), "its groups")?;
    let words = words.and_then(|words| words.checked_mul(4));
    let bytes = words.ok_or_else(|| geometry!("it has more than 2^64 zeros"))?;
    let zeros = Packed {
        form: Form::Rows { bytes },
        bits: codes.bits,
        order,
        is_transposed: true,
        rows,
        columns: groups,
    };
    let steps = Steps { rows: 1, columns: group, row_step: 1, column_step: rows };
    let plan = Plan::new(codes, Formula::Less { is_signed: false }, steps);
    let plan = plan.with_zeros("zeros", Zeros::Packed { codes: zeros, added, mask });
    let has_groups = object.component("g_idx").is_some();
    if has_groups {
        object.expect("g_idx", Some(columns), "its columns")?;
    }
    Ok(Plan { has_groups, ..plan })
}
