#!/bin/sh
# Downloads Run:ai's model streamer, a peer of the benchmarks, which call its C library:
#     sh tools/fetch_runai.sh FOLDER      writes libstreamer.so, and libstreamers3.so, which it loads for S3
# If that fails, one line gives the reason, and the benchmark leaves its rows out.
set -eu

folder=${1:?usage: fetch_runai.sh FOLDER}
version=0.17.0
python=${PYTHON:-python3}
[ ! -e "$folder/libstreamers3.so" ] || exit 0
mkdir -p "$folder"
if ! "$python" -m pip download --quiet --no-deps --dest "$folder" "runai-model-streamer==$version" \
    "runai-model-streamer-s3==$version" >"$folder/pip.log" 2>&1; then
    echo "bench: Run:ai's streamer is left out: pip cannot fetch runai-model-streamer $version ($folder/pip.log)" >&2
    exit 0
fi
"$python" - "$folder" <<'END'
import glob, os, sys, zipfile
folder = sys.argv[1]
for wheel in map(zipfile.ZipFile, glob.glob(os.path.join(folder, "*.whl"))):
    for name in wheel.namelist():
        if os.path.basename(name) in ("libstreamer.so", "libstreamers3.so"):
            with open(os.path.join(folder, os.path.basename(name)), "wb") as out:
                out.write(wheel.read(name))
END
