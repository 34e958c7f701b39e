"""Replaces safetensors.torch, including private functions that programs import."""

from __future__ import annotations

import ctypes
import os
from collections import defaultdict
from typing import Any, Dict, Iterable, List, Optional, Set, Tuple, Union

import torch

from .. import _safetensors
from .. import torch as _torch
from .._elements import PAIRS
from ..torch import load
from . import TensorSpec, deserialize, safe_open, serialize, serialize_file

__all__ = ["TensorSpec", "deserialize", "load", "load_file", "load_model", "safe_open", "save", "save_file", "save_model", "serialize",
           "serialize_file", "storage_ptr", "storage_size"]

# PyTorch's dtypes by their names in a file.
_TYPES = {_safetensors.NAMES["f4_e2m1" if name == PAIRS else name]: dtype for name, dtype in _torch._DTYPES.items()
          if name == PAIRS or name in _safetensors.NAMES}
_SIZE = {dtype: _torch._size(dtype) for dtype in _TYPES.values()}


def save(tensors: Dict[str, torch.Tensor], metadata: Optional[Dict[str, str]] = None) -> bytes:
    """Returns the bytes of a .safetensors file with these tensors. Tensors that are not contiguous are copied
    first."""
    return _torch.save(tensors, metadata, container="safetensors")


def save_file(tensors: Dict[str, torch.Tensor], filename: Union[str, os.PathLike[str]], metadata: Optional[Dict[str, str]] = None) -> None:
    """Writes tensors to a .safetensors file, which appears complete or not at all."""
    _torch.save_file(tensors, filename, metadata, container="safetensors")


def save_model(model: torch.nn.Module, filename: Union[str, os.PathLike[str]], metadata: Optional[Dict[str, str]] = None,
               force_contiguous: bool = True) -> None:
    """Writes the state of a module to a .safetensors file. Of tensors that share memory, it writes the one
    that covers all of it."""
    _torch.save_model(model, filename, metadata, force_contiguous, container="safetensors")


def load_file(filename: Union[str, os.PathLike[str]], device: Union[str, int] = "cpu", *, backend: str = "mmap") -> Dict[str, torch.Tensor]:
    """All tensors of one file, by name."""
    return _torch.load_file(filename, device, backend=backend, part=True)


def load_model(model: torch.nn.Module, filename: Union[str, os.PathLike[str]], strict: bool = True, device: Union[str, int] = "cpu", *,
               backend: str = "mmap") -> Tuple[List[str], List[str]]:
    """Fills a module from one file. Returns the missing and the unexpected names. strict: raises RuntimeError
    if there are any."""
    return _torch.load_model(model, filename, strict, device, backend=backend, part=True)


def _storage(tensor: torch.Tensor) -> Any:
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()  # before PyTorch 2.0


def storage_ptr(tensor: torch.Tensor) -> int:
    """The start of a tensor's storage; 0 for a tensor without memory."""
    try:
        return _storage(tensor).data_ptr()
    except (NotImplementedError, RuntimeError):
        return 0


def storage_size(tensor: torch.Tensor) -> int:
    """The size of a tensor's storage in bytes."""
    try:
        return _storage(tensor).nbytes()
    except NotImplementedError:
        return tensor.numel() * tensor.element_size()


def _end_ptr(tensor: torch.Tensor) -> int:
    return _torch._place(tensor)[1] if tensor.numel() else tensor.data_ptr()


def _find_shared_tensors(state_dict: Dict[str, torch.Tensor]) -> List[Set[str]]:
    """Groups of names of tensors whose bytes overlap in one storage."""
    storages: Dict[tuple, Dict[str, torch.Tensor]] = defaultdict(dict)
    for name, tensor in state_dict.items():
        place = tensor.device, storage_ptr(tensor), storage_size(tensor)
        if tensor.device.type != "meta" and place[1] and place[2]:
            storages[place][name] = tensor
    return [set(names) for together in storages.values() for names in _torch._sharing(together)]


def _is_complete(tensor: torch.Tensor) -> bool:
    """Whether a tensor covers its complete storage."""
    return tensor.data_ptr() == storage_ptr(tensor) and tensor.numel() * tensor.element_size() == storage_size(tensor)


def _remove_duplicate_names(state_dict: Dict[str, torch.Tensor], *, preferred_names: Optional[Iterable[str]] = None,
                            discard_names: Optional[Iterable[str]] = None) -> Dict[str, List[str]]:
    """For each name that is kept, the names that it replaces."""
    removed: Dict[str, List[str]] = {}
    for shared in _find_shared_tensors(state_dict):
        complete = {name for name in shared if _is_complete(state_dict[name])}
        if not complete:
            raise RuntimeError(f"{sorted(shared)} share memory, and none of them covers all of it: copy them, so that each has its own")
        keep = min(complete & set(preferred_names or ()) or complete - set(discard_names or ()) or complete)
        if len(shared) > 1:
            removed[keep] = sorted(shared - {keep})
    return removed


def _to_ndarray(tensor: torch.Tensor) -> tuple:
    """The bytes of a contiguous tensor as an array, and the CPU tensor that owns them."""
    import numpy

    tensor = tensor.to("cpu")
    size = tensor.numel() * tensor.element_size()
    if not size:
        return numpy.empty(0, "u1"), tensor
    return numpy.frombuffer((ctypes.c_ubyte * size).from_address(tensor.data_ptr()), "u1"), tensor
