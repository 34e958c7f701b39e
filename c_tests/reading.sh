#!/bin/sh
# Runs the C tests that do not write, with a library without writing functions: cmake/link_reading.sh.
#   c_tests/reading.sh LIBRARIES OUTPUT      LIBRARIES: folder with its libztensor.so
set -eu
LC_ALL=C
export LC_ALL

[ $# -eq 2 ] || { echo "usage: $0 LIBRARIES OUTPUT" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$2"
writes='^zt_write_|^zt_repair$'

grep -vE "$writes" "$here/abi/symbols.txt" >"$2/expected"
${NM:-nm} -D --defined-only "$1/libztensor.so" | sed -n 's/^.* T \([^@]*\).*/\1/p' | sort >"$2/exported"
diff "$2/expected" "$2/exported" || { echo "reading: the exported symbols are not those of the reading library" >&2; exit 1; }
if ${NM:-nm} "$1/libztensor.so" | grep -E ' ZSTD_compress(Block|Stream)'; then
    echo "reading: the library contains the compressor of libzstd" >&2
    exit 1
fi

ONLY=
for program in $(cat "$here/programs.txt"); do
    ${CC:-cc} -std=c99 -I"$here/../include" -c -o "$2/object.o" "$here/$program.c"
    ${NM:-nm} -u "$2/object.o" | awk '{ print $NF }' | grep -qE "$writes" || ONLY="$ONLY $program"
done
rm "$2/object.o" "$2/expected" "$2/exported"
export ONLY
LANGUAGES=c99 LIBRARIES=shared exec sh "$here/run.sh" "$1" "$2"
