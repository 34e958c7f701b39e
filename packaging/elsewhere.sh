#!/bin/sh
# Builds the shipped files for other systems, with Debian's Rust and its standard library's source:
#     sh packaging/elsewhere.sh OUT SYSTEM      after build.sh OUT, which makes headers and pages
# SYSTEM: aarch64-linux-gnu (glibc 2.28), aarch64-linux-musl, x86_64-linux-musl or x86_64-windows. For Linux
# it makes OUT/ztensor-VERSION-SYSTEM.tar.xz, like this machine's tarball without libztensor_remote; on musl
# the program is static. For Windows it makes OUT/ztensor-VERSION-x86_64-windows.zip: bin/ztensor.dll,
# bin/zt.exe, lib/libztensor.dll.a, CMake package, headers. The files are also in
# OUT/elsewhere/ztensor-VERSION-SYSTEM. Exit status 3: something needed is not available; one line on standard
# error gives the reason.
set -eu

usage() { echo "usage: elsewhere.sh OUT SYSTEM" >&2; exit 2; }
[ $# -eq 2 ] || usage
system=$2 TARGET=${2%%-*}-unknown-${2#*-} PREFIX_='' RUNNER='' needs=platform-musl # zig
case $system in
x86_64-windows) needs=platform-windows TARGET=x86_64-pc-windows-gnu PREFIX_=x86_64-w64-mingw32- ;;
x86_64-linux-musl) ;;
aarch64-linux-gnu | aarch64-linux-musl) needs="$needs platform-aarch64" PREFIX_=aarch64-linux-gnu- ;;
*) usage ;;
esac
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
. packaging/environment.sh
mkdir -p "$out/elsewhere"
PLATFORMS_OUT=$out/elsewhere PLATFORMS_RUST=$tools/debian-rust
if [ "${ZTENSOR_QUICK-}" = 1 ]; then # the output of make test-platforms QUICK=1
    PLATFORMS_OUT=$tools/platforms QUICK=1
fi
OUT=$PLATFORMS_OUT/$system
for need in $needs; do
    sh tools/need.sh "$need" || exit 3
done
sh tools/debian_rust.sh "$PLATFORMS_RUST" source || exit 3
mkdir -p "$OUT"
. tools/platforms/rust.sh
std_from_source
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 315532800)}
name=ztensor-$version-$system
root=$out/elsewhere/$name
rm -rf "$root"
mkdir -p "$root/bin" "$root/lib"
cp -a "$out/root/include" "$out/root/share" "$root"
# that library is not included
rm -f "$root/include/ztensor_remote.h" "$root/share/doc/ztensor/sbom-remote.cdx.json"

# On glibc the unwinder is the system's, like in C++ programs. On musl, which may not have one, zig's is
# linked in.
LINK='' runtime='' program=zt
case $system in
*-linux-gnu)
    unwinder=$("${PREFIX_}gcc" -print-file-name=libgcc_s.so.1) runtime=libc/glibc/LICENSES
    zig_compiler "$system.2.28"
    ;;
*-linux-musl)
    unwinder=-lunwind runtime="libunwind/LICENSE.TXT libc/musl/COPYRIGHT"
    zig_compiler "$system"
    ;;
*-windows)
    program=zt.exe
    windows_objects
    ;;
esac
if [ -n "$runtime" ]; then
    LINK=$cc crate_types=staticlib
    build_library
    LD=${PREFIX_}ld OBJCOPY=${PREFIX_}objcopy NM=${PREFIX_}nm \
        sh cmake/localize_archive.sh --strip-debug "$built/libztensor.a" "$root/lib/libztensor.a"
    "${PREFIX_}strip" --strip-unneeded "$root/lib/libztensor.a"
    major=${version%%.*}
    "$cc" -shared -o "$root/lib/libztensor.so.$version" -Wl,--whole-archive "$root/lib/libztensor.a" -Wl,--no-whole-archive \
        "-Wl,-soname,libztensor.so.$major,--version-script=cmake/libztensor.map,--gc-sections,-z,relro,-z,now" "$unwinder"
    "${PREFIX_}strip" "$root/lib/libztensor.so.$version"
    ln -s "libztensor.so.$version" "$root/lib/libztensor.so.$major"
    ln -s "libztensor.so.$major" "$root/lib/libztensor.so"
    mkdir "$root/lib/cmake" "$root/lib/pkgconfig"
    cp -a "$out/root/lib/cmake/ztensor" "$root/lib/cmake"
    cp -a "$out/root/lib/pkgconfig/ztensor.pc" "$root/lib/pkgconfig"
else
    cmake_for_windows . "$OUT/cmake" -DZTENSOR_BUILD_STATIC=OFF -DCMAKE_INSTALL_PREFIX="$root"
    cmake --install "$OUT/cmake"
fi
# After the library was copied: building the program puts a library in the same place, without link-time
# optimisation.
cargo_for_target rustc --release --package ztensor-tools --bin zt
cp "$built/$program" "$root/bin"
"${PREFIX_}strip" "$root"/bin/*
target=$TARGET
# shellcheck disable=SC2086 # a list of words
{ TARGET="$TARGET" sh packaging/third_party_licences.sh ztensor-c ztensor-tools && { [ -z "$LINK" ] || zig_licences $runtime; }; } \
    >"$root/share/doc/ztensor/THIRD-PARTY-LICENSES"
sbom ztensor-c ztensor-tools >"$root/share/doc/ztensor/sbom.cdx.json"
no_paths_of_here "$root"

(cd "$root" && find . -type f ! -name SHA256SUMS | LC_ALL=C sort | xargs sha256sum >SHA256SUMS)
cd "$out/elsewhere"
case $system in
*-linux-*)
    file=$name.tar.xz
    tar --sort=name --owner=0 --group=0 --numeric-owner "--mtime=@$epoch" --mode=go-w -cf - "$name" | xz -6 >"$out/$file"
    ;;
*)
    file=$name.zip
    rm -f "$out/$file"
    # Reproducible bytes: times and order are fixed.
    find "$name" -exec touch -h -d "@$epoch" {} +
    find "$name" -type f | LC_ALL=C sort | TZ=UTC python3 -c '
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED) as packed:
    for line in sys.stdin:
        packed.write(line.rstrip("\n"))
' "$out/$file"
    ;;
esac
(cd "$out" && sha256sum "$file" >"$file.sha256")
echo "$out/$file: $(stat -c %s "$out/$file") bytes"
find "$root/lib" "$root/bin" -maxdepth 1 -type f -size +100k -exec stat -c '    %n %s bytes' {} + 2>/dev/null | sed "s|$root/||"
