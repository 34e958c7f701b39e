#!/bin/sh
# macOS: compiles and links the library, the C tests, and the headers as C and as C++. CMake builds a
# universal library; the static one is relinked. Nothing can be run here. Run by test.sh.
set -eu
. tools/platforms/rust.sh
std_from_source
zig_compiler aarch64-macos
export CARGO_PROFILE_RELEASE_STRIP=none
[ "${QUICK-}" != 1 ] || export CARGO_PROFILE_RELEASE_OPT_LEVEL=0 # nothing is run

build_library
"$zig" version
linked=0 status=0
for program in $(c_tests_without 'sys/mount\.h|"(fault_loop|failing_malloc)\.h"'); do
    if "$cc" -std=c99 -Wall -Wextra -pedantic -Werror -Iinclude -o "$OUT/program" "c_tests/$program.c" "$built/libztensor.dylib" >"$OUT/program.log" 2>&1; then
        linked=$((linked + 1))
    else
        echo "FAILED $program"
        cat "$OUT/program.log"
        status=1
    fi
done
# header SOURCE COMPILER...
header() {
    source=$1
    shift
    "$@" -Wall -Wextra -pedantic -Werror -Iinclude -c -o "$OUT/header.o" "c_tests/$source" || { echo "FAILED $source by $*"; status=1; }
}
header header_c.c "$cc" -std=c99
header header_c.c "$cc" -std=c11
for standard in 17 20; do
    header header_cpp.cpp "$cxx" -std=c++$standard
    header cpp/wrapper.cpp "$cxx" -std=c++$standard
done
rm -f "$OUT/program" "$OUT/program.log" "$OUT/header.o"
. tools/platforms/macos_cmake.sh
[ $linked = 0 ] || linked="$linked linked"
row "$built/libztensor.dylib" linked >"$OUT/row"
exit $status
