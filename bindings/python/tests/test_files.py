"""Containers, models, lists, attributes, failures, progress, hooks, sources and sinks."""
import ctypes
import gc
import io
import math
import mmap
import os
import subprocess
import sys
import threading
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import libztensor
import libztensor.numpy
from libztensor import _weights

ROOT = Path(__file__).resolve().parents[3]
DATA = ROOT / "tests/data"
CONTAINERS = [line.split("\t") for line in (ROOT / "bindings/golden/containers.txt").read_text().splitlines()]
FOREIGN = DATA / "foreign/valid"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "file.zt"


@pytest.fixture
def abc(path):
    with libztensor.create(path, digest="crc32c") as w:
        for name in "abc":
            w.add(name, np.arange(64, dtype="float32"))
    return path


def stop(*_):
    return False


@pytest.mark.parametrize("name, container, objects", CONTAINERS)
def test_every_container(name, container, objects, path):
    with libztensor.open(DATA / name) as f:
        assert f.container == container and len(f) == int(objects) == len(list(f))
        listed = list(f.components())
        assert len(listed) == f.verify()["components"] and f.failures() == []
        for info in listed:
            part = f[info.object.name][info.role]
            assert info == (info.component, info.object, part.role, part.dtype, part.type, part.encoding, part.digest, part.part,
                            part.offset, part.stored_size, info.size) and info.size in (None, part.size)
        of_last = f.at(len(f) - 1)
        assert [info.role for info in f.components(of_last)] == list(of_last)
        with libztensor.create(path) as w:
            w.copy_attributes(f)
            copied = 0
            for o in f.values():
                try:
                    w.copy(o)
                    copied += 1
                except libztensor.Unsupported:
                    pass
        with libztensor.open(path) as copy:
            assert len(copy) == copied > 0
    libztensor.open(DATA / name, containers=[container]).close()
    others = [other for other in libztensor.CONTAINERS if other != container]
    with pytest.raises(libztensor.Unsupported):
        libztensor.open(DATA / name, containers=others)
    with pytest.raises(libztensor.InvalidArgument):
        libztensor.open(DATA / name, containers=["tar"])


def test_blocks_and_types():
    assert libztensor.block_of("gguf.q4_0") == (32, 18) and libztensor.block_of("f4_e2m1") == (2, 1)
    assert libztensor.ggml_number("bf16") == 30 and libztensor.ggml_number("u8", "gguf.q4_0") == 2
    assert libztensor.ggml_type(0) == ("f32", None) and libztensor.ggml_type(39) == ("u8", "gguf.mxfp4")
    with pytest.raises(libztensor.NotFound, match="ggml has no type for u64"):
        libztensor.ggml_number("u64")
    assert libztensor.dtype_size("bf16") == 2
    with libztensor.open(FOREIGN / "amber-all-types-py.gguf") as f:
        q4 = f["amber.q4_0.2"]
        assert q4.format == "gguf.q4_0/1" and q4.shape == (1, 64) and q4.element_count == 64
        assert q4["data"].size == 64 // 32 * 18 and q4["data"].numpy().dtype == np.uint8
        with pytest.raises(libztensor.Unsupported):
            q4.numpy()
        with pytest.raises(IndexError):
            f.at(33)


def test_parts_and_identities():
    with libztensor.File.open_model(FOREIGN / "amber-hf-sharded") as model:
        assert [part.container for part in model.parts] == ["safetensors"] * 3
        assert model.size == sum(part.size for part in model.parts)
        for i, part in enumerate(model.parts):
            with libztensor.open(part.path) as alone:
                assert model.part_identity(i) == alone.identity and bytes(model.bytes(i)) == Path(part.path).read_bytes()
        with pytest.raises(libztensor.InvalidArgument):
            model.part_identity(3)
        buffers = {name: bytearray(o["data"].size) for name, o in model.items()}
        assert model.read_batch(buffers)["requests"] == len(model)
        assert all(bytes(buffers[name]) == o["data"].read() for name, o in model.items())


