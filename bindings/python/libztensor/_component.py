"""Components, and DLPack tensors."""

from __future__ import annotations

import atexit
import ctypes
import enum
import gc
import sys
from collections import deque
from collections.abc import Iterable
from typing import Any, Optional

from . import _declarations as c
from ._callbacks import Carrier, Progress
from ._elements import Loaded, Retained, array, stored_dtype
from ._library import (Handle, check, chosen, dtype_name, encoding_name, field_text, filled, lib, options, text,
                       type_name)

DIRECT = {"auto": c.ZT_DIRECT_AUTO, "never": c.ZT_DIRECT_NEVER, "always": c.ZT_DIRECT_ALWAYS}
ADVICE = {name[len("ZT_ADVICE_"):].lower(): number for name, number in vars(c).items() if name.startswith("ZT_ADVICE_")}


class Caps(enum.IntFlag):
    """Which calls work on a component."""

    MAP, READ, RANGE, DIRECT, VERIFY, PAGE_EXCLUSIVE = (c.ZT_CAP_MAP, c.ZT_CAP_READ, c.ZT_CAP_RANGE, c.ZT_CAP_DIRECT,
                                                        c.ZT_CAP_VERIFY, c.ZT_CAP_PAGE_EXCLUSIVE)


def buffer_of(target):
    """The writable bytes of a PyTorch tensor, a NumPy array of any type, or another buffer."""
    if hasattr(target, "data_ptr"):
        if target.device.type != "cpu" or not target.is_contiguous():
            raise ValueError("a tensor to read into must be contiguous and in the memory of the CPU")
        made = (ctypes.c_char * (target.numel() * target.element_size())).from_address(target.data_ptr())
        made.keep = target
        return made
    if hasattr(target, "__array_interface__"):
        if not (target.flags.c_contiguous and target.flags.writeable):
            raise ValueError("an array to read into must be contiguous and writable")
        target = target.reshape(-1).view("u1")  # arrays of bf16 do not have a buffer; arrays of u1 do
    view = memoryview(target)
    view = view.cast("B") if view.nbytes else memoryview(bytearray())
    return (ctypes.c_char * view.nbytes).from_buffer(view)


def read_options(carrier: Carrier, threads: int, verify: bool, direct: str, progress: Progress, **more):
    return options(c.zt_read_options, threads=threads, verify=verify, direct=chosen(DIRECT, direct, "direct"),
                   progress=carrier.progress(progress), **more)


def names_of(info) -> tuple[str, Optional[str], str]:
    """The names of dtype, type and encoding in a zt_component_info. Names that the library does not know are
    the file's."""
    return (text(info.dtype_name) or dtype_name(info.dtype), text(info.type_name) or type_name(info.type),
            text(info.encoding_name) or encoding_name(info.encoding))


