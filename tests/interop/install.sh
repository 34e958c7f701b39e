#!/bin/sh
# Installs the released ztensor wheels that read_back.py compares with, each with its dependencies:
#     sh install.sh FOLDER        makes FOLDER/0.1.4, FOLDER/1.1.1 and so on
# A release that is already installed and works is not changed. PYTHON selects the interpreter (the 1.2.3
# wheels are for 3.11 to 3.13).
# Exit status 3: pip is missing or its index cannot be reached.
set -eu

[ $# -eq 1 ] || { echo "usage: install.sh FOLDER" >&2; exit 1; }
python=${PYTHON:-python3}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"

"$python" -m pip --version >/dev/null 2>&1 || { echo "install.sh: $python has no pip" >&2; exit 3; }

for release in 0.1.4 1.1.1 1.2.3 2.0.0 2.1.1 2.1.2; do
    target=$1/$release
    case $release in
    2.*) modules= ;; # returns bytes, without numpy
    *) modules="numpy, scipy, ml_dtypes," ;;
    esac
    if PYTHONPATH=$target "$python" -c "
import importlib.metadata, $modules ztensor
assert importlib.metadata.version('ztensor') == '$release'
assert all(m.__file__.startswith(ztensor.__file__[:-len('ztensor/__init__.py')]) for m in ($modules))
" 2>/dev/null; then
        continue
    fi
    rm -rf "$target" "$target.part"
    if ! "$python" -m pip install --quiet --disable-pip-version-check --no-input --no-compile --retries 1 --only-binary :all: \
            --target "$target.part" ${modules:+-r "$here/requirements.txt"} "ztensor==$release" >"$1/pip.log" 2>&1; then
        reason=$(grep -E '^ERROR' "$1/pip.log" | tail -n 1)
        rm -rf "$target.part"
        echo "install.sh: pip could not install ztensor $release: ${reason:-see $1/pip.log}" >&2
        exit 3
    fi
    mv "$target.part" "$target"
done
rm -f "$1/pip.log"
