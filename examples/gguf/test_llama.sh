#!/bin/sh
# Compares llama.cpp with this folder's gguf.cpp and the original llama.cpp: its own tests, hostile files,
# tokens from GGUF, from the .zt converted from it and from the GGUF converted back, and the time to open a
# file.
#     sh examples/gguf/test_llama.sh LIBDIR ZT OUT
# LIBDIR has libztensor.so, ZT is the program zt. OUT keeps downloads and builds. LLAMA_MODEL is a GGUF file,
# or "none" for only the tiny one; if unset, a real model is downloaded. The last line is "llama: N passed, M
# failed".
set -u

[ $# -eq 3 ] || { echo "usage: test_llama.sh LIBDIR ZT OUT" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd) root=$(cd "$(dirname "$0")/../.." && pwd)
zt=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
mkdir -p "$3" && out=$(cd "$3" && pwd) || exit 2
passed=0 failed=0
good() { passed=$((passed + 1)); }
bad() {
    failed=$((failed + 1))
    echo "FAILED $1"
}
finish() {
    echo "llama: $passed passed, $failed failed"
    [ $failed -eq 0 ]
    exit
}

sh "$here/build_llama.sh" "$1" "$out"
case $? in
0) ;;
3)
    echo "llama: skipped: the source of llama.cpp is not available"
    exit 0
    ;;
*)
    bad "llama.cpp cannot be built"
    finish
    ;;
esac
cd "$out" || exit 2
# Waiting threads leave the processor to others. The tokens do not depend on their number.
export OMP_WAIT_POLICY=passive
export GGML_NO_BACKTRACE=1 # starting a debugger at an abort takes seconds

echo "== its own tests/test-gguf.cpp"
for seed in 1 2 3 4 5 6 7 8; do
    for program in ggml/test-gguf ztensor/test-gguf; do
        if ./$program $seed >said 2>&1 && grep -q '101/101 tests passed' said; then good; else
            bad "$program $seed: $(grep 'tests passed' said)"
            grep -B1 FAIL said | head -n 20
        fi
    done
done
echo "unchanged, over libztensor: $(./ztensor/test-gguf 1 2>/dev/null | grep 'tests passed'), 8 seeds each"

# outcome WHICH FILE: opened, refused or died.
outcome() {
    ./"$1"/open_gguf "$2" >said 2>&1
    case $? in
    0) echo opened ;;
    1) echo refused ;;
    *) echo died ;;
    esac
}

