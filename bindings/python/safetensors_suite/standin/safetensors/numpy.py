from libztensor import numpy as _numpy
from libztensor.numpy import *  # noqa: F403

from . import _as_safetensors

save, save_file = map(_as_safetensors, [_numpy.save, _numpy.save_file])
