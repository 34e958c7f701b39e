"""Checkpoints with one broken part. They open, their other weights have the right bits, and reading the
broken weight fails with an error that names the weight and its part."""

import json
import os

import families as f
import numpy as np
from cases import compressed, fp8_config, gptq_config, hugging_face, mlx_config, scheme
from families import Model
from tensors import STORED, Tensor, tensor, text, write_model

# Roles that are optional: without one the weight is not broken but different, a plain tensor of its dtype or
# a weight without that option.
OPTIONAL = {"g_idx", "order", "format", "zero"}


def model_of(kind):
    """A model with the weights x.weight, which will be broken, and other.weight."""
    ct = lambda layout, said: compressed(layout, said)  # noqa: E731
    bnb_config = hugging_face(quant_method="bitsandbytes", load_in_4bit=True)
    table = {
        "fp8-blocks": (fp8_config(weight_block_size=[128, 128]), lambda m, x: f.fp8_blocks(m, x, (129, 128))),
        "fp8-newer": (fp8_config(weight_block_size=[128, 128]), lambda m, x: f.fp8_blocks(m, x, (129, 128), scale="F8_E8M0", suffix="scale")),
        "fp4-experts": (fp8_config(), lambda m, x: f.fp4_experts(m, x, 6, 64)),
        "fp8-scaled": (ct("float-quantized", scheme(8, kind="float")), lambda m, x: f.fp8_scaled(m, x, (6, 10), scale_shape=(6, 1))),
        "int8": (ct("int-quantized", scheme(8)), lambda m, x: f.int8(m, x, (6, 10), zero=True)),
        "packed": (ct("pack-quantized", scheme(4, 32, symmetric=False)), lambda m, x: f.ct_packed(m, x, 16, 96, 4, 32, zero=True)),
        "packed-order": (ct("pack-quantized", scheme(4, 32, symmetric=False, actorder="group")),
                         lambda m, x: f.ct_packed(m, x, 16, 96, 4, 32, zero=True, order=True)),
        "ct-nvfp4": (ct("nvfp4-pack-quantized", scheme(4, 16, "float", strategy="tensor_group")), lambda m, x: f.ct_nvfp4(m, x, 6, 64)),
        "ct-mxfp4": (ct("mxfp4-pack-quantized", scheme(4, 32, "float")), lambda m, x: f.ct_mxfp4(m, x, 6, 64)),
        "modelopt-nvfp4": (hugging_face(quant_method="modelopt", quant_algo="NVFP4", group_size=16),
                           lambda m, x: f.modelopt_nvfp4(m, x, 6, 64)),
        "mxfp4-experts": (hugging_face(quant_method="mxfp4"), lambda m, x: f.mxfp4_experts(m, f"{x}.weight", 2, 6, 64)),
        "gptq": (gptq_config(4, 32), lambda m, x: f.gptq(m, x, 32, 96, 4, 32)),
        "gptq-order": (gptq_config(4, 32, order=True), lambda m, x: f.gptq(m, x, 32, 96, 4, 32, order=True)),
        "gptq-3": (gptq_config(3, 32), lambda m, x: f.gptq(m, x, 32, 96, 3, 32)),
        "awq": (hugging_face(quant_method="awq", bits=4, group_size=32, version="gemm"), lambda m, x: f.awq(m, x, 16, 96, 32)),
        "bnb-nf4": (bnb_config, lambda m, x: f.bnb4(m, x, (6, 32))),
        "bnb-nested": (bnb_config, lambda m, x: f.bnb4(m, x, (6, 32), nested=True)),
        "bnb-int8": (hugging_face(quant_method="bitsandbytes", load_in_8bit=True), lambda m, x: f.bnb8(m, x, (6, 10))),
        "mlx": (mlx_config(4, 32), lambda m, x: f.mlx(m, x, 6, 96, 4, 32)),
        "mlx-mxfp4": (mlx_config(4, 32, mode="mxfp4"), lambda m, x: f.mlx_floats(m, x, 6, 96, "mxfp4")),
        "mlx-nvfp4": (mlx_config(4, 16, mode="nvfp4"), lambda m, x: f.mlx_floats(m, x, 6, 96, "nvfp4")),
        "hqq": (hugging_face(quant_method="hqq"), lambda m, x: f.hqq(m, x, 8, 64, 4, 32)),
        "hqq-3": (hugging_face(quant_method="hqq"), lambda m, x: f.hqq(m, x, 8, 64, 3, 32)),
    }
    config, make = table[kind]
    model = Model(kind, 5, **config)
    make(model, "model.x")
    make(model, "model.other")
    model.plain("norm.weight")
    return model


