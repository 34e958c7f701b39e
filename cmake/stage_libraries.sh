#!/bin/sh
# Lays out what cargo built as it is installed: names with the version, links, and nothing but zt_* that others see.
#     sh stage_libraries.sh CARGO_OUTPUT_DIR STAGE_DIR VERSION [OPTIONS]      OPTIONS: of localize_archive.sh, one argument
# LIBRARY names the library: libztensor, or libztensor_remote. LINK is the compiler that links it, where that is not CC.
# SYSTEM is that of the library, as uname -s says it, where it is not this machine's, or Android. ARCH: of localize_macho.sh.
# What did not change keeps its time stamp, so that nothing is linked anew for it. Used by CMakeLists.txt and Makefile.
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
    full=$library.so abi=$full plain=$full # there are no links in an app
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
    # rustc gives symbols no versions, and exports what crates below define for C: linked anew, from the relinked archive.
    if [ "$plain" = "$library.so" ]; then
        keep=
        [ "$library" = libztensor ] || keep=,-z,nodelete # it starts threads that stay
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
    # As a new file: macOS remembers the signature of one that is mapped, and kills who maps it with other content.
    [ "$built" = "$to/$full" ] || cmp -s "$built" "$to/$full" || { rm -f "$to/$full" && cp "$built" "$to/$full"; }
    [ "$abi" = "$full" ] || [ "$(readlink "$to/$abi")" = "$full" ] || ln -sf "$full" "$to/$abi"
    [ "$plain" = "$full" ] || [ "$(readlink "$to/$plain")" = "$abi" ] || ln -sf "$abi" "$to/$plain"
fi
