//! compressed-tensors: integers in rows, each with the zero and the scale of its group: `(q - z) * s`.

use super::config::{Config, Form};
use super::found::{Description, Found, Tensor};
use super::plan::{is_float, is_i32, is_i8, steps, Plan};
use crate::convert::scaled::{Form as Stored, Formula, Order, Packed, Zeros};
use crate::error::{fail, Result};
use crate::reader::object::Object;

/// Integers of 8 bits, with a scale for each row, or for all.
pub fn describe_bytes(found: &Found<'_>, config: &Config, to: &mut Description) -> Result<()> {
    let (codes, [rows, _]) = found.matrix()?;
    found.has_one_scale(rows)?;
    let scales = found.required("scales")?;
    if let Some(zeros) = found.tensor("zeros").filter(|zeros| zeros.count() != scales.count()) {
        return Err(zeros.wrong(format_args!(
            "it has {} zeros for {} scales",
            zeros.count(),
            scales.count()
        )));
    }
    config.expect_whole()?;
    let mut of_bytes = config.forms.iter().filter(|form| form.bits == 8).peekable();
    if of_bytes.peek().is_some() && of_bytes.all(|form| !form.is_symmetric) {
        found.required("zeros")?;
    }
    to.start(codes.shape())?.number("bits", 8)?;
    Ok(())
}

pub fn plan_bytes(object: &Object<'_>) -> Result<Plan> {
    let [rows, columns] = object.rows_and_columns()?;
    let codes = Packed::bytes(rows, columns);
    object.expect_codes(&codes)?;
    object.expect_type("scales", is_float, "a float")?;
    let count = object.elements_of("scales")?;
    let steps =
        steps(count, rows, columns, None).ok_or_else(|| geometry!("{count} scales belong to {rows} rows"))?;
    let plan = Plan::new(codes, Formula::Less { is_signed: true }, steps);
    if object.component("zeros").is_none() {
        return Ok(plan);
    }
    object.expect_type("zeros", is_i8, "i8")?;
    object.expect("zeros", Some(count), "its scales")?;
    Ok(plan.with_zeros("zeros", Zeros::Elements(steps)))
}

/// The layout of codes of so many bits in so many words.
fn order_of(columns: u64, bits: u64, words: u64) -> Option<Order> {
    let across = columns.checked_mul(bits).map(|bits| bits.div_ceil(32)) == Some(words);
    let within = || columns.div_ceil(32u64.checked_div(bits)?.max(1)).eq(&words).then_some(());
    match across {
        true => Some(Order::Low),
        false => within().map(|()| Order::InWords),
    }
}

/// Which form of the configuration has codes in so many words.
fn form_of(config: &Config, codes: &Tensor<'_>, columns: u64, words: u64) -> Result<(Form, Order)> {
    let possible = config.forms.iter().filter(|form| (1..=8).contains(&form.bits));
    let mut fitting = possible.filter_map(|form| Some((*form, order_of(columns, form.bits, words)?)));
    let Some(first) = fitting.next() else {
        if config.forms.is_empty() {
            return Err(config.lacks("bits of its codes (num_bits in config_groups)"));
        }
        return Err(codes.wrong(format_args!(
            "rows of {words} words do not hold {columns} columns of any number of bits in config.json"
        )));
    };
    match fitting.find(|(form, _)| form.bits != first.0.bits) {
        Some((other, _)) => Err(fail!(
            Unsupported,
            "config.json has codes of {} and of {} bits, and both fit {words} words a row",
            first.0.bits,
            other.bits
        )),
        None => Ok(first),
    }
}