KINDS = ["fp8-blocks", "fp8-newer", "fp4-experts", "fp8-scaled", "int8", "packed", "packed-order", "ct-nvfp4", "ct-mxfp4",
         "modelopt-nvfp4", "mxfp4-experts", "gptq", "gptq-order", "gptq-3", "awq", "bnb-nf4", "bnb-nested", "bnb-int8", "mlx",
         "mlx-mxfp4", "mlx-nvfp4", "hqq", "hqq-3"]
# Settings of HQQ that the formula does not use.
IDLE = {"unpack_view_dtype", "stores_quant_config", "channel_wise", "optimize", "round_zero", "offload_meta", "view_as_float",
        "packing", "encoded_state_dict"}
# A weight of 8 bits without its scale is a plain tensor of floats or integers, as in a model that is not
# quantized.
PLAIN_WITHOUT = {("fp8-blocks", "scale"), ("fp8-newer", "scale"), ("fp4-experts", "scale"), ("fp8-scaled", "scale"),
                 ("int8", "scale"), ("bnb-int8", "SCB"), ("mlx-mxfp4", "scales"), ("mlx-nvfp4", "scales")}


def cut(one):
    """Removes a row or, if there is one row, an element."""
    if not one.array.size or not one.array.ndim:
        return None
    if one.array.shape[0] > 1:
        return tensor(one.dtype, one.array[:-1])
    return tensor(one.dtype, one.array[:, :-1]) if one.array.ndim > 1 and one.array.shape[1] > 1 else None


def longer(one):
    if one.array.ndim == 0:
        return tensor(one.dtype, np.stack([one.array] * 3))
    return tensor(one.dtype, np.concatenate([one.array, one.array[-1:]]))


def turned(one):
    """Reverses the dimensions."""
    made = one.array.reshape(one.array.shape[::-1])
    return tensor(one.dtype, made) if made.shape != one.array.shape else None


def deeper(one):
    return tensor(one.dtype, one.array.reshape(1, 1, *one.array.shape))


def other_dtype(one):
    """The same bits as elements of a dtype that no scheme uses for the part."""
    bits = one.array.dtype.itemsize
    dtype = {1: "BOOL", 2: "I16", 4: "F32" if one.dtype != "F32" else "I32", 8: "F64"}[bits]
    return Tensor(dtype, one.array.view(STORED[dtype]), one.shape)


CHANGES = {"cut": cut, "longer": longer, "turned": turned, "deeper": deeper, "of another dtype": other_dtype}


def is_as_good(kind, role, what, made):
    """Whether a changed part is an equivalent form, or still fits the others."""
    if what in ("turned", "deeper") and made.array.size == max(made.array.shape):  # a list, in any shape
        return True
    if what == "deeper":
        return kind.startswith(("bnb", "hqq"))
    # A part that is a weight by its dtype alone becomes a plain tensor with a different dtype.
    if what == "of another dtype" and role == "weight" and any(kind == one for one, _ in PLAIN_WITHOUT):
        return True
    if (kind, role, what) in (("mlx", "weight", "of another dtype"), ("awq", "qweight", "cut")):
        return True  # a plain tensor of floats, or a shorter last group
    # 130 rows need as many blocks of 128 as 129 rows.
    return role == "format" or what == "longer" and role == "weight" and kind in ("fp8-blocks", "fp8-newer")


