"""Files, written."""

from __future__ import annotations

import ctypes
import json
import os
from typing import Optional

from . import _declarations as c
from ._library import InvalidArgument, InvalidState, Unsupported, check, lib, options
from ._reader import _ML_DTYPES, _NUMPY, Object

_ENCODINGS = {None: c.ZT_ENCODING_DEFAULT, "raw": c.ZT_ENCODING_RAW, "zstd": c.ZT_ENCODING_ZSTD}
_DIGESTS = {None: c.ZT_DIGEST_DEFAULT, "none": c.ZT_DIGEST_NONE, "crc32c": c.ZT_DIGEST_CRC32C, "sha256": c.ZT_DIGEST_SHA256}
_VERSIONS = {None: c.ZT_SPEC_DEFAULT, "0.1.0": c.ZT_SPEC_0_1_0, "1.1.0": c.ZT_SPEC_1_1_0, "1.2.0": c.ZT_SPEC_1_2_0}
_STORAGE = {"complex64": "f32", "complex128": "f64"}
_NAMES = {**{v[1:]: k for k, v in _NUMPY.items()}, **{v: k for k, v in _ML_DTYPES.items()}}


def _chosen(table: dict, key, what: str) -> int:
    if key not in table:
        raise InvalidArgument(f"{what} is one of {[k for k in table if k]}, not {key!r}")
    return table[key]


def _types(dtype) -> tuple:
    """The dtype and type numbers of a NumPy dtype."""
    name = _NAMES.get(dtype.name) or _NAMES.get(dtype.str[1:])
    if name is None:
        raise Unsupported(f"no dtype for NumPy's {dtype}")
    logical = name if name.startswith(("f8_", "complex")) else None
    storage = _STORAGE.get(name) or ("u8" if logical else name)
    number = c.zt_dtype()
    check(lib.zt_dtype_from_name(storage.encode(), ctypes.byref(number)))
    kind = c.zt_type(c.ZT_TYPE_NONE)
    if logical:
        check(lib.zt_type_from_name(logical.encode(), ctypes.byref(kind)))
    return number.value, kind.value


def _sized(name: str) -> tuple:
    """A name and its length."""
    text = name.encode()
    return text, len(text)


