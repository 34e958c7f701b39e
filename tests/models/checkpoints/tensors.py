"""Tensors in the form of a safetensors file, and the numbers of their dtypes. Needs only NumPy."""

import json
import math
import os
import struct
from typing import NamedTuple

import numpy as np

BITS = {"F4": 4, "U8": 8, "I8": 8, "BOOL": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F16": 16, "BF16": 16, "I16": 16, "F32": 32,
        "I32": 32, "U32": 32, "I64": 64, "F64": 64}
STORED = {"F4": "u1", "U8": "u1", "I8": "i1", "BOOL": "u1", "F8_E4M3": "u1", "F8_E8M0": "u1", "F16": "<f2", "BF16": "<u2",
          "I16": "<i2", "F32": "<f4", "I32": "<i4", "U32": "<u4", "I64": "<i8", "F64": "<f8"}


class Tensor(NamedTuple):
    """array: BF16, F8 and F4 as bits. F4 has two elements in a byte, and its shape counts elements."""

    dtype: str
    array: np.ndarray
    shape: tuple


def tensor(dtype, array, shape=None):
    array = np.asarray(array, order="C")
    if array.dtype.kind in "iu" and STORED[dtype][-2] in "iu":
        array = array.astype(f"u{array.dtype.itemsize}").astype(STORED[dtype].replace("i", "u")).view(STORED[dtype])
    else:
        array = array.astype(STORED[dtype])
    return Tensor(dtype, array, tuple(array.shape if shape is None else shape))


def text(said):
    return tensor("U8", np.frombuffer(said.encode(), "u1"))


def fp4(code):
    return (-1.0 if code & 8 else 1.0) * [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0][code & 7]


def e4m3(code):
    sign, exponent, mantissa = -1.0 if code & 128 else 1.0, code >> 3 & 15, code & 7
    if code & 127 == 127:
        return math.nan
    return sign * (mantissa / 512 if exponent == 0 else (8 + mantissa) * 2.0 ** (exponent - 10))


def e8m0(code):
    return math.nan if code == 255 else 2.0 ** (code - 127)


FP4 = np.array([fp4(code) for code in range(16)], "f4")
E4M3 = np.array([e4m3(code) for code in range(256)], "f4")
E8M0 = np.array([e8m0(code) for code in range(256)], "f4")


def numbers(given):
    """The elements of a tensor as float32."""
    if given.dtype == "F8_E4M3":
        return E4M3[given.array]
    if given.dtype == "F8_E8M0":
        return E8M0[given.array]
    if given.dtype == "BF16":
        return (given.array.reshape(-1).astype("<u4") << np.uint32(16)).view("<f4").reshape(given.shape)
    return given.array.astype("f4")


def rounded(exact, dtype):
    """float32 rounded once to "float16" or "bfloat16", as bits, and whether a finite number became infinite."""
    shape, exact = exact.shape, exact.reshape(-1)
    with np.errstate(all="ignore"):
        if dtype == "float16":
            made = exact.astype("<f2")
            return made.view("<u2").reshape(shape), bool((np.isfinite(exact) & ~np.isfinite(made)).any())
    bits = exact.view("<u4").astype("u8")
    made = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    made = np.where(np.isnan(exact), bits >> 16 | 0x40, made).astype("<u2")
    return made.reshape(shape), bool((np.isfinite(exact) & (made & 0x7F80 == 0x7F80)).any())


def of_numbers(dtype, wanted):
    """Numbers as a tensor, rounded to its dtype; F8_E8M0 and F8_E4M3 get the nearest code below."""
    wanted = np.asarray(wanted, "f4")
    if dtype == "BF16":
        return tensor(dtype, rounded(wanted, "bfloat16")[0])
    if dtype == "F8_E8M0":
        return tensor(dtype, (np.floor(np.log2(np.abs(wanted))) + 127).clip(0, 254).astype("u1"))
    return tensor(dtype, wanted)


def write(path, tensors, metadata=None):
    header, at = {"__metadata__": metadata or {"format": "pt"}}, 0
    for name, one in tensors.items():
        size = one.array.nbytes
        assert size * 8 == math.prod(one.shape) * BITS[one.dtype], (name, one.dtype, one.shape, size)
        header[name] = {"dtype": one.dtype, "shape": list(one.shape), "data_offsets": [at, at + size]}
        at += size
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(head)) + head)
        for one in tensors.values():
            out.write(one.array.tobytes())


def read(path):
    data = open(path, "rb").read()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    found = {}
    for name, one in json.loads(data[8:start]).items():
        if name != "__metadata__":
            part = np.frombuffer(data[start + one["data_offsets"][0]:start + one["data_offsets"][1]], STORED[one["dtype"]])
            shape = tuple(one["shape"])
            found[name] = Tensor(one["dtype"], part if one["dtype"] == "F4" else part.reshape(shape), shape)
    return found


def write_model(folder, tensors, configs, shard_of=None, metadata=None):
    """Writes model.safetensors or, with shard_of (a number for each name), shards and their index; and the
    configs."""
    os.makedirs(folder, exist_ok=True)
    if shard_of is None:
        write(os.path.join(folder, "model.safetensors"), tensors, metadata)
    else:
        count = max(shard_of.values()) + 1
        files = {name: f"model-{shard_of[name] + 1:05}-of-{count:05}.safetensors" for name in tensors}
        for file in sorted(set(files.values())):
            write(os.path.join(folder, file), {n: t for n, t in tensors.items() if files[n] == file}, metadata)
        size = sum(one.array.nbytes for one in tensors.values())
        with open(os.path.join(folder, "model.safetensors.index.json"), "w") as out:
            json.dump({"metadata": {"total_size": size}, "weight_map": files}, out)
    for name, config in configs.items():
        with open(os.path.join(folder, name), "wb") as out:
            out.write(config if isinstance(config, bytes) else json.dumps(config, indent=1).encode())
