"""A model loader for vLLM 0.10.1 or later. It reads .zt files and all others that libztensor opens:

    pip install libztensor[vllm]
    vllm serve FOLDER --load-format ztensor

FOLDER has config.json, the files of the tokenizer and one model. If it has exactly one .zt file, that file is
preferred to other containers. FOLDER may also be a name on Hugging Face's hub. ``--model-loader-extra-config
'{"budget": 4294967296}'`` sets how many bytes are read at once.
"""

from __future__ import annotations

import glob
import os
from typing import Any, Iterator, Optional, Tuple

from vllm.model_executor.model_loader import register_model_loader  # type: ignore[import-not-found]
from vllm.model_executor.model_loader.base_loader import BaseModelLoader  # type: ignore[import-not-found]
from vllm.model_executor.model_loader.weight_utils import download_weights_from_hf  # type: ignore[import-not-found]

from .torch import iterate

__all__ = ["ZTensorModelLoader", "register"]


@register_model_loader("ztensor")
class ZTensorModelLoader(BaseModelLoader):  # type: ignore[misc]
    """Loads the tensors of a model's files, at most one budget of memory at a time."""

    def __init__(self, load_config: Any) -> None:
        super().__init__(load_config)
        given = dict(load_config.model_loader_extra_config or {})
        self._budget = given.pop("budget", 1 << 30)
        if given:
            raise ValueError(f"the load format ztensor does not support {', '.join(map(repr, given))} in model_loader_extra_config, only 'budget'")
        if not isinstance(self._budget, int) or self._budget < 1:
            raise ValueError(f"budget must be a number of bytes, not {self._budget!r}")

    def download_model(self, model_config: Any) -> None:
        """Downloads a model from the hub."""
        self._place(model_config.model, model_config.revision)

    def load_weights(self, model: Any, model_config: Any) -> None:
        """Fills a model. Raises ValueError if a parameter of a model that is not quantized is not in the
        files."""
        loaded = model.load_weights(self._weights(model, model_config))
        if loaded is None or model_config.quantization is not None:
            return
        # Scales of a cache have defaults.
        of_caches = {f"{prefix}.{name}" for prefix, module in model.named_modules()
                     if type(getattr(module, "quant_method", None)).__name__.endswith("KVCacheMethod") for name, _ in module.named_parameters()}
        missing = {name for name, _ in model.named_parameters()} - loaded - of_caches
        if missing:
            raise ValueError(f"{model_config.model} has no weights for {', '.join(sorted(missing))}")

    def _weights(self, model: Any, model_config: Any) -> Iterator[Tuple[str, Any]]:
        yield from iterate(self._place(model_config.model, model_config.revision), budget=self._budget)
        for source in getattr(model, "secondary_weights", ()):
            place = self._place(source.model_or_path, source.revision, getattr(source, "subfolder", None))
            for name, tensor in iterate(place, budget=self._budget):
                yield source.prefix + name, tensor

    def _place(self, model: str, revision: Optional[str], folder: Optional[str] = None) -> str:
        """What to open for a model: a file or a folder."""
        place = model
        if not os.path.exists(place):
            # The first pattern that a file has is fetched. An index says which files are the model, where a
            # repository also has consolidated.safetensors.
            for forms in (["*.safetensors.index.json"], ["*.zt", "*.safetensors"]):
                patterns = [os.path.join(folder or "", form) for form in forms]
                place = download_weights_from_hf(model, self.load_config.download_dir, patterns, revision,
                                                 ignore_patterns=self.load_config.ignore_patterns)
        place = os.path.join(place, folder) if folder else place
        found = glob.glob(os.path.join(glob.escape(place), "*.zt"))
        return found[0] if len(found) == 1 else place


def register() -> None:
    """Registers the load format ztensor in vLLM. The import of this module has done that. vLLM calls it in
    each of its processes."""
