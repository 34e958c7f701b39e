"""Compares blocks bit for bit with gguf-py, the Python code of ggml's authors: decoding and encoding.
ZT_BLOCKS: the number of blocks for each type."""
import os

import gguf
import numpy as np
import pytest
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType

import libztensor

BLOCKS = int(os.environ.get("ZT_BLOCKS", 50_000))
AT_ONCE = 10_000
FLOATS = {"F64", "F32", "F16", "BF16"}
DECODED = [kind for kind in gguf.quants._type_traits if kind.name not in FLOATS]
QUANTIZED = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "TQ1_0", "TQ2_0", "MXFP4"]
EDGES = np.array([0, 0x8000, 1, 0x83FF, 0x0400, 0x7BFF, 0xFBFF, 0x7C00, 0xFE00], "<u2")
# Positions of f16 scales in a block.
SCALES = {"Q4_1": (0, 2), "Q5_1": (0, 2), "Q2_K": (80, 82), "Q3_K": (108,), "Q4_K": (0, 2), "Q5_K": (0, 2), "Q6_K": (208,),
          "TQ1_0": (52,), "TQ2_0": (64,), "IQ1_M": (), "MXFP4": (), "NVFP4": ()}


def blocks_of(kind, random):
    """Of 16 blocks, one has all bits 0 and one all bits 1. Six have edge cases of scales, four a model's
    scales, four random scales."""
    size = GGML_QUANT_SIZES[kind][1]
    blocks = random.integers(0, 256, (AT_ONCE, size), "u1")
    blocks[0::16], blocks[1::16] = 0, 255
    for at in SCALES.get(kind.name, (0,)):
        for k in range(2, 12):
            chosen = random.choice(EDGES, len(blocks[k::16])) if k < 8 else random.integers(0x1C00, 0x2800, len(blocks[k::16]))
            blocks[k::16, at:at + 2] = chosen.astype("<u2").view("u1").reshape(-1, 2)
    return blocks


def classes(numbers):
    """The bits of f32; all NaN are equal."""
    return np.where(np.isnan(numbers), np.uint32(0x7FC00000), numbers.view("u4"))


@pytest.mark.parametrize("kind", DECODED, ids=lambda kind: kind.name)
def test_numbers_of_blocks(kind, tmp_path):
    random = np.random.default_rng(40)
    for _ in range(max(1, BLOCKS // AT_ONCE)):
        blocks = blocks_of(kind, random)
        rows = blocks.reshape(100, -1)
        writer = gguf.GGUFWriter(tmp_path / "a.gguf", "none")
        writer.add_tensor("w", rows, raw_dtype=kind)
        writer.write_header_to_file(), writer.write_kv_data_to_file(), writer.write_tensors_to_file(), writer.close()
        with np.errstate(all="ignore"):
            expected = gguf.quants.dequantize(rows, kind)
        with libztensor.open(tmp_path / "a.gguf") as f:
            found = f["w"].numpy(dtype="float32")
        assert found.shape == expected.shape
        wrong = np.argwhere(classes(found) != classes(expected))
        assert len(wrong) == 0, (wrong[0], found[tuple(wrong[0])], expected[tuple(wrong[0])])


def numbers_of(kind, random):
    """Blocks of numbers of six sizes: normal, as in a model, tiny, huge, halves of small integers, and mostly
    zero."""
    count = GGML_QUANT_SIZES[kind][0]
    largest = 60000 if kind.name != "MXFP4" else 2.0**125
    numbers = random.standard_normal((AT_ONCE, count), "f4")
    numbers[1::6] *= np.float32(0.02)
    numbers[2::6] *= np.exp2(random.integers(-110, -20, numbers[2::6].shape)).astype("f4")
    numbers[3::6] = np.clip(numbers[3::6] * np.float32(largest / 4), -largest, largest)
    numbers[4::6] = random.integers(-15, 16, numbers[4::6].shape) * np.float32(0.5)
    numbers[5::6] *= random.integers(0, 5, numbers[5::6].shape) == 0
    return numbers


def with_plain_zeros(blocks, name):
    """The blocks with positive zero scales. Among zeros of both signs, NumPy picks a different one than C."""
    blocks = blocks.copy()
    for at in SCALES.get(name, (0,)):
        blocks[(blocks[:, at] == 0) & (blocks[:, at + 1] == 0x80), at + 1] = 0
    return blocks


@pytest.mark.parametrize("name", QUANTIZED)
def test_blocks_of_numbers(name, tmp_path):
    kind, random = GGMLQuantizationType[name], np.random.default_rng(41)
    size = GGML_QUANT_SIZES[kind][1]
    for _ in range(max(1, BLOCKS // AT_ONCE)):
        numbers = numbers_of(kind, random)
        with libztensor.create(tmp_path / "a.zt") as w:
            w.add("w", numbers)
        with libztensor.open(tmp_path / "a.zt") as f, libztensor.create(tmp_path / "b.zt") as w:
            w.copy(f["w"], type=f"gguf.{name.lower()}")
        with libztensor.open(tmp_path / "b.zt") as f:
            found = np.frombuffer(f["w"]["data"].read(), "u1").reshape(AT_ONCE, size)
        with np.errstate(all="ignore"):
            expected = gguf.quants.quantize(numbers.reshape(100, -1), kind).reshape(AT_ONCE, size)
        wrong = np.flatnonzero((with_plain_zeros(found, name) != with_plain_zeros(expected, name)).any(1))
        assert len(wrong) == 0, (len(wrong), wrong[0], numbers[wrong[0]], found[wrong[0]], expected[wrong[0]])
