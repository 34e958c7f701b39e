"""The shared library: its path, its functions with their types, its errors as exceptions."""

from __future__ import annotations

import ctypes
import functools
import os
import re
import sys
from typing import Any, Callable, Optional, Union

from . import _declarations as c

AnyPath = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]


class _Functions:
    """The functions of the library. A function gets its types at the first use, because most programs use
    few."""

    def __init__(self, library: ctypes.CDLL):
        self._library = library

    def __getattr__(self, name: str):
        if name not in c.FUNCTIONS:
            raise AttributeError(f"libztensor has no function {name}")
        found = self._library[name]
        found.restype, found.argtypes = c.FUNCTIONS[name]
        self.__dict__[name] = found
        return found


def _chosen(variable: str, name: str) -> str:
    """The path in the environment, the file beside this package, or the system's library with that name."""
    installed = os.path.join(os.path.dirname(os.path.realpath(__file__)), name)
    return os.environ.get(variable) or (installed if os.path.exists(installed) else name)


def _load() -> _Functions:
    chosen = _chosen("LIBZTENSOR", {"darwin": "libztensor.1.dylib", "win32": "ztensor.dll"}.get(sys.platform, "libztensor.so.1"))
    library = _Functions(ctypes.CDLL(chosen))
    if library.zt_abi_version() != c.ZT_ABI_VERSION:
        raise ImportError(f"{chosen} has ABI {library.zt_abi_version()}, this package needs {c.ZT_ABI_VERSION}")
    return library


lib = _load()


class zt_remote_options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t)] + [
        (name, ctypes.c_char_p) for name in ("endpoint", "region", "key_id", "secret", "token", "user_agent", "root_certificates")
    ] + [(name, ctypes.c_uint32) for name in ("timeout_ms", "retries", "concurrency", "tail", "allow_http", "anonymous")]


def remote_options(**given):
    """Options of a remote service: text and numbers, as in ztensor_remote.h."""
    known = {name for name, _ in zt_remote_options._fields_[1:]}
    for name in given:
        if name not in known:
            raise InvalidArgument(f"remote has no option {name!r}: the options are {', '.join(sorted(known))}")
    return options(zt_remote_options, **{name: value.encode() if isinstance(value, str) else value for name, value in given.items()})


@functools.cache
def remote():
    """libztensor_remote: $LIBZTENSOR_REMOTE, the file beside this package, or the system's library."""
    name = {"darwin": "libztensor_remote.1.dylib", "win32": "ztensor_remote.dll"}.get(sys.platform, "libztensor_remote.so.1")
    chosen = _chosen("LIBZTENSOR_REMOTE", name)
    try:
        library = ctypes.CDLL(chosen)
    except OSError as why:
        raise Unsupported(f"URLs need {name}, which cannot be loaded: {why}") from None
    library.zt_remote_open.restype = ctypes.c_int32
    library.zt_remote_open.argtypes = [
        ctypes.c_char_p, ctypes.POINTER(zt_remote_options), ctypes.POINTER(c.zt_open_options), ctypes.POINTER(ctypes.c_void_p)]
    return library


class Handle:
    """An object of the library. It cannot be copied: a copy would free the same object twice."""

    def __repr__(self) -> str:
        try:
            return f"<{type(self).__name__} {self._summary()}>"
        except ValueError as why:  # its file is closed
            return f"<{type(self).__name__}: {why}>"

    def _summary(self) -> str:
        return f"at {id(self):#x}"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"{type(self).__name__} cannot be pickled or copied: pickle the path, and open the file where it is needed")


class ZTensorError(Exception):
    """An error. ``status`` is the ZT_ERROR_ number. ``rule`` is the name of the format's rule that the file
    broke, or "". ``os_error`` is the number of the system's error, or 0."""

    status = c.ZT_ERROR_INTERNAL
    rule = ""
    os_error = 0


class InvalidArgument(ZTensorError, ValueError):
    """An argument is invalid whatever the file: an unknown value."""

    status = c.ZT_ERROR_INVALID_ARGUMENT


class IOFailure(ZTensorError, OSError):
    """The operating system or an object of the caller failed."""

    status = c.ZT_ERROR_IO


class NotFound(ZTensorError, KeyError):
    """The object, component, attribute or key does not exist."""

    __str__ = Exception.__str__  # KeyError puts the text in quotes

    status = c.ZT_ERROR_NOT_FOUND


class UnknownContainer(ZTensorError, ValueError):
    """The content is not in a format that the library reads."""

    status = c.ZT_ERROR_UNKNOWN_CONTAINER


class Corrupt(ZTensorError, ValueError):
    """The file breaks a rule of the format; the message names the rule."""

    status = c.ZT_ERROR_CORRUPT


