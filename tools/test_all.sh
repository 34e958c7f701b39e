#!/bin/sh
# Runs every part of the tests, whatever becomes of the others, and sums up:
#     sh tools/test_all.sh LOG_DIR
# Each part is a target of the Makefile; its output is kept in LOG_DIR/TARGET.log. Exit status 1 if any part failed.
set -u

[ $# -eq 1 ] || { echo "usage: test_all.sh LOG_DIR" >&2; exit 2; }
logs=$1
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/.." || exit
rm -rf "$logs"
mkdir -p "$logs"

# Said once, before anything is installed; each part asks for its own.
sh tools/need.sh --plan interop man c++ valgrind cmake consumers pkg-config zstd packages lintian abi python torch go zig ggml model \
    fuzz sanitizers

failures='' summary=''
for part in check-dependencies test-rust test-compat test-c test-examples test-valgrind test-cmake test-packages test-python test-go test-zig test-julia test-ggml test-models fuzz-quick test-sanitizers; do
    echo "== $part"
    start=$(date +%s)
    # A pipe's status is that of tee, so make's own is written down.
    { ${MAKE:-make} --no-print-directory "$part" </dev/null 2>&1; echo $? >"$logs/$part.status"; } | tee "$logs/$part.log"
    seconds=$(($(date +%s) - start))
    counted=$(sh "$here/count_tests.sh" "$logs/$part.log") || failures="$failures $part"
    summary="$summary
$part: $counted in $seconds s"
    [ "$(cat "$logs/$part.status")" = 0 ] || failures="$failures $part"
done

echo "== summary$summary"
total=$(sh "$here/count_tests.sh" "$logs"/*.log) || failures="$failures count"
if [ -n "$failures" ]; then
    echo "tests: $total"
    echo "FAILED:$(printf '%s\n' $failures | sort -u | tr '\n' ' ')" >&2
    exit 1
fi
echo "tests: $total"
