"""libztensor.safetensors in place of safetensors: each reads the other's files, the bytes are the same, and
programs cannot tell the two apart."""
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import libztensor
import libztensor.safetensors as own
import libztensor.safetensors.numpy as own_numpy

ml_dtypes = pytest.importorskip("ml_dtypes")
reference = pytest.importorskip("safetensors")
reference_numpy = pytest.importorskip("safetensors.numpy")

DATA = Path(__file__).resolve().parents[3] / "tests/data"
TYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64", "bfloat16",
         "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "complex64"]


def arrays(seed):
    """Arrays of every type: empty, scalar, and with many dimensions."""
    chance, made = random.Random(seed), {}
    for at, name in enumerate(TYPES * 2):
        dtype = np.dtype(getattr(ml_dtypes, name, name))
        shape = tuple(chance.choice([0, 1, 2, 3, 8]) for _ in range(chance.randrange(5)))
        data = bytes(chance.randrange(2) for _ in range(int(np.prod(shape, dtype=int)) * dtype.itemsize))
        made[f"{chance.choice(['', 'ü', 'a.b', chr(34)])}{at}"] = np.frombuffer(data, dtype).reshape(shape)
    return made


def specs(package, state):
    return {name: package.TensorSpec(dtype=array.dtype.name, shape=array.shape, data_ptr=array.ctypes.data, data_len=array.nbytes)
            for name, array in state.items()}


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("metadata", [None, {}, {"format": "pt"}])
def test_serialize_and_deserialize_equal_those_of_safetensors(tmp_path, seed, metadata):
    state = arrays(seed)
    made = own.serialize(specs(own, state), metadata)
    assert made == reference.serialize(specs(reference, state), metadata)
    path = tmp_path / "any.name"
    own.serialize_file(specs(own, state), path, metadata)
    assert path.read_bytes() == made
    found, expected = own.deserialize(made), dict(reference.deserialize(made))
    assert dict(found) == expected and len(found) == len(expected)
    with reference.safe_open(path, "np") as f, own.safe_open(path, "np") as g:
        assert [name for name, _ in found] == g.offset_keys()
        # safetensors does not keep the order of empty tensors at the same position.
        assert [expected[name]["data"] for name in g.offset_keys()] == [expected[name]["data"] for name in f.offset_keys()]
        assert (g.keys(), g.metadata()) == (f.keys(), f.metadata())
        for name in g.keys():
            assert g.get_slice(name).get_shape() == f.get_slice(name).get_shape()
            assert g.get_slice(name).get_dtype() == f.get_slice(name).get_dtype()


@pytest.mark.parametrize("seed", range(20))
def test_tensors_and_parts_are_those_of_safetensors(tmp_path, seed):
    chance = random.Random(seed)
    state = {name: array for name, array in arrays(seed).items() if array.dtype.isbuiltin == 1}
    path = tmp_path / "a.safetensors"
    own_numpy.save_file(state, path)
    assert path.read_bytes() == reference_numpy.save(state) == own_numpy.save(state)

    def part(size):
        first, last = sorted(chance.randrange(size + 1) for _ in range(2))
        return chance.choice([slice(None), slice(first, last), slice(None, last), slice(first, None, 2)])

    with reference.safe_open(path, "np") as f, own.safe_open(path, "np") as g:
        for name, array in state.items():
            same(g.get_tensor(name), f.get_tensor(name))
            if array.ndim and array.size:
                index = tuple(part(size) for size in array.shape)
                same(g.get_slice(name)[index], array[index])
                if all(array[index].shape):  # safetensors rejects the others
                    same(g.get_slice(name)[index], f.get_slice(name)[index])
    for backend in ("mmap", "pread"):
        found, expected = own_numpy.load_file(path, backend=backend), reference_numpy.load_file(path, backend=backend)
        assert set(found) == set(expected)
        for name in found:
            same(found[name], expected[name])


def same(found, expected):
    assert (found.dtype, found.shape, found.tobytes()) == (expected.dtype, expected.shape, expected.tobytes())
    assert found.flags.writeable


@pytest.mark.parametrize("dtype, shape", [("float32", (2, 3)), ("bool", ()), ("float4_e2m1fn_x2", (2, 3)), ("float8_e8m0fnu", (0,))])
def test_a_spec_equals_that_of_safetensors(dtype, shape):
    given = {"dtype": dtype, "shape": shape, "data_ptr": 4096, "data_len": 24}
    found, expected = own.TensorSpec(**given), reference.TensorSpec(**given)
    for name in ("dtype", "shape", "data_ptr", "data_len"):
        assert getattr(found, name) == getattr(expected, name)
    assert repr(found) == repr(expected)


