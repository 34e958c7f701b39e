#!/bin/sh
# Installs libztensor_remote beside libztensor, as cmake --install does that: header, libraries, links, ztensor-remote.pc and
# the CMake package, none of which knows where it is.
#     sh remote/install.sh LIBRARIES VERSION PREFIX [DESTDIR]
set -eu

[ $# -ge 3 ] || { echo "usage: install.sh LIBRARIES VERSION PREFIX [DESTDIR]" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
libraries=$1 version=$2 to=${4-}$3
major=${version%%.*}
mkdir -p "$to/include" "$to/lib/pkgconfig" "$to/lib/cmake/ztensor-remote"
cp "$here/include/ztensor_remote.h" "$to/include/"
cp "$libraries/libztensor_remote.so.$version" "$libraries/libztensor_remote.a" "$to/lib/"
ln -sf "libztensor_remote.so.$version" "$to/lib/libztensor_remote.so.$major"
ln -sf "libztensor_remote.so.$major" "$to/lib/libztensor_remote.so"
sed "s/@VERSION@/$version/" "$here/ztensor-remote.pc.in" >"$to/lib/pkgconfig/ztensor-remote.pc"
sed "s/@MAJOR@/$major/; s/@VERSION@/$version/" "$here/ztensor-remote-config.cmake.in" \
    >"$to/lib/cmake/ztensor-remote/ztensor-remote-config.cmake"
