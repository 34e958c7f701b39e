"""Quantized weights that other tools make, and the float32 numbers that they decode them to:

    packages.py check [SEED...]     the formulas against the tools, bit for bit; ends with "packages: N passed, M failed"
    packages.py record              writes tests/data/checkpoints-by-tools from them

Needs the packages in requirements.txt, and PyTorch; run.sh installs them.
"""

import json
import os
import sys
import types
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import formulas  # noqa: E402
from cases import compressed, fp8_config, gptq_config, hugging_face, mlx_config, scheme  # noqa: E402
from run import DATA, ENTRIES, Checks, difference, digest, same  # noqa: E402
from tensors import Tensor, read, tensor, write_model  # noqa: E402


def taken(one):
    """A PyTorch tensor as a file stores it."""
    import torch
    names = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int32: "I32", torch.int64: "I64",
             torch.int8: "I8", torch.uint8: "U8", torch.float8_e4m3fn: "F8_E4M3", torch.float8_e8m0fnu: "F8_E8M0"}
    dtype, one = names[one.dtype], one.detach().contiguous()
    if dtype == "BF16":
        one = one.view(torch.int16)
    if dtype.startswith("F8"):
        one = one.view(torch.uint8)
    return tensor(dtype, one.numpy())


def weight_of(seed, rows, columns):
    import torch
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed)) * 0.1


class Made:
    """A model that a tool made: tensors, config, and for each weight its parts by role, its formula, and the
    tool's numbers."""

    def __init__(self, name, **configs):
        self.name, self.configs = name, {file.replace("__", "."): said for file, said in configs.items()}
        self.tensors, self.entries, self.numbers = {}, {}, {}

    def add(self, weight, parts, formula, settings, numbers):
        self.tensors.update({name: one if isinstance(one, Tensor) else taken(one) for name, one in parts.values()})
        self.entries[weight] = (formula, settings, {role: name for role, (name, _) in parts.items()})
        self.numbers[weight] = np.ascontiguousarray(numbers if isinstance(numbers, np.ndarray) else numbers.float().numpy(), "f4")


