"""Writing files."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping, Sequence
from typing import Any, Optional, Union

from . import _declarations as c
from ._callbacks import Carrier, Progress, sink
from ._component import taken
from ._elements import contiguous, stored, types
from ._file import File
from ._library import (AnyPath, Handle, InvalidArgument, InvalidState, Unsupported, chosen, dtype_number, lib, options,
                       report, sized, type_number)
from ._object import Object, numbers
from ._value import Value

_ENCODINGS = {None: c.ZT_ENCODING_DEFAULT, "raw": c.ZT_ENCODING_RAW, "zstd": c.ZT_ENCODING_ZSTD}
_DIGESTS = {None: c.ZT_DIGEST_DEFAULT, "none": c.ZT_DIGEST_NONE, "crc32c": c.ZT_DIGEST_CRC32C, "sha256": c.ZT_DIGEST_SHA256,
            "xxh3": c.ZT_DIGEST_XXH3}
_VERSIONS = {None: c.ZT_SPEC_DEFAULT, "0.1.0": c.ZT_SPEC_0_1_0, "1.1.0": c.ZT_SPEC_1_1_0, "1.2.0": c.ZT_SPEC_1_2_0,
             2: c.ZT_SPEC_2}
_FORMATS = {lib.zt_format_name(number).decode(): number for number in range(c.ZT_FORMAT_DENSE, c.ZT_FORMAT_QUANTIZED_GROUP + 1)}


class Writer(Handle):
    """Writes a file. When the ``with`` block ends, the complete file appears; if it raises, no file appears.

    path: its path, or ``stream``: an object with write(bytes). version: 2, "1.2.0", "1.1.0" or "0.1.0".
    encoding: "raw" or "zstd". digest: "crc32c", "sha256", "xxh3" or "none"; the default is xxh3 in version 2,
    otherwise crc32c. allow_damaged: copies bytes that do not match their checksum, without a new digest.
    progress(bytes of the file, 0) may return False to stop. hooks: a result of libztensor.thread_hooks.
    zt_write_options describes the other arguments."""

    def __init__(self, path: Optional[AnyPath] = None, *, stream: Any = None, append: bool = False, version: Union[int, str, None] = None,
                 encoding: Optional[str] = None, digest: Optional[str] = None, level: int = 0, durable: bool = False,
                 threads: int = 0, alignment: int = 0, large_alignment: int = 0, large_size: int = 0, frame_size: int = 0,
                 allow_damaged: bool = False, progress: Progress = None, hooks: Any = None) -> None:
        self._carrier, self._handle, self._path = Carrier(), ctypes.c_void_p(), path
        wanted = options(c.zt_write_options, spec=chosen(_VERSIONS, 2 if version == "2" else version, "version"),
                         encoding=chosen(_ENCODINGS, encoding, "encoding"), digest=chosen(_DIGESTS, digest, "digest"),
                         zstd_level=level, durable=durable, threads=threads, alignment=alignment, large_alignment=large_alignment,
                         large_size=large_size, frame_size=frame_size, allow_damaged=allow_damaged,
                         progress=self._carrier.progress(progress))
        if hooks is not None:
            wanted.thread_hooks = ctypes.pointer(hooks)
        self._kept = wanted
        by, to = ctypes.byref(wanted), ctypes.byref(self._handle)
        if stream is not None:
            self._sink = sink(self._carrier, stream)
            self._check(lib.zt_write_create_sink(ctypes.byref(self._sink), by, to))
        else:
            self._check((lib.zt_write_append if append else lib.zt_write_create)(os.fsencode(path), by, to))

    def _check(self, status: int) -> None:
        self._carrier.check(status)

    def _summary(self) -> str:
        place = "into a stream" if self._path is None else f"of {os.fsdecode(self._path)!r}"
        return place if self._handle else f"{place}, which has ended"

    def _live(self):
        if not self._handle:
            raise InvalidState("the writer has ended")
        return self._handle

    def add(self, name: str, array: Any, *, encoding: Optional[str] = None, digest: Optional[str] = None,
            attributes: Optional[dict[str, Any]] = None) -> None:
        """Writes an array as a dense object. An array that is not contiguous is copied first."""
        import numpy

        array = numpy.asarray(array)
        self.add_object(name, "dense", array.shape, {"data": array}, encoding=encoding, digest=digest, attributes=attributes)

    def add_batch(self, arrays: Mapping[str, Any], *, encoding: Optional[str] = None, digest: Optional[str] = None) -> None:
        """Writes {name: array} as dense objects, several at once if that is faster."""
        requests, keep = (c.zt_write_request * len(arrays))(), []
        for request, (name, array) in zip(requests, arrays.items()):
            shape = array.shape
            request.dtype, request.type = types(array.dtype)
            array = stored(array)
            request.struct_size = ctypes.sizeof(request)
            request.name, request.name_length = sized(name)
            request.shape, request.rank = numbers(shape), len(shape)
            request.data, request.size = array.ctypes.data, array.nbytes
            request.encoding, request.digest = chosen(_ENCODINGS, encoding, "encoding"), chosen(_DIGESTS, digest, "digest")
            keep.append(array)
        self._check(lib.zt_write_batch(self._live(), requests, len(requests)))

    def add_object(self, name: str, format: str, shape: Sequence[int], components: Mapping[str, Any], *, encoding: Optional[str] = None,
                   digest: Optional[str] = None, attributes: Optional[dict[str, Any]] = None) -> None:
        """Writes an object of any format: {"values": array, "indices": array, ...}. File.verify checks its structure."""
        parts, keep = (c.zt_component_desc * max(1, len(components)))(), []
        for part, (role, array) in zip(parts, components.items()):
            array = contiguous(array)
            _describe(part, role, array.dtype, encoding, digest)
            array = stored(array)
            keep.append(array)
            part.data, part.size = array.ctypes.data, array.nbytes
        whole = _object(name, format, shape, attributes)
        whole.components, whole.component_count = parts, len(components)
        self._check(lib.zt_write_object(self._live(), ctypes.byref(whole)))

    def object(self, name: str, format: str, shape: Sequence[int], *, attributes: Optional[dict[str, Any]] = None) -> "OpenObject":
        """Starts an object that is written in pieces, in a ``with`` block."""
        whole = _object(name, format, shape, attributes)
        self._check(lib.zt_write_begin(self._live(), ctypes.byref(whole)))
        return OpenObject(self, name)

    def add_csr(self, name: str, shape: Sequence[int], values: Any, indices: Any, indptr: Any) -> None:
        """Checks and writes a sparse_csr object."""
        if len(shape) != 2:
            raise InvalidArgument(f"a csr object has two dimensions, not {len(shape)}")
        values, indices, indptr = contiguous(values), contiguous(indices, "uint64"), contiguous(indptr, "uint64")
        if indices.size != values.size or indptr.size != shape[0] + 1:
            raise ValueError("a csr object needs one index for each value, and rows + 1 row starts")
        self._check(lib.zt_write_csr(self._live(), *sized(name), *types(values.dtype), numbers(shape), values.size,
                                          values.ctypes.data, values.nbytes, _u64(indices), _u64(indptr)))

    def add_coo(self, name: str, shape: Sequence[int], values: Any, coords: Any) -> None:
        """Checks and writes a sparse_coo object. coords has a row for each dimension."""
        values, coords = contiguous(values), contiguous(coords, "uint64")
        if coords.size != values.size * len(shape):
            raise ValueError("a coo object needs one coordinate for each value and dimension")
        self._check(lib.zt_write_coo(self._live(), *sized(name), *types(values.dtype), numbers(shape), len(shape), values.size,
                                          values.ctypes.data, values.nbytes, _u64(coords)))

    def add_quantized(self, name: str, shape: Sequence[int], packed_weight: Any, scales: Any, zeros: Any = None, *, bits: int = 0,
                      group_size: int = 0, packing: Optional[str] = None, axis: Optional[int] = None, zero_point: int = 0,
                      msb_first: bool = False, zeros_packed: bool = False) -> None:
        """Checks and writes a quantized_group object. zTensor 2 needs axis and stores zt.quant_group/1.

        axis: the dimension along which groups lie; negative values count from the last dimension."""
        if axis is None and (zero_point or msb_first or zeros_packed):
            raise InvalidArgument("zero_point, msb_first and zeros_packed need axis, along which groups lie")
        if axis is not None and not -len(shape) <= axis < len(shape):
            raise InvalidArgument(f"axis {axis} is not one of {len(shape)} dimensions")
        desc, keep = options(c.zt_quantized_desc, bits=bits, group_size=group_size, packing=packing and packing.encode(),
                             has_axis=axis is not None, axis=(axis or 0) % max(1, len(shape)), zero_point=zero_point, msb_first=msb_first,
                             zeros_packed=zeros_packed), []
        for role, array in (("packed_weight", packed_weight), ("scales", scales), ("zeros", zeros)):
            if array is not None:
                array = contiguous(array)
                keep.append(array)
                setattr(desc, role, array.ctypes.data)
                setattr(desc, role + "_size", array.nbytes)
                setattr(desc, role + "_dtype", types(array.dtype)[0])
                if role == "scales":
                    desc.scales_type = types(array.dtype)[1]
        self._check(lib.zt_write_quantized(self._live(), *sized(name), numbers(shape), len(shape), ctypes.byref(desc)))

    def add_dlpack(self, name: str, tensor: Any) -> None:
        """Writes a tensor with DLPack support, in the host's memory, with any strides."""
        capsule, place, is_versioned = taken(tensor)
        call = lib.zt_write_dlpack if is_versioned else lib.zt_write_dlpack_unversioned
        self._check(call(self._live(), *sized(name), place))
        del capsule  # and not earlier

    def copy(self, source: Object, new_name: Optional[str] = None, *, encoding: Optional[str] = None,
             digest: Optional[str] = None, dtype: Optional[str] = None, type: Optional[str] = None) -> None:
        """Copies the stored bytes of an object of an open file of any container. With another encoding,
        digest or dtype of floats, it rewrites the object. type: the block type to quantize floats to,
        "gguf.q8_0"."""
        name, length = _optional(new_name)
        wanted = options(c.zt_copy_options, name=name, name_length=length, encoding=chosen(_ENCODINGS, encoding, "encoding"),
                         digest=chosen(_DIGESTS, digest, "digest"),
                         dtype=c.ZT_DTYPE_OTHER if dtype is None else dtype_number(dtype),
                         type=c.ZT_TYPE_NONE if type is None else type_number(type))
        self._check(lib.zt_write_copy(self._live(), source._live(), ctypes.byref(wanted)))

    def add_shard(self, name: str, file: File) -> None:
        """Makes an open file of zTensor 2 a shard of the file that is written. Readers look for it as
        STEM-NAME.zt."""
        self._check(lib.zt_write_shard(self._live(), *sized(name), file._live()))

    def link(self, source: Object, new_name: Optional[str] = None) -> None:
        """Adds an object of a shard that add_shard added. Its bytes stay in the shard."""
        self._check(lib.zt_write_link(self._live(), source._live(), *_optional(new_name)))

    def copy_attributes(self, source: File) -> None:
        """Replaces all attributes of the file by those of an open file, of any container."""
        self._check(lib.zt_write_copy_attributes(self._live(), source._live()))

    def set_attribute(self, key: str, value: Any, *, object: Optional[str] = None) -> None:
        """Sets an attribute of the file or, by its name, of an object: one that is being written, or one that
        the file had before an append. The value is anything that JSON has, bytes, a NumPy array of numbers,
        or a Value of an open file."""
        attribute, keep = _attribute(value)
        name, attribute.key_length = sized(key)
        self._check(lib.zt_write_attribute(self._live(), *_optional(object), name, ctypes.byref(attribute)))
        del keep  # and not earlier

    def remove_attribute(self, key: str, *, object: Optional[str] = None) -> None:
        """Removes an attribute; see set_attribute."""
        self.set_attribute(key, _REMOVE, object=object)

    def remove_object(self, name: str) -> None:
        """Removes an object that the file had before an append. A new object may have its name."""
        self._check(lib.zt_write_remove(self._live(), *sized(name)))

    def rename_object(self, name: str, new_name: str) -> None:
        """Renames an object that the file had before an append."""
        self._check(lib.zt_write_rename(self._live(), *sized(name), *sized(new_name)))

    def finish(self) -> dict[str, Any]:
        """Publishes the file and returns what was written."""
        summary = options(c.zt_write_summary)
        handle, self._handle = self._live(), ctypes.c_void_p()
        self._check(lib.zt_write_finish(handle, ctypes.byref(summary)))
        return report(summary)

    def abort(self) -> None:
        """Discards the file."""
        lib.zt_write_abort(self._handle)
        self._handle = ctypes.c_void_p()

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is not None:
            self.abort()
        elif self._handle:
            self.finish()

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.abort()


