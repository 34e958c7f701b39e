#!/bin/sh
# Builds ggml from its source and runs test_ggml.cpp on MiniLM, raw and compressed:
#     sh examples/ggml/test.sh LIBDIR MODELS OUT
# LIBDIR has libztensor.so, MODELS has model.zt and model-zstd.zt of examples/demo.sh; OUT keeps ggml, which is built
# once. CC, CXX and CARGO choose the tools.
set -u

[ $# -eq 3 ] || { echo "usage: test.sh LIBDIR MODELS OUT" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd) root=$(cd "$(dirname "$0")/../.." && pwd)
lib=$(cd "$1" && pwd) || exit 2
mkdir -p "$3" && out=$(cd "$3" && pwd) || exit 2

skip() {
    echo "ggml: skipped: $1"
    exit 0
}
command -v "${CXX:-c++}" >/dev/null || skip "there is no C++ compiler"
# The few weights that are used where the network is away do not make a layer.
[ -f "$2/model.safetensors" ] && [ -f "$2/model.zt" ] && [ -f "$2/model-zstd.zt" ] || skip "the model cannot be had"
models=$(cd "$2" && pwd)
sh "$here/build_ggml.sh" "$out" >"$out/log" 2>&1
case $? in
0) ;;
3) skip "the source of ggml cannot be had: $(tail -n 1 "$out/log")" ;;
*)
    cat "$out/log"
    echo "ggml: 0 passed, 1 failed"
    exit 1
    ;;
esac

warnings="-Wall -Wextra -pedantic -Werror"
# shellcheck disable=SC2086 # lists of options
if ${CC:-cc} -std=c99 $warnings -O2 -I"$root/include" -c -o "$out/reference.o" "$here/bert_reference.c" &&
    ${CXX:-c++} -std=c++17 $warnings -O1 -I"$root/include" -isystem "$out/include" -o "$out/test_ggml" \
        "$here/zt_ggml.cpp" "$here/test_ggml.cpp" "$out/reference.o" "$out/libggml.a" -L"$lib" -lztensor \
        -Wl,-rpath,"$lib" -lpthread -ldl -lm; then
    "$out/test_ggml" "$models/model.zt" "$models/model-zstd.zt" "$out"
else
    echo "ggml: 0 passed, 1 failed"
    exit 1
fi
