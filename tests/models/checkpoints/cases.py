"""Models of every scheme from a seed: cases(seed) yields them."""

import families as f
import numpy as np
from families import Model
from tensors import tensor


def hugging_face(**said):
    return {"config__json": {"architectures": ["X"], "quantization_config": said}}


def fp8_config(**said):
    return hugging_face(quant_method="fp8", fmt="e4m3", activation_scheme="dynamic", **said)


def scheme(bits, group=None, kind="int", symmetric=True, strategy=None, **said):
    strategy = strategy or ("channel" if group is None else "group")
    return {"num_bits": bits, "type": kind, "strategy": strategy, "group_size": group, "symmetric": symmetric, "dynamic": False,
            **said}


def compressed(layout, weights, key="quantization_config"):
    """weights: a scheme for all linear layers, or a list of (targets, scheme)."""
    groups = weights if isinstance(weights, list) else [(["Linear"], weights)]
    said = {"quant_method": "compressed-tensors", "format": layout, "ignore": ["lm_head"], "quantization_status": "compressed",
            "config_groups": {f"group_{at}": {"targets": targets, "weights": one, "input_activations": None}
                              for at, (targets, one) in enumerate(groups)}}
    return {"config__json": {"architectures": ["X"], key: said}}


def gptq_config(bits, group, v2=False, order=False):
    more = {"checkpoint_format": "gptq_v2"} if v2 else {}
    return hugging_face(quant_method="gptq", bits=bits, group_size=group, desc_act=order, sym=False, **more)


def mlx_config(bits, group, both=False, **said):
    quantization = {"group_size": group, "bits": bits, **said}
    config = {"architectures": ["X"], "quantization": quantization}
    return {"config__json": {**config, "quantization_config": quantization} if both else config}


def fp8(seed):
    for scale in ("F32", "BF16", "F8_E8M0"):
        model = Model(f"fp8-blocks-{scale}", seed, **fp8_config(weight_block_size=[128, 128]))
        for at, shape in enumerate([(200, 300), (1, 129), (129, 1), (1, 1), (128, 128), (5, 7)]):
            f.fp8_blocks(model, f"model.layers.{at}.mlp", shape, scale=scale, nan=at == 0)
        yield model
    model = Model("fp8-blocks-of-other-sizes", seed, **fp8_config(weight_block_size=[16, 24]))
    for at, shape in enumerate([(40, 50), (16, 24), (17, 25), (3, 100)]):
        f.fp8_blocks(model, f"l{at}", shape, (16, 24))
    yield model
    model = Model("fp8-blocks-without-a-size", seed, **fp8_config())
    f.fp8_blocks(model, "a", (130, 257))
    f.fp8_blocks(model, "b", (256, 128), scale="BF16")
    yield model
    model = Model("fp8-newer-names", seed, **fp8_config(weight_block_size=[128, 128], scale_fmt="ue8m0"))
    f.fp8_blocks(model, "layers.0.attn.wq", (256, 130), scale="F8_E8M0", suffix="scale")
    for expert, dtype in enumerate(["I8", "F4", "I8"]):
        f.fp4_experts(model, f"layers.0.ffn.experts.{expert}.w1", 6 + expert, 64 + 32 * expert, dtype)
    f.fp4_experts(model, "layers.0.ffn.experts.3.w1", 1, 32)
    yield model
    model = Model("fp8-scaled", seed, **compressed("float-quantized", scheme(8, kind="float")))
    at = 0
    for scale in ("F32", "BF16", "F16"):
        for shape in ((16, 24), (1, 9), (9, 1)):
            for scale_shape in ((), (1,), (shape[0],), (shape[0], 1)):
                f.fp8_scaled(model, f"m.{at}", shape, scale, scale_shape, activations=at % 3 == 0, nan=at % 5 == 0)
                at += 1
    yield model
    # ModelOpt's config is in a separate file.
    model = Model("fp8-modelopt", seed, hf_quant_config__json={
        "producer": {"name": "modelopt", "version": "0.29"},
        "quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": None, "exclude_modules": ["lm_head"]}})
    f.fp8_scaled(model, "a", (12, 20), activations=True)
    yield model


