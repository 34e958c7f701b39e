#!/bin/sh
# A stranger has a tarball and a compiler of another system, and no Rust: a program of 20 lines is linked and opens a model.
#     sh packaging/strangers.sh OUT      what of it is there: the tarballs of dist.sh and of elsewhere.sh, packages for arm64, wheels
# Debian 11 (its compiler and C library, in a chroot), aarch64 (Debian's cross compiler, run by qemu), musl (Debian's musl-gcc),
# Windows (mingw-w64, run by wine).
# Ends with: strangers: N passed, M failed, K skipped.
set -u

[ $# -eq 1 ] || { echo "usage: strangers.sh OUT" >&2; exit 2; }
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/.." || exit
target=${CARGO_TARGET_DIR:-$PWD/target}
version=$(sed -n 's/^version = "\([0-9.]*\)".*/\1/p' Cargo.toml | head -n 1)
source=tests/consumers/stranger/stranger.c
model=tests/data/v1.2/py-1.2.3-zstd.zt
passed=0 failed=0 skipped=0
check() { # NAME COMMAND...
    name=$1
    shift
    (set -e; "$@") >"$out/strangers.log" 2>&1 # not in the condition: set -e would be ignored there
    case $? in
    0) passed=$((passed + 1)) && echo "ok $name" ;;
    3) skipped=$((skipped + 1)) && echo "strangers: skipped: $name: $(tail -n 1 "$out/strangers.log")" ;;
    *) failed=$((failed + 1)) && echo "FAILED $name" && tail -n 25 "$out/strangers.log" | sed 's/^/    /' ;;
    esac
}
there() { [ -f "$1" ] || { echo "there is no ${1##*/}"; exit 3; }; } # before anything is fetched or installed for it
unpacked() { # FILE FOLDER: in FOLDER, without the folder that all of it is in
    rm -rf "$2" "$2.all"
    mkdir -p "$2.all"
    case $1 in
    *.zip) python3 -m zipfile -e "$1" "$2.all" ;;
    *) tar -xJf "$1" -C "$2.all" ;;
    esac
    mv "$2.all"/* "$2"
    rmdir "$2.all"
    (cd "$2" && sha256sum --quiet -c SHA256SUMS)
}
opened() { grep -qx '[1-9][0-9]* objects' "$out/stranger.txt" && grep -q ': [1-9][0-9]* bytes$' "$out/stranger.txt"; }

debian_11() {
    tarball=$out/ztensor-$version-x86_64-linux-gnu.tar.xz
    there "$tarball"
    [ "$(id -u)" = 0 ] || { echo "only root has a chroot"; exit 3; }
    sh tools/debian_packages.sh bullseye "$target/debian11" gcc libc6-dev || exit 3
    root=$target/debian11/root
    unpacked "$tarball" "$root/opt/ztensor"
    cp "$source" "$model" "$root/opt/ztensor"
    file=/opt/ztensor/${model##*/}
    chroot "$root" /usr/bin/gcc --version
    chroot "$root" /usr/bin/gcc -o /opt/shared /opt/ztensor/stranger.c -I/opt/ztensor/include -L/opt/ztensor/lib -lztensor \
        -Wl,-rpath,/opt/ztensor/lib
    chroot "$root" /opt/shared "$file" >"$out/stranger.txt"
    opened
    chroot "$root" /usr/bin/gcc -o /opt/static /opt/ztensor/stranger.c -I/opt/ztensor/include /opt/ztensor/lib/libztensor.a \
        -lgcc_s -lpthread -ldl -lm
    chroot "$root" /opt/static "$file" >"$out/stranger.txt"
    opened
    chroot "$root" /opt/ztensor/bin/zt verify "$file"
}
check "Debian 11" debian_11

aarch64() {
    tarball=$out/ztensor-$version-aarch64-linux-gnu.tar.xz
    there "$tarball"
    sh tools/need.sh platform-aarch64 || exit 3
    prefix=$out/stranger-aarch64
    unpacked "$tarball" "$prefix"
    # Nothing newer than what is promised.
    aarch64-linux-gnu-objdump -T "$prefix/lib/libztensor.so" | sed -n 's/.*GLIBC_2[.]\([0-9]*\).*/\1/p' >"$out/glibc"
    awk '$1 > 28 { newer = 1 } END { exit !NR || newer }' "$out/glibc"
    aarch64-linux-gnu-readelf -d "$prefix/lib/libztensor.so" | grep -q 'NEEDED.*libgcc_s.so.1'
    aarch64-linux-gnu-gcc -o "$out/stranger" "$source" -I"$prefix/include" -L"$prefix/lib" -lztensor -Wl,-rpath,"$prefix/lib"
    qemu-aarch64 -L /usr/aarch64-linux-gnu "$out/stranger" "$model" >"$out/stranger.txt"
    opened
    aarch64-linux-gnu-gcc -o "$out/stranger" "$source" -I"$prefix/include" "$prefix/lib/libztensor.a" -lgcc_s -lpthread -ldl -lm
    qemu-aarch64 -L /usr/aarch64-linux-gnu "$out/stranger" "$model" >"$out/stranger.txt"
    opened
}
check "aarch64, by qemu" aarch64

