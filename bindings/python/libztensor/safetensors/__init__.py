"""Replaces safetensors in programs that import it:

    python -m libztensor.safetensors PROGRAM ...        or -m MODULE ...

or, before the first import of safetensors, ``import libztensor.safetensors;
libztensor.safetensors.install()``. Then ``safetensors``, ``safetensors.numpy`` and ``safetensors.torch`` are
the modules of this package. They read files of every container that libztensor opens. They always write
.safetensors files, whatever the file name. The real package does not have to be installed.
"""

from __future__ import annotations

import ctypes
import operator
import os
import sys
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from .. import _safetensors, _weights
from .._elements import LONG, PAIRS
from .._file import File
from .._library import ZTensorError as SafetensorError
from ..numpy import _framework

__version__ = "0.8.0"  # the release that this module imitates
__all__ = ["SafetensorError", "TensorSpec", "deserialize", "safe_open", "serialize", "serialize_file"]

_TYPES = {LONG[name]: name for name in (*_safetensors.NAMES, PAIRS) if name in LONG and name != "f4_e2m1"}


class safe_open(_weights.Opened):
    """Opens one file to read single tensors or parts: keys(), get_tensor(name), get_slice(name)[...].

    framework: "np" or "pt". backend: "pread" reads PyTorch tensors into new memory, "mmap" leaves them in the
    mapped file."""

    def __init__(self, filename: Union[str, os.PathLike[str]], framework: str, device: Union[str, int, None] = "cpu", *,
                 backend: str = "mmap") -> None:
        super().__init__(filename, *_framework(framework, device, backend), part=True)


def _safe_open_handle(f: Any, framework: str, device: Union[str, int, None] = "cpu", *, backend: str = "mmap") -> safe_open:
    """Opens a file by the name of an open file."""
    f.fileno()
    return safe_open(f.name, framework, device, backend=backend)


class TensorSpec:
    """A tensor for serialize: data_len bytes at the address data_ptr, which must be valid until serialize
    returns. dtype is a name such as "float32". shape counts elements of that type. The attributes have the
    file's form: dtype is "F32", and float4_e2m1fn_x2 counts 4-bit floats."""

    __slots__ = ("_type", "data_len", "data_ptr", "dtype", "shape")

    def __init__(self, *, dtype: str, shape: Sequence[int], data_ptr: int, data_len: int) -> None:
        if dtype not in _TYPES:
            raise SafetensorError(f"dtype {dtype!r} is not one of {', '.join(sorted(_TYPES))}")
        self._type, self.shape = _TYPES[dtype], [int(operator.index(size)) for size in shape]
        if any(size < 0 for size in self.shape):
            raise SafetensorError(f"the shape {self.shape} has a negative size")
        if self._type == PAIRS:
            self._type, self.shape[-1:] = "f4_e2m1", [size * 2 for size in self.shape[-1:]]
        self.dtype: str = _safetensors.NAMES[self._type]
        self.data_ptr, self.data_len = data_ptr, data_len

    def __repr__(self) -> str:
        return f"TensorSpec(dtype={self.dtype!r}, shape={self.shape}, data_ptr={self.data_ptr}, data_len={self.data_len})"

    def _to_write(self, name: str) -> _weights.ToWrite:
        expected = _safetensors.size_of(self._type, self.shape)
        if self.data_len != expected:
            raise SafetensorError(f"{name!r} has {self.data_len} bytes, and {self.dtype} of the shape {self.shape} has {expected}")
        return _weights.ToWrite(name, tuple(self.shape), self._type, self.data_len, lambda: (None, self.data_ptr))


def serialize(tensor_dict: Dict[str, TensorSpec], metadata: Optional[Dict[str, str]] = None) -> bytes:
    """The bytes of a .safetensors file."""
    return _weights.save(_to_write(tensor_dict), None, metadata, "safetensors")  # type: ignore[return-value]


def serialize_file(tensor_dict: Dict[str, TensorSpec], filename: Union[str, os.PathLike[str]],
                   metadata: Optional[Dict[str, str]] = None) -> None:
    """Writes a .safetensors file, which appears complete or not at all."""
    _weights.save(_to_write(tensor_dict), filename, metadata, "safetensors")


def _to_write(tensor_dict: Dict[str, TensorSpec]) -> List[_weights.ToWrite]:
    for name, spec in tensor_dict.items():
        if not isinstance(spec, TensorSpec):
            raise TypeError(f"{name!r} is not a TensorSpec, but {type(spec)}")
    return [spec._to_write(name) for name, spec in tensor_dict.items()]


def deserialize(bytes: bytes) -> List[Tuple[str, Dict[str, Any]]]:
    """The tensors of a file in memory, in the file's order: (name, {"shape": [2, 3], "dtype": "F32", "data":
    bytearray})."""
    with File.open_memory(bytes) as file:
        found = sorted(_weights.weights(file), key=_weights.file_order)
        for of in found:
            _weights.check_readable(of)
        data = [bytearray(of.size) for of in found]
        memory = [(ctypes.c_char * of.size).from_buffer(to) for of, to in zip(found, data)]
        wanted = [(of, ctypes.addressof(to), of.size, None) for of, to in zip(found, memory) if of.size]
        _weights.read_into(file, wanted)
        return [(of.name, {"shape": of.file_shape, "dtype": of.file_type, "data": to}) for of, to in zip(found, data)]


def install() -> None:
    """Replaces safetensors by this package for later imports, in this process and those that it starts.
    Raises RuntimeError if safetensors was imported before."""
    folder = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "_standin")
    loaded = sys.modules.get("safetensors")
    if loaded is not None and os.path.dirname(os.path.dirname(loaded.__file__ or "")) != folder:
        raise RuntimeError(f"safetensors was imported already, from {loaded.__file__}: call install() before that")
    sys.path[:] = [folder, *(place for place in sys.path if place != folder)]
    inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if folder not in inherited:
        os.environ["PYTHONPATH"] = os.pathsep.join([folder, *filter(None, inherited)])