def compressed_tensors(seed):
    import torch
    from compressed_tensors.compressors import NaiveQuantizationCompressor, PackedQuantizationCompressor
    from compressed_tensors.compressors.mxfp4.base import MXFP4PackedCompressor
    from compressed_tensors.compressors.nvfp4.base import NVFP4PackedCompressor, unpack_fp4_from_uint8
    from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
    from compressed_tensors.quantization.lifecycle.forward import dequantize
    import compressed_tensors.quantization.utils as helpers

    def made_of(said, weight, **more):
        args = QuantizationArgs(**{k: v for k, v in said.items() if v is not None and k != "dynamic"})
        return args, QuantizationScheme(targets=["Linear"], weights=args)

    def scaled(w, group, args):
        rows, columns = w.shape
        parts = w.reshape(rows, -1, group or columns)
        low, high = parts.amin(-1).clamp(max=0), parts.amax(-1).clamp(min=0)
        return helpers.calculate_qparams(low, high, args)

    for bits in range(2, 9):
        for symmetric in (True, False):
            said = scheme(bits, 32, symmetric=symmetric)
            made = Made(f"packed-{bits}{'' if symmetric else '-asymmetric'}", **compressed("pack-quantized", said))
            # More rows than a word has codes: the tool cannot decompress zeros of one word.
            for x, (rows, columns, group) in {"a": (33, 64, 32), "b": (37, 96, 32)}.items():
                w = weight_of(seed + bits, rows, columns)
                args, of = made_of(said, w)
                scale, zero = scaled(w, group, args)
                state = {"weight": w, "weight_scale": scale.float(), "weight_zero_point": zero.to(torch.int8)}
                packed = PackedQuantizationCompressor.compress(state, of)
                numbers = PackedQuantizationCompressor.decompress(packed, of)["weight"]
                roles = {"weight": "weight_packed", "scale": "weight_scale", "shape": "weight_shape", "zero": "weight_zero_point"}
                made.add(f"{x}.weight", {role: (f"{x}.{key}", packed[key]) for role, key in roles.items() if packed.get(key) is not None
                                         and not (symmetric and role == "zero")}, "ct_packed", [bits, 32], numbers)
            yield made
    for symmetric in (True, False):
        said = scheme(8, symmetric=symmetric)
        made = Made(f"int8{'' if symmetric else '-asymmetric'}", **compressed("int-quantized", said))
        w = weight_of(seed, 7, 30)
        args, of = made_of(said, w)
        scale, zero = scaled(w, None, args)
        state = {"weight": w, "weight_scale": scale.float(), "weight_zero_point": zero.to(torch.int8)}
        packed = NaiveQuantizationCompressor.compress(state, of)
        numbers = NaiveQuantizationCompressor.decompress(packed, of)["weight"]
        roles = {"weight": "weight", "scale": "weight_scale", **({} if symmetric else {"zero": "weight_zero_point"})}
        made.add("a.weight", {role: (f"a.{key}", packed[key]) for role, key in roles.items()}, "int8", [], numbers)
        yield made
    said = scheme(8, kind="float")
    made = Made("fp8-by-row", **compressed("float-quantized", said))
    w = weight_of(seed, 7, 30)
    args, of = made_of(said, w)
    state = {"weight": w, "weight_scale": scaled(w, None, args)[0].float()}
    packed = NaiveQuantizationCompressor.compress(state, of)
    numbers = NaiveQuantizationCompressor.decompress(packed, of)["weight"]
    made.add("a.weight", {"weight": ("a.weight", packed["weight"]), "scale": ("a.weight_scale", packed["weight_scale"])},
             "fp8_scaled", [], numbers)
    yield made
    # The tool computes nvfp4 in bfloat16. In this test its dequantize gets float32.
    said = scheme(4, 16, "float", strategy="tensor_group")
    made = Made("ct-nvfp4", **compressed("nvfp4-pack-quantized", said))
    w = weight_of(seed, 6, 64)
    args, of = made_of(said, w)
    whole = helpers.generate_gparam(w.amin().reshape(1), w.amax().reshape(1))
    parts = w.reshape(6, 4, 16)
    scale, _ = helpers.calculate_qparams(parts.amin(-1), parts.amax(-1), args, global_scale=whole)
    packed = NVFP4PackedCompressor.compress({"weight": w.bfloat16(), "weight_scale": scale.bfloat16(), "weight_global_scale": whole}, of)
    codes = unpack_fp4_from_uint8(packed["weight_packed"], 6, 64).float()
    numbers = dequantize(x_q=codes, scale=packed["weight_scale"].float(), args=args, global_scale=whole, dtype=torch.float32)
    made.add("a.weight", {role: (f"a.{key}", packed[key]) for role, key in
                          {"weight": "weight_packed", "scale": "weight_scale", "global": "weight_global_scale"}.items()},
             "nvfp4_divided", [], numbers)
    yield made
    said = scheme(4, 32, "float")
    made = Made("ct-mxfp4", **compressed("mxfp4-pack-quantized", said))
    w = weight_of(seed, 6, 96)
    args, of = made_of(said, w)
    scale = torch.exp2(torch.floor(torch.log2(w.reshape(6, 3, 32).abs().amax(-1))) - 2)
    packed = MXFP4PackedCompressor.compress({"weight": w.bfloat16(), "weight_scale": scale.bfloat16()}, of)
    numbers = MXFP4PackedCompressor.decompress(packed, of)["weight"]
    made.add("a.weight", {"weight": ("a.weight_packed", packed["weight_packed"]), "scale": ("a.weight_scale", packed["weight_scale"])},
             "fp4_e8m0", [], numbers)
    yield made


