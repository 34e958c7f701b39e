"""Compares quantized checkpoints that libztensor reads with combine=True with formulas.py, bit for bit:

    run.py SITE [SEED...]       SITE: the folder of the package libztensor; LIBZTENSOR: the library, if not inside
    run.py --oracle [SEED...]   without the library: compares the formulas with files of other tools

The last line is "checkpoints: N passed, M failed".
"""

import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import broken  # noqa: E402
import cases  # noqa: E402
import formulas  # noqa: E402
from tensors import numbers, read, rounded, write_model  # noqa: E402

DATA = Path(__file__).resolve().parents[2] / "data"
# Weights of other tools: for each its formula, its parts, and the digest of its numbers.
ENTRIES = DATA / "checkpoints-by-tools/formulas.json"


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, is_right, what):
        self.passed += bool(is_right)
        if not is_right:
            self.failed += 1
            print(f"FAILED {what}", flush=True)
        return is_right

    def run(self, what, function, *given):
        """Runs a group of checks. An exception is a failure."""
        try:
            function(*given)
        except Exception as error:  # noqa: BLE001
            self.check(False, f"{what}: {type(error).__name__}: {error}")


def same(found, expected, dtype="float32"):
    """Whether all bits are equal; all NaN are equal. float16 and bfloat16 are compared as bits."""
    if found.shape != expected.shape or found.dtype.itemsize != expected.dtype.itemsize:
        return False
    size, infinity = {"float32": ("u4", 0x7F800000), "float16": ("u2", 0x7C00), "bfloat16": ("u2", 0x7F80)}[dtype]
    found, expected = found.view(size), expected.view(size)
    is_number = expected & (0x7FFFFFFF if size == "u4" else 0x7FFF) <= infinity
    is_nan = found[~is_number] & (0x7FFFFFFF if size == "u4" else 0x7FFF) > infinity
    return bool(is_nan.all()) and np.array_equal(found[is_number], expected[is_number])


def as_dtype(exact, dtype):
    """The expected elements as an array, and whether the library must reject them."""
    if dtype == "float32":
        return exact, False
    bits, is_too_large = rounded(exact, dtype)
    return bits, is_too_large


