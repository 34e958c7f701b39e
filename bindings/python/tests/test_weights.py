"""libztensor.numpy: save_file, load_file and safe_open, with the signatures of safetensors."""
import copy
import inspect
import json
import mmap
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import libztensor
from libztensor.numpy import load, load_file, safe_open, save, save_file

DATA = Path(__file__).resolve().parents[3] / "tests/data"
ARRAYS = {"a": np.arange(24, dtype="f4").reshape(4, 6), "b": np.arange(3), "scalar": np.float64(3.5), "empty": np.zeros((0, 3), "i2"),
          "columns": np.asfortranarray(np.arange(15.0).reshape(3, 5)), "big": np.arange(4, dtype=">i4"), "flags": np.array([True, False]),
          "pairs": np.array([1 + 2j], "complex64"), "grüße/日本": np.ones(1, "u1")}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a.zt"
    save_file(ARRAYS, path, metadata={"format": "np", "who": "me"})
    return path


def assert_same(found, expected):
    assert set(found) == set(expected)
    for name, array in expected.items():
        assert found[name].shape == np.shape(array) and found[name].dtype == np.asarray(array).dtype.newbyteorder("="), name
        assert np.array_equal(found[name], array), name


def test_load_file_checks_digests_if_it_is_asked_to(tmp_path):
    file = tmp_path / "a.zt"
    save_file({"a": np.arange(1, 1000, dtype="f4")}, file)
    assert set(load_file(file, verify=True)) == {"a"}
    with libztensor.File.open_model(file) as f:
        offset = f["a"]["data"].offset
    data = bytearray(file.read_bytes())
    data[offset] ^= 1
    file.write_bytes(data)
    assert load_file(file)["a"][0] != 1, "nothing is checked by default"
    with pytest.raises(libztensor.DigestMismatch):
        load_file(file, verify=True)


@pytest.mark.parametrize("mapped", [False, True])
def test_saved_arrays_are_loaded_into_new_memory(path, mapped):
    found = load_file(path, mapped=mapped)
    assert_same(found, ARRAYS)
    found["a"][0, 0] = 99
    assert_same(load_file(path), ARRAYS)


@pytest.mark.skipif(not os.path.exists("/proc/self/smaps"), reason="only Linux has /proc/self/smaps")
def test_mappings_of_load_file_are_read_far_ahead(path):
    found = load_file(path, mapped=True)
    with open("/proc/self/smaps") as maps:
        _, _, mapping = maps.read().partition(str(path))
    flags = next(line for line in mapping.splitlines() if line.startswith("VmFlags:"))
    assert "sr" in flags.split(), flags  # MADV_SEQUENTIAL
    assert_same(found, ARRAYS)


def test_bytes_instead_of_a_file():
    assert_same(load(save(ARRAYS)), ARRAYS)
    with pytest.raises(libztensor.ZTensorError):
        load(b"no file of tensors")


def test_parts_of_tensors(path):
    with safe_open(path, framework="np") as f:
        assert f.keys() == sorted(ARRAYS) and set(f.offset_keys()) == set(ARRAYS)
        assert f.metadata() == {"format": "np", "who": "me"}
        part = f.get_slice("a")
        assert (part.get_shape(), part.get_dtype()) == ([4, 6], "F32")
        for index in [slice(1, 3), (slice(None), slice(1, 5, 2)), 0, (-1, 2), ..., (..., 1), slice(3, 1), (0, ...), slice(-2, None)]:
            assert np.array_equal(part[index], ARRAYS["a"][index]), index
        for index, error in [((0, 0, 0), IndexError), (4, IndexError), (slice(None, None, -1), ValueError), ((..., ...), IndexError)]:
            with pytest.raises(error):
                part[index]
        assert f.get_slice("scalar")[...] == 3.5
        assert np.array_equal(f.get_tensor("b"), ARRAYS["b"])
        with pytest.raises(KeyError, match="none"):
            f.get_tensor("none")
        with pytest.raises(TypeError, match="pickled"):
            pickle.dumps(f)
    for use in (f.keys, f.offset_keys, lambda: f.get_tensor("b"), lambda: f.get_slice("b"), lambda: part[0]):
        with pytest.raises(ValueError, match="closed"):
            use()


