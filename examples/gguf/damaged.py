"""Damages the metadata of a file many times, and runs a program on each result:

    damaged.py PROGRAM FILE COUNT FOLDER

Exit status 1, and a line for each, if an exit status of the program is not 0 or 1. The file is then kept.
"""

import os
import random
import subprocess
import sys

program, path, count, folder = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
whole = open(path, "rb").read()
# GGUF's metadata is at the start of a file, .zt's at the end.
size = min(len(whole), 16384)
start = 0 if whole.startswith(b"GGUF") else len(whole) - size
died = 0
for turn in range(count):
    rng = random.Random(turn)
    damaged = bytearray(whole)
    for _ in range(rng.choice([1, 1, 2, 5])):
        at = start + rng.randrange(size)
        damaged[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, damaged[at] ^ (1 << rng.randrange(8)), rng.randrange(256)])
    file = os.path.join(folder, f"damaged-{turn}" + os.path.splitext(path)[1])
    with open(file, "wb") as out:
        out.write(damaged)
    ran = subprocess.run([program, file], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if ran.returncode in (0, 1):
        os.remove(file)
        continue
    died += 1
    print(f"{file}: exit status {ran.returncode}: {ran.stderr.decode(errors='replace').strip()[-300:]}")
sys.exit(died > 0)