class Component(Handle):
    """One blob of an object. Keeps its file open."""

    def __init__(self, file: Any, handle: int) -> None:
        self._file, self._handle = file, handle

    def _summary(self) -> str:
        return f"{self.role!r}: {self.type or self.dtype}, {self.encoding}"

    _info = property(lambda s: filled(lib.zt_component_get_info, c.zt_component_info, s._live()))
    role: str = property(lambda s: field_text(s._info, "role"))
    dtype: str = property(lambda s: names_of(s._info)[0])
    type: Optional[str] = property(lambda s: names_of(s._info)[1])
    encoding: str = property(lambda s: names_of(s._info)[2])
    digest: Optional[str] = property(lambda s: text(lib.zt_component_digest(s._live())))
    offset: int = property(lambda s: s._info.offset)
    part: int = property(lambda s: s._info.part)
    stored_size: int = property(lambda s: s._info.stored_size)
    caps: Caps = property(lambda s: Caps(lib.zt_component_caps(s._live())))

    @property
    def size(self) -> int:
        """The number of decoded bytes. If the file does not declare it, the component is decoded to count
        them."""
        size = lib.zt_component_size(self._live())
        return self.measure() if size == c.ZT_UNKNOWN_SIZE else size

    def measure(self, progress: Progress = None) -> int:
        """The number of decoded bytes. If the component must be decoded completely, progress(done, total) may
        return False to stop."""
        carrier, measured = Carrier(), ctypes.c_uint64()
        carrier.check(lib.zt_component_measure(self._live(), carrier.progress(progress), None, ctypes.byref(measured)))
        return measured.value

    def _live(self):
        self._file._live()
        return self._handle

    def read(self) -> bytes:
        """The decoded bytes, in the host's byte order."""
        # the file may declare any size: the library checks it before it allocates
        if self.size > self.stored_size:
            handle = ctypes.c_void_p()
            check(lib.zt_component_load(self._live(), None, ctypes.byref(handle)))
            made = Loaded(handle)
            return bytes((ctypes.c_char * made.size).from_address(made.data))
        buffer = (ctypes.c_char * self.size)()
        check(lib.zt_component_read(self._live(), buffer, len(buffer)))
        return buffer.raw

    def read_stored(self) -> bytes:
        """The stored bytes, not decoded."""
        buffer = (ctypes.c_char * self.stored_size)()
        check(lib.zt_component_read_stored(self._live(), buffer, len(buffer)))
        return buffer.raw

    def read_range(self, offset: int, size: int) -> bytes:
        """A range of the decoded bytes. Only the part that contains it is decoded."""
        buffer = (ctypes.c_char * size)()
        check(lib.zt_component_read_range(self._live(), offset, buffer, size))
        return buffer.raw

    def read_into(self, target: Any) -> None:
        """Decodes into memory of the component's size: a NumPy array, a PyTorch tensor on the CPU, or a
        bytearray."""
        buffer = buffer_of(target)
        check(lib.zt_component_read(self._live(), buffer, len(buffer)))

    def numpy(self, shape: Optional[Iterable[int]] = None, *, threads: int = 0, verify: bool = False, progress: Progress = None) -> Any:
        """The elements as an array: read-only in the mapped file if possible, otherwise decoded. The array
        keeps the memory, and stays valid after the file is closed. Elements without a NumPy type have their
        storage type. progress(done, total) may return False to stop."""
        dtype = stored_dtype(*names_of(self._info)[:2])
        data, size, check_it = ctypes.c_void_p(), ctypes.c_size_t(), verify and Caps.VERIFY in self.caps
        if lib.zt_component_ptr(self._live(), ctypes.byref(data), ctypes.byref(size)) == c.ZT_OK:
            if check_it:
                self._file.verify(progress, checks=["digests"], threads=threads, component=self)
            keep, start, length = Retained(self._file), data.value, size.value
            read_only = self._file.mode != "private"
        else:
            carrier, handle = Carrier(), ctypes.c_void_p()
            wanted = read_options(carrier, threads, verify, "auto", progress)
            by = ctypes.byref(wanted) if threads or verify or progress else None
            carrier.check(lib.zt_component_load(self._live(), by, ctypes.byref(handle)))
            keep = Loaded(handle)
            start, length, read_only = keep.data, keep.size, False
        count = length // dtype.itemsize
        return (array(keep, start, count * dtype.itemsize, read_only, dtype, (count,)) if shape is None else
                array(keep, start, length, read_only, dtype, tuple(shape)))

    def _read_only(self, data: int) -> bool:
        place = ctypes.c_void_p()
        borrowed = lib.zt_component_ptr(self._handle, ctypes.byref(place), None) == c.ZT_OK and place.value == data
        return borrowed and self._file.mode != "private"

    def advise(self, advice: str) -> None:
        """Tells the system how the stored bytes will be used: "willneed", "evict", "lock", .... Raises
        Unsupported if the file cannot be advised."""
        check(lib.zt_component_advise(self._live(), chosen(ADVICE, advice, "advice")))

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, *, stream: Any = None, max_version: Optional[tuple[int, int]] = None, dl_device: Any = None,
                   copy: Optional[bool] = None) -> Any:
        """A DLPack capsule of one dimension that shares memory; see Object."""
        return versioned(lib.zt_component_to_dlpack, self, max_version, dl_device, copy)


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
# The address in a capsule.
_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))

