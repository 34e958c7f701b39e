#!/bin/sh
# Checks that the libraries and zt compile with the minimum Rust version that Cargo.toml states, and that README.md states it:
#     sh tools/msrv.sh
# Takes that toolchain from rustup where it is installed, else Debian's packages of it (tools/debian_rust.sh). Where it cannot
# be had, this is skipped, and said so. Tests may need a newer version.
set -eu
cd "$(dirname "$0")/.."

msrv=$(sed -n 's/^rust-version = "\([0-9.]*\)".*/\1/p' Cargo.toml | head -n 1)
target=${CARGO_TARGET_DIR:-$PWD/target}
[ -n "$msrv" ] || { echo "msrv: Cargo.toml states no rust-version" >&2; exit 1; }
grep -qwF "$msrv" README.md || { echo "msrv: README.md does not state Rust $msrv, as Cargo.toml does" >&2; exit 1; }

# The workspace, and the library of remote/, which has one of its own, where its crates can be had.
check() {
    CARGO_TARGET_DIR=$target/msrv "$@" check --workspace --lib --bins --locked
    if cargo fetch --quiet --locked --manifest-path remote/Cargo.toml 2>/dev/null; then
        ZT_LIB_DIR=$target/lib CARGO_TARGET_DIR=$target/msrv/remote "$@" check --manifest-path remote/Cargo.toml --locked
    else
        echo "msrv: skipped: remote/, whose crates cannot be had" >&2
    fi
}

if rustup toolchain list 2>/dev/null | grep -q "^$msrv"; then
    check cargo "+$msrv"
    exit
fi
status=0
sh tools/debian_rust.sh "$target/debian-rust" || status=$?
if [ $status = 3 ]; then
    echo "msrv: skipped: Rust $msrv cannot be had here; clippy's incompatible_msrv sees only part"
    exit
fi
[ $status = 0 ] || exit $status
"$target/debian-rust/rustc" --version | grep -q "^rustc $msrv" ||
    { echo "msrv: Cargo.toml states $msrv, tools/debian_rust.sh knows another version" >&2; exit 1; }
RUSTC=$target/debian-rust/rustc check cargo