def test_all_tensors_of_an_open_file_with_either_backend(path):
    for backend in ("mmap", "pread"):
        assert_same(load_file(path, backend=backend), ARRAYS)
        with safe_open(path, "np", backend=backend) as f:
            assert_same(f.get_tensors(), ARRAYS)
    with pytest.raises(ValueError, match="closed"):
        f.get_tensors()
    for call in (load_file, lambda *a, **k: safe_open(*a, "np", **k)):
        with pytest.raises(libztensor.ZTensorError, match="backend 'ssd' is not one of mmap, pread"):
            call(path, backend="ssd")


def test_tensors_are_listed_once(path):
    """A program that takes all tensors by name does not look any up again."""
    with safe_open(path) as f:
        assert f.keys() == sorted(ARRAYS)
        found = [f._weight(name) for name in ARRAYS]
        assert all(one is f._weight(one.name) for one in found)
        assert [one.offset for one in found] == [libztensor._weights.weight(f._file, name).offset for name in ARRAYS]


def test_every_container_and_models_of_several_files():
    valid, loaded, refused = DATA / "foreign/valid", 0, 0
    for file in sorted(p for p in valid.rglob("*") if p.suffix in (".safetensors", ".gguf", ".npz", ".pt")):
        try:
            found = load_file(file)
        except (libztensor.Unsupported, libztensor.Corrupt, libztensor.NotFound, libztensor.InvalidArgument, libztensor.NoFile):
            refused += 1  # dtypes that NumPy does not have, and incomplete models
            continue
        loaded += 1
        with libztensor.File.open_model(file) as f:
            for name, array in found.items():
                component = next(iter(f[name].values())) if name.isascii() else None
                assert component is None or component.size == array.nbytes, (file, name)
    assert loaded > 50 and loaded > refused, (loaded, refused)
    assert len(load_file(valid / "amber-hf-sharded")) == 12


def test_objects_that_are_not_arrays_are_named(tmp_path):
    sparse = DATA / "v1.2/py-1.2.3-sparse.zt"
    with pytest.raises(libztensor.Unsupported, match="not an array"):
        load_file(sparse)
    with safe_open(sparse) as f, pytest.raises(libztensor.Unsupported, match="sparse_csr"):
        f.get_tensor("csr-z")
    with pytest.raises(FileNotFoundError, match="missing.zt"):
        load_file(tmp_path / "missing.zt")
    with pytest.raises(libztensor.Unsupported, match="have no type in a file"):
        save_file({"a": np.array(["text"])}, tmp_path / "b.zt")
    for metadata in ({"a": 1}, {1: "a"}):
        with pytest.raises(TypeError, match="texts"):
            save_file({}, tmp_path / "b.zt", metadata=metadata)
    assert list(tmp_path.iterdir()) == [], "a failed save leaves no file"


def test_unreadable_tensors_are_named_or_left_out(tmp_path):
    np.savez(tmp_path / "record.npz", rec=np.array([(1, 2.5)], [("i", "<i8"), ("k", "<f8")]), w=np.ones(3, "float32"))
    with pytest.raises(libztensor.Unsupported, match=r"'rec' .*numpy\.\[\('i', '<i8'\)"):
        load_file(tmp_path / "record.npz")
    with pytest.warns(UserWarning, match="'rec'"):
        assert list(load_file(tmp_path / "record.npz", skip_unreadable=True)) == ["w"]
    with safe_open(tmp_path / "record.npz") as opened:
        assert opened.keys() == ["rec", "w"]
        with pytest.raises(libztensor.Unsupported, match="'rec'"):
            opened.get_tensor("rec")


def test_a_failed_save_leaves_the_old_file(path):
    before = path.read_bytes()
    with pytest.raises(libztensor.Unsupported):
        save_file({"a": np.zeros(3), "b": np.array([object()])}, path)
    assert path.read_bytes() == before


def test_blocks_come_as_rows_of_bytes():
    model = next(p for p in sorted((DATA / "foreign/valid").glob("*.gguf")) if _has_blocks(p))
    with libztensor.open(model) as f:
        name, blocks = next((name, obj) for name, obj in f.items() if obj.format.startswith("gguf."))
        found = load_file(model)[name]
        assert found.dtype == np.uint8 and found.shape[:-1] == blocks.shape[:-1]
        assert found.tobytes() == next(iter(blocks.values())).read()


def _has_blocks(path):
    try:
        with libztensor.open(path) as f:
            return any(obj.format.startswith("gguf.") and obj.element_count for obj in f.values())
    except (libztensor.ZTensorError, UnicodeDecodeError):
        return False


