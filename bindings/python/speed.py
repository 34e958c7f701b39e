"""Compares libztensor's times with safetensors', for the same file of 1,000 tensors:

    python3 bindings/python/speed.py FOLDER [--mebibytes 2048] [--rounds 5]

The file is made in FOLDER and removed at the end. Each round measures every row with both packages in turn;
the median counts. A cold row starts with the file out of the page cache, which is checked. PyTorch's
load_file leaves bytes in the file in both packages. The rows that touch the bytes read one byte of each page,
the least that a user of the tensors reads. Rows of packages that are not installed are left out. If a virtual
machine returns free memory to its host, a call that needs new memory measures the host. With --touch, as much
memory as any call needs is touched and freed just before each call.
"""

import argparse
import ctypes
import json
import mmap
import os
import shutil
import statistics
import subprocess
import sys
import time

TENSORS = 1000


def write(path, size):
    """A safetensors file of f32 tensors. The time to read does not depend on the values."""
    import numpy

    each = size // TENSORS // 4096 * 4096
    entries = {f"layers.{n}.weight": {"dtype": "F32", "shape": [each // 4096, 1024], "data_offsets": [n * each, (n + 1) * each]}
               for n in range(TENSORS)}
    header = json.dumps(entries).encode()
    header += b" " * (-len(header) % 8)
    values = numpy.random.default_rng(7).standard_normal(each // 4, "float32")
    with open(path, "wb") as f:
        f.write(len(header).to_bytes(8, "little") + header)
        for _ in range(TENSORS):
            f.write(values.data)
        f.flush()
        os.fsync(f.fileno())


def cached(fd, size):
    """The share of a file's pages that are in memory."""
    with mmap.mmap(fd, size, access=mmap.ACCESS_COPY) as mapped:
        pages = -(-size // mmap.PAGESIZE)
        states, start = (ctypes.c_ubyte * pages)(), ctypes.c_char.from_buffer(mapped)
        failed = ctypes.CDLL(None, use_errno=True).mincore(ctypes.c_void_p(ctypes.addressof(start)), ctypes.c_size_t(size), states)
        del start
        return None if failed else sum(state & 1 for state in states) / pages


def evict(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        for _ in range(5):
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            left = cached(fd, os.fstat(fd).st_size)
            if not left or left < 0.01:
                return
            time.sleep(0.1)
        sys.exit(f"{path}: {left:.0%} of the file stays in the page cache")
    finally:
        os.close(fd)


def warm(path):
    with open(path, "rb", buffering=0) as f:
        chunk = bytearray(1 << 22)
        while f.readinto(chunk):
            pass


def touch(size):
    """Touches and frees memory, so that it stays with this machine for the next second or two."""
    with mmap.mmap(-1, size) as memory:
        for at in range(0, size, mmap.PAGESIZE):
            memory[at] = 1


def rows(path):
    """(name, whether the row is cold, libztensor's function, safetensors' function)."""
    name = f"layers.{TENSORS // 2}.weight"

    def one_slice(module, framework):
        def read():
            with module(path, framework) as f:
                return f.get_slice(name)[:4]
        return read

    try:
        import libztensor.numpy
        import safetensors
        import safetensors.numpy

        own, peer = libztensor.numpy, safetensors.numpy
        for cold in (False, True):
            yield "NumPy load_file", cold, lambda: own.load_file(path), lambda: peer.load_file(path)
        yield "NumPy safe_open and a slice", False, one_slice(own.safe_open, "np"), one_slice(safetensors.safe_open, "np")
    except ImportError as why:
        print(f"NumPy: skipped: {why}")
    try:
        import libztensor.torch
        import safetensors.torch
        import torch

        own_torch, peer_torch = libztensor.torch, safetensors.torch

        def touched(load):
            tensors = load(path)
            for tensor in tensors.values():
                tensor.view(-1)[::1024].sum()
            return tensors

        for cold in (False, True):
            yield "PyTorch load_file", cold, lambda: own_torch.load_file(path), lambda: peer_torch.load_file(path)
            yield ("PyTorch load_file, touched", cold, lambda: touched(own_torch.load_file),
                   lambda: touched(peer_torch.load_file))
        yield "PyTorch safe_open and a slice", False, one_slice(own_torch.safe_open, "pt"), one_slice(safetensors.safe_open, "pt")

        def uploaded(load):
            tensors = load(path, device="cuda")
            torch.cuda.synchronize()
            return tensors

        for cold in (False, True) if torch.cuda.is_available() else ():
            yield ("PyTorch load_file to CUDA", cold, lambda: uploaded(own_torch.load_file),
                   lambda: uploaded(peer_torch.load_file))
    except ImportError as why:
        print(f"PyTorch: skipped: {why}")


def timed(call):
    start = time.perf_counter()
    made = call()
    took = time.perf_counter() - start
    del made  # freeing takes time, too
    return took


def imported(module, folder):
    """Seconds to import a module in a new Python process, with cached bytecode."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", f"import {module}"], check=True, capture_output=True, text=True,
                   env={**environment, "PYTHONPYCACHEPREFIX": os.path.join(folder, "speed.pycache")})
    return time.perf_counter() - start


def show(name, own, peer):
    a, b = statistics.median(own), statistics.median(peer)
    print(f"{name:36} {a * 1e3:9.2f} ms {b * 1e3:9.2f} ms   {a / b:5.2f}   "
          f"{min(own) * 1e3:.2f} to {max(own) * 1e3:.2f}, {min(peer) * 1e3:.2f} to {max(peer) * 1e3:.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--mebibytes", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--touch", action="store_true", help="touch the memory that a call needs just before it")
    parser.add_argument("--only", default="", help="only rows with this in their name")
    given = parser.parse_args()
    path = os.path.join(given.folder, "speed.safetensors")
    print(f"{'':36} {'libztensor':>12} {'safetensors':>12}   ratio   least to greatest of each")
    try:
        for framework in ("numpy", "torch"):
            modules = [f"{package}.{framework}" for package in ("libztensor", "safetensors")]
            if given.only in f"import of .{framework}":
                try:
                    taken = [[imported(module, given.folder) for module in modules] for _ in range(given.rounds * 3 + 1)]
                    show(f"import of .{framework}", *zip(*taken[1:]))  # the first writes bytecode
                except subprocess.CalledProcessError as why:
                    print(f"import of .{framework}: skipped: {why.stderr.splitlines()[-1]}")
    finally:
        shutil.rmtree(os.path.join(given.folder, "speed.pycache"), ignore_errors=True)
    try:
        write(path, given.mebibytes << 20)
        for name, cold, own, peer in rows(path):
            name += ", cold" if cold else ""
            if given.only not in name:
                continue
            times = ([], [])
            calls = list(zip((own, peer), times))
            if not cold:
                warm(path)
                own(), peer()
            for number in range(given.rounds * (10 if "slice" in name else 1)):
                for call, found in calls[::1 if number % 2 else -1]:
                    if cold:
                        evict(path)
                    if given.touch and "load_file" in name:
                        touch(3 * given.mebibytes << 20)
                    found.append(timed(call))
            show(name, *times)
    finally:
        if os.path.exists(path):
            os.remove(path)


if __name__ == "__main__":
    main()
