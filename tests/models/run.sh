#!/bin/sh
# Files of NumPy and PyTorch, and two real models: converts them and back and compares them byte for byte.
# Compares the numbers of the quantized model with ggml's C code.
#     sh tests/models/run.sh LIBDIR ZT DEMO GGML OUT
# LIBDIR has libztensor.so, ZT is the program zt. DEMO has model.safetensors after its download. GGML is the
# build folder of examples/ggml/build_ggml.sh. OUT keeps the results. The quantized model (253 MB) is
# ZT_MODEL, or is downloaded with ZT_FETCH=1. The last line is "models: N passed, M failed".
set -u

[ $# -eq 5 ] || { echo "usage: run.sh LIBDIR ZT DEMO GGML OUT" >&2; exit 2; }
root=$(cd "$(dirname "$0")/../.." && pwd)
lib=$(cd "$1" && pwd) || exit 2
zt=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
mkdir -p "$3" "$4" "$5" && demo=$(cd "$3" && pwd) && ggml=$(cd "$4" && pwd) && out=$(cd "$5" && pwd) && cd "$out" || exit 2
passed=0 failed=0
good() { passed=$((passed + 1)); }
bad() {
    failed=$((failed + 1))
    echo "FAILED $1"
}

# The system's own Python has PyTorch, if it is installed.
python=/usr/bin/python3
export PYTHONDONTWRITEBYTECODE=1
for module in numpy torch; do
    case $module in
    numpy) script=numpy_arrays.py ;;
    torch) script=torch_checkpoints.py ;;
    esac
    if ! $python -c "import $module" 2>/dev/null; then
        echo "models: skipped: $python has no $module"
    else
        $python "$root/tests/models/$script" "$zt" "$out/$module" || failed=$((failed + 1))
    fi
done

# run WHAT ARGUMENT...: runs the program without output.
run() {
    what=$1
    shift
    if "$zt" "$@" >said 2>&1; then good; else bad "$what: zt $*: $(tail -n 1 said)"; fi
}

# same WHAT FILE FILE
same() {
    if cmp "$2" "$3"; then good; else bad "$1: $3 differs from $2"; fi
}

# there_and_back NAME FILE SHARD_SIZE
there_and_back() {
    name=$1 file=$2 size=$3 end=${2##*.}
    rm -rf "$name" && mkdir "$name"
    run "$name" ls "$file"
    run "$name" verify "$file"
    for encoding in raw zstd; do
        run "$name" convert --verify --encoding=$encoding --digest=crc32c "$file" "$name/$encoding.zt"
        run "$name" verify --strict "$name/$encoding.zt"
        run "$name" convert --verify "$name/$encoding.zt" "$name/back.$end"
        same "$name $encoding" "$file" "$name/back.$end"
        rm -f "$name/back.$end"
    done
    for target in zt "$end"; do
        mkdir "$name/$target"
        run "$name" convert --verify --shard-size="$size" "$file" "$name/$target/part.$target"
        [ "$(find "$name/$target" -name "part-00001-of-*.$target" | wc -l)" = 1 ] || bad "$name: did not write shards of $target"
        for part in "$name/$target/"part-00001-of-*."$target"; do
            run "$name" verify "$part"
            run "$name" convert --verify "$part" "$name/back.$end"
        done
        same "$name in shards of $target" "$file" "$name/back.$end"
        rm -rf "$name/$target" "$name/back.$end"
    done
}

if sh "$root/examples/fetch_minilm.sh" "$demo/model.safetensors"; then
    there_and_back minilm "$demo/model.safetensors" 20M
else
    echo "models: skipped: MiniLM is not available"
fi

model=${ZT_MODEL:-$out/gemma-3-270m-q4_k_m.gguf}
if ! [ -f "$model" ] && [ "${ZT_FETCH-}" = 1 ]; then sh "$root/examples/gguf/fetch_gemma.sh" "$model" || true; fi
if [ -f "$model" ]; then
    there_and_back gemma "$model" 60M
    run gemma convert --dtype f32 "$model" gemma/numbers.f32.zt
    # links NAME SOURCE...: builds a program with ggml and the library.
    links() {
        name=$1
        shift
        ${CXX:-c++} -std=c++17 -O1 -I"$root/include" -isystem "$ggml/include" -o "$name" "$@" "$ggml/libggml.a" \
            -L"$lib" -lztensor -Wl,-rpath,"$lib" -lpthread -ldl -lm
    }
    if ! command -v "${CXX:-c++}" >/dev/null || ! sh "$root/examples/ggml/build_ggml.sh" "$ggml" >log 2>&1; then
        echo "models: skipped: ggml cannot be built: $(tail -n 1 log)"
    else
        if links test_quantized "$root/examples/ggml/zt_ggml.cpp" "$root/examples/ggml/test_quantized.cpp" &&
            ./test_quantized "$model" "$model" gemma/raw.zt; then good; else bad "products of the quantized blocks"; fi
        if links test_numbers "$root/examples/ggml/test_numbers.cpp" &&
            ./test_numbers "$model" gemma/zstd.zt gemma/numbers.f32.zt; then good; else bad "numbers as f32"; fi
    fi
else
    echo "models: skipped: the quantized model is missing; ZT_FETCH=1 downloads it (253 MB)"
fi
rm -rf minilm gemma
echo "models: $passed passed, $failed failed"
[ $failed -eq 0 ]