class DigestMismatch(ZTensorError, ValueError):
    """The bytes do not have the digest that the file gives for them."""

    status = c.ZT_ERROR_DIGEST_MISMATCH


class Unsupported(ZTensorError):
    """The file is well-formed, but the library does not know an encoding, dtype, digest algorithm or version
    in it."""

    status = c.ZT_ERROR_UNSUPPORTED


class LimitExceeded(ZTensorError):
    """A limit is exceeded: of the manifest, of a decoded size, or of the number of objects."""

    status = c.ZT_ERROR_LIMIT


class BufferSize(ZTensorError, ValueError):
    """The caller's memory is too small, or the size of the data does not match the shape."""

    status = c.ZT_ERROR_BUFFER_SIZE


class NotMappable(ZTensorError):
    """The bytes cannot be borrowed: they are compressed, have the other byte order, or are not in memory."""

    status = c.ZT_ERROR_NOT_MAPPABLE


class InvalidState(ZTensorError, ValueError):
    """A call in the wrong state: the writer has failed, or the file is closed."""

    status = c.ZT_ERROR_STATE


class Exists(ZTensorError):
    """An object or component with that name exists."""

    status = c.ZT_ERROR_EXISTS


class Cancelled(ZTensorError):
    """A function of the caller stopped the call."""

    status = c.ZT_ERROR_CANCELLED


class OutOfMemory(ZTensorError, MemoryError):
    """An allocation failed."""

    status = c.ZT_ERROR_OUT_OF_MEMORY


class InternalError(ZTensorError):
    """A bug of libztensor; please report the message."""

    status = c.ZT_ERROR_INTERNAL


class NoFile(ZTensorError, FileNotFoundError):
    """The path does not exist."""

    status = c.ZT_ERROR_NO_FILE


class TimedOut(ZTensorError, TimeoutError):
    """The wait reached its timeout."""

    status = c.ZT_ERROR_TIMEOUT


class Busy(ZTensorError, BlockingIOError):
    """Another writer has the file open: an append, an edit or a repair."""

    status = c.ZT_ERROR_BUSY


# Phrases with C names in messages, and the phrases with Python's names. They are long, so that they do not
# match in paths and tensor names.
_WORDS = {
    "dst_stride is": "target_stride is",
    "row_length, row_stride or dst_stride": "row_length, row_stride or target_stride",
    "(zt_open_options.part, zt --part: open": "(part=True opens",
    "instead (zt_open_options.part, zt --part)": "instead (part=True)",
    "not open: zt_open_model opens it, and zt_open_options.shards says when": "not open: open_model opens it, and shards says when",
    "; zt_repair cuts it where zt_repair_options.cut_at says": "; repair cuts it where cut_at says",
    "unfinished append, which zt_repair cuts off": "unfinished append, which repair cuts off",
    "zt_repair looks for": "repair looks for",
    ": zstd_level is": ": level is",
    "zt_cache_options.budget or zt_cache_options.slot_size is 0": "budget or slot_size is 0",
    "zt_load_options.slot_count is 0, but": "slots is 0, but",
    "zt_open_handle needs handles of Windows; zt_open_fd takes": "open_handle needs handles of Windows; open_fd takes",
    "zt_open_fd needs file descriptors; zt_open_handle takes": "open_fd needs file descriptors; open_handle takes",
    "; zt_repair cuts it back, if nobody": "; repair cuts it back, if nobody",
    "zt_verify_options names an object or component of another file": "object or component is one of another file",
    "zt_verify_options.component is not one of its object": "component is not one of object",
    "says along which axis groups lie (has_axis)": "needs axis, along which its groups lie",
}
# Constants and numbers of requests, which do not appear in paths: ZT_MODE_READ becomes mode="read".
_CONSTANT, _REQUEST = re.compile(r"\bZT_(MODE|ADVICE|SHARDS)_([A-Z_]+)\b"), re.compile(r"^request (\d+):")
# Fields that have a different name in Python.
_NAMES = {"zstd_level": "level", "slot_count": "slots"}
_CLASSES = {one.status: one for one in ZTensorError.__subclasses__()}
for _class in (ZTensorError, *_CLASSES.values()):
    _class.__module__ = "libztensor"


def failure(status: int, message: Optional[bytes]) -> ZTensorError:
    """The exception for a status that a callback gets."""
    known = _CLASSES.get(status)
    text = (message or b"").decode("utf-8", "replace")
    for before, after in _WORDS.items():
        text = text.replace(before, after)
    text = _CONSTANT.sub(lambda found: f'{found[1].lower()}="{found[2].lower().replace("_", " ")}"', text)
    text = _REQUEST.sub(r"read \1:", text)
    return known(text) if known else ZTensorError(f"{lib.zt_status_name(status).decode()}: {text}")


