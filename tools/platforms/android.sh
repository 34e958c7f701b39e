#!/bin/sh
# Android: the archive is compiled; libzstd against musl's headers, as there is no NDK here. Nothing is linked. Run by test.sh.
set -eu
. tools/platforms/rust.sh
std_from_source
zig_compiler aarch64-linux-musl
crate_types=staticlib
[ "${QUICK-}" != 1 ] || export CARGO_PROFILE_RELEASE_OPT_LEVEL=0 # nothing runs

build_library
row "$built/libztensor.a" >"$OUT/row"
