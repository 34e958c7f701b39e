#!/bin/sh
# Joins the staged libraries of several macOS architectures into universal libraries:
#     sh join_architectures.sh STAGE_DIR VERSION FOLDER...      FOLDER: one architecture's
# LIPO is the tool. Unchanged files keep their time stamps. Used by CMakeLists.txt.
set -eu

[ $# -ge 3 ] || { echo "usage: join_architectures.sh STAGE_DIR VERSION FOLDER..." >&2; exit 2; }
to=$1
full=libztensor.$2.dylib abi=libztensor.${2%%.*}.dylib plain=libztensor.dylib
shift 2
mkdir -p "$to"
# join NAME FOLDER...
join() {
    name=$1
    shift
    for folder; do # becomes the file in it
        set -- "$@" "$folder/$name"
        shift
    done
    "${LIPO:-lipo}" -create "$@" -output "$to/.$name"
    if cmp -s "$to/.$name" "$to/$name"; then rm "$to/.$name"; else mv "$to/.$name" "$to/$name"; fi
}
join "$full" "$@"
join libztensor.a "$@"
[ "$(readlink "$to/$abi")" = "$full" ] || ln -sf "$full" "$to/$abi"
[ "$(readlink "$to/$plain")" = "$abi" ] || ln -sf "$abi" "$to/$plain"
