"""PyTorch tensors in a file, in two functions. The signatures are those of safetensors.torch:

    from libztensor.torch import load_file, save_file

    save_file(model.state_dict(), "model.zt")
    model.load_state_dict(load_file("model.zt"))

What is read may be a file of any container that libztensor opens, or a model of several files; what is written is a .zt or a
.safetensors file, as its name ends.
"""

from __future__ import annotations

import functools
import math
import os
from collections import defaultdict
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, Union

import torch

from . import _upload, _weights
from ._elements import PAIRS, TORCH
from ._file import File
from ._library import AnyPath, InvalidArgument, Unsupported
from ._library import ZTensorError as SafetensorError
from ._weights import Opened
from .numpy import _framework

__all__ = ["SafetensorError", "iterate", "load", "load_file", "load_model", "safe_open", "save", "save_file", "save_model"]

_DTYPES = {name: getattr(torch, torch_name) for name, torch_name in TORCH.items() if hasattr(torch, torch_name)}
_TYPES = {dtype: name for name, dtype in _DTYPES.items()}
_UPLOADED = 1 << 20  # below this a ring and the threads that fill it take longer than a copy
_SINCE = {PAIRS: "2.8", "f8_e8m0": "2.7"}


def _dtype(type: str):
    if type in _DTYPES:
        return _DTYPES[type]
    if type in _SINCE:
        raise Unsupported(f"{type} needs PyTorch {_SINCE[type]} or later, and this is {torch.__version__}")
    if type == "f4_e2m1":
        raise Unsupported("rows of f4_e2m1 that end within a byte are no float4_e2m1fn_x2 of PyTorch: its last dimension has two "
                          "numbers in each element")
    raise Unsupported(f"PyTorch {torch.__version__} has no dtype for {type}")


@functools.cache
def _size(dtype) -> int:
    """Bytes of an element."""
    return torch.empty(0, dtype=dtype).element_size()