class OpenObject(Handle):
    """An object that is written in pieces."""

    def __init__(self, writer: Writer, name: str) -> None:
        self._writer, self._name = writer, name

    def component(self, role: str, dtype: Any, *, size: int = 0, encoding: Optional[str] = None, digest: Optional[str] = None) -> None:
        """Starts a component with elements of a NumPy dtype. size: its bytes, if known."""
        import numpy

        part = c.zt_component_desc()
        _describe(part, role, numpy.dtype(dtype), encoding, digest)
        part.size = size
        self._writer._check(lib.zt_write_component(self._writer._live(), ctypes.byref(part)))

    def write(self, data: Any) -> None:
        """Appends bytes or an array to the component, in the host's byte order."""
        data = data if isinstance(data, bytes) else stored(data)
        place = data if isinstance(data, bytes) else data.ctypes.data
        self._writer._check(lib.zt_write_data(self._writer._live(), place, len(data) if isinstance(data, bytes) else data.nbytes))

    def set_attribute(self, key: str, value: Any) -> None:
        """Sets an attribute of the object; see Writer.set_attribute."""
        self._writer.set_attribute(key, value, object=self._name)

    def __enter__(self) -> "OpenObject":
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None:
            self._writer._check(lib.zt_write_end(self._writer._live()))