def transformers(seed):
    import torch
    from transformers.integrations.finegrained_fp8 import Fp8Dequantize
    from transformers.integrations.mxfp4 import convert_moe_packed_tensors

    draw = torch.Generator().manual_seed(seed)
    decoder = Fp8Dequantize(None)
    made = Made("fp8-blocks", **fp8_config(weight_block_size=[16, 24]))
    for x, dtype in {"a": torch.float32, "b": torch.bfloat16, "c": torch.float8_e8m0fnu}.items():
        w = (torch.randn(48, 72, generator=draw) * 20).to(torch.float8_e4m3fn)
        s = (torch.rand(3, 3, generator=draw) * 0.01 + 0.001).to(dtype)
        numbers = decoder._dequantize_one(w, s, torch.float32)
        suffix = "scale" if x == "c" else "weight_scale_inv"
        made.add(f"{x}.weight", {"weight": (f"{x}.weight", w), "scale": (f"{x}.{suffix}", s)}, "fp8_blocks", [16, 24], numbers)
    packed = torch.randint(-128, 128, (6, 32), generator=draw, dtype=torch.int8)
    s = torch.randint(110, 130, (6, 2), generator=draw, dtype=torch.uint8).view(torch.float8_e8m0fnu)
    made.add("e.weight", {"weight": ("e.weight", packed), "scale": ("e.scale", s)}, "fp4_e8m0", [],
             decoder._dequantize_one(packed, s, torch.float32))
    yield made
    made = Made("mxfp4-experts", **hugging_face(quant_method="mxfp4"))
    blocks = torch.randint(0, 256, (2, 5, 3, 16), generator=draw, dtype=torch.uint8)
    scales = torch.randint(100, 140, (2, 5, 3), generator=draw, dtype=torch.uint8)
    numbers = convert_moe_packed_tensors(blocks, scales, dtype=torch.float32).transpose(1, 2)
    made.add("mlp.experts.down_proj", {"blocks": ("mlp.experts.down_proj_blocks", blocks), "scales": ("mlp.experts.down_proj_scales", scales)},
             "mxfp4_experts", [], numbers)
    yield made


def bitsandbytes(seed):
    import bitsandbytes.functional as F
    from bitsandbytes.backends.default import ops
    import torch

    for kind in ("nf4", "fp4"):
        made = Made(f"bnb-{kind}", **hugging_face(quant_method="bitsandbytes", load_in_4bit=True, bnb_4bit_quant_type=kind))
        for at, (rows, columns, block, nested) in enumerate(
                [(6, 40, 64, False), (8, 64, 64, True), (5, 7, 64, False), (3, 50, 128, True), (40, 420, 64, True)]):
            x = f"m.{at}"
            w = weight_of(seed + at, rows, columns)
            q, state = F.quantize_4bit(w, blocksize=block, compress_statistics=nested, quant_type=kind)
            absmax = state.absmax
            if nested:
                absmax = F.dequantize_blockwise(state.absmax, state.state2) + state.offset
            # Uses the generic code. The CPU's kernel gives other numbers if a row is not a multiple of the
            # block.
            numbers = ops._dequantize_4bit_compute(q.reshape(-1), absmax, state.code, block, (rows, columns), torch.float32)
            parts = {"weight": (f"{x}.weight", q)}
            roles = {"absmax": "absmax", "quant_map": "map", "nested_absmax": "nested_absmax", "nested_quant_map": "nested_map"}
            for key, one in state.as_dict(packed=True).items():
                parts[roles.get(key, "state")] = (f"{x}.weight.{key}", one)
            made.add(f"{x}.weight", parts, "bnb4", [], numbers)
        yield made
    made = Made("bnb-int8", **hugging_face(quant_method="bitsandbytes", load_in_8bit=True))
    w = weight_of(seed, 7, 30)
    q, scb, _ = F.int8_vectorwise_quant(w.half())
    made.add("a.weight", {"weight": ("a.weight", q), "SCB": ("a.SCB", scb)}, "bnb8", [], F.int8_vectorwise_dequant(q, scb))
    yield made


