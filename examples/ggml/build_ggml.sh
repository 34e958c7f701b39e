#!/bin/sh
# Downloads ggml's source in a crate, and builds its base and its CPU backend, once:
#     sh examples/ggml/build_ggml.sh OUT
# Makes OUT/libggml.a and OUT/include. cargo downloads and checks the crate; only its source is used. Exit
# status 3: the crate is not available. Few optimisations and one instruction set, because the tests check
# positions of weights, not speed. -ffp-contract=off rounds each operation, as the library does.
set -eu

[ $# -eq 1 ] || { echo "usage: build_ggml.sh OUT" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
release=0.1.161
[ ! -f "$out/built-$release" ] || [ ! -f "$out/include/ggml-impl.h" ] || exit 0
rm -rf "$out/fetch" "$out/objects" "$out/include"
mkdir -p "$out/fetch/src" "$out/objects"

cat >"$out/fetch/Cargo.toml" <<MANIFEST
[package]
name = "fetch"
version = "0.0.0"
edition = "2021"
[workspace]
[dependencies]
llama-cpp-sys-2 = "=$release"
MANIFEST
echo >"$out/fetch/src/lib.rs"
cd "$out/fetch"
# cargo prints the source folder of each crate; the first manifest_path with that name is it.
"${CARGO:-cargo}" fetch --quiet || exit 3
source=$("${CARGO:-cargo}" metadata --format-version 1 --offline | tr ',' '\n' |
    sed -n 's|^"manifest_path":"\(.*/llama-cpp-sys-2-[0-9.]*\)/Cargo.toml".*|\1/llama.cpp/ggml|p' | head -n 1)
[ -f "$source/src/ggml.c" ] || { echo "build_ggml: the crate has no source of ggml" >&2; exit 1; }
cp -r "$source/include" "$out/include"
cp "$source/src/ggml-impl.h" "$out/include" # the original of examples/gguf/gguf.cpp includes it

architecture=
case $(uname -m) in
x86_64) architecture=x86 ;;
aarch64 | arm64) architecture=arm ;;
esac
printf '#define GGML_VERSION "vendored"\n#define GGML_COMMIT "vendored"\n' >"$out/include/ggml-version.h"
cd "$source/src"
sources="ggml.c ggml.cpp ggml-alloc.c ggml-backend.cpp ggml-backend-reg.cpp ggml-backend-dl.cpp ggml-backend-meta.cpp
    ggml-threading.cpp ggml-quants.c gguf.cpp
    ggml-cpu/ggml-cpu.c ggml-cpu/ggml-cpu.cpp ggml-cpu/binary-ops.cpp ggml-cpu/hbm.cpp ggml-cpu/ops.cpp ggml-cpu/quants.c
    ggml-cpu/repack.cpp ggml-cpu/traits.cpp ggml-cpu/unary-ops.cpp ggml-cpu/vec.cpp
    $(ls ggml-cpu/amx/*.cpp ggml-cpu/tiled/*.cpp)"
if [ -n "$architecture" ]; then
    sources="$sources ggml-cpu/arch/$architecture/quants.c ggml-cpu/arch/$architecture/repack.cpp"
    generic=
else
    generic=-DGGML_CPU_GENERIC
fi

# Two compilers at a time, like make.
export out source generic
printf '%s\n' $sources | xargs -n 1 -P 2 sh -c '
    object=$out/objects/$(echo "$1" | tr / _).o
    case $1 in
    *.c) set -- "$1" "${CC:-cc}" -std=gnu11 ;;
    *) set -- "$1" "${CXX:-c++}" -std=c++17 ;;
    esac
    file=$1
    shift
    exec "$@" -w -O1 -ffp-contract=off -D_GNU_SOURCE -D_XOPEN_SOURCE=600 -DNDEBUG $generic -DGGML_USE_CPU -DGGML_SCHED_MAX_COPIES=4 \
        -I. -Iggml-cpu -I"$out/include" -c -o "$object" "$file"' compile
rm -f "$out/libggml.a"
ar rcs "$out/libggml.a" "$out"/objects/*.o
rm -rf "$out/objects" "$out/fetch/target"
: >"$out/built-$release"
