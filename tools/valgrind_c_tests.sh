#!/bin/sh
# Runs each C test under valgrind, one per processor at a time, because it is slow:
#     sh tools/valgrind_c_tests.sh LIBRARIES OUTPUT
# C99 only, because C++ makes the same calls. With -O1, because most of the time goes into the tests' own
# loops.
# Ends with one line: valgrind: N passed, M failed.
set -u

[ $# -eq 2 ] || { echo "usage: valgrind_c_tests.sh LIBRARIES OUTPUT" >&2; exit 2; }
tests=$(cd "$(dirname "$0")/../c_tests" && pwd)
rm -rf "$2"
mkdir -p "$2"
# Tests that make allocations fail replace the same functions as valgrind.
grep -vx 'fault_memory\|fault_cold' "$tests/programs.txt" >"$2/programs"

xargs -P "$(nproc)" -I PROGRAM sh -c '
    if ONLY=$1 VALGRIND=1 ZT_STEP=50 CFLAGS="-g -O1" CXX=none sh "$2/run.sh" "$3" "$4/$1" >"$4/$1.log" 2>&1; then
        touch "$4/$1.passed"
        echo "ok $1 under valgrind"
    else
        touch "$4/$1.failed"
        echo "FAILED $1 under valgrind"
        cat "$4/$1.log"
    fi' sh PROGRAM "$tests" "$1" "$2" <"$2/programs"

passed=$(find "$2" -maxdepth 1 -name '*.passed' | wc -l)
failed=$(find "$2" -maxdepth 1 -name '*.failed' | wc -l)
echo "valgrind: $passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" = "$(grep -c . "$2/programs")" ]
