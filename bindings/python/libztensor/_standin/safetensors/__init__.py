"""libztensor.safetensors under the name of safetensors."""
from libztensor.safetensors import *  # noqa: F403
from libztensor.safetensors import __version__, _safe_open_handle  # noqa: F401
