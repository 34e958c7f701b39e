"""Files, objects and components, read."""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, Callable, Optional

from . import _declarations as c
from ._library import InvalidArgument, NotFound, Unsupported, carrying, check, lib, options, remote

_NUMPY = {"f64": "<f8", "f32": "<f4", "f16": "<f2", "i64": "<i8", "i32": "<i4", "i16": "<i2", "i8": "|i1", "u64": "<u8",
          "u32": "<u4", "u16": "<u2", "u8": "|u1", "bool": "|b1", "complex64": "<c8", "complex128": "<c16"}
_ML_DTYPES = {"bf16": "bfloat16", "f8_e4m3fn": "float8_e4m3fn", "f8_e5m2": "float8_e5m2", "f8_e4m3fnuz": "float8_e4m3fnuz",
              "f8_e5m2fnuz": "float8_e5m2fnuz"}


def _address(function: str):
    """A function that gives a string, to give its address instead: ctypes ends a string at its first NUL, and a name may
    hold one."""
    found = lib[function]
    found.argtypes, found.restype = getattr(lib, function).argtypes, ctypes.c_void_p
    return found


_object_name, _component_role = _address("zt_object_name"), _address("zt_component_role")


def numpy_dtype(name: str):
    """The NumPy dtype of a dtype or logical type: "f32", "bf16", "complex64"; bf16 and f8 need ml_dtypes."""
    import numpy

    if name in _NUMPY:
        return numpy.dtype(_NUMPY[name].replace("<", "="))
    if name in _ML_DTYPES:
        try:
            import ml_dtypes
        except ImportError as e:
            raise Unsupported(f"{name} needs the package ml_dtypes") from e
        return numpy.dtype(getattr(ml_dtypes, _ML_DTYPES[name]))
    raise Unsupported(f"NumPy has no dtype for {name}")


def _text(pointer: Optional[bytes]) -> Optional[str]:
    return None if pointer is None else pointer.decode()


def _attributes(value) -> dict:
    """A map of attributes; bytes, floats that are not finite and what else JSON lacks as zt_value_to_json says."""
    if not value:
        return {}
    needed = ctypes.c_size_t()
    check(lib.zt_value_to_json(value, None, 0, ctypes.byref(needed)))
    buffer = ctypes.create_string_buffer(needed.value)
    check(lib.zt_value_to_json(value, buffer, needed.value, ctypes.byref(needed)))
    return json.loads(buffer.value.decode())


class _Bytes:
    """A buffer of the library; memory that NumPy keeps alive by keeping this."""

    def __init__(self, component: "Component", dtype, shape):
        self._buffer = ctypes.c_void_p()
        check(lib.zt_component_load(component._handle, None, ctypes.byref(self._buffer)))
        data = lib.zt_buffer_data(self._buffer)
        borrowed = ctypes.c_void_p()
        read_only = lib.zt_component_ptr(component._handle, ctypes.byref(borrowed), None) == c.ZT_OK and borrowed.value == data
        # NumPy's own protocol knows no ml_dtypes: bytes of that width, looked at as such afterwards.
        plain = f"|V{dtype.itemsize}" if dtype.name in _ML_DTYPES.values() else dtype.str
        self.__array_interface__ = {"version": 3, "data": (data, read_only), "shape": tuple(shape), "typestr": plain}

    def __del__(self):
        lib.zt_buffer_free(self._buffer)


