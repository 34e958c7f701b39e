"""The end of the name selects what save_file writes. .safetensors files have the same bytes as those of
safetensors."""
import json
import os
import random
import stat

import numpy as np
import pytest

import libztensor
from libztensor import _safetensors, _weights
from libztensor.numpy import load, load_file, safe_open, save, save_file

ml_dtypes = pytest.importorskip("ml_dtypes")
PLAIN = ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?", "c8", "bfloat16", "float8_e4m3fn", "float8_e5m2",
         "float8_e8m0fnu", "float8_e4m3fnuz", "float8_e5m2fnuz"]


def dtype(name):
    return np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, name) else np.dtype(name)


def arrays(seed):
    """Arrays of every type, with various shapes and names."""
    chance, made = random.Random(seed), {}
    for at, name in enumerate(PLAIN * 2):
        shape = tuple(chance.choice([0, 1, 2, 3, 7]) for _ in range(chance.randrange(4)))
        size = int(np.prod(shape, dtype=int)) * dtype(name).itemsize
        data = bytes(chance.randrange(2) for _ in range(size))
        made[chance.choice(["", "ü", "a.b", '"\\\n\x7f', "layers."]) + str(at)] = np.frombuffer(data, dtype(name)).reshape(shape)
    return made


def is_safetensors(path):
    with libztensor.open(path) as file:
        return file.container == "safetensors"


def same(found, expected):
    assert set(found) == set(expected)
    for name, array in expected.items():
        array = np.asarray(array)
        assert found[name].shape == array.shape and found[name].tobytes() == np.ascontiguousarray(array).tobytes(), name


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("metadata", [None, {}, {"who": "me \u2028 \\ \" \x01"}])
def test_the_bytes_are_those_of_safetensors(tmp_path, seed, metadata):
    path, state = tmp_path / "a.safetensors", arrays(seed)
    save_file(state, path, metadata)
    same(load_file(path), state)
    with safe_open(path) as f:
        assert f.metadata() == metadata
    assert save(state, metadata, container="safetensors") == path.read_bytes()
    reference = pytest.importorskip("safetensors")
    known = {name: array for name, array in state.items() if array.dtype.isbuiltin == 1 and array.dtype.kind != "c"}  # types that it reads as arrays
    save_file(known, path, metadata)
    from safetensors.numpy import save as their_save
    assert path.read_bytes() == their_save(known, metadata)
    with reference.safe_open(path, "np") as f:
        assert f.metadata() == metadata and set(f.keys()) == set(known)
        for name, array in known.items():
            assert f.get_tensor(name).tobytes() == array.tobytes()


@pytest.mark.parametrize("name, container", [("a.zt", "zt"), ("a.ZT", "zt"), ("a.b.safetensors", "safetensors"), ("A.SafeTensors", "safetensors")])
def test_the_end_of_the_name_selects_the_container(tmp_path, name, container):
    save_file({"a": np.arange(3)}, tmp_path / name)
    assert is_safetensors(tmp_path / name) == (container == "safetensors")
    save_file({"a": np.arange(3)}, os.fsencode(tmp_path / name))


@pytest.mark.parametrize("name", ["a", "a.safetensor", "a.bin", "a.gguf", "a.npz", "a.pt", ".zt", "zt", "a.zt.tmp", "a.safetensors.incomplete"])
def test_a_name_without_a_known_end_needs_the_container(tmp_path, name):
    with pytest.raises(ValueError, match="container="):
        save_file({"a": np.arange(3)}, tmp_path / name)
    with pytest.raises(ValueError, match="'npz' is not one of 'zt', 'safetensors'"):
        save_file({"a": np.arange(3)}, tmp_path / name, container="npz")
    assert not os.listdir(tmp_path)
    for container in ("zt", "safetensors"):
        save_file({"a": np.arange(3)}, tmp_path / name, container=container)
        with libztensor.open(tmp_path / name) as file:
            assert (file.container == "safetensors") == (container == "safetensors")


