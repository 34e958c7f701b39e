#!/bin/sh
# Tests the packages like a user with a compiler of another system and without Rust: a program of 20 lines is
# linked and opens a model.
#     sh packaging/strangers.sh OUT      tests what is in OUT: tarballs of dist.sh and elsewhere.sh, packages for arm64, wheels
# Debian 11 (its compiler and C library, in a chroot), aarch64 (Debian's cross compiler, with qemu), musl
# (Debian's, for both processors), Windows (mingw-w64, with wine).
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
    (set -e; "$@") >"$out/strangers.log" 2>&1 # not in the condition, where the shell ignores set -e
    case $? in
    0) passed=$((passed + 1)) && echo "ok $name" ;;
    3) skipped=$((skipped + 1)) && echo "strangers: skipped: $name: $(tail -n 1 "$out/strangers.log")" ;;
    *) failed=$((failed + 1)) && echo "FAILED $name" && tail -n 25 "$out/strangers.log" | sed 's/^/    /' ;;
    esac
}
# before anything is fetched or installed for it
there() { [ -f "$1" ] || { echo "${1##*/} is missing"; exit 3; }; }
unpacked() { # FILE FOLDER: unpacks to FOLDER, without the archive's top folder
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
# stranger_of SYSTEM: sets cc, a compiler for it; run, which starts its programs; and static, the libraries
# for static linking.
stranger_of() {
    cc=aarch64-linux-gnu-gcc run="qemu-aarch64 -L /usr/aarch64-linux-gnu" static="-lgcc_s -lpthread -ldl -lm"
    case $1 in
    aarch64-*) sh tools/need.sh platform-aarch64 || exit 3 ;;
    x86_64-linux-musl) cc=musl-gcc run='' ;;
    x86_64-windows)
        sh tools/need.sh platform-windows || exit 3
        cc=x86_64-w64-mingw32-gcc run=wine
        export WINEPREFIX="$out/wine" WINEDEBUG=-all DISPLAY=
        ;;
    esac
    case $1 in
    *-musl)
        sh tools/need.sh stranger-musl || exit 3
        # Debian's unwinder calls this function of glibc. If it fails, it uses the functions of every C
        # library.
        echo 'int _dl_find_object(void *where, void *found) { return (void)where, (void)found, -1; }' >"$out/find_object.c"
        static="-static $out/find_object.c -lgcc_eh"
        ;;
    esac
    [ "$1" = aarch64-linux-musl ] || return 0
    # Debian's C library for that processor, and its cross compiler configured for it like musl-gcc.
    ARCHITECTURE=arm64 sh tools/debian_packages.sh bookworm "$target/musl-arm64" musl-dev || exit 3
    musl=$target/musl-arm64/root
    # where it is installed, /lib is /usr/lib
    ln -sf "$musl/lib/aarch64-linux-musl/libc.so" "$musl/usr/lib/aarch64-linux-musl"
    sed "s|/usr/|$musl/usr/|g; s|x86_64|aarch64|g" /usr/lib/x86_64-linux-musl/musl-gcc.specs >"$out/musl-gcc.specs"
    cc="$cc -specs=$out/musl-gcc.specs" run="qemu-aarch64 -L $musl"
}
opened() { grep -qx '[1-9][0-9]* objects' "$out/stranger.txt" && grep -q ': [1-9][0-9]* bytes$' "$out/stranger.txt"; }