def integers(seed):
    model = Model("int8", seed, **compressed("int-quantized", scheme(8)))
    at = 0
    for scale in ("F32", "BF16", "F16"):
        for shape in ((16, 40), (1, 7), (7, 1)):
            for scale_shape in ((shape[0], 1), ()):
                for zero in (False, True):
                    f.int8(model, f"m.{at}", shape, scale, scale_shape, zero)
                    at += 1
    yield model


def packed(seed):
    for bits in range(1, 9):
        for zero in (False, True):
            model = Model(f"packed-{bits}{'-asymmetric' * zero}", seed + bits, **compressed("pack-quantized", scheme(bits, 32, symmetric=not zero)))
            for at, (rows, columns) in enumerate([(24, 128), (1, 64), (33, 32), (10, 96)]):
                for scale in ("F32", "BF16", "F16")[at % 3:at % 3 + 1]:
                    f.ct_packed(model, f"m.{at}", rows, columns, bits, 32, scale, zero)
            yield model
            model = Model(f"packed-{bits}-by-row{'-asymmetric' * zero}", seed + bits, **compressed("pack-quantized", scheme(bits, symmetric=not zero)))
            for at, (rows, columns) in enumerate([(10, 50), (1, 1), (7, 33), (3, 200)]):
                f.ct_packed(model, f"m.{at}", rows, columns, bits, scale="BF16", zero=zero)
            yield model
    model = Model("packed-by-tensor", seed, **compressed("pack-quantized", scheme(4, strategy="tensor")))
    f.ct_packed(model, "a", 9, 30, 4, one=True)
    yield model
    model = Model("packed-in-order-of-activations", seed, **compressed("pack-quantized", scheme(4, 16, symmetric=False, actorder="group")))
    f.ct_packed(model, "a", 12, 96, 4, 16, zero=True, order=True)
    f.ct_packed(model, "b", 5, 64, 4, 16, "F16", order=True, zero=True)
    yield model
    for bits in (3, 5, 6, 7):
        for zero in (False, True):
            model = Model(f"packed-older-{bits}{'-asymmetric' * zero}", seed, **compressed("pack-quantized", scheme(bits, 32, symmetric=not zero),
                                                               "compression_config"))
            # At this width the two layouts need different numbers of words.
            f.ct_packed(model, "a", 70, 192, bits, 32, zero=zero, old=True)
            f.ct_packed(model, "b", 6, 320, bits, 32, zero=False, old=True) if not zero else None
            yield model
    model = Model("packed-older-4", seed, **compressed("pack-quantized", scheme(4, 32), "compression_config"))
    f.ct_packed(model, "a", 8, 64, 4, 32)
    yield model


