#!/bin/sh
# Quantized checkpoints of every scheme, through the Python package of the library:
#     sh tests/models/checkpoints/run.sh LIBDIR SITE OUT
# LIBDIR has libztensor.so.1. SITE has NumPy. The package libztensor comes from bindings/python. With
# ZT_FETCH=1 it downloads the tools in requirements.txt (700 MB with PyTorch) and compares the formulas with
# them.
# The last line is "checkpoints: N passed, M failed".
set -eu

[ $# -eq 3 ] || { echo "usage: run.sh LIBDIR SITE OUT" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
lib=$(cd "$1" && pwd)
mkdir -p "$2" "$3"
site=$(cd "$2" && pwd) out=$(cd "$3" && pwd)
python=${PYTHON:-python3}
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1

if [ "${ZT_FETCH-}" = 1 ]; then
    sh "$root/bindings/python/safetensors_suite/torch.sh" "$out/torch"
    if ! [ -f "$out/tools/fetched" ]; then
        rm -rf "$out/tools" "$out/source" && mkdir "$out/tools" "$out/source"
        install() { "$python" -m pip install --quiet --no-input --no-compile --no-deps --retries 1 --target "$out/tools" "$@"; }
        # The last two are source packages that need CUDA to install. Their Python files are sufficient.
        grep -v '^#\|^hqq\|^autoawq' "$here/requirements.txt" >"$out/wheels.txt"
        install --only-binary :all: -r "$out/wheels.txt"
        for tool in hqq autoawq; do
            pinned=$(grep "^$tool==" "$here/requirements.txt")
            "$python" -m pip download --quiet --no-deps -d "$out/source" "$pinned"
            tar -xzf "$out/source/$tool-${pinned##*==}.tar.gz" -C "$out/source"
        done
        cp -r "$out"/source/hqq-*/hqq "$out"/source/autoawq-*/awq "$out/tools/"
        touch "$out/tools/fetched"
    fi
    PYTHONPATH=$out/torch/packages:$out/tools LD_LIBRARY_PATH=$out/torch/cuda "$python" -W ignore "$here/packages.py" check 1 2 3
else
    echo "packages: skipped: ZT_FETCH=1 fetches them (700 MB)"
fi
LIBZTENSOR=$lib/libztensor.so.1 PYTHONPATH=$site "$python" "$here/run.py" "$root/bindings/python" 1 2
