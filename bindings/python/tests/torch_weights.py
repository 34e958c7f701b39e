"""libztensor.torch on PyTorch: saved tensors are loaded, modules with shared memory are restored, and ranks
get their parts."""
import os
import pickle
import sys
import tempfile
from pathlib import Path

import torch

import libztensor
from libztensor import _upload
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
    assert_same(zt.load_file(path, backend="pread"), STATE)
    for backend in ("mmap", "pread"):
        with libztensor.safe_open(path, framework="pt", backend=backend) as f:
            found = f.get_tensors()
            assert_same(found, STATE)
            in_file = found["a"].data_ptr() == f.get_tensor("a").data_ptr()
        assert in_file == (backend == "mmap")
    raises(libztensor.ZTensorError, "is not one of mmap, pread", lambda: zt.load_file(path, backend="ssd"))
    assert_same(zt.load(zt.save(STATE)), STATE)
    kept = zt.load_file(path)["a"]  # the file is closed; the tensor keeps the mapping
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
        assert part[1:, 2].data_ptr() == f.get_tensor("a")[1:, 2].data_ptr(), "a part is a view of the mapped file"
        kept, half, true = part[1:3], f.get_slice("half")[1:], part[True]
        assert torch.equal(true, STATE["a"][1]), "True is an integer index, not a mask"
        raises(TypeError, "pickled", lambda: pickle.dumps(f))
        raises(KeyError, "none", lambda: f.get_tensor("none"))
    raises(ValueError, "closed", lambda: part[0])
    assert torch.equal(kept, STATE["a"][1:3]) and torch.equal(half, STATE["half"][1:]), "the tensor stays valid after the file is closed"


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
        self.b.weight = self.a.weight


def into_tensors_of_the_callers_own(folder):
    state = {"a": torch.randn(4, 6), "half": torch.randn(3).to(torch.bfloat16), "empty": torch.zeros(0, 3), "scalar": torch.tensor(3.5)}
    zt.save_file(state, folder / "into.zt")
    own = {name: torch.empty_like(tensor) for name, tensor in state.items()}
    half = torch.empty(2, 6)
    with libztensor.open(folder / "into.zt") as f:
        f.read_batch(own)
        f.read_batch([libztensor.Read(f["a"]["data"], half, start=(1, 0), count=(2, 6))])
        f["half"]["data"].read_into(again := torch.empty(3, dtype=torch.bfloat16))
        for wrong in (torch.empty(6, 4).t(), torch.empty(4, 6, device="meta")):
            raises(ValueError, "contiguous and in the memory of the CPU", lambda: f.read_batch({"a": wrong}))
        raises(libztensor.ZTensorError, "", lambda: f.read_batch({"a": torch.empty(4, 5)}))
    assert_same(own, state)
    assert torch.equal(half, state["a"][1:3]) and torch.equal(again, state["half"])


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
    files = [folder / "part1.zt", str(folder / "part2.zt")]
    zt.save_file({"a": STATE2["a"]}, files[0])
    zt.save_file({name: STATE2[name] for name in ("c", "columns")}, files[1])
    assert_same(dict(zt.iterate(files)), STATE2)
    raises(ValueError, "cannot be shared by 4", lambda: list(zt.iterate(folder / "b.zt", rank=0, world=4, dimension=lambda n, s: 0)))
    raises(ValueError, "rank 3", lambda: list(zt.iterate(folder / "b.zt", rank=3, world=3)))


def ranks_share_blocks():
    """A slab of blocks has the same bytes as in the complete tensor; blocks are not cut."""
    path = Path(__file__).resolve().parents[3] / "tests/data/foreign/valid/amber-align-64.gguf"
    name = "enc.0.mlp.up"
    whole = zt.load_file(path)[name]
    assert whole.shape == (3, 36) and whole.dtype == torch.uint8  # rows of two blocks of 18 bytes
    along = lambda dimension: lambda given, shape: dimension if given == name else None  # noqa: E731
    for dimension, world in ((0, 3), (1, 2)):
        got = [dict(zt.iterate(path, rank=rank, world=world, dimension=along(dimension)))[name] for rank in range(world)]
        assert torch.equal(torch.cat(got, dimension), whole), dimension
    for world in (3, 4):
        for rank in range(world):
            raises(ValueError, "inside a block of gguf.q4_0", lambda: list(zt.iterate(path, rank=rank, world=world, dimension=along(1))))