def test_many_threads_read_one_file(path):
    with safe_open(path) as f:
        failures = []

        def read():
            try:
                for _ in range(50):
                    assert np.array_equal(f.get_tensor("a"), ARRAYS["a"])
            except BaseException as e:
                failures.append(e)

        threads = [threading.Thread(target=read) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert failures == []


def test_a_sparse_file_of_100_gib(tmp_path):
    """Only the requested bytes are read."""
    path = tmp_path / "large.safetensors"
    size = 100 << 30
    header = b'{"t":{"dtype":"U8","shape":[%d],"data_offsets":[0,%d]}}' % (size, size)
    with path.open("wb") as f:
        f.write(len(header).to_bytes(8, "little") + header)
        f.truncate(8 + len(header) + size)
    with safe_open(path) as f:
        assert f.get_slice("t").get_shape() == [size]
        assert not f.get_slice("t")[size - 5:].any()


@pytest.mark.parametrize("dtype, rest", [("f4", 8), ("f4", 4), ("u1", 1)])
def test_a_mapped_tensor_is_borrowed_if_its_elements_are_aligned(tmp_path, dtype, rest):
    """1 TiB is too large for a copy."""
    path, size = tmp_path / "large.safetensors", 1 << 40
    count = size // np.dtype(dtype).itemsize
    header = json.dumps({"t": {"dtype": {"f4": "F32", "u1": "U8"}[dtype], "shape": [count], "data_offsets": [0, size]}}).encode()
    header += b" " * ((rest - 8 - len(header)) % 64)
    try:
        with open(path, "wb") as file:
            file.write(len(header).to_bytes(8, "little") + header)
            file.truncate(8 + len(header) + size)
            file.seek(-4, os.SEEK_END)
            file.write(b"\1\1\1\1")
    except OSError as why:
        pytest.skip(f"cannot make a file of 1 TiB: {why}")
    for mode, writable in [("map", False), ("private", True)]:
        with libztensor.open(path, mode=mode) as f:
            taken = [f["t"].numpy(), f["t"]["data"].numpy(threads=2, verify=True)]
        for array in taken:
            assert array.ctypes.data % 64 == rest and array.flags.writeable == writable
            assert array.shape == (count,) and array[-1].tobytes()[-1] == 1, "the array stays valid after the file is closed"


def test_a_borrowed_tensor_is_verified(tmp_path):
    path = tmp_path / "a.zt"
    with libztensor.create(path, digest="crc32c") as w:
        w.add("x", np.arange(4096, dtype="f4"))
    with libztensor.open(path) as f:
        offset, seen = f["x"]["data"].offset, []
        f["x"].numpy(verify=True, progress=lambda done, total: seen.append((done, total)))
        assert seen and seen[-1] == (16384, 16384)
        with pytest.raises(libztensor.Cancelled):
            f["x"].numpy(verify=True, progress=lambda done, total: False)
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(b"\7")
    with libztensor.open(path) as f:
        assert f["x"].numpy()[1] == 1
        with pytest.raises(libztensor.DigestMismatch):
            f["x"].numpy(verify=True)


def test_the_signatures_are_those_of_safetensors():
    expected = {save_file: ["tensor_dict", "filename", "metadata"], save: ["tensor_dict", "metadata"], load_file: ["filename"],
                load: ["data"], safe_open: ["filename", "framework", "device"]}
    from libztensor import safe_open as of_package  # like safetensors, and does not import NumPy earlier
    assert of_package is safe_open
    code = "import sys, libztensor; assert 'numpy' not in sys.modules; assert not hasattr(libztensor, 'nothing')"
    subprocess.run([sys.executable, "-c", code], check=True)
    for function, names in expected.items():
        given = inspect.signature(function).parameters
        assert [name for name, one in given.items() if one.kind is not inspect.Parameter.KEYWORD_ONLY] == names
        assert function.__doc__


def test_open_objects_cannot_be_pickled_or_copied(tmp_path):
    path = tmp_path / "a.zt"
    with libztensor.create(path) as w:
        w.add("x", np.arange(4.0), attributes={"unit": "m"})
        for make in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="Writer cannot be pickled or copied: pickle the path"):
                make(w)
    with libztensor.open(path) as f, safe_open(path, "np") as opened:
        object = f["x"]
        refused = [f, object, object["data"], opened, opened.get_slice("x")]
        for one in refused:
            for make in (pickle.dumps, copy.copy, copy.deepcopy):
                with pytest.raises(TypeError, match="cannot be pickled or copied"):
                    make(one)
        array = object.numpy()
    assert np.array_equal(pickle.loads(pickle.dumps(array)), np.arange(4.0)), "an array can be pickled"


