"""Numbers of any object as a dtype that the caller names: blocks, groups, sparse objects, small floats."""
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import libztensor
from libztensor.numpy import load, load_file, safe_open, save, save_file

DATA = Path(__file__).resolve().parents[3] / "tests/data"
BLOCKS = DATA / "foreign/valid/amber-all-types-hand.gguf"
SMALL = DATA / "foreign/valid/amber-all-dtypes-python.safetensors"
SIX_BITS = DATA / "foreign/valid/amber-all-dtypes-rust.safetensors"
GROUPS = DATA / "v2/cases/lq-sound.zt"
FLOATS = ["float64", "float32", "float16", "bfloat16"]


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a.zt"
    with libztensor.create(path) as w:
        w.add("a", np.arange(6, dtype="i2").reshape(2, 3))
        w.add("floats", np.array([0.5, -1.5, 300]))
        w.add("pairs", np.array([1 + 2j, 3], "c8"))
        w.add("scalar", np.array(3.5))
        w.add("empty", np.zeros((0, 3), "f4"))
        w.add_csr("csr", (2, 3), np.array([5, 6], "f4"), [0, 2], [0, 0, 2])
        w.add_coo("coo", (2, 2), np.array([1, 2, 4], "f4"), [[0, 1, 1], [1, 0, 0]])
    return path


def q4_0(data):
    """ggml's formula: 32 numbers in 18 bytes, the low halves of the bytes first."""
    blocks = np.frombuffer(data, [("scale", "<f2"), ("codes", "u1", 16)])
    codes = np.concatenate([blocks["codes"] & 15, blocks["codes"] >> 4], 1).astype("f4") - 8
    return codes * blocks["scale"].astype("f4")[:, None]


def q8_0(data):
    blocks = np.frombuffer(data, [("scale", "<f2"), ("codes", "i1", 32)])
    return blocks["codes"].astype("f4") * blocks["scale"].astype("f4")[:, None]


@pytest.mark.parametrize("name, formula", [("Q4_0/amber", q4_0), ("Q8_0/amber", q8_0)])
def test_blocks_have_the_numbers_of_their_formula(name, formula):
    path = BLOCKS if name.startswith("Q8") else DATA / "foreign/valid/amber-align-64.gguf"
    with libztensor.open(path) as f:
        found = f[name] if name in f else f["enc.0.mlp.up"]
        expected = formula(found["data"].read()).reshape(found.shape)
        array = found.numpy(dtype="float32")
        assert array.dtype == np.float32 and np.array_equal(array, expected) and array.flags.writeable


@pytest.mark.parametrize("dtype", FLOATS)
def test_all_block_types_become_every_float(dtype):
    kinds = set()
    with libztensor.open(BLOCKS) as f:
        for name, found in f.items():
            if not found["data"].type:
                continue
            exact = found.numpy(dtype="float64")
            if dtype == "float16" and (np.isfinite(exact) & (abs(exact) > 65519)).any():
                with pytest.raises(libztensor.LimitExceeded, match="finite numbers? would become infinite as f16"):
                    found.numpy(dtype=dtype)
                continue
            kinds.add(found["data"].type)
            array = found.numpy(dtype=dtype)
            assert array.shape == found.shape and array.dtype.name == dtype, name
            # Each number is rounded to f32, and then to the smaller type.
            np.testing.assert_array_equal(array.astype("f8"), exact.astype("f4").astype(array.dtype).astype("f8"))
    assert len(kinds) >= (12 if dtype == "float16" else 25), kinds


