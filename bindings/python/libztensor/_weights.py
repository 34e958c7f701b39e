"""The common part of libztensor.numpy and libztensor.torch: weights of a file or model by name, as in
safetensors."""

from __future__ import annotations

import ctypes
import functools
import io
import math
import operator
import os
import warnings
from collections.abc import Iterator
from typing import Any, Callable, NamedTuple, Optional

from . import _declarations as c
from . import _safetensors
from ._component import names_of
from ._elements import FOUR, LONG, PAIRS, Retained, named, target_number, type_numbers
from ._file import File, listed
from ._library import (AnyPath, Handle, InvalidArgument, NotFound, Unsupported, ZTensorError, block_of, check, dtype_name,
                       field_text, filled, format_name, lib, options, sized, text, type_name)
from ._object import numbers, size_as
from ._writer import Writer

_ARRAYS = (c.ZT_FORMAT_DENSE, c.ZT_FORMAT_BLOCKS)

# The container for each end of a file name.
CONTAINERS = {".zt": "zt", ".safetensors": "safetensors"}
# Types of elements that zTensor 1.2 does not have.
_OF_2 = ("f4_e2m1", "f8_e8m0")


class ToWrite(NamedTuple):
    """A tensor to write. make() returns the owner of its bytes, which are contiguous and in the host's order,
    and their address."""

    name: str
    shape: tuple[int, ...]
    type: str
    size: int
    make: Callable[[], tuple[Any, int]]


class Weight(NamedTuple):
    """A tensor of a file. type: of its elements; "u8" for blocks (shape is then in bytes); PAIRS for two
    4-bit floats in a byte; "" if it cannot be read. element: the type's name. block: elements and bytes of a
    block, if rows are whole blocks. convert: the number of the dtype (type) to which its numbers are
    converted. is_whole: it can only be read completely."""

    name: str
    object: int
    type: str
    element: str
    shape: tuple[int, ...]
    component: int
    size: int
    part: int
    offset: int
    block: Optional[tuple[int, int]]
    convert: int = 0
    is_whole: bool = False

    @property
    def file_shape(self) -> list[int]:
        """The shape in the file, which counts two 4-bit floats in a byte as two elements."""
        return [*self.shape[:-1], self.shape[-1] * 2] if self.type == PAIRS else list(self.shape)

    @property
    def file_type(self) -> str:
        """safetensors' name of the elements."""
        return _safetensors.NAMES.get(self.element, self.element.upper())


def file_order(of: Weight) -> tuple[int, int, int]:
    """The position of a tensor in a model. An empty tensor comes before one that starts where it ends."""
    return of.part, of.offset, of.size


def weights(file: File, refuse: bool = False, dtype: Optional[str] = None) -> Iterator[Weight]:
    """All tensors in file order. Sparse objects and groups are left out or rejected. With dtype, floats,
    blocks, sparse objects and groups become numbers of that dtype. Tensors that cannot be converted are
    rejected, or marked as unreadable."""
    several = lib.zt_part_count(file._live()) > 1

    def made(info) -> Optional[Weight]:
        name = field_text(info, "name")
        if info.format in _ARRAYS or _is_unknown(info):
            of = _weight(name, info, several)
            if dtype is None or not of.type or of.element.startswith(("i", "u", "bool", "complex")):
                return of
        elif dtype is not None:
            of = _several(name, info)
        elif refuse:
            raise no_array(name, info.format)
        else:
            return None
        try:
            return _converted(of, info, dtype)
        except Unsupported:
            if refuse:
                raise
            return of._replace(type="")

    return filter(None, listed(file._live, lib.zt_object_list, c.zt_object_info, made))


def _is_unknown(info) -> bool:
    """Whether the tensor has an unknown type, which GGUF allows."""
    if info.format != c.ZT_FORMAT_OTHER:
        return False
    data = _data(info)
    return bool(data) and component_info(data).dtype == c.ZT_DTYPE_OTHER


def _data(info) -> int:
    """The component with the elements. C sets it only for objects that are one array."""
    return info.component or lib.zt_component_find_n(info.object, b"data", 4)


def no_array(name: str, format: int) -> Unsupported:
    return Unsupported(f"{name!r} is {format_name(format)}, not an array: pass dtype=\"float32\" for its numbers; libztensor.open gives "
                       "its components")