def auto_awq(seed):
    for name in ("awq", "awq.modules", "awq.modules.linear", "awq.utils"):
        only_of(name)
    import torch
    from awq.modules.linear.gemm import WQLinear_GEMM
    from awq.utils.packing_utils import dequantize_gemm

    made = Made("awq", **hugging_face(quant_method="awq", bits=4, group_size=32, version="gemm", zero_point=True))
    for x, (rows, columns) in {"a": (32, 64), "b": (64, 96)}.items():
        linear = torch.nn.Linear(columns, rows, bias=False)
        w = weight_of(seed, rows, columns)
        parts = w.reshape(rows, -1, 32)
        scale = ((parts.amax(-1) - parts.amin(-1)) / 15).half().float()
        zero = (-parts.amin(-1) / scale).round().clamp(0, 15)
        linear.weight.data = ((parts / scale[..., None] + zero[..., None]).round().clamp(0, 15) - zero[..., None]).mul(scale[..., None]).reshape(rows, columns)
        packed = WQLinear_GEMM.from_linear(linear, 4, 32, scales=scale.t().contiguous(), zeros=zero.t().contiguous())
        numbers = dequantize_gemm(packed.qweight, packed.qzeros, packed.scales.float(), 4, 32).t()
        made.add(f"{x}.weight", {one: (f"{x}.{one}", getattr(packed, one)) for one in ("qweight", "qzeros", "scales")}, "awq", [32], numbers)
    yield made


def only_of(name):
    """Replaces a package by an empty one, if its __init__ imports a package that is not installed."""
    parent = sys.modules.get(name.rpartition(".")[0])
    paths = [os.path.join(path, name.rpartition(".")[2]) for path in (parent.__path__ if parent else sys.path)]
    paths = [path for path in paths if os.path.isdir(path)]
    if not paths:
        raise ImportError(f"{name} not found")
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = paths


def auto_gptq(seed):
    for name in ("auto_gptq", "auto_gptq.nn_modules", "auto_gptq.nn_modules.qlinear"):
        only_of(name)
    import torch
    import auto_gptq.nn_modules.qlinear.qlinear_cuda as newer
    import auto_gptq.nn_modules.qlinear.qlinear_cuda_old as old

    for bits in (2, 3, 4, 8):
        for order in (False, True):
            made = Made(f"gptq-{bits}{'-order' * order}", **gptq_config(bits, 32, order=order))
            rows, columns = 32, 64
            # qlinear_cuda has groups by index for each number of bits, except 3 in AutoGPTQ 0.7.
            layer = (newer if order else old).QuantLinear(bits, 32, columns, rows, False, weight_dtype=torch.float16)
            w = weight_of(seed + bits, rows, columns)
            index = torch.arange(columns) // 32
            if order:
                index = index[torch.randperm(columns, generator=torch.Generator().manual_seed(seed))]
            low = torch.stack([w[:, index == g].amin(1) for g in range(2)], 1).clamp(max=0)
            high = torch.stack([w[:, index == g].amax(1) for g in range(2)], 1).clamp(min=0)
            top = 2 ** bits - 1
            scale = ((high - low) / top).half().float()
            zero = (-low / scale).round().clamp(1, top)
            s, z = scale[:, index], zero[:, index]
            linear = torch.nn.Linear(columns, rows, bias=False)
            linear.weight.data = ((w / s + z).round().clamp(0, top) - z) * s
            layer.pack(linear, scale.clone(), zero.clone(), index.int())
            stored = layer.scales.half()
            layer.scales = stored.float()
            caught = []
            matmul = torch.matmul
            torch.matmul = lambda x, weight: caught.append(weight) or matmul(x, weight)
            try:
                layer(torch.eye(columns))
            finally:
                torch.matmul = matmul
            parts = {"qweight": ("a.qweight", layer.qweight), "qzeros": ("a.qzeros", layer.qzeros), "scales": ("a.scales", stored)}
            parts["g_idx"] = ("a.g_idx", index.int())
            made.add("a.weight", parts, "gptq", [bits, 32, False], caught[0].t())
            yield made


