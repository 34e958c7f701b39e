"""NumPy arrays in a file, in two functions. The signatures are those of safetensors.numpy:

    from libztensor.numpy import load_file, save_file

    save_file({"weight": numpy.zeros((2, 3), "float32")}, "model.zt")
    arrays = load_file("model.zt")

load_file reads a file of any container that libztensor opens, or a model of several files. save_file writes a
.zt or a .safetensors file, as the end of its name selects. bf16 and the 8-bit floats need the package
ml_dtypes.
"""

from __future__ import annotations

import math
import os
from typing import Any, Dict, Optional, Union

import numpy

from . import _weights
from ._elements import FOUR, PAIRS, array, element_name, numpy_dtype, stored
from ._file import File
from ._library import ZTensorError as SafetensorError
from ._weights import Opened

__all__ = ["SafetensorError", "load", "load_file", "safe_open", "save", "save_file"]


def _dtype(type: str):
    """The dtype of elements. 4-bit floats become bytes of two."""
    return numpy_dtype("u8" if type in (PAIRS, "f4_e2m1") else type)


class _NumPy:
    """Makes arrays."""

    any_index = False  # Slice supports integers and slices

    @staticmethod
    def empty(shape, type):
        made = numpy.empty(shape, _dtype(type))
        return made, made.ctypes.data, made.nbytes

    @staticmethod
    def fits(of) -> bool:
        return math.prod(of.shape) * _dtype(of.type).itemsize == of.size

    @staticmethod
    def over(part, of):
        start = _weights.ctypes.addressof(part) + of.offset
        return array(part, start, of.size, False, _dtype(of.type), of.shape)

    @staticmethod
    def finished(made):
        return made

    @staticmethod
    def four(of):
        return of.numpy(dtype=FOUR)

    @staticmethod
    def uploads(wanted) -> bool:
        return False


def save_file(tensor_dict: Dict[str, Any], filename: Union[str, os.PathLike[str]], metadata: Optional[Dict[str, str]] = None, *,
              container: Optional[str] = None) -> None:
    """Writes arrays to a file, which appears complete or not at all. The end of its name selects .zt or
    .safetensors.

    tensor_dict: {name: array}. Arrays that are not contiguous are copied first. metadata: texts, which become
    attributes of the file. container: "zt" or "safetensors", for other names."""
    _weights.container_of(filename, container)
    _weights.save(_to_write(tensor_dict), filename, metadata, container)


def save(tensor_dict: Dict[str, Any], metadata: Optional[Dict[str, str]] = None, *, container: str = "zt") -> bytes:
    """Returns what save_file writes as bytes: a .zt file, unless container is "safetensors"."""
    return _weights.save(_to_write(tensor_dict), None, metadata, container)


def _to_write(tensor_dict) -> list:
    if not isinstance(tensor_dict, dict):
        raise ValueError(f"expected a dict of names and arrays, not {type(tensor_dict)}")

    def one(name, array):
        kind = element_name(array.dtype)

        def make():
            made = stored(array)
            return made, made.ctypes.data

        return _weights.ToWrite(name, array.shape, kind, (array.size + 1) // 2 if kind == FOUR else array.nbytes, make)

    return [one(name, numpy.asarray(given)) for name, given in tensor_dict.items()]


def load_file(filename: Union[str, os.PathLike[str]], *, mapped: bool = False, backend: str = "mmap",
              skip_unreadable: bool = False, dtype: Any = None, part: bool = False, verify: bool = False) -> Dict[str, Any]:
    """All tensors of a file or a model, by name, as new arrays.

    dtype: float64, float32, float16 or bfloat16, as a name or as a dtype. All floats, blocks, groups and
    sparse objects become numbers of that dtype, decoded straight into the new arrays. So does a weight that a
    tool quantized to several tensors. Integers, bools and complex numbers keep their type.

    mapped: leave the bytes in the mapped file. Writing to an array does not change the file. The file must
    not be truncated while an array exists. backend: "mmap" or "pread", which give the same arrays. Blocks of
    quantized numbers are rows of bytes. A tensor that cannot be read, such as one with an unknown type, is an
    error; skip_unreadable leaves it out with a warning. part: read only this file, even if it is a part of a
    model. verify: first check the
    digest of every tensor that has one."""
    return _weights.load_file(filename, _NumPy, _weights.is_mapped(backend) and mapped, skip_unreadable, dtype, part, verify)


def load(data: bytes, *, skip_unreadable: bool = False, dtype: Any = None) -> Dict[str, Any]:
    """All tensors of a result of save, or of any file in memory. skip_unreadable, dtype: as for load_file, but
    without config.json, which quantized weights of most tools need."""
    with File.open_memory(data, combine=dtype is not None) as file:
        return _weights.load(file, _NumPy, None, skip_unreadable, dtype)


def _framework(name: str, device: Any, backend: str) -> tuple:
    """The class that makes tensors of a framework, and whether they may be in the mapped file."""
    is_mapped = _weights.is_mapped(backend)
    if name in ("pt", "torch", "pytorch"):
        from . import torch

        made = torch._Torch(device)
        return made, is_mapped and made.on_cpu
    if name not in ("np", "numpy"):
        raise SafetensorError(f"framework {name!r} is not one of np, numpy, pt, torch, pytorch")
    return _NumPy, False


def safe_open(filename: Union[str, os.PathLike[str]], framework: str = "np", device: Union[str, int] = "cpu", *,
              backend: str = "mmap", part: bool = False) -> Opened:
    """Opens a file or a model to read single tensors or parts: keys(), get_tensor(name),
    get_slice(name)[...].

    backend: "pread" reads PyTorch tensors into new memory, "mmap" leaves them in the mapped file. part: open
    only this file, even if it is a part of a model."""
    return Opened(filename, *_framework(framework, device, backend), part)
