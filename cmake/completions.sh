#!/bin/sh
# Writes zt's completions to the folders where bash, fish and zsh search: sh cmake/completions.sh ZT SHARE
set -eu
[ $# -eq 2 ] || { echo "usage: completions.sh ZT SHARE" >&2; exit 2; }
for place in bash:bash-completion/completions/zt fish:fish/vendor_completions.d/zt.fish zsh:zsh/site-functions/_zt; do
    file=$2/${place#*:}
    mkdir -p "${file%/*}"
    "$1" completions "${place%%:*}" >"$file"
done
