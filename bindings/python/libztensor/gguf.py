"""GGUFReader with the fields and tensors of the package gguf. It opens files with large vocabularies about
20x faster:

    from libztensor.gguf import GGUFReader

    reader = GGUFReader("model.gguf")
    tokens = reader.fields["tokenizer.ggml.tokens"].contents()

libztensor checks the file first. The parts of a field are arrays in the mapped file, made at the first use.
"""

from __future__ import annotations

import enum
import math
import os
import struct
import sys
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple, Optional, Union, overload

import numpy

from ._file import File
from ._library import UnknownContainer, Unsupported, ZTensorError, block_of, ggml_type

__all__ = ["GGMLQuantizationType", "GGUFEndian", "GGUFReader", "GGUFValueType", "ReaderField", "ReaderTensor"]


class GGUFValueType(enum.IntEnum):
    """The types of values."""

    UINT8 = 0
    INT8 = 1
    UINT16 = 2
    INT16 = 3
    UINT32 = 4
    INT32 = 5
    FLOAT32 = 6
    BOOL = 7
    STRING = 8
    ARRAY = 9
    UINT64 = 10
    INT64 = 11
    FLOAT64 = 12


class GGUFEndian(enum.IntEnum):
    """The byte order of a file."""

    LITTLE = 0
    BIG = 1


def _types() -> tuple[dict[str, int], dict[int, tuple[int, int]]]:
    """ggml's types from the library: numbers by name, and elements and bytes of a block by number."""
    numbers, blocks = {}, {}
    for number in range(256):
        try:
            dtype, kind = ggml_type(number)
        except ZTensorError:
            continue
        name = kind or dtype
        numbers[name.rpartition(".")[2].upper()] = number
        blocks[number] = block_of(kind) if kind else (1, numpy.dtype(_NUMPY[dtype]).itemsize if dtype in _NUMPY else 2)
    return numbers, blocks


