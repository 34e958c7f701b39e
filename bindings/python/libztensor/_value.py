"""Attributes: a tree of values, and their Python values."""

from __future__ import annotations

import ctypes
from typing import Any, Iterator, NamedTuple, Optional, Union

from . import _declarations as c
from ._library import Handle, InvalidArgument, NotFound, check, dtype_name, dtype_number, lib, sized


class Tag(NamedTuple):
    """A value that CBOR tags with a number."""

    number: int
    value: Any


_KINDS = {number: name[len("ZT_VALUE_KIND_"):].lower() for name, number in vars(c).items()
          if name.startswith("ZT_VALUE_KIND_")}
_ARRAY_BY_FIRST = {c.ZT_VALUE_KIND_INT: "i64"}


class Value(Handle):
    """A value of an attribute. Keeps its file open. A sequence of the items of an array, or of the pairs of a
    map."""

    def __init__(self, file: Any, handle: int) -> None:
        self._file, self._handle = file, handle

    def _live(self):
        self._file._live()
        return self._handle

    @property
    def kind(self) -> str:
        """"null", "bool", "int", "float", "string", "bytes", "array", "map", "tag" or "other"."""
        return _KINDS[lib.zt_value_get_kind(self._live())]

    @property
    def dtype(self) -> Optional[str]:
        """The dtype that the container declares for a number or an array's elements, or None."""
        return dtype_name(lib.zt_value_dtype(self._live()))

    def __len__(self) -> int:
        return lib.zt_value_count(self._live())

    def __getitem__(self, key: Union[int, str]) -> "Value":
        if isinstance(key, str):
            found = lib.zt_value_find_n(self._live(), *sized(key))
            if not found:
                raise NotFound(f"the map has no key {key!r}")
        else:
            found = lib.zt_value_at(self._live(), key) if key >= 0 else None
            if not found:
                raise IndexError(key)
        return Value(self._file, found)

    def __iter__(self) -> Iterator["Value"]:
        return (self[i] for i in range(len(self)))

    def keys(self) -> list[str]:
        """The keys of a map."""
        keys = (lib.zt_value_key_at(self._live(), i) for i in range(len(self)))
        return [Value(self._file, key).python() for key in keys]

    def numbers(self, dtype: Optional[str] = None) -> Any:
        """An array of numbers as a NumPy array. dtype: the container's, if None. Raises InvalidArgument
        if it cannot hold a number exactly."""
        import numpy

        from ._elements import numpy_dtype

        wanted = dtype or self.dtype
        if wanted is None:
            raise InvalidArgument("the container does not declare a dtype: pass one")
        count = len(self) if self.kind == "array" else 1
        made = numpy.empty(count, numpy_dtype(wanted))
        check(lib.zt_value_read_numbers(self._live(), dtype_number(wanted), made.ctypes.data, count))
        return made

    def strings(self) -> list[str]:
        """An array of strings. Raises InvalidArgument for other values."""
        count = len(self)
        starts, lengths = (ctypes.c_char_p * count)(), (ctypes.c_size_t * count)()
        check(lib.zt_value_read_strings(self._live(), starts, lengths, count))
        places = ctypes.cast(starts, ctypes.POINTER(ctypes.c_void_p))
        return [ctypes.string_at(places[i], lengths[i]).decode() for i in range(count)]

    def json(self) -> Any:
        """The value as JSON, parsed by json.loads. zt_value_to_json describes values that JSON does not
        have."""
        import json

        needed = ctypes.c_size_t()
        check(lib.zt_value_to_json(self._live(), None, 0, ctypes.byref(needed)))
        buffer = ctypes.create_string_buffer(needed.value)
        check(lib.zt_value_to_json(self._handle, buffer, needed.value, ctypes.byref(needed)))
        return json.loads(buffer.value.decode())

    def python(self) -> Any:
        """None, bool, int, float, str, bytes, list, dict or Tag. A map with a key that a dict cannot hold
        becomes a list of pairs."""
        return _PYTHON[lib.zt_value_get_kind(self._live())](self)

    def _got(self, function, made):
        check(function(self._handle, ctypes.byref(made)))
        return made.value

    def _int(self) -> int:
        wide = ctypes.c_uint64()
        if lib.zt_value_get_u64(self._handle, ctypes.byref(wide)) == c.ZT_OK:
            return wide.value
        small = ctypes.c_int64()
        return small.value if lib.zt_value_get_i64(self._handle, ctypes.byref(small)) == c.ZT_OK else self.json()

    def _borrowed(self, function, pointer) -> bytes:
        size = ctypes.c_size_t()
        check(function(self._handle, ctypes.byref(pointer), ctypes.byref(size)))
        return ctypes.string_at(ctypes.cast(pointer, ctypes.c_void_p), size.value)

    def _list(self) -> list:
        first = lib.zt_value_get_kind(lib.zt_value_at(self._handle, 0)) if len(self) else None
        try:
            if first == c.ZT_VALUE_KIND_STRING:
                return self.strings()
            if dtype := self.dtype or _ARRAY_BY_FIRST.get(first):
                return self.numbers(dtype).tolist()
        except InvalidArgument:
            pass  # of different kinds
        return [item.python() for item in self]

    def _dict(self):
        pairs = list(zip(self.keys(), (item.python() for item in self)))
        try:
            return dict(pairs)
        except TypeError:
            return pairs


_PYTHON = {
    c.ZT_VALUE_KIND_NULL: lambda v: None,
    c.ZT_VALUE_KIND_BOOL: lambda v: bool(v._got(lib.zt_value_get_bool, ctypes.c_int32())),
    c.ZT_VALUE_KIND_INT: Value._int,
    c.ZT_VALUE_KIND_FLOAT: lambda v: v._got(lib.zt_value_get_f64, ctypes.c_double()),
    c.ZT_VALUE_KIND_STRING: lambda v: v._borrowed(lib.zt_value_get_string, ctypes.c_char_p()).decode(),
    c.ZT_VALUE_KIND_BYTES: lambda v: v._borrowed(lib.zt_value_get_bytes, ctypes.c_void_p()),
    c.ZT_VALUE_KIND_ARRAY: Value._list,
    c.ZT_VALUE_KIND_MAP: Value._dict,
    c.ZT_VALUE_KIND_TAG: lambda v: Tag(v._got(lib.zt_value_get_tag, ctypes.c_uint64()), v[0].python()),
    c.ZT_VALUE_KIND_OTHER: Value.json,
}


def attributes(file, handle) -> dict[str, Any]:
    """A map of attributes as a Python dict."""
    return Value(file, handle).python() if handle else {}
