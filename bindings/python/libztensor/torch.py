"""PyTorch tensors in a file, in two functions. The signatures are those of safetensors.torch:

    from libztensor.torch import load_file, save_file

    save_file(model.state_dict(), "model.zt")
    model.load_state_dict(load_file("model.zt"))

load_file reads a file of any container that libztensor opens, or a model of several files. save_file writes a
.zt or a .safetensors file, as the end of its name selects.
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
_UPLOADED = 1 << 20  # for less, starting a ring and its threads takes longer than a copy
_SINCE = {PAIRS: "2.8", "f8_e8m0": "2.7"}


def _dtype(type: str):
    if type in _DTYPES:
        return _DTYPES[type]
    if type in _SINCE:
        raise Unsupported(f"{type} needs PyTorch {_SINCE[type]} or later, and this is {torch.__version__}")
    if type == "f4_e2m1":
        raise Unsupported("rows of f4_e2m1 that end within a byte are not float4_e2m1fn_x2 of PyTorch: its last dimension has two "
                          "numbers in each element")
    raise Unsupported(f"PyTorch {torch.__version__} has no dtype for {type}")


@functools.cache
def _size(dtype) -> int:
    """The size of an element in bytes."""
    return torch.empty(0, dtype=dtype).element_size()


class _Torch:
    """Makes tensors."""

    any_index = True  # Slice supports each index that a tensor supports

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
        raise Unsupported("PyTorch has no float4_e2m1fn; use float4_e2m1fn_x2, with two numbers in each element")

    def uploads(self, wanted: list) -> bool:
        """Whether upload() reads these tensors, without a copy in the processor's memory first."""
        return self._device.type == "cuda" and sum(of.size for of in wanted) >= _UPLOADED

    def upload(self, wanted: list) -> Dict[str, Any]:
        return _upload.upload(wanted, self._device, _dtype)


def save_file(tensors: Dict[str, Any], filename: Union[str, os.PathLike[str]], metadata: Optional[Dict[str, str]] = None, *,
              container: Optional[str] = None) -> None:
    """Writes tensors to a file, which appears complete or not at all. The end of its name selects .zt or
    .safetensors.

    tensors: {name: tensor}. Each must be dense and must not share memory; save_model supports shared memory.
    metadata: texts, which become attributes of the file. container: "zt" or "safetensors", for other names.
    For a .safetensors file, tensors are copied to the CPU one by one."""
    _weights.container_of(filename, container)
    _weights.save(_to_write(tensors), filename, metadata, container)


def save(tensors: Dict[str, Any], metadata: Optional[Dict[str, str]] = None, *, container: str = "zt") -> bytes:
    """Returns what save_file writes as bytes: a .zt file, unless container is "safetensors"."""
    return _weights.save(_to_write(tensors), None, metadata, container)


def _to_write(tensors) -> list:
    if not isinstance(tensors, dict):
        raise ValueError(f"expected a dict of names and tensors, not {type(tensors)}")
    for name, tensor in tensors.items():
        if not isinstance(tensor, torch.Tensor):
            raise ValueError(f"{name!r} is not a tensor but {type(tensor)}")
        if tensor.layout != torch.strided:
            raise ValueError(f"{name!r} is sparse: make it dense, or write it with libztensor.create and add_csr or add_coo")
    shared = [names for names in _sharing(tensors) if len(names) > 1]
    if shared:
        raise RuntimeError(f"some tensors share memory, and each would be written: {shared}; save_model writes one of each")

    def one(name, tensor):
        if tensor.dtype not in _TYPES:
            raise Unsupported(f"no dtype for PyTorch's {tensor.dtype}")
        type, shape = _TYPES[tensor.dtype], tuple(tensor.shape)
        if type == PAIRS:
            if not shape:
                raise Unsupported(f"{name!r}: a scalar of {tensor.dtype} is two numbers, so it has no shape in a file")
            type, shape = "f4_e2m1", (*shape[:-1], shape[-1] * 2)

        def make():
            made = tensor.detach().to("cpu").resolve_conj().resolve_neg().contiguous()
            return made, made.data_ptr()

        return _weights.ToWrite(name, shape, type, tensor.numel() * tensor.element_size(), make)

    return [one(name, tensor) for name, tensor in tensors.items()]


def _place(tensor) -> Tuple[int, int]:
    """The range of addresses of a tensor's elements: the first byte, and the one after the last."""
    start = tensor.data_ptr()
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    return start, start + (last + 1) * tensor.element_size()