debian_11() {
    tarball=$out/ztensor-$version-x86_64-linux-gnu.tar.xz
    there "$tarball"
    [ "$(id -u)" = 0 ] || { echo "only root can use chroot"; exit 3; }
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

program_works() { # PROGRAM: its output for the model equals this machine's
    [ "$($run "$1" --version | tr -d '\r')" = "zt $version" ]
    "$out/root/bin/zt" ls "$model" >"$out/zt.txt"
    $run "$1" ls "$model" | tr -d '\r' | diff "$out/zt.txt" -
    $run "$1" verify "$model"
}
noticed() { # FOLDER: the program's manual and completions, and its crates with their licences
    for word in clap zstd-sys; do
        grep -q "^==== $word " "$1/doc/ztensor/THIRD-PARTY-LICENSES"
        grep -q "\"name\": \"$word\"" "$1/doc/ztensor/sbom.cdx.json"
    done
    for file in man/man1/zt.1 bash-completion/completions/zt fish/vendor_completions.d/zt.fish zsh/site-functions/_zt; do
        [ -s "$1/$file" ]
    done
}
linux() { # SYSTEM
    tarball=$out/ztensor-$version-$1.tar.xz
    there "$tarball"
    stranger_of "$1"
    prefix=$out/stranger-$1
    unpacked "$tarball" "$prefix"
    case $1 in
    *-gnu) # no symbol newer than promised
        aarch64-linux-gnu-objdump -T "$prefix/lib/libztensor.so" "$prefix/bin/zt" | sed -n 's/.*GLIBC_2[.]\([0-9]*\).*/\1/p' >"$out/glibc"
        awk '$1 > 28 { newer = 1 } END { exit !NR || newer }' "$out/glibc"
        for file in lib/libztensor.so bin/zt; do readelf -d "$prefix/$file" | grep -q 'NEEDED.*libgcc_s.so.1'; done
        ;;
    esac
    $cc -o "$out/stranger" "$source" -I"$prefix/include" -L"$prefix/lib" -lztensor -Wl,-rpath,"$prefix/lib"
    $run "$out/stranger" "$model" >"$out/stranger.txt"
    opened
    # shellcheck disable=SC2086 # a list of words
    $cc -o "$out/stranger" "$source" -I"$prefix/include" "$prefix/lib/libztensor.a" $static
    $run "$out/stranger" "$model" >"$out/stranger.txt"
    opened
    program_works "$prefix/bin/zt"
    noticed "$prefix/share"
}
check "aarch64, by qemu" linux aarch64-linux-gnu
check "aarch64 with musl, by qemu" linux aarch64-linux-musl
check "musl" linux x86_64-linux-musl

