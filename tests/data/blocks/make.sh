#!/bin/sh
# Makes vectors.txt anew, from the C of ggml:
#     sh tests/data/blocks/make.sh GGML
# GGML: a folder with src/ggml-quants.c and include/ggml.h, as in https://github.com/ggml-org/ggml or in the crate
# llama-cpp-sys-2. Each line of vectors.txt is a type, a block, and the first half of the SHA-256 of its elements:
# f32, little-endian, every NaN as 0x7fc00000.
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