class Views(torch.nn.Module):
    """A module with buffers that share memory."""

    def __init__(self, *views):
        super().__init__()
        for name, view in zip("abc", views):
            self.register_buffer(name, view)


def views(folder):
    path, memory = folder / "views.zt", torch.arange(6.0)
    for kept in ((memory[::2], memory[1:4:2]), (memory[:4], memory[2:])):
        raises(RuntimeError, "share memory", lambda: zt.save_model(Views(*kept), path))
        raises(RuntimeError, "'b'", lambda: zt.save_model(Views(*kept), path))
    assert not path.exists()
    square = memory.reshape(2, 3)
    for kept in ((memory, memory[::2]), (memory[::2], memory), (square[:, 1], square.t()), (memory[::2], memory[::2]),
                 (memory[:1].expand(4), memory[:1])):
        zt.save_model(Views(*kept), path)
        assert len(zt.load_file(path)) == 1
        other = Views(*(torch.zeros(6).as_strided(view.shape, view.stride()) for view in kept))
        assert len(zt.load_model(other, path, strict=False)[0]) == 1, "other's views do not share memory"
        copy = torch.zeros(6)
        other = Views(*(copy.as_strided(view.shape, view.stride(), view.storage_offset()) for view in kept))
        assert zt.load_model(other, path) == ([], [])
        assert torch.equal(other.a, kept[0]) and torch.equal(other.b, kept[1])
    # The names of elements that were not filled are missing.
    zt.save_file({"a": memory[::2].clone()}, path)
    raises(RuntimeError, "missing: ['b']", lambda: zt.load_model(Views(memory[::2], memory[1:4:2]), path))


def lazily_changed(folder):
    """PyTorch records negation or conjugation in a flag, without changing the bytes."""
    pairs = torch.tensor([1 + 2j, 3 - 4j])
    state = {"conjugate": pairs.clone().conj(), "imaginary": pairs.clone().conj().imag, "negative": torch._neg_view(torch.arange(3.0))}
    assert state["imaginary"].is_neg() and state["negative"].is_neg() and state["conjugate"].is_conj()
    zt.save_file(state, folder / "lazy.zt")
    assert_same(zt.load_file(folder / "lazy.zt"), state)


STATE2 = {"a": torch.randn(6, 4), "c": torch.arange(5), "columns": torch.randn(2, 9)}


def uploaded(folder):
    """Uploads to a CUDA device use a ring. In this test each copy out of the ring is synchronous."""
    path, state = folder / "upload.zt", {f"t{n}": torch.randn(n % 7, 300) for n in range(200)}
    state.update(STATE, large=torch.randn(700, 1000))
    for encoding in (None, "zstd"):
        with libztensor.create(path, encoding=encoding) as writer:
            for name, tensor in state.items():
                if tensor.dtype != torch.bfloat16:
                    writer.add(name, tensor.contiguous().numpy())
        with libztensor.open(path) as file:
            wanted = list(zt._weights.weights(file))
            found = _upload.upload(wanted, torch.device("cpu"), zt._dtype)
            assert_same(found, {name: state[name] for name in state if state[name].dtype != torch.bfloat16})
    whole = path.read_bytes()
    path.write_bytes(whole[:5000] + bytes(64) + whole[5064:])  # inside the frames of a tensor
    with libztensor.open(path) as file:
        raises(libztensor.ZTensorError, "upload.zt: object \"", lambda: _upload.upload(list(zt._weights.weights(file)), torch.device("cpu"), zt._dtype))


