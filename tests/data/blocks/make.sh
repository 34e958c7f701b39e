#!/bin/sh
# Makes vectors.txt and quantized.txt anew, from the C of ggml:
#     sh tests/data/blocks/make.sh GGML
# GGML: a folder with src/ggml-quants.c and include/ggml.h, as in https://github.com/ggml-org/ggml or in the crate
# llama-cpp-sys-2. Each line of vectors.txt is a type, a block, and the first half of the SHA-256 of its elements:
# f32, little-endian, every NaN as 0x7fc00000.
# Each line of quantized.txt is a type, a kind of numbers, how many blocks of them, and the first half of the
# SHA-256 of the blocks that ggml makes of them, without those with a scale that is infinite or NaN. Some tiny and
# huge numbers are undefined behaviour in ggml: run this on x86-64.
# Products and sums are rounded one by one: -ffp-contract=off.
set -eu

[ $# -eq 1 ] || { echo "usage: make.sh GGML" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
"${CC:-cc}" -O2 -ffp-contract=off -w -D_GNU_SOURCE -I"$1/include" -I"$1/src" -o "$out/make" \
    "$here/make.c" "$1/src/ggml-quants.c" -lm
"$out/make" | while read -r name block elements; do
    # Each four bytes are printed with the highest first.
    sum=$(printf %s "$elements" | sed 's/\(..\)\(..\)\(..\)\(..\)/\4\3\2\1/g' | xxd -r -p | sha256sum | cut -c 1-32)
    echo "$name $block $sum"
done >"$here/vectors.txt"
count=20000
for name in q4_0 q4_1 q5_0 q5_1 q8_0 iq4_nl mxfp4 tq1_0 tq2_0; do
    for kind in 0 1 2 3 4 5 6 7 8 9; do
        echo "$name $kind $count $("$out/make" "$name" "$kind" "$count" | sha256sum | cut -c 1-32)"
    done
done >"$here/quantized.txt"