class Writer:
    """Writes a file that appears whole when the ``with`` block ends well, and not at all when it raises."""

    def __init__(self, path, *, append: bool = False, version: Optional[str] = None, encoding: Optional[str] = None,
                 digest: Optional[str] = None, level: int = 0, durable: bool = False, threads: int = 0):
        wanted = options(c.zt_writer_options, spec_version=_chosen(_VERSIONS, version, "version"),
                         encoding=_chosen(_ENCODINGS, encoding, "encoding"), digest=_chosen(_DIGESTS, digest, "digest"),
                         zstd_level=level, durable=durable, threads=threads)
        self._handle = ctypes.c_void_p()
        begin = lib.zt_writer_append if append else lib.zt_writer_create
        check(begin(os.fsencode(path), ctypes.byref(wanted), ctypes.byref(self._handle)))

    def _live(self):
        if not self._handle:
            raise InvalidState("the writer has ended")
        return self._handle

    def add(self, name: str, array, *, encoding: Optional[str] = None, digest: Optional[str] = None,
            attributes: Optional[dict] = None) -> None:
        """Writes an array as a dense object; what is not contiguous is copied first."""
        import numpy

        array = numpy.asarray(array)
        self.add_object(name, "dense", array.shape, {"data": array}, encoding=encoding, digest=digest, attributes=attributes)

    def add_object(self, name: str, format: str, shape, components: dict, *, encoding: Optional[str] = None,
                   digest: Optional[str] = None, attributes: Optional[dict] = None) -> None:
        """Writes an object of any format: {"values": array, "indices": array, ...}. zt_verify checks its structure."""
        import numpy

        parts = (c.zt_component_desc * max(1, len(components)))()
        keep = []
        for part, (role, array) in zip(parts, components.items()):
            array = numpy.ascontiguousarray(array)
            if array.dtype.byteorder == ">":
                array = array.astype(array.dtype.newbyteorder("="))
            text = role.encode()
            keep.append((array, text))
            part.struct_size = ctypes.sizeof(part)
            part.role, part.role_length = text, len(text)
            part.dtype, part.type = _types(array.dtype)
            part.encoding, part.digest = _chosen(_ENCODINGS, encoding, "encoding"), _chosen(_DIGESTS, digest, "digest")
            part.data, part.size = array.ctypes.data, array.nbytes
        text, numbers = name.encode(), (ctypes.c_uint64 * len(shape))(*shape)
        known = {"dense": 1, "sparse_csr": 2, "sparse_coo": 3, "quantized_group": 4}.get(format, c.ZT_FORMAT_OTHER)
        whole = options(c.zt_object_desc, name=text, name_length=len(text), format=known, shape=numbers, rank=len(shape),
                        components=parts, component_count=len(components))
        if known == c.ZT_FORMAT_OTHER:
            whole.format_name = format.encode()
        if attributes:
            whole.attributes_json = json.dumps(attributes).encode()
        check(lib.zt_writer_add_object(self._live(), ctypes.byref(whole)))

    def copy(self, source: Object, new_name: Optional[str] = None) -> None:
        """Copies an object of an open file as it is stored."""
        text = None if new_name is None else new_name.encode()
        check(lib.zt_writer_add_copy(self._live(), source._live(), text, len(text or b"")))

    def set_attribute(self, key: str, value) -> None:
        """An attribute of the file: anything that JSON has, bytes, or a NumPy array of numbers."""
        self._give_attribute(lib.zt_writer_set_attribute, (), key, value)

    def set_object_attribute(self, name: str, key: str, value) -> None:
        """The same of an object that the file had before an append."""
        self._give_attribute(lib.zt_writer_set_object_attribute, _sized(name), key, value)

    def _give_attribute(self, call, of, key: str, value) -> None:
        attribute = options(c.zt_attribute)
        if hasattr(value, "__array_interface__"):
            value = value.ravel()  # contiguous
            attribute.dtype, logical = _types(value.dtype)
            if logical != c.ZT_TYPE_NONE or not value.dtype.isnative:
                raise Unsupported(f"an attribute cannot be numbers of {value.dtype}")
            attribute.kind, attribute.data, attribute.count = c.ZT_ATTRIBUTE_NUMBERS, value.ctypes.data, value.size
        else:
            is_bytes = isinstance(value, (bytes, bytearray))
            attribute.kind = c.ZT_ATTRIBUTE_BYTES if is_bytes else c.ZT_ATTRIBUTE_JSON
            text = bytes(value) if is_bytes else json.dumps(value).encode()
            attribute.data, attribute.size = ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p), len(text)
        name = key.encode()
        attribute.key_length = len(name)
        check(call(self._live(), *of, name, ctypes.byref(attribute)))

    def remove_attribute(self, key: str) -> None:
        """Takes an attribute of the file away."""
        attribute = options(c.zt_attribute)
        attribute.kind = c.ZT_ATTRIBUTE_REMOVE
        name = key.encode()
        attribute.key_length = len(name)
        check(lib.zt_writer_set_attribute(self._live(), name, ctypes.byref(attribute)))

    def remove_object_attribute(self, name: str, key: str) -> None:
        """Takes an attribute of an object away that the file had before an append."""
        attribute = options(c.zt_attribute)
        attribute.kind = c.ZT_ATTRIBUTE_REMOVE
        text = key.encode()
        attribute.key_length = len(text)
        check(lib.zt_writer_set_object_attribute(self._live(), *_sized(name), text, ctypes.byref(attribute)))

    def remove_object(self, name: str) -> None:
        """Takes an object away that the file had before an append; another of that name may be written."""
        check(lib.zt_writer_remove_object(self._live(), *_sized(name)))

    def rename_object(self, name: str, new_name: str) -> None:
        """Gives an object another name that the file had before an append."""
        check(lib.zt_writer_rename_object(self._live(), *_sized(name), *_sized(new_name)))

    def finish(self) -> dict:
        """Publishes the file; what was written."""
        summary = options(c.zt_write_summary)
        handle, self._handle = self._live(), ctypes.c_void_p()
        check(lib.zt_writer_finish(handle, ctypes.byref(summary)))
        return {name: getattr(summary, name) for name, _ in summary._fields_[1:]}

    def abort(self) -> None:
        """Leaves no trace."""
        lib.zt_writer_abort(self._handle)
        self._handle = ctypes.c_void_p()

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, kind, *_) -> None:
        if kind is not None:
            self.abort()
        elif self._handle:
            self.finish()

    def __del__(self):
        if getattr(self, "_handle", None):
            self.abort()


def create(path, **how) -> Writer:
    """Begins a new file; see Writer."""
    return Writer(path, **how)


def append(path, **how) -> Writer:
    """Begins to append to a file; see Writer."""
    return Writer(path, append=True, **how)


def repair(path, *, dry_run: bool = False, cut_at: int = 0) -> dict:
    """Cuts an unfinished append back; see zt_repair."""
    wanted = options(c.zt_repair_options, dry_run=dry_run, cut_at=cut_at)
    report = options(c.zt_repair_report)
    check(lib.zt_repair(os.fsencode(path), ctypes.byref(wanted), ctypes.byref(report)))
    return {name: getattr(report, name) for name, _ in report._fields_[1:]}
