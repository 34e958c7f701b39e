#!/bin/sh
# Builds the library for other platforms with the minimum Rust version, and runs its tests in the ways of the
# list:
#     sh tools/platforms/test.sh OUTPUT PLATFORM...      PLATFORM: a name in tools/platforms/list.txt
# OUTPUT/NAME.log has the output of each. make libs must have built this machine's library, for comparison.
# QUICK=1: without link-time optimisation, with one language and without Rust tests. RECORD=1: updates the
# rows of passing platforms in docs/platforms.md. A platform whose tools are not available is skipped with a
# message. Exit status 1 if one fails.
set -u

[ $# -ge 2 ] || { echo "usage: test.sh OUTPUT PLATFORM..." >&2; exit 2; }
cd "$(dirname "$0")/../.." || exit
mkdir -p "$1" || exit
PLATFORMS_OUT=$(cd "$1" && pwd)
PLATFORMS_RUST=$PLATFORMS_OUT/../debian-rust # the folder of tools/msrv.sh
export PLATFORMS_OUT PLATFORMS_RUST
shift

# record NAME HOW TARGET MINUTES
record() {
    [ "${QUICK-}" != 1 ] || set -- "$1" "$2, quick" "$3" "$4"
    sed "/^| $1 |/d" docs/platforms.md >"$OUT/page"
    echo "| $1 | $3 | $2 | $(sed 's/\t/ | /g' "$OUT/row") | $4 |" >>"$OUT/page"
    cat "$OUT/page" >docs/platforms.md
}

passed=0 failed=0 skipped=0

for name in "$@"; do
    line=$(grep "^$name	" tools/platforms/list.txt) || { echo "test.sh: tools/platforms/list.txt has no $name" >&2; exit 2; }
    IFS='	' read -r name _ how script target prefix architecture runner <<END
$line
END
    [ "$prefix" != - ] || prefix=
    [ "$runner" != - ] || runner=
    export NAME="$name" TARGET="$target" PREFIX_="$prefix" RUNNER="$runner" OUT="$PLATFORMS_OUT/$name"
    mkdir -p "$OUT"
    log=$PLATFORMS_OUT/$name.log
    start=$(date +%s)
    {
        sh tools/need.sh "platform-$name" && sh tools/debian_rust.sh "$PLATFORMS_RUST" "$architecture" &&
            sh "tools/platforms/$script.sh"
        echo $? >"$OUT/status"
    } >"$log" 2>&1
    seconds=$(($(date +%s) - start))
    case $(cat "$OUT/status") in
    0)
        passed=$((passed + 1))
        echo "ok $name in $seconds s: $(tr '\t' ',' <"$OUT/row")"
        [ "${RECORD-}" != 1 ] || record "$name" "$how" "$target" $(((seconds + 30) / 60))
        ;;
    3)
        skipped=$((skipped + 1))
        echo "platforms: skipped: $name: $(tail -n 1 "$log")"
        ;;
    *)
        failed=$((failed + 1))
        echo "FAILED $name in $seconds s; the end of $log:" >&2
        grep -E -A 8 '^FAILED|panicked|^error|DIFFER|^test .*FAILED$' "$log" | head -n 60 >&2
        tail -n 15 "$log" >&2
        ;;
    esac
done
echo "platforms: $passed passed, $failed failed"
[ "$failed" = 0 ]
