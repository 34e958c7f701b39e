"""Messages name what a Python program can pass, not fields of C."""
import re
from pathlib import Path

import numpy as np
import pytest

import libztensor
import libztensor.numpy
from libztensor import _library

ROOT = Path(__file__).resolve().parents[3]


def quantized(path, version=None, **how):
    with libztensor.create(path, version=version) as w:
        w.add_quantized("q", (4, 64), np.zeros((4, 8), "i4"), np.ones((4, 1), "f2"), bits=4, group_size=64, **how)


def opened():
    arrays = {"a": np.zeros((2, 3), "f4"), "b": np.zeros(3)}
    return libztensor.File.open_memory(libztensor.numpy.save(arrays))


def other_component():
    file = opened()
    file.verify(object=file["a"], component=file["b"]["data"])


def read(**how):
    file = opened()
    file.read_batch([libztensor.Read(file["a"]["data"], np.zeros(6, "f4"), **how)])


@pytest.mark.parametrize("make, error, words", [
    (lambda path: quantized(path, zero_point=8), libztensor.InvalidArgument, "zero_point, msb_first and zeros_packed need axis"),
    (lambda path: quantized(path, 2), libztensor.Unsupported, "needs axis, along which its groups lie"),
    (lambda path: quantized(path, 2, axis=2), libztensor.InvalidArgument, "axis 2 is not one of 2 dimensions"),
    (lambda path: quantized(path, 2, axis=-3), libztensor.InvalidArgument, "axis -3 is not one of 2 dimensions"),
    (lambda path: libztensor.create(path, version=3), libztensor.InvalidArgument, "version must be one of .*'1.2.0', 2], not 3"),
    (lambda path: libztensor.create(path, level=-99), libztensor.InvalidArgument, "a.zt: level is -99, not from -7 to 22"),
    (lambda path: libztensor.Cache(0, 0), libztensor.InvalidArgument, "^budget or slot_size is 0"),
    (lambda path: libztensor.open(ROOT / "tests/data/v2/real/rs-sharded-xxh3.zt")["blk.0.k"].numpy(), libztensor.Unsupported,
     "open_model opens it, and shards says when"),
    (lambda path: opened().verify(object=opened()["a"]), libztensor.InvalidArgument, "^object or component is one of another file"),
    (lambda path: other_component(), libztensor.InvalidArgument, "^component is not one of object"),
    (lambda path: opened()["nothing"], KeyError, "^the file has no object 'nothing'$"),
    (lambda path: opened().at(9), IndexError, "object 9 is out of range: the file has 2"),
    (lambda path: libztensor.File.open_parts("a.zt"), TypeError, "list of paths, not 'a.zt'"),
    (lambda path: read(offset=100), libztensor.InvalidArgument, "^read 0: offset 100 passes its 24 bytes"),
    (lambda path: read(count=(1, 1)), libztensor.InvalidArgument, "^read 0 has count, which needs start"),
    (lambda path: read(target_stride=4, rows=2, row_length=12), libztensor.InvalidArgument, "^read 0: target_stride is 4"),
    (lambda path: libztensor.create(path).add("a", np.array(["text"])), libztensor.Unsupported, "<U4 have no type in a file"),
    (lambda path: libztensor.open(path, allocator=3), TypeError, "pass a result of libztensor.allocator, not 3"),
    (lambda path: libztensor.open(path, hooks=3), TypeError, "pass a result of libztensor.thread_hooks, not 3"),
])
def test_messages_have_pythons_names(tmp_path, make, error, words):
    with pytest.raises(error, match=words):
        make(tmp_path / "a.zt")


def test_every_replaced_phrase_is_in_the_library():
    text = "".join(path.read_text() for path in (ROOT / "src").rglob("*.rs"))
    text = re.sub(r"\\\n\s*", "", text)
    phrases = [phrase for phrase in _library._WORDS if re.search("zt_|ZT_|has_", phrase)]
    assert len(phrases) > 10
    for phrase in phrases:
        assert phrase in text, phrase


@pytest.mark.parametrize("call, name", [
    (lambda: opened().verify(threads=-1), "threads"), (lambda: libztensor.open("a.zt", max_memory=-1), "max_memory"),
    (lambda: libztensor.open("a.zt", max_objects=1 << 70), "max_objects"), (lambda: libztensor.create("a.zt", level=1 << 40), "level"),
    (lambda: libztensor.create("a.zt", alignment=-64), "alignment"), (lambda: libztensor.Cache(-1, 1 << 16), "budget"),
    (lambda: libztensor.Load([], slots=-1, slot_size=1 << 16), "slots"), (lambda: libztensor.repair("a.zt", cut_at=-1), "cut_at"),
    *((lambda name=name: read(**{name: -1}), name) for name in ("offset", "length", "rows", "row_length", "row_stride", "target_stride")),
    (lambda: read(start=(-1, 0), count=(1, 1)), "-1"), (lambda: opened()["a"].read_slice((-1, 0), (1, 1)), "-1"),
])
def test_numbers_too_large_for_c_types_are_rejected_by_name(call, name):
    with pytest.raises(libztensor.InvalidArgument, match=name):
        call()


def test_repr_describes_objects(tmp_path):
    with libztensor.create(tmp_path / "a.zt") as w:
        assert repr(w) == f"<Writer of {str(tmp_path / 'a.zt')!r}>"
    assert repr(w).endswith(", which has ended>")
    file = opened()
    assert repr(file) == "<File zTensor 1.2, 2 objects>" and repr(file["a"]) == "<Object 'a': dense (2, 3)>"
    file.close()
    assert repr(file) == "<File: the file is closed>"


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