def test_a_sparse_file_of_100_gib_is_read_in_parts(tmp_path):
    path, size = tmp_path / "sparse.safetensors", 100 << 30
    rows = size // 4096
    header = json.dumps({"big": {"dtype": "F32", "shape": [rows, 1024], "data_offsets": [0, size]}}).encode()
    header += b" " * (-(8 + len(header)) % 64)  # so that the library can borrow the mapped bytes
    last = np.arange(1024, dtype="f4")
    try:
        with open(path, "wb") as file:
            file.write(len(header).to_bytes(8, "little") + header)
            file.truncate(8 + len(header) + size)
            file.seek(-4096, os.SEEK_END)
            file.write(last.tobytes())
    except OSError as why:
        pytest.skip(f"cannot make a file of 100 GiB: {why}")
    with safe_open(path, "np") as f:
        part = f.get_slice("big")
        assert part.get_shape() == [rows, 1024]
        assert np.array_equal(part[rows - 1], last) and not part[rows // 2, :8].any()
        found = [None] * 8

        def read(at):
            found[at] = part[rows - 1 - at:, -1].max()

        threads = [threading.Thread(target=read, args=[at]) for at in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert found == [1023] * 8
    with libztensor.open(path) as f:
        assert f["big"].numpy()[-1, -1] == 1023, "the tensor is mapped"


def test_a_list_of_indices_is_not_a_slice(tmp_path):
    save_file({"a": np.arange(6.0)}, tmp_path / "a.zt")
    with safe_open(tmp_path / "a.zt", "np") as f, pytest.raises(TypeError, match=r"not \[0, 1\]"):
        f.get_slice("a")[[0, 1]]


def test_the_repr_describes_open_files(path):
    with libztensor.open(path) as f, safe_open(path, "np") as opened:
        held = [f, opened, f["a"], f["a"]["data"], opened.get_slice("a")]
        assert [repr(one) for one in held] == [
            f"<File {str(path)!r}: zTensor 1.2, 9 objects>", f"<Opened {str(path)!r}: zTensor 1.2, 9 objects>",
            "<Object 'a': dense (4, 6)>", "<Component 'data': f32, raw>", "<Slice of 'a': F32 (4, 6)>"]
    assert [repr(one) for one in held[:4]] == [f"<{kind}: the file is closed>" for kind in ("File", "Opened", "Object", "Component")]
    with libztensor.File.open_memory(path.read_bytes()) as f:
        assert repr(f) == "<File zTensor 1.2, 9 objects>"


def test_bytes_of_any_kind_are_a_file_in_memory(path):
    data = path.read_bytes()
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        for given in (data, bytearray(data), memoryview(data), mapped, np.frombuffer(data, "u1")):
            assert_same(load(given), ARRAYS)
        del given
    with pytest.raises(TypeError, match="bytes-like"):
        load(str(path))
    with pytest.raises(libztensor.UnknownContainer):
        load(b"")


def test_a_tensor_of_an_unknown_encoding_is_listed():
    for name in ("encoding-lz4", "encoding-empty", "v0.1-encoding-unknown"):
        with safe_open(DATA / f"invalid/{name}.zt", "np") as f:
            names = list(f.keys())
            assert names
            with pytest.raises(libztensor.ZTensorError):
                f.get_tensor(names[0])


def test_names_are_texts(path):
    for use in (lambda f: f[3], lambda f: f["a"][3], lambda f: safe_open(path).get_tensor(3), lambda f: save({1: np.zeros(1)})):
        with libztensor.open(path) as f, pytest.raises(TypeError, match="a name must be a text, not [13]"):
            use(f)
    with pytest.raises(ValueError, match="expected a dict"):
        save_file([np.zeros(1)], path)


def test_elements_of_an_unknown_type_are_not_decoded():
    path = DATA / "v1.2/py-1.2.3-unknown-type.zt"
    with safe_open(path) as f:
        made, part = f.get_tensor("i4x2"), f.get_slice("i4x2")
        with pytest.raises(libztensor.Unsupported, match="cannot be separated"):
            part[1:3]
    with libztensor.open(path) as f:
        assert made.dtype == np.uint8 and made.size == 5 and made.tobytes() == f["i4x2"]["data"].read()
