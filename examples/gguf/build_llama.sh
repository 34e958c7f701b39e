#!/bin/sh
# Downloads llama.cpp in a source package, and builds it once with ggml's gguf.cpp and once with the one of
# this folder. All other objects are the same:
#     sh examples/gguf/build_llama.sh LIBDIR OUT
# LIBDIR has libztensor.so. Makes llama-simple, test-gguf, open_gguf and tiny_model in OUT/ggml and
# OUT/ztensor. CC, CXX and PYTHON select the tools. Exit status 3: the package is not available.
set -eu

[ $# -eq 2 ] || { echo "usage: build_llama.sh LIBDIR OUT" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd) root=$(cd "$(dirname "$0")/../.." && pwd)
lib=$(cd "$1" && pwd)
mkdir -p "$2" && out=$(cd "$2" && pwd)
package=llama_cpp_python release=0.3.36
archive=$package-$release.tar.gz
hash=832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e
source=$out/$package-$release/vendor/llama.cpp

is_archive() { [ -f "$1" ] && [ "$(sha256sum "$1" | cut -d ' ' -f 1)" = $hash ]; }
if ! [ -f "$out/unpacked-$release" ]; then
    if ! is_archive "$out/$archive"; then
        echo "downloading $archive with pip (77 MB, once; SHA-256 $hash)"
        "${PYTHON:-python3}" -m pip download --quiet --disable-pip-version-check --no-deps --retries 1 --timeout 60 \
            --no-binary llama-cpp-python --dest "$out" "llama-cpp-python==$release" >"$out/why" 2>&1 ||
            { tail -n 1 "$out/why" >&2; exit 3; }
        is_archive "$out/$archive" || { echo "build_llama: the package is a different one" >&2; exit 3; }
    fi
    tar -xzf "$out/$archive" -C "$out" "$package-$release/vendor/llama.cpp"
    : >"$out/unpacked-$release"
fi

# One instruction set on every machine, so that the same file gives the same tokens.
vector=
case $(uname -m) in
x86_64) vector='-DGGML_SSE42=ON -DGGML_AVX=ON -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON -DGGML_BMI2=ON' ;;
esac
if ! [ -f "$out/objects/bin/llama-simple" ]; then
    echo "building llama.cpp (80 seconds on two idle cores)"
    # shellcheck disable=SC2086 # a list of options
    cmake -S "$source" -B "$out/objects" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF -DGGML_NATIVE=OFF $vector \
        -DGGML_LLAMAFILE=OFF -DGGML_CCACHE=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_SERVER=OFF \
        -DLLAMA_BUILD_EXAMPLES=ON -DLLAMA_OPENSSL=OFF >"$out/log" 2>&1 &&
        cmake --build "$out/objects" --parallel 2 --target llama-simple >>"$out/log" 2>&1 || { cat "$out/log"; exit 1; }
fi

objects=$out/objects base=libggml-base.a
mkdir -p "$out/ggml" "$out/ztensor"
cp "$objects/ggml/src/$base" "$out/ggml/$base"
cp "$objects/ggml/src/$base" "$out/ztensor/$base"
ar d "$out/ztensor/$base" gguf.cpp.o
${CXX:-c++} -std=c++17 -O3 -DNDEBUG -Wall -Wextra -pedantic -Werror -I"$root/include" -isystem "$source/ggml/include" \
    -isystem "$source/ggml/src" -c -o "$out/ztensor/gguf.o" "$here/gguf.cpp"
ar r "$out/ztensor/$base" "$out/ztensor/gguf.o" 2>/dev/null

# build WHICH PROGRAM SOURCE MORE...
build() {
    which=$1 program=$2 file=$3
    shift 3
    ${CXX:-c++} -std=c++17 -O2 -w -I"$source/ggml/include" -I"$source/ggml/src" -I"$source/include" -I"$source/tests" \
        -o "$out/$which/$program" "$file" "$@" "$objects/ggml/src/libggml.a" "$objects/ggml/src/libggml-cpu.a" \
        "$out/$which/$base" $openmp -L"$lib" -lztensor -Wl,-rpath,"$lib" -lpthread -ldl -lm
}
openmp=
! grep -q '^GGML_OPENMP_ENABLED.*=ON\|^OpenMP_CXX_FLAGS.*fopenmp' "$objects/CMakeCache.txt" || openmp=-fopenmp
for which in ggml ztensor; do
    build $which llama-simple "$source/examples/simple/simple.cpp" "$objects/src/libllama.a"
    build $which test-gguf "$source/tests/test-gguf.cpp"
    build $which open_gguf "$here/open_gguf.cpp"
    build $which tiny_model "$here/tiny_model.cpp"
done
