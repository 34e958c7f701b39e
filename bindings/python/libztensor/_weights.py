"""What libztensor.numpy and libztensor.torch have in common: the weights of a file or model by name, as safetensors has them."""

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

# What a file is written as, by the end of its name.
CONTAINERS = {".zt": "zt", ".safetensors": "safetensors"}
# Types of elements that zTensor 1.2 does not have.
_OF_2 = ("f4_e2m1", "f8_e8m0")


class ToWrite(NamedTuple):
    """A tensor to write. make() returns what keeps its bytes, contiguous and in the host's order, and their address."""

    name: str
    shape: tuple[int, ...]
    type: str
    size: int
    make: Callable[[], tuple[Any, int]]


class Weight(NamedTuple):
    """A tensor of a file. type: of its elements, "u8" for blocks, whose shape is then in bytes, PAIRS for two 4-bit floats in a
    byte, "" if it cannot be read. element: its name. block: elements and bytes of a block, if rows are whole blocks. convert: the
    dtype to which its numbers are converted, type, as C numbers it. is_whole: only all of them can be read."""

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
        """The shape in the file, where two 4-bit floats of a byte are two elements."""
        return [*self.shape[:-1], self.shape[-1] * 2] if self.type == PAIRS else list(self.shape)

    @property
    def file_type(self) -> str:
        """What safetensors calls its elements."""
        return _safetensors.NAMES.get(self.element, self.element.upper())


def file_order(of: Weight) -> tuple[int, int, int]:
    """Where a tensor is in a model. An empty one comes before what starts where it ends."""
    return of.part, of.offset, of.size


def weights(file: File, refuse: bool = False, dtype: Optional[str] = None) -> Iterator[Weight]:
    """All tensors in file order. Sparse objects and groups are left out, or refused. dtype: the floats, blocks, sparse
    objects and groups as numbers of it. What cannot be converted is refused, or cannot be read."""
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
    """Whether it is a tensor of a type that is unknown, as GGUF may have it."""
    if info.format != c.ZT_FORMAT_OTHER:
        return False
    data = _data(info)
    return bool(data) and component_info(data).dtype == c.ZT_DTYPE_OTHER


def _data(info) -> int:
    """The component with the elements. C says it only of objects that are one array."""
    return info.component or lib.zt_component_find_n(info.object, b"data", 4)