def damaged():
    """(description, kind, the model, the role or word that the error must name, its weight)."""
    for kind in KINDS:
        weight = "model.x.weight"
        whole = model_of(kind)
        for role, name in whole.parts[weight].items():
            if role in IDLE:
                continue
            if role not in OPTIONAL and (kind, role) not in PLAIN_WITHOUT:
                model = model_of(kind)
                del model.tensors[name]
                yield f"{kind} without its {role}", model, name, weight
            for what, change in CHANGES.items():
                made = change(whole.tensors[name])
                if made is None or is_as_good(kind, role, what, made):
                    continue
                model = model_of(kind)
                model.tensors[name] = made
                yield f"{kind}, {role} {what}", model, name, weight
    yield from damaged_contents()
    yield from damaged_configs()
    yield from refused()


def changed(kind, role, change):
    model = model_of(kind)
    name = model.parts["model.x.weight"][role]
    one = model.tensors[name]
    array = one.array.copy()
    model.tensors[name] = tensor(one.dtype, change(array))
    return model, name


def at(index, value):
    def change(array):
        array.reshape(-1)[index] = value
        return array
    return change


def damaged_contents():
    weight = "model.x.weight"
    for kind, role in (("gptq", "g_idx"), ("gptq-order", "g_idx"), ("gptq-3", "g_idx"), ("packed-order", "order")):
        for value in (3, 4, 1 << 20, 0x7FFFFFFF, -2, -0x80000000):
            for index in (0, 50, -1):
                model, name = changed(kind, role, at(index, value))
                yield f"{kind}, {role}[{index}] = {value}", model, name, weight
    for kind, role, values in (
        ("packed", "shape", ([16, 97], [15, 96], [17, 96], [16, 0], [0, 0], [-16, 96], [1 << 62, 1 << 62], [96, 16])),
        ("hqq", "shape", ([8, 63], [8, 65], [9, 64], [0, 64], [-8, 64], [1 << 40, 1 << 40], [1 << 32, 1 << 32])),
    ):
        for value in values:
            model, name = changed(kind, role, lambda _: np.array(value))
            word = name if kind == "packed" else "elements" if 63 <= value[1] <= 65 and value[0] == 8 else "shape"
            yield f"{kind}, {role} {value}", model, word, weight
    for role, values in (("nbits", (0, 5, 7, 9, 16, -4, 2)), ("group_size", (0, -1, 7, 1 << 30)), ("axis", (2, -1, 7))):
        for value in values:
            model, _ = changed("hqq", role, lambda _: np.array(value))
            yield f"hqq, {role} {value}", model, {"nbits": "bits", "group_size": "groups"}.get(role, role), weight
    model, _ = changed("hqq", "packing", lambda _: np.frombuffer(b"9bit_zz", "u1"))
    yield "hqq, another packing", model, "packing", weight
    for kind in ("bnb-nf4", "bnb-nested"):
        name = f"{weight}.quant_state.bitsandbytes__nf4"
        whole = model_of(kind).tensors[name].array.tobytes().decode()
        state = json.loads(whole)
        for end in (0, 1, 10, len(whole) // 2, len(whole) - 1):
            model = model_of(kind)
            model.tensors[name] = text(whole[:end])
            yield f"{kind}, a state cut at {end}", model, name, weight
        said = [{"shape": [7, 32]}, {"shape": [6, 31]}, {"shape": [-6, -32]}, {"shape": [1 << 40, 1 << 40]}, {"shape": "6"},
                {"shape": [6.5, 32]}, {"shape": []}, {"blocksize": 0}, {"blocksize": -64}, {"blocksize": 32}, {"blocksize": 1 << 70},
                {"blocksize": "64"}, {"blocksize": None}, {"shape": None}]
        if kind == "bnb-nested":
            said += [{"nested_blocksize": 0}, {"nested_blocksize": 1}, {"nested_blocksize": None}, {"nested_offset": None},
                     {"nested_offset": "x"}]
        for one in said:
            model = model_of(kind)
            made = {key: value for key, value in {**state, **one}.items() if value is not None}
            model.tensors[name] = text(json.dumps(made))
            yield f"{kind}, a state that says {one}", model, name, weight
        for what, data in (("is a list", "[1, 2]"), ("is deep", "[" * 100000), ("is not text", b"\xff\xfe{}"), ("has two ends", whole + "}")):
            model = model_of(kind)
            model.tensors[name] = tensor("U8", np.frombuffer(data if isinstance(data, bytes) else data.encode(), "u1"))
            yield f"{kind}, a state that {what}", model, name, weight


def damaged_configs():
    """Configs that lack a setting. The error names config.json or the setting."""
    weight = "model.x.weight"
    for kind, keys in (("gptq", ["bits", "group_size"]), ("mlx", ["bits", "group_size"])):
        section = "quantization" if kind == "mlx" else "quantization_config"
        for key in keys:
            for value in (None, 0, -7, "4", 1 << 70, 4.5, [4]):
                model = model_of(kind)
                said = dict(model.configs["config.json"][section])
                said[key] = value
                if value is None:
                    del said[key]
                model.configs["config.json"] = {section: said}
                # All weights share the setting, so none can be read.
                yield f"{kind}, a config with {key} {value}", model, "config.json" if value == 1 << 70 else key, None
    for kind in ("gptq", "mlx", "packed"):
        for what, config in (("is not there", None), ("is cut", b'{"quantization_config": {"bits": 4'), ("is empty", b""),
                             ("is not text", b"\xff\xfe\x00"), ("is a list", b"[]"), ("says nothing", b"{}"), ("is deep", b"[" * 100000)):
            model = model_of(kind)
            model.configs = {} if config is None else {"config.json": config}
            yield f"{kind}, a config that {what}", model, "config", None
    model = model_of("packed")
    del model.configs["config.json"]["quantization_config"]["config_groups"]["group_0"]["weights"]["num_bits"]
    yield "packed, a config without num_bits", model, "bits", None


def refused():
    """Layouts for a GPU's kernel, by name."""
    for what, kind, config, word in (
        ("gptq in marlin's layout", "gptq", hugging_face(quant_method="gptq", bits=4, group_size=32, checkpoint_format="marlin"), "marlin"),
        ("gptq, is_marlin_format", "gptq", hugging_face(quant_method="gptq", bits=4, group_size=32, is_marlin_format=True), "marlin"),
        ("awq gemv", "awq", hugging_face(quant_method="awq", bits=4, group_size=32, version="gemv"), "gemv"),
        ("awq gemv_fast", "awq", hugging_face(quant_method="awq", bits=4, group_size=32, version="gemv_fast"), "gemv"),
        ("awq marlin", "awq", hugging_face(quant_method="awq", bits=4, group_size=32, version="marlin"), "marlin"),
    ):
        model = model_of(kind)
        model.configs = {"config.json": config["config__json"]}
        yield what, model, word, None
    for value in (1, 2, 3, 255):
        model, name = changed("bnb-int8", "format", at(0, value))
        yield f"bnb-int8, weight_format {value}", model, "weight_format", "model.x.weight"


def failure_of(library, file, name):
    """The error of reading a weight's numbers, or None."""
    try:
        file[name].numpy(dtype="float32")
    except library.ZTensorError as error:
        return str(error)
    return None


def check_one(library, checks, same, path, what, model, part, weight):
    """weight: the broken weight, or None if all are broken."""
    write_model(path, model.tensors, model.configs, None, model.metadata)
    with library.File.open_model(path, combine=True) as file:
        bad = [weight] if weight else list(model.weights)
        for name in bad:
            said = failure_of(library, file, name)
            # The error names a part by its tensor, or by its role in the library.
            is_named = said is not None and name in said and (part in said or f'"{name}": component "' in said)
            checks.check(is_named, f"{what}: the error must name {name} and {part}: {said}")
        for name, exact in model.weights.items():
            if name not in bad:
                made = file[name].numpy(dtype="float32")
                checks.check(same(made, exact), f"{what}: {name}, which is intact, has wrong numbers")
        found = file.failures()
        named = {one.object.name for one in found if one.object is not None}
        checks.check(named == set(bad), f"{what}: verify finds {sorted(named)} broken, not {bad}")


def check_all(library, checks, same, folder, seed):
    for number, (what, model, part, weight) in enumerate(damaged()):
        path = os.path.join(folder, f"broken-{number}")
        checks.run(what, check_one, library, checks, same, path, what, model, part, weight)