# Offsets of the deleters in DLManagedTensorVersioned and DLManagedTensor.
_DELETERS = {b"dltensor_versioned": 16, b"dltensor": 56}


# Capsules that may still be referenced. They do not have a destructor: it would run Python code while a
# consumer's exception, which refuses the tensor, is propagating, and would replace that exception.
_capsules: deque = deque()


def end_capsules(at_most: Optional[int] = None) -> None:
    """Frees the tensors of capsules that no consumer took and no code references. Looks at no more than
    at_most capsules."""
    for _ in range(len(_capsules) if at_most is None else at_most):
        try:
            held = [_capsules.popleft()]
        except IndexError:
            return
        if sys.getrefcount(held[0]) > 2:  # more references than the list's and the call's
            _capsules.append(held[0])
            continue
        for name, place in _DELETERS.items():
            if _valid(id(held[0]), name):  # not consumed: a consumer renames it
                tensor = _pointer(id(held[0]), name)
                deleter = ctypes.c_void_p.from_address(tensor + place).value
                ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)(tensor)


def _at_collection(phase: str, of: dict) -> None:
    if phase == "stop" and of["generation"] == 2:
        end_capsules()


gc.callbacks.append(_at_collection)
atexit.register(gc.callbacks.remove, _at_collection)


# Tensors over Python's memory: for each address the owner of the memory, and the library's own deleter.
_kept: dict = {}


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _end_kept(tensor):
    memory, _, deleter = _kept.pop(tensor)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)(tensor)
    del memory  # only after the library's last access


@atexit.register
def _leave_kept():
    """Deleters that run after this cannot call Python. Their memory stays until the process ends."""
    for memory, place, deleter in _kept.values():
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(memory))
        place.value = deleter


def _capsule(function, of, name: bytes):
    made = ctypes.c_void_p()
    end_capsules(2)  # more than one, so that the number of old ones shrinks
    check(function(of._live(), ctypes.byref(made)))
    memory = getattr(of._file, "_kept", None)
    if memory is not None:
        place = ctypes.c_void_p.from_address(made.value + _DELETERS[name])
        _kept[made.value] = memory, place, place.value
        place.value = ctypes.cast(_end_kept, ctypes.c_void_p).value
    capsule = _new_capsule(made, name, None)
    _capsules.append(capsule)
    return capsule


def versioned(function, of, max_version, dl_device, copy):
    if dl_device not in (None, (1, 0)):
        raise BufferError("the tensor is in the host's memory")
    if max_version is None or max_version[0] < 1:
        raise BufferError("this consumer has no flag for read-only memory; see Object.unversioned")
    if copy is True:
        raise BufferError("copies are made by numpy().copy()")
    return _capsule(function, of, b"dltensor_versioned")


class Unversioned:
    """An object for consumers of DLPack before 1.0."""

    def __init__(self, made_of: Any) -> None:
        self._object = made_of

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, stream: Any = None) -> Any:
        return _capsule(lib.zt_object_to_dlpack_unversioned, self._object, b"dltensor")


def taken(tensor):
    """A tensor's capsule, the address in it, and whether it is versioned. The tensor still owns it."""
    try:
        capsule = tensor.__dlpack__(max_version=(1, 1))
    except TypeError:
        capsule = tensor.__dlpack__()  # of a library before DLPack 1.0
    for name in _DELETERS:
        if _valid(id(capsule), name):
            return capsule, _pointer(id(capsule), name), name == b"dltensor_versioned"
    raise BufferError("not a capsule of DLPack")
