"""Tensors on a CUDA device: read into slots of pinned memory and copied to the device while others are
read."""

from __future__ import annotations

import ctypes
import math
from collections import deque
from contextlib import nullcontext
from typing import Any

import torch

from . import _declarations as c
from ._library import ZTensorError, check, lib, options
from ._weights import request_of

SLOTS, SLOT_SIZE = 4, 16 << 20
SMALLEST_SLOT = 1 << 16
IN_FLIGHT = 256 << 20  # the library's default


class _Copies:
    """Copies that may still be in progress, oldest first: an event of the device for each, and the load's
    events that it reads."""

    def __init__(self, load: Any, asynchronous: bool) -> None:
        self._load, self._asynchronous = load, asynchronous
        self._begun: list = []
        self._pending: deque = deque()
        self._bytes = 0

    def __bool__(self) -> bool:
        return bool(self._begun or self._pending)

    def add(self, event: Any) -> None:
        self._begun.append(event)
        self._bytes += event.size
        if self._bytes >= SLOT_SIZE // 4:
            self._mark()

    def _mark(self) -> None:
        """Marks the copies that were started since the last mark; they are done when the device reaches this
        mark."""
        done = torch.cuda.Event() if self._asynchronous else None
        if done is not None:
            done.record()
        self._pending.append((done, self._begun))
        self._begun, self._bytes = [], 0

    def release(self, wait: bool) -> None:
        """Releases the events of finished copies. With wait, waits for the oldest copies."""
        if wait and self._begun:
            self._mark()
        while self._pending:
            done, events = self._pending[0]
            if done is not None and wait:
                done.synchronize()
            elif done is not None and not done.query():
                return
            wait = False
            self._pending.popleft()
            for event in events:
                lib.zt_load_release(self._load, ctypes.byref(event))


def upload(wanted: list, device: torch.device, dtype_of) -> dict[str, Any]:
    """Tensors by name. wanted: the reads from libztensor.torch. On devices other than CUDA, copies are
    synchronous."""
    bytes_of = [torch.empty(of.size, dtype=torch.uint8, device=device) for of in wanted]
    made = {}
    for of, memory in zip(wanted, bytes_of):
        dtype = dtype_of(of.type)
        if memory.numel() != math.prod(of.shape) * torch.empty(0, dtype=dtype).element_size():
            raise ZTensorError(f"{of.name!r} has {of.size} bytes, which does not match its shape and type")
        made[of.name] = memory.view(dtype).view(of.shape)
    due = [number for number, of in enumerate(wanted) if of.size]
    if not due:
        return made
    requests = (c.zt_read_request * len(due))()
    for request, number in zip(requests, due):
        request_of(request, wanted[number])
        request.tag = number
    cuda = device.type == "cuda"
    each = sum(of.size for of in wanted) // SLOTS + 1
    slot_size = min(SLOT_SIZE, max(SMALLEST_SLOT, -(-each // SMALLEST_SLOT) * SMALLEST_SLOT))
    ring = torch.empty(SLOTS * slot_size, dtype=torch.uint8, pin_memory=cuda)
    # A compressed tensor that is larger than a slot is decoded into temporary memory first.
    how = options(c.zt_load_options, ring=ring.data_ptr(), slot_size=slot_size, slot_count=SLOTS, pinned=cuda,
                  in_flight=max(IN_FLIGHT, max(of.size for of in wanted)))
    load = ctypes.c_void_p()
    check(lib.zt_load_start(requests, len(requests), ctypes.byref(how), ctypes.byref(load)))
    try:
        with torch.cuda.device(device) if cuda else nullcontext():
            try:
                _copy(load, ring, bytes_of, _Copies(load, cuda))
            finally:
                if cuda:
                    torch.cuda.current_stream().synchronize()
    finally:
        lib.zt_load_finish(load, None)
    return made


def _copy(load: Any, ring: torch.Tensor, bytes_of: list, copies: _Copies) -> None:
    first = ring.data_ptr()
    while True:
        copies.release(wait=False)
        event = options(c.zt_load_event)
        # While copies are in progress, only poll: the load may be waiting for their slots.
        check(lib.zt_load_next(load, 0 if copies else -1, ctypes.byref(event)))
        check(event.status)
        if event.kind == c.ZT_LOAD_KIND_DONE:
            return
        if event.kind == c.ZT_LOAD_KIND_NOTHING:
            copies.release(wait=True)
        elif event.size:
            at = event.data - first
            bytes_of[event.tag][event.offset:event.offset + event.size].copy_(ring[at:at + event.size], non_blocking=True)
            copies.add(event)
