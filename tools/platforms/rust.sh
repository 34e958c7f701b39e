# Sourced by the scripts of the platforms: runs cargo for $TARGET with Debian's Rust; $cc compiles C for it.
rust=$PLATFORMS_RUST
cargo=${CARGO:-cargo} std=
cc=${cc-${PREFIX_}gcc} ar=${ar-${PREFIX_}ar}
lower=$(echo "$TARGET" | tr - _)
upper=$(echo "$lower" | tr '[:lower:]' '[:upper:]')
here_library=$PLATFORMS_OUT/../lib
export RUSTC="$rust/rustc" RUSTDOC="$rust/rustdoc" CARGO_TARGET_DIR="$PLATFORMS_OUT/build"
built=$CARGO_TARGET_DIR/$TARGET/release
if [ "${QUICK-}" = 1 ]; then
    export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_DEBUG=0
    export CARGO_PROFILE_RELEASE_OPT_LEVEL=1 TARGET_CFLAGS=-O1
fi
rm -f "$OUT"/*.log "$OUT"/*.txt "$OUT/row"

# Also compiles the standard library, with the crates for Rust tests: Debian does not have it for this target.
std_from_source() {
    cargo=$rust/cargo std=-Zbuild-std=std,panic_unwind,test
    export RUSTC_BOOTSTRAP=1
}

# zig_compiler TARGET: sets cc, cxx and ar. The wrapper drops arguments that cargo passes for other linkers,
# and replaces names of the target and the C library. $unwinder: the replacement for gcc's unwinder; otherwise
# zig's is linked in.
zig_compiler() {
    zig=$(CARGO_TARGET_DIR="${PLATFORMS_RUST%/*}" sh tools/zig.sh) || exit
    cat >"$OUT/cc" <<END
#!/bin/sh
export ZIG_LOCAL_CACHE_DIR='$PLATFORMS_OUT/zig-cache' ZIG_GLOBAL_CACHE_DIR='$PLATFORMS_OUT/zig-cache'
is_value=no
for word; do
    shift
    case \$word in
    -arch) is_value=yes; continue ;;
    crt*.o | rcrt1.o | -nostartfiles | -nodefaultlibs) continue ;;
    -static-pie) word=-static ;;
    -march=armv8-a+crypto) word=-Wa,\$word ;; # of sha2-asm: zig uses other names, and its assembler this one
    -lgcc_s) word='${unwinder:--lgcc_s}' ;;
    --target=* | -mmacosx-version-min=* | -Wl,-exported_symbols_list | -Wl,*/list | -Wl,-dead_strip | -liconv) continue ;;
    esac
    [ \$is_value = no ] || { is_value=no; continue; }
    set -- "\$@" "\$word"
done
exec '$zig' "\${0##*/}" -target $1 "\$@"
END
    printf '#!/bin/sh\nexec "%s" ar "$@"\n' "$zig" >"$OUT/ar"
    chmod +x "$OUT/cc" "$OUT/ar"
    ln -f "$OUT/cc" "$OUT/c++"
    cc=$OUT/cc cxx=$OUT/c++ ar=$OUT/ar
}

# Two objects that Rust links into every program for Windows, which Debian has not compiled. The compiler has
# the name that CMake uses, because cargo compiles everything again for a different name.
windows_objects() {
    cc=$(command -v "$cc") ar=$(command -v "$ar")
    objects=$("$RUSTC" --print sysroot)/lib/rustlib/$TARGET/lib
    mkdir -p "$objects"
    for object in rsbegin rsend; do
        [ -f "$objects/$object.o" ] || "$RUSTC" --target "$TARGET" --emit=obj -o "$objects/$object.o" \
            "$(dirname "$objects")/../src/rust/library/rtstartup/$object.rs"
    done
}

# wine_libraries DLL: the folders where wine searches libraries: this one and the compiler's. Before version 9
# it has no bcryptprimitives.dll, so that is in a separate folder.
wine_libraries() {
    mkdir -p "$OUT/dll" "$OUT/dll_of_system"
    for name in libwinpthread-1.dll libgcc_s_seh-1.dll; do
        cp "$($cc -print-file-name=$name)" "$OUT/dll"
    done
    cp "$1" "$OUT/dll"
    $cc -shared -o "$OUT/dll_of_system/bcryptprimitives.dll" tests/platforms/bcryptprimitives.c -ladvapi32
    export WINEPREFIX="$OUT/wine" WINEDEBUG=-all WINEPATH="Z:$OUT/dll;Z:$OUT/dll_of_system" DISPLAY=
}

