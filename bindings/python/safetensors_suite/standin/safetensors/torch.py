from libztensor import torch as _torch
from libztensor.torch import *  # noqa: F403

from . import _as_safetensors, _without

save, save_file, save_model = map(_as_safetensors, [_torch.save, _torch.save_file, _torch.save_model])
_end_ptr, _find_shared_tensors, _is_complete, _remove_duplicate_names, storage_ptr, storage_size = map(
    _without, ["_end_ptr", "_find_shared_tensors", "_is_complete", "_remove_duplicate_names", "storage_ptr", "storage_size"])
