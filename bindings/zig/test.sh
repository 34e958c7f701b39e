#!/bin/sh
# Tests the module with the Zig of PyPI, and its programs against the golden output:
#     sh bindings/zig/test.sh LIBDIR OUTDIR
# ZIG names another Zig. Ends with: zig: N passed, M failed.
set -eu

[ $# -eq 2 ] || { echo "usage: test.sh LIBDIR OUTDIR" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
lib=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
golden=$here/../golden
ZIG=$(sh "$here/../../tools/zig.sh" 2>"$out/zig.log") || { echo "zig: skipped: $(cat "$out/zig.log")"; exit 0; }
export ZIG_LOCAL_CACHE_DIR="$out/cache" ZIG_GLOBAL_CACHE_DIR="$out/cache" LD_LIBRARY_PATH="$lib"
link="-lc -I $here/../../include -L $lib -lztensor"
"$ZIG" fmt --check "$here" || { echo "zig: 0 passed, 1 failed"; exit 1; }
cd "$here"
# shellcheck disable=SC2086 # a list of words
"$ZIG" test test.zig $link -femit-bin="$out/test" --test-no-exec
(cd "$here" && "$out/test") >"$out/log" 2>&1 || { cat "$out/log"; echo "zig: 0 passed, 1 failed"; exit 1; }
passed=$(sed -n 's/^All \([0-9]*\) tests passed.*/\1/p' "$out/log")
# shellcheck disable=SC2086
"$ZIG" build-exe programs.zig $link -femit-bin="$out/programs"
"$out/programs" write "$out/written.zt"
cmp "$out/written.zt" "$golden/written.zt"
"$out/programs" list "$out/written.zt" | diff - "$golden/list.txt"
for name in weight half packed sparse; do "$out/programs" read "$out/written.zt" $name; done | diff - "$golden/read.txt"
echo "zig: $((passed + 3)) passed, 0 failed"
