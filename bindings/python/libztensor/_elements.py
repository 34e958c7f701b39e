"""NumPy's names of dtypes, and arrays over memory of the library."""

from __future__ import annotations

import ctypes
import math
from typing import Any

from . import _declarations as c
from ._library import Handle, InvalidArgument, Unsupported, check, dtype_number, lib, type_number

# Names of elements in NumPy, ml_dtypes and PyTorch; README.md has the table.
NUMPY = {"f64": "float64", "f32": "float32", "f16": "float16", "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8",
         "u64": "uint64", "u32": "uint32", "u16": "uint16", "u8": "uint8", "bool": "bool", "complex64": "complex64",
         "complex128": "complex128"}
ML_DTYPES = {"bf16": "bfloat16", "f8_e4m3fn": "float8_e4m3fn", "f8_e5m2": "float8_e5m2", "f8_e4m3fnuz": "float8_e4m3fnuz",
             "f8_e5m2fnuz": "float8_e5m2fnuz", "f8_e8m0": "float8_e8m0fnu"}
# Two 4-bit floats in a byte, the unit of PyTorch.
PAIRS = "f4_e2m1_x2"
TORCH = {**NUMPY, **ML_DTYPES, "complex32": "complex32", PAIRS: "float4_e2m1fn_x2"}
_STORAGE = {"complex32": "f16", "complex64": "f32", "complex128": "f64"}
# A 4-bit float, which occupies a byte in ml_dtypes: arrays of it are packed and unpacked.
FOUR = "f4_e2m1"
_NAMES = {other: name for name, other in {**NUMPY, **ML_DTYPES, FOUR: "float4_e2m1fn"}.items()}
LONG = {**TORCH, FOUR: "float4_e2m1fn"}
_NAMED = {**{name: name for name in LONG}, **{other: name for name, other in LONG.items()}}


def numpy_dtype(name: str) -> Any:
    """The NumPy dtype of a dtype or logical type: "f32", "bf16", "complex64". bf16 and f8 need ml_dtypes.
    Raises Unsupported for types that NumPy does not have: blocks and elements of less than a byte."""
    import numpy

    if name in NUMPY:
        return numpy.dtype(NUMPY[name])
    if name in ML_DTYPES:
        try:
            import ml_dtypes
        except ImportError as e:
            raise Unsupported(f"{name} needs the package ml_dtypes") from e
        if hasattr(ml_dtypes, ML_DTYPES[name]):
            return numpy.dtype(getattr(ml_dtypes, ML_DTYPES[name]))
    raise Unsupported(f"NumPy has no dtype for {name}")


def named(dtype: Any) -> str:
    """The library's name of a dtype in a program: "float32", "f32", or a dtype of NumPy, ml_dtypes or
    PyTorch."""
    if type(dtype).__module__ == "torch":
        name = str(dtype).partition(".")[2]
    elif isinstance(dtype, str):
        name = dtype
        if name in ("i8", "u8"):
            long = NUMPY[name]
            raise InvalidArgument(f"dtype {name!r} is 8 bits here and 8 bytes in NumPy: pass {long!r} or {long[:-1] + '64'!r}")
    else:
        import numpy

        name = numpy.dtype(dtype).name  # raises TypeError if it is not a dtype
    if name not in _NAMED:
        raise InvalidArgument(f"dtype {name!r} is not a type of numbers, such as 'float32', 'float16' or 'bfloat16'")
    return _NAMED[name]


def target_number(name: str) -> int:
    """The number of the dtype for conversions, by its name in this module."""
    if name.startswith(("complex", "f8_", "f4_")):
        raise Unsupported(f"numbers cannot be converted to {LONG[name]}, but to float64, float32, float16, bfloat16, "
                          "integers and bool")
    return dtype_number(name)


def stored_dtype(dtype: str, type):
    """The NumPy dtype of a component's elements: of the logical type if NumPy knows it, otherwise of the
    storage type."""
    try:
        return numpy_dtype(type or dtype)
    except Unsupported:
        return numpy_dtype(dtype)


def element_name(dtype) -> str:
    """The library's name for the elements of a NumPy dtype."""
    name = _NAMES.get(dtype.name)
    if name is None:
        raise Unsupported(f"arrays of NumPy's {dtype} have no type in a file: pass numbers or bools")
    return name


def type_numbers(name: str) -> tuple:
    """The numbers of the storage type and of the logical type of elements."""
    storage = _STORAGE.get(name) or ("u8" if name.startswith(("f8_", "f4_")) else name)
    return dtype_number(storage), c.ZT_TYPE_NONE if storage == name else type_number(name)


def types(dtype) -> tuple:
    """The dtype and type numbers of a NumPy dtype."""
    return type_numbers(element_name(dtype))


def unpacked(data, shape):
    """An array of ml_dtypes' float4_e2m1fn from bytes that hold two elements each, the first in the low
    bits."""
    import numpy

    try:
        from ml_dtypes import float4_e2m1fn
    except ImportError as e:
        raise Unsupported("float4_e2m1fn needs the package ml_dtypes, 0.5 or later") from e
    made = numpy.empty(math.prod(shape), "u1")
    numpy.bitwise_and(data, 15, out=made[0::2])
    numpy.right_shift(data[:made.size // 2], 4, out=made[1::2])
    return made.view(float4_e2m1fn).reshape(shape)


def packed(array):
    """The inverse of unpacked: packs an array into bytes."""
    codes = array.reshape(-1).view("u1") & 15
    made = codes[0::2].copy()
    made[:codes.size // 2] |= codes[1::2] << 4
    return made


def contiguous(array, dtype=None):
    """An array that C can read: row-major, in the host's byte order."""
    import numpy

    array = numpy.ascontiguousarray(array, dtype)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def stored(array):
    """The bytes of an array as stored in a file, in memory that C can read."""
    array = contiguous(array)
    return packed(array) if array.dtype.name == LONG[FOUR] else array


class Memory:
    """Bytes of the library, in NumPy's array protocol. keep: their owner."""

    def __init__(self, keep, data, read_only, dtype, shape):
        self.keep = keep
        # The protocol does not know ml_dtypes' types: export bytes of that width, and view them as the type
        # afterwards.
        plain = f"|V{dtype.itemsize}" if dtype.name in ML_DTYPES.values() else dtype.str
        self.__array_interface__ = {"version": 3, "data": (data, read_only), "shape": tuple(shape), "typestr": plain}


def array(keep, data, size, read_only, dtype, shape):
    """An array over size bytes of the library's memory, which it keeps. The file may declare any shape. For
    elements that NumPy does not have, such as those of less than a byte, the shape does not give the number
    of stored bytes."""
    import numpy

    if math.prod(shape) * dtype.itemsize != size:
        raise Unsupported(f"{size} bytes are not {dtype} of the shape {tuple(shape)}; numpy() of the component returns the stored elements")
    made = numpy.asarray(Memory(keep, data, read_only, dtype, shape))
    return made if made.dtype == dtype else made.view(dtype)


class Retained(Handle):
    """A reference to an open file, for borrowed memory."""

    def __init__(self, file):
        self.handle = lib.zt_retain(file._live())
        self.kept = getattr(file, "_kept", None)  # the memory, source or store that the file reads

    def __del__(self) -> None:
        lib.zt_close(self.handle)


class Loaded(Handle):
    """A buffer of the library."""

    def __init__(self, handle):
        self.handle = handle

    data = property(lambda s: lib.zt_buffer_data(s.handle))
    size = property(lambda s: lib.zt_buffer_size(s.handle))

    def __del__(self) -> None:
        lib.zt_buffer_free(self.handle)
