"""Writes checkpoints with the system's PyTorch, and compares what zt reads:

    torch_checkpoints.py ZT FOLDER [SEED]
"""

import collections
import json
import os
import subprocess
import sys

import numpy as np
import torch
from compare import Checks, is_array, listing, refusal


def entries(value, path=()):
    """The tensors of a checkpoint with their names: the path of keys, joined by dots."""
    if isinstance(value, torch.Tensor):
        yield ".".join(str(key) for key in path), value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from entries(item, path + (key,))
    elif isinstance(value, (list, tuple)):
        for at, item in enumerate(value):
            yield from entries(item, path + (at,))


def is_tensor(entry, tensor):
    tensor = tensor.detach().contiguous()
    if tensor.dtype == torch.bfloat16:
        return is_array(entry, tensor.view(torch.int16).numpy(), "bf16")
    return is_array(entry, tensor.numpy())


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(50, 16)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(16, 16) for _ in range(3))
        self.norm = torch.nn.BatchNorm1d(16)
        self.head = torch.nn.Linear(16, 50, bias=False)
        self.head.weight = self.embedding.weight  # tied

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.head(self.norm(x))


def trained():
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.randint(0, 50, (8,))).sum().backward()
        optimizer.step()
    return model, optimizer


def odd_tensors(rng):
    """Views of every kind and dtype."""
    base = torch.arange(240, dtype=torch.float32).reshape(4, 5, 12)
    tensors = {
        "transposed": base.transpose(0, 2), "slice": base[1:3, ::2], "column": base[:, 1, 3], "expanded": base[0, 0].expand(3, 12),
        "offset": base.flatten()[17:40], "permuted": base.permute(2, 0, 1), "whole": base, "scalar": torch.tensor(2.5),
        "empty": torch.zeros(0, 3), "strided": torch.as_strided(base, (3, 4), (7, 2), 5), "diagonal": torch.diagonal(base[0]),
        "": torch.ones(2), "unicode \u65e5\U0001f600": torch.ones(1), "with.dot": torch.ones(3),
    }
    dtypes = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
              torch.uint8, torch.bool, torch.complex64, torch.complex128]
    for dtype in dtypes:
        shape = tuple(int(n) for n in rng.integers(1, 6, size=rng.integers(1, 5)))
        made = torch.from_numpy(rng.integers(-100, 100, size=shape)).to(dtype)
        tensors[f"of {dtype}"] = made if rng.integers(0, 2) else made.transpose(0, -1)
    return tensors


