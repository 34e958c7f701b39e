"""Compares the time to read quantized weights as bf16 with the code of the packages that made them, on the
same two threads:

    speed.py SITE [ROWS COLUMNS]     SITE: the folder that has the package libztensor. Needs torch, and bitsandbytes for nf4.

Each line has the medians of both in seconds and their ratio. The two run in turn.
"""

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parent))
from tensors import tensor, write_model  # noqa: E402

RUNS = 11
FP4 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], dtype=torch.bfloat16)


def fp8_blocks(rows, columns):
    """transformers: Fp8Dequantize."""
    weight = torch.randn(rows, columns).to(torch.float8_e4m3fn)
    scales = torch.rand(rows // 128, columns // 128)

    def decode():
        blocks = weight.to(torch.float32).reshape(rows // 128, 128, columns // 128, 128)
        return (blocks * scales[:, None, :, None]).to(torch.bfloat16).reshape(rows, columns)

    tensors = {"x.weight": ("F8_E4M3", weight.view(torch.uint8).numpy()), "x.weight_scale_inv": ("F32", scales.numpy())}
    return tensors, {"quant_method": "fp8", "weight_block_size": [128, 128]}, "x.weight", decode


def gptq(rows, columns):
    """AutoGPTQ: qlinear_cuda_old."""
    words = torch.randint(-2**31, 2**31, (columns // 8, rows), dtype=torch.int64).to(torch.int32)
    zeros = torch.randint(-2**31, 2**31, (columns // 128, rows // 8), dtype=torch.int64).to(torch.int32)
    scales = torch.rand(columns // 128, rows).to(torch.float16)
    shifts = torch.arange(0, 32, 4, dtype=torch.int32)

    def decode():
        unpacked = torch.bitwise_right_shift(zeros.unsqueeze(2).expand(-1, -1, 8), shifts).to(torch.int16)
        unpacked = ((torch.bitwise_and(unpacked, 15) + 1) & 15).reshape(-1, 1, rows)
        codes = torch.bitwise_right_shift(words.unsqueeze(1).expand(-1, 8, -1), shifts.unsqueeze(-1)).to(torch.int16)
        codes = torch.bitwise_and(codes, 15).reshape(-1, 128, rows)
        weight = scales.reshape(-1, 1, rows) * (codes - unpacked)
        return weight.reshape(columns, rows).to(torch.bfloat16).t().contiguous()

    tensors = {"x.qweight": ("I32", words.numpy()), "x.qzeros": ("I32", zeros.numpy()), "x.scales": ("F16", scales.numpy())}
    return tensors, {"quant_method": "gptq", "bits": 4, "group_size": 128}, "x.weight", decode


def nf4(rows, columns):
    """bitsandbytes: dequantize_4bit."""
    from bitsandbytes.functional import dequantize_4bit, quantize_4bit

    codes, state = quantize_4bit(torch.randn(rows, columns, dtype=torch.bfloat16), blocksize=64, quant_type="nf4")
    said = {"quant_type": "nf4", "blocksize": 64, "dtype": "bfloat16", "shape": [rows, columns]}
    tensors = {
        "x.weight": ("U8", codes.numpy().reshape(-1, 1)),
        "x.weight.absmax": ("F32", state.absmax.float().numpy()),
        "x.weight.quant_map": ("F32", state.code.float().numpy()),
        "x.weight.quant_state.bitsandbytes__nf4": ("U8", np.frombuffer(json.dumps(said).encode(), np.uint8)),
    }
    return tensors, {"quant_method": "bitsandbytes"}, "x.weight", lambda: dequantize_4bit(codes, state)


def mxfp4(rows, columns):
    """transformers: convert_moe_packed_tensors."""
    blocks = torch.randint(0, 256, (2, rows // 2, columns // 32, 16), dtype=torch.uint8)
    scales = torch.randint(100, 140, (2, rows // 2, columns // 32), dtype=torch.uint8)

    def decode():
        codes, exponents = blocks.reshape(-1, 16), scales.to(torch.int32).reshape(-1, 1) - 127
        out = torch.empty(codes.shape[0], 32, dtype=torch.bfloat16)
        step = 32768 * 1024
        for first in range(0, codes.shape[0], step):
            now = codes[first:first + step]
            part = out[first:first + step]
            part[:, 0::2] = FP4[(now & 15).to(torch.long)]
            part[:, 1::2] = FP4[(now >> 4).to(torch.long)]
            torch.ldexp(part, exponents[first:first + step], out=part)
        return out.reshape(2, rows // 2, columns)

    return {"x_blocks": ("U8", blocks.numpy()), "x_scales": ("U8", scales.numpy())}, {"quant_method": "mxfp4"}, "x", decode


def measure(library, make, rows, columns):
    tensors, config, name, decode = make(rows, columns)
    with tempfile.TemporaryDirectory() as folder:
        write_model(folder, {one: tensor(*given) for one, given in tensors.items()}, {"config.json": {"quantization_config": config}})
        with library.File.open_model(folder, combine=True) as file:
            weight, expected = file[name], decode()
            into = np.empty(rows * columns, np.uint16)

            def own():
                read = library.Read(object=weight, dtype="bfloat16", target=into)
                file.read_batch([read], threads=2)

            own()
            found = torch.from_numpy(into.view(np.int16)).view(torch.bfloat16).reshape(expected.shape)
            same = (found == expected) | (found.isnan() & expected.isnan())
            times = [[], []]
            for _ in range(RUNS):
                for at, run in enumerate((own, decode)):
                    start = time.perf_counter()
                    run()
                    times[at].append(time.perf_counter() - start)
    a, b = (statistics.median(one) for one in times)
    print(f"{make.__name__}: libztensor {a:.3f} s, the package {b:.3f} s, ratio {a / b:.2f}; {100 * same.float().mean():.2f} % equal")


def main():
    if len(sys.argv) not in (2, 4):
        sys.exit(__doc__)
    rows, columns = (int(text) for text in sys.argv[2:]) if len(sys.argv) == 4 else (4096, 8192)
    os.environ.setdefault("OMP_NUM_THREADS", "2")
    torch.set_num_threads(2)
    sys.path.insert(0, sys.argv[1])
    import libztensor

    for make in (fp8_blocks, gptq, nf4, mxfp4):
        try:
            measure(libztensor, make, rows, columns)
        except ImportError as error:
            print(f"{make.__name__}: skipped: {error}")


if __name__ == "__main__":
    main()
