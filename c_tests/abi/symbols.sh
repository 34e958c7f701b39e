#!/bin/sh
# symbols.sh LIBRARY INCLUDE FOLDER: compares a library's exported functions, the declarations in the headers
# in INCLUDE, and symbols.txt, which must be equal. LIBRARY: the shared library, or the installed static one
# (which has no other global symbols). FOLDER: for the lists that are compared.
set -u
LC_ALL=C
export LC_ALL
list=$(dirname "$0")/symbols.txt
declared="$3/declared-$$.txt"
exported="$3/exported-$$.txt"
trap 'rm -f "$declared" "$exported"' EXIT

# A declaration is at the start of a line. A comment starts with a star, and a callback is (*name).
headers="$2/ztensor.h $2/ztensor_advanced.h $2/ztensor_dlpack.h"
sed -n '/^ *[/*]/!s/^.*[ *]\(zt_[a-z0-9_]*\)(.*$/\1/p' $headers | sort -u >"$declared" || exit 1
case $1 in
*.a) which=-g ;; # all global definitions
*) which=-D ;;   # all dynamic ones, except the names of symbol versions, which are absolute
esac
${NM:-nm} $which --defined-only "$1" | awk 'NF == 3 && $2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort >"$exported" || exit 1

[ -s "$list" ] || { echo "$list is empty" >&2; exit 1; }
diff "$list" "$exported" || { echo "the library's exports differ from symbols.txt" >&2; exit 1; }
diff "$list" "$declared" || { echo "the headers' functions differ from symbols.txt" >&2; exit 1; }
echo "ok symbols: $(wc -l <"$list" | tr -d ' ') checks"
