"""libztensor.gguf.GGUFReader gives the same fields and tensors as the reader of the package gguf, much
faster."""
import struct
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import libztensor
from libztensor.gguf import GGMLQuantizationType, GGUFReader, GGUFValueType

gguf = pytest.importorskip("gguf")
DATA = Path(__file__).resolve().parents[3] / "tests/data"


def equal(found, expected):
    """All that two readers return for a file."""
    for name in ("byte_order", "endianess", "alignment", "data_offset"):
        assert getattr(found, name) == getattr(expected, name), name
    assert list(found.fields) == list(expected.fields)
    for name, field in expected.fields.items():
        same_field(found.get_field(name), field)
        assert repr(outcome(found.fields[name].contents)) == repr(outcome(field.contents))  # NaN is not equal to NaN
    assert found.get_field("none") is None and len(found.tensors) == len(expected.tensors)
    for number, tensor in enumerate(expected.tensors):
        own = found.get_tensor(number)
        for name in ("name", "tensor_type", "n_elements", "n_bytes", "data_offset"):
            assert getattr(own, name) == getattr(tensor, name), (tensor.name, name)
        assert own.tensor_type.name == tensor.tensor_type.name
        same_array(own.shape, tensor.shape)
        same_array(own.data, tensor.data)
        same_field(own.field, tensor.field)


def outcome(call):
    """The result of a call, or the class of its exception, for example for bytes that are not UTF-8."""
    try:
        return call()
    except (ValueError, IndexError) as why:
        return type(why)


def same_array(found, expected):
    assert (found.dtype, found.shape, found.tobytes()) == (expected.dtype, expected.shape, expected.tobytes())
    assert type(found) is type(expected) and found.flags.writeable == expected.flags.writeable


