#!/bin/sh
# Runs all parts of the tests, two at a time, continues after failures, and prints a summary:
#     sh tools/test_all.sh LOG_DIR [CHECK...]      CHECK: targets without test counts, such as lint; they run before the tests
# Each part is a target of the Makefile, or FOLDER/TARGET for the one in that folder. Its output is in
# LOG_DIR/TARGET.log and is printed at its end. A part that runs longer than ZT_PART_LIMIT seconds (2,400) is
# stopped and fails. Exit status 1 if any part failed.
set -u

[ $# -ge 1 ] || { echo "usage: test_all.sh LOG_DIR [CHECK...]" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/.." || exit
rm -rf "$1"
mkdir -p "$1"
logs=$(cd "$1" && pwd)
shift

# Printed once before anything is installed. Installs in one place, because each part would install its own, and while
# the first parts compile, which need none of it.
needs="interop man c++ valgrind cmake consumers pkg-config zstd packages lintian abi python torch go zig ggml model fuzz sanitizers platform-i686 platform-s390x"
# shellcheck disable=SC2086 # a list of words
sh tools/need.sh --plan $needs
(
    for need in $needs; do sh tools/need.sh "$need" || true; done >"$logs/installing" 2>&1
    touch "$logs/installed"
) &

# The longest parts first, except libs, because others use its libraries, and the checks.
parts="libs $* test-rust test-platforms test-sanitizers fuzz-quick test-valgrind packaging/test test-c test-cmake tests/models
bindings/python examples/ggml bindings/go bindings/julia bindings/zig"
export CARGO_INCREMENTAL=0 # nothing is compiled a second time
export QUICK=1 # test-platforms: only i686 and s390x; msrv: without remote/
start=$(date +%s)
# shellcheck disable=SC2086 # a list of words
printf '%s\n' $parts | xargs -P 2 -I PART sh tools/test_part.sh "$logs" PART

wait
cat "$logs/installing"
processor=$(sed -n 's/.*, \([0-9]*\) s of processor time.*/\1/p' "$logs"/*.result | awk '{ sum += $1 } END { print sum + 0 }')
echo "== summary, $(($(date +%s) - start)) s, $processor s of processor time"
failed=
for part in $parts; do
    result=$logs/$(echo "$part" | tr / -).result
    [ -s "$result" ] || echo "$part: FAILED, did not end" >"$result"
    cat "$result"
    # Also if the disk was too full to write a result.
    { [ -s "$result" ] && ! grep -q FAILED "$result"; } || failed="$failed $part"
done
total=$(sh tools/count_tests.sh "$logs"/*.log) || failed="$failed count"
echo "tests: $total"
[ -z "$failed" ] || { echo "FAILED:$failed" >&2; exit 1; }
