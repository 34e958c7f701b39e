#!/bin/sh
# musl, static: runs the C tests that do not replace functions of the C library and the Rust tests, and
# compares bytes with this machine. Run by test.sh.
set -eu
. tools/platforms/rust.sh
std_from_source
zig_compiler x86_64-linux-musl
crate_types=staticlib

build_library
export CC="$cc -static" NM=nm CFLAGS=-g STATIC_LIBS="-lunwind -lpthread -lm -ldl -lc" ZT_STEP="${ZT_STEP:-50}"
status=0 counted="c read written"
same_as_here -static "$built/libztensor.a" -lunwind || status=1
ONLY=$(c_tests_without '"(fault_loop|failing_malloc)\.h"') LANGUAGES=c99 LIBRARIES=static sh c_tests/run.sh "$built" "$OUT/c" \
    >>"$OUT/c.log" 2>&1 || status=1
if [ "${QUICK-}" != 1 ]; then
    test_rust >"$OUT/rust.log" 2>&1 || status=1
    counted="$counted rust"
fi
cat "$OUT"/*.log
row "$built/libztensor.a" $counted >"$OUT/row"
exit $status
