#!/bin/sh
# Installs a current PyTorch from PyPI without CUDA's libraries, which are gigabytes: stubs that return "no
# device" replace them.
# Downloads 550 MB, uses 1.6 GB of disk:
#     sh torch.sh OUTDIR      then PYTHONPATH=OUTDIR/packages LD_LIBRARY_PATH=OUTDIR/cuda
# PYTHON: the Python to install for. Needs gcc, nm and objdump.
set -eu

[ $# -eq 1 ] || { echo "usage: torch.sh OUTDIR" >&2; exit 2; }
release=2.15.0
python=${PYTHON:-python3}
mkdir -p "$1"
out=$(cd "$1" && pwd)
export PIP_DISABLE_PIP_VERSION_CHECK=1
works() { PYTHONPATH=$out/packages LD_LIBRARY_PATH=$out/cuda "$python" -c "import torch, numpy; assert torch.__version__.startswith('$release')" 2>/dev/null; }

if works; then exit 0; fi
rm -rf "$out/packages" "$out/cuda"
"$python" -m pip install --quiet --no-input --no-compile --retries 1 --only-binary :all: --no-deps --target "$out/packages" "torch==$release"
"$python" -m pip install --quiet --no-input --no-compile --retries 1 --only-binary :all: --target "$out/packages" \
    filelock typing_extensions sympy networkx jinja2 fsspec numpy==2.2.6
mkdir "$out/cuda"
cd "$out/cuda"
libraries=$(ls "$out"/packages/torch/lib/*.so* "$out"/packages/torch/_C*.so)
# 100 is cudaErrorNoDevice.
nm -D --undefined-only $libraries 2>/dev/null | sed -n 's/^ *U \([A-Za-z0-9_]*\).*/\1/p' | grep -E '^(_*cu|_*Cu|nv|nccl)' | sort -u |
    sed 's/.*/int &(void) { return 100; }/' >functions.c
gcc -w -fno-builtin -fPIC -c functions.c
objdump -p $libraries >needed
sed -n 's/^  NEEDED *//p' needed | sort -u | grep -E '^lib(cu|nv|nccl)' | while read -r name; do
    # A library has the symbol versions that others need: under its own name, unless they say otherwise.
    versions=$(awk -v of="$name:" '/required from/ { its = $3 == of; next } /^ *0x/ { if (its) print $4; next } { its = 0 }' needed | sort -u)
    symbols='global: *;'
    for version in ${versions:-$name}; do
        echo "$version { $symbols };"
        symbols=
    done >versions
    gcc -shared -nostdlib -Wl,--version-script=versions -Wl,-soname,"$name" -o "$name" functions.o
done
works
