#!/bin/sh
# A stranger has a tarball and a compiler of another system, and no Rust: a program of 20 lines is linked and opens a model.
#     sh packaging/strangers.sh OUT      what of it is there: the tarballs of dist.sh and of elsewhere.sh OUT musl, windows
# Debian 11 (its compiler and C library, in a chroot), musl (Debian's musl-gcc), Windows (mingw-w64, run by wine).
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

echo "strangers: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
