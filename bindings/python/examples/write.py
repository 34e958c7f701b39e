"""Writes a file with one tensor of each kind:  write.py FILE"""
import sys

import ml_dtypes
import numpy as np

import libztensor

with libztensor.create(sys.argv[1]) as w:
    w.set_attribute("producer", "bindings")
    w.set_attribute("layers", 3)
    w.add("weight", np.arange(6, dtype=np.float32).reshape(2, 3) / 2)
    w.add("half", np.array([1, 2, 3, 4], ml_dtypes.bfloat16))
    w.add("packed", np.arange(1000, dtype=np.int32) % 7, encoding="zstd", digest="sha256")
    w.add_object("sparse", "sparse_csr", (2, 4), {
        "values": np.array([1.0, 2.0, 3.0]),
        "indices": np.array([0, 3, 1], np.uint64),
        "indptr": np.array([0, 2, 3], np.uint64),
    })