arm64_debs() { # unpacked beside Debian's own libraries for that processor
    there "$out/deb-arm64/libztensor0_$version-1_arm64.deb"
    for package in libztensor1 libztensor-dev ztensor-tools; do
        [ "$(dpkg-deb --field "$out/deb-arm64/${package}_$version-1_arm64.deb" Architecture)" = arm64 ]
    done
    stranger_of aarch64-linux-gnu
    prefix=$out/stranger-arm64
    rm -rf "$prefix"
    for deb in "$out"/deb-arm64/*.deb; do dpkg-deb --extract "$deb" "$prefix"; done
    dpkg-deb --info "$out/deb-arm64/libztensor0_$version-1_arm64.deb" symbols >"$out/symbols"
    [ "$(grep -c '^ zt_.*@ZTENSOR_' "$out/symbols")" = "$(grep -c . c_tests/abi/symbols.txt)" ]
    lib=$prefix/usr/lib/aarch64-linux-gnu
    [ "$(find "$prefix" -name 'libztensor*' ! -path "$lib/*" ! -path '*/share/doc/*')" = "" ]
    $cc -o "$out/stranger" "$source" -I"$prefix/usr/include" -L"$lib" -lztensor -Wl,-rpath,"$lib"
    $run "$out/stranger" "$model" >"$out/stranger.txt"
    opened
    program_works "$prefix/usr/bin/zt"
    [ -s "$prefix/usr/share/man/man1/zt.1.gz" ]
    zcat "$prefix/usr/share/doc/ztensor-tools/THIRD-PARTY-LICENSES.gz" | grep -q '^==== clap '
}
check "Debian packages for arm64, by qemu" arm64_debs

windows() {
    zip=$out/ztensor-$version-x86_64-windows.zip
    there "$zip"
    stranger_of x86_64-windows
    unpacked "$zip" "$out/stranger-windows"
    prefix=$out/stranger-windows
    $cc -o "$prefix/bin/stranger.exe" "$source" -I"$prefix/include" -L"$prefix/lib" -lztensor
    # wine 8 does not have it
    $cc -shared -o "$prefix/bin/bcryptprimitives.dll" tests/platforms/bcryptprimitives.c -ladvapi32
    $run "$prefix/bin/stranger.exe" "$model" | tr -d '\r' >"$out/stranger.txt"
    opened
    rm -rf "$out/stranger-cmake"
    cmake -S tests/consumers/stranger -B "$out/stranger-cmake" -DLINK=shared "-DCMAKE_PREFIX_PATH=$prefix" \
        -DCMAKE_TOOLCHAIN_FILE="$PWD/tests/platforms/mingw.toolchain.cmake"
    cmake --build "$out/stranger-cmake"
    cp "$prefix/bin/bcryptprimitives.dll" "$out/stranger-cmake/of_shared"
    $run "$out/stranger-cmake/of_shared/shared.exe" "$model" | tr -d '\r' >"$out/stranger.txt"
    opened
    program_works "$prefix/bin/zt.exe"
    noticed "$prefix/share"
}
check "Windows, by wine" windows

wheels() { # for other systems: the tarball's library, notices, and the tag, which auditwheel checks
    file=$(ls "$out/wheel-$1"/libztensor-*.whl 2>/dev/null) || { echo "the wheel for $1 is missing"; exit 3; }
    unpacked=$out/stranger-wheel
    rm -rf "$unpacked"
    python3 -m zipfile -e "$file" "$unpacked"
    library=$unpacked/libztensor/libztensor.so.1
    tarballs=$out/elsewhere/ztensor-$version-$1/lib/libztensor.so.1
    case $1 in
    *-musl) # except the name of the C library, which wheels spell differently
        readelf -d "$library" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -qx "libc.musl-${1%%-*}.so.1"
        readelf -x .text "$tarballs" >"$out/text"
        grep -q 0x "$out/text"
        readelf -x .text "$library" | cmp - "$out/text"
        ;;
    *) cmp "$library" "$tarballs" ;;
    esac
    grep -qx "Tag: py3-none-$2" "$unpacked"/*.dist-info/WHEEL
    grep -q '==== zstd-sys' "$unpacked"/*.dist-info/licenses/THIRD-PARTY-LICENSES
    [ -s "$(ls "$unpacked"/*.dist-info/sboms/ztensor-c.cdx.json)" ]
    PYTHONPATH=$out/python-tools PYTHONDONTWRITEBYTECODE=1 python3 packaging/wheel_of.py "$1" show "$file" | tr '\n' ' ' | tee "$out/wheel.txt"
    grep -q "following platform tag: \"$2\"" "$out/wheel.txt"
}
for one in aarch64-linux-gnu:manylinux_2_28_aarch64 aarch64-linux-musl:musllinux_1_2_aarch64 x86_64-linux-musl:musllinux_1_2_x86_64; do
    check "wheel, ${one#*:}" wheels "${one%:*}" "${one#*:}"
done

python_for_musl() { # Debian does not have one
    sh tools/need.sh stranger-musl || exit 3
    python=$(sh tools/musl_python.sh "$target/musl-python") || exit 3
}
python_for_aarch64() {
    sh tools/need.sh platform-aarch64 || exit 3
    ARCHITECTURE=arm64 sh tools/debian_packages.sh bookworm "$target/python-arm64" python3 || exit 3
    python="qemu-aarch64 -L $target/python-arm64/root $target/python-arm64/root/usr/bin/python3"
}
loaded() { # SYSTEM TAG FINDER: loads it in a Python that accepts wheels with that tag; FINDER sets $python
    file=$(ls "$out/wheel-$1"/libztensor-*.whl 2>/dev/null) || { echo "the wheel for $1 is missing"; exit 3; }
    "$3"
    unpacked=$out/stranger-wheel
    rm -rf "$unpacked"
    python3 -m zipfile -e "$file" "$unpacked"
    export PYTHONDONTWRITEBYTECODE=1
    # shellcheck disable=SC2086 # a list of words
    PYTHONPATH=$unpacked $python bindings/python/examples/list.py "$model" >"$out/list.txt"
    grep -q '^zTensor 1.*, [1-9][0-9]* objects$' "$out/list.txt"
    # shellcheck disable=SC2086 # a list of words
    PYTHONPATH=$out/python-tools $python -c 'from packaging import tags; print(*tags.sys_tags(), sep="\n")' >"$out/tags.txt"
    grep -qx "py3-none-$2" "$out/tags.txt"
}
check "wheel, musllinux_1_2_x86_64, by a Python for musl" loaded x86_64-linux-musl musllinux_1_2_x86_64 python_for_musl
check "wheel, manylinux_2_28_aarch64, by a Python for it, by qemu" \
    loaded aarch64-linux-gnu manylinux_2_28_aarch64 python_for_aarch64

echo "strangers: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
