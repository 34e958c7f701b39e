//! The ways in which tools store one weight as several tensors: a row for each.

use super::config::Config;
use super::found::{Description, Found, Part, Tensor, NO_TENSOR};
use super::plan::{is_float, is_i32, is_i8, is_u32, is_u8, Plan, TypeCheck};
use super::{bitsandbytes, columns, fp4, fp8, hqq, integers, mlx};
use crate::convert::scaled::Factor;
use crate::error::{fail, Error, Result};
use crate::model::dtype::{Dtype, Logical};
use crate::reader::object::Object;

pub struct Scheme {
    /// Its name in the attribute `scheme`.
    pub name: &'static str,
    /// What follows the name of the module in the name of the weight.
    pub weight: &'static str,
    /// Its tensors, the codes first.
    pub parts: &'static [Part],
    pub codes: TypeCheck,
    pub scales: TypeCheck,
    /// Whether these tensors show, even if some are missing, that they are of this scheme.
    pub is_it: fn(&Found<'_>) -> bool,
    /// Whether the configuration allows it.
    pub may_be: fn(&Config) -> bool,
    /// Whether the configuration alone says that such codes are of it.
    pub is_said: fn(&Config) -> bool,
    /// What the object says of the weight.
    pub describe: fn(&Found<'_>, &Config, &mut Description) -> Result<()>,
    pub plan: fn(&Object<'_>) -> Result<Plan>,
}

const fn part(suffix: &'static str, role: &'static str) -> Part {
    Part { suffix, role, is_sure: false }
}

const fn sure(suffix: &'static str, role: &'static str) -> Part {
    Part { suffix, role, is_sure: true }
}

/// A row with what most rows have in common. The arguments have no default, so that no row can forget them.
const fn usual(
    is_it: fn(&Found<'_>) -> bool,
    describe: fn(&Found<'_>, &Config, &mut Description) -> Result<()>,
    plan: fn(&Object<'_>) -> Result<Plan>,
) -> Scheme {
    Scheme {
        name: "",
        weight: ".weight",
        parts: &[],
        codes: |_, _| true,
        scales: is_float,
        is_it,
        may_be: |_| true,
        is_said: |_| false,
        describe,
        plan,
    }
}

/// Codes whose order belongs to the kernels of a GPU, or is not documented.
const UNREADABLE: Scheme =
    Scheme { scales: |_, _| true, ..usual(always, |_, _, _| Err(unreadable()), |_| Err(unreadable())) };

/// Rows that come first are tried first.
pub static SCHEMES: &[Scheme] = &[
    Scheme {
        name: "fp8_blocks",
        parts: &[part(".weight", "packed_weight"), sure(".weight_scale_inv", "scales")],
        codes: is_float8,
        is_said: |config| config.method == "fp8" && config.block.is_some(),
        ..usual(has_scales, fp8::describe_blocks, fp8::plan)
    },
    Scheme {
        name: "fp8_scale",
        parts: &[part(".weight", "packed_weight"), part(".scale", "scales")],
        codes: is_float8,
        scales: is_e8m0,
        is_said: |config| config.method == "fp8",
        ..usual(has_scales, fp8::describe_blocks, fp8::plan)
    },
    Scheme {
        name: "fp4_scale",
        parts: &[part(".weight", "packed_weight"), part(".scale", "scales")],
        codes: |dtype, logical| logical == Some(Logical::F4E2m1) || is_i8(dtype, logical),
        scales: is_e8m0,
        is_said: |config| config.method == "fp8",
        ..usual(|found| has_scales_of(found, Logical::F8E8m0), fp4::describe_scale, fp4::plan_mx)
    },
    Scheme {
        name: "fp8",
        parts: &[part(".weight", "packed_weight"), part(".weight_scale", "scales")],
        codes: is_float8,
        is_said: |config| {
            ["fp8", "compressed-tensors", "modelopt", "fbgemm_fp8"].contains(&config.method.as_str())
        },
        ..usual(has_scales, fp8::describe, fp8::plan)
    },
    Scheme {
        name: "bnb_int8",
        parts: &[
            part(".weight", "packed_weight"),
            sure(".SCB", "scales"),
            sure(".weight_format", "weight_format"),
        ],
        codes: is_i8,
        is_said: |config| config.method == "bitsandbytes",
        ..usual(has_more, bitsandbytes::describe_8_bits, bitsandbytes::plan_8_bits)
    },
    Scheme {
        name: "int8",
        parts: &[
            part(".weight", "packed_weight"),
            part(".weight_scale", "scales"),
            part(".weight_zero_point", "zeros"),
        ],
        codes: is_i8,
        is_said: |config| config.method == "compressed-tensors",
        ..usual(has_more, integers::describe_bytes, integers::plan_bytes)
    },
    Scheme {
        name: "pack_quantized",
        parts: &[
            sure(".weight_packed", "packed_weight"),
            part(".weight_scale", "scales"),
            sure(".weight_shape", "shape"),
            part(".weight_zero_point", "zeros"),
            sure(".weight_g_idx", "g_idx"),
        ],
        codes: is_i32,
        ..usual(always, integers::describe_packed, integers::plan_packed)
    },
    Scheme {
        name: "nvfp4_pack_quantized",
        parts: &[
            sure(".weight_packed", "packed_weight"),
            part(".weight_scale", "scales"),
            sure(".weight_global_scale", "global_scale"),
        ],
        codes: is_u8,
        scales: fp4::is_e4m3,
        ..usual(is_nvfp4, fp4::describe_nv, |object| fp4::plan_nv(object, Factor::Over))
    },
    Scheme {
        name: "mxfp4_pack_quantized",
        parts: &[sure(".weight_packed", "packed_weight"), part(".weight_scale", "scales")],
        codes: is_u8,
        scales: fp4::is_e8m0_or_u8,
        is_said: |config| config.method == "compressed-tensors",
        ..usual(always, fp4::describe_mx, fp4::plan_mx)
    },
    Scheme {
        name: "modelopt_nvfp4",
        parts: &[
            part(".weight", "packed_weight"),
            part(".weight_scale", "scales"),
            sure(".weight_scale_2", "global_scale"),
        ],
        codes: is_u8,
        scales: fp4::is_e4m3,
        is_said: |config| config.method == "modelopt",
        ..usual(has_more, fp4::describe_nv, |object| fp4::plan_nv(object, Factor::Times))
    },
    Scheme {
        name: "mxfp4_blocks",
        weight: "",
        parts: &[sure("_blocks", "packed_weight"), part("_scales", "scales")],
        codes: is_u8,
        scales: fp4::is_e8m0_or_u8,
        is_said: |config| config.method == "mxfp4",
        ..usual(are_blocks, fp4::describe_blocks, fp4::plan_mx)
    },
    Scheme {
        name: "awq",
        parts: &[sure(".qweight", "packed_weight"), part(".scales", "scales"), sure(".qzeros", "zeros")],
        codes: is_i32,
        may_be: |config| config.method == "awq",
        ..usual(always, columns::describe_awq, columns::plan_awq)
    },
    Scheme {
        name: "gptq",
        parts: &[
            sure(".qweight", "packed_weight"),
            part(".scales", "scales"),
            sure(".qzeros", "zeros"),
            sure(".g_idx", "g_idx"),
        ],
        codes: is_i32,
        may_be: |config| config.method != "awq",
        ..usual(always, columns::describe_gptq, columns::plan_gptq)
    },
    Scheme {
        name: "bnb_4bit",
        parts: &[
            part(".weight", "packed_weight"),
            sure(".weight.absmax", "scales"),
            sure(".weight.quant_map", "map"),
            sure(".weight.quant_state.bitsandbytes__nf4", "nf4_state"),
            sure(".weight.quant_state.bitsandbytes__fp4", "fp4_state"),
            sure(".weight.nested_absmax", "nested_scales"),
            sure(".weight.nested_quant_map", "nested_map"),
        ],
        codes: is_u8,
        scales: |dtype, logical| is_u8(dtype, logical) || is_float(dtype, logical),
        is_said: |config| config.method == "bitsandbytes",
        ..usual(has_more, bitsandbytes::describe_4_bits, bitsandbytes::plan_4_bits)
    },
    Scheme {
        name: "mlx",
        parts: &[part(".weight", "packed_weight"), part(".scales", "scales"), part(".biases", "biases")],
        codes: is_u32,
        scales: |dtype, logical| is_u8(dtype, logical) || is_float(dtype, logical),
        is_said: |config| config.mlx.is_some(),
        ..usual(has_more, mlx::describe, mlx::plan)
    },
    Scheme {
        name: "hqq",
        parts: &[
            sure(".W_q", "packed_weight"),
            part(".scale", "scales"),
            part(".zero", "zeros"),
            sure(".nbits", "nbits"),
            part(".group_size", "group_size"),
            part(".axis", "axis"),
            part(".shape", "shape"),
            part(".packing", "packing"),
            sure(".unpack_view_dtype", "unpack_view_dtype"),
            part(".view_as_float", "view_as_float"),
            part(".offload_meta", "offload_meta"),
            sure(".encoded_state_dict", "encoded_state_dict"),
            sure(".stores_quant_config", "stores_quant_config"),
            part(".channel_wise", "channel_wise"),
            part(".optimize", "optimize"),
            part(".round_zero", "round_zero"),
        ],
        codes: |dtype, logical| matches!(dtype, Some(Dtype::U8 | Dtype::I32)) && logical.is_none(),
        ..usual(always, hqq::describe, hqq::plan)
    },
    Scheme {
        name: "quanto_int8",
        parts: &[sure(".weight._data", "packed_weight"), sure(".weight._scale", "scales")],
        codes: is_i8,
        ..usual(always, integers::describe_bytes, integers::plan_bytes)
    },
    Scheme {
        name: "quanto_fp8",
        parts: &[sure(".weight._data", "packed_weight"), sure(".weight._scale", "scales")],
        codes: is_float8,
        ..usual(always, fp8::describe, fp8::plan)
    },
    Scheme {
        name: "exl2",
        parts: &[
            sure(".q_weight", "packed_weight"),
            sure(".q_invperm", "q_invperm"),
            sure(".q_scale_max", "q_scale_max"),
            part(".q_scale", "scales"),
            part(".q_groups", "q_groups"),
            part(".q_group_map", "q_group_map"),
            part(".q_perm", "q_perm"),
        ],
        ..UNREADABLE
    },
    Scheme {
        name: "exl3",
        parts: &[
            sure(".trellis", "packed_weight"),
            sure(".suh", "suh"),
            sure(".svh", "svh"),
            part(".su", "su"),
            part(".sv", "sv"),
            part(".mcg", "mcg"),
            part(".mul1", "mul1"),
        ],
        ..UNREADABLE
    },
    Scheme {
        name: "aqlm",
        parts: &[sure(".codebooks", "packed_weight"), part(".codes", "codes"), part(".scales", "scales")],
        ..UNREADABLE
    },
    Scheme {
        name: "quip_sharp",
        parts: &[
            sure(".Qidxs", "packed_weight"),
            part(".SU", "SU"),
            part(".SV", "SV"),
            part(".Wscale", "Wscale"),
            part(".codebook_id", "codebook_id"),
        ],
        ..UNREADABLE
    },
    Scheme {
        name: "marlin",
        parts: &[
            sure(".B", "packed_weight"),
            part(".s", "scales"),
            part(".workspace", "workspace"),
            part(".perm", "perm"),
        ],
        may_be: |config| config.is_marlin,
        ..UNREADABLE
    },
];

#[cold]
fn unreadable() -> Error {
    fail!(Unsupported, "its tool stores codes in an order of its kernels, which cannot be read")
}

fn always(_: &Found<'_>) -> bool {
    true
}

fn is_e8m0(_: Option<Dtype>, logical: Option<Logical>) -> bool {
    logical == Some(Logical::F8E8m0)
}

fn has_scales(found: &Found<'_>) -> bool {
    found.tensor("scales").is_some()
}

fn has_scales_of(found: &Found<'_>, logical: Logical) -> bool {
    found.tensor("scales").is_some_and(|scales| scales.element_type().1 == Some(logical))
}

fn is_nvfp4(found: &Found<'_>) -> bool {
    found.tensor("global_scale").is_some() || has_scales_of(found, Logical::F8E4m3fn)
}

fn are_blocks(found: &Found<'_>) -> bool {
    let has_groups = found.tensor("packed_weight").is_none_or(|codes| codes.shape().len() == 4);
    let has_type = |scales: Tensor<'_>| scales.element_type() == (Some(Dtype::U8), None);
    has_groups && found.tensor("scales").is_some_and(has_type)
}

/// Whether there is anything beside the codes.
fn has_more(found: &Found<'_>) -> bool {
    found.tensors.iter().skip(1).any(|at| *at != NO_TENSOR)
}

fn is_float8(_: Option<Dtype>, logical: Option<Logical>) -> bool {
    use Logical::{F8E4m3fn, F8E4m3fnuz, F8E5m2, F8E5m2fnuz};
    logical.is_some_and(|logical| [F8E4m3fn, F8E5m2, F8E4m3fnuz, F8E5m2fnuz].contains(&logical))
}

pub fn by_name(name: &str) -> Option<&'static Scheme> {
    SCHEMES.iter().find(|scheme| scheme.name == name)
}