def mlx(seed):
    import mlx.core as mx

    def stored(one):
        name = str(one.dtype).rpartition(".")[2]
        return tensor({"float32": "F32", "uint32": "U32", "uint8": "U8", "float16": "F16"}[name], np.array(one))

    def weight(rows, columns):
        return mx.array(np.random.default_rng(seed).standard_normal((rows, columns)).astype("f4") * 0.1)

    for bits in (2, 3, 4, 5, 6, 8):
        made = Made(f"mlx-{bits}", **mlx_config(bits, 32, **{"b": {"group_size": 64, "bits": bits}}))
        for x, (rows, columns, group) in {"a": (5, 96, 32), "b": (3, 128, 64)}.items():
            w, s, b = mx.quantize(weight(rows, columns), group_size=group, bits=bits)
            numbers = np.array(mx.dequantize(w, s, b, group_size=group, bits=bits))
            made.add(f"{x}.weight", {"weight": (f"{x}.weight", stored(w)), "scales": (f"{x}.scales", stored(s)), "biases": (f"{x}.biases", stored(b))},
                     "mlx_affine", [bits, group], numbers)
        yield made
    for mode, bits, group in (("mxfp4", 4, 32), ("mxfp8", 8, 32), ("nvfp4", 4, 16)):
        made = Made(f"mlx-{mode}", **mlx_config(bits, group, mode=mode))
        w, s = mx.quantize(weight(5, 96), group_size=group, bits=bits, mode=mode)[:2]
        numbers = np.array(mx.dequantize(w, s, group_size=group, bits=bits, mode=mode, dtype=mx.float32))
        made.add("a.weight", {"weight": ("a.weight", stored(w)), "scales": ("a.scales", stored(s))}, "mlx_floats", [mode], numbers)
        yield made


def hqq(seed):
    import torch
    from hqq.core.quantize import BaseQuantizeConfig, HQQLinear

    for bits in (1, 2, 3, 4, 8):
        for axis in (1, 0):
            config = {"weight_quant_params": {"nbits": bits, "group_size": 32, "axis": axis}}
            made = Made(f"hqq-{bits}-axis-{axis}", **hugging_face(quant_method="hqq", quant_config=config))
            for x, (rows, columns) in {"a": (8, 64), "b": (12, 64)}.items():
                linear = torch.nn.Linear(columns, rows, bias=False)
                linear.weight.data = weight_of(seed + bits, rows, columns)
                how = BaseQuantizeConfig(nbits=bits, group_size=32, axis=axis)
                layer = HQQLinear(linear, how, compute_dtype=torch.float32, device="cpu")
                layer.encoded_state_dict = True
                parts = {key: (f"{x}.{key}", one) for key, one in layer.state_dict().items() if one is not None}
                made.add(f"{x}.weight", parts, "hqq", [], layer.dequantize())
            yield made


TOOLS = [compressed_tensors, transformers, bitsandbytes, auto_awq, auto_gptq, mlx, hqq]


def formula_numbers(made, weight):
    formula, settings, parts = made.entries[weight]
    with np.errstate(all="ignore"):
        numbers = getattr(formulas, formula)({role: made.tensors[name] for role, name in parts.items()}, *settings)
    return np.ascontiguousarray(numbers, "f4")


def record(made, want):
    name = f"{ENTRIES.parent.name}/{made.name}"
    write_model(str(DATA / name), made.tensors, made.configs)
    assert read(DATA / name / "model.safetensors").keys() == made.tensors.keys()
    want[name] = {weight: {"shape": list(numbers.shape), "f32": digest(numbers), "formula": made.entries[weight][0],
                                "settings": made.entries[weight][1], "parts": made.entries[weight][2]}
                       for weight, numbers in made.numbers.items()}


def main():
    if sys.argv[1:2] not in (["check"], ["record"]):
        sys.exit(__doc__)
    checks, is_record = Checks(), sys.argv[1] == "record"
    want = json.loads(ENTRIES.read_text())
    for seed in [int(seed) for seed in sys.argv[2:]] or [1]:
        for tool in TOOLS:
            def all_of():
                for made in tool(seed):
                    for weight, numbers in made.numbers.items():
                        found = formula_numbers(made, weight)
                        checks.check(same(found, numbers), f"{made.name}, {weight}, seed {seed}: {difference(found, numbers)}")
                    if is_record:
                        record(made, want)
            checks.run(f"{tool.__name__}, seed {seed}", all_of)
    if is_record:
        ENTRIES.write_text(json.dumps(want) + "\n")
    print(f"packages: {checks.passed} passed, {checks.failed} failed")
    sys.exit(checks.failed > 0)


if __name__ == "__main__":
    main()
