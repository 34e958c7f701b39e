#!/bin/sh
# Windows, with wine: runs the C tests that only need C and mingw's functions, Rust tests, zt.exe and CMake
# projects, and compares bytes with this machine. Run by test.sh.
set -eu
. tools/platforms/rust.sh
std_from_source
exe=.exe
windows_objects

# A user's project: with the installed library, moved elsewhere, and with the source. It comes before zt.exe,
# for which cargo compiles the library again.
cmake_projects() {
    if cmake_for_windows . "$OUT/cmake" -DCMAKE_SYSTEM_PROCESSOR=mips >"$OUT/configured" 2>&1 ||
        ! grep -q 'no Rust target is known for CMAKE_SYSTEM_PROCESSOR "mips"' "$OUT/configured"; then
        echo "an unknown processor was not rejected"
        return 1
    fi
    rm -rf "$OUT/installed" "$OUT/moved"
    cmake_for_windows . "$OUT/cmake" -DCMAKE_INSTALL_PREFIX="$OUT/installed" && cmake --install "$OUT/cmake" &&
        mv "$OUT/installed" "$OUT/moved" || return 1
    (cd "$OUT/moved" && find bin lib -type f | LC_ALL=C sort) >"$OUT/files"
    printf '%s\n' bin/ztensor.dll lib/cmake/ztensor/ztensor-config-version.cmake lib/cmake/ztensor/ztensor-config.cmake \
        lib/libztensor.a lib/libztensor.dll.a lib/pkgconfig/ztensor.pc | diff - "$OUT/files" || return 1
    if grep -rnF -e "$OUT" -e "$PWD" "$OUT/moved/lib/cmake" "$OUT/moved/lib/pkgconfig"; then return 1; fi
    for library in "CMAKE_PREFIX_PATH=$OUT/moved" "ZTENSOR_SOURCE=$PWD"; do
        cmake_for_windows tests/consumers/stranger "$OUT/stranger" "-DLINK=shared;static" "-D$library" || return 1
        for kind in shared static; do
            program=$OUT/stranger/of_$kind/$kind.exe wants=1
            [ $kind = shared ] || wants=0
            [ "$("${PREFIX_}objdump" -p "$program" | grep -c 'DLL Name: ztensor\.dll')" = $wants ] ||
                { echo "$program: not $kind"; return 1; }
            WINEPATH="Z:$OUT/dll_of_system" wine "$program" tests/data/v1.2/py-1.2.3-zstd.zt >"$OUT/stranger.txt" || return 1
            tr -d '\r' <"$OUT/stranger.txt" | grep -x -e 'f64@1: 1024 bytes' -e '14 objects' | tee "$OUT/lines"
            [ "$(wc -l <"$OUT/lines")" = 2 ] || { echo "the output is wrong:"; cat "$OUT/stranger.txt"; return 1; }
        done
    done
    echo "cmake: 4 programs passed, 0 failed"
}

status=0
build_library
wine_libraries "$built/ztensor.dll"
cmake_projects >"$OUT/cmake.log" 2>&1 || { echo "CMake: FAILED" && status=1; }
cargo_for_target rustc --release --package ztensor-tools --bin zt
mkdir -p "$OUT/c/lib"
cp "$built/libztensor.dll.a" "$OUT/c/lib/libztensor.dll.a"
${PREFIX_}ar rc "$OUT/c/lib/libdl.a" # an empty library: Windows does not need libdl
cat >"$OUT/run" <<'END'
#!/bin/sh
# The compiler adds the ending.
program=$1
shift
[ -f "$program" ] || program=$program.exe
wine "$program" "$@"
status=$?
case $program in */c/*) rm -f "$program" ;; esac
exit $status
END
chmod +x "$OUT/run"
RUNNER=$OUT/run
export RUNNER CC="$cc" NM="${PREFIX_}nm" CFLAGS="-g -D__USE_MINGW_ANSI_STDIO=1 -D_POSIX_C_SOURCE=200809L"
export ZT_TEST_DATA=tests/data
counted="c read written"
same_as_here "$built/libztensor.dll.a" || status=1
ONLY=$(c_tests_without 'sys/(wait|mman|resource|mount)\.h|mkfifo|mkdir\(|alarm\(|EBADF|"(fault_loop|failing_malloc)\.h"') \
    LANGUAGES=c99 LIBRARIES=shared sh c_tests/run.sh "$built" "$OUT/c" >>"$OUT/c.log" 2>&1 || status=1
if [ "${QUICK-}" != 1 ]; then
    test_rust >"$OUT/rust.log" 2>&1 || status=1
    counted="$counted rust"
fi
{
    $RUNNER "$built/zt.exe" verify tests/data/v1.2/py-1.2.3-digests.zt &&
        $RUNNER "$built/zt.exe" ls --json tests/data/v0.1/py-0.1.4-all-dtypes.zt &&
        $RUNNER "$built/zt.exe" convert tests/data/v0.1/py-0.1.4-all-dtypes.zt "$OUT/converted.zt" &&
        $RUNNER "$built/zt.exe" verify "$OUT/converted.zt" && rm "$OUT/converted.zt" && echo "zt: 4 passed, 0 failed"
} >"$OUT/zt.log" 2>&1 || { echo "zt.exe: FAILED" && status=1; }
cat "$OUT"/*.log
row "$built/ztensor.dll" $counted >"$OUT/row"
exit $status
