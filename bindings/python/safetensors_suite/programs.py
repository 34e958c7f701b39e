"""Saves small models with transformers, diffusers and accelerate, in one file and in shards, and loads them:
programs.py FOLDER NAME

Prints the files and what was loaded. The output is the same for every implementation of `safetensors`; NAME
selects the implementation. Also loads the files that safetensors left in FOLDER."""
import hashlib
import json
import sys
from pathlib import Path

import safetensors
import torch
from accelerate import Accelerator, init_empty_weights, load_checkpoint_and_dispatch, load_checkpoint_in_model
from diffusers import AutoencoderKL, UNet2DModel
from transformers import BertConfig, BertModel, LlamaConfig, LlamaForCausalLM

folder, name = Path(sys.argv[1]), sys.argv[2]
assert (safetensors.safe_open.__module__ == "libztensor.safetensors") == (name != "safetensors"), safetensors


def values(model):
    """Names, types, shapes and bytes of a model."""
    made = hashlib.sha256()
    for key, tensor in sorted(model.state_dict().items()):
        made.update(f"{key} {tensor.dtype} {tuple(tensor.shape)}".encode())
        made.update(tensor.contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return made.hexdigest()


def llama():
    return LlamaForCausalLM(LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
                                        num_key_value_heads=2, tie_word_embeddings=True, dtype="bfloat16")).to(torch.bfloat16)


def bert():
    return BertModel(BertConfig(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4))


def autoencoder():
    return AutoencoderKL(block_out_channels=(8,), norm_num_groups=4, latent_channels=2)


def unet():
    return UNet2DModel(sample_size=8, block_out_channels=(8, 16), norm_num_groups=4, layers_per_block=1, attention_head_dim=4,
                       down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"))


for number, (make, size) in enumerate([(llama, "20KB"), (bert, "20KB"), (autoencoder, "8KB"), (unet, "8KB")]):
    torch.manual_seed(number)
    model = make().eval()
    expected = values(model)
    own = folder / name / make.__name__
    model.save_pretrained(own / "whole")
    model.save_pretrained(own / "shards", max_shard_size=size)
    Accelerator(cpu=True).save_model(model, str(own / "accelerate"), max_shard_size=size)
    files = {str(path.relative_to(own)): hashlib.sha256(path.read_bytes()).hexdigest()
             for path in sorted(own.rglob("*.safetensors*"))}
    assert len(files) > 6, files
    print(json.dumps({make.__name__: expected, "files": files}, indent=1))
    for wrote in {folder / "safetensors", folder / name}:
        for form in ("whole", "shards"):
            assert values(type(model).from_pretrained(wrote / make.__name__ / form)) == expected, (wrote, form)
        for path in (wrote / make.__name__ / "accelerate", wrote / make.__name__ / "shards"):
            again = make().eval()
            load_checkpoint_in_model(again, str(path))
            if hasattr(again, "tie_weights"):
                again.tie_weights()
            assert values(again) == expected, path
    with init_empty_weights():
        empty = make().eval()
    if hasattr(empty, "tie_weights"):
        empty.tie_weights()
    spread = load_checkpoint_and_dispatch(empty, str(own / "accelerate"), device_map={"": "cpu"})
    assert values(spread) == expected
