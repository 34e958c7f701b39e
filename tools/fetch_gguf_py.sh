#!/bin/sh
# Installs gguf-py, ggml's Python package, and NumPy, a peer of the benchmarks:
#     sh tools/fetch_gguf_py.sh FOLDER      leaves the packages there
# If that fails, one line gives the reason, and the benchmark leaves its rows out.
set -eu

folder=${1:?usage: fetch_gguf_py.sh FOLDER}
version=0.19.0
[ ! -e "$folder/gguf-$version.dist-info" ] || exit 0
mkdir -p "$folder"
if ! "${PYTHON:-python3}" -m pip install --quiet --disable-pip-version-check --target "$folder" "gguf==$version" numpy \
    >"$folder/pip.log" 2>&1; then
    echo "bench: gguf-py is left out: pip cannot download gguf $version ($folder/pip.log)" >&2
fi