_REMOVE = object()


def _optional(name: Optional[str]) -> tuple:
    """A name and its length; NULL for None."""
    return (None, 0) if name is None else sized(name)


def _u64(array):
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_uint64))


def _describe(part, role: str, dtype, encoding, digest) -> None:
    part.struct_size = ctypes.sizeof(part)
    part.role, part.role_length = sized(role)
    part.dtype, part.type = types(dtype)
    part.encoding, part.digest = chosen(_ENCODINGS, encoding, "encoding"), chosen(_DIGESTS, digest, "digest")


def _json(value) -> bytes:
    import json

    return json.dumps(value).encode()


def _object(name: str, format: str, shape, attributes: Optional[dict[str, Any]]):
    made = options(c.zt_object_desc, shape=numbers(shape), rank=len(shape), format=_FORMATS.get(format, c.ZT_FORMAT_OTHER))
    made.name, made.name_length = sized(name)
    if format not in _FORMATS:
        made.format_name = format.encode()
    if attributes:
        made.attributes_json = _json(attributes)
    return made


def _attribute(value: Any) -> tuple:
    """A value as a C struct, and the memory that it points to."""
    if value is _REMOVE:
        return options(c.zt_attribute, kind=c.ZT_ATTRIBUTE_KIND_REMOVE), None
    if isinstance(value, Value):
        return options(c.zt_attribute, kind=c.ZT_ATTRIBUTE_KIND_VALUE, data=value._live()), value
    if hasattr(value, "__array_interface__"):
        value = value.ravel()  # contiguous
        dtype, logical = types(value.dtype)
        if logical != c.ZT_TYPE_NONE or not value.dtype.isnative:
            raise Unsupported(f"an attribute cannot be numbers of {value.dtype}")
        return options(c.zt_attribute, kind=c.ZT_ATTRIBUTE_KIND_NUMBERS, dtype=dtype, data=value.ctypes.data, count=value.size), value
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        texts = [item.encode() for item in value]
        lengths = (ctypes.c_size_t * len(texts))(*map(len, texts))
        starts = (ctypes.c_char_p * len(texts))(*texts)
        made = options(c.zt_attribute, kind=c.ZT_ATTRIBUTE_KIND_STRINGS, count=len(texts), lengths=lengths)
        made.data = ctypes.cast(starts, ctypes.c_void_p)
        return made, (texts, starts)
    is_bytes = isinstance(value, (bytes, bytearray))
    text = bytes(value) if is_bytes else _json(value)
    made = options(c.zt_attribute, kind=c.ZT_ATTRIBUTE_KIND_BYTES if is_bytes else c.ZT_ATTRIBUTE_KIND_JSON, size=len(text))
    made.data = ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p)
    return made, text


def create(path: Optional[AnyPath] = None, **how: Any) -> Writer:
    """Starts a new file; see Writer."""
    return Writer(path, **how)


def append(path: AnyPath, **how: Any) -> Writer:
    """Starts to append to a file; see Writer."""
    return Writer(path, append=True, **how)


def repair(path: AnyPath, *, dry_run: bool = False, cut_at: int = 0, progress: Progress = None) -> dict[str, Any]:
    """Removes an unfinished append; see zt_repair. progress(done, total) may return False to stop."""
    carrier = Carrier()
    wanted = options(c.zt_repair_options, dry_run=dry_run, cut_at=cut_at, progress=carrier.progress(progress))
    found = options(c.zt_repair_report)
    carrier.check(lib.zt_repair(os.fsencode(path), ctypes.byref(wanted), ctypes.byref(found)))
    return report(found)
