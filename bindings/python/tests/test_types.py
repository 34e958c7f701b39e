"""Type checkers know the complete public interface: every parameter and result, including the types of list
items."""
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import libztensor
import libztensor._weights
import libztensor.gguf
import libztensor.numpy
import libztensor.safetensors
import libztensor.safetensors.numpy

BARE = re.compile(r"\b(dict|list|tuple|Dict|List|Tuple|Iterable|Iterator|Mapping|Callable|PathLike)\b(?!\[)")


def of(owner, names):
    """(name, annotations or None) of functions, methods and properties."""
    for name in names:
        found = inspect.getattr_static(owner, name)
        if isinstance(found, (staticmethod, classmethod)):
            found = found.__func__
        if isinstance(found, property):
            declared = owner.__annotations__.get(name)
            yield f"{owner.__name__}.{name}", [declared] if declared else of_function(found.fget)
        elif inspect.isfunction(found):
            yield f"{owner.__name__}.{name}", of_function(found)


def of_function(function):
    parameters = inspect.signature(function).parameters.values()
    return [one.annotation for one in parameters if one.name not in ("self", "cls")] + [function.__annotations__.get("return")]


def public():
    # it is defined in libztensor.numpy
    yield from of(libztensor, [name for name in libztensor.__all__ if name != "safe_open"])
    yield from of(libztensor.numpy, [name for name in libztensor.numpy.__all__ if name != "SafetensorError"])
    standin = libztensor.safetensors
    yield from of(standin, ["deserialize", "install", "serialize", "serialize_file"])
    yield from of(standin.numpy, ["load", "load_file", "save", "save_file"])
    classes = [one for one in map(vars(libztensor).get, libztensor.__all__) if inspect.isclass(one)]
    readers = [vars(libztensor.gguf)[name] for name in ("GGUFReader", "ReaderField", "ReaderTensor")]
    for one in (*classes, libztensor._weights.Opened, libztensor._weights.Slice, standin.safe_open, standin.TensorSpec, *readers):
        yield from of(one, [name for name in vars(one) if re.fullmatch(r"[a-z].*|__(getitem|iter|len|dlpack|dlpack_device)__", name)
                            and not hasattr(tuple, name)])
        yield from of(one, ["__init__"] if "__init__" in vars(one) and not issubclass(one, tuple) else [])
        for field, annotation in vars(one).get("__annotations__", {}).items():
            yield f"{one.__name__}.{field}", [getattr(annotation, "__forward_arg__", annotation)]


@pytest.mark.parametrize("name, annotations", public(), ids=lambda one: one if isinstance(one, str) else "")
def test_the_public_interface_has_types(name, annotations):
    for one in annotations:
        assert isinstance(one, str), "an annotation is missing"
        assert not BARE.search(one), one


def test_the_public_interface_has_docs():
    for name in libztensor.__all__:
        found = getattr(libztensor, name)
        if callable(found):
            assert (found.__doc__ or "").strip(), name


def test_type_checkers_know_the_error_classes():
    source = inspect.getsource(libztensor._library)
    failures = [one for one in map(vars(libztensor).get, libztensor.__all__) if inspect.isclass(one) and issubclass(one, Exception)]
    assert len(failures) == 19
    for one in failures:
        assert f"class {one.__name__}(" in source and (one.__module__, one.__qualname__) == ("libztensor", one.__name__)


SAMPLE = """
from pathlib import Path
from typing import Any, Dict, List, Optional

import libztensor
from libztensor import safe_open
from libztensor.gguf import GGUFReader, ReaderField
from libztensor.numpy import load_file, save_file
from libztensor.safetensors import SafetensorError, TensorSpec, deserialize, serialize
from libztensor.safetensors.numpy import save


def use(path: Path) -> Dict[str, Any]:
    with libztensor.create(path, digest="crc32c") as writer:
        writer.add("a", [1.0], attributes={"unit": "m"})
    with libztensor.open(path) as file:
        shape: List[int] = list(file["a"].shape)
        sizes = [info.stored_size + 1 for info in file.components()]
    try:
        with safe_open(path, framework="np") as f:
            names: List[str] = f.keys()
            metadata: Optional[Dict[str, str]] = f.metadata()
            part = f.get_slice(names[0])[0:1]
    except SafetensorError as why:
        print(why.rule + why)  # WRONG
    data: bytes = serialize({"a": TensorSpec(dtype="float32", shape=[1], data_ptr=1, data_len=4)})
    field: Optional[ReaderField] = GGUFReader(path).get_field("a")
    libztensor.open(5)  # WRONG
    save_file(load_file(path), path, {"a": 1})  # WRONG
    save({}, path)  # WRONG
    print(deserialize(data)[0][1]["shape"], field.name)  # WRONG
    print(shape, sizes, metadata, part)
    return load_file(path)
"""


def test_a_strict_type_checker_accepts_right_and_rejects_wrong_calls(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "sample.py").write_text(SAMPLE)
    environment = {**os.environ, "MYPYPATH": str(Path(libztensor.__file__).parents[1])}
    arguments = ["--strict", "--follow-imports=silent", "--no-error-summary", "--cache-dir", "cache", "sample.py"]
    found = subprocess.run([sys.executable, "-m", "mypy", *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True)
    wrong = {number for number, line in enumerate(SAMPLE.splitlines(), 1) if "# WRONG" in line}
    assert {int(line.split(":")[1]) for line in found.stdout.splitlines() if ": error:" in line} == wrong, found.stdout + found.stderr