def outcome(call):
    """The name of the exception that a call raises."""
    try:
        call()
    except Exception as why:
        return why
    return None


@pytest.mark.parametrize("data", [b"", b"\x02\0\0\0\0\0\0\0{", b"\xff" * 16, b'\x02\0\0\0\0\0\0\0[]', b'\x02\0\0\0\0\0\0\0{}!',
                                  b'\x3c\0\0\0\0\0\0\0{"a":{"dtype":"F32","shape":[9],"data_offsets":[0,4]}}    ' + bytes(9),
                                  b'\x3c\0\0\0\0\0\0\0{"a":{"dtype":"X32","shape":[1],"data_offsets":[0,4]}}    ' + bytes(4)])
def test_wrong_files_are_a_safetensor_error(tmp_path, data):
    path = tmp_path / "a.safetensors"
    path.write_bytes(data)
    for package in (own, reference):
        calls = [lambda: package.deserialize(data), lambda: [*map(package.safe_open(path, "np").get_tensor, "a")]]
        for call in calls:
            why = outcome(call)
            assert isinstance(why, package.SafetensorError) or not data and isinstance(why, OSError) and package is reference, why


def test_wrong_calls_raise_the_exceptions_of_safetensors(tmp_path):
    path = tmp_path / "a.safetensors"
    array = np.arange(6, dtype="f4").reshape(2, 3)
    reference_numpy.save_file({"a": array}, path)
    given = {"dtype": "float32", "shape": (2, 3), "data_ptr": array.ctypes.data, "data_len": 24}

    def closed(package):
        with package.safe_open(path, "np") as f:
            pass
        f.keys()

    calls = [(lambda p: p.safe_open(tmp_path / "none", "np"), FileNotFoundError), (lambda p: p.safe_open(path, "numpie"), "SafetensorError"),
             (lambda p: p.safe_open(path), TypeError), (lambda p: p.safe_open(path, "np", backend="ssd"), "SafetensorError"),
             (lambda p: p.safe_open(path, "np").get_tensor("none"), "SafetensorError"), (closed, "SafetensorError"),
             (lambda p: p.TensorSpec(**{**given, "dtype": "f32"}), "SafetensorError"), (lambda p: p.serialize({"a": given}), TypeError),
             (lambda p: p.serialize({"a": p.TensorSpec(**{**given, "data_len": 20})}), "SafetensorError")]
    for call, expected in calls:
        for package in (own, reference):
            kind = package.SafetensorError if expected == "SafetensorError" else expected
            assert isinstance(outcome(lambda: call(package)), kind), (package, expected, outcome(lambda: call(package)))


def test_a_part_of_a_model_can_be_opened_as_a_file(tmp_path):
    names = [f"model-0000{at}-of-00002.safetensors" for at in (1, 2)]
    for at, name in enumerate(names):
        own_numpy.save_file({f"w{at}": np.full(3, at)}, tmp_path / name)
    (tmp_path / "model.safetensors.index.json").write_text('{"metadata":{"total_size":48},"weight_map":{"w0":"%s","w1":"%s"}}' % tuple(names))
    assert sorted(libztensor.numpy.load_file(tmp_path / names[0])) == ["w0", "w1"]
    assert list(libztensor.numpy.load_file(tmp_path / names[1], part=True)) == ["w1"]
    assert list(own_numpy.load_file(tmp_path / names[0])) == ["w0"]
    with own.safe_open(tmp_path / names[1], "np") as f:
        assert f.keys() == ["w1"]


def test_files_of_other_containers_are_opened_by_the_same_call(tmp_path):
    state = {"a": np.arange(12, dtype="f4").reshape(3, 4), "b": np.arange(3)}
    libztensor.numpy.save_file(state, tmp_path / "a.zt", {"who": "me"})
    np.savez(tmp_path / "a.npz", **state)
    for name, metadata in (("a.zt", {"who": "me"}), ("a.npz", None)):
        with own.safe_open(tmp_path / name, "np") as f:
            assert f.keys() == ["a", "b"] and f.metadata() == metadata
            same(f.get_tensor("b"), state["b"])
            same(f.get_slice("a")[1:, :2], state["a"][1:, :2])
    opened = 0
    for path in sorted(DATA.rglob("*")):
        if path.suffix not in (".gguf", ".pt", ".pth") or "invalid" in path.parts or outcome(lambda: libztensor.open(path).close()):
            continue
        with own.safe_open(path, "np") as f, libztensor.open(path) as g:
            assert set(f.keys()) <= set(g), path
            opened += bool(f.keys())
    assert opened > 1