def no_array(name: str, format: int) -> Unsupported:
    return Unsupported(f"{name!r} is {format_name(format)}, no array: pass dtype=\"float32\" for its numbers; libztensor.open gives "
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
    is_pairs = of.element.startswith("complex") or size != math.prod(shape) * lib.zt_dtype_size(number)  # complex numbers, which C converts as a whole
    return of._replace(type=dtype, element=dtype, shape=(*shape, 2) if is_pairs else shape, size=size, block=None, convert=number,
                       is_whole=is_pairs)


@functools.cache
def _element(dtype: int, type: int) -> tuple:
    """What elements are called, and how many of them are in how many bytes if these are blocks. Those of a type that is unknown are
    as they are stored."""
    known = type_name(type)
    return (known, block_of(known)) if known else (dtype_name(dtype), (1, 0))


def _weight(name: str, info, several: bool) -> Weight:
    element, (elements, width) = _element(info.dtype, info.type)
    encoding, data = info.encoding, _data(info)
    shape = tuple(info.shape[:info.rank])
    size = info.size
    if size == c.ZT_UNKNOWN_SIZE:  # as of an unknown encoding, which is listed and cannot be read
        size = math.prod(shape) // elements * (width or lib.zt_dtype_size(info.dtype))
    kind, block = element, None
    if elements > 1:  # several elements in some bytes: rows of bytes
        kind, row = "u8", (shape[-1] if shape else 1)
        block = (elements, width) if row % elements == 0 else None
        shape = (*shape[:-1], row // elements * width) if block else (size,)
        if element == "f4_e2m1":  # a row that ends within a byte has no type that shows it
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
    """One tensor. dtype: as numbers of it."""
    if not isinstance(name, str):
        raise TypeError(f"a name is a text, not {name!r}")
    encoded = name.encode(errors="surrogateescape")
    found = lib.zt_object_find_n(file._live(), encoded, len(encoded))
    if not found:
        raise NotFound(f"there is no tensor {name!r}")
    info = filled(lib.zt_object_get_info, c.zt_object_info, found)
    if info.format in _ARRAYS or _is_unknown(info):
        of = _weight(name, info, True)
    elif dtype is None:
        raise no_array(name, info.format)
    else:
        of = _several(name, info)
    return of if dtype is None else _converted(of, info, dtype)


def check_readable(of: Weight) -> None:
    """Refuses a tensor that cannot be read."""
    if not of.type:
        encoding = names_of(component_info(of.component))[2]
        what = f"its type {of.element!r} is unknown" if encoding == "raw" else f"its type is {of.element!r}, its encoding {encoding!r}"
        raise Unsupported(f"{of.name!r} cannot be read: {what}; skip_unreadable=True leaves it out")


def request_of(request, of: Weight) -> None:
    """Sets what is read of a request for all of a tensor."""
    request.struct_size, request.length, request.convert = ctypes.sizeof(request), c.ZT_WHOLE, of.convert
    if of.convert:
        request.object = of.object
    else:
        request.component = of.component


def read_into(file: File, wanted: list, **how: Any) -> None:
    """Fills memory: (weight, address, its size, start and count of a slice in C's numbers or None) each, all in one call."""
    requests = (c.zt_read_request * len(wanted))()
    for i, (request, (of, address, size, slab)) in enumerate(zip(requests, wanted)):
        request_of(request, of)
        request.tag, request.dst, request.dst_size = i, address, size
        if slab is not None:
            request.length, request.start, request.count = 0, *slab
    reading = options(c.zt_read_options, **how)
    check(lib.zt_read_batch(file._live(), requests, len(requests), ctypes.byref(reading), None))


class Mapped:
    """The mapped bytes of a file's parts, writable for this process alone, for tensors that lie in them."""

    def __init__(self, file: File):
        self._file, self._parts, self._place = file, {}, ctypes.c_void_p()

    def part(self, number: int):
        """The bytes of a part, which keep the file open; None where it is not mapped."""
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
        """Whether a tensor can lie there: its bytes are as they are in the file."""
        return lib.zt_component_ptr(of.component, ctypes.byref(self._place), None) == c.ZT_OK


def places(index, shape: tuple) -> tuple:
    """What an index takes of each dimension: a number from 0, or a slice of such, forwards."""
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
            raise ValueError(f"a slice goes forwards, not by {by}")
        return slice(first, max(first, last), by)
    if not hasattr(one, "__index__"):
        raise TypeError(f"an index has integers, slices and ..., not {one!r}")
    place = operator.index(one)
    if not -dimension <= place < dimension:
        raise IndexError(f"index {place} is out of bounds for a dimension of {dimension}")
    return place % dimension


def _is_plain(index) -> bool:
    """Whether an index has integers, slices and ``...`` alone, so that a part of a tensor can be read."""
    given = index if isinstance(index, tuple) else (index,)
    return all(one is ... or isinstance(one, (int, slice)) for one in given)


class Slice(Handle):
    """A tensor that is read in parts: ``[...]`` like an array, only with forward steps. Only what is needed is read; what
    get_tensor leaves in the file stays there, and a part is then a view of it. Of PyTorch, lists of places, masks and None read all
    of the tensor first."""

    def __init__(self, opened: "Opened", of: Weight) -> None:
        self._opened, self._of = opened, of

    def _summary(self) -> str:
        return f"of {self._of.name!r}: {self.get_dtype()} {self._of.shape}"

    def get_shape(self) -> list[int]:
        """The shape in the file, where two 4-bit floats of a byte are two elements."""
        return self._of.file_shape

    def get_dtype(self) -> str:
        """What safetensors calls the elements: "F32", "BF16"; others by their name here, in capitals."""
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
    """What is taken of a last dimension, in pairs of elements."""
    if not isinstance(one, slice) or one.step != 1 or one.start % 2 or one.stop % 2:
        raise Unsupported(f"{name!r} has two 4-bit floats in each byte: a part begins and ends in front of an even index, in steps of 1")
    return slice(one.start // 2, one.stop // 2, 1)


class Opened(Handle):
    """An open file or model, as ``safe_open`` of safetensors gives it. Use it in a ``with`` block."""

    def __init__(self, filename: AnyPath, framework: Any, mapped: bool, part: bool = False) -> None:
        self._framework = framework
        self._file = File.open_model(os.fspath(filename), mode="private" if mapped else "auto", part=part)
        self._mapped = Mapped(self._file) if mapped else None
        self._all: Optional[dict[str, Weight]] = None

    def _summary(self) -> str:
        return self._file._summary()

    def _weights(self) -> dict[str, Weight]:
        """All tensors by name, which are listed once."""
        self._file._live()
        if self._all is None:
            self._all = {of.name: of for of in weights(self._file)}
        return self._all

    def _weight(self, name: str, dtype: Any = None) -> Weight:
        """One tensor; whoever asked for all names has it already."""
        self._file._live()
        if dtype is not None:
            return weight(self._file, name, named(dtype))
        return (self._all or {}).get(name) or weight(self._file, name)

    def __enter__(self) -> "Opened":
        return self

    def __exit__(self, *_: Any) -> None:
        self._file.close()

    def keys(self) -> list[str]:
        """The names of all tensors, sorted."""
        return sorted(self._weights())

    def offset_keys(self) -> list[str]:
        """The names of all tensors, in the order of the file."""
        return [of.name for of in sorted(self._weights().values(), key=file_order)]

    def metadata(self) -> Optional[dict[str, str]]:
        """The attributes of the file that are texts; None without them, and {} for an empty map.
        ``attributes`` has the others, too."""
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
        """A tensor. dtype, such as "float32": its numbers, decoded into a new tensor, also of blocks, groups and sparse
        objects; see Object.numpy."""
        if dtype is not None and named(dtype) == FOUR:
            return self._framework.four(self._file[name])
        return take(self._file, [self._weight(name, dtype)], self._framework, self._mapped)[name]

    def get_tensors(self, *, dtype: Any = None) -> dict[str, Any]:
        """All tensors, by name. dtype: as for load_file."""
        self._file._live()
        return load(self._file, self._framework, self._mapped, dtype=dtype)

    def get_slice(self, name: str, *, dtype: Any = None) -> Slice:
        """A tensor that is read in parts. dtype: its numbers as for get_tensor, of blocks in whole blocks."""
        return Slice(self, self._weight(name, dtype))


def in_place(of: Weight, framework, mapped: Optional[Mapped]):
    """A tensor in the mapped file; None if it cannot lie there."""
    part = mapped.part(of.part) if mapped is not None and of.size and not of.convert else None
    return framework.over(part, of) if part is not None and framework.fits(of) and mapped.holds(of) else None


def _check_size(of: Weight, size: int) -> None:
    """A file may say any shape of a type that it alone knows."""
    if size != of.size:
        raise ZTensorError(f"{of.name!r} has {of.size} bytes, its shape and type ask for {size}")


def take(file: File, wanted: list, framework, mapped: Optional[Mapped]) -> dict[str, Any]:
    """Tensors: those that can lie in the mapped file do, all others are read in one call."""
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
    """All tensors of a file or model. One that cannot be read is an error or, with skip_unreadable, left out with a warning."""
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
    """The library's name of the float type that all floats become."""
    name = None if dtype is None else named(dtype)
    if name not in (None, "f64", "f32", "f16", "bf16"):
        raise InvalidArgument(f"the floats of a file can become float64, float32, float16 or bfloat16, not {LONG[name]}; "
                              "get_tensor(name, dtype=...) of safe_open converts one tensor to other types")
    return name


def is_mapped(backend: str) -> bool:
    """What safetensors calls how bytes are read: "mmap" leaves them in the file, where that can be, "pread" reads them."""
    if backend not in ("mmap", "pread"):
        raise ZTensorError(f"backend {backend!r} is not one of mmap, pread")
    return backend == "mmap"


def load_file(filename: AnyPath, framework, mapped: bool, skip_unreadable: bool = False, dtype: Any = None, part: bool = False) -> dict:
    """All tensors of a file or model that is opened for it. What is mapped is mostly looked at from front to back, and is read
    far ahead then: otherwise a disk is asked for little at a time."""
    mode, advice = ("private", "sequential") if mapped else ("auto", "none")
    # Codes alone are no numbers: a weight that a tool stored as several tensors is one.
    with File.open_model(os.fspath(filename), mode=mode, advice=advice, part=part, combine=dtype is not None) as file:
        return load(file, framework, Mapped(file) if mapped else None, skip_unreadable, dtype)


def in_pieces(file: File, framework, budget: int, rank: int, world: int, dimension_of, dtype: Any = None) -> Iterator[tuple]:
    """(name, tensor) in file order; at most budget bytes are read ahead, and one tensor more. dimension_of(name, shape): the
    dimension along which ranks share a tensor, or None for all of it."""
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
    """Where a slab begins, or how large it is, in elements: the shape of blocks is in bytes."""
    if of.type == of.element:
        return place
    if of.block is None:
        raise ValueError(f"{of.name!r}: its rows are not whole blocks of {of.element}, so ranks cannot share it")
    elements, width = of.block
    if place[-1] % width:
        raise ValueError(f"{of.name!r}: a cut at byte {place[-1]} of a row is inside a block of {of.element}, which has {width} bytes")
    return [*place[:-1], place[-1] // width * elements]


def container_of(filename: AnyPath, container: Optional[str]) -> str:
    """What a file of that name is written as: "zt" or "safetensors"."""
    if container is None:
        name = os.fspath(filename)
        container = CONTAINERS.get(os.path.splitext(os.fsdecode(name))[1].lower())
        if container is None:
            raise ValueError(f"the name {name!r} does not say what to write: it has to end in .zt or .safetensors, or pass "
                             "container='zt' or container='safetensors' (zt convert writes .gguf and .npz)")
    if container not in CONTAINERS.values():
        raise ValueError(f"container {container!r} is not one of {', '.join(map(repr, CONTAINERS.values()))}")
    return container


def save(tensors: list[ToWrite], filename, metadata: Optional[dict[str, Any]], container: Optional[str]) -> Optional[bytes]:
    """Writes tensors to a file, or, if filename is None, returns the bytes of one."""
    for key, value in (metadata or {}).items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError("metadata has texts as keys and as values")
    for of in tensors:
        if not isinstance(of.name, str):
            raise TypeError(f"a name is a text, not {of.name!r}")
    stream = io.BytesIO() if filename is None else None
    if container_of(filename, container) == "zt":
        _save_zt(tensors, filename, stream, metadata or {})
    elif stream is None:
        _safetensors.save(filename, tensors, metadata)
    else:
        _safetensors.write(stream, tensors, metadata)
    return stream.getvalue() if stream is not None else None


def _save_zt(tensors: list[ToWrite], filename, stream, metadata: dict[str, str]) -> None:
    """Each tensor as a dense object, several at once where that is faster: all are in memory meanwhile."""
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
        del keep  # until here
