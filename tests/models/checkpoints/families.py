"""Random weights of every scheme: their tensors in a file, and their float32 numbers.

Each function adds one weight of the module `x` to a model. Codes are packed here and unpacked in formulas.py,
by different code. check_packing compares the two.
"""

import json

import formulas
import numpy as np
from tensors import FP4, of_numbers, tensor, text

NF4 = [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
       -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
       0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0]


class Model:
    """weights: maps names to float32 numbers of quantized weights. parts: maps names to their tensors, by
    role. tensors: all tensors, including those that are not quantized."""

    def __init__(self, name, seed, **configs):
        self.name, self.rng = name, np.random.default_rng(seed)
        self.configs = {file.replace("__", "."): said for file, said in configs.items()}
        self.tensors, self.weights, self.parts, self.metadata = {}, {}, {}, None

    def add(self, weight, parts, decode, *settings, **how):
        """parts: role to (name, tensor)."""
        self.tensors.update(dict(parts.values()))
        self.parts[weight] = {role: name for role, (name, _) in parts.items()}
        with np.errstate(all="ignore"):
            made = decode({role: one for role, (_, one) in parts.items()}, *settings, **how)
        self.weights[weight] = np.ascontiguousarray(made, "f4")

    def plain(self, name, dtype="F32", shape=(8,)):
        self.tensors[name] = of_numbers(dtype, self.rng.standard_normal(shape))

    def others(self):
        """The tensors that are not parts of a weight."""
        taken = {name for parts in self.parts.values() for name in parts.values()}
        return {name: one for name, one in self.tensors.items() if name not in taken}

    def scales(self, dtype, shape, size=0.02):
        """Positive scales near size, within a few powers of 2."""
        made = size * np.exp2(self.rng.integers(-2, 3, shape)) * self.rng.uniform(0.5, 1, shape)
        if dtype == "E4M3 codes":
            return tensor("F8_E4M3", self.rng.integers(8, 120, shape))
        return of_numbers(dtype, made)