def same_field(found, expected):
    assert (found.offset, found.name, found.data, found.types) == (expected.offset, expected.name, expected.data, expected.types)
    assert [one.name for one in found.types] == [one.name for one in expected.types]
    assert len(found.parts) == len(expected.parts)
    for own, reference in zip(found.parts, expected.parts):
        same_array(own, reference)
    for part in (-1, len(found.parts) // 2):
        same_array(found.parts[part], expected.parts[part])
    with pytest.raises(IndexError):
        found.parts[len(found.parts)]
    for own, reference in zip(found.parts[1:9:2], expected.parts[1:9:2]):
        same_array(own, reference)
    if len(expected.data) > 2 and expected.types:
        for index in (0, -1, slice(1, 3), slice(None, None, 2), slice(-2, None)):
            assert repr(outcome(lambda: found.contents(index))) == repr(outcome(lambda: expected.contents(index)))


def text(value):
    value = value.encode()
    return struct.pack("<Q", len(value)) + value


def one_key(kind, value):
    """A file with a key k and no tensors."""
    return b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("k") + struct.pack("<I", kind) + value


def array(kind, *values):
    return struct.pack("<IQ", kind, len(values)) + b"".join(values)


NESTED = array(9, array(5, *map(struct.Struct("<i").pack, (1, 2, 3))), array(5), array(5, struct.pack("<i", 4)))


@pytest.mark.parametrize("data", [one_key(9, NESTED), one_key(9, array(9, array(8, text("a"), text("grüße")), array(8, text("")))),
                                  one_key(9, array(9)), one_key(9, array(8)), one_key(9, array(9, NESTED, array(9), NESTED))],
                         ids=["numbers", "strings", "no arrays", "no strings", "of arrays"])
def test_arrays_in_arrays(tmp_path, data):
    path = tmp_path / "a.gguf"
    path.write_bytes(data)
    equal(GGUFReader(path), gguf.GGUFReader(path))


@pytest.mark.parametrize("endianess", list(gguf.GGUFEndian))
def test_all_types_of_values_and_tensors(tmp_path, endianess):
    path = tmp_path / "a.gguf"
    writer = gguf.GGUFWriter(path, "llama", endianess=endianess)
    writer.add_custom_alignment(64)
    for kind in gguf.GGUFValueType:
        if kind not in (gguf.GGUFValueType.ARRAY, gguf.GGUFValueType.STRING):
            for value in (0, 1):
                writer.add_key_value(f"{kind.name}.{value}", bool(value) if kind.name == "BOOL" else value, kind)
            writer.add_key_value(f"{kind.name}.list", [True, False, True] if kind.name == "BOOL" else [1, 0, 3],
                                 gguf.GGUFValueType.ARRAY, kind)
    writer.add_string("text", "grüße \0 日本")
    writer.add_array("texts", ["", "b", "日本"])
    order = ">" if endianess == gguf.GGUFEndian.BIG else "<"
    plain = {"F16": "f2", "F32": "f4", "F64": "f8", "I8": "i1", "I16": "i2", "I32": "i4", "I64": "i8"}
    for name, form in plain.items():
        writer.add_tensor(name, np.arange(24).reshape(2, 3, 4).astype(form))
    for kind in gguf.GGMLQuantizationType:
        elements, width = gguf.GGML_QUANT_SIZES[kind]
        if kind.name not in (*plain, "Q8_1"):  # 40 bytes in gguf, but 36 in ggml
            writer.add_tensor(kind.name, np.arange(3 * 2 * width).astype("u1").reshape(3, 2 * width), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    found, expected = GGUFReader(path), gguf.GGUFReader(path)
    equal(found, expected)
    assert found.tensors[1].data.dtype == np.dtype(order + "f4") and found.alignment == 64
    blocks = next(tensor for tensor in found.tensors if tensor.name == "Q4_0")
    assert gguf.dequantize(blocks.data, blocks.tensor_type).shape == (3, 64)  # the enums of both are the same numbers


def test_files_of_others():
    compared, refused = 0, []
    for path in sorted(DATA.rglob("[!.]*.gguf")):
        if "q8-1" in path.name:  # blocks have 40 bytes in gguf, but 36 in ggml
            continue
        try:
            found = GGUFReader(path)
        except libztensor.ZTensorError as why:
            assert path.name in str(why), why
            refused += [] if "invalid" in path.parts else [path.name]
            continue
        try:
            expected = gguf.GGUFReader(path)
        except (ValueError, KeyError, OverflowError):  # gguf does not support the file
            continue
        equal(found, expected)
        compared += 1
    assert compared > 3 and len(refused) == 3, refused  # of version 1, aligned to 24, and with a name that is not UTF-8


def test_the_enums_are_those_of_gguf():
    assert {one.name: one.value for one in GGUFValueType} == {one.name: one.value for one in gguf.GGUFValueType}
    own = {one.name: one.value for one in GGMLQuantizationType}
    assert {one.name: one.value for one in gguf.GGMLQuantizationType}.items() <= own.items()


def test_rejected_arguments_and_files(tmp_path):
    path = tmp_path / "a.gguf"
    path.write_bytes(one_key(9, NESTED))
    for mode in ("r+", "c", "w"):
        with pytest.raises(ValueError, match=f"mode '{mode.replace('+', '.')}' is not supported, only 'r' is"):
            GGUFReader(path, mode)
    np.savez(tmp_path / "a.npz", a=np.arange(3))
    with pytest.raises(ValueError, match="a.npz is npz, not GGUF"):
        GGUFReader(tmp_path / "a.npz")
    whole = one_key(9, NESTED)
    for size in range(0, len(whole), 7):
        path.write_bytes(whole[:size])
        with pytest.raises((ValueError, libztensor.ZTensorError)):
            GGUFReader(path)
    for bad in (one_key(9, struct.pack("<IQ", 8, 1 << 60)), one_key(13, b""), one_key(8, struct.pack("<Q", 1 << 63))):
        path.write_bytes(bad)
        with pytest.raises(libztensor.ZTensorError, match="a.gguf"):
            GGUFReader(path)
    with pytest.raises(FileNotFoundError):
        GGUFReader(tmp_path / "none.gguf")
    deep = b""
    for _ in range(2000):
        deep = array(9, deep) if deep else array(9)
    path.write_bytes(one_key(9, deep))
    with pytest.raises(libztensor.ZTensorError, match="nest deeper"):
        GGUFReader(path)


def test_a_large_vocabulary_takes_a_twentieth_of_the_time(tmp_path):
    """151,936 tokens with as many types, and merges."""
    path = tmp_path / "vocabulary.gguf"
    writer = gguf.GGUFWriter(path, "qwen2")
    writer.add_token_list([f"token {number} ü" for number in range(151_936)])
    writer.add_token_types([1] * 151_936)
    writer.add_token_merges([f"a{number} b{number}" for number in range(151_387)])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()

    def measured(reader):
        start = time.process_time()
        made = reader(path)
        return made, time.process_time() - start

    found, own = min((measured(GGUFReader) for _ in range(3)), key=lambda of: of[1])
    expected, reference = measured(gguf.GGUFReader)
    print(f"GGUFReader: {own:.3f} s of processor time, the package gguf {reference:.3f} s: {own / reference:.3f}", file=sys.stderr)
    assert own < 0.05 * reference
    for name in ("tokens", "token_type", "merges"):
        field, other = found.fields[f"tokenizer.ggml.{name}"], expected.fields[f"tokenizer.ggml.{name}"]
        assert field.contents() == other.contents() and field.data == other.data and field.types == other.types
        assert all((field.parts[at] == other.parts[at]).all() for at in (0, 5, 6, 7, 1000, len(other.parts) - 1))
