#!/bin/sh
# Installs the library and zt without CMake: headers, libraries with their links, ztensor.pc, the CMake
# package, manual pages, completions, licences. Installed files do not contain their path. tests/consumers
# compares the result with cmake --install.
#     sh cmake/install.sh LIBRARIES PROGRAM PREFIX [DESTDIR [LIBDIR]]      PROGRAM: zt, or - for none. LIBDIR: lib
set -eu
umask 022

[ $# -ge 3 ] || { echo "usage: install.sh LIBRARIES PROGRAM PREFIX [DESTDIR [LIBDIR]]" >&2; exit 2; }
repo=$(cd "$(dirname "$0")/.." && pwd)
libraries=$1 program=$2 prefix=$3 destdir=${4-} libdir=${5:-lib}
case $prefix in /*) ;; *) echo "install.sh: the prefix $prefix does not begin with /" >&2; exit 2 ;; esac
value() { sed -n "s/$2/\1/p" "$repo/$1" | head -n 1; }
version=$(value Cargo.toml '^version = "\([0-9.]*\)".*')
description=$(value CMakeLists.txt '^ *DESCRIPTION "\(.*\)")$')
major=${version%%.*}
to=$destdir$prefix
lib=$to/$libdir
share=$to/share

copy() { # MODE FOLDER FILE...: writes new files, because programs may have the old ones mapped
    mode=$1 folder=$2
    shift 2
    mkdir -p "$folder"
    for file; do
        cp "$file" "$folder/.${file##*/}.new"
        chmod "$mode" "$folder/.${file##*/}.new"
        mv -f "$folder/.${file##*/}.new" "$folder/${file##*/}"
    done
}

copy 644 "$to/include" "$repo"/include/*.h "$repo"/include/*.hpp
copy 644 "$to/include/ztensor" "$repo"/include/ztensor/*.hpp
copy 644 "$lib" "$libraries/libztensor.a"
case $(uname -s) in
Darwin)
    shared=libztensor.$version.dylib abi=libztensor.$major.dylib plain=libztensor.dylib soname=@rpath/$abi native= ;;
*)
    shared=libztensor.so.$version abi=libztensor.so.$major plain=libztensor.so soname=$abi native="pthread dl" ;;
esac
copy 755 "$lib" "$libraries/$shared"
ln -sf "$shared" "$lib/$abi"
ln -sf "$abi" "$lib/$plain"

up() { echo "$1" | sed 's,[^/][^/]*,..,g'; }
filled() { # TEMPLATE FOLDER
    mkdir -p "$2"
    name=${1##*/}
    sed "s|@PROJECT_VERSION@|$version|; s|@PROJECT_VERSION_MAJOR@|$major|; s|@PROJECT_DESCRIPTION@|$description|
        s|@CMAKE_SIZEOF_VOID_P@|$(($(getconf LONG_BIT) / 8))|
        s|@config_prefix@|\${_ztensor_here}/$(up "$libdir/cmake/ztensor")|; s|@config_includedir@|\${_ztensor_prefix}/include|
        s|@config_libdir@|\${_ztensor_prefix}/$libdir|; s|@config_shareddir@|\${_ztensor_prefix}/$libdir|
        s|@ztensor_shared_name@|$shared|; s|@ztensor_static_name@|libztensor.a|
        s|@ztensor_shared_property@|IMPORTED_SONAME \"$soname\"|; s|@ztensor_native_libs@|$(echo "$native" | tr ' ' ';')|
        s|@pc_prefix@|\${pcfiledir}/$(up "$libdir/pkgconfig")|; s|@pc_includedir@|\${prefix}/include|
        s|@pc_libdir@|\${prefix}/$libdir|; s|@pc_libs_private@|$(echo "$native" | sed 's/[a-z][a-z]*/-l&/g')|" "$1" \
        >"$2/${name%.in}"
}
filled "$repo/cmake/ztensor-config.cmake.in" "$lib/cmake/ztensor"
filled "$repo/cmake/ztensor-config-version.cmake.in" "$lib/cmake/ztensor"
filled "$repo/pkgconfig/ztensor.pc.in" "$lib/pkgconfig"
copy 644 "$share/doc/ztensor" "$repo"/LICENSE*
copy 644 "$share/man/man1" "$repo/man/zt.1"
copy 644 "$share/man/man3" "$repo/man/ztensor.3"
if [ "$program" != - ]; then
    copy 755 "$to/bin" "$program"
    sh "$repo/cmake/completions.sh" "$program" "$share"
fi
[ -z "$destdir" ] || exit 0

# Linux caches the libraries that programs find. Only root can update the cache, and only for some folders.
[ "$(id -u)" != 0 ] || ! command -v ldconfig >/dev/null || ldconfig
echo "installed in $prefix"
if ! ldconfig -p 2>/dev/null | grep -qF "$lib/$abi"; then
    echo "to compile programs: export PKG_CONFIG_PATH='$lib/pkgconfig'"
    echo "to run them: export LD_LIBRARY_PATH='$lib'"
fi