/// Integers of 1 to 8 bits in words.
pub fn describe_packed(found: &Found<'_>, config: &Config, to: &mut Description) -> Result<()> {
    let (codes, [packed_rows, words]) = found.matrix()?;
    let stated = found.required("shape")?;
    let [rows, columns] = stated.numbers()?;
    if rows != packed_rows {
        return Err(stated.wrong(format_args!("it says {rows} rows, but the codes have {packed_rows}")));
    }
    config.expect_whole()?;
    let (form, order) = form_of(config, &codes, columns, words)?;
    let scales = found.required("scales")?;
    let groups_of = |group: u64| columns.div_ceil(group.max(1));
    let of_bits = || config.forms.iter().filter(|other| other.bits == form.bits);
    let is_whole = of_bits().any(|form| form.group_size.is_none_or(|group| group >= columns));
    let group = match *scales.shape() {
        [] | [1] if is_whole => columns,
        [of, 1] if of == rows && is_whole => columns,
        [of, groups] if of == rows => {
            let mut stated = of_bits().filter_map(|form| form.group_size);
            let mut fitting = stated.clone().filter(|group| groups_of(*group) == groups);
            match (fitting.next(), stated.next()) {
                (Some(group), _) if fitting.any(|other| other != group) => {
                    return Err(scales.wrong(format_args!(
                        "config.json has several sizes of groups that give {groups} scales a row"
                    )));
                }
                (Some(group), _) => group,
                // Without a size, a group that divides the columns follows from the scales.
                (None, None) if columns.checked_rem(groups) == Some(0) => {
                    columns.checked_div(groups).unwrap_or(columns)
                }
                (None, _) => {
                    return Err(scales.wrong(format_args!(
                        "{groups} scales of a row of {columns} columns do not fit the groups in config.json"
                    )));
                }
            }
        }
        _ => {
            let shape = scales.shape();
            return Err(scales
                .wrong(format_args!("its shape {shape:?} does not fit {rows} rows of {columns} columns")));
        }
    };
    if let Some(zeros) = found.tensor("zeros") {
        let per = 32u64.checked_div(form.bits).unwrap_or(1).max(1);
        let words = if order == Order::Low {
            rows.saturating_mul(form.bits).div_ceil(32)
        } else {
            rows.div_ceil(per)
        };
        zeros.expect_shape(&[words, groups_of(group)], format_args!("{rows} rows"))?;
    }
    if !of_bits().any(|form| form.is_symmetric) {
        found.required("zeros")?;
    }
    if group < columns && of_bits().all(|form| form.has_order) {
        found.required("g_idx")?;
    }
    to.start(&[rows, columns])?;
    let order = if order == Order::Low { "lsb_first" } else { "lsb_first_in_words" };
    to.number("bits", form.bits)?.text("order", order)?.number("axis", 1)?;
    if group < columns {
        to.number("group_size", group)?;
    }
    Ok(())
}

pub fn plan_packed(object: &Object<'_>) -> Result<Plan> {
    let [rows, columns] = object.rows_and_columns()?;
    let bits = object.bits()?;
    let order = match object.attribute_text("order") {
        "lsb_first" => Order::Low,
        "lsb_first_in_words" => Order::InWords,
        other => return Err(fail!(Unsupported, "the order of its codes is {other:?}, which is not known")),
    };
    let words = |codes: u64| match order {
        Order::InWords => Some(codes.div_ceil(u64::from(32u32.checked_div(bits).unwrap_or(1).max(1)))),
        _ => codes.checked_mul(u64::from(bits)).map(|bits| bits.div_ceil(32)),
    };
    let bytes = words(columns).and_then(|words| words.checked_mul(4)).unwrap_or(u64::MAX);
    let codes = Packed { form: Stored::Rows { bytes }, bits, order, is_transposed: false, rows, columns };
    object.expect_codes(&codes)?;
    object.expect_type("scales", is_float, "a float")?;
    let count = object.elements_of("scales")?;
    let group = object.attribute("group_size").unwrap_or(0);
    let steps = steps(count, rows, columns, Some(group))
        .ok_or_else(|| geometry!("{count} scales do not fit {rows} rows in groups of {group}"))?;
    let mut plan = Plan::new(codes, Formula::Less { is_signed: false }, steps);
    if object.component("g_idx").is_some() {
        object.expect("g_idx", Some(columns), "its columns")?;
        plan.has_groups = true;
    }
    if object.component("zeros").is_none() {
        plan.layout.zeros = Zeros::Same(f32::from(1u8.wrapping_shl(bits.saturating_sub(1))));
        return Ok(plan);
    }
    if steps.row_step == 0 {
        return Err(fail!(Unsupported, "how the zero of a single scale is packed is not stated"));
    }
    let groups = if steps.column_step == 1 { steps.row_step } else { 1 };
    let zeros = Packed { form: Stored::Words, bits, order, is_transposed: true, rows, columns: groups };
    object.expect_type("zeros", is_i32, "i32")?;
    object.expect("zeros", words(rows).and_then(|words| words.checked_mul(groups)), "its groups")?;
    Ok(plan.with_zeros("zeros", Zeros::Packed { codes: zeros, added: 0, mask: u8::MAX }))
}
