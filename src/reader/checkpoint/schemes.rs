//! The ways in which tools store one weight as several tensors: a row for each.

use super::config::Config;
use super::found::{Description, Found, Part, NO_TENSOR};
use super::plan::{is_float, Plan};
use super::{bitsandbytes, columns, fp4, fp8, hqq, integers, mlx};
use crate::error::{fail, Error, Result};
use crate::model::dtype::{Dtype, Logical};
use crate::reader::object::Object;

/// A way to store a weight.
pub struct Scheme {
    /// Its name in the attribute `scheme`.
    pub name: &'static str,
    /// What follows the name of the module in the name of the weight.
    pub weight: &'static str,
    /// Its tensors, the codes first.
    pub parts: &'static [Part],
    /// Which type the codes have.
    pub codes: fn(Option<Dtype>, Option<Logical>) -> bool,
    /// Which type its scales can have.
    pub scales: fn(Option<Dtype>, Option<Logical>) -> bool,
    /// Whether these tensors show, even if some are missing, that they are of this scheme.
    pub is_it: fn(&Found<'_>) -> bool,
    /// Whether the configuration allows it.
    pub may_be: fn(&Config) -> bool,
    /// Whether the configuration alone says that such codes are of it.
    pub is_said: fn(&Config) -> bool,
    /// What the object says of the weight.
    pub describe: fn(&Found<'_>, &Config, &mut Description) -> Result<()>,
    /// How its numbers are made.
    pub plan: fn(&Object<'_>) -> Result<Plan>,
}

const fn part(suffix: &'static str, role: &'static str) -> Part {
    Part { suffix, role, is_sure: false }
}

const fn sure(suffix: &'static str, role: &'static str) -> Part {
    Part { suffix, role, is_sure: true }
}

/// Rows that come first are tried first.
pub static SCHEMES: &[Scheme] = &[
    Scheme {
        name: "fp8_blocks",
        weight: ".weight",
        parts: &[part(".weight", "packed_weight"), sure(".weight_scale_inv", "scales")],
        codes: is_float8,
        scales: is_float,
        is_it: has_scales,
        may_be: |_| true,
        is_said: |config| config.method == "fp8" && config.block.is_some(),
        describe: fp8::describe_blocks,
        plan: fp8::plan,
    },
    Scheme {
        name: "fp8_scale",
        weight: ".weight",
        parts: &[part(".weight", "packed_weight"), part(".scale", "scales")],
        codes: is_float8,
        scales: is_e8m0,
        is_it: has_scales,
        may_be: |_| true,
        is_said: |config| config.method == "fp8",
        describe: fp8::describe_blocks,
        plan: fp8::plan,
    },
    Scheme {
        name: "fp4_scale",
        weight: ".weight",
        parts: &[part(".weight", "packed_weight"), part(".scale", "scales")],
        codes: |dtype, logical| {
            logical == Some(Logical::F4E2m1) || (dtype, logical) == (Some(Dtype::I8), None)
        },
        scales: is_e8m0,
        is_it: |found| has_scales_of(found, Logical::F8E8m0),
        may_be: |_| true,
        is_said: |config| config.method == "fp8",
        describe: fp4::describe_scale,
        plan: fp4::plan_mx,
    },
    Scheme {
        name: "fp8",
        weight: ".weight",
        parts: &[part(".weight", "packed_weight"), part(".weight_scale", "scales")],
        codes: is_float8,
        scales: is_float,
        is_it: has_scales,
        may_be: |_| true,
        is_said: |config| {
            ["fp8", "compressed-tensors", "modelopt", "fbgemm_fp8"].contains(&config.method.as_str())
        },
        describe: fp8::describe,
        plan: fp8::plan,
    },
    Scheme {
        name: "bnb_int8",
        weight: ".weight",
        parts: &[
            part(".weight", "packed_weight"),
            sure(".SCB", "scales"),
            sure(".weight_format", "weight_format"),
        ],
        codes: is_int8,
        scales: is_float,
        is_it: has_more,
        may_be: |_| true,
        is_said: |config| config.method == "bitsandbytes",
        describe: bitsandbytes::describe_8_bits,
        plan: bitsandbytes::plan_8_bits,
    },
    Scheme {
        name: "int8",
        weight: ".weight",
        parts: &[
            part(".weight", "packed_weight"),
            part(".weight_scale", "scales"),
            part(".weight_zero_point", "zeros"),
        ],
        codes: is_int8,
        scales: is_float,
        is_it: has_more,
        may_be: |_| true,
        is_said: |config| config.method == "compressed-tensors",
        describe: integers::describe_bytes,
        plan: integers::plan_bytes,
    },
    Scheme {
        name: "pack_quantized",
        weight: ".weight",
        parts: &[
            sure(".weight_packed", "packed_weight"),
            part(".weight_scale", "scales"),
            sure(".weight_shape", "shape"),
            part(".weight_zero_point", "zeros"),
            sure(".weight_g_idx", "g_idx"),
        ],
        codes: |dtype, logical| (dtype, logical) == (Some(Dtype::I32), None),
        scales: is_float,
        is_it: |_| true,
        may_be: |_| true,
        is_said: |_| false,
        describe: integers::describe_packed,
        plan: integers::plan_packed,
    },
    Scheme {
        name: "nvfp4_pack_quantized",
        weight: ".weight",
        parts: &[
            sure(".weight_packed", "packed_weight"),
            part(".weight_scale", "scales"),
            sure(".weight_global_scale", "global_scale"),
        ],
        codes: is_byte,
        scales: fp4::is_e4m3,
        is_it: |found| found.tensor("global_scale").is_some() || has_scales_of(found, Logical::F8E4m3fn),
        may_be: |_| true,
        is_said: |_| false,
        describe: fp4::describe_nv,
        plan: fp4::plan_nv_over,
    },
    Scheme {
        name: "mxfp4_pack_quantized",
        weight: ".weight",
        parts: &[sure(".weight_packed", "packed_weight"), part(".weight_scale", "scales")],
        codes: is_byte,
        scales: fp4::is_e8m0_or_u8,
        is_it: |_| true,
        may_be: |_| true,
        is_said: |config| config.method == "compressed-tensors",
        describe: fp4::describe_mx,
        plan: fp4::plan_mx,
    },
    Scheme {
        name: "modelopt_nvfp4",
        weight: ".weight",
        parts: &[
            part(".weight", "packed_weight"),
            part(".weight_scale", "scales"),
            sure(".weight_scale_2", "global_scale"),
        ],
        codes: is_byte,
        scales: fp4::is_e4m3,
        is_it: has_more,
        may_be: |_| true,
        is_said: |config| config.method == "modelopt",
        describe: fp4::describe_nv,
        plan: fp4::plan_nv_times,
    },
    Scheme {
        name: "mxfp4_blocks",
        weight: "",
        parts: &[sure("_blocks", "packed_weight"), part("_scales", "scales")],
        codes: is_byte,
        scales: fp4::is_e8m0_or_u8,
        is_it: |found| {
            let has_groups = found.tensor("packed_weight").is_none_or(|codes| codes.shape().len() == 4);
            has_groups && found.tensor("scales").is_some_and(|scales| is_byte_type(scales.element_type()))
        },
        may_be: |_| true,
        is_said: |config| config.method == "mxfp4",
        describe: fp4::describe_blocks,
        plan: fp4::plan_mx,
    },
    Scheme {
        name: "awq",
        weight: ".weight",
        parts: &[sure(".qweight", "packed_weight"), part(".scales", "scales"), sure(".qzeros", "zeros")],
        codes: |dtype, logical| (dtype, logical) == (Some(Dtype::I32), None),
        scales: is_float,
        is_it: |_| true,
        may_be: |config| config.method == "awq",
        is_said: |_| false,
        describe: columns::describe_awq,
        plan: columns::plan_awq,
    },
    Scheme {
        name: "gptq",
        weight: ".weight",
        parts: &[
            sure(".qweight", "packed_weight"),
            part(".scales", "scales"),
            sure(".qzeros", "zeros"),
            sure(".g_idx", "g_idx"),
        ],
        codes: |dtype, logical| (dtype, logical) == (Some(Dtype::I32), None),
        scales: is_float,
        is_it: |_| true,
        may_be: |config| config.method != "awq",
        is_said: |_| false,
        describe: columns::describe_gptq,
        plan: columns::plan_gptq,
    },
    Scheme {
        name: "bnb_4bit",
        weight: ".weight",
        parts: &[
            part(".weight", "packed_weight"),
            sure(".weight.absmax", "scales"),
            sure(".weight.quant_map", "map"),
            sure(".weight.quant_state.bitsandbytes__nf4", "nf4_state"),
            sure(".weight.quant_state.bitsandbytes__fp4", "fp4_state"),
            sure(".weight.nested_absmax", "nested_scales"),
            sure(".weight.nested_quant_map", "nested_map"),
        ],
        codes: is_byte,
        scales: |dtype, logical| is_byte(dtype, logical) || is_float(dtype, logical),
        is_it: has_more,
        may_be: |_| true,
        is_said: |config| config.method == "bitsandbytes",
        describe: bitsandbytes::describe_4_bits,
        plan: bitsandbytes::plan_4_bits,
    },
    Scheme {
        name: "mlx",
        weight: ".weight",
        parts: &[part(".weight", "packed_weight"), part(".scales", "scales"), part(".biases", "biases")],
        codes: |dtype, logical| (dtype, logical) == (Some(Dtype::U32), None),
        scales: |dtype, logical| is_byte(dtype, logical) || is_float(dtype, logical),
        is_it: has_more,
        may_be: |_| true,
        is_said: |config| config.mlx.is_some(),
        describe: mlx::describe,
        plan: mlx::plan,
    },
    Scheme {
        name: "hqq",
        weight: ".weight",
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
        scales: is_float,
        is_it: |_| true,
        may_be: |_| true,
        is_said: |_| false,
        describe: hqq::describe,
        plan: hqq::plan,
    },
    Scheme {
        name: "quanto_int8",
        weight: ".weight",
        parts: &[sure(".weight._data", "packed_weight"), sure(".weight._scale", "scales")],
        codes: is_int8,
        scales: is_float,
        is_it: |_| true,
        may_be: |_| true,
        is_said: |_| false,
        describe: integers::describe_bytes,
        plan: integers::plan_bytes,
    },
    Scheme {
        name: "quanto_fp8",
        weight: ".weight",
        parts: &[sure(".weight._data", "packed_weight"), sure(".weight._scale", "scales")],
        codes: is_float8,
        scales: is_float,
        is_it: |_| true,
        may_be: |_| true,
        is_said: |_| false,
        describe: fp8::describe,
        plan: fp8::plan,
    },
    Scheme {
        name: "exl2",
        weight: ".weight",
        parts: &[
            sure(".q_weight", "packed_weight"),
            sure(".q_invperm", "q_invperm"),
            sure(".q_scale_max", "q_scale_max"),
            part(".q_scale", "scales"),
            part(".q_groups", "q_groups"),
            part(".q_group_map", "q_group_map"),
            part(".q_perm", "q_perm"),
        ],
        codes: |_, _| true,
        scales: |_, _| true,
        is_it: |_| true,
        may_be: |_| true,
        is_said: |_| false,
        describe: describe_refused,
        plan: plan_refused,
    },
    Scheme {
        name: "exl3",
        weight: ".weight",
        parts: &[
            sure(".trellis", "packed_weight"),
            sure(".suh", "suh"),
            sure(".svh", "svh"),
            part(".su", "su"),
            part(".sv", "sv"),
            part(".mcg", "mcg"),
            part(".mul1", "mul1"),
        ],
        codes: |_, _| true,
        scales: |_, _| true,
        is_it: |_| true,
        may_be: |_| true,
        is_said: |_| false,
        describe: describe_refused,
        plan: plan_refused,
    },
    Scheme {
        name: "aqlm",
        weight: ".weight",
        parts: &[sure(".codebooks", "packed_weight"), part(".codes", "codes"), part(".scales", "scales")],
        codes: |_, _| true,
        scales: |_, _| true,
        is_it: |_| true,
        may_be: |_| true,
        is_said: |_| false,
        describe: describe_refused,
        plan: plan_refused,
    },
    Scheme {
        name: "quip_sharp",
        weight: ".weight",
        parts: &[
            sure(".Qidxs", "packed_weight"),
            part(".SU", "SU"),
            part(".SV", "SV"),
            part(".Wscale", "Wscale"),
            part(".codebook_id", "codebook_id"),
        ],
        codes: |_, _| true,
        scales: |_, _| true,
        is_it: |_| true,
        may_be: |_| true,
        is_said: |_| false,
        describe: describe_refused,
        plan: plan_refused,
    },
    Scheme {
        name: "marlin",
        weight: ".weight",
        parts: &[
            sure(".B", "packed_weight"),
            part(".s", "scales"),
            part(".workspace", "workspace"),
            part(".perm", "perm"),
        ],
        codes: |_, _| true,
        scales: |_, _| true,
        is_it: |_| true,
        may_be: |config| config.is_marlin,
        is_said: |_| false,
        describe: describe_refused,
        plan: plan_refused,
    },
];

/// Codes whose order belongs to the kernels of a GPU, or is not documented.
fn describe_refused(_: &Found<'_>, _: &Config, _: &mut Description) -> Result<()> {
    Err(refused())
}

fn plan_refused(_: &Object<'_>) -> Result<Plan> {
    Err(refused())
}

#[cold]
fn refused() -> Error {
    fail!(Unsupported, "its tool stores codes in an order of its kernels, which cannot be read")
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

/// Whether there is anything beside the codes.
fn has_more(found: &Found<'_>) -> bool {
    found.tensors.iter().skip(1).any(|at| *at != NO_TENSOR)
}

fn is_float8(_: Option<Dtype>, logical: Option<Logical>) -> bool {
    use Logical::{F8E4m3fn, F8E4m3fnuz, F8E5m2, F8E5m2fnuz};
    logical.is_some_and(|logical| [F8E4m3fn, F8E5m2, F8E4m3fnuz, F8E5m2fnuz].contains(&logical))
}

fn is_int8(dtype: Option<Dtype>, logical: Option<Logical>) -> bool {
    (dtype, logical) == (Some(Dtype::I8), None)
}

fn is_byte(dtype: Option<Dtype>, logical: Option<Logical>) -> bool {
    is_byte_type((dtype, logical))
}

fn is_byte_type(of: (Option<Dtype>, Option<Logical>)) -> bool {
    of == (Some(Dtype::U8), None)
}

/// The scheme of that name.
pub fn by_name(name: &str) -> Option<&'static Scheme> {
    SCHEMES.iter().find(|scheme| scheme.name == name)
}