def test_small_floats_are_those_of_ml_dtypes():
    seen = set()
    with libztensor.open(SMALL) as f:
        for found in f.values():
            kind = found["data"].type
            if not kind or kind.startswith("complex"):
                continue
            seen.add(kind)
            if kind == "f4_e2m1":
                pairs = np.frombuffer(found["data"].read(), "u1")
                expected = np.stack([pairs & 15, pairs >> 4], 1).view(ml_dtypes.float4_e2m1fn)
            else:
                expected = np.frombuffer(found["data"].read(), libztensor.numpy_dtype(kind))
            expected = expected.astype("f4").reshape(found.shape)
            np.testing.assert_array_equal(found.numpy(dtype=np.float32), expected)
    assert seen == {"f8_e4m3fn", "f8_e5m2", "f8_e4m3fnuz", "f8_e5m2fnuz", "f8_e8m0", "f4_e2m1"}
    with libztensor.open(SIX_BITS) as f:
        six_bits = [found for found in f.values() if found["data"].type in ("f6_e2m3", "f6_e3m2")]
        assert {found["data"].type for found in six_bits} == {"f6_e2m3", "f6_e3m2"}
        for found in six_bits:
            bits = np.unpackbits(np.frombuffer(found["data"].read(), "u1"), bitorder="little").reshape(-1, 6)
            codes = np.packbits(bits, axis=1, bitorder="little").reshape(found.shape)
            expected = codes.view(getattr(ml_dtypes, f"float6_{found['data'].type[3:]}fn")).astype("f4")
            np.testing.assert_array_equal(found.numpy(dtype=np.float32), expected)


def test_groups_have_the_numbers_of_their_formula():
    with libztensor.open(GROUPS) as f:
        found = f["q"]
        parts, (rows, columns) = found.quantized(), found.shape
        codes = np.frombuffer(found["data"].read(), "u1")
        codes = np.stack([codes & 15, codes >> 4], 1).reshape(rows, columns).astype("f8")
        each = lambda one: one.reshape(rows, -1).astype("f8").repeat(parts.group_size, 1)  # noqa: E731
        expected = ((codes - each(parts.zeros)) * each(parts.scales)).astype("f4")
        assert np.array_equal(found.numpy(dtype="float32"), expected)
        with pytest.raises(libztensor.Unsupported, match='object "q": numbers of "zt.quant_group/1" can become f64, f32'):
            found.numpy(dtype="int32")
        with pytest.raises(libztensor.Unsupported, match="not dense: pass dtype="):
            found.numpy()


def test_sparse_objects_are_filled_with_zeros(path):
    with libztensor.open(path) as f:
        assert f["csr"].numpy(dtype="float32", verify=True).tolist() == [[0, 0, 0], [5, 0, 6]]
        assert f["coo"].numpy(dtype="float16").tolist() == [[0, 1], [6, 0]], "equal coordinates are summed"
        assert f["csr"].size_as("float16") == 12


def test_dense_numbers_are_converted(path):
    with libztensor.open(path) as f:
        assert f["a"].numpy(dtype="float64").tolist() == [[0, 1, 2], [3, 4, 5]]
        assert f["a"].numpy(dtype="uint8").tolist() == [[0, 1, 2], [3, 4, 5]]
        assert f["a"].numpy(dtype=bool).tolist() == [[False, True, True], [True] * 3]
        assert f["floats"].numpy(dtype="int64").tolist() == [0, -2, 300], "ties to even"
        assert f["pairs"].numpy(dtype="float32").tolist() == [[1, 2], [3, 0]] and f["pairs"].size_as("f64") == 32
        scalar, empty = f["scalar"].numpy(dtype="float32"), f["empty"].numpy(dtype="float16")
        assert scalar.shape == () and scalar == 3.5 and empty.shape == (0, 3) and empty.dtype == np.float16


def test_numbers_that_have_the_dtype_are_not_copied(path):
    with libztensor.open(path) as f:
        for dtype in ("float64", np.float64, float, np.dtype(">f8")):
            array = f["floats"].numpy(dtype=dtype)
            assert np.shares_memory(array, f["floats"].numpy()) and not array.flags.writeable
        assert f["pairs"].numpy(dtype="complex64").tolist() == [1 + 2j, 3]
    assert array.tolist() == [0.5, -1.5, 300], "the array stays valid after the file is closed"


