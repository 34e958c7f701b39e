#!/bin/sh
# Lays out what cargo built as it is installed: names with the version, links, the archive relinked.
#     sh stage_libraries.sh CARGO_OUTPUT_DIR STAGE_DIR VERSION [--strip-debug]
# What did not change keeps its time stamp, so that nothing is linked anew for it. Used by CMakeLists.txt and Makefile.
set -eu

[ $# -ge 3 ] || { echo "usage: stage_libraries.sh CARGO_OUTPUT_DIR STAGE_DIR VERSION [--strip-debug]" >&2; exit 2; }
from=$1
to=$2
version=$3
strip=${4-}
major=${version%%.*}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$to"

if [ -f "$from/libztensor.so" ]; then
    full=libztensor.so.$version abi=libztensor.so.$major plain=libztensor.so
elif [ -f "$from/libztensor.dylib" ]; then
    full=libztensor.$version.dylib abi=libztensor.$major.dylib plain=libztensor.dylib
else
    full=
fi
if [ -n "$full" ]; then
    cmp -s "$from/$plain" "$to/$full" || cp "$from/$plain" "$to/$full"
    [ "$(readlink "$to/$abi")" = "$full" ] || ln -sf "$full" "$to/$abi"
    [ "$(readlink "$to/$plain")" = "$abi" ] || ln -sf "$abi" "$to/$plain"
fi

archive=$from/libztensor.a
if [ -f "$archive" ]; then
    relinked=$(cksum "$archive" "$here/localize_archive.sh"; echo "$strip")
    if [ ! -f "$to/libztensor.a" ] || [ "$(cat "$to/.relinked" 2>/dev/null)" != "$relinked" ]; then
        if [ "$(uname -s)" = Darwin ]; then
            cp "$archive" "$to/libztensor.a" # the relinking is for ELF
        else
            # shellcheck disable=SC2086 # empty or one option
            sh "$here/localize_archive.sh" $strip "$archive" "$to/libztensor.a"
        fi
        echo "$relinked" >"$to/.relinked"
    fi
fi
