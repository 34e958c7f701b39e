#!/bin/sh
# Makes the golden output of the bindings' programs anew, with Python's programs (needs numpy and ml_dtypes):
#     sh bindings/golden/make.sh LIBDIR
set -eu
lib=$(cd "$1" && pwd)
cd "$(dirname "$0")"
export PYTHONPATH=../python:${PYTHONPATH-} LIBZTENSOR=$lib/libztensor.so.1
python3 ../python/examples/write.py written.zt
python3 ../python/examples/list.py written.zt >list.txt
for name in weight half packed sparse; do python3 ../python/examples/read.py written.zt $name; done >read.txt
