#!/bin/sh
# Fetches Run:ai's streamer of models, a peer of the benchmark, of which it calls the C library:
#     sh tools/fetch_runai.sh FOLDER      leaves libstreamer.so there
# Where it cannot be had, one line says why, and the benchmark leaves its rows out.
set -eu

folder=${1:?usage: fetch_runai.sh FOLDER}
version=0.17.0
python=${PYTHON:-python3}
[ ! -e "$folder/libstreamer.so" ] || exit 0
mkdir -p "$folder"
if ! "$python" -m pip download --quiet --no-deps --dest "$folder" "runai-model-streamer==$version" >"$folder/pip.log" 2>&1; then
    echo "bench: Run:ai's streamer is left out: pip cannot fetch runai-model-streamer $version ($folder/pip.log)" >&2
    exit 0
fi
"$python" - "$folder" <<'END'
import glob, os, sys, zipfile
folder = sys.argv[1]
wheel = zipfile.ZipFile(glob.glob(os.path.join(folder, "*.whl"))[0])
name = next(n for n in wheel.namelist() if n.endswith("/libstreamer.so"))
with open(os.path.join(folder, "libstreamer.so"), "wb") as out:
    out.write(wheel.read(name))
END
