#!/bin/sh
# Checks that two builds of the last commit, in folders with paths of different lengths, make the same
# tarball:
#     sh packaging/reproducible.sh OUT
# ZTENSOR_REMOTE=0: without libztensor_remote.
set -eu

[ $# -eq 1 ] || { echo "usage: reproducible.sh OUT" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
tools=${CARGO_TARGET_DIR:-$PWD/target}
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
CARGO_TARGET_DIR="$tools" sh tools/zig.sh >/dev/null # both link with it
rm -rf "$out/one" "$out/another-one"
for folder in "$out/one" "$out/another-one/further-down"; do
    mkdir -p "$folder"
    git archive HEAD | tar -xf - -C "$folder"
    mkdir "$folder/target"
    ln -s "$tools/ziglang" "$folder/target/ziglang"
    (
        cd "$folder"
        unset CARGO_TARGET_DIR
        sh packaging/build.sh target/dist && sh packaging/dist.sh target/dist
    )
done
one=$(ls "$out"/one/target/dist/ztensor-*.tar.xz)
other="$out/another-one/further-down/target/dist/${one##*/}"
cmp "$one" "$other" || {
    (cd "${one%.tar.xz}" && find . -type f) | LC_ALL=C sort | while read -r file; do
        cmp "${one%.tar.xz}/$file" "${other%.tar.xz}/$file" || true
    done
    exit 1
}
sha256sum "$one"
echo "reproducible: the same $(stat -c %s "$one") bytes"