def test_attributes_as_python_values(path):
    with libztensor.open(FOREIGN / "amber-kv-all-le3.gguf") as f:
        got = f.attributes
        assert got["amber.u64"] == 2**64 - 1 and got["amber.i64"] == -2**63 and math.isnan(got["amber.f32"])
        assert got["str.not_utf8"] == b"\xff\xfe\x80abc" and got["arr.not_utf8"] == [b"\x80", "", "fine", b"\xf0\x9f"]
        assert got["arr.bool"] == [True, False, True] and got["arr.empty_str"] == [] and got["str.nul"] == "a\0b\0"
        tree = f.attribute_values
        assert tree["arr.u16"].dtype == "u16" and tree["arr.u16"].numbers().tolist() == [0, 65535]
        assert tree["arr.u16"].numbers("f32").tolist() == [0, 65535]
        with pytest.raises(libztensor.InvalidArgument):
            tree["arr.u16"].numbers("u8")
        with pytest.raises(libztensor.InvalidArgument):
            tree["arr.u16"].strings()
        with pytest.raises(libztensor.NotFound):
            tree["none"]
        with pytest.raises(IndexError):
            tree["arr.u16"][2]
        assert tree.kind == "map" and "arr.u16" in tree.keys() and [item.python() for item in tree["arr.i8"]] == [-128, 127]
        with libztensor.create(path) as w:
            w.set_attribute("taken", tree["arr.f64"])
            w.set_attribute("words", ["a\0b", ""])
            w.set_attribute("tagged", {"$tag": [5, {"$map": [[[1], 2]]}]})
            w.set_attribute("small", {"$simple": 99})
            w.set_attribute("huge", -2**64)
            with w.object("o", "dense", (2,)) as o:
                o.component("data", "uint8")
                o.write(b"a")
                o.write(np.array([98], "uint8"))
                o.set_attribute("unit", "m")
                with pytest.raises(libztensor.InvalidState):
                    w.set_attribute("unit", "m", object="other")
    with libztensor.open(path) as f:
        got = f.attributes
        assert got["words"] == ["a\0b", ""] and got["tagged"] == libztensor.Tag(5, [([1], 2)]) and got["huge"] == -2**64
        assert got["taken"][0] == 1e-300 and f.attribute_values["small"].kind == "other" and got["small"] == {"$simple": 99}
        assert f["o"].attributes == {"unit": "m"} and f["o"]["data"].read() == b"ab"
        assert f["o"].attribute_values["unit"].python() == "m"
    with libztensor.open(FOREIGN / "amber-vocab.gguf") as f:
        assert f.attribute_values["tokenizer.ggml.tokens"].strings() == f.attributes["tokenizer.ggml.tokens"]


