"""Slices of files that are larger than memory, in slots."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from contextlib import contextmanager
from typing import Any, Iterator, Optional

from . import _declarations as c
from ._file import Read, file_of, requests_of
from ._library import Handle, InvalidState, check, chosen, filled, lib, options, report

_POLICIES = {"lru": c.ZT_CACHE_LRU, "slru": c.ZT_CACHE_SLRU}


class Cache(Handle):
    """Holds at most budget bytes in slots of slot_size bytes. Each slice occupies one slot. Use it in a ``with`` block, or close() it.

    policy selects the slice to evict: "lru", the one that was not used for the longest time, or "slru",
    slices that were used only once first. hooks: a result of libztensor.thread_hooks."""

    def __init__(self, budget: int, slot_size: int, *, threads: int = 0, verify: bool = False,
                 policy: str = "lru", hooks: Any = None) -> None:
        wanted = options(c.zt_cache_options, budget=budget, slot_size=slot_size, threads=threads, verify=verify,
                         policy=chosen(_POLICIES, policy, "policy"))
        if hooks is not None:
            wanted.thread_hooks = ctypes.pointer(hooks)
        self._kept, self._handle = wanted, ctypes.c_void_p()
        self._memory: dict[int, Any] = {}  # memory of files that are read until the cache is closed
        check(lib.zt_cache_create(ctypes.byref(wanted), ctypes.byref(self._handle)))

    def _live(self):
        if not self._handle:
            raise InvalidState("the cache is closed")
        return self._handle

    def _requests(self, slices: Iterable[Read]) -> Any:
        """Describes a slice to C. The cache may read it after its file is closed."""
        slices = list(slices)
        requests, _ = requests_of(slices)
        for memory in (getattr(file_of(of), "_kept", None) for of in slices):
            if memory is not None:
                self._memory[id(memory)] = memory
        return requests

    @contextmanager
    def get(self, slice: Read, timeout: Optional[float] = None) -> Iterator[memoryview]:
        """Returns the bytes of a slice, valid until the ``with`` block ends. Raises TimedOut after timeout
        seconds; 0 does not wait."""
        requests, out = self._requests([slice]), options(c.zt_cache_pin)
        wait = -1 if timeout is None else int(timeout * 1e9)
        check(lib.zt_cache_get(self._live(), requests, wait, ctypes.byref(out)))
        try:
            yield memoryview((ctypes.c_char * out.size).from_address(out.data)).cast("B").toreadonly()
        finally:
            if self._handle:
                check(lib.zt_cache_unpin(self._handle, ctypes.byref(out)))

    def prefetch(self, slices: Iterable[Read]) -> None:
        """Reads slices ahead, in the given order."""
        requests = self._requests(slices)
        check(lib.zt_cache_prefetch(self._live(), requests, len(requests)))

    def drop(self, slices: Iterable[Read] = ()) -> None:
        """Evicts slices; without arguments all that are not pinned."""
        requests, _ = requests_of(slices)
        check(lib.zt_cache_drop(self._live(), requests or None, len(requests)))

    def cancel(self) -> None:
        """Removes prefetches that have not started."""
        check(lib.zt_cache_cancel(self._live()))

    @property
    def stats(self) -> dict[str, Any]:
        """Counts what the cache holds and what it did."""
        return report(filled(lib.zt_cache_get_stats, c.zt_cache_stats, self._live()))

    def close(self) -> None:
        """Frees the cache. Pinned slices become invalid."""
        lib.zt_cache_free(self._handle)
        self._handle = ctypes.c_void_p()
        self._memory.clear()

    def __enter__(self) -> "Cache":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.close()
