#!/bin/sh
# Runs every part of the tests, two at a time, whatever becomes of the others, and sums up:
#     sh tools/test_all.sh LOG_DIR [CHECK...]      CHECK: lint and the like, which count no tests; the first before all tests
# Each part is a target of the Makefile, or FOLDER/TARGET of the one in that folder. Its output is kept in LOG_DIR/TARGET.log
# and printed at its end. A part that runs longer than ZT_PART_LIMIT seconds (1,500) is stopped and has failed. Exit status 1 if
# any part failed.
set -u

[ $# -ge 1 ] || { echo "usage: test_all.sh LOG_DIR [CHECK...]" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/.." || exit
rm -rf "$1"
mkdir -p "$1"
logs=$(cd "$1" && pwd)
shift

# Said once, before anything is installed; then installed before parts run side by side, each of which asks for its own.
needs="interop man c++ valgrind cmake consumers pkg-config zstd packages lintian abi python torch go zig ggml model fuzz sanitizers platform-i686 platform-s390x"
# shellcheck disable=SC2086 # a list of words
sh tools/need.sh --plan $needs
for need in $needs; do sh tools/need.sh "$need" || true; done

# Parts with the longest time first, but for libs, whose libraries the others use.
parts="libs ${1-} test-rust test-platforms"
[ $# = 0 ] || shift
parts="$parts $* test-sanitizers fuzz-quick test-valgrind packaging/test test-c test-cmake test-models
bindings/python examples/ggml test-examples bindings/go bindings/julia bindings/zig test-dependencies"
export QUICK=1 # of test-platforms: i686 and s390x
start=$(date +%s)
# shellcheck disable=SC2086 # a list of words
printf '%s\n' $parts | xargs -P 2 -I PART sh tools/test_part.sh "$logs" PART

processor=$(sed -n 's/.*, \([0-9]*\) s of processor time.*/\1/p' "$logs"/*.result | awk '{ sum += $1 } END { print sum + 0 }')
echo "== summary, $(($(date +%s) - start)) s, $processor s of processor time"
failed=
for part in $parts; do
    result=$logs/$(echo "$part" | tr / -).result
    [ -s "$result" ] || echo "$part: FAILED, did not end" >"$result"
    cat "$result"
    # Also where the disk was too full for a result.
    { [ -s "$result" ] && ! grep -q FAILED "$result"; } || failed="$failed $part"
done
total=$(sh tools/count_tests.sh "$logs"/*.log) || failed="$failed count"
echo "tests: $total"
[ -z "$failed" ] || { echo "FAILED:$failed" >&2; exit 1; }
