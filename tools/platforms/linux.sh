#!/bin/sh
# Linux on another processor: runs the C tests with both libraries and the Rust tests, and compares bytes with
# this machine. Run by test.sh.
set -eu
. tools/platforms/rust.sh

[ "${QUICK-}" != 1 ] || crate_types=cdylib
build_library
export CC="$cc" CXX="${PREFIX_}g++" NM="${PREFIX_}nm" CFLAGS="-g -D_FILE_OFFSET_BITS=64" CXXFLAGS="-g -D_FILE_OFFSET_BITS=64"
export ZT_STEP="${ZT_STEP:-50}"
[ "${QUICK-}" != 1 ] || CFLAGS="$CFLAGS -DZT_NOT_RELEASED"
mkdir -p "$OUT/shared" && ln -sf "$built/libztensor.so" "$OUT/shared/libztensor.so.1"
status=0 counted="c read written"
same_as_here "$built/libztensor.so" -Wl,-rpath,"$OUT/shared" || status=1
# The digests use instructions that the processor may not have; they check that at run time. The compiler makes vector code
# of the loops over blocks.
case $TARGET in
aarch64-*)
    for instruction in sha256h crc32cx 'scvtf.v[0-9]*.4s'; do
        "${PREFIX_}objdump" -d "$built/libztensor.so" | grep -qw $instruction ||
            { echo "FAILED: the library does not contain $instruction" && status=1; }
    done
    ;;
esac
# A quick run leaves out what takes an emulator longest and does not depend on byte order. The emulator's time
# goes into the tests' own loops.
case $RUNNER in qemu-*) CFLAGS="$CFLAGS -O1" CXXFLAGS="$CXXFLAGS -O1" ;; esac
case ${QUICK-}$RUNNER in
1qemu-*) ONLY=$(c_tests_without '"(fault_loop|failing_malloc)\.h"') && export ONLY ;;
esac
LANGUAGES=c99 LIBRARIES=shared sh c_tests/run.sh "$built" "$OUT/c" >>"$OUT/c.log" 2>&1 || status=1
# In a 32-bit program, threads that map memory at the same time can fault endlessly in qemu 7.2.
case $RUNNER in qemu-arm*) export RUST_TEST_THREADS=1 ;; esac
if [ "${QUICK-}" != 1 ] && [ "${C_ALONE-}" != 1 ]; then
    LANGUAGES=c++17 LIBRARIES=static sh c_tests/run.sh "$built" "$OUT/c" >>"$OUT/c.log" 2>&1 || status=1
    test_rust >"$OUT/rust.log" 2>&1 || status=1
    counted="$counted rust"
fi
cat "$OUT"/*.log
row "$built/libztensor.so" $counted >"$OUT/row"
exit $status
