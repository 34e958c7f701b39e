"""The shared library: where it is, its functions with their types, failures as exceptions."""

import ctypes
import ctypes.util
import functools
import os
import sys
from pathlib import Path

from . import _declarations as c


def _load():
    name = {"darwin": "libztensor.0.dylib", "win32": "ztensor.dll"}.get(sys.platform, "libztensor.so.0")
    installed = Path(__file__).resolve().parent / name
    chosen = os.environ.get("LIBZTENSOR") or (str(installed) if installed.exists() else name)
    library = ctypes.CDLL(chosen)
    for function, (result, arguments) in c.FUNCTIONS.items():
        found = getattr(library, function)
        found.restype = result
        found.argtypes = arguments
    if library.zt_abi_version() != c.ZT_ABI_VERSION:
        raise ImportError(f"{chosen} has ABI {library.zt_abi_version()}, this package needs {c.ZT_ABI_VERSION}")
    return library


lib = _load()


@functools.cache
def remote():
    """libztensor_remote: $LIBZTENSOR_REMOTE, beside this package, or where the system has it."""
    name = {"darwin": "libztensor_remote.0.dylib", "win32": "ztensor_remote.dll"}.get(sys.platform, "libztensor_remote.so.0")
    installed = Path(__file__).resolve().parent / name
    chosen = os.environ.get("LIBZTENSOR_REMOTE") or (str(installed) if installed.exists() else name)
    try:
        library = ctypes.CDLL(chosen)
    except OSError as why:
        raise Unsupported(f"URLs need {name}, which cannot be loaded: {why}") from None
    library.zt_remote_open.restype = ctypes.c_int32
    library.zt_remote_open.argtypes = [
        ctypes.c_char_p, ctypes.c_void_p, ctypes.POINTER(c.zt_open_options), ctypes.POINTER(ctypes.c_void_p)]
    return library


class ZTensorError(Exception):
    """What went wrong; ``status`` is the ZT_ERROR_ number."""

    status = c.ZT_ERROR_INTERNAL


_CLASSES = {}


def _error(name, status, *bases):
    made = type(name, (ZTensorError, *bases), {"status": status, "__module__": "libztensor"})
    _CLASSES[status] = made
    return made


InvalidArgument = _error("InvalidArgument", c.ZT_ERROR_INVALID_ARGUMENT, ValueError)
IOFailure = _error("IOFailure", c.ZT_ERROR_IO, OSError)
NotFound = _error("NotFound", c.ZT_ERROR_NOT_FOUND, KeyError)
NotZTensor = _error("NotZTensor", c.ZT_ERROR_NOT_ZTENSOR, ValueError)
Corrupt = _error("Corrupt", c.ZT_ERROR_CORRUPT, ValueError)
DigestMismatch = _error("DigestMismatch", c.ZT_ERROR_DIGEST_MISMATCH, ValueError)
Unsupported = _error("Unsupported", c.ZT_ERROR_UNSUPPORTED)
LimitExceeded = _error("LimitExceeded", c.ZT_ERROR_LIMIT)
BufferSize = _error("BufferSize", c.ZT_ERROR_BUFFER_SIZE, ValueError)
NotMappable = _error("NotMappable", c.ZT_ERROR_NOT_MAPPABLE)
InvalidState = _error("InvalidState", c.ZT_ERROR_STATE)
Exists = _error("Exists", c.ZT_ERROR_EXISTS)
Cancelled = _error("Cancelled", c.ZT_ERROR_CANCELLED)
OutOfMemory = _error("OutOfMemory", c.ZT_ERROR_OUT_OF_MEMORY, MemoryError)
InternalError = _error("InternalError", c.ZT_ERROR_INTERNAL)
NoFile = _error("NoFile", c.ZT_ERROR_NO_FILE, FileNotFoundError)
TimedOut = _error("TimedOut", c.ZT_ERROR_TIMEOUT, TimeoutError)


def check(status):
    """Raises what a status says."""
    if status != c.ZT_OK:
        message = lib.zt_last_error().decode("utf-8", "replace")
        raise _CLASSES.get(status, ZTensorError)(message)


def options(kind, **fields):
    """A struct of the interface with struct_size set; all that is not given is the default."""
    made = kind(struct_size=ctypes.sizeof(kind))
    for name, value in fields.items():
        setattr(made, name, value)
    return made


class carrying:
    """Calls a progress function from C, keeps what it raises, and raises that when C is left."""

    def __init__(self, progress):
        self.raised = None

        def call(_context, done, total):
            try:
                return 1 if progress(done, total) is False else 0
            except BaseException as e:  # noqa: B036 -- nothing may pass through C
                self.raised = e
                return 1

        self.callback = c.zt_progress_callback(call if progress else 0)

    def check(self, status):
        if self.raised is not None:
            raise self.raised
        check(status)
