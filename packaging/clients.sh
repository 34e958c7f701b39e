#!/bin/sh
# Tests package managers that build from source: Debian's `cargo cinstall` (cargo-c), and PyPI's Conan. With
# each result a program is compiled and opens a model. Optimisation is low, to save time.
#     sh packaging/clients.sh OUT
# Ends with: clients: N passed, M failed, K skipped.
set -u

[ $# -eq 1 ] || { echo "usage: clients.sh OUT" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/.." || exit
version=$(sed -n 's/^version = "\([0-9.]*\)".*/\1/p' Cargo.toml | head -n 1)
model=$PWD/tests/data/v1.2/py-1.2.3-zstd.zt
conan_version=2.34.0
export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
export CARGO_TARGET_DIR="$out/cargo"
passed=0 failed=0 skipped=0
check() { # NAME COMMAND...
    name=$1
    shift
    (set -e; "$@") >"$out/log" 2>&1 # not in the condition, where the shell ignores set -e
    case $? in
    0) passed=$((passed + 1)) && echo "ok $name" ;;
    3) skipped=$((skipped + 1)) && echo "clients: skipped: $name: $(tail -n 1 "$out/log")" ;;
    *) failed=$((failed + 1)) && echo "FAILED $name" && tail -n 25 "$out/log" | sed 's/^/    /' ;;
    esac
}

# Debian's cargo-c contains the cargo of Rust 1.65. It reads lock files up to version 3 and registries only
# through git, and rejects manifests of edition 2024, which a crate for Windows has. So it gets only the
# crate, with its dependencies beside it.
cinstall() {
    sh tools/need.sh cinstall || exit 3
    tree=$out/cinstall
    rm -rf "$tree"
    mkdir -p "$tree/.cargo"
    git ls-files -z src include cmake man pkgconfig Cargo.toml Cargo.lock build.rs README.md | xargs -0 tar -cf - | tar -xf - -C "$tree"
    sed -i 's/^members = .*/members = []/; /^\[dev-dependencies\]/,/^$/d; /^\[profile\.dev/,/^$/d' "$tree/Cargo.toml"
    cd "$tree"
    cargo metadata --offline --format-version 1 >/dev/null # removes what is not needed from the lock file
    cargo vendor --offline vendor >"$out/vendor.toml"
    mv "$out/vendor.toml" .cargo/config.toml
    sed -i 's/^version = 4$/version = 3/' Cargo.lock
    grep -l '^edition = "2024"' vendor/*/Cargo.toml | xargs -r sed -i 's/^edition = "2024"/edition = "2021"/; /^rust-version/d'
    cargo cinstall --offline --prefix=/usr --libdir=/usr/lib "--destdir=$out/cinstalled"
    cd "$here"
    lib=$out/cinstalled/usr/lib
    for file in libztensor.so libztensor.so.1 "libztensor.so.$version" libztensor.a pkgconfig/ztensor.pc ../include/ztensor.h \
        ../include/ztensor_advanced.h ../include/ztensor.hpp ../include/ztensor/file.hpp; do
        [ -s "$lib/$file" ] || { echo "no $file"; exit 1; }
    done
    readelf -d "$lib/libztensor.so" | grep 'SONAME.*\[libztensor.so.1\]'
    flags=$(PKG_CONFIG_SYSROOT_DIR="$out/cinstalled" PKG_CONFIG_LIBDIR="$lib/pkgconfig" PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 \
        PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 pkg-config --cflags --libs "ztensor = $version")
    # shellcheck disable=SC2086 # a list of words
    cc -o "$out/stranger" tests/consumers/stranger/stranger.c $flags
    LD_LIBRARY_PATH=$lib "$out/stranger" "$model" | grep ' objects$'
}
here=$PWD
check "cargo cinstall" cinstall

conan_tool() {
    [ "$(cat "$out/conan/version" 2>/dev/null)" = $conan_version ] && return
    rm -rf "$out/conan"
    python3 -m pip install --quiet --disable-pip-version-check --no-input --no-compile --retries 1 --target "$out/conan" \
        "conan==$conan_version" || { echo "Conan is not available from PyPI"; exit 3; }
    echo $conan_version >"$out/conan/version"
}
conan() { # SHARED: True or False, RECIPE
    sh tools/need.sh packages || exit 3
    conan_tool
    export CONAN_HOME="$out/conan-home" PYTHONPATH="$out/conan" PYTHONDONTWRITEBYTECODE=1 ZTENSOR_MODEL="$model"
    "$out/conan/bin/conan" profile detect --force
    "$out/conan/bin/conan" remove --confirm "ztensor/*"
    rm -rf "$out/tested"
    cp -R packaging/conan/test_package "$out/tested" # Conan builds in it
    sed -i "s|[.][.]/[.][.]/[.][.]/|$PWD/|" "$out/tested/CMakeLists.txt"
    "$out/conan/bin/conan" create "$2" --test-folder="$out/tested" -o "ztensor/*:shared=$1" >"$out/created" 2>&1 ||
        { cat "$out/created"; exit 1; }
    grep '^[1-9][0-9]* objects$' "$out/created" # printed by the program of its test package
}
check "Conan, shared" conan True packaging/conan
check "Conan, static" conan False packaging/conan

conan_tarball() { # SHARED: from the tarball, without cargo
    export ZTENSOR_DIST="$out/dist" CARGO=no-cargo
    conan "$1" packaging/conan/tarball
}
tarball() {
    sh tools/need.sh packages || exit 3
    mkdir -p "$out/dist"
    ZTENSOR_QUICK=1 ZTENSOR_REMOTE=0 sh packaging/build.sh "$out/dist"
    sh packaging/dist.sh "$out/dist"
}
check "a tarball for Conan" tarball
check "Conan, shared, of the tarball" conan_tarball True
check "Conan, static, of the tarball" conan_tarball False
wrong_sum() {
    mkdir -p "$out/wrong"
    for file in "$out/dist"/ztensor-*.tar.xz; do
        name=${file##*/}
        echo "changed" | cat "$file" - >"$out/wrong/$name"
        cp "$file.sha256" "$out/wrong"
    done
    ! (export ZTENSOR_DIST="$out/wrong"; conan False packaging/conan/tarball) || exit 1
    grep -i "sha256.*failed\|sha256 signature" "$out/created"
}
check "Conan, with a changed tarball" wrong_sum

echo "clients: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
