"""Reads while the caller uses what was read."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any, NamedTuple, Optional

from . import _declarations as c
from ._component import DIRECT, buffer_of
from ._file import Read, file_of, listed, part_of, requests_of
from ._library import Handle, InvalidState, ZTensorError, check, chosen, failure, lib, options, report, text

_ORDERS = {"position": c.ZT_LOAD_ORDER_POSITION, "given": c.ZT_LOAD_ORDER_GIVEN, "largest": c.ZT_LOAD_ORDER_LARGEST}


class LoadEvent:
    """Bytes of a read, from offset on, valid until release() or the end of the event's ``with`` block.
    number: the index of the read. last: these are its last bytes. error: the error of the read, or None."""

    def __init__(self, load: "Load", event: Any) -> None:
        self._load, self._event = load, event
        self.number: int = event.tag
        self.offset: int = event.offset
        self.last = bool(event.last)
        self.error: Optional[ZTensorError] = failure(event.status, event.message) if event.status else None

    @property
    def data(self) -> memoryview:
        """The bytes, read-only: in the read's target, or in a slot, which is reused after release(). Raises
        error."""
        if self.error is not None:
            raise self.error
        if self._event is None:
            raise InvalidState("the event is released")
        if not self._event.size:
            return memoryview(b"")
        memory = (ctypes.c_char * self._event.size).from_address(self._event.data)
        memory.kept = self._load
        return memoryview(memory).cast("B").toreadonly()

    def release(self) -> None:
        """Makes the slot available again. May be called from any thread, and more than once."""
        event, self._event = self._event, None
        if event is not None and self._load._handle:
            lib.zt_load_release(self._load._handle, ctypes.byref(event))

    def __enter__(self) -> "LoadEvent":
        return self

    def __exit__(self, *_: Any) -> None:
        self.release()


class PartStats(NamedTuple):
    """Counts what a load read of a file, or of a part of a model. path: None if it was not opened by a path.
    direct_bytes: bytes that bypassed the page cache. reason: the reason for the way of reading."""

    path: Optional[str]
    part: int
    stored_bytes: int
    direct_bytes: int
    reason: str


class Load(Handle):
    """Starts reads of one or more files. Each is read into its target or, without a target, into slots of a
    ring. Iterating returns LoadEvents until all is read, and releases each at the next step. With next() the
    caller releases them. Use it in a ``with`` block, or close() it. Until then the targets are in use.

    ring: a writable buffer for the slots, or None for memory of the library. order: "position" in the files,
    "given", or "largest" first. keep_going: if a read fails, the others continue. zt_load_options describes
    the other arguments."""

    def __init__(self, reads: Iterable[Read], *, slots: int = 0, slot_size: int = 0, ring: Any = None, threads: int = 0, verify: bool = False,
                 direct: str = "auto", chunk_size: int = 0, in_flight: int = 0, pinned: bool = False, order: str = "position",
                 keep_going: bool = False, hooks: Any = None) -> None:
        self._handle, self._last = ctypes.c_void_p(), None
        self.stats: Optional[dict[str, Any]] = None
        reads = list(reads)
        requests, targets = requests_of(reads)
        files = [file_of(read) for read in reads]  # and the memory that they read
        wanted = options(c.zt_load_options, slot_count=slots, slot_size=slot_size, threads=threads, verify=verify,
                         direct=chosen(DIRECT, direct, "direct"), chunk_size=chunk_size, in_flight=in_flight, pinned=pinned,
                         order=chosen(_ORDERS, order, "order"), keep_going=keep_going)
        if ring is not None:
            targets.append(buffer_of(ring))
            if slots * slot_size > len(targets[-1]):
                raise ValueError("the ring has less than slots * slot_size bytes")
            wanted.ring = ctypes.addressof(targets[-1])
        if hooks is not None:
            wanted.thread_hooks = ctypes.pointer(hooks)
        self._kept = targets, hooks, files
        check(lib.zt_load_start(requests, len(requests), ctypes.byref(wanted), ctypes.byref(self._handle)))

    def _live(self):
        if not self._handle:
            raise InvalidState("the load is closed")
        return self._handle

    def next(self, timeout: Optional[float] = None) -> Optional[LoadEvent]:
        """Returns the next event; call release() on it. Returns None if there is no event within timeout
        seconds. At the end it raises StopIteration, or the error that ended the load. Several threads may
        call it."""
        event = options(c.zt_load_event)
        check(lib.zt_load_next(self._live(), -1 if timeout is None else int(timeout * 1e9), ctypes.byref(event)))
        if event.kind == c.ZT_LOAD_KIND_DONE:
            check(event.status)
            raise StopIteration
        return None if event.kind == c.ZT_LOAD_KIND_NOTHING else LoadEvent(self, event)

    def __iter__(self) -> "Load":
        return self

    def __next__(self) -> LoadEvent:
        last, self._last = self._last, None
        if last is not None:
            last.release()
        self._last = self.next()
        return self._last

    def cancel(self) -> None:
        """Calls of next() in other threads raise Cancelled."""
        check(lib.zt_load_cancel(self._live()))

    def part_stats(self) -> list[PartStats]:
        """PartStats of each file and part, so far. Call it before close()."""
        def made(s) -> PartStats:
            return PartStats(part_of(s.file, s.part).path, s.part, s.stored_bytes, s.direct_bytes, text(s.reason))

        return list(listed(self._live, lib.zt_load_get_part_stats, c.zt_load_part_stats, made))

    def close(self) -> None:
        """Stops the load. The bytes of events become invalid, except those in targets. stats has the counts.
        No other thread may be using the load."""
        if self._handle:
            stats = options(c.zt_read_stats)
            lib.zt_load_finish(self._handle, ctypes.byref(stats))
            self._handle, self._kept, self._last, self.stats = ctypes.c_void_p(), None, None, report(stats)

    def __enter__(self) -> "Load":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()
