"""zTensor .zt files, and the other containers that libztensor reads, without a copy where they are mapped.

    import libztensor

    with libztensor.create("model.zt", digest="crc32c") as w:
        w.add("weight", numpy.zeros((2, 3), "float32"), encoding="zstd")
    with libztensor.open("model.zt") as f:
        for name, obj in f.items():
            print(name, obj.shape, obj.numpy())

A File maps names to Objects, an Object maps roles to Components. ``numpy()`` returns a read-only array in the
mapped file if possible. The array stays valid after the file is closed. Objects support DLPack:
``torch.from_dlpack(f["weight"])``.
"""

from typing import TYPE_CHECKING, Any

from ._callbacks import allocator, thread_hooks
from ._cache import Cache
from ._component import Caps, Component
from ._elements import numpy_dtype
from ._file import CONTAINERS, ComponentInfo, Failure, File, Part, Read, open
from ._library import (BufferSize, Busy, Cancelled, Corrupt, DigestMismatch, Exists, InternalError, InvalidArgument,
                       InvalidState, IOFailure, LimitExceeded, NoFile, NotFound, NotMappable, UnknownContainer, OutOfMemory,
                       TimedOut, Unsupported, ZTensorError, block_of, dtype_size, ggml_number,
                       ggml_type, lib)
from ._load import Load, LoadEvent, PartStats
from ._object import Coo, Csr, Object, Quantized
from ._value import Tag, Value
from ._writer import OpenObject, Writer, append, create, repair

if TYPE_CHECKING:
    from .numpy import safe_open

__version__ = lib.zt_version().decode()
__all__ = ["BufferSize", "Busy", "CONTAINERS", "Cache", "Cancelled", "Caps", "Component", "ComponentInfo", "Coo", "Corrupt", "Csr",
           "DigestMismatch", "Exists", "Failure", "File", "IOFailure", "InternalError", "InvalidArgument", "InvalidState",
           "LimitExceeded", "Load", "LoadEvent", "NoFile", "NotFound", "NotMappable", "UnknownContainer", "Object", "OpenObject",
           "OutOfMemory", "Part", "PartStats", "Quantized", "Read", "Tag", "TimedOut", "Unsupported", "Value", "Writer", "ZTensorError",
           "allocator", "append", "block_of", "create", "dtype_size", "ggml_number", "ggml_type", "numpy_dtype", "open", "repair", "safe_open", "thread_hooks"]


def __getattr__(name: str) -> Any:
    if name != "safe_open":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .numpy import safe_open  # imports NumPy, so import it only when it is used

    return safe_open
