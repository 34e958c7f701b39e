#!/bin/sh
# Compares gguf.cpp, in the ggml that examples/ggml has built, with ggml's own: on hostile files, a written
# model, the .zt converted from it, and products of its quantized matrices.
#     sh examples/gguf/test.sh LIBDIR ZT GGML OUT
# LIBDIR has libztensor.so, ZT is the program zt, GGML is the output of examples/ggml/build_ggml.sh.
# test_llama.sh tests the same with all of llama.cpp. The last line is "gguf: N passed, M failed".
set -u

[ $# -eq 4 ] || { echo "usage: test.sh LIBDIR ZT GGML OUT" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd) root=$(cd "$(dirname "$0")/../.." && pwd)
lib=$(cd "$1" && pwd) || exit 2
zt=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
[ -f "$3/libggml.a" ] || { echo "gguf: skipped: ggml is not built"; exit 0; }
ggml=$(cd "$3" && pwd)
mkdir -p "$4" && out=$(cd "$4" && pwd) && cd "$out" || exit 2
passed=0 failed=0
good() { passed=$((passed + 1)); }
bad() {
    failed=$((failed + 1))
    echo "FAILED $1"
}

# build WHICH PROGRAM SOURCE... : with the archive of that reader.
build() {
    which=$1 program=$2
    shift 2
    ${CXX:-c++} -std=c++17 -Wall -Wextra -pedantic -Werror -O1 -I"$root/include" -isystem "$ggml/include" \
        -o "$which/$program" "$@" $which/libggml.a -L"$lib" -lztensor -Wl,-rpath,"$lib" -lpthread -ldl -lm
}

build_all() {
    mkdir -p ggml ztensor
    cp "$ggml/libggml.a" ggml/ && cp "$ggml/libggml.a" ztensor/ && ar d ztensor/libggml.a gguf.cpp.o &&
        ${CXX:-c++} -std=c++17 -Wall -Wextra -pedantic -Wcast-qual -Werror -O2 -I"$root/include" \
            -isystem "$ggml/include" -c -o ztensor/gguf.o "$here/gguf.cpp" &&
        ar r ztensor/libggml.a ztensor/gguf.o 2>log || return
    for which in ggml ztensor; do
        build $which open_gguf "$here/open_gguf.cpp" && build $which tiny_model "$here/tiny_model.cpp" || return
    done
    build ggml test_quantized "$root/examples/ggml/zt_ggml.cpp" "$root/examples/ggml/test_quantized.cpp" &&
        build ggml test_numbers "$root/examples/ggml/test_numbers.cpp"
}
if ! build_all; then
    echo "gguf: 0 passed, 1 failed"
    exit 1
fi

# look WHICH FILE: prints opened, refused or died; the output is in said.WHICH.
look() {
    ./"$1"/open_gguf "$2" >"said.$1" 2>&1
    case $? in
    0) echo opened ;;
    1) echo refused ;;
    *) echo died ;;
    esac
}

# ggml opens these, and this reader rejects them, by rules in docs/gguf.md.
stricter='alignment-2p30-no-tensors dims-zero-and-huge sum-wraps-near'
for file in "$root"/tests/data/foreign/invalid/*.gguf "$root"/tests/data/foreign/valid/*.gguf; do
    name=$(basename "$file" .gguf)
    ours=$(look ztensor "$file")
    case $ours in
    died) bad "$name crashes the program: $(tail -n 1 said.ztensor)" ;;
    opened) good ;;
    refused)
        if ! [ -s said.ztensor ]; then bad "$name: refused without a message"; fi
        case " $stricter " in
        *" ${name#amber-gguf-} "*) good ;;
        *) if [ "$(look ggml "$file" 2>/dev/null)" = opened ]; then bad "$name: $(cat said.ztensor)"; else good; fi ;;
        esac
        ;;
    esac
done

rm -f tiny*
./ggml/tiny_model tiny.gguf && ./ztensor/tiny_model tiny-ours.gguf
if cmp tiny.gguf tiny-ours.gguf; then good; else bad "a written file differs from ggml's"; fi
if [ "$(look ggml tiny.gguf)" = opened ] && [ "$(look ztensor tiny.gguf)" = opened ] && cmp said.ggml said.ztensor; then
    good
else
    bad "tiny.gguf: its contents differ from ggml's"
fi
if ! "$zt" convert tiny.gguf tiny.zt >said 2>&1 || ! "$zt" convert tiny.zt tiny-back.gguf >said 2>&1; then
    bad "zt convert: $(cat said)"
elif [ "$(look ztensor tiny.zt)" = opened ] && cmp said.ggml said.ztensor; then
    good
else
    bad "tiny.zt: $(cat said.ztensor)"
fi
"$zt" convert --zstd tiny.gguf tiny-zstd.zt >said 2>&1
if [ "$(look ztensor tiny-zstd.zt)" = refused ] && grep -q 'is compressed' said.ztensor; then good; else
    bad "tiny-zstd.zt: $(cat said.ztensor)"
fi
"$zt" convert tiny-zstd.zt tiny-raw.zt --raw >said 2>&1
if [ "$(look ztensor tiny-raw.zt)" = opened ] && cmp said.ggml said.ztensor; then good; else
    bad "tiny-raw.zt: $(cat said.ztensor)"
fi
if cmp tiny.gguf tiny-back.gguf; then good; else bad "the GGUF that was converted back differs"; fi
if ./ggml/test_quantized tiny.gguf tiny.gguf tiny.zt; then good; else bad "products of quantized blocks"; fi
if "$zt" convert --dtype f32 tiny.gguf tiny.f32.zt >said 2>&1 &&
    "$zt" convert --dtype f32 --no-attributes tiny.gguf tiny.safetensors >said 2>&1 &&
    ./ggml/test_numbers tiny.gguf tiny.zt tiny-zstd.zt tiny.f32.zt tiny.safetensors; then good; else
    bad "numbers of quantized blocks as f32: $(cat said)"
fi
echo "gguf: $passed passed, $failed failed"
[ $failed -eq 0 ]
