"""zTensor .zt files through libztensor, without a copy where they are mapped.

    import libztensor

    with libztensor.create("model.zt", digest="crc32c") as w:
        w.add("weight", numpy.zeros((2, 3), "float32"), encoding="zstd")
    with libztensor.open("model.zt") as f:
        for name, obj in f.items():
            print(name, obj.shape, obj.numpy())

A File maps names to Objects, an Object roles to Components. ``numpy()`` gives an array in the mapped file, read-only, where
that can be; it outlives the file. Objects speak DLPack: ``torch.from_dlpack(f["weight"])``.
"""

from ._library import (BufferSize, Cancelled, Corrupt, DigestMismatch, Exists, InternalError, InvalidArgument,
                       InvalidState, IOFailure, LimitExceeded, NotFound, NotMappable, NotZTensor, OutOfMemory,
                       Unsupported, ZTensorError, lib)
from ._reader import Component, File, Object, numpy_dtype, open
from ._writer import Writer, append, create, repair

__version__ = lib.zt_version().decode()
__all__ = ["BufferSize", "Cancelled", "Component", "Corrupt", "DigestMismatch", "Exists", "File", "InternalError",
           "InvalidArgument", "InvalidState", "IOFailure", "LimitExceeded", "NotFound", "NotMappable", "NotZTensor",
           "Object", "OutOfMemory", "Unsupported", "Writer", "ZTensorError", "append", "create", "numpy_dtype", "open",
           "repair"]
