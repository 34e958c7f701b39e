"""Replaces safetensors.numpy."""

from __future__ import annotations

import os
from typing import Any, Dict, Optional, Union

from .. import numpy as _numpy
from ..numpy import load
from . import TensorSpec, deserialize, safe_open, serialize, serialize_file

__all__ = ["TensorSpec", "deserialize", "load", "load_file", "safe_open", "save", "save_file", "serialize", "serialize_file"]


def save(tensor_dict: Dict[str, Any], metadata: Optional[Dict[str, str]] = None) -> bytes:
    """Returns the bytes of a .safetensors file with these arrays. Arrays that are not contiguous are copied
    first."""
    return _numpy.save(tensor_dict, metadata, container="safetensors")


def save_file(tensor_dict: Dict[str, Any], filename: Union[str, os.PathLike[str]], metadata: Optional[Dict[str, str]] = None) -> None:
    """Writes arrays to a .safetensors file, which appears complete or not at all."""
    _numpy.save_file(tensor_dict, filename, metadata, container="safetensors")


def load_file(filename: Union[str, os.PathLike[str]], *, backend: str = "mmap") -> Dict[str, Any]:
    """All arrays of one file, by name."""
    return _numpy.load_file(filename, backend=backend, part=True)
