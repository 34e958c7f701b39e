"""libztensor.torch beside PyTorch: what was saved is loaded, modules whose tensors share memory come back, ranks get their parts."""
import os
import pickle
import sys
import tempfile
from pathlib import Path

import torch

import libztensor
from libztensor import torch as zt

STATE = {"a": torch.randn(4, 6), "half": torch.randn(3).to(torch.bfloat16), "c": torch.arange(5), "empty": torch.zeros(0, 3),
         "scalar": torch.tensor(3.5), "pairs": torch.randn(2, 2, dtype=torch.complex64), "flags": torch.tensor([True, False]),
         "columns": torch.randn(3, 5).t()}


def raises(error, text, call):
    try:
        call()
    except error as e:
        assert text in str(e), e
    else:
        raise AssertionError(f"{error} was expected")


def assert_same(found, expected):
    assert set(found) == set(expected)
    for name, tensor in expected.items():
        assert found[name].dtype == tensor.dtype and torch.equal(found[name], tensor), name


def saved_and_loaded(folder):
    path = folder / "a.zt"
    zt.save_file(STATE, path, {"format": "pt"})
    for mapped in (True, False):
        found = zt.load_file(path, mapped=mapped)
        assert_same(found, STATE)
        found["a"][0, 0] = 99
        assert_same(zt.load_file(path), STATE)
    assert_same(zt.load(zt.save(STATE)), STATE)
    kept = zt.load_file(path)["a"]  # the file is closed; its tensor keeps what it lies in
    assert torch.equal(kept, STATE["a"])
    compressed = folder / "z.zt"
    with libztensor.create(compressed, encoding="zstd") as writer:
        writer.add("a", STATE["a"].numpy())
    assert_same(zt.load_file(compressed), {"a": STATE["a"]})


def parts(folder):
    with zt.safe_open(folder / "a.zt", framework="pt", device="cpu") as f:
        assert f.keys() == sorted(STATE) and f.metadata() == {"format": "pt"}
        part = f.get_slice("a")
        assert (part.get_shape(), part.get_dtype()) == ([4, 6], "F32")
        for index in [slice(1, 3), (slice(None), slice(1, 5, 2)), 0, (-1, 2), ..., (..., 1), slice(3, 1)]:
            assert torch.equal(part[index], STATE["a"][index]), index
        raises(TypeError, "pickled", lambda: pickle.dumps(f))
        raises(KeyError, "none", lambda: f.get_tensor("none"))


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
        self.b.weight = self.a.weight


def modules(folder):
    path, model, other = folder / "m.zt", Tied(), Tied()
    raises(RuntimeError, "share memory", lambda: zt.save_file(model.state_dict(), path))
    zt.save_model(model, path)
    assert len(zt.load_file(path)) == 3
    assert zt.load_model(other, path) == ([], [])
    assert torch.equal(other.b.weight, model.a.weight) and torch.equal(other.b.bias, model.b.bias)
    raises(RuntimeError, "missing: ['weight', 'bias']", lambda: zt.load_model(torch.nn.Linear(2, 2), path))
    assert zt.load_model(torch.nn.Linear(2, 2), path, strict=False)[0] == ["weight", "bias"]


def ranks(folder):
    along = {"a": 0, "c": None, "columns": 1}
    got = [dict(zt.iterate(folder / "b.zt", budget=16, rank=rank, world=3, dimension=lambda name, shape: along[name])) for rank in range(3)]
    for name, dimension in along.items():
        if dimension is None:
            assert all(torch.equal(one[name], STATE2[name]) for one in got)
        else:
            assert torch.equal(torch.cat([one[name] for one in got], dimension), STATE2[name]), name
    assert_same(dict(zt.iterate(folder / "b.zt")), STATE2)
    raises(ValueError, "cannot be shared by 4", lambda: list(zt.iterate(folder / "b.zt", rank=0, world=4, dimension=lambda n, s: 0)))
    raises(ValueError, "rank 3", lambda: list(zt.iterate(folder / "b.zt", rank=3, world=3)))


STATE2 = {"a": torch.randn(6, 4), "c": torch.arange(5), "columns": torch.randn(2, 9)}


def refused(folder):
    path = folder / "none.zt"
    raises(ValueError, "is no tensor", lambda: zt.save_file({"a": 1}, path))
    raises(ValueError, "sparse", lambda: zt.save_file({"a": torch.eye(3).to_sparse()}, path))
    raises(ValueError, "expected a dict", lambda: zt.save_file([torch.zeros(1)], path))
    raises(FileNotFoundError, "none.zt", lambda: zt.load_file(path))
    assert not os.path.exists(path)


with tempfile.TemporaryDirectory() as made:
    folder = Path(made)
    saved_and_loaded(folder)
    parts(folder)
    modules(folder)
    zt.save_file(STATE2, folder / "b.zt")
    ranks(folder)
    refused(folder)
print("PyTorch", torch.__version__, "saves and loads", len(STATE), "tensors", file=sys.stderr)
