"""libztensor.torch with a CUDA device: tensors loaded onto it equal the saved ones, with any number of slots.

    python3 bindings/python/tests/torch_cuda.py

Prints that it is skipped if PyTorch finds no CUDA device."""
import sys
import tempfile
from pathlib import Path

import torch

import libztensor
from libztensor import torch as zt

DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8,
          torch.bool, torch.complex64, *(getattr(torch, name) for name in ("float8_e4m3fn", "float8_e5m2") if hasattr(torch, name))]


def made(shape, dtype):
    return torch.randint(0, 2, shape).to(dtype) if dtype == torch.bool else (torch.randn(shape) * 9).to(dtype)


def assert_same(found, expected):
    assert set(found) == set(expected)
    for name, tensor in expected.items():
        assert found[name].is_cuda and found[name].dtype == tensor.dtype and found[name].shape == tensor.shape, name
        assert torch.equal(found[name].cpu().contiguous().view(-1).view(torch.uint8), tensor.contiguous().view(-1).view(torch.uint8)), name


def loaded(folder):
    state = {str(dtype): made((5, 77), dtype) for dtype in DTYPES}
    state.update({f"small.{n}": torch.randn(n % 9, 300) for n in range(3000)}, empty=torch.zeros(0, 3), scalar=torch.tensor(3.5),
                 large=torch.randn(50_000, 1024), odd=torch.randn(1_000_003))
    path = folder / "a.zt"
    zt.save_file(state, path)
    for device in ("cuda", "cuda:0", 0, torch.device("cuda")):
        assert_same(zt.load_file(path, device=device), state)
    with zt.safe_open(path, framework="pt", device="cuda") as f:
        assert_same({name: f.get_tensor(name) for name in f.keys()}, state)
        part = f.get_slice("large")[100:200, 5]
        assert part.is_cuda and torch.equal(part.cpu(), state["large"][100:200, 5])
    assert_same(dict(zt.iterate(path, "cuda", budget=1 << 26)), state)


def in_other_streams(folder):
    """Another stream that reads at once sees the bytes."""
    state = {"large": torch.randn(30_000, 1024)}
    path = folder / "b.zt"
    zt.save_file(state, path)
    for _ in range(5):
        found = zt.load_file(path, device="cuda")["large"]
        with torch.cuda.stream(torch.cuda.Stream()):
            total = found.double().sum()
        torch.cuda.synchronize()
        assert abs(float(total) - float(state["large"].double().sum())) < 1e-3


def compressed(folder):
    state = {f"t{n}": torch.arange(n * 100_000, dtype=torch.int64) % 1000 for n in range(12)}
    path = folder / "z.zt"
    with libztensor.create(path, encoding="zstd", digest="crc32c") as writer:
        for name, tensor in state.items():
            writer.add(name, tensor.numpy())
    assert_same(zt.load_file(path, device="cuda"), state)
    whole = path.read_bytes()
    path.write_bytes(whole[:5000] + bytes(64) + whole[5064:])
    try:
        zt.load_file(path, device="cuda")
    except libztensor.ZTensorError as e:
        assert "z.zt" in str(e)
    else:
        raise AssertionError("broken frames were loaded")


if not torch.cuda.is_available():
    print("torch_cuda: skipped: PyTorch", torch.__version__, "finds no CUDA device")
    sys.exit()
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    loaded(folder)
    in_other_streams(folder)
    compressed(folder)
print("torch_cuda: 3 passed: PyTorch", torch.__version__, torch.cuda.get_device_name())
