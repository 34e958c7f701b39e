"""Writes safetensors files tensor by tensor. Every size is known before the header is written."""

from __future__ import annotations

import ctypes
import itertools
import math
import os
import re
import stat
from collections.abc import Iterable
from typing import Any, BinaryIO, Optional

from ._library import Unsupported

# safetensors' names of types, in the reverse of the order in which its writer stores tensors.
NAMES = {"bool": "BOOL", "f4_e2m1": "F4", "f6_e2m3": "F6_E2M3", "f6_e3m2": "F6_E3M2", "u8": "U8", "i8": "I8", "f8_e5m2": "F8_E5M2",
         "f8_e4m3fn": "F8_E4M3", "f8_e8m0": "F8_E8M0", "f8_e4m3fnuz": "F8_E4M3FNUZ", "f8_e5m2fnuz": "F8_E5M2FNUZ", "i16": "I16",
         "u16": "U16", "f16": "F16", "bf16": "BF16", "i32": "I32", "u32": "U32", "f32": "F32", "complex64": "C64", "f64": "F64",
         "i64": "I64", "u64": "U64"}
# Bits of an element, from the digits of its name in files.
_BITS = {name: 8 if known == "BOOL" else int(re.match("[A-Z]+([0-9]+)", known)[1]) for name, known in NAMES.items()}  # type: ignore[index]
_ORDER = {name: place for place, name in enumerate(NAMES)}
_MAX_HEADER = 100_000_000  # safetensors rejects larger headers
_PIECE = 64 << 20  # bytes of a write; signals are handled between two writes
_numbers = itertools.count()


def size_of(type: str, shape: Iterable[int]) -> int:
    """Bytes of a tensor."""
    return (math.prod(shape) * _BITS[type] + 7) // 8


def _header(tensors: list, metadata: Optional[dict[str, str]]) -> bytes:
    import json

    header: dict[str, Any] = {} if metadata is None else {"__metadata__": metadata}
    end = 0
    for of in tensors:
        if of.name == "__metadata__":
            raise ValueError("safetensors has no tensor named '__metadata__': give it another name")
        start, end = end, end + of.size
        header[of.name] = {"dtype": NAMES[of.type], "shape": list(of.shape), "data_offsets": [start, end]}
    made = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    made += b" " * (-len(made) % 8)
    if len(made) > _MAX_HEADER:
        raise ValueError(f"the header has {len(made)} bytes, and safetensors allows {_MAX_HEADER}: write a .zt file")
    return made


def write(to: BinaryIO, tensors: list, metadata: Optional[dict[str, str]]) -> None:
    """Writes tensors. Each is made when it is written, and freed afterwards."""
    for of in tensors:
        if of.type not in NAMES:
            raise Unsupported(f"{of.name!r}: safetensors has no elements of {of.type}: write a .zt file")
        if of.type == "f4_e2m1" and math.prod(of.shape) % 2:
            raise Unsupported(f"{of.name!r}: 4-bit floats of the shape {of.shape} end within a byte: write a .zt file")
    tensors = sorted(tensors, key=lambda of: (-_ORDER[of.type], of.name))
    header = _header(tensors, metadata)
    _write(to, memoryview(len(header).to_bytes(8, "little") + header))
    for of in tensors:
        keep, address = of.make()
        if of.size:
            _write(to, memoryview((ctypes.c_char * of.size).from_address(address)).cast("B"))
        del keep  # and not earlier


def _write(to: BinaryIO, data: memoryview) -> None:
    while len(data):
        data = data[to.write(data[:_PIECE]):]


def save(path: Any, tensors: list, metadata: Optional[dict[str, str]]) -> None:
    """Writes a file, which gets its name when it is complete. As for a .zt file, it has the permissions of
    the replaced file. If path is a symbolic link, its target is replaced."""
    target = os.path.realpath(os.fsdecode(path))
    mode = None
    if os.path.lexists(target):
        mode = os.stat(target).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(f"{path}: exists and is not a regular file")
        if not os.access(target, os.W_OK):
            raise PermissionError(f"{path}: it exists and is read-only")
    temporary, to = _hidden(target, 0o666 if mode is None else 0o600)
    try:
        with to:
            if mode is not None:
                os.chmod(temporary, stat.S_IMODE(mode))
            write(to, tensors, metadata)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _hidden(target: str, mode: int) -> tuple[str, BinaryIO]:
    """A new file beside the target."""
    folder, name = os.path.split(target)
    for number in _numbers:
        affix = f".{os.getpid()}-p{number}.tmp"
        short = name if len(os.fsencode(name + affix)) < 250 else "zt"
        place = os.path.join(folder, f".{short}{affix}")
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
            return place, os.fdopen(os.open(place, flags, mode), "wb", buffering=0)
        except FileExistsError:  # left by an earlier process with the same number
            continue
    raise AssertionError("numbers have no end")
