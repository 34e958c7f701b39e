"""Messages name what a Python program can pass, not fields of C."""
import re
from pathlib import Path

import numpy as np
import pytest

import libztensor
from libztensor import _library

ROOT = Path(__file__).resolve().parents[3]


def quantized(path, version=None, **how):
    with libztensor.create(path, version=version) as w:
        w.add_quantized("q", (4, 64), np.zeros((4, 8), "i4"), np.ones((4, 1), "f2"), bits=4, group_size=64, **how)


@pytest.mark.parametrize("make, error, words", [
    (lambda path: quantized(path, zero_point=8), libztensor.InvalidArgument, "zero_point, msb_first and zeros_packed need axis"),
    (lambda path: quantized(path, 2), libztensor.Unsupported, "needs axis, along which its groups lie"),
    (lambda path: quantized(path, 2, axis=2), libztensor.InvalidArgument, "axis 2 is not one of 2 dimensions"),
    (lambda path: quantized(path, 2, axis=-3), libztensor.InvalidArgument, "axis -3 is not one of 2 dimensions"),
    (lambda path: libztensor.create(path, version=3), libztensor.InvalidArgument, "version is one of .*'1.2.0', 2], not 3"),
    (lambda path: libztensor.create(path, level=-99), libztensor.InvalidArgument, "a.zt: level is -99, not from -7 to 22"),
    (lambda path: libztensor.Cache(0, 0), libztensor.InvalidArgument, "^budget or slot_size is 0"),
    (lambda path: libztensor.open(ROOT / "tests/data/v2/real/rs-sharded-xxh3.zt")["blk.0.k"].numpy(), libztensor.Unsupported,
     "open_model opens it, and shards says when"),
])
def test_messages_have_pythons_names(tmp_path, make, error, words):
    with pytest.raises(error, match=words):
        make(tmp_path / "a.zt")


def test_every_phrase_that_is_replaced_is_one_of_the_librarys():
    text = "".join(path.read_text() for path in (ROOT / "src").rglob("*.rs"))
    text = re.sub(r"\\\n\s*", "", text)
    phrases = [phrase for phrase in _library._WORDS if re.search("zt_|ZT_|has_", phrase)]
    assert len(phrases) > 10
    for phrase in phrases:
        assert phrase in text, phrase


def test_version_2_is_an_integer_or_a_text(tmp_path):
    for version in (2, "2"):
        with libztensor.create(tmp_path / "a.zt", version=version, digest="xxh3") as w:
            w.add("a", np.arange(3.0))
        with libztensor.open(tmp_path / "a.zt") as f:
            assert f.version.startswith("2") and f["a"]["data"].digest.startswith("xxh3")
    quantized(tmp_path / "b.zt", 2, axis=-1)
    with libztensor.open(tmp_path / "b.zt") as f:
        assert f["q"].quantized().axis == 1
        assert f["q"].numpy(dtype="float32").shape == (4, 64)
