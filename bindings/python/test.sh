#!/bin/sh
# Builds the source distribution and a wheel from it, installs the wheel and its dependencies, and runs its
# tests and programs; then those for PyTorch, if installed:
#     sh bindings/python/test.sh LIBDIR OUTDIR
# Ends with: python: N passed, M failed, K skipped.
set -eu

[ $# -eq 2 ] || { echo "usage: test.sh LIBDIR OUTDIR" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
lib=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
python=${PYTHON:-python3}
export PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1

"$python" "$here/../generate.py" --check
if ! cmp -s "$here/requirements.txt" "$out/packages/requirements.txt"; then
    rm -rf "$out/packages"
    "$python" -m pip install --quiet --no-input --no-compile --retries 1 --only-binary :all: --target "$out/packages" \
        -r "$here/requirements.txt" >"$out/pip.log" 2>&1 ||
        { echo "python: skipped: $(grep -E '^ERROR' "$out/pip.log" | tail -n 1)"; exit 0; }
    cp "$here/requirements.txt" "$out/packages/requirements.txt"
fi
rm -rf "$out/source" "$out/site" "$out"/*.whl "$out"/*.tar.gz
cp -r "$here" "$out/source"
# The wheel is made from the source distribution, so that both are tested.
(cd "$out/source" && PYTHONPATH=$out/packages "$python" -c 'import sys, setuptools.build_meta as made; made.build_sdist(sys.argv[1])' "$out" \
    >"$out/sdist.log" 2>&1) || { cat "$out/sdist.log"; exit 1; }
wheel() { PYTHONPATH=$out/packages "$python" -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir "$out" "$out"/libztensor-*.tar.gz; }
for given in "" "$out/nothing.so"; do
    if (LIBZTENSOR=$given wheel) >"$out/refused.log" 2>&1 || ! grep -q "LIBZTENSOR.*it must be the path of libztensor.so.1" "$out/refused.log"; then
        cat "$out/refused.log"
        echo "python: 0 passed, 1 failed: LIBZTENSOR='$given' is not rejected with a readable message"
        exit 1
    fi
done
(LIBZTENSOR=$lib/libztensor.so.1 wheel)
"$python" -m pip install --quiet --no-deps --no-compile --target "$out/site" "$out"/*.whl
(cd "$out" && PYTHONPATH=$out/site:$out/packages "$python" -m pytest -q -p no:cacheprovider "$here/tests") |
    tee "$out/pytest.log"
passed=$(sed -n 's/^\([0-9]*\) passed.*/\1/p' "$out/pytest.log")
[ -n "$passed" ] && ! grep -qE ' (failed|errors?)([ ,]|$)' "$out/pytest.log" || { echo "python: ${passed:-0} passed, 1 failed"; exit 1; }

# Debian's PyTorch does not have CUDA; PyPI's would be gigabytes.
torch=${TORCH_PYTHON:-/usr/bin/python3}
if ! "$torch" -c "import torch" 2>/dev/null; then
    echo "python: $passed passed, 0 failed, 1 skipped"
elif PYTHONPATH=$out/site "$torch" "$here/tests/torch_shares_memory.py" &&
    PYTHONPATH=$out/site "$torch" "$here/tests/torch_weights.py" &&
    PYTHONPATH=$out/site "$torch" "$here/tests/torch_vllm.py" &&
    PYTHONPATH=$out/site "$torch" "$here/tests/torch_cuda.py" >"$out/torch_cuda.log"; then
    cat "$out/torch_cuda.log"
    case $(cat "$out/torch_cuda.log") in
    *skipped*) echo "python: $((passed + 3)) passed, 0 failed, 1 skipped" ;;
    *) echo "python: $((passed + 4)) passed, 0 failed" ;;
    esac
else
    echo "python: $passed passed, 1 failed"
    exit 1
fi
