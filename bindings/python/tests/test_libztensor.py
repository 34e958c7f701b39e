"""Tests the Python package on real files, and the files that it writes."""
import gc
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import libztensor
from libztensor import _declarations

ROOT = Path(__file__).resolve().parents[3]
DATA = ROOT / "tests/data"
GOLDEN = ROOT / "bindings/golden"
EXAMPLES = ROOT / "bindings/python/examples"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "file.zt"


def program(name, *arguments):
    return subprocess.run([sys.executable, EXAMPLES / name, *arguments], check=True, capture_output=True, text=True).stdout


def test_the_programs_give_the_golden_output(path):
    program("write.py", path)
    assert path.read_bytes() == (GOLDEN / "written.zt").read_bytes()
    assert program("list.py", path) == (GOLDEN / "list.txt").read_text()
    assert "".join(program("read.py", path, n) for n in ("weight", "half", "packed", "sparse")) == (GOLDEN / "read.txt").read_text()


def test_a_model_of_many_files_is_one():
    folder = DATA / "foreign/valid/amber-hf-sharded"
    shards = sorted(folder.glob("*.safetensors"))
    for path in (folder, folder / "model.safetensors.index.json", shards[1]):
        with libztensor.File.open_model(path) as model:
            assert [Path(part.path) for part in model.parts] == shards and len(model) > 3
            for name, tensor in model.items():
                with libztensor.open(shards[tensor["data"].part]) as alone:
                    assert tensor["data"].read() == alone[name]["data"].read()
    with libztensor.File.open_parts(shards[:2], threads=2) as two:
        assert len(two.parts) == 2 and {tensor["data"].part for tensor in two.values()} == {0, 1}
    with pytest.raises(libztensor.ZTensorError, match="model-0000"):
        libztensor.File.open_model(DATA / "foreign/invalid/amber-set-hf-missing-shard/model.safetensors.index.json")


def test_names_of_any_kind_and_number_are_listed():
    with libztensor.open(DATA / "v1.2/py-1.2.3-nul-and-empty-names.zt") as f:
        assert list(f) == [f[name].name for name in f] == ["", "a", "a\0b"]
    with libztensor.open(DATA / "v1.2/py-1.2.3-1000.zt") as f:
        assert list(f) == [f"m.{i:04}" for i in range(1000)]
        names = iter(f)
        assert next(names) == "m.0000"
    with pytest.raises(ValueError):
        list(names)


def test_stored_bytes_identity_and_names_with_a_nul(path):
    with libztensor.create(path, encoding="zstd", digest="sha256") as w:
        w.add("a\0b", np.zeros(1000, "<f4"))
        w.set_attribute("k\0ey", 7)
    with libztensor.open(path) as f:
        part = f["a\0b"]["data"]
        assert len(part.read_stored()) == part.stored_size < part.size
        f.verify(object=f["a\0b"])
        assert f.attributes == {"k\0ey": 7} and f.identity["size"] == f.size
        with pytest.raises(libztensor.NotFound):
            f["a\0b"]["data\0"]
        with libztensor.create(path.with_suffix(".copy")) as w:
            w.copy(f["a\0b"], "c\0d")
    with libztensor.open(path.with_suffix(".copy")) as copy:
        assert list(copy) == ["c\0d"]
    damaged = bytearray(path.read_bytes())
    damaged[70] ^= 1
    path.write_bytes(damaged)
    with libztensor.open(path) as f, pytest.raises(libztensor.ZTensorError):
        f.verify(object=f["a\0b"])


def test_every_dtype_of_a_released_file():
    with libztensor.open(DATA / "v1.2/py-1.2.3-all-dtypes.zt") as f:
        assert len(f) == 13 and set(f) == {o.name for o in f.values()}
        for obj in f.values():
            array = obj.numpy()
            assert array.dtype == libztensor.numpy_dtype(obj["data"].dtype) and array.shape == obj.shape
            assert array.tobytes() == obj["data"].read()
            assert not array.flags.writeable
            with pytest.raises(ValueError):
                array.flat[0] = 0


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16",
                                   "uint8", "bool", "complex64", "complex128", ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn,
                                   ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2fnuz])
