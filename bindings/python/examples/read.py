"""Reads the components of an object:  read.py FILE NAME"""
import sys

import libztensor

with libztensor.open(sys.argv[1]) as f:
    for role, part in f[sys.argv[2]].items():
        data = part.read()
        total = sum(data) % 2**64
        print(f"{role}: {len(data)} bytes, sum {total}, first {data[:8].hex()}")