def test_a_dtype_has_many_names(path):
    with libztensor.open(path) as f:
        for dtype in ("float32", "f32", np.float32, np.dtype("f4"), np.dtype(">f4")):
            assert f["a"].numpy(dtype=dtype).dtype == np.dtype("float32")
        for dtype in ("bfloat16", "bf16", ml_dtypes.bfloat16):
            assert f["a"].numpy(dtype=dtype).dtype == ml_dtypes.bfloat16
        for dtype, error, words in [
                ("float12", libztensor.InvalidArgument, "dtype 'float12' is not a type of numbers"),
                ("i8", libztensor.InvalidArgument, "dtype 'i8' is 8 bits here and 8 bytes in NumPy: pass 'int8' or 'int64'"),
                ("u8", libztensor.InvalidArgument, "pass 'uint8' or 'uint64'"),
                (np.dtype("U3"), libztensor.InvalidArgument, "is not a type of numbers"),
                (3, TypeError, "3"),
                ("float8_e4m3fn", libztensor.Unsupported, "cannot be converted to float8_e4m3fn, but to float64, float32"),
                ("float4_e2m1fn_x2", libztensor.Unsupported, "cannot be converted to float4_e2m1fn_x2"),
                ("complex128", libztensor.Unsupported, "cannot be converted to complex128"),
                ("int8", libztensor.LimitExceeded, "i8 has no value for 1 number")]:
            with pytest.raises(error, match=words):
                f["floats"].numpy(dtype=dtype)


def test_a_decode_is_verified_reported_and_stopped(path):
    with libztensor.create(path) as w:
        w.add("a", np.arange(1 << 16, dtype="f4"))
    with libztensor.open(path) as f:
        seen = []
        f["a"].numpy(dtype="float64", threads=2, verify=True, progress=lambda *one: seen.append(one))
        assert seen and seen[-1][0] == seen[-1][1]
        with pytest.raises(libztensor.Cancelled):
            f["a"].numpy(dtype="float64", progress=lambda *_: False)
        place = f["a"]["data"].offset
    with open(path, "r+b") as file:
        file.seek(place)
        file.write(b"\1")
    with libztensor.open(path) as f:
        assert f["a"].numpy(dtype="float64")[1] == 1
        with pytest.raises(libztensor.DigestMismatch):
            f["a"].numpy(dtype="float64", verify=True)


@pytest.mark.parametrize("file, name, error", [
    ("copy/undeclared-frames-1.zt", "gptq", "cannot be read without the attribute \"scheme\""),
    ("v1.2/py-1.2.3-unknown-type.zt", "i4x2", "its type \"vendor.int4x2\" is unknown"),
    ("valid-odd/unknown-format.zt", "x", "its format is \"blocked_ell\", which cannot be read as numbers")])
def test_objects_that_are_not_arrays_of_numbers_are_unsupported(file, name, error):
    with libztensor.open(DATA / file) as f, pytest.raises(libztensor.Unsupported, match=error):
        f[name].numpy(dtype="float32")


def test_a_last_block_that_is_not_full():
    with libztensor.open(DATA / "v2/real/py-f4-even-and-odd.zt") as f:
        found = f["odd"]
        pairs = np.frombuffer(found["data"].read(), "u1")
        expected = np.stack([pairs & 15, pairs >> 4], 1).view(ml_dtypes.float4_e2m1fn).astype("f4").ravel()[:found.element_count]
        assert found.element_count % 2 and np.array_equal(found.numpy(dtype="float32").ravel(), expected)


def test_a_conversion_only_allocates_the_array(tmp_path):
    """The blocks are decoded once, straight into the new array."""
    tracemalloc = pytest.importorskip("tracemalloc")
    with libztensor.create(tmp_path / "large.zt") as w:
        w.add("a", np.zeros(1 << 22, "f2"))
    with libztensor.open(tmp_path / "large.zt") as f:
        tracemalloc.start()
        array = f["a"].numpy(dtype="float32")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert array.nbytes <= peak < array.nbytes + (1 << 20)


@pytest.mark.parametrize("dtype", ["float32", np.float64, ml_dtypes.bfloat16])
@pytest.mark.parametrize("mapped", [False, True])
def test_all_floats_of_a_file_are_converted_to_one_type(path, dtype, mapped):
    kind = np.dtype(dtype)
    with libztensor.open(path) as f:
        expected = {name: one.numpy(dtype=None if name in ("a", "pairs") else dtype) for name, one in f.items()}
    with safe_open(path) as f:
        opened = f.get_tensors(dtype=dtype)
    for found in (load_file(path, mapped=mapped, dtype=dtype), load(path.read_bytes(), dtype=dtype), opened):
        assert list(found) == list(expected)
        for name, array in expected.items():
            assert found[name].dtype == array.dtype and np.array_equal(found[name], array) and found[name].flags.writeable
        assert found["a"].dtype == np.int16 and found["pairs"].dtype == np.complex64, "no floats"
        assert all(found[name].dtype == kind for name in found.keys() - {"a", "pairs"})