def main():
    zt, folder = sys.argv[1], sys.argv[2]
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    os.makedirs(folder, exist_ok=True)
    checks, rng = Checks("torch"), np.random.default_rng(seed)
    torch.manual_seed(seed)
    model, optimizer = trained()
    checkpoint = {
        "model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 7, "loss": 0.25, "note": "caf\u00e9", "done": False,
        "nothing": None, "sizes": [1, 2, 3], "shape": torch.Size([2, 3]), "history": [{"step": 1, "mean": torch.ones(2)}, (3, torch.zeros(1))],
        "big": 2 ** 70, "counts": collections.OrderedDict(a=1),
    }
    cases = {
        "state_dict": model.state_dict(), "checkpoint": checkpoint, "odd": odd_tensors(rng), "one": torch.rand(3, 4), "list": [torch.rand(2), torch.rand(3)],
        "parameters": dict(model.named_parameters()), "empty": {},
    }
    for name, value in cases.items():
        # As an archive, and in the form before PyTorch 1.6.
        for protocol, is_archive in [(protocol, is_archive) for is_archive in [False, True] for protocol in [2, 3, 4, 5]]:
            path = os.path.join(folder, f"{name}.pt" if is_archive else f"{name}-legacy.pt")
            torch.save(value, path, pickle_protocol=protocol, _use_new_zipfile_serialization=is_archive)
            said, objects = listing(zt, path)
            expected = dict(entries(value))
            what = f"{name}, protocol {protocol}, archive {is_archive}, seed {seed}"
            checks.check(said is not None and list(objects) == list(expected), f"{what}: its names: {objects if said is None else ''}")
            for key, tensor in expected.items() if said else ():
                checks.check(key in objects and is_tensor(objects[key], tensor), f"{what}: {key!r} {tensor.dtype} {tuple(tensor.shape)}")
            ran = subprocess.run([zt, "verify", path], capture_output=True)
            checks.check(ran.returncode == 0, f"{what}: verified")
        middle = os.path.join(folder, "middle.zt")
        ran = subprocess.run([zt, "convert", "--force", "--verify", path, middle], capture_output=True, text=True)
        checks.check(ran.returncode == 0, f"{name}: converted: {ran.stderr}")
        said, objects = listing(zt, middle)
        checks.check(said is not None and all(is_tensor(objects[key], tensor) for key, tensor in expected.items()), f"{name} as .zt")
        if name == "checkpoint":
            values = said["attributes"]
            wanted = {"epoch": 7, "loss": 0.25, "note": "caf\u00e9", "done": False, "nothing": None, "sizes": [1, 2, 3], "optimizer.param_groups.0.lr": 1e-3}
            for key, value in wanted.items():
                checks.check(values.get(key, "absent") == value, f"checkpoint: {key} is {values.get(key, 'absent')!r}")

    # Tied weights are stored once.
    said, objects = listing(zt, os.path.join(folder, "state_dict.pt"))
    tied = [objects[name]["components"][0]["offset"] for name in ("embedding.weight", "head.weight")]
    checks.check(tied[0] == tied[1], f"tied weights are at {tied}")

    # A file that is not an archive of tensors is rejected.
    script = os.path.join(folder, "script.pt")
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), script)
    checks.check("TorchScript" in (refusal(zt, script) or ""), f"TorchScript: {refusal(zt, script)}")
    for is_archive in [True, False]:
        module = os.path.join(folder, "module.pt")
        torch.save(torch.nn.Linear(2, 2), module, _use_new_zipfile_serialization=is_archive)
        said, objects = listing(zt, module)
        checks.check(said and set(objects) == {"_parameters.weight", "_parameters.bias"}, f"a module: {said or objects}")
        quantized, path = torch.quantize_per_tensor(torch.rand(4), 0.1, 0, torch.qint8), os.path.join(folder, "quantized.pt")
        torch.save({"q": quantized, "plain": torch.ones(2)}, path, _use_new_zipfile_serialization=is_archive)
        said, objects = listing(zt, path)
        is_listed = said and objects["q"]["components"][0]["dtype"].startswith("torch.") and is_tensor(objects["plain"], torch.ones(2))
        checks.check(is_listed, f"a quantised tensor is listed: {said or objects}")

    # A model in shards, in Hugging Face's layout.
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    shards = os.path.join(folder, "sharded")
    os.makedirs(shards, exist_ok=True)
    names, files = list(state), {}
    for at in range(3):
        file = f"pytorch_model-{at + 1:05}-of-00003.bin"
        part = {name: state[name] for name in names[at::3]}
        torch.save(part, os.path.join(shards, file))
        files.update({name: file for name in part})
    with open(os.path.join(shards, "pytorch_model.bin.index.json"), "w") as out:
        json.dump({"metadata": {"total_size": 1}, "weight_map": files}, out)
    for opened in [os.path.join(shards, "pytorch_model.bin.index.json"), shards]:
        said, objects = listing(zt, opened)
        is_whole = said is not None and set(objects) == set(state)
        checks.check(is_whole, f"{opened}: {objects if said is None else sorted(objects)}")
        for name, tensor in state.items() if is_whole else ():
            checks.check(is_tensor(objects[name], tensor), f"{opened}: {name}")
    joined = os.path.join(folder, "joined.safetensors")
    ran = subprocess.run([zt, "convert", "--force", "--verify", shards, joined], capture_output=True, text=True)
    checks.check(ran.returncode == 0, f"shards to one file: {ran.stderr}")

    # A damaged file is rejected or listed, and never crashes the program.
    whole = open(os.path.join(folder, "checkpoint.pt"), "rb").read()
    for turn in range(60):
        damaged = bytearray(whole)
        for _ in range(int(rng.integers(1, 4))):
            damaged[rng.integers(0, len(damaged))] = rng.integers(0, 256)
        broken = os.path.join(folder, "broken.pt")
        with open(broken, "wb") as out:
            out.write(damaged)
        ran = subprocess.run([zt, "verify", broken], capture_output=True)
        checks.check(ran.returncode in (0, 1), f"damaged, {turn}, seed {seed}: exit status {ran.returncode}")
    checks.finish()


main()
