from libztensor.numpy import *  # noqa: F403
