#!/bin/sh
# Shows the library in two minutes: opens files of released writers, converts a real model and loads it
# through the C interface, bit for bit.
#     sh examples/demo.sh LIBDIR ZT CACHE
# LIBDIR has libztensor.so and its links, ZT is the program zt. CACHE keeps the model, so that a second run is
# fast.
set -eu

[ $# -eq 3 ] || { echo "usage: demo.sh LIBDIR ZT CACHE" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
lib=$(cd "$1" && pwd)
zt_folder=$(cd "$(dirname "$2")" && pwd)
mkdir -p "$3/bin"
cache=$(cd "$3" && pwd)
PATH=$cache/bin:$zt_folder:$PATH
python=${PYTHON:-python3}

title() { printf '\n%s\n\n' "$*"; }

# Prints a command and its output, indented. Ends the demo if it fails.
show() {
    printf '  $'
    for word in "$@"; do
        case $word in *'*'*) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac
    done
    echo
    status=0
    "$@" >"$cache/said" 2>&1 || status=$?
    sed 's/^/  /' "$cache/said"
    [ $status -eq 0 ] || { echo "demo: $1 failed with exit status $status" >&2; exit 1; }
}

for example in inspect open_any read_tensor verify_file load_model compare_safetensors; do
    # shellcheck disable=SC2086 # CC may hold options
    ${CC:-cc} -std=c99 -O2 -I"$root/include" "$root/examples/$example.c" -o "$cache/bin/$example" \
        -L"$lib" -lztensor -Wl,-rpath,"$lib"
done

cd "$root/tests/data"
title "1. Files of spec 0.1, as released writers left them, in C programs that link libztensor"
show inspect v0.1/rs-0.1.0-crc32c.zt
show read_tensor v0.1/rs-0.1.0-crc32c.zt zstd
show verify_file v0.1/rs-0.1.0-crc32c.zt
show read_tensor v0.1/py-0.1.4-all-dtypes.zt bf16
show verify_file v0.1/py-0.1.4-all-dtypes.zt
title "   The same programs on what the releases of spec 1.0, 1.1 and 1.2 wrote: sparse, compressed, quantized"
show inspect v1.0/py-1.0.1-sparse.zt
show inspect v1.2/py-1.2.3-quantized.zt
show verify_file v1.0/py-1.0.1-sparse.zt v1.1/rs-1.1.1-sparse-zstd-digest.zt v1.2/py-1.2.3-quantized.zt

title "   One program for every container and any number of files: safetensors, GGUF, a model in shards by its folder"
show open_any "$root/examples/data/minilm-small.safetensors" 3
show open_any foreign/valid/amber-all-types-hand.gguf 3
show open_any foreign/valid/amber-hf-sharded
show open_any foreign/valid/amber-gguf-split-hand/llm-00001-of-00003.gguf

title "   A weight that a tool quantised (GPTQ), which it stores as four tensors: one object with its numbers"
show zt info checkpoints/gptq-4
show zt head --combine checkpoints/gptq-4 a.weight

cd "$cache"
title "2. A real model: the weights of all-MiniLM-L6-v2, converted, loaded from C, compared with the source byte for byte"
source=model.safetensors
if ! sh "$root/examples/fetch_minilm.sh" model.safetensors; then
    source=minilm-small.safetensors
    cp "$root/examples/data/$source" .
    echo "  The model cannot be downloaded, so this uses the few of its weights in examples/data."
fi
show zt convert --force $source model.zt --digest=crc32c
show load_model model.zt
show compare_safetensors model.zt $source
echo
show zt convert --force $source model-zstd.zt --zstd --digest=sha256
show load_model model-zstd.zt
show compare_safetensors model-zstd.zt $source
echo
show zt ls model-zstd.zt '*.layer.0.*.dense.*' --sort size

printf '\n  %-26s %12s\n' FILE BYTES
for file in $source model.zt model-zstd.zt; do
    printf '  %-26s %12d\n' $file "$(wc -c <$file)"
done
echo
show zt diff $source model-zstd.zt
show zt report --force model-zstd.zt --stats -o report.html
# A model on a server and in a bucket, if libztensor_remote was built.
serve() {
    "$python" "$root/examples/range_server.py" "$cache" >"$cache/port" 2>/dev/null &
    server=$!
    trap 'kill $server 2>/dev/null' EXIT
    for _ in 1 2 3 4 5 6 7 8 9 10; do [ -s "$cache/port" ] || sleep 0.2; done
    [ -s "$cache/port" ]
}
if [ -e "$lib/libztensor_remote.so" ] && rm -f "$cache/port" && serve; then
    title "3. The same file behind a URL, and in a bucket: opened and read by ranges, from a server on this machine"
    # shellcheck disable=SC2086
    ${CC:-cc} -std=c99 -O2 -I"$root/include" -I"$root/remote/include" "$root/examples/remote.c" -o "$cache/bin/remote" \
        -L"$lib" -lztensor_remote -lztensor -Wl,-rpath,"$lib"
    url=http://127.0.0.1:$(cat "$cache/port")
    show remote "$url/model-zstd.zt"
    export AWS_ENDPOINT_URL="$url" AWS_ALLOW_HTTP=true AWS_REGION=us-east-1 AWS_ACCESS_KEY_ID=demo AWS_SECRET_ACCESS_KEY=demo
    echo
    echo "  \$ export AWS_ENDPOINT_URL=$url AWS_ALLOW_HTTP=true AWS_REGION=... AWS_ACCESS_KEY_ID=... AWS_SECRET_ACCESS_KEY=..."
    show remote s3://models/model-zstd.zt
    show zt ls s3://models/model-zstd.zt '*.layer.0.*.dense.*'
else
    printf '\n  Models on servers (S3, Hugging Face, https): make -C remote build (130 crates), then make demo shows one (docs/remote.md).\n'
fi

title "Every tensor came back bit for bit. The programs are examples/*.c, a page each; the manual is include/ztensor.h."
echo "  Open $cache/report.html in a browser: the model as a page. Three commands to try:"
echo
zt=$zt_folder/$(basename "$2")
echo "    $zt tree $cache/model-zstd.zt"
echo "    $zt stats $cache/model.zt '*.layer.0.*' --histogram 20"
echo "    $zt diff $cache/model.zt $cache/model-zstd.zt"
