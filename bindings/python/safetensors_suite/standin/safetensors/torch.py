from libztensor.torch import *  # noqa: F403

from . import _without

_end_ptr, _find_shared_tensors, _is_complete, _remove_duplicate_names, storage_ptr, storage_size = map(
    _without, ["_end_ptr", "_find_shared_tensors", "_is_complete", "_remove_duplicate_names", "storage_ptr", "storage_size"])
