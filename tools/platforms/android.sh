#!/bin/sh
# Android: CMake builds both libraries. A replacement for the NDK's toolchain file is used, because the NDK is
# not installed: C is compiled and linked with musl's headers and libraries. Checks that the libraries export
# exactly the functions of the list. Run by test.sh.
set -eu
. tools/platforms/rust.sh
std_from_source
zig_compiler aarch64-linux-musl
[ "${QUICK-}" != 1 ] || export CARGO_PROFILE_RELEASE_OPT_LEVEL=0 # nothing is run

# configure ABI [CMAKE_ARGUMENT...]
configure() {
    abi=$1
    shift
    rm -rf "$OUT/cmake"
    CC="$cc" AR="$ar" cmake -S . -B "$OUT/cmake" -DCMAKE_TOOLCHAIN_FILE="$PWD/tests/platforms/android.toolchain.cmake" \
        -DANDROID_ABI="$abi" -DZTENSOR_BUILD_TESTS=OFF -DCMAKE_INSTALL_PREFIX="$OUT/installed" "-DZTENSOR_CARGO=$cargo" \
        "-DZTENSOR_CARGO_FLAGS=--locked;$std" "$@"
}
# has ABI TARGET: checks that cargo builds for that target
has() {
    configure "$1" >"$OUT/configured" 2>&1 || { cat "$OUT/configured"; return 1; }
    grep -q "rustc --lib .* --target $2 " "$OUT/cmake/CMakeFiles/ztensor_cargo.dir/build.make" ||
        { echo "FAILED: $1 does not build for $2"; return 1; }
}
has armeabi-v7a armv7-linux-androideabi
has x86 i686-linux-android
has x86_64 x86_64-linux-android
has riscv64 riscv64-linux-android
if configure mips >"$OUT/configured" 2>&1 || ! grep -q 'no Rust target is known for ANDROID_ABI "mips"' "$OUT/configured"; then
    echo "FAILED: an unknown ABI was not rejected"
    exit 1
fi
has arm64-v8a "$TARGET"
rm -rf "$OUT/installed"
cmake --build "$OUT/cmake"
cmake --install "$OUT/cmake"

status=0
# symbols_of OPTION LIBRARY
symbols_of() {
    nm "$1" --defined-only "$OUT/installed/lib/$2" 2>/dev/null | sed -n 's/^[0-9a-f]* T \(zt_[^@]*\).*$/\1/p' | LC_ALL=C sort >"$OUT/symbols"
    diff c_tests/abi/symbols.txt "$OUT/symbols" || { echo "FAILED: the functions of $2 differ from symbols.txt"; status=1; }
}
symbols_of -g libztensor.a
symbols_of -D libztensor.so
others=$(nm -D --defined-only "$OUT/installed/lib/libztensor.so" | grep -v ' T zt_\| A ZTENSOR_' || true)
[ -z "$others" ] || { echo "FAILED: libztensor.so defines other symbols, too:" && echo "$others" && status=1; }
readelf -d "$OUT/installed/lib/libztensor.so" | grep -q 'SONAME.*\[libztensor\.so\]' || { echo "FAILED: the SONAME of libztensor.so is wrong" && status=1; }
[ "$(find "$OUT/installed/lib" -name 'libztensor*' | wc -l)" = 2 ] || { echo "FAILED: the number of libraries is not two" && status=1; }
row "$OUT/installed/lib/libztensor.so" >"$OUT/row"
exit $status
