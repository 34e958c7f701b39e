#!/bin/sh
# Links the shared library again without writing functions, for hosts that only read and where a megabyte
# matters.
#     sh link_reading.sh LIBRARIES STAGE_DIR VERSION      LIBRARIES: folder of stage_libraries.sh, with libztensor.a
# It has every function except zt_write_* and zt_repair, with the names of the complete library, and libzstd
# without compression. Nothing is compiled: the linker drops code that only those functions need. For ELF. CC
# or LINK is the compiler that links.
set -eu

[ $# -eq 3 ] || { echo "usage: link_reading.sh LIBRARIES STAGE_DIR VERSION" >&2; exit 2; }
archive=$1/libztensor.a
to=$2
full=libztensor.so.$3 abi=libztensor.so.${3%%.*}
mkdir -p "$to"
{
    echo 'ZTENSOR_1.0 { global:'
    ${NM:-nm} -g --defined-only "$archive" | sed -n 's/^.* T \(zt_[a-z0-9_]*\)$/\1;/p' | grep -v '^zt_write_\|^zt_repair;$'
    echo 'local: *; };'
} >"$to/libztensor.map"
${LINK:-${CC:-cc}} -shared -o "$to/$full" -Wl,--whole-archive "$archive" -Wl,--no-whole-archive \
    "-Wl,-soname,$abi,--version-script=$to/libztensor.map,--gc-sections,-O1,-z,relro,-z,now" -lgcc_s -lm -lpthread -ldl
rm "$to/libztensor.map"
ln -sf "$full" "$to/$abi"
ln -sf "$abi" "$to/libztensor.so"
