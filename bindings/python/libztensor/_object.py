"""Objects and their views."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Optional

from . import _declarations as c
from ._callbacks import Carrier, Progress
from ._component import Component, Unversioned, names_of, read_options, versioned
from ._elements import FOUR, Retained, array, named, numpy_dtype, stored_dtype, target_number, unpacked
from ._library import (Handle, InvalidArgument, NotFound, Unsupported, block_of, check, dtype_name, field_text, filled,
                       format_name, lib, options, sized, text, type_name)
from ._value import Value, attributes


class Csr(NamedTuple):
    """A checked matrix of compressed sparse rows."""

    shape: tuple[int, ...]
    values: Any
    indices: Any
    indptr: Any


class Coo(NamedTuple):
    """A checked coordinate list. coords has a row for each dimension."""

    shape: tuple[int, ...]
    values: Any
    coords: Any


class Quantized(NamedTuple):
    """A checked tensor of quantized groups. zeros is None if it has no zeros. Only zTensor 2 sets the fields
    after it."""

    shape: tuple[int, ...]
    bits: int
    group_size: int
    packing: Optional[str]
    packed_weight: Any
    scales: Any
    zeros: Any
    weights_per_element: int = 0
    axis: int = 0
    zero_point: int = 0
    msb_first: bool = False
    zeros_packed: bool = False


class Object(Handle, Mapping[str, Component]):
    """A named tensor: a mapping from role to Component. Keeps its file open."""

    def __init__(self, file: Any, handle: int) -> None:
        self._file, self._handle = file, handle

    _info = property(lambda s: filled(lib.zt_object_get_info, c.zt_object_info, s._live()))
    name: str = property(lambda s: field_text(s._info, "name"))
    attributes: dict[str, Any] = property(lambda s: attributes(s._file, lib.zt_object_attributes(s._live())))
    element_count: int = property(lambda s: lib.zt_object_element_count(s._live()))

    def _live(self):
        self._file._live()
        return self._handle

    @property
    def format(self) -> str:
        info = self._info
        return text(info.format_name) or format_name(info.format)

    @property
    def attribute_values(self) -> Optional[Value]:
        """The attributes as a tree of values, or None."""
        found = lib.zt_object_attributes(self._live())
        return Value(self._file, found) if found else None

    def _summary(self) -> str:
        return f"{self.name!r}: {self.format} {self.shape}"

    @property
    def shape(self) -> tuple[int, ...]:
        rank = lib.zt_object_rank(self._live())
        return tuple(lib.zt_object_shape(self._handle)[:rank]) if rank else ()

    def __len__(self) -> int:
        return lib.zt_component_count(self._live())

    def __iter__(self) -> Iterator[str]:
        return (Component(self._file, lib.zt_component_at(self._live(), i)).role for i in range(len(self)))

    def __getitem__(self, role: str) -> Component:
        found = lib.zt_component_find_n(self._live(), *sized(role))
        if not found:
            raise NotFound(f"object {self.name!r} has no component {role!r}")
        return Component(self._file, found)

    def numpy(self, *, dtype: Any = None, **how: Any) -> Any:
        """A dense object as an array of its shape; see Component.numpy.

        With dtype, such as "float32" or numpy.float16, it returns the numbers of any object. They are decoded
        into a new array, unless a dense object already has this dtype. Blocks and groups are decoded.
        Elements that a sparse object does not store are 0. Each number is rounded once. Raises LimitExceeded
        if a finite number would become infinite or does not fit an integer. Complex numbers become pairs in a
        last dimension of 2. With "float4_e2m1fn" each 4-bit float gets a byte, as in ml_dtypes."""
        if dtype is not None:
            info, wanted = self._info, named(dtype)
            if info.format != c.ZT_FORMAT_DENSE or (type_name(info.type) or dtype_name(info.dtype)) != wanted:
                return self._converted(info, wanted, **how)
            if wanted == FOUR:
                return unpacked(self["data"].numpy(**how), self.shape)
        elif lib.zt_object_format(self._live()) != c.ZT_FORMAT_DENSE:
            raise Unsupported(f"object {self.name!r} is {self.format}, not dense: pass dtype=\"float32\" for its numbers, "
                              "or take its components")
        return self["data"].numpy(self.shape, **how)

    def _converted(self, info: Any, name: str, *, threads: int = 0, verify: bool = False, progress: Progress = None) -> Any:
        import numpy

        number, kind = target_number(name), numpy_dtype(name)
        size = size_as(self._live(), number)
        made = numpy.empty(size // kind.itemsize, kind)
        carrier = Carrier()
        request = options(c.zt_read_request, object=self._live(), length=c.ZT_WHOLE, convert=number,
                          dst=made.ctypes.data, dst_size=size)
        wanted = read_options(carrier, threads, verify, "auto", progress)
        carrier.check(lib.zt_read_batch(self._file._live(), ctypes.byref(request), 1, ctypes.byref(wanted), None))
        sparse = (c.ZT_FORMAT_SPARSE_CSR, c.ZT_FORMAT_SPARSE_COO)
        values = "values" if lib.zt_object_format(self._live()) in sparse else "data"
        found = self.get(values)
        is_pairs = found is not None and any(one and one.startswith("complex") for one in names_of(found._info))
        return made.reshape((*self.shape, 2) if is_pairs else self.shape)

    def tensor(self) -> Any:
        """A dense object as an array of its shape. The file keeps the array, so the object is decoded at most
        once."""
        view, part = filled(lib.zt_tensor_view, c.zt_tensor, self._live()), self["data"]
        dtype = stored_dtype(*names_of(part._info)[:2])
        return array(Retained(self._file), view.data, view.size, part._read_only(view.data), dtype, view.shape[:view.rank])

    def _viewed(self, view) -> Any:
        """An array of a view, which keeps the file."""
        if not view.data:
            return None
        dtype = stored_dtype(dtype_name(view.dtype), type_name(view.type))
        count = view.size // dtype.itemsize
        return array(Retained(self._file), view.data, count * dtype.itemsize, self._file.mode != "private", dtype, (count,))

    def csr(self) -> Csr:
        """Checks a sparse_csr object and returns its parts."""
        view = filled(lib.zt_csr_view, c.zt_csr, self._live())
        return Csr((view.rows, view.columns), *map(self._viewed, (view.values, view.indices, view.indptr)))

    def coo(self) -> Coo:
        """Checks a sparse_coo object and returns its parts."""
        view = filled(lib.zt_coo_view, c.zt_coo, self._live())
        return Coo(self.shape, self._viewed(view.values), self._viewed(view.coords).reshape(view.rank, view.nnz))

    def quantized(self) -> Quantized:
        """Checks a quantized_group, zt.quant_group/1 or zt.mx/1 object and returns its parts."""
        view = filled(lib.zt_quantized_view, c.zt_quantized, self._live())
        parts = map(self._viewed, (view.packed_weight, view.scales, view.zeros))
        return Quantized(self.shape, view.bits, view.group_size, text(view.packing), *parts, view.weights_per_element,
                         view.axis, view.zero_point, bool(view.msb_first), bool(view.zeros_packed))

    def size_as(self, dtype: Any) -> int:
        """The size of all numbers as another dtype in bytes; see ``numpy(dtype=...)``. Raises Unsupported if
        they cannot be converted."""
        return size_as(self._live(), target_number(named(dtype)))

    def read_slice(self, start: Sequence[int], count: Sequence[int], step: Optional[Sequence[int]] = None) -> Any:
        """A hyperslab of a dense object as a new array. If the encoding allows it, only the slab's bytes are
        read."""
        import numpy

        made = numpy.empty(tuple(count), numpy_dtype(self["data"].type or self["data"].dtype))
        rank = len(self.shape)
        if len(start) != rank or len(count) != rank or (step is not None and len(step) != rank):
            raise InvalidArgument("a slice needs one number for each dimension")
        check(lib.zt_object_read_slice(self._live(), numbers(start), numbers(count), numbers(step), made.ctypes.data, made.nbytes))
        return made

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, *, stream: Any = None, max_version: Optional[tuple[int, int]] = None, dl_device: Any = None,
                   copy: Optional[bool] = None) -> Any:
        """A DLPack capsule that shares memory. Consumers before DLPack 1.0 cannot know that memory is
        read-only; use ``unversioned()`` for them."""
        return versioned(lib.zt_object_to_dlpack, self, max_version, dl_device, copy)

    def unversioned(self) -> Unversioned:
        """For consumers of DLPack before 1.0 (PyTorch before 2.9). They share the memory and must not write
        to it."""
        return Unversioned(self)



def size_as(handle, number: int) -> int:
    size = ctypes.c_uint64()
    check(lib.zt_object_size_as(handle, number, ctypes.byref(size)))
    return size.value


def numbers(values):
    """Sizes or positions as a C array."""
    if values is not None and min(values, default=0) < 0:
        raise InvalidArgument(f"{tuple(values)} has a number below 0")
    return None if values is None else (ctypes.c_uint64 * len(values))(*values)
