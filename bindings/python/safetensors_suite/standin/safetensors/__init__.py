"""Stands in for safetensors, so that its tests run with libztensor. What of it has no counterpart fails when it is called; the
tests that call it are in ../../cannot_apply.txt."""
import functools

from libztensor.numpy import SafetensorError, safe_open

__version__ = "0.8.0"


def _without(name):
    def absent(*_, **__):
        raise NotImplementedError(f"libztensor has no {name}")
    return absent


def _as_safetensors(function):
    """It writes safetensors whatever the file's name is, as safetensors does."""
    return functools.partial(function, container="safetensors")


TensorSpec, serialize, serialize_file, deserialize, _safe_open_handle = map(
    _without, ["TensorSpec", "serialize", "serialize_file", "deserialize", "_safe_open_handle"])
