#!/bin/sh
# Builds what is shipped without Rust, in a folder of its own, with no path of this machine in it:
#     sh packaging/build.sh OUT      OUT/root: bin, include, lib, share as they are unpacked
set -eu

[ $# -eq 1 ] || { echo "usage: build.sh OUT" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
. packaging/environment.sh
rm -rf "$out/root"
install_into "$out/cmake" "$out/root" lib
if [ "${ZTENSOR_QUICK-}" = 1 ]; then
    "$cargo" build --quiet --locked --package ztensor-tools
    program=$CARGO_TARGET_DIR/debug/zt
else
    "$cargo" build --quiet --release --locked --package ztensor-tools
    program=$CARGO_TARGET_DIR/release/zt
fi
mkdir -p "$out/root/bin"
cp "$program" "$out/root/bin/zt"
strip "$out/root/bin/zt" "$out/root/lib/libztensor.so.$version"
strip --strip-unneeded "$out/root/lib/libztensor.a"
cp README.md SECURITY.md "$out/root/share/doc/ztensor"
sh packaging/third_party_licences.sh >"$out/root/share/doc/ztensor/THIRD-PARTY-LICENSES"
"$cargo" metadata --format-version 1 --locked --offline --filter-platform "$(rustc -vV | sed -n 's/^host: //p')" |
    python3 packaging/sbom.py >"$out/root/share/doc/ztensor/sbom.cdx.json"
if [ "${ZTENSOR_QUICK-}" != 1 ] && grep -lrF -e "$home" -e "$here" "$out/root"; then
    echo "build.sh: these name a folder of this machine" >&2
    exit 1
fi
