"""libztensor.vllm on a stand-in for vLLM, whose wheel has 340 MB. The stand-in's classes and functions have
the signatures of vLLM 0.10.1, 0.10.2, 0.11.0, 0.20.0 and 0.33.0; they were compared by hand."""
import importlib.metadata
import json
import sys
import tempfile
import types
from pathlib import Path

import torch

from libztensor import ZTensorError
from libztensor.safetensors import torch as standin
from libztensor.torch import save_file

STATE = {"linear.weight": torch.randn(3, 4), "linear.bias": torch.randn(3), "small": torch.randn(5).to(torch.bfloat16)}
FORMATS, FETCHED = {}, []
SOURCES = {
    "vllm.model_executor.model_loader": """
def register_model_loader(load_format: str):
    def _wrapper(model_loader_cls):
        if not issubclass(model_loader_cls, BaseModelLoader):
            raise ValueError("The model loader must be a subclass of `BaseModelLoader`.")
        FORMATS[load_format] = model_loader_cls
        return model_loader_cls
    return _wrapper
""",
    "vllm.model_executor.model_loader.base_loader": """
class BaseModelLoader(ABC):
    def __init__(self, load_config):
        self.load_config = load_config

    @abstractmethod
    def download_model(self, model_config) -> None:
        raise NotImplementedError

    @abstractmethod
    def load_weights(self, model, model_config) -> None:
        raise NotImplementedError
""",
    "vllm.model_executor.model_loader.weight_utils": """
def download_weights_from_hf(model_name_or_path, cache_dir, allow_patterns, revision=None, ignore_patterns=None):
    FETCHED.append((model_name_or_path, cache_dir, allow_patterns, revision, ignore_patterns))
    return cache_dir
""",
}


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.small = torch.nn.Linear(4, 3), torch.nn.Parameter(torch.zeros(5, dtype=torch.bfloat16))
        self.order = []

    def load_weights(self, weights):
        own = dict(self.named_parameters())
        for name, tensor in weights:
            self.order.append(name)
            own[name.replace("second.", "")].data.copy_(tensor)
        return {name.replace("second.", "") for name in self.order}


class Cached(Model):
    """The parameters, with the scale of a cache, which is not in a file."""

    def __init__(self):
        super().__init__()
        self.cache = torch.nn.Module()
        self.cache.scale, self.cache.quant_method = torch.nn.Parameter(torch.ones(1)), type("Fp8KVCacheMethod", (), {})()


def loader(folder, extra=None):
    return FORMATS["ztensor"](types.SimpleNamespace(model_loader_extra_config=extra, download_dir=str(folder), ignore_patterns="original/**"))


def config(model, quantization=None):
    return types.SimpleNamespace(model=str(model), revision="main", quantization=quantization)


def loaded(folder, model=None, extra=None, given=None):
    model = Model() if model is None else model
    assert loader(folder, extra).load_weights(model, given or config(folder)) is None
    found = dict(model.named_parameters())
    assert all(torch.equal(found[name], tensor) for name, tensor in STATE.items()) and found
    return model


def raises(error, text, call):
    try:
        call()
    except error as why:
        assert text in str(why), why
    else:
        raise AssertionError(f"{error} was expected")


from abc import ABC, abstractmethod  # noqa: E402

for name in ("vllm", "vllm.model_executor", *SOURCES):
    sys.modules[name] = types.ModuleType(name)
for name, source in reversed(list(SOURCES.items())):
    made = {"ABC": ABC, "abstractmethod": abstractmethod, "FORMATS": FORMATS, "FETCHED": FETCHED, **vars(sys.modules[
        "vllm.model_executor.model_loader.base_loader"])}
    exec(source, made)
    vars(sys.modules[name]).update(made)

try:  # uses the entry point, like vLLM, if the package is installed
    found, = [one for one in importlib.metadata.distribution("libztensor").entry_points if one.group == "vllm.general_plugins"]
    assert (found.name, found.value) == ("ztensor", "libztensor.vllm:register") and found.load()() is None
except importlib.metadata.PackageNotFoundError:
    import libztensor.vllm
assert list(FORMATS) == ["ztensor"]

with tempfile.TemporaryDirectory() as made:
    folder = Path(made) / "model [1]"
    folder.mkdir()
    standin.save_file({name: tensor + 1 for name, tensor in STATE.items()}, folder / "other.safetensors")
    save_file(STATE, folder / "model.zt")
    model = loaded(folder)  # the .zt file
    assert sorted(model.order) == sorted(STATE)
    loaded(folder, extra={"budget": 1})
    loaded(folder, Cached())
    loaded(folder, given=config(folder / "model.zt"))

    shards = Path(made) / "shards"
    shards.mkdir()
    for number, name in enumerate(STATE, 1):
        standin.save_file({name: STATE[name]}, shards / f"model-0000{number}-of-00003.safetensors")
    loaded(shards)
    # A copy in one file beside them is not a part of the model that the index names.
    standin.save_file(STATE, shards / "consolidated.safetensors")
    index = {"weight_map": {name: f"model-0000{number}-of-00003.safetensors" for number, name in enumerate(STATE, 1)}}
    (shards / "model.safetensors.index.json").write_text(json.dumps(index))
    loaded(shards)

    loader(folder).download_model(config(folder))
    assert not FETCHED
    of_hub = config("someone/model")
    loader(folder).download_model(of_hub)
    assert FETCHED == [("someone/model", str(folder), patterns, "main", "original/**")
                       for patterns in (["*.safetensors.index.json"], ["*.zt", "*.safetensors"])]
    loaded(folder, given=of_hub)

    below = folder / "below"
    below.mkdir()
    save_file({"small": STATE["small"]}, below / "small.zt")
    with_second = Model()
    with_second.secondary_weights = [types.SimpleNamespace(model_or_path=str(folder), revision=None, prefix="second.", subfolder="below")]
    assert loaded(folder, with_second).order[-1] == "second.small"

    raises(ValueError, "does not support 'threads' in model_loader_extra_config", lambda: loader(folder, {"threads": 2}))
    for budget in (0, "1"):
        raises(ValueError, "budget must be a number of bytes", lambda: loader(folder, {"budget": budget}))
    save_file({"small": STATE["small"]}, folder / "model.zt")
    raises(ValueError, "no weights for linear.bias, linear.weight", lambda: loader(folder).load_weights(Model(), config(folder)))
    loader(folder).load_weights(Model(), config(folder, "fp8"))
    (folder / "model.zt").write_bytes(b"broken")
    raises(ZTensorError, "model.zt", lambda: loader(folder).load_weights(Model(), config(folder)))
print("the loader for vLLM fills", len(STATE), "parameters", file=sys.stderr)
