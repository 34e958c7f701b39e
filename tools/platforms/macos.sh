#!/bin/sh
# macOS: the library is compiled and linked, and the C tests against it. Nothing of it can run here. Run by test.sh.
set -eu
. tools/platforms/rust.sh
std_from_source
zig_compiler aarch64-macos
export CARGO_PROFILE_RELEASE_STRIP=none
[ "${QUICK-}" != 1 ] || export CARGO_PROFILE_RELEASE_OPT_LEVEL=0 # nothing runs

build_library
"$zig" version
linked=0 status=0
for program in $(c_tests_without 'sys/mount\.h|"(fault_loop|failing_malloc)\.h"'); do
    if "$cc" -std=c99 -Wall -Wextra -Iinclude -o "$OUT/program" "c_tests/$program.c" "$built/libztensor.dylib" >"$OUT/program.log" 2>&1; then
        linked=$((linked + 1))
    else
        echo "FAILED $program"
        cat "$OUT/program.log"
        status=1
    fi
done
rm -f "$OUT/program" "$OUT/program.log"
linked="$linked linked"
row "$built/libztensor.dylib" >"$OUT/row"
exit $status
