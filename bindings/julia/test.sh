#!/bin/sh
# Tests the package, and its programs against the golden output:
#     sh bindings/julia/test.sh LIBDIR OUTDIR
# JULIA names a Julia (1.5 or later). Otherwise the one in PATH is used, or else Debian's from get.sh. Ends
# with: julia: N passed, M failed.
set -eu

[ $# -eq 2 ] || { echo "usage: test.sh LIBDIR OUTDIR" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
lib=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
golden=$here/../golden
julia=${JULIA:-$(command -v julia || sh "$here/get.sh" "$out/debian")} || { echo "julia: skipped: Julia not found"; exit 0; }
export LIBZTENSOR="$lib/libztensor.so.1" JULIA_DEPOT_PATH="$out/depot" JULIA_LOAD_PATH="$here/src:@stdlib"
run() { "$julia" --startup-file=no --depwarn=error "$@"; }

run "$here/test/runtests.jl" >"$out/log" 2>&1 || { cat "$out/log"; echo "julia: 0 passed, 1 failed"; exit 1; }
# Each test set ends with a table of two lines: the titles, and the counts.
passed=$(awk '/\| Pass/ { getline; passed += $(NF - 1) } END { print passed }' "$out/log")
run "$here/examples/write.jl" "$out/written.zt"
cmp "$out/written.zt" "$golden/written.zt"
run "$here/examples/list.jl" "$out/written.zt" | diff - "$golden/list.txt"
for name in weight half packed sparse; do run "$here/examples/read.jl" "$out/written.zt" $name; done | diff - "$golden/read.txt"
echo "julia: $((passed + 3)) passed, 0 failed"