def four_bit_floats(seed):
    model = Model("ct-nvfp4", seed, **compressed("nvfp4-pack-quantized", scheme(4, 16, "float", strategy="tensor_group")))
    for at, (rows, columns) in enumerate([(12, 64), (1, 16), (3, 176)]):
        f.ct_nvfp4(model, f"m.{at}", rows, columns)
    yield model
    model = Model("ct-mxfp4", seed, **compressed("mxfp4-pack-quantized", scheme(4, 32, "float")))
    for at, (rows, columns) in enumerate([(12, 64), (1, 32), (3, 352)]):
        f.ct_mxfp4(model, f"m.{at}", rows, columns)
    yield model
    model = Model("modelopt-nvfp4", seed, hf_quant_config__json={
        "producer": {"name": "modelopt", "version": "0.29"},
        "quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "group_size": 16, "exclude_modules": ["lm_head"]}})
    for at, (rows, columns) in enumerate([(12, 64), (1, 16), (3, 176)]):
        f.modelopt_nvfp4(model, f"m.{at}", rows, columns)
    yield model
    model = Model("mxfp4-experts", seed, **hugging_face(quant_method="mxfp4", modules_to_not_convert=["norm"]))
    f.mxfp4_experts(model, "mlp.experts.gate_up_proj", 3, 6, 96)
    f.mxfp4_experts(model, "mlp.experts.down_proj", 1, 1, 32)
    yield model


def gptq(seed):
    for bits in (2, 3, 4, 8):
        for v2 in (False, True):
            for order in (False, True):
                model = Model(f"gptq-{bits}{'-v2' * v2}{'-order' * order}", seed + bits, **gptq_config(bits, 32, v2, order))
                for at, (rows, columns, scale) in enumerate([(32, 64, "F16"), (64, 96, "BF16"), (96, 32, "F16")]):
                    f.gptq(model, f"m.{at}", rows, columns, bits, 32, v2, True, order, scale, bias=at == 0)
                if not order:
                    f.gptq(model, "without", 32, 96, bits, 32, v2, g_idx=False)
                yield model
        model = Model(f"gptq-{bits}-one-group", seed, **gptq_config(bits, -1))
        f.gptq(model, "a", 32, 160, bits, -1, g_idx=bits != 4)
        yield model
    model = Model("gptq-short-group", seed, **gptq_config(4, 64))
    f.gptq(model, "a", 40, 104, 4, 64)
    f.gptq(model, "b", 8, 8, 4, 64, g_idx=False)
    yield model


def awq(seed):
    model = Model("awq", seed, **hugging_face(quant_method="awq", bits=4, group_size=32, version="gemm", zero_point=True))
    for at, (rows, columns) in enumerate([(32, 64), (8, 32), (24, 160)]):
        f.awq(model, f"m.{at}", rows, columns, 32, bias=at == 0)
    yield model
    model = Model("awq-one-group", seed, **hugging_face(quant_method="awq", bits=4, group_size=-1, version="GEMM", zero_point=True))
    f.awq(model, "a", 16, 40, -1)
    yield model


def bnb(seed):
    config = hugging_face(quant_method="bitsandbytes", load_in_4bit=True, bnb_4bit_quant_type="nf4")
    for kind in ("nf4", "fp4"):
        model = Model(f"bnb-{kind}", seed, **config)
        shapes = [(24, 80), (1, 64), (64, 1), (3, 100), (5, 7), (1, 1)]
        for at, shape in enumerate(shapes):
            f.bnb4(model, f"m.{at}", shape, (64, 128, 4096, 64, 32, 64)[at], kind)
        yield model
        model = Model(f"bnb-{kind}-nested", seed, **config)
        for at, shape in enumerate(shapes):
            f.bnb4(model, f"m.{at}", shape, 64, kind, nested=True)
        f.bnb4(model, "many", (40, 160), 64, kind, nested=True, nested_block=16)
        yield model
    # The file alone determines the scheme.
    model = Model("bnb-without-config", seed)
    f.bnb4(model, "a", (6, 32))
    f.bnb8(model, "b", (6, 33))
    yield model
    model = Model("bnb-int8", seed, **hugging_face(quant_method="bitsandbytes", load_in_8bit=True))
    for at, shape in enumerate([(16, 40), (1, 9), (9, 1)]):
        f.bnb8(model, f"m.{at}", shape, has_format=at != 1)
    yield model


def mlx(seed):
    for bits in (1, 2, 3, 4, 5, 6, 8):
        for group in (32, 64, 128):
            model = Model(f"mlx-{bits}-{group}", seed + bits, **mlx_config(bits, group))
            for at, (rows, columns) in enumerate([(8, 256), (1, 128), (3, 384)]):
                f.mlx(model, f"m.{at}", rows, columns, bits, group, ("F16", "BF16", "F32")[(at + bits) % 3], bias=at == 0)
            yield model
    model = Model("mlx-overrides", seed, **mlx_config(
        4, 64, both=True, lm_head=False, **{"model.layers.0.mlp.down_proj": {"group_size": 32, "bits": 8}, "embed": {"group_size": 64, "bits": 6}}))
    f.mlx(model, "model.layers.0.mlp.down_proj", 6, 64, 8, 32)
    f.mlx(model, "model.layers.0.mlp.up_proj", 6, 64, 4, 64)
    f.mlx(model, "embed", 6, 64, 6, 64, "BF16")
    model.plain("lm_head.weight", "BF16", (4, 64))
    yield model
    for mode, bits, group in (("mxfp4", 4, 32), ("mxfp8", 8, 32), ("nvfp4", 4, 16)):
        model = Model(f"mlx-{mode}", seed, **mlx_config(bits, group, mode=mode))
        for at, (rows, columns) in enumerate([(8, 64), (1, 32), (5, 96)]):
            f.mlx_floats(model, f"m.{at}", rows, columns, mode)
        yield model
    model = Model("mlx-modes", seed, **mlx_config(4, 32, mode="mxfp4", **{"a.b": {"group_size": 64, "bits": 3, "mode": "affine"}}))
    f.mlx(model, "a.b", 4, 64, 3, 64)
    f.mlx_floats(model, "a.c", 4, 64, "mxfp4")
    yield model


def hqq(seed):
    for bits in (1, 2, 3, 4, 8):
        for axis in (1, 0):
            config = {"weight_quant_params": {"nbits": bits, "group_size": 64, "axis": axis}}
            model = Model(f"hqq-{bits}-axis-{axis}", seed + bits, **hugging_face(quant_method="hqq", quant_config=config))
            for at, (rows, columns, group) in enumerate([(16, 128, 64), (8, 64, 32), (24, 40, 8), (1, 64, 8)]):
                f.hqq(model, f"m.{at}", rows, columns, bits, group, axis, ("F16", "BF16", "F32")[at % 3], bias=at == 0)
            yield model
    # The file alone determines the scheme. 7 groups do not fill the ten parts of 3 bits.
    model = Model("hqq-without-config", seed)
    f.hqq(model, "a", 7, 16, 3, 16)
    yield model


def mixed(seed):
    targets = [(["re:.*experts.*"], scheme(4, 32)), (["re:.*attn.*"], scheme(8, symmetric=False))]
    model = Model("mixed-bits", seed, **compressed("pack-quantized", targets))
    for expert in range(3):
        f.ct_packed(model, f"model.layers.0.mlp.experts.{expert}.up_proj", 8, 64, 4, 32, "BF16")
    f.ct_packed(model, "model.layers.0.attn.q_proj", 6, 70, 8, zero=True)
    yield model
    model = Model("mixed-formats", seed, **compressed("mixed-precision", [
        (["re:.*experts.*"], scheme(4, 32, "float")), (["Linear"], scheme(8, kind="float"))]))
    for expert in range(2):
        f.ct_mxfp4(model, f"model.layers.0.mlp.experts.{expert}.up_proj", 8, 64)
    f.fp8_scaled(model, "model.layers.0.attn.q_proj", (6, 70), "BF16", (6, 1))
    yield model
    # Experts with one scheme, linear layers with another, the rest as floats. The parts of a weight are in
    # several files.
    for turn in range(3):
        model = Model(f"mixed-in-shards-{turn}", seed + turn, **fp8_config(weight_block_size=[128, 128]))
        f.mxfp4_experts(model, "mlp.experts.down_proj", 2, 5, 64)
        f.fp8_blocks(model, "attn.q_proj", (150, 140), nan=True)
        f.fp8_blocks(model, "attn.k_proj", (20, 140), scale="BF16")
        f.bnb4(model, "attn.o_proj", (10, 30), nested=True)
        f.bnb8(model, "attn.v_proj", (10, 30))
        f.fp4_experts(model, "experts.0.w1", 4, 64)
        f.hqq(model, "head", 8, 64, 4, 32)
        model.plain("embed.weight", "BF16", (10, 6))
        model.shards = 2 + turn
        yield model
    # Nothing is quantized, despite the config.
    model = Model("nothing-quantized", seed, **compressed("pack-quantized", scheme(4, 32)))
    model.tensors["a.weight"] = tensor("F32", model.rng.standard_normal((4, 4)))
    model.tensors["a.input_scale"] = model.scales("F32", ())
    yield model


FAMILIES = [fp8, integers, packed, four_bit_floats, gptq, awq, bnb, mlx, hqq, mixed]


def cases(seed):
    for family in FAMILIES:
        for model in family(seed):
            model.plain("norm.weight")
            model.plain("model.norm.bias", "BF16", (3,))
            if "mlx" in model.name:
                model.metadata = {"format": "mlx"}
            yield model


def shards_of(model):
    """Numbers of shards for a model's names. They put the parts of a weight in different files."""
    count = getattr(model, "shards", 0)
    if not count:
        return None
    order = list(model.tensors)
    made = {name: at % count for at, name in enumerate(order)}
    for at, name in enumerate(model.rng.permutation(order)[:len(order) // 2]):
        made[str(name)] = at % count
    for parts in model.parts.values():
        first, second = list(parts.values())[:2]
        made[second] = (made[first] + 1) % count
    return made


def self_check(seed):
    f.check_packing(np.random.default_rng(seed))