def test_failures_one_by_one(abc):
    with libztensor.open(abc) as f:
        offsets = [f[name]["data"].offset for name in "ac"]
    damaged = bytearray(abc.read_bytes())
    for offset in offsets:
        damaged[offset] ^= 1
    abc.write_bytes(damaged)
    with libztensor.open(abc) as f:
        found = f.failures()
        assert sorted(one.object.name for one in found) == ["a", "c"]
        assert {one.component.role for one in found} == {"data"} and all("crc32c" in str(one.error) for one in found)
        with pytest.raises(libztensor.DigestMismatch) as caught:
            f.verify()
        assert caught.value.rule == "digest-mismatch" and caught.value.os_error == 0
        calls = []
        with pytest.raises(libztensor.ZTensorError):
            f.verify(threads=1, on_failure=lambda one: calls.append(one) or False)
        assert len(calls) == 1
        with pytest.raises(ZeroDivisionError):
            f.verify(on_failure=lambda one: 1 // 0)
        assert f.verify(object=f["b"])["components"] == 1 and f.verify(component=f["b"]["data"], checks=["digests"])["bytes"] == 256
        with pytest.raises(libztensor.DigestMismatch):
            f.verify(component=f["c"]["data"])
    with libztensor.create(abc, digest="none") as w:
        w.add("a", np.zeros(3))
    with libztensor.open(abc) as f:
        part = f["a"]["data"]
        assert f.verify(component=part)["digests_absent"] == 1
        with pytest.raises(libztensor.Unsupported):
            f.verify(component=part, checks=["require digests"])
    with pytest.raises(libztensor.NoFile) as caught:
        libztensor.open(abc.with_name("none"))
    assert caught.value.os_error != 0 and caught.value.rule == ""


def test_progress_can_stop_every_long_call(abc, path):
    seen = []
    with libztensor.open(abc, mode="read", verify=True, progress=lambda done, total: seen.append((done, total))) as f:
        assert seen and seen[-1][0] == seen[-1][1] == 768
        with pytest.raises(libztensor.Cancelled):
            f["a"].numpy(progress=stop)
        with pytest.raises(libztensor.Cancelled):
            f.read_batch({"a": bytearray(256)}, progress=stop)
        with libztensor.open(DATA / "v1.1/rs-1.1.1-sparse-zstd-digest.zt") as unsized:
            part = unsized["coo"]["coords"]
            with pytest.raises(libztensor.Cancelled):
                part.measure(stop)
            assert part.measure(lambda *_: None) == part.size == len(part.read())
        twin = path.with_suffix(".twin")
        with pytest.raises(libztensor.Cancelled), libztensor.create(twin, progress=stop) as w:
            w.copy(f["a"])
        assert not twin.exists()
        with pytest.raises(ZeroDivisionError), libztensor.create(twin, progress=lambda *_: 1 // 0) as w:
            w.copy(f["a"])
        grown = []
        with libztensor.create(twin, progress=lambda done, total: grown.append(done)) as w:
            w.copy(f["a"], encoding="zstd", digest="sha256", dtype="f16")
        assert grown and libztensor.open(twin)["a"].numpy().dtype == np.float16
    with pytest.raises(libztensor.Cancelled):
        libztensor.open(abc, verify=True, progress=stop)
    with pytest.raises(libztensor.Cancelled):
        libztensor.repair(abc, progress=stop)


def test_modes_limits_and_advice(abc):
    before = abc.read_bytes()
    with libztensor.open(abc, mode="private", advice="sequential", name="own") as f:
        own = f["a"].numpy()
        own[0] = 7
        assert f.mode == "private" and f["a"].numpy()[0] == 7 and f["a"].tensor()[0] == 7 and f["a"].tensor().flags.writeable
    assert abc.read_bytes() == before and own[0] == 7
    with libztensor.open(abc) as f:
        part = f["a"]["data"]
        assert libztensor.Caps.MAP in part.caps and libztensor.Caps.VERIFY in part.caps
        part.advise("willneed")
        with pytest.raises(libztensor.InvalidArgument):
            part.advise("perhaps")
        assert part.read_range(4, 4) == np.float32(1).tobytes() and f["a"].numpy(dtype="int8").ravel().tolist() == list(range(64))
        assert f["a"].size_as("f64") == 512
        assert bytes(f.bytes()) == before and f.bytes().readonly
        tensor = f["a"].tensor()
        assert not tensor.flags.writeable
        with np.errstate(all="ignore"):
            assert np.from_dlpack(part).shape == (64,)
    assert tensor[63] == 63  # keeps the file
    with pytest.raises(libztensor.LimitExceeded):
        libztensor.open(abc, max_memory=100)
    with pytest.raises(libztensor.LimitExceeded):
        libztensor.open(abc, max_objects=2)
    fd = os.open(abc, os.O_RDONLY)
    with libztensor.File.open_fd(fd) as f, libztensor.File.open_memory(before) as g, libztensor.File.open_memory(bytearray(before)) as h:
        os.close(fd)
        assert f.parts[0].path is None and len(f) == len(g) == len(h) == 3
    if os.name != "nt":
        with pytest.raises(libztensor.Unsupported):
            libztensor.File.open_handle(4)


def test_hooks_and_allocators(path):
    with libztensor.create(path, encoding="zstd") as w:
        for i in range(8):
            w.add(f"a{i}", np.arange(1 << 18, dtype="int32") * i)
    started, ended, threads, given, taken = [], [], set(), {}, []
    hooks = libztensor.thread_hooks(lambda i: (started.append(i), threads.add(threading.get_ident())), ended.append)

    def allocate(size, alignment):
        block = mmap.mmap(-1, size)
        address = ctypes.addressof(ctypes.c_char.from_buffer(block))
        given[address] = (block, size, alignment)
        return address

    def free(address, size, alignment):
        taken.append(given.pop(address)[1:] == (size, alignment))

    with libztensor.open(path, hooks=hooks, allocator=libztensor.allocator(allocate, free), threads=2) as f:
        f.verify(threads=2)
        assert started and sorted(started) == sorted(ended) and threading.get_ident() not in threads
        array = f["a3"].numpy()
        assert array.ctypes.data in given and array[5] == 15
    del array
    assert not given and taken == [True]
    refusing = libztensor.allocator(lambda size, alignment: 0, free)
    with libztensor.open(path, allocator=refusing) as f, pytest.raises(libztensor.OutOfMemory):
        f["a3"].numpy()


class Source:
    gap, concurrency = 4096, 2

    def __init__(self, data):
        self.data, self.reads, self.closed = data, 0, 0

    def size(self):
        return len(self.data)

    def read_at(self, offset, view):
        self.reads += 1
        view[:] = self.data[offset:offset + len(view)]

    def close(self):
        self.closed += 1


class Many(Source):
    def read_many(self, ranges):
        for offset, view in ranges:
            self.read_at(offset, view)


@pytest.mark.parametrize("kind", [Source, Many])
def test_sources_and_sinks(kind, abc):
    written = io.BytesIO()
    with libztensor.create(stream=written) as w:
        w.add_batch({"x": np.arange(4.0), "y\0": np.zeros((2, 2), "int8")})
    given = kind(written.getvalue())
    f = libztensor.File.open_source(given, name="my bucket")
    assert list(f) == ["x", "y\0"] and f["x"].numpy()[3] == 3 and given.reads > 0 and f.mode == "read"
    kept = f["x"].numpy()
    f.close()
    del f, kept
    assert given.closed == 1
    with pytest.raises(ZeroDivisionError):
        given.read_at = lambda *_: 1 // 0
        given.read_many = given.read_at
        libztensor.File.open_source(given)
    with pytest.raises(libztensor.ZTensorError, match="my bucket"):
        libztensor.File.open_source(Source(b"no file at all" * 10), name="my bucket")

    class Full:
        def write(self, data):
            raise OSError("full")

    with pytest.raises(OSError, match="full"), libztensor.create(stream=Full()) as w:
        w.add("a", np.zeros(1 << 20))


class Folder:
    def __init__(self, path):
        self.path = path

    def open(self, name):
        given = Many((self.path / name).read_bytes())
        given.identity = 7
        return given


class Listed(Folder):
    def list(self, folder):
        return os.listdir(self.path)


def test_a_model_that_objects_open():
    shards = FOREIGN / "amber-hf-sharded"
    with libztensor.File.open_model_from(Folder(shards), "model.safetensors.index.json") as f:
        assert len(f) == 12 and len(f.parts) == 3 and f.part_identity(1)["source_identity"] == 7
        f.read_batch({name: bytearray(o["data"].size) for name, o in f.items()})
    assert len(libztensor.File.open_model_from(Listed(shards), "")) == 12
    with pytest.raises(FileNotFoundError):
        libztensor.File.open_model_from(Folder(shards), "none")


def test_a_cache():
    with libztensor.File.open_model(FOREIGN / "amber-hf-sharded") as f, libztensor.Cache(1 << 20, 1 << 16) as cache:
        slices = [libztensor.Read(o["data"]) for o in f.values()]
        cache.prefetch(slices)
        for one in slices:
            with cache.get(one) as pinned:
                assert bytes(pinned) == one.component.read()
        stats = cache.stats
        assert stats["pinned"] == 0 and stats["hits"] + stats["joined"] + stats["misses"] == 12
        cache.cancel()
        cache.drop()
        assert cache.stats["used"] == 0
        cache.get(slices[0]).__enter__()
        with pytest.raises(libztensor.LimitExceeded):
            libztensor.Cache(1, 1 << 16)
    with libztensor.open(FOREIGN / "amber-all-stored.npz") as f:
        slices = [libztensor.Read(o["data"]) for o in f.values()]
        for policy, hits in [("lru", 1), ("slru", 2)]:
            with libztensor.Cache(1 << 16, 1 << 14, policy=policy) as cache:
                for one in slices[:1] * 2 + slices[1:] + slices[:1]:
                    with cache.get(one):
                        pass
                assert cache.stats["hits"] == hits and cache.stats["evictions"] > 0
    with pytest.raises(libztensor.InvalidArgument):
        libztensor.Cache(1 << 20, 1 << 16, policy="mru")


def test_loads(path):
    sizes = [0, 1, 4096, 300000, 100, 65537, 1000000, 5]
    arrays = [np.arange(n, dtype="uint32").astype("uint8") * (i + 1) for i, n in enumerate(sizes)]
    with libztensor.create(path) as w:
        for i, array in enumerate(arrays):
            w.add(str(i), array)
    own, seen = [bytearray(n) for n in sizes], [bytearray(n) for n in sizes]
    with libztensor.open(path) as f:
        whole = [libztensor.Read(o["data"], own[i] if i % 2 else None) for i, o in enumerate(f.values())]
        in_slots = [libztensor.Read(o["data"]) for o in f.values()]
        with libztensor.Load(whole) as load:  # into the caller's memory, and the library's
            for event in load:
                assert event.last and event.offset == 0 and bytes(event.data) == arrays[event.number].tobytes()
            [read] = load.part_stats()
        assert read[:3] == (str(path), 0, load.stats["stored_bytes"]) and read.direct_bytes == 0 and "page cache" in read.reason
        assert load.stats["requests"] == len(sizes) and all(own[i] == arrays[i].tobytes() for i in range(1, len(sizes), 2))
        ring = bytearray(2 << 16)
        for given in (None, ring):
            with libztensor.Load(in_slots, slots=2, slot_size=1 << 16, ring=given, order="largest") as load:
                ended = 0
                for event in load:
                    seen[event.number][event.offset:event.offset + len(event.data)] = event.data
                    ended += event.last
            assert ended == len(sizes) and all(got == array.tobytes() for got, array in zip(seen, arrays))
        load = libztensor.Load(in_slots[6:7], slots=1, slot_size=1 << 16)
        with load.next() as event:  # the only slot
            assert load.next(timeout=0) is None and event.data[0] == arrays[6][event.offset]
        with pytest.raises(libztensor.InvalidState):
            event.data
        kept = load.next().data
        copy = bytes(kept)
        load.cancel()
        with pytest.raises(libztensor.Cancelled):
            next(load)
        del load, event  # the array keeps the ring
        assert bytes(kept) == copy
        with pytest.raises(ValueError):
            libztensor.Load(in_slots, slots=3, slot_size=1 << 16, ring=ring)
    with libztensor.create(path, digest="crc32c") as w:
        w.add("bad", arrays[3])
        w.add("good", arrays[2])
    with libztensor.open(path) as f, open(path, "r+b") as stream:
        stream.seek(f["bad"]["data"].offset)
        stream.write(b"x")
    with libztensor.open(path, mode="read") as f:
        with libztensor.Load([libztensor.Read(o["data"]) for o in f.values()], verify=True, keep_going=True) as load:
            found = {event.number: (event.error, event.last) for event in [load.next(), load.next()]}
            assert isinstance(found[0][0], libztensor.DigestMismatch) and found[1] == (None, True)
            with pytest.raises(libztensor.DigestMismatch):
                load.next()


def test_groups_of_codes_in_2(path):
    codes, scales = np.arange(4, dtype="uint8").reshape(2, 2), np.ones(2, "float16")
    with libztensor.create(path, version=2) as w:
        w.add_quantized("q", (2, 4), codes, scales, bits=4, group_size=4, axis=1, zero_point=-8, msb_first=True)
        with pytest.raises(libztensor.Unsupported):
            w.add_quantized("bad", (2, 4), codes, scales, bits=4, group_size=4)
    with libztensor.open(path) as f:
        q = f["q"].quantized()
        assert (q.bits, q.group_size, q.axis, q.zero_point, q.msb_first, q.zeros) == (4, 4, 1, -8, True, None)
        assert q.packed_weight.tobytes() == codes.tobytes() and q.scales.tolist() == [1, 1]


def test_links_into_shards(tmp_path):
    with libztensor.create(tmp_path / "m-base.zt", version=2) as w:
        w.add("x", np.arange(3.0))
    with libztensor.open(tmp_path / "m-base.zt") as base, libztensor.create(tmp_path / "m.zt", version=2) as w:
        with pytest.raises(libztensor.InvalidArgument):
            w.link(base["x"])
        w.add_shard("base", base)
        w.link(base["x"])
        w.link(base["x"], "again")
    with libztensor.File.open_model(tmp_path / "m.zt") as f:
        assert sorted(f) == ["again", "x"] and f["again"].numpy().tolist() == [0, 1, 2]


def test_sparse_quantized_and_exchanged(path):
    with libztensor.create(path) as w:
        w.add_csr("csr", (2, 4), np.array([1.0, 2, 3]), [0, 3, 1], [0, 2, 3])
        w.add_coo("coo", (2, 4), np.array([1 + 2j], "complex64"), [[1], [3]])
        w.add_quantized("q", (2, 8), np.zeros(2, "uint32"), np.ones(2, "float16"), bits=4, group_size=8, packing="8_per_i32")
        w.add_dlpack("dl", np.arange(6.0).reshape(2, 3).T)
        with pytest.raises(libztensor.Corrupt):
            w.add_csr("bad", (2, 4), np.array([1.0]), [9], [0, 1, 1])
        with pytest.raises(ValueError):
            w.add_csr("bad", (2, 4), np.array([1.0]), [1], [0, 1])
    with libztensor.open(path) as f:
        csr, coo, q = f["csr"].csr(), f["coo"].coo(), f["q"].quantized()
        assert csr.shape == (2, 4) and csr.indptr.tolist() == [0, 2, 3] and csr.values[2] == 3 and csr.indices[1] == 3
        assert coo.values[0] == 1 + 2j and coo.coords.tolist() == [[1], [3]] and coo.shape == (2, 4)
        assert (q.bits, q.group_size, q.packing, q.zeros) == (4, 8, "8_per_i32", None) and q.scales.tolist() == [1, 1]
        assert f["dl"].numpy().tolist() == [[0, 3], [1, 4], [2, 5]]
        with pytest.raises(libztensor.Unsupported):
            f["dl"].csr()
        done, two, row = [], bytearray(16), bytearray(16)
        f.read_batch([libztensor.Read(f["dl"]["data"], two, offset=8, length=16),
                      libztensor.Read(f["dl"]["data"], row, start=(1, 0), count=(1, 2))], on_done=lambda *one: done.append(one))
        assert np.frombuffer(two).tolist() == [3, 1] and np.frombuffer(row).tolist() == [1, 4]
        assert sorted(done) == [(0, None), (1, None)]
    assert csr.values[0] == 1  # keeps the file


def test_a_file_that_is_closed_while_it_is_iterated_over_is_an_error(path):
    with libztensor.create(path) as w:
        for i in range(100):
            w.add(f"a name that is long enough to be looked for in freed memory {i}", np.zeros(1, "u1"))
    for iterate in (iter, lambda f: f.components(), lambda f: libztensor._weights.weights(f)):
        f = libztensor.open(path)
        names = iterate(f)
        next(names)
        f.close()
        with pytest.raises(ValueError, match="closed"):
            next(names)


def test_shards_are_opened_as_the_option_selects(path):
    root = path.with_name("root.zt")
    root.write_bytes((DATA / "v2/cases/b3-different-shards-do-not-clash.zt").read_bytes())
    for shards in ("of models", "on use", "never"):
        with libztensor.open(root, shards=shards, shard_folder=path.parent / "elsewhere") as f:
            assert len(f) > 0
    with pytest.raises(libztensor.NoFile, match="elsewhere"):
        libztensor.open(root, shards="at open", shard_folder=path.parent / "elsewhere")
    with libztensor.open(root, shards="on use") as f, pytest.raises(libztensor.NoFile):
        f.verify(checks=["shards"])
    with pytest.raises(libztensor.InvalidArgument, match="shards must be one of"):
        libztensor.open(root, shards="always")


def test_arrays_of_every_type_are_read_into(tmp_path):
    """ml_dtypes' types are not types of Python's buffers."""
    arrays = {"half": np.arange(6).astype(ml_dtypes.bfloat16).reshape(2, 3), "byte": np.ones(3, ml_dtypes.float8_e4m3fn),
              "scalar": np.array(3.5), "empty": np.zeros((0, 3), "f4"), "pairs": np.array([1 + 2j], "c8"), "flags": np.array([True, False])}
    libztensor.numpy.save_file(arrays, tmp_path / "a.zt")
    own = {name: np.empty_like(array) for name, array in arrays.items()}
    with libztensor.open(tmp_path / "a.zt") as f:
        f.read_batch(own)
        for name, array in arrays.items():
            assert own[name].tobytes() == array.tobytes(), name
        frozen = np.empty((2, 3), ml_dtypes.bfloat16)
        frozen.flags.writeable = False
        for wrong in (np.empty((3, 2), ml_dtypes.bfloat16).T, frozen):
            with pytest.raises(ValueError, match="contiguous and writable"):
                f["half"]["data"].read_into(wrong)


SUB_BYTE = [("foreign/valid/amber-float4.pt", "enc.1.norm.gain.21"), ("v2/real/py-zstd.zt", "f4"), ("v2/real/py-f4-even-and-odd.zt", "odd"),
            ("foreign/valid/amber-all-dtypes-untyped.pt", "enc.1.mlp.up.20"), ("invalid/dense-unknown-type-size.zt", "x")]


@pytest.mark.parametrize("file, name", SUB_BYTE)
def test_arrays_are_not_larger_than_their_bytes(file, name):
    with libztensor.open(DATA / file) as f:
        part = f[name]["data"]
        with pytest.raises(libztensor.Unsupported, match=f"{part.size} bytes are not"):
            f[name].numpy()
        # the error of the shape, or of a size that does not fit
        with pytest.raises((libztensor.Unsupported, libztensor.Corrupt)):
            f[name].tensor()
        whole = part.numpy()
        assert whole.nbytes == part.size and whole.tobytes() == part.read()
        for count in (whole.size - 1, whole.size + 1, 1 << 40):
            with pytest.raises(libztensor.Unsupported):
                part.numpy((count,))
        assert part.numpy((1, whole.size)).shape == (1, whole.size)


def test_weights_with_too_few_bytes_for_their_shape_are_rejected():
    path = DATA / "invalid/dense-unknown-type-size.zt"
    for how in ({}, {"mapped": True}):
        with pytest.raises(libztensor.ZTensorError, match="'x' has 3 bytes, its shape and type need 4"):
            libztensor.numpy.load_file(path, **how)
    with libztensor.open(path) as f:
        with pytest.raises(libztensor.ZTensorError, match="'x' has 3 bytes, its shape and type need 4"):
            list(_weights.in_pieces(f, libztensor.numpy._NumPy, 1 << 20, 0, 1, None))


def test_a_cache_keeps_the_memory_that_it_reads(tmp_path):
    with libztensor.create(tmp_path / "a.zt") as w:
        for i in range(24):
            w.add(f"t{i}", np.full(2 << 20, i, "u1"))
    program = """if True:
        import gc, libztensor, sys
        data = open(sys.argv[1], "rb").read()
        f = libztensor.File.open_memory(data)
        with libztensor.Cache(64 << 20, 2 << 20, threads=1) as cache:
            cache.prefetch([libztensor.Read(f[f"t{i}"]["data"]) for i in range(24)])
            f.close()
            del f, data
            gc.collect()
            while cache.stats["bytes_read"] < 24 * (2 << 20):
                pass
            print(cache.stats["prefetches"], cache.stats["failures"])
    """
    done = subprocess.run([sys.executable, "-c", program, tmp_path / "a.zt"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "24 0\n")


def test_a_false_declared_size_is_not_allocated(path):
    with libztensor.create(path, encoding="zstd") as w:
        w.add("a", np.arange(3 << 20) // 1000 % 7 == 0)
    with libztensor.open(path) as f:
        assert f["a"]["data"].read() == f["a"].numpy().tobytes()
    damaged = path.read_bytes()
    declared, claimed = (3 << 20).to_bytes(4, "big"), (1 << 31).to_bytes(4, "big")
    assert damaged.count(declared) == 2  # the shape and the size
    path.write_bytes(damaged.replace(declared, claimed))
    program = """if True:
        import libztensor, resource, sys
        with libztensor.open(sys.argv[1]) as f:
            try:
                f["a"]["data"].read()
            except libztensor.Corrupt:
                print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
    """
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 1024  # MiB


def test_a_slice_has_a_number_for_each_dimension(path):
    with libztensor.create(path) as w:
        w.add("a", np.arange(60, dtype="u1").reshape(3, 4, 5))
        with pytest.raises(libztensor.InvalidArgument, match="two dimensions, not 1"):
            w.add_csr("s", (1,), np.ones(1, "f4"), [0], [0, 1])
    with libztensor.open(path) as f, libztensor.Cache(1 << 20, 1 << 10) as cache:
        target = np.zeros(60, "u1")
        for part in (f["a"]["data"], next(f.components()).component):
            f.read_batch([libztensor.Read(part, target, start=(1, 1, 1), count=(1, 2, 2), step=(1, 2, 3))])
            assert target[:4].tolist() == [26, 29, 36, 39]
            for name in ("start", "count", "step"):
                for given in ((), (1,), (1, 1), (1, 1, 1, 1)):
                    read = libztensor.Read(part, target, start=(0, 0, 0), count=(1, 1, 1))._replace(**{name: given})
                    for use in (f.read_batch, cache.prefetch, cache.drop, libztensor.Load):
                        with pytest.raises(libztensor.InvalidArgument, match=f"{name} needs 3 numbers, one for each"):
                            use([read])


def test_a_tensor_that_a_consumer_rejects_is_freed(path):
    with libztensor.create(path) as w:
        w.add("a", np.zeros(1000, ml_dtypes.bfloat16))
        w.add("b", np.arange(1000, dtype="f4"))
    data, closed = path.read_bytes(), []

    class Source:
        size = staticmethod(lambda: len(data))
        close = staticmethod(lambda: closed.append(1))

        def read_at(self, offset, view):
            view[:] = data[offset:offset + len(view)]

    f = libztensor.File.open_source(Source())
    for tensor in (f["a"], f["a"]["data"]):
        with pytest.raises(RuntimeError, match="Unsupported dtype"):
            np.from_dlpack(tensor)
    taken, left = np.from_dlpack(f["b"]), f["b"].__dlpack__(max_version=(1, 0))
    f.close()
    assert not closed and taken[999] == 999
    del left
    gc.collect()
    assert not closed
    del taken
    assert closed == [1]