_NUMPY = {"f16": "f2", "f32": "f4", "f64": "f8", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8"}
_NUMBERS, _BLOCKS = _types()
GGMLQuantizationType = enum.IntEnum("GGMLQuantizationType", _NUMBERS)  # type: ignore[misc]
_PLAIN = {_NUMBERS[name.upper()]: form for name, form in _NUMPY.items()}
_SCALARS = {GGUFValueType.UINT8: "u1", GGUFValueType.INT8: "i1", GGUFValueType.UINT16: "u2", GGUFValueType.INT16: "i2",
            GGUFValueType.UINT32: "u4", GGUFValueType.INT32: "i4", GGUFValueType.FLOAT32: "f4", GGUFValueType.BOOL: "?",
            GGUFValueType.UINT64: "u8", GGUFValueType.INT64: "i8", GGUFValueType.FLOAT64: "f8"}


class _Bytes:
    """The bytes of a file, and the format of its numbers."""

    def __init__(self, data: Any, order: str):
        self.data, self.view = data, memoryview(data)
        self.order = order
        self.u32, self.u64 = (struct.Struct(order + form).unpack_from for form in "IQ")

    def array(self, offset: int, form: str, count: int) -> Any:
        dtype = numpy.dtype(self.order + form)
        return self.data[offset:offset + dtype.itemsize * count].view(dtype)

    def length(self, offset: int) -> int:
        return self.u64(self.view, offset)[0]

    def text(self, offset: int) -> str:
        """A string. offset is the position of its length."""
        return str(self.view[offset + 8:offset + 8 + self.length(offset)], "utf-8")


class _Strings(Sequence):
    """The positions of the parts of strings: a length and bytes for each."""

    def __init__(self, of: _Bytes, offset: int, count: int):
        self.of = of
        self.starts = starts = []
        read, view = of.u64, of.view
        for _ in range(count):
            starts.append(offset)
            offset += 8 + read(view, offset)[0]
        self.end = offset

    def __len__(self) -> int:
        return len(self.starts) * 2

    def __getitem__(self, index):
        start = self.starts[index // 2]
        return (start + 8, "u1", self.of.length(start)) if index % 2 else (start, "u8", 1)


class _Numbers(Sequence):
    """The positions of the parts of numbers, one for each number."""

    def __init__(self, offset: int, count: int, form: str):
        self.offset, self.form, self.size = offset, form, numpy.dtype(form).itemsize
        self.count, self.end = count, offset + count * self.size

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index):
        # raises IndexError if out of range
        return range(self.offset, self.end, self.size)[index], self.form, 1


class _Parts(Sequence):
    """The parts of a field. Each is an array in the mapped file, made at the first use."""

    def __init__(self, of: _Bytes, first: list, rest: Sequence = ()):
        self._of, self._first, self._rest = of, first, rest

    def __len__(self) -> int:
        return len(self._first) + len(self._rest)

    @overload
    def __getitem__(self, index: int) -> numpy.ndarray: ...

    @overload
    def __getitem__(self, index: slice) -> list[numpy.ndarray]: ...

    def __getitem__(self, index: Union[int, slice]) -> Any:
        chosen = range(len(self))[index]  # raises IndexError if out of range
        if isinstance(chosen, range):
            return [self[one] for one in chosen]
        known = len(self._first)
        return self._of.array(*(self._first[chosen] if chosen < known else self._rest[chosen - known]))

    def __repr__(self) -> str:
        return f"<{len(self)} parts of a field of GGUF>"


class ReaderField(NamedTuple):
    """A key and its value, or the description of a tensor. data: the indices of the parts that hold the
    value."""

    offset: int
    name: str
    parts: Sequence[Any] = []
    data: Sequence[int] = [-1]
    types: list[GGUFValueType] = []

    def contents(self, index_or_slice: Union[int, slice] = slice(None)) -> Any:
        """The Python value. Of an array: all elements, one, or a slice."""
        if not self.types:
            return None
        main, last = self.types[0], self.types[-1]
        if main == GGUFValueType.STRING:
            return str(self.parts[-1].tobytes(), "utf-8")
        if main != GGUFValueType.ARRAY:
            return self.parts[-1].tolist()[0]
        chosen = self.data[index_or_slice]
        if isinstance(chosen, int):
            part = self.parts[chosen]
            return str(part.tobytes(), "utf-8") if last == GGUFValueType.STRING else part.tolist()[0]
        rest = self.parts._rest if isinstance(self.parts, _Parts) and len(self.types) == 2 else None
        if isinstance(rest, _Strings):
            return [rest.of.text(start) for start in rest.starts[index_or_slice]]
        if isinstance(rest, _Numbers):
            return self.parts._of.array(rest.offset, rest.form, rest.count)[index_or_slice].tolist()
        if last == GGUFValueType.STRING:
            return [str(self.parts[one].tobytes(), "utf-8") for one in chosen]
        return [value for one in chosen for value in self.parts[one].tolist()]


class ReaderTensor(NamedTuple):
    """A tensor. shape: in the file's order, the innermost dimension first. data: an array in the mapped file.
    Blocks of quantized numbers are rows of bytes."""

    name: str
    tensor_type: enum.IntEnum
    shape: Any
    n_elements: int
    n_bytes: int
    data_offset: int
    data: Any
    field: ReaderField


class GGUFReader:
    """The fields and tensors of a GGUF file, in the mapped file. It rejects files that libztensor rejects."""

    def __init__(self, path: Union[os.PathLike[str], str], mode: str = "r") -> None:
        if mode != "r":
            raise ValueError(f"mode {mode!r} is not supported, only 'r' is: GGUFReader does not write; libztensor.create writes .zt files, "
                             "and zt convert makes GGUF of them")
        if not os.path.getsize(path):
            raise UnknownContainer(f"{os.fspath(path)}: the file is empty, not GGUF")
        self.data = numpy.memmap(path, mode="r")
        with File.open_memory(self.data, name=os.fspath(path)) as file:
            if file.container != "GGUF":
                raise ValueError(f"{os.fspath(path)} is {file.container}, not GGUF: libztensor.open reads it")
        # The version is less than 65536, so its bytes give the byte order.
        is_big = not int.from_bytes(self.data[4:6].tobytes(), "little")
        self.endianess = GGUFEndian(is_big)
        self.byte_order = "I" if is_big == (sys.byteorder == "big") else "S"
        self._bytes = of = _Bytes(self.data, ">" if is_big else "<")
        version = of.u32(of.view, 4)[0]
        if version not in (2, 3):
            raise self._refused(f"version {version} is not 2 or 3: libztensor.open reads it")
        self.fields: OrderedDict[str, ReaderField] = OrderedDict()
        for offset, name, form, kind in ((4, "version", "u4", GGUFValueType.UINT32), (8, "tensor_count", "u8", GGUFValueType.UINT64),
                                         (16, "kv_count", "u8", GGUFValueType.UINT64)):
            self._push(ReaderField(offset, f"GGUF.{name}", [of.array(offset, form, 1)], [0], [kind]))
        place = 24
        for _ in range(of.length(16)):
            place = self._key(place)
        fields = []
        for _ in range(of.length(8)):
            field, place = self._info(place)
            fields.append(field)
        aligned = self.fields.get("general.alignment")
        self.alignment: int = 32 if aligned is None else aligned.contents()
        self.data_offset: int = -(-place // self.alignment) * self.alignment
        self.tensors: list[ReaderTensor] = [self._tensor(field) for field in fields]

    def __repr__(self) -> str:
        return f"<GGUFReader {str(self.data.filename)!r}: {len(self.fields)} fields, {len(self.tensors)} tensors>"

    def get_field(self, key: str) -> Optional[ReaderField]:
        """The field of a key, or None."""
        return self.fields.get(key)

    def get_tensor(self, idx: int) -> ReaderTensor:
        """The tensor at an index, in the file's order."""
        return self.tensors[idx]

    def _refused(self, why: str) -> Unsupported:
        return Unsupported(f"{self.data.filename}: {why}")

    def _name(self, start: int) -> str:
        try:
            return self._bytes.text(start)
        except UnicodeDecodeError:
            raise self._refused(f"the name at offset {start + 8} is not UTF-8: libztensor.open reads it") from None

    def _push(self, field: ReaderField) -> None:
        if field.name in self.fields:
            raise KeyError(f"{self.data.filename}: key {field.name!r} at offset {field.offset} is in the file already")
        self.fields[field.name] = field

    def _key(self, start: int) -> int:
        """Adds a key and its value, and returns the position of the next key."""
        of = self._bytes
        length = of.length(start)
        place = start + 8 + length
        first = [(start, "u8", 1), (start + 8, "u1", length), (place, "u4", 1)]
        rest: Sequence = ()
        kind = GGUFValueType(of.u32(of.view, place)[0])
        place += 4
        types, data = [kind], [3]
        if kind == GGUFValueType.STRING:
            length = of.length(place)
            first += [(place, "u8", 1), (place + 8, "u1", length)]
            data, place = [4], place + 8 + length
        elif kind != GGUFValueType.ARRAY:
            first.append((place, _SCALARS[kind], 1))
            place += numpy.dtype(_SCALARS[kind]).itemsize
        else:
            rest, data, place = self._array(place, first, types)
        self._push(ReaderField(start, self._name(start), _Parts(of, first, rest), data, types))
        return place

    def _array(self, place: int, first: list, types: list) -> tuple[Sequence, list, int]:
        """An array: the parts that first does not have yet, the indices of the parts with its values, and its
        end. libztensor has checked that arrays nest at most 8 deep."""
        of = self._bytes
        kind, count = GGUFValueType(of.u32(of.view, place)[0]), of.length(place + 4)
        first += [(place, "u4", 1), (place + 4, "u8", 1)]
        known, place = len(first), place + 12
        if kind == GGUFValueType.ARRAY:
            data: list = []
            for number in range(count):
                inner: list = []
                rest, found, place = self._array(place, first, inner)
                first += rest
                data += found
                if not number:
                    types += [kind, *inner]
            return (), data, place
        if count:
            types.append(kind)
        if kind == GGUFValueType.STRING:
            strings = _Strings(of, place, count)
            return strings, list(range(known + 1, known + 1 + 2 * count, 2)), strings.end
        numbers = _Numbers(place, count, _SCALARS[kind])
        return numbers, list(range(known, known + count)), numbers.end

    def _info(self, start: int) -> tuple[ReaderField, int]:
        """The description of a tensor, and its end."""
        of = self._bytes
        length = of.length(start)
        place = start + 8 + length
        rank = of.u32(of.view, place)[0]
        end = place + 4 + 8 * rank
        parts = [(start, "u8", 1), (start + 8, "u1", length), (place, "u4", 1), (place + 4, "u8", rank), (end, "u4", 1), (end + 4, "u8", 1)]
        return ReaderField(start, self._name(start), _Parts(of, parts), [1, 3, 4, 5]), end + 12

    def _tensor(self, field: ReaderField) -> ReaderTensor:
        of, shape = self._bytes, field.parts[3]
        number = int(field.parts[4][0])
        if number not in _BLOCKS:
            raise self._refused(f"tensor {field.name!r} has the type {number}, which is unknown: libztensor.open lists it")
        kind = GGMLQuantizationType(number)
        elements, width = _BLOCKS[kind]
        sizes = [int(size) for size in shape]
        count = math.prod(sizes)
        size = count // elements * width
        start = self.data_offset + int(field.parts[5][0])
        form, rows = _PLAIN.get(kind), sizes[::-1]
        if form is None:
            form, count = "u1", size
            rows[-1:] = [one // elements * width for one in rows[-1:]]
        try:
            data = of.array(start, form, count).reshape(rows)
        except ValueError:  # a dimension is 0, so there are no elements
            raise self._refused(f"tensor {field.name!r} has the shape {sizes}, which NumPy does not support") from None
        return ReaderTensor(field.name, kind, shape, math.prod(sizes), size, start, data, field)