def pack(codes, bits, in_words=False):
    """Codes along the last dimension, packed into words, low bits first."""
    made = []
    for row in codes.reshape(-1, codes.shape[-1]).tolist():
        if in_words:
            per = 32 // bits
            row = [row[at:at + per] for at in range(0, len(row), per)]
            made.append([sum(code << bits * at for at, code in enumerate(word)) for word in row])
        else:
            number, words = sum(code << bits * at for at, code in enumerate(row)), -(-len(row) * bits // 32)
            made.append([number >> 32 * at & 0xFFFFFFFF for at in range(words)])
    return np.array(made, "u4").reshape(*codes.shape[:-1], -1)


def pairs(codes, high_first=False):
    flat = np.append(codes.reshape(-1), [0] * (codes.size % 2)).astype("u1")
    first, second = flat[0::2], flat[1::2]
    return first << 4 | second if high_first else first | second << 4


def check_packing(rng):
    for bits in range(1, 9):
        codes = rng.integers(0, 1 << bits, (3, int(rng.integers(1, 70))))
        for old, unpack in ((False, formulas.stream), (True, formulas.in_words)):
            for row, words in zip(codes, pack(codes, bits, old)):
                assert unpack(words, bits, row.size) == row.tolist(), (bits, old)
    for high in (False, True):
        assert formulas.halves(pairs(codes & 15, high), codes.size, high) == (codes & 15).reshape(-1).tolist()


def e4m3_codes(rng, shape, nan=False):
    codes = rng.integers(0, 256, shape)
    return codes if nan else np.where(codes & 127 == 127, codes - 1, codes)


def fp8_blocks(model, x, shape, block=(128, 128), scale="F32", suffix="weight_scale_inv", nan=False):
    grid = tuple(-(-n // m) for n, m in zip(shape, block))
    model.add(f"{x}.weight", {
        "weight": (f"{x}.weight", tensor("F8_E4M3", e4m3_codes(model.rng, shape, nan))),
        "scale": (f"{x}.{suffix}", model.scales(scale, grid)),
    }, formulas.fp8_blocks, *block)


def fp8_scaled(model, x, shape, scale="F32", scale_shape=(), activations=False, nan=False):
    model.add(f"{x}.weight", {
        "weight": (f"{x}.weight", tensor("F8_E4M3", e4m3_codes(model.rng, shape, nan))),
        "scale": (f"{x}.weight_scale", model.scales(scale, scale_shape)),
    }, formulas.fp8_scaled)
    if activations:
        for other in ("input_scale", "output_scale"):
            model.tensors[f"{x}.{other}"] = model.scales("F32", ())


def fp4_experts(model, x, rows, columns, dtype="I8"):
    packed = pairs(model.rng.integers(0, 16, (rows, columns)))
    shape = (rows, columns) if dtype == "F4" else (rows, columns // 2)
    packed = packed if dtype == "F4" else packed.reshape(shape)
    model.add(f"{x}.weight", {
        "weight": (f"{x}.weight", tensor(dtype, packed, shape)),
        "scale": (f"{x}.scale", tensor("F8_E8M0", model.rng.integers(100, 140, (rows, columns // 32)))),
    }, formulas.fp4_e8m0)


def int8(model, x, shape, scale="F32", scale_shape=None, zero=False):
    scale_shape = (shape[0], 1) if scale_shape is None else scale_shape
    parts = {
        "weight": (f"{x}.weight", tensor("I8", model.rng.integers(-128, 128, shape))),
        "scale": (f"{x}.weight_scale", model.scales(scale, scale_shape)),
    }
    if zero:
        parts["zero"] = (f"{x}.weight_zero_point", tensor("I8", model.rng.integers(-128, 128, scale_shape)))
    model.add(f"{x}.weight", parts, formulas.int8)


def ct_packed(model, x, rows, columns, bits, group=None, scale="F32", zero=False, order=False, old=False, one=False):
    """group: columns of a group, or None for a scale per row. one: a single scale."""
    groups = 1 if group is None else columns // group
    parts = {
        "weight": (f"{x}.weight_packed", tensor("I32", pack(model.rng.integers(0, 1 << bits, (rows, columns)), bits, old))),
        "scale": (f"{x}.weight_scale", model.scales(scale, (1,) if one else (rows, groups))),
        "shape": (f"{x}.weight_shape", tensor("I64", np.array([rows, columns]))),
    }
    if zero:
        z = model.rng.integers(0, 1 << bits, (groups, 1 if one else rows))
        parts["zero"] = (f"{x}.weight_zero_point", tensor("I32", pack(z, bits, old).T))
    if order:
        parts["order"] = (f"{x}.weight_g_idx", tensor("I32", model.rng.permutation(np.arange(columns) // group)))
    model.add(f"{x}.weight", parts, formulas.ct_packed, bits, group, old=old)


def ct_nvfp4(model, x, rows, columns):
    model.add(f"{x}.weight", {
        "weight": (f"{x}.weight_packed", tensor("U8", pairs(model.rng.integers(0, 16, (rows, columns))).reshape(rows, -1))),
        "scale": (f"{x}.weight_scale", model.scales("E4M3 codes", (rows, columns // 16))),
        "global": (f"{x}.weight_global_scale", model.scales("F32", (1,), 3000)),
    }, formulas.nvfp4_divided)


def ct_mxfp4(model, x, rows, columns):
    model.add(f"{x}.weight", {
        "weight": (f"{x}.weight_packed", tensor("U8", pairs(model.rng.integers(0, 16, (rows, columns))).reshape(rows, -1))),
        "scale": (f"{x}.weight_scale", tensor("U8", model.rng.integers(0, 255, (rows, columns // 32)))),
    }, formulas.fp4_e8m0)


def modelopt_nvfp4(model, x, rows, columns):
    model.add(f"{x}.weight", {
        "weight": (f"{x}.weight", tensor("U8", pairs(model.rng.integers(0, 16, (rows, columns))).reshape(rows, -1))),
        "scale": (f"{x}.weight_scale", model.scales("E4M3 codes", (rows, columns // 16))),
        "global": (f"{x}.weight_scale_2", model.scales("F32", (), 0.0003)),
    }, formulas.nvfp4_multiplied)
    model.tensors[f"{x}.input_scale"] = model.scales("F32", ())


def mxfp4_experts(model, x, experts, rows, columns):
    codes = model.rng.integers(0, 16, (experts, rows, columns))
    model.add(x, {
        "blocks": (f"{x}_blocks", tensor("U8", pairs(codes).reshape(experts, rows, columns // 32, 16))),
        "scales": (f"{x}_scales", tensor("U8", model.rng.integers(100, 140, (experts, rows, columns // 32)))),
    }, formulas.mxfp4_experts)
    model.plain(f"{x}_bias", "BF16", (experts, rows))


def gptq(model, x, rows, columns, bits, group=-1, v2=False, g_idx=True, order=False, scale="F16", bias=True):
    groups = 1 if group == -1 else -(-columns // group)
    draw = lambda shape: model.rng.integers(0, 1 << bits, shape)  # noqa: E731
    parts = {
        "qweight": (f"{x}.qweight", tensor("I32", pack(draw((rows, columns)), bits).T)),
        "qzeros": (f"{x}.qzeros", tensor("I32", pack(draw((groups, rows)), bits))),
        "scales": (f"{x}.scales", model.scales(scale, (groups, rows))),
    }
    if g_idx or order:
        index = np.arange(columns) // (columns if group == -1 else group)
        parts["g_idx"] = (f"{x}.g_idx", tensor("I32", model.rng.permutation(index) if order else index))
    model.add(f"{x}.weight", parts, formulas.gptq, bits, group, v2)
    if bias:
        model.plain(f"{x}.bias", scale, (rows,))


def awq(model, x, rows, columns, group, bias=False):
    def words(count):
        codes = model.rng.integers(0, 16, (count, rows // 8, 8))[:, :, [0, 2, 4, 6, 1, 3, 5, 7]]
        return tensor("I32", pack(codes.reshape(count, rows), 4))

    groups = 1 if group == -1 else columns // group
    model.add(f"{x}.weight", {
        "qweight": (f"{x}.qweight", words(columns)),
        "qzeros": (f"{x}.qzeros", words(groups)),
        "scales": (f"{x}.scales", model.scales("F16", (groups, rows))),
    }, formulas.awq, group)
    if bias:
        model.plain(f"{x}.bias", "F16", (rows,))


def bnb4(model, x, shape, block=64, kind="nf4", nested=False, nested_block=256):
    count = int(np.prod(shape))
    blocks = -(-count // block)
    state = {"quant_type": kind, "blocksize": block, "dtype": "bfloat16", "shape": list(shape)}
    name, rng = f"{x}.weight", model.rng
    parts = {
        "weight": (name, tensor("U8", pairs(rng.integers(0, 16, count), True).reshape(-1, 1))),
        "map": (f"{name}.quant_map", tensor("F32", np.array(NF4) if kind == "nf4" else FP4 / 6)),
    }
    if nested:
        state.update(nested_blocksize=nested_block, nested_dtype="float32", nested_offset=float(np.float32(0.0351)))
        parts["absmax"] = (f"{name}.absmax", tensor("U8", rng.integers(0, 256, blocks)))
        parts["nested_absmax"] = (f"{name}.nested_absmax", model.scales("F32", (-(-blocks // nested_block),)))
        parts["nested_map"] = (f"{name}.nested_quant_map", tensor("F32", np.sort(rng.uniform(-1, 1, 256))))
    else:
        parts["absmax"] = (f"{name}.absmax", model.scales("F32", (blocks,), 0.1))
    parts["state"] = (f"{name}.quant_state.bitsandbytes__{kind}", text(json.dumps(state)))
    model.add(name, parts, formulas.bnb4)


def bnb8(model, x, shape, has_format=True):
    parts = {
        "weight": (f"{x}.weight", tensor("I8", model.rng.integers(-127, 128, shape))),
        "SCB": (f"{x}.SCB", model.scales("F32", (shape[0],), 1)),
    }
    if has_format:
        parts["format"] = (f"{x}.weight_format", tensor("U8", np.array(0)))
    model.add(f"{x}.weight", parts, formulas.bnb8)


def mlx(model, x, rows, columns, bits, group, scale="F16", bias=False):
    model.add(f"{x}.weight", {
        "weight": (f"{x}.weight", tensor("U32", pack(model.rng.integers(0, 1 << bits, (rows, columns)), bits))),
        "scales": (f"{x}.scales", model.scales(scale, (rows, columns // group))),
        "biases": (f"{x}.biases", of_numbers(scale, model.rng.standard_normal((rows, columns // group)) * 0.1)),
    }, formulas.mlx_affine, bits, group)
    if bias:
        model.plain(f"{x}.bias", scale, (rows,))


def mlx_floats(model, x, rows, columns, mode):
    bits, group = {"mxfp4": (4, 32), "mxfp8": (8, 32), "nvfp4": (4, 16)}[mode]
    codes = e4m3_codes(model.rng, (rows, columns)) if bits == 8 else model.rng.integers(0, 16, (rows, columns))
    scales = model.rng.integers(8, 120, (rows, columns // group)) + (0 if mode == "nvfp4" else 10)
    model.add(f"{x}.weight", {
        "weight": (f"{x}.weight", tensor("U32", pack(codes, bits))),
        "scales": (f"{x}.scales", tensor("U8", scales)),
    }, formulas.mlx_floats, mode)


def hqq(model, x, rows, columns, bits, group, axis=1, scale="F16", bias=False):
    height, width = (rows * columns // group, group) if axis == 1 else (group, rows * columns // group)
    q = model.rng.integers(0, 1 << bits, (height, width)).astype("u4")
    parts, top = (10, 27) if bits == 3 else (8 // bits, 8 - bits)
    step = -(-height // parts)
    q = np.concatenate([q, np.zeros((step * parts - height, width), "u4")])
    packed = sum(q[at * step:(at + 1) * step] << top - bits * at for at in range(parts))
    along = (height, 1) if axis == 1 else (1, width)
    named = {
        "W_q": tensor("I32" if bits == 3 else "U8", packed),
        "scale": model.scales(scale, along), "zero": of_numbers(scale, model.rng.uniform(0, (1 << bits) - 1, along)),
        "nbits": tensor("I32", np.array(bits)), "group_size": tensor("I32", np.array(group)),
        "axis": tensor("I32", np.array(axis)), "shape": tensor("I64", np.array([rows, columns])),
        "packing": text("3bit_32" if bits == 3 else f"{bits}bit_u8"),
        "unpack_view_dtype": text("torch.int32" if bits == 3 else "torch.uint8"),
        **{one: tensor("U8", np.array(said)) for one, said in {
            "view_as_float": 0, "offload_meta": 0, "encoded_state_dict": 1, "stores_quant_config": 1, "channel_wise": 1,
            "optimize": 1, "round_zero": int(bits == 4)}.items()},
    }
    model.add(f"{x}.weight", {role: (f"{x}.{role}", one) for role, one in named.items()}, formulas.hqq)
    if bias:
        model.plain(f"{x}.bias", scale, (rows,))
