"""Converts a synthetic fp8 model to bf16, and checks the memory that this needs beside the page cache:

    size.py ZT OUT [GIB]     GIB: the size of the model, a sparse file; the result has twice its size. 8 without it.

The last line is "size: N passed, M failed".
"""

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

PROMISED = 256 << 20
WIDTH = 16384
BLOCK = 128
RESULT = "bf16.safetensors"


def write_model(folder, layers):
    """One weight a layer, of 256 MiB. Only its first row is stored; the others are a hole in the file."""
    header, place = {}, 0
    for layer in range(layers):
        scales = [WIDTH // BLOCK, WIDTH // BLOCK]
        for suffix, dtype, shape, size in (
            ("weight", "F8_E4M3", [WIDTH, WIDTH], WIDTH * WIDTH),
            ("weight_scale_inv", "F32", scales, scales[0] * scales[1] * 4),
        ):
            offsets = [place, place + size]
            header[f"model.layers.{layer}.{suffix}"] = {"dtype": dtype, "shape": shape, "data_offsets": offsets}
            place += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        start = 8 + len(text)
        file.truncate(start + place)
        for entry in header.values():
            begin, end = entry["data_offsets"]
            file.seek(start + begin)
            is_weight = entry["dtype"] == "F8_E4M3"
            file.write(bytes(range(64)) * (WIDTH // 64) if is_weight else struct.pack("<f", 0.5) * ((end - begin) // 4))
    config = {"quantization_config": {"quant_method": "fp8", "weight_block_size": [BLOCK, BLOCK]}}
    (folder / "config.json").write_text(json.dumps(config))


def most_memory(command):
    """The largest RssAnon and RssShmem together, while a command runs."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    most = 0
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            continue
        lines = [line.split() for line in status.splitlines() if line.startswith(("RssAnon:", "RssShmem:"))]
        most = max(most, sum(int(line[1]) << 10 for line in lines))
        try:
            process.wait(0.01)
        except subprocess.TimeoutExpired:
            pass
    assert process.returncode == 0, command
    return most


def main():
    program, out = sys.argv[1], Path(sys.argv[2])
    layers = int(sys.argv[3] if len(sys.argv) > 3 else 8) * 4
    model = out / "size"
    model.mkdir(parents=True, exist_ok=True)
    result = model / RESULT
    free = os.statvfs(out)
    if free.f_bavail * free.f_frsize < layers * WIDTH * WIDTH * 3:
        print(f"size: skipped: {out} has no space for {layers // 2} GiB")
        return
    try:
        write_model(model, layers)
        most = most_memory([program, "convert", model, result, "--dtype", "bf16", "--force"])
        print(f"size: {layers // 4} GiB of f8 took {most >> 20} MiB beside the page cache")
        assert most <= PROMISED
        assert result.stat().st_size > layers * WIDTH * WIDTH * 2
        shown = subprocess.run([program, "head", result, f"model.layers.{layers - 1}.weight"], capture_output=True, text=True)
        # The codes of f8_e4m3fn from 0 on are multiples of 2^-9, and the scale is a half.
        assert shown.stdout.splitlines()[1].split()[2:5] == ["0", "0.000976562", "0.00195312"], shown
    finally:
        for name in (RESULT, "model.safetensors", "config.json"):
            (model / name).unlink(missing_ok=True)
    print("size: 1 passed, 0 failed")


main()