@pytest.mark.parametrize("encoding", ["raw", "zstd"])
def test_round_trip(path, dtype, encoding):
    array = np.arange(6).astype(dtype).reshape(3, 2)
    with libztensor.create(path, encoding=encoding, digest="crc32c") as w:
        w.add("a", array, attributes={"unit": "m"})
        w.add("scalar", array[0, 0])
        w.add("empty", array[:0])
        w.add("turned", array.T)
        w.set_attribute("n", [1, {"a": None}])
        w.set_attribute("ids", np.array([1, 65535], "uint16"))
        w.set_attribute("raw", b"\x00\xff")
        w.set_attribute("gone", 1)
        w.remove_attribute("gone")
    with libztensor.open(path) as f:
        got = f["a"].numpy()
        assert f["a"].attributes == {"unit": "m"} and f.attributes == {"n": [1, {"a": None}], "ids": [1, 65535], "raw": b"\x00\xff"}
        for name, want in (("a", array), ("scalar", array[0, 0]), ("empty", array[:0]), ("turned", array.T)):
            assert f[name].numpy().dtype == np.dtype(dtype) and f[name].numpy().tobytes() == np.ascontiguousarray(want).tobytes()
            assert f[name].numpy().shape == np.shape(want)
        f.verify(component=f["a"]["data"], checks=["require digests"])
        assert f.verify()["digests_verified"] == 4
        assert got.flags.writeable == (encoding == "zstd")
    gc.collect()
    assert got.tobytes() == array.tobytes()  # after the file was closed


def test_dlpack_shares_memory_and_outlives_the_file(path):
    with libztensor.create(path) as w:
        w.add("a", np.arange(6, dtype="float32"))
    with libztensor.open(path) as f:
        array, shared, old = f["a"].numpy(), np.from_dlpack(f["a"]), np.from_dlpack(f["a"].unversioned())
        assert np.shares_memory(array, shared) and not shared.flags.writeable
        assert old.ctypes.data == array.ctypes.data
        f["a"].__dlpack__(max_version=(1, 0))  # not consumed: freed with the capsule
        with pytest.raises(BufferError):
            f["a"].__dlpack__()
    del array, old
    gc.collect()
    assert shared.tolist() == [0, 1, 2, 3, 4, 5]


def test_an_array_keeps_the_memory_that_its_file_was_opened_from(path):
    with libztensor.create(path) as w:
        w.add("a", np.arange(6, dtype="float32"))
    data = bytearray(path.read_bytes())
    array = libztensor.File.open_memory(data)["a"].numpy()
    gc.collect()
    with pytest.raises(BufferError):  # in use: a change of its size could move it
        data.append(0)
    assert array.tolist() == [0, 1, 2, 3, 4, 5]
    del array
    gc.collect()
    data.append(0)


@pytest.mark.parametrize("take", [lambda of: np.from_dlpack(of), lambda of: np.from_dlpack(of.unversioned()),
                                  lambda of: of.__dlpack__(max_version=(1, 0)), lambda of: np.from_dlpack(of["data"])])
def test_a_tensor_of_dlpack_keeps_the_memory_that_its_file_was_opened_from(path, take):
    with libztensor.create(path) as w:
        w.add("a", np.arange(6, dtype="float32"))
    data = bytearray(path.read_bytes())
    taken = take(libztensor.File.open_memory(data)["a"])
    gc.collect()
    with pytest.raises(BufferError):
        data.append(0)
    assert not isinstance(taken, np.ndarray) or taken.tolist() == [0, 1, 2, 3, 4, 5]
    del taken
    gc.collect()
    data.append(0)


def test_a_tensor_of_dlpack_may_outlive_python(path):
    with libztensor.create(path) as w:
        w.add("a", np.arange(6, dtype="float32"))
    ends_last = """if True:
        import ctypes, sys, libztensor
        from libztensor import _component
        capsule = libztensor.File.open_memory(open(sys.argv[1], "rb").read())["a"].__dlpack__(max_version=(1, 0))
        tensor = _component._pointer(id(capsule), b"dltensor_versioned")
        ctypes.pythonapi.PyCapsule_SetName(ctypes.py_object(capsule), b"used_dltensor_versioned")
        # C may free the tensor after Python has ended: the library's own deleter, which does not call Python.
        before = ctypes.c_void_p.from_address(tensor + 16).value
        import atexit
        atexit._run_exitfuncs()
        deleter = ctypes.c_void_p.from_address(tensor + 16).value
        assert deleter != before
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)(tensor)
    """
    subprocess.run([sys.executable, "-c", ends_last, str(path)], check=True)


def test_options_of_urls_are_for_urls():
    with pytest.raises(libztensor.InvalidArgument, match="is not a URL"):
        libztensor.File("a.zt", remote={"retries": 1})


