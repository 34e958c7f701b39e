#!/bin/sh
# Prints the path of zig, a C compiler for many platforms: $ZIG, or PyPI's, downloaded once into the build
# folder.
#     sh tools/zig.sh
# Exit status 3: not available; one line on standard error gives the reason.
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
        { echo "zig $release is not available: $(grep -E '^ERROR' "$folder.log" | tail -n 1)" >&2; exit 3; }
fi
echo "$zig"