def numbers(folder):
    """Blocks, groups and sparse objects as floats, in tensors and through the ring of an upload."""
    model = Path(__file__).resolve().parents[3] / "tests/data/foreign/valid/amber-align-64.gguf"
    groups = Path(__file__).resolve().parents[3] / "tests/data/v2/cases/lq-sound.zt"
    mixed = folder / "mixed.zt"
    with libztensor.create(mixed) as writer:
        writer.add("whole", torch.arange(3).numpy())
        writer.add("large", torch.randn(700, 1000).numpy(), encoding="zstd")
        writer.add_csr("csr", (2, 3), torch.tensor([5.0, 6.0]).numpy(), [0, 2], [0, 0, 2])
        writer.add("pairs", torch.tensor([1 + 2j]).numpy())
    for path in (model, groups, mixed):
        for dtype in (torch.float32, "float64", torch.bfloat16):
            kind = dtype if isinstance(dtype, torch.dtype) else getattr(torch, dtype)
            with libztensor.open(path) as file:
                listed = list(zt._weights.weights(file, dtype=zt._weights.named(dtype)))
                floats = {of.name for of in listed if of.type in ("f64", "f32", "bf16")}
                expected = {name: torch.from_numpy(file[name].numpy(dtype="float64")).to(torch.float32).to(kind) for name in floats}
                wanted = [of for of in listed if of.component]
                uploaded = _upload.upload(wanted, torch.device("cpu"), zt._dtype)
            with zt.safe_open(path) as opened:
                several = {name: opened.get_tensor(name, dtype=dtype) for name in expected}
            for found in (zt.load_file(path, dtype=dtype), dict(zt.iterate(path, dtype=dtype)), several, uploaded):
                for name in found.keys() & expected.keys():
                    assert found[name].dtype == kind and torch.equal(found[name], expected[name]), (path, name)
                assert found is uploaded or floats <= found.keys()
            assert floats
    found = zt.load_file(mixed, dtype="float16")
    assert found["whole"].dtype == torch.int64 and found["pairs"].dtype == torch.complex64 and found["csr"].is_contiguous()
    name = "enc.0.mlp.up"
    along = lambda given, shape: 1 if given == name else None  # noqa: E731
    got = [dict(zt.iterate(model, rank=rank, world=2, dimension=along, dtype="float32"))[name] for rank in range(2)]
    assert torch.equal(torch.cat(got, 1), zt.load_file(model, dtype="float32")[name]), "one block each"
    ring = zt._Torch("cpu")
    ring.uploads = lambda wanted: True  # as for a CUDA device
    with libztensor.open(mixed) as file:
        assert_same(zt._weights.load(file, ring, None, dtype="float16"), zt.load_file(mixed, dtype="float16"))
    rows = lambda name, shape: 0 if name == "csr" and shape[0] % 2 == 0 else None  # noqa: E731
    got = [dict(zt.iterate(mixed, rank=rank, world=2, dimension=rows, dtype="float32"))["csr"] for rank in range(2)]
    assert torch.equal(torch.cat(got), zt.load_file(mixed, dtype="float32")["csr"]), "rows of a sparse object"
    with zt.safe_open(model) as opened:
        raises(libztensor.Unsupported, "float4_e2m1fn_x2", lambda: opened.get_tensor(name, dtype="float4_e2m1fn"))
    raises(libztensor.InvalidArgument, "not int64", lambda: zt.load_file(mixed, dtype=torch.int64))


def bytes_of(tensor):
    return tensor.contiguous().view(torch.uint8)