# cmake_for_windows SOURCE BUILD [CMAKE_ARGUMENT...]: configures and builds like a user of mingw, with a
# toolchain file.
cmake_for_windows() {
    source=$1 build=$2
    shift 2
    rm -rf "$build"
    cmake -S "$source" -B "$build" -DCMAKE_TOOLCHAIN_FILE="$PWD/tests/platforms/mingw.toolchain.cmake" "-DZTENSOR_CARGO=$cargo" \
        "-DZTENSOR_CARGO_FLAGS=--locked;$std" "$@" && cmake --build "$build"
}

# cargo_for_target COMMAND [ARGUMENT...]
cargo_for_target() {
    command=$1
    shift
    env "CC_$lower=$cc" "AR_$lower=$ar" "CARGO_TARGET_${upper}_LINKER=$cc" ${RUNNER:+"CARGO_TARGET_${upper}_RUNNER=$RUNNER"} \
        "$cargo" "$command" --locked --target "$TARGET" $std "$@"
}

# build_library [CARGO_ARGUMENT...]
build_library() {
    cargo_for_target rustc --lib --package ztensor-c --release --crate-type "${crate_types:-cdylib,staticlib}" "$@"
}

# Reading, writing, corpus, round trips. Leaves out tests of this repository's files and of this machine's
# programs.
rust_crates="--test read --test write --test convert --test hostile --test formats"
rust_modules="append attributes convert copy corpus edit foreign hostile archive_arrays load models reading roundtrip slices v2_corpus
    v2_shards verify writer written_ztensor_2"

# test_rust [CARGO_ARGUMENT...]
test_rust() {
    cargo_for_target test --package ztensor-c --no-fail-fast "$@" --lib || return 1
    for module in $rust_modules; do
        grep -qx "mod $module;" tests/*/main.rs || { echo "no tests are in a module $module"; return 1; }
    done
    # shellcheck disable=SC2086,SC2046 # lists of words
    cargo_for_target test --package ztensor-c --no-fail-fast "$@" $rust_crates -- $(printf '%s:: ' $rust_modules)
}

# c_tests_without REGULAR-EXPRESSION: the programs of c_tests that do not match.
c_tests_without() {
    for program in $(cat c_tests/programs.txt); do
        grep -qE "$1" "c_tests/$program.c" || echo "$program"
    done
}

# same_as_here SHARED_OR_STATIC...: compares the output of read.c, write.c and blocks.c there and here; the
# arguments are the linker's. Starts programs with $RUNNER. ${exe-}: the extension of programs.
same_as_here() {
    # Left out in a quick run: decompression bombs take an emulator minutes.
    find tests/data -type f ${QUICK:+! -name "*-bomb*" ! -name "*-1000-to-1*"} | LC_ALL=C sort >"$OUT/paths"
    for program in read write blocks; do
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
            { echo "$program.c prints different lines than here: DIFFER"; head -n 20 "$OUT/$program.diff"; return 1; }
        [ -s "$OUT/$program.txt" ] || return 1
        ! grep -m 20 DIFFER "$OUT/$program.txt" || return 1 # differences between the ways of reading, in both
    done
}

# row LIBRARY COUNT...: the number of C tests and Rust tests that passed, of equal lines of read.c and
# write.c, and the library's KiB. COUNT: from "c rust read written", or linked; each must be above 0.
row() {
    library=$1
    shift
    c=$(sed -n 's/^c tests: \([0-9]*\) passed, 0 failed$/\1/p' "$OUT/c.log" 2>/dev/null | awk '{ sum += $1 } END { print sum ? sum : "-" }')
    rust=$(sh tools/count_tests.sh "$OUT/rust.log" 2>/dev/null | sed -n 's/^\([0-9]*\) passed, 0 failed.*/\1/p')
    read=$(cat "$OUT/read.txt" 2>/dev/null | wc -l) written=$(cat "$OUT/write.txt" 2>/dev/null | wc -l)
    [ "$read" != 0 ] || read=-
    [ "$written" != 0 ] || written=-
    for count; do
        eval "case \${$count:--} in - | 0) false ;; esac" || { echo "FAILED: no test of $count passed" >&2; return 1; }
    done
    printf '%s\t%s\t%s\t%s\t%s\n' "${linked:-$c}" "${rust:--}" "$read" "$written" "$(($(wc -c <"$library") / 1024))"
}