def test_the_blocks_of_a_file_are_decoded_together():
    with libztensor.open(DATA / "foreign/valid/amber-align-64.gguf") as f:
        expected = {name: one.numpy(dtype="float32") for name, one in f.items() if one["data"].dtype[0] not in "iu" or one["data"].type}
    found = load_file(DATA / "foreign/valid/amber-align-64.gguf", dtype="float32")
    assert expected and all(np.array_equal(found[name], array, equal_nan=True) for name, array in expected.items())
    with libztensor.open(GROUPS) as f:
        assert np.array_equal(load_file(GROUPS, dtype="float32")["q"], f["q"].numpy(dtype="float32"))


def test_types_that_are_not_floats_are_rejected_for_a_file(path):
    for dtype in ("int32", bool, "float8_e4m3fn", "complex64"):
        with pytest.raises(libztensor.InvalidArgument, match="can become float64, float32, float16 or bfloat16, not"):
            load_file(path, dtype=dtype)
    with pytest.raises(libztensor.LimitExceeded, match="would become infinite as f16"):
        load(save({"a": np.array([1e9])}), dtype="float16")


def test_a_tensor_by_name_has_any_type(path):
    with safe_open(path) as f:
        assert f.get_tensor("a", dtype="float32").tolist() == [[0, 1, 2], [3, 4, 5]]
        assert f.get_tensor("a", dtype=np.int64).dtype == np.int64
        assert f.get_tensor("csr", dtype="float32").tolist() == [[0, 0, 0], [5, 0, 6]]
        assert f.get_tensor("pairs", dtype="float64").tolist() == [[1, 2], [3, 0]]
        assert f.get_tensor("pairs", dtype="complex64").tolist() == [1 + 2j, 3]
        assert "csr" not in f.keys(), "as without dtype"
        with pytest.raises(libztensor.Unsupported, match="'csr' is sparse_csr, not an array: pass dtype="):
            f.get_tensor("csr")
        with pytest.raises(libztensor.InvalidArgument, match="dtype 'half a float' is not"):
            f.get_tensor("a", dtype="half a float")
        with pytest.raises(KeyError, match="no tensor 'none'"):
            f.get_tensor("none", dtype="float32")
        with pytest.raises(libztensor.Unsupported, match="cannot be converted to float8_e5m2"):
            f.get_tensor("a", dtype=ml_dtypes.float8_e5m2)
    with pytest.raises(ValueError, match="closed"):
        f.get_tensor("a", dtype="float32")


def test_parts_of_a_tensor_are_converted(path):
    model = DATA / "foreign/valid/amber-all-types-hand.gguf"
    with safe_open(model) as f:
        whole, part = f.get_tensor("Q8_0/amber", dtype="float32"), f.get_slice("Q8_0/amber", dtype="float32")
        assert (part.get_shape(), part.get_dtype()) == ([2, 64], "F32")
        for index in (0, slice(1, 2), (..., slice(32, 64)), (1, slice(0, 32)), slice(1, 1)):
            assert np.array_equal(part[index], whole[index]), index
        with pytest.raises(libztensor.ZTensorError, match="Q8_0/amber"):
            part[0, 1:3]
        with pytest.raises(libztensor.Unsupported, match="blocks of gguf.q8_0: pass dtype="):
            f.get_slice("Q8_0/amber")[0]
    with safe_open(path) as f:
        assert f.get_slice("a", dtype="float16")[1, ::2].tolist() == [3, 5]
        whole = f.get_tensor("csr", dtype="float32")
        assert np.array_equal(f.get_slice("csr", dtype="float32")[1:, ::2], whole[1:, ::2]) and whole[1:, ::2].any()
        with pytest.raises(libztensor.Unsupported, match="cannot be read in parts as f32"):
            f.get_slice("pairs", dtype="float32")[0]


