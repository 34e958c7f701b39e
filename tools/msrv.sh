#!/bin/sh
# Checks that everything compiles with the minimum Rust version that Cargo.toml states:
#     sh tools/msrv.sh
# Takes that toolchain from rustup where it is installed, else Debian's packages of it (tools/debian_rust.sh).
# Exit status 3: the toolchain cannot be had; one line on standard error says so.
set -eu
cd "$(dirname "$0")/.."

msrv=$(sed -n 's/^rust-version = "\([0-9.]*\)".*/\1/p' Cargo.toml | head -n 1)
target=${CARGO_TARGET_DIR:-$PWD/target}

# The workspace, and the library of remote/, which has one of its own, where its crates can be had. The tests of remote/ take
# 100 more crates, for this machine alone.
check() {
    CARGO_TARGET_DIR=$target/msrv "$@" check --workspace --all-targets --locked
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
sh tools/debian_rust.sh "$target/debian-rust" || exit
"$target/debian-rust/rustc" --version | grep -q "^rustc $msrv" ||
    { echo "msrv: Cargo.toml states $msrv, tools/debian_rust.sh knows another version" >&2; exit 3; }
RUSTC=$target/debian-rust/rustc check cargo