def test_a_failure_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.safetensors"
    save_file({"a": np.arange(3)}, path)
    before = path.read_bytes()
    for state, metadata, error in [({"a": np.array(["text"])}, None, libztensor.Unsupported), ({"a": np.zeros(2, "c16")}, None, libztensor.Unsupported),
                                   ({"a": np.zeros(2)}, {"a": 1}, TypeError), ({1: np.zeros(2)}, None, TypeError),
                                   ({"__metadata__": np.zeros(2)}, None, ValueError), ({"\udcff": np.zeros(2)}, None, UnicodeError)]:
        with pytest.raises(error):
            save_file(state, path, metadata)
        assert path.read_bytes() == before and os.listdir(tmp_path) == ["a.safetensors"]

    def broken():
        raise RuntimeError("halfway")

    array = np.arange(4.0)
    halfway = [_weights.ToWrite("a", (4,), "f64", 32, lambda: (array, array.ctypes.data)), _weights.ToWrite("b", (4,), "f64", 32, broken)]
    with pytest.raises(RuntimeError, match="halfway"):
        _weights.save(halfway, path, None, None)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["a.safetensors"]


@pytest.mark.skipif(os.name == "nt", reason="needs links and permissions of Unix")
def test_a_replaced_file_keeps_its_permissions_and_a_link_stays(tmp_path):
    path, link = tmp_path / "a.safetensors", tmp_path / "link.safetensors"
    save_file({}, path)
    os.chmod(path, 0o640)
    link.symlink_to("a.safetensors")
    save_file({"a": np.arange(3)}, link)
    assert link.is_symlink() and stat.S_IMODE(path.stat().st_mode) == 0o640 and list(load_file(path)) == ["a"]
    later = tmp_path / "later.safetensors"
    later.symlink_to("target.safetensors")
    save_file({}, later)
    assert later.is_symlink() and (tmp_path / "target.safetensors").is_file()
    (tmp_path / "folder.safetensors").mkdir()
    with pytest.raises(OSError, match="not a regular file"):
        save_file({}, tmp_path / "folder.safetensors")
    with pytest.raises(FileNotFoundError):
        save_file({}, tmp_path / "none" / "a.safetensors")


def test_tensors_are_made_one_by_one(tmp_path):
    """At most one of them exists at any time."""
    alive, most = set(), [0]

    class Kept:
        def __init__(self, at):
            self.at, self.array = at, np.full(1 << 16, at, "u1")
            alive.add(at)
            most[0] = max(most[0], len(alive))

        def __del__(self):
            alive.discard(self.at)

    def make(at):
        kept = Kept(at)
        return kept, kept.array.ctypes.data

    tensors = [_weights.ToWrite(str(at), (1 << 16,), "u8", 1 << 16, lambda at=at: make(at)) for at in range(10)]
    _weights.save(tensors, tmp_path / "a.safetensors", None, None)
    assert most[0] == 1 and not alive
    assert all((array == int(name)).all() for name, array in load_file(tmp_path / "a.safetensors").items())


def test_types_have_the_names_of_safetensors():
    header = _safetensors._header([_weights.ToWrite("a", (2, 4), "f4_e2m1", 4, None)], None)
    assert json.loads(header) == {"a": {"dtype": "F4", "shape": [2, 4], "data_offsets": [0, 4]}} and len(header) % 8 == 0


def test_empty_metadata_is_not_none(tmp_path):
    def opened(header):
        path = tmp_path / "a.safetensors"
        header = header.encode()
        path.write_bytes(len(header).to_bytes(8, "little") + header)
        with safe_open(path) as f:
            return f.metadata()

    assert opened("{}") is None
    assert opened('{"__metadata__":{}}') == {}
    assert opened('{"__metadata__":{"a":"b"}}') == {"a": "b"}


def test_pairs_of_4_bit_floats_come_as_bytes(tmp_path):
    header = b'{"a":{"dtype":"F4","shape":[2,4],"data_offsets":[0,4]},"b":{"dtype":"F4","shape":[2,3],"data_offsets":[4,7]}}'
    data = len(header).to_bytes(8, "little") + header + bytes(range(7))
    found = load(data)
    assert found["a"].tolist() == [[0, 1], [2, 3]] and found["b"].tolist() == [4, 5, 6]
    path = tmp_path / "f4.safetensors"
    path.write_bytes(data)
    with safe_open(path) as f:
        assert f.get_slice("a").get_dtype() == "F4"
    same(load_file(path, mapped=True), found)


def test_the_data_of_an_object_is_used_not_its_first_component(tmp_path):
    with libztensor.create(tmp_path / "a.zt") as w:
        w.add_object("a", "dense", (3,), {"note": np.zeros(9, "u1"), "data": np.arange(3, dtype="f4")})
    assert load_file(tmp_path / "a.zt")["a"].tolist() == [0, 1, 2]
    with safe_open(tmp_path / "a.zt") as f:
        assert f.get_tensor("a").tolist() == [0, 1, 2] and f.get_slice("a")[1:].tolist() == [1, 2]
