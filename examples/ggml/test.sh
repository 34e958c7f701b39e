#!/bin/sh
# Builds ggml from its source. Runs test_blocks.cpp on a million blocks of each type (or ZT_BLOCKS), and
# test_ggml.cpp on MiniLM, raw and compressed:
#     sh examples/ggml/test.sh LIBDIR MODELS OUT
# LIBDIR has libztensor.so. MODELS has model.zt and model-zstd.zt from examples/demo.sh. OUT keeps ggml, which
# is built once. CC, CXX and CARGO select the tools.
set -u

[ $# -eq 3 ] || { echo "usage: test.sh LIBDIR MODELS OUT" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd) root=$(cd "$(dirname "$0")/../.." && pwd)
lib=$(cd "$1" && pwd) || exit 2
mkdir -p "$3" && out=$(cd "$3" && pwd) || exit 2

skip() {
    echo "ggml: skipped: $1"
    exit 0
}
command -v "${CXX:-c++}" >/dev/null || skip "C++ compiler not found"
sh "$here/build_ggml.sh" "$out" >"$out/log" 2>&1
case $? in
0) ;;
3) skip "the source of ggml is not available: $(tail -n 1 "$out/log")" ;;
*)
    cat "$out/log"
    echo "ggml: 0 passed, 1 failed"
    exit 1
    ;;
esac

warnings="-Wall -Wextra -pedantic -Werror"
# link NAME FILE...: builds a program from these files, with ggml and the library.
link() {
    name=$1
    shift
    # shellcheck disable=SC2086 # lists of options
    ${CXX:-c++} -std=c++17 $warnings -O2 -I"$root/include" -I"$root/tests/data/blocks" -isystem "$out/include" \
        -o "$out/$name" "$@" "$out/libggml.a" -L"$lib" -lztensor -Wl,-rpath,"$lib" -lpthread -ldl -lm
}
failed=0
if ! link test_blocks "$here/test_blocks.cpp" || ! "$out/test_blocks" "${ZT_BLOCKS:-1000000}"; then
    failed=1
    echo "blocks: 0 passed, 1 failed"
fi
# The few weights that are used without network are not a complete layer.
if ! [ -f "$2/model.safetensors" ] || ! [ -f "$2/model.zt" ] || ! [ -f "$2/model-zstd.zt" ]; then
    echo "ggml: skipped: the model is not available"
# shellcheck disable=SC2086 # lists of options
elif ${CC:-cc} -std=c99 $warnings -O2 -I"$root/include" -c -o "$out/reference.o" "$here/bert_reference.c" &&
    link test_ggml "$here/zt_ggml.cpp" "$here/test_ggml.cpp" "$out/reference.o"; then
    "$out/test_ggml" "$2/model.zt" "$2/model-zstd.zt" "$out" || failed=1
else
    failed=1
    echo "ggml: 0 passed, 1 failed"
fi
exit $failed
