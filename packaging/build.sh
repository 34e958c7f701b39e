#!/bin/sh
# Builds the shipped files for users without Rust, in a separate folder. They do not contain a path of this
# machine:
#     sh packaging/build.sh OUT      OUT/root: bin, include, lib, share as they are unpacked
set -eu

[ $# -eq 1 ] || { echo "usage: build.sh OUT" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
. packaging/environment.sh
rm -rf "$out/root" "$out/zig-cc"
LINK=$(old_glibc_compiler)
[ -n "$LINK" ] || echo "build.sh: zig is not available: linking with this machine's glibc" >&2
export LINK
install_into "$out/cmake" "$out/root" lib
profile=release
# Without optimisation, because it only answers a few commands.
[ "${ZTENSOR_QUICK-}" != 1 ] || export CARGO_PROFILE_DEV_OPT_LEVEL=0 profile=dev
"$cargo" rustc --quiet --profile $profile --locked --package ztensor-tools --bin zt -- ${LINK:+-C "linker=$LINK"}
program=$CARGO_TARGET_DIR/$profile/zt
[ $profile = release ] || program=$CARGO_TARGET_DIR/debug/zt
mkdir -p "$out/root/bin"
cp "$program" "$out/root/bin/zt"
strip "$out/root/bin/zt" "$out/root/lib/libztensor.so.$version"
sh cmake/completions.sh "$out/root/bin/zt" "$out/root/share"
strip --strip-unneeded "$out/root/lib/libztensor.a"
remote=
if stage_remote; then
    remote=ztensor-remote
    sh remote/install.sh "$out/remote" "$version" "$out/root"
    strip "$out/root/lib/libztensor_remote.so.$version"
    strip --strip-unneeded "$out/root/lib/libztensor_remote.a"
    sbom ztensor-remote >"$out/root/share/doc/ztensor/sbom-remote.cdx.json"
else
    echo "build.sh: without libztensor_remote" >&2
fi
cp README.md SECURITY.md "$out/root/share/doc/ztensor"
sh packaging/third_party_licences.sh ztensor-c ztensor-tools $remote >"$out/root/share/doc/ztensor/THIRD-PARTY-LICENSES"
[ -z "$LINK" ] || zig_licences libc/glibc/LICENSES >>"$out/root/share/doc/ztensor/THIRD-PARTY-LICENSES"
sbom ztensor-c ztensor-tools >"$out/root/share/doc/ztensor/sbom.cdx.json"
no_paths_of_here "$out/root"
