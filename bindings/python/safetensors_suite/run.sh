#!/bin/sh
# Runs the tests of safetensors on libztensor. cannot_apply.txt lists tests that cannot apply, with reasons:
#     sh bindings/python/safetensors_suite/run.sh LIBDIR OUTDIR
# Downloads safetensors and pytest from PyPI. If TORCH_PYTHON has no current PyTorch and ZT_FETCH=1, also a
# PyTorch (torch.sh).
# Ends with: safetensors: N passed, M failed, K skipped.
set -eu

[ $# -eq 2 ] || { echo "usage: run.sh LIBDIR OUTDIR" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
lib=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
release=0.8.0
export PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1

. "$here/find_torch.sh"
[ -n "$python" ] || { echo "safetensors: skipped: it needs PyTorch 2.8 or later; ZT_FETCH=1 fetches one, 550 MB"; exit 0; }
suite=$out/safetensors-$release/bindings/python
if [ ! -d "$suite/tests" ] || [ ! -d "$out/packages/pytest" ]; then
    rm -rf "$out/packages"
    # Only the source is needed. Without --no-deps, pip would need its build tool.
    { "${PYTHON:-python3}" -m pip download --quiet --no-deps --no-binary safetensors --dest "$out" "safetensors==$release" &&
        tar xzf "$out/safetensors-$release.tar.gz" -C "$out" &&
        "${PYTHON:-python3}" -m pip install --quiet --target "$out/packages" pytest==8.4.2; } >"$out/pip.log" 2>&1 ||
        { echo "safetensors: skipped: $(grep -E '^ERROR' "$out/pip.log" | tail -n 1)"; exit 0; }
fi
set --
while IFS= read -r line; do
    case $line in '#'* | '') ;; *) set -- "$@" --deselect "tests/${line%% : *}" ;; esac
done <"$here/cannot_apply.txt"
cd "$suite"
LIBZTENSOR=$lib/libztensor.so.1 PYTHONPATH=$here/..:$out/packages:$torch "$python" -m libztensor.safetensors -m pytest -q -rs -p no:cacheprovider "$@" \
    tests/test_simple.py tests/test_handle.py tests/test_multithreaded.py tests/test_threadable.py tests/test_pread_backend.py \
    tests/test_pt_model.py tests/test_pt_comparison.py >"$out/pytest.log" 2>&1 || true
cat "$out/pytest.log"
count() { sed -n "s/.*[^0-9]\([0-9][0-9]*\) $1.*/\1/p;s/^\([0-9][0-9]*\) $1.*/\1/p" "$out/pytest.log" | tail -n 1; }
passed=$(count passed) failed=$(count failed) errors=$(count error) skipped=$(count skipped)
failed=$((${failed:-0} + ${errors:-0}))
[ -n "$passed" ] || failed=$((failed + 1))
echo "safetensors: ${passed:-0} passed, $failed failed, ${skipped:-0} skipped"
[ "$failed" = 0 ]
