#!/bin/sh
# As localize_archive.sh, for macOS: relinks a Rust static archive into one object whose only global definitions are the C
# interface, by the compiler's linker:
#     sh localize_macho.sh [--strip-debug] IN.a OUT.a
# Where that fails, or leaves another symbol global, OUT.a is a copy of IN.a, and one line says so.
# ARCH is the architecture, this machine's where it is not set. LINK or CC is the compiler, NM and AR are tools.
set -eu

strip=
[ "${1-}" != --strip-debug ] || { strip=-Wl,-S; shift; }
[ $# -eq 2 ] || { echo "usage: localize_macho.sh [--strip-debug] IN.a OUT.a" >&2; exit 2; }
in=$1
out=$2

# Global definitions, one name a line. nm warns about members without symbols, which is no news. Of an object of Rust's standard
# library it reads the bitcode instead of the symbols without this option.
globals() {
    { "${NM:-nm}" --no-llvm-bc -g "$1" 2>/dev/null || "${NM:-nm}" -g "$1" 2>/dev/null; } |
        awk 'NF == 3 && $2 != "U" { print $3 }' | LC_ALL=C sort -u
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# as_built WHY
as_built() {
    echo "localize_macho.sh: $1: libraries and symbols beside zt_* stay global in $out" >&2
    [ ! -s "$work/log" ] || head -n 5 "$work/log" >&2
    cp "$in" "$out"
    exit 0
}

globals "$in" | grep '^_zt_' >"$work/interface" || { echo "localize_macho.sh: $in defines no zt_ symbol" >&2; exit 1; }

# ld makes static what the list has not. Dead code stays: the program's own linker strips it, function by function.
# shellcheck disable=SC2086 # they may hold options
${LINK:-${CC:-cc}} -r -nostdlib -arch "${ARCH:-$(uname -m)}" -Wl,-exported_symbols_list,"$work/interface" $strip \
    -Wl,-all_load "$in" -o "$work/ztensor.o" >"$work/log" 2>&1 || as_built "the linker failed"
globals "$work/ztensor.o" | cmp -s - "$work/interface" || as_built "the relinked archive has other symbols than zt_*"

# ar of macOS writes no times then.
ZERO_AR_DATE=1 "${AR:-ar}" rcs "$work/out.a" "$work/ztensor.o" >"$work/log" 2>&1 || as_built "ar failed"
mv "$work/out.a" "$out"
