#!/bin/sh
# Installs libztensor_remote beside libztensor, as cmake --install does that: header, libraries, links, ztensor-remote.pc and
# the CMake package, none of which knows where it is.
#     sh remote/install.sh LIBRARIES VERSION PREFIX [DESTDIR [LIBDIR]]      LIBDIR: lib, or lib/x86_64-linux-gnu
set -eu

[ $# -ge 3 ] || { echo "usage: install.sh LIBRARIES VERSION PREFIX [DESTDIR [LIBDIR]]" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
libraries=$1 version=$2 to=${4-}$3 libdir=${5:-lib}
major=${version%%.*}
# From the library's folder back to the prefix.
up=$(echo "$libdir" | sed 's|[^/][^/]*|..|g')
lib=$to/$libdir
mkdir -p "$to/include" "$lib/pkgconfig" "$lib/cmake/ztensor-remote"
cp "$here/include/ztensor_remote.h" "$to/include/"
cp "$libraries/libztensor_remote.so.$version" "$libraries/libztensor_remote.a" "$lib/"
ln -sf "libztensor_remote.so.$version" "$lib/libztensor_remote.so.$major"
ln -sf "libztensor_remote.so.$major" "$lib/libztensor_remote.so"
filled() { sed "s|@VERSION@|$version|; s|@MAJOR@|$major|; s|@LIBDIR@|$libdir|; s|@UP@|$up|" "$1"; }
filled "$here/ztensor-remote.pc.in" >"$lib/pkgconfig/ztensor-remote.pc"
filled "$here/ztensor-remote-config.cmake.in" >"$lib/cmake/ztensor-remote/ztensor-remote-config.cmake"