def test_tensors_that_cannot_be_converted_are_named_or_left_out():
    path = DATA / "copy/undeclared-frames-1.zt"
    with pytest.raises(libztensor.Unsupported, match='object "gptq".*without the attribute "scheme"'):
        load_file(path, dtype="float32")
    with pytest.warns(UserWarning, match=r"'gptq' \(quantized_group\)"):
        assert "gptq" not in load_file(path, dtype="float32", skip_unreadable=True)


def test_batches_convert_objects_rows_and_slices():
    with libztensor.open(BLOCKS) as f:
        found, other = f["Q8_0/amber"], f["Q5_1/amber"]
        whole = found.numpy(dtype="float32")
        cases = [(found, dict(dtype=np.float32), whole), (other, dict(dtype="bf16"), other.numpy(dtype="bfloat16")),
                 (found, dict(dtype="float64", offset=1, rows=1), whole[1].astype("f8")),
                 (other, dict(dtype="float32", rows=2, row_stride=2), other.numpy(dtype="float32")[::2]),
                 (found, dict(dtype="float32", start=(0, 32), count=(2, 32)), whole[:, 32:]),
                 (found, dict(dtype="float32", start=(0, 0), count=(1, 64), step=(2, 1)), whole[::2])]
        targets = [np.zeros_like(expected) for _, _, expected in cases]
        reads = [libztensor.Read(object=one, target=target, **how) for (one, how, _), target in zip(cases, targets)]
        stats = f.read_batch(reads, threads=2)
        assert stats["requests"] == len(cases) and stats["bytes"] == sum(target.nbytes for target in targets)
        for target, (_, how, expected) in zip(targets, cases):
            assert np.array_equal(target, expected, equal_nan=True), how
        with libztensor.Load([read._replace(target=None) for read in reads], slots=2, slot_size=1 << 16) as load:
            got = {number: b"" for number in range(len(cases))}
            for event in load:
                got[event.number] += bytes(event.data)
        assert [got[number] for number in got] == [np.ascontiguousarray(expected).tobytes() for *_, expected in cases]


def test_rows_go_to_a_target_with_strides(path):
    with libztensor.open(path) as f:
        target = np.full((2, 5), -1, "f4")
        f.read_batch([libztensor.Read(object=f["a"], target=target, dtype="float32", rows=2, target_stride=20)])
        assert target.tolist() == [[0, 1, 2, -1, -1], [3, 4, 5, -1, -1]]
        rows = np.zeros((2, 2), "i2")
        f.read_batch([libztensor.Read(f["a"]["data"], rows, offset=2, rows=2, row_length=4, row_stride=6)])
        assert rows.tolist() == [[1, 2], [4, 5]], "rows of a component count bytes"
        halves = np.zeros(3, "f2")
        f.read_batch([libztensor.Read(f["floats"]["data"], halves, dtype="float16")])
        assert halves.tolist() == [0.5, -1.5, 300]
        with pytest.raises(libztensor.LimitExceeded):
            f.read_batch([libztensor.Read(object=f["floats"], target=np.zeros(3, "i1"), dtype="int8")])
        small = np.zeros(3, "i1")
        f.read_batch([libztensor.Read(object=f["floats"], target=small, dtype="int8", lossy=True)])
        assert small.tolist() == [0, -2, 127]


