#!/bin/sh
# Android: the archive is compiled; libzstd against musl's headers, as there is no NDK here. Nothing is linked. Run by test.sh.
set -eu
. tools/platforms/rust.sh
std_from_source
zig_compiler aarch64-linux-musl
crate_types=staticlib

build_library
row "$built/libztensor.a" >"$OUT/row"
