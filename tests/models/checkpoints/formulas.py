"""The float32 numbers of quantized weights, computed by the formula of each scheme, slowly and without the
library.

Each function gets the parts of one weight by role, and the settings of its config. Indices of codes and
groups are computed with Python's integers. Each operation on floats is one of NumPy in float32, so it rounds
once.
"""

import json
import math

import numpy as np
from tensors import E4M3, E8M0, FP4, numbers

F32 = np.float32


def stream(words, bits, count):
    """count codes of `bits` bits, low bits first; codes may cross the border of a word."""
    number, mask = int.from_bytes(np.ascontiguousarray(words).tobytes(), "little"), (1 << bits) - 1
    return [number >> at * bits & mask for at in range(count)]


def in_words(words, bits, count):
    """count codes, floor(32 / bits) in a word, low bits first; codes do not cross the border of a word."""
    per, mask = 32 // bits, (1 << bits) - 1
    return [int(words[at // per]) >> bits * (at % per) & mask for at in range(count)]


def halves(packed, count, high_first=False):
    """Codes of 4 bits, two in a byte."""
    first, second = (4, 0) if high_first else (0, 4)
    return [code for byte in packed.reshape(-1).tolist() for code in (byte >> first & 15, byte >> second & 15)][:count]


def table(shape, function):
    """An array of float32 or int64 with function(row, column)."""
    return np.array([[function(r, c) for c in range(shape[1])] for r in range(shape[0])]).reshape(shape)


def spread(scale, shape):
    """Scales of the shapes [], [1], [R] or [R, 1] for each element of [R, C]."""
    flat = scale.reshape(-1)
    return table(shape, lambda r, c: flat[0 if flat.size == 1 else r])


def fp8_blocks(p, m, n):
    w, s = numbers(p["weight"]), numbers(p["scale"])
    return w * table(w.shape, lambda r, c: s[r // m, c // n])


def fp8_scaled(p):
    w = numbers(p["weight"])
    return w * spread(numbers(p["scale"]), w.shape)


def fp4_pairs(p, block):
    """Codes of FP4, low half first, with a float32 scale for each `block` columns."""
    s = p["scale"]
    rows, groups = s.shape
    codes = np.array(halves(p["codes"], rows * groups * block)).reshape(rows, groups * block)
    return FP4[codes] * table(codes.shape, lambda r, c: s[r, c // block])


def fp4_e8m0(p):
    """`x.weight` I8 or F4 with `x.scale` F8_E8M0, and `x.weight_packed` with U8: fp4 * 2^(s-127)."""
    return fp4_pairs({"codes": p["weight"].array.view("u1"), "scale": E8M0[p["scale"].array]}, 32)


def nvfp4_divided(p):
    scale = numbers(p["scale"]) / numbers(p["global"]).reshape(-1)[0]
    return fp4_pairs({"codes": p["weight"].array, "scale": scale}, 16)


def nvfp4_multiplied(p):
    scale = numbers(p["scale"]) * numbers(p["global"]).reshape(-1)[0]
    return fp4_pairs({"codes": p["weight"].array, "scale": scale}, 16)


def int8(p):
    w = p["weight"].array.astype("i8")
    z = p["zero"].array.astype("i8").reshape(-1) if "zero" in p else np.zeros(1, "i8")
    return (w - spread(z, w.shape)).astype("f4") * spread(numbers(p["scale"]), w.shape)


def ct_packed(p, bits, group_size=None, old=False):
    rows, columns = (int(n) for n in p["shape"].array)
    unpack = in_words if old else stream
    q = np.array([unpack(row, bits, columns) for row in p["weight"].array.astype("<i4").view("<u4")])
    s = numbers(p["scale"])
    s = s.reshape(-1, 1) if s.ndim < 2 else s
    if "order" in p:
        group = [int(g) for g in p["order"].array]
    else:
        group = [0 if s.shape[1] == 1 else c // group_size for c in range(columns)]
    of = lambda array: table(q.shape, lambda r, c: array[r if array.shape[0] > 1 else 0, group[c]])  # noqa: E731
    offset = 1 << bits - 1
    if "zero" in p:
        packed = p["zero"].array.view("<u4")
        z = np.array([unpack(np.ascontiguousarray(packed[:, g]), bits, s.shape[0]) for g in range(s.shape[1])]).T - offset
    else:
        z = np.zeros(s.shape, "i8")
    return ((q - offset) - of(z)).astype("f4") * of(s)


def mxfp4_experts(p):
    blocks, s = p["blocks"].array, E8M0[p["scales"].array]
    experts, rows, groups, _ = blocks.shape
    made = [fp4_pairs({"codes": blocks[e], "scale": s[e]}, 32) for e in range(experts)]
    return np.stack(made).reshape(experts, rows, groups * 32)


def gptq(p, bits, group_size=-1, v2=False):
    words = p["qweight"].array.view("<u4")
    rows, columns = words.shape[1], words.shape[0] * 32 // bits
    q = np.array([stream(np.ascontiguousarray(words[:, r]), bits, columns) for r in range(rows)])
    z = np.array([stream(row, bits, rows) for row in p["qzeros"].array])
    if not v2:
        z = z + 1
        if bits in (2, 4, 8):
            z = z & (1 << bits) - 1
    s = numbers(p["scales"])
    if "g_idx" in p:
        group = [int(g) for g in p["g_idx"].array]
    else:
        group = [0 if group_size == -1 else c // group_size for c in range(columns)]
    of = lambda array: table((rows, columns), lambda r, c: array[group[c], r])  # noqa: E731
    return (q - of(z)).astype("f4") * of(s)


def awq(p, group_size):
    place = [0, 2, 4, 6, 1, 3, 5, 7]

    def codes(words):
        made = np.zeros((words.shape[0], words.shape[1] * 8), "i8")
        for r, row in enumerate(words.view("<u4").tolist()):
            for k, word in enumerate(row):
                for j in range(8):
                    made[r, 8 * k + place[j]] = word >> 4 * j & 15
        return made

    q, z, s = codes(p["qweight"].array), codes(p["qzeros"].array), numbers(p["scales"])
    columns, rows = q.shape
    of = lambda array: table((rows, columns), lambda r, c: array[0 if group_size == -1 else c // group_size, r])  # noqa: E731
    return (q.T - of(z)).astype("f4") * of(s)


def bnb4(p):
    state = json.loads(p["state"].array.tobytes())
    count, size = math.prod(state["shape"]), state["blocksize"]
    values = numbers(p["map"])[halves(p["weight"].array, count, high_first=True)]
    if "nested_absmax" in p:
        a, of = p["absmax"].array, numbers(p["nested_absmax"])
        each = np.array([of[j // state["nested_blocksize"]] for j in range(a.size)], F32)
        absmax = numbers(p["nested_map"])[a] * each + F32(state["nested_offset"])
    else:
        absmax = numbers(p["absmax"])
    return (values * np.array([absmax[i // size] for i in range(count)], F32)).reshape(state["shape"])


def bnb8(p):
    w = p["weight"].array.astype("f4")
    return w * spread(numbers(p["SCB"]), w.shape) * F32(0.0078740157)


def mlx_affine(p, bits, group_size):
    words = p["weight"].array
    columns = words.shape[1] * 32 // bits
    q = np.array([stream(row, bits, columns) for row in words], F32)
    s, b = numbers(p["scales"]), numbers(p["biases"])
    of = lambda array: table(q.shape, lambda r, c: array[r, c // group_size])  # noqa: E731
    return q * of(s) + of(b)


def mlx_floats(p, mode):
    words, s = p["weight"].array.view("u1"), p["scales"].array
    s = (E4M3 if mode == "nvfp4" else E8M0)[s]
    if mode != "mxfp8":
        return fp4_pairs({"codes": words, "scale": s}, 16 if mode == "nvfp4" else 32)
    w = E4M3[words]
    return w * table(w.shape, lambda r, c: s[r, c // 32])


def hqq(p):
    rows, columns = (int(n) for n in p["shape"].array)
    bits, size, axis = (int(p[one].array) for one in ("nbits", "group_size", "axis"))
    height = rows * columns // size if axis == 1 else size
    packed = p["W_q"].array
    if bits == 3:
        packed, parts, top = packed.view("<u4"), 10, 27
    else:
        parts, top = 8 // bits, 8 - bits
    stacked = [packed >> top - bits * at & (1 << bits) - 1 for at in range(parts)]
    q = np.concatenate(stacked)[:height].astype("f4")
    across = lambda array: array.reshape(-1, 1) if axis == 1 else array.reshape(1, -1)  # noqa: E731
    return ((q - across(numbers(p["zero"]))) * across(numbers(p["scale"]))).reshape(rows, columns)
