#!/bin/sh
# Runs transformers, diffusers and accelerate on safetensors, and then on libztensor in its place, with and
# without safetensors installed. All must write the same bytes and load the same values, also from files that
# safetensors wrote:
#     sh bindings/python/safetensors_suite/programs.sh LIBDIR OUTDIR
# Needs a PyTorch, like run.sh, and downloads packages from PyPI, 30 MB. Ends with: programs: N passed, M
# failed.
set -eu

[ $# -eq 2 ] || { echo "usage: programs.sh LIBDIR OUTDIR" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
lib=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
export PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONPYCACHEPREFIX="$out/pycache" HF_HUB_OFFLINE=1 LIBZTENSOR="$lib/libztensor.so.1"

. "$here/find_torch.sh"
[ -n "$python" ] || { echo "programs: skipped: they need PyTorch 2.8 or later; ZT_FETCH=1 fetches one, 550 MB"; exit 0; }
packages=$out/programs
# --no-deps: packages that need PyTorch would download its CUDA. safetensors has a separate folder.
fetch() { "$python" -m pip install --quiet --no-input --no-compile --retries 1 --only-binary :all: "$@" >>"$out/pip.log" 2>&1; }
if ! [ -f "$packages/complete" ]; then
    rm -rf "$packages" "$out/real"
    : >"$out/pip.log"
    { fetch --no-deps --target "$packages" transformers==5.24.0 diffusers==0.42.1 accelerate==1.15.0 tokenizers==0.23.3 &&
        fetch --target "$packages" huggingface-hub regex packaging filelock pyyaml tqdm requests psutil pillow importlib_metadata \
            numpy==2.2.6 &&
        fetch --no-deps --target "$out/real" safetensors==0.8.0; } ||
        { echo "programs: skipped: $(grep -E '^ERROR' "$out/pip.log" | tail -n 1)"; exit 0; }
    touch "$packages/complete"
fi
rm -rf "$out/wrote"
# run NAME FOLDERS ARGUMENTS: writes to $out/NAME.log what was loaded.
run() {
    name=$1 path=$2
    shift 2
    # -S: hides installed packages outside these folders, if PyTorch is in one of them.
    PYTHONPATH=$path:$packages:$torch "$python" ${torch:+-S} "$@" "$here/programs.py" "$out/wrote" "$name" >"$out/$name.log" 2>"$out/$name.err" ||
        echo "the program failed" >>"$out/$name.log"
}
run safetensors "$out/real"
run in_place "$here/..:$out/real" -m libztensor.safetensors &
run alone "$here/.." -m libztensor.safetensors &
wait
passed=0 failed=0
for name in safetensors in_place alone; do
    if cmp "$out/$name.log" "$out/safetensors.log" && ! grep -q "the program failed" "$out/$name.log"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        tail -n 20 "$out/$name.err"
    fi
done
echo "programs: $passed passed, $failed failed"
[ "$failed" = 0 ]