class _Torch:
    """How tensors are made."""

    any_index = True  # Slice takes what a tensor takes

    def __init__(self, device):
        try:
            self._device = torch.device("cpu" if device is None else f"cuda:{device}" if isinstance(device, int) else device)
        except (RuntimeError, TypeError) as why:
            raise InvalidArgument(f"device {device!r}: {why}") from None

    @staticmethod
    def empty(shape, type):
        made = torch.empty(tuple(shape), dtype=_dtype(type))
        return made, made.data_ptr(), made.numel() * made.element_size()

    @staticmethod
    def fits(of) -> bool:
        size = _size(_dtype(of.type))
        return of.offset % size == 0 and math.prod(of.shape) * size == of.size

    @staticmethod
    def over(part, of):
        dtype = _dtype(of.type)
        return torch.frombuffer(part, dtype=dtype, count=of.size // _size(dtype), offset=of.offset).view(of.shape)

    def finished(self, made):
        return made if self._device.type == "cpu" else made.to(self._device)

    @property
    def on_cpu(self) -> bool:
        return self._device.type == "cpu"

    @staticmethod
    def four(of):
        raise Unsupported("PyTorch has no float4_e2m1fn, but float4_e2m1fn_x2, two numbers in each element")

    def uploads(self, wanted: list) -> bool:
        """Whether so much is read by upload(), and not into memory of the processor first."""
        return self._device.type == "cuda" and sum(of.size for of in wanted) >= _UPLOADED

    def upload(self, wanted: list) -> Dict[str, Any]:
        return _upload.upload(wanted, self._device, _dtype)


def save_file(tensors: Dict[str, Any], filename: Union[str, os.PathLike[str]], metadata: Optional[Dict[str, str]] = None, *,
              container: Optional[str] = None) -> None:
    """Writes tensors to a file, which appears whole or not at all: .zt or .safetensors, as its name ends.

    tensors: {name: tensor}, each dense and with memory of its own: save_model deals with those that share some. metadata:
    texts, which become attributes of the file. container: "zt" or "safetensors", for other names. To a .safetensors file tensors
    are brought to the CPU one by one."""
    _weights.container_of(filename, container)
    _weights.save(_to_write(tensors), filename, metadata, container)


def save(tensors: Dict[str, Any], metadata: Optional[Dict[str, str]] = None, *, container: str = "zt") -> bytes:
    """What save_file writes, as bytes: of a .zt file, if container does not say "safetensors"."""
    return _weights.save(_to_write(tensors), None, metadata, container)


def _to_write(tensors) -> list:
    if not isinstance(tensors, dict):
        raise ValueError(f"expected a dict of names and tensors, not {type(tensors)}")
    for name, tensor in tensors.items():
        if not isinstance(tensor, torch.Tensor):
            raise ValueError(f"{name!r} is no tensor, but {type(tensor)}")
        if tensor.layout != torch.strided:
            raise ValueError(f"{name!r} is sparse: make it dense, or write it by libztensor.create and add_csr or add_coo")
    shared = [names for names in _sharing(tensors) if len(names) > 1]
    if shared:
        raise RuntimeError(f"some tensors share memory, so that each would be written: {shared}; save_model keeps one of each")

    def one(name, tensor):
        if tensor.dtype not in _TYPES:
            raise Unsupported(f"no dtype for PyTorch's {tensor.dtype}")
        type, shape = _TYPES[tensor.dtype], tuple(tensor.shape)
        if type == PAIRS:
            if not shape:
                raise Unsupported(f"{name!r}: a scalar of {tensor.dtype} is two numbers, and has no shape in a file")
            type, shape = "f4_e2m1", (*shape[:-1], shape[-1] * 2)

        def make():
            made = tensor.detach().to("cpu").resolve_conj().resolve_neg().contiguous()
            return made, made.data_ptr()

        return _weights.ToWrite(name, shape, type, tensor.numel() * tensor.element_size(), make)

    return [one(name, tensor) for name, tensor in tensors.items()]


def _place(tensor) -> Tuple[int, int]:
    """Where its elements lie: the first byte, and the byte behind the last one."""
    start = tensor.data_ptr()
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    return start, start + (last + 1) * tensor.element_size()


def _sharing(tensors) -> List[List[str]]:
    """Names of tensors that have bytes in common, together."""
    places = defaultdict(list)
    for name, tensor in tensors.items():
        if tensor.numel() and tensor.device.type != "meta":
            places[tensor.device].append((*_place(tensor), name))
    groups = []
    for found in places.values():
        end = None
        for start, behind, name in sorted(found):
            if end is not None and start < end:
                groups[-1].append(name)
                end = max(end, behind)
            else:
                groups.append([name])
                end = behind
    return groups


def load_file(filename: Union[str, os.PathLike[str]], device: Union[str, int] = "cpu", *, mapped: bool = True,
              backend: str = "mmap", skip_unreadable: bool = False, dtype: Any = None, part: bool = False) -> Dict[str, Any]:
    """All tensors of a file or a model, by name.

    dtype: float64, float32, float16 or bfloat16, as a name or as a dtype. All floats, blocks, groups and sparse objects come as
    numbers of it, decoded straight into the new tensors. Integers, bools and complex numbers keep their type.

    On the CPU their bytes stay in the file until they are looked at, as those of safetensors do; writing to a tensor does not
    change the file, and nobody may cut the file short while one lives. mapped=False, or backend="pread", reads all at once, into memory of
    their own. What is compressed is read in any case, and what goes to another device: to a CUDA device through pinned memory, on several
    threads. Blocks of quantized numbers come as bytes, in rows. A tensor that cannot be read, such as one of an unknown type, is an error;
    skip_unreadable leaves it out with a warning. part: read this file alone, although it is a part of a model."""
    framework = _Torch(device)
    mapped = _weights.is_mapped(backend) and mapped and framework.on_cpu
    return _weights.load_file(filename, framework, mapped, skip_unreadable, dtype, part)


def load(data: bytes, *, skip_unreadable: bool = False, dtype: Any = None) -> Dict[str, Any]:
    """All tensors of what save gave, or of any file in memory. skip_unreadable, dtype: as for load_file."""
    with File.open_memory(data) as file:
        return _weights.load(file, _Torch("cpu"), None, skip_unreadable, dtype)


def safe_open(filename: Union[str, os.PathLike[str]], framework: str = "pt", device: Union[str, int] = "cpu", *,
              backend: str = "mmap", part: bool = False) -> Opened:
    """Opens a file or a model, to take single tensors or parts of them: keys(), get_tensor(name), get_slice(name)[...].

    backend: "pread" reads tensors into memory of their own, "mmap" leaves them in the file. part: open this file alone, although
    it is a part of a model."""
    return Opened(filename, *_framework(framework, device, backend), part)


def save_model(model: Any, filename: Union[str, os.PathLike[str]], metadata: Optional[Dict[str, str]] = None,
               force_contiguous: bool = True, *, container: Optional[str] = None) -> None:
    """Writes the state of a module, as save_file does. Of tensors that share memory the one that holds all of it is written, and the metadata say
    which names it stands for; load_model gives them back."""
    state = model.state_dict()
    metadata = dict(metadata or {})
    for names in _sharing(state):
        whole = max(sorted(names), key=lambda name: (_is_dense(state[name]), state[name].numel()))
        for name in names:
            if name != whole:
                if not _is_within(state[name], state[whole]):
                    raise RuntimeError(f"{name!r} and {whole!r} share memory, and neither holds all of it")
                metadata.setdefault(name, whole)
                del state[name]
    if force_contiguous:
        state = {name: tensor.contiguous() for name, tensor in state.items()}
    elif any(not tensor.is_contiguous() for tensor in state.values()):
        odd = next(name for name, tensor in state.items() if not tensor.is_contiguous())
        raise ValueError(f"{odd!r} is not contiguous: force_contiguous=True copies it")
    save_file(state, filename, metadata, container=container)


def _is_dense(tensor) -> bool:
    """Whether each element between its first byte and its last is its own, and once."""
    expected = 1
    for stride, size in sorted((stride, size) for stride, size in zip(tensor.stride(), tensor.shape) if size != 1):
        if stride != expected:
            return False
        expected *= size
    return True


def _is_within(part, whole) -> bool:
    """Whether each byte of part is one of whole."""
    (start, end), (first, last) = _place(part), _place(whole)
    same = (start, part.dtype, part.shape, part.stride()) == (first, whole.dtype, whole.shape, whole.stride())
    return same or _is_dense(whole) and first <= start and end <= last


def load_model(model: Any, filename: Union[str, os.PathLike[str]], strict: bool = True,
               device: Union[str, int] = "cpu", *, backend: str = "mmap", part: bool = False) -> Tuple[List[str], List[str]]:
    """Fills a module with what save_model wrote; the names that are missing and those that are not expected. strict: either
    is a RuntimeError. part: as for load_file."""
    state = load_file(filename, device, backend=backend, part=part)
    missing, unexpected = model.load_state_dict(state, strict=False)
    own = model.state_dict()
    filled = {name for names in _sharing(own) for whole in names if whole in state
              for name in names if _is_within(own[name], own[whole])}
    missing = [name for name in missing if name not in filled]
    if strict and (missing or unexpected):
        what = [f"{kind}: {names}" for kind, names in (("missing", missing), ("not expected", unexpected)) if names]
        raise RuntimeError(f"{os.fspath(filename)} does not fit {type(model).__name__}; {'; '.join(what)}")
    return missing, unexpected


def iterate(filename: Union[AnyPath, Sequence[AnyPath]], device: Union[str, int] = "cpu", *, budget: int = 1 << 30, rank: int = 0,
            world: int = 1, dimension: Optional[Callable[[str, Tuple[int, ...]], Optional[int]]] = None,
            dtype: Any = None) -> Iterator[Tuple[str, Any]]:
    """(name, tensor) of all tensors of a file, a model or a list of files, in the order of their bytes, which are read into memory of
    their own.

    budget: bytes that are read at once, one tensor more at most. world, rank: of how many processes this one is which, counted
    from 0; dimension(name, shape) says along which dimension they share a tensor, each an equal part, or None for all of it. dtype: as for load_file."""
    if not 0 <= rank < world:
        raise ValueError(f"rank {rank} is not one of {world}")
    several = isinstance(filename, (list, tuple))
    with File.open_parts(filename, mode="auto") if several else File.open_model(os.fspath(filename), mode="auto") as file:
        yield from _weights.in_pieces(file, _Torch(device), budget, rank, world, dimension, dtype)
