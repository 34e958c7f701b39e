//! Codes with scales as the layout `zt.quant_group/1` (spec 2 section 6.4), which has more attributes than a
//! quantized_group, and stricter ones. Whether sizes fit is checked on the written object
//! ([`super::profiles`]).

use super::layouts::broken_layout;
use crate::container::write_rules::{Quantized, QuantizedForm};
use crate::error::Result;
use crate::model::dtype::{Dtype, Logical};
use crate::model::structure::{parse_packing, Grouping};
use crate::model::value::{Attributes, Kind, OwnedValue, ValueBuilder};

macro_rules! refuse {
    ($($what:tt)*) => { return Err(broken_layout(format_args!($($what)*))) };
}

/// The layout and its attributes, or an error for what the layout cannot represent.
pub fn form(spec: &Quantized<'_>) -> Result<QuantizedForm> {
    let Some(grouping) = spec.grouping else {
        refuse!("\"zt.quant_group/1\" says along which axis groups lie (has_axis)")
    };
    let Some(bits) = spec.bits else { refuse!("\"zt.quant_group/1\" says how many bits a code has") };
    let Some(group_size) = spec.group_size else {
        // One scale for each index of the axis, or for each code: its text can be read as either.
        refuse!("\"zt.quant_group/1\" without a group size does not say how many scales it has")
    };
    let (word, per_word) = (word(spec.codes)?, per_word(spec.codes, bits)?);
    check_packing(spec, per_word)?;
    let Grouping { axis, zero_point, is_msb_first, zeros_packed } = grouping;
    let zero_form = match (spec.has_zeros, zero_point) {
        (true, 0) => "tensor",
        (true, _) => refuse!("it has zeros, and a zero point of {zero_point} for all codes as well"),
        (false, _) if zeros_packed => refuse!("its zeros are packed, but there are none"),
        (false, 0) => "none",
        (false, _) => "implied",
    };
    let mut attributes = Attributes::default();
    for (key, number) in [("bits", bits), ("axis", axis), ("group_size", group_size)] {
        attributes.set(key, OwnedValue::scalar(Kind::Unsigned(number))?.get())?;
    }
    attributes.set("scale_form", OwnedValue::text(scale_form(spec.scales)?)?.get())?;
    let packing = map(|b| {
        text(b, "word", word)?;
        text(b, "order", if is_msb_first { "msb_first" } else { "lsb_first" })?;
        b.text("per_word")?;
        b.unsigned(per_word)
    });
    attributes.set("packing", packing?.get())?;
    let zero_point = map(|b| {
        text(b, "form", zero_form)?;
        match zero_form {
            "tensor" => text(b, "packing", if zeros_packed { "same_as_data" } else { "plain" }),
            "implied" => b.text("value").and_then(|()| b.integer(zero_point)),
            _ => Ok(()),
        }
    });
    attributes.set("zero_point", zero_point?.get())?;
    Ok(QuantizedForm { format: "zt.quant_group/1", codes: "data", attributes })
}

fn map(put: impl FnOnce(&mut ValueBuilder<'_>) -> Result<()>) -> Result<OwnedValue> {
    OwnedValue::build(|builder| {
        builder.begin_map(None)?;
        put(builder)?;
        builder.end().map(drop)
    })
}

fn text(builder: &mut ValueBuilder<'_>, key: &str, value: &str) -> Result<()> {
    builder.text(key)?;
    builder.text(value)
}

fn word(codes: Dtype) -> Result<&'static str> {
    Ok(match codes {
        Dtype::U8 | Dtype::I8 => "u8",
        Dtype::U16 | Dtype::I16 => "u16",
        Dtype::U32 | Dtype::I32 => "u32",
        Dtype::U64 | Dtype::I64 => "u64",
        other => refuse!("its codes are packed in {}, not in an integer", other.name()),
    })
}

fn per_word(codes: Dtype, bits: u64) -> Result<u64> {
    let width = (codes.size() as u64).saturating_mul(8);
    match (matches!(bits, 2 | 4 | 8), width.checked_div(bits)) {
        (true, Some(per_word)) => Ok(per_word),
        _ => refuse!("codes of {bits} bits do not fill a word; 2, 4 and 8 do"),
    }
}

/// Checks that the caller's packing, for which the file has no field, agrees with the words.
fn check_packing(spec: &Quantized<'_>, per_word: u64) -> Result<()> {
    let Some(packing) = spec.packing else { return Ok(()) };
    match parse_packing(packing) {
        Some((count, dtype)) if count == per_word && word(dtype)? == word(spec.codes)? => Ok(()),
        _ => {
            refuse!("the packing {packing:?} is not that of {per_word} codes in each {}", spec.codes.name())
        }
    }
}

fn scale_form((dtype, logical): (Dtype, Option<Logical>)) -> Result<&'static str> {
    Ok(match (dtype, logical) {
        (Dtype::F32 | Dtype::Bf16, None) => "f32_factors",
        (Dtype::F16, None) => "f16_factors",
        (Dtype::U8, Some(Logical::F8E8m0)) => "e8m0_exponent",
        (dtype, _) => refuse!(
            "its scales are of {}{}, not f32, bf16, f16, or u8 of the type f8_e8m0",
            dtype.name(),
            if logical.is_some() { " with a type" } else { "" }
        ),
    })
}
