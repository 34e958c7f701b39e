"""PyTorch takes a mapped tensor by DLPack. It has the same bytes, also after the file is closed. The writer
takes a tensor of PyTorch."""
import gc
import os
import tempfile

import numpy as np
import torch

import libztensor

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "file.zt")
    with libztensor.create(path) as w:
        w.add("a", np.arange(12, dtype="float32").reshape(3, 4))
        w.add("from torch", torch.arange(4, dtype=torch.int64))
    f = libztensor.open(path)
    versions = [f["a"].unversioned()]
    if tuple(int(n) for n in torch.__version__.split(".")[:2]) >= (2, 9):
        versions.append(f["a"])
    tensors = [torch.from_dlpack(v) for v in versions]
    for tensor in tensors:
        assert tensor.data_ptr() == f["a"].numpy().ctypes.data, "not the same memory"
        assert tensor.shape == (3, 4) and tensor.dtype == torch.float32 and tensor.is_contiguous()
    assert f["from torch"].numpy().tolist() == [0, 1, 2, 3]
    mapped = any(path in line for line in open("/proc/self/maps"))
    f.close()
    del f, versions
    gc.collect()
    for tensor in tensors:
        assert tensor.sum().item() == 66 and tensor[2, 3].item() == 11
    assert mapped and any(path in line for line in open("/proc/self/maps")), "the tensor does not keep the mapping"
    del tensor, tensors
    gc.collect()
    assert not any(path in line for line in open("/proc/self/maps")), "the mapping outlives the last tensor"
print(f"ok PyTorch {torch.__version__} shares a mapped tensor")
