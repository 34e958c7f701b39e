import sys

from libztensor.safetensors import torch

sys.modules[__name__] = torch