arm64_debs() { # unpacked beside Debian's own libraries of that processor
    for package in libztensor0 libztensor-dev; do
        deb=$out/deb-arm64/${package}_$version-1_arm64.deb
        there "$deb"
        [ "$(dpkg-deb --field "$deb" Architecture)" = arm64 ]
    done
    sh tools/need.sh platform-aarch64 || exit 3
    prefix=$out/stranger-arm64
    rm -rf "$prefix"
    for deb in "$out"/deb-arm64/*.deb; do dpkg-deb --extract "$deb" "$prefix"; done
    dpkg-deb --info "$out/deb-arm64/libztensor0_$version-1_arm64.deb" symbols >"$out/symbols"
    [ "$(grep -c '^ zt_.*@ZTENSOR_' "$out/symbols")" = "$(grep -c . c_tests/abi/symbols.txt)" ]
    lib=$prefix/usr/lib/aarch64-linux-gnu
    [ "$(find "$prefix" -name 'libztensor*' ! -path "$lib/*" ! -path '*/share/doc/*')" = "" ]
    aarch64-linux-gnu-gcc -o "$out/stranger" "$source" -I"$prefix/usr/include" -L"$lib" -lztensor -Wl,-rpath,"$lib"
    qemu-aarch64 -L /usr/aarch64-linux-gnu "$out/stranger" "$model" >"$out/stranger.txt"
    opened
}
check "Debian packages for arm64, by qemu" arm64_debs

musl() {
    tarball=$out/ztensor-$version-x86_64-linux-musl.tar.xz
    there "$tarball"
    sh tools/need.sh stranger-musl || exit 3
    unpacked "$tarball" "$out/stranger-musl"
    prefix=$out/stranger-musl
    musl-gcc -o "$out/stranger" "$source" -I"$prefix/include" -L"$prefix/lib" -lztensor -Wl,-rpath,"$prefix/lib"
    "$out/stranger" "$model" >"$out/stranger.txt"
    opened
    musl-gcc -static -o "$out/stranger" "$source" -I"$prefix/include" "$prefix/lib/libztensor.a" -lgcc_eh
    "$out/stranger" "$model" >"$out/stranger.txt"
    opened
}
check "musl" musl

windows() {
    zip=$out/ztensor-$version-x86_64-windows.zip
    there "$zip"
    sh tools/need.sh platform-windows || exit 3
    unpacked "$zip" "$out/stranger-windows"
    prefix=$out/stranger-windows
    x86_64-w64-mingw32-gcc -o "$prefix/bin/stranger.exe" "$source" -I"$prefix/include" -L"$prefix/lib" -lztensor
    x86_64-w64-mingw32-gcc -shared -o "$prefix/bin/bcryptprimitives.dll" tests/platforms/bcryptprimitives.c -ladvapi32 # not in wine 8
    export WINEPREFIX="$out/wine" WINEDEBUG=-all DISPLAY=
    wine "$prefix/bin/stranger.exe" "$model" | tr -d '\r' >"$out/stranger.txt"
    opened
    wine "$prefix/bin/zt.exe" verify "$model"
}
check "Windows, by wine" windows

wheels() { # for other systems: the library of the tarball, notices, and the tag, which auditwheel holds against what it needs
    file=$(ls "$out/wheel-$1"/libztensor-*.whl 2>/dev/null) || { echo "there is no wheel for $1"; exit 3; }
    unpacked=$out/stranger-wheel
    rm -rf "$unpacked"
    python3 -m zipfile -e "$file" "$unpacked"
    cmp "$unpacked/libztensor/libztensor.so.0" "$out/elsewhere/ztensor-$version-$1/lib/libztensor.so.0"
    grep -qx "Tag: py3-none-$2" "$unpacked"/*.dist-info/WHEEL
    grep -q '==== zstd-sys' "$unpacked"/*.dist-info/licenses/THIRD-PARTY-LICENSES
    [ -s "$(ls "$unpacked"/*.dist-info/sboms/ztensor-c.cdx.json)" ]
    PYTHONPATH=$out/python-tools PYTHONDONTWRITEBYTECODE=1 python3 packaging/wheel_of.py "$1" show "$file" | tr '\n' ' ' | tee "$out/wheel.txt"
    grep -q "following platform tag: \"$2\"" "$out/wheel.txt"
}
check "wheel, manylinux_2_28_aarch64" wheels aarch64-linux-gnu manylinux_2_28_aarch64

echo "strangers: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