class Component:
    """One blob of an object. Keeps its file open."""

    def __init__(self, file: "File", handle):
        self._file, self._handle = file, handle

    role: str = property(lambda s: ctypes.string_at(_component_role(s._live()), lib.zt_component_role_length(s._handle)).decode())
    dtype: str = property(lambda s: _text(lib.zt_component_dtype_name(s._live())))
    type: Optional[str] = property(lambda s: _text(lib.zt_component_type_name(s._live())))
    encoding: str = property(lambda s: _text(lib.zt_component_encoding_name(s._live())))
    digest: Optional[str] = property(lambda s: _text(lib.zt_component_digest(s._live())))
    offset: int = property(lambda s: lib.zt_component_offset(s._live()))
    part: int = property(lambda s: lib.zt_component_part(s._live()))
    stored_size: int = property(lambda s: lib.zt_component_stored_size(s._live()))

    @property
    def size(self) -> int:
        """Decoded bytes; found out where the file does not declare them."""
        size = lib.zt_component_size(self._live())
        if size == c.ZT_UNKNOWN_SIZE:
            measured = ctypes.c_uint64()
            check(lib.zt_component_measure(self._live(), c.zt_progress_callback(), None, ctypes.byref(measured)))
            size = measured.value
        return size

    def _live(self):
        self._file._live()
        return self._handle

    def read(self) -> bytes:
        """The decoded bytes, in the host's byte order."""
        buffer = (ctypes.c_char * self.size)()
        check(lib.zt_component_read(self._live(), buffer, len(buffer)))
        return buffer.raw

    def read_stored(self) -> bytes:
        """The stored bytes as they are: compressed, of an unknown encoding."""
        buffer = (ctypes.c_char * self.stored_size)()
        check(lib.zt_component_read_stored(self._live(), buffer, len(buffer)))
        return buffer.raw

    def read_into(self, target) -> None:
        """Fills a writable buffer of the component's size: a NumPy array, a bytearray."""
        view = memoryview(target).cast("B")
        buffer = (ctypes.c_char * view.nbytes).from_buffer(view)
        check(lib.zt_component_read(self._live(), buffer, view.nbytes))

    def numpy(self, shape=None):
        """The elements as an array: in the mapped file, read-only, where that can be; else decoded. The array keeps the
        memory, and outlives the file."""
        import numpy

        self._live()
        dtype = numpy_dtype(self.type or self.dtype)
        made = numpy.asarray(_Bytes(self, dtype, (self.size // dtype.itemsize,) if shape is None else shape))
        return made if made.dtype == dtype else made.view(dtype)

    def verify(self) -> None:
        """Checks the digest; Unsupported if there is none."""
        check(lib.zt_component_verify(self._live()))


def _listed_name(info) -> str:
    address = ctypes.c_void_p.from_buffer(info, c.zt_object_info.name.offset)  # as in _address
    return ctypes.string_at(address.value, info.name_length).decode()


class Object(Mapping):
    """A named tensor: a mapping from role to Component. Keeps its file open."""

    def __init__(self, file: "File", handle):
        self._file, self._handle = file, handle

    name: str = property(lambda s: ctypes.string_at(_object_name(s._live()), lib.zt_object_name_length(s._handle)).decode())
    format: str = property(lambda s: _text(lib.zt_object_format_name(s._live())))
    attributes: dict = property(lambda s: _attributes(lib.zt_object_attributes(s._live())))

    def _live(self):
        self._file._live()
        return self._handle

    @property
    def shape(self) -> tuple:
        rank = lib.zt_object_rank(self._live())
        return tuple(lib.zt_object_shape(self._handle)[:rank]) if rank else ()

    def __len__(self) -> int:
        return lib.zt_component_count(self._live())

    def __iter__(self) -> Iterator[str]:
        return (Component(self._file, lib.zt_component_at(self._live(), i)).role for i in range(len(self)))

    def __getitem__(self, role: str) -> Component:
        text = role.encode()
        found = lib.zt_component_find_n(self._live(), text, len(text))
        if not found:
            raise NotFound(f"object {self.name!r} has no component {role!r}")
        return Component(self._file, found)

    def numpy(self):
        """A dense object as an array of its shape; see Component.numpy."""
        if self.format != "dense":
            raise Unsupported(f"object {self.name!r} is {self.format}, not dense: take its components")
        return self["data"].numpy(self.shape)

    def verify(self) -> None:
        """Checks digests and contents of its components, and how they fit each other."""
        check(lib.zt_object_verify(self._live()))

    def read_slice(self, start, count, step=None):
        """A hyperslab of a dense object as a new array; only its bytes are read, as far as the encoding allows."""
        import numpy

        made = numpy.empty(tuple(count), numpy_dtype(self["data"].type or self["data"].dtype))
        if len(start) != len(self.shape) or len(count) != len(self.shape) or (step is not None and len(step) != len(self.shape)):
            raise InvalidArgument("a slice needs one number for each dimension")
        numbers = lambda n: None if n is None else (ctypes.c_uint64 * len(self.shape))(*n)  # noqa: E731
        check(lib.zt_object_read_slice(self._live(), numbers(start), numbers(count), numbers(step), made.ctypes.data, made.nbytes))
        return made

    def __dlpack_device__(self) -> tuple:
        return (1, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """A DLPack capsule that shares memory. Consumers that do not know DLPack 1 cannot be told that memory is read-only:
        they get it by ``unversioned()``."""
        if dl_device not in (None, (1, 0)):
            raise BufferError("the tensor is in the host's memory")
        if max_version is None or max_version[0] < 1:
            raise BufferError("this consumer has no flag for read-only memory; see Object.unversioned")
        if copy is True:
            raise BufferError("copies are made by numpy().copy()")
        made = ctypes.c_void_p()
        check(lib.zt_object_to_dlpack(self._live(), ctypes.byref(made)))
        return _capsule(made, b"dltensor_versioned")

    def unversioned(self) -> "Unversioned":
        """For consumers of the DLPack before 1.0 (PyTorch before 2.9): they share memory, and must not write to it."""
        return Unversioned(self)


class Unversioned:
    def __init__(self, made_of: Object):
        self._object = made_of

    def __dlpack_device__(self) -> tuple:
        return (1, 0)

    def __dlpack__(self, stream=None):
        made = ctypes.c_void_p()
        check(lib.zt_object_to_dlpack_unversioned(self._object._live(), ctypes.byref(made)))
        return _capsule(made, b"dltensor")


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_valid_capsule = ctypes.pythonapi.PyCapsule_IsValid
_valid_capsule.restype, _valid_capsule.argtypes = ctypes.c_int, [ctypes.c_void_p, ctypes.c_char_p]
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p]


# Where DLManagedTensorVersioned and DLManagedTensor keep their deleter.
_DELETERS = {b"dltensor_versioned": 16, b"dltensor": 56}


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _end_capsule(capsule):
    for name, place in _DELETERS.items():
        if _valid_capsule(capsule, name):  # nobody took it: a consumer renames it
            tensor = _capsule_pointer(capsule, name)
            deleter = ctypes.c_void_p.from_address(tensor + place).value
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)(tensor)


def _capsule(tensor, name):
    return _new_capsule(tensor, name, ctypes.cast(_end_capsule, ctypes.c_void_p))


_MODES = {"map": c.ZT_MODE_MAP, "read": c.ZT_MODE_READ, "auto": c.ZT_MODE_AUTO}
_DIRECT = {"auto": c.ZT_DIRECT_AUTO, "never": c.ZT_DIRECT_NEVER, "always": c.ZT_DIRECT_ALWAYS}


class File(Mapping):
    """An open file: a mapping from name to Object. Use it in a ``with`` block, or close() it; arrays outlive it. Of a
    URL (s3://, gs://, az://, https://) a file or a model, if libztensor_remote is installed."""

    def __init__(self, path, *, mode: str = "map", strict: bool = False, verify: bool = False, threads: int = 0):
        how = dict(mode=mode, strict=strict, verify=verify, threads=threads)
        if isinstance(path, str) and "://" in path:
            self._open(remote().zt_remote_open, path.encode(), None, **how)
        else:
            self._open(lib.zt_open, os.fsencode(path), **how)

    @classmethod
    def open_model(cls, path, **how) -> "File":
        """A model that may be of many files: a file, an index, one of several numbered files, a folder. As File() in
        all else."""
        if isinstance(path, str) and "://" in path:
            return cls(path, **how)
        return cls.__new__(cls)._open(lib.zt_open_model, os.fsencode(path), **how)

    @classmethod
    def open_parts(cls, paths, **how) -> "File":
        """Several files as one."""
        names = [os.fsencode(path) for path in paths]
        return cls.__new__(cls)._open(lib.zt_open_parts, (ctypes.c_char_p * len(names))(*names), len(names), **how)

    def _open(self, call, *what, mode="map", strict=False, verify=False, threads=0) -> "File":
        wanted = options(c.zt_open_options, mode=_MODES[mode], strict=strict, verify=verify, threads=threads)
        self._handle = ctypes.c_void_p()
        check(call(*what, ctypes.byref(wanted), ctypes.byref(self._handle)))
        return self

    version: str = property(lambda s: _text(lib.zt_file_version(s._live())))
    size: int = property(lambda s: lib.zt_file_size(s._live()))
    mode: str = property(lambda s: {number: name for name, number in _MODES.items()}[lib.zt_file_mode(s._live())])
    attributes: dict = property(lambda s: _attributes(lib.zt_file_attributes(s._live())))

    @property
    def parts(self) -> list:
        """The paths of the files that it is of; None where one was not opened by a path."""
        paths = [lib.zt_part_path(self._live(), part) for part in range(lib.zt_part_count(self._live()))]
        return [None if path is None else os.fsdecode(path) for path in paths]

    def _live(self):
        if not self._handle:
            raise ValueError("the file is closed")
        return self._handle

    def close(self) -> None:
        lib.zt_close(self._handle)
        self._handle = ctypes.c_void_p()

    def __enter__(self) -> "File":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def __del__(self):
        if getattr(self, "_handle", None):
            self.close()

    def __len__(self) -> int:
        return lib.zt_object_count(self._live())

    def __iter__(self) -> Iterator[str]:
        infos = (c.zt_object_info * 64)()
        infos[0].struct_size = ctypes.sizeof(c.zt_object_info)
        first, filled = 0, ctypes.c_size_t(1)
        while filled.value:
            check(lib.zt_object_list(self._live(), first, infos, len(infos), ctypes.byref(filled)))
            yield from [_listed_name(info) for info in infos[:filled.value]]
            first += filled.value

    def __getitem__(self, name: str) -> Object:
        text = name.encode()
        found = lib.zt_object_find_n(self._live(), text, len(text))
        if not found:
            raise NotFound(f"there is no object {name!r}")
        return Object(self, found)

    @property
    def identity(self) -> dict:
        """What changes when the file does: for caches."""
        found = options(c.zt_identity)
        check(lib.zt_file_identity(self._live(), ctypes.byref(found)))
        return {name: getattr(found, name) for name, _ in found._fields_[1:]}

    def verify(self, progress: Optional[Callable[[int, int], Any]] = None) -> dict:
        """Checks every digest and all contents; what was looked at. progress(done, total) may return False to stop."""
        step = carrying(progress)
        wanted = options(c.zt_verify_options, progress=step.callback)
        report = options(c.zt_verify_report)
        step.check(lib.zt_verify(self._live(), ctypes.byref(wanted), ctypes.byref(report)))
        return {name: getattr(report, name) for name, _ in report._fields_[1:]}

    def read_batch(self, targets: Mapping, *, threads: int = 0, verify: bool = False, direct: str = "auto",
                   progress: Optional[Callable[[int, int], Any]] = None) -> dict:
        """Fills arrays with dense objects, many at once: {name: writable contiguous array of its bytes}. direct: "auto",
        "never" (through the page cache: for what is read again soon) or "always"."""
        requests = (c.zt_read_request * len(targets))()
        keep = []
        for request, (name, target) in zip(requests, targets.items()):
            view = memoryview(target).cast("B")
            buffer = (ctypes.c_char * view.nbytes).from_buffer(view)
            part = self[name]["data"]
            keep.append((buffer, part))
            request.struct_size = ctypes.sizeof(request)
            request.component = part._handle
            request.length = c.ZT_WHOLE
            request.dst, request.dst_size = ctypes.addressof(buffer), view.nbytes
        step = carrying(progress)
        wanted = options(c.zt_read_options, threads=threads, verify=verify, direct=_DIRECT[direct], progress=step.callback)
        stats = options(c.zt_read_stats)
        step.check(lib.zt_read_batch(self._live(), requests, len(requests), ctypes.byref(wanted), ctypes.byref(stats)))
        return {name: getattr(stats, name) for name, _ in stats._fields_[1:]}


def open(path, **how) -> File:
    """Opens a .zt file. mode: "map" lends bytes in place, "read" survives files that are cut short meanwhile, "auto"
    maps where that can be done and the file is on this machine, else reads. strict, verify, threads: as zt_open_options says."""
    return File(path, **how)
