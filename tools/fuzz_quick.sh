#!/bin/sh
# Runs every fuzz target on a fixed number of inputs: the committed seeds and those of tests/data, then
# mutations of them from a fixed seed, with 512 MiB and a time limit for each input. Needs neither cargo-fuzz
# nor a nightly compiler:
#     sh tools/fuzz_quick.sh BUILD [RUNS]
# Ends with one line: fuzz: N passed, M failed.
set -eu

[ $# -ge 1 ] || { echo "usage: fuzz_quick.sh BUILD [RUNS]" >&2; exit 2; }
mkdir -p "$1"
build=$(cd "$1" && pwd)
runs=${2:-3000}
cd "$(dirname "$0")/../fuzz"
target=$(rustc -vV | sed -n 's/^host: //p')
# C is compiled with -O1, too: libzstd's own -O3 takes twice as long.
# The flags of cargo-fuzz without the sanitizer: coverage for libFuzzer, and checks for arithmetic and
# debugging. Low optimisation, because a better compilation takes longer than these runs.
coverage='-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=16'
CFLAGS=-O1 RUSTFLAGS="--cfg fuzzing -Cdebug-assertions -Coverflow-checks $(echo $coverage)" CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=1 \
    CARGO_TARGET_DIR="$build" cargo build --quiet --release --bins --locked --target "$target"

passed=0 failed=0
TMPDIR=$build/tmp
export TMPDIR
for name in $(ls fuzz_targets | sed -n 's/\.rs$//p'); do
    rm -rf "$build/corpus/$name" "$TMPDIR"
    mkdir -p "$build/corpus/$name" "$build/artifacts/$name" "$TMPDIR"
    if [ -f "seeds/$name.tar.xz" ]; then tar -xJf "seeds/$name.tar.xz" -C "$build/corpus/$name"; fi
    set --
    if [ -f "dictionaries/$name.dict" ]; then set -- "-dict=dictionaries/$name.dict"; fi
    if "$build/$target/release/$name" "$@" -runs="$runs" -seed=1 -max_len=4096 -rss_limit_mb=512 -malloc_limit_mb=256 \
        -timeout=20 -artifact_prefix="$build/artifacts/$name/" "$build/corpus/$name" >"$build/$name.log" 2>&1; then
        passed=$((passed + 1))
        sed -n "s/^#\([0-9]*\)\tDONE *\(cov: [0-9]*\).*/ok $name: \1 runs, \2/p" "$build/$name.log"
    else
        failed=$((failed + 1))
        echo "FAILED fuzz target $name" >&2
        tail -n 40 "$build/$name.log" >&2
    fi
done
echo "fuzz: $passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
