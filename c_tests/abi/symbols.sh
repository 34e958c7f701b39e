#!/bin/sh
# symbols.sh LIBRARY INCLUDE FOLDER: the functions that a library exports, those that the headers in INCLUDE declare and
# symbols.txt have to be one list. LIBRARY: the shared one, or the static one as it is installed (with nothing else global
# in it). FOLDER takes the files that are compared.
set -u
LC_ALL=C
export LC_ALL
list=$(dirname "$0")/symbols.txt
declared="$3/declared-$$.txt"
exported="$3/exported-$$.txt"
trap 'rm -f "$declared" "$exported"' EXIT

# Declarations stand at the start of a line; comments begin with a star, and callbacks are written (*name).
headers="$2/ztensor.h $2/ztensor_advanced.h $2/ztensor_dlpack.h"
sed -n '/^ *[/*]/!s/^.*[ *]\(zt_[a-z0-9_]*\)(.*$/\1/p' $headers | sort -u >"$declared" || exit 1
case $1 in
*.a) which=-g ;; # every global definition
*) which=-D ;;   # every dynamic one, but the names of symbol versions, which are absolute
esac
${NM:-nm} $which --defined-only "$1" | awk 'NF == 3 && $2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort >"$exported" || exit 1

[ -s "$list" ] || { echo "$list is empty" >&2; exit 1; }
diff "$list" "$exported" || { echo "the library's exports are not those of symbols.txt" >&2; exit 1; }
diff "$list" "$declared" || { echo "the headers' functions are not those of symbols.txt" >&2; exit 1; }
echo "ok symbols: $(wc -l <"$list" | tr -d ' ') checks"
