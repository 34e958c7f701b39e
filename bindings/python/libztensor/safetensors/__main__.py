"""Runs a program with libztensor instead of safetensors: python -m libztensor.safetensors PROGRAM ... or -m
MODULE ..."""

import os
import runpy
import sys

from . import install


def main() -> None:
    given = sys.argv[1:]
    is_module = given[:1] == ["-m"]
    if len(given) <= is_module or given[0] in ("-h", "--help"):
        sys.exit("usage: python -m libztensor.safetensors PROGRAM ... | -m MODULE ...")
    sys.argv = given[is_module:]
    if not is_module and not getattr(sys.flags, "safe_path", False):
        # search the program's folder instead of the current one, which -m put there
        sys.path[0] = os.path.dirname(os.path.realpath(sys.argv[0]))
    install()
    if is_module:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