PROGRAM = """
import importlib.metadata, importlib.util, subprocess, sys, pathlib, numpy
import safetensors, safetensors.numpy
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save_file
assert safe_open.__module__ == load_file.__module__.rpartition(".")[0] == "libztensor.safetensors", (safe_open, load_file)
assert importlib.metadata.version("safetensors") == safetensors.__version__ == "0.8.0"
assert importlib.util.find_spec("safetensors") and importlib.util.find_spec("safetensors.torch")
assert importlib.util.find_spec("_safetensors_rust") is None
import libztensor.safetensors.numpy
assert safetensors.numpy is libztensor.safetensors.numpy and SafetensorError is libztensor.ZTensorError
save_file({"a": numpy.arange(3)}, sys.argv[1])
found = subprocess.run([sys.executable, "-c", "import safetensors; print(safetensors.safe_open.__module__)"], capture_output=True, text=True)
assert found.stdout == "libztensor.safetensors\\n", found
print(__name__, load_file(sys.argv[1])["a"].tolist(), sys.argv[2:], pathlib.Path(sys.path[1]).name)
"""


def python(*arguments, path, cwd):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))}
    found = subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, env=environment, cwd=cwd)
    assert found.returncode == 0, found.stderr
    return found.stdout


@pytest.fixture(params=["with safetensors", "without"])
def packages(request, tmp_path):
    """The search path for libztensor and NumPy, with or without safetensors."""
    package = Path(libztensor.__file__).parents[1]
    site = Path(np.__file__).parents[1]
    if request.param == "with safetensors":
        return [package, site, Path(reference.__file__).parents[1]]
    chosen = tmp_path / "packages"
    chosen.mkdir()
    for one in site.glob("numpy*"):
        (chosen / one.name).symlink_to(one)
    return [package, chosen]


def test_programs_import_it_instead_of_safetensors(tmp_path, packages):
    folder = tmp_path / "its folder"
    folder.mkdir()
    (folder / "program.py").write_text(PROGRAM)
    arguments = [tmp_path / "a.safetensors", "-m", "x"]
    isolated = [] if len(packages) == 3 else ["-S"]  # search only PYTHONPATH
    printed = python(*isolated, "-m", "libztensor.safetensors", folder / "program.py", *arguments, path=packages, cwd=tmp_path)
    assert printed == "__main__ [0, 1, 2] ['-m', 'x'] its folder\n"
    printed = python(*isolated, "-m", "libztensor.safetensors", "-m", "program", *arguments, path=packages, cwd=folder)
    assert printed == "__main__ [0, 1, 2] ['-m', 'x'] its folder\n"
    installed = "import sys; sys.argv[1:1] = []; import libztensor.safetensors; libztensor.safetensors.install()\n" + PROGRAM
    assert "[0, 1, 2]" in python(*isolated, "-c", installed, *arguments, path=packages, cwd=tmp_path)
    outer = "import subprocess, sys; subprocess.run([sys.executable, *sys.argv[1:]], check=True)"
    (folder / "outer.py").write_text(outer)
    again = [*isolated, "-m", "libztensor.safetensors", folder / "program.py", *arguments]
    printed = python(*isolated, "-m", "libztensor.safetensors", folder / "outer.py", *again, path=packages, cwd=tmp_path)
    assert printed == "__main__ [0, 1, 2] ['-m', 'x'] its folder\n", "a program that starts the module again"
    refused = "import safetensors, libztensor.safetensors\ntry: libztensor.safetensors.install()\nexcept RuntimeError as e: print(e)"
    if len(packages) == 3:
        assert "imported already" in python("-c", refused, path=packages, cwd=tmp_path)


def test_a_command_line_without_a_program_prints_the_usage(tmp_path):
    for arguments in ([], ["-m"], ["--help"]):
        found = subprocess.run([sys.executable, "-m", "libztensor.safetensors", *arguments], capture_output=True, text=True)
        assert found.returncode == 1 and "usage: python -m libztensor.safetensors PROGRAM" in found.stderr


def test_shapes_of_other_numbers_are_rejected():
    array = np.zeros(6, "float32")
    for shape, error in (([2.0, 3.0], TypeError), ([-2, -3], own.SafetensorError)):
        with pytest.raises(error):
            own.TensorSpec(dtype="float32", shape=shape, data_ptr=array.ctypes.data, data_len=array.nbytes)
