#!/bin/sh
# Makes Debian packages with dpkg-deb: libztensor1, libztensor-dev; and ztensor-tools, libztensor-remote1 and
# libztensor-remote-dev, if the program and that library were built.
#     sh packaging/deb.sh OUT            after packaging/build.sh OUT: in OUT/deb
#     sh packaging/deb.sh OUT arm64      after packaging/elsewhere.sh OUT aarch64-linux-gnu, from its output: in OUT/deb-arm64
set -eu

[ $# -eq 1 ] || [ "$*" = "$1 arm64" ] || { echo "usage: deb.sh OUT [arm64]" >&2; exit 2; }
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
. packaging/environment.sh
revision=$version-1
# Set this address when building packages for others.
maintainer=${MAINTAINER:-libztensor developers <libztensor@example.org>}
if [ $# = 2 ]; then
    architecture=arm64 multiarch=aarch64-linux-gnu debs=$out/deb-arm64 target=aarch64-unknown-linux-gnu
    from=$out/elsewhere/ztensor-$version-$multiarch cross=$multiarch-
else
    architecture=$(dpkg --print-architecture) multiarch=$("${CC:-cc}" -print-multiarch) debs=$out/deb from=$out/root cross=
fi
libdir=usr/lib/$multiarch
rm -rf "$out/usr-root"
install_into "$out/cmake-deb" /usr "${libdir#usr/}" "$out/usr-root"
root=$out/usr-root/usr
lib=$out/usr-root/$libdir
if [ $# = 2 ]; then cp "$from/lib/libztensor.so.$version" "$from/lib/libztensor.a" "$lib"; fi
"${cross}strip" "$lib/libztensor.so.$version"
"${cross}strip" --strip-unneeded "$lib/libztensor.a"
glibc=$(glibc_of "$lib/libztensor.so")
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH="$epoch"
rm -rf "$debs"
mkdir -p "$debs"

# begin PACKAGE CRATE SECTION DEPENDS SUMMARY, then the description's lines on standard input
begin() {
    package=$1
    tree=$debs/$package
    mkdir -p "$tree/DEBIAN" "$tree/usr/share/doc/$package"
    sed "s|@YEAR@|$(date -u -d "@$epoch" +%Y)|" packaging/debian/copyright >"$tree/usr/share/doc/$package/copyright"
    LINK=
    case $from-$package in
    "$out/elsewhere"/*) LINK=zig ;;
    *-ztensor-tools | *-libztensor-remote1) LINK=$(linked_by) ;; # libztensor is linked separately for Debian
    esac
    { TARGET="$target" sh packaging/third_party_licences.sh "$2" && { [ -z "$LINK" ] || zig_licences libc/glibc/LICENSES; }; } |
        gzip -9n >"$tree/usr/share/doc/$package/THIRD-PARTY-LICENSES.gz"
    sbom "$2" >"$tree/usr/share/doc/$package/sbom.cdx.json"
    printf 'libztensor (%s) unstable; urgency=low\n\n  * Release %s.\n\n -- %s  %s\n' "$revision" "$version" "$maintainer" \
        "$(LC_ALL=C date -u -R -d "@$epoch")" | gzip -9n >"$tree/usr/share/doc/$package/changelog.Debian.gz"
    {
        printf 'Package: %s\nSource: libztensor\nVersion: %s\nArchitecture: %s\n' "$package" "$revision" "$architecture"
        printf 'Maintainer: %s\nSection: %s\nPriority: optional\n' "$maintainer" "$3"
        [ "$package" = ztensor-tools ] || printf 'Multi-Arch: same\n'
        printf 'Depends: %s\nDescription: %s\n' "$4" "$5"
        sed 's/^/ /'
    } >"$tree/DEBIAN/control"
}
finish() {
    (cd "$tree" && find usr -type f | LC_ALL=C sort | xargs md5sum >DEBIAN/md5sums)
    chmod -R u=rwX,go=rX "$tree"
    dpkg-deb --root-owner-group -Zxz --build "$tree" "$debs" >/dev/null
}
# interface LIBRARY PACKAGE: what other packages need to link the library, and the version of each function.
interface() {
    printf '%s 1 %s (>= %s)\n' "$1" "$2" "$version" >"$tree/DEBIAN/shlibs"
    { printf '%s.so.1 %s #MINVER#\n' "$1" "$2"
      "${cross}objdump" -T "$tree/$libdir/$1.so.$version" | grep -v '[*]UND[*]' | sed -n 's/.* \(ZTENSOR_[A-Z_]*\([0-9.]*\)\) *\(zt_.*\)$/ \3@\1 \2/p' |
          LC_ALL=C sort; } >"$tree/DEBIAN/symbols"
    printf 'activate-noawait ldconfig\n' >"$tree/DEBIAN/triggers"
}

begin libztensor1 ztensor-c libs "libc6 (>= $glibc), libgcc-s1" "reads and writes zTensor files (shared library)" <<'END'
Opens, reads, verifies and writes zTensor .zt files of tensors: mapped in
place or read straight into memory, from sources that are not trusted.
END
mkdir -p "$tree/$libdir"
cp -a "$lib/libztensor.so.$version" "$lib/libztensor.so.1" "$tree/$libdir"
chmod 644 "$tree/$libdir/libztensor.so.$version"
interface libztensor libztensor1
finish

begin libztensor-dev ztensor-c libdevel "libztensor1 (= $revision), libc6-dev" "reads and writes zTensor files (development files)" <<'END'
Headers for C and C++, the static library, the CMake package and the
pkg-config file of libztensor.
END
mkdir -p "$tree/usr" "$tree/$libdir"
cp -a "$root/include" "$tree/usr"
cp -a "$lib/libztensor.a" "$lib/libztensor.so" "$lib/cmake" "$lib/pkgconfig" "$tree/$libdir"
if [ -d "$root/share/man/man3" ]; then mkdir -p "$tree/usr/share/man" && cp -a "$root/share/man/man3" "$tree/usr/share/man" && gzip -9n "$tree"/usr/share/man/man3/*; fi
finish

if [ -e "$from/bin/zt" ]; then
    glibc=$(glibc_of "$from/bin/zt")
    begin ztensor-tools ztensor-tools utils "libc6 (>= $glibc), libgcc-s1
Suggests: libztensor-remote1" "lists, verifies, converts and repairs zTensor files" <<'END'
The program zt: what a .zt file holds, whether its digests agree, files made
from safetensors and from older versions, appends that were interrupted.
END
    mkdir -p "$tree/usr/bin"
    cp "$from/bin/zt" "$tree/usr/bin/zt"
    cp -a "$from/share/bash-completion" "$from/share/fish" "$from/share/zsh" "$tree/usr/share"
    # Debian's folder for completions of packages
    mv "$tree/usr/share/zsh/site-functions" "$tree/usr/share/zsh/vendor-completions"
    if [ -d "$root/share/man/man1" ]; then mkdir -p "$tree/usr/share/man" && cp -a "$root/share/man/man1" "$tree/usr/share/man" && gzip -9n "$tree"/usr/share/man/man1/*; fi
    finish
fi

if [ -e "$from/lib/libztensor_remote.so" ]; then
    sh remote/install.sh "$from/lib" "$version" "$root" "" "${libdir#usr/}"
    glibc=$(glibc_of "$lib/libztensor_remote.so")
    begin libztensor-remote1 ztensor-remote libs "libztensor1 (>= $version), libc6 (>= $glibc), libgcc-s1" \
        "opens models in buckets and on web servers (shared library)" <<'END'
Opens zTensor, safetensors and GGUF models in S3, Google Cloud Storage, Azure
and on web servers for libztensor, by ranges.
END
    mkdir -p "$tree/$libdir"
    cp -a "$lib/libztensor_remote.so.$version" "$lib/libztensor_remote.so.1" "$tree/$libdir"
    chmod 644 "$tree/$libdir/libztensor_remote.so.$version"
    interface libztensor_remote libztensor-remote1
    finish

    begin libztensor-remote-dev ztensor-remote libdevel "libztensor-remote1 (= $revision), libztensor-dev (>= $version), libc6-dev" \
        "opens models in buckets and on web servers (development files)" <<'END'
Header, static library, CMake package and pkg-config file of
libztensor_remote.
END
    mkdir -p "$tree/usr/include" "$tree/$libdir/cmake" "$tree/$libdir/pkgconfig"
    cp -a "$root/include/ztensor_remote.h" "$tree/usr/include"
    cp -a "$lib/libztensor_remote.a" "$lib/libztensor_remote.so" "$tree/$libdir"
    cp -a "$lib/cmake/ztensor-remote" "$tree/$libdir/cmake"
    cp -a "$lib/pkgconfig/ztensor-remote.pc" "$tree/$libdir/pkgconfig"
    finish
fi
ls "$debs"/*.deb
