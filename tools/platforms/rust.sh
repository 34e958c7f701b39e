# Sourced by the scripts of the platforms: cargo for $TARGET with Debian's Rust; $cc compiles C for it.
rust=$PLATFORMS_OUT/rust
cc=${cc-${PREFIX_}gcc} ar=${ar-${PREFIX_}ar}
lower=$(echo "$TARGET" | tr - _)
upper=$(echo "$lower" | tr '[:lower:]' '[:upper:]')
export RUSTC="$rust/rustc" RUSTDOC="$rust/rustdoc" CARGO_TARGET_DIR="$PLATFORMS_OUT/build"
export "CC_$lower=$cc" "AR_$lower=$ar" "CARGO_TARGET_${upper}_LINKER=$cc" "CARGO_TARGET_${upper}_RUNNER=$RUNNER"
built=$CARGO_TARGET_DIR/$TARGET/release
if [ "${QUICK-}" = 1 ]; then
    export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
fi

# build_library [CARGO_ARGUMENT...]
build_library() {
    ${CARGO:-cargo} rustc --lib --package ztensor-c --release --crate-type "${crate_types:-cdylib,staticlib}" --locked \
        --target "$TARGET" "$@"
}

# Reading, writing, corpus, round trips. Not those of this repository's files and of programs of this machine.
rust_tests="--lib --test corpus --test reading --test roundtrip --test writer --test append --test slices --test convert
    --test laid_out --test foreign --test copy --test edit --test load --test verify --test attributes --test models"

# test_rust [CARGO_ARGUMENT...]
test_rust() {
    # shellcheck disable=SC2086 # a list of words
    ${CARGO:-cargo} test --locked --package ztensor-c --target "$TARGET" --no-fail-fast "$@" $rust_tests
}

# same_as_here SHARED_OR_STATIC...: what read.c and write.c print there, with these arguments of the linker, and here is the
# same. Starts programs with $RUNNER. ${exe-}: how the names of programs end.
same_as_here() {
    find tests/data -type f | LC_ALL=C sort >"$OUT/paths"
    for program in read write; do
        cc -std=c99 -O1 -Wall -Wextra -pedantic -Iinclude -o "$OUT/$program.here" "tests/platforms/$program.c" \
            "$here_library/libztensor.a" -lgcc_s -lutil -lrt -lpthread -lm -ldl -lc || return 1
        # shellcheck disable=SC2086 # lists of words
        $cc -std=c99 -O1 -Wall -Wextra -pedantic ${CFLAGS-} -Iinclude -o "$OUT/$program${exe-}" "tests/platforms/$program.c" "$@" ||
            return 1
        scratch=
        [ $program = read ] || scratch=scratch.zt
        "$OUT/$program.here" . ${scratch:+"$OUT/$scratch"} <"$OUT/paths" >"$OUT/$program.here.txt" || return 1
        # shellcheck disable=SC2086 # a list of words
        $RUNNER "$OUT/$program${exe-}" . ${scratch:+"$OUT/$scratch"} <"$OUT/paths" >"$OUT/$program.txt" || return 1
        diff "$OUT/$program.here.txt" "$OUT/$program.txt" >"$OUT/$program.diff" ||
            { echo "$program.c prints other lines than here: DIFFER"; head -n 20 "$OUT/$program.diff"; return 1; }
    done
}

# row LIBRARY: C tests and Rust tests that passed, lines that are the same of read.c and of write.c, KiB of the library.
row() {
    c=$(sed -n 's/^c tests: \([0-9]*\) passed, 0 failed$/\1/p' "$OUT/c.log" 2>/dev/null | awk '{ sum += $1 } END { print sum ? sum : "-" }')
    rust=$(sh tools/count_tests.sh "$OUT/rust.log" 2>/dev/null | sed -n 's/^\([0-9]*\) passed, 0 failed.*/\1/p')
    lines=$(cat "$OUT/read.txt" 2>/dev/null | wc -l) files=$(cat "$OUT/write.txt" 2>/dev/null | wc -l)
    printf '%s\t%s\t%s\t%s\t%s\n' "$c" "${rust:--}" "$lines" "$files" "$(($(wc -c <"$1") / 1024))"
}
