#!/bin/sh
# Like localize_archive.sh, for macOS: relinks a Rust static archive, with the compiler's linker, into one
# object that defines only the C interface as global symbols:
#     sh localize_macho.sh [--strip-debug] IN.a OUT.a
# If that fails, or leaves another global symbol, OUT.a is a copy of IN.a, and one line says so. ARCH is the
# architecture, by default this machine's. LINK or CC is the compiler. NM and AR are tools.
set -eu

strip=
[ "${1-}" != --strip-debug ] || { strip=-Wl,-S; shift; }
[ $# -eq 2 ] || { echo "usage: localize_macho.sh [--strip-debug] IN.a OUT.a" >&2; exit 2; }
in=$1
out=$2

# Global definitions, one name a line. nm's warnings about members without symbols are ignored. Without this
# option it would read bitcode instead of symbols in objects of Rust's standard library.
globals() {
    { "${NM:-nm}" --no-llvm-bc -g "$1" 2>/dev/null || "${NM:-nm}" -g "$1" 2>/dev/null; } |
        awk 'NF == 3 && $2 != "U" { print $3 }' | LC_ALL=C sort -u
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# as_built WHY
as_built() {
    echo "localize_macho.sh: $1: symbols other than zt_* stay global in $out" >&2
    [ ! -s "$work/log" ] || head -n 5 "$work/log" >&2
    cp "$in" "$out"
    exit 0
}

globals "$in" | grep '^_zt_' >"$work/interface" || { echo "localize_macho.sh: $in defines no zt_ symbol" >&2; exit 1; }

# ld makes symbols outside the list static. Dead code stays: the program's own linker strips it, function by
# function.
# shellcheck disable=SC2086 # they may hold options
${LINK:-${CC:-cc}} -r -nostdlib -arch "${ARCH:-$(uname -m)}" -Wl,-exported_symbols_list,"$work/interface" $strip \
    -Wl,-all_load "$in" -o "$work/ztensor.o" >"$work/log" 2>&1 || as_built "the linker failed"
globals "$work/ztensor.o" | cmp -s - "$work/interface" || as_built "the relinked archive has other symbols than zt_*"

# With this setting, macOS's ar does not write times.
ZERO_AR_DATE=1 "${AR:-ar}" rcs "$work/out.a" "$work/ztensor.o" >"$work/log" 2>&1 || as_built "ar failed"
mv "$work/out.a" "$out"