def _several(name: str, info) -> Weight:
    """A sparse object or groups: its numbers are in several components."""
    element = text(info.format_name) or format_name(info.format) or ""
    return Weight(name, info.object, "", element, tuple(info.shape[:info.rank]), 0, 0, 0, info.offset, None)


def _converted(of: Weight, info, dtype: str) -> Weight:
    """A tensor that is read as numbers of a dtype."""
    if of.type == dtype:
        return of
    number = target_number(dtype)
    size, shape = size_as(of.object, number), tuple(info.shape[:info.rank])
    # complex numbers; C converts the object completely
    is_pairs = of.element.startswith("complex") or size != math.prod(shape) * lib.zt_dtype_size(number)
    return of._replace(type=dtype, element=dtype, shape=(*shape, 2) if is_pairs else shape, size=size, block=None, convert=number,
                       is_whole=is_pairs)


@functools.cache
def _element(dtype: int, type: int) -> tuple:
    """The name of the elements and, for blocks, the number of elements and bytes in a block. Elements of an
    unknown type stay as they are stored."""
    known = type_name(type)
    return (known, block_of(known)) if known else (dtype_name(dtype), (1, 0))


def _weight(name: str, info, several: bool) -> Weight:
    element, (elements, width) = _element(info.dtype, info.type)
    encoding, data = info.encoding, _data(info)
    shape = tuple(info.shape[:info.rank])
    size = info.size
    if size == c.ZT_UNKNOWN_SIZE:  # an unknown encoding: listed, but not readable
        size = math.prod(shape) // elements * (width or lib.zt_dtype_size(info.dtype))
    kind, block = element, None
    if elements > 1:  # several elements share bytes: rows of bytes
        kind, row = "u8", (shape[-1] if shape else 1)
        block = (elements, width) if row % elements == 0 else None
        shape = (*shape[:-1], row // elements * width) if block else (size,)
        if element == "f4_e2m1":  # no type can describe a row that ends within a byte
            kind = PAIRS if block else element
    part = component_info(data).part if several else 0
    is_read = info.type != c.ZT_TYPE_OTHER or lib.zt_component_caps(data) & c.ZT_CAP_READ
    if not element or encoding == c.ZT_ENCODING_OTHER or not is_read:
        element = names_of(component_info(data))[0] or "unknown"
        return Weight(name, info.object, "", element, tuple(info.shape[:info.rank]), data, 0, part, info.offset, None)
    return Weight(name, info.object, kind, element, shape, data, size, part, info.offset, block)


def component_info(component: int):
    return filled(lib.zt_component_get_info, c.zt_component_info, component)


def weight(file: File, name: str, dtype: Optional[str] = None) -> Weight:
    """One tensor. With dtype, numbers of that dtype."""
    if not isinstance(name, str):
        raise TypeError(f"a name must be a text, not {name!r}")
    encoded = name.encode(errors="surrogateescape")
    found = lib.zt_object_find_n(file._live(), encoded, len(encoded))
    if not found:
        raise NotFound(f"the file has no tensor {name!r}")
    info = filled(lib.zt_object_get_info, c.zt_object_info, found)
    if info.format in _ARRAYS or _is_unknown(info):
        of = _weight(name, info, True)
    elif dtype is None:
        raise no_array(name, info.format)
    else:
        of = _several(name, info)
    return of if dtype is None else _converted(of, info, dtype)


def check_readable(of: Weight) -> None:
    """Rejects a tensor that cannot be read."""
    if not of.type:
        encoding = names_of(component_info(of.component))[2]
        what = f"its type {of.element!r} is unknown" if encoding == "raw" else f"its type is {of.element!r}, its encoding {encoding!r}"
        raise Unsupported(f"{of.name!r} cannot be read: {what}; skip_unreadable=True leaves it out")


def request_of(request, of: Weight) -> None:
    """Sets the fields of a request that reads a complete tensor."""
    request.struct_size, request.length, request.convert = ctypes.sizeof(request), c.ZT_WHOLE, of.convert
    if of.convert:
        request.object = of.object
    else:
        request.component = of.component


def read_into(file: File, wanted: list, **how: Any) -> None:
    """Reads into memory in one call. Each item: (weight, address, size of the memory, start and count of a
    slice as C arrays or None)."""
    requests = (c.zt_read_request * len(wanted))()
    for i, (request, (of, address, size, slab)) in enumerate(zip(requests, wanted)):
        request_of(request, of)
        request.tag, request.dst, request.dst_size = i, address, size
        if slab is not None:
            request.length, request.start, request.count = 0, *slab
    reading = options(c.zt_read_options, **how)
    check(lib.zt_read_batch(file._live(), requests, len(requests), ctypes.byref(reading), None))


class Mapped:
    """The mapped bytes of a file's parts, writable for this process only, for tensors in them."""

    def __init__(self, file: File):
        self._file, self._parts, self._place = file, {}, ctypes.c_void_p()

    def part(self, number: int):
        """The bytes of a part, which keep the file open, or None if the part is not mapped."""
        if number not in self._parts:
            self._parts[number] = self._borrow(number)
        return self._parts[number]

    def _borrow(self, number: int):
        data, size = ctypes.c_void_p(), ctypes.c_uint64()
        if lib.zt_file_bytes(self._file._live(), number, ctypes.byref(data), ctypes.byref(size)) != c.ZT_OK or not size.value:
            return None
        whole = (ctypes.c_char * size.value).from_address(data.value)
        whole.keep = Retained(self._file)
        return whole

    def holds(self, of: Weight) -> bool:
        """Whether a tensor can be in the mapped file: its stored bytes are its decoded bytes."""
        return lib.zt_component_ptr(of.component, ctypes.byref(self._place), None) == c.ZT_OK


def places(index, shape: tuple) -> tuple:
    """The index in each dimension: a number from 0, or a slice with such numbers and a positive step."""
    given = index if isinstance(index, tuple) else (index,)
    if given.count(...) > 1 or sum(one is not ... for one in given) > len(shape):
        raise IndexError(f"too many indices for the shape {shape}")
    if ... in given:
        at = given.index(...)
        given = given[:at] + (slice(None),) * (len(shape) - len(given) + 1) + given[at + 1:]
    given += (slice(None),) * (len(shape) - len(given))
    return tuple(_place(one, dimension) for one, dimension in zip(given, shape))


def _place(one, dimension: int):
    if isinstance(one, slice):
        first, last, by = one.indices(dimension)
        if by < 1:
            raise ValueError(f"a slice needs a positive step, not {by}")
        return slice(first, max(first, last), by)
    if not hasattr(one, "__index__"):
        raise TypeError(f"an index has integers, slices and ..., not {one!r}")
    place = operator.index(one)
    if not -dimension <= place < dimension:
        raise IndexError(f"index {place} is out of bounds for a dimension of {dimension}")
    return place % dimension


def _is_plain(index) -> bool:
    """Whether an index consists of integers, slices and ``...``, so that a part of a tensor can be read."""
    given = index if isinstance(index, tuple) else (index,)
    return all(one is ... or isinstance(one, (int, slice)) for one in given)


class Slice(Handle):
    """A tensor that is read in parts: ``[...]`` as for an array, with positive steps. Only the part is read.
    If get_tensor leaves the tensor in the mapped file, a part is a view of it. In PyTorch, index lists, masks
    and None read the complete tensor first."""

    def __init__(self, opened: "Opened", of: Weight) -> None:
        self._opened, self._of = opened, of

    def _summary(self) -> str:
        return f"of {self._of.name!r}: {self.get_dtype()} {self._of.shape}"

    def get_shape(self) -> list[int]:
        """The shape in the file, which counts two 4-bit floats in a byte as two elements."""
        return self._of.file_shape

    def get_dtype(self) -> str:
        """safetensors' name of the elements: "F32", "BF16". Other types have the library's name in
        capitals."""
        return self._of.file_type

    def __getitem__(self, index: Any) -> Any:
        of, opened = self._of, self._opened
        check_readable(of)
        if opened._framework.any_index and not _is_plain(index):
            return take(opened._file, [of], opened._framework, opened._mapped)[of.name][index]
        wanted, pairs = places(index, tuple(of.file_shape)), of.type == PAIRS
        if of.type != of.element and not pairs:
            raise Unsupported(f"{of.name!r} is in blocks of {of.element}: pass dtype=\"float32\" for its numbers; get_tensor gives "
                              "all of its bytes")
        if of.is_whole:
            raise Unsupported(f"{of.name!r} cannot be read in parts as {of.type}: get_tensor gives all of it")
        opened._file._live()
        in_type = (*wanted[:-1], _of_pairs(of.name, wanted[-1])) if pairs else wanted
        whole = in_place(of, opened._framework, opened._mapped)
        if whole is not None:
            return opened._framework.finished(whole[in_type])
        slices = [one if isinstance(one, slice) else slice(one, one + 1, 1) for one in wanted]
        count = [len(range(one.start, one.stop, one.step)) for one in slices]
        shape = [len(range(one.start, one.stop, one.step)) for one in in_type if isinstance(one, slice)]
        made, address, size = opened._framework.empty(shape, of.type)
        if size:
            start, step = numbers([one.start for one in slices]), numbers([one.step for one in slices])
            if of.convert:
                request = options(c.zt_read_request, object=of.object, convert=of.convert, start=start, count=numbers(count),
                                  step=step, dst=address, dst_size=size)
                check(lib.zt_read_batch(opened._file._live(), ctypes.byref(request), 1, None, None))
            else:
                check(lib.zt_object_read_slice(of.object, start, numbers(count), step, address, size))
        return opened._framework.finished(made)


def _of_pairs(name: str, one) -> slice:
    """The index in the last dimension, converted to pairs of elements."""
    if not isinstance(one, slice) or one.step != 1 or one.start % 2 or one.stop % 2:
        raise Unsupported(f"{name!r} has two 4-bit floats in each byte: start and stop of a part must be even, and its step 1")
    return slice(one.start // 2, one.stop // 2, 1)


class Opened(Handle):
    """An open file or model, like safetensors' ``safe_open``. Use it in a ``with`` block."""

    def __init__(self, filename: AnyPath, framework: Any, mapped: bool, part: bool = False, combine: bool = False) -> None:
        self._framework, self._path, self._part = framework, os.fspath(filename), part
        self._file = File.open_model(self._path, mode="private" if mapped else "auto", part=part, combine=combine)
        self._combine, self._with_weights = combine, None
        self._mapped = Mapped(self._file) if mapped else None
        self._all: Optional[dict[str, Weight]] = None

    def _summary(self) -> str:
        return self._file._summary()

    def _weights(self) -> dict[str, Weight]:
        """All tensors by name, listed once."""
        self._file._live()
        if self._all is None:
            self._all = {of.name: of for of in weights(self._file)}
        return self._all

    def _weight(self, name: str, dtype: Any = None) -> Weight:
        """One tensor; uses the list of all tensors if it exists."""
        self._file._live()
        if dtype is not None:
            return weight(self._file, name, named(dtype))
        return (self._all or {}).get(name) or weight(self._file, name)

    def __enter__(self) -> "Opened":
        return self

    def __exit__(self, *_: Any) -> None:
        if self._with_weights is not None:
            self._with_weights.__exit__()
        self._file.close()

    def _combined(self) -> "Opened":
        """The file with the tensors of each quantized weight as one object: codes alone are not numbers."""
        self._file._live()
        if self._combine:
            return self
        if self._with_weights is None:
            self._with_weights: Optional[Opened] = Opened(self._path, self._framework, False, self._part, combine=True)
        return self._with_weights

    def keys(self) -> list[str]:
        """The names of all tensors, sorted."""
        return sorted(self._weights())

    def offset_keys(self) -> list[str]:
        """The names of all tensors, in the file's order."""
        return [of.name for of in sorted(self._weights().values(), key=file_order)]

    def metadata(self) -> Optional[dict[str, str]]:
        """The text attributes of the file: None if it does not have attributes, {} if the map is empty.
        ``attributes`` also has attributes of other types."""
        found = self._file.attribute_values
        if found is None:
            return None
        values = [(key, found[key]) for key in found.keys()]
        texts = {key: value.python() for key, value in values if value.kind == "string"}
        return texts if texts or not values else None

    @property
    def attributes(self) -> dict[str, Any]:
        """All attributes of the file."""
        return self._file.attributes

    def get_tensor(self, name: str, *, dtype: Any = None) -> Any:
        """A tensor. With dtype, such as "float32": its numbers, decoded into a new tensor, also for blocks,
        quantized weights and sparse objects; see Object.numpy."""
        if dtype is not None and named(dtype) == FOUR:
            return self._framework.four(self._file[name])
        of = self if dtype is None else self._combined()
        return take(of._file, [of._weight(name, dtype)], of._framework, of._mapped)[name]

    def get_tensors(self, *, dtype: Any = None) -> dict[str, Any]:
        """All tensors, by name. dtype: as for load_file."""
        of = self if dtype is None else self._combined()
        of._file._live()
        return load(of._file, of._framework, of._mapped, dtype=dtype)

    def get_slice(self, name: str, *, dtype: Any = None) -> Slice:
        """A tensor that is read in parts. dtype: as for get_tensor; blocks are read as whole blocks."""
        of = self if dtype is None else self._combined()
        return Slice(of, of._weight(name, dtype))


def in_place(of: Weight, framework, mapped: Optional[Mapped]):
    """A tensor in the mapped file, or None if it cannot be there."""
    part = mapped.part(of.part) if mapped is not None and of.size and not of.convert else None
    return framework.over(part, of) if part is not None and framework.fits(of) and mapped.holds(of) else None


def _check_size(of: Weight, size: int) -> None:
    """For a type that only the file knows, the file may declare any shape."""
    if size != of.size:
        raise ZTensorError(f"{of.name!r} has {of.size} bytes, its shape and type need {size}")


def take(file: File, wanted: list, framework, mapped: Optional[Mapped]) -> dict[str, Any]:
    """Tensors. Those that can be in the mapped file stay there; all others are read in one call."""
    for of in wanted:
        check_readable(of)
    uploaded = wanted if framework.uploads(wanted) else []
    made = framework.upload(uploaded) if uploaded else {}
    due = []
    for of in wanted:
        if of.name in made:
            continue
        made[of.name] = in_place(of, framework, mapped)
        if made[of.name] is not None:
            continue
        tensor, address, size = framework.empty(of.shape, of.type)
        _check_size(of, size)
        made[of.name] = tensor
        if size:
            due.append((of, address, size, None))
    read_into(file, due)
    return {of.name: framework.finished(made[of.name]) for of in wanted}


def load(file: File, framework, mapped: Optional[Mapped], skip_unreadable: bool = False, dtype: Any = None) -> dict[str, Any]:
    """All tensors of a file or model. A tensor that cannot be read is an error. With skip_unreadable it is
    left out with a warning."""
    wanted = list(weights(file, refuse=not skip_unreadable, dtype=_float(dtype)))
    if skip_unreadable:
        names = {of.name for of in wanted}
        left_out = [f"{of.name!r} ({of.element})" for of in wanted if not of.type]
        wanted = [of for of in wanted if of.type]
        left_out += [f"{o.name!r} ({o.format})" for o in file.values() if o.name not in names]
        if left_out:
            warnings.warn(f"left out, as they cannot be read: {', '.join(left_out)}", stacklevel=4)
    return take(file, wanted, framework, mapped)


def _float(dtype: Any) -> Optional[str]:
    """The library's name of the float type to which all floats are converted."""
    name = None if dtype is None else named(dtype)
    if name not in (None, "f64", "f32", "f16", "bf16"):
        raise InvalidArgument(f"the floats of a file can become float64, float32, float16 or bfloat16, not {LONG[name]}; "
                              "get_tensor(name, dtype=...) of safe_open converts one tensor to other types")
    return name


def is_mapped(backend: str) -> bool:
    """safetensors' name of the way to read: "mmap" leaves bytes in the mapped file if possible, "pread" reads
    them."""
    if backend not in ("mmap", "pread"):
        raise ZTensorError(f"backend {backend!r} is not one of mmap, pread")
    return backend == "mmap"


def load_file(filename: AnyPath, framework, mapped: bool, skip_unreadable: bool = False, dtype: Any = None, part: bool = False,
              verify: bool = False) -> dict:
    """Opens a file or model and loads all its tensors. Mapped bytes are usually read from front to back, so
    the system is told to read far ahead. Otherwise it reads little at a time from a disk."""
    mode, advice = ("private", "sequential") if mapped else ("auto", "none")
    # Codes alone are not numbers: combine the tensors of each quantized weight.
    how = {"mode": mode, "advice": advice, "part": part, "verify": verify, "combine": dtype is not None}
    with File.open_model(os.fspath(filename), **how) as file:
        return load(file, framework, Mapped(file) if mapped else None, skip_unreadable, dtype)


def in_pieces(file: File, framework, budget: int, rank: int, world: int, dimension_of, dtype: Any = None) -> Iterator[tuple]:
    """(name, tensor) in file order. At most budget bytes are read ahead, plus one tensor. dimension_of(name,
    shape): the dimension along which ranks share a tensor, or None for the complete tensor."""
    group: list = []
    held = 0

    def given():
        read_into(file, [(of, address, size, slab) for of, slab, _, address, size in group])
        return [(g[0].name, framework.finished(g[2])) for g in group]

    for of in sorted(weights(file, refuse=dtype is not None, dtype=_float(dtype)), key=file_order):
        check_readable(of)
        along = dimension_of(of.name, of.shape) if dimension_of is not None and world > 1 else None
        slabs, shape = None, of.shape
        if along is not None:
            whole = shape[along]
            if whole % world:
                raise ValueError(f"{of.name!r}: {whole} cannot be shared by {world} ranks evenly")
            start, count = [0] * len(shape), list(shape)
            start[along], count[along] = whole // world * rank, whole // world
            shape = tuple(count)
            slabs = numbers(_in_elements(of, start)), numbers(_in_elements(of, count))
        tensor, address, size = framework.empty(shape, of.type)
        if slabs is None:
            _check_size(of, size)
        if group and held + size > budget:
            yield from given()
            group, held = [], 0
        if not size:
            yield of.name, framework.finished(tensor)
            continue
        group.append((of, slabs, tensor, address, size))
        held += size
    if group:
        yield from given()


def _in_elements(of: Weight, place: list) -> list:
    """The start or size of a slab in elements; the shape of blocks is in bytes."""
    if of.type == of.element:
        return place
    if of.block is None:
        raise ValueError(f"{of.name!r}: its rows are not whole blocks of {of.element}, so ranks cannot share it")
    elements, width = of.block
    if place[-1] % width:
        raise ValueError(f"{of.name!r}: a cut at byte {place[-1]} of a row is inside a block of {of.element}, which has {width} bytes")
    return [*place[:-1], place[-1] // width * elements]


def container_of(filename: AnyPath, container: Optional[str]) -> str:
    """The container for a file name: "zt" or "safetensors"."""
    if container is None:
        name = os.fspath(filename)
        container = CONTAINERS.get(os.path.splitext(os.fsdecode(name))[1].lower())
        if container is None:
            raise ValueError(f"the name {name!r} does not select a container: it must end in .zt or .safetensors, or pass "
                             "container='zt' or container='safetensors' (zt convert writes .gguf and .npz)")
    if container not in CONTAINERS.values():
        raise ValueError(f"container {container!r} is not one of {', '.join(map(repr, CONTAINERS.values()))}")
    return container


def save(tensors: list[ToWrite], filename, metadata: Optional[dict[str, Any]], container: Optional[str]) -> Optional[bytes]:
    """Writes tensors to a file. If filename is None, it returns the file's bytes."""
    for key, value in (metadata or {}).items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError("keys and values of metadata must be texts")
    for of in tensors:
        if not isinstance(of.name, str):
            raise TypeError(f"a name must be a text, not {of.name!r}")
    stream = io.BytesIO() if filename is None else None
    if container_of(filename, container) == "zt":
        _save_zt(tensors, filename, stream, metadata or {})
    elif stream is None:
        _safetensors.save(filename, tensors, metadata)
    else:
        _safetensors.write(stream, tensors, metadata)
    return stream.getvalue() if stream is not None else None


def _save_zt(tensors: list[ToWrite], filename, stream, metadata: dict[str, str]) -> None:
    """Writes each tensor as a dense object, several at once if that is faster. All are in memory
    meanwhile."""
    to = {"stream": stream} if stream is not None else {"path": filename}
    with Writer(**to, version=2 if any(of.type in _OF_2 for of in tensors) else None) as writer:
        for key, value in metadata.items():
            writer.set_attribute(key, value)
        requests, keep = (c.zt_write_request * len(tensors))(), []
        for request, of in zip(requests, tensors):
            request.struct_size = ctypes.sizeof(request)
            request.name, request.name_length = sized(of.name)
            request.shape, request.rank = numbers(of.shape), len(of.shape)
            made, request.data = of.make()
            request.size, (request.dtype, request.type) = of.size, type_numbers(of.type)
            keep.append((made, request.shape))
        writer._check(lib.zt_write_batch(writer._live(), requests, len(requests)))
        del keep  # and not earlier
