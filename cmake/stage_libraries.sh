#!/bin/sh
# Stages cargo's output in its installed form: names with the version, links, and only zt_* visible.
#     sh stage_libraries.sh CARGO_OUTPUT_DIR STAGE_DIR VERSION [OPTIONS]      OPTIONS: of localize_archive.sh, as one argument
# LIBRARY names the library: libztensor, or libztensor_remote. LINK is the compiler that links it, if not CC.
# SYSTEM is the library's system, as printed by uname -s, if not this machine's; or Android. ARCH: of
# localize_macho.sh. Unchanged files keep their time stamps, so that nothing is linked again. Used by
# CMakeLists.txt and Makefile.
set -eu

[ $# -ge 3 ] || { echo "usage: stage_libraries.sh CARGO_OUTPUT_DIR STAGE_DIR VERSION [OPTIONS]" >&2; exit 2; }
from=$1
to=$2
version=$3
options=${4-}
library=${LIBRARY:-libztensor}
major=${version%%.*}
link=${LINK:-${CC:-cc}}
system=${SYSTEM:-$(uname -s)}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$to"

runtime="-lgcc_s -lm -lpthread -ldl"
if [ "$system" = Android ]; then
    full=$library.so abi=$full plain=$full # an app cannot have links
    runtime="-lunwind -lm -ldl"
elif [ -f "$from/$library.so" ]; then
    full=$library.so.$version abi=$library.so.$major plain=$library.so
elif [ -f "$from/$library.dylib" ]; then
    full=$library.$version.dylib abi=$library.$major.dylib plain=$library.dylib
else
    full=
fi

archive=$from/$library.a
if [ -f "$archive" ]; then
    relink=localize_archive.sh
    [ "$system" != Darwin ] || relink=localize_macho.sh
    relinked=$(cksum "$archive" "$here/$relink"; echo "$options")
    if [ ! -f "$to/$library.a" ] || [ "$(cat "$to/.$library.relinked" 2>/dev/null)" != "$relinked" ]; then
        case $system in
        Android) cp "$archive" "$to/$library.a" ;;
        *)
            # shellcheck disable=SC2086 # options are words
            sh "$here/$relink" $options "$archive" "$to/$library.a"
            ;;
        esac
        echo "$relinked" >"$to/.$library.relinked"
    fi
fi

if [ -n "$full" ]; then
    built=$from/$plain
    # rustc does not write symbol versions, and exports C functions of dependencies. So the library is linked
    # again, from the relinked archive.
    if [ "$plain" = "$library.so" ]; then
        keep=
        [ "$library" = libztensor ] || keep=,-z,nodelete # libztensor starts threads that stay
        linked=$(cksum "$to/$library.a" "$here/$library.map" "$here/stage_libraries.sh"; echo "$link")
        if [ ! -f "$to/$full" ] || [ "$(cat "$to/.$library.linked" 2>/dev/null)" != "$linked" ]; then
            rm -f "$to/$full"
            # shellcheck disable=SC2086 # they may hold options
            $link -shared -o "$to/$full" -Wl,--whole-archive "$to/$library.a" -Wl,--no-whole-archive \
                "-Wl,-soname,$abi,--version-script=$here/$library.map,--gc-sections,-O1,-z,relro,-z,now$keep" \
                $([ "$library" = libztensor ] || echo "-L$to -lztensor") $runtime
            echo "$linked" >"$to/.$library.linked"
        fi
        built=$to/$full
    fi
    # As a new file: macOS caches the signature of a mapped file, and kills processes that map it with
    # different content.
    [ "$built" = "$to/$full" ] || cmp -s "$built" "$to/$full" || { rm -f "$to/$full" && cp "$built" "$to/$full"; }
    [ "$abi" = "$full" ] || [ "$(readlink "$to/$abi")" = "$full" ] || ln -sf "$full" "$to/$abi"
    [ "$plain" = "$full" ] || [ "$(readlink "$to/$plain")" = "$abi" ] || ln -sf "$abi" "$to/$plain"
fi
