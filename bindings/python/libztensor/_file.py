"""Reading files."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Callable, NamedTuple, Optional, Union

from . import _declarations as c
from ._callbacks import Carrier, Progress, source, store
from ._component import ADVICE, Component, buffer_of, end_capsules, names_of, read_options
from ._elements import named, target_number
from ._library import (AnyPath, Handle, InvalidArgument, InvalidState, NotFound, ZTensorError, check, chosen, failure, field_text,
                       filled, lib, options, remote_options, report, sized, text)
from ._library import remote as remote_library
from ._object import Object, numbers
from ._value import Value, attributes

_MODES = {"map": c.ZT_MODE_MAP, "read": c.ZT_MODE_READ, "auto": c.ZT_MODE_AUTO, "private": c.ZT_MODE_PRIVATE}
_SHARDS = {"of models": c.ZT_SHARDS_OF_MODELS, "on use": c.ZT_SHARDS_ON_USE, "at open": c.ZT_SHARDS_AT_OPEN, "never": c.ZT_SHARDS_NEVER}
_CHECKS = {"digests": c.ZT_VERIFY_DIGESTS, "contents": c.ZT_VERIFY_CONTENTS, "padding": c.ZT_VERIFY_PADDING,
           "shards": c.ZT_VERIFY_SHARDS, "require digests": c.ZT_VERIFY_REQUIRE_DIGESTS}
CONTAINERS = {lib.zt_container_name(number).decode(): number for name, number in vars(c).items()
              if name.startswith("ZT_CONTAINER_") and lib.zt_container_name(number)}


class Part(NamedTuple):
    """One of the files of a model; path is None if it was not opened by a path."""

    path: Optional[str]
    size: int
    container: str


class ComponentInfo(NamedTuple):
    """A component in the result of File.components. size is None if the file does not declare it."""

    component: Component
    object: Object
    role: str
    dtype: str
    type: Optional[str]
    encoding: str
    digest: Optional[str]
    part: int
    offset: int
    stored_size: int
    size: Optional[int]


class Failure(NamedTuple):
    """Damage that File.failures found: a component, an object as a whole, or the padding (both are None)."""

    object: Optional[Object]
    component: Optional[Component]
    error: ZTensorError


class Read(NamedTuple):
    """One read of File.read_batch, a Cache or a Load, into a writable buffer: bytes of a component, or numbers of an object.

    component: read all of it, length bytes from offset on, rows at even distances, or with start, count and
    step a slice of a dense object. rows: their number. A row has row_length bytes. The first row starts at
    offset, and row_stride bytes (default: row_length) are between the starts of rows.
    object, instead of component: read its numbers as dtype ("float32", numpy.float16, ...): all of them,
    rows, or a slice. A row is the complete last dimension. offset (the first row) and row_stride count rows.
    dtype also works with component; then the read must be complete elements or complete blocks.
    target_stride: bytes between the starts of rows in the target; 0 for rows without gaps. lossy: numbers
    that dtype cannot hold become infinite, or the nearest integer. Without it the read raises
    LimitExceeded."""

    component: Optional[Component] = None
    target: Any = None
    offset: int = 0
    length: int = c.ZT_WHOLE
    start: Optional[tuple[int, ...]] = None
    count: Optional[tuple[int, ...]] = None
    step: Optional[tuple[int, ...]] = None
    object: Optional[Object] = None
    dtype: Any = None
    rows: int = 0
    row_length: int = 0
    row_stride: int = 0
    target_stride: int = 0
    lossy: bool = False


class File(Handle, Mapping[str, Object]):
    """An open file: a mapping from name to Object. Use it in a ``with`` block, or close() it. Arrays stay
    valid after that. path may be a URL (s3://, gs://, az://, https://) of a file or a model, if
    libztensor_remote is installed. remote has the fields of zt_remote_options: {"endpoint": ...,
    "root_certificates": Path("authority.pem").read_text()}.

    mode: "map" maps the file and borrows its bytes; "read" is safe if the file is truncated during use;
    "auto" maps local files if possible; "private" maps bytes that can be changed in memory only. containers:
    the accepted containers ("safetensors", "GGUF", ...), all if None. progress: for verify, (done, total);
    may return False to stop. name: the file's name in messages. allocator, hooks: results of
    libztensor.allocator and libztensor.thread_hooks. shards: "on use", "at open" or "never" opens the shards
    of a zTensor 2 file, which are searched in shard_folder. "of models" is "on use" for open_model only.
    part: open_model opens only this file, even if it is a part of a model. include_unlisted: also list
    tensors that the index does not name. combine: the tensors of a quantized weight become one object.
    zt_open_options describes the other arguments."""

    def __init__(self, path: AnyPath, *, remote: Optional[dict[str, Any]] = None, **how: Any) -> None:
        if isinstance(path, str) and "://" in path:
            self._open(remote_library().zt_remote_open, path.encode(), remote_options(**remote or {}), **how)
        elif remote:
            raise InvalidArgument(f"remote has options for URLs, and {path!r} is not a URL")
        else:
            self._open(lib.zt_open, os.fsencode(path), **how)

    @classmethod
    def open_model(cls, path: AnyPath, **how: Any) -> "File":
        """Opens a model of one or several files. path is any of its files, or its folder."""
        if isinstance(path, str) and "://" in path:
            return cls(path, **how)
        return cls.__new__(cls)._open(lib.zt_open_model, os.fsencode(path), **how)

    @classmethod
    def open_parts(cls, paths: Iterable[AnyPath], **how: Any) -> "File":
        """Opens several files as one."""
        if isinstance(paths, (str, bytes)):
            raise TypeError(f"paths is a list of paths, not {paths!r}")
        names = [os.fsencode(path) for path in paths]
        return cls.__new__(cls)._open(lib.zt_open_parts, (ctypes.c_char_p * len(names))(*names), len(names), **how)

    @classmethod
    def open_fd(cls, fd: int, offset: int = 0, length: int = c.ZT_WHOLE, **how: Any) -> "File":
        """Opens a file that is inside a larger one."""
        return cls.__new__(cls)._open(lib.zt_open_fd, fd, offset, length, **how)

    @classmethod
    def open_handle(cls, handle: int, offset: int = 0, length: int = c.ZT_WHOLE, **how: Any) -> "File":
        """Opens a file that is inside a larger one, by a HANDLE of Windows (`msvcrt.get_osfhandle`)."""
        return cls.__new__(cls)._open(lib.zt_open_handle, handle, offset, length, **how)

    @classmethod
    def open_memory(cls, data: Any, **how: Any) -> "File":
        """Opens a file in memory: bytes, or another contiguous buffer, which must not change. Arrays and
        DLPack tensors keep it."""
        import numpy

        memory = numpy.frombuffer(data, "u1")
        self = cls.__new__(cls)
        self._kept = memory
        return self._open(lib.zt_open_memory, memory.ctypes.data, memory.size, **how)

    @classmethod
    def open_source(cls, given: Any, **how: Any) -> "File":
        """Opens a file that an object of the caller reads. Methods: size() -> int and read_at(offset,
        writable view), called from several threads at once. Optional: read_many([(offset, view), ...]),
        close(), and the attributes gap, largest_request, concurrency and callers_thread of zt_source."""
        carrier = Carrier()
        made = source(carrier, given, how.get("name"))
        try:
            return cls.__new__(cls)._open(lib.zt_open_source, ctypes.byref(made), **how)
        except ZTensorError:
            carrier.check(c.ZT_OK)  # an exception that given raised
            raise

    @classmethod
    def open_model_from(cls, given: Any, name: str, **how: Any) -> "File":
        """Opens a model; an object of the caller opens its files. Methods: open(name) returns an argument for
        open_source; optional list(folder) -> names."""
        carrier = Carrier()
        made = store(carrier, given)
        try:
            return cls.__new__(cls)._open(lib.zt_open_model_from, ctypes.byref(made), name.encode(), **how)
        except ZTensorError:
            carrier.check(c.ZT_OK)  # an exception that given raised
            raise

    def _open(self, call, *what, mode: str = "map", strict: bool = False, verify: bool = False, threads: int = 0,
              advice: str = "none", containers: Optional[Iterable[str]] = None, max_memory: int = 0, max_objects: int = 0,
              max_manifest_size: int = 0, max_decoded_size: int = 0, name: Optional[str] = None, progress: Progress = None,
              allocator: Any = None, hooks: Any = None, shards: str = "of models", shard_folder: Optional[AnyPath] = None,
              part: bool = False, include_unlisted: bool = False, combine: bool = False) -> "File":
        carrier = Carrier()
        wanted = options(c.zt_open_options, mode=chosen(_MODES, mode, "mode"), strict=strict, verify=verify, threads=threads,
                         advice=chosen(ADVICE, advice, "advice"), max_memory=max_memory, max_objects=max_objects,
                         max_manifest_size=max_manifest_size, max_decoded_size=max_decoded_size,
                         containers=sum(1 << chosen(CONTAINERS, one, "container") for one in containers or ()),
                         name=None if name is None else name.encode(), progress=carrier.progress(progress),
                         shards=chosen(_SHARDS, shards, "shards"), part=part, include_unlisted=include_unlisted,
                         combine_quantized=combine,
                         shard_folder=None if shard_folder is None else os.fsencode(shard_folder))
        for given, kind, maker in ((allocator, c.zt_allocator, "allocator"), (hooks, c.zt_thread_hooks, "thread_hooks")):
            if given is not None and not isinstance(given, kind):
                raise TypeError(f"pass a result of libztensor.{maker}, not {given!r}")
        if allocator is not None:
            wanted.allocator = ctypes.pointer(allocator)
        if hooks is not None:
            wanted.thread_hooks = ctypes.pointer(hooks)
        self._handle = ctypes.c_void_p()
        carrier.check(call(*what, ctypes.byref(wanted), ctypes.byref(self._handle)))
        return self

    version: str = property(lambda s: text(lib.zt_file_version(s._live())))
    size: int = property(lambda s: sum(part.size for part in s.parts))
    mode: str = property(lambda s: {number: name for name, number in _MODES.items()}[lib.zt_file_mode(s._live())])
    container: str = property(lambda s: part_of(s._live(), 0).container)
    attributes: dict[str, Any] = property(lambda s: attributes(s, lib.zt_file_attributes(s._live())))

    @property
    def attribute_values(self) -> Optional[Value]:
        """The attributes as a tree of values, or None."""
        found = lib.zt_file_attributes(self._live())
        return Value(self, found) if found else None

    @property
    def parts(self) -> list[Part]:
        """Its files."""
        return [part_of(self._live(), i) for i in range(lib.zt_part_count(self._live()))]

    def bytes(self, part: int = 0) -> memoryview:
        """All bytes of a part in the mapped file, valid until close()."""
        data, size = ctypes.c_void_p(), ctypes.c_uint64()
        check(lib.zt_file_bytes(self._live(), part, ctypes.byref(data), ctypes.byref(size)))
        whole = memoryview((ctypes.c_char * size.value).from_address(data.value)).cast("B")
        return whole if self.mode == "private" else whole.toreadonly()

    def _summary(self) -> str:
        path = part_of(self._live(), 0).path
        return (f"{path!r}: " if path is not None else "") + f"{self.container}, {len(self)} objects"

    def _live(self):
        if not self._handle:
            raise InvalidState("the file is closed")
        return self._handle

    def close(self) -> None:
        """Closes the file. Arrays and tensors that use it keep it mapped."""
        lib.zt_close(self._handle)
        self._handle = ctypes.c_void_p()
        end_capsules()

    def __enter__(self) -> "File":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.close()

    def __len__(self) -> int:
        return lib.zt_object_count(self._live())

    def __iter__(self) -> Iterator[str]:
        return listed(self._live, lib.zt_object_list, c.zt_object_info, lambda info: field_text(info, "name"))

    def __getitem__(self, name: str) -> Object:
        found = lib.zt_object_find_n(self._live(), *sized(name, "surrogateescape"))
        if not found:
            raise NotFound(f"the file has no object {name!r}")
        return Object(self, found)

    def at(self, index: int) -> Object:
        """The object at an index, in the file's order."""
        found = lib.zt_object_at(self._live(), index) if index >= 0 else None
        if not found:
            raise IndexError(f"object {index} is out of range: the file has {len(self)} objects")
        return Object(self, found)

    def components(self, object: Optional[Object] = None) -> Iterator[ComponentInfo]:
        """Describes every component, or those of one object, without reading their bytes."""
        of = None if object is None else object._live()

        def made(info) -> ComponentInfo:
            return ComponentInfo(Component(self, info.component), Object(self, info.object), field_text(info, "role"),
                                 *names_of(info), text(info.digest), info.part, info.offset, info.stored_size,
                                 None if info.size == c.ZT_UNKNOWN_SIZE else info.size)

        return listed(self._live, lambda file, *to: lib.zt_component_list(file, of, *to), c.zt_component_info, made)

    @property
    def identity(self) -> dict[str, Any]:
        """Identifies a version of the file, for caches."""
        return report(filled(lib.zt_file_identity, c.zt_identity, self._live()))

    @property
    def model_info(self) -> dict[str, Any]:
        """Counts of a model: passed_over, files in its folder that are not part of it; unlisted, tensors that
        its index does not name."""
        return report(filled(lib.zt_model_get_info, c.zt_model_info, self._live()))

    def part_identity(self, part: int) -> dict[str, Any]:
        """The identity of one of the model's files."""
        return report(filled(lib.zt_part_identity, c.zt_identity, self._live(), part))

    def verify(self, progress: Progress = None, *, on_failure: Optional[Callable[[Failure], Any]] = None,
               checks: Iterable[str] = (), threads: int = 0, object: Optional[Object] = None,
               component: Optional[Component] = None) -> dict[str, Any]:
        """Checks every digest and all contents of the file, or of one object or component, and returns
        counts. checks: a set of "digests", "contents", "padding", "shards" and "require digests", which fails
        for bytes without a digest. progress(done, total) may return False to stop. on_failure is called for
        each failure, and may return False to stop. verify raises the first failure in any case."""
        carrier = Carrier()

        def failed(_, of, part, status, message):
            found = Failure(Object(self, of) if of else None, Component(self, part) if part else None,
                            failure(status, message))
            return int(on_failure(found) is False)

        wanted = options(c.zt_verify_options, checks=sum(chosen(_CHECKS, one, "check") for one in checks), threads=threads,
                         progress=carrier.progress(progress), object=object._live() if object is not None else None,
                         component=component._live() if component is not None else None,
                         on_failure=carrier.guard(c.zt_failure_callback, failed if on_failure else None, 1))
        found = options(c.zt_verify_report)
        carrier.check(lib.zt_verify(self._live(), ctypes.byref(wanted), ctypes.byref(found)))
        return report(found)

    def failures(self, **how: Any) -> list[Failure]:
        """Returns all damage that verify finds; empty if there is no damage."""
        found: list = []
        try:
            self.verify(on_failure=found.append, **how)
        except ZTensorError:
            if not found:
                raise
        return found

    def read_batch(self, targets: Union[Mapping[str, Any], Iterable[Read]], *, threads: int = 0, verify: bool = False, direct: str = "auto", chunk_size: int = 0,
                   in_flight: int = 0, pinned: bool = False, keep_going: bool = False, progress: Progress = None,
                   on_done: Optional[Callable[[int, Optional[ZTensorError]], Any]] = None) -> dict[str, Any]:
        """Fills many buffers. targets: {name of a dense object: writable contiguous array}, or an iterable of
        Read, which can also read parts and convert numbers. direct: "auto", "always", or "never", which uses
        the page cache, for bytes that are read again soon. on_done(number of the read, None or its error) is
        called when each is done. keep_going: if one fails, reads the others and raises the first error at the
        end."""
        if isinstance(targets, Mapping):
            targets = [Read(self[name]["data"], target) for name, target in targets.items()]
        requests, keep = requests_of(targets)
        carrier = Carrier()
        done = lambda _, tag, status, message: (on_done(tag, failure(status, message) if status else None), None)[1]  # noqa: E731
        wanted = read_options(carrier, threads, verify, direct, progress, chunk_size=chunk_size, in_flight=in_flight,
                              pinned=pinned, keep_going=keep_going, on_done=carrier.guard(c.zt_done_callback, done if on_done else None, None))
        stats = options(c.zt_read_stats)
        carrier.check(lib.zt_read_batch(self._live(), requests, len(requests), ctypes.byref(wanted), ctypes.byref(stats)))
        return report(stats)


def part_of(file, number: int) -> Part:
    """Describes a part of an open file."""
    info = filled(lib.zt_part_get_info, c.zt_part_info, file, number)
    path = None if info.path is None else os.fsdecode(info.path)
    return Part(path, info.size, text(lib.zt_container_name(info.container)))


def file_of(read: Read) -> Any:
    """The file of a read."""
    return getattr(read.component if read.object is None else read.object, "_file", None)


def requests_of(reads: Iterable[Read]) -> tuple:
    """The requests for C, and the targets to keep alive."""
    reads, targets = list(reads), []
    requests = (c.zt_read_request * len(reads))()
    for i, (request, read) in enumerate(zip(requests, reads)):
        request.struct_size, request.tag = ctypes.sizeof(request), i
        if (read.component is None) == (read.object is None):
            raise InvalidArgument(f"read {i} needs either a component or an object")
        if read.object is None:
            request.component, handle = read.component._live(), None
        else:
            request.object = handle = read.object._live()
            if read.dtype is None:
                raise InvalidArgument(f"read {i} of {read.object.name!r} needs a dtype for its numbers, such as \"float32\"")
            if read.row_length or not read.rows and (read.offset, read.length) != (0, c.ZT_WHOLE):
                raise InvalidArgument(f"read {i} of {read.object.name!r}: an object is read completely, in rows, or by start and count; "
                                      "offset needs rows, length and row_length are for components")
        is_part = read.rows or read.count is not None
        if read.rows and read.count is not None or is_part and read.length != c.ZT_WHOLE:
            raise InvalidArgument(f"read {i} has more than one of length, rows and count")
        if read.count is None and (read.start, read.step) != (None, None):
            raise InvalidArgument(f"read {i} has start or step, which need count")
        if read.count is not None and read.start is None:
            raise InvalidArgument(f"read {i} has count, which needs start")
        for name in ("offset", "length", "rows", "row_length", "row_stride", "target_stride"):
            if getattr(read, name) < 0:
                raise InvalidArgument(f"read {i}: {name} is {getattr(read, name)}, below 0")
        request.offset, request.length = read.offset, 0 if is_part else read.length
        request.convert = 0 if read.dtype is None else target_number(named(read.dtype))
        request.rows, request.row_length, request.row_stride = read.rows, read.row_length, read.row_stride
        request.dst_stride, request.lossy = read.target_stride, read.lossy
        for name in ("start", "count", "step"):
            given = getattr(read, name)
            if given is not None:
                rank = lib.zt_object_rank(handle or read.component._info.object)
                if len(given) != rank:
                    raise InvalidArgument(f"{name} needs {rank} numbers, one for each dimension, not "
                                          f"{len(given)}")
                setattr(request, name, numbers(given))
        if read.target is not None:
            targets.append(buffer_of(read.target))
            request.dst, request.dst_size = ctypes.addressof(targets[-1]), len(targets[-1])
    return requests, targets


def listed(live, fill, kind, make) -> Iterator:
    """Calls make for each struct that a listing function fills, while the memory that the struct points to is
    valid. live() raises if the file was closed meanwhile."""
    infos = (kind * 64)()
    infos[0].struct_size = ctypes.sizeof(kind)
    first, filled = 0, ctypes.c_size_t(1)
    while filled.value:
        check(fill(live(), first, infos, len(infos), ctypes.byref(filled)))
        for made in [make(info) for info in infos[:filled.value]]:
            live()
            yield made
        first += filled.value


def open(path: AnyPath, **how: Any) -> File:
    """Opens a file of any container; see File."""
    return File(path, **how)
