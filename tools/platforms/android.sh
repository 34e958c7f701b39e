#!/bin/sh
# Android: the archive is compiled and has every function; libzstd against musl's headers, as there is no NDK here. Nothing is linked. Run by test.sh.
set -eu
. tools/platforms/rust.sh
std_from_source
zig_compiler aarch64-linux-musl
crate_types=staticlib
[ "${QUICK-}" != 1 ] || export CARGO_PROFILE_RELEASE_OPT_LEVEL=0 # nothing runs

build_library
nm -g --defined-only "$built/libztensor.a" 2>/dev/null | sed -n 's/^.* T \(zt_.*\)$/\1/p' | LC_ALL=C sort >"$OUT/symbols"
diff c_tests/abi/symbols.txt "$OUT/symbols" || { echo "FAILED: the functions of the archive are not those of symbols.txt"; exit 1; }
row "$built/libztensor.a" >"$OUT/row"