def as_safetensors(folder):
    """Compares with safetensors, if it is installed."""
    path = folder / "a.safetensors"
    for metadata in (None, {}, {"format": "pt"}):
        zt.save_file(STATE, path, metadata)
        assert_same(zt.load_file(path), STATE)
        with zt.safe_open(path) as f:
            assert f.metadata() == metadata
        assert zt.save(STATE, metadata, container="safetensors") == path.read_bytes()
    raises(ValueError, "container=", lambda: zt.save_file(STATE, folder / "a.safetensor"))
    raises(RuntimeError, "meta", lambda: zt.save_file({"a": torch.zeros(2, device="meta")}, folder / "meta.safetensors"))
    assert not [name for name in os.listdir(folder) if "meta" in name]
    zt.save_model(Tied(), folder / "tied.safetensors")
    assert zt.load_model(Tied(), folder / "tied.safetensors") == ([], [])
    try:
        import safetensors.torch as reference
    except ImportError:
        return
    assert_same(reference.load_file(path), STATE)
    assert path.read_bytes() == reference.save({name: tensor.contiguous() for name, tensor in STATE.items()}, {"format": "pt"})


def packed_f4(folder):
    """Pairs of 4-bit floats: PyTorch counts pairs in the last dimension, a file counts numbers."""
    path = folder / "f4.safetensors"
    header = b'{"w":{"dtype":"F4","shape":[2,4,6],"data_offsets":[0,24]}}'
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(range(24)))
    dtype = getattr(torch, "float4_e2m1fn_x2", None)
    if dtype is None or "f4_e2m1_x2" not in zt._DTYPES:
        raises(libztensor.Unsupported, "needs PyTorch 2.8 or later", lambda: zt.load_file(path))
        return "without float4"
    for mapped in (True, False):
        found = zt.load_file(path, mapped=mapped)["w"]
        assert found.dtype == dtype and found.shape == (2, 4, 3)
        assert bytes_of(found).flatten().tolist() == list(range(24))
    for backend in ("mmap", "pread"):
        with zt.safe_open(path, backend=backend) as f:
            part = f.get_slice("w")  # counts numbers, as the file does
            assert (part.get_dtype(), part.get_shape()) == ("F4", [2, 4, 6]) and f.get_tensor("w").dtype == dtype
            assert torch.equal(bytes_of(part[1, 1:3]), bytes_of(found[1, 1:3]))
            assert torch.equal(bytes_of(part[:, 2, 2:]), bytes_of(found[:, 2, 1:])) and part[:, :, 2:2].shape == (2, 4, 0)
            for index in [(0, 0, 0), (..., slice(1, 3)), (..., slice(0, 3)), (..., slice(0, 6, 2))]:
                raises(libztensor.Unsupported, "must be even", lambda: part[index])
    for name in ("again.safetensors", "again.zt"):
        zt.save_file({"w": found}, folder / name)
        again = zt.load_file(folder / name)["w"]
        assert again.dtype == dtype and again.shape == found.shape and torch.equal(bytes_of(again), bytes_of(found))
    assert (folder / "again.safetensors").read_bytes()[-24:] == bytes(range(24))
    zt.save_file({"w": found[:, :, 1:]}, path)
    assert torch.equal(bytes_of(zt.load_file(path)["w"]), bytes_of(found[:, :, 1:]))
    raises(libztensor.Unsupported, "scalar", lambda: zt.save_file({"w": found[0, 0, 0]}, path))
    odd = b'{"w":{"dtype":"F4","shape":[2,3],"data_offsets":[0,3]}}'
    path.write_bytes(len(odd).to_bytes(8, "little") + odd + bytes(3))
    raises(libztensor.Unsupported, "within a byte", lambda: zt.load_file(path))
    with libztensor.open(folder / "again.zt") as file:
        assert _upload.upload(list(zt._weights.weights(file)), torch.device("cpu"), zt._dtype)["w"].dtype == dtype
    return "with float4"