class Reader:
    """Reads one weight of an open file in every way of the library, and compares its numbers."""

    def __init__(self, library, checks, rng):
        self.library, self.checks, self.rng = library, checks, rng

    def fill(self, file, found, shape, dtype, **how):
        target = np.full(shape, 77, "f4" if dtype == "float32" else "u2")
        file.read_batch([self.library.Read(object=found, target=target, dtype=dtype, **how)])
        return target

    def compare(self, what, exact, dtype, call):
        """call() returns the elements. If a finite number becomes infinite, it must be rejected."""
        expected, is_too_large = as_dtype(exact, dtype)
        try:
            made = call(expected.shape)
        except self.library.LimitExceeded as error:
            self.checks.check(is_too_large, f"{what} as {dtype}: {error}")
            return
        self.checks.check(not is_too_large and same(made, expected, dtype), f"{what} as {dtype}: {difference(made, expected)}")

    def weight(self, what, file, name, exact):
        found = file[name]
        if not self.checks.check(found.shape == exact.shape, f"{what}: its shape is {found.shape}, not {exact.shape}"):
            return
        self.checks.check(found.size_as("float32") == exact.nbytes, f"{what}: {found.size_as('float32')} bytes as float32")
        made = found.numpy(dtype="float32")
        self.checks.check(same(made, exact), f"{what}: {difference(made, exact)}")
        for dtype in ("float16", "bfloat16"):
            self.compare(what, exact, dtype, lambda shape: self.fill(file, found, shape, dtype))
        if exact.size == 0 or exact.ndim == 0:
            return
        rng, table = self.rng, exact.reshape(-1, exact.shape[-1])
        for dtype in ("float32", "float16", "bfloat16"):
            first = int(rng.integers(0, table.shape[0]))
            count = int(rng.integers(1, table.shape[0] - first + 1))
            rows = table[first:first + count]
            self.compare(f"{what}[{first}:{first + count}]", rows, dtype,
                         lambda shape: self.fill(file, found, shape, dtype, offset=first, rows=count))
            stride = int(rng.integers(1, 4))
            rows = table[first::stride]
            self.compare(f"{what}[{first}::{stride}]", rows, dtype, lambda shape: self.fill(
                file, found, shape, dtype, offset=first, rows=shape[0], row_stride=stride))
            start = [int(rng.integers(0, n)) for n in exact.shape]
            step = [int(rng.integers(1, 4)) for _ in exact.shape]
            count = [int(rng.integers(1, (n - a - 1) // s + 2)) for n, a, s in zip(exact.shape, start, step)]
            part = exact[tuple(slice(a, a + (n - 1) * s + 1, s) for a, n, s in zip(start, count, step))]
            self.compare(f"{what}, slice {start} {count} {step}", np.ascontiguousarray(part), dtype, lambda shape: self.fill(
                file, found, shape, dtype, start=tuple(start), count=tuple(count), step=tuple(step)))


def difference(made, expected):
    if made.shape != expected.shape:
        return f"shape {made.shape}, not {expected.shape}"
    at = [i for i, (a, b) in enumerate(zip(made.reshape(-1), expected.reshape(-1))) if a.tobytes() != b.tobytes()]
    if not at:
        return "equal in every bit, NaN apart"
    return f"{len(at)} of {made.size} differ, element {at[0]}: {made.reshape(-1)[at[0]]!r}, not {expected.reshape(-1)[at[0]]!r}"


def stored_numbers(one):
    """The expected numbers of a tensor that is not part of a weight, if it has floats."""
    return numbers(one) if one.dtype in ("F32", "BF16", "F16", "F8_E4M3", "F8_E8M0") else None


def opened(library, folder, turn, **how):
    """By its folder, or by its file."""
    file = os.path.join(folder, "model.safetensors")
    if turn % 3 == 1 and os.path.exists(file):
        return library.File(file, combine=True, **how)
    return library.File.open_model(file if turn % 3 == 2 and os.path.exists(file) else folder, combine=True, **how)


def check_model(library, checks, rng, what, folder, turn, weights, others):
    """weights: maps names to numbers. others: tensors that are listed unchanged."""
    reader = Reader(library, checks, rng)
    with opened(library, folder, turn, mode=("map", "read", "auto")[turn % 3]) as file:
        names = sorted([*weights, *others])
        checks.check(sorted(file) == names, f"{what}: extra or missing objects: {sorted(set(file) ^ set(names))}")
        for name, exact in weights.items():
            checks.run(f"{what}, {name}", reader.weight, f"{what}, {name}", file, name, exact)
        for name, one in others.items():
            exact = stored_numbers(one)
            if exact is not None:
                checks.check(same(file[name].numpy(dtype="float32"), np.asarray(exact)), f"{what}, {name}: differs from the tensor in its file")
        targets = {name: np.zeros(exact.shape, "f4") for name, exact in weights.items()}
        order = [str(name) for name in rng.permutation(list(targets))]
        file.read_batch([library.Read(object=file[name], target=targets[name], dtype="float32") for name in order], threads=2)
        for name, exact in weights.items():
            checks.check(same(targets[name], exact), f"{what}, {name} in a batch: {difference(targets[name], exact)}")
        checks.run(f"{what}: verify", file.verify)
        checks.passed += 1
    # Without the option a file lists its stored tensors.
    with library.File.open_model(folder) as file:
        stored = set()
        for one in Path(folder).glob("*.safetensors"):
            stored |= set(read(one))
        checks.check(set(file) == stored, f"{what}: extra or missing objects without combine: {sorted(set(file) ^ stored)}")


def digest(array):
    return hashlib.sha256(np.ascontiguousarray(array, "<f4").tobytes()).hexdigest()


def by_formula(tensors, entry):
    with np.errstate(all="ignore"):
        parts = {role: tensors[name] for role, name in entry["parts"].items()}
        return np.ascontiguousarray(getattr(formulas, entry["formula"])(parts, *entry["settings"]), "f4")


def stored_models():
    """The models in tests/data: name, folder, tensors, and the entries of their weights."""
    for name, entries in json.loads(ENTRIES.read_text()).items():
        yield name, DATA / name, read(DATA / name / "model.safetensors"), entries


def check_oracle(checks, seeds):
    for seed in seeds:
        checks.run("packing", cases.self_check, seed)
        checks.passed += 1
    for name, _, tensors, entries in stored_models():
        for weight, entry in entries.items():
            made = by_formula(tensors, entry)
            checks.check(list(made.shape) == entry["shape"] and digest(made) == entry["f32"],
                         f"{name}, {weight}: the formula gives other numbers than the tool that made it")


def check_library(library, checks, seeds, folder):
    rng = np.random.default_rng(seeds[0])
    for turn, (name, path, tensors, entries) in enumerate(stored_models()):
        weights = {weight: by_formula(tensors, entry) for weight, entry in entries.items()}
        taken = {part for entry in entries.values() for part in entry["parts"].values()}
        others = {one: tensors[one] for one in tensors if one not in taken}
        checks.run(name, check_model, library, checks, rng, name, str(path), turn, weights, others)
    for seed in seeds:
        for turn, model in enumerate(cases.cases(seed)):
            path = os.path.join(folder, f"{seed}-{model.name}")
            write_model(path, model.tensors, model.configs, cases.shards_of(model), model.metadata)
            what = f"{model.name}, seed {seed}"
            checks.run(what, check_model, library, checks, rng, what, path, turn, model.weights, model.others())
    broken.check_all(library, checks, same, folder, seeds[0])


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    seeds = [int(seed) for seed in sys.argv[2:]] or [1]
    checks = Checks()
    check_oracle(checks, seeds)
    if sys.argv[1] != "--oracle":
        sys.path.insert(0, sys.argv[1])
        import libztensor as library
        path = str(next(DATA.glob("checkpoints/*/model.safetensors")))
        try:
            library.File(path, combine=True).close()
        except TypeError as error:
            print(f"FAILED libztensor.File has no option combine: {error}")
            print(f"checkpoints: {checks.passed} passed, {checks.failed + 1} failed")
            sys.exit(1)
        with tempfile.TemporaryDirectory() as folder:
            check_library(library, checks, seeds, folder)
    print(f"checkpoints: {checks.passed} passed, {checks.failed} failed")
    sys.exit(checks.failed > 0)


if __name__ == "__main__":
    main()
