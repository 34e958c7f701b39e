#!/bin/sh
# What is shipped for other platforms than this machine's, compiled here with Debian's Rust and its standard library's source:
#     sh packaging/elsewhere.sh OUT musl|windows      after build.sh OUT, of which it takes headers and pages
# musl: OUT/ztensor-VERSION-x86_64-linux-musl.tar.xz, as the tarball of this machine but for the program.
# windows: OUT/ztensor-VERSION-x86_64-windows.zip: bin/ztensor.dll, bin/zt.exe, lib/libztensor.dll.a, headers.
# Exit status 3: what it needs cannot be had; one line on standard error says why.
set -eu

[ $# -eq 2 ] || { echo "usage: elsewhere.sh OUT musl|windows" >&2; exit 2; }
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
. packaging/environment.sh
line=$(grep "^$2	" tools/platforms/list.txt)
IFS='	' read -r NAME _ _ _ TARGET PREFIX_ _ RUNNER <<END
$line
END
mkdir -p "$out/elsewhere"
PLATFORMS_OUT=$out/elsewhere PLATFORMS_RUST=$tools/debian-rust
if [ "${ZTENSOR_QUICK-}" = 1 ]; then # what QUICK=1 make test-platforms has built
    PLATFORMS_OUT=$tools/platforms QUICK=1
fi
OUT=$PLATFORMS_OUT/$NAME
sh tools/need.sh "platform-$NAME" && sh tools/debian_rust.sh "$PLATFORMS_RUST" source || exit 3
mkdir -p "$OUT"
. tools/platforms/rust.sh
std_from_source
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 315532800)}
name=ztensor-$version-x86_64-linux-musl
[ "$NAME" = musl ] || name=ztensor-$version-x86_64-windows
root=$out/elsewhere/$name
rm -rf "$root"
mkdir -p "$root/lib" "$root/share/doc"
cp -a "$out/root/include" "$root"
cp -a "$out/root/share/doc/ztensor" "$root/share/doc"

# notices CRATE...: licences and SBOM of what is linked for that target
notices() {
    target=$TARGET
    TARGET="$TARGET" sh packaging/third_party_licences.sh "$@" >"$root/share/doc/ztensor/THIRD-PARTY-LICENSES"
    sbom "$@" >"$root/share/doc/ztensor/sbom.cdx.json"
}

case $NAME in
musl)
    zig_compiler x86_64-linux-musl
    crate_types=staticlib
    build_library
    sh cmake/localize_archive.sh --strip-debug "$built/libztensor.a" "$root/lib/libztensor.a"
    strip --strip-unneeded "$root/lib/libztensor.a"
    major=${version%%.*}
    "$cc" -shared -o "$root/lib/libztensor.so.$version" -Wl,--whole-archive "$root/lib/libztensor.a" -Wl,--no-whole-archive \
        "-Wl,-soname,libztensor.so.$major,--version-script=cmake/libztensor.map,--gc-sections,-z,relro,-z,now" -lunwind
    strip "$root/lib/libztensor.so.$version"
    ln -s "libztensor.so.$version" "$root/lib/libztensor.so.$major"
    ln -s "libztensor.so.$major" "$root/lib/libztensor.so"
    cp -a "$out/root/lib/cmake" "$out/root/lib/pkgconfig" "$root/lib"
    LINK=$cc
    notices ztensor-c
    zig_licences libunwind/LICENSE.TXT libc/musl/COPYRIGHT >>"$root/share/doc/ztensor/THIRD-PARTY-LICENSES"
    ;;
windows)
    windows_objects
    build_library
    cargo_for_target rustc --release --package ztensor-tools --bin zt
    mkdir -p "$root/bin"
    cp "$built/ztensor.dll" "$built/zt.exe" "$root/bin"
    "${PREFIX_}strip" "$root"/bin/*
    cp "$built/libztensor.dll.a" "$root/lib"
    notices ztensor-c ztensor-tools
    ;;
esac

(cd "$root" && find . -type f ! -name SHA256SUMS | LC_ALL=C sort | xargs sha256sum >SHA256SUMS)
cd "$out/elsewhere"
if [ "$NAME" = musl ]; then
    tar --sort=name --owner=0 --group=0 --numeric-owner "--mtime=@$epoch" --mode=go-w -cf - "$name" | xz -6 >"$out/$name.tar.xz"
    file=$name.tar.xz
else
    file=$name.zip
    rm -f "$out/$file"
    # The same bytes again: times and order are set.
    find "$name" -exec touch -h -d "@$epoch" {} +
    find "$name" -type f | LC_ALL=C sort | TZ=UTC python3 -c '
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED) as packed:
    for line in sys.stdin:
        packed.write(line.rstrip("\n"))
' "$out/$file"
fi
(cd "$out" && sha256sum "$file" >"$file.sha256")
echo "$out/$file: $(stat -c %s "$out/$file") bytes"
find "$root/lib" "$root/bin" -maxdepth 1 -type f -size +100k -exec stat -c '    %n %s bytes' {} + 2>/dev/null | sed "s|$root/||"
