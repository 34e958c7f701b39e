#!/bin/sh
# Runs the C tests with a library built with sanitizers, and programs built with the same ones:
#     sh tools/sanitize.sh BUILD address [PROGRAM...]    AddressSanitizer, LeakSanitizer and UndefinedBehaviorSanitizer
#     sh tools/sanitize.sh BUILD thread [PROGRAM...]     ThreadSanitizer
#     sh tools/sanitize.sh BUILD rust                    the Rust tests under AddressSanitizer: minutes
# BUILD: a separate folder. PROGRAM: a name in c_tests/programs.txt; by default all, for `thread` those that
# use threads. Works with a stable compiler, with RUSTC_BOOTSTRAP for the flag. zstd inside the library is
# instrumented, too. There is one runtime in the process, because the library is linked statically.
set -eu

[ $# -ge 2 ] || { echo "usage: sanitize.sh BUILD address|thread|rust [PROGRAM...]" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
build=$1 sanitizer=$2
shift 2
target=$(rustc -vV | sed -n 's/^host: //p')
unix=$(echo "$target" | tr - _)
case $sanitizer in
rust)
    # Left out: limits of the address space, because the sanitizer uses terabytes; and programs that C links.
    # A panic's payload is leaked deliberately, because dropping it could panic again (src/capi/guard.rs).
    cd "$root"
    mkdir -p "$build"
    echo 'leak:std::panicking::panic_handler' >"$build/leaks-meant"
    env "CFLAGS_$unix=-fsanitize=address -fno-sanitize-address-use-after-scope" RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address \
        CARGO_PROFILE_DEV_OPT_LEVEL=1 CARGO_PROFILE_DEV_DEBUG=line-tables-only CARGO_TARGET_DIR="$build" \
        ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 LSAN_OPTIONS="suppressions=$build/leaks-meant:print_suppressions=0" \
        cargo test --locked --no-fail-fast --package ztensor-c --target "$target" -- \
        --skip fits_into_a_small_address_space --skip program_of_the_embedding_page
    exit
    ;;
address)
    # Faults are injected into functions of the C library, which the sanitizer replaces.
    programs=${*:-$(grep -v '^fault_' "$root/c_tests/programs.txt")}
    # gcc 12 marks a constant table of zstd_opt.c as out of scope.
    c_flags=-fno-sanitize-address-use-after-scope
    flags='-fsanitize=address,undefined -fno-sanitize-recover=undefined'
    export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1:allocator_may_return_null=1
    export UBSAN_OPTIONS=print_stacktrace=1
    ;;
thread)
    programs=${*:-threads cache cache_threads load load_ends load_files batch batch_strategy verify writer_stream write_batch open_source callbacks}
    flags=-fsanitize=thread
    # The standard library is not instrumented. Our lock tells the sanitizer about its order (src/lock.rs) in
    # place of std.
    allow="-Cunsafe-allow-abi-mismatch=sanitizer --cfg ztensor_tsan"
    # gcc's runtime only knows the functions of gcc; Rust's runtime knows those of both.
    runtime=$(ls "$(rustc --print target-libdir)"/librustc*_rt.tsan.a)
    link="-no-pie -Wl,--whole-archive $runtime -Wl,--no-whole-archive -rdynamic"
    export TSAN_OPTIONS=halt_on_error=1
    ;;
*) echo "sanitize.sh: unknown sanitizer $sanitizer" >&2; exit 2 ;;
esac
cd "$root"
mkdir -p "$build"
build=$(cd "$build" && pwd)
# zstd's own shifts and pointer arithmetic are not checked: only its memory accesses are. Neither zstd nor
# the library is optimised: that takes longer than it makes the tests shorter.
env "CFLAGS_$unix=-fsanitize=$sanitizer -g -O0 ${c_flags-}" RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=$sanitizer ${allow-}" CARGO_PROFILE_DEV_OPT_LEVEL=0 \
    CARGO_PROFILE_DEV_DEBUG=line-tables-only CARGO_TARGET_DIR="$build" \
    cargo rustc --quiet --locked --lib --package ztensor-c --target "$target" --crate-type staticlib

# Each program links an archive of 110 MB. gold takes half as long for that, if there is one.
gold=
! command -v ld.gold >/dev/null || gold=-fuse-ld=gold

# check NAME PROGRAM...: runs them, with output to a file.
check() {
    name=$1
    shift
    : >"$build/$name.log"
    [ $# -gt 0 ] || return 0
    CC=${CC:-gcc} CFLAGS="-g $flags" LDFLAGS="${link-$flags} $gold" LANGUAGES=c99 LIBRARIES=static ZT_STEP=50 ONLY="$*" \
        sh c_tests/run.sh "$build/$target/debug" "$build/c_tests-$name" >"$build/$name.log" 2>&1
}

# Every second program runs in a second process: with AddressSanitizer they take longer than with
# ThreadSanitizer, which runs at the same time.
one='' other=''
for program in $programs; do
    one="$one $program"
    swap=$one one=$other other=$swap
done
status=0
check one $one &
check other $other || status=1
wait $! || status=1
cat "$build/one.log" "$build/other.log" | sed "s/^c tests:/$sanitizer sanitizer:/"
exit "$status"