def check(status: int) -> None:
    """Raises the exception for a status that is not ZT_OK."""
    if status != c.ZT_OK:
        raised = failure(status, lib.zt_last_error())
        raised.rule, raised.os_error = lib.zt_last_error_rule().decode(), lib.zt_last_os_error()
        raise raised


def options(kind, /, **fields):
    """A struct of the interface with struct_size set. Fields that are not given have the default."""
    made = kind(struct_size=ctypes.sizeof(kind))
    for name, value in fields.items():
        setattr(made, name, value)
        # the C type cannot hold the number
        if isinstance(value, int) and getattr(made, name) not in (value, None):
            raise InvalidArgument(f"{_NAMES.get(name, name)} cannot be {value}")
    return made


def filled(function: Callable, kind, /, *of):
    """A struct that a function fills."""
    made = kind(ctypes.sizeof(kind))
    check(function(*of, ctypes.byref(made)))
    return made


def report(struct) -> dict[str, Any]:
    """The fields of a struct that was filled."""
    values = {name: getattr(struct, name) for name, _ in struct._fields_[1:]}
    return {name: value.decode() if isinstance(value, bytes) else value for name, value in values.items()}


def chosen(table: dict, key, what: str) -> int:
    """The number of a name."""
    if key not in table:
        raise InvalidArgument(f"{what} must be one of {[k for k in table if k]}, not {key!r}")
    return table[key]


def sized(name: str, errors: str = "strict") -> tuple:
    """A name and its length. Surrogates in the name stand for bytes that are not UTF-8."""
    if not isinstance(name, str):
        raise TypeError(f"a name must be a text, not {name!r}")
    text = name.encode(errors=errors)
    return text, len(text)


def text(pointer: Optional[bytes]) -> Optional[str]:
    return None if pointer is None else pointer.decode()


def field_text(struct, name: str) -> Optional[str]:
    """A text field with its length beside it. Bytes that are not UTF-8 become surrogates, as in file
    names."""
    found, length = getattr(struct, name), getattr(struct, name + "_length")
    if found is not None and len(found) != length:  # it contains a NUL, where ctypes ends the string
        found = ctypes.string_at(ctypes.c_void_p.from_buffer(struct, getattr(type(struct), name).offset).value, length)
    return None if found is None else found.decode(errors="surrogateescape")


# Names of numbers; None for a number without a name.
dtype_name = functools.cache(lambda number: text(lib.zt_dtype_name(number)))
type_name = functools.cache(lambda number: text(lib.zt_type_name(number)))
encoding_name = functools.cache(lambda number: text(lib.zt_encoding_name(number)))
format_name = functools.cache(lambda number: text(lib.zt_format_name(number)))


def block_of(type: str) -> tuple[int, int]:
    """The block of a logical type: (32, 18) for "gguf.q4_0", 32 elements in 18 bytes."""
    elements, size = ctypes.c_size_t(), ctypes.c_size_t()
    check(lib.zt_type_block(type_number(type), ctypes.byref(elements), ctypes.byref(size)))
    return elements.value, size.value


def ggml_number(dtype: str, type: Optional[str] = None) -> int:
    """ggml's number (enum ggml_type) of a dtype, or of a logical type stored as a dtype: 0 for "f32", 2 for
    ("u8", "gguf.q4_0")."""
    number = ctypes.c_int32()
    kind = c.ZT_TYPE_NONE if type is None else type_number(type)
    check(lib.zt_type_ggml(dtype_number(dtype), kind, ctypes.byref(number)))
    return number.value


def ggml_type(number: int) -> tuple[str, Optional[str]]:
    """The dtype for a number in ggml, and its logical type or None: ("u8", "gguf.q4_0") for 2."""
    dtype, kind = c.zt_dtype(), c.zt_type()
    check(lib.zt_type_from_ggml(number, ctypes.byref(dtype), ctypes.byref(kind)))
    return dtype_name(dtype.value), type_name(kind.value)


def dtype_size(dtype: str) -> int:
    """The size of an element of a dtype in bytes."""
    return lib.zt_dtype_size(dtype_number(dtype))


def type_number(type: str) -> int:
    number = c.zt_type()
    check(lib.zt_type_from_name(type.encode(), ctypes.byref(number)))
    return number.value


def dtype_number(dtype: str) -> int:
    number = c.zt_dtype()
    check(lib.zt_dtype_from_name(dtype.encode(), ctypes.byref(number)))
    return number.value