def in_the_place_of_safetensors(folder):
    """Functions of safetensors.torch that programs import and the other tests do not cover."""
    from libztensor.safetensors import SafetensorError, TensorSpec, deserialize, safe_open, serialize
    from libztensor.safetensors import torch as standin

    path, whole = folder / "any.name", torch.arange(12.0).reshape(3, 4)
    standin.save_file({"a": whole}, path, {"format": "pt"})
    assert path.read_bytes() == standin.save({"a": whole}, {"format": "pt"})
    with safe_open(path, framework="pt", device="cpu") as f:
        part = f.get_slice("a")
        for index in (..., 1, slice(0, 2), [2, 0], ([0, 1], slice(1, 3)), torch.tensor([True, False, True]), (None, 1), torch.tensor(2), []):
            assert torch.equal(part[index], whole[index]), index
        raises(SafetensorError, "none", lambda: f.get_tensor("none"))
    raises(SafetensorError, "is closed", lambda: part[0])
    raises(SafetensorError, "device 'cpus'", lambda: safe_open(path, "pt", "cpus"))
    for tensor in (whole, whole[1:], torch.zeros(0), torch.ones(3, dtype=torch.bfloat16), torch.zeros(4, device="meta")):
        storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
        on_cpu = tensor.device.type == "cpu"
        assert standin.storage_ptr(tensor) == (storage.data_ptr() if on_cpu else 0)
        assert standin.storage_size(tensor) == tensor.element_size() * (12 if tensor.data_ptr() and tensor is not whole and tensor.dim() == 2
                                                                        else tensor.numel())
        if on_cpu:
            data, kept = standin._to_ndarray(tensor)
            assert data.dtype == "u1" and data.nbytes == tensor.numel() * tensor.element_size() and kept.data_ptr() == tensor.data_ptr()
            assert not data.size or data.ctypes.data == tensor.data_ptr()
            name = str(tensor.dtype).split(".")[1]
            made = serialize({"t": TensorSpec(dtype=name, shape=tensor.shape, data_ptr=data.ctypes.data, data_len=data.nbytes)})
            assert made == standin.save({"t": tensor}) and deserialize(made)[0][1]["data"] == data.tobytes()
    assert standin._is_complete(whole) and not standin._is_complete(whole[1:])
    tied = {"b": whole, "a": whole, "row": whole[0], "last": whole[2], "own": torch.ones(2)}
    assert sorted(map(sorted, standin._find_shared_tensors(tied))) == [["a", "b", "last", "row"], ["own"]]
    assert standin._remove_duplicate_names(tied) == {"a": ["b", "last", "row"]}
    assert standin._remove_duplicate_names(tied, preferred_names=["b"]) == {"b": ["a", "last", "row"]}
    assert standin._remove_duplicate_names(tied, discard_names=["a"]) == {"b": ["a", "last", "row"]}
    raises(RuntimeError, "none of them covers", lambda: standin._remove_duplicate_names({"row": whole[0]}))
    assert standin._TYPES["F32"] == torch.float32 and standin._SIZE[torch.float64] == 8 and standin._end_ptr(whole) == whole.data_ptr() + 48


def refused(folder):
    path = folder / "none.zt"
    raises(ValueError, "is not a tensor", lambda: zt.save_file({"a": 1}, path))
    raises(ValueError, "sparse", lambda: zt.save_file({"a": torch.eye(3).to_sparse()}, path))
    raises(ValueError, "expected a dict", lambda: zt.save_file([torch.zeros(1)], path))
    raises(FileNotFoundError, "none.zt", lambda: zt.load_file(path))
    assert not os.path.exists(path)


with tempfile.TemporaryDirectory() as made:
    folder = Path(made)
    saved_and_loaded(folder)
    parts(folder)
    into_tensors_of_the_callers_own(folder)
    modules(folder)
    zt.save_file(STATE2, folder / "b.zt")
    ranks(folder)
    ranks_share_blocks()
    views(folder)
    lazily_changed(folder)
    uploaded(folder)
    numbers(folder)
    refused(folder)
    as_safetensors(folder)
    in_the_place_of_safetensors(folder)
    outcomes = [packed_f4(folder)]
    zt._DTYPES.pop("f4_e2m1_x2", None)  # like a PyTorch that does not have it
    outcomes.append(packed_f4(folder))
    assert outcomes[1] == "without float4"
print("PyTorch", torch.__version__, "saves and loads", len(STATE), "tensors", file=sys.stderr)
