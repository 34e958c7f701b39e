"""Writes arrays of every dtype, order and shape with NumPy, as npy and npz, and compares what zt reads:

    numpy_arrays.py ZT FOLDER [SEED]
"""

import os
import subprocess
import sys
import zipfile

import numpy as np
from compare import Checks, is_array, listing

NUMBERS = [order + kind for kind in "f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 c8 c16".split() for order in "<>"] + ["?"]
OTHERS = [
    np.dtype([("a", "<f4"), ("b", ">i8")]), np.dtype("<U5"), np.dtype("|S3"), np.dtype("<M8[ns]"), np.dtype("<m8[s]"),
    np.dtype("V6"), np.dtype("<f16"), np.dtype("<c32"), np.dtype([("nested", [("x", "<i2", (3,))])]),
]
LETTERS = ["a", "Z", "0", "_", ".", "/", " ", "\u00e9", "\u65e5", "\U0001f600", "\u0301", "'", '"', "\\"]


def array_of(rng, dtype, shape=None):
    if shape is None:
        shape = tuple(int(n) for n in rng.choice([0, 1, 2, 3, 5, 8], size=rng.integers(0, 6), p=[.05, .2, .2, .25, .2, .1]))
    dtype = np.dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    data = rng.integers(0, 256, size=count * dtype.itemsize, dtype=np.uint8)
    if dtype == np.bool_:
        data &= 1
    array = data.view(dtype).reshape(shape) if count else np.zeros(shape, dtype)
    layout = rng.integers(0, 4)
    if layout == 1:
        return np.asfortranarray(array)
    if layout == 2 and array.ndim > 1:
        return array.T
    if layout == 3 and array.ndim > 0:
        return array[::-1]  # NumPy writes it as a copy
    return array


def name_of(rng, at):
    return "".join(rng.choice(LETTERS, size=rng.integers(1, 12))).strip("/") + str(at)


def npy(path, array, version):
    with open(path, "wb") as out:
        np.lib.format.write_array(out, array, version=version)


def main():
    zt, folder = sys.argv[1], sys.argv[2]
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    os.makedirs(folder, exist_ok=True)
    checks, rng = Checks("numpy"), np.random.default_rng(seed)
    path = os.path.join(folder, "array.npy")
    for version in [(1, 0), (2, 0), (3, 0)]:
        for dtype in NUMBERS:
            array = array_of(rng, dtype)
            npy(path, array, version)
            said, objects = listing(zt, path)
            what = f"npy {version} of {dtype} {array.shape}, seed {seed}"
            checks.check(said is not None and list(objects) == [""] and is_array(objects[""], array), what)
    for dtype in OTHERS:
        npy(path, np.zeros(3, dtype), None)
        said, objects = listing(zt, path)
        data = objects[""]["components"][0] if said else {}
        is_listed = data.get("dtype", "").startswith("numpy.") and data.get("sha256_of_decoded_little_endian_bytes") is None
        checks.check(is_listed, f"npy of {dtype}: listed and not read")
    with open(path, "wb") as out:
        np.lib.format.write_array(out, np.array([{}, None], dtype=object))
    said, objects = listing(zt, path)
    checks.check(said is None or objects[""]["components"][0]["dtype"].startswith("numpy."), "npy of objects is read")

    path = os.path.join(folder, "arrays.npz")
    for turn in range(12):
        arrays = {name_of(rng, at): array_of(rng, rng.choice(NUMBERS)) for at in range(rng.integers(0, 20))}
        if turn == 0:
            arrays = {f"n{at}": array_of(rng, "<f4", (4, 4)) for at in range(300)}
        save = np.savez_compressed if turn % 2 else np.savez
        save(path, **arrays)
        said, objects = listing(zt, path)
        what = f"npz {turn} of {len(arrays)} arrays, seed {seed}"
        checks.check(said is not None and list(objects) == list(arrays), f"{what}: its names")
        for name, array in arrays.items():
            checks.check(said is not None and is_array(objects[name], array), f"{what}: {name!r} {array.dtype} {array.shape}")
        # NumPy reads what zt writes.
        back = os.path.join(folder, "back.npz")
        middle = os.path.join(folder, "middle.zt")
        steps = [[path, middle], [middle, back]]
        is_fine = all(subprocess.run([zt, "convert", "--force", "--verify", *step], capture_output=True).returncode == 0
                      for step in steps)
        checks.check(is_fine, f"{what}: converted there and back")
        with np.load(back, allow_pickle=False) as made:
            same = all(made[name].tobytes() == array.astype(array.dtype.newbyteorder("<")).tobytes("C")
                       and made[name].shape == array.shape for name, array in arrays.items())
            checks.check(same and made.files == list(arrays), f"{what}: NumPy reads what zt wrote")

    # A damaged file is rejected or listed, and never crashes the program.
    whole = open(path, "rb").read()
    for turn in range(60):
        damaged = bytearray(whole)
        for _ in range(int(rng.integers(1, 4))):
            damaged[rng.integers(0, len(damaged))] = rng.integers(0, 256)
        damaged = damaged[: rng.integers(1, len(damaged) + 1)] if turn % 3 == 0 else damaged
        broken = os.path.join(folder, "broken.npz")
        with open(broken, "wb") as out:
            out.write(damaged)
        ran = subprocess.run([zt, "verify", broken], capture_output=True)
        checks.check(ran.returncode in (0, 1), f"npz that is damaged, {turn}, seed {seed}: exit status {ran.returncode}")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", b"\x93NUMPY\x04\x00" + whole[:100])
    said, objects = listing(zt, path)
    checks.check(said and objects["a"]["components"][0]["dtype"] == "npy.version-4.0", f"npy of version 4: {said or objects}")
    checks.finish()


main()
