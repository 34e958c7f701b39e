"""Weights that tools stored as several tensors, read as one object each."""

import subprocess
import sys
from pathlib import Path

import libztensor
import libztensor.numpy
import numpy
import pytest
from libztensor.numpy import load_file

ROOT = Path(__file__).resolve().parents[3]
MODELS = ROOT / "tests" / "data" / "checkpoints"


@pytest.mark.parametrize("name", ["awq", "fp8-block", "gptq-4-order", "mxfp4-experts"])
def test_load_file_gives_the_numbers_of_weights(name):
    loaded = load_file(MODELS / name, dtype="float32")
    with libztensor.File.open_model(MODELS / name, combine=True) as file:
        assert set(loaded) == set(file)
        for weight in file:
            assert numpy.array_equal(loaded[weight], file[weight].numpy(dtype="float32"))
    with libztensor.File.open_model(MODELS / name) as file:
        assert len(file) > len(loaded), "without combine each tensor is an object"


@pytest.mark.parametrize("name", ["awq", "fp8-block"])
def test_numbers_of_weights_are_the_same_in_every_call(name):
    whole = load_file(MODELS / name, dtype="float32")
    with libztensor.numpy.safe_open(MODELS / name) as opened:
        every = opened.get_tensors(dtype="float32")
        assert set(every) == set(whole)
        for weight, numbers in whole.items():
            assert numpy.array_equal(opened.get_tensor(weight, dtype="float32"), numbers)
            assert numpy.array_equal(every[weight], numbers)
            assert numpy.array_equal(opened.get_slice(weight, dtype="float32")[:1], numbers[:1])
        assert len(opened.keys()) > len(whole), "without dtype each tensor is an object"
    if name == "fp8-block":
        loaded = libztensor.numpy.load((MODELS / name / "model.safetensors").read_bytes(), dtype="float32")
        assert set(loaded) == set(whole)


def test_every_scheme_has_the_numbers_of_slow_formulas():
    site = Path(libztensor.__file__).resolve().parents[1]
    program = ROOT / "tests" / "models" / "checkpoints" / "run.py"
    done = subprocess.run([sys.executable, program, site, "1"], capture_output=True, text=True)
    last = done.stdout.splitlines()[-1:]
    assert done.returncode == 0 and last and last[0].endswith(" 0 failed"), done.stdout[-3000:] + done.stderr[-3000:]