def test_a_batch_reports_how_it_read(path):
    array = np.arange(5 << 20, dtype="int32")
    with libztensor.create(path) as w:
        w.add("large", array)
    for threads, direct in ((1, "never"), (0, "auto"), (2, "never")):
        with libztensor.open(path, mode="read", threads=threads) as f:
            buffer = np.zeros_like(array)
            stats = f.read_batch({"large": buffer}, threads=threads, direct=direct)
            assert (buffer == array).all()
            assert stats["bytes"] == array.nbytes and (direct == "auto" or stats["direct"] == 0)
            f["large"]["data"].read_into(again := bytearray(array.nbytes))
            assert bytes(again) == array.tobytes()
            with pytest.raises(libztensor.InvalidArgument):
                f.read_batch({}, direct="perhaps")


def test_batches_slices_and_progress(path):
    arrays = {f"a{i}": np.arange(1000, dtype="int32") + i for i in range(20)}
    with libztensor.create(path, encoding="zstd", digest="sha256") as w:
        for name, array in arrays.items():
            w.add(name, array.reshape(50, 20))
    with libztensor.open(path) as f, libztensor.open(path, mode="auto") as auto:
        assert f.mode == "map" and auto.mode in ("map", "read")
    with libztensor.open(path, mode="read") as f:
        assert f.mode == "read"
        targets = {name: np.empty((50, 20), "int32") for name in arrays}
        seen = []
        stats = f.read_batch(targets, verify=True, progress=lambda done, total: seen.append((done, total)))
        assert stats["bytes"] == 80000 and stats["digests_verified"] == 20 and seen[-1][0] == seen[-1][1]
        assert all((targets[n].ravel() == arrays[n]).all() for n in arrays)
        assert (f["a3"].read_slice((1, 2), (3, 2), (10, 1)) == arrays["a3"].reshape(50, 20)[1:31:10, 2:4]).all()
        with pytest.raises(libztensor.Cancelled):
            f.verify(lambda done, total: False)
        with pytest.raises(ZeroDivisionError):
            f.verify(lambda done, total: 1 // 0)
        buffer = bytearray(4000)
        f["a1"]["data"].read_into(buffer)
        assert bytes(buffer) == arrays["a1"].tobytes()


def test_failures_are_exceptions(path):
    with pytest.raises(libztensor.Corrupt, match="offset 8 is not a multiple of 64"):
        libztensor.open(DATA / "invalid/offset-align-8.zt")
    with pytest.raises(OSError):
        libztensor.open(path)
    with pytest.raises(libztensor.UnknownContainer):
        libztensor.open(__file__)
    with libztensor.create(path) as w:
        w.add("a", np.zeros(3))
        with pytest.raises(libztensor.Exists):
            w.add("a", np.zeros(3))
    with pytest.raises(RuntimeError), libztensor.append(path) as w:
        w.add("b", np.zeros(3))
        raise RuntimeError
    with libztensor.append(path) as w, libztensor.open(path) as f:
        w.copy(f["a"], "c")
    with libztensor.append(path) as w:
        w.remove_object("a")
        w.add("a", np.ones(3))
        w.rename_object("c", "d")
        w.set_attribute("unit", "m", object="d")
        w.set_attribute("ids", np.array([1, 2], "uint8"), object="d")
        w.remove_attribute("unit", object="d")
        with pytest.raises(KeyError):
            w.remove_object("c")
    with libztensor.open(path) as f:
        assert list(f) == ["d", "a"] and f["d"].attributes == {"ids": [1, 2]} and f["a"].numpy()[0] == 1
    with libztensor.append(path) as w, libztensor.open(path) as f:
        w.copy(f["d"], "c")
        w.remove_object("d")
    f = libztensor.open(path)
    assert list(f) == ["a", "c"] and "b" not in f
    with pytest.raises(KeyError):
        f["b"]
    view = f["a"]
    f.close()
    f.close()
    with pytest.raises(ValueError, match="closed"):
        view.shape
    assert libztensor.repair(path)["objects"] == 2


def test_importing_is_lazy():
    """Functions get their types at the first use, and rarely used modules are imported at the first use."""
    program = ("import sys, numpy\nbefore = set(sys.modules)\nimport libztensor.numpy\nadded = set(sys.modules) - before\n"
               "print(len([name for name in vars(libztensor.lib) if name.startswith('zt_')]), added & {'json', 'subprocess'} or '-')")
    functions, modules = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split()
    assert 0 < int(functions) < 20 and modules == "-"


def test_every_declared_function_is_in_the_library():
    for name in _declarations.FUNCTIONS:
        assert getattr(libztensor.lib, name).argtypes is not None, name
        assert getattr(libztensor.lib, name) is getattr(libztensor.lib, name), name
    with pytest.raises(AttributeError, match="zt_none"):
        libztensor.lib.zt_none