def _sharing(tensors) -> List[List[str]]:
    """Groups of names of tensors that have bytes in common."""
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
              backend: str = "mmap", skip_unreadable: bool = False, dtype: Any = None, part: bool = False,
              verify: bool = False) -> Dict[str, Any]:
    """All tensors of a file or a model, by name.

    dtype: float64, float32, float16 or bfloat16, as a name or as a dtype. All floats, blocks, groups and
    sparse objects become numbers of that dtype, decoded straight into the new tensors. Integers, bools and
    complex numbers keep their type.

    On the CPU the bytes stay in the mapped file, as in safetensors. Writing to a tensor does not change the
    file. The file must not be truncated while a tensor exists. mapped=False, or backend="pread", reads all
    bytes at once into new memory. Compressed tensors are always read. So are tensors for other devices; those
    for a CUDA device pass through pinned memory, on several threads. Blocks of quantized numbers are rows of
    bytes. A tensor that cannot be read, such as one with an unknown type, is an error; skip_unreadable leaves
    it out with a warning. part: read only this file, even if it is a part of a model. verify:
    first check the digest of every tensor that has one."""
    framework = _Torch(device)
    mapped = _weights.is_mapped(backend) and mapped and framework.on_cpu
    return _weights.load_file(filename, framework, mapped, skip_unreadable, dtype, part, verify)


def load(data: bytes, *, skip_unreadable: bool = False, dtype: Any = None) -> Dict[str, Any]:
    """All tensors of a result of save, or of any file in memory. skip_unreadable, dtype: as for load_file, but
    without config.json, which quantized weights of most tools need."""
    with File.open_memory(data, combine=dtype is not None) as file:
        return _weights.load(file, _Torch("cpu"), None, skip_unreadable, dtype)


def safe_open(filename: Union[str, os.PathLike[str]], framework: str = "pt", device: Union[str, int] = "cpu", *,
              backend: str = "mmap", part: bool = False) -> Opened:
    """Opens a file or a model to read single tensors or parts: keys(), get_tensor(name),
    get_slice(name)[...].

    backend: "pread" reads tensors into new memory, "mmap" leaves them in the mapped file. part: open only
    this file, even if it is a part of a model."""
    return Opened(filename, *_framework(framework, device, backend), part)


def save_model(model: Any, filename: Union[str, os.PathLike[str]], metadata: Optional[Dict[str, str]] = None,
               force_contiguous: bool = True, *, container: Optional[str] = None) -> None:
    """Writes the state of a module, like save_file. Of tensors that share memory, it writes the one that
    covers all of it, and lists the other names in the metadata. load_model restores them."""
    state = model.state_dict()
    metadata = dict(metadata or {})
    for names in _sharing(state):
        whole = max(sorted(names), key=lambda name: (_is_dense(state[name]), state[name].numel()))
        for name in names:
            if name != whole:
                if not _is_within(state[name], state[whole]):
                    raise RuntimeError(f"{name!r} and {whole!r} share memory, and neither covers all of it")
                metadata.setdefault(name, whole)
                del state[name]
    if force_contiguous:
        state = {name: tensor.contiguous() for name, tensor in state.items()}
    elif any(not tensor.is_contiguous() for tensor in state.values()):
        odd = next(name for name, tensor in state.items() if not tensor.is_contiguous())
        raise ValueError(f"{odd!r} is not contiguous: force_contiguous=True copies it")
    save_file(state, filename, metadata, container=container)


def _is_dense(tensor) -> bool:
    """Whether each element between the first and the last byte belongs to the tensor, once."""
    expected = 1
    for stride, size in sorted((stride, size) for stride, size in zip(tensor.stride(), tensor.shape) if size != 1):
        if stride != expected:
            return False
        expected *= size
    return True


def _is_within(part, whole) -> bool:
    """Whether each byte of part is in whole."""
    (start, end), (first, last) = _place(part), _place(whole)
    same = (start, part.dtype, part.shape, part.stride()) == (first, whole.dtype, whole.shape, whole.stride())
    return same or _is_dense(whole) and first <= start and end <= last


def load_model(model: Any, filename: Union[str, os.PathLike[str]], strict: bool = True,
               device: Union[str, int] = "cpu", *, backend: str = "mmap", part: bool = False) -> Tuple[List[str], List[str]]:
    """Fills a module from a file of save_model. Returns the missing and the unexpected names. strict: raises
    RuntimeError if there are any. part: as for load_file."""
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
    """(name, tensor) of all tensors of a file, a model or a list of files, in the order of their bytes, read
    into new memory.

    budget: bytes that are read at once, plus at most one tensor. world: the number of processes. rank: the
    number of this process, from 0. dimension(name, shape) returns the dimension along which the processes
    share a tensor in equal parts, or None for the complete tensor. dtype: as for load_file."""
    if not 0 <= rank < world:
        raise ValueError(f"rank {rank} is not one of {world}")
    how = {"mode": "auto", "combine": dtype is not None}
    several = isinstance(filename, (list, tuple))
    with File.open_parts(filename, **how) if several else File.open_model(os.fspath(filename), **how) as file:
        yield from _weights.in_pieces(file, _Torch(device), budget, rank, world, dimension, dtype)
