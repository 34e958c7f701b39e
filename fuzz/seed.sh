#!/bin/sh
# Makes the seeds: small files of tests/data for the targets that take files, their manifests for `cbor`, and
# texts for `json`. Of the corpora, only the minimised set in seeds/ is in git.
set -eu
cd "$(dirname "$0")"
for target in open append; do
    mkdir -p "corpus/$target"
    find ../tests/data -name '*.zt' -size -32k | while read -r file; do
        name=$(echo "${file#../tests/data/}" | tr / _)
        if [ "$target" = append ]; then
            # 63 * 4 bytes that select the calls (the first byte is their number), then the unchanged file.
            { printf '\374'; head -c 1008 /dev/urandom; cat "$file"; } >"corpus/$target/$name"
        else
            cp "$file" "corpus/$target/$name"
        fi
    done
done
mkdir -p corpus/cbor corpus/json corpus/manifest_2 corpus/gguf corpus/npz corpus/torch corpus/safetensors
for index in ../tests/data/foreign/*/*/*.index.json; do
    cp "$index" "corpus/json/$(basename "$(dirname "$index")")"
done
find ../tests/data/foreign -name '*.gguf' -size -4k -exec cp {} corpus/gguf/ \;
find ../tests/data/foreign -name '*.safetensors' -size -8k -exec cp {} corpus/safetensors/ \;
find ../tests/data/foreign -name '*.np[yz]' -size -8k -exec cp {} corpus/npz/ \;
find ../tests/data/foreign/valid -name '*legacy*' -exec cp {} corpus/torch/ \;
python3 - <<'END'
import glob, os, zipfile
for path in glob.glob("../tests/data/foreign/*/*.pt"):
    try:
        archive = zipfile.ZipFile(path)
        pickles = [archive.read(name) for name in archive.namelist() if name.endswith("data.pkl")]
    except Exception: # the error of the file is not in the pickle
        continue
    for pickle in pickles[:1]:
        if len(pickle) <= 4096:
            open("corpus/torch/" + os.path.basename(path), "wb").write(pickle)
for path in glob.glob("../tests/data/**/*.zt", recursive=True):
    data = open(path, "rb").read()
    if data[-8:] == b"\x89ZT2\r\n\x1a\n":
        start, size = (int.from_bytes(data[len(data) - at:][:8], "little") for at in (40, 32))
        if 0 < size < 4096: # the first byte means that the rest is a manifest
            open("corpus/manifest_2/" + os.path.basename(path), "wb").write(b"\0" + data[start:start + size])
        continue
    behind = 16 if data[-8:] == b"ZTEN1000" else 8
    size = int.from_bytes(data[len(data) - behind:][:8], "little")
    if 0 < size <= 4096 and size + behind <= len(data):
        name = path[len("../tests/data/"):].replace("/", "_")
        open("corpus/cbor/" + name, "wb").write(data[len(data) - behind - size:len(data) - behind])
texts = ['{"a":[1,-2.5e3,null,true,"\\u00e9\\ud83d\\ude00\\n"]}', '{"$bytes":"00ff"}', '{"$float":"nan"}',
    '{"$tag":[3,"x"]}', '{"$undefined":true}', '{"$simple":99}', '{"$map":[[1,2],["$a",null]]}',
    '[18446744073709551615,-18446744073709551616,1e308,-0.0,0.1]', '{"a":{"b":{"c":[[[]]]}}}']
for at, text in enumerate(texts):
    open(f"corpus/json/{at}", "w").write(text)
END
# Targets that generate their files from the input: any bytes work.
for target in manifest manifest_2 seekable shards zstd roundtrip options; do
    mkdir -p "corpus/$target"
    for size in 40 200 1000 4000; do
        head -c "$size" /dev/urandom >"corpus/$target/random-$size"
    done
    if [ -d "seeds/$target" ]; then cp seeds/"$target"/* "corpus/$target/"; fi
done
for target in open append cbor json; do
    if [ -d "seeds/$target" ]; then cp seeds/"$target"/* "corpus/$target/"; fi
done
