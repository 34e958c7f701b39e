#!/bin/sh
# Compiles every C and C++ example with the shared library, runs these and the Rust ones on files of the corpus
# and checks the output:
#     sh examples/run.sh LIBDIR OUTDIR [RUST]
# LIBDIR has libztensor.so and its links; OUTDIR is for the results. RUST is where `make tools` builds zt and the
# Rust examples; without it they are skipped. CC and CXX select the compilers. The last line is
# "examples: N passed, M failed", and ", K skipped" if some were.
set -u

[ $# -ge 2 ] || { echo "usage: run.sh LIBDIR OUTDIR [RUST]" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd) root=$(cd "$(dirname "$0")/.." && pwd)
data=$root/tests/data
lib=$(cd "$1" && pwd) || exit 2
mkdir -p "$2" && out=$(cd "$2" && pwd) || exit 2
passed=0 failed=0 skipped=0

good() { passed=$((passed + 1)); }
bad() {
    failed=$((failed + 1))
    echo "FAILED $1"
}

# check STATUS COMMAND... : runs the command; its output is then in $out/said.
check() {
    wanted=$1
    shift
    "$@" >"$out/said" 2>&1 </dev/null
    status=$?
    if [ $status -eq "$wanted" ]; then good; else
        bad "$*: exit status $status, not $wanted:"
        cat "$out/said"
    fi
}

# says LINE... : the last output has each of these lines.
says() {
    for line in "$@"; do
        if grep -qxF -e "$line" "$out/said"; then good; else
            bad "this line is missing: $line"
            cat "$out/said"
        fi
    done
}

# has TEXT : the last output contains this text.
has() {
    if grep -qF -e "$1" "$out/said"; then good; else
        bad "this text is missing: $1"
        cat "$out/said"
    fi
}

compile() { # compile NAME SOURCE COMPILER OPTION...
    name=$1 source=$2
    shift 2
    if "$@" -Wall -Wextra -pedantic -Werror -O2 -I"$root/include" "$here/$source" -o "$out/$name" \
        -L"$lib" -lztensor -Wl,-rpath,"$lib" -ldl; then good; else bad "$source does not compile"; fi
}

for source in "$here"/*.c; do
    name=$(basename "$source" .c)
    if [ "$name" = remote ]; then # make -C remote test links it with libztensor_remote and runs it
        # shellcheck disable=SC2086 # CC may hold options
        if ${CC:-cc} -std=c99 -Wall -Wextra -pedantic -Werror -fsyntax-only -I"$root/include" -I"$root/remote/include" "$source"; then
            good
        else
            bad "remote.c does not compile"
        fi
        continue
    fi
    # shellcheck disable=SC2086
    compile "$name" "$name.c" ${CC:-cc} -std=c99
done
inspectors=$out/inspect
if command -v ${CXX:-c++} >/dev/null; then
    # shellcheck disable=SC2086
    compile inspect_cpp inspect.cpp ${CXX:-c++} -std=c++17
    inspectors="$inspectors $out/inspect_cpp"
else
    skipped=$((skipped + 1))
fi
readers=$out/read_tensor writers=$out/write_file
if [ -n "${3-}" ]; then
    rust=$3/examples zt=$3/zt
    inspectors="$inspectors $rust/inspect" readers="$readers $rust/read_tensor" writers="$writers $rust/write_file"
else
    zt='' skipped=$((skipped + 4))
fi

for inspect in $inspectors; do
    check 0 "$inspect" "$data/v0.1/py-0.1.4-all-dtypes.zt"
    says "bf16: dense [3, 5]"
    has "zTensor 0.1.0"
    check 0 "$inspect" "$data/v1.2/py-1.2.3-sparse.zt"
    says "csr-c64: sparse_csr [3, 4]"
    check 1 "$inspect" "$data/invalid/header-magic-gguf.zt"
    has "header-magic-gguf.zt: "
    check 2 "$inspect"
done
check 0 "$out/inspect" "$data/v1.2/py-1.2.3-digests.zt"
says "    data           f32, 256 bytes, zstd to 131, crc32c:0xBB79F711"

# The same program for a safetensors file, a GGUF file, and models of many files.
check 0 "$out/open_any" "$data/foreign/valid/amber-hf-no-metadata/a.safetensors"
has ".safetensors, safetensors, "
check 0 "$out/open_any" "$data/foreign/valid/amber-all-types-hand.gguf"
has "Q4_1/amber: gguf.q4_1 [2, 1, 64], 80 bytes of file 0"
for model in amber-hf-sharded amber-hf-sharded/model.safetensors.index.json amber-gguf-split-hand/llm-00002-of-00003.gguf; do
    check 0 "$out/open_any" "$data/foreign/valid/$model" 99
    has "2: $data/foreign/valid/${model%%/*}/"
    has " bytes of file 2"
done
check 1 "$out/open_any" "$data/foreign/invalid/amber-set-gguf-missing-second/m-00001-of-00003.gguf"
has "m-00002-of-00003.gguf"
check 1 "$out/open_any" "$data/foreign/valid"
has "several models"
check 2 "$out/open_any"

for read in $readers; do
    check 0 "$read" "$data/v0.1/rs-0.1.0-big-endian.zt" i16
    has "i16: i16 ["
    check 0 "$read" "$data/v1.2/py-1.2.3-logical.zt" f8_e5m2
    has "sum: -6247"
    check 0 "$read" "$data/v1.1/py-1.1.1-zstd.zt" f16@19
    check 1 "$read" "$data/v1.1/py-1.1.1-zstd.zt" "no such tensor"
    has "no such tensor"
    check 1 "$read" "$data/v1.2/py-1.2.3-sparse.zt" csr
    check 2 "$read" "$data/v1.1/py-1.1.1-zstd.zt"
done
check 0 "$out/read_tensor" "$data/v0.1/py-0.1.4-all-dtypes.zt" bf16
says "bf16: bf16 [3, 5], 30 bytes" "first: 1.14062 0.730469 2.28125 1.03906" "last row: 10 bytes"

for write in $writers; do
    rm -f "$out/written.zt"
    check 0 "$write" "$out/written.zt"
    check 0 "$out/verify_file" "$out/written.zt"
    has ", 0 absent"
    check 0 "$out/inspect" "$out/written.zt"
    says "weight: dense [2, 3]" "embedding: dense [16, 16]" "counter: dense [100, 10]"
    check 0 "$out/read_tensor" "$out/written.zt" counter
    says "counter: i32 [100, 10], 4000 bytes" "first: 0 1 2 3" "sum: 499500" "last row: 40 bytes"
    check 0 "$out/load_model" "$out/written.zt"
    check 1 "$write" "$out/no such folder/written.zt"
    check 2 "$write"
done

check 0 "$out/verify_file" "$data/v1.0/py-1.0.0-all-dtypes.zt"
check 1 "$out/verify_file" "$data/v1.2/oracle-plain-crc.zt" "$data/invalid/digest-sha256-flipped-bit.zt"
says "ok: 2 objects, 51 bytes, 2 digests verified, 0 absent" "FAILED (ZT_ERROR_DIGEST_MISMATCH)"
check 2 "$out/verify_file"

check 0 "$out/load_model" "$data/v1.2/rs-1.2.3-1m.zt"
has ", 2 digests verified, "
check 0 "$out/load_model" "$data/v1.1/py-1.1.1-1000.zt" 3
has ": 1000 tensors, "
check 1 "$out/load_model" "$data/invalid/digest-sha256-flipped-bit.zt"
check 1 "$out/load_model" "$data/invalid/zstd-claim-2-63.zt"
check 2 "$out/load_model"

# As many slots as experts, a few, and one: the same bytes are read.
for budget in 100000000 40000 20000; do
    check 0 "$out/experts" "$out/written.zt" "$budget"
    has " 400 uses: sum "
    sed -n 's/.*: sum //p' "$out/said" >"$out/sum.$budget"
    check 0 cmp "$out/sum.100000000" "$out/sum.$budget"
done
check 1 "$out/experts" "$out/written.zt" 100
has "is too small for a slot of 4000"
check 2 "$out/experts"

for rank in 0 1 2; do
    check 0 "$out/rank_slices" "$data/foreign/valid/amber-hf-sharded" $rank 3
    has "rank $rank of 3: "
    has " of 3 files"
done
check 1 "$out/rank_slices" "$data/foreign/invalid/amber-set-gguf-missing-second/m-00001-of-00003.gguf" 0 2
check 2 "$out/rank_slices" "$out/written.zt" 2 2

# A GPU: no driver, an incomplete driver, and a stub that checks the order of copies and releases, also if the
# driver fails.
check 0 env ZT_CUDA=/nowhere/libcuda.so "$out/gpu_upload" "$out/written.zt"
says "skipped: CUDA driver not found"
check 0 env ZT_CUDA="$lib/libztensor.so" "$out/gpu_upload" "$out/written.zt"
says "skipped: the CUDA driver has no cuInit"
check 2 "$out/gpu_upload"
stub=$out/libcuda_stub.so large=$data/v1.2/rs-1.2.3-1m.zt
# shellcheck disable=SC2086
if ${CC:-cc} -std=c99 -Wall -Wextra -pedantic -Werror -O2 -shared -fPIC -I"$root/include" "$here/cuda_stub/cuda_stub.c" -o "$stub" -ldl; then
    with_stub() { env LD_PRELOAD="$stub" ZT_CUDA="$stub" "$@"; }
    check 0 with_stub STUB_FAIL=cuInit "$out/gpu_upload" "$large"
    says "skipped: the CUDA driver finds no device"
    for file in "$large" "$data/v1.1/py-1.1.1-1000.zt" "$here/data/minilm-small.safetensors"; do
        check 0 with_stub "$out/gpu_upload" "$file" 65536 check
        has " copies, 0 wrong"
    done
    for function in cuDeviceGet cuCtxSetCurrent cuDevicePrimaryCtxRetain cuMemAlloc_v2 cuMemHostAlloc cuStreamCreate cuEventCreate:2 \
        cuMemcpyHtoDAsync_v2 cuMemcpyHtoDAsync_v2:7 cuEventRecord cuEventRecord:7 cuEventQuery:9 cuEventSynchronize cuStreamSynchronize cuMemcpyDtoH_v2; do
        check 1 with_stub STUB_FAIL=$function "$out/gpu_upload" "$large" 65536 check
        has "CUDA error 700"
    done
    check 1 with_stub "$out/gpu_upload" "$data/invalid/zstd-claim-2-63.zt" 65536
    check 1 with_stub "$out/gpu_upload" "$large" 4096 # too small for a slot
    # The stub detects slots that are released too early, and a ring that is freed before the load.
    for wrong in 's/gpu->cuda.cuEventQuery(done)/CUDA_SUCCESS/' 's/gpu->cuda.cuEventSynchronize(done)/CUDA_SUCCESS/' \
        's/good(gpu.cuda.cuStreamSynchronize(.*) && done;/0;/' 's/^    tear_down(&gpu);//'; do
        sed "$wrong" "$here/gpu_upload.c" >"$out/gpu_wrong.c"
        check 1 cmp "$here/gpu_upload.c" "$out/gpu_wrong.c"
        # shellcheck disable=SC2086
        check 0 ${CC:-cc} -std=c99 -w -I"$root/include" "$out/gpu_wrong.c" -o "$out/gpu_wrong" -L"$lib" -lztensor -Wl,-rpath,"$lib" -ldl
        check 99 with_stub STUB_FAIL=cuEventRecord:9 "$out/gpu_wrong" "$large" 65536
    done
else
    bad "the stub of the CUDA driver does not compile"
fi

foreign=$data/foreign/valid
for from in all-dtypes-python.safetensors all-types-py.gguf vocab.gguf tensors-unordered.gguf; do
    for encoding in '' zstd; do
        rm -f "$out/copied.zt"
        # shellcheck disable=SC2086 # empty, or one word
        check 0 "$out/convert" "$foreign/amber-$from" "$out/copied.zt" $encoding
        check 0 "$out/verify_file" "$out/copied.zt"
        has ", 0 absent"
        if [ -n "$zt" ]; then
            check 0 "$zt" convert --force "$out/copied.zt" "$out/back.${from##*.}"
            check 0 cmp "$out/back.${from##*.}" "$foreign/amber-$from"
        fi
    done
done
check 1 "$out/convert" "$foreign/amber-name-not-utf8.gguf" "$out/refused.zt"
has "is not UTF-8"
check 2 "$out/convert"

source=$here/data/minilm-small.safetensors
check 1 "$out/compare_safetensors" "$out/written.zt" "$source"
says "embeddings.position_ids: is missing"
has " objects, but 66 tensors"
check 1 "$out/compare_safetensors" "$out/written.zt" "$out/written.zt"
has "not a valid safetensors file"
check 2 "$out/compare_safetensors" "$source"
if [ -n "$zt" ]; then
    for encoding in --raw --zstd; do
        check 0 "$zt" convert --force "$source" "$out/converted.zt" $encoding --digest=crc32c
        check 0 "$out/compare_safetensors" "$out/converted.zt" "$source"
        says "66 tensors, 229888 bytes: all equal"
        check 0 "$out/load_model" "$out/converted.zt"
        has ": 66 tensors, 229888 bytes, 66 digests verified, "
        check 0 "$out/verify_file" "$out/converted.zt"
    done
    # Changes a byte of a tensor.
    cp "$source" "$out/other.safetensors"
    printf '\001' | dd of="$out/other.safetensors" bs=1 seek=100000 conv=notrunc 2>/dev/null
    check 1 "$out/compare_safetensors" "$out/converted.zt" "$out/other.safetensors"
    has ": has different bytes"
fi

skipped_text=''
[ $skipped -eq 0 ] || skipped_text=", $skipped skipped"
echo "examples: $passed passed, $failed failed$skipped_text"
[ $failed -eq 0 ]
