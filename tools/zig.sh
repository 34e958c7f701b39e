#!/bin/sh
# Prints where zig is, a C compiler for many platforms: $ZIG, or PyPI's, fetched once into the folder of what is built.
#     sh tools/zig.sh
# Exit status 3: it cannot be had; one line on standard error says why.
set -eu
release=0.14.1

[ -z "${ZIG-}" ] || { echo "$ZIG"; exit; }
folder=${CARGO_TARGET_DIR:-$(cd "$(dirname "$0")/.." && pwd)/target}/ziglang
zig=$folder/ziglang/zig
if [ "$("$zig" version 2>/dev/null)" != $release ]; then
    rm -rf "$folder"
    mkdir -p "$folder"
    "${PYTHON:-python3}" -m pip install --quiet --disable-pip-version-check --no-input --no-compile --no-deps --retries 1 \
        --only-binary :all: --target "$folder" "ziglang==$release" >"$folder.log" 2>&1 ||
        { echo "zig $release cannot be had: $(grep -E '^ERROR' "$folder.log" | tail -n 1)" >&2; exit 3; }
fi
echo "$zig"
