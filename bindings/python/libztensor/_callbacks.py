"""Python functions and objects that the library calls: progress, failures, hooks, sources, sinks.

An exception must not pass through C. It is kept, and raised again after the call of C. The functions may be
called from threads that the library started."""

from __future__ import annotations

import ctypes
import threading
from typing import Any, Callable, Optional

from . import _declarations as c
from ._library import check, lib, options

Progress = Optional[Callable[[int, int], Any]]


class Carrier:
    """Functions for one call of the library. ``check`` raises the exception that they raised."""

    def __init__(self) -> None:
        self.raised: Optional[BaseException] = None

    def guard(self, kind, function: Optional[Callable], failed: int):
        """function as a C callback of that kind. failed: the result for C if it raises."""
        def call(*arguments):
            try:
                return function(*arguments)
            except BaseException as e:  # noqa: B036 -- an exception must not pass through C
                self.raised = self.raised or e
                lib.zt_set_last_error(str(e).replace("\0", " ").encode("utf-8", "replace"))
                return failed

        return kind(call if function else 0)

    def progress(self, function: Progress):
        """progress(done, total) may return False to stop."""
        call = None if function is None else lambda _, done, total: int(function(done, total) is False)
        return self.guard(c.zt_progress_callback, call, 1)

    def check(self, status: int) -> None:
        if self.raised is not None:
            raised, self.raised = self.raised, None
            raise raised
        check(status)


# Functions that the library may call until the last reference to a file ends. Python does not see that end.
_hooks: list = []
_sources: dict = {}
_ended: list = []
_lock = threading.Lock()


def _kept_hooks(kind, **functions):
    types = dict(kind._fields_)
    made = options(kind, **{name: types[name](function) for name, function in functions.items() if function is not None})
    _hooks.append(made)
    return made


def thread_hooks(on_start: Optional[Callable[[int], Any]] = None, on_end: Optional[Callable[[int], Any]] = None) -> Any:
    """For open and create: on_start(index) and on_end(index) are called on each thread that the library
    starts. Valid until the process ends."""
    call = lambda function: function and (lambda _, index: (function(index), None)[1])  # noqa: E731
    return _kept_hooks(c.zt_thread_hooks, on_start=call(on_start), on_end=call(on_end))


def allocator(allocate: Callable[[int, int], int], free: Callable[[int, int, int], Any]) -> Any:
    """For open: allocate(size, alignment) returns an address, or 0. free(address, size, alignment) frees it.
    Valid until the process ends."""
    return _kept_hooks(c.zt_allocator, allocate=lambda _, size, alignment: allocate(size, alignment),
                       free=lambda _, memory, size, alignment: (free(memory, size, alignment), None)[1])


def _view(address: int, size: int) -> memoryview:
    return memoryview((ctypes.c_char * size).from_address(address)).cast("B") if size else memoryview(bytearray())


def source(carrier: Carrier, given, name: Optional[str], made=None):
    """given.size() returns the size of the file. given.read_at(offset, view) fills a writable view. Optional:
    given.read_many(list of (offset, view)), given.close(), and the attributes gap, largest_request,
    concurrency, callers_thread and identity. made: the struct to fill."""
    kinds = dict(c.zt_source._fields_)

    def size(_, out):
        ctypes.cast(out, ctypes.POINTER(ctypes.c_uint64))[0] = given.size()
        return c.ZT_OK

    def read_at(_, offset, dst, n):
        given.read_at(offset, _view(dst, n))
        return c.ZT_OK

    def read_many(_, ranges, count):
        given.read_many([(r.offset, _view(r.dst, r.size)) for r in ranges[:count]])
        return c.ZT_OK

    made = options(c.zt_source) if made is None else made
    functions = dict(size=carrier.guard(kinds["size"], size, c.ZT_ERROR_IO),
                     read_at=carrier.guard(kinds["read_at"], read_at, c.ZT_ERROR_IO))
    if hasattr(given, "read_many"):
        functions["read_many"] = carrier.guard(kinds["read_many"], read_many, c.ZT_ERROR_IO)
    with _lock:
        while _ended:
            _sources.pop(_ended.pop())
    key = id(functions)

    def close(_):
        _ended.append(key)  # freed later: C is still calling it
        if hasattr(given, "close"):
            given.close()

    functions["close"] = carrier.guard(kinds["close"], close, None)
    for field, function in functions.items():
        setattr(made, field, function)
    _sources[key] = functions
    for profile in ("gap", "largest_request", "concurrency", "callers_thread", "identity"):
        setattr(made, profile, int(getattr(given, profile, 0)))
    if name is not None:
        made.name = name.encode()
    return made


def store(carrier: Carrier, given):
    """given.open(name) returns an argument for source. Optional: given.list(folder) returns names."""
    kinds = dict(c.zt_store._fields_)

    def open_(_, name, out):
        source(carrier, given.open(name.decode()), None, out.contents)
        return c.ZT_OK

    def list_(_, folder, add, names):
        for name in given.list(folder.decode()):
            if (status := add(names, name.encode())) != c.ZT_OK:
                return status
        return c.ZT_OK

    made = options(c.zt_store, open=carrier.guard(kinds["open"], open_, c.ZT_ERROR_IO))
    if hasattr(given, "list"):
        made.list = carrier.guard(kinds["list"], list_, c.ZT_ERROR_IO)
    return made


def sink(carrier: Carrier, stream):
    """stream.write(bytes) gets the file's bytes, front to back. A binary file works."""
    kinds = dict(c.zt_sink._fields_)

    def write(_, data, size):
        rest = memoryview(ctypes.string_at(data, size))
        while rest:
            written = stream.write(rest)
            rest = rest[len(rest) if written is None else written:]
        return c.ZT_OK

    return options(c.zt_sink, write=carrier.guard(kinds["write"], write, c.ZT_ERROR_IO))
