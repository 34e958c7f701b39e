"""Compares the output of `zt ls --json --sha256` for a file with arrays of NumPy."""

import hashlib
import json
import subprocess
import sys

NAMES = {
    "float64": "f64", "float32": "f32", "float16": "f16", "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8",
    "uint64": "u64", "uint32": "u32", "uint16": "u16", "uint8": "u8", "bool": "bool",
}
TYPES = {"complex64": "complex64", "complex128": "complex128"}


class Checks:
    def __init__(self, name):
        self.name, self.passed, self.failed = name, 0, 0

    def check(self, is_right, what):
        if is_right:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED {what}")

    def finish(self):
        print(f"{self.name}: {self.passed} passed, {self.failed} failed")
        sys.exit(self.failed > 0)


def listing(zt, path):
    """The objects of a file by name, and its attributes; or None and the message if it is rejected."""
    ran = subprocess.run([zt, "ls", "--json", "--sha256", path], capture_output=True, text=True, encoding="utf-8")
    if not ran.stdout:
        return None, ran.stderr
    said = json.loads(ran.stdout)
    # zt prints a backslash as two
    return said, {entry["name"].replace("\\\\", "\\"): entry for entry in said["objects"]}


def refusal(zt, path):
    """The message for a rejected file; None if it opens or the exit status is wrong."""
    ran = subprocess.run([zt, "ls", path], capture_output=True, text=True, encoding="utf-8")
    return ran.stderr if ran.returncode == 1 and ran.stderr.startswith("zt: ") else None


def is_array(entry, array, dtype=None):
    """Whether an object has the shape, the dtype and the bytes of an array. dtype: one that NumPy does not
    have."""
    data = entry["components"][0]
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    expected = hashlib.sha256(little.tobytes("C")).hexdigest()
    kind = array.dtype.newbyteorder("=").name
    if dtype is None and kind in TYPES:
        is_type = data["type"] == TYPES[kind]
    else:
        is_type = data["dtype"] == (dtype or NAMES[kind]) and data["type"] is None
    return is_type and entry["shape"] == list(array.shape) and data["sha256_of_decoded_little_endian_bytes"] == expected
