#!/bin/sh
# Checks that the libraries and zt compile with the minimum Rust version in Cargo.toml, and that README.md
# names it:
#     sh tools/msrv.sh      QUICK=1: without remote/, whose crates take minutes
# Uses that toolchain from rustup if installed, otherwise Debian's packages (tools/debian_rust.sh). If neither
# is available, it is skipped with a message. Tests may need a newer version.
set -eu
cd "$(dirname "$0")/.."

msrv=$(sed -n 's/^rust-version = "\([0-9.]*\)".*/\1/p' Cargo.toml | head -n 1)
target=${CARGO_TARGET_DIR:-$PWD/target}
[ -n "$msrv" ] || { echo "msrv: Cargo.toml has no rust-version" >&2; exit 1; }
grep -qwF "$msrv" README.md || { echo "msrv: README.md does not name Rust $msrv, the rust-version of Cargo.toml" >&2; exit 1; }

# The workspace, and the separate one of remote/ if its crates are available. Nothing runs, so C is not optimised.
check() {
    CFLAGS=-O0 CARGO_TARGET_DIR=$target/msrv "$@" check --workspace --lib --bins --locked
    if [ "${QUICK-}" = 1 ]; then
        echo "msrv: skipped: remote/, which make msrv checks"
    elif cargo fetch --quiet --locked --manifest-path remote/Cargo.toml 2>"$target/msrv-fetch.log"; then
        ZT_LIB_DIR=$target/lib CARGO_TARGET_DIR=$target/msrv/remote "$@" check --manifest-path remote/Cargo.toml --locked
    else
        cat "$target/msrv-fetch.log" >&2
        ! grep -q "lock file" "$target/msrv-fetch.log" || return 1
        echo "msrv: skipped: remote/: its crates are not available" >&2
    fi
}

if rustup toolchain list 2>/dev/null | grep -q "^$msrv"; then
    check cargo "+$msrv"
    exit
fi
status=0
sh tools/debian_rust.sh "$target/debian-rust" || status=$?
if [ $status = 3 ]; then
    echo "msrv: skipped: Rust $msrv is not available here; clippy's incompatible_msrv checks only part"
    exit
fi
[ $status = 0 ] || exit $status
"$target/debian-rust/rustc" --version | grep -q "^rustc $msrv" ||
    { echo "msrv: Cargo.toml has $msrv, but tools/debian_rust.sh has a different version" >&2; exit 1; }
RUSTC=$target/debian-rust/rustc check cargo
