#!/bin/sh
# Relinks a Rust static archive into one object that defines only the C interface as global symbols:
#     sh localize_archive.sh [--strip-debug] IN.a OUT.a
# A Rust static library defines its runtime and its C dependencies (libzstd) as global symbols. With another
# Rust static library, or the host's own libzstd, they would clash, or the wrong ones would be used. LD,
# OBJCOPY, NM and AR name the tools of binutils (2.29 or later).
set -eu

strip=
[ "${1-}" != --strip-debug ] || { strip=$1; shift; }
[ $# -eq 2 ] || { echo "usage: localize_archive.sh [--strip-debug] IN.a OUT.a" >&2; exit 2; }
in=$1
out=$2
nm=${NM:-nm}
objcopy=${OBJCOPY:-objcopy}

# Global definitions, one name a line. nm's warnings about members without symbols are ignored.
globals() { "$nm" -g --defined-only "$1" 2>/dev/null | awk 'NF == 3 { print $3 }' | sort -u; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

globals "$in" | sed -n 's/^zt_/--undefined=&/p' >"$work/roots"
[ -s "$work/roots" ] || { echo "localize_archive.sh: $in defines no zt_ symbol" >&2; exit 1; }

# The reference to Rust's unwinding personality is in a COMDAT group, and a linker keeps one group for all
# libraries. If it were local it would point into a dropped group. Dissolving the groups gives each library
# its own.
join() { "${LD:-ld}" -r --gc-sections --force-group-allocation "@$work/roots" -o "$2" "$1"; }
join "$in" "$work/ztensor.o"
# The standard library's objects contain LLVM bitcode. Joined, it is invalid, and some tools fail on it.
"$objcopy" --remove-section=.llvmbc --remove-section=.llvmcmd "$work/ztensor.o"
# ld keeps names that only dropped code used. objcopy would make weak ones required.
"$nm" -u "$work/ztensor.o" >"$work/nm"
awk '{ print $NF }' "$work/nm" >"$work/undefined"
# shellcheck disable=SC2086 # empty or one option
"$objcopy" --wildcard --keep-global-symbol='zt_*' --strip-unneeded-symbols="$work/undefined" $strip "$work/ztensor.o"

globals "$work/ztensor.o" | sed 's/^/--undefined=/' | cmp -s - "$work/roots" ||
    { echo "localize_archive.sh: the relinked archive has other symbols than zt_*:" >&2
      globals "$work/ztensor.o" | grep -v '^zt_' | head >&2; exit 1; }

"${AR:-ar}" rcsD "$work/out.a" "$work/ztensor.o"
mv "$work/out.a" "$out"