echo "== hostile files"
: >outcomes
for file in "$root"/tests/data/foreign/invalid/*.gguf "$root"/tests/data/foreign/valid/*.gguf; do
    theirs=$(outcome ggml "$file") ours=$(outcome ztensor "$file")
    echo "$theirs $ours $(basename "$file")" >>outcomes
    [ $ours = refused ] && ! [ -s said ] && bad "$file: refused without a message"
    if [ $ours = died ]; then bad "$file crashes the program"; else good; fi
done
for pair in 'opened opened' 'refused refused' 'refused opened' 'opened refused' 'died opened' 'died refused'; do
    echo "ggml ${pair% *}, here ${pair#* }: $(grep -c "^$pair" outcomes)"
done
grep -E '^died|^opened refused' outcomes | sed 's/^/    /'

echo "== damaged metadata"
./ggml/tiny_model tiny.gguf && rm -f tiny.zt && "$zt" convert tiny.gguf tiny.zt >/dev/null
for file in tiny.gguf tiny.zt; do
    rm -rf damaged && mkdir damaged
    if "${PYTHON:-python3}" "$here/damaged.py" ./ztensor/open_gguf $file 250 damaged; then good; else
        bad "$file, damaged, crashes the program"
    fi
done

# A failed assertion of this reader names its file. llama.cpp itself may still abort.
echo "== the same files, and a model with wrong keys, in llama-simple"
rm -rf odd && mkdir odd && ./ggml/tiny_model --odd odd
died=0 opened=0 refused=0
for file in "$root"/tests/data/foreign/invalid/*.gguf odd/*.gguf; do
    timeout 60 ./ztensor/llama-simple -m "$file" -n 1 "Hello" >said 2>log
    case $? in
    0) opened=$((opened + 1)) ;;
    1) refused=$((refused + 1)) ;;
    *)
        died=$((died + 1))
        echo "    $(basename "$file") crashes llama-simple: $(grep -a -m 1 -E 'ASSERT|terminate|what' log)"
        grep -a -q 'gguf\.cpp' log && bad "$file: an assertion of gguf.cpp"
        ;;
    esac
done
good
echo "of $((died + opened + refused)) files $refused are rejected and $opened run; $died crash it, none in gguf.cpp"
rm -rf odd damaged

# generate WHICH MODEL: writes 24 tokens at temperature 0 to said.WHICH.
generate() {
    ./"$1"/llama-simple -m "$2" -n 24 "Hello, my name is" >"said.$1" 2>log."$1"
}

echo "== a model whose second part states its number as a string"
./ggml/tiny_model --split lie
generate ggml lie-00001-of-00002.gguf
theirs=$?
generate ztensor lie-00001-of-00002.gguf
ours=$?
echo "exit status of llama-simple: $theirs with ggml's reader, $ours here: $(grep 'error loading' log.ztensor)"
if [ $ours = 1 ]; then good; else bad "a signal ended it"; fi

echo "== tokens"
./ggml/tiny_model tiny.gguf && ./ztensor/tiny_model tiny-here.gguf
if cmp tiny.gguf tiny-here.gguf; then good; else bad "a written file differs"; fi
same_tokens() {
    gguf=$1 name=$2
    rm -f "$name.zt" "$name.back.gguf"
    "$zt" convert "$gguf" "$name.zt" >said 2>&1 || { bad "zt convert $gguf: $(cat said)"; return; }
    "$zt" convert "$name.zt" "$name.back.gguf" >said 2>&1 || { bad "zt convert $name.zt: $(cat said)"; return; }
    generate ggml "$gguf" || { bad "$gguf with ggml's reader: $(tail -n 3 log.ggml)"; return; }
    for file in "$gguf" "$name.zt" "$name.back.gguf"; do
        if generate ztensor "$file" && cmp said.ggml said.ztensor && grep -q 'decoded 24 tokens' log.ztensor; then
            good
        else
            bad "$file: different tokens: $(tail -n 3 log.ztensor)"
        fi
        if [ "$(grep -c CPU_Mapped log.ggml)" = "$(grep -c CPU_Mapped log.ztensor)" ]; then good; else
            bad "$file: its tensors are not mapped"
        fi
    done
    if cmp "$gguf" "$name.back.gguf"; then good; else bad "$name.back.gguf differs from $gguf"; fi
    echo "$name: $(tail -n 1 said.ggml | cut -c 1-100)"
}
same_tokens tiny.gguf tiny
rm -f parts-*.gguf
"$zt" convert --shard-size=200K tiny.gguf parts.gguf >said 2>&1
for which in ggml ztensor; do
    generate $which tiny.gguf && cp said.$which said.whole
    if generate $which parts-00001-of-*.gguf && cmp said.whole said.$which; then good; else
        bad "the tiny model in files of zt convert --shard-size: $(tail -n 3 log.$which)"
    fi
done

model=${LLAMA_MODEL:-}
if [ -z "$model" ]; then
    model=$out/gemma-3-270m-q4_k_m.gguf
    sh "$here/fetch_gemma.sh" "$model" || model=none
fi
[ "$model" != none ] || { echo "skipping the real model"; finish; }
same_tokens "$model" real

echo "== opening, medians in microseconds: file in memory, its processor time, file evicted"
# The two readers alternate. There is no assertion, because the machine may be busy.
for turn in 1 2 3; do
    echo "ggml's own, GGUF: $(./ggml/open_gguf --time 15 "$model")   here, GGUF: $(./ztensor/open_gguf --time 15 "$model")" \
        "  here, .zt: $(./ztensor/open_gguf --time 15 real.zt)"
done
finish
