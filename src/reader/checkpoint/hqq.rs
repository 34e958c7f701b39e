//! HQQ: integers whose zeros are floats: `(q - z) * s`. The weight is cut into groups, and several groups
//! stand in the same bytes.

use super::config::Config;
use super::found::{Description, Found};
use super::plan::{is_i32, is_u8, Plan, TypeCheck};
use crate::convert::scaled::{Form, Formula, Order, Packed, Steps, Zeros};
use crate::error::{fail, Result};
use crate::reader::object::Object;

pub fn describe(found: &Found<'_>, _: &Config, to: &mut Description) -> Result<()> {
    for role in ["packed_weight", "scales", "zeros", "encoded_state_dict"] {
        found.required(role)?;
    }
    let stated = found.required("shape")?;
    let [rows, columns] = stated.numbers()?;
    let [bits, group, axis] = ["nbits", "group_size", "axis"].map(|role| found.required(role)?.number());
    let (bits, group, axis) = (bits?, group?, axis?);
    let name = found.required("packing")?.text()?;
    let packing = match (bits, name.as_str()) {
        (1, "1bit_u8") => "1bit_u8",
        (2, "2bit_u8") => "2bit_u8",
        (3, "3bit_32") => "3bit_32",
        (4, "4bit_u8") => "4bit_u8",
        (8, "8bit_u8") => "8bit_u8",
        _ => return Err(fail!(Unsupported, "its packing is {name:?} of {bits} bits, which is not known")),
    };
    if axis > 1 {
        return Err(fail!(Unsupported, "its axis is {axis}, and 0 and 1 can be read"));
    }
    let codes = found.required("packed_weight")?;
    let count = rows.checked_mul(columns).filter(|count| count.checked_rem(group) == Some(0));
    let Some(groups) = count.and_then(|count| count.checked_div(group)) else {
        return Err(stated.wrong(format_args!("[{rows}, {columns}] is not cut into groups of {group}")));
    };
    let [height, width] = if axis == 1 { [groups, group] } else { [group, groups] };
    let wanted = [height.div_ceil(codes_of_unit(bits).1), width];
    codes.expect_shape(&wanted, format_args!("{bits} bits in groups of {group}"))?;
    to.start(&[rows, columns])?.number("bits", bits)?.number("group_size", group)?;
    to.number("axis", axis)?.text("packing", packing)?;
    Ok(())
}

/// Bytes of a unit, and how many codes are in it.
fn codes_of_unit(bits: u64) -> (u64, u64) {
    match bits {
        3 => (4, 10),
        bits => (1, 8u64.checked_div(bits).unwrap_or(1).max(1)),
    }
}

pub fn plan(object: &Object<'_>) -> Result<Plan> {
    let count = object.elements()?;
    let (bits, group, axis) = (object.bits()?, object.attribute("group_size")?, object.attribute("axis")?);
    if axis > 1 || ![1, 2, 3, 4, 8].contains(&bits) {
        return Err(fail!(
            Unsupported,
            "its axis is {axis} and its codes have {bits} bits, which HQQ does not have"
        ));
    }
    let groups = count.checked_div(group).filter(|groups| groups.checked_mul(group) == Some(count));
    let Some(groups) = groups else {
        return Err(geometry!("its {count} elements are not cut into groups of {group}"));
    };
    let (unit, of_unit) = codes_of_unit(u64::from(bits));
    let (is_unit, name): (TypeCheck, _) = if unit == 4 { (is_i32, "i32") } else { (is_u8, "u8") };
    object.expect_type("packed_weight", is_unit, name)?;
    let packed =
        |form, rows, columns| Packed { form, bits, order: Order::Low, is_transposed: false, rows, columns };
    let (codes, steps) = if axis == 1 {
        // Rows are groups. Those that stand in the same bytes follow each other: they are one long row.
        let height = groups.div_ceil(of_unit);
        let columns = height.saturating_mul(group);
        let steps = Steps { rows: 1, columns: group.max(1), row_step: height, column_step: 1 };
        (packed(Form::Parts { rows: 1, unit }, of_unit, columns), steps)
    } else {
        // Columns are groups.
        let form = Form::Parts { rows: group.div_ceil(of_unit).max(1), unit };
        let steps = Steps { rows: group.max(1), columns: 1, row_step: 0, column_step: 1 };
        (packed(form, group, groups), steps)
    };
    object.expect_codes(&codes)?;
    for role in ["scales", "zeros"] {
        object.expect_floats(role, Some(groups), "its groups")?;
    }
    let plan = Plan::new(codes, Formula::Less { is_signed: false }, steps);
    Ok(plan.with_zeros("zeros", Zeros::Elements(steps)))
}