def test_a_read_with_missing_or_conflicting_arguments_is_rejected(path):
    with libztensor.open(path) as f, libztensor.Cache(1 << 20, 1 << 12) as cache:
        one, target = f["a"], np.zeros(64, "f8")
        for how, words in [
                ({}, "read 0 needs either a component or an object"),
                (dict(object=one, component=one["data"], dtype="float32"), "either a component or an object"),
                (dict(object=one), "read 0 of 'a' needs a dtype"),
                (dict(object=one, dtype="float32", offset=1), "offset needs rows"),
                (dict(object=one, dtype="float32", length=4), "length and row_length are for components"),
                (dict(object=one, dtype="float32", rows=1, row_length=4), "length and row_length are for components"),
                (dict(object=one, dtype="float32", rows=1, count=(1, 1)), "more than one of length, rows and count"),
                (dict(component=one["data"], length=4, count=(1, 1)), "more than one of length, rows and count"),
                (dict(component=one["data"], start=(0, 0)), "start or step, which need count"),
                (dict(object=one, dtype="float32", rows=3), 'object "a".*3 rows from row 0 on, every 1, pass its 2 rows'),
                (dict(object=one, dtype="float32", start=(0,), count=(1,)), "start needs 2 numbers")]:
            with pytest.raises(libztensor.InvalidArgument, match=words):
                f.read_batch([libztensor.Read(target=target, **how)])
        with cache.get(libztensor.Read(object=one, dtype="float32")) as held:
            assert np.frombuffer(held, "f4").tolist() == [0, 1, 2, 3, 4, 5]
        with cache.get(libztensor.Read(one["data"], dtype="float32")) as held:
            assert np.frombuffer(held, "f4").tolist() == [0, 1, 2, 3, 4, 5]


def test_4_bit_floats_have_a_byte_each_in_ml_dtypes(tmp_path):
    four = ml_dtypes.float4_e2m1fn
    values = np.array([[0, 0.5, 1, 1.5], [-6, 2, -0.5, 4]])
    arrays = {"a": values.astype(four), "columns": values.astype(four).T, "odd": np.array([1, -3, 6]).astype(four),
              "empty": np.zeros((0, 2), four)}
    save_file(arrays, tmp_path / "a.zt")
    save_file({"a": arrays["a"]}, tmp_path / "a.safetensors")
    with pytest.raises(libztensor.Unsupported, match=r"'odd': 4-bit floats of the shape \(3,\) end within a byte"):
        save_file(arrays, tmp_path / "b.safetensors")
    with libztensor.create(tmp_path / "b.zt", version=2) as w:
        w.add("a", arrays["a"])
        w.add_batch({"columns": arrays["columns"], "odd": arrays["odd"]})
        with w.object("empty", "dense", (0, 2)) as piece:
            piece.component("data", four)
            piece.write(arrays["empty"])
    for path in (tmp_path / "a.zt", tmp_path / "b.zt", tmp_path / "a.safetensors"):
        with libztensor.open(path) as f, safe_open(path) as opened:
            assert f["a"]["data"].type == "f4_e2m1" and f["a"]["data"].size == 4
            for name in f:
                for dtype in (four, "float4_e2m1fn", "f4_e2m1"):
                    for found in (f[name].numpy(dtype=dtype), opened.get_tensor(name, dtype=dtype)):
                        assert found.dtype == four and np.array_equal(found.astype("f4"), arrays[name].astype("f4"))
                assert np.array_equal(f[name].numpy(dtype="float32"), arrays[name].astype("f4"))
            assert load_file(path)["a"].dtype == np.uint8, "without dtype as before"
    with pytest.raises(libztensor.Unsupported, match="no dtype for f4_e2m1"):
        libztensor.numpy_dtype("f4_e2m1")
    with libztensor.open(SMALL) as f, pytest.raises(libztensor.Unsupported, match="cannot be converted to float4_e2m1fn, but"):
        f["enc.0.norm.gain.15"].numpy(dtype=four)


def test_rows_and_slices_of_a_sparse_object_are_read(path):
    with libztensor.open(path) as f:
        whole = f["csr"].numpy(dtype="float32")
        rows, slab = np.zeros((1, whole.shape[1]), "f4"), np.zeros((1, 1), "f4")
        f.read_batch([libztensor.Read(object=f["csr"], target=rows, dtype="float32", rows=1, offset=1),
                      libztensor.Read(object=f["csr"], target=slab, dtype="float32", start=(1, 1), count=(1, 1))])
        assert rows.tolist() == whole[1:2].tolist() and slab.tolist() == whole[1:2, 1:2].tolist() and rows.any()


def test_empty_complex_objects_keep_their_pairs(tmp_path):
    with libztensor.create(tmp_path / "empty.zt") as writer:
        writer.add("none", np.zeros((0, 3), "complex64"))
    with libztensor.open(tmp_path / "empty.zt") as f:
        assert f["none"].numpy(dtype="float32").shape == (0, 3, 2)
